//! The spans between the marks of a run. Pure: it reads nothing but the recording.
//!
//! Plain marks (`MARK: name`) of all threads and processes are one chain: each names what was done since the one before it,
//! the first one what was done since the first `execve`, and what follows the last one is the rest. So these spans partition
//! the total exactly. `MARK+: name` and `MARK-: name` are the ends of a span that lies anywhere.

use super::{Timeline, TimelineError};
use crate::arch::lookups;
use crate::tracer::event::{MarkKind, MarkPath};
use crate::tracer::{Event, EventKind, Recording};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// How many different names a run may have. All other marks together are [`OTHERS`].
pub const MOST_NAMES: usize = 64;
/// Among how many open spans of its name an end looks for one of its thread or process.
const SEARCHED: usize = 1000;
/// The name of all marks beyond [`MOST_NAMES`] names.
pub const OTHERS: &str = "(other marks)";
/// The name of what follows the last plain mark.
pub const REST: &str = "(rest)";

/// A part of a run that the program named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its name. What is not UTF-8 is replaced.
    pub name: Arc<str>,
    /// What it is between.
    pub kind: SpanKind,
    /// The thread that ended it; for one with ends of its own, the thread that began it; for the rest, the tracee's.
    pub pid: u32,
    /// That thread.
    pub tid: u32,
    /// Since the entry of the first `execve`.
    pub from: Nanos,
    /// The same.
    pub to: Nanos,
    /// The mark that it begins with, if it lies in the chain; `None`: it begins with the run.
    pub after: Option<Arc<str>>,
    /// Its end was not marked: its process or the run ended first.
    pub unended: bool,
}

/// What a part of a run is between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// Two texts that the program prints.
    Region,
    /// Two plain marks.
    Mark,
    /// Two marks of its own.
    Span,
}

/// All marks of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The chain, if there is a plain mark: it partitions the total.
    pub chain: Vec<Span>,
    /// The spans that have ends of their own, in the order in which they began.
    pub spans: Vec<Span>,
    /// The marks among the others.
    pub others: u64,
    /// Ends of spans that had not begun.
    pub unbegun: u64,
}

impl Marks {
    /// Of a run whose system calls were seen, or whose marks were looked for. Empty if there are none.
    ///
    /// # Errors
    ///
    /// The recording is damaged.
    pub fn of(recording: &Recording) -> Result<Marks, TimelineError> {
        let mut seen: Vec<Seen> = recording.events.iter().filter_map(mark).collect();
        if seen.is_empty() {
            return Ok(Marks::default());
        }
        // stable: calls at the same instant keep the order of their returns
        seen.sort_by_key(|seen| seen.at);
        let total = Timeline::of(recording)?.total;
        let begun = recording
            .events
            .iter()
            .find(|event| event.pid == recording.root && event.kind == EventKind::ExecEnter);
        let begun = begun.ok_or(TimelineError::Missing("the entry of `execve`"))?.at;

        let mut reading = Reading::new(begun, total, recording.root);
        for seen in &seen {
            reading.take(seen);
        }
        Ok(reading.finish(&recording.events))
    }

    /// Whether a recording has any: whether a run of the program is worth looking for them.
    pub fn are_in(recording: &Recording) -> bool {
        recording.events.iter().any(|event| mark(event).is_some())
    }

    /// The chain, then the other spans.
    pub fn all(&self) -> impl Iterator<Item = &Span> {
        self.chain.iter().chain(&self.spans)
    }

    /// The parts that have this name, in order. What overlaps is one.
    pub fn parts(&self, name: &str) -> Vec<[Nanos; 2]> {
        let mut parts: Vec<[Nanos; 2]> =
            self.all().filter(|span| &*span.name == name).map(|span| [span.from, span.to]).collect();
        parts.sort();
        let mut merged: Vec<[Nanos; 2]> = Vec::new();
        for [from, to] in parts {
            match merged.last_mut() {
                Some(last) if from <= last[1] => last[1] = last[1].max(to),
                _ => merged.push([from, to]),
            }
        }
        merged
    }

    /// The spans of each name together, in the order in which the names appear.
    pub fn sums(&self) -> MarkSums {
        let (mut sums, mut places) = (Vec::<SpanSum>::new(), HashMap::new());
        for span in self.all() {
            let place = *places.entry((span.kind, Arc::clone(&span.name))).or_insert(sums.len());
            if place == sums.len() {
                sums.push(SpanSum::none(span));
            }
            sums[place].add(span);
        }
        MarkSums { spans: sums, others: self.others, unbegun: self.unbegun }
    }
}

/// What a run spent in its named parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkSums {
    /// Each name once for each kind.
    pub spans: Vec<SpanSum>,
    /// See [`Marks::others`].
    pub others: u64,
    /// See [`Marks::unbegun`].
    pub unbegun: u64,
}

/// All spans of one name in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanSum {
    /// Their name.
    pub name: Arc<str>,
    /// What they are between.
    pub kind: SpanKind,
    /// Their times together.
    pub time: Nanos,
    /// How many there are.
    pub count: u64,
    /// The mark that they begin with, if it is the same one for all; `None`: several, or the beginning of the run.
    pub after: Option<Arc<str>>,
    /// The end of one was not marked.
    pub unended: bool,
}

impl SpanSum {
    /// Nothing yet of the spans that are named as this one.
    fn none(span: &Span) -> SpanSum {
        let (name, after) = (Arc::clone(&span.name), span.after.clone());
        SpanSum { name, kind: span.kind, time: Nanos(0), count: 0, after, unended: false }
    }

    fn add(&mut self, span: &Span) {
        self.time = self.time + Nanos(span.to.0 - span.from.0);
        self.count += 1;
        self.unended |= span.unended;
        if self.after != span.after {
            self.after = None;
        }
    }
}

/// A mark as it was seen.
struct Seen<'e> {
    at: Nanos,
    event: &'e Event,
    mark: MarkPath<'e>,
}

/// The mark that an event is. A call that succeeded, or never returned, is none.
fn mark(event: &Event) -> Option<Seen<'_>> {
    let (at, path) = match &event.kind {
        EventKind::Mark(path) => (event.at, path),
        EventKind::Call(call) => (call.entered, call.paths.first().filter(|_| call.error().is_some())?),
        _ => return None,
    };
    let mark = MarkPath::of(&path.bytes)?;
    if let EventKind::Call(call) = &event.kind {
        lookups().get(call.call)?;
    }
    Some(Seen { at, event, mark })
}

/// The marks so far.
struct Reading {
    begun: Nanos,
    total: Nanos,
    root: u32,
    names: HashMap<String, Arc<str>>,
    others: Arc<str>,
    marks: Marks,
    /// The places of spans that have not ended, by their names as the program spells them.
    open: HashMap<String, Vec<usize>>,
}

impl Reading {
    fn new(begun: Nanos, total: Nanos, root: u32) -> Reading {
        let (names, open, marks) = (HashMap::new(), HashMap::new(), Marks::default());
        Reading { begun, total, root, names, others: OTHERS.into(), marks, open }
    }

    fn take(&mut self, seen: &Seen) {
        let at = seen.at.since(self.begun).unwrap_or_default();
        if at > self.total {
            return;
        }
        let spelt = seen.mark.displayed();
        match seen.mark.kind {
            MarkKind::Done => self.done(at, seen.event, &spelt),
            MarkKind::Begins => self.begins(at, seen.event, spelt),
            MarkKind::Ends => self.ends(at, seen.event, &spelt),
        }
    }

    /// The name under which a mark counts.
    fn name(&mut self, spelt: &str) -> Arc<str> {
        if let Some(name) = self.names.get(spelt) {
            return Arc::clone(name);
        }
        if self.names.len() == MOST_NAMES {
            self.marks.others += 1;
            return Arc::clone(&self.others);
        }
        let name: Arc<str> = spelt.into();
        self.names.insert(spelt.to_owned(), Arc::clone(&name));
        name
    }

    fn done(&mut self, at: Nanos, event: &Event, spelt: &str) {
        let name = self.name(spelt);
        self.link(at, event.pid, event.tid, name);
    }

    /// Adds to the chain what lies between its end and an instant.
    fn link(&mut self, at: Nanos, pid: u32, tid: u32, name: Arc<str>) {
        let last = self.marks.chain.last();
        let (from, after) = last.map_or((Nanos(0), None), |last| (last.to, Some(Arc::clone(&last.name))));
        let kind = SpanKind::Mark;
        self.marks.chain.push(Span { name, kind, pid, tid, from, to: at, after, unended: false });
    }

    fn begins(&mut self, at: Nanos, event: &Event, spelt: String) {
        let (name, kind) = (self.name(&spelt), SpanKind::Span);
        let span =
            Span { name, kind, pid: event.pid, tid: event.tid, from: at, to: at, after: None, unended: true };
        self.open.entry(spelt).or_default().push(self.marks.spans.len());
        self.marks.spans.push(span);
    }

    /// Ends the span of this name that began last: in this thread, else in this process, else anywhere.
    fn ends(&mut self, at: Nanos, event: &Event, spelt: &str) {
        let spans = &mut self.marks.spans;
        let open = self.open.get_mut(spelt);
        let place = open.as_deref().and_then(|open| {
            let far = open.len().saturating_sub(SEARCHED);
            let last = |is_near: &dyn Fn(&Span) -> bool| {
                open[far..].iter().rposition(|n| is_near(&spans[*n])).map(|place| far + place)
            };
            let near = last(&|span| span.tid == event.tid).or_else(|| last(&|span| span.pid == event.pid));
            near.or(open.len().checked_sub(1))
        });
        let (Some(open), Some(place)) = (open, place) else {
            self.marks.unbegun += 1;
            return;
        };

        let span = &mut spans[open.remove(place)];
        (span.to, span.unended) = (at, false);
        if open.is_empty() {
            self.open.remove(spelt);
        }
    }

    /// A span without an end lasts until its process is gone, or the run. A run that ends at a mark has no rest.
    fn finish(mut self, events: &[Event]) -> Marks {
        if self.marks.chain.last().is_some_and(|last| last.to < self.total) {
            self.link(self.total, self.root, self.root, REST.into());
        }
        let exits: HashMap<u32, Nanos> = if self.open.is_empty() { HashMap::new() } else { exits(events) };
        for span in self.marks.spans.iter_mut().filter(|span| span.unended) {
            let exit = exits.get(&span.pid).filter(|_| span.pid != self.root);
            let exit = exit.and_then(|exit| exit.since(self.begun));
            span.to = exit.filter(|exit| *exit >= span.from).unwrap_or(self.total).min(self.total);
        }
        self.marks
    }
}

/// When the last thread of each process exited.
fn exits(events: &[Event]) -> HashMap<u32, Nanos> {
    let last = |event: &&Event| matches!(event.kind, EventKind::Exit { group_dead: true, .. });
    events.iter().filter(last).map(|event| (event.pid, event.at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Abi, Syscall, native_number};
    use crate::tracer::Backend;
    use crate::tracer::event::{Call, Content};

    fn event(at: u64, pid: u32, kind: EventKind) -> Event {
        Event { at: Nanos(at), pid, tid: pid, kind }
    }

    fn path(path: &str) -> Content {
        path.into()
    }

    /// A run of process 1 from 100 to 1100, with these marks as the phases mode records them.
    fn recording(marks: &[(u64, u32, &str)]) -> Recording {
        let mut events = vec![
            event(90, 0, EventKind::Spawn),
            event(100, 1, EventKind::ExecEnter),
            event(150, 1, EventKind::ExecExit { result: 0 }),
        ];
        events.extend(marks.iter().map(|(at, pid, text)| event(*at, *pid, EventKind::Mark(path(text)))));
        events.push(event(700, 2, EventKind::Exit { group_dead: true, status: 9 }));
        events.push(event(1100, 1, EventKind::Exit { group_dead: true, status: 0 }));
        events.push(event(1200, 0, EventKind::Reaped { status: 0 }));
        events.sort_by_key(|event| event.at);
        Recording { events, ..Recording::empty(Backend::Bpf, 1) }
    }

    fn marks(all: &[(u64, u32, &str)]) -> Marks {
        Marks::of(&recording(all)).unwrap()
    }

    fn bounds(spans: &[Span]) -> Vec<(&str, u64, u64)> {
        spans.iter().map(|span| (&*span.name, span.from.0, span.to.0)).collect()
    }

    #[test]
    fn plain_marks_partition_the_total_whatever_thread_made_them() {
        let marks = marks(&[(200, 1, "MARK: config"), (400, 2, "MARK: plugins"), (900, 1, "MARK: config")]);
        let all = [("config", 0, 100), ("plugins", 100, 300), ("config", 300, 800), (REST, 800, 1000)];
        assert_eq!(bounds(&marks.chain), all);
        let after: Vec<Option<&str>> = marks.chain.iter().map(|span| span.after.as_deref()).collect();
        assert_eq!(after, [None, Some("config"), Some("plugins"), Some("config")]);
        assert!(marks.spans.is_empty());
        let sums = marks.sums().spans;
        let sums: Vec<_> = sums.iter().map(|sum| (&*sum.name, sum.time.0, sum.count)).collect();
        assert_eq!(sums, [("config", 600, 2), ("plugins", 200, 1), (REST, 200, 1)]);
    }

    #[test]
    fn spans_nest_and_end_where_they_are_nearest() {
        let marks = marks(&[
            (200, 1, "MARK+: all"),
            (300, 1, "MARK+: part"),
            (310, 2, "MARK+: part"),
            (400, 1, "MARK-: part"),
            (500, 2, "MARK-: part"),
            (600, 2, "MARK-: all"),
            (610, 1, "MARK-: all"),
        ]);
        assert_eq!(bounds(&marks.spans), [("all", 100, 500), ("part", 200, 300), ("part", 210, 400)]);
        assert!(marks.chain.is_empty() && marks.spans.iter().all(|span| !span.unended));
        assert_eq!(marks.unbegun, 1);
    }

    #[test]
    fn a_span_that_nobody_ends_lasts_until_its_process_or_the_run_ends() {
        let marks = marks(&[(200, 1, "MARK+: run"), (300, 2, "MARK+: child"), (1150, 1, "MARK: late")]);
        assert_eq!(bounds(&marks.spans), [("run", 100, 1000), ("child", 200, 600)]);
        assert!(marks.chain.is_empty() && marks.spans.iter().all(|span| span.unended));
    }

    #[test]
    fn names_beyond_the_limit_are_counted_and_the_chain_stays_whole() {
        let texts: Vec<String> = (0..70).map(|n| format!("MARK: {n}")).collect();
        let all: Vec<(u64, u32, &str)> =
            texts.iter().enumerate().map(|(n, text)| (200 + n as u64, 1, &**text)).collect();
        let marks = marks(&all);
        assert_eq!((marks.others, marks.chain.len()), (6, 71));
        assert_eq!(marks.chain.iter().map(|span| span.to.0 - span.from.0).sum::<u64>(), 1000);
        assert_eq!(&*marks.chain[69].name, OTHERS);
    }

    #[test]
    fn only_a_lookup_that_fails_is_a_mark() {
        let of = |name: &str, result| {
            let call = Call {
                call: Syscall { abi: Abi::Native, number: native_number(name).unwrap() },
                entered: Nanos(300),
                result,
                paths: vec![path("MARK: x")],
                ..Call::default()
            };
            mark(&event(310, 1, EventKind::Call(Box::new(call)))).map(|seen| seen.at.0)
        };
        assert_eq!(of("faccessat", Some(-2)), Some(300));
        assert_eq!(of("openat", Some(-36)), Some(300));
        assert_eq!([of("openat", Some(3)), of("openat", None), of("unlinkat", Some(-2))], [None; 3]);
    }
}
