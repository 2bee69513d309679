//! Warnings about how the way in which programs were run affects the figures.

use super::accepted::Accepted;
use super::runner::LookForMarks;
use super::sample::Series;
use crate::document::bench::{Failed, Warning};
use crate::document::metrics::{Selection, Source};
use firstbyte_measure::counters::CountersError;
use firstbyte_measure::launch::rights::lost_under_ptrace;
use firstbyte_measure::launch::{Command, OutputKind};
use firstbyte_measure::timeline::marks::{MOST_NAMES, MarkSums, OTHERS};
use firstbyte_measure::tracer::Backend;

/// Some programs write differently to this kind of output.
pub fn of_output(output: OutputKind) -> Option<Warning> {
    let target = match output {
        OutputKind::Null => "/dev/null, which reads nothing, and which some programs treat in a special way",
        OutputKind::File => "a file, to which programs write later and in larger pieces than to a terminal",
        OutputKind::Inherit => "firstbyte's own stdout, whose reader may make programs wait",
        OutputKind::Pipe | OutputKind::Pty => return None,
    };
    let help = "--output pipe, or --output pty for what a user at a terminal sees";
    Some(Warning::minor(format!("the output went to {target}")).with_help(help))
}

/// A program may fail on purpose.
pub fn of_failures(failed: &[Failed], accepted: Accepted) -> Option<Warning> {
    let is_by_status = |failed: &Failed| failed.reason.contains("it ended with exit status");
    let by_status = failed.iter().any(is_by_status) && accepted == Accepted::SUCCESS;
    by_status.then(|| {
        Warning::serious("runs whose exit status is not 0 were not counted")
            .with_help("--ignore-failure accepts all, --ignore-failure=1,2 these")
    })
}

/// The program's file gives it rights that its traced runs or its counting runs did not have.
pub fn of_rights(name: &str, words: &[String], traced: bool, counted: bool) -> Option<Warning> {
    let runs = match (traced, counted) {
        (true, _) => "it ran",
        (false, true) => "the runs that were counted ran",
        (false, false) => return None,
    };
    let rights = lost_under_ptrace(Command::new(words).ok()?.program())?;
    let message = format!("{runs} without {rights}: a program under ptrace gets none");
    Some(Warning::serious(message).about(name).with_help("--backend pipe --no-counts"))
}

/// With fewer writes, the stops at them are a small part of what ptrace adds to a run.
const MANY_WRITES: u64 = 20;

/// By ptrace, a program stops at each of its writes also after the first byte. The kernel removes no filter from a process.
pub fn of_stops(series: &Series) -> Option<Warning> {
    let writes = Some(series.stopped_writes).filter(|writes| *writes >= MANY_WRITES)?;
    let message = format!(
        "its total is that of a program that ptrace stops at each of {writes} writes; its first byte comes before that"
    );
    Some(Warning::serious(message).about(&series.name).with_help(
        "firstbyte doctor says how to let the bpf backend work, which stops nothing; --backend pipe has the \
         total without stops",
    ))
}

/// What a program leaves behind does not run on after it has exited.
pub fn of_left_behind(series: &Series) -> Option<Warning> {
    series.left_behind.then(|| {
        Warning::serious(
            "processes that it had started still ran when it exited, and were killed: what they would have done later \
             is in no figure",
        )
        .about(&series.name)
        .with_help("sh -c 'CMD | cat' waits for those that have its stdout")
    })
}

/// A preset contains metrics of hyperfine that firstbyte does not count. A list of metrics says so in their lines.
pub fn of_metrics(chosen: &Selection) -> Option<Warning> {
    let missing = chosen.metrics.iter().filter(|selected| selected.metric.source == Source::Nowhere);
    let missing: Vec<&str> = missing.map(|selected| selected.metric.name).collect();
    (chosen.only_known && !missing.is_empty()).then(|| {
        let missing = missing.join(", ");
        Warning::minor(format!(
            "hyperfine's metric {missing} is not counted: many processors count no more than four events exactly at a time"
        ))
    })
}

/// The region that was asked for is not known, or only of some runs.
pub fn of_region(series: &Series) -> Option<Warning> {
    let wanted = series.region.as_ref().filter(|_| !series.samples.is_empty())?;
    let why = wanted.why_not.as_deref().or(series.undivided.as_deref().filter(|_| wanted.times.is_empty()));
    let missing =
        why.map(str::to_owned).or_else(|| wanted.times.is_empty().then(|| "it was not traced".to_owned()));
    Some(
        Warning::serious(format!("the region of --from and --to is not known: {}", missing?))
            .about(&series.name),
    )
}

/// Marks that were looked for and are not there, or that do not count as they are.
pub fn of_marks(series: &Series, wanted: LookForMarks, backend: Option<&str>) -> Vec<Warning> {
    let most = |count: fn(&MarkSums) -> u64| {
        series.samples.iter().map(|sample| count(&sample.marks)).max().unwrap_or_default()
    };
    let (others, unbegun) = (most(|marks| marks.others), most(|marks| marks.unbegun));
    let is_empty = unbegun == 0 && series.samples.iter().all(|sample| sample.marks.spans.is_empty());
    let mut warnings = Vec::new();
    if wanted == LookForMarks::Always && backend == Some(Backend::Pipe.name()) {
        let message = "there are no marks: the pipe backend attaches nothing, so it does not see them";
        warnings.push(Warning::serious(message).with_help("firstbyte bench --backend ptrace --marks CMD"));
    } else if wanted == LookForMarks::Always && is_empty && !series.samples.is_empty() {
        warnings.push(Warning::minor("it makes no marks").with_help("docs/marks.md"));
    }
    if others > 0 {
        warnings.push(Warning::minor(format!(
            "{others} of its marks come after the first {MOST_NAMES} names, and are counted as `{OTHERS}`"
        )));
    }
    if unbegun > 0 {
        warnings.push(Warning::minor(format!("{unbegun} of its marks end a span that has not begun")));
    }
    warnings.into_iter().map(|warning| warning.about(&series.name)).collect()
}

/// The processor's counters counted nothing.
pub fn of_counters(reason: &CountersError) -> Warning {
    Warning::minor(format!("no instructions, cycles or misses were counted: {reason}"))
        .with_help("firstbyte doctor")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_with_a_stop_at_each_of_many_writes_is_called_so() {
        let of = |stopped_writes| of_stops(&Series { stopped_writes, ..Series::default() });
        assert_eq!(of(1), None);
        assert!(of(100_000).unwrap().message.contains("stops at each of 100000 writes"));
    }

    #[test]
    fn what_was_killed_at_the_exit_is_named() {
        let of = |left_behind| of_left_behind(&Series { left_behind, ..Series::default() });
        assert!(of(false).is_none() && of(true).unwrap().message.contains("were killed"));
    }
}
