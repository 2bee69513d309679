//! One untraced run, with everything that it wrote to stderr.

use super::error::ExperimentError;
use super::run_plan::RunPlan;
use firstbyte_measure::launch::{Command, LaunchError, OutputKind, temporary_file};
use firstbyte_measure::timeline::Timeline;
use firstbyte_measure::tracer::Recording;
use firstbyte_measure::units::Nanos;
use std::fs::File;
use std::io::{self, Read, Seek};

/// The longest text that is read, in bytes.
pub const MAX_TEXT_BYTES: u64 = 64 << 20;

#[derive(Debug)]
pub struct Captured {
    pub recording: Recording,
    pub stderr: Vec<u8>,
}

impl Captured {
    pub fn of(command: Command, plan: &RunPlan) -> Result<Captured, ExperimentError> {
        let resource = |cause| LaunchError::Resource { what: "stderr", cause };
        let mut errors = temporary_file()?;
        let mut tracee = plan.tracee(command)?;
        tracee.launcher.set_stderr(errors.try_clone().map_err(resource)?.into());
        if let Some(input) = &plan.input {
            tracee.launcher.open_stdin(input)?;
        }
        if tracee.options.output == OutputKind::Null {
            // without a pipe nobody can compare the output
            tracee.options.output = OutputKind::Pipe;
        }
        Ok(Captured { recording: tracee.run_untraced()?, stderr: bytes(&mut errors).map_err(resource)? })
    }

    pub fn wall(&self) -> Nanos {
        Timeline::of(&self.recording).map(|timeline| timeline.wall).unwrap_or_default()
    }
}

fn bytes(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MAX_TEXT_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
