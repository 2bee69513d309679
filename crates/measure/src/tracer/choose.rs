//! Which backend observes: the one asked for, or the best that works here.

use super::pipe::PipeTracer;
use super::ptrace::PtraceTracer;
use super::{Backend, Recording, Setting, Tracer};
use crate::launch::{LaunchError, Launcher};

/// What was asked for (`--backend`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The best that works.
    #[default]
    Auto,
    /// BPF or nothing.
    Bpf,
    /// ptrace.
    Ptrace,
    /// Nothing attached.
    Pipe,
}

/// The tracer that was chosen, and why.
#[derive(Debug)]
pub struct Chosen {
    /// It.
    pub tracer: AnyTracer,
    /// One line for the user: why this one, and what would give a better one.
    pub reason: String,
}

/// A tracer of any backend.
#[derive(Debug)]
pub enum AnyTracer {
    /// BPF programs, loaded.
    #[cfg(feature = "bpf")]
    Bpf(Box<super::bpf::PhasesTracer>),
    /// ptrace.
    Ptrace(PtraceTracer),
    /// Nothing attached.
    Pipe(PipeTracer),
}

/// A backend that was asked for and is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    /// BPF was asked for.
    #[error("the `bpf` backend does not work here: {0}")]
    Bpf(String),
    /// A trace was asked for by the backend that traces nothing.
    #[error(
        "the `pipe` backend sees no system calls, of which a trace consists\nhelp: leave `--backend` out"
    )]
    NoCalls,
    /// ptrace asks `/proc` about the tracee, and it knows others by its id.
    #[error("{0}")]
    Proc(String),
    /// A program could not be attached, or detached, later on.
    #[error("the tracer could not be switched: {0}")]
    Switch(String),
}

/// Loads the backend that was asked for; `Auto` takes the best that works.
pub fn choose(choice: Choice) -> Result<Chosen, ChooseError> {
    match choice {
        Choice::Bpf => {
            bpf().map(|tracer| Chosen { tracer, reason: "asked for".to_owned() }).map_err(ChooseError::Bpf)
        }
        Choice::Ptrace => Ok(ptrace("asked for".to_owned())),
        Choice::Pipe => {
            Ok(Chosen { tracer: AnyTracer::Pipe(PipeTracer::new()), reason: "asked for".to_owned() })
        }
        Choice::Auto => Ok(match bpf() {
            Ok(tracer) => Chosen { tracer, reason: "sees every phase at the least cost".to_owned() },
            Err(cause) => without_bpf(&cause.lines().collect::<Vec<_>>().join("; ")),
        }),
    }
}

fn without_bpf(cause: &str) -> Chosen {
    match super::probe::ptrace_stop() {
        Ok(()) => ptrace(format!("slows the programs by its stops, because bpf does not work here: {cause}")),
        Err(error) => Chosen {
            tracer: AnyTracer::Pipe(PipeTracer::new()),
            reason: format!(
                "sees no phases, because ptrace does not work here ({error}), nor does bpf: {cause}"
            ),
        },
    }
}

fn ptrace(reason: String) -> Chosen {
    Chosen { tracer: AnyTracer::Ptrace(PtraceTracer::new()), reason }
}

#[cfg(feature = "bpf")]
fn bpf() -> Result<AnyTracer, String> {
    let mut tracer =
        super::bpf::PhasesTracer::load(super::bpf::DEFAULT_RING).map_err(|error| error.to_string())?;
    // Loading alone proves little: some kernels refuse to attach.
    tracer.attach().and_then(|()| tracer.detach()).map_err(|error| error.to_string())?;
    Ok(AnyTracer::Bpf(Box::new(tracer)))
}

#[cfg(not(feature = "bpf"))]
fn bpf() -> Result<AnyTracer, String> {
    Err("this firstbyte was built without it\nhelp: install clang and build with the default features"
        .to_owned())
}

impl AnyTracer {
    /// Attaches what has to be attached before traced runs.
    pub fn attach(&mut self) -> Result<(), ChooseError> {
        match self {
            #[cfg(feature = "bpf")]
            AnyTracer::Bpf(tracer) => tracer.attach().map_err(|error| ChooseError::Switch(error.to_string())),
            _ => Ok(()),
        }
    }

    /// Takes it off, so that untraced runs are untraced indeed.
    pub fn detach(&mut self) -> Result<(), ChooseError> {
        match self {
            #[cfg(feature = "bpf")]
            AnyTracer::Bpf(tracer) => tracer.detach().map_err(|error| ChooseError::Switch(error.to_string())),
            _ => Ok(()),
        }
    }

    fn inner(&mut self) -> &mut dyn Tracer {
        match self {
            #[cfg(feature = "bpf")]
            AnyTracer::Bpf(tracer) => tracer.as_mut(),
            AnyTracer::Ptrace(tracer) => tracer,
            AnyTracer::Pipe(tracer) => tracer,
        }
    }
}

impl Tracer for AnyTracer {
    fn backend(&self) -> Backend {
        match self {
            #[cfg(feature = "bpf")]
            AnyTracer::Bpf(_) => Backend::Bpf,
            AnyTracer::Ptrace(_) => Backend::Ptrace,
            AnyTracer::Pipe(_) => Backend::Pipe,
        }
    }

    fn run(&mut self, launcher: &mut Launcher, setting: &Setting) -> Result<Recording, LaunchError> {
        self.inner().run(launcher, setting)
    }
}
