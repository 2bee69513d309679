//! Tracers that observe every system call of a run, and more if the backend can.

#[cfg(not(feature = "bpf"))]
use super::choose::BUILT_WITHOUT_BPF;
use super::choose::{ASKED_FOR, BackendChoice, ChooseError, Chosen, one_line, with_remarks};
use super::ptrace::{PtraceFull, own_proc};
use super::{Backend, EventCosts, Recording, Setting, Tracer};
use crate::launch::{LaunchError, Launcher};

/// A tracer that sees every system call.
#[derive(Debug)]
pub enum FullTracer {
    /// Loaded BPF programs.
    #[cfg(feature = "bpf")]
    Bpf(Box<super::bpf::BpfFull>),
    /// ptrace stops: it sees no page faults and no context switches, and is much slower.
    Ptrace(PtraceFull),
}

/// Loads the backend that was asked for; `Auto` takes the best that works. `ring` is the size of the BPF ring buffer in
/// bytes, if not the default.
pub fn choose_full(choice: BackendChoice, ring: Option<u32>) -> Result<Chosen<FullTracer>, ChooseError> {
    match choice {
        BackendChoice::Bpf => {
            let (tracer, remarks) = bpf(ring).map_err(ChooseError::Bpf)?;
            Ok(Chosen { tracer, reason: with_remarks(ASKED_FOR, &remarks) })
        }
        BackendChoice::Ptrace => Ok(Chosen { tracer: ptrace()?, reason: ASKED_FOR.to_owned() }),
        BackendChoice::Pipe => Err(ChooseError::NoCalls),
        BackendChoice::Auto => match bpf(ring) {
            Ok((tracer, remarks)) => {
                let reason = with_remarks("sees everything at the lowest cost", &remarks);
                Ok(Chosen { tracer, reason })
            }
            Err(cause) => Ok(Chosen {
                tracer: ptrace()?,
                reason: format!(
                    "sees only system calls and slows each of them, because bpf does not work here: {}",
                    one_line(&cause)
                ),
            }),
        },
    }
}

fn ptrace() -> Result<FullTracer, ChooseError> {
    own_proc().map_err(ChooseError::Proc)?;
    Ok(FullTracer::Ptrace(PtraceFull))
}

/// The tracer, and how this kernel makes it observe differently from a current one.
#[cfg(feature = "bpf")]
fn bpf(ring: Option<u32>) -> Result<(FullTracer, Vec<&'static str>), String> {
    let ring = ring.unwrap_or(super::bpf::LARGE_RING);
    let mut tracer = super::bpf::BpfFull::load(ring).map_err(|error| error.to_string())?;
    tracer.attach().map_err(|error| error.to_string())?;
    // What is attached decides.
    let remarks = tracer.remarks();
    tracer.detach().map_err(|error| error.to_string())?;
    Ok((FullTracer::Bpf(Box::new(tracer)), remarks))
}

#[cfg(not(feature = "bpf"))]
fn bpf(_ring: Option<u32>) -> Result<(FullTracer, Vec<&'static str>), String> {
    Err(BUILT_WITHOUT_BPF.to_owned())
}

impl FullTracer {
    /// What one event costs; `None` if this backend cannot measure it. Nothing is attached afterwards.
    pub fn event_costs(&mut self) -> Result<Option<EventCosts>, ChooseError> {
        match self {
            #[cfg(feature = "bpf")]
            FullTracer::Bpf(tracer) => {
                tracer.event_costs().map_err(|error| ChooseError::Switch(error.to_string()))
            }
            FullTracer::Ptrace(_) => Ok(None),
        }
    }

    /// Whether this tracer sees page faults.
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

    fn attach(&mut self) -> Result<(), ChooseError> {
        self.inner().attach()
    }

    fn detach(&mut self) -> Result<(), ChooseError> {
        self.inner().detach()
    }

    fn run(&mut self, launcher: &mut Launcher, setting: &Setting) -> Result<Recording, LaunchError> {
        self.inner().run(launcher, setting)
    }
}
