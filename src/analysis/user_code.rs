//! The user code of a command's start-up by function, and how that is known.

use super::binaries::FileBinaries;
use super::model::Account;
use super::profile::{By, Divided, Estimate, Own, Profile};
use super::started::started;
use super::user_times::user_times;
use crate::analysis::runs::Sampled;
use crate::bench::BothKinds;
use crate::stats::Comparison;
use firstbyte_measure::units::Nanos;
use std::collections::BTreeSet;

/// User code on the path of the run that is shown, divided by samples of other runs.
#[derive(Clone, Debug, Default)]
pub struct UserCode {
    pub divided: Divided,
    /// The sampled runs, and all their samples.
    pub runs: usize,
    pub samples: u64,
    /// Samples for which the ring had no room.
    pub lost: u64,
    /// The processor time between two samples of a task.
    pub period: Nanos,
    /// Wall time of sampled runs over that of untraced ones, block by block.
    pub overhead: Option<Comparison>,
    /// What is not known of language frames, a sentence each.
    pub notes: Vec<String>,
    /// Of the run with the most samples, each with its time and its stack.
    pub example: Vec<TimedStack>,
}

pub use super::profile::TimedStack;

impl UserCode {
    pub(super) fn of(account: &Account, sampled: &Sampled, binaries: &FileBinaries, by: By) -> UserCode {
        let profile = Profile::of(&sampled.streams, binaries, sampled.since, &Own::of(&started(account)));
        UserCode {
            divided: Divided::of(&user_times(account), &profile, by),
            runs: profile.runs,
            samples: profile.samples,
            lost: profile.lost,
            period: profile.period,
            overhead: BothKinds::overhead(&sampled.blocks),
            notes: notes(sampled),
            example: profile.example,
        }
    }

    /// The time of the dynamic loader's own code; `None`: the samples do not divide most of the user code.
    pub(super) fn loader(&self) -> Option<Nanos> {
        let time = Nanos::rounded(self.of_loader().map(|time| time.time).sum());
        (self.divided.unsampled < 0.5 * self.divided.total).then_some(time)
    }

    /// How far that may be off.
    pub(super) fn loader_error(&self) -> Nanos {
        Nanos::rounded(self.of_loader().map(Estimate::error).fold(0.0, f64::hypot))
    }

    fn of_loader(&self) -> impl Iterator<Item = &Estimate> {
        let modules = self.divided.modules.iter().filter(|module| is_loader(&module.module));
        modules.map(|module| &module.self_time)
    }
}

fn notes(sampled: &Sampled) -> Vec<String> {
    let unknown: BTreeSet<&String> = sampled.streams.iter().flat_map(|stream| &stream.unknown).collect();
    let unknown = unknown
        .into_iter()
        .map(|name| format!("{name} is not known yet: functions of the interpreter are shown instead."));
    let unstopped = sampled.unstopped.iter().map(|reason| {
        format!(
            "The program's own functions are not read, those of its interpreter are shown instead: {reason}."
        )
    });
    unknown.chain(unstopped).collect()
}

/// Whether a module is the dynamic loader.
pub(super) fn is_loader(module: &str) -> bool {
    let file = module.rsplit('/').next().unwrap_or_default();
    ["ld-", "ld.so", "ld64.so"].iter().any(|start| file.starts_with(start))
}
