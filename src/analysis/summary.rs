//! Several runs of one command, summed up.

use super::align::{Pair, align};
use super::attribution::{OTHERS, WorkKind, kind, shares_of};
use super::libraries::LinkedFile;
use super::loads::{Load, ShellCommand};
use super::model::Account;
use super::runs::RunTimes;
use super::step::Step;
use super::user_code::UserCode;
use crate::document::named_span::NamedSpan;
use crate::stats::median_count;
use crate::stats::quantile::{median, quantile, sorted};
use firstbyte_measure::Counts;
use firstbyte_measure::launch::KnownEnvironment;
use firstbyte_measure::timeline::PerPhase;
use firstbyte_measure::units::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A figure over all runs, in nanoseconds or as a count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    pub median: f64,
    /// The mean over the middle half of the runs by their total. These means add up as the times of one run do; medians
    /// do not.
    pub middle: f64,
    /// The smallest value.
    pub least: f64,
    /// The largest value.
    pub most: f64,
    /// The third quartile less the first.
    pub quartiles: f64,
}

impl Spread {
    /// All zeros if there are no values.
    pub fn of(values: &[f64]) -> Spread {
        let Some(all) = sorted(values) else { return Spread::default() };
        let at = |p| quantile(&all, p).unwrap_or_default();
        Spread {
            median: median(&all).unwrap_or_default(),
            middle: middle_mean(&all),
            least: at(0.0),
            most: at(1.0),
            quartiles: at(0.75) - at(0.25),
        }
    }

    /// The uncertainty of the median of `runs` runs. Two medians that differ only by chance are closer than the sum of their
    /// uncertainties in 95 of 100 cases ("Variations of box plots", The American Statistician 32, 1978).
    pub fn error(&self, runs: usize) -> f64 {
        1.57 * self.quartiles / (runs.max(1) as f64).sqrt()
    }

    /// One value for each run, in the order of the runs' totals.
    pub(super) fn of_runs(values: &[f64]) -> Spread {
        Spread { middle: middle_mean(values), ..Spread::of(values) }
    }
}

/// The mean without the first and the last quarter.
fn middle_mean(values: &[f64]) -> f64 {
    let quarter = values.len() / 4;
    let middle = &values[quarter..values.len() - quarter];
    middle.iter().sum::<f64>() / middle.len().max(1) as f64
}

/// A [`Share`](super::attribution::Share) over all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonShare {
    pub kind: WorkKind,
    /// The name within the kind.
    pub name: String,
    pub time: Spread,
    /// The median number of steps, as for [`Summary::counts`].
    pub count: f64,
}

/// A step of the path, over all runs that have it.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonStep {
    /// The step in the run that is shown.
    pub step: Step,
    /// Its own time.
    pub self_time: Spread,
    /// How many runs have the step.
    pub runs: usize,
}

/// Several runs of one command.
#[derive(Clone, Debug)]
pub struct Summary {
    pub runs: usize,
    /// The run whose total is the median. Its steps, files and processes are shown.
    pub median_run: Account,
    /// Its place among the runs, in the order in which they were made.
    pub median_index: usize,
    pub total: Spread,
    /// `None` for the phases that a program without output does not have.
    pub phases: PerPhase<Option<Spread>>,
    pub first_byte: Option<Spread>,
    /// Time and number of the path's steps of each kind, in the order of [`WorkKind::ALL`].
    pub kinds: [(Spread, f64); WorkKind::ALL.len()],
    /// Where the time of the path went, sorted by kind and then by time.
    pub shares: Vec<CommonShare>,
    /// The median of each count over all runs; of two in the middle, the smaller.
    pub counts: Counts,
    /// The tracer stopped the program at every system call.
    pub stopped: bool,
    /// The mean total as it was recorded, with the time that the observation took, in nanoseconds. All other times are without
    /// it. `None`: that time is not known, and all times are as they were recorded.
    pub recorded: Option<f64>,
    /// Events that the tracer lost in all runs.
    pub lost: u64,
    /// User code by function; `None`: it was not sampled.
    pub user_code: Option<UserCode>,
    /// What the run whose total is the median loads.
    pub loads: Vec<Load>,
    /// The commands in the files of shells, if a shell reported them.
    pub commands: Vec<ShellCommand>,
    /// What the dynamic loader links in that run.
    pub linked: Vec<LinkedFile>,
    /// The variables that the program was started with.
    pub environment: KnownEnvironment,
    /// The run in which runtimes reported; `None`: none was asked.
    pub reporting_run: Option<RunTimes>,
    /// The parts of the runs that have a name.
    pub marks: Vec<NamedSpan>,
    /// The name of the part that is explained; `None`: the whole runs are.
    pub within: Option<String>,
    /// Where two versions of a program are compared: the folder with this one's files.
    pub folder: Option<Arc<str>>,
    /// The other runs, and the files that each loads.
    pub others: Vec<(Account, Vec<Load>)>,
}

impl Summary {
    /// `None` if there are no runs.
    pub fn of(accounts: Vec<Account>) -> Option<Summary> {
        let mut placed: Vec<(usize, Account)> = accounts.into_iter().enumerate().collect();
        placed.sort_by_key(|(_, account)| account.total);
        let middle = (placed.len().checked_sub(1)?) / 2;
        let median_index = placed[middle].0;
        let mut accounts: Vec<Account> = placed.into_iter().map(|(_, account)| account).collect();
        let counts: Vec<Counts> = accounts.iter().map(|account| account.counts.clone()).collect();
        let over = |figure: &dyn Fn(&Account) -> Option<u64>| {
            let values: Option<Vec<f64>> = accounts.iter().map(|a| figure(a).map(|n| n as f64)).collect();
            values.map(|values| Spread::of_runs(&values))
        };

        Some(Summary {
            runs: accounts.len(),
            total: over(&|a| Some(a.total.0)).unwrap_or_default(),
            phases: PerPhase::from_fn(|phase| over(&|a| a.phases.get(phase).map(|n| n.0))),
            first_byte: over(&|a| a.phases.first_byte().map(|n| n.0)),
            kinds: WorkKind::ALL.map(|kind| of_kind(&accounts, kind)),
            shares: common_shares(&accounts),
            counts: Counts::combined(&counts, median_count)?,
            lost: accounts.iter().map(|a| a.lost).sum(),
            stopped: false,
            recorded: None,
            user_code: None,
            loads: Vec::new(),
            commands: Vec::new(),
            linked: Vec::new(),
            environment: KnownEnvironment::Unknown,
            reporting_run: None,
            marks: Vec::new(),
            within: None,
            folder: None,
            median_run: accounts.swap_remove(middle),
            median_index,
            others: accounts.into_iter().map(|account| (account, Vec::new())).collect(),
        })
    }

    /// The steps of the path of the run that is shown, over all runs.
    pub fn steps(&self) -> Vec<CommonStep> {
        let keys =
            |account: &Account| -> Vec<String> { account.steps.iter().map(|step| step.what.key()).collect() };
        let steps = &self.median_run.steps;
        let mut times: Vec<Vec<f64>> = steps.iter().map(|step| vec![step.self_time.as_f64()]).collect();
        let wanted = if self.others.is_empty() { Vec::new() } else { keys(&self.median_run) };
        for (account, _) in &self.others {
            for pair in align(&wanted, &keys(account)) {
                if let Pair::Both(ours, theirs) = pair {
                    times[ours].push(account.steps[theirs].self_time.as_f64());
                }
            }
        }

        let common = |(step, times): (&Step, Vec<f64>)| CommonStep {
            step: step.clone(),
            self_time: Spread::of(&times),
            runs: times.len(),
        };
        steps.iter().zip(times).map(common).collect()
    }

    /// Whether page faults were seen. No program starts without one, but a part of it can run without.
    pub fn sees_faults(&self) -> bool {
        !self.stopped && (self.within.is_some() || self.counts.page_faults > 0)
    }

    /// The total of which findings are parts: that of the run that is shown, without the time in which other programs had the
    /// processor.
    pub fn explained_total(&self) -> Nanos {
        Nanos(self.median_run.total.0.saturating_sub(self.median_run.taken().others.time.0))
    }

    /// The part of the recorded time that the observation took; 0 if that is not known.
    pub fn observed_part(&self) -> f64 {
        self.recorded.map_or(0.0, |recorded| 1.0 - self.total.middle / recorded.max(1.0)).max(0.0)
    }

    /// The mean time in which other programs had the processor, in nanoseconds.
    pub fn taken_by_others(&self) -> f64 {
        self.shares.iter().find(|share| share.is_of_others()).map_or(0.0, |share| share.time.middle)
    }
}

impl CommonShare {
    /// Whether it is the time in which other programs had the processor.
    pub fn is_of_others(&self) -> bool {
        self.kind == WorkKind::Waiting && self.name == OTHERS
    }
}

/// The time and the number of the path's steps of one kind.
fn of_kind(accounts: &[Account], wanted: WorkKind) -> (Spread, f64) {
    let of_run = |account: &Account| {
        let steps = account.steps.iter().filter(|step| kind(&step.what) == wanted);
        steps.fold((0.0, 0), |(time, count), step| (time + step.self_time.as_f64(), count + 1))
    };
    let (times, counts): (Vec<f64>, Vec<u64>) = accounts.iter().map(of_run).unzip();
    (Spread::of_runs(&times), median_count(counts).unwrap_or_default() as f64)
}

/// The shares of all runs. A share that a run does not have is 0 in that run.
fn common_shares(accounts: &[Account]) -> Vec<CommonShare> {
    let mut all: BTreeMap<(WorkKind, String), Vec<(f64, u64)>> = BTreeMap::new();
    for (run, account) in accounts.iter().enumerate() {
        for share in shares_of(account) {
            let entry = all.entry((share.kind, share.name)).or_default();
            entry.resize(run, (0.0, 0));
            entry.push((share.time.as_f64(), share.count));
        }
    }

    let mut common: Vec<CommonShare> = all
        .into_iter()
        .map(|((kind, name), mut values)| {
            values.resize(accounts.len(), (0.0, 0));
            let times: Vec<f64> = values.iter().map(|v| v.0).collect();
            let counts = values.iter().map(|v| v.1).collect();
            CommonShare {
                kind,
                name,
                time: Spread::of_runs(&times),
                count: median_count(counts).unwrap_or_default() as f64,
            }
        })
        .collect();

    common.sort_by(|a, b| a.kind.cmp(&b.kind).then(b.time.middle.total_cmp(&a.time.middle)));
    common
}
