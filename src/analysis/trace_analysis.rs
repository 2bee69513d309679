//! A command's runs, explained: the summary of their accounts, and what is known of the runs themselves.

use super::behind_env;
use super::binaries::{Binaries, FileBinaries};
use super::correction::{Correction, ObserverCosts};
use super::findings::{self, Finding};
use super::libraries;
use super::loads;
use super::named_spans::{self, named_spans};
use super::profile::By;
use super::summary::Spread;
use super::user_code::UserCode;
use super::user_times::all_user_time;
use super::{Account, Summary, What};
use crate::analysis::runs::{Along, ObservedRuns};
use crate::analysis::runs::{AskedRuntime, Reports};
use crate::analysis::runs::{ExpectedCost, Sampled, SamplingWish};
use crate::bench::BothKinds;
use crate::stats::Comparison;
use firstbyte_measure::arch::cpuid::Cpuid;
use firstbyte_measure::launch::ExitStatus;
use firstbyte_measure::sampler::SamplerError;
use firstbyte_measure::timeline::marks::Marks;
use firstbyte_measure::timeline::{Timeline, TimelineError};
use firstbyte_measure::tracer::module::Module;
use firstbyte_measure::tracer::ptrace::NoCpuidCount;
use firstbyte_measure::tracer::{Backend, Recording};
use std::path::PathBuf;

/// How many lines of a failing program's stderr are shown.
const LAST_LINES: usize = 5;

/// What nobody knows of runs that were stopped at each of many system calls.
const HIDDEN_USER_CODE: &str = "It is not known how much of this time is user code and how much is system calls, because \
    each stop by ptrace takes longer than the call itself. `--backend bpf`, as root, shows it.";

const MOVED_TIMEOUTS: &str = "Threads of this program wait with timeouts, and some timeouts expired only because ptrace slowed other \
    threads down. So it is not certain which thread worked while others waited. `--backend bpf`, as root, shows it.";

/// The observer of the runs.
#[derive(Clone, Debug)]
pub struct UsedTracer {
    pub backend: Backend,
    /// Why this one.
    pub reason: String,
    pub sees_faults: bool,
}

/// A run's account along what is asked for.
pub fn account(
    recording: &Recording,
    binaries: &dyn Binaries,
    along: Along,
) -> Result<Account, TimelineError> {
    let account = Account::of(recording, binaries)?;
    Ok(if along == Along::MainThread { account.along_main_thread() } else { account })
}

/// One command's runs, explained.
#[derive(Debug)]
pub struct TraceAnalysis {
    pub summary: Summary,
    /// The round and the total of each run, in nanoseconds.
    pub totals: Vec<(u32, f64)>,
    /// The files that explain it.
    pub binaries: FileBinaries,
    /// Why user code was not sampled, where it should have been.
    pub unsampled: Option<SamplerError>,
    /// What language runtimes reported of their loads, or why that does not count; `None`: none was asked.
    pub reports: Option<Result<Reports, String>>,
    /// Lines of the reports that could not be read.
    pub misread_lines: usize,
    pub observed: ObservedRuns,
    pub tracer: UsedTracer,
    /// How the runs ended. If one failed, how that one ended.
    pub exit: ExitStatus,
    /// The last lines of that run's stderr, if it failed.
    pub stderr: Vec<String>,
    /// The CPUID instructions of its start, where they matter, or why they could not be counted.
    pub cpuid: Result<Option<Cpuid>, NoCpuidCount>,
    pub costs: Option<ObserverCosts>,
    /// What a reader must know of its named parts: a sentence each.
    pub caveats: Vec<String>,
    /// How many runs were made to sample it.
    pub sampling_executions: u64,
}

impl TraceAnalysis {
    /// `costs`: what observing is known to cost. It is taken off all times. The error is the message for the user: no run
    /// counts, or a recording has no account.
    pub fn of(
        name: &str,
        mut observed: ObservedRuns,
        tracer: UsedTracer,
        along: Along,
        costs: Option<ObserverCosts>,
    ) -> Result<TraceAnalysis, String> {
        let binaries = FileBinaries::default();
        let correction = Correction::of(&observed, costs);
        let explained =
            |recording: &Recording| Ok((account(recording, &binaries, along)?, Marks::of(recording)?));
        let corrected = |(run, recording): (usize, &mut Recording)| match &correction {
            Some(correction) => correction.applied(run, recording, explained),
            None => explained(recording),
        };
        let explained: Result<Vec<(Account, Marks)>, TimelineError> =
            observed.recordings.iter_mut().enumerate().map(corrected).collect();
        // a region may be so short that what is taken off a call by bpf is more than it cost
        let of_stops = correction.as_ref().filter(|_| tracer.backend.stops_tracee());
        let region = named_spans::region(&mut observed, of_stops);
        let (accounts, marks): (Vec<Account>, Vec<Marks>) =
            explained.map_err(|error| error.to_string())?.into_iter().unzip();
        let mark = observed.mark.clone();
        let accounts = match &mark {
            Some(name) => parts(accounts, &marks, name)?,
            None => accounts,
        };
        let recorded = correction.as_ref().map(|_| recorded(&observed.recordings)).transpose();
        let recorded = recorded.map_err(|error: TimelineError| error.to_string())?;
        let reason = observed.rejected.first().map_or("no run was made", String::as_str);
        let none = format!("no run of `{name}` counts: {reason}\nhelp: run it by hand to see what it does");
        let mut analysis =
            TraceAnalysis::of_accounts(accounts, &marks, binaries, observed, tracer).ok_or(none)?;
        analysis.summary.recorded = recorded.filter(|_| mark.is_none());
        analysis.summary.within = mark;
        analysis.costs = costs;
        let observed = &analysis.observed;
        if observed.by_ptrace() && observed.user.is_none() && observed.hidden_wall().is_some() {
            analysis.caveats.push(HIDDEN_USER_CODE.to_owned());
        }
        if correction.is_some_and(|correction| correction.has_moved_timeouts()) {
            analysis.caveats.push(MOVED_TIMEOUTS.to_owned());
        }
        match region {
            Some(Ok(region)) => analysis.summary.marks.insert(0, region),
            Some(Err(why)) => analysis.caveats.push(named_spans::unknown_region(&why)),
            None => {}
        }
        Ok(analysis)
    }

    /// `accounts`, `marks`: one for each recording; `None` if there are none.
    pub fn of_accounts(
        accounts: Vec<Account>,
        marks: &[Marks],
        binaries: FileBinaries,
        observed: ObservedRuns,
        tracer: UsedTracer,
    ) -> Option<TraceAnalysis> {
        let totals = observed.rounds.iter().copied().zip(accounts.iter().map(|a| a.total.as_f64())).collect();
        let mut summary = Summary::of(accounts)?;
        summary.stopped = tracer.backend.stops_tracee();
        summary.marks = named_spans(marks, summary.median_index);
        let worst = worst(&observed.recordings)?;
        summary.loads = loads::of_path(&summary.median_run, &binaries);
        summary.linked = libraries::linked(&summary.median_run, &summary.loads, &binaries);
        summary.environment = behind_env::environment(&summary.median_run, &observed.environment);
        for (account, loads) in &mut summary.others {
            *loads = loads::of_path(account, &binaries);
        }
        let exit = worst.exit;
        let stderr = if exit.success() { Vec::new() } else { worst.output.last_errors(LAST_LINES) };
        let (cpuid, costs, unsampled, reports) = (Ok(None), None, None, None);
        Some(TraceAnalysis {
            summary,
            totals,
            binaries,
            unsampled,
            reports,
            misread_lines: 0,
            caveats: named_spans::caveats(marks),
            observed,
            tracer,
            exit,
            stderr,
            cpuid,
            costs,
            sampling_executions: 0,
        })
    }

    /// Whether the runs ended as they should.
    pub fn ended_well(&self) -> bool {
        self.observed.accepted.accepts(self.exit)
    }

    /// What sampled runs have to expect.
    pub fn expected(&self) -> ExpectedCost {
        ExpectedCost {
            user: all_user_time(&self.summary.median_run),
            wall: self.summary.median_run.wall.as_f64(),
            alone: self.summary.median_run.threads.len() == 1,
        }
    }

    /// How the runs should be sampled, by what the traced ones did.
    pub fn sampling_wish(&self) -> SamplingWish {
        let account = &self.summary.median_run;
        if self.summary.within.is_none() && loads::interpreters(account).is_empty() {
            return SamplingWish::Native;
        }
        if self.observed.rights.is_some() {
            return SamplingWish::Unstopped("a program that is traced gets no rights from its file");
        }
        let steps = account.threads.iter().flat_map(|thread| &thread.steps);
        let called = steps.filter_map(|step| match &*step.what {
            What::Call { name, .. } => Some(&**name),
            _ => None,
        });
        match called.into_iter().find_map(sees_stops) {
            Some(reason) => SamplingWish::Unstopped(reason),
            None => SamplingWish::Stopped,
        }
    }

    /// The files of the interpreters whose frames can be read.
    pub fn interpreters(&self) -> Vec<PathBuf> {
        loads::interpreters(&self.summary.median_run).into_iter().map(PathBuf::from).collect()
    }

    /// Names the user code by the functions that sampled runs found. `by`: what the program's own code is divided by.
    pub fn add_samples(&mut self, sampled: Result<Sampled, SamplerError>, by: By) {
        match sampled {
            Ok(sampled) => {
                self.sampling_executions = sampled.executions;
                self.summary.user_code =
                    Some(UserCode::of(&self.summary.median_run, &sampled, &self.binaries, by));
            }
            Err(error) => self.unsampled = Some(error),
        }
    }

    /// How often the command was executed, also to count its CPUID instructions.
    pub fn executions(&self) -> u64 {
        let counted = self.cpuid.is_ok_and(|cpuid| cpuid.is_some()) && self.observed.executions > 0;
        self.observed.executions
            + self.observed.user.map_or(0, |user| user.executions)
            + self.sampling_executions
            + u64::from(counted)
            + 2 * u64::from(self.reports.is_some())
    }

    /// The language runtimes that take part, which can report what they load.
    pub fn runtimes(&self) -> Vec<AskedRuntime> {
        loads::runtimes(&self.summary.median_run, &self.binaries)
    }

    /// Adds the loads that the runtimes reported.
    pub fn add_reports(&mut self, reports: Result<Reports, String>) {
        let reports = reports.and_then(told_apart);
        for (runtime, text) in reports.iter().flat_map(|reports| &reports.texts) {
            self.summary.loads.extend(loads::reported(*runtime, text));
            self.summary.commands.extend(loads::commands(*runtime, text));
            self.misread_lines += loads::misread(*runtime, text);
        }
        self.summary.reporting_run = reports.as_ref().ok().map(|reports| reports.runs[0]);
        self.reports = Some(reports);
    }

    /// The files that explain it.
    pub fn modules(&self) -> Vec<Module> {
        self.binaries.modules()
    }

    /// The facts that the rules of findings need.
    pub fn machine(&self) -> findings::MachineFacts {
        findings::MachineFacts {
            cpuid: self.cpuid.ok().flatten(),
            loader: self.summary.user_code.as_ref().and_then(UserCode::loader),
            loader_error: self.summary.user_code.as_ref().map(UserCode::loader_error).unwrap_or_default(),
        }
    }

    pub fn findings(&self) -> Vec<Finding> {
        findings::findings(&self.summary, &self.machine())
    }

    /// What every rule finds, given or not.
    pub fn every_finding(&self) -> Vec<Finding> {
        findings::every(&self.summary, &self.machine())
    }

    /// The mean total without the time that the observation adds, in nanoseconds; `None` if that time is not known.
    pub fn corrected_total(&self) -> Option<f64> {
        self.summary.recorded.map(|_| self.summary.total.middle)
    }

    /// Wall time of traced runs over that of untraced ones, block by block.
    pub fn overhead(&self) -> Option<Comparison> {
        BothKinds::overhead(&self.observed.blocks)
    }

    /// The recording of the run that is shown.
    pub fn shown(&self) -> Option<&Recording> {
        self.observed.recordings.get(self.summary.median_index)
    }
}

/// The part of each run that has a name.
fn parts(accounts: Vec<Account>, marks: &[Marks], name: &str) -> Result<Vec<Account>, String> {
    accounts
        .into_iter()
        .zip(marks)
        .map(|(account, marks)| named_spans::within(account, marks, name))
        .collect()
}

/// Why a program that makes this system call may not be stopped.
fn sees_stops(call: &str) -> Option<&'static str> {
    match call {
        "ptrace" => Some("it traces programs itself"),
        "rt_sigtimedwait" | "rt_sigtimedwait_time64" | "rt_sigpending" | "signalfd" | "signalfd4" => {
            Some("it asks for pending signals, and might see those that stop it")
        }
        _ => None,
    }
}

/// The reports, unless the loads of several threads are mixed in one of them.
fn told_apart(reports: Reports) -> Result<Reports, String> {
    match reports.texts.iter().find(|(runtime, text)| loads::mixes_threads(*runtime, text)) {
        Some((runtime, _)) => {
            Err(format!("several threads import at once, and {} does not tell them apart", runtime.name()))
        }
        None => Ok(reports),
    }
}

/// The mean total of the middle half of the runs as they were recorded, in nanoseconds.
fn recorded(recordings: &[Recording]) -> Result<f64, TimelineError> {
    let totals: Result<Vec<f64>, _> =
        recordings.iter().map(|run| Timeline::of(run).map(|timeline| timeline.total.as_f64())).collect();
    let mut totals = totals?;
    totals.sort_by(f64::total_cmp);
    Ok(Spread::of_runs(&totals).middle)
}

/// The first run that failed; if none did, the first.
fn worst(recordings: &[Recording]) -> Option<&Recording> {
    recordings.iter().find(|recording| !recording.exit.success()).or(recordings.first())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_that_failed_decides_how_the_program_ended() {
        let ended = |exit| Recording { exit, ..Recording::empty(Backend::Pipe, 1) };
        let of = |codes: [i32; 3]| worst(&codes.map(|code| ended(ExitStatus::Code(code)))).unwrap().exit;
        assert_eq!(of([0, 7, 0]), ExitStatus::Code(7));
        assert_eq!(of([0, 0, 0]), ExitStatus::SUCCESS);
        assert_eq!(worst(&[]), None);
    }
}
