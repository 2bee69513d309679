//! `full_session.h` in Rust: what the kernel side of the full mode shares with us. The tests compare the two files.

use super::scope::ScopeFields;
use super::shared_run::{CALLS, Mapped, PATH_ROOM, Run};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{Ordering, fence};

const SLOTS: usize = 32;
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

/// `struct starts`, without the name of the program.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Starts {
    /// How many starts of the program there were.
    pub(super) seen: u64,
    /// The number of the start that is wanted next.
    pub(super) due: u64,
    /// The number of the one that became the run; 0: not known yet.
    pub(super) number: u64,
    /// Its mount namespace, by inode number.
    pub(super) mounts: u32,
    pub(super) active: u32,
    pub(super) wanted: u32,
    /// The process of the run is gone.
    pub(super) over: u32,
    pub(super) by_path: u32,
    pub(super) length: u32,
    pub(super) thread: u32,
    pub(super) turn: u32,
    pub(super) scope: ScopeFields,
}

/// `struct thread_slot`.
pub(super) type ThreadSlot = [u64; THREAD_WORDS];

const THREAD_WORDS: usize = 10;

/// `struct full_session`, whole.
#[repr(C)]
struct State {
    head: FullSession,
    starts: Starts,
    program: [u8; PATH_ROOM],
    slots: [ThreadSlot; SLOTS],
    tables: Tables,
}

/// The kernel side's tables of system calls, by number.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Tables {
    pub(super) meaning: [u8; CALLS],
    pub(super) takes: [u32; CALLS],
    pub(super) compat_takes: [u32; CALLS],
    pub(super) content_bytes: u32,
    pub(super) padding: u32,
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
        shared.write_tables(tables);
        Ok(shared)
    }

    /// Replaces the tables of system calls. Called while no program that reads them is attached.
    pub(super) fn write_tables(&self, tables: &Tables) {
        // SAFETY: the value is a `State`, and any bits that a program might read meanwhile are valid.
        unsafe { (&raw mut (*self.state.as_ptr()).tables).write_volatile(*tables) };
        fence(Ordering::Release);
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
        for offset in 0..used.div_ceil(WORD) {
            // SAFETY: within the mapping, which is page-aligned and a multiple of words long; any bits are valid.
            copy.extend_from_slice(&unsafe { base.add(offset).read_volatile() }.to_ne_bytes());
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
            (&raw mut (*self.state.as_ptr()).slots).write_volatile([[0; THREAD_WORDS]; SLOTS]);
            (&raw mut (*self.state.as_ptr()).head).write_volatile(session);
        }
        // ORDERING: a system call, the launch, follows; the fence keeps the compiler from writing late.
        fence(Ordering::Release);
    }

    /// What is known of the starts of a program.
    pub(super) fn starts(&self) -> Starts {
        fence(Ordering::Acquire);
        // SAFETY: as in `read`: any bits are a valid `Starts`.
        unsafe { (&raw const (*self.state.as_ptr()).starts).read_volatile() }
    }

    /// Begins to wait for starts of a program, given as in `full_starts.h`.
    pub(super) fn begin_starts(&self, starts: Starts, program: &[u8; PATH_ROOM]) {
        // SAFETY: the mapping lives as long as `self`; no program reads this while `active` and `wanted` are 0.
        unsafe {
            (&raw mut (*self.state.as_ptr()).program).write_volatile(*program);
            let inactive = Starts { active: 0, wanted: 0, ..starts };
            (&raw mut (*self.state.as_ptr()).starts).write_volatile(inactive);
            fence(Ordering::Release);
            (&raw mut (*self.state.as_ptr()).starts.active).write_volatile(starts.active);
            (&raw mut (*self.state.as_ptr()).starts.wanted).write_volatile(starts.wanted);
        }
        fence(Ordering::Release);
    }

    /// From now on nothing of the run is recorded, and no start becomes the next one. A program that runs at this moment may
    /// still write a record. Only these fields change, because the kernel side counts starts meanwhile.
    pub(super) fn end_start(&self) {
        // SAFETY: the mapping lives as long as `self`.
        unsafe {
            (&raw mut (*self.state.as_ptr()).starts.wanted).write_volatile(0);
            (&raw mut (*self.state.as_ptr()).head.run.exec_begun).write_volatile(0);
            (&raw mut (*self.state.as_ptr()).head.run.root).write_volatile(0);
        }
        fence(Ordering::Release);
    }

    /// Waits for the start with the number `due`, or a later one. Call it a while after [`Shared::end_start`].
    pub(super) fn await_start(&self, due: u64) {
        self.write(FullSession::default());
        // SAFETY: the mapping lives as long as `self`. `wanted` is the last, because it lets a start begin.
        unsafe {
            (&raw mut (*self.state.as_ptr()).starts.number).write_volatile(0);
            (&raw mut (*self.state.as_ptr()).starts.over).write_volatile(0);
            (&raw mut (*self.state.as_ptr()).starts.due).write_volatile(due);
            fence(Ordering::Release);
            (&raw mut (*self.state.as_ptr()).starts.wanted).write_volatile(1);
        }
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
        assert_same_constants!(SLOTS, LOG_BYTES, LARGEST_RECORD);
        let headers = Headers::read();
        let rooms = ["LARGE_ROOM", "USUAL_ROOM"].map(|name| usize::try_from(headers.constant(name)).unwrap());
        assert_eq!(rooms, [Structure::LARGE_ROOM, Structure::USUAL_ROOM]);
        let session = headers.layout("full_session");
        let tables = offset_of!(State, tables);
        let starts = headers.layout("starts");
        assert_eq!(offset_of!(State, program) - offset_of!(State, starts), size_of::<Starts>());
        assert_eq!(size_of::<Starts>() + PATH_ROOM, starts.size);
        let here = [
            ("run", offset_of!(FullSession, run)),
            ("logged", offset_of!(FullSession, logged)),
            ("starts", offset_of!(State, starts)),
            ("slots", offset_of!(State, slots)),
            ("meaning", tables + offset_of!(Tables, meaning)),
            ("takes", tables + offset_of!(Tables, takes)),
            ("compat_takes", tables + offset_of!(Tables, compat_takes)),
            ("content_bytes", tables + offset_of!(Tables, content_bytes)),
            ("padding", tables + offset_of!(Tables, padding)),
        ];

        assert_eq!(here.map(|(name, at)| (name.to_owned(), at)).as_slice(), session.members);
        assert_eq!(size_of::<State>(), session.size);
        assert_eq!(size_of::<ThreadSlot>(), headers.layout("thread_slot").size);
    }

    #[test]
    fn the_starts_match_full_h() {
        let there = Headers::read().layout("starts").members;
        let here = [
            ("seen", offset_of!(Starts, seen)),
            ("due", offset_of!(Starts, due)),
            ("number", offset_of!(Starts, number)),
            ("mounts", offset_of!(Starts, mounts)),
            ("active", offset_of!(Starts, active)),
            ("wanted", offset_of!(Starts, wanted)),
            ("over", offset_of!(Starts, over)),
            ("by_path", offset_of!(Starts, by_path)),
            ("length", offset_of!(Starts, length)),
            ("thread", offset_of!(Starts, thread)),
            ("turn", offset_of!(Starts, turn)),
            ("scope", offset_of!(Starts, scope)),
            ("program", size_of::<Starts>()),
        ];
        assert_eq!(here.map(|(name, at)| (name.to_owned(), at)).as_slice(), there);
    }
}
