//! How each run of a command is made, in every command that runs programs of the user.

use super::accepted::Accepted;
use super::place::Place;
use super::runner::Tracee;
use firstbyte_measure::launch::{Command, Environment, LaunchError, Launcher, OutputKind, Until};
use firstbyte_measure::tracer::Setting;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct RunPlan {
    pub output: OutputKind,
    pub place: Place,
    /// The time after which a run is killed.
    pub timeout: Duration,
    /// The file that is each run's stdin; `None`: it is empty.
    pub input: Option<PathBuf>,
    /// What ends a run before the program exits.
    pub until: Option<Until>,
    /// How each run must end, if nothing else ends it.
    pub accepted: Accepted,
    /// The environment of the programs, without the variables that are set for one program alone.
    pub environment: Environment,
}

impl RunPlan {
    /// One command, ready to be run.
    pub fn tracee(&self, command: Command) -> Result<Tracee, LaunchError> {
        let setting = Setting {
            output: self.output,
            expected: None,
            timeout: Some(self.timeout),
            until: self.until.clone(),
        };
        Ok(Tracee { launcher: Launcher::new(command)?, setting, place: self.place.clone() })
    }

    /// How a run must end. A program that firstbyte stops may end in any way.
    pub fn accepted(&self) -> Accepted {
        if self.until.is_some() { Accepted::Any } else { self.accepted }
    }
}
