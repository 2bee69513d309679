//! Tracers that observe every system call of a run, and more if the backend can.

#[cfg(not(feature = "bpf"))]
use super::choose::BUILT_WITHOUT_BPF;
use super::choose::{ASKED_FOR, BackendChoice, ChooseError, Chosen, one_line, with_remarks};
use super::event::WantedContents;
use super::ptrace::{PtraceFull, own_proc};
use super::{EventCosts, Recording, RunOptions, Tracer};
use crate::Counts;
use crate::launch::{LaunchError, Launcher};

/// A tracer that sees every system call.
pub trait FullTracer: Tracer {
    /// What one event costs; `None` if this backend cannot measure it. Nothing is attached afterwards.
    ///
    /// # Errors
    ///
    /// The kernel refuses to attach or to detach it.
    fn event_costs(&mut self) -> Result<Option<EventCosts>, ChooseError> {
        Ok(None)
    }

    /// Chooses which contents of buffers it records. At first it records none. Nothing may be attached.
    fn record_contents(&mut self, wanted: WantedContents);

    /// Whether this tracer sees page faults.
    fn sees_faults(&self) -> bool {
        false
    }

    /// Runs a launcher's command once and counts what it does. It must be attached, and see page faults or count them
    /// otherwise, as ptrace does. Only ptrace knows the peak memory.
    ///
    /// # Errors
    ///
    /// The command cannot be run or observed.
    fn count(
        &mut self,
        launcher: &mut Launcher,
        options: &RunOptions,
    ) -> Result<(Counts, Recording), LaunchError>;
}

/// ptrace stops: it sees no page faults and no context switches, and is much slower.
impl FullTracer for PtraceFull {
    fn record_contents(&mut self, wanted: WantedContents) {
        self.contents = wanted;
    }

    fn count(
        &mut self,
        launcher: &mut Launcher,
        options: &RunOptions,
    ) -> Result<(Counts, Recording), LaunchError> {
        super::ptrace::count(launcher, options)
    }
}

#[cfg(feature = "bpf")]
impl FullTracer for super::bpf::BpfFull {
    fn event_costs(&mut self) -> Result<Option<EventCosts>, ChooseError> {
        super::bpf::BpfFull::event_costs(self).map_err(|error| ChooseError::Switch(error.to_string()))
    }

    fn record_contents(&mut self, wanted: WantedContents) {
        super::bpf::BpfFull::record_contents(self, wanted);
    }

    fn sees_faults(&self) -> bool {
        super::bpf::BpfFull::sees_faults(self)
    }

    fn count(
        &mut self,
        launcher: &mut Launcher,
        options: &RunOptions,
    ) -> Result<(Counts, Recording), LaunchError> {
        super::bpf::BpfFull::count(self, launcher, options)
    }
}

/// Loads the backend that was asked for; `Auto` takes the best that works. `ring` is the size of the BPF ring buffer in
/// bytes, if not the default.
pub fn choose_full(
    choice: BackendChoice,
    ring: Option<u32>,
) -> Result<Chosen<Box<dyn FullTracer>>, ChooseError> {
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

fn ptrace() -> Result<Box<dyn FullTracer>, ChooseError> {
    own_proc().map_err(ChooseError::Proc)?;
    Ok(Box::new(PtraceFull::default()))
}

/// The tracer, and how this kernel makes it observe differently from a current one.
#[cfg(feature = "bpf")]
fn bpf(ring: Option<u32>) -> Result<(Box<dyn FullTracer>, Vec<&'static str>), String> {
    let ring = ring.unwrap_or(super::bpf::LARGE_RING);
    let mut tracer = super::bpf::BpfFull::load(ring).map_err(|error| error.to_string())?;
    tracer.attach().map_err(|error| error.to_string())?;
    // What is attached decides.
    let remarks = tracer.remarks();
    tracer.detach().map_err(|error| error.to_string())?;
    Ok((Box::new(tracer), remarks))
}

#[cfg(not(feature = "bpf"))]
fn bpf(_ring: Option<u32>) -> Result<(Box<dyn FullTracer>, Vec<&'static str>), String> {
    Err(BUILT_WITHOUT_BPF.to_owned())
}
