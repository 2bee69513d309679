//! The counting runs of every command that has them.

use super::progress::bar;
use crate::bench::Series;
use crate::bench::runner::Counter;
use crate::launch::LaunchError;

/// The counting pass, apart from the timed runs, which it would slow. A program that cannot be counted has no counts,
/// and keeps its times.
pub(super) fn count(runner: &mut dyn Counter, series: &mut [Series], runs: u32) {
    let counted: Vec<usize> = (0..series.len()).filter(|&n| !series[n].samples.is_empty()).collect();
    let bar = bar("counting", counted.len() as u64);
    for program in counted {
        for _ in 0..runs {
            match runner.count(program) {
                Ok((counts, recording)) if recording.killed.is_none() => series[program].counts.push(counts),
                Err(LaunchError::Interrupted) => return bar.finish_and_clear(),
                _ => break,
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
}
