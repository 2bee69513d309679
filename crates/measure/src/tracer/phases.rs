//! Tracers that observe the phases of a run.

use super::Tracer;
#[cfg(not(feature = "bpf"))]
use super::choose::BUILT_WITHOUT_BPF;
use super::choose::{ASKED_FOR, BackendChoice, ChooseError, Chosen, one_line, with_remarks};
use super::pipe::PipeTracer;
use super::ptrace::PtracePhases;

/// Loads the backend that was asked for; `Auto` takes the best that works.
pub fn choose_phases(choice: BackendChoice) -> Result<Chosen<Box<dyn Tracer>>, ChooseError> {
    let asked_for = |tracer| Chosen { tracer, reason: ASKED_FOR.to_owned() };
    match choice {
        BackendChoice::Bpf => {
            let (tracer, remarks) = bpf().map_err(ChooseError::Bpf)?;
            Ok(Chosen { tracer, reason: with_remarks(ASKED_FOR, &remarks) })
        }
        BackendChoice::Ptrace => Ok(asked_for(ptrace())),
        BackendChoice::Pipe => Ok(asked_for(Box::<PipeTracer>::default())),
        BackendChoice::Auto => Ok(match bpf() {
            Ok((tracer, remarks)) => {
                let reason = with_remarks("sees every phase at the lowest cost", &remarks);
                Chosen { tracer, reason }
            }
            Err(cause) => without_bpf(&one_line(&cause)),
        }),
    }
}

fn without_bpf(cause: &str) -> Chosen<Box<dyn Tracer>> {
    match super::probe::ptrace_stop() {
        Ok(()) => Chosen {
            tracer: ptrace(),
            reason: format!("slows the programs with its stops, because bpf does not work here: {cause}"),
        },
        Err(error) => Chosen {
            tracer: Box::<PipeTracer>::default(),
            reason: format!(
                "sees no phases, because ptrace does not work here ({error}), nor does bpf: {cause}"
            ),
        },
    }
}

fn ptrace() -> Box<dyn Tracer> {
    Box::new(PtracePhases::new())
}

/// The tracer, and how this kernel makes it observe differently from a current one.
#[cfg(feature = "bpf")]
fn bpf() -> Result<(Box<dyn Tracer>, Vec<&'static str>), String> {
    let mut tracer =
        super::bpf::BpfPhases::load(super::bpf::DEFAULT_RING).map_err(|error| error.to_string())?;
    // That they load proves little, because some kernels refuse to attach them.
    tracer.attach().and_then(|()| tracer.detach()).map_err(|error| error.to_string())?;
    let remarks = tracer.remarks();
    Ok((Box::new(tracer), remarks))
}

#[cfg(not(feature = "bpf"))]
fn bpf() -> Result<(Box<dyn Tracer>, Vec<&'static str>), String> {
    Err(BUILT_WITHOUT_BPF.to_owned())
}
