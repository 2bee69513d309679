//! `watch_session.h` in Rust: the state of a watch. The tests compare the two files.

use super::meaning_table;
use super::namespace::Namespace;
use super::scope::ScopeFields;
use super::shared_run::{CALLS, Mapped, Run};
use crate::arch::{CallRole, compat_number, native_number};
use crate::tracer::watch::{Scope, WantedCalls};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{Ordering, fence};

/// `MEANS_EXEC_AT`.
const MEANS_EXEC_AT: u8 = 5;
/// `MEANS_COMPAT_SHIFT`.
const MEANS_COMPAT_SHIFT: u8 = 4;

/// The head of `struct watch_session`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WatchSession {
    pub(super) run: Run,
    in_flight: i32,
    active: u32,
    forked: i32,
    padding: u32,
    scope: ScopeFields,
}

impl WatchSession {
    /// The next process that the calling thread creates is watched, and all that it creates.
    pub(super) fn of_tree(namespace: Namespace) -> WatchSession {
        WatchSession { run: Run::armed(namespace, false), ..WatchSession::default() }
    }

    /// Everything in the scope is watched.
    pub(super) fn of_machine(scope: Scope) -> WatchSession {
        WatchSession { active: 1, scope: scope.into(), ..WatchSession::default() }
    }
}

/// `struct watch_session`, whole.
#[repr(C)]
#[derive(Debug)]
struct Page {
    head: WatchSession,
    meaning: [u8; CALLS],
}

/// The session, mapped into our memory.
#[derive(Debug)]
pub(super) struct WatchPage {
    page: Mapped<Page>,
}

impl WatchPage {
    /// Maps the memory of the one-element array map behind `map`.
    pub(super) fn map(map: BorrowedFd<'_>) -> std::io::Result<WatchPage> {
        Mapped::<Page>::of(map).map(|page| WatchPage { page })
    }

    /// Fills in which system calls the tracepoints look at. Call it before the watch begins.
    pub(super) fn write_meanings(&self, wanted: WantedCalls, execs: bool) {
        // SAFETY: the mapping is a `Page` and lives as long as `self`. The programs return at once while nothing is watched.
        unsafe { (&raw mut (*self.page.as_ptr()).meaning).write_volatile(meanings(wanted, execs)) };
    }

    /// Begins a watch.
    pub(super) fn write(&self, session: WatchSession) {
        // SAFETY: the mapping lives as long as `self`. The programs return at once while nothing is watched.
        unsafe { (&raw mut (*self.page.as_ptr()).head).write_volatile(session) };
        // ORDERING: a system call follows; the fence keeps the compiler from writing late.
        fence(Ordering::Release);
    }

    /// The number of events that could not be recorded.
    pub(super) fn lost(&self) -> u64 {
        // SAFETY: as above, and any bits are a number.
        unsafe { (&raw const (*self.page.as_ptr()).head.run.lost).read_volatile() }
    }
}

/// The table of `run.h`, in which `execveat` has a meaning of its own, for calls that are wanted, and those that execute a
/// program.
fn meanings(wanted: WantedCalls, execs: bool) -> [u8; CALLS] {
    let mut table = meaning_table::table_of(|role| match role {
        CallRole::Exec => execs,
        CallRole::Output(_) => wanted.outputs,
    });
    if wanted.marks {
        table = meaning_table::with_lookups(table);
    }
    if !execs {
        return table;
    }
    for (number, shift) in [(native_number("execveat"), 0), (compat_number("execveat"), MEANS_COMPAT_SHIFT)] {
        if let Some(meaning) = number.and_then(|number| table.get_mut(number as usize)) {
            *meaning = (*meaning & !(15 << shift)) | (MEANS_EXEC_AT << shift);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::c_header::{Headers, assert_same_constants};
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_session_matches_watch_session_h() {
        assert_same_constants!(MEANS_EXEC_AT, MEANS_COMPAT_SHIFT);
        let there = Headers::read().layout("watch_session");
        let here = [
            ("run", offset_of!(WatchSession, run)),
            ("in_flight", offset_of!(WatchSession, in_flight)),
            ("active", offset_of!(WatchSession, active)),
            ("forked", offset_of!(WatchSession, forked)),
            ("padding", offset_of!(WatchSession, padding)),
            ("scope", offset_of!(WatchSession, scope)),
            ("meaning", offset_of!(Page, meaning)),
        ];
        assert_eq!(here.map(|(name, at)| (name.to_owned(), at)).as_slice(), there.members);
        assert_eq!(size_of::<Page>(), there.size);
    }

    #[test]
    fn the_two_execs_differ_in_the_place_of_their_path() {
        let of = |outputs, execs| {
            let table = meanings(WantedCalls { outputs, marks: outputs }, execs);
            let calls = ["execve", "execveat", "write", "openat"];
            calls.map(|name| table[native_number(name).unwrap() as usize] & 15)
        };
        assert_eq!(of(true, true), [4, MEANS_EXEC_AT, 1, 7]);
        assert_eq!((of(true, false), of(false, true)), ([0, 0, 1, 7], [4, MEANS_EXEC_AT, 0, 0]));
    }
}
