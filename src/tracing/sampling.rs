//! Sampled runs: which user code runs, beside the traced runs that say how long it runs.

use super::TracePlan;
use super::runs::{entry, experiment};
use crate::analysis::runs::{ExpectedCost, Sampled};
use crate::bench::schedule::MIN_BESIDE;
use crate::bench::{Aim, BothKinds, Campaign, ExperimentError, Progress, RunLimit};
use firstbyte_measure::launch::Command;
use firstbyte_measure::sampler::{Sampler, SamplerError};
use firstbyte_measure::units::Nanos;
use std::time::{Duration, SystemTime};

/// By default no more sampled runs than fit into this time, with the untraced ones beside them.
const SAMPLING_TIMEOUT: Duration = Duration::from_secs(1);
const MIN_RUNS: u32 = 2;
const MAX_RUNS: u32 = 1000;

/// The number of samples that gives each function's share to about two per cent.
const ENOUGH_SAMPLES: f64 = 2200.0;
/// Above it, a long program would be sampled less than a profiler is expected to.
const MAX_PERIOD: Nanos = Nanos(1_000_000);

/// Makes sampled runs, alternating with untraced ones. The inner error: this machine cannot sample.
pub(super) fn sample(
    command: Command,
    plan: &TracePlan,
    expected: ExpectedCost,
    progress: &mut dyn Progress,
) -> Result<Result<Sampled, SamplerError>, ExperimentError> {
    let shortest_period = match Sampler::shortest_period() {
        Ok(period) => period,
        Err(error) => return Ok(Err(error)),
    };

    let overhead = plan.overhead && plan.count.unwrap_or_else(|| fitting(expected, 2.0)) >= MIN_BESIDE;
    let (runs, period) = runs_and_period(plan.count, overhead, expected, shortest_period);
    let since = SystemTime::now();
    let mut sampler = Sampler::new(period, plan.seed);
    let limit = plan.count.map_or(RunLimit::RunsWithin(runs, SAMPLING_TIMEOUT), RunLimit::Runs);
    // without it there are no untraced runs
    let warmup = u32::from(overhead);
    let campaign = Campaign { aim: Aim::Sample, limit, warmup, seed: plan.seed, overhead };

    let measured = experiment(vec![entry(command, plan)?], campaign).run(&mut sampler, progress)?;
    let blocks = measured.series.iter().flat_map(|series| BothKinds::medians(&series.blocks())).collect();
    Ok(Ok(Sampled { streams: sampler.take(), blocks, since, executions: measured.executions }))
}

/// How many runs fit into the time, each with `beside` runs in all.
fn fitting(expected: ExpectedCost, beside: f64) -> u32 {
    let each = expected.wall.max(1.0) * beside;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "limited to a thousand")]
    let fitting = (SAMPLING_TIMEOUT.as_secs_f64() * 1e9 / each).min(f64::from(MAX_RUNS)) as u32;
    fitting
}

/// How often to run, and how often to sample: enough samples, in not too long a time, at not too high a cost.
fn runs_and_period(
    count: Option<u32>,
    overhead: bool,
    expected: ExpectedCost,
    shortest: Nanos,
) -> (u32, Nanos) {
    let fitting = fitting(expected, if overhead { 2.0 } else { 1.0 });
    let runs = count.unwrap_or(fitting.max(MIN_RUNS));
    let wanted = Nanos::rounded(f64::from(runs) * expected.user / ENOUGH_SAMPLES);
    (runs, wanted.min(MAX_PERIOD).max(shortest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN_PERIOD: Nanos = Nanos(50_000);

    #[test]
    fn short_programs_run_often_and_long_ones_are_sampled_seldom() {
        let plan = |user_ms: f64, wall_ms: f64| {
            let expected = ExpectedCost { user: user_ms * 1e6, wall: wall_ms * 1e6 };
            runs_and_period(None, true, expected, MIN_PERIOD)
        };
        assert_eq!(plan(0.1, 0.5), (1000, MIN_PERIOD));
        assert_eq!(plan(30.0, 50.0), (10, Nanos(136_364)));
        assert_eq!(plan(4000.0, 5000.0), (MIN_RUNS, MAX_PERIOD));
        assert_eq!(plan(0.0, 0.0), (1000, MIN_PERIOD));
        assert_eq!(
            runs_and_period(Some(1), false, ExpectedCost { user: 3e9, wall: 3e9 }, MIN_PERIOD),
            (1, MAX_PERIOD)
        );
        let on_slow_timers = ExpectedCost { user: 30e6, wall: 50e6 };
        assert_eq!(runs_and_period(None, true, on_slow_timers, Nanos(500_000)), (10, Nanos(500_000)));
    }
}
