//! `firstbyte showdown`: the programs of the corpus, timed and compared.

use super::per_cache_state::PerCacheState;
use super::progress::Building;
use super::{CommandError, Exit, before_launching, export, show, terminal};
use crate::analysis::processor_time;
use crate::bench::results::{self, ComparedWith};
use crate::bench::{Aim, Campaign, Counting, Experiment, Measured, ProcessorRuns, cold_runs};
use crate::cli::showdown::Plan;
use crate::cli::style::Style;
use crate::corpus::{
    Built, Corpus, PrepareOptions, Program, RunContext, SkipCause, SkippedProgram, build_cache, prepare_all,
};
use crate::document::Document;
use crate::document::bench::ColdMethod;
use crate::report::formats::Exported;
use crate::report::text::showdown as showdown_text;
use firstbyte_measure::launch::{LaunchError, interrupt, ourselves};
use firstbyte_measure::tracer::Tracer;
use firstbyte_measure::tracer::choose::Chosen;
use firstbyte_measure::tracer::phases::choose_phases;

/// The floor, which everything else is compared with.
const FLOOR: &str = "floor-elf";

/// Enough for a median; counts hardly vary.
const COUNTING_RUNS: u32 = 3;

/// The number of runs, for each program, that measure user time and system time apart.
const TRACED_RUNS: u32 = 10;

/// Builds, verifies and measures the corpus, and prints the table.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    let corpus = Corpus::load(plan.corpus.as_deref()).map_err(CommandError::usage)?;
    let versions = plan.selection.versions.then(|| corpus.versions(&plan.selection)).transpose();
    let versions = versions.map_err(CommandError::usage)?;
    let programs = selected(&corpus, plan, versions.as_deref())?;
    if plan.list {
        show(terminal().wrap_lines(&list(&programs), 23).as_bytes())?;
        return Ok(Exit::Done);
    }

    plan.environment.clone().choose();
    export::check(&plan.exports)?;
    plan.caches.iter().flatten().try_for_each(|method| cold_runs::enter(*method))?;
    before_launching();
    ourselves::leave_stdin();
    let chosen = choose_phases(plan.backend).map_err(CommandError::unable)?;

    let (ready, mut skipped) = prepare(&programs, plan)?;
    skipped.extend(corpus.not_programs(&plan.selection).cloned());
    if ready.is_empty() {
        return Err(CommandError::unable(nothing_to_run(&skipped)));
    }
    let document = measure(plan, chosen, &ready, &skipped)?;
    let exported = export::write(&plan.exports, &Exported::Bench(&document), true);
    if !export::takes_stdout(&plan.exports) {
        show(showdown_text::render(&document, &terminal()).as_bytes())?;
    }
    exported?;
    Ok(exit(&document, &skipped))
}

fn exit(document: &Document, skipped: &[SkippedProgram]) -> Exit {
    let wrong = skipped.iter().any(|program| program.cause == SkipCause::Wrong);
    match Exit::of(document) {
        Exit::Done if wrong => Exit::ProgramFailed,
        exit => exit,
    }
}

/// The requested programs or their versions, and the floor, so that there is something to compare with.
fn selected<'c>(
    corpus: &'c Corpus,
    plan: &Plan,
    versions: Option<&'c [Program]>,
) -> Result<Vec<&'c Program>, CommandError> {
    let programs = match versions {
        Some(versions) => versions.iter().collect(),
        None => corpus.select(&plan.selection).map_err(CommandError::usage)?,
    };
    let floor = corpus.find(FLOOR).filter(|floor| !programs.iter().any(|p| p.name() == floor.name()));
    Ok(floor.into_iter().chain(programs).collect())
}

fn list(programs: &[&Program]) -> String {
    let line = |program: &&Program| {
        let manifest = &program.manifest;
        let tags: Vec<&str> = manifest.tags.iter().chain(&manifest.group).map(String::as_str).collect();
        format!("{:<22} {} ({})\n", manifest.name, manifest.description, tags.join(", "))
    };
    programs.iter().map(line).collect()
}

type Ready<'c> = Vec<(&'c Program, Built)>;

/// Builds and verifies the programs. Those that this machine cannot build or run are skipped.
fn prepare<'c>(
    programs: &[&'c Program],
    plan: &Plan,
) -> Result<(Ready<'c>, Vec<SkippedProgram>), CommandError> {
    let cache = build_cache().map_err(CommandError::unable)?;
    let building = Building::new();
    let interrupted = || interrupt::interrupted().is_some();
    let options = PrepareOptions { timeout: plan.timeout, ..PrepareOptions::new(&interrupted) };
    let results = prepare_all(programs, &cache, options, &|step| building.step(&step));
    if interrupted() {
        return Err(LaunchError::Interrupted.into());
    }

    let (mut ready, mut skipped) = (Vec::new(), Vec::new());
    for (program, result) in programs.iter().zip(results) {
        match result {
            Ok(built) => ready.push((*program, built)),
            Err(obstacle) => skipped.push(obstacle),
        }
    }
    Ok((ready, skipped))
}

fn nothing_to_run(skipped: &[SkippedProgram]) -> String {
    let reasons: Vec<String> = skipped.iter().map(|s| format!("`{}`: {}", s.name, s.reason)).collect();
    format!("no program can be run here: {}\nhelp: firstbyte doctor --install", reasons.join("; "))
}

fn measure(
    plan: &Plan,
    mut chosen: Chosen<Box<dyn Tracer>>,
    ready: &Ready,
    skipped: &[SkippedProgram],
) -> Result<Document, CommandError> {
    let skipped = skipped.iter().map(Into::into).collect();
    let compared = ComparedWith { floor: Some(FLOOR), threshold: plan.threshold, ..ComparedWith::default() };
    let measurement = PerCacheState {
        caches: &plan.caches,
        exports: &plan.exports,
        header: Document { skipped, ..results::header(&chosen) },
        compared,
        style: Style::default(),
    };

    let warnings =
        |document: &Document, measured: &Measured| measured.interference.warnings(&document.machine);
    let document = measurement.run(&mut *chosen.tracer, |state| experiment(plan, ready, state), warnings)?;

    // its number of runs is not chosen by their precision
    Ok(Document { finish: None, ..document })
}

fn experiment(plan: &Plan, ready: &Ready, cold: Option<ColdMethod>) -> Result<Experiment, CommandError> {
    let context = RunContext { output: plan.output, timeout: plan.timeout, placement: &plan.placement };
    let entries = ready.iter().map(|(program, built)| program.entry(built, &context));

    Ok(Experiment {
        entries: entries.collect::<Result<_, _>>()?,
        campaign: Campaign {
            aim: Aim::Time,
            limit: plan.limit,
            warmup: plan.warmup,
            seed: plan.seed,
            overhead: plan.overhead,
        },
        cold,
        residence: plan.caches.iter().any(Option::is_some),
        env_offset: false,
        counting: Counting {
            runs: if plan.counts { COUNTING_RUNS } else { 0 },
            time: None,
            by_processor: false,
            processor: plan.counts.then_some(ProcessorRuns {
                least: COUNTING_RUNS,
                most: TRACED_RUNS,
                compared: false,
                explain: processor_time::of_recording,
            }),
            influences: true,
        },
    })
}
