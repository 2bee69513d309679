//! The counting runs of every command that has them.

use super::progress::bar;
use crate::bench::counting::{Uncounted, counted};
use crate::bench::runner::Counter;
use crate::bench::{Prepared, Runner, Series};
use firstbyte_measure::counters::{Counters, CountersError, Side};
use firstbyte_measure::tracer::ptrace;

/// The counting pass, apart from the timed runs, which it would slow. A program that cannot be counted, or
/// comes out wrong when it is, keeps its times and says why: so do all of them where `/proc`, which has their page faults
/// and memory, is that of other processes.
pub(super) fn count(runner: &mut dyn Counter, series: &mut [Series], runs: u32) {
    let measured: Vec<usize> = (0..series.len()).filter(|&n| !series[n].samples.is_empty()).collect();
    if let Err(reason) = ptrace::own_proc() {
        let reason = reason.replace('\n', "; ");
        return measured.into_iter().for_each(|program| series[program].uncounted = Some(reason.clone()));
    }
    let bar = bar("counting", measured.len() as u64);
    for program in measured {
        let series = &mut series[program];
        for _ in 0..runs {
            match counted(series, || runner.count(program)) {
                Ok(counts) => series.counts.push(counts),
                Err(Uncounted::Interrupted) => return bar.finish_and_clear(),
                Err(Uncounted::Because(reason)) => {
                    series.uncounted = Some(reason);
                    break;
                }
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
}

/// The runs in which the processor counts: those of the program's own side, and those of the kernel's where it may be
/// seen. Why there are none, if there are none.
pub(super) fn count_by_processor(
    runner: &mut Prepared,
    series: &mut [Series],
    runs: u32,
) -> Result<(), CountersError> {
    let mut own = Counters::hardware(Side::User)?;
    // A tracer that stays attached would be counted on the kernel's side.
    if runner.switch(false).is_err() {
        return Ok(());
    }
    by_side(runner, series, runs, &mut own);
    drop(own);
    if let Ok(mut kernel) = Counters::hardware(Side::Kernel) {
        by_side(runner, series, runs, &mut kernel);
    }
    Ok(())
}

fn by_side(runner: &mut Prepared, series: &mut [Series], runs: u32, counters: &mut Counters) {
    let alive = series.iter_mut().enumerate().filter(|(_, series)| !series.samples.is_empty());
    for (program, series) in alive {
        for _ in 0..runs {
            match counted(series, || runner.count_by_processor(program, counters)) {
                Ok(counted) => series.counters.push(counted),
                Err(Uncounted::Interrupted) => return,
                Err(Uncounted::Because(reason)) => {
                    series.uncounted = Some(reason);
                    break;
                }
            }
        }
    }
}
