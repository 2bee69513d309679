//! Makes single runs: with real processes, or with a scripted replacement in tests.

use super::error::ExperimentError;
use super::placement::{Placement, Placements};
use crate::document::conditions::PlacedOn;
use firstbyte_measure::Counts;
use firstbyte_measure::counters::{CounterValues, Counters};
use firstbyte_measure::launch::{LaunchError, Launcher, Until, limits};
use firstbyte_measure::timeline::marks::Marks;
use firstbyte_measure::tracer::choose::Chosen;
use firstbyte_measure::tracer::full::choose_full;
use firstbyte_measure::tracer::pipe::PipeTracer;
use firstbyte_measure::tracer::ptrace::FilesOfRun;
use firstbyte_measure::tracer::{
    Backend, BackendChoice, Event, EventKind, Recording, RunOptions, Tracer, ptrace,
};
use std::time::Duration;

/// How many lines of a failing program's stderr are kept.
pub(super) const LAST_LINES: usize = 5;

/// Carries out single runs of numbered programs.
pub trait Runner {
    /// Attaches or detaches the tracer.
    fn switch(&mut self, traced: bool) -> Result<(), ExperimentError>;

    /// Runs one program once, traced or untraced according to the last switch.
    fn run(&mut self, program: usize) -> Result<Recording, LaunchError>;

    /// How many events were missed since the first run or since the last call, in runs of which none is known.
    fn missed(&mut self) -> u64 {
        0
    }

    /// Takes note that the warm-up begins or has ended.
    fn warm_up(&mut self, _begins: bool) {}

    /// Takes note that runs of a program had one process and one thread. Returns where its runs take place from now on.
    fn runs_alone(&mut self, _program: usize) -> Option<PlacedOn> {
        None
    }
}

/// Counts the events of single runs of numbered programs.
pub trait Counter {
    /// Runs one program once, many times slower than usual, and counts. After `limit` it is killed.
    fn count(&mut self, program: usize, limit: Duration) -> Result<(Counts, Recording), LaunchError>;

    /// The same without stops, and without the peak memory. `None` where that is not possible.
    fn count_without_stops(
        &mut self,
        program: usize,
        limit: Duration,
    ) -> Result<Option<(Counts, Recording)>, LaunchError>;
}

/// One program's launcher, and how its runs are made.
#[derive(Debug)]
pub struct Tracee {
    pub launcher: Launcher,
    pub options: RunOptions,
    pub placement: Placement,
    pub marks: LookForMarks,
}

/// Which runs look for marks, where that costs something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LookForMarks {
    /// None.
    #[default]
    Never,
    /// The first one of the warm-up, and if it has some, all further ones.
    IfAny,
    /// All.
    Always,
}

impl Tracee {
    /// One run with nothing attached.
    pub fn run_untraced(&mut self) -> Result<Recording, LaunchError> {
        let mut placements = Placements::new(vec![self.placement.clone()]);
        placements.go_to(0);
        PipeTracer::new().run(&mut self.launcher, &self.options)
    }
}

/// Real processes, observed by a real tracer.
pub struct Tracees<'o> {
    all: Vec<Tracee>,
    observer: &'o mut dyn Tracer,
    untraced: Option<PipeTracer>,
    traced: bool,
    warming_up: bool,
    /// Writes of output in each program's last traced run.
    writes: Vec<u64>,
    placements: Placements,
    /// How many runs were made of all programs, whatever came of them.
    executions: u64,
}

impl Tracees<'_> {
    /// Nothing is attached yet. `untraced` makes the untraced runs; without it, the detached observer does.
    pub fn new(tracees: Vec<Tracee>, observer: &mut dyn Tracer, untraced: Option<PipeTracer>) -> Tracees<'_> {
        let placements = Placements::new(tracees.iter().map(|tracee| tracee.placement.clone()).collect());
        Tracees {
            writes: vec![0; tracees.len()],
            placements,
            all: tracees,
            observer,
            untraced,
            traced: false,
            warming_up: false,
            executions: 0,
        }
    }

    /// The program's launcher and options: for counting runs.
    pub fn tracee(&mut self, program: usize) -> Option<&mut Tracee> {
        self.all.get_mut(program)
    }

    pub(super) fn executions(&self) -> u64 {
        self.executions
    }

    /// Where commands around runs take place: they may use all processors.
    pub(super) fn go_home(&mut self) {
        self.placements.go_home();
    }

    /// Runs one program once, untraced, while the processor counts.
    pub(super) fn by_processor(
        &mut self,
        program: usize,
        counters: &mut Counters,
    ) -> Result<(CounterValues, Recording), LaunchError> {
        self.executions += 1;
        self.placements.go_to(program);
        let Tracee { launcher, options, .. } = &mut self.all[program];
        let (run, counted) = counters.during(|| PipeTracer::blind().run(launcher, options));
        let recording = run?;
        reached(&recording, options)?;
        Ok((counted, recording))
    }

    /// Runs one program once under another tracer, which is attached.
    pub(super) fn traced_by(
        &mut self,
        program: usize,
        tracer: &mut dyn Tracer,
    ) -> Result<Recording, LaunchError> {
        self.executions += 1;
        self.placements.go_to(program);
        let Tracee { launcher, options, .. } = &mut self.all[program];
        let recording = tracer.run(launcher, options)?;
        reached(&recording, options)?;
        Ok(recording)
    }

    /// Runs one program once, counted by `count`. After `limit` it is killed.
    fn counted(
        &mut self,
        program: usize,
        limit: Duration,
        count: impl FnOnce(&mut Launcher, &RunOptions) -> Result<(Counts, Recording), LaunchError>,
    ) -> Result<(Counts, Recording), LaunchError> {
        self.executions += 1;
        self.placements.go_to(program);
        let Tracee { launcher, options, .. } = &mut self.all[program];
        let timeout = options.timeout.map_or(limit, |timeout| timeout.min(limit));
        let options = RunOptions { timeout: Some(timeout), ..options.clone() };
        let (mut counts, recording) = count(launcher, &options)?;
        reached(&recording, &options)?;
        // Writes by io_uring are not system calls. The counting run does not see them, other tracers see both kinds.
        counts.writes = counts.writes.max(self.writes[program]);
        Ok((counts, recording))
    }

    /// Runs one program once, many times slower than usual, and finds the files that it reads.
    pub(super) fn files(&mut self, program: usize) -> Result<(FilesOfRun, Recording), LaunchError> {
        self.executions += 1;
        self.placements.go_to(program);
        let Tracee { launcher, options, .. } = &mut self.all[program];
        let (files, recording) = ptrace::files(launcher, options)?;
        reached(&recording, options)?;
        Ok((files, recording))
    }
}

impl Runner for Tracees<'_> {
    fn switch(&mut self, traced: bool) -> Result<(), ExperimentError> {
        if traced != self.traced {
            limits::restore().map_err(ExperimentError::machine)?;
            let switched = if traced { self.observer.attach() } else { self.observer.detach() };
            switched.map_err(ExperimentError::machine)?;
            self.traced = traced;
        }
        Ok(())
    }

    fn missed(&mut self) -> u64 {
        self.observer.missed()
    }

    fn warm_up(&mut self, begins: bool) {
        self.warming_up = begins;
    }

    fn runs_alone(&mut self, program: usize) -> Option<PlacedOn> {
        self.placements.runs_alone(program);
        if self.placements.is_on_one(program) {
            self.all[program].launcher.share_processor();
        }
        Some(self.placements.of(program))
    }

    /// A program may lower our limits, and then a later one fails because it has them, too.
    fn run(&mut self, program: usize) -> Result<Recording, LaunchError> {
        let run = self.once(program);
        let failed = |recording: &Recording| !recording.exit.success() || recording.killed.is_some();
        let is_suspect = run.as_ref().map_or_else(|error| !matches!(error, LaunchError::Interrupted), failed);
        if is_suspect && limits::restore()? { self.once(program) } else { run }
    }
}

impl Tracees<'_> {
    fn once(&mut self, program: usize) -> Result<Recording, LaunchError> {
        self.executions += 1;
        self.placements.go_to(program);
        let Tracee { launcher, options, marks, .. } = &mut self.all[program];
        let is_first = self.traced && self.warming_up && *marks == LookForMarks::IfAny;
        options.marks = is_first || *marks == LookForMarks::Always;
        let recording = match &mut self.untraced {
            Some(untraced) if !self.traced => untraced.run(launcher, options),
            _ => self.observer.run(launcher, options),
        }?;
        if is_first {
            *marks = if Marks::are_in(&recording) { LookForMarks::Always } else { LookForMarks::Never };
        }
        reached(&recording, options)?;
        if self.traced {
            self.writes[program] = recording.output_writes();
        }
        Ok(recording)
    }
}

impl Counter for Tracees<'_> {
    fn count(&mut self, program: usize, limit: Duration) -> Result<(Counts, Recording), LaunchError> {
        self.counted(program, limit, ptrace::count)
    }

    fn count_without_stops(
        &mut self,
        program: usize,
        limit: Duration,
    ) -> Result<Option<(Counts, Recording)>, LaunchError> {
        if self.observer.backend() != Backend::Bpf || self.switch(false).is_err() {
            return Ok(None);
        }
        let Ok(Chosen { mut tracer, .. }) = choose_full(BackendChoice::Bpf, None) else { return Ok(None) };
        if tracer.attach().is_err() || !tracer.sees_faults() {
            return Ok(None);
        }

        self.counted(program, limit, |launcher, options| tracer.count(launcher, options)).map(Some)
    }
}

/// Checks that a run with an `until` ended there rather than earlier.
fn reached(recording: &Recording, options: &RunOptions) -> Result<(), LaunchError> {
    let Some(until) = &options.until else { return Ok(()) };
    let is_end = |event: &Event| matches!(event.kind, EventKind::Reached { .. });
    if recording.killed.is_some() || recording.events.iter().any(is_end) {
        return Ok(());
    }
    let awaited = match until {
        Until::FirstByte => "printed anything".to_owned(),
        Until::Text(text) => format!("printed `{}`", String::from_utf8_lossy(text).escape_debug()),
        Until::Port(port) => format!("listened on port {port}"),
        Until::Ready => "said READY=1".to_owned(),
        Until::Mark(name) => format!("made the mark `{}`", name.escape_debug()),
    };
    Err(LaunchError::NotReached { awaited, last: recording.output.last_errors(LAST_LINES) })
}
