//! The files behind the descriptors of a process, as far as its system calls show. A descriptor that is missing here was opened
//! unseen: pipe2(2), for example, returns the numbers of the two ends in memory, not in a register.

use std::collections::HashMap;
use std::sync::Arc;

/// The name of a file that was opened by a path that could not be read.
pub(super) const UNKNOWN: &str = "?";

/// The descriptors of one process.
#[derive(Clone, Debug, Default)]
pub(super) struct Descriptors {
    open: HashMap<i32, Open>,
}

#[derive(Clone, Debug)]
struct Open {
    name: Arc<str>,
    close_on_exec: bool,
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
        self.open.insert(number, Open { name, close_on_exec });
    }

    /// `dup` and similar: both stand for the same, even if that is unknown.
    pub(super) fn duplicate(&mut self, from: i32, to: i32, close_on_exec: bool) {
        if from == to {
            return;
        }
        match self.name(from) {
            Some(name) => self.open(to, name, close_on_exec),
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
        self.open.remove(&number);
    }

    /// Closes all descriptors of a range (`close_range(2)`).
    pub(super) fn close_range(&mut self, first: u64, last: u64) {
        let within = |number: i32| u64::try_from(number).is_ok_and(|n| (first..=last).contains(&n));
        self.open.retain(|number, _| !within(*number));
    }

    /// Closes the descriptors that an exec closes.
    pub(super) fn exec(&mut self) {
        self.open.retain(|_, open| !open.close_on_exec);
    }

    /// The name of the file behind a descriptor.
    pub(super) fn name(&self, number: i32) -> Option<Arc<str>> {
        self.open.get(&number).map(|open| Arc::clone(&open.name))
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
    fn a_relative_path_is_resolved_from_its_directory() {
        let mut all = Descriptors::standard();
        all.open(3, "/usr/lib/".into(), false);
        assert_eq!(&*all.resolve(3, "x"), "/usr/lib/x");
        assert_eq!(&*all.resolve(3, "/x"), "/x");
        assert_eq!(&*all.resolve(3, ""), "/usr/lib/");
        assert_eq!(&*all.resolve(-100, "x"), "x");
        for (directory, resolved) in [(".", "x"), ("src/bin", "src/bin/x"), (UNKNOWN, "x")] {
            all.open(4, directory.into(), false);
            assert_eq!(&*all.resolve(4, "x"), resolved);
        }
    }
}
