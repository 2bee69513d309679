//! Tracers that observe every system call of a run, and more where the backend can.

#[cfg(not(feature = "bpf"))]
use super::choose::BUILT_WITHOUT_BPF;
use super::choose::{ASKED_FOR, Choice, ChooseError, Chosen, in_one_line};
use super::ptrace::{PtraceFull, own_proc};
use super::{Backend, Recording, Setting, Tracer};
use crate::launch::{LaunchError, Launcher};

/// A tracer that sees every system call.
#[derive(Debug)]
pub enum FullTracer {
    /// BPF programs, loaded.
    #[cfg(feature = "bpf")]
    Bpf(Box<super::bpf::BpfFull>),
    /// ptrace stops: no page faults, no switches, and much slower.
    Ptrace(PtraceFull),
}

/// What observing one event costs the tracee, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EventCosts {
    /// A system call.
    pub syscall: f64,
    /// A page fault.
    pub fault: f64,
}

/// Loads the backend that was asked for; `Auto` takes the best that works. `ring` is the size of the BPF ring buffer in
/// bytes, if not the default.
pub fn choose_full(choice: Choice, ring: Option<u32>) -> Result<Chosen<FullTracer>, ChooseError> {
    let asked_for = |tracer| Chosen { tracer, reason: ASKED_FOR.to_owned() };
    match choice {
        Choice::Bpf => bpf(ring).map(asked_for).map_err(ChooseError::Bpf),
        Choice::Ptrace => ptrace().map(asked_for),
        Choice::Pipe => Err(ChooseError::NoCalls),
        Choice::Auto => match bpf(ring) {
            Ok(tracer) => Ok(Chosen { tracer, reason: "sees everything at the least cost".to_owned() }),
            Err(cause) => Ok(Chosen {
                tracer: ptrace()?,
                reason: format!(
                    "sees system calls alone and slows each, because bpf does not work here: {}",
                    in_one_line(&cause)
                ),
            }),
        },
    }
}

fn ptrace() -> Result<FullTracer, ChooseError> {
    own_proc().map_err(ChooseError::Proc)?;
    Ok(FullTracer::Ptrace(PtraceFull))
}

#[cfg(feature = "bpf")]
fn bpf(ring: Option<u32>) -> Result<FullTracer, String> {
    let ring = ring.unwrap_or(super::bpf::LARGE_RING);
    let mut tracer = super::bpf::BpfFull::load(ring).map_err(|error| error.to_string())?;
    tracer.attach().and_then(|()| tracer.detach()).map_err(|error| error.to_string())?;
    Ok(FullTracer::Bpf(Box::new(tracer)))
}

#[cfg(not(feature = "bpf"))]
fn bpf(_ring: Option<u32>) -> Result<FullTracer, String> {
    Err(BUILT_WITHOUT_BPF.to_owned())
}

impl FullTracer {
    /// Attaches what has to be attached before traced runs.
    pub fn attach(&mut self) -> Result<(), ChooseError> {
        match self {
            #[cfg(feature = "bpf")]
            FullTracer::Bpf(tracer) => {
                tracer.attach().map_err(|error| ChooseError::Switch(error.to_string()))
            }
            FullTracer::Ptrace(_) => Ok(()),
        }
    }

    /// Takes it off, so that untraced runs are untraced indeed.
    pub fn detach(&mut self) -> Result<(), ChooseError> {
        match self {
            #[cfg(feature = "bpf")]
            FullTracer::Bpf(tracer) => {
                tracer.detach().map_err(|error| ChooseError::Switch(error.to_string()))
            }
            FullTracer::Ptrace(_) => Ok(()),
        }
    }

    /// What one event costs; `None` where that cannot be told. Leaves nothing attached.
    pub fn event_costs(&mut self) -> Result<Option<EventCosts>, ChooseError> {
        match self {
            #[cfg(feature = "bpf")]
            FullTracer::Bpf(tracer) => {
                tracer.event_costs().map_err(|error| ChooseError::Switch(error.to_string()))
            }
            FullTracer::Ptrace(_) => Ok(None),
        }
    }

    /// Whether page faults are seen.
    pub fn sees_faults(&self) -> bool {
        match self {
            #[cfg(feature = "bpf")]
            FullTracer::Bpf(tracer) => tracer.sees_faults(),
            FullTracer::Ptrace(_) => false,
        }
    }

    fn inner(&mut self) -> &mut dyn Tracer {
        match self {
            #[cfg(feature = "bpf")]
            FullTracer::Bpf(tracer) => tracer.as_mut(),
            FullTracer::Ptrace(tracer) => tracer,
        }
    }
}

impl Tracer for FullTracer {
    fn backend(&self) -> Backend {
        match self {
            #[cfg(feature = "bpf")]
            FullTracer::Bpf(tracer) => tracer.backend(),
            FullTracer::Ptrace(tracer) => tracer.backend(),
        }
    }

    fn run(&mut self, launcher: &mut Launcher, setting: &Setting) -> Result<Recording, LaunchError> {
        self.inner().run(launcher, setting)
    }
}
