//! What carries out single runs: real processes, or a scripted stand-in.

use super::sample::Counts;
use firstbyte_measure::counters::{Counted, Counters};
use firstbyte_measure::launch::{LaunchError, Launcher, Until};
use firstbyte_measure::tracer::phases::PhasesTracer;
use firstbyte_measure::tracer::pipe::PipeTracer;
use firstbyte_measure::tracer::ptrace::FilesOfRun;
use firstbyte_measure::tracer::{EventKind, Recording, Setting, Tracer, ptrace};

/// Why a campaign cannot go on: the tracer could not be attached or detached, a process goes on that we may not kill, or
/// the machine cannot run anything more.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct SwitchError(pub String);

/// Carries out single runs of numbered programs.
pub trait Runner {
    /// Attaches or detaches the tracer.
    fn switch(&mut self, traced: bool) -> Result<(), SwitchError>;

    /// Runs one program once, as the last switch says.
    fn run(&mut self, program: usize) -> Result<Recording, LaunchError>;
}

/// Counts what single runs of numbered programs do.
pub trait Counter {
    /// Runs one program once, many times slower than it is, and counts.
    fn count(&mut self, program: usize) -> Result<(Counts, Recording), LaunchError>;
}

/// One program's launcher, and how its runs are to be made.
#[derive(Debug)]
pub struct Tracee {
    /// Creates its processes.
    pub launcher: Launcher,
    /// How.
    pub setting: Setting,
}

/// Real processes, observed by a real tracer.
#[derive(Debug)]
pub struct Tracees {
    all: Vec<Tracee>,
    tracer: PhasesTracer,
    untraced: PipeTracer,
    traced: bool,
    /// Writes of output in each program's last traced run.
    writes: Vec<u64>,
}

impl Tracees {
    /// Nothing is attached yet.
    pub fn new(tracees: Vec<Tracee>, tracer: PhasesTracer) -> Tracees {
        // What is compared must wait alike: only a tracer that watches the pipe is compared with one that does.
        let untraced = match tracer.backend() {
            firstbyte_measure::tracer::Backend::Bpf => PipeTracer::blind(),
            _ => PipeTracer::new(),
        };
        Tracees { writes: vec![0; tracees.len()], all: tracees, tracer, untraced, traced: false }
    }

    /// The program's launcher and setting: for counting runs.
    pub fn tracee(&mut self, program: usize) -> Option<&mut Tracee> {
        self.all.get_mut(program)
    }
}

impl Runner for Tracees {
    fn switch(&mut self, traced: bool) -> Result<(), SwitchError> {
        if traced != self.traced {
            let switched = if traced { self.tracer.attach() } else { self.tracer.detach() };
            switched.map_err(|error| SwitchError(error.to_string()))?;
            self.traced = traced;
        }
        Ok(())
    }

    fn run(&mut self, program: usize) -> Result<Recording, LaunchError> {
        let Tracee { launcher, setting } = &mut self.all[program];
        let recording = if self.traced {
            self.tracer.run(launcher, setting)
        } else {
            self.untraced.run(launcher, setting)
        }?;
        reached(&recording, setting)?;
        if self.traced {
            self.writes[program] = writes(&recording);
        }
        Ok(recording)
    }
}

/// Writes of output.
fn writes(recording: &Recording) -> u64 {
    let last = recording.events.iter().rev().find_map(|event| match event.kind {
        EventKind::OutputLast { writes, .. } => Some(writes),
        _ => None,
    });
    last.unwrap_or(0)
}

impl Counter for Tracees {
    fn count(&mut self, program: usize) -> Result<(Counts, Recording), LaunchError> {
        let Tracee { launcher, setting } = &mut self.all[program];
        let (mut counts, recording) = ptrace::count(launcher, setting)?;
        reached(&recording, setting)?;
        // Writes by io_uring are no system calls: the counting run does not see them, other tracers see both.
        counts.writes = counts.writes.max(self.writes[program]);
        Ok((counts, recording))
    }
}

impl Tracees {
    /// Runs one program once, untraced, while the processor counts.
    pub(super) fn by_processor(
        &mut self,
        program: usize,
        counters: &mut Counters,
    ) -> Result<(Counted, Recording), LaunchError> {
        let Tracee { launcher, setting } = &mut self.all[program];
        let (run, counted) = counters.during(|| PipeTracer::blind().run(launcher, setting));
        let recording = run?;
        reached(&recording, setting)?;
        Ok((counted, recording))
    }

    /// Runs one program once, many times slower than it is, and finds the files that it reads.
    pub(super) fn files(&mut self, program: usize) -> Result<(FilesOfRun, Recording), LaunchError> {
        let Tracee { launcher, setting } = &mut self.all[program];
        let (files, recording) = ptrace::files(launcher, setting)?;
        reached(&recording, setting)?;
        Ok((files, recording))
    }
}

/// A run that was to end at a moment of its output must have come to it.
fn reached(recording: &Recording, setting: &Setting) -> Result<(), LaunchError> {
    let Some(until) = &setting.until else { return Ok(()) };
    if recording.killed.is_some() || recording.events.iter().any(|event| event.kind == EventKind::Reached) {
        return Ok(());
    }
    let awaited = match until {
        Until::FirstByte => "anything".to_owned(),
        Until::Text(text) => format!("`{}`", String::from_utf8_lossy(text).escape_debug()),
    };
    Err(LaunchError::NotReached { awaited })
}
