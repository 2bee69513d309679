//! What `full.bpf.c` and we share: `full.h` in Rust. Keep the two in step.

use crate::tracer::detail::{Call, Fault, Image, OffCpu};
use crate::tracer::{Abi, Event, EventKind, Syscall};
use crate::units::Nanos;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

/// `CALLS`.
pub(super) const CALLS: usize = 512;
const SLOTS: usize = 32;
const LOG_BYTES: usize = 1 << 20;
const LARGEST_RECORD: usize = 2048;

const CALL_COMPAT: u32 = 0x8000_0000;
const CALL_OUTPUT: u32 = 0x2000_0000;
const CALL_NUMBER: u32 = 0x1fff_ffff;
const FLAG: u32 = 0x8000_0000;
const PATH_ROOM: usize = 256;

/// The head of `struct full_session`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Session {
    pub(super) armed_by: u32,
    pub(super) root: u32,
    pub(super) others: i32,
    pub(super) overflown: i32,
    pub(super) exec_begun: u32,
    pub(super) exec_done: u32,
    pub(super) match_inode: u32,
    pub(super) spare: u32,
    pub(super) stdout_file: u64,
    pub(super) stdout_inode: u64,
    pub(super) lost: u64,
    pub(super) logged: u64,
}

/// `struct full_session`, whole.
#[repr(C)]
struct State {
    head: Session,
    slots: [[u64; 9]; SLOTS],
    tables: Tables,
}

/// What the kernel side knows of system calls, by number.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Tables {
    pub(super) meaning: [u8; CALLS],
    pub(super) paths: [u8; CALLS],
    pub(super) compat_paths: [u8; CALLS],
}

/// Memory that we share with the kernel side: the value of a one-element array map.
struct Mapped<T> {
    place: NonNull<T>,
    length: usize,
}

impl<T> Mapped<T> {
    fn of(map: BorrowedFd<'_>) -> std::io::Result<Mapped<T>> {
        let length = size_of::<T>().next_multiple_of(rustix::param::page_size());
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh shared mapping of a map made with BPF_F_MMAPABLE, whose one value is a `T`.
        let place =
            unsafe { libc::mmap(std::ptr::null_mut(), length, access, libc::MAP_SHARED, map.as_raw_fd(), 0) };
        match NonNull::new(place.cast::<T>()) {
            Some(place) if place.as_ptr().cast::<libc::c_void>() != libc::MAP_FAILED => {
                Ok(Mapped { place, length })
            }
            _ => Err(std::io::Error::last_os_error()),
        }
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: our own mapping.
        unsafe { libc::munmap(self.place.as_ptr().cast(), self.length) };
    }
}

/// The session and the log of records.
pub(super) struct Shared {
    state: Mapped<State>,
    log: Mapped<[u8; LOG_BYTES]>,
}

// SAFETY: the mappings are only touched through `&self` by the one tracer that owns them.
unsafe impl Send for Shared {}

impl Shared {
    /// Maps both, and tells the kernel side what system calls mean.
    pub(super) fn map(
        session: BorrowedFd<'_>,
        log: BorrowedFd<'_>,
        tables: &Tables,
    ) -> std::io::Result<Shared> {
        let shared = Shared { state: Mapped::of(session)?, log: Mapped::of(log)? };
        // SAFETY: the value is a `State`; no program that reads it is attached yet.
        unsafe { (&raw mut (*shared.state.place.as_ptr()).tables).write_volatile(*tables) };
        Ok(shared)
    }

    /// What the kernel side has left of a run.
    pub(super) fn read(&self) -> Session {
        // ORDERING: the tracee was reaped by a system call, after its programs ran; the fence keeps the compiler from
        // reading early.
        fence(Ordering::Acquire);
        // SAFETY: the mapping lives as long as we, and any bits make a `Session`.
        unsafe { (&raw const (*self.state.place.as_ptr()).head).read_volatile() }
    }

    /// The bytes of the log that hold records.
    pub(super) fn log(&self, session: &Session) -> &[u8] {
        let used = usize::try_from(session.logged).unwrap_or(LOG_BYTES).min(LOG_BYTES);
        // SAFETY: within the mapping; no program writes while `root` is 0 or the tree is gone, and a late write would
        // change bytes that are valid whatever they are.
        unsafe { std::slice::from_raw_parts(self.log.place.as_ptr().cast::<u8>(), used) }
    }

    /// Replaces the state: before a run, when no program writes to it. Clears the log's used part.
    pub(super) fn write(&self, session: Session) {
        let used = self.log(&self.read()).len();
        // SAFETY: as above; the programs leave at once while `root` and `armed_by` are 0.
        unsafe {
            std::ptr::write_bytes(self.log.place.as_ptr().cast::<u8>(), 0, used);
            (&raw mut (*self.state.place.as_ptr()).slots).write_volatile([[0; 9]; SLOTS]);
            (&raw mut (*self.state.place.as_ptr()).head).write_volatile(session);
        }
        // ORDERING: the launch that follows is a system call; the fence keeps the compiler from writing late.
        fence(Ordering::Release);
    }
}

/// The records of a log, one after another; stops at what is none.
pub(super) fn records(log: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut place = 0;
    std::iter::from_fn(move || {
        if place > LOG_BYTES - LARGEST_RECORD {
            return None;
        }
        let rest = log.get(place..)?;
        let size = size_of_kind(word(rest, 16)?)?;
        place += size;
        rest.get(..size)
    })
}

const HEAD: usize = 32;
const CALL: usize = HEAD + 16 + 48 + 64;
const IMAGE: usize = HEAD + 48 + 48 * 8;

fn size_of_kind(kind: u32) -> Option<usize> {
    Some(match kind {
        1 | 2 | 4 | 7 | 8 | 19 => HEAD,
        16 => CALL,
        17 => CALL + PATH_ROOM,
        18 => CALL + 2 * PATH_ROOM,
        20 => HEAD + 16 + 64,
        21 => HEAD + 16,
        22 => IMAGE + 3 * PATH_ROOM,
        _ => return None,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The string that begins at `at`: up to its NUL, or the end of its room.
fn string(bytes: &[u8], at: usize) -> Option<String> {
    let room = bytes.get(at..at + PATH_ROOM)?;
    let end = room.iter().position(|byte| *byte == 0).unwrap_or(PATH_ROOM);
    Some(String::from_utf8_lossy(&room[..end]).into_owned())
}

/// One record's event; `None` if it is none that we know.
pub(super) fn parse(bytes: &[u8]) -> Option<Event> {
    let (at, kind) = (Nanos(long(bytes, 0)?), word(bytes, 16)?);
    let (code, value) = (word(bytes, 20)?, long(bytes, 24)?.cast_signed());
    let kind = match kind {
        1 => EventKind::ExecEnter,
        2 => EventKind::ExecPrepare,
        4 => EventKind::ExecExit { result: value },
        7 => EventKind::Fork { child_pid: code, child_tid: u32::try_from(value).ok()? },
        8 => EventKind::Exit { group_dead: code != 0, status: i32::try_from(value).ok()? },
        9 => EventKind::ParentTold,
        16..=18 => EventKind::Call(Box::new(call(bytes, kind, code, value)?)),
        19 => EventKind::Call(Box::new(unfinished(at, code))),
        20 => EventKind::Fault(Box::new(fault(bytes, code, value)?)),
        21 => EventKind::OffCpu(off_cpu(bytes, code)?),
        22 => EventKind::Image(Box::new(image(bytes, code, value)?)),
        _ => return None,
    };
    Some(Event { at, pid: word(bytes, 8)?, tid: word(bytes, 12)?, kind })
}

fn syscall(code: u32) -> Syscall {
    let abi = if code & CALL_COMPAT == 0 { Abi::Native } else { Abi::Compat };
    Syscall { abi, number: code & CALL_NUMBER }
}

fn call(bytes: &[u8], kind: u32, code: u32, value: i64) -> Option<Call> {
    let mut arguments = [0; 6];
    for (n, argument) in arguments.iter_mut().enumerate() {
        *argument = long(bytes, HEAD + 16 + 8 * n)?;
    }
    let paths: Option<Vec<String>> =
        (0..kind as usize - 16).map(|n| string(bytes, CALL + n * PATH_ROOM)).collect();
    Some(Call {
        call: syscall(code),
        entered: Nanos(long(bytes, HEAD)?),
        result: Some(value),
        arguments,
        ip: long(bytes, HEAD + 8)?,
        stack: stack(bytes, HEAD + 64)?,
        paths: paths?,
        output: code & CALL_OUTPUT != 0,
    })
}

/// The user's top of stack; empty where it could not be read.
fn stack(bytes: &[u8], at: usize) -> Option<Vec<u64>> {
    let words: Option<Vec<u64>> = (0..8).map(|n| long(bytes, at + 8 * n)).collect();
    words.map(|words| if words.iter().all(|word| *word == 0) { Vec::new() } else { words })
}

fn unfinished(entered: Nanos, code: u32) -> Call {
    Call {
        call: syscall(code),
        entered,
        result: None,
        arguments: [0; 6],
        ip: 0,
        stack: Vec::new(),
        paths: Vec::new(),
        output: code & CALL_OUTPUT != 0,
    }
}

fn fault(bytes: &[u8], code: u32, value: i64) -> Option<Fault> {
    /// The processor's error code: `X86_PF_WRITE`, `X86_PF_USER` (`arch/x86/include/asm/trap_pf.h`).
    const WRITE: u32 = 2;
    const USER: u32 = 4;
    Some(Fault {
        entered: Nanos(long(bytes, HEAD)?),
        address: value.cast_unsigned(),
        ip: long(bytes, HEAD + 8)?,
        user: code & USER != 0,
        write: code & WRITE != 0,
        major: code & FLAG != 0,
        stack: stack(bytes, HEAD + 16)?,
    })
}

fn off_cpu(bytes: &[u8], code: u32) -> Option<OffCpu> {
    // state 0 is TASK_RUNNING: it was runnable all the while, as when its time slice ended
    let preempted = code & FLAG != 0 || code == 0;
    Some(OffCpu { left: Nanos(long(bytes, HEAD)?), woken: Nanos(long(bytes, HEAD + 8)?), preempted })
}

fn image(bytes: &[u8], argv: u32, old_tid: i64) -> Option<Image> {
    let field = |n: usize| long(bytes, HEAD + 8 * n);
    let mut auxv = Vec::new();
    for n in 0..24 {
        let entry = [long(bytes, HEAD + 48 + 16 * n)?, long(bytes, HEAD + 56 + 16 * n)?];
        if entry[0] == 0 {
            break;
        }
        auxv.push(entry);
    }
    let words = bytes.get(IMAGE + 2 * PATH_ROOM..)?;
    let words = words.get(..(argv as usize).min(PATH_ROOM))?;
    let words = words.strip_suffix(&[0]).unwrap_or(words).split(|byte| *byte == 0);
    Some(Image {
        path: string(bytes, IMAGE)?,
        executed: string(bytes, IMAGE + PATH_ROOM)?,
        argv: words.map(|word| String::from_utf8_lossy(word).into_owned()).collect(),
        code: [field(0)?, field(1)?],
        data: [field(2)?, field(3)?],
        brk: field(4)?,
        stack: field(5)?,
        auxv,
        old_tid: u32::try_from(old_tid).ok().filter(|old| Some(*old) != word(bytes, 12)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_match_full_h() {
        assert_eq!(size_of::<Session>(), 64);
        assert_eq!(std::mem::offset_of!(State, slots), 64);
        assert_eq!(std::mem::offset_of!(State, tables), 64 + SLOTS * 72);
        assert_eq!(size_of::<State>(), 64 + SLOTS * 72 + 3 * CALLS);
    }

    #[test]
    fn every_truncation_of_every_kind_is_no_event_and_no_panic() {
        for kind in 0..32_u32 {
            let mut bytes = vec![0x41_u8; 2048];
            bytes[16..20].copy_from_slice(&kind.to_ne_bytes());
            for length in 0..bytes.len() {
                let _ = parse(&bytes[..length]);
                let _ = records(&bytes[..length]).count();
            }
        }
    }

    #[test]
    fn a_log_is_read_record_by_record_until_what_is_none() {
        let mut log = vec![0; 4096];
        for (place, kind) in [(0, 1_u32), (HEAD, 21), (2 * HEAD + 16, 8)] {
            log[place + 16..place + 20].copy_from_slice(&kind.to_ne_bytes());
        }
        assert_eq!(records(&log).map(<[u8]>::len).collect::<Vec<_>>(), [HEAD, HEAD + 16, HEAD]);
    }
}
