//! What a traced start-up says first.

use super::bars::{Scale, rounded};
use super::block::{Bar, BarPiece, BarRow, Bars, PageBlock, PageFinding};
use super::icicle;
use crate::analysis::attribution::WorkKind;
use crate::document::trace::{TraceFigure, TraceFinding, TracePiece, TraceProgram};
use crate::output::visible;
use crate::report::phase_row::PhaseRow;
use crate::report::row::percent;
use crate::report::words::runs;
use firstbyte_measure::units::display_nanos;

/// The maximum number of rows of the critical path.
const ROWS: usize = 10;
/// Pieces of the path that are closer together than this are drawn as one, in percent of the width.
const SEEN: f64 = 0.1;

/// Where tracing makes a run this many times as long, the first sentence says so.
const SLOWED: f64 = 1.2;

/// The sentence, the phases, the critical path, the findings and the flame graph.
pub(super) fn blocks(traced: &TraceProgram) -> Vec<PageBlock> {
    let mut blocks = vec![PageBlock::Answer { text: sentence(traced) }];
    blocks.extend(phases(traced));
    blocks.extend(path(traced));
    blocks.extend(kinds(traced));
    let findings = findings(traced);
    if !findings.is_empty() {
        blocks.push(PageBlock::Findings { title: "What would save time", findings });
    }
    blocks.extend(icicle::calls(traced));
    blocks
}

/// Each finding with its parts.
fn findings(traced: &TraceProgram) -> Vec<PageFinding> {
    let mut all: Vec<PageFinding> = Vec::new();
    for finding in &traced.findings {
        match all.last_mut().filter(|_| finding.within.is_some()) {
            Some(around) => around.parts.push(shown(finding)),
            None => all.push(shown(finding)),
        }
    }
    all
}

fn shown(finding: &TraceFinding) -> PageFinding {
    let tune = finding.tune.as_deref().map(visible);
    PageFinding { text: visible(&capital(&finding.text)), tune, parts: Vec::new() }
}

/// As the beginning of a sentence. Others begin with a figure.
fn capital(text: &str) -> String {
    text.strip_prefix("saves ").map_or_else(|| text.to_owned(), |rest| format!("Saves {rest}"))
}

fn sentence(traced: &TraceProgram) -> String {
    let phases = &traced.phases;
    let time = |figure: TraceFigure| display_nanos(figure.typical());
    let total = phases.total.map_or_else(|| display_nanos(traced.total_ns as f64), time);
    let end = if traced.until.is_some() { "stopped after" } else { "exit after" };
    let recorded = traced.recorded_total_ns.filter(|recorded| *recorded > SLOWED * traced.total_ns as f64);
    let recorded = recorded.map_or(String::new(), |recorded| {
        format!(" ({} were recorded, with what tracing it cost)", display_nanos(recorded))
    });
    let first = match phases.first_byte {
        Some(first) => format!("first byte after {}, ", time(first)),
        None => String::new(),
    };

    let largest = by_kind(traced).into_iter().max_by_key(|(_, ns)| *ns);
    let largest = largest
        .map_or(String::new(), |(kind, ns)| format!("; {} {}", share(ns, traced), title(kind, traced)));
    let finding = traced.findings.first();
    let finding =
        finding.map_or(String::new(), |finding| format!(" {}.", clause(&visible(&capital(&finding.text)))));
    format!("`{}`: {first}{end} {total}{recorded}{largest}.{finding}", visible(traced.label()))
}

fn share(ns: u64, traced: &TraceProgram) -> String {
    percent(ns as f64 / traced.total_ns.max(1) as f64)
}

/// The beginning of a finding that says what it is, without the list of examples.
fn clause(finding: &str) -> String {
    let after_figures = finding.find(": ").map_or(0, |at| at + 2);
    let ends = [". ", "; "].map(|end| finding[after_figures..].find(end).map(|at| after_figures + at));
    let end = ends.into_iter().flatten().min().unwrap_or(finding.len());
    let clause = finding[..end].trim_end_matches('.');
    let open = clause.matches('(').count() > clause.matches(')').count();
    let end = clause.rfind(" (").filter(|_| open).unwrap_or(clause.len());
    clause[..end].to_owned()
}

fn phases(traced: &TraceProgram) -> Option<PageBlock> {
    let row = PhaseRow::traced(traced)?;
    let bar = Scale::of(std::slice::from_ref(&row)).bar(&row);
    let of = if traced.runs > 1 { " Means of the middle half of the runs." } else { "" };
    let note = format!("{}.{of}", bar.label);
    let name = runs(traced.runs);
    let rows = vec![BarRow { name, bar, value: display_nanos(row.total) }];
    let bars = Bars { title: "Phases".to_owned(), scale: "linear", rows, note };
    Some(PageBlock::Bars { bars })
}

/// The time along the critical path of each kind that has any.
fn by_kind(traced: &TraceProgram) -> Vec<(WorkKind, u64)> {
    let of = |kind: WorkKind| {
        let shares = traced.attribution.iter().filter(|share| share.kind == kind.key());
        shares.map(|share| share.ns).fold(0, u64::saturating_add)
    };
    WorkKind::ALL.into_iter().map(|kind| (kind, of(kind))).filter(|(_, ns)| *ns > 0).collect()
}

fn title(kind: WorkKind, traced: &TraceProgram) -> &'static str {
    kind.title_if(traced.counts.get("page_faults") != Some(&None))
}

/// Where the time went, as one bar.
fn kinds(traced: &TraceProgram) -> Option<PageBlock> {
    let kinds = by_kind(traced);
    let total: u64 = kinds.iter().map(|(_, ns)| *ns).fold(0, u64::saturating_add);
    let mut begin = 0.0;
    let mut linear = Vec::new();
    for (kind, ns) in &kinds {
        let width = 100.0 * *ns as f64 / total.max(1) as f64;
        linear.push(BarPiece { fill: kind.key(), x: rounded(begin), width: rounded(width) });
        begin += width;
    }

    let said = |(kind, ns): &(WorkKind, u64)| {
        format!("{} {} ({})", title(*kind, traced), display_nanos(*ns as f64), share(*ns, traced))
    };
    let label = kinds.iter().map(said).collect::<Vec<String>>().join(", ");
    let note = format!("{label}.");
    let bar = Bar { label, linear, ..Bar::default() };
    let name = "the run shown".to_owned();
    let rows = vec![BarRow { name, bar, value: display_nanos(total as f64) }];
    let title = "Where the time went".to_owned();
    let bars = Bars { title, scale: "linear", rows, note };
    (!kinds.is_empty()).then_some(PageBlock::Bars { bars })
}

/// Who worked when, a row for each program; `None` if only one did.
fn path(traced: &TraceProgram) -> Option<PageBlock> {
    let mut actors: Vec<(String, Vec<&TracePiece>)> = Vec::new();
    for piece in &traced.critical_path {
        let threads = if piece.tid == piece.pid { "" } else { ", its other threads" };
        let name = format!("{}{threads}", piece.program);
        match actors.iter_mut().find(|(known, _)| *known == name) {
            Some((_, pieces)) => pieces.push(piece),
            None => actors.push((name, vec![piece])),
        }
    }
    if actors.len() < 2 {
        return None;
    }

    let left = actors.len().saturating_sub(ROWS);
    let mut rows: Vec<(u64, BarRow)> =
        actors.iter().map(|(name, pieces)| (worked(pieces), actor(name, pieces, traced.total_ns))).collect();
    // the longest ones are shown, in the order in which they began
    let mut lengths: Vec<u64> = rows.iter().map(|(time, _)| *time).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let least = lengths.get(ROWS - 1).copied().unwrap_or_default();
    rows.retain(|(time, _)| *time >= least);
    let more = if left > 0 { format!(" {left} others worked for less.") } else { String::new() };
    let bars = Bars {
        title: "Critical path: who worked while the others waited".to_owned(),
        scale: "linear",
        rows: rows.into_iter().map(|(_, row)| row).collect(),
        note: format!("Each row is a program, from the first execve to the exit.{more}"),
    };
    Some(PageBlock::Bars { bars })
}

fn worked(pieces: &[&TracePiece]) -> u64 {
    pieces.iter().map(|piece| piece.to_ns.saturating_sub(piece.from_ns)).fold(0, u64::saturating_add)
}

fn actor(name: &str, pieces: &[&TracePiece], total: u64) -> BarRow {
    let position = |ns: u64| 100.0 * ns.min(total) as f64 / total.max(1) as f64;
    let mut drawn: Vec<(f64, f64)> = Vec::new();
    for piece in pieces {
        let (from, to) = (position(piece.from_ns), position(piece.to_ns));
        match drawn.last_mut() {
            Some((_, end)) if from - *end < SEEN => *end = end.max(to),
            _ => drawn.push((from, to)),
        }
    }

    let piece = |(from, to): &(f64, f64)| BarPiece {
        fill: "path",
        x: rounded(*from),
        width: rounded((to - from).max(SEEN)),
    };
    let value = display_nanos(worked(pieces) as f64);
    let linear = drawn.iter().map(piece).collect();
    let bar = Bar { label: format!("{} worked for {value}", visible(name)), linear, ..Bar::default() };
    BarRow { name: visible(name), bar, value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_clause_ends_before_its_examples() {
        let table = [
            (
                "1 ms (1 ms to 2 ms), 5 %: It reads `/x`. Shorten it.",
                "1 ms (1 ms to 2 ms), 5 %: It reads `/x`",
            ),
            ("1 ms, 5 %: Linking (3 faults; 4 calls). More", "1 ms, 5 %: Linking"),
            ("1 ms, 5 %: `a` 2.5 ms; `b` 1 ms.", "1 ms, 5 %: `a` 2.5 ms"),
            ("it is slow.", "it is slow"),
            ("", ""),
        ];
        assert_eq!(table.map(|(finding, _)| clause(finding)), table.map(|(_, said)| said.to_owned()));
    }

    #[test]
    fn a_trace_says_its_times_its_largest_kind_and_its_first_finding() {
        let traced: TraceProgram = serde_json::from_value(json!({"command": "app x", "total_ns": 2_000_000,
            "spans": [], "phases": {"first_byte": {"median": 1.5e6, "min": 1, "max": 2}},
            "attribution": [{"kind": "user", "name": "a", "ns": 1_500_000, "count": 1},
                {"kind": "fault", "name": "b", "ns": 500_000, "count": 2}],
            "critical_path": [{"pid": 1, "tid": 1, "program": "sh", "from_ns": 0, "to_ns": 500_000},
                {"pid": 2, "tid": 2, "program": "app", "from_ns": 500_000, "to_ns": 2_000_000}],
            "findings": [{"text": "saves about 1 ms, 50 %: It waits. Do not.", "tune": "firstbyte tune app x"},
                {"text": "1 ms, 50 %: It sleeps.", "within": 0}, {"text": "1 µs, 0 %: More."}]}))
        .unwrap();
        let slowed = TraceProgram { recorded_total_ns: Some(3e6), ..traced.clone() };
        let said = "exit after 2.00 ms (3.00 ms were recorded, with what tracing it cost); 75 % user code.";
        assert!(sentence(&slowed).contains(said), "{}", sentence(&slowed));
        let unseen = TraceProgram { counts: [("page_faults".to_owned(), None)].into(), ..traced.clone() };
        assert!(sentence(&unseen).contains("; 75 % user code with page faults."), "{}", sentence(&unseen));
        let expected = "`app x`: first byte after 1.50 ms, exit after 2.00 ms; 75 % user code. Saves about 1 ms, 50 %: It waits.";
        assert_eq!(sentence(&traced), expected);
        let found = |text: &str| PageFinding { text: text.to_owned(), ..PageFinding::default() };
        let first = PageFinding {
            tune: Some("firstbyte tune app x".to_owned()),
            parts: vec![found("1 ms, 50 %: It sleeps.")],
            ..found("Saves about 1 ms, 50 %: It waits. Do not.")
        };
        assert_eq!(findings(&traced), [first, found("1 µs, 0 %: More.")]);
        let Some(PageBlock::Bars { bars }) = path(&traced) else { panic!("two programs worked") };
        assert_eq!(bars.rows.iter().map(|row| &*row.name).collect::<Vec<_>>(), ["sh", "app"]);
        assert_eq!(bars.rows[1].value, "1.50 ms");
    }
}
