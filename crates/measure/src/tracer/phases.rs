//! Tracers that observe the phases of a run.

#[cfg(not(feature = "bpf"))]
use super::choose::BUILT_WITHOUT_BPF;
use super::choose::{ASKED_FOR, BackendChoice, ChooseError, Chosen, one_line, with_remarks};
use super::pipe::PipeTracer;
use super::ptrace::PtracePhases;
use super::{Backend, Recording, Setting, Tracer};
use crate::launch::{LaunchError, Launcher};

/// A tracer of the phases, of any backend.
#[derive(Debug)]
pub enum PhasesTracer {
    /// Loaded BPF programs.
    #[cfg(feature = "bpf")]
    Bpf(Box<super::bpf::BpfPhases>),
    /// ptrace stops at the calls that bound the phases.
    Ptrace(PtracePhases),
    /// Nothing attached.
    Pipe(PipeTracer),
}

/// Loads the backend that was asked for; `Auto` takes the best that works.
pub fn choose_phases(choice: BackendChoice) -> Result<Chosen<PhasesTracer>, ChooseError> {
    let asked_for = |tracer| Chosen { tracer, reason: ASKED_FOR.to_owned() };
    match choice {
        BackendChoice::Bpf => {
            let tracer = bpf().map_err(ChooseError::Bpf)?;
            let reason = with_remarks(ASKED_FOR, &tracer.remarks());
            Ok(Chosen { tracer, reason })
        }
        BackendChoice::Ptrace => Ok(asked_for(ptrace())),
        BackendChoice::Pipe => Ok(asked_for(PhasesTracer::Pipe(PipeTracer::new()))),
        BackendChoice::Auto => Ok(match bpf() {
            Ok(tracer) => {
                let reason = with_remarks("sees every phase at the lowest cost", &tracer.remarks());
                Chosen { tracer, reason }
            }
            Err(cause) => without_bpf(&one_line(&cause)),
        }),
    }
}

fn without_bpf(cause: &str) -> Chosen<PhasesTracer> {
    match super::probe::ptrace_stop() {
        Ok(()) => Chosen {
            tracer: ptrace(),
            reason: format!("slows the programs with its stops, because bpf does not work here: {cause}"),
        },
        Err(error) => Chosen {
            tracer: PhasesTracer::Pipe(PipeTracer::new()),
            reason: format!(
                "sees no phases, because ptrace does not work here ({error}), nor does bpf: {cause}"
            ),
        },
    }
}

fn ptrace() -> PhasesTracer {
    PhasesTracer::Ptrace(PtracePhases::new())
}

#[cfg(feature = "bpf")]
fn bpf() -> Result<PhasesTracer, String> {
    let mut tracer =
        super::bpf::BpfPhases::load(super::bpf::DEFAULT_RING).map_err(|error| error.to_string())?;
    // That they load proves little, because some kernels refuse to attach them.
    tracer.attach().and_then(|()| tracer.detach()).map_err(|error| error.to_string())?;
    Ok(PhasesTracer::Bpf(Box::new(tracer)))
}

#[cfg(not(feature = "bpf"))]
fn bpf() -> Result<PhasesTracer, String> {
    Err(BUILT_WITHOUT_BPF.to_owned())
}

impl PhasesTracer {
    /// How this kernel makes the backend observe differently from a current one; one clause each.
    fn remarks(&self) -> Vec<&'static str> {
        match self {
            #[cfg(feature = "bpf")]
            PhasesTracer::Bpf(tracer) => tracer.remarks(),
            _ => Vec::new(),
        }
    }

    fn inner(&mut self) -> &mut dyn Tracer {
        match self {
            #[cfg(feature = "bpf")]
            PhasesTracer::Bpf(tracer) => tracer.as_mut(),
            PhasesTracer::Ptrace(tracer) => tracer,
            PhasesTracer::Pipe(tracer) => tracer,
        }
    }
}

impl Tracer for PhasesTracer {
    fn backend(&self) -> Backend {
        match self {
            #[cfg(feature = "bpf")]
            PhasesTracer::Bpf(_) => Backend::Bpf,
            PhasesTracer::Ptrace(_) => Backend::Ptrace,
            PhasesTracer::Pipe(_) => Backend::Pipe,
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
