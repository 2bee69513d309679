//! How each run of a command is made, in every command that runs programs of the user.

use super::accepted::Accepted;
use super::placement::Placement;
use super::runner::{LookForMarks, Tracee};
use firstbyte_measure::launch::{Command, Environment, LaunchError, Launcher, OutputKind, Until};
use firstbyte_measure::timeline::region::Region;
use firstbyte_measure::tracer::RunOptions;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

/// Where a program's output goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destination {
    pub kind: OutputKind,
    /// The file of [`OutputKind::File`]; `None`: a temporary one.
    pub file: Option<PathBuf>,
}

impl From<OutputKind> for Destination {
    fn from(kind: OutputKind) -> Destination {
        Destination { kind, file: None }
    }
}

#[derive(Clone, Debug)]
pub struct RunPlan {
    pub output: Destination,
    pub placement: Placement,
    /// The time after which a run is killed.
    pub timeout: Duration,
    /// The file that is each run's stdin; `None`: it is empty.
    pub input: Option<PathBuf>,
    /// What ends a run before the program exits.
    pub until: Option<Until>,
    /// The region whose time is wanted, between two texts that the program prints.
    pub region: Option<Region>,
    /// Which runs look for marks, where that costs something.
    pub marks: LookForMarks,
    /// How each run must end, if nothing else ends it.
    pub accepted: Accepted,
    /// The environment of the programs, without the variables that are set for one program alone.
    pub environment: Environment,
}

impl RunPlan {
    /// One command, ready to be run.
    pub fn tracee(&self, command: Command) -> Result<Tracee, LaunchError> {
        let options = RunOptions {
            output: self.output.kind,
            kept: self.output.file.clone(),
            expected: None,
            timeout: Some(self.timeout),
            until: self.until.clone(),
            texts: self.region.as_ref().map(Region::texts).unwrap_or_default(),
            marks: false,
        };

        let mut launcher = Launcher::new(command)?;
        if self.output.kind == OutputKind::Inherit {
            let stderr = std::io::stderr().as_fd().try_clone_to_owned();
            launcher.set_stderr(stderr.map_err(|cause| LaunchError::Resource { what: "stderr", cause })?);
        }
        Ok(Tracee { launcher, options, placement: self.placement.clone(), marks: self.marks })
    }

    /// How a run must end. A program that firstbyte stops may end in any way.
    pub fn accepted(&self) -> Accepted {
        if self.until.is_some() { Accepted::Any } else { self.accepted }
    }
}
