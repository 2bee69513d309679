//! Turns stops into whole system calls and images, which the full mode has in addition to the phases.
//!
//! Page faults and context switches cause no stops. Their time is part of that of calls and user code.

use super::contents::contents;
use super::processor::ProcessorTimes;
use super::task_tree::Task;
use super::tracee::{EnteredCall, TracedThread};
use crate::arch::{CallRole, Layout, Structure, call_roles, path_arguments, structures};
use crate::clock;
use crate::tracer::event::{Call, Content, Image, OnProcessor, WantedContents, auxiliary_vector, is_restart};
use crate::tracer::{Event, EventKind};
use crate::units::Nanos;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::mem::offset_of;

/// Room for most paths, and room for the longest path that the kernel accepts (`PATH_MAX`).
const USUAL_ROOM: usize = 256;
const PATH_ROOM: usize = 4096;
/// How many words of the stack are read. Some of them are return addresses.
const STACK_WORDS: usize = 8;

/// Collects the events of one run.
#[derive(Debug, Default)]
pub(super) struct FullEvents {
    events: Vec<Event>,
    flights: HashMap<i32, Flight>,
    /// Calls that were interrupted, by thread, each with its event in case it does not continue.
    interrupted: HashMap<i32, (Flight, Event)>,
    /// Threads that seccomp kills in the call that ended last.
    killed: HashSet<i32>,
    /// The first exec has begun.
    begun: bool,
    wanted: WantedContents,
    times: ProcessorTimes,
}

/// A call in progress.
#[derive(Debug)]
struct Flight {
    entered: Nanos,
    entry: EnteredCall,
    processor: Option<OnProcessor>,
    /// The path that an exec names.
    exec: Option<String>,
}

impl FullEvents {
    /// Records also these contents of buffers.
    pub(super) fn new(wanted: WantedContents) -> FullEvents {
        FullEvents { wanted, ..FullEvents::default() }
    }

    /// A thread is at the entry of a call, either for the first time or because an interrupted call `continues`.
    pub(super) fn entered(&mut self, tracee: TracedThread, task: Task, entry: &EnteredCall, continues: bool) {
        self.killed.remove(&task.thread);
        match self.interrupted.remove(&task.thread) {
            Some((flight, _)) if continues => {
                self.flights.insert(task.thread, flight);
                return;
            }
            Some((_, event)) => self.events.push(event),
            None => {}
        }
        let is_exec = call_roles().get(entry.call) == Some(CallRole::Exec);
        self.begun |= is_exec;
        if !self.begun {
            return;
        }
        let exec = is_exec.then(|| paths(tracee, entry).pop().unwrap_or_default().text());
        let processor = self.times.of(task);
        let flight = Flight { entered: clock::now(), entry: *entry, processor, exec };
        self.flights.insert(task.thread, flight);
    }

    /// A thread has returned from a call.
    pub(super) fn returned(&mut self, at: Nanos, tracee: TracedThread, task: Task, result: i64) {
        let Some(flight) = self.flights.remove(&task.thread) else { return };
        if flight.exec.is_some() && result == 0 {
            return; // a successful exec is not a call of the new image
        }
        if result == rolled_back(&flight.entry) && tracee.awaits(libc::SIGSYS) {
            self.killed.insert(task.thread);
        }

        let processor =
            flight.processor.zip(self.times.of(task)).map(|(entry, exit)| Box::new([entry, exit]));
        let (ip, sp) = tracee.place().unwrap_or_default();
        let paths = paths(tracee, &flight.entry);
        let mut call = Call {
            call: flight.entry.call,
            entered: flight.entered,
            result: Some(result),
            arguments: flight.entry.arguments,
            ip,
            stack: stack(tracee, sp),
            paths,
            pair: None,
            structure: Vec::new(),
            contents: contents(tracee, &flight.entry, result, self.wanted),
            output: false,
            processor,
        };
        call.contain(&structure(tracee, &flight.entry));

        let event = event(at, task, EventKind::Call(Box::new(call)));
        if is_restart(result) {
            self.interrupted.insert(task.thread, (flight, event));
        } else {
            self.events.push(event);
        }
    }

    /// An exec has succeeded; `former` is the id of the thread that called it.
    pub(super) fn executed(&mut self, at: Nanos, task: Task, former: i32) {
        let flight = self.flights.remove(&former);
        if former != task.thread {
            self.times.forget(former);
        }
        let path = flight.as_ref().and_then(|flight| flight.exec.clone()).unwrap_or_default();
        let old_tid = (former != task.thread).then_some(former.cast_unsigned());
        let entry = flight.as_ref().and_then(|flight| flight.processor);
        let processor = entry.zip(self.times.of(task)).map(|(entry, committed)| Box::new([entry, committed]));
        let image = Image { processor, ..image(task.process, path, old_tid) };
        self.push(at, task, EventKind::Image(Box::new(image)));
        if let Some(flight) = flight {
            self.flights.insert(task.thread, flight);
        }
    }

    /// A signal is about to be delivered to a thread.
    pub(super) fn signalled(&mut self, at: Nanos, task: Task, signal: i32) {
        self.push(at, task, EventKind::Signalled { signal });
    }

    /// A thread is about to exit. It never returns from the call that it is in.
    pub(super) fn exiting(&mut self, task: Task) {
        self.times.forget(task.thread);
        let Some(Flight { entered, entry, .. }) = self.flights.remove(&task.thread) else { return };
        let call =
            Call { call: entry.call, entered, result: None, arguments: entry.arguments, ..Call::default() };
        self.push(entered, task, EventKind::Call(Box::new(call)));
    }

    /// Whether a thread that SIGSYS ends made the call for which seccomp kills. Others of its process die of it, too.
    pub(super) fn was_killed_in_call(&mut self, thread: i32) -> bool {
        self.killed.remove(&thread)
    }

    /// Moves the events since the last call to the end of `events`.
    pub(super) fn drain_into(&mut self, events: &mut Vec<Event>) {
        events.append(&mut self.events);
    }

    /// The interrupted calls that never continued.
    pub(super) fn into_interrupted(self) -> impl Iterator<Item = Event> {
        self.interrupted.into_values().map(|(_, event)| event)
    }

    fn push(&mut self, at: Nanos, task: Task, kind: EventKind) {
        self.events.push(event(at, task, kind));
    }
}

/// What the kernel has put back into the register of the result where seccomp kills (`syscall_rollback`). The call may also
/// have returned this: `read` has the number 0.
fn rolled_back(entry: &EnteredCall) -> i64 {
    if cfg!(target_arch = "aarch64") { entry.arguments[0].cast_signed() } else { entry.call.number.into() }
}

/// The last call of a thread that seccomp killed in it never returned.
pub(super) fn correct_killed_call(events: &mut [Event], thread: i32) {
    let own = events.iter_mut().rev().filter(|event| event.tid == thread.cast_unsigned());
    let mut calls = own.filter_map(|event| match &mut event.kind {
        EventKind::Call(call) => Some((&mut event.at, call)),
        _ => None,
    });
    if let Some((at, call)) = calls.next() {
        call.result = None;
        *at = call.entered;
    }
}

fn event(at: Nanos, task: Task, kind: EventKind) -> Event {
    Event { at, pid: task.process.cast_unsigned(), tid: task.thread.cast_unsigned(), kind }
}

/// The path arguments of a call.
fn paths(tracee: TracedThread, entry: &EnteredCall) -> Vec<Content> {
    let positions = path_arguments().get(entry.call).unwrap_or_default();
    let path = |position: u8| path(tracee, entry.arguments[usize::from(position)]);
    positions.into_iter().flatten().map(path).collect()
}

/// What is recorded of the structure among a call's arguments, as far as it can be read.
fn structure(tracee: TracedThread, entry: &EnteredCall) -> Vec<u8> {
    let Some((at, kind)) = structures().get(entry.call) else { return Vec::new() };
    let from = entry.arguments[usize::from(at)];
    match kind.layout() {
        Layout::Usual => memory(tracee, from, Structure::USUAL_ROOM),
        Layout::Large => memory(tracee, from, Structure::LARGE_ROOM),
        Layout::Status => status(tracee, from, &STAT),
        Layout::ExtendedStatus => status(tracee, from, &STATX),
    }
}

/// Where the kernel stores a file's mode, its size, and the number of a device.
struct StatusLayout {
    mode: usize,
    size: usize,
    device: usize,
}

const STAT: StatusLayout = StatusLayout {
    mode: offset_of!(libc::stat, st_mode),
    size: offset_of!(libc::stat, st_size),
    device: offset_of!(libc::stat, st_rdev),
};
const STATX: StatusLayout = StatusLayout {
    mode: offset_of!(libc::statx, stx_mode),
    size: offset_of!(libc::statx, stx_size),
    device: offset_of!(libc::statx, stx_rdev_major),
};

/// The mode of a file, which has two bytes, and its size, or the number of a device.
fn status(tracee: TracedThread, from: u64, layout: &StatusLayout) -> Vec<u8> {
    let at = |offset: usize| from.wrapping_add(offset as u64);
    let mut bytes = memory(tracee, at(layout.mode), 2);
    let kind = bytes.first_chunk().map_or(0, |mode| u32::from(u16::from_ne_bytes(*mode)) & libc::S_IFMT);
    let is_device = matches!(kind, libc::S_IFCHR | libc::S_IFBLK);
    bytes.resize(Structure::USUAL_ROOM / 2, 0);
    bytes.extend(memory(
        tracee,
        at(if is_device { layout.device } else { layout.size }),
        Structure::USUAL_ROOM / 2,
    ));
    bytes
}

fn memory(tracee: TracedThread, from: u64, room: usize) -> Vec<u8> {
    let mut room = vec![0; room];
    let read = tracee.read_memory(from, &mut room);
    room.truncate(read);
    room
}

/// The path at an address, as far as it can be read.
pub(super) fn path(tracee: TracedThread, address: u64) -> Content {
    let mut room = [0; PATH_ROOM];
    let usual = tracee.read_memory(address, &mut room[..USUAL_ROOM]);
    let read = if room[..usual].contains(&0) { usual } else { tracee.read_memory(address, &mut room) };
    let text = room[..read].split(|byte| *byte == 0).next().unwrap_or_default();
    Content::path(text.to_vec(), text.len() < PATH_ROOM)
}

fn stack(tracee: TracedThread, sp: u64) -> Vec<u64> {
    let mut room = [0; STACK_WORDS * 8];
    let read = tracee.read_memory(sp, &mut room);
    let words = room[..read].as_chunks::<8>().0;
    words.iter().map(|word| u64::from_ne_bytes(*word)).collect()
}

/// Reads from `/proc` what it shows of a new image (`proc_pid_stat(5)`, `proc_pid_auxv(5)`).
fn image(process: i32, path: String, old_tid: Option<u32>) -> Image {
    let file = |name: &str| format!("/proc/{process}/{name}");
    let stat = fs::read_to_string(file("stat")).unwrap_or_default();
    // Fields are counted from 1, and the third follows the name.
    let field = |number: usize| -> u64 {
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        after_name.split_whitespace().nth(number - 3).and_then(|n| n.parse().ok()).unwrap_or(0)
    };

    let arguments = fs::read(file("cmdline")).unwrap_or_default();
    let arguments = arguments.strip_suffix(&[0]).unwrap_or(&arguments).split(|byte| *byte == 0);
    let executed = fs::read_link(file("exe")).map(|exe| exe.to_string_lossy().into_owned());

    Image {
        executed: executed.unwrap_or_else(|_| path.clone()),
        path,
        argv: arguments.map(|word| String::from_utf8_lossy(word).into_owned()).collect(),
        code: [field(26), field(27)],
        data: [field(45), field(46)],
        brk: field(47),
        stack: field(28),
        auxv: auxiliary_vector(&fs::read(file("auxv")).unwrap_or_default()),
        old_tid,
        processor: None,
    }
}
