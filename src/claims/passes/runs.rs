//! The passes that run programs, each under one condition.

use super::session::{Session, tracer};
use crate::bench::results::overhead;
use crate::bench::{ExperimentEntry, Placement, RunLimit, Series};
use crate::claims::quantity::{Quantity, RunState};
use crate::claims::{Lack, Reading, claim_programs, gather};
use crate::corpus::{Built, Program, RunContext};
use crate::document::bench::ColdMethod;
use crate::floor::allowed_cpus;
use firstbyte_measure::launch::{LaunchError, Launcher, OutputKind};
use firstbyte_measure::page_cache;
use firstbyte_measure::tracer::{Backend, Recording, RunOptions, Tracer, ptrace};
use std::collections::BTreeSet;
use std::time::Duration;

/// Into a pipe, and killed if they hang.
const RUN_CONTEXT: RunContext =
    RunContext { output: OutputKind::Pipe, timeout: Duration::from_secs(20), placement: &Placement::Steady };

/// Counts hardly vary.
pub(super) const COUNTING_RUNS: u32 = 3;

/// With fewer processors than this their number does not matter.
const SEVERAL_PROCESSORS: usize = 2;

fn entries(programs: &[&(Program, Built)]) -> Result<Vec<ExperimentEntry>, Lack> {
    let entries = programs.iter().map(|(program, built)| program.entry(built, &RUN_CONTEXT));
    entries.collect::<Result<_, _>>().map_err(Lack::of)
}

/// Whether the warm runs and their counting give it.
pub(super) fn is_warm(quantity: Quantity) -> bool {
    let of_runs = matches!(
        quantity,
        Quantity::Count { .. } | Quantity::Overhead(_) | Quantity::LostEvents | Quantity::FileSize(_)
    );
    (of_runs || super::is_in(quantity, RunState::Warm)) && !is_of_level0(quantity)
}

/// Whether the runs of Level 0 give it.
pub(super) fn is_of_level0(quantity: Quantity) -> bool {
    match quantity {
        Quantity::Time { program, .. }
        | Quantity::UserTime(program)
        | Quantity::Count { program, .. }
        | Quantity::FileSize(program)
        | Quantity::TakenForKnown(program) => claim_programs::is_level0(program),
        _ => false,
    }
}

/// Interleaved runs with everything in memory, traced and untraced; then the counting runs.
pub(super) fn warm(session: &mut Session) -> Result<(), Lack> {
    let programs = session.named(&session.needs.programs(RunState::Warm));
    if programs.is_empty() {
        return Ok(());
    }

    let time = Duration::from_secs(if session.options.quick { 12 } else { 120 });
    let mut experiment = session.experiment(entries(&programs)?, RunLimit::Time(time));
    experiment.campaign.overhead = true;
    if session.needs.quantities().any(|q| matches!(q, Quantity::Count { .. })) {
        experiment.counting.runs = COUNTING_RUNS;
    }

    let mut tracer = tracer()?;
    let series = session.observed(experiment, &mut *tracer)?;
    gather::runs(&mut session.evidence, session.needs, RunState::Warm, &series);
    gather::lost_events(&mut session.evidence, &series);
    session.backend = Some(tracer.backend().name().to_owned());
    session.overhead = series.iter().filter_map(overhead).collect();
    Ok(())
}

/// Stops every run at each system call.
pub(super) struct Stopping;

impl Tracer for Stopping {
    fn backend(&self) -> Backend {
        Backend::Ptrace
    }

    fn run(&mut self, launcher: &mut Launcher, options: &RunOptions) -> Result<Recording, LaunchError> {
        ptrace::count(launcher, options).map(|(_, recording)| recording)
    }
}

/// Runs that stop at each system call, as under strace.
pub(super) fn stopped(session: &mut Session) -> Result<(), Lack> {
    let programs = session.named(&session.needs.programs(RunState::Stopped));
    if programs.is_empty() {
        return Ok(());
    }
    let experiment = session.experiment(entries(&programs)?, session.runs(20, 150));
    let series = session.observed(experiment, &mut Stopping)?;
    gather::runs(&mut session.evidence, session.needs, RunState::Stopped, &series);
    Ok(())
}

/// Runs that tell user code from the kernel's work.
pub(super) fn divided(session: &mut Session) -> Result<(), Lack> {
    let programs = session.named(&session.needs.divided());
    let entries = entries(&programs)?;
    if entries.is_empty() { Ok(()) } else { session.divided(entries, (5, 40)) }
}

/// Runs after `drop_caches`.
pub(super) fn dropped(session: &mut Session) -> Result<(), Lack> {
    page_cache::cold::drop_caches().map_err(Lack::of)?;
    cooled(session, RunState::Dropped, ColdMethod::DropCaches)
}

/// Runs with private copies of the programs' files, evicted.
pub(super) fn cold(session: &mut Session) -> Result<(), Lack> {
    session.cold.as_ref().map_err(Lack::of)?;
    cooled(session, RunState::Cold, ColdMethod::Copies)
}

fn cooled(session: &mut Session, state: RunState, method: ColdMethod) -> Result<(), Lack> {
    let programs = session.named(&session.needs.programs(state));
    if programs.is_empty() {
        return Ok(());
    }
    let mut experiment = session.experiment(entries(&programs)?, session.runs(5, 20));
    experiment.campaign.warmup = 1;
    experiment.cold = Some(method);
    let series = session.traced(experiment)?;
    gather::runs(&mut session.evidence, session.needs, state, &series);
    Ok(())
}

/// The first byte with all processors against one.
pub(super) fn processors(session: &mut Session) -> Result<(), Lack> {
    let cpus = allowed_cpus().map_err(Lack::of)?;
    for &name in &session.needs.swept() {
        let quantity = Quantity::AllProcessors(name);
        if cpus.len() < SEVERAL_PROCESSORS {
            session.evidence.lack(quantity, Lack::because("this machine has one processor"));
            continue;
        }
        let found = session.named(&BTreeSet::from([name])).first().copied().cloned();
        let Some((program, built)) = found else { continue };
        if let Some(reading) = all_against_one(session, &program, &built, cpus[0])? {
            session.evidence.insert(quantity, reading);
        }
    }
    Ok(())
}

fn all_against_one(
    session: &mut Session,
    program: &Program,
    built: &Built,
    first: usize,
) -> Result<Option<Reading>, Lack> {
    let first = Placement::Given(first.to_string().parse().map_err(Lack::of)?);
    let one = RunContext { placement: &first, ..RUN_CONTEXT };
    let all = RunContext { placement: &Placement::Anywhere, ..RUN_CONTEXT };
    let entries = [one, all].map(|context| program.entry(built, &context));
    let entries = entries.into_iter().collect::<Result<_, _>>().map_err(Lack::of)?;
    let series = session.traced(session.experiment(entries, session.runs(20, 100)))?;

    let first_bytes = |series: &Series| -> Vec<f64> {
        series.samples.iter().filter_map(|sample| Some(sample.first_byte?.as_f64())).collect()
    };
    let (one, all) = (first_bytes(&series[0]), first_bytes(&series[1]));
    Ok(Reading::of(all.iter().zip(&one).map(|(all, one)| all / one).collect()))
}
