//! What `full.bpf.c` and we share: `full.h` in Rust. Keep the two in step.

use super::run::{CALLS, Head, Mapped, PATH_ROOM, RECORD as HEAD, Run, long, syscall, word};
use crate::tracer::detail::{Call, Fault, Image, OffCpu, auxiliary_vector};
use crate::tracer::{Event, EventKind};
use crate::units::Nanos;
use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{Ordering, fence};

const SLOTS: usize = 32;
pub(super) const LOG_BYTES: usize = 1 << 20;
const LARGEST_RECORD: usize = 2048;

const CALL_OUTPUT: u32 = 0x2000_0000;
const CALL_NUMBER: u32 = 0x1fff_ffff;
const FLAG: u32 = 0x8000_0000;

/// The head of `struct full_session`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Session {
    pub(super) run: Run,
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

/// The session and the log of records.
pub(super) struct Shared {
    state: Mapped<State>,
    log: Mapped<[u8; LOG_BYTES]>,
}

impl Shared {
    /// Maps both, and tells the kernel side what system calls mean.
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

    /// What the kernel side has left of a run.
    pub(super) fn read(&self) -> Session {
        // ORDERING: the tracee was reaped by a system call, after its programs ran; the fence keeps the compiler from
        // reading early.
        fence(Ordering::Acquire);
        // SAFETY: the mapping lives as long as we, and any bits make a `Session`.
        unsafe { (&raw const (*self.state.as_ptr()).head).read_volatile() }
    }

    /// The bytes of the log that hold records.
    pub(super) fn log(&self, session: &Session) -> &[u8] {
        let used = usize::try_from(session.logged).unwrap_or(LOG_BYTES).min(LOG_BYTES);
        // SAFETY: within the mapping; no program writes while `root` is 0 or the tree is gone, and a late write would
        // change bytes that are valid whatever they are.
        unsafe { std::slice::from_raw_parts(self.log.as_ptr().cast::<u8>(), used) }
    }

    /// Replaces the state: before a run, when no program writes to it. Clears the log's used part.
    pub(super) fn write(&self, session: Session) {
        let used = self.log(&self.read()).len();
        // SAFETY: as above; the programs leave at once while `root` and `armed_by` are 0.
        unsafe {
            std::ptr::write_bytes(self.log.as_ptr().cast::<u8>(), 0, used);
            (&raw mut (*self.state.as_ptr()).slots).write_volatile([[0; 9]; SLOTS]);
            (&raw mut (*self.state.as_ptr()).head).write_volatile(session);
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

const CALL: usize = HEAD + 16 + 48 + 64;
const IMAGE: usize = HEAD + 48 + 48 * 8;

fn size_of_kind(kind: u32) -> Option<usize> {
    Some(match kind {
        1 | 2 | 4 | 7 | 8 | 9 | 19 | WAS_MAJOR => HEAD,
        16 => CALL,
        17 => CALL + PATH_ROOM,
        18 => CALL + 2 * PATH_ROOM,
        20 => HEAD + 16 + 64,
        21 => HEAD + 16,
        22 => IMAGE + 3 * PATH_ROOM,
        PATH_REST => HEAD + REST_ROOM,
        25 => HEAD + 8,
        _ => return None,
    })
}

/// The string that begins at `at`: up to its NUL, or as much as there was room for, and `…`.
fn string(bytes: &[u8], at: usize) -> Option<String> {
    let room = bytes.get(at..at + PATH_ROOM)?;
    let (text, is_whole) = until_nul(room);
    Some(shown(text, is_whole))
}

/// What goes before the NUL, and whether there is one.
fn until_nul(room: &[u8]) -> (&[u8], bool) {
    let end = room.iter().position(|byte| *byte == 0);
    (&room[..end.unwrap_or(room.len())], end.is_some())
}

fn shown(text: &[u8], is_whole: bool) -> String {
    String::from_utf8_lossy(text).into_owned() + if is_whole { "" } else { "…" }
}

/// `FULL_FAULT_WAS_MAJOR`.
const WAS_MAJOR: u32 = 23;

/// `FULL_PATH_REST`.
const PATH_REST: u32 = 24;
/// `REST_ROOM`.
const REST_ROOM: usize = 1920;

/// Paths that did not fit their call's record: as much of them as was read until now, by thread and place among the
/// paths of its last call.
#[derive(Debug, Default)]
pub(super) struct LongPaths(HashMap<(u32, usize), Vec<u8>>);

impl LongPaths {
    /// Notes the paths of a call that go on in further records.
    fn begin(&mut self, tid: u32, paths: usize, bytes: &[u8]) {
        for n in 0..paths {
            let room = bytes.get(CALL + n * PATH_ROOM..).and_then(|rest| rest.get(..PATH_ROOM));
            if let Some((text, false)) = room.map(until_nul) {
                self.0.insert((tid, n), text.to_vec());
            }
        }
    }

    /// Adds a further piece to a path, in the call that has it.
    fn go_on(&mut self, events: &mut [Event], head: &Head, piece: &[u8]) {
        let n = head.code as usize;
        let Some(path) = self.0.get_mut(&(head.tid, n)) else { return };
        let (text, is_whole) = until_nul(piece);
        path.extend_from_slice(text);
        let mut calls = events.iter_mut().rev().filter(|event| event.tid == head.tid);
        if let Some(EventKind::Call(call)) = calls.next().map(|event| &mut event.kind)
            && let Some(known) = call.paths.get_mut(n)
        {
            *known = shown(path, is_whole && head.value >= 0);
        }
    }
}

/// Adds one record's event to those before it; `None` if it is none that we know.
pub(super) fn add(events: &mut Vec<Event>, long: &mut LongPaths, bytes: &[u8]) -> Option<()> {
    let head = Head::of(bytes)?;
    if head.kind == PATH_REST {
        long.go_on(events, &head, bytes.get(HEAD..HEAD + REST_ROOM)?);
        return Some(());
    }
    if head.kind == WAS_MAJOR {
        last_fault_was_major(events, head.tid);
        return Some(());
    }
    let event = |kind| Event { at: head.at, pid: head.pid, tid: head.tid, kind };
    let kind = kind(bytes, &head)?;
    if let EventKind::Call(call) = &kind {
        long.begin(head.tid, call.paths.len(), bytes);
    }
    if let EventKind::Image(image) = &kind {
        // an image is an exec's commit, too: for those who want phases alone
        events.push(event(EventKind::ExecCommit { path: image.path.clone() }));
    }
    events.push(event(kind));
    Some(())
}

fn last_fault_was_major(events: &mut [Event], tid: u32) {
    let of_thread = events.iter_mut().rev().filter(|event| event.tid == tid);
    let mut faults = of_thread.filter_map(|event| match &mut event.kind {
        EventKind::Fault(fault) => Some(fault),
        _ => None,
    });
    if let Some(fault) = faults.next() {
        fault.major = true;
    }
}

fn kind(bytes: &[u8], head: &Head) -> Option<EventKind> {
    let Head { at, kind, code, value, .. } = *head;
    Some(match kind {
        9 => EventKind::ParentTold,
        16..=18 => EventKind::Call(Box::new(call(bytes, kind, code, value)?)),
        19 => EventKind::Call(Box::new(unfinished(at, code))),
        25 => EventKind::Call(Box::new(uring_output(bytes, code, value)?)),
        20 => EventKind::Fault(Box::new(fault(bytes, code, value)?)),
        21 => EventKind::OffCpu(off_cpu(bytes, code)?),
        22 => EventKind::Image(Box::new(image(bytes, code, value)?)),
        _ => head.common()?,
    })
}

fn call(bytes: &[u8], kind: u32, code: u32, value: i64) -> Option<Call> {
    let mut arguments = [0; 6];
    for (n, argument) in arguments.iter_mut().enumerate() {
        *argument = long(bytes, HEAD + 16 + 8 * n)?;
    }
    let paths: Option<Vec<String>> =
        (0..kind as usize - 16).map(|n| string(bytes, CALL + n * PATH_ROOM)).collect();
    Some(Call {
        call: syscall(code, CALL_NUMBER),
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
        call: syscall(code, CALL_NUMBER),
        entered,
        result: None,
        arguments: [0; 6],
        ip: 0,
        stack: Vec::new(),
        paths: Vec::new(),
        output: code & CALL_OUTPUT != 0,
    }
}

/// A write of output by `io_uring`, until [`add_output_events`] has made of it what it is to the phases.
///
/// [`add_output_events`]: crate::tracer::Recording::add_output_events
fn uring_output(bytes: &[u8], code: u32, value: i64) -> Option<Call> {
    let entered = Nanos(long(bytes, HEAD)?);
    Some(Call { entered, result: Some(value), output: true, ..unfinished(entered, code) })
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
        auxv: auxiliary_vector(bytes.get(HEAD + 48..IMAGE)?),
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
    fn every_kind_that_is_an_event_has_a_size_so_that_what_follows_it_in_the_log_is_found() {
        for kind in 0..64_u32 {
            let mut bytes = vec![0; LARGEST_RECORD];
            bytes[16..20].copy_from_slice(&kind.to_ne_bytes());
            let known = add(&mut Vec::new(), &mut LongPaths::default(), &bytes).is_some();
            assert_eq!(known, size_of_kind(kind).is_some(), "kind {kind}");
        }
    }

    #[test]
    fn a_fault_that_was_major_is_the_threads_last_one() {
        let record = |kind: u32, tid: u32, at: u64| {
            let mut bytes = vec![0; size_of_kind(kind).unwrap()];
            bytes[..8].copy_from_slice(&at.to_ne_bytes());
            bytes[12..16].copy_from_slice(&tid.to_ne_bytes());
            bytes[16..20].copy_from_slice(&kind.to_ne_bytes());
            bytes
        };
        let mut events = Vec::new();
        for (kind, tid, at) in [(20, 1, 1), (20, 1, 2), (20, 2, 3), (WAS_MAJOR, 1, 4), (WAS_MAJOR, 3, 5)] {
            add(&mut events, &mut LongPaths::default(), &record(kind, tid, at)).unwrap();
        }
        let major = events.iter().map(|e| matches!(&e.kind, EventKind::Fault(fault) if fault.major));
        assert_eq!(major.collect::<Vec<_>>(), [false, true, false]);
    }

    /// A record of a thread, whose text lies at `at`.
    fn record_of(tid: u32, kind: u32, at: usize, code: u32, text: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; size_of_kind(kind).unwrap()];
        bytes[12..16].copy_from_slice(&tid.to_ne_bytes());
        bytes[16..20].copy_from_slice(&kind.to_ne_bytes());
        bytes[20..24].copy_from_slice(&code.to_ne_bytes());
        let text = &text[..text.len().min(bytes.len() - at)];
        bytes[at..at + text.len()].copy_from_slice(text);
        bytes
    }

    #[test]
    fn a_long_path_is_put_together_and_one_whose_end_is_missing_says_so() {
        let path = "/é".repeat(800); // 2400 bytes; an odd byte divides a letter at the end of the first room
        let path = format!("x{path}");
        let (first, rest) = path.as_bytes().split_at(PATH_ROOM);
        let (second, third) = rest.split_at(REST_ROOM);
        let (mut events, mut long) = (Vec::new(), LongPaths::default());
        let mut add = |record: Vec<u8>| {
            add(&mut events, &mut long, &record).unwrap();
            events
                .iter()
                .map(|event| match &event.kind {
                    EventKind::Call(call) => call.paths.clone(),
                    _ => Vec::new(),
                })
                .collect::<Vec<_>>()
        };
        add(record_of(1, 18, CALL, 0, &[first, b"/second"].concat()));
        add(record_of(2, 17, CALL, 0, first));
        add(record_of(1, PATH_REST, HEAD, 0, second));
        let paths = add(record_of(1, PATH_REST, HEAD, 0, third));
        assert_eq!(paths[0], [path.as_str(), "/second"]);
        assert!(paths[1][0].ends_with('…'), "nothing of the rest came");
        let paths = add(record_of(2, PATH_REST, HEAD, 0, &[b'y'; REST_ROOM]));
        assert!(paths[1][0].ends_with("yyy…"), "no NUL came");
    }

    #[test]
    fn every_truncation_of_every_kind_is_no_event_and_no_panic() {
        for kind in 0..32_u32 {
            let mut bytes = vec![0x41_u8; 2048];
            bytes[16..20].copy_from_slice(&kind.to_ne_bytes());
            for length in 0..bytes.len() {
                let _ = add(&mut Vec::new(), &mut LongPaths::default(), &bytes[..length]);
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
