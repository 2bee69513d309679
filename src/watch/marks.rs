//! The marks of programs: how long the parts between them take, by name.
//!
//! Here a part belongs to one execution of a program: a plain mark ends the part since the one before, or since the entry of
//! `execve`, and a span ends where the same execution ends it.

use super::memory::{MARK, Memory};
use crate::stats::LogHistogram;
use firstbyte_measure::timeline::marks::{MOST_NAMES, OTHERS};
use firstbyte_measure::tracer::event::{MarkKind, MarkPath};
use firstbyte_measure::tracer::watch::MadeMark;
use firstbyte_measure::units::Nanos;
use std::collections::{BTreeMap, HashMap};

/// The most open spans of one execution. Spans that begin beyond that have no time.
const MOST_OPEN: usize = 1000;

/// What an execution has marked so far.
#[derive(Debug, Default)]
pub(super) struct OpenParts {
    /// The last plain mark.
    last: Option<Nanos>,
    /// When each span began that has not ended.
    open: HashMap<String, Vec<Nanos>>,
    count: usize,
}

impl OpenParts {
    /// The part that a mark ends, and how long it took; `None`: it ends none.
    pub(super) fn ended_by(&mut self, mark: &MadeMark) -> Option<(String, u64)> {
        let path = MarkPath::of(&mark.path)?;
        let name = path.displayed();
        let from = match path.kind {
            MarkKind::Done => self.last.replace(mark.at).unwrap_or(mark.by.entered),
            MarkKind::Begins => {
                self.begin(name, mark.at);
                return None;
            }
            MarkKind::Ends => self.end(&name)?,
        };
        Some((name, mark.at.since(from).unwrap_or_default().0))
    }

    fn begin(&mut self, name: String, at: Nanos) {
        if self.count < MOST_OPEN {
            self.count += 1;
            self.open.entry(name).or_default().push(at);
        }
    }

    fn end(&mut self, name: &str) -> Option<Nanos> {
        let begun = self.open.get_mut(name)?;
        let from = begun.pop();
        if begun.is_empty() {
            self.open.remove(name);
        }
        self.count -= usize::from(from.is_some());
        from
    }
}

/// The times of a program's parts.
#[derive(Debug, Default)]
pub(super) struct PartTimes {
    by_name: BTreeMap<String, LogHistogram>,
}

impl PartTimes {
    /// Names beyond the limit, and those for which there is no memory, are counted together.
    pub(super) fn add(&mut self, name: &str, time: u64, memory: &mut Memory) {
        let most = MOST_NAMES + usize::from(self.by_name.contains_key(OTHERS));
        let is_listed =
            self.by_name.contains_key(name) || self.by_name.len() < most && memory.take(MARK, name);
        let name = if is_listed { name } else { OTHERS };
        self.by_name.entry(name.to_owned()).or_default().add(time);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &LogHistogram)> {
        self.by_name.iter()
    }

    /// What it takes.
    pub(super) fn memory(&self) -> u64 {
        let listed = self.by_name.keys().filter(|name| *name != OTHERS);
        listed.map(|name| MARK + name.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstbyte_measure::tracer::watch::ProgramRun;

    fn mark(at: u64, path: &str) -> MadeMark {
        let by = ProgramRun { pid: 7, entered: Nanos(100) };
        MadeMark { by, at: Nanos(at), path: path.as_bytes().into() }
    }

    #[test]
    fn a_plain_mark_ends_the_part_before_and_a_span_ends_where_it_is_ended() {
        let mut parts = OpenParts::default();
        let all = [
            mark(150, "MARK: read"),
            mark(160, "MARK+: a"),
            mark(170, "MARK+: a"),
            mark(180, "MARK: loaded"),
            mark(190, "MARK-: a"),
            mark(200, "MARK-: a"),
            mark(210, "MARK-: a"),
            mark(220, "MARK:"),
        ];
        let ended: Vec<_> = all.iter().filter_map(|mark| parts.ended_by(mark)).collect();
        let ended: Vec<_> = ended.iter().map(|(name, time)| (name.as_str(), *time)).collect();
        assert_eq!(ended, [("read", 50), ("loaded", 30), ("a", 20), ("a", 40)]);
        assert_eq!((parts.count, parts.open.len()), (0, 0));
    }

    #[test]
    fn spans_that_nobody_ends_are_bounded() {
        let mut parts = OpenParts::default();
        for n in 0..5000 {
            parts.ended_by(&mark(200 + n, &format!("MARK+: {n}")));
        }
        assert_eq!((parts.count, parts.open.len()), (MOST_OPEN, MOST_OPEN));
    }

    #[test]
    fn names_beyond_the_limit_or_without_memory_are_counted_together() {
        let (mut times, mut memory) = (PartTimes::default(), Memory::new(1 << 30));
        for n in 0..100 {
            times.add(&n.to_string(), 1, &mut memory);
        }
        assert_eq!((times.by_name.len(), times.by_name[OTHERS].count()), (65, 36));
        let mut few = PartTimes::default();
        few.add("x", 1, &mut Memory::new(0));
        assert_eq!((few.by_name[OTHERS].count(), few.by_name.len(), few.memory()), (1, 1, 0));
    }
}
