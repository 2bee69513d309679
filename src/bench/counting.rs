//! Counting runs, which are separate from the timed ones. They must also be correct.

use super::accepted::Accepted;
use super::campaign::{Progress, TRIES};
use super::error::one_line;
use super::influences;
use super::prepared::Prepared;
use super::runner::{Counter, Runner};
use super::sample::Series;
use super::validity::{self, TRACED};
use firstbyte_measure::counters::{CountedSide, Counters, CountersError};
use firstbyte_measure::launch::wait::Killed;
use firstbyte_measure::launch::{ExitStatus, LaunchError};
use firstbyte_measure::tracer::{Recording, ptrace};
use firstbyte_measure::units::display_nanos;
use std::time::{Duration, Instant};

/// Why there is no count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Uncounted {
    Interrupted,
    /// No run was correct like the timed runs. Contains the reason of the last one, as one lower-case line.
    Because(String),
}

/// A counting run may take this long even if the timed runs were over sooner.
const MIN_COUNTING_TIME: Duration = Duration::from_secs(2);

/// Counts system calls, page faults and similar events in `runs` runs of each program, which take at most `time`, or as long
/// as its timed runs: each system call stops the program, which makes one that does little else many times slower.
///
/// A program that cannot be counted, or that fails while it is counted, keeps its times and says why. So do all programs if
/// `/proc`, which knows their page faults and memory, belongs to another PID namespace.
pub(super) fn count(
    runner: &mut dyn Counter,
    series: &mut [Series],
    (runs, time): (u32, Option<Duration>),
    progress: &mut dyn Progress,
) {
    let measured: Vec<usize> = (0..series.len()).filter(|&n| !series[n].samples.is_empty()).collect();
    if let Err(reason) = ptrace::own_proc() {
        let reason = reason.replace('\n', "; ");
        return measured.into_iter().for_each(|program| series[program].uncounted = Some(reason.clone()));
    }

    progress.counting(measured.len());
    for program in measured {
        let series = &mut series[program];
        let time = time.unwrap_or_else(|| series.timed().max(MIN_COUNTING_TIME));
        let begun = Instant::now();
        for _ in 0..runs {
            match counted(series, || runner.count(program, time.saturating_sub(begun.elapsed()))) {
                Ok(counts) => series.counts.push(counts),
                Err(Uncounted::Interrupted) => return,
                Err(Uncounted::Because(_)) if begun.elapsed() >= time => {
                    if series.counts.is_empty() {
                        count_without_stops(runner, program, series, time);
                    }
                    break;
                }
                Err(Uncounted::Because(reason)) => {
                    series.uncounted = Some(reason);
                    break;
                }
            }
        }
        progress.counted();
    }
}

/// Counts a run of a program that is too slow when it stops at its calls, if bpf observes it, or says why it has no counts.
fn count_without_stops(runner: &mut dyn Counter, program: usize, series: &mut Series, time: Duration) {
    match runner.count_without_stops(program, time) {
        Ok(Some((counts, recording)))
            if validity::flaw(&recording, accepted(series, recording.exit)).is_none() =>
        {
            series.counts.push(counts);
        }
        _ => series.uncounted = Some(late(time)),
    }
}

/// Finds the files of the machine that slow each program's start. Programs that cannot be watched keep none.
pub(super) fn find_influences(runner: &mut Prepared, series: &mut [Series]) {
    let measured = series.iter_mut().enumerate().filter(|(_, series)| !series.samples.is_empty());
    for (program, series) in measured {
        let Ok(files) = runner.files(program) else { continue };
        series.influences = influences::among(&files.used);
    }
}

/// Lets the processor count in `runs` runs of each program: first the program's own side, then the kernel's where we may
/// see it. The error says why there are no counts at all.
pub(super) fn count_by_processor(
    runner: &mut Prepared,
    series: &mut [Series],
    runs: u32,
) -> Result<(), CountersError> {
    let mut user_counters = Counters::hardware(CountedSide::User)?;
    // A tracer that stays attached would be counted on the kernel's side.
    if runner.switch(false).is_err() {
        return Ok(());
    }
    by_side(runner, series, runs, &mut user_counters);
    drop(user_counters);

    if let Ok(mut kernel) = Counters::hardware(CountedSide::Kernel) {
        by_side(runner, series, runs, &mut kernel);
    }
    Ok(())
}

fn by_side(runner: &mut Prepared, series: &mut [Series], runs: u32, counters: &mut Counters) {
    let measured = series.iter_mut().enumerate().filter(|(_, series)| !series.samples.is_empty());
    for (program, series) in measured {
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

fn late(time: Duration) -> String {
    let time = display_nanos(time.as_nanos() as f64);
    format!(
        "it had not ended after {time}, because each of its system calls stops (help: a longer --count-time)"
    )
}

/// Makes counting runs until one comes out right, as often as timed runs are tried: with the exit status that the series
/// expects (if it expects none, that of its timed runs), the right output, and no lost event.
pub(super) fn counted<T>(
    series: &Series,
    mut run: impl FnMut() -> Result<(T, Recording), LaunchError>,
) -> Result<T, Uncounted> {
    let mut reason = String::new();
    for _ in 0..TRIES {
        reason = match run() {
            Err(LaunchError::Interrupted) => return Err(Uncounted::Interrupted),
            Err(error) => one_line(&error.to_string()),
            Ok((counts, recording)) => match validity::flaw(&recording, accepted(series, recording.exit)) {
                None => return Ok(counts),
                // it will take as long again
                Some(flaw) if recording.killed == Some(Killed::TimedOut) => {
                    return Err(Uncounted::Because(flaw));
                }
                // the timed runs were correct
                Some(flaw) if recording.backend.stops_tracee() => {
                    format!("{flaw}; it was traced, and {TRACED}")
                }
                Some(flaw) => flaw,
            },
        };
    }

    Err(Uncounted::Because(reason))
}

/// How a counting run that ended as `exit` should have ended. A program that behaves differently while it
/// is watched, and shows that by its status, is not the one that was timed.
fn accepted(series: &Series, exit: ExitStatus) -> Accepted {
    let timed = || series.samples.iter().map(|sample| sample.exit);
    let others = timed().next().filter(|_| series.accepted.accepts(exit) && timed().all(|end| end != exit));
    others.map_or(series.accepted, Accepted::Only)
}
