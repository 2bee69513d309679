//! The pipe backend attaches nothing. It sees when the first byte arrives at our end, and when the tracee is
//! reaped.

use super::{Backend, Recording, RunOptions, Tracer, frame, until_cleared};
use crate::launch::wait::{self, Watch};
use crate::launch::{LaunchError, Launcher, Preparation};

/// Observes a run only from outside.
#[derive(Clone, Copy, Debug)]
pub struct PipeTracer {
    watch: Watch,
}

impl PipeTracer {
    /// A tracer that sees the first byte arrive.
    pub fn new() -> PipeTracer {
        PipeTracer { watch: Watch::Arrival }
    }

    /// A tracer that sees only the end of the run, and wakes for nothing else. Untraced runs are timed with it, so
    /// that they do the same as runs under a tracer that needs no wake-up.
    pub fn blind() -> PipeTracer {
        PipeTracer { watch: Watch::Exit }
    }
}

impl Default for PipeTracer {
    fn default() -> Self {
        PipeTracer::new()
    }
}

impl Tracer for PipeTracer {
    fn backend(&self) -> Backend {
        Backend::Pipe
    }

    fn run(&mut self, launcher: &mut Launcher, options: &RunOptions) -> Result<Recording, LaunchError> {
        self.run_prepared(launcher, options, Preparation::None)
    }
}

impl PipeTracer {
    /// As [`Tracer::run`], with something to do in the child before its `execve`.
    pub(crate) fn run_prepared(
        self,
        launcher: &mut Launcher,
        options: &RunOptions,
        preparation: Preparation<'_>,
    ) -> Result<Recording, LaunchError> {
        let mut stdout = options.stdout()?;
        let is_seen = self.watch != Watch::Exit && stdout.arrives();
        let watch = if is_seen { launcher.watch_arrival() } else { launcher.watch() };
        wait::prepare(watch);
        let child = launcher.launch(&mut stdout, preparation)?;
        let ended = until_cleared(launcher, options, &child, &mut stdout, watch)?;
        let mut recording = frame(Backend::Pipe, launcher, options, &child, &ended, stdout.finish());
        if self.watch == Watch::Exit {
            recording.events.retain(|event| !matches!(event.kind, super::EventKind::FirstRead { .. }));
        }
        Ok(recording)
    }
}
