//! `firstbyte bench`: hooks, tracees, campaign, counting runs, document, renderings.

use super::cold;
use super::conditions;
use super::counting;
use super::export::targets;
use super::header::header;
use super::interference;
use super::progress::Bar;
use super::{CommandError, Exit, before_launching, export, show, terminal};
use crate::bench::document as rendering;
use crate::bench::prepared::shell;
use crate::bench::runner::Tracee;
use crate::bench::{Around, Campaign, Outcome, Prepared, Series, Subject, Tracees};
use crate::cli::bench::{Benchmark, Plan};
use crate::document::bench::{Failed, Warning};
use crate::document::conditions::Conditions;
use crate::document::warnings;
use crate::document::{Document, bench as document};
use crate::report::formats::Exported;
use crate::report::text::bench as bench_text;
use firstbyte_measure::launch::rights::lost_under_ptrace;
use firstbyte_measure::launch::{Command, ExitStatus, Launcher, OutputKind, interrupt};
use firstbyte_measure::page_cache;
use firstbyte_measure::tracer::choose::Chosen;
use firstbyte_measure::tracer::phases::{PhasesTracer, choose_phases};
use firstbyte_measure::tracer::{Backend, Setting, Tracer};
use firstbyte_measure::units::Bytes;

/// Measures the commands and prints what they took.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    let document = measured(plan)?;
    let exported = export::write(&plan.exports, &Exported::Bench(&document), true);
    if !export::takes_stdout(&plan.exports) {
        show(bench_text::render(&document, plan.compare_by, &terminal()).as_bytes())?;
    }
    exported?;
    Ok(exit(&document))
}

/// Interrupted, also after the last run: a cleanup that was cut short leaves something behind.
fn cut_short() -> bool {
    interrupt::interrupted().is_some()
}

/// How a process ends that has measured this.
pub(super) fn exit(document: &Document) -> Exit {
    match document {
        Document { broken: Some(_), .. } => Exit::Unable,
        Document { partial: true, .. } => Exit::Interrupted,
        _ if cut_short() => Exit::Interrupted,
        Document { failed, .. } if !failed.is_empty() => Exit::ProgramFailed,
        _ => Exit::Done,
    }
}

/// Measures the commands, whatever hooks they have around them; exports what is finished as it goes on.
pub(super) fn measured(plan: &Plan) -> Result<Document, CommandError> {
    export::check(&plan.exports)?;
    plan.input.iter().try_for_each(|input| export::spare(targets(&plan.exports), input))?;
    cold::enter(plan.cold)?;
    before_launching();
    let chosen = choose_phases(plan.backend).map_err(CommandError::unable)?;
    let hooks = |of: fn(&Benchmark) -> Option<&String>| plan.benchmarks.iter().filter_map(of);
    let setup = hooks(|benchmark| benchmark.setup.as_ref()).try_for_each(|command| once(command, "--setup"));
    let document = setup.and_then(|()| measure(plan, chosen));
    // Also after a failure: what a setup has begun must not remain.
    let before = cut_short();
    let hook = |command| cleaned_up(command).filter(|_| !before);
    let cleanup: Vec<_> = hooks(|benchmark| benchmark.cleanup.as_ref()).filter_map(hook).collect();
    let mut document = document?;
    document.failed.extend(cleanup);
    Ok(document)
}

/// Cleans up; `Some` if that went wrong. What was measured stays measured all the same.
fn cleaned_up(command: &String) -> Option<Failed> {
    let reason = match shell(command) {
        Err(outcome) => format!("it {outcome}"),
        Ok(()) if cut_short() => "it was interrupted: what it should remove may be there still".to_owned(),
        Ok(()) => return None,
    };
    let name = format!("the command of --cleanup, `{command}`");
    Some(Failed { name, command: command.clone(), reason, cache: None, runs: 1 })
}

fn once(command: &str, option: &str) -> Result<(), CommandError> {
    shell(command).map_err(|outcome| {
        CommandError::program(format!(
            "the command `{command}` of {option} {outcome}\nhelp: try it: sh -c {}",
            shell_words::quote(command)
        ))
    })
}

fn measure(plan: &Plan, chosen: Chosen<PhasesTracer>) -> Result<Document, CommandError> {
    let tracees = plan.benchmarks.iter().map(|benchmark| tracee(plan, benchmark));
    let tracees = tracees.collect::<Result<Vec<_>, CommandError>>()?;
    let subjects =
        plan.benchmarks.iter().zip(&tracees).map(|(benchmark, tracee)| subject(plan, benchmark, tracee));
    let campaign = Campaign {
        subjects: subjects.collect(),
        budget: plan.budget,
        warmup: plan.warmup,
        seed: plan.seed,
        // what is read from a disk drowns what a tracer costs
        overhead: plan.overhead && plan.cold.is_none() && chosen.tracer.backend() != Backend::Pipe,
    };
    let header = header(&chosen);
    let around = plan.benchmarks.iter().map(|benchmark| around(plan, benchmark)).collect();
    let offsets = plan.env_offset.then_some(plan.seed);
    let mut runner = Prepared::new(Tracees::new(tracees, chosen.tracer), around, offsets);
    let expected: Vec<_> = campaign.subjects.iter().map(|subject| subject.expected).collect();
    let cool_down = |method| cold::cool_down_expecting(&mut runner, method, &expected);
    let doubts = plan.cold.map(cool_down).transpose()?.unwrap_or_default();
    let coldness = |program: usize| {
        let known = cold::coldness(plan.cold?, program, &runner);
        Some(document::Cold { doubt: doubts.get(program).cloned().flatten(), ..known })
    };
    let cold: Vec<_> = (0..plan.benchmarks.len()).map(coldness).collect();
    let mut save = |series: &[Series]| {
        let partial = Document { partial: true, ..document(plan, &header, series, &cold) };
        // What cannot be written now may be written at the end, and is told then.
        let _ = export::write(&plan.exports, &Exported::Bench(&partial), false);
    };
    let mut no_exports = |_: &[Series]| ();
    let checkpoint: &mut dyn FnMut(&[Series]) =
        if plan.exports.is_empty() { &mut no_exports } else { &mut save };
    let watch = interference::Watch::begin();
    let Outcome { mut series, interrupted, finish, given_up, broken } =
        carry_out(&campaign, &mut runner, checkpoint)?;
    let interference = watch.warnings(&header.machine);
    if plan.count_runs > 0 && !interrupted && broken.is_none() {
        counting::count(&mut runner, &mut series, plan.count_runs);
    }
    let not_counted = (plan.count_runs > 0 && broken.is_none() && interrupt::interrupted().is_none())
        .then(|| counting::count_by_processor(&mut runner, &mut series, plan.count_runs).err())
        .flatten();
    let mut document = document(plan, &header, &series, &cold);
    document.failed.extend(given_up.iter().filter_map(|&n| rendering::given_up(&series[n], None)));
    document.broken = broken.map(|error| error.to_string());
    document.partial = interrupted || document.broken.is_some() || interrupt::interrupted().is_some();
    document.finish = Some(finish);
    document.warnings = warnings::of(&document);
    document.warnings.extend(plan_warnings(plan));
    let by_ptrace = document.tool.backend.as_deref() == Some(Backend::Ptrace.name());
    document.warnings.extend(plan.benchmarks.iter().filter_map(|own| without_rights(plan, own, by_ptrace)));
    document.warnings.extend(interference);
    document.warnings.extend(not_counted.map(|reason| Warning {
        name: None,
        message: format!("no instructions, cycles or misses were counted: {reason}"),
        help: Some("firstbyte doctor".to_owned()),
    }));
    Ok(document)
}

fn carry_out(
    campaign: &Campaign,
    runner: &mut Prepared,
    checkpoint: &mut dyn FnMut(&[Series]),
) -> Result<Outcome, CommandError> {
    let mut bar = Bar::new(checkpoint);
    let outcome = campaign.run(runner, &mut bar);
    bar.finish();
    outcome.map_err(CommandError::unable)
}

fn tracee(plan: &Plan, benchmark: &Benchmark) -> Result<Tracee, CommandError> {
    let command = Command::new(&benchmark.words).map_err(CommandError::program)?;
    // What cannot be settled is measured as it is.
    let _ = page_cache::settle(command.program());
    let mut launcher = Launcher::new(command)?;
    if let Some(cpus) = &plan.cpus {
        launcher.set_cpus(cpus);
    }
    let setting = Setting {
        output: plan.output,
        expected: None,
        timeout: Some(plan.timeout),
        until: plan.until.clone(),
    };
    Ok(Tracee { launcher, setting })
}

fn subject(plan: &Plan, benchmark: &Benchmark, tracee: &Tracee) -> Subject {
    // A program that we stop ends as it likes.
    let any_end = plan.ignore_failure || plan.until.is_some();
    let file = std::fs::metadata(tracee.launcher.command().program());
    Subject {
        name: benchmark.name.clone(),
        command: benchmark.command.clone(),
        expected: (!any_end).then_some(ExitStatus::SUCCESS),
        file_size: file.ok().map(|file| Bytes(file.len())),
    }
}

fn around(plan: &Plan, benchmark: &Benchmark) -> Around {
    Around {
        prepare: benchmark.prepare.clone(),
        conclude: benchmark.conclude.clone(),
        input: plan.input.clone(),
    }
}

fn document(plan: &Plan, header: &Document, series: &[Series], cold: &[Option<document::Cold>]) -> Document {
    let mut document = header.clone();
    for (place, (own, benchmark)) in series.iter().zip(&plan.benchmarks).enumerate() {
        let parameters =
            benchmark.parameters.iter().map(|(name, value)| (name.clone(), value.clone().into()));
        let context = rendering::Context {
            cache: Some(if plan.cold.is_some() { document::Cache::Cold } else { document::Cache::Warm }),
            plan: conditions(plan, benchmark).to_value(),
            cold: cold.get(place).cloned().flatten(),
            parameters: parameters.collect(),
            reference: series.get(plan.reference).filter(|_| place != plan.reference),
            baseline: plan
                .subtract
                .filter(|baseline| *baseline != place)
                .and_then(|baseline| series.get(baseline)),
            ..Default::default()
        };
        match rendering::measurement(own, &context) {
            Ok(mut measurement) => {
                // The signal by which we stop a program tells nothing of it.
                measurement.killed_by = measurement.killed_by.filter(|_| plan.until.is_none());
                document.results.push(measurement);
            }
            Err(failed) => document.failed.push(failed),
        }
    }
    document.tool.observer_overhead = series.iter().filter_map(rendering::overhead).collect();
    document
}

fn conditions(plan: &Plan, benchmark: &Benchmark) -> Conditions {
    Conditions {
        until: plan.until.as_ref().map(conditions::ended_by),
        input: plan.input.is_some(),
        shell: benchmark.shell.clone(),
        env_offset: plan.env_offset,
        ..conditions::of(plan.output, plan.cpus.as_ref())
    }
}

/// What the way in which it was measured does to the figures.
fn plan_warnings(plan: &Plan) -> Vec<Warning> {
    let target = match plan.output {
        OutputKind::Null => {
            Some("/dev/null, which reads nothing, and which some programs treat in a special way")
        }
        OutputKind::File => {
            Some("a file, to which programs write later and in larger pieces than to a terminal")
        }
        OutputKind::Pipe | OutputKind::Pty => None,
    };
    let output = target.map(|target| Warning {
        name: None,
        message: format!("the output went to {target}"),
        help: Some("--output pipe, or --output pty for what a user at a terminal sees".to_owned()),
    });
    output.into_iter().chain(plan.benchmarks.iter().filter_map(shell_syntax)).collect()
}

/// A program whose file gives it rights that its runs, or those that are counted, did not have.
fn without_rights(plan: &Plan, benchmark: &Benchmark, by_ptrace: bool) -> Option<Warning> {
    let runs = match (by_ptrace, plan.count_runs) {
        (true, _) => "it ran",
        (false, 0) => return None,
        (false, _) => "the runs that were counted ran",
    };
    let rights = lost_under_ptrace(Command::new(&benchmark.words).ok()?.program())?;
    Some(Warning {
        name: Some(benchmark.name.clone()),
        message: format!("{runs} without {rights}: a program under ptrace gets none"),
        help: Some("--backend pipe --no-counts".to_owned()),
    })
}

/// Words that only a shell obeys.
const SHELL_WORDS: [&str; 10] = ["|", "||", "&&", "&", ";", ">", ">>", "<", "2>&1", "2>"];

fn shell_syntax(benchmark: &Benchmark) -> Option<Warning> {
    let word = benchmark.words.iter().find(|word| SHELL_WORDS.contains(&word.as_str()))?;
    Some(Warning {
        name: Some(benchmark.name.clone()),
        message: format!("no shell ran it, so `{word}` was passed to the program as a word"),
        help: Some("--shell".to_owned()),
    })
}
