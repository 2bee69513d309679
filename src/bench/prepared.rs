//! Prepares each run, outside of the timed part: commands before and after it, a fresh stdin, an environment of another
//! size, a cold page cache.

use super::accepted::Accepted;
use super::error::ExperimentError;
use super::hook::Hook;
use super::residence::ProgramFiles;
use super::runner::{Counter, Runner, Tracees};
use super::sample::Series;
use super::validity;
use crate::document::conditions::PlacedOn;
use crate::document::residence::ResidentPart;
use firstbyte_measure::Counts;
use firstbyte_measure::counters::{CounterValues, Counters};
use firstbyte_measure::launch::{LaunchError, interrupt};
use firstbyte_measure::page_cache::{Cold, ColdFiles, UsedFiles, cold};
use firstbyte_measure::tracer::ptrace::FilesOfRun;
use firstbyte_measure::tracer::{Recording, Tracer};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

/// The preparation of each run of one program.
#[derive(Clone, Debug, Default)]
pub struct RunHooks {
    /// A shell command before each run.
    pub prepare: Option<Hook>,
    /// A shell command after each run.
    pub conclude: Option<Hook>,
    /// A file that each run reads as its stdin, from its beginning.
    pub input: Option<PathBuf>,
    /// The command reads [`ITERATION`].
    pub wants_iteration: bool,
}

/// Real processes, each prepared.
pub struct Prepared<'o> {
    tracees: Tracees<'o>,
    hooks: Vec<RunHooks>,
    /// How many runs of each program were begun: in the warm-up, or since.
    begun: Vec<u64>,
    warming_up: bool,
    /// `None`: the page cache stays warm.
    cooling: Option<Cooling>,
    /// The files of each program, and their state before its first run after the warm-up; empty: nobody looks.
    looked_at: Vec<(ProgramFiles, Option<Vec<ResidentPart>>)>,
    /// The files that runs of each program use, where these were looked for.
    used: Vec<UsedFiles>,
    /// Draws the sizes of the environments, if these are to differ.
    offsets: Option<fastrand::Rng>,
}

/// How the page cache is made cold before a run.
#[derive(Debug)]
pub enum Cooling {
    /// The program's files are copies. It is proven that no page of them is resident.
    Copies(Box<Cold>),
    /// The machine's whole page cache is dropped, except mapped pages. Nothing is proven.
    DropCaches,
}

impl Cooling {
    fn cool_down(&self, program: usize) -> Result<(), LaunchError> {
        match self {
            Cooling::Copies(cold) => cold.evict(program),
            Cooling::DropCaches => cold::drop_caches().map_err(|error| error.to_string()),
        }
        .map_err(LaunchError::NotCold)
    }
}

/// The number of the run as hyperfine 2 calls it, `warmup-0` or `0`: in the environment of the commands before and after it,
/// and of the program if its words name it. All runs count, those without a sample, too.
pub const ITERATION: &str = "HYPERFINE_ITERATION";

/// An environment variable that no program reads. Its size moves the stack, whose start address makes programs faster or
/// slower. T. Mytkowicz et al., "Producing Wrong Data Without Doing Anything Obviously Wrong!" (2009).
const OFFSET: &str = "FIRSTBYTE_ENVIRONMENT_OFFSET";

/// Offsets are smaller than this, which is a page, because the stack begins at a multiple of a page.
const OFFSETS: usize = 4096;

/// The help for a program that may be executed but not read.
const MAY_NOT_BE_READ: &str = "help: run as root, or make the program readable with `chmod +r`";

impl<'o> Prepared<'o> {
    /// `around`: one for each tracee. `offsets`: the seed of the environments' sizes, if these are to differ.
    pub fn new(tracees: Tracees<'o>, hooks: Vec<RunHooks>, offsets: Option<u64>) -> Prepared<'o> {
        let begun = vec![0; hooks.len()];
        let offsets = offsets.map(fastrand::Rng::with_seed);
        Prepared {
            tracees,
            hooks,
            begun,
            warming_up: false,
            cooling: None,
            looked_at: Vec::new(),
            used: Vec::new(),
            offsets,
        }
    }

    /// From now on every run begins with a cold page cache.
    pub fn make_cold(&mut self, cooling: Cooling) {
        self.cooling = Some(cooling);
    }

    /// The files of a program that are evicted before each run, where copies are evicted.
    pub fn cold_files(&self, program: usize) -> Option<&ColdFiles> {
        match &self.cooling {
            Some(Cooling::Copies(cold)) => cold.files(program),
            _ => None,
        }
    }

    /// Keeps what [`Prepared::find_files`] found of each program.
    pub(super) fn keep_files(&mut self, used: Vec<UsedFiles>) {
        self.used = used;
    }

    /// From now on it is known what of each program's files is in memory before a run. A program whose files cannot be found
    /// has none.
    pub(super) fn look_at_files(&mut self, series: &[Series]) {
        let mut all = Vec::new();
        for (program, series) in series.iter().enumerate() {
            let known = self.used.get(program).cloned();
            let used = known.or_else(|| Some(self.find_files(program, series.accepted).ok()?.0));
            let path =
                self.tracees.tracee(program).map(|tracee| tracee.launcher.command().program().to_owned());
            let files = ProgramFiles::new(&path.unwrap_or_default(), &used.unwrap_or_default());
            all.push((files, None));
        }
        self.looked_at = all;
        self.begun.fill(0);
    }

    /// What of a program's files was in memory before its first run after the warm-up.
    pub(super) fn resident(&mut self, program: usize) -> Vec<ResidentPart> {
        self.looked_at.get_mut(program).and_then(|(_, seen)| seen.take()).unwrap_or_default()
    }

    /// Finds the files that runs of a program open, with two runs that stop at every system call, because the first run may
    /// create files that the second one reads. Also returns why some files may be missing: an error of such a run, or
    /// something that could not be seen.
    ///
    /// # Errors
    /// Also if the program executes another one that may not be read. Then it is unknown which files would have to be cold.
    pub fn find_files(
        &mut self,
        program: usize,
        accepted: Accepted,
    ) -> Result<(UsedFiles, Option<String>), LaunchError> {
        let (mut found, mut flaw) = (UsedFiles::default(), None);

        for _ in 0..2 {
            let (files, recording) = self.around(program, Tracees::files)?;
            if let Some(closed) = files.closed {
                let message = format!("{closed}, so it cannot be made cold\n{MAY_NOT_BE_READ}");
                return Err(LaunchError::NotCold(message));
            }
            flaw = validity::flaw(&recording, accepted).or(files.unseen);
            found.merge(files.used);
        }

        let input = self.hooks.get(program).and_then(|hooks| hooks.input.as_deref());
        // each run opens it again and thus gets the copy
        found.read.extend(input.and_then(|input| input.canonicalize().ok()).filter(|input| input.is_file()));
        Ok((found, flaw))
    }

    /// How many runs were made of all programs.
    pub(super) fn executions(&self) -> u64 {
        self.tracees.executions()
    }

    /// The files of one run that stops at every system call.
    pub(super) fn files(&mut self, program: usize) -> Result<FilesOfRun, LaunchError> {
        Ok(self.around(program, Tracees::files)?.0)
    }

    /// A run during which the processor counts and no tracer is attached.
    pub fn count_by_processor(
        &mut self,
        program: usize,
        counters: &mut Counters,
    ) -> Result<(CounterValues, Recording), LaunchError> {
        self.around(program, |tracees, program| tracees.by_processor(program, counters))
    }

    /// A run under another tracer than that of the timed runs.
    pub(super) fn traced_by(
        &mut self,
        program: usize,
        tracer: &mut dyn Tracer,
    ) -> Result<Recording, LaunchError> {
        self.around(program, |tracees, program| tracees.traced_by(program, tracer))
    }

    /// A run, with its commands before and after it.
    fn around<T>(
        &mut self,
        program: usize,
        run: impl FnOnce(&mut Tracees<'o>, usize) -> Result<T, LaunchError>,
    ) -> Result<T, LaunchError> {
        let hooks = self.hooks.get(program).cloned().unwrap_or_default();
        let iteration = self.begin(program);
        self.prepare(program, &hooks, &iteration)?;
        let result = run(&mut self.tracees, program);
        if let Some(hook) = &hooks.conclude {
            self.run_hook(hook, &iteration, "after")?;
        }
        result
    }

    /// The number of the run that begins now.
    fn begin(&mut self, program: usize) -> String {
        let begun = self.begun.get_mut(program);
        let number = begun.map_or(0, |begun| std::mem::replace(begun, *begun + 1));
        if self.warming_up { format!("warmup-{number}") } else { number.to_string() }
    }

    /// Runs a shell command before or after a run. It sees the files themselves and not their copies.
    fn run_hook(&mut self, hook: &Hook, iteration: &str, when: &'static str) -> Result<(), LaunchError> {
        self.tracees.go_home();
        if let Some(Cooling::Copies(cold)) = &mut self.cooling {
            cold.uncover()
                .map_err(|cause| LaunchError::Resource { what: "the files behind the copies", cause })?;
        }
        run_hook(hook, iteration, when)
    }

    fn prepare(&mut self, program: usize, hooks: &RunHooks, iteration: &str) -> Result<(), LaunchError> {
        if let Some(hook) = &hooks.prepare {
            self.run_hook(hook, iteration, "before")?;
        }
        if let Some(Cooling::Copies(cold)) = &mut self.cooling {
            cold.cover().map_err(|error| LaunchError::NotCold(error.to_string()))?;
        }

        let Some(tracee) = self.tracees.tracee(program) else { return Ok(()) };
        if let Some(input) = &hooks.input {
            tracee.launcher.open_stdin(input)?;
        }
        if hooks.wants_iteration {
            tracee.launcher.set_variable(ITERATION, OsStr::new(iteration));
        }
        if let Some(offsets) = &mut self.offsets {
            let filling = "X".repeat(offsets.usize(..OFFSETS));
            tracee.launcher.set_variable(OFFSET, OsStr::new(&filling));
        }

        self.cooling.as_ref().map_or(Ok(()), |cooling| cooling.cool_down(program))?;
        if let Some((files, seen)) = self.looked_at.get_mut(program).filter(|_| !self.warming_up) {
            seen.get_or_insert_with(|| files.resident());
        }
        Ok(())
    }
}

impl Runner for Prepared<'_> {
    fn switch(&mut self, traced: bool) -> Result<(), ExperimentError> {
        self.tracees.switch(traced)
    }

    fn missed(&mut self) -> u64 {
        self.tracees.missed()
    }

    fn run(&mut self, program: usize) -> Result<Recording, LaunchError> {
        self.around(program, Runner::run)
    }

    fn warm_up(&mut self, begins: bool) {
        self.warming_up = begins;
        self.tracees.warm_up(begins);
        self.begun.fill(0);
    }

    fn runs_alone(&mut self, program: usize) -> Option<PlacedOn> {
        self.tracees.runs_alone(program)
    }
}

impl Counter for Prepared<'_> {
    fn count(&mut self, program: usize, limit: Duration) -> Result<(Counts, Recording), LaunchError> {
        self.around(program, |tracees, program| tracees.count(program, limit))
    }

    fn count_without_stops(
        &mut self,
        program: usize,
        limit: Duration,
    ) -> Result<Option<(Counts, Recording)>, LaunchError> {
        self.around(program, |tracees, program| tracees.count_without_stops(program, limit))
    }
}

/// Its output is shown only if it fails.
fn run_hook(hook: &Hook, iteration: &str, when: &'static str) -> Result<(), LaunchError> {
    let failed = |outcome| LaunchError::Hook { command: hook.command.clone(), when, outcome };
    hook.run_with(ITERATION, iteration).map_err(failed)?;
    if interrupt::interrupted().is_some() { Err(LaunchError::Interrupted) } else { Ok(()) }
}
