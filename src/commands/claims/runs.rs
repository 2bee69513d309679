//! The passes that run programs, under one condition each.

use super::super::corpus_runs::{Circumstances, subject, tracee};
use super::super::progress::{self, Bar};
use super::super::{CommandError, cold as page_cold, counting};
use crate::bench::document as rendering;
use crate::bench::runner::{Counter, Runner, SwitchError, Tracee};
use crate::bench::{Around, Budget, Campaign, Outcome, Prepared, Series, Tracees};
use crate::claims::quantity::{Quantity, State};
use crate::claims::{Evidence, Lack, Needs, Reading, gather, programs};
use crate::cli::claims::Plan;
use crate::corpus::{BuildCache, Built, Corpus, PrepareOptions, Program, Progress, Skipped, prepare_all};
use crate::document::bench::{ColdMethod, Overhead};
use crate::floor::allowed_cpus;
use firstbyte_measure::launch::{LaunchError, OutputKind, interrupt};
use firstbyte_measure::page_cache;
use firstbyte_measure::tracer::phases::{PhasesTracer, choose_phases};
use firstbyte_measure::tracer::{Choice, Recording, Tracer};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

/// Into a pipe, and killed if it hangs.
const CIRCUMSTANCES: Circumstances =
    Circumstances { output: OutputKind::Pipe, timeout: Duration::from_secs(20), cpus: None };

/// Counts hardly vary.
const COUNTING_RUNS: u32 = 3;

/// With one processor nothing is said of their number.
const SEVERAL_PROCESSORS: usize = 2;

/// What all passes share: the programs.
pub(super) struct Session<'p> {
    pub(super) plan: &'p Plan,
    pub(super) needs: &'p Needs,
    /// Whether this process may bring files of its own in the place of others.
    cold: Result<(), String>,
    ready: Vec<(Program, Built)>,
    pub(super) skipped: Vec<Skipped>,
    /// What observed the warm runs, and what that cost: known once they have been made.
    pub(super) observer: RefCell<(Option<String>, Vec<Overhead>)>,
}

impl<'p> Session<'p> {
    /// Builds and verifies whatever is needed.
    pub(super) fn new(
        plan: &'p Plan,
        needs: &'p Needs,
        cold: Result<(), String>,
    ) -> Result<Session<'p>, CommandError> {
        let corpus = Corpus::load(None).map_err(CommandError::unable)?;
        let own = programs::programs().map_err(CommandError::unable)?;
        let wanted = needs.built();
        let all = corpus.programs().iter().chain(&own);
        let programs: Vec<&Program> = all.filter(|program| wanted.contains(program.name())).collect();
        let cache = BuildCache::of_user().map_err(CommandError::unable)?;
        let bar = progress::bar("building", programs.len() as u64);
        let progress = |step: Progress| match step {
            Progress::Started(name) => bar.set_message(name.to_owned()),
            Progress::Finished(_) => bar.inc(1),
        };
        let interrupted = || interrupt::interrupted().is_some();
        let results = prepare_all(&programs, &cache, PrepareOptions::new(&interrupted), &progress);
        bar.finish_and_clear();
        let (ready, skipped, observer) = (Vec::new(), Vec::new(), RefCell::default());
        let mut session = Session { plan, needs, cold, ready, skipped, observer };
        for (program, result) in programs.into_iter().zip(results) {
            match result {
                Ok(built) => session.ready.push((program.clone(), built)),
                Err(skip) => session.skipped.push(skip),
            }
        }
        Ok(session)
    }

    /// The programs that are here.
    pub(super) fn built(&self) -> impl Iterator<Item = &Built> {
        self.ready.iter().map(|(_, built)| built)
    }

    fn named(&self, names: &BTreeSet<&str>) -> Vec<&(Program, Built)> {
        self.ready.iter().filter(|(program, _)| names.contains(program.name())).collect()
    }

    pub(super) fn campaign(&self, programs: &[&(Program, Built)], budget: Budget) -> Campaign {
        let subjects = programs.iter().map(|(program, built)| subject(program, built)).collect();
        Campaign { subjects, budget, warmup: 2, seed: self.plan.seed, overhead: false }
    }
}

/// The programs, ready to be run.
fn tracees(programs: &[&(Program, Built)]) -> Result<Vec<Tracee>, CommandError> {
    programs.iter().map(|(program, built)| tracee(program, built, &CIRCUMSTANCES)).collect()
}

/// Runs a campaign, and keeps what is finished.
pub(super) fn carry_out(campaign: &Campaign, runner: &mut dyn Runner) -> Result<Vec<Series>, CommandError> {
    let mut no_checkpoint = |_: &[Series]| ();
    let mut bar = Bar::new(&mut no_checkpoint);
    let outcome = campaign.run(runner, &mut bar);
    bar.finish();
    let Outcome { series, .. } = outcome.map_err(CommandError::unable)?;
    Ok(series)
}

pub(super) fn tracer() -> Result<PhasesTracer, CommandError> {
    Ok(choose_phases(Choice::Auto).map_err(CommandError::unable)?.tracer)
}

/// Whether it comes of the warm runs and their counting.
pub(super) fn is_warm(quantity: Quantity) -> bool {
    let of_runs = matches!(
        quantity,
        Quantity::Count { .. } | Quantity::Overhead(_) | Quantity::LostEvents | Quantity::FileSize(_)
    );
    (of_runs || super::is_in(quantity, State::Warm)) && !is_of_level0(quantity)
}

/// Whether it comes of the runs of Level 0.
pub(super) fn is_of_level0(quantity: Quantity) -> bool {
    match quantity {
        Quantity::Time { program, .. } | Quantity::Count { program, .. } => programs::is_level0(program),
        _ => false,
    }
}

/// Interleaved runs with everything in memory, traced and untraced; then the counting.
pub(super) fn warm(session: &Session, evidence: &mut Evidence) -> Result<(), CommandError> {
    let programs = session.named(&session.needs.programs(State::Warm));
    if programs.is_empty() {
        return Ok(());
    }
    for (_, built) in &programs {
        // What cannot be settled is measured as it is.
        let _ = page_cache::settle(&built.artifact);
    }
    let time = Duration::from_secs(if session.plan.quick { 12 } else { 120 });
    let tracer = tracer()?;
    let overhead = tracer.backend() != firstbyte_measure::tracer::Backend::Pipe;
    let backend = tracer.backend().name().to_owned();
    let campaign = Campaign { overhead, ..session.campaign(&programs, Budget::Time(time)) };
    let mut runner = Tracees::new(tracees(&programs)?, tracer);
    let mut series = carry_out(&campaign, &mut runner)?;
    if interrupt::interrupted().is_none()
        && session.needs.quantities().any(|q| matches!(q, Quantity::Count { .. }))
    {
        counting::count(&mut runner, &mut series, COUNTING_RUNS);
    }
    gather::runs(evidence, session.needs, State::Warm, &series);
    gather::lost_events(evidence, &series);
    *session.observer.borrow_mut() = (Some(backend), series.iter().filter_map(rendering::overhead).collect());
    Ok(())
}

/// Every run stops at each system call.
struct Stopping(Tracees);

impl Runner for Stopping {
    fn switch(&mut self, _traced: bool) -> Result<(), SwitchError> {
        Ok(())
    }

    fn run(&mut self, program: usize) -> Result<Recording, LaunchError> {
        self.0.count(program).map(|(_, recording)| recording)
    }
}

/// Runs that stop at each system call, as under strace.
pub(super) fn stopped(session: &Session, evidence: &mut Evidence) -> Result<(), CommandError> {
    let programs = session.named(&session.needs.programs(State::Stopped));
    let runs = if session.plan.quick { 20 } else { 150 };
    let mut runner = Stopping(Tracees::new(tracees(&programs)?, tracer()?));
    let series = carry_out(&session.campaign(&programs, Budget::Runs(runs)), &mut runner)?;
    gather::runs(evidence, session.needs, State::Stopped, &series);
    Ok(())
}

/// Runs after `drop_caches`.
pub(super) fn dropped(session: &Session, evidence: &mut Evidence) -> Result<(), CommandError> {
    page_cache::cold::drop_caches().map_err(CommandError::unable)?;
    cooled(session, evidence, State::Dropped, ColdMethod::DropCaches)
}

/// Runs with private copies of the programs' files, evicted.
pub(super) fn cold(session: &Session, evidence: &mut Evidence) -> Result<(), CommandError> {
    session.cold.clone().map_err(CommandError::unable)?;
    cooled(session, evidence, State::Cold, ColdMethod::Copies)
}

fn cooled(
    session: &Session,
    evidence: &mut Evidence,
    state: State,
    method: ColdMethod,
) -> Result<(), CommandError> {
    let programs = session.named(&session.needs.programs(state));
    if programs.is_empty() {
        return Ok(());
    }
    let tracees = tracees(&programs)?;
    let around = vec![Around::default(); tracees.len()];
    let mut runner = Prepared::new(Tracees::new(tracees, tracer()?), around, None);
    page_cold::cool_down(&mut runner, method, programs.len())?;
    let runs = if session.plan.quick { 5 } else { 20 };
    let campaign = Campaign { warmup: 1, ..session.campaign(&programs, Budget::Runs(runs)) };
    let series = carry_out(&campaign, &mut runner)?;
    gather::runs(evidence, session.needs, state, &series);
    Ok(())
}

/// The first byte with all processors against one.
pub(super) fn processors(session: &Session, evidence: &mut Evidence) -> Result<(), CommandError> {
    let cpus = allowed_cpus()?;
    for &name in &session.needs.swept() {
        let quantity = Quantity::AllProcessors(name);
        if cpus.len() < SEVERAL_PROCESSORS {
            let reason = "this machine has one processor";
            evidence.lack(quantity, Lack::because(reason));
            continue;
        }
        let Some((program, built)) = session.named(&BTreeSet::from([name])).first().copied() else {
            continue;
        };
        if let Some(reading) = all_against_one(session, program, built, &cpus)? {
            evidence.insert(quantity, reading);
        }
    }
    Ok(())
}

fn all_against_one(
    session: &Session,
    program: &Program,
    built: &Built,
    cpus: &[usize],
) -> Result<Option<Reading>, CommandError> {
    let (mut one, all) = (tracee(program, built, &CIRCUMSTANCES)?, tracee(program, built, &CIRCUMSTANCES)?);
    let first = cpus[0].to_string();
    one.launcher.set_cpus(&first.parse().map_err(CommandError::unable)?);
    let budget = Budget::Runs(if session.plan.quick { 20 } else { 100 });
    let subjects = vec![subject(program, built), subject(program, built)];
    let campaign = Campaign { subjects, ..session.campaign(&[], budget) };
    let mut runner = Tracees::new(vec![one, all], tracer()?);
    let series = carry_out(&campaign, &mut runner)?;
    let first_bytes = |series: &Series| -> Vec<f64> {
        series.samples.iter().filter_map(|sample| Some(sample.first_byte?.as_f64())).collect()
    };
    let (one, all) = (first_bytes(&series[0]), first_bytes(&series[1]));
    Ok(Reading::of(all.iter().zip(&one).map(|(all, one)| all / one).collect()))
}
