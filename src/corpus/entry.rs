//! Programs of the corpus as entries of an experiment.

use super::{Built, Program};
use crate::bench::{
    Accepted, Around, ExperimentEntry, ExperimentError, Place, Series, Tracee, run_conditions,
};
use crate::document::conditions::Conditions;
use firstbyte_measure::launch::{Command, Launcher, OutputKind, environment};
use firstbyte_measure::tracer::Setting;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

/// How all programs of an experiment are run.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'c> {
    pub output: OutputKind,
    /// A run is killed after this long.
    pub timeout: Duration,
    pub place: &'c Place,
}

impl Program {
    /// A program that has been built. Its output is compared with what the manifest expects.
    pub fn entry(
        &self,
        built: &Built,
        circumstances: &Circumstances,
    ) -> Result<ExperimentEntry, ExperimentError> {
        Ok(ExperimentEntry {
            series: self.series(built, circumstances),
            tracee: self.tracee(built, circumstances)?,
            around: Around::default(),
            reread: Some(built.artifact.clone()),
        })
    }

    fn series(&self, built: &Built, circumstances: &Circumstances) -> Series {
        Series {
            name: self.name().to_owned(),
            command: shell_words::join(built.argv.iter().map(|word| word.to_string_lossy())),
            accepted: Accepted::Only(self.manifest.expected.exit),
            file_size: Some(built.artifact_size),
            conditions: Some(self.conditions(circumstances)),
            ..Series::default()
        }
    }

    fn conditions(&self, circumstances: &Circumstances) -> Conditions {
        let shown = |(name, value): (&str, OsString)| (name.to_owned(), environment::shown(name, &value));
        let variables = self.manifest.added().map(shown).collect();
        Conditions { variables, ..run_conditions::plain(circumstances.output, circumstances.place) }
    }

    fn tracee(&self, built: &Built, circumstances: &Circumstances) -> Result<Tracee, ExperimentError> {
        let command = Command::in_directory(&built.argv, Some(&built.directory))?
            .with_environment(&self.manifest.environment_of_runs());
        let launcher = Launcher::new(command)?;

        let expected: Arc<[u8]> = self.manifest.expected.output().into_bytes().into();
        let Circumstances { output, timeout, .. } = *circumstances;
        let setting =
            Setting { output, expected: Some(expected), timeout: Some(timeout), ..Setting::default() };
        Ok(Tracee { launcher, setting, place: circumstances.place.clone() })
    }
}
