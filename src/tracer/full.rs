//! Which backend observes everything: BPF, or ptrace where that is not to be had.

use super::choose::{Choice, ChooseError};
use super::{Backend, Recording, Setting, Tracer};
use crate::launch::{LaunchError, Launcher};

/// A tracer that sees every system call.
#[derive(Debug)]
pub enum FullBackend {
    /// BPF programs, loaded.
    #[cfg(feature = "bpf")]
    Bpf(Box<super::bpf::FullTracer>),
}

/// What observing one event costs the tracee, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EventCosts {
    /// A system call.
    pub syscall: f64,
    /// A page fault.
    pub fault: f64,
}

/// Loads the backend that was asked for; `Auto` takes the best that works. Also one line: why this one.
pub fn choose_full(choice: Choice) -> Result<(FullBackend, String), ChooseError> {
    match choice {
        Choice::Auto | Choice::Bpf => {
            bpf().map(|tracer| (tracer, "sees everything at the least cost".to_owned())).map_err(ChooseError::Bpf)
        }
        Choice::Ptrace | Choice::Pipe => Err(ChooseError::Bpf(
            "a trace needs every system call, which only this backend sees\nhelp: leave --backend out, and run as root".to_owned(),
        )),
    }
}

#[cfg(feature = "bpf")]
fn bpf() -> Result<FullBackend, String> {
    let mut tracer =
        super::bpf::FullTracer::load(super::bpf::LARGE_RING).map_err(|error| error.to_string())?;
    tracer.attach().and_then(|()| tracer.detach()).map_err(|error| error.to_string())?;
    Ok(FullBackend::Bpf(Box::new(tracer)))
}

#[cfg(not(feature = "bpf"))]
fn bpf() -> Result<FullBackend, String> {
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
        }
    }

    /// Takes it off, so that untraced runs are untraced indeed.
    pub fn detach(&mut self) -> Result<(), ChooseError> {
        match self {
            #[cfg(feature = "bpf")]
            FullBackend::Bpf(tracer) => {
                tracer.detach().map_err(|error| ChooseError::Switch(error.to_string()))
            }
        }
    }

    /// What one event costs; `None` where that cannot be told. Leaves nothing attached.
    pub fn calibrate(&mut self) -> Result<Option<EventCosts>, ChooseError> {
        match self {
            #[cfg(feature = "bpf")]
            FullBackend::Bpf(tracer) => {
                tracer.calibrate().map_err(|error| ChooseError::Switch(error.to_string()))
            }
        }
    }

    /// Whether page faults are seen.
    pub fn sees_faults(&self) -> bool {
        match self {
            #[cfg(feature = "bpf")]
            FullBackend::Bpf(tracer) => tracer.sees_faults(),
        }
    }
}

impl Tracer for FullBackend {
    fn backend(&self) -> Backend {
        match self {
            #[cfg(feature = "bpf")]
            FullBackend::Bpf(tracer) => tracer.backend(),
        }
    }

    fn run(&mut self, launcher: &mut Launcher, setting: &Setting) -> Result<Recording, LaunchError> {
        match self {
            #[cfg(feature = "bpf")]
            FullBackend::Bpf(tracer) => tracer.run(launcher, setting),
        }
    }
}
