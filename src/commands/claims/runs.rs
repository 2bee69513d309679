//! The passes that run programs, under one condition each.

use super::super::CommandError;
use super::super::progress::{self, Bar};
use crate::bench::results::overhead;
use crate::bench::{Aim, Budget, Campaign, Counting, Entry, Experiment, ExperimentError, Observer, Series};
use crate::claims::quantity::{Quantity, State};
use crate::claims::{Evidence, Lack, Needs, Reading, gather, programs};
use crate::cli::claims::Plan;
use crate::corpus::{
    BuildCache, Built, Circumstances, Corpus, PrepareOptions, Program, Progress, Skipped, prepare_all,
};
use crate::document::bench::{ColdMethod, Overhead};
use crate::floor::allowed_cpus;
use firstbyte_measure::launch::{LaunchError, Launcher, OutputKind, interrupt};
use firstbyte_measure::page_cache;
use firstbyte_measure::tracer::choose::ChooseError;
use firstbyte_measure::tracer::phases::{PhasesTracer, choose_phases};
use firstbyte_measure::tracer::{Backend, Choice, Recording, Setting, Tracer, ptrace};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

/// Into a pipe, and killed if it hangs.
const CIRCUMSTANCES: Circumstances =
    Circumstances { output: OutputKind::Pipe, timeout: Duration::from_secs(20), cpus: None };

/// Counts hardly vary.
pub(super) const COUNTING_RUNS: u32 = 3;

/// With one processor nothing is said of their number.
const SEVERAL_PROCESSORS: usize = 2;

/// What all passes share: the programs.
pub(super) struct Session<'p> {
    pub(super) plan: &'p Plan,
    pub(super) needs: &'p Needs,
    /// Whether this process may bring files of its own in the place of others.
    cold: Result<(), String>,
    ready: Vec<(Program, Built)>,
    pub(super) skipped: Vec<Skipped>,
    /// What observed the warm runs, and what that cost: known once they have been made.
    pub(super) observer: RefCell<(Option<String>, Vec<Overhead>)>,
}

impl<'p> Session<'p> {
    /// Builds and verifies whatever is needed.
    pub(super) fn new(
        plan: &'p Plan,
        needs: &'p Needs,
        cold: Result<(), String>,
    ) -> Result<Session<'p>, CommandError> {
        let corpus = Corpus::load(None).map_err(CommandError::unable)?;
        let own = programs::programs().map_err(CommandError::unable)?;
        let wanted = needs.built();
        let all = corpus.programs().iter().chain(&own);
        let programs: Vec<&Program> = all.filter(|program| wanted.contains(program.name())).collect();
        let cache = BuildCache::of_user().map_err(CommandError::unable)?;
        let bar = progress::bar("building", programs.len() as u64);
        let progress = |step: Progress| match step {
            Progress::Started(name) => bar.set_message(name.to_owned()),
            Progress::Finished(_) => bar.inc(1),
        };
        let interrupted = || interrupt::interrupted().is_some();
        let results = prepare_all(&programs, &cache, PrepareOptions::new(&interrupted), &progress);
        bar.finish_and_clear();
        let (ready, skipped, observer) = (Vec::new(), Vec::new(), RefCell::default());
        let mut session = Session { plan, needs, cold, ready, skipped, observer };
        for (program, result) in programs.into_iter().zip(results) {
            match result {
                Ok(built) => session.ready.push((program.clone(), built)),
                Err(skip) => session.skipped.push(skip),
            }
        }
        Ok(session)
    }

    /// The programs that are here.
    pub(super) fn built(&self) -> impl Iterator<Item = &Built> {
        self.ready.iter().map(|(_, built)| built)
    }

    fn named(&self, names: &BTreeSet<&str>) -> Vec<&(Program, Built)> {
        self.ready.iter().filter(|(program, _)| names.contains(program.name())).collect()
    }

    /// Warm runs without counting runs.
    pub(super) fn experiment(&self, entries: Vec<Entry>, budget: Budget) -> Experiment {
        let campaign = Campaign { aim: Aim::Time, budget, warmup: 2, seed: self.plan.seed, overhead: false };
        Experiment { entries, campaign, cold: None, env_offset: false, counting: Counting::default() }
    }
}

/// The programs as entries of an experiment.
fn entries(programs: &[&(Program, Built)]) -> Result<Vec<Entry>, ExperimentError> {
    programs.iter().map(|(program, built)| program.entry(built, &CIRCUMSTANCES)).collect()
}

/// Makes the runs. What is finished is kept.
pub(super) fn carry_out(experiment: Experiment) -> Result<Vec<Series>, CommandError> {
    Ok(experiment.run(&mut tracer()?, &mut Bar::new(None))?.series)
}

fn tracer() -> Result<PhasesTracer, CommandError> {
    Ok(choose_phases(Choice::Auto).map_err(CommandError::unable)?.tracer)
}

/// Whether it comes of the warm runs and their counting.
pub(super) fn is_warm(quantity: Quantity) -> bool {
    let of_runs = matches!(
        quantity,
        Quantity::Count { .. } | Quantity::Overhead(_) | Quantity::LostEvents | Quantity::FileSize(_)
    );
    (of_runs || super::is_in(quantity, State::Warm)) && !is_of_level0(quantity)
}

/// Whether it comes of the runs of Level 0.
pub(super) fn is_of_level0(quantity: Quantity) -> bool {
    match quantity {
        Quantity::Time { program, .. } | Quantity::Count { program, .. } => programs::is_level0(program),
        _ => false,
    }
}

/// Interleaved runs with everything in memory, traced and untraced; then the counting.
pub(super) fn warm(session: &Session, evidence: &mut Evidence) -> Result<(), CommandError> {
    let programs = session.named(&session.needs.programs(State::Warm));
    if programs.is_empty() {
        return Ok(());
    }
    let time = Duration::from_secs(if session.plan.quick { 12 } else { 120 });
    let mut experiment = session.experiment(entries(&programs)?, Budget::Time(time));
    experiment.campaign.overhead = true;
    if session.needs.quantities().any(|q| matches!(q, Quantity::Count { .. })) {
        experiment.counting.runs = COUNTING_RUNS;
    }

    let mut tracer = tracer()?;
    let series = experiment.run(&mut tracer, &mut Bar::new(None))?.series;
    gather::runs(evidence, session.needs, State::Warm, &series);
    gather::lost_events(evidence, &series);
    let backend = tracer.backend().name().to_owned();
    *session.observer.borrow_mut() = (Some(backend), series.iter().filter_map(overhead).collect());
    Ok(())
}

/// Stops every run at each system call.
struct Stopping;

impl Tracer for Stopping {
    fn backend(&self) -> Backend {
        Backend::Ptrace
    }

    fn run(&mut self, launcher: &mut Launcher, setting: &Setting) -> Result<Recording, LaunchError> {
        ptrace::count(launcher, setting).map(|(_, recording)| recording)
    }
}

impl Observer for Stopping {
    fn attach(&mut self) -> Result<(), ChooseError> {
        Ok(())
    }

    fn detach(&mut self) -> Result<(), ChooseError> {
        Ok(())
    }
}

/// Runs that stop at each system call, as under strace.
pub(super) fn stopped(session: &Session, evidence: &mut Evidence) -> Result<(), CommandError> {
    let programs = session.named(&session.needs.programs(State::Stopped));
    let budget = Budget::Runs(if session.plan.quick { 20 } else { 150 });
    let experiment = session.experiment(entries(&programs)?, budget);
    let series = experiment.run(&mut Stopping, &mut Bar::new(None))?.series;
    gather::runs(evidence, session.needs, State::Stopped, &series);
    Ok(())
}

/// Runs after `drop_caches`.
pub(super) fn dropped(session: &Session, evidence: &mut Evidence) -> Result<(), CommandError> {
    page_cache::cold::drop_caches().map_err(CommandError::unable)?;
    cooled(session, evidence, State::Dropped, ColdMethod::DropCaches)
}

/// Runs with private copies of the programs' files, evicted.
pub(super) fn cold(session: &Session, evidence: &mut Evidence) -> Result<(), CommandError> {
    session.cold.clone().map_err(CommandError::unable)?;
    cooled(session, evidence, State::Cold, ColdMethod::Copies)
}

fn cooled(
    session: &Session,
    evidence: &mut Evidence,
    state: State,
    method: ColdMethod,
) -> Result<(), CommandError> {
    let programs = session.named(&session.needs.programs(state));
    if programs.is_empty() {
        return Ok(());
    }
    let budget = Budget::Runs(if session.plan.quick { 5 } else { 20 });
    let mut experiment = session.experiment(entries(&programs)?, budget);
    experiment.campaign.warmup = 1;
    experiment.cold = Some(method);
    let series = carry_out(experiment)?;
    gather::runs(evidence, session.needs, state, &series);
    Ok(())
}

/// The first byte with all processors against one.
pub(super) fn processors(session: &Session, evidence: &mut Evidence) -> Result<(), CommandError> {
    let cpus = allowed_cpus()?;
    for &name in &session.needs.swept() {
        let quantity = Quantity::AllProcessors(name);
        if cpus.len() < SEVERAL_PROCESSORS {
            let reason = "this machine has one processor";
            evidence.lack(quantity, Lack::because(reason));
            continue;
        }
        let Some((program, built)) = session.named(&BTreeSet::from([name])).first().copied() else {
            continue;
        };
        if let Some(reading) = all_against_one(session, program, built, &cpus)? {
            evidence.insert(quantity, reading);
        }
    }
    Ok(())
}

fn all_against_one(
    session: &Session,
    program: &Program,
    built: &Built,
    cpus: &[usize],
) -> Result<Option<Reading>, CommandError> {
    let first = cpus[0].to_string().parse().map_err(CommandError::unable)?;
    let one = Circumstances { cpus: Some(&first), ..CIRCUMSTANCES };
    let entries = vec![program.entry(built, &one)?, program.entry(built, &CIRCUMSTANCES)?];
    let budget = Budget::Runs(if session.plan.quick { 20 } else { 100 });
    let series = carry_out(session.experiment(entries, budget))?;
    let first_bytes = |series: &Series| -> Vec<f64> {
        series.samples.iter().filter_map(|sample| Some(sample.first_byte?.as_f64())).collect()
    };
    let (one, all) = (first_bytes(&series[0]), first_bytes(&series[1]));
    Ok(Reading::of(all.iter().zip(&one).map(|(all, one)| all / one).collect()))
}
