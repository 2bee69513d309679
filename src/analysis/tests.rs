//! Accounts of hand-made recordings.

use super::binaries::NoBinaries;
use super::{Account, PathPiece, Summary, ThreadAccount, What, processor_time};
use firstbyte_measure::arch::{Abi, Syscall, native_number};
use firstbyte_measure::launch::until::Sign;
use firstbyte_measure::tracer::event::{Call, Image};
use firstbyte_measure::tracer::{Backend, Event, EventKind, Recording};
use firstbyte_measure::units::Nanos;

const ROOT: u32 = 100;
/// When the first `execve` is entered. All times of an account are counted from here.
const ZERO: u64 = 1_000;

fn at(ns: u64, pid: u32, tid: u32, kind: EventKind) -> Event {
    Event { at: Nanos(ns), pid, tid, kind }
}

fn recording(backend: Backend, inner: Vec<Event>) -> Recording {
    let mut events = vec![at(ZERO - 10, 0, 0, EventKind::Spawn)];
    events.extend(inner);
    events.push(at(9_000, 0, 0, EventKind::Reaped { status: 0 }));
    events.sort_by_key(|event| event.at);
    Recording { command: vec!["./test".to_owned()], events, ..Recording::empty(backend, ROOT) }
}

fn account(backend: Backend, inner: Vec<Event>) -> Account {
    Account::of(&recording(backend, inner), &NoBinaries).unwrap()
}

fn exec(pid: u32, from: u64, to: u64) -> Vec<Event> {
    let image = Image { path: "/x".to_owned(), executed: "/x".to_owned(), ..Image::default() };
    vec![
        at(from, pid, pid, EventKind::ExecEnter),
        at(to - 1, pid, pid, EventKind::Image(Box::new(image))),
        at(to, pid, pid, EventKind::ExecExit { result: 0 }),
    ]
}

fn created(ns: u64, by: [u32; 2], [pid, tid]: [u32; 2]) -> Event {
    at(ns, by[0], by[1], EventKind::Fork { child_pid: pid, child_tid: tid })
}

fn exit(ns: u64, [pid, tid]: [u32; 2], group_dead: bool) -> Event {
    at(ns, pid, tid, EventKind::Exit { group_dead, status: 0 })
}

fn call(name: &str, pid: u32, [from, to]: [u64; 2], arguments: [u64; 6], result: i64) -> Event {
    let call = Call {
        call: Syscall { abi: Abi::Native, number: native_number(name).unwrap() },
        entered: Nanos(from),
        result: Some(result),
        arguments,
        paths: if name == "openat" { vec!["/a".into()] } else { Vec::new() },
        ..Call::default()
    };
    at(to, pid, pid, EventKind::Call(Box::new(call)))
}

fn pieces(account: &Account) -> Vec<(u32, u64, u64)> {
    account.path.iter().map(|piece| (piece.tid, piece.from.0, piece.to.0)).collect()
}

#[test]
fn a_run_ends_with_the_thread_that_listens_even_if_its_call_had_not_returned() {
    let mut events = exec(ROOT, ZERO, 1_100);
    events.push(created(1_200, [ROOT, ROOT], [200, 200]));
    events.push(call("socket", 200, [1_300, 1_310], [2, 1, 0, 0, 0, 0], 3));
    let sign = Some(Sign::Socket { holders: vec![(200, 3)] });
    events.push(at(1_500, 0, 0, EventKind::Reached { sign }));
    events.push(exit(1_600, [ROOT, ROOT], true));

    let account = account(Backend::Bpf, events);
    assert_eq!(pieces(&account), [(ROOT, 0, 200), (200, 200, 500)]);
    let last = account.steps.last().map(|step| (step.self_time.0, &*step.what));
    assert!(matches!(last, Some((190, What::Off(_)))), "{last:?}");
}

#[test]
fn the_time_of_a_child_counts_once_its_parent_has_waited_for_it() {
    let wait4 = |from_to, child| call("wait4", ROOT, from_to, [0; 6], child);
    let events = [
        exec(ROOT, ZERO, 1_100),
        vec![
            created(1_110, [ROOT, ROOT], [200, 200]),
            created(1_120, [ROOT, ROOT], [300, 300]),
            created(1_130, [200, 200], [400, 400]),
            exit(1_160, [400, 400], true),
            call("wait4", 200, [1_150, 1_170], [0; 6], 400),
            exit(1_210, [200, 200], true),
            wait4([1_190, 1_220], 200),
            exit(1_320, [300, 300], true),
            exit(1_400, [ROOT, ROOT], true),
        ],
    ];
    let time = processor_time::of_recording(&recording(Backend::Bpf, events.concat()), None).unwrap();
    // user code of the tracee: 300 less the wait; of its child: 100 less the wait; of that one's child: 30
    let user = 270 + 80 + 30;
    let kernel = [100 + 30, 20, 0];
    assert_eq!((time.user.0, time.scored.0), (user, user + kernel.iter().sum::<u64>()));
    assert_eq!(time.burnt, time.scored + Nanos(200));
}

/// The file of the last `read`, from a descriptor that was opened with close-on-exec before a second exec.
fn read_after_exec(between: &[Event]) -> Option<String> {
    let cloexec = libc::O_CLOEXEC.unsigned_abs().into();
    let opened = call("openat", ROOT, [1_110, 1_120], [0, 0, cloexec, 0, 0, 0], 3);
    let read = call("read", ROOT, [1_310, 1_320], [3, 0, 0, 0, 0, 0], 7);
    let ended = exit(1_400, [ROOT, ROOT], true);
    let before = [exec(ROOT, ZERO, 1_100), vec![opened], between.to_vec()].concat();
    let account = account(Backend::Bpf, [before, exec(ROOT, 1_200, 1_300), vec![read, ended]].concat());
    account.steps.iter().rev().find_map(|step| match &*step.what {
        What::Call { name, file, .. } if &**name == "read" => file.as_deref().map(str::to_owned),
        _ => None,
    })
}

#[test]
fn a_duplicate_is_open_after_an_exec_that_closes_the_original() {
    // not every architecture has `dup2`
    let Some(name) = ["dup2", "dup3"].into_iter().find(|name| native_number(name).is_some()) else { return };
    let there = call(name, ROOT, [1_130, 1_140], [3, 4, 0, 0, 0, 0], 4);
    let back = call(name, ROOT, [1_150, 1_160], [4, 3, 0, 0, 0, 0], 3);
    assert_eq!(read_after_exec(&[there, back]).as_deref(), Some("/a"));
}

#[test]
fn requests_of_ioctl_set_and_clear_close_on_exec() {
    let request = |number: u64| call("ioctl", ROOT, [1_130, 1_140], [3, number, 0, 0, 0, 0], 0);
    let [clear, set, other] = [0x5450, 0x5451, 0x5452].map(request);
    assert_eq!(read_after_exec(&[]), None);
    assert_eq!(read_after_exec(std::slice::from_ref(&other)), None);
    assert_eq!(read_after_exec(std::slice::from_ref(&clear)).as_deref(), Some("/a"));
    let again = Event { at: Nanos(1_160), ..set };
    assert_eq!(read_after_exec(&[clear, again]), None);
}

#[test]
fn a_program_ends_with_its_first_thread_or_with_the_one_that_outlives_it() {
    let begun = || {
        let threads = [[ROOT, 101], [ROOT, 102], [200, 200]];
        let births = (1_110..).zip(threads).map(|(ns, thread)| created(ns, [ROOT, ROOT], thread));
        exec(ROOT, ZERO, 1_100).into_iter().chain(births)
    };
    let last = |exits: Vec<Event>| {
        let account = account(Backend::Bpf, begun().chain(exits).collect());
        (account.total.0, pieces(&account).last().copied())
    };

    let others = |first_thread: Event, last_thread: Event| {
        vec![first_thread, last_thread, exit(1_150, [ROOT, 102], false), exit(1_300, [200, 200], true)]
    };
    let outlived = others(exit(1_140, [ROOT, ROOT], false), exit(1_200, [ROOT, 101], true));
    assert_eq!(last(outlived), (200, Some((101, 110, 200))));
    let first = others(exit(1_200, [ROOT, ROOT], true), exit(1_190, [ROOT, 101], false));
    assert_eq!(last(first), (200, Some((ROOT, 0, 200))));
}

#[test]
fn a_wait_under_ptrace_is_replaced_by_the_child_whenever_the_trace_began() {
    let events = vec![
        created(1_110, [ROOT, ROOT], [200, 200]),
        exit(1_160, [200, 200], true),
        call("wait4", ROOT, [1_130, 1_170], [0; 6], 200),
        exit(1_200, [ROOT, ROOT], true),
    ];
    let account = account(Backend::Ptrace, [exec(ROOT, ZERO, 1_100), events].concat());
    assert_eq!(pieces(&account), [(ROOT, 0, 110), (200, 110, 160), (ROOT, 160, 200)]);
    assert_eq!(account.steps.iter().map(|step| step.self_time.0).sum::<u64>(), 200);
}

#[test]
fn threads_are_numbered_within_their_process_since_its_last_exec() {
    let births = [
        created(1_105, [ROOT, ROOT], [ROOT, 101]),
        created(1_110, [ROOT, ROOT], [200, 200]),
        created(1_120, [200, 200], [200, 201]),
    ];
    let later = [
        created(1_310, [200, 200], [200, 203]),
        created(1_320, [ROOT, ROOT], [ROOT, 102]),
        created(1_330, [200, 203], [200, 202]),
        exit(1_380, [200, 200], true),
        exit(1_400, [ROOT, ROOT], true),
    ];
    let events = [exec(ROOT, ZERO, 1_100), births.to_vec(), exec(200, 1_200, 1_300), later.to_vec()];
    let account = account(Backend::Bpf, events.concat());

    let order = |tid: u32| {
        let thread = account.threads.iter().position(|thread| thread.tid == tid).unwrap();
        let ThreadAccount { pid, start, .. } = account.threads[thread];
        account.executions().thread_order(&PathPiece { thread, pid, tid, from: start, to: start })
    };
    assert_eq!([ROOT, 101, 102].map(order), [0, 1, 2]);
    assert_eq!([200, 201, 203, 202].map(order), [0, 1, 1, 2], "201 belonged to the program before");
}

#[test]
fn the_run_whose_total_is_the_median_is_shown() {
    let ended = |ns| {
        let events = [exec(ROOT, ZERO, 1_100), vec![exit(ns, [ROOT, ROOT], true)]].concat();
        account(Backend::Bpf, events)
    };
    let summary = Summary::of([1_900, 1_200, 1_500, 1_800, 1_300, 1_400, 1_700].map(ended).into()).unwrap();
    assert_eq!((summary.median_index, summary.median_run.total), (2, Nanos(500)));
    assert_eq!(summary.steps().iter().map(|step| step.step.self_time.0).sum::<u64>(), 500);
    let others: Vec<u64> = summary.others.iter().map(|(account, _)| account.total.0).collect();
    assert_eq!(others.iter().sum::<u64>(), 900 + 200 + 800 + 300 + 400 + 700);
    assert!(Summary::of(Vec::new()).is_none());
}

/// The first process of a pid that is used again created the process that created the second one. None of them executed a
/// program.
#[test]
fn a_pipe_is_named_after_the_program_of_ancestors_whose_pids_are_used_again() {
    let opened = call("pipe2", ROOT, [1_110, 1_120], [0x1000, 0, 0, 0, 0, 0], 0);
    let EventKind::Call(mut pipe) = opened.kind else { unreachable!() };
    pipe.pair = Some([3, 4]);
    let between = vec![
        Event { kind: EventKind::Call(pipe), ..opened },
        created(1_130, [ROOT, ROOT], [200, 200]),
        created(1_140, [200, 200], [300, 300]),
        exit(1_150, [200, 200], true),
        created(1_160, [300, 300], [200, 200]),
        call("write", ROOT, [1_310, 1_320], [4, 0, 7, 0, 0, 0], 7),
        exit(1_400, [ROOT, ROOT], true),
    ];
    let account = account(Backend::Bpf, [exec(ROOT, ZERO, 1_100), between].concat());
    let written = account.steps.iter().find_map(|step| match &*step.what {
        What::Call { name, text, .. } if &**name == "write" => Some(text.as_str()),
        _ => None,
    });
    assert!(written.is_some_and(|text| text.starts_with("write(4<pipe to x>")), "{written:?}");
}

#[test]
fn the_exec_of_a_thread_counts_on_a_clock_that_stands_still() {
    let mut events = exec(ROOT, ZERO, 2_000);
    let image = Image { path: "/y".to_owned(), old_tid: Some(101), ..Image::default() };
    events.extend([
        created(3_000, [ROOT, ROOT], [ROOT, 101]),
        at(3_000, ROOT, 101, EventKind::ExecEnter),
        exit(3_000, [ROOT, ROOT], false),
        at(3_000, ROOT, ROOT, EventKind::Image(Box::new(image))),
        at(3_000, ROOT, ROOT, EventKind::ExecExit { result: 0 }),
        exit(4_000, [ROOT, ROOT], true),
    ]);
    let account = account(Backend::Ptrace, events);
    let paths: Vec<&str> = account.processes[0].execs.iter().map(|exec| &*exec.path).collect();
    assert_eq!(paths, ["/x", "/y"]);
}

#[test]
fn what_is_written_to_stderr_is_counted_in_all_processes() {
    let write = |pid, from, descriptor| call("write", pid, [from, from + 5], [descriptor, 0, 9, 0, 0, 0], 9);
    let mut events = exec(ROOT, ZERO, 1_100);
    events.push(created(1_110, [ROOT, ROOT], [200, 200]));
    events.extend([write(ROOT, 1_120, 2), write(200, 1_120, 2), write(ROOT, 1_130, 1)]);
    events.extend([exit(1_140, [200, 200], true), exit(1_150, [ROOT, ROOT], true)]);
    assert_eq!(account(Backend::Bpf, events).writes_to_stderr(), 2);
}
