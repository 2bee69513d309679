//! A command's runs, explained: the summary of their accounts, and what is known of the runs themselves.

use super::binaries::FileBinaries;
use super::findings::{self, Finding};
use super::observer_costs::ObserverCosts;
use super::{Account, Summary};
use crate::bench::explain::Observed;
use crate::stats::{self, Bootstrap, Comparison};
use firstbyte_measure::arch::cpuid::Cpuid;
use firstbyte_measure::launch::ExitStatus;
use firstbyte_measure::timeline::Timeline;
use firstbyte_measure::tracer::Recording;
use firstbyte_measure::tracer::module::Module;
use firstbyte_measure::tracer::ptrace::NoCpuidCount;

/// The observer of the runs.
#[derive(Clone, Debug)]
pub struct UsedTracer {
    /// The name of the backend.
    pub backend: &'static str,
    /// Why this one.
    pub reason: String,
    pub sees_faults: bool,
}

/// One command's runs, explained.
#[derive(Debug)]
pub struct Explained {
    pub summary: Summary,
    /// The round and the total of each run, in nanoseconds.
    pub totals: Vec<(u32, f64)>,
    /// The files that explain it.
    pub modules: Vec<Module>,
    pub observed: Observed,
    pub tracer: UsedTracer,
    /// How the runs ended. If one failed, how that one ended.
    pub exit: ExitStatus,
    /// The CPUID instructions of its start, where they matter, or why they could not be counted.
    pub cpuid: Result<Option<Cpuid>, NoCpuidCount>,
    pub costs: Option<ObserverCosts>,
}

impl Explained {
    /// The error is the message for the user: no run counts, or a recording has no account.
    pub fn of(name: &str, observed: Observed, tracer: UsedTracer) -> Result<Explained, String> {
        let binaries = FileBinaries::default();
        let accounts: Result<Vec<Account>, _> =
            observed.recordings.iter().map(|recording| Account::of(recording, &binaries)).collect();
        let accounts = accounts.map_err(|error| error.to_string())?;
        let totals = observed.rounds.iter().copied().zip(accounts.iter().map(|a| a.total.as_f64())).collect();

        let (Some(summary), Some(exit)) = (Summary::of(accounts), worst(&observed.recordings)) else {
            let reason = observed.rejected.first().map_or("no run was made", String::as_str);
            return Err(format!(
                "no run of `{name}` counts: {reason}\nhelp: run it by hand to see what it does"
            ));
        };
        let modules = binaries.modules();
        Ok(Explained { summary, totals, modules, observed, tracer, exit, cpuid: Ok(None), costs: None })
    }

    /// The facts that the rules of findings need.
    pub fn machine(&self) -> findings::MachineFacts {
        findings::MachineFacts { cpuid: self.cpuid.ok().flatten() }
    }

    pub fn findings(&self) -> Vec<Finding> {
        findings::findings(&self.summary, &self.machine())
    }

    /// The mean total without the time that the observation adds, in nanoseconds.
    pub fn corrected_total(&self) -> Option<f64> {
        Some((self.summary.total.middle - self.costs?.of(&self.summary)).max(0.0))
    }

    /// Wall time of traced runs over that of untraced ones, block by block.
    pub fn overhead(&self) -> Option<Comparison> {
        let side = |n: usize| self.observed.blocks.iter().map(|block| block[n]).collect::<Vec<f64>>();
        stats::paired(&side(1), &side(0), Bootstrap::default())
    }

    pub fn shown(&self) -> Option<&Recording> {
        let reference = &self.summary.reference;
        let is_shown = |recording: &&Recording| {
            Timeline::of(recording)
                .is_ok_and(|timeline| timeline.wall == reference.wall && timeline.total == reference.total)
        };
        self.observed.recordings.iter().find(is_shown)
    }
}

fn worst(recordings: &[Recording]) -> Option<ExitStatus> {
    let failed = recordings.iter().find(|recording| !recording.exit.success());
    failed.or(recordings.first()).map(|recording| recording.exit)
}
