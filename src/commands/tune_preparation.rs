//! What `tune` finds out before it measures: that the command may be run often, how it starts, and which ways do the same.

use super::progress::TraceBars;
use super::{CommandError, Exit};
use crate::bench::RunPlan;
use crate::cli::tune::Plan;
use crate::document::bench::Warning;
use crate::document::tune::UntriedVariant;
use crate::output::{say, visible, visible_path};
use crate::tracing::{TraceError, Tracing};
use crate::tune::catalogue::{self, Runtime};
use crate::tune::version::Version;
use crate::tune::{Candidate, Comparing, FolderState, Outcome, Start, Untried, Way, candidates};
use firstbyte_measure::launch::{Command, LaunchError, interrupt};
use firstbyte_measure::own_folder::OwnFolder;
use firstbyte_measure::tracer::ptrace::{self, LastExec};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A command that is ready to be tuned.
pub(super) struct Prepared<'p> {
    plan: &'p Plan,
    pub(super) start: Start,
    /// One plain run.
    pub(super) plain: Outcome,
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

impl<'p> Prepared<'p> {
    /// Runs the command twice, traces it, and chooses the ways.
    pub(super) fn of(plan: &'p Plan, catalogue: &[Runtime]) -> Result<Prepared<'p>, CommandError> {
        let start = Start::seen(&plan.words).map_err(CommandError::program)?;
        let scratch = OwnFolder::temporary().map_err(CommandError::unable)?;
        check_kept(plan)?;
        let ([mut first, second], changed) = twice(plan, &Way::plain(&start), scratch.path())?;
        first.wall = first.wall.min(second.wall);

        let mut prepared = Prepared {
            plan,
            start,
            plain: first,
            comparing: plan.comparing.clone(),
            candidates: Vec::new(),
            untried: Vec::new(),
            warnings: Vec::new(),
            executions: 2,
            scratch,
        };
        prepared.consent(&second, &changed)?;
        prepared.observe()?;
        prepared.start.versions = prepared.versions(catalogue);
        let (all, untried) = candidates(catalogue, &prepared.start);
        (prepared.candidates, prepared.untried) = selected(plan, all, untried)?;
        Ok(prepared)
    }

    /// Asks whether a command may be run often that changes files or prints something else each time.
    fn consent(&mut self, second: &Outcome, changed: &[PathBuf]) -> Result<(), CommandError> {
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
        if asked(&reasons) {
            return Ok(());
        }
        Err(CommandError::unable(format!(
            "the command may not be fit to be run hundreds of times: {reasons}\n\
             help: --yes runs it nevertheless, --accept REGEX ignores what differs in its output"
        )))
    }

    /// Traces the command. Without a tracer, its words and its file have to do.
    fn observe(&mut self) -> Result<(), CommandError> {
        self.set_up()?;
        let plan = self.plan.tracing(Duration::from_nanos(self.plain.wall.0) > LONG);
        let command = Command::new(&self.plan.words).map_err(CommandError::program)?;
        let mut bars = TraceBars;
        let traced = Tracing::begin(&plan, &mut bars)
            .and_then(|mut tracing| tracing.trace(&command, |_| Ok::<_, TraceError>(())));
        let analysis = match traced {
            Ok(analysis) if analysis.observed.interrupted => return Err(interrupted()),
            Ok(analysis) => analysis,
            Err(error) if error.is_interruption() => return Err(interrupted()),
            Err(error) => {
                let cause = error.to_string().lines().next().unwrap_or_default().to_owned();
                let message =
                    format!("the command could not be traced, so its findings are not known: {cause}");
                self.warnings.push(Warning::minor(message));
                return Ok(());
            }
        };
        self.executions += analysis.executions();
        self.start = Start::observed(&self.plan.words, &analysis, None);
        if self.start.is_chain() {
            self.start = Start::observed(&self.plan.words, &analysis, self.last_exec()?);
        }
        Ok(())
    }

    /// The end of a chain of execs, by one more run.
    fn last_exec(&mut self) -> Result<Option<LastExec>, CommandError> {
        self.set_up()?;
        let command = Command::new(&self.plan.words).map_err(CommandError::program)?;
        let mut tracee = self.plan.each_run.tracee(command)?;
        if let Some(input) = &self.plan.each_run.input {
            tracee.launcher.open_stdin(input)?;
        }
        self.executions += 1;
        match ptrace::files(&mut tracee.launcher, &tracee.options) {
            Ok((files, _)) => Ok(files.last_exec),
            Err(LaunchError::Interrupted) => Err(interrupted()),
            Err(_) => Ok(None),
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

    fn set_up(&self) -> Result<(), CommandError> {
        set_up(self.plan)
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
    pub(super) fn check(&mut self, candidate: &Candidate) -> Result<Result<(), String>, CommandError> {
        if let Err(cause) = self.make_folder(candidate) {
            return Ok(Err(format!("its folder cannot be made: {cause}")));
        }
        if let Some(first) = candidate.first_way(&self.start, self.folder()) {
            let failure = self.run(&first)?.map_or_else(Some, |run| run.failure());
            if let Some(reason) = failure {
                return Ok(Err(format!("the run that prepares it fails: {reason}")));
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
        Ok(())
    }

    /// Whether a way does the same as the plain command. The inner error says what it does otherwise.
    pub(super) fn same(&mut self, way: &Way) -> Result<Result<(), String>, CommandError> {
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

    fn run(&mut self, way: &Way) -> Result<Result<Outcome, String>, CommandError> {
        self.executions += 1;
        match run(self.plan, way, self.scratch.path()) {
            Err(error) if error.exit == Exit::Interrupted => Err(error),
            Err(error) => Ok(Err(error.to_string().lines().next().unwrap_or_default().to_owned())),
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

/// The ways that the user wants.
pub(super) fn selected(
    plan: &Plan,
    all: Vec<Candidate>,
    untried: Vec<Untried>,
) -> Result<(Vec<Candidate>, Vec<UntriedVariant>), CommandError> {
    let is_known =
        |name: &&String| all.iter().any(|it| it.is_named(name)) || untried.iter().any(|it| it.name == **name);
    if let Some(unknown) = plan.only.iter().find(|name| !is_known(name)) {
        let command = visible(&shell_words::join(&plan.words));
        return Err(CommandError::usage(format!(
            "no way named `{}` applies to this command\nhelp: firstbyte tune --list {command}",
            visible(unknown)
        )));
    }
    let named = |names: &[String], candidate: &Candidate| names.iter().any(|name| candidate.is_named(name));
    let wanted = |candidate: &Candidate| {
        (plan.only.is_empty() || named(&plan.only, candidate)) && !named(&plan.skip, candidate)
    };
    let bases: Vec<&str> = all.iter().filter(|it| wanted(it)).filter_map(Candidate::base).collect();
    let is_base = |candidate: &Candidate| bases.contains(&candidate.name.as_str());
    let kept: Vec<bool> = all.iter().map(|candidate| wanted(candidate) || is_base(candidate)).collect();
    let all = all.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(candidate, _)| candidate).collect();
    let is_wanted =
        |name: &String| (plan.only.is_empty() || plan.only.contains(name)) && !plan.skip.contains(name);
    let untried = untried.into_iter().filter(|it| is_wanted(&it.name));
    Ok((all, untried.map(|Untried { name, reason }| UntriedVariant { name, reason }).collect()))
}

/// What is kept goes to a folder that nothing else uses.
fn check_kept(plan: &Plan) -> Result<(), CommandError> {
    let Some(folder) = &plan.keep else { return Ok(()) };
    let refused = |cause: String| {
        let name = visible_path(folder);
        CommandError::usage(format!(
            "`{name}` cannot keep what the ways write: {cause}\nhelp: name a new folder"
        ))
    };
    fs::create_dir_all(folder).map_err(|cause| refused(cause.to_string()))?;
    let mut entries = fs::read_dir(folder).map_err(|cause| refused(cause.to_string()))?;
    if entries.next().is_some() { Err(refused("it is not empty".to_owned())) } else { Ok(()) }
}

fn set_up(plan: &Plan) -> Result<(), CommandError> {
    let Some(hook) = &plan.prepare else { return Ok(()) };
    hook.run().map_err(|outcome| {
        CommandError::program(format!(
            "the command `{}` of --prepare {outcome}\nhelp: try it: sh -c {}",
            hook.command,
            shell_words::quote(&hook.command)
        ))
    })
}

/// Two plain runs, and the files of the working directory that they change.
fn twice(plan: &Plan, way: &Way, scratch: &Path) -> Result<([Outcome; 2], Vec<PathBuf>), CommandError> {
    let here = std::env::current_dir().map_err(CommandError::unable)?;
    let before = FolderState::now(&here);
    let first = run(plan, way, scratch)?;
    if let Some(flaw) = first.flaw() {
        let name = visible(&shell_words::join(&plan.words));
        return Err(CommandError::program(format!(
            "the plain command `{name}` does not count: {flaw}\nhelp: run it by hand, or accept its end with --ignore-failure"
        )));
    }
    let second = run(plan, way, scratch)?;
    Ok(([first, second], before.changed(&FolderState::now(&here))))
}

/// One untraced run.
fn run(plan: &Plan, way: &Way, scratch: &Path) -> Result<Outcome, CommandError> {
    set_up(plan)?;
    if interrupt::interrupted().is_some() {
        return Err(interrupted());
    }
    let command = way.command().map_err(CommandError::program)?;
    Ok(Outcome::of(command, &plan.each_run, scratch)?)
}

fn interrupted() -> CommandError {
    CommandError::interrupted("interrupted before anything was proven")
}

/// Asks on a terminal. Elsewhere the answer is no.
fn asked(reasons: &str) -> bool {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !is_terminal {
        return false;
    }
    say(format_args!("This command may not be fit to be run hundreds of times: {reasons}. Go on? [y/N]"));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
