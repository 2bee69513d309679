//! `firstbyte showdown`: corpus, tracees, campaign, counting runs, document, renderings.

use super::counting;
use super::header::header;
use super::progress::{Bar, bar};
use super::{CommandError, Exit, before_launching, export, show, terminal};
use crate::bench::runner::Tracee;
use crate::bench::{Campaign, Outcome, Series, Subject, Tracees};
use crate::cli::showdown::Plan;
use crate::corpus::{Built, Cache, Corpus, Program, SkipCause, Skipped, build, prepare_all};
use crate::launch::{Command, LaunchError, Launcher, interrupt};
use crate::page_cache;
use crate::report::document::{self, Document};
use crate::report::{build as rendering, showdown_text};
use crate::tracer::choose::{Chosen, choose};
use crate::tracer::{Setting, Tracer};
use std::sync::Arc;

/// The floor: what everything else is compared with.
const FLOOR: &str = "floor-elf";

/// Builds, verifies and measures the corpus, and prints the table.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    let corpus = Corpus::load(plan.corpus.as_deref()).map_err(CommandError::usage)?;
    let programs = selected(&corpus, plan)?;
    if plan.list {
        show(list(&programs).as_bytes())?;
        return Ok(Exit::Done);
    }
    export::check(&plan.exports)?;
    before_launching();
    let chosen = choose(plan.backend).map_err(CommandError::unable)?;
    let (built, skipped) = prepare(&programs)?;
    if built.is_empty() {
        return Err(CommandError::unable(nothing_to_run(&skipped)));
    }
    measure(plan, chosen, &built, &skipped)
}

/// The programs asked for, and the floor, so that there is something to compare with.
fn selected<'c>(corpus: &'c Corpus, plan: &Plan) -> Result<Vec<&'c Program>, CommandError> {
    let programs = corpus.select(&plan.names, &plan.tags).map_err(CommandError::usage)?;
    let floor = corpus.find(FLOOR).filter(|floor| !programs.iter().any(|p| p.name() == floor.name()));
    Ok(floor.into_iter().chain(programs).collect())
}

fn list(programs: &[&Program]) -> String {
    let line = |program: &&Program| {
        let manifest = &program.manifest;
        format!("{:<22} {} ({})\n", manifest.name, manifest.description, manifest.tags.join(", "))
    };
    programs.iter().map(line).collect()
}

type Ready<'c> = Vec<(&'c Program, Built)>;

/// Builds and verifies, both processors busy; what cannot be had on this machine is skipped.
fn prepare<'c>(programs: &[&'c Program]) -> Result<(Ready<'c>, Vec<Skipped>), CommandError> {
    let cache = Cache::of_user().map_err(CommandError::unable)?;
    let bar = bar("building", programs.len() as u64);
    let progress = |step: build::Progress| match step {
        build::Progress::Started(name) => bar.set_message(name.to_owned()),
        build::Progress::Finished(_) => bar.inc(1),
    };
    let results = prepare_all(programs, &cache, 2, &|| interrupt::interrupted().is_some(), &progress);
    bar.finish_and_clear();
    if interrupt::interrupted().is_some() {
        return Err(LaunchError::Interrupted.into());
    }
    let (mut built, mut skipped) = (Vec::new(), Vec::new());
    for (program, result) in programs.iter().zip(results) {
        match result {
            Ok(ready) => built.push((*program, ready)),
            Err(obstacle) => skipped.push(obstacle),
        }
    }
    Ok((built, skipped))
}

fn nothing_to_run(skipped: &[Skipped]) -> String {
    let reasons: Vec<String> = skipped.iter().map(|s| format!("`{}`: {}", s.name, s.reason)).collect();
    format!("no program can be run here: {}\nhelp: firstbyte doctor --install", reasons.join("; "))
}

fn measure(plan: &Plan, chosen: Chosen, ready: &Ready, skipped: &[Skipped]) -> Result<Exit, CommandError> {
    let tracees = ready.iter().map(|(program, built)| tracee(plan, program, built));
    let tracees = tracees.collect::<Result<Vec<_>, CommandError>>()?;
    for (_, built) in ready {
        // What cannot be settled is measured as it is.
        let _ = page_cache::settle(&built.artifact);
    }
    let header = header(&chosen);
    let has_phases = chosen.tracer.backend() != crate::tracer::Backend::Pipe;
    let mut runner = Tracees::new(tracees, chosen.tracer);
    let campaign = Campaign {
        subjects: ready.iter().map(|(program, built)| subject(program, built)).collect(),
        budget: plan.budget,
        warmup: plan.warmup,
        seed: plan.seed,
        overhead: plan.overhead && has_phases,
    };
    let mut checkpoint = |series: &[Series]| {
        let partial = Document { partial: true, ..document(plan, &header, series, skipped) };
        // What cannot be written now is tried again at the end, and told then.
        let _ = export::write(&plan.exports, &partial, false);
    };
    let mut bar = Bar::new(&mut checkpoint);
    let outcome = campaign.run(&mut runner, &mut bar);
    bar.finish();
    let Outcome { mut series, interrupted, given_up, .. } = outcome.map_err(CommandError::unable)?;
    if plan.counts && !interrupted {
        counting::count(&mut runner, &mut series, COUNTING_RUNS);
    }
    let mut document = document(plan, &header, &series, skipped);
    let warm = Some(document::Cache::Warm);
    document.failed.extend(given_up.iter().filter_map(|&n| rendering::given_up(&series[n], warm)));
    document.partial = interrupted || interrupt::interrupted().is_some();
    let exported = export::write(&plan.exports, &document, true);
    if !export::takes_stdout(&plan.exports) {
        show(showdown_text::render(&document, &terminal()).as_bytes())?;
    }
    exported?;
    let wrong = skipped.iter().any(|program| program.cause == SkipCause::Wrong);
    Ok(match document {
        Document { partial: true, .. } => Exit::Interrupted,
        Document { failed, .. } if wrong || !failed.is_empty() => Exit::ProgramFailed,
        _ => Exit::Done,
    })
}

fn tracee(plan: &Plan, program: &Program, built: &Built) -> Result<Tracee, CommandError> {
    let command =
        Command::in_directory(&built.argv, Some(&built.directory)).map_err(CommandError::program)?;
    let mut launcher = Launcher::new(command)?;
    if let Some(cpus) = &plan.cpus {
        launcher.set_cpus(cpus);
    }
    let expected: Arc<[u8]> = program.manifest.expected.stdout.as_bytes().into();
    let setting =
        Setting { output: plan.output, expected: Some(expected), timeout: Some(plan.timeout), until: None };
    Ok(Tracee { launcher, setting })
}

fn subject(program: &Program, built: &Built) -> Subject {
    Subject {
        name: program.name().to_owned(),
        command: shell_words::join(built.argv.iter().map(|word| word.to_string_lossy())),
        expected: Some(program.manifest.expected.exit),
        file_size: Some(built.artifact_size),
    }
}

/// Enough for a median; counts hardly vary.
const COUNTING_RUNS: u32 = 3;

fn document(plan: &Plan, header: &Document, series: &[Series], skipped: &[Skipped]) -> Document {
    let floor = series.iter().find(|series| series.name == FLOOR && !series.samples.is_empty());
    let context = rendering::Context {
        cache: Some(document::Cache::Warm),
        floor,
        threshold: plan.threshold,
        ..Default::default()
    };
    let mut document = header.clone();
    for series in series {
        match rendering::measurement(series, &context) {
            Ok(measurement) => document.results.push(measurement),
            Err(failed) => document.failed.push(failed),
        }
    }
    document.tool.observer_overhead = series.iter().filter_map(rendering::overhead).collect();
    document.skipped = skipped.iter().map(skip).collect();
    document
}

fn skip(skipped: &Skipped) -> document::Skipped {
    document::Skipped {
        name: skipped.name.clone(),
        reason: skipped.reason.clone(),
        install: skipped.install.clone(),
    }
}
