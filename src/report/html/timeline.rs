//! Timelines: every span of a start-up, in columns for the page's script, and where the time went.

use super::block::{Cell, PageBlock, Row, Section, Table, TracePanel, columns, row};
use super::packed::packed;
use crate::document::named_span::NamedSpan;
use crate::document::trace::{TraceDocument, TraceFigure, TraceProgram, TraceShare, TraceSpan};
use crate::output::visible;
use crate::report::palette;
use crate::report::row::percent;
use crate::report::words::{count_of, runs};
use crate::stats::median_of;
use firstbyte_measure::timeline::Phase;
use firstbyte_measure::units::display_nanos;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// The maximum number of spans of all timelines of a page. Each takes about 16 bytes.
const MAX_SPANS_OF_PAGE: usize = 150_000;
/// The maximum number of spans of one timeline.
const MAX_SPANS: usize = 40_000;

/// A panel for each program.
pub(crate) fn section(documents: &[&TraceDocument]) -> Option<Section> {
    let traced = traced(documents);
    let most = MAX_SPANS.min(MAX_SPANS_OF_PAGE / traced.len().max(1));
    let panels: Vec<TracePanel> = traced.into_iter().map(|one| panel(one, most)).collect();
    let mut section = Section::new("timelines", "Timelines");
    section.blocks.push(PageBlock::Prose { text: EXPLANATION.to_owned() });
    section.blocks.extend((!panels.is_empty()).then_some(PageBlock::Timelines { traces: panels }));
    (section.blocks.len() > 1).then_some(section)
}

const EXPLANATION: &str = "Every step of one run, the one whose total is the median. Each lane is a thread; those that do not live at \
    the same time share a row. Faults and waits within a call are drawn inside it. The band above the lanes shows the \
    phases.";

pub(crate) fn traced<'d>(documents: &[&'d TraceDocument]) -> Vec<&'d TraceProgram> {
    documents.iter().flat_map(|document| &document.results).collect()
}

fn panel(traced: &TraceProgram, most: usize) -> TracePanel {
    let (timeline, note) = TimelineColumns::of(traced, most);
    let mut notes = notes(traced);
    notes.extend(note);
    TracePanel {
        label: visible(traced.label()),
        command: visible(&traced.command),
        notes,
        phases: phases(traced),
        attribution: attribution(traced),
        packed: packed(&timeline),
    }
}

fn notes(traced: &TraceProgram) -> Vec<String> {
    let mut notes = vec![format!("{}; {} in the one shown.", runs(traced.runs), steps(traced.spans.len()))];
    if let Some((with, without)) = median_of(&traced.times).zip(median_of(&traced.untraced_times)) {
        notes.push(format!(
            "From launch to reaping: {} traced, {} untraced (medians of {} and {} interleaved runs).",
            display_nanos(with * 1e9),
            display_nanos(without * 1e9),
            traced.times.len(),
            traced.untraced_times.len()
        ));
    }

    if let Some(recorded) = traced.recorded_total_ns {
        let recorded = display_nanos(recorded);
        notes.push(format!(
            "The observer overhead is subtracted from all times: a total of {recorded} was recorded."
        ));
    }
    if traced.lost_events > 0 {
        notes.push(format!("Events were lost: {}.", traced.lost_events));
    }
    notes
}

fn steps(count: usize) -> String {
    count_of(count, "step", "steps")
}

fn phases(traced: &TraceProgram) -> Table {
    let phases = &traced.phases;
    let total = phases.total.map_or(0.0, |total| total.median);
    let line = |name: &str, figure: Option<TraceFigure>| {
        let figure = figure?;
        let share = if total > 0.0 { figure.median / total } else { 0.0 };
        Some(row(vec![
            Cell::text(name),
            Cell::figure(display_nanos(figure.median), figure.median),
            Cell::figure(display_nanos(figure.min), figure.min),
            Cell::figure(display_nanos(figure.max), figure.max),
            Cell::figure(percent(share), share),
        ]))
    };

    let each = phases.each.iter().filter_map(|(phase, figure)| line(phase.name(), *figure));
    let sums = [line("first byte", phases.first_byte), line("total", phases.total)];
    let marks = traced.marks.iter().filter_map(|span| {
        let NamedSpan { times, .. } = span;
        let figure = TraceFigure { median: times.median, mean: None, min: times.min, max: times.max };
        line(&visible(&span.title()), Some(figure))
    });
    Table {
        caption: format!("Phases over {}", runs(traced.runs)),
        columns: columns(&["phase", "#median", "#min", "#max", "#of the total"]),
        rows: each.chain(sums.into_iter().flatten()).chain(marks).collect(),
        ..Table::default()
    }
}

/// The maximum number of rows of the attribution.
const ROWS: usize = 60;

fn attribution(traced: &TraceProgram) -> Table {
    let mut shares: Vec<_> = traced.attribution.iter().collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.ns));
    let total = traced.total_ns.max(1) as f64;
    let line = |share: &&TraceShare| -> Row {
        let part = share.ns as f64 / total;
        row(vec![
            Cell::text(kind(&share.kind)),
            Cell::text(visible(&share.name)),
            Cell::figure(display_nanos(share.ns as f64), share.ns as f64),
            Cell::figure(percent(part), part),
            Cell::figure(share.count.to_string(), share.count as f64),
        ])
    };

    let more = shares.len().saturating_sub(ROWS);
    let rest = if more > 0 { format!("; {more} smaller parts are in the document") } else { String::new() };
    Table {
        caption: format!("Where the time went along the critical path, in the run shown{rest}"),
        columns: columns(&["kind", "what", "#time", "#of the total", "#count"]),
        rows: shares.iter().take(ROWS).map(line).collect(),
        ..Table::default()
    }
}

/// The kinds in the order of their numbers in [`Timeline`], with their titles.
const KINDS: [(&str, &str); 6] = [
    ("kernel_exec", "kernel exec work"),
    ("fault", "page fault"),
    ("syscall", "system call"),
    ("user", "user code"),
    ("waiting", "waiting"),
    ("death", "death by a signal"),
];

fn kind(key: &str) -> String {
    let known = KINDS.iter().find(|(kind, _)| *kind == key);
    known.map_or_else(|| visible(key), |(_, title)| (*title).to_owned())
}

/// A phase of the run that is shown, and how it is drawn.
#[derive(Debug, PartialEq, Serialize)]
struct TimelinePhase {
    name: &'static str,
    colour: String,
    ink: &'static str,
    ns: Option<u64>,
}

impl TimelinePhase {
    fn of(phase: Phase, ns: Option<u64>) -> TimelinePhase {
        TimelinePhase { name: phase.name(), colour: palette::hex(phase), ink: palette::ink(phase), ns }
    }
}

/// Spans as columns of numbers. Each name is once in `strings`.
#[derive(Debug, Serialize)]
struct TimelineColumns {
    label: String,
    total: u64,
    phases: Vec<TimelinePhase>,
    kinds: Vec<&'static str>,
    strings: Vec<String>,
    /// `[pid, tid, executed file]`, in the order of their first spans.
    threads: Vec<(u32, u32, String)>,
    /// The thread of each span. Spans are ordered by thread, then by their beginnings.
    thread: Vec<usize>,
    kind: Vec<usize>,
    name: Vec<usize>,
    /// -1 for none.
    detail: Vec<i64>,
    file: Vec<i64>,
    /// The beginning of the first span, then the distance of each from the one before.
    start: Vec<i64>,
    #[serde(rename = "own")]
    self_times: Vec<u64>,
    /// The time of the steps within each span.
    within: Vec<u64>,
    /// For the side-by-side view: `[kind, name, ns, count]`.
    attribution: Vec<(String, String, u64, u64)>,
    /// `[path, ns, opened, failed, faults]`.
    files: Vec<(String, u64, u64, u64, u64)>,
    counts: BTreeMap<String, u64>,
    /// `[name, [median, min, max]]`: the sums, then the phases.
    medians: Vec<(&'static str, [f64; 3])>,
}

impl TimelineColumns {
    /// With about `most` spans at most; the note says if some were combined.
    fn of(traced: &TraceProgram, most: usize) -> (TimelineColumns, Option<String>) {
        let threads = threads(traced);
        let mut spans: Vec<(usize, TraceSpan)> = Vec::with_capacity(traced.spans.len());
        for span in &traced.spans {
            let index = threads.iter().position(|(pid, tid, _)| (*pid, *tid) == (span.pid, span.tid));
            spans.push((index.unwrap_or_default(), span.clone()));
        }

        // of two that begin together, the longer one contains the other
        spans.sort_by_key(|(thread, span)| (*thread, span.start_ns, std::cmp::Reverse(span.elapsed())));

        let before = spans.len();
        let (spans, shortest) = aggregated(spans, most);
        let note = (spans.len() < before).then(|| {
            format!(
                "To keep this page small, steps shorter than {} that follow each other are combined: {before} became \
                 {}. The document has all of them.",
                display_nanos(shortest as f64),
                spans.len()
            )
        });
        (TimelineColumns::with(traced, threads, &spans), note)
    }

    fn with(
        traced: &TraceProgram,
        threads: Vec<(u32, u32, String)>,
        spans: &[(usize, TraceSpan)],
    ) -> TimelineColumns {
        let mut strings = Strings::default();
        let mut before = 0;
        let mut timeline = TimelineColumns::empty(traced, threads);
        for (thread, span) in spans {
            timeline.thread.push(*thread);
            timeline.kind.push(KINDS.iter().position(|(key, _)| *key == span.kind).unwrap_or(4));
            timeline.name.push(strings.index(&span.name));
            timeline.detail.push(strings.optional(span.detail.as_deref()));
            timeline.file.push(strings.optional(span.file.as_deref()));
            let start = span.start_ns.cast_signed();
            timeline.start.push(start.wrapping_sub(before));
            before = start;
            timeline.self_times.push(span.duration_ns);
            timeline.within.push(span.elapsed().saturating_sub(span.duration_ns));
        }
        timeline.strings = strings.all;
        timeline
    }

    fn empty(traced: &TraceProgram, threads: Vec<(u32, u32, String)>) -> TimelineColumns {
        let shares = traced.attribution.iter();
        let files = traced.files.iter();
        let phases = &traced.phases;
        let sums = [("first byte", phases.first_byte), ("total", phases.total)];
        let medians = sums.into_iter().chain(phases.each.iter().map(|(phase, f)| (phase.name(), *f)));
        let medians = medians.filter_map(|(name, f)| Some((name, f.map(|f| [f.median, f.min, f.max])?)));

        TimelineColumns {
            label: visible(traced.label()),
            total: traced.total_ns,
            phases: traced.shown_phases().iter().map(|(phase, ns)| TimelinePhase::of(phase, *ns)).collect(),
            kinds: KINDS.iter().map(|(_, title)| *title).collect(),
            strings: Vec::new(),
            threads,
            thread: Vec::new(),
            kind: Vec::new(),
            name: Vec::new(),
            detail: Vec::new(),
            file: Vec::new(),
            start: Vec::new(),
            self_times: Vec::new(),
            within: Vec::new(),
            attribution: shares.map(|s| (kind(&s.kind), visible(&s.name), s.ns, s.count)).collect(),
            files: files.map(|f| (visible(&f.path), f.ns, f.opened, f.failed, f.faults)).collect(),
            counts: traced.counts.iter().filter_map(|(name, n)| Some((name.clone(), (*n)?))).collect(),
            medians: medians.collect(),
        }
    }
}

/// Texts, each once, safe to show.
#[derive(Default)]
struct Strings {
    all: Vec<String>,
    indices: HashMap<String, usize>,
}

impl Strings {
    fn index(&mut self, text: &str) -> usize {
        if let Some(index) = self.indices.get(text) {
            return *index;
        }
        self.indices.insert(text.to_owned(), self.all.len());
        self.all.push(visible(text));
        self.all.len() - 1
    }

    fn optional(&mut self, text: Option<&str>) -> i64 {
        text.map_or(-1, |text| i64::try_from(self.index(text)).unwrap_or(-1))
    }
}

/// The threads in the order of their first spans, with the files that their processes execute.
fn threads(traced: &TraceProgram) -> Vec<(u32, u32, String)> {
    let mut first: HashMap<(u32, u32), u64> = HashMap::new();
    for span in &traced.spans {
        let start = first.entry((span.pid, span.tid)).or_insert(span.start_ns);
        *start = (*start).min(span.start_ns);
    }
    let mut all: Vec<((u32, u32), u64)> = first.into_iter().collect();
    all.sort_by_key(|((pid, tid), start)| (*start, *pid, *tid));
    let mut processes = HashMap::new();
    for process in traced.processes.iter().rev() {
        processes.insert(process.pid, process);
    }
    let executed = |pid: u32| {
        let last = processes.get(&pid).and_then(|process| process.execs.last());
        last.map_or_else(|| "(fork)".to_owned(), |exec| visible(&exec.executed))
    };
    all.into_iter().map(|((pid, tid), _)| (pid, tid, executed(pid))).collect()
}

/// Combines short neighbours of a thread until at most `most` spans are left. Returns the limit for short ones, too, in
/// nanoseconds.
fn aggregated(mut spans: Vec<(usize, TraceSpan)>, most: usize) -> (Vec<(usize, TraceSpan)>, u64) {
    let mut limit = 1_000;
    while spans.len() > most && limit < u64::MAX / 4 {
        let mut kept: Vec<(usize, TraceSpan)> = Vec::with_capacity(most);
        for (thread, span) in spans {
            match kept.last_mut() {
                Some((its_thread, last)) if *its_thread == thread && together(last, &span, limit) => {
                    merge(last, &span);
                }
                _ => kept.push((thread, span)),
            }
        }
        spans = kept;
        limit *= 2;
    }
    (spans, limit / 2)
}

fn together(last: &TraceSpan, next: &TraceSpan, limit: u64) -> bool {
    last.elapsed().max(next.elapsed()) < limit
        && next.start_ns.saturating_sub(last.start_ns) < limit.saturating_mul(4)
}

/// Adds `next` to `last`. The kind is that of the longer one.
fn merge(last: &mut TraceSpan, next: &TraceSpan) {
    if next.duration_ns > last.duration_ns {
        last.kind.clone_from(&next.kind);
        last.file.clone_from(&next.file);
    }
    let end = |span: &TraceSpan| span.start_ns.saturating_add(span.elapsed());
    let end = end(last).max(end(next));
    last.elapsed_ns = Some(end.saturating_sub(last.start_ns));
    last.duration_ns = last.duration_ns.saturating_add(next.duration_ns).min(last.elapsed());
    "several short steps".clone_into(&mut last.name);
    last.detail = None;
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn traced(spans: usize) -> TraceProgram {
        let kinds = ["syscall", "user"];
        let span = |i: usize| {
            json!({"pid": 1, "tid": 1 + i % 2, "kind": kinds[i % 2], "name": format!("call{}", i % 50),
                "start_ns": i * 700, "duration_ns": 600, "elapsed_ns": 650, "detail": format!("call({i}) = <&>"),
                "file": "/x"})
        };
        let spans: Vec<_> = (0..spans).map(span).collect();
        let document = json!({"command": "x", "total_ns": 1_000_000, "spans": spans,
            "processes": [{"pid": 1, "execs": [{"executed": "/bin/x", "duration_ns": 77}]}]});
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn spans_are_columns_of_equal_length_ordered_by_thread() {
        let (timeline, note) = TimelineColumns::of(&traced(1000), 5000);
        assert!(note.is_none());
        let lengths =
            [timeline.thread.len(), timeline.kind.len(), timeline.start.len(), timeline.within.len()];
        assert_eq!(lengths, [1000; 4]);
        assert!(timeline.thread.is_sorted());
        assert_eq!(timeline.threads.len(), 2);
        let known: Vec<u64> = timeline.phases.iter().filter_map(|phase| phase.ns).collect();
        assert_eq!((timeline.phases[0].ns, known), (Some(77), vec![77]));
    }

    #[test]
    fn too_many_spans_are_combined_and_a_note_says_so() {
        let (timeline, note) = TimelineColumns::of(&traced(20_000), 3000);
        assert!(timeline.thread.len() <= 3000, "{}", timeline.thread.len());
        let note = note.unwrap();
        assert!(note.contains("20000 became"), "{note}");
        let covered: u64 = timeline.self_times.iter().sum();
        assert_eq!(covered, 20_000 * 600, "no time is lost");
    }

    #[test]
    fn ten_thousand_spans_take_less_than_three_hundred_kilobytes() {
        let panel = panel(&traced(10_000), MAX_SPANS);
        assert!(panel.packed.len() < 300_000, "{}", panel.packed.len());
    }
}
