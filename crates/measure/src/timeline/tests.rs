//! Hand-made event streams, and the timelines that they must give.

use super::*;
use crate::arch::{Abi, Syscall};
use crate::tracer::{Backend, Output};

const ROOT: u32 = 100;
const CALL: Syscall = Syscall { abi: Abi::Native, number: 1 };

fn at(ns: u64, pid: u32, tid: u32, kind: EventKind) -> Event {
    Event { at: Nanos(ns), pid, tid, kind }
}

fn root(ns: u64, kind: EventKind) -> Event {
    at(ns, ROOT, ROOT, kind)
}

fn recording(bytes: u64, inner: Vec<Event>) -> Recording {
    let mut events = vec![at(0, 0, 0, EventKind::Spawn)];
    events.extend(inner);
    events.push(at(1_000, 0, 0, EventKind::Reaped { status: 0 }));
    Recording {
        command: vec!["./test".to_owned()],
        events,
        output: Output { bytes: Some(bytes), exact: true, ..Output::default() },
        ..Recording::empty(Backend::Bpf, ROOT)
    }
}

fn exec(from: u64, to: u64) -> Vec<Event> {
    vec![
        root(from, EventKind::ExecEnter),
        root(from + 1, EventKind::ExecPrepare),
        root(to - 1, EventKind::ExecCommit { path: String::new() }),
        root(to, EventKind::ExecExit { result: 0 }),
    ]
}

fn write(pid: u32, tid: u32, from: u64, to: u64, result: i64) -> Vec<Event> {
    vec![
        at(from, pid, tid, EventKind::OutputEnter { call: CALL }),
        at(to, pid, tid, EventKind::OutputExit { call: CALL, result }),
    ]
}

fn exit(ns: u64) -> Event {
    root(ns, EventKind::Exit { group_dead: true, status: 0 })
}

fn last(ns: u64, bytes: u64) -> Event {
    at(ns, 0, 0, EventKind::OutputLast { writes: 1, bytes })
}

#[test]
fn the_four_phases_partition_the_total_exactly() {
    let events = [exec(10, 60), write(ROOT, ROOT, 200, 205, 12), vec![last(205, 12), exit(777)]].concat();
    let timeline = Timeline::of(&recording(12, events)).unwrap();
    let phases = timeline.phases.unwrap();
    assert_eq!(phases.startup, Nanos(50));
    assert_eq!(phases.setup, Some(Nanos(140)));
    assert_eq!(phases.write, Some(Nanos(5)));
    assert_eq!(phases.teardown, Nanos(572));
    assert_eq!(timeline.first_byte, Some(Nanos(195)));
    assert_eq!((timeline.total, timeline.wall), (Nanos(767), Nanos(1_000)));
    assert_eq!((timeline.processes, timeline.threads, timeline.execs), (1, 1, 1));
    let names: Vec<_> = timeline.instants.into_iter().map(|i| (i.at.0, i.what)).collect();
    assert_eq!(
        names,
        [(1, Happening::ExecPrepared), (49, Happening::ExecCommitted), (195, Happening::LastOutput)]
    );
}

#[test]
fn a_silent_program_has_setup_until_it_begins_to_exit_and_no_write() {
    let told = root(120, EventKind::ParentTold);
    let timeline = Timeline::of(&recording(0, [exec(10, 60), vec![exit(100), told]].concat())).unwrap();
    let phases = timeline.phases.unwrap();
    assert_eq!((phases.setup, phases.write, phases.teardown), (Some(Nanos(40)), None, Nanos(20)));
    assert_eq!((timeline.first_byte, timeline.total), (None, Nanos(110)));
}

#[test]
fn the_first_write_is_the_first_that_succeeds_in_any_process() {
    let child = 200;
    let fork = root(70, EventKind::Fork { child_pid: child, child_tid: child });
    let thread = root(71, EventKind::Fork { child_pid: ROOT, child_tid: 101 });
    let events = [
        exec(10, 60),
        vec![fork, thread],
        write(ROOT, 101, 80, 85, -11),
        write(child, child, 90, 95, 5),
        vec![at(96, child, child, EventKind::Exit { group_dead: true, status: 0 }), last(95, 5), exit(100)],
    ]
    .concat();
    let timeline = Timeline::of(&recording(5, events)).unwrap();
    assert_eq!(timeline.phases.unwrap().setup, Some(Nanos(30)));
    assert_eq!((timeline.processes, timeline.threads), (2, 3));
}

/// Setup, write and teardown of two threads whose writes overlap: 101 enters at 70 and 102 at 75, and they return at 78 and 90
/// in this order.
fn overlapping_writes(returning: [u32; 2]) -> (Option<Nanos>, Option<Nanos>, Nanos) {
    let mut events = exec(10, 60);
    events.push(at(70, ROOT, 101, EventKind::OutputEnter { call: CALL }));
    events.push(at(75, ROOT, 102, EventKind::OutputEnter { call: CALL }));
    events.push(at(78, ROOT, returning[0], EventKind::OutputExit { call: CALL, result: 6 }));
    events.push(at(90, ROOT, returning[1], EventKind::OutputExit { call: CALL, result: 6 }));
    events.extend([last(90, 12), exit(100)]);
    let phases = Timeline::of(&recording(12, events)).unwrap().phases.unwrap();
    (phases.setup, phases.write, phases.teardown)
}

#[test]
fn the_first_write_is_entered_by_the_thread_that_returns_from_it() {
    let phases = |setup, write| (Some(Nanos(setup)), Some(Nanos(write)), Nanos(22));
    assert_eq!(overlapping_writes([102, 101]), phases(15, 3));
    assert_eq!(overlapping_writes([101, 102]), phases(10, 8));
}

#[test]
fn later_execs_of_a_chain_are_instants_within_setup() {
    let mut events = exec(10, 60);
    events.push(root(70, EventKind::ExecEnter));
    events.push(root(75, EventKind::ExecCommit { path: "/bin/b".to_owned() }));
    events.push(root(80, EventKind::ExecExit { result: 0 }));
    events.extend(write(ROOT, ROOT, 90, 91, 1));
    events.extend([last(91, 1), exit(100)]);
    let timeline = Timeline::of(&recording(1, events)).unwrap();
    assert_eq!(timeline.phases.unwrap().startup, Nanos(50));
    assert_eq!(timeline.execs, 2);
    let executed = Happening::Executed { pid: ROOT, path: "/bin/b".to_owned() };
    assert!(timeline.instants.contains(&Instant { at: Nanos(65), what: executed }));
}

#[test]
fn output_after_the_tracees_exit_is_not_its_first_byte() {
    let events = [exec(10, 60), vec![exit(100)], write(200, 200, 120, 125, 3), vec![last(125, 3)]].concat();
    let mut late = recording(3, events);
    late.left_behind = true;
    assert_eq!(Timeline::of(&late).unwrap().first_byte, None);
}

#[test]
fn the_tracer_and_the_reading_end_must_agree() {
    let events = [exec(10, 60), write(ROOT, ROOT, 70, 75, 12), vec![last(75, 12), exit(100)]].concat();
    assert_eq!(Timeline::of(&recording(7, events.clone())), Err(Disagreement { written: 12, read: 7 }));
    let mut file = recording(7, events.clone());
    (file.output.exact, file.output.rewritable) = (false, true);
    assert!(Timeline::of(&file).is_ok(), "a place may be written twice");
    file.output.bytes = Some(13);
    assert_eq!(
        Timeline::of(&file),
        Err(Disagreement { written: 12, read: 13 }),
        "a byte arrived that the tracer did not see"
    );
    let mut terminal = recording(7, events);
    terminal.output.exact = false;
    assert!(Timeline::of(&terminal).is_ok());
    terminal.output.bytes = Some(0);
    assert!(Timeline::of(&terminal).is_err());
}

#[test]
fn what_processes_that_were_left_behind_write_later_is_no_disagreement() {
    let events = [exec(10, 60), write(ROOT, ROOT, 70, 75, 12), vec![last(75, 12), exit(100)]].concat();
    let left = Recording { left_behind: true, ..recording(7, events) };
    assert_eq!(Timeline::of(&left).unwrap().first_byte, Some(Nanos(65)));
}

#[test]
fn without_a_tracer_there_are_no_phases() {
    let arrival = recording(1, vec![at(300, 0, 0, EventKind::FirstRead { bytes: 1 })]);
    let timeline = Timeline::of(&Recording { backend: Backend::Pipe, ..arrival }).unwrap();
    assert_eq!((timeline.phases, timeline.first_byte), (None, Some(Nanos(300))));
    assert_eq!((timeline.total, timeline.processes), (Nanos(1_000), 0));
}

#[test]
fn missing_or_disordered_events_are_errors_not_guesses() {
    assert_eq!(Timeline::of(&recording(0, exec(10, 60))), Err(Missing("the tracee's exit")), "no exit");
    let unreturned = vec![root(10, EventKind::ExecEnter), exit(100)];
    assert_eq!(Timeline::of(&recording(0, unreturned)), Err(Missing("the return of `execve`")));
    let backwards =
        vec![root(60, EventKind::ExecEnter), root(10, EventKind::ExecExit { result: 0 }), exit(100)];
    assert!(matches!(Timeline::of(&recording(0, backwards)), Err(Disorder(..))));
    let mut headless = recording(0, vec![]);
    headless.events.clear();
    assert_eq!(Timeline::of(&headless), Err(Missing("the launch")));
}

#[test]
fn a_tracer_that_missed_the_exec_is_not_taken_for_the_pipe_backend() {
    let blind = recording(0, vec![]);
    assert_eq!(Timeline::of(&blind), Err(Missing("the entry of `execve`")));
    let outside = Recording { backend: Backend::Pipe, ..blind };
    assert_eq!(Timeline::of(&outside).map(|timeline| timeline.phases), Ok(None));
}

#[test]
fn the_exit_is_the_instant_at_which_the_parent_gets_its_signal() {
    let events = [exec(10, 60), vec![exit(100), root(180, EventKind::ParentTold)]].concat();
    let timeline = Timeline::of(&recording(0, events)).unwrap();
    assert_eq!((timeline.phases.unwrap().teardown, timeline.total), (Nanos(80), Nanos(170)));
}

#[test]
fn with_an_io_uring_there_is_a_first_byte_only_if_all_output_was_seen() {
    let seen = || [exec(10, 60), vec![root(65, EventKind::Ring)], write(ROOT, ROOT, 70, 75, 6)].concat();
    let of = |bytes: Option<u64>, exact| {
        let events = [seen(), vec![last(75, 6), exit(100)]].concat();
        let run = recording(0, events);
        Timeline::of(&Recording { output: Output { bytes, exact, ..Output::default() }, ..run })
    };
    assert_eq!(of(Some(6), true).unwrap().first_byte, Some(Nanos(65)));
    assert_eq!(of(Some(18), true).unwrap_err(), TimelineError::Ring);
    assert_eq!(of(Some(7), false).unwrap_err(), TimelineError::Ring, "a terminal");
    assert_eq!(of(None, false).unwrap_err(), TimelineError::Ring, "a null device");
}

/// What was waited for has arrived: the rest is not part of the run.
#[test]
fn a_run_that_ends_early_ends_when_its_output_arrived() {
    let reached = at(300, 0, 0, EventKind::Reached { sign: None });
    let output = || [write(ROOT, ROOT, 200, 205, 12), vec![last(205, 12)]].concat();
    let timeline_of = |inner: Vec<Event>, bytes| {
        let events = [exec(10, 60), inner, vec![reached.clone(), exit(777)]].concat();
        Timeline::of(&recording(bytes, events)).unwrap()
    };
    let timeline = timeline_of(output(), 12);
    assert_eq!((timeline.total, timeline.wall), (Nanos(290), Nanos(300)));
    assert_eq!(timeline.phases.unwrap().teardown, Nanos(95));
    let phases = timeline_of(Vec::new(), 0).phases.unwrap();
    assert_eq!((phases.setup, phases.teardown), (Some(Nanos(240)), Nanos(0)));
}

/// A server may print something while we have not looked at its port again.
#[test]
fn what_is_written_after_the_end_of_the_run_is_not_its_first_byte() {
    let reached = at(300, 0, 0, EventKind::Reached { sign: None });
    let late = [write(ROOT, ROOT, 400, 405, 12), vec![last(405, 12), exit(777)]].concat();
    let events = [exec(10, 60), vec![reached], late].concat();
    let timeline = Timeline::of(&recording(12, events)).unwrap();
    assert_eq!((timeline.total, timeline.first_byte), (Nanos(290), None));
    assert_eq!(timeline.phases.unwrap().setup, Some(Nanos(240)));
}

/// With a single stop, at the return of the exec: the tracee stands still from 60 to 70, and from 90 to 97 while we read.
#[test]
fn what_the_tracee_stood_still_is_part_of_no_phase() {
    let exec = || vec![root(10, EventKind::ExecEnter), root(60, EventKind::ExecExit { result: 0 })];
    let resumed = |ns| root(ns, EventKind::Resumed);
    let arrived = || at(90, 0, 0, EventKind::FirstRead { bytes: 6 });
    let end = || root(140, EventKind::ParentTold);
    let of = |events: Vec<Vec<Event>>| Timeline::of(&recording(6, events.concat()));

    let timeline = of(vec![exec(), vec![resumed(70), arrived(), resumed(97), end()]]).unwrap();
    let phases = Phases { startup: Nanos(50), setup: Some(Nanos(20)), write: None, teardown: Nanos(43) };
    assert_eq!(timeline.phases, Some(phases));
    assert_eq!((timeline.first_byte, timeline.total), (Some(Nanos(70)), Nanos(113)));

    let timeline = of(vec![exec(), vec![resumed(70), arrived(), end()]]).unwrap();
    assert_eq!(timeline.phases.unwrap().teardown, Nanos(50), "the reader has a processor of its own");
    let silent = of(vec![exec(), vec![resumed(70), end()]]);
    assert_eq!(silent, Err(Missing("the arrival of the first byte")));
}
