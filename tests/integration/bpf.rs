//! The BPF backend: the same tracees as the other backends, and events that only BPF can lose or see.

use crate::support::skipped;
use crate::tracees::{CASES, HELLO, PIPE_CASES, check_table, last_output, launcher, options};
use firstbyte::bench::{Accepted, validity};
use firstbyte_measure::Counts;
use firstbyte_measure::arch::IO_URING_BASE;
use firstbyte_measure::launch::wait::{Killed, Watch};
use firstbyte_measure::launch::{Command, ExitStatus, Launcher, OutputKind, Until};
use firstbyte_measure::timeline::Timeline;
use firstbyte_measure::tracer::bpf::{BpfFull, BpfPhases, DEFAULT_RING, LARGE_RING};
use firstbyte_measure::tracer::full::{FullTracer, choose_full};
use firstbyte_measure::tracer::{BackendChoice, EventKind, Recording, RunOptions, Tracer};
use std::time::Duration;

/// An attached tracer; `None`, and reported as skipped, if the kernel or our privileges do not allow it.
fn tracer(ring: u32) -> Option<BpfPhases> {
    let attached = BpfPhases::load(ring).and_then(|mut tracer| tracer.attach().map(|()| tracer));
    attached.map_err(|error| skipped(&format!("bpf does not work here: {error}"))).ok()
}

fn check(cases: &[crate::tracees::Case], output: OutputKind) {
    if let Some(mut tracer) = tracer(DEFAULT_RING) {
        check_table(&mut tracer, cases, output);
    }
}

#[test]
fn every_tracee_is_seen_correctly_through_a_pipe() {
    check(CASES, OutputKind::Pipe);
    check(PIPE_CASES, OutputKind::Pipe);
}

#[test]
fn every_tracee_is_seen_correctly_on_a_terminal() {
    // A daemon in another session loses the terminal together with its leader, and may die of that.
    let stay: Vec<_> = CASES.iter().copied().filter(|case| case.arguments != ["daemon"]).collect();
    check(&stay, OutputKind::Pty);
}

#[test]
fn every_tracee_is_seen_correctly_with_a_file() {
    check(CASES, OutputKind::File);
}

#[test]
fn every_tracee_is_seen_correctly_with_the_null_device() {
    check(CASES, OutputKind::Null);
}

#[test]
fn io_uring_writes_are_output() {
    let (Some(mut tracer), Some(mut launcher)) = (tracer(DEFAULT_RING), launcher("uring.c", &[])) else {
        return;
    };
    let recording = tracer.run(&mut launcher, &options(OutputKind::Pipe)).unwrap();
    if recording.exit == ExitStatus::Code(77) {
        return skipped("the kernel refuses io_uring");
    }
    assert_eq!(recording.output.head, HELLO);
    assert_eq!(last_output(&recording), (1, 12));
    let write = |kind: &EventKind| matches!(kind, EventKind::OutputExit { call, .. } if call.number == IO_URING_BASE + 23);
    assert!(recording.events.iter().any(|event| write(&event.kind)));
    assert!(Timeline::of(&recording).unwrap().first_byte.is_some());
}

#[test]
fn lost_events_are_counted_and_reject_the_run() {
    let page = u32::try_from(rustix::param::page_size()).unwrap();
    let (Some(mut tracer), Some(mut launcher)) =
        (tracer(page), launcher("writer.c", &["forking-threads", "500"]))
    else {
        return;
    };
    let recording = tracer.run(&mut launcher, &options(OutputKind::Pipe)).unwrap();
    assert!(recording.lost > 0, "a ring of one page has no room for 4000 events");
    let rejected = validity::sample(&recording, Accepted::SUCCESS).unwrap_err();
    let expected = format!("the tracer lost {} events (--backend ptrace loses none)", recording.lost);
    assert_eq!(rejected, expected);
    // The next run is not affected.
    let Some(mut plain) = launcher_of("writer.c") else { return };
    let recording = tracer.run(&mut plain, &options(OutputKind::Pipe)).unwrap();
    assert_eq!((recording.lost, recording.output.head.as_slice()), (0, HELLO));
}

fn launcher_of(source: &str) -> Option<Launcher> {
    launcher(source, &["write"])
}

#[test]
fn two_hundred_threads_lose_nothing_with_the_default_ring() {
    let (Some(mut tracer), Some(mut launcher)) =
        (tracer(DEFAULT_RING), launcher("writer.c", &["threads", "200"]))
    else {
        return;
    };
    let recording = tracer.run(&mut launcher, &options(OutputKind::Pipe)).unwrap();
    assert_eq!(recording.lost, 0);
    assert_eq!(Timeline::of(&recording).unwrap().threads, 201);
}

/// Each of them has a slot of its own while all are alive.
#[test]
fn a_full_trace_of_ten_thousand_threads_loses_nothing() {
    let Some(mut launcher) = launcher("many.c", &["threads", "10000"]) else { return };
    let attached = BpfFull::load(LARGE_RING).and_then(|mut tracer| tracer.attach().map(|()| tracer));
    let mut tracer = match attached {
        Ok(tracer) => tracer,
        Err(error) => return skipped(&format!("bpf does not work here: {error}")),
    };
    let recording = tracer.run(&mut launcher, &options(OutputKind::Pipe)).unwrap();
    assert_eq!((recording.lost, recording.exit.success()), (0, true));
    assert_eq!(Timeline::of(&recording).unwrap().threads, 10_001);
}

/// With a ring of a sixteenth of the default size, which is filled many times. A host that takes away the processor of
/// the thread which empties it can make any run lose events, but not one run after the other.
#[test]
fn twenty_thousand_processes_lose_nothing() {
    let (Some(mut tracer), Some(mut launcher)) =
        (tracer(DEFAULT_RING / 16), launcher("writer.c", &["forking-threads", "5000"]))
    else {
        return;
    };
    let mut run = || tracer.run(&mut launcher, &options(OutputKind::Pipe)).unwrap();
    let complete = (0..4).map(|_| run()).find(|recording| recording.lost == 0).expect("one without a loss");
    assert_eq!(complete.output.head.as_slice(), HELLO);
    assert_eq!(Timeline::of(&complete).unwrap().processes, 20_001);
}

/// The ids of processes that have ended belong to others: with events lost, they seem to live.
#[test]
fn after_lost_events_nobody_is_killed_who_has_ended() {
    let page = u32::try_from(rustix::param::page_size()).unwrap();
    let (Some(mut tracer), Some(mut launcher)) =
        (tracer(page), launcher("writer.c", &["fleeting-children", "2000"]))
    else {
        return;
    };
    let recording = tracer.run(&mut launcher, &options(OutputKind::Pipe)).unwrap();
    assert!(recording.lost > 0, "a ring of one page has no room for 4000 events");
    assert!(!recording.left_behind, "nobody was left, so nobody was killed");
}

#[test]
fn a_program_that_stops_itself_or_hangs_is_killed_with_its_tree() {
    let Some(mut tracer) = tracer(DEFAULT_RING) else { return };
    let limit = RunOptions { timeout: Some(Duration::from_millis(200)), ..RunOptions::default() };
    for (how, killed) in [
        ("stop", Killed::Stopped(libc::SIGSTOP)),
        ("hang", Killed::TimedOut),
        ("hang-tree", Killed::TimedOut),
        ("hang-elsewhere", Killed::TimedOut),
    ] {
        let Some(mut launcher) = launcher("writer.c", &[how]) else { return };
        let options = if how == "stop" { options(OutputKind::Pipe) } else { limit.clone() };
        let recording = tracer.run(&mut launcher, &options).unwrap();
        assert_eq!(recording.killed, Some(killed), "{how}");
        assert_gone(&recording);
    }
}

fn assert_gone(recording: &Recording) {
    let born = recording.events.iter().filter_map(|event| match event.kind {
        EventKind::Fork { child_pid, .. } => Some(child_pid),
        _ => None,
    });
    for pid in born.chain([recording.root]) {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // A zombie has ended and waits for the process that will reap it.
        let dead = state.is_empty()
            || state.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
        assert!(dead, "{pid} is still alive: {state}");
    }
}

#[test]
fn a_chain_of_execs_names_each_program() {
    let (Some(mut tracer), Ok(command)) = (tracer(DEFAULT_RING), Command::new(&["env", "env", "true"]))
    else {
        return skipped("there is no env");
    };
    let mut launcher = Launcher::new(command).unwrap();
    let recording = tracer.run(&mut launcher, &options(OutputKind::Pipe)).unwrap();
    let names: Vec<_> = recording
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ExecCommit { path } => Some(path.rsplit('/').next().unwrap_or_default().to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["env", "env", "true"]);
}

#[test]
fn writes_of_others_to_the_same_device_are_not_the_tracees_output() {
    // The null device is shared by everyone: only writes through the descriptor that we gave count.
    let (Some(mut tracer), Some(mut launcher)) = (tracer(DEFAULT_RING), launcher("writer.c", &["elsewhere"]))
    else {
        return;
    };
    let recording = tracer.run(&mut launcher, &options(OutputKind::Null)).unwrap();
    assert_eq!(last_output(&recording), (1, 12));
}

#[test]
fn a_file_that_replaces_stdout_is_not_our_stdout() {
    let (Some(mut tracer), Some(mut launcher)) = (tracer(DEFAULT_RING), launcher("writer.c", &["replaced"]))
    else {
        return;
    };
    // The text is searched for from the start, as in any run until a text.
    let never = Some(Until::Text(b"never"[..].into()));
    let options = RunOptions { until: never, ..options(OutputKind::Pipe) };
    let recording = tracer.run(&mut launcher, &options).unwrap();
    assert_eq!((recording.exit, last_output(&recording)), (ExitStatus::SUCCESS, (0, 0)));
}

#[test]
fn a_program_that_fills_its_pipe_is_read_while_it_writes_from_the_next_run_on() {
    let Some(mut tracer) = tracer(DEFAULT_RING) else { return };
    for (arguments, watch) in [(&["write"][..], Watch::Exit), (&["bulk", "1"], Watch::Arrival)] {
        let Some(mut launcher) = launcher("writer.c", arguments) else { return };
        assert_eq!(launcher.watch(), Watch::Exit);
        tracer.run(&mut launcher, &options(OutputKind::Pipe)).unwrap();
        assert_eq!(launcher.watch(), watch, "{arguments:?}");
    }
}

#[test]
fn attaching_and_detaching_repeatedly_is_harmless() {
    let Some(mut tracer) = tracer(DEFAULT_RING) else { return };
    let Some(mut launcher) = launcher_of("writer.c") else { return };
    for _ in 0..3 {
        let recording = tracer.run(&mut launcher, &options(OutputKind::Pipe)).unwrap();
        assert!(Timeline::of(&recording).unwrap().phases.is_some());
        tracer.detach().unwrap();
        assert!(tracer.attached().is_empty());
        tracer.attach().unwrap();
    }
}

#[test]
fn a_recording_survives_a_round_trip_through_json() {
    let (Some(mut tracer), Some(mut launcher)) = (tracer(DEFAULT_RING), launcher_of("writer.c")) else {
        return;
    };
    let recording = tracer.run(&mut launcher, &options(OutputKind::Pipe)).unwrap();
    let text = serde_json::to_string(&recording).unwrap();
    assert_eq!(serde_json::from_str::<Recording>(&text).unwrap(), recording);
}

#[test]
fn the_full_tracer_sees_faults_and_knows_what_an_event_costs() {
    let mut tracer = match choose_full(BackendChoice::Bpf, None) {
        Ok(chosen) => chosen.tracer,
        Err(error) => return skipped(&error.to_string()),
    };
    let Some(mut launcher) = launcher_of("writer.c") else { return };
    assert!(tracer.event_costs().unwrap().is_some());

    tracer.attach().unwrap();
    let recording = tracer.run(&mut launcher, &options(OutputKind::Pipe)).unwrap();
    let faults = recording.events.iter().filter(|event| matches!(event.kind, EventKind::Fault(_))).count();
    assert_eq!(tracer.sees_faults(), faults > 0, "{faults} faults");
    let mut ptrace = choose_full(BackendChoice::Ptrace, None).unwrap().tracer;
    assert_eq!((ptrace.event_costs().unwrap(), ptrace.sees_faults()), (None, false));
}

#[test]
fn counts_without_stops_are_those_with_stops() {
    let mut tracers = [BackendChoice::Bpf, BackendChoice::Ptrace].map(|choice| choose_full(choice, None));
    let [Ok(bpf), Ok(ptrace)] = &mut tracers else { return skipped("bpf does not work here") };
    bpf.tracer.attach().unwrap();
    // SAFETY: concerns only this thread and the processes that it will create: their numbers of faults are then the same
    unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };

    // the last one has more calls than fit the log
    let files = ["5", "3", "1000", "0", "0", "0", "0"];
    let many = ["20000", "20000", "1000", "0", "0", "0", "0"];
    for (source, words) in
        [("pages.S", &["9"][..]), ("int80.S", &[]), ("counted.c", &files), ("counted.c", &many)]
    {
        let Some(mut launcher) = launcher(source, words) else { return };
        let mut count = |tracer: &mut dyn FullTracer| {
            let (counts, recording) = tracer.count(&mut launcher, &options(OutputKind::Pipe)).unwrap();
            assert_eq!((recording.exit, recording.lost), (ExitStatus::SUCCESS, 0));
            Counts { max_rss: 0, ..counts }
        };
        count(&mut *ptrace.tracer); // reads the program's file
        assert_eq!(count(&mut *bpf.tracer), count(&mut *ptrace.tracer), "{source} {words:?}");
    }

    let Some(mut launcher) = launcher("counted.c", &["0", "0", "0", "4", "3", "2", "1"]) else { return };
    let mut tree = |tracer: &mut dyn FullTracer| {
        let (counts, _) = tracer.count(&mut launcher, &options(OutputKind::Pipe)).unwrap();
        [counts.processes, counts.threads, counts.execs]
    };
    assert_eq!(tree(&mut *bpf.tracer), tree(&mut *ptrace.tracer));
}

/// The software event of faults costs more than the tracepoint of memory control groups (Linux 6.15).
#[test]
fn faults_are_seen_by_the_cheaper_of_two_events() {
    let types = std::fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    let has = |name: &[u8]| types.windows(name.len()).any(|bytes| bytes == name);
    let options = std::fs::read_to_string("/proc/cmdline").unwrap_or_default();
    if !has(b"btf_trace_count_memcg_events") || options.contains("cgroup_disable=memory") {
        return skipped("this kernel lacks the tracepoint `count_memcg_events`");
    }
    let mut tracer = match BpfFull::load(LARGE_RING) {
        Ok(tracer) => tracer,
        Err(error) => return skipped(&format!("bpf does not work here: {error}")),
    };
    for _ in 0..2 {
        tracer.attach().unwrap();
        let attached = tracer.attached();
        assert!(attached.contains(&"count_memcg_events"), "{attached:?}");
        assert!(!attached.contains(&"fault_minor"), "{attached:?}");
        tracer.detach().unwrap();
    }
}
