//! Which backend observes everything: BPF, or ptrace where that is not to be had.

use super::choose::{Choice, ChooseError};
use super::ptrace::{PtraceFullTracer, own_proc};
use super::{Backend, Recording, Setting, Tracer};
use crate::launch::{LaunchError, Launcher};

/// A tracer that sees every system call.
#[derive(Debug)]
pub enum FullBackend {
    /// BPF programs, loaded.
    #[cfg(feature = "bpf")]
    Bpf(Box<super::bpf::FullTracer>),
    /// ptrace stops: no page faults, no switches, and much slower.
    Ptrace(PtraceFullTracer),
}

/// What observing one event costs the tracee, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EventCosts {
    /// A system call.
    pub syscall: f64,
    /// A page fault.
    pub fault: f64,
}

/// Loads the backend that was asked for; `Auto` takes the best that works. Also one line: why this one. `ring` is the
/// size of the BPF ring buffer in bytes, if not the default.
pub fn choose_full(choice: Choice, ring: Option<u32>) -> Result<(FullBackend, String), ChooseError> {
    let ptrace = |reason| {
        own_proc().map_err(ChooseError::Proc)?;
        Ok((FullBackend::Ptrace(PtraceFullTracer), reason))
    };
    match choice {
        Choice::Bpf => bpf(ring).map(|tracer| (tracer, "asked for".to_owned())).map_err(ChooseError::Bpf),
        Choice::Ptrace => ptrace("asked for".to_owned()),
        Choice::Pipe => Err(ChooseError::NoCalls),
        Choice::Auto => match bpf(ring) {
            Ok(tracer) => Ok((tracer, "sees everything at the least cost".to_owned())),
            Err(cause) => ptrace(format!(
                "sees system calls alone and slows each, because bpf does not work here: {}",
                cause.lines().collect::<Vec<_>>().join("; ")
            )),
        },
    }
}

#[cfg(feature = "bpf")]
fn bpf(ring: Option<u32>) -> Result<FullBackend, String> {
    let ring = ring.unwrap_or(super::bpf::LARGE_RING);
    let mut tracer = super::bpf::FullTracer::load(ring).map_err(|error| error.to_string())?;
    tracer.attach().and_then(|()| tracer.detach()).map_err(|error| error.to_string())?;
    Ok(FullBackend::Bpf(Box::new(tracer)))
}

#[cfg(not(feature = "bpf"))]
fn bpf(_ring: Option<u32>) -> Result<FullBackend, String> {
    Err("this firstbyte was built without it\nhelp: install clang and build with the default features"
        .to_owned())
}

impl FullBackend {
    /// Attaches what has to be attached before traced runs.
    pub fn attach(&mut self) -> Result<(), ChooseError> {
        match self {
            #[cfg(feature = "bpf")]
            FullBackend::Bpf(tracer) => {
                tracer.attach().map_err(|error| ChooseError::Switch(error.to_string()))
            }
            FullBackend::Ptrace(_) => Ok(()),
        }
    }

    /// Takes it off, so that untraced runs are untraced indeed.
    pub fn detach(&mut self) -> Result<(), ChooseError> {
        match self {
            #[cfg(feature = "bpf")]
            FullBackend::Bpf(tracer) => {
                tracer.detach().map_err(|error| ChooseError::Switch(error.to_string()))
            }
            FullBackend::Ptrace(_) => Ok(()),
        }
    }

    /// What one event costs; `None` where that cannot be told. Leaves nothing attached.
    pub fn calibrate(&mut self) -> Result<Option<EventCosts>, ChooseError> {
        match self {
            #[cfg(feature = "bpf")]
            FullBackend::Bpf(tracer) => {
                tracer.calibrate().map_err(|error| ChooseError::Switch(error.to_string()))
            }
            FullBackend::Ptrace(_) => Ok(None),
        }
    }

    /// Whether page faults are seen.
    pub fn sees_faults(&self) -> bool {
        match self {
            #[cfg(feature = "bpf")]
            FullBackend::Bpf(tracer) => tracer.sees_faults(),
            FullBackend::Ptrace(_) => false,
        }
    }

    fn inner(&mut self) -> &mut dyn Tracer {
        match self {
            #[cfg(feature = "bpf")]
            FullBackend::Bpf(tracer) => tracer.as_mut(),
            FullBackend::Ptrace(tracer) => tracer,
        }
    }
}

impl Tracer for FullBackend {
    fn backend(&self) -> Backend {
        match self {
            #[cfg(feature = "bpf")]
            FullBackend::Bpf(tracer) => tracer.backend(),
            FullBackend::Ptrace(tracer) => tracer.backend(),
        }
    }

    fn run(&mut self, launcher: &mut Launcher, setting: &Setting) -> Result<Recording, LaunchError> {
        self.inner().run(launcher, setting)
    }
}
