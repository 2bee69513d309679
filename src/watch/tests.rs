//! Events that a watcher would give, and what is made of them.

use super::command_lines::CommandLines;
use super::memory::PROGRAM;
use super::programs::OTHERS;
use super::summary::{Frame, document, timeline};
use super::tally::Tally;
use crate::document::watch::{WatchDocument, WatchFinding, WatchProgram};
use firstbyte_measure::launch::ExitStatus;
use firstbyte_measure::tracer::Backend;
use firstbyte_measure::tracer::watch::{
    EndedProgram, Ending, FailedExec, ProgramRun, StartedProgram, WatchEvent,
};
use firstbyte_measure::units::Nanos;
use serde_json::Value;

fn run(pid: u32, entered: u64) -> ProgramRun {
    ProgramRun { pid, entered: Nanos(entered) }
}

fn started(run: ProgramRun, by: Option<ProgramRun>, path: &str, argv: &[&str]) -> WatchEvent {
    let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
    let argv_bytes = u32::try_from(argv.iter().map(|word| word.len() + 1).sum::<usize>()).unwrap();
    WatchEvent::Started(StartedProgram { run, by, path: path.to_owned(), argv, argv_bytes })
}

/// It took 10 ns to start, printed after 30 ns and used 7 ns of CPU time.
fn ended(run: ProgramRun, at: u64, how: Ending) -> WatchEvent {
    let after = |time: u64| Some(Nanos(run.entered.0 + time));
    WatchEvent::Ended(EndedProgram {
        pid: run.pid,
        entered: Some(run.entered),
        by: None,
        forked: None,
        returned: after(10),
        first_output: after(30),
        awaited: None,
        at: Nanos(at),
        cpu: Nanos(7),
        how,
    })
}

/// A process that executed no program and lived 50 ns.
fn forked(pid: u32, by: ProgramRun) -> WatchEvent {
    WatchEvent::Ended(EndedProgram {
        pid,
        entered: None,
        by: Some(by),
        forked: Some(Nanos(1000)),
        returned: None,
        first_output: None,
        awaited: None,
        at: Nanos(1050),
        cpu: Nanos(5),
        how: Ending::Exited(ExitStatus::SUCCESS),
    })
}

fn failed(pid: u32, path: &str) -> WatchEvent {
    WatchEvent::Failed(FailedExec {
        pid,
        by: None,
        path: path.to_owned(),
        errno: libc::ENOENT,
        took: Nanos(7),
    })
}

const EXITED: Ending = Ending::Exited(ExitStatus::SUCCESS);

fn watched(memory: u64, events: &[WatchEvent]) -> WatchDocument {
    let mut tally = Tally::new(memory, false, CommandLines::Whole);
    for event in events {
        tally.add(event);
    }
    tally.finish();
    let frame = Frame {
        command: Some("sh".to_owned()),
        scope: String::new(),
        exit: None,
        wall: Nanos(1000),
        partial: false,
        lost: 0,
        backend: Backend::Bpf,
        slow_calls: None,
        waits_unknown: None,
    };
    document(&tally, frame, Value::Null)
}

fn program<'d>(document: &'d WatchDocument, path: &str) -> &'d WatchProgram {
    document.results.iter().find(|program| program.path == path).unwrap()
}

fn finding<'d>(document: &'d WatchDocument, rule: &str) -> Option<&'d WatchFinding> {
    document.findings.iter().find(|finding| finding.rule == rule)
}

const PLENTY: u64 = 1 << 30;

#[test]
fn times_and_statuses_are_added_up_by_program() {
    let (shell, one, two) = (run(1, 100), run(2, 200), run(3, 300));
    let document = watched(
        PLENTY,
        &[
            started(shell, None, "/bin/sh", &["sh"]),
            started(one, Some(shell), "/bin/ls", &["ls"]),
            ended(one, 290, EXITED),
            started(two, Some(shell), "/bin/ls", &["ls", "a b"]),
            ended(two, 400, Ending::Exited(ExitStatus::Code(1))),
            ended(shell, 500, Ending::Running),
        ],
    );
    let ls = program(&document, "/bin/ls");
    assert_eq!((ls.program.as_str(), ls.execs, ls.unsuccessful, ls.cpu_ns), ("ls", 2, 1, 14));
    let sums =
        [&ls.startup_ns, &ls.first_output_ns, &ls.lifetime_ns].map(|times| times.as_ref().unwrap().sum);
    assert_eq!(sums, [20, 60, 190]);
    let commands: Vec<_> =
        ls.command_lines.iter().map(|line| (line.command.as_str(), line.lifetime_ns)).collect();
    assert_eq!(commands, [("ls 'a b'", 100), ("ls", 90)]);

    let sh = program(&document, "/bin/sh");
    assert_eq!((sh.running, sh.lifetime_ns.is_none(), sh.startup_ns.as_ref().unwrap().sum), (1, true, 10));
    let totals = &document.totals;
    assert_eq!((totals.programs, totals.execs, totals.processes, totals.running), (2, 3, 2, 1));
    assert_eq!((totals.startup_ns, totals.cpu_ns), (30, 21));
    assert_eq!(document.results[0].path, "/bin/ls", "the largest sum of exec times is first");
}

#[test]
fn two_programs_of_the_same_name_are_shown_by_their_paths() {
    let document = watched(
        PLENTY,
        &[
            started(run(1, 1), None, "/bin/git", &[]),
            started(run(2, 2), None, "/opt/git", &[]),
            started(run(3, 3), None, "/bin/ls", &[]),
        ],
    );
    let mut labels: Vec<_> = document.results.iter().map(|program| program.program.as_str()).collect();
    labels.sort_unstable();
    assert_eq!(labels, ["/bin/git", "/opt/git", "ls"]);
    assert_eq!(program(&document, "/bin/ls").command_lines[0].command, "/bin/ls", "without its arguments");
}

#[test]
fn a_shim_is_charged_with_the_processes_that_it_starts() {
    let (shim, helper, inner, real) = (run(1, 100), run(2, 110), run(3, 120), run(1, 200));
    let document = watched(
        PLENTY,
        &[
            started(shim, None, "/shims/python", &["python"]),
            started(helper, Some(shim), "/bin/sed", &["sed"]),
            started(inner, Some(helper), "/bin/cat", &["cat"]),
            ended(inner, 130, EXITED),
            ended(helper, 150, EXITED),
            forked(4, shim),
            ended(shim, 200, Ending::Replaced),
            started(real, Some(shim), "/opt/python", &["python"]),
            ended(real, 300, EXITED),
        ],
    );
    let found = finding(&document, "shim").unwrap();
    assert_eq!((found.subject.as_str(), found.count, found.cost_ns), ("/shims/python", 1, 100));
    assert!(found.text.contains("starts 3 processes before it executes `/opt/python`"), "{}", found.text);
    let shim = program(&document, "/shims/python");
    assert_eq!((shim.execs, shim.replaced, shim.forks, shim.cpu_ns), (1, 1, 1, 12));
    assert_eq!((document.totals.processes, document.totals.forks), (4, 1));
}

#[test]
fn a_chain_of_different_programs_is_no_shim() {
    let (env, real) = (run(1, 100), run(1, 200));
    let document = watched(
        PLENTY,
        &[
            started(env, None, "/usr/bin/env", &["env", "python"]),
            ended(env, 200, Ending::Replaced),
            started(real, Some(env), "/opt/python", &["python"]),
            ended(real, 300, EXITED),
        ],
    );
    assert_eq!(finding(&document, "shim"), None);
    assert_eq!(document.totals.processes, 1);
}

#[test]
fn failed_execs_belong_to_the_program_that_is_found_in_the_end() {
    let document = watched(
        PLENTY,
        &[
            failed(1, "/usr/local/bin/cc"),
            failed(1, "/opt/bin/cc"),
            started(run(1, 100), None, "/usr/bin/cc", &["cc"]),
            failed(2, "/bin/none"),
            failed(2, "/usr/bin/none"),
            failed(2, "/bin/other"),
            forked(2, run(1, 100)),
        ],
    );
    assert_eq!(program(&document, "/usr/bin/cc").failed, 2);
    assert_eq!((program(&document, "/bin/none").failed, program(&document, "/bin/none").execs), (2, 0));
    assert_eq!(program(&document, "/bin/other").failed, 1);
    assert_eq!((document.totals.failed, document.totals.programs), (5, 1));
    let search = finding(&document, "path_search").unwrap();
    assert!(search.text.starts_with("2 failed execs along PATH before `/usr/bin/cc`"), "{}", search.text);
    assert_eq!(search.cost_ns, 14, "{}", search.text);
    let none = finding(&document, "failed_exec").unwrap();
    assert!(
        none.text.starts_with("2 failed execs of `/bin/none`, which took 14 ns: No such file"),
        "{}",
        none.text
    );
}

#[test]
fn commands_and_subshells_that_are_repeated_are_found() {
    let shell = run(1, 1);
    let mut events = vec![started(shell, None, "/bin/sh", &["sh"])];
    for pid in 10..20 {
        events.push(forked(pid + 100, shell));
        events.push(started(run(pid, 100), Some(shell), "/bin/git", &["git", "rev-parse"]));
        events.push(ended(run(pid, 100), 600, EXITED));
    }
    let document = watched(PLENTY, &events);
    let repeated = finding(&document, "repeated_command").unwrap();
    assert_eq!((repeated.count, repeated.cost_ns), (10, 5000));
    assert_eq!(repeated.text, "10 execs of `git rev-parse`, 500 ns each on average");
    let forks = finding(&document, "forks").unwrap();
    assert_eq!((forks.subject.as_str(), forks.count, forks.cost_ns), ("/bin/sh", 10, 500));
    assert_eq!(document.findings[0].rule, "repeated_command", "the highest cost is first");
}

/// Half of the memory is for rows.
fn room_for(rows: u64, path: &str) -> u64 {
    2 * rows * (PROGRAM + path.len() as u64)
}

#[test]
fn what_finds_no_room_while_all_rows_are_in_use_is_counted_all_the_same() {
    let mut events = Vec::new();
    for (pid, path) in [(1, "/bin/ls"), (2, "/bin/ls"), (3, "/bin/a"), (4, "/bin/b")] {
        events.push(started(run(pid, 1), None, path, &["x"]));
    }
    events.extend((1..5).map(|pid| ended(run(pid, 1), 2, EXITED)));
    let document = watched(room_for(1, "/bin/ls"), &events);
    assert_eq!((program(&document, "/bin/ls").execs, program(&document, OTHERS).execs), (2, 2));
    let totals = &document.totals;
    assert_eq!((totals.execs, totals.unlisted_execs, totals.startup_ns), (4, 2, 40));
}

#[test]
fn command_lines_without_memory_are_counted() {
    let long = "x".repeat(20_000);
    let document = watched(
        room_for(1, "/bin/ls"),
        &[started(run(1, 1), None, "/bin/ls", &[&long]), started(run(2, 1), None, "/bin/ls", &["ls"])],
    );
    assert_eq!((document.totals.execs, document.totals.unlisted_command_lines), (2, 1));
}

/// A build that runs for days, whose temporary files have a new name each time.
#[test]
fn thousands_of_paths_that_are_executed_once_do_not_hide_a_program_that_begins_late() {
    let make = run(1, 1);
    let mut events = vec![started(make, None, "/bin/make", &["make"])];
    for pid in 2..10_002_u32 {
        let path = match pid {
            9_000.. if pid.is_multiple_of(2) => "/bin/late".to_owned(),
            _ if pid.is_multiple_of(5) => "/bin/cc".to_owned(),
            _ => format!("/tmp/{pid:08}"),
        };
        events.push(started(run(pid, 10), Some(make), &path, &["x"]));
        events.push(forked(pid + 20_000, run(pid, 10)));
        events.push(ended(run(pid, 10), 60, EXITED));
    }
    events.push(ended(make, 500, EXITED));
    let document = watched(room_for(100, "/tmp/00000000"), &events);

    let (late, cc) = (program(&document, "/bin/late"), program(&document, "/bin/cc"));
    assert_eq!((late.execs, cc.execs, cc.unlisted_execs), (501, 1899, 0));
    assert!(late.unlisted_execs > 0 && late.unlisted_execs <= 10_001 / 75, "{}", late.unlisted_execs);
    assert_eq!(program(&document, "/bin/make").lifetime_ns.as_ref().unwrap().count, 1, "it was running");
    let totals = &document.totals;
    assert_eq!((totals.execs, totals.processes, totals.forks), (10_001, 20_001, 10_000));
    assert_eq!((totals.startup_ns, totals.cpu_ns), (100_010, 10_001 * 7 + 10_000 * 5));
    assert_eq!(totals.unlisted_execs, program(&document, OTHERS).execs);
    let sum = |of: fn(&WatchProgram) -> u64| document.results.iter().map(of).sum::<u64>();
    let lifetimes = sum(|row| row.lifetime_ns.as_ref().map_or(0, |times| times.count));
    assert_eq!((sum(|row| row.execs), sum(|row| row.cpu_ns), lifetimes), (10_001, totals.cpu_ns, 10_001));

    let tree = &document.tree;
    assert_eq!(tree.iter().map(|node| node.execs).sum::<u64>(), 10_001);
    assert_eq!(tree.iter().map(|node| node.cpu_ns).sum::<u64>(), totals.cpu_ns);
    assert!(tree.len() <= document.results.len(), "those that moved are one node");
    assert!(document.findings.iter().all(|finding| finding.subject != OTHERS), "{:?}", document.findings);
}

#[test]
fn a_long_command_line_says_that_it_is_cut() {
    let WatchEvent::Started(mut long) = started(run(1, 1), None, "/bin/cc", &["cc", "-o"]) else { panic!() };
    long.argv_bytes = 5000;
    let document = watched(PLENTY, &[WatchEvent::Started(long)]);
    assert_eq!(program(&document, "/bin/cc").command_lines[0].command, "cc -o …");
}

/// The record of its start was lost.
#[test]
fn the_end_of_an_unknown_program_is_the_end_of_a_process() {
    let document = watched(PLENTY, &[ended(run(1, 100), 200, EXITED)]);
    assert_eq!((document.totals.execs, document.totals.processes, document.totals.cpu_ns), (0, 1, 7));
}

#[test]
fn an_execution_whose_record_ends_before_it_began_has_no_duration() {
    let (one, two) = (run(1, 50), run(2, 100));
    let mut tally = Tally::new(PLENTY, true, CommandLines::Whole);
    for of in [one, two] {
        tally.add(&started(of, None, "/bin/ls", &["ls"]));
        tally.add(&ended(of, 90, EXITED));
    }
    let times: Vec<_> = timeline(&tally).runs.iter().map(|run| (run.start, run.end)).collect();
    assert_eq!(times, [(0, 40), (50, 50)]);
}

/// Sums stop at the largest value, so that one damaged record damages nothing else.
#[test]
fn times_that_no_watch_can_have_seen_do_not_wrap_around() {
    const MAX_TIME: Nanos = Nanos(u64::MAX);
    let (one, two) = (run(1, 0), run(2, 0));
    let long = |of: ProgramRun, forked: bool| {
        WatchEvent::Ended(EndedProgram {
            pid: of.pid,
            entered: (!forked).then_some(of.entered),
            by: Some(one),
            forked: Some(Nanos(0)),
            returned: Some(MAX_TIME),
            first_output: Some(MAX_TIME),
            awaited: None,
            at: MAX_TIME,
            cpu: MAX_TIME,
            how: EXITED,
        })
    };
    let begun = [one, two].map(|of| started(of, None, "/bin/ls", &["ls"]));
    let ended = [long(run(3, 0), true), long(run(4, 0), true), long(two, false), long(one, false)];
    let document = watched(PLENTY, &begun.into_iter().chain(ended).collect::<Vec<_>>());
    let totals = &document.totals;
    assert_eq!((totals.forks, totals.startup_ns, totals.cpu_ns), (2, u64::MAX, u64::MAX));
    let ls = program(&document, "/bin/ls");
    assert_eq!((ls.cpu_ns, ls.command_lines[0].lifetime_ns), (u64::MAX, u64::MAX));
}
