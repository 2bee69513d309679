//! `full_session.h` in Rust: what the kernel side of the full mode shares with us. The tests compare the two files.

use super::shared_run::{CALLS, Mapped, Run};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{Ordering, fence};

const SLOTS: usize = 32;
/// In the table of paths: the call takes a structure instead.
pub(super) const TAKES_STRUCTURE: u8 = 8;
/// `LOG_BYTES`: the size of the log.
pub(super) const LOG_BYTES: usize = 1 << 20;
/// `LARGEST_RECORD`: the kernel side stops writing to the log when fewer bytes are left.
pub(super) const LARGEST_RECORD: usize = 2048;

/// The head of `struct full_session`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullSession {
    pub(super) run: Run,
    pub(super) logged: u64,
}

/// `struct full_session`, whole.
#[repr(C)]
struct State {
    head: FullSession,
    slots: [[u64; 10]; SLOTS],
    tables: Tables,
}

/// The kernel side's tables of system calls, by number.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Tables {
    pub(super) meaning: [u8; CALLS],
    pub(super) paths: [u8; CALLS],
    pub(super) compat_paths: [u8; CALLS],
}

/// The session and the log of records.
pub(super) struct Shared {
    state: Mapped<State>,
    log: Mapped<[u64; LOG_BYTES / size_of::<u64>()]>,
}

impl Shared {
    /// Maps both, and fills in the tables of system calls.
    pub(super) fn map(
        session: BorrowedFd<'_>,
        log: BorrowedFd<'_>,
        tables: &Tables,
    ) -> std::io::Result<Shared> {
        let shared = Shared { state: Mapped::of(session)?, log: Mapped::of(log)? };
        // SAFETY: the value is a `State`; no program that reads it is attached yet.
        unsafe { (&raw mut (*shared.state.as_ptr()).tables).write_volatile(*tables) };
        Ok(shared)
    }

    /// The state that the kernel side has left after a run.
    pub(super) fn read(&self) -> FullSession {
        // ORDERING: the tracee was reaped by a system call, after its programs ran; the fence keeps the compiler from
        // reading early.
        fence(Ordering::Acquire);
        // SAFETY: the mapping lives as long as `self`, and any bits are a valid `FullSession`.
        unsafe { (&raw const (*self.state.as_ptr()).head).read_volatile() }
    }

    /// A copy of the part of the log that contains records. No reference may point to memory that the kernel side can
    /// still write to: a process that nobody could kill keeps recording.
    pub(super) fn log(&self, session: &FullSession) -> Vec<u8> {
        const WORD: usize = size_of::<u64>();
        let (used, base) = (used(session), self.log.as_ptr().cast::<u64>());
        let mut copy = Vec::with_capacity(used.next_multiple_of(WORD));
        for place in 0..used.div_ceil(WORD) {
            // SAFETY: within the mapping, which is page-aligned and a multiple of words long; any bits are valid.
            copy.extend_from_slice(&unsafe { base.add(place).read_volatile() }.to_ne_bytes());
        }
        copy.truncate(used);
        copy
    }

    /// Replaces the state and clears the used part of the log. Called before a run, when no program writes to
    /// either.
    pub(super) fn write(&self, session: FullSession) {
        let used = used(&self.read());
        // SAFETY: as above; the programs return at once while `root` and `armed_by` are 0.
        unsafe {
            std::ptr::write_bytes(self.log.as_ptr().cast::<u8>(), 0, used);
            (&raw mut (*self.state.as_ptr()).slots).write_volatile([[0; 10]; SLOTS]);
            (&raw mut (*self.state.as_ptr()).head).write_volatile(session);
        }
        // ORDERING: a system call, the launch, follows; the fence keeps the compiler from writing late.
        fence(Ordering::Release);
    }
}

/// How many bytes of the log contain records.
fn used(session: &FullSession) -> usize {
    usize::try_from(session.logged).unwrap_or(LOG_BYTES).min(LOG_BYTES)
}

#[cfg(test)]
mod tests {
    use super::super::c_header::{Headers, assert_same_constants};
    use super::*;
    use crate::arch::Structure;
    use std::mem::offset_of;

    #[test]
    fn the_session_matches_full_h() {
        assert_same_constants!(SLOTS, LOG_BYTES, LARGEST_RECORD, TAKES_STRUCTURE);
        let headers = Headers::read();
        let rooms = ["STRUCTURE_ROOM", "STRUCTURE_USUAL"]
            .map(|name| usize::try_from(headers.constant(name)).unwrap());
        assert_eq!(rooms, [Structure::LARGE_ROOM, Structure::USUAL_ROOM]);
        let session = headers.layout("full_session");
        let tables = offset_of!(State, tables);
        let here = [
            ("run", offset_of!(FullSession, run)),
            ("logged", offset_of!(FullSession, logged)),
            ("slots", offset_of!(State, slots)),
            ("meaning", tables + offset_of!(Tables, meaning)),
            ("paths", tables + offset_of!(Tables, paths)),
            ("compat_paths", tables + offset_of!(Tables, compat_paths)),
        ];

        assert_eq!(here.map(|(name, at)| (name.to_owned(), at)).as_slice(), session.members);
        assert_eq!(size_of::<State>(), session.size);
        assert_eq!(size_of::<[u64; 10]>(), headers.layout("thread_slot").size);
    }
}
