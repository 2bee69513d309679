//! Programs of the corpus as entries of an experiment.

use super::{Built, Program};
use crate::bench::{
    Accepted, ExperimentEntry, ExperimentError, LookForMarks, Placement, RunHooks, Series, Tracee,
    run_conditions,
};
use crate::document::conditions::Conditions;
use firstbyte_measure::launch::{Command, Launcher, OutputKind, environment};
use firstbyte_measure::tracer::RunOptions;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

/// How all programs of an experiment are run.
#[derive(Clone, Copy, Debug)]
pub struct RunContext<'c> {
    pub output: OutputKind,
    /// A run is killed after this long.
    pub timeout: Duration,
    pub placement: &'c Placement,
}

impl Program {
    /// A program that has been built. Its output is compared with what the manifest expects.
    pub fn entry(&self, built: &Built, context: &RunContext) -> Result<ExperimentEntry, ExperimentError> {
        Ok(ExperimentEntry {
            series: self.series(built, context),
            tracee: self.tracee(built, context)?,
            hooks: RunHooks::default(),
            reread: Some(built.artifact.clone()),
        })
    }

    fn series(&self, built: &Built, context: &RunContext) -> Series {
        Series {
            name: self.name().to_owned(),
            command: shell_words::join(built.argv.iter().map(|word| word.to_string_lossy())),
            accepted: Accepted::Only(self.manifest.expected.exit),
            file_size: Some(built.artifact_size),
            conditions: Some(self.conditions(context)),
            ..Series::default()
        }
    }

    fn conditions(&self, context: &RunContext) -> Conditions {
        let shown = |(name, value): (&str, OsString)| (name.to_owned(), environment::shown(name, &value));
        let variables = self.manifest.added().map(shown).collect();
        Conditions { variables, ..run_conditions::plain(context.output, context.placement) }
    }

    fn tracee(&self, built: &Built, context: &RunContext) -> Result<Tracee, ExperimentError> {
        let command = Command::in_directory(&built.argv, Some(&built.directory))?
            .with_environment(&self.manifest.environment_of_runs());
        let launcher = Launcher::new(command)?;

        let expected: Arc<[u8]> = self.manifest.expected.output().into_bytes().into();
        let RunContext { output, timeout, .. } = *context;
        let options =
            RunOptions { output, expected: Some(expected), timeout: Some(timeout), ..RunOptions::default() };
        Ok(Tracee { launcher, options, placement: context.placement.clone(), marks: LookForMarks::Never })
    }
}
