//! The parts of a run that have a name, over all traced runs: between two texts that a program prints, and between its marks.

use super::correction::Correction;
use super::model::Account;
use super::runs::ObservedRuns;
use crate::bench::named_spans::over_runs;
use crate::document::named_span::{MOST_PLACES, NamedSpan, SpanPlace, told_apart};
use firstbyte_measure::timeline::marks::{MOST_NAMES, MarkSums, Marks, OTHERS, Span, SpanKind};
use firstbyte_measure::tracer::Recording;
use std::collections::BTreeSet;

/// The region that was asked for, or why no run has it; `None`: none was asked for. `correction` takes off the time that
/// observing it took.
pub(super) fn region(
    observed: &mut ObservedRuns,
    correction: Option<&Correction>,
) -> Option<Result<NamedSpan, String>> {
    let region = observed.region.as_ref()?;
    let time = |recording: &Recording| region.of(recording).map(|time| time.0);
    let corrected = |(run, recording): (usize, &mut Recording)| match correction {
        Some(correction) => correction.applied(run, recording, time),
        None => time(recording),
    };
    let times: Result<Vec<u64>, _> = observed.recordings.iter_mut().enumerate().map(corrected).collect();
    let span = times.map_err(|error| error.to_string());
    Some(span.and_then(|times| NamedSpan::region(region, times).ok_or_else(|| "no run was made".to_owned())))
}

/// Why the region is not known, as a sentence.
pub(super) fn unknown_region(why: &str) -> String {
    format!("The region of --from and --to is not known: {why}.")
}

/// The marks of all runs in the order in which they appear, with their places in the run that is `shown`.
pub fn named_spans(marks: &[Marks], shown: usize) -> Vec<NamedSpan> {
    let sums: Vec<MarkSums> = marks.iter().map(Marks::sums).collect();
    let spans = over_runs(sums.iter().map(|sums| &sums.spans[..]));
    let marked = spans.into_iter().filter_map(|span| {
        let places = marks.get(shown).map(|marks| places(marks, &span.first.name, span.first.kind));
        Some(NamedSpan { places: places.unwrap_or_default(), ..span.document()? })
    });
    told_apart(marked.collect())
}

fn places(marks: &Marks, name: &str, kind: SpanKind) -> Vec<SpanPlace> {
    let spans = marks.all().filter(|span| span.kind == kind && &*span.name == name);
    let place =
        |span: &Span| SpanPlace { pid: span.pid, tid: span.tid, from_ns: span.from.0, to_ns: span.to.0 };
    spans.take(MOST_PLACES).map(place).collect()
}

/// What a reader must know of the marks: a sentence each.
pub fn caveats(marks: &[Marks]) -> Vec<String> {
    let most = |count: fn(&Marks) -> u64| marks.iter().map(count).max().unwrap_or(0);
    let (others, unbegun) = (most(|marks| marks.others), most(|marks| marks.unbegun));
    let mut caveats = Vec::new();
    if others > 0 {
        caveats.push(format!(
            "{others} of its marks come after the first {MOST_NAMES} names, and are counted as `{OTHERS}`."
        ));
    }
    if unbegun > 0 {
        caveats.push(format!("{unbegun} of its marks end a span that has not begun."));
    }
    caveats
}

/// A run in the parts of this name alone; the error is the message for the user.
pub fn within(account: Account, marks: &Marks, name: &str) -> Result<Account, String> {
    let parts = marks.parts(name);
    if parts.is_empty() {
        return Err(no_mark(marks, name));
    }
    Ok(account.within(&parts))
}

fn no_mark(marks: &Marks, name: &str) -> String {
    let names: BTreeSet<&str> = marks.all().map(|span| &*span.name).collect();
    let names: Vec<String> = names.into_iter().map(|name| format!("`{}`", name.escape_debug())).collect();
    let help = if names.is_empty() {
        "the program makes no marks; docs/marks.md says how it can".to_owned()
    } else {
        format!("it has {}", names.join(", "))
    };
    format!("no part of the run is named `{}`\nhelp: {help}", name.escape_debug())
}
