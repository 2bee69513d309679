//! Runs apart from the timed ones that tell user code from the kernel's work: every entry into the kernel is seen in them.

use super::counting::{Uncounted, counted};
use super::error::one_line;
use super::prepared::Prepared;
use super::runner::Runner;
use super::sample::{ProcessorTime, Sample, Series};
use super::schedule;
use crate::document::bench::Distribution;
use crate::document::processor_time::{DIVIDED_BY_TICKS, ProcessorTimes};
use crate::stats::mean_of;
use firstbyte_measure::timeline::region::{Region, RegionError};
use firstbyte_measure::tracer::full::{FullTracer, choose_full};
use firstbyte_measure::tracer::{BackendChoice, EventCosts, Recording};
use firstbyte_measure::units::Nanos;
use std::time::{Duration, Instant};

/// How many of these runs are made.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorRuns {
    /// The number for each program, however long they take.
    pub least: u32,
    /// The maximum number for each program.
    pub most: u32,
    /// Programs are compared by them: they are made of all programs, for as long as the timed runs took.
    pub compared: bool,
    /// Explains a run, without what its events cost because they were observed; `None` if that is not possible.
    pub explain: fn(&Recording, Option<EventCosts>) -> Option<ProcessorTime>,
}

/// Unless programs are compared by them, the runs of each take this long.
const TIME_EACH: Duration = Duration::from_millis(300);

/// A program that makes more system calls and page faults than these takes longer to explain than to run.
const MAX_EVENTS: u64 = 100_000;

const ONLY_BPF: &str = "only --backend bpf shows it";

/// Makes the runs. A program without them says why.
pub(super) fn trace(
    runner: &mut Prepared,
    series: &mut [Series],
    (wanted, by_bpf): (ProcessorRuns, bool),
    seed: u64,
) {
    let is_wanted = |series: &Series| {
        !series.samples.is_empty() && (wanted.compared || mean_cpu(series) < DIVIDED_BY_TICKS)
    };
    let programs = (0..series.len()).filter(|&n| is_wanted(&series[n]));
    let (busy, programs): (Vec<usize>, Vec<usize>) = programs.partition(|&n| has_too_many(&series[n]));
    for program in busy {
        let reason = format!("it makes more than {MAX_EVENTS} system calls and page faults");
        series[program].undivided = Some(reason);
    }
    if programs.is_empty() {
        return;
    }

    let tracer = if by_bpf { attached(runner) } else { None };
    let Some((mut tracer, costs)) = tracer else {
        return programs.into_iter().for_each(|program| series[program].undivided = Some(ONLY_BPF.into()));
    };
    rounds(runner, series, programs, &mut *tracer, (wanted, costs), seed);
    // nothing is measured after it
    let _ = tracer.detach();
}

/// The tracer of every system call, instead of that of the timed runs, and what its events cost; `None` if it does not work
/// here.
fn attached(runner: &mut Prepared) -> Option<(Box<dyn FullTracer>, Option<EventCosts>)> {
    runner.switch(false).ok()?;
    let mut tracer = choose_full(BackendChoice::Bpf, None).ok()?.tracer;
    let costs = tracer.event_costs().ok()?;
    tracer.attach().ok()?;
    Some((tracer, costs))
}

fn has_too_many(series: &Series) -> bool {
    series.counts.iter().any(|counts| counts.syscalls + counts.page_faults > MAX_EVENTS)
}

fn rounds(
    runner: &mut Prepared,
    series: &mut [Series],
    mut programs: Vec<usize>,
    tracer: &mut dyn FullTracer,
    (wanted, costs): (ProcessorRuns, Option<EventCosts>),
    seed: u64,
) {
    let timed: Duration = programs.iter().map(|&program| series[program].timed()).sum();
    let count = u32::try_from(programs.len()).unwrap_or(u32::MAX);
    let time = if wanted.compared { timed } else { TIME_EACH.saturating_mul(count) };
    let round = programs.iter().filter_map(|&program| Some(series[program].samples.last()?.wall.0)).sum();
    // the first runs after a tracer was attached are slower
    let discarded =
        if wanted.most > 1 { schedule::discarded(Duration::from_nanos(round), programs.len()) } else { 0 };
    let regions: Vec<Option<Region>> =
        series.iter().map(|series| Some(series.region.as_ref()?.region.clone())).collect();
    let mut random = fastrand::Rng::with_seed(seed);
    let begun = Instant::now();

    for round in 0..discarded + wanted.most {
        let is_late = begun.elapsed() >= time && round >= discarded + wanted.least;
        if is_late || programs.is_empty() {
            break;
        }
        for program in schedule::round(&programs, &mut random) {
            let run = || {
                let recording = runner.traced_by(program, tracer)?;
                let region = regions[program].as_ref().map(|region| region.of(&recording));
                Ok(((wanted.explain)(&recording, costs).map(|time| (time, region)), recording))
            };
            match counted(&series[program], run) {
                Ok(Some((time, region))) if round >= discarded => series[program].add((round, time), region),
                Ok(Some(_)) => {}
                Ok(None) => give_up(program, "no account comes of it", series, &mut programs),
                Err(Uncounted::Interrupted) => return,
                Err(Uncounted::Because(reason)) => give_up(program, &reason, series, &mut programs),
            }
        }
    }
}

impl Series {
    /// What a traced run found out.
    fn add(&mut self, (round, time): (u32, ProcessorTime), region: Option<Result<Nanos, RegionError>>) {
        self.processor.push((round, time));
        match (&mut self.region, region) {
            (Some(times), Some(Ok(time))) => times.times.push((round, time)),
            (Some(times), Some(Err(error))) => times.why_not = Some(error.to_string()),
            _ => {}
        }
    }
}

fn give_up(program: usize, reason: &str, series: &mut [Series], programs: &mut Vec<usize>) {
    series[program].processor.clear();
    series[program].undivided = Some(format!("in a traced run, {}", one_line(reason)));
    programs.retain(|other| *other != program);
}

/// The processor time of a series, in seconds, and its parts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Divided {
    /// As the kernel charges it, which is exact.
    pub(super) cpu: f64,
    /// Of the traced runs; without them, the kernel's, if there are enough ticks.
    pub(super) user: Option<f64>,
    pub(super) system: Option<f64>,
    /// Why the parts are not known.
    pub(super) why_not: Option<String>,
    pub(super) traced: Option<ProcessorTimes>,
}

impl Divided {
    pub(super) fn of(series: &Series) -> Divided {
        let cpu = mean_cpu(series);
        let traced = traced(series);
        let by_ticks = mean_seconds(series, |sample| sample.user).filter(|_| cpu >= DIVIDED_BY_TICKS);
        let user = traced.as_ref().map(|times| (times.user.mean / 1e9).min(cpu)).or(by_ticks);
        let why_not = user.is_none().then(|| {
            let reason = series.undivided.as_deref().unwrap_or("it was not traced");
            format!("it is too short for the ticks by which the kernel divides it, and {reason}")
        });
        Divided { cpu, user, system: user.map(|user| cpu - user), why_not, traced }
    }
}

fn mean_cpu(series: &Series) -> f64 {
    mean_seconds(series, Sample::processor).unwrap_or_default()
}

fn mean_seconds(series: &Series, of: fn(&Sample) -> Nanos) -> Option<f64> {
    mean_of(&series.samples.iter().map(|sample| of(sample).as_f64() / 1e9).collect::<Vec<f64>>())
}

fn traced(series: &Series) -> Option<ProcessorTimes> {
    let of = |time: fn(&ProcessorTime) -> Nanos| {
        Distribution::of(series.processor.iter().map(|(_, run)| time(run).0).collect())
    };
    Some(ProcessorTimes {
        user: of(|run| run.user)?,
        scored: of(|run| run.scored)?,
        burnt: of(|run| run.burnt)?,
    })
}
