//! `firstbyte showdown`: corpus, tracees, campaign, counting runs, document, renderings.

use super::cold;
use super::conditions;
use super::corpus_runs::{Circumstances, subject, tracee};
use super::counting;
use super::header::header;
use super::interference;
use super::progress::{Bar, bar};
use super::{CommandError, Exit, before_launching, export, show, terminal};
use crate::bench::document as rendering;
use crate::bench::{Around, Campaign, Outcome, Prepared, Series, Tracees};
use crate::cli::showdown::Plan;
use crate::corpus::{
    BuildCache, Built, Corpus, PrepareOptions, Program, Progress, SkipCause, Skipped, prepare_all,
};
use crate::document::warnings;
use crate::document::{Document, bench as document};
use crate::report::formats::Exported;
use crate::report::text::showdown as showdown_text;
use firstbyte_measure::launch::{LaunchError, interrupt};
use firstbyte_measure::page_cache;
use firstbyte_measure::tracer::Tracer;
use firstbyte_measure::tracer::choose::Chosen;
use firstbyte_measure::tracer::phases::{PhasesTracer, choose_phases};

/// The floor: what everything else is compared with.
const FLOOR: &str = "floor-elf";

/// Builds, verifies and measures the corpus, and prints the table.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    let corpus = Corpus::load(plan.corpus.as_deref()).map_err(CommandError::usage)?;
    let programs = selected(&corpus, plan)?;
    if plan.list {
        show(terminal().wrap_lines(&list(&programs), 23).as_bytes())?;
        return Ok(Exit::Done);
    }
    export::check(&plan.exports)?;
    cold::enter(plan.cold)?;
    before_launching();
    let chosen = choose_phases(plan.backend).map_err(CommandError::unable)?;
    let (built, mut skipped) = prepare(&programs, plan)?;
    skipped.extend(corpus.not_programs(&plan.names, &plan.tags).cloned());
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

/// Builds and verifies the programs. Those that this machine cannot build or run are skipped.
fn prepare<'c>(programs: &[&'c Program], plan: &Plan) -> Result<(Ready<'c>, Vec<Skipped>), CommandError> {
    let cache = BuildCache::of_user().map_err(CommandError::unable)?;
    let bar = bar("building", programs.len() as u64);
    let progress = |step: Progress| match step {
        Progress::Started(name) => bar.set_message(name.to_owned()),
        Progress::Finished(_) => bar.inc(1),
    };
    let interrupted = || interrupt::interrupted().is_some();
    let options = PrepareOptions { timeout: plan.timeout, ..PrepareOptions::new(&interrupted) };
    let results = prepare_all(programs, &cache, options, &progress);
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

fn measure(
    plan: &Plan,
    chosen: Chosen<PhasesTracer>,
    ready: &Ready,
    skipped: &[Skipped],
) -> Result<Exit, CommandError> {
    let circumstances =
        Circumstances { output: plan.output, timeout: plan.timeout, cpus: plan.cpus.as_ref() };
    let tracees = ready.iter().map(|(program, built)| tracee(program, built, &circumstances));
    let tracees = tracees.collect::<Result<Vec<_>, CommandError>>()?;
    for (_, built) in ready {
        // What cannot be settled is measured as it is.
        let _ = page_cache::settle(&built.artifact);
    }
    let header = header(&chosen);
    let has_phases = chosen.tracer.backend() != firstbyte_measure::tracer::Backend::Pipe;
    let around = vec![Around::default(); ready.len()];
    let mut runner = Prepared::new(Tracees::new(tracees, chosen.tracer), around, None);
    let cool_down = |method| cold::cool_down(&mut runner, method, ready.len());
    let doubts = plan.cold.map(cool_down).transpose()?.unwrap_or_default();
    let coldness = |program: usize| {
        let known = cold::coldness(plan.cold?, program, &runner);
        Some(document::Cold { doubt: doubts.get(program).cloned().flatten(), ..known })
    };
    let cold: Vec<_> = (0..ready.len()).map(coldness).collect();
    let campaign = Campaign {
        subjects: ready.iter().map(|(program, built)| subject(program, built)).collect(),
        budget: plan.budget,
        warmup: plan.warmup,
        seed: plan.seed,
        // what is read from a disk drowns what a tracer costs
        overhead: plan.overhead && has_phases && plan.cold.is_none(),
    };
    let mut checkpoint = |series: &[Series]| {
        let partial = Document { partial: true, ..document(plan, &header, series, &cold, skipped) };
        // What cannot be written now is tried again at the end, and told then.
        let _ = export::write(&plan.exports, &Exported::Bench(&partial), false);
    };
    let mut bar = Bar::new(&mut checkpoint);
    let watch = interference::Watch::begin();
    let outcome = campaign.run(&mut runner, &mut bar);
    let interference = watch.warnings(&header.machine);
    bar.finish();
    let Outcome { mut series, interrupted, given_up, broken, .. } = outcome.map_err(CommandError::unable)?;
    if plan.counts && !interrupted && broken.is_none() {
        counting::count(&mut runner, &mut series, COUNTING_RUNS);
    }
    let mut document = document(plan, &header, &series, &cold, skipped);
    let cache = Some(state(plan));
    document.failed.extend(given_up.iter().filter_map(|&n| rendering::given_up(&series[n], cache)));
    document.broken = broken.map(|error| error.to_string());
    document.partial = interrupted || document.broken.is_some() || interrupt::interrupted().is_some();
    document.warnings = warnings::of(&document);
    document.warnings.extend(interference);
    let exported = export::write(&plan.exports, &Exported::Bench(&document), true);
    if !export::takes_stdout(&plan.exports) {
        show(showdown_text::render(&document, &terminal()).as_bytes())?;
    }
    exported?;
    let wrong = skipped.iter().any(|program| program.cause == SkipCause::Wrong);
    Ok(match document {
        Document { broken: Some(_), .. } => Exit::Unable,
        Document { partial: true, .. } => Exit::Interrupted,
        Document { failed, .. } if wrong || !failed.is_empty() => Exit::ProgramFailed,
        _ => Exit::Done,
    })
}

/// Enough for a median; counts hardly vary.
const COUNTING_RUNS: u32 = 3;

fn state(plan: &Plan) -> document::Cache {
    if plan.cold.is_some() { document::Cache::Cold } else { document::Cache::Warm }
}

fn document(
    plan: &Plan,
    header: &Document,
    series: &[Series],
    cold: &[Option<document::Cold>],
    skipped: &[Skipped],
) -> Document {
    let floor = series.iter().find(|series| series.name == FLOOR && !series.samples.is_empty());
    let mut document = header.clone();
    for (series, cold) in series.iter().zip(cold) {
        let context = rendering::Context {
            cache: Some(state(plan)),
            plan: conditions::of(plan.output, plan.cpus.as_ref()).to_value(),
            floor,
            threshold: plan.threshold,
            cold: cold.clone(),
            ..Default::default()
        };
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
