//! `firstbyte trace`: runs, accounts, summary, findings, renderings.

mod calibration;
mod exports;
mod observe;

use self::calibration::Costs;
use self::observe::{Observed, observe, observe_in_turn};
use super::{CommandError, Exit, before_launching, export, show, terminal};
use crate::account::binaries::FileBinaries;
use crate::account::findings as advice;
use crate::account::findings::Finding;
use crate::account::recorded::RecordedBinaries;
use crate::account::{Account, Summary};
use crate::cli::trace::{Plan, Runs, Subject};
use crate::report::text::trace as trace_text;
use crate::report::text::trace::Context;
use crate::stats::{self, Bootstrap, Comparison};
use firstbyte_measure::arch::cpuid::{Cpuid, cpuid_cost};
use firstbyte_measure::launch::{Command, ExitStatus, interrupt};
use firstbyte_measure::tracer::choose::ChooseError;
use firstbyte_measure::tracer::full::{FullTracer, choose_full};
use firstbyte_measure::tracer::module::Module;
use firstbyte_measure::tracer::ptrace::{NoCpuidCount, cpuid_count};
use firstbyte_measure::tracer::replay::Loaded;
use firstbyte_measure::tracer::{Backend, Recording, Tracer, replay};
use firstbyte_measure::units::display_nanos;
use std::ffi::OsString;
use std::path::Path;

/// Explains a command's start-up, several commands' or a recording's.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    export::check_targets(&plan.exports)?;
    match &plan.subject {
        Subject::Command(words) => command(plan, words),
        Subject::Summary(commands) => table(plan, commands),
        Subject::Recording(path) => recording(plan, path),
    }
}

fn command(plan: &Plan, words: &[OsString]) -> Result<Exit, CommandError> {
    let command = Command::new(words).map_err(CommandError::program)?;
    let (mut tracer, reason) = prepared(&plan.runs)?;
    let mut explained = explain(command.clone(), &plan.runs, &mut tracer)?;
    explained.reason = reason;
    if !explained.observed.interrupted {
        match cpuid(&command, &explained.summary) {
            Ok(counted) => explained.cpuid = counted,
            Err(reason) => explained.uncounted = Some(reason),
        }
        explained.observed.interrupted = interrupt::interrupted().is_some();
    }
    let machine = advice::Machine { cpuid: explained.cpuid };
    explained.findings = advice::findings(&explained.summary, &machine);
    if plan.runs.overhead && !explained.observed.interrupted {
        match calibration::calibrate(&plan.runs, &mut tracer) {
            Err(error) if error.exit == Exit::Interrupted => explained.observed.interrupted = true,
            costs => explained.costs = costs?,
        }
    }
    let name = shell_words::join(words.iter().map(|word| word.to_string_lossy()));
    let context = explained.context(name, &tracer);
    deliver(plan, &explained, &context)?;
    Ok(explained.exit())
}

fn recording(plan: &Plan, path: &Path) -> Result<Exit, CommandError> {
    export::spare(export::targets(&plan.exports), path)?;
    let Replayed { recording, summary, notes, cpuid } = replayed(path)?;
    let mut context = Context { command: shell_words::join(&recording.command), ..Context::default() };
    context.notes.push(format!("From the recording `{}`, by {}.", path.display(), recording.backend.name()));
    context.notes.extend(notes);
    let machine = advice::Machine { cpuid };
    let findings = advice::findings(&summary, &machine);
    context.notes.extend(advice::reservation(&summary, &machine));
    context.findings = findings.iter().map(|finding| finding.text.clone()).collect();
    let backend = recording.backend.name().to_owned();
    let traced = vec![summary.reference.wall.as_f64()];
    let observed = Observed { recordings: vec![recording], traced, ..Observed::default() };
    let explained = Explained {
        exit: observed.recordings[0].exit,
        totals: Vec::new(),
        modules: Vec::new(),
        summary,
        observed,
        findings,
        cpuid,
        uncounted: None,
        costs: None,
        backend,
        reason: "a recording".to_owned(),
    };
    deliver(plan, &explained, &context)?;
    Ok(Exit::Done)
}

/// Writes the exports, and shows the rest unless an export has taken stdout.
fn deliver(plan: &Plan, explained: &Explained, context: &Context) -> Result<(), CommandError> {
    exports::write(&plan.exports, explained, context)?;
    if export::takes_stdout(&plan.exports) {
        return Ok(());
    }
    let terminal = terminal();
    let text = if plan.timeline {
        trace_text::timeline(&explained.summary, &terminal)
    } else {
        trace_text::render(&explained.summary, context, &terminal)
    };
    show(text.as_bytes())
}

fn table(plan: &Plan, commands: &[String]) -> Result<Exit, CommandError> {
    if !plan.exports.is_empty() {
        return Err(CommandError::usage(
            "`--summary` prints a table and exports nothing\nhelp: export each command's trace: firstbyte trace --export-json FILE -- CMD",
        ));
    }
    let split: Result<Vec<Command>, CommandError> = commands.iter().map(|command| split(command)).collect();
    let split = split?;
    let (mut tracer, _) = prepared(&plan.runs)?;
    let (mut rows, mut exit) = (Vec::new(), Exit::Done);
    for (name, command) in commands.iter().zip(split) {
        let explained = match explain(command, &plan.runs, &mut tracer) {
            Err(error) if error.exit == Exit::Interrupted && !rows.is_empty() => {
                exit = Exit::Interrupted;
                break;
            }
            explained => explained?,
        };
        if explained.exit() != Exit::Done {
            exit = explained.exit();
        }
        rows.push((name.clone(), explained.summary));
        if exit == Exit::Interrupted {
            break;
        }
    }
    show(trace_text::table(&rows, &terminal()).as_bytes())?;
    Ok(exit)
}

/// A command from a text that is split as a shell splits words.
pub(super) fn split(text: &str) -> Result<Command, CommandError> {
    let words = shell_words::split(text).map_err(|error| {
        CommandError::usage(format!("`{text}` cannot be split into words: {error}\nhelp: close its quotes"))
    })?;
    Command::new(&words).map_err(CommandError::program)
}

/// A recording from a file, and what it amounts to.
pub(super) struct Replayed {
    pub(super) recording: Recording,
    pub(super) summary: Summary,
    /// What a reader must know of it, a sentence each.
    pub(super) notes: Vec<String>,
    /// The CPUID instructions of its start, if they were counted.
    cpuid: Option<Cpuid>,
}

/// Reads a recording, and explains it by the files that it has seen.
pub(super) fn replayed(path: &Path) -> Result<Replayed, CommandError> {
    let Loaded { recording, modules, cpuid } = replay::load(path).map_err(CommandError::usage)?;
    let wrong = |cause: String| {
        CommandError::usage(format!(
            "`{}` bears no account: {cause}\nhelp: make it anew: firstbyte trace --record FILE -- CMD",
            path.display()
        ))
    };
    let mut notes: Vec<String> = failure(recording.exit).into_iter().collect();
    let account = if let Some(modules) = modules {
        let binaries = RecordedBinaries::new(modules);
        let account = Account::of(&recording, &binaries);
        notes.extend(binaries.notes());
        account
    } else {
        notes.push(
            "It does not say which files it saw: functions are those of the files of today.".to_owned(),
        );
        Account::of(&recording, &FileBinaries::default())
    };
    let account = account.map_err(|error| wrong(error.to_string()))?;
    let summary = Summary::of(vec![account]).ok_or_else(|| wrong("it is empty".to_owned()))?;
    Ok(Replayed { recording, summary, notes, cpuid })
}

/// What is told of a program that failed.
pub(super) fn failure(exit: ExitStatus) -> Option<String> {
    (!exit.success()).then(|| format!("The program {}.", exit.ending()))
}

/// The tracer, and why this one.
pub(super) fn prepared(runs: &Runs) -> Result<(FullTracer, String), CommandError> {
    before_launching();
    let chosen = choose_full(runs.backend, runs.ring).map_err(|error| match error {
        ChooseError::NoCalls => CommandError::usage(error),
        error => CommandError::unable(error),
    })?;
    Ok((chosen.tracer, chosen.reason))
}

/// One command's runs, and what they amount to.
pub(super) struct Explained {
    pub(super) summary: Summary,
    /// The round and the total of each run, nanoseconds.
    pub(super) totals: Vec<(u32, f64)>,
    /// The files by which it was explained.
    modules: Vec<Module>,
    observed: Observed,
    findings: Vec<Finding>,
    /// The CPUID instructions of its start, where they were counted.
    cpuid: Option<Cpuid>,
    /// Why they were not.
    uncounted: Option<NoCpuidCount>,
    costs: Option<Costs>,
    backend: String,
    reason: String,
    exit: ExitStatus,
}

/// Runs a command and sets its runs side by side.
pub(super) fn explain(
    command: Command,
    runs: &Runs,
    tracer: &mut FullTracer,
) -> Result<Explained, CommandError> {
    let name = command.words().join(" ");
    explained(&name, observe(command, runs, tracer)?, tracer)
}

/// Runs two commands in turn and sets each one's runs side by side.
pub(super) fn explain_in_turn(
    commands: [Command; 2],
    runs: &Runs,
    tracer: &mut FullTracer,
) -> Result<[Explained; 2], CommandError> {
    let names = [0, 1].map(|side: usize| commands[side].words().join(" "));
    let [a, b] = observe_in_turn(commands, runs, tracer)?;
    Ok([explained(&names[0], a, tracer)?, explained(&names[1], b, tracer)?])
}

fn explained(name: &str, observed: Observed, tracer: &FullTracer) -> Result<Explained, CommandError> {
    let binaries = FileBinaries::default();
    let accounts: Result<Vec<Account>, _> =
        observed.recordings.iter().map(|recording| Account::of(recording, &binaries)).collect();
    let accounts = accounts.map_err(CommandError::program)?;
    let totals = observed.rounds.iter().copied().zip(accounts.iter().map(|a| a.total.as_f64())).collect();
    let (Some(summary), Some(exit)) = (Summary::of(accounts), worst(&observed.recordings)) else {
        let reason = observed.rejected.first().map_or("no run was made", String::as_str);
        return Err(CommandError::program(format!(
            "no run of `{name}` counts: {reason}\nhelp: run it by hand, and see what it does"
        )));
    };
    Ok(Explained {
        summary,
        totals,
        modules: binaries.modules(),
        exit,
        observed,
        findings: Vec::new(),
        cpuid: None,
        uncounted: None,
        costs: None,
        backend: tracer.backend().name().to_owned(),
        reason: String::new(),
    })
}

/// How the runs ended: where one failed, as that one.
fn worst(recordings: &[Recording]) -> Option<ExitStatus> {
    let failed = recordings.iter().find(|recording| !recording.exit.success());
    failed.or(recordings.first()).map(|recording| recording.exit)
}

/// More CPUID instructions than any start executes.
const MANY: u64 = 200;

/// The CPUID instructions of a command's start: counted only where they can matter.
fn cpuid(command: &Command, summary: &Summary) -> Result<Option<Cpuid>, NoCpuidCount> {
    let each = cpuid_cost().filter(|each| *each >= advice::TRAP);
    let each = each.filter(|each| (each.0 * MANY) as f64 * 100.0 >= summary.total.median);
    each.map(|each| Ok(Cpuid { each, executed: cpuid_count(command)? })).transpose()
}

impl Explained {
    /// An interrupted trace, and a program that fails, are explained all the same, and the exit status says so.
    pub(super) fn exit(&self) -> Exit {
        match self.exit.success() {
            _ if self.observed.interrupted => Exit::Interrupted,
            true => Exit::Done,
            false => Exit::ProgramFailed,
        }
    }

    fn context(&self, command: String, tracer: &FullTracer) -> Context {
        let mut notes: Vec<String> = failure(self.exit).into_iter().collect();
        notes.extend(self.changed_by_tracing());
        notes.push(format!("Observed by {}: it {}.", self.backend, self.reason));
        if !tracer.sees_faults() {
            notes.push(
                "Page faults are not seen here: their time is in that of user code and calls.".to_owned(),
            );
        }
        notes.extend(self.interruption());
        notes.extend(self.uncounted.map(|reason| {
            format!(
                "Its CPUID instructions, which trap on this virtual machine, could not be counted: {reason}. No \
                 finding names what they cost; that of dynamic linking may hold it."
            )
        }));
        notes.extend(advice::reservation(&self.summary, &advice::Machine { cpuid: self.cpuid }));
        notes.extend(self.overhead_note());
        notes.extend(self.rejections());
        notes.extend(self.interference());
        let findings = self.findings.iter().map(|finding| finding.text.clone()).collect();
        Context { command, notes, findings, corrected_total: self.corrected_total() }
    }

    fn interruption(&self) -> Option<String> {
        let interrupted = || "Interrupted: fewer runs than planned are in here.".to_owned();
        self.observed.interrupted.then(interrupted)
    }

    /// Who else used the processors, in sentences.
    fn interference(&self) -> impl Iterator<Item = String> {
        self.observed.interference.iter().map(|warning| {
            let text = warning.to_string();
            let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
            format!("{}{rest}.", first.to_uppercase())
        })
    }

    /// Runs that did not count, a line each.
    fn rejections(&self) -> impl Iterator<Item = String> {
        self.observed.rejected.iter().map(|reason| format!("A run did not count: {reason}."))
    }

    /// What ptrace does to a program beside slowing it, where it matters.
    fn changed_by_tracing(&self) -> Vec<String> {
        if self.backend != Backend::Ptrace.name() {
            return Vec::new();
        }
        let rights = self.observed.rights.map(|rights| {
            format!(
                "It ran without {rights}: a program under ptrace gets none. As root, bpf leaves them to it."
            )
        });
        let untraced = self.observed.untraced_exit.filter(|exit| *exit != self.exit);
        let other_end = untraced.map(|exit| {
            format!(
                "Untraced it {}: a program under ptrace gets no rights from a set-user-ID bit, and can trace no \
                 other. `firstbyte bench --backend pipe` runs it untraced.",
                exit.ending()
            )
        });
        rights.into_iter().chain(other_end).collect()
    }

    /// What a reader of the difference must know of this side.
    pub(super) fn reservations(&self) -> Vec<String> {
        let program = failure(self.exit).into_iter().chain(self.changed_by_tracing());
        program.chain(self.interruption()).chain(self.rejections()).chain(self.interference()).collect()
    }

    fn overhead_note(&self) -> Option<String> {
        let overhead = self.overhead()?;
        let median = |values: &[f64]| stats::median(&stats::quantile::sorted(values)?);
        let each = self.costs.map_or(String::new(), |costs| {
            format!(
                " One start costs {} more, one system call {:.0} ns, one page fault {:.0} ns, by calibration.",
                display_nanos(costs.start),
                costs.each.syscall,
                costs.each.fault
            )
        });
        let interval = match overhead.pairs {
            1 => String::new(),
            _ => format!(" ({:.2} to {:.2})", overhead.interval.low, overhead.interval.high),
        };
        Some(format!(
            "Observer overhead: {:.3}{interval} times as long as untraced, from launch to reaping ({} against {}, \
             medians of {} runs each, in turn).{each}",
            overhead.ratio,
            display_nanos(median(&self.observed.traced)?),
            display_nanos(median(&self.observed.untraced)?),
            self.observed.untraced.len()
        ))
    }

    fn corrected_total(&self) -> Option<f64> {
        Some((self.summary.total.median - self.costs?.of(&self.summary)).max(0.0))
    }

    /// Wall of traced runs over that of untraced ones, block by block.
    fn overhead(&self) -> Option<Comparison> {
        let side = |n: usize| self.observed.blocks.iter().map(|block| block[n]).collect::<Vec<f64>>();
        stats::paired(&side(1), &side(0), Bootstrap::default())
    }

    /// The recording of the run that is shown.
    fn shown(&self) -> Option<&Recording> {
        let wall = self.summary.reference.wall;
        let of_run = |recording: &&Recording| {
            firstbyte_measure::timeline::Timeline::of(recording)
                .is_ok_and(|t| t.wall == wall && t.total == self.summary.reference.total)
        };
        self.observed.recordings.iter().find(of_run)
    }
}
