//! Programs of a corpus, ready to be run and measured.

use super::CommandError;
use crate::bench::Subject;
use crate::bench::runner::Tracee;
use crate::corpus::{Built, Program};
use firstbyte_measure::launch::{Command, CpuSet, Launcher, OutputKind};
use firstbyte_measure::tracer::Setting;
use std::sync::Arc;
use std::time::Duration;

/// What all programs of a campaign are run with.
pub(super) struct Circumstances<'p> {
    pub(super) output: OutputKind,
    /// When a run is killed.
    pub(super) timeout: Duration,
    /// `None`: all that this process may use.
    pub(super) cpus: Option<&'p CpuSet>,
}

/// A launcher of a program, which holds its output against what the corpus says.
pub(super) fn tracee(
    program: &Program,
    built: &Built,
    circumstances: &Circumstances,
) -> Result<Tracee, CommandError> {
    let command =
        Command::in_directory(&built.argv, Some(&built.directory)).map_err(CommandError::program)?;
    let mut launcher = Launcher::new(command)?;
    if let Some(cpus) = circumstances.cpus {
        launcher.set_cpus(cpus);
    }
    let expected: Arc<[u8]> = program.manifest.expected.output().into_bytes().into();
    let Circumstances { output, timeout, .. } = *circumstances;
    let setting = Setting { output, expected: Some(expected), timeout: Some(timeout), until: None };
    Ok(Tracee { launcher, setting })
}

/// What a campaign calls it and expects of it.
pub(super) fn subject(program: &Program, built: &Built) -> Subject {
    Subject {
        name: program.name().to_owned(),
        command: shell_words::join(built.argv.iter().map(|word| word.to_string_lossy())),
        expected: Some(program.manifest.expected.exit),
        file_size: Some(built.artifact_size),
    }
}
