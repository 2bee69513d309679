//! Turns the records of the full mode into events.

use super::full_session::{LARGEST_RECORD, LOG_BYTES};
use super::record::{
    CALLER_WORDS, ContentRecord, FaultRecord, Head, ImageRecord, LargeContentRecord, LargeStructureRecord,
    OffCpuRecord, OutputRecord, PathRestRecord, Record, RecordKind, StructureRecord, SyscallRecord, halves,
    read, syscall,
};
use super::shared_run::PATH_ROOM;
use crate::tracer::event::{Call, Content, Fault, Image, OffCpu, auxiliary_vector};
use crate::tracer::{Event, EventKind};
use crate::units::Nanos;
use std::collections::HashMap;

/// In the code of a system call's record: it may write to the tracee's stdout.
pub(super) const CALL_OUTPUT: u32 = 0x2000_0000;
/// The bits of that code that contain the number.
pub(super) const CALL_NUMBER: u32 = 0x1fff_ffff;
/// In the code of a fault: it was major.
pub(super) const FAULT_MAJOR: u32 = 0x8000_0000;
/// In the code of a fault: it was seen by the software event.
const FAULT_BY_EVENT: u32 = 0x4000_0000;
/// In the code of an absence: the thread was preempted.
const OFF_PREEMPTED: u32 = 0x8000_0000;

/// The offset of a call's paths in its record.
const PATHS: usize = size_of::<SyscallRecord>();

/// The records of a log, one after another. Stops at the first bytes that are not a record.
pub(super) fn records(log: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        if offset > LOG_BYTES - LARGEST_RECORD {
            return None;
        }
        let rest = log.get(offset..)?;
        let size = Head::of(rest)?.kind.size_in_full()?;
        offset += size;
        rest.get(..size)
    })
}

/// The path in a room: up to its NUL, or if there is none, as much as fits.
fn path(room: &[u8]) -> Content {
    let (text, is_whole) = until_nul(room);
    Content::path(text.to_vec(), is_whole)
}

/// The same as a text.
fn string(room: &[u8]) -> String {
    path(room).text()
}

/// The bytes before the NUL, and whether there is one.
fn until_nul(room: &[u8]) -> (&[u8], bool) {
    let end = room.iter().position(|byte| *byte == 0);
    (&room[..end.unwrap_or(room.len())], end.is_some())
}

/// The room of a call's path number `n`.
fn path_room(bytes: &[u8], n: usize) -> Option<&[u8]> {
    bytes.get(PATHS + n * PATH_ROOM..)?.get(..PATH_ROOM)
}

/// Paths that did not fit the record of their call, as far as they have been read, by thread and index among the paths of
/// its last call.
#[derive(Debug, Default)]
pub(super) struct LongPaths(HashMap<(u32, usize), Vec<u8>>);

impl LongPaths {
    /// Remembers the paths of a call that continue in further records.
    fn begin(&mut self, tid: u32, paths: usize, bytes: &[u8]) {
        for n in 0..paths {
            if let Some((text, false)) = path_room(bytes, n).map(until_nul) {
                self.0.insert((tid, n), text.to_vec());
            }
        }
    }

    /// Appends a piece to a path of the call that it belongs to.
    fn go_on(&mut self, events: &mut [Event], head: &Head, piece: &[u8]) {
        let n = head.code as usize;
        let Some(path) = self.0.get_mut(&(head.tid, n)) else { return };
        let (text, is_whole) = until_nul(piece);
        path.extend_from_slice(text);
        if let Some(EventKind::Call(call)) = last_of(events, head.tid)
            && let Some(known) = call.paths.get_mut(n)
        {
            *known = Content::path(path.clone(), is_whole && head.value >= 0);
        }
    }
}

/// Appends the event of one record. Returns `None` if the bytes are not a record of this mode.
pub(super) fn add(events: &mut Vec<Event>, long: &mut LongPaths, bytes: &[u8]) -> Option<()> {
    let head = Head::of(bytes)?;
    let event = |kind| Event { at: head.at, pid: head.pid, tid: head.tid, kind };

    let kind = match head.kind {
        RecordKind::PathRest => {
            long.go_on(events, &head, &read::<PathRestRecord>(bytes)?.rest);
            return Some(());
        }
        RecordKind::Structure => {
            add_structure(events, &head, &read::<StructureRecord>(bytes)?.bytes);
            return Some(());
        }
        RecordKind::LargeStructure => {
            add_structure(events, &head, &read::<LargeStructureRecord>(bytes)?.bytes);
            return Some(());
        }
        RecordKind::Content => {
            add_content(events, &head, &read::<ContentRecord>(bytes)?.bytes);
            return Some(());
        }
        RecordKind::LargeContent => {
            add_content(events, &head, &read::<LargeContentRecord>(bytes)?.bytes);
            return Some(());
        }
        RecordKind::FaultWasMajor => {
            last_fault_was_major(events, head.tid);
            return Some(());
        }
        RecordKind::ParentTold => EventKind::ParentTold,
        RecordKind::Signalled => EventKind::Signalled { signal: head.code.cast_signed() },
        RecordKind::Syscall => EventKind::Call(Box::new(call(bytes, 0)?)),
        RecordKind::SyscallPath => EventKind::Call(Box::new(call(bytes, 1)?)),
        RecordKind::SyscallPaths => EventKind::Call(Box::new(call(bytes, 2)?)),
        RecordKind::Unfinished => EventKind::Call(Box::new(unfinished(head.at, head.code))),
        RecordKind::UringOutput => EventKind::Call(Box::new(uring_output(read(bytes)?))),
        RecordKind::Fault => EventKind::Fault(Box::new(fault(&read(bytes)?))),
        RecordKind::OffCpu => EventKind::OffCpu(off_cpu(read(bytes)?)),
        RecordKind::Image => EventKind::Image(Box::new(image(&read(bytes)?))),
        RecordKind::ExecEnter
        | RecordKind::ExecPrepare
        | RecordKind::ExecExit
        | RecordKind::Fork
        | RecordKind::Exit => head.common()?,
        RecordKind::ExecCommit | RecordKind::OutputEnter | RecordKind::OutputExit | RecordKind::Mark => {
            return None;
        }
    };

    if let EventKind::Call(call) = &kind {
        long.begin(head.tid, call.paths.len(), bytes);
    }
    if let EventKind::Image(image) = &kind {
        // Also the commit of an exec, for readers that need only the phases.
        events.push(event(EventKind::ExecCommit { path: image.path.clone() }));
    }
    events.push(event(kind));
    Some(())
}

/// The last thing that a thread itself did. Others may have sent it a signal since.
fn last_of(events: &mut [Event], tid: u32) -> Option<&mut EventKind> {
    let did = |event: &&mut Event| event.tid == tid && !matches!(event.kind, EventKind::Signalled { .. });
    events.iter_mut().rev().find(did).map(|event| &mut event.kind)
}

/// The thread's last call has a structure with this content.
fn add_structure(events: &mut [Event], head: &Head, bytes: &[u8]) {
    if let Some(EventKind::Call(call)) = last_of(events, head.tid) {
        call.contain(&bytes[..(head.code as usize).min(bytes.len())]);
    }
}

/// The thread's last call has one more buffer with this content.
fn add_content(events: &mut [Event], head: &Head, bytes: &[u8]) {
    let Some(EventKind::Call(call)) = last_of(events, head.tid) else { return };
    let length = head.value.cast_unsigned();
    let unreadable = bytes.first_chunk().filter(|_| length > 0 && head.code == 0);
    let bytes = bytes[..(head.code as usize).min(bytes.len())].to_vec();
    call.contents.push(Content { length, bytes, unreadable: unreadable.map(|at| u64::from_ne_bytes(*at)) });
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

fn call(bytes: &[u8], paths: usize) -> Option<Call> {
    let SyscallRecord { record, entered, ip, arguments, stack } = read(bytes)?;
    let paths: Option<Vec<Content>> = (0..paths).map(|n| path_room(bytes, n).map(path)).collect();
    Some(Call {
        call: syscall(record.code, CALL_NUMBER),
        entered: Nanos(entered),
        result: Some(record.value),
        arguments,
        ip,
        stack: callers(stack),
        paths: paths?,
        pair: None,
        structure: Vec::new(),
        contents: Vec::new(),
        output: record.code & CALL_OUTPUT != 0,
        processor: None,
    })
}

/// The top of the user's stack; empty if it could not be read.
fn callers(stack: [u64; CALLER_WORDS]) -> Vec<u64> {
    if stack.iter().all(|word| *word == 0) { Vec::new() } else { stack.to_vec() }
}

fn unfinished(entered: Nanos, code: u32) -> Call {
    Call {
        call: syscall(code, CALL_NUMBER),
        entered,
        result: None,
        output: code & CALL_OUTPUT != 0,
        ..Call::default()
    }
}

/// A write of output by `io_uring`, until [`add_output_events`] turns it into the events that the phases need.
///
/// [`add_output_events`]: crate::tracer::Recording::add_output_events
fn uring_output(OutputRecord { record, entered }: OutputRecord) -> Call {
    let call = unfinished(Nanos(entered), record.code);
    Call { result: Some(record.value), output: true, ..call }
}

fn fault(FaultRecord { record, entered, ip }: &FaultRecord) -> Fault {
    /// The processor's error code: `X86_PF_WRITE`, `X86_PF_USER` (`arch/x86/include/asm/trap_pf.h`).
    const WRITE: u32 = 2;
    const USER: u32 = 4;
    let Record { code, value, .. } = *record;
    Fault {
        entered: Nanos(*entered),
        address: value.cast_unsigned(),
        ip: *ip,
        user: code & USER != 0,
        write: (code & FAULT_BY_EVENT == 0).then_some(code & WRITE != 0),
        major: code & FAULT_MAJOR != 0,
    }
}

fn off_cpu(OffCpuRecord { record, left, woken }: OffCpuRecord) -> OffCpu {
    // State 0 is TASK_RUNNING: the thread remained runnable, as when its time slice ends.
    let preempted = record.code & OFF_PREEMPTED != 0 || record.code == 0;
    let [pid, tid] = halves(record.value);
    let waker = (woken > 0 && pid > 0).then_some([pid, tid]);
    OffCpu { left: Nanos(left), woken: Nanos(woken), waker, preempted }
}

fn image(image: &ImageRecord) -> Image {
    let argv = &image.argv[..(image.record.code as usize).min(image.argv.len())];
    let words = argv.strip_suffix(&[0]).unwrap_or(argv).split(|byte| *byte == 0);
    let old_tid = u32::try_from(image.record.value).ok();
    Image {
        path: string(&image.path),
        executed: string(&image.interpreter),
        argv: words.map(|word| String::from_utf8_lossy(word).into_owned()).collect(),
        code: [image.start_code, image.end_code],
        data: [image.start_data, image.end_data],
        brk: image.start_brk,
        stack: image.start_stack,
        auxv: auxiliary_vector(image.auxv.map(u64::to_ne_bytes).as_flattened()),
        old_tid: old_tid.filter(|old| *old != image.record.tid),
        processor: None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::c_header::assert_same_constants;
    use super::*;

    const HEAD: usize = size_of::<Record>();
    const CALL: usize = size_of::<SyscallRecord>();
    const REST_ROOM: usize = super::super::record::REST_ROOM;

    fn size(kind: RecordKind) -> usize {
        kind.size_in_full().unwrap()
    }

    #[test]
    fn the_flags_are_those_of_full_h() {
        assert_same_constants!(CALL_OUTPUT, CALL_NUMBER, FAULT_MAJOR, FAULT_BY_EVENT, OFF_PREEMPTED);
    }

    #[test]
    fn every_kind_that_gives_an_event_has_a_size() {
        for kind in 0..64_u32 {
            let mut bytes = vec![0; LARGEST_RECORD];
            bytes[16..20].copy_from_slice(&kind.to_ne_bytes());
            let known = add(&mut Vec::new(), &mut LongPaths::default(), &bytes).is_some();
            let size = RecordKind::of(kind).and_then(RecordKind::size_in_full);
            assert_eq!(known, size.is_some(), "kind {kind}");
        }
    }

    #[test]
    fn the_last_fault_of_a_thread_becomes_major() {
        let record = |kind: RecordKind, tid: u32, at: u64| {
            let mut bytes = vec![0; size(kind)];
            bytes[..8].copy_from_slice(&at.to_ne_bytes());
            bytes[12..16].copy_from_slice(&tid.to_ne_bytes());
            bytes[16..20].copy_from_slice(&(kind as u32).to_ne_bytes());
            bytes
        };
        let mut events = Vec::new();
        let (taken, major) = (RecordKind::Fault, RecordKind::FaultWasMajor);
        for (kind, tid, at) in [(taken, 1, 1), (taken, 1, 2), (taken, 2, 3), (major, 1, 4), (major, 3, 5)] {
            add(&mut events, &mut LongPaths::default(), &record(kind, tid, at)).unwrap();
        }
        let major = events.iter().map(|e| matches!(&e.kind, EventKind::Fault(fault) if fault.major));
        assert_eq!(major.collect::<Vec<_>>(), [false, true, false]);
    }

    /// A record of a thread, whose text lies at `at`.
    fn record_of(tid: u32, kind: RecordKind, at: usize, code: u32, text: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; size(kind)];
        bytes[12..16].copy_from_slice(&tid.to_ne_bytes());
        bytes[16..20].copy_from_slice(&(kind as u32).to_ne_bytes());
        bytes[20..24].copy_from_slice(&code.to_ne_bytes());
        let text = &text[..text.len().min(bytes.len() - at)];
        bytes[at..at + text.len()].copy_from_slice(text);
        bytes
    }

    #[test]
    fn a_long_path_is_assembled_and_an_incomplete_one_ends_with_an_ellipsis() {
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
                    EventKind::Call(call) => call.paths.iter().map(Content::text).collect(),
                    _ => Vec::new(),
                })
                .collect::<Vec<_>>()
        };

        add(record_of(1, RecordKind::SyscallPaths, CALL, 0, &[first, b"/second"].concat()));
        add(record_of(2, RecordKind::SyscallPath, CALL, 0, first));
        add(record_of(1, RecordKind::PathRest, HEAD, 0, second));
        let paths = add(record_of(1, RecordKind::PathRest, HEAD, 0, third));
        assert_eq!(paths[0], [path.as_str(), "/second"]);
        assert!(paths[1][0].ends_with('…'), "no record with the rest arrived");
        let paths = add(record_of(2, RecordKind::PathRest, HEAD, 0, &[b'y'; REST_ROOM]));
        assert!(paths[1][0].ends_with("yyy…"), "no NUL came");
    }

    #[test]
    fn truncated_records_never_panic() {
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
    fn a_log_is_read_to_the_first_bytes_that_are_not_a_record() {
        let mut log = vec![0; 4096];
        let third = HEAD + size(RecordKind::OffCpu);
        for (offset, kind) in
            [(0, RecordKind::ExecEnter), (HEAD, RecordKind::OffCpu), (third, RecordKind::Exit)]
        {
            log[offset + 16..offset + 20].copy_from_slice(&(kind as u32).to_ne_bytes());
        }
        assert_eq!(records(&log).map(<[u8]>::len).collect::<Vec<_>>(), [HEAD, HEAD + 16, HEAD]);
    }
}
