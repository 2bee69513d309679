//! Sampled runs: which user code runs, beside the traced runs that say how long it runs.

use super::TracePlan;
use super::runs::{entry, experiment};
use crate::analysis::profile::Profile;
use crate::analysis::runs::{ExpectedCost, Sampled, SampledUser, SamplingWish};
use crate::bench::schedule::MIN_BESIDE;
use crate::bench::{
    Aim, BothKinds, Campaign, ExperimentError, LookForMarks, Measured, Placement, Progress, RunLimit,
};
use firstbyte_measure::launch::{Command, on_one_processor};
use firstbyte_measure::sampler::{self, Sampler, SamplerError, StopSampler, Stream};
use firstbyte_measure::tracer::{BackendChoice, Tracer};
use firstbyte_measure::units::Nanos;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// By default no more sampled runs than fit into this time, with the untraced ones beside them.
const SAMPLING_TIMEOUT: Duration = Duration::from_secs(1);
/// To read frames costs more than a sample alone, so there are fewer in each run.
const READING_TIMEOUT: Duration = Duration::from_secs(2);
/// How much of a run is user code needs fewer samples than which functions it is.
const SHARE_TIMEOUT: Duration = Duration::from_millis(400);
const MIN_RUNS: u32 = 2;
const MAX_RUNS: u32 = 1000;

/// The number of samples that gives each function's share to about two per cent.
const ENOUGH_SAMPLES: f64 = 2200.0;
/// Above it, a long program would be sampled less than a profiler is expected to.
const MAX_PERIOD: Nanos = Nanos(1_000_000);
/// The number of samples that is made whatever they cost.
const FEW_SAMPLES: f64 = 200.0;
/// Samples that cost more are made nevertheless in a program with few of them. On a busy machine they seem to cost several times
/// as much as they do, and no sample says nothing.
const MAX_SHORTEST_PERIOD: Nanos = Nanos(2_000_000);

/// Makes sampled runs, alternating with untraced ones. The inner error: this machine cannot sample.
pub(super) fn sample(
    command: Command,
    plan: &TracePlan,
    (expected, wish, interpreters): (ExpectedCost, SamplingWish, &[PathBuf]),
    progress: &mut dyn Progress,
) -> Result<Result<Sampled, SamplerError>, ExperimentError> {
    if let Some(sampled) = without_stops(&command, plan, expected, interpreters, progress)? {
        return Ok(Ok(sampled));
    }
    let unstopped = match wish {
        SamplingWish::Native => None,
        SamplingWish::Unstopped(reason) => Some(reason.to_owned()),
        SamplingWish::Stopped => {
            let mut stopped = || by_stops(command.clone(), plan, expected, progress);
            // then a stop wakes no other processor
            let on_one = expected.alone && plan.each_run.placement == Placement::Steady;
            let sampled = if on_one { on_one_processor(stopped) } else { stopped() };
            match sampled? {
                Ok(sampled) => return Ok(Ok(sampled)),
                Err(reason) => Some(reason),
            }
        }
    };

    // only a program that stops shows its marks
    if let Some(reason) = unstopped.clone().filter(|_| plan.mark.is_some()) {
        return Ok(Err(SamplerError::Failed(std::io::Error::other(reason))));
    }
    let shortest = match Sampler::shortest_period() {
        Ok(period) => period,
        Err(error) => return Ok(Err(error)),
    };
    let course = Course::new(plan, expected, shortest, SAMPLING_TIMEOUT);
    let mut sampler = Sampler::new(course.period, plan.seed);
    let measured = course.measured(command, plan, &mut sampler, progress)?;
    Ok(Ok(Sampled { unstopped, ..course.sampled(&measured, sampler.take()) }))
}

/// How long a run that takes `wall` nanoseconds is in user code; `None`: this machine cannot sample.
pub(super) fn user_time(
    command: Command,
    plan: &TracePlan,
    wall: f64,
    progress: &mut dyn Progress,
) -> Result<Option<SampledUser>, ExperimentError> {
    let Ok(shortest) = Sampler::shortest_period() else { return Ok(None) };
    let plan = TracePlan { overhead: false, ..plan.clone() };
    // most of it may be user code
    let course = Course::new(&plan, ExpectedCost { user: wall, wall, alone: false }, shortest, SHARE_TIMEOUT);
    let mut tracer = Sampler::new(course.period, plan.seed);
    let measured = course.measured(command, &plan, &mut tracer, progress)?;

    let streams = tracer.take();
    let (samples, all_time) = Profile::samples_in(&streams);
    let runs = streams.len() as f64;
    let period = streams.iter().map(|stream| stream.period.as_f64()).sum::<f64>() / runs;
    let (time, each, executions) = (all_time / runs, period / runs, measured.executions);
    Ok((!streams.is_empty()).then_some(SampledUser { time, samples, each, period, executions }))
}

/// The same with a sampler that reads frames and stops nothing. `None`: it cannot.
fn without_stops(
    command: &Command,
    plan: &TracePlan,
    expected: ExpectedCost,
    interpreters: &[PathBuf],
    progress: &mut dyn Progress,
) -> Result<Option<Sampled>, ExperimentError> {
    // only a program that stops shows its marks
    if plan.mark.is_some() || plan.backend == BackendChoice::Ptrace {
        return Ok(None);
    }
    let Some(mut sampler) = sampler::without_stops(plan.seed, interpreters) else { return Ok(None) };
    let course = Course::new(plan, expected, sampler.shortest_period(), READING_TIMEOUT);
    sampler.use_period(course.period, course.longest);
    let measured = course.measured(command.clone(), plan, &mut *sampler, progress)?;
    Ok(sampler.take().map(|streams| course.sampled(&measured, streams)))
}

/// The same with a sampler that stops the program to read the frames of its interpreter. The inner error: why that cannot
/// be done, a clause.
fn by_stops(
    command: Command,
    plan: &TracePlan,
    expected: ExpectedCost,
    progress: &mut dyn Progress,
) -> Result<Result<Sampled, String>, ExperimentError> {
    let shortest = match StopSampler::shortest_period() {
        Ok(period) => period,
        Err(error) => return Ok(Err(error.to_string().replace("\nhelp: ", "; this may allow it: "))),
    };
    let course = Course::new(plan, expected, shortest, READING_TIMEOUT);
    let mut sampler = StopSampler::new(course.period, plan.seed);
    let measured = course.measured(command, plan, &mut sampler, progress)?;

    let mut streams = sampler.take();
    let stops: usize = streams.iter().map(Stream::samples).sum();
    if let Some(reason) = missing(&measured, stops, course.period) {
        return Ok(Err(reason));
    }
    if let Some(name) = &plan.mark {
        for stream in &mut streams {
            stream.keep_part(name);
        }
    }
    Ok(Ok(course.sampled(&measured, streams)))
}

/// Fewer expected stops say nothing about those that are missing.
const FEW_STOPS: f64 = 20.0;

/// A thread that blocks SIGTRAP is not stopped.
fn missing(measured: &Measured, stops: usize, period: Nanos) -> Option<String> {
    let runs = measured.series.iter().flat_map(|series| &series.samples);
    let user: f64 = runs.map(|run| run.user.as_f64()).sum();
    let wanted = user / period.as_f64();
    (wanted >= FEW_STOPS && (stops as f64) < wanted / 2.0)
        .then(|| format!("it stopped {stops} times instead of about {wanted:.0}, as if it blocked SIGTRAP"))
}

/// How a command's sampled runs are made.
struct Course {
    campaign: Campaign,
    period: Nanos,
    /// The longest one that the costs of samples may ask for.
    longest: Nanos,
    /// Before the first run.
    since: SystemTime,
}

impl Course {
    fn new(plan: &TracePlan, expected: ExpectedCost, shortest: Nanos, time: Duration) -> Course {
        let beside = plan.count.unwrap_or_else(|| fitting(expected, time, 2.0)) >= MIN_BESIDE;
        let overhead = plan.overhead && beside;
        let (runs, [period, longest]) = runs_and_period(plan.count, overhead, expected, (shortest, time));
        let limit = plan.count.map_or(RunLimit::RunsWithin(runs, time), RunLimit::Runs);
        // without it there are no untraced runs
        let warmup = u32::from(overhead);
        let campaign = Campaign { aim: Aim::Sample, limit, warmup, seed: plan.seed, overhead };
        Course { campaign, period, longest, since: SystemTime::now() }
    }

    fn measured(
        &self,
        command: Command,
        plan: &TracePlan,
        sampler: &mut dyn Tracer,
        progress: &mut dyn Progress,
    ) -> Result<Measured, ExperimentError> {
        let mut entry = entry(command, plan)?;
        entry.tracee.marks = if plan.mark.is_some() { LookForMarks::Always } else { LookForMarks::Never };
        experiment(vec![entry], self.campaign).run(sampler, progress)
    }

    fn sampled(&self, measured: &Measured, streams: Vec<Stream>) -> Sampled {
        let blocks = measured.series.iter().flat_map(|series| BothKinds::medians(&series.blocks())).collect();
        Sampled { streams, blocks, since: self.since, executions: measured.executions, unstopped: None }
    }
}

/// How many runs fit into the time, each with `beside` runs in all.
fn fitting(expected: ExpectedCost, time: Duration, beside: f64) -> u32 {
    let each = expected.wall.max(1.0) * beside;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "limited to a thousand")]
    let fitting = (time.as_secs_f64() * 1e9 / each).min(f64::from(MAX_RUNS)) as u32;
    fitting
}

/// How often to run, and how often to sample: enough samples, in not too long a time, at not too high a cost. Also the longest
/// period that costs may ask for.
fn runs_and_period(
    count: Option<u32>,
    overhead: bool,
    expected: ExpectedCost,
    (shortest, time): (Nanos, Duration),
) -> (u32, [Nanos; 2]) {
    let fitting = fitting(expected, time, if overhead { 2.0 } else { 1.0 });
    let runs = count.unwrap_or(fitting.max(MIN_RUNS));
    let all_user = f64::from(runs) * expected.user;
    let most = MAX_SHORTEST_PERIOD.max(Nanos::rounded(all_user / FEW_SAMPLES));
    (runs, [Nanos::rounded(all_user / ENOUGH_SAMPLES).min(MAX_PERIOD).max(shortest.min(most)), most])
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN_PERIOD: Nanos = Nanos(50_000);

    fn planned(count: Option<u32>, [user, wall]: [f64; 2], limits: (Nanos, Duration)) -> (u32, Nanos) {
        let expected = ExpectedCost { user: user * 1e6, wall: wall * 1e6, alone: true };
        let (runs, [period, _]) = runs_and_period(count, true, expected, limits);
        (runs, period)
    }

    #[test]
    fn short_programs_run_often_and_long_ones_are_sampled_seldom() {
        let plan =
            |user_ms: f64, wall_ms: f64| planned(None, [user_ms, wall_ms], (MIN_PERIOD, SAMPLING_TIMEOUT));
        assert_eq!(plan(0.1, 0.5), (1000, MIN_PERIOD));
        assert_eq!(plan(30.0, 50.0), (10, Nanos(136_364)));
        assert_eq!(plan(4000.0, 5000.0), (MIN_RUNS, MAX_PERIOD));
        assert_eq!(plan(0.0, 0.0), (1000, MIN_PERIOD));
        assert_eq!(planned(Some(1), [3000.0; 2], (MIN_PERIOD, SAMPLING_TIMEOUT)), (1, MAX_PERIOD));
    }

    #[test]
    fn expensive_samples_are_seldom_but_for_a_few() {
        let expensive = (Nanos(8_000_000), SAMPLING_TIMEOUT);
        let of = |user: f64| planned(Some(10), [user; 2], expensive).1;
        assert_eq!([30.0, 60.0, 400.0].map(of), [MAX_SHORTEST_PERIOD, Nanos(3_000_000), expensive.0]);
        assert_eq!(planned(None, [30.0, 50.0], (Nanos(500_000), SAMPLING_TIMEOUT)), (10, Nanos(500_000)));
    }
}
