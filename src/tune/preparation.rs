//! What is found out before ways are measured: that the command may be run often, how it starts, and which ways do the same.

use super::catalogue::{self, Runtime};
use super::error::TuneError;
use super::plan::{Budget, NO_TIME, TunePlan, TuneProgress};
use super::selection::selected;
use super::version::Version;
use super::{Candidate, Comparing, FolderState, Outcome, Start, Way, candidates};
use crate::bench::{Accepted, ExperimentError, RunPlan};
use crate::document::bench::{Metric, Warning};
use crate::document::tune::UntriedVariant;
use crate::output::{visible, visible_path};
use crate::tracing::{TraceError, Tracing};
use firstbyte_measure::launch::{Command, LaunchError, interrupt};
use firstbyte_measure::own_folder::OwnFolder;
use firstbyte_measure::tracer::ptrace::{self, FilesOfRun};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A command that is ready to be tuned.
pub(super) struct Prepared<'p> {
    plan: &'p TunePlan,
    budget: Budget,
    pub(super) start: Start,
    /// One plain run.
    pub(super) plain: Outcome,
    /// How long one run takes, with what prepares it.
    pub(super) each: Duration,
    /// The time that is to be shorter.
    pub(super) by: Metric,
    pub(super) comparing: Comparing,
    pub(super) candidates: Vec<Candidate>,
    pub(super) untried: Vec<UntriedVariant>,
    pub(super) warnings: Vec<Warning>,
    /// How often the command was executed.
    pub(super) executions: u64,
    scratch: OwnFolder,
}

/// A run that takes longer is traced once, without a warm-up.
const LONG: Duration = Duration::from_secs(1);
/// A quick trace takes about as long as this many runs.
const TRACED: u32 = 8;

impl<'p> Prepared<'p> {
    /// Runs the command twice, traces it, and chooses the ways.
    pub(super) fn of(
        plan: &'p TunePlan,
        catalogue: &[Runtime],
        progress: &mut dyn TuneProgress,
        budget: Budget,
    ) -> Result<Prepared<'p>, TuneError> {
        let start = Start::seen(&plan.words).map_err(ExperimentError::from)?;
        let scratch = OwnFolder::temporary().map_err(|cause| TuneError::Unfit(cause.to_string()))?;
        check_kept(plan)?;
        let began = Instant::now();
        let ([first, second], changed) = twice(plan, &Way::plain(&start), scratch.path())?;

        let mut prepared = Prepared {
            plan,
            budget,
            start,
            by: time_to_shorten(plan, &first)?,
            plain: first,
            each: began.elapsed() / 2,
            comparing: plan.comparing.clone(),
            candidates: Vec::new(),
            untried: Vec::new(),
            warnings: Vec::new(),
            executions: 2,
            scratch,
        };
        prepared.consent(&second, &changed, progress)?;
        prepared.observe(progress)?;
        prepared.start.versions = prepared.versions(catalogue);
        prepared.start.build.clone_from(&plan.build);
        let (all, untried) = candidates(catalogue, &prepared.start);
        (prepared.candidates, prepared.untried) = selected(plan, all, untried)?;
        Ok(prepared)
    }

    /// Asks whether a command may be run often that changes files or prints something else each time.
    fn consent(
        &mut self,
        second: &Outcome,
        changed: &[PathBuf],
        progress: &mut dyn TuneProgress,
    ) -> Result<(), TuneError> {
        let difference = self.comparing.difference(&self.plain, second);
        let files = || changed.iter().take(5).map(|path| visible_path(path)).collect::<Vec<_>>().join(", ");
        let wrote =
            (!changed.is_empty()).then(|| format!("it changes files in the working directory: {}", files()));
        let differs =
            difference.map(|difference| format!("its second run differs: {}", visible(&difference)));
        if differs.is_some() {
            self.comparing = self.plan.comparing.clone().only_exit();
            let message = "two plain runs print different things, so only the exit statuses are compared";
            self.warnings.push(Warning::serious(message).with_help("--accept REGEX ignores what differs"));
        }

        let reasons: Vec<String> = wrote.into_iter().chain(differs).collect();
        if reasons.is_empty() || self.plan.yes {
            return Ok(());
        }
        let reasons = reasons.join("; ");
        if progress.agrees(&reasons) {
            return Ok(());
        }
        Err(TuneError::Unfit(format!(
            "the command may not be fit to be run hundreds of times: {reasons}\n\
             help: --yes runs it nevertheless, --accept REGEX ignores what differs in its output"
        )))
    }

    /// Traces the command. Without a tracer or the time for it, its words and its file have to do.
    fn observe(&mut self, progress: &mut dyn TuneProgress) -> Result<(), TuneError> {
        if self.each.saturating_mul(TRACED) > self.budget.left() {
            self.not_traced(NO_TIME);
            return Ok(());
        }
        set_up(self.plan)?;
        let plan = self.plan.tracing(self.each > LONG);
        let command = Command::new(&self.plan.words).map_err(ExperimentError::from)?;
        let traced = Tracing::begin(&plan, progress)
            .and_then(|mut tracing| tracing.trace(&command, |_| Ok::<_, TraceError>(())));
        let analysis = match traced {
            Ok(analysis) if analysis.observed.interrupted => return Err(TuneError::Interrupted),
            Ok(analysis) => analysis,
            Err(error) if error.is_interruption() => return Err(TuneError::Interrupted),
            Err(error) => {
                self.not_traced(error.to_string().lines().next().unwrap_or_default());
                return Ok(());
            }
        };

        self.executions += analysis.executions();
        self.start = Start::observed(&self.plan.words, &analysis, analysis.findings());
        if self.start.has_other_programs() {
            let files = self.execs()?;
            self.start.look_behind(files);
        }
        Ok(())
    }

    fn not_traced(&mut self, cause: &str) {
        let message = format!("the command could not be traced, so its findings are not known: {cause}");
        self.warnings.push(Warning::minor(message));
    }

    /// What each process executes, by one more run.
    fn execs(&mut self) -> Result<FilesOfRun, TuneError> {
        set_up(self.plan)?;
        let command = Command::new(&self.plan.words).map_err(ExperimentError::from)?;
        let mut tracee = self.plan.each_run.tracee(command).map_err(ExperimentError::from)?;
        if let Some(input) = &self.plan.each_run.input {
            tracee.launcher.open_stdin(input).map_err(ExperimentError::from)?;
        }
        self.executions += 1;
        match ptrace::files(&mut tracee.launcher, &tracee.options) {
            Ok((files, _)) => Ok(files),
            Err(LaunchError::Interrupted) => Err(TuneError::Interrupted),
            Err(_) => Ok(FilesOfRun::default()),
        }
    }

    /// The version of the program's own runtime, as it says it.
    fn versions(&self, catalogue: &[Runtime]) -> BTreeMap<String, Version> {
        let Some(program) = self.start.runtime_words().and_then(<[String]>::first) else {
            return BTreeMap::new();
        };
        let asked =
            catalogue.iter().filter(|runtime| !runtime.version.is_empty() && runtime.executes(program));
        let version = |runtime: &Runtime| {
            let words = [program].into_iter().chain(&runtime.version).collect::<Vec<_>>();
            let plan = RunPlan { until: None, input: None, ..self.plan.each_run.clone() };
            let run = Outcome::of(Command::new(&words).ok()?, &plan, self.scratch.path()).ok()?;
            Some((runtime.name.clone(), Version::found_in(&run.text())?))
        };
        asked.filter_map(version).collect()
    }

    /// The command writes nothing to stdout, as far as its end can be seen.
    pub(super) fn is_silent(&self) -> bool {
        self.plan.each_run.until.is_none() && !self.plain.prints()
    }

    /// The folder in which each way has its own.
    pub(super) fn folder(&self) -> &Path {
        self.plan.keep.as_deref().unwrap_or(self.scratch.path())
    }

    /// A way as a shell takes it.
    pub(super) fn pasted(&self, way: &Way) -> String {
        way.pasted(self.plan.keep.is_none().then(|| self.folder()))
    }

    /// Prepares a candidate, and runs it. The inner error says why it is not tried.
    pub(super) fn check(&mut self, candidate: &Candidate) -> Result<Result<(), String>, TuneError> {
        if let Err(cause) = self.make_folder(candidate) {
            return Ok(Err(format!("its folder cannot be made: {cause}")));
        }
        let make = candidate.make(self.folder());
        if !make.is_empty()
            && let Some(reason) = self.filled(&make).map_or_else(Some, |run| run.failure())
        {
            return Ok(Err(format!("`{}`: {reason}", make[0])));
        }
        if let Some(first) = candidate.first_way(&self.start, self.folder()) {
            let failure = self.run(&first)?.map(|run| run.failure());
            if let Some(reason) = failure.unwrap_or_else(Some) {
                return Ok(Err(format!("the run that prepares it: {reason}")));
            }
        }
        let way = candidate.way(&self.start, self.folder());
        // the first run fills what the second one uses
        let runs = if candidate.variant.writes.is_some() { 2 } else { 1 };
        for _ in 0..runs {
            if let Err(reason) = self.same(&way)? {
                return Ok(Err(reason));
            }
        }
        Ok(Ok(()))
    }

    fn make_folder(&self, candidate: &Candidate) -> std::io::Result<()> {
        let variant = &candidate.variant;
        if variant.writes.is_none() && variant.files.is_empty() {
            return Ok(());
        }
        let folder = self.folder().join(&candidate.name);
        fs::create_dir_all(&folder)?;
        for file in &variant.files {
            let to = folder.join(file.file_name().unwrap_or(file.as_os_str()));
            match &variant.origin {
                Some(origin) => drop(fs::copy(origin.join(file), to)?),
                None => fs::write(to, catalogue::embedded(file).unwrap_or_default())?,
            }
        }
        for file in &candidate.copies {
            fs::write(folder.join(file.path.file_name().unwrap_or_default()), file.content()?)?;
        }
        let others = candidate
            .copies
            .first()
            .and_then(|file| file.path.parent())
            .filter(|_| variant.replaces_folder());
        others.map_or(Ok(()), |others| link_others(others, &folder))
    }

    /// Runs what fills a folder. The error says why it could not be run.
    fn filled(&self, words: &[String]) -> Result<Outcome, String> {
        let each_run = &self.plan.each_run;
        let timeout = each_run.timeout.min(self.budget.left());
        let accepted = Accepted::SUCCESS;
        let plan = RunPlan { until: None, input: None, timeout, accepted, ..each_run.clone() };
        let command =
            Command::new(words).map_err(|cause| TuneError::from(ExperimentError::from(cause)).cause())?;
        Outcome::of(command, &plan, self.scratch.path()).map_err(|cause| TuneError::from(cause).cause())
    }

    /// Whether a way does the same as the plain command. The inner error says what it does otherwise.
    pub(super) fn same(&mut self, way: &Way) -> Result<Result<(), String>, TuneError> {
        let run = match self.run(way)? {
            Ok(run) => run,
            Err(reason) => return Ok(Err(reason)),
        };
        let difference = if self.plan.each_run.until.is_some() {
            // where it ends is not where its output ends
            run.flaw().map(str::to_owned)
        } else {
            self.comparing.difference(&self.plain, &run)
        };
        Ok(difference.map_or(Ok(()), Err))
    }

    fn run(&mut self, way: &Way) -> Result<Result<Outcome, String>, TuneError> {
        let left = self.budget.left();
        if left.is_zero() {
            return Ok(Err(NO_TIME.to_owned()));
        }
        self.executions += 1;
        let each_run = &self.plan.each_run;
        let bounded = RunPlan { timeout: each_run.timeout.min(left), ..each_run.clone() };
        match run(self.plan, &bounded, way, self.scratch.path()) {
            Err(error) if error.is_interruption() => Err(error),
            Err(error) => Ok(Err(error.cause())),
            Ok(_) if self.budget.left().is_zero() => Ok(Err(NO_TIME.to_owned())),
            Ok(run) => Ok(Ok(run)),
        }
    }

    /// Removes what the ways wrote that are not in the list.
    pub(super) fn tidy(&self, kept: &[&str]) {
        for candidate in self.candidates.iter().filter(|candidate| !kept.contains(&candidate.name.as_str())) {
            let _ = fs::remove_dir_all(self.folder().join(&candidate.name));
        }
    }
}

/// Links the files of a folder to another one, except those that it has. What zsh has compiled would be used instead of them.
fn link_others(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let name = to.join(path.file_name().unwrap_or_default());
        let is_compiled = path.extension().is_some_and(|suffix| suffix == "zwc");
        if !name.exists() && !is_compiled {
            symlink(path, name)?;
        }
    }
    Ok(())
}

/// What is kept goes to a folder that nothing else uses.
fn check_kept(plan: &TunePlan) -> Result<(), TuneError> {
    let Some(folder) = &plan.keep else { return Ok(()) };
    let refused = |cause: String| {
        let name = visible_path(folder);
        TuneError::Request(format!(
            "`{name}` cannot keep what the ways write: {cause}\nhelp: name a new folder"
        ))
    };
    fs::create_dir_all(folder).map_err(|cause| refused(cause.to_string()))?;
    let mut entries = fs::read_dir(folder).map_err(|cause| refused(cause.to_string()))?;
    if entries.next().is_some() { Err(refused("it is not empty".to_owned())) } else { Ok(()) }
}

fn set_up(plan: &TunePlan) -> Result<(), TuneError> {
    let Some(hook) = &plan.prepare else { return Ok(()) };
    hook.run().map_err(|outcome| {
        TuneError::Command(format!(
            "the command `{}` of --prepare {outcome}\nhelp: try it: sh -c {}",
            hook.command,
            shell_words::quote(&hook.command)
        ))
    })
}

/// Two plain runs, and the files of the working directory that they change.
fn twice(plan: &TunePlan, way: &Way, scratch: &Path) -> Result<([Outcome; 2], Vec<PathBuf>), TuneError> {
    let here = std::env::current_dir().map_err(|cause| {
        TuneError::Unfit(format!("cannot name the working directory: {cause}\nhelp: cd to another one"))
    })?;
    let before = FolderState::now(&here);
    let first = run(plan, &plan.each_run, way, scratch)?;
    if let Some(flaw) = first.flaw() {
        let name = visible(&shell_words::join(&plan.words));
        return Err(TuneError::Command(format!(
            "the plain command `{name}` does not count: {flaw}\nhelp: run it by hand, or accept its end with --ignore-failure"
        )));
    }
    let second = run(plan, &plan.each_run, way, scratch)?;
    Ok(([first, second], before.changed(&FolderState::now(&here))))
}

/// One untraced run.
fn run(plan: &TunePlan, each_run: &RunPlan, way: &Way, scratch: &Path) -> Result<Outcome, TuneError> {
    set_up(plan)?;
    if interrupt::interrupted().is_some() {
        return Err(TuneError::Interrupted);
    }
    let command = way.command().map_err(ExperimentError::from)?;
    Ok(Outcome::of(command, each_run, scratch)?)
}

/// The first byte, where there is one and nothing else is asked for. A run that ends at a moment is measured until then.
fn time_to_shorten(plan: &TunePlan, run: &Outcome) -> Result<Metric, TuneError> {
    let is_whole = plan.each_run.until.is_none();
    match plan.by {
        Some(Metric::FirstByte) if is_whole && !run.prints() => {
            let command = visible(&shell_words::join(&plan.words));
            let message = format!("`{command}` prints nothing to stdout, so it has no first byte");
            Err(TuneError::Request(message + "\nhelp: --for total"))
        }
        Some(by) => Ok(by),
        None if is_whole && !plan.cold && run.prints() => Ok(Metric::FirstByte),
        None => Ok(Metric::Total),
    }
}
