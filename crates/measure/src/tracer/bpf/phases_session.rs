//! `phases_session.h` in Rust: what the kernel side of the phases mode shares with us. The tests compare the two files.

use super::record::{Head, Record, RecordKind, syscall};
use super::shared_run::{CALL_COMPAT, CALLS, Mapped, PATH_ROOM, Run};
use crate::tracer::event::Content;
use crate::tracer::{Event, EventKind};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{Ordering, fence};

const FLIGHTS: usize = 32;
/// `LOG`: how many records fit the page.
const LOG: usize = 88;
const RECORD: usize = size_of::<Record>();

/// The head of `struct session`: the state of one run.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PhasesSession {
    pub(super) run: Run,
    pub(super) in_flight: i32,
    pub(super) first_byte: u32,
    pub(super) logged: u32,
    pub(super) uring: i32,
    pub(super) last_output: u64,
    pub(super) output_writes: u64,
    pub(super) output_bytes: u64,
    pub(super) parent_told: u64,
}

/// `struct session`, whole.
#[repr(C)]
#[derive(Debug)]
struct Page {
    head: PhasesSession,
    meaning: [u8; CALLS],
    flights: [[u64; 2]; FLIGHTS],
    log: [[u8; RECORD]; LOG],
}

/// The session's page, mapped into our memory. We arm and read it without a system call.
#[derive(Debug)]
pub(super) struct PhasesPage {
    page: Mapped<Page>,
}

impl PhasesPage {
    /// Maps the memory of the one-element array map behind `map`, and fills in the meanings of system calls.
    pub(super) fn map(map: BorrowedFd<'_>, meaning: &[u8; CALLS]) -> std::io::Result<PhasesPage> {
        let page = PhasesPage { page: Mapped::<Page>::of(map)? };
        page.give_meaning(meaning);
        Ok(page)
    }

    /// Replaces the meanings of system calls. Called when no run is made.
    pub(super) fn give_meaning(&self, meaning: &[u8; CALLS]) {
        // SAFETY: the value is a `Page`; the programs that read it change nothing of it, and return while there is no run.
        unsafe { (&raw mut (*self.page.as_ptr()).meaning).write_volatile(*meaning) };
    }

    /// The state that the kernel side has left.
    pub(super) fn read(&self) -> PhasesSession {
        // ORDERING: the tracee was reaped by a system call, after its programs ran; the fence keeps the compiler from
        // reading early.
        fence(Ordering::Acquire);
        // SAFETY: the mapping lives as long as `self`, and any bits are a valid `PhasesSession`.
        unsafe { (&raw const (*self.page.as_ptr()).head).read_volatile() }
    }

    /// The first records of the run, as many as fit the page.
    pub(super) fn log(&self, logged: u32) -> impl Iterator<Item = [u8; RECORD]> {
        let count = (logged as usize).min(LOG);
        // SAFETY: as above; the index stays within the array.
        (0..count).map(|n| unsafe { (&raw const (*self.page.as_ptr()).log[n]).read_volatile() })
    }

    /// Replaces the state. Called before a run, when no program writes to it.
    pub(super) fn write(&self, session: PhasesSession) {
        // SAFETY: as above; the programs return at once while `root` and `armed_by` are 0.
        unsafe {
            (&raw mut (*self.page.as_ptr()).flights).write_volatile([[0; 2]; FLIGHTS]);
            (&raw mut (*self.page.as_ptr()).head).write_volatile(session);
        }
        // ORDERING: a system call, the launch, follows; the fence keeps the compiler from writing late.
        fence(Ordering::Release);
    }
}

/// Reads one record of the phases mode; `None` if the bytes are not one.
pub(super) fn parse(bytes: &[u8]) -> Option<Event> {
    let head = Head::of(bytes)?;
    let call = syscall(head.code, !CALL_COMPAT);
    let kind = match head.kind {
        RecordKind::ExecCommit => EventKind::ExecCommit { path: path(bytes.get(RECORD..)?, head.code) },
        RecordKind::Mark => EventKind::Mark(mark(bytes.get(RECORD..)?, head.code)),
        RecordKind::OutputEnter => EventKind::OutputEnter { call },
        RecordKind::OutputExit => EventKind::OutputExit { call, result: head.value },
        _ => head.common()?,
    };
    Some(Event { at: head.at, pid: head.pid, tid: head.tid, kind })
}

/// The path in an exec's record. It is empty for the first exec, whose path we know.
fn path(room: &[u8], length: u32) -> String {
    String::from_utf8_lossy(without_nul(room, length)).into_owned()
}

/// The path in a mark's record. One that fills its room may go on.
fn mark(room: &[u8], length: u32) -> Content {
    Content::path(without_nul(room, length).to_vec(), (length as usize) < PATH_ROOM)
}

fn without_nul(room: &[u8], length: u32) -> &[u8] {
    &room[..(length as usize).saturating_sub(1).min(room.len())]
}

#[cfg(test)]
mod tests {
    use super::super::c_header::{Headers, assert_same_constants};
    use super::*;
    use crate::arch::{Abi, Syscall};
    use crate::units::Nanos;
    use std::mem::offset_of;

    fn record(kind: u32, code: u32, value: i64) -> Vec<u8> {
        let mut bytes = 7_u64.to_ne_bytes().to_vec();
        for word in [10, 11, kind, code] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(value.to_ne_bytes());
        bytes
    }

    #[test]
    fn records_become_events() {
        let event = parse(&record(RecordKind::OutputExit as u32, CALL_COMPAT | 4, 12)).unwrap();
        let call = Syscall { abi: Abi::Compat, number: 4 };
        assert_eq!(
            event,
            Event { at: Nanos(7), pid: 10, tid: 11, kind: EventKind::OutputExit { call, result: 12 } }
        );
    }

    #[test]
    fn truncated_and_unknown_records_give_no_events() {
        for length in 0..RECORD {
            assert_eq!(parse(&record(RecordKind::ExecEnter as u32, 0, 0)[..length]), None);
        }
        assert_eq!(parse(&record(99, 0, 0)), None);
        assert_eq!(parse(&record(0, 0, 0)), None);
    }

    #[test]
    fn a_path_ends_at_its_length_and_never_beyond_the_record() {
        let mut bytes = record(RecordKind::ExecCommit as u32, 5, 0);
        bytes.extend(b"/abc\0garbage");
        assert_eq!(parse(&bytes).unwrap().kind, EventKind::ExecCommit { path: "/abc".to_owned() });
        let mut bytes = record(RecordKind::ExecCommit as u32, 500, 0);
        bytes.extend(b"/abc");
        assert_eq!(parse(&bytes).unwrap().kind, EventKind::ExecCommit { path: "/abc".to_owned() });
    }

    #[test]
    fn the_page_matches_session_h() {
        assert_same_constants!(FLIGHTS, LOG);
        let headers = Headers::read();
        let session = headers.layout("session");
        let head = [
            ("run", offset_of!(PhasesSession, run)),
            ("in_flight", offset_of!(PhasesSession, in_flight)),
            ("first_byte", offset_of!(PhasesSession, first_byte)),
            ("logged", offset_of!(PhasesSession, logged)),
            ("uring", offset_of!(PhasesSession, uring)),
            ("last_output", offset_of!(PhasesSession, last_output)),
            ("output_writes", offset_of!(PhasesSession, output_writes)),
            ("output_bytes", offset_of!(PhasesSession, output_bytes)),
            ("parent_told", offset_of!(PhasesSession, parent_told)),
        ];
        let rest = [
            ("meaning", offset_of!(Page, meaning)),
            ("flights", offset_of!(Page, flights)),
            ("log", offset_of!(Page, log)),
        ];

        let here: Vec<_> = head.iter().chain(&rest).map(|(name, at)| ((*name).to_owned(), *at)).collect();
        assert_eq!(here, session.members);
        assert_eq!(size_of::<Page>(), session.size);
        assert_eq!(size_of::<[u64; 2]>(), headers.layout("flight").size);
        assert!(size_of::<Page>() <= 4096, "all of a run's state lies in one page");
    }
}
