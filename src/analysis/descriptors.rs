//! The files behind the descriptors of a process, as far as its system calls show. A descriptor that is missing here was opened
//! unseen: received over a socket, for example.

use firstbyte_measure::units::Nanos;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The name of a file that was opened by a path that could not be read.
pub(super) const UNKNOWN: &str = "?";

/// The descriptors of one process.
#[derive(Clone, Debug, Default)]
pub(super) struct Descriptors {
    open: HashMap<i32, Open>,
    /// How many descriptors there are of each end of a pipe.
    ends: BTreeMap<PipeEnd, usize>,
    /// The ends that the process has got or lost since [`Descriptors::take_changes`].
    changes: Vec<EndChange>,
}

/// An end of a pipe, and whether a process has it now.
pub(super) type EndChange = (PipeEnd, bool);

#[derive(Clone, Debug, Default)]
struct Open {
    /// `None`: a pipe.
    name: Option<Arc<str>>,
    pipe: Option<PipeEnd>,
    eventfd: Option<EventfdId>,
    close_on_exec: bool,
}

/// A pipe, by when the call was entered that created it.
pub(super) type PipeId = Nanos;

/// An `eventfd(2)`, by the same.
pub(super) type EventfdId = Nanos;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PipeEnd {
    pub(super) pipe: PipeId,
    pub(super) for_writing: bool,
}

impl Descriptors {
    /// The three descriptors that a tracee gets from us.
    pub(super) fn standard() -> Descriptors {
        let mut all = Descriptors::default();
        for (number, name) in [(0, "stdin"), (1, "stdout"), (2, "stderr")] {
            all.open(number, name.into(), false);
        }
        all
    }

    pub(super) fn open(&mut self, number: i32, name: Arc<str>, close_on_exec: bool) {
        self.put(number, Open { name: Some(name), close_on_exec, ..Open::default() });
    }

    pub(super) fn open_eventfd(&mut self, number: i32, eventfd: EventfdId, close_on_exec: bool) {
        let (name, eventfd) = (Some("eventfd".into()), Some(eventfd));
        self.put(number, Open { name, eventfd, close_on_exec, ..Open::default() });
    }

    pub(super) fn eventfd(&self, number: i32) -> Option<EventfdId> {
        self.open.get(&number)?.eventfd
    }

    /// The two ends of a new pipe.
    pub(super) fn open_pipe(&mut self, [reading, writing]: [i32; 2], pipe: PipeId, close_on_exec: bool) {
        for (number, for_writing) in [(reading, false), (writing, true)] {
            let pipe = Some(PipeEnd { pipe, for_writing });
            self.put(number, Open { pipe, close_on_exec, ..Open::default() });
        }
    }

    pub(super) fn pipe(&self, number: i32) -> Option<PipeEnd> {
        self.open.get(&number)?.pipe
    }

    fn put(&mut self, number: i32, open: Open) {
        let end = open.pipe;
        let before = self.open.insert(number, open).and_then(|before| before.pipe);
        if let Some(end) = end {
            *self.ends.entry(end).or_insert_with(|| {
                self.changes.push((end, true));
                0
            }) += 1;
        }
        if let Some(end) = before {
            self.lose(end);
        }
    }

    /// A descriptor of this end is closed.
    fn lose(&mut self, end: PipeEnd) {
        let Some(count) = self.ends.get_mut(&end) else { return };
        *count -= 1;
        if *count == 0 {
            self.ends.remove(&end);
            self.changes.push((end, false));
        }
    }

    /// The ends of pipes that the process has.
    pub(super) fn ends(&self) -> impl Iterator<Item = PipeEnd> {
        self.ends.keys().copied()
    }

    pub(super) fn has_end(&self, end: PipeEnd) -> bool {
        self.ends.contains_key(&end)
    }

    /// The ends that the process has got or lost since the last call.
    pub(super) fn take_changes(&mut self) -> Vec<EndChange> {
        std::mem::take(&mut self.changes)
    }

    /// Gives the file behind a descriptor a better name.
    pub(super) fn rename(&mut self, number: i32, name: Arc<str>) {
        if let Some(open) = self.open.get_mut(&number) {
            open.name = Some(name);
        }
    }

    /// `dup` and similar: both stand for the same, even if that is unknown.
    pub(super) fn duplicate(&mut self, from: i32, to: i32, close_on_exec: bool) {
        if from == to {
            return;
        }
        match self.open.get(&from).cloned() {
            Some(open) => self.put(to, Open { close_on_exec, ..open }),
            None => self.close(to),
        }
    }

    /// Sets whether an exec closes the descriptor.
    pub(super) fn mark(&mut self, number: i32, close_on_exec: bool) {
        if let Some(open) = self.open.get_mut(&number) {
            open.close_on_exec = close_on_exec;
        }
    }

    /// Makes an exec close all descriptors of a range (`CLOSE_RANGE_CLOEXEC`).
    pub(super) fn mark_range(&mut self, first: u64, last: u64) {
        let within = |number: i32| u64::try_from(number).is_ok_and(|n| (first..=last).contains(&n));
        for (_, open) in self.open.iter_mut().filter(|(number, _)| within(**number)) {
            open.close_on_exec = true;
        }
    }

    pub(super) fn close(&mut self, number: i32) {
        let closed = self.open.remove(&number);
        if let Some(end) = closed.and_then(|open| open.pipe) {
            self.lose(end);
        }
    }

    /// Closes all descriptors of a range (`close_range(2)`).
    pub(super) fn close_range(&mut self, first: u64, last: u64) {
        let within = |number: i32| u64::try_from(number).is_ok_and(|n| (first..=last).contains(&n));
        self.close_those(|number, _| within(number));
    }

    /// Closes the descriptors that an exec closes.
    pub(super) fn exec(&mut self) {
        self.close_those(|_, open| open.close_on_exec);
    }

    fn close_those(&mut self, is_closed: impl Fn(i32, &Open) -> bool) {
        let closed: Vec<Open> =
            self.open.extract_if(|number, open| is_closed(*number, open)).map(|(_, open)| open).collect();
        for end in closed.into_iter().filter_map(|open| open.pipe) {
            self.lose(end);
        }
    }

    /// The name of the file behind a descriptor.
    pub(super) fn name(&self, number: i32) -> Option<Arc<str>> {
        self.open.get(&number)?.name.clone()
    }

    /// A path argument, resolved from a directory descriptor (`openat(2)`).
    pub(super) fn resolve(&self, directory: i32, path: &str) -> Arc<str> {
        let base = if path.starts_with('/') { None } else { self.name(directory) };
        match base {
            Some(base) if path.is_empty() => base,
            Some(base) if &*base != "." && &*base != UNKNOWN => {
                format!("{}/{path}", base.trim_end_matches('/')).into()
            }
            _ => path.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exec_closes_marked_descriptors_and_keeps_their_duplicates() {
        let mut all = Descriptors::standard();
        all.open(3, "/a".into(), true);
        all.duplicate(3, 4, false);
        all.duplicate(99, 5, false);
        all.exec();
        assert_eq!(all.name(3), None);
        assert_eq!(all.name(4).as_deref(), Some("/a"));
        assert_eq!(all.name(5), None);
        all.mark(4, true);
        all.mark_range(1, 2);
        assert_eq!(all.name(1).as_deref(), Some("stdout"));
        all.exec();
        assert_eq!((all.name(1), all.name(4)), (None, None));
        all.close_range(1, u64::MAX);
        assert_eq!((all.name(0).as_deref(), all.name(4)), (Some("stdin"), None));
    }

    #[test]
    fn a_duplicate_of_an_unknown_descriptor_is_unknown_too() {
        let mut all = Descriptors::standard();
        all.duplicate(3, 0, false);
        assert_eq!(all.name(0), None);
        all.open(3, "/a".into(), true);
        all.duplicate(3, 3, false);
        all.exec();
        assert_eq!(all.name(3), None, "dup2(3, 3) changes nothing");
    }

    #[test]
    fn an_exec_closes_the_marked_ends_of_pipes() {
        let mut all = Descriptors::standard();
        let pipe = Nanos(7);
        all.open_pipe([3, 4], pipe, true);
        all.duplicate(4, 1, false);
        assert_eq!((all.name(1), all.pipe(3)), (None, Some(PipeEnd { pipe, for_writing: false })));
        all.exec();
        let writing = PipeEnd { pipe, for_writing: true };
        assert_eq!((all.pipe(4), all.ends().collect::<Vec<_>>()), (None, vec![writing]));
        all.close(1);
        assert_eq!(all.ends().count(), 0);
    }

    #[test]
    fn a_process_has_an_end_from_its_first_descriptor_to_its_last() {
        let mut all = Descriptors::default();
        let pipe = Nanos(7);
        let [reading, writing] = [false, true].map(|for_writing| PipeEnd { pipe, for_writing });
        all.open_pipe([3, 4], pipe, false);
        assert_eq!(all.take_changes(), [(reading, true), (writing, true)]);
        all.duplicate(4, 5, false);
        all.duplicate(4, 5, false);
        all.close(4);
        assert_eq!(all.take_changes(), []);
        all.duplicate(3, 5, false);
        assert_eq!(all.take_changes(), [(writing, false)], "it was replaced");
        all.close_range(0, 9);
        assert_eq!(all.take_changes(), [(reading, false)]);
    }

    #[test]
    fn a_relative_path_is_resolved_from_its_directory() {
        let mut all = Descriptors::standard();
        all.open(3, "/usr/lib/".into(), false);
        assert_eq!(&*all.resolve(3, "x"), "/usr/lib/x");
        assert_eq!(&*all.resolve(3, "/x"), "/x");
        assert_eq!(&*all.resolve(3, ""), "/usr/lib/");
        all.open(5, "/usr/bin/env".into(), false);
        assert_eq!(&*all.resolve(5, ""), "/usr/bin/env", "AT_EMPTY_PATH: the file itself");
        assert_eq!(&*all.resolve(-100, "x"), "x");
        for (directory, resolved) in [(".", "x"), ("src/bin", "src/bin/x"), (UNKNOWN, "x")] {
            all.open(4, directory.into(), false);
            assert_eq!(&*all.resolve(4, "x"), resolved);
        }
    }
}
