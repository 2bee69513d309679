//! Waits, execs and what the machine does meanwhile.

use super::*;

#[test]
fn programs_that_work_after_the_first_byte_are_named() {
    let mut account = run(vec![(100, exec()), (100_000, What::User), (900_000, What::User)]);
    account.phases = Phases {
        setup: Some(Nanos(100_100)),
        write: Some(Nanos(0)),
        teardown: Nanos(900_000),
        ..Phases::default()
    };
    let mut child = account.processes[0].clone();
    child.pid = ROOT + 1;
    child.execs[0].path = "/bin/cc1".into();
    account.processes.push(child);
    let piece = |pid, from, to| PathPiece { thread: 0, pid, tid: pid, from: Nanos(from), to: Nanos(to) };
    account.path = vec![piece(ROOT, 0, 200_100), piece(ROOT + 1, 200_100, 1_000_100)];
    let summary = Summary::of(vec![account]).unwrap();
    let found = findings(&summary, &MachineFacts::default()).remove(0);
    assert_eq!(found.rule, "after-first-byte");
    assert!(found.text.contains("mostly: `cc1` 800 µs, `x` 100 µs."), "{}", found.text);
}

#[test]
fn a_copy_of_the_program_that_works_after_the_first_byte_is_the_program() {
    let mut account = run(vec![(100, exec()), (100_000, What::User), (900_000, What::User)]);
    account.phases = Phases { setup: Some(Nanos(100_100)), write: Some(Nanos(0)), ..Phases::default() };
    let fork =
        ProcessAccount { pid: ROOT + 1, parent: ROOT, execs: Vec::new(), ..account.processes[0].clone() };
    let mut child = ProcessAccount { pid: ROOT + 2, parent: ROOT, ..account.processes[0].clone() };
    child.execs[0].path = "/bin/date".into();
    account.processes.extend([fork, child]);
    let piece = |pid, from, to| PathPiece { thread: 0, pid, tid: pid, from: Nanos(from), to: Nanos(to) };
    account.path =
        vec![piece(ROOT, 0, 200_100), piece(ROOT + 1, 200_100, 400_100), piece(ROOT + 2, 400_100, 1_000_100)];
    let found = findings(&Summary::of(vec![account]).unwrap(), &MachineFacts::default()).remove(0);
    assert!(found.text.contains("mostly: `date` 600 µs, `x` 300 µs."), "{}", found.text);
}

#[test]
fn a_timeout_that_passes_ends_a_wait() {
    let text = |name: &str, reason, result: &str| {
        let What::Call { name, file, failed, code, .. } = call(name, None, false, Role::Libc) else {
            panic!()
        };
        let text = format!("{name}(…) = {result}");
        let what = What::Call { name, text, file, failed, code };
        let call =
            Step { start: Nanos(1_000_100), elapsed: Nanos(600_000), self_time: Nanos(0), what: what.into() };
        let mut account = run([quiet(), vec![(500_000, What::Off(Reason::For(reason)))]].concat());
        let index = account.steps.len() - 1;
        account.steps.insert(index, call);
        findings(&Summary::of(vec![account]).unwrap(), &MachineFacts::default()).remove(0).text
    };
    let passes = "The program waits until the timeout of";
    assert!(text("poll", Wait::Poll, "0").starts_with(&format!("{passes} `poll` expires (once)")));
    assert!(text("futex", Wait::Futex, "-1 ETIMEDOUT").starts_with(&format!("{passes} `futex` expires")));
    assert!(text("poll", Wait::Poll, "10").contains("no thread of it ends this wait"));
    assert!(text("read", Wait::Read, "0").contains("no thread of it ends this wait"), "the end of the input");
}

#[test]
fn a_wait_for_an_answer_names_who_is_asked() {
    let calling = |text: &str, file: Option<&str>| {
        let name = text.split('(').next().unwrap_or_default().into();
        let file = file.map(Into::into);
        (1_000, What::Call { name, text: text.to_owned(), file, failed: false, code: None })
    };
    let wait = |before: &[(&str, &str)], text: &str, file: Option<&str>, reason| {
        let calls = before.iter().map(|(text, file)| calling(text, Some(file)));
        let all = quiet().into_iter().chain(calls).chain([calling(text, file), (500_000, What::Off(reason))]);
        let mut account = run(all.collect());
        let call = account.steps.len() - 2;
        account.steps[call].elapsed = Nanos(600_000);
        account.files =
            vec![FileAccount { path: "/etc/resolv.conf".into(), opened: 1, ..FileAccount::default() }];
        findings(&Summary::of(vec![account]).unwrap(), &MachineFacts::default()).remove(0).text
    };
    let [poll, read, connection] = [Wait::Poll, Wait::Read, Wait::Connection].map(Reason::For);
    assert_eq!(
        wait(&[], "read(3<127.0.0.1:80>, 0x1, 9) = 1", Some("127.0.0.1:80"), read),
        "The program waits for an answer (once, the longest for `127.0.0.1:80`)."
    );
    let connect = "connect(3<socket>, {sa_family=AF_INET6, [::1]:443}, 28) = 0";
    assert_eq!(
        wait(&[], connect, Some("socket"), connection),
        "The program waits until its connection is accepted (once, the longest for `[::1]:443`)."
    );

    // a descriptor that is polled is known by its last use
    let to_names = [("connect(3<socket>, {sa_family=AF_INET, 10.0.0.2:53}, 16) = 0", "socket")];
    let asked = wait(&to_names, "poll([{fd=3, events=POLLIN}], 1, 5000) = 0", None, poll);
    let expected = "expires (once, the longest for the name server `10.0.0.2:53`, which `/etc/resolv.conf` names): it does";
    assert!(asked.contains(expected), "{asked}");
    let bound = [to_names[0], ("bind(4<socket>, {sa_family=AF_INET, 127.0.0.1:53}, 16) = 0", "socket")];
    let listening = wait(&bound, "poll([{fd=4, events=POLLIN}], 1, -1) = 1", None, poll);
    assert!(listening.contains("(once), and no thread of it ends this wait"), "its own address: {listening}");
}

#[test]
fn after_the_first_byte_is_what_other_findings_leave() {
    let found = |sleeps: u64| {
        let mut account = run(vec![
            (100_000, What::User),
            (sleeps, What::Off(Reason::For(Wait::Sleep))),
            (900_000 - sleeps, What::User),
        ]);
        account.phases = Phases { setup: Some(Nanos(100_000)), write: Some(Nanos(0)), ..Phases::default() };
        let found = findings(&Summary::of(vec![account]).unwrap(), &MachineFacts::default());
        found.iter().map(|it| (it.rule, it.cost.0, it.within)).collect::<Vec<_>>()
    };
    assert_eq!(found(500_000), [("sleep", 500_000, None), ("after-first-byte", 400_000, None)]);
    assert_eq!(found(850_000), [("sleep", 850_000, None)], "the rest is too little");
}

#[test]
fn sleeps_waits_and_repeated_calls_have_findings() {
    let off = |reason| run([quiet(), vec![(500_000, What::Off(reason))]].concat());
    assert_eq!(rules(off(Reason::For(Wait::Sleep)), &MachineFacts::default()), ["sleep"]);
    assert_eq!(rules(off(Reason::For(Wait::Poll)), &MachineFacts::default()), ["waits"]);
    let calls = |count| {
        run([quiet(), vec![(100, call("rt_sigprocmask", None, false, Role::Executable)); count]].concat())
    };
    assert_eq!(rules(calls(1000), &MachineFacts::default()), ["repeated-calls"]);
    assert!(rules(calls(999), &MachineFacts::default()).is_empty());
}

#[test]
fn a_call_that_waits_is_no_work_where_waits_are_not_seen() {
    let inside = |name| {
        let account = run([quiet(), vec![(500_000, call(name, None, false, Role::Libc))]].concat());
        findings(&Summary::of(vec![account]).unwrap(), &MachineFacts::default()).remove(0)
    };
    assert_eq!((inside("nanosleep").rule, inside("nanosleep").cost), ("sleep", Nanos(500_000)));
    assert!(inside("poll").text.starts_with("The kernel works or waits this long in one"));
    assert!(inside("mmap").text.starts_with("The kernel works this long in one"));
    let beside = |reason| {
        let steps = vec![(500_000, call("poll", None, false, Role::Libc)), (1, What::Off(reason))];
        let account = run([quiet(), steps].concat());
        findings(&Summary::of(vec![account]).unwrap(), &MachineFacts::default()).remove(0).text
    };
    // by ptrace too, threads are seen to begin, and the first one to end
    for reason in [Reason::Created, Reason::Gone] {
        assert!(beside(reason).starts_with("The kernel works or waits"), "{reason:?}");
    }
    assert!(beside(Reason::Preempted).starts_with("The kernel works this long"));
}

#[test]
fn a_call_that_only_waits_has_a_finding_where_waits_are_not_seen() {
    let found = |name: &str, failed, result: &str| {
        let What::Call { name, file, code, .. } = call(name, None, failed, Role::Libc) else { panic!() };
        let what = What::Call { text: format!("{name}(…) = {result}"), name, file, failed, code };
        let account = run([quiet(), vec![(500_000, what)]].concat());
        findings(&Summary::of(vec![account]).unwrap(), &MachineFacts::default())
    };
    let pause = found("rt_sigsuspend", true, "-1 ERESTARTNOHAND");
    assert_eq!((pause[0].rule, pause[0].cost, pause.len()), ("waits", Nanos(500_000), 1));
    assert!(pause[0].text.starts_with("The program waits in `rt_sigsuspend` (once)."), "{}", pause[0].text);
    let timeouts = [("futex", true, "-1 ETIMEDOUT"), ("poll", false, "0")];
    for (name, failed, result) in timeouts {
        let timeout = found(name, failed, result);
        assert_eq!((timeout[0].rule, timeout.len()), ("waits", 1));
        assert!(timeout[0].text.contains("the timeout of"), "{}", timeout[0].text);
    }
    assert_eq!(found("poll", false, "1")[0].rule, "slow-calls", "it may have worked");
}

#[test]
fn a_tenth_of_the_time_in_one_system_call_is_a_finding() {
    let list = |ns| (ns, call("getdents64", Some("/usr/share/man"), false, Role::Libc));
    let lists = |ns| run([quiet(), vec![list(ns), list(1000)]].concat());
    let found = findings(&Summary::of(vec![lists(200_000)]).unwrap(), &MachineFacts::default()).remove(0);
    assert_eq!((found.rule, found.cost), ("slow-calls", Nanos(201_000)));
    assert_eq!(
        found.text,
        "The kernel works or waits this long in 2 system calls `getdents64`, the longest for `/usr/share/man`, 201 µs."
    );
    assert!(rules(lists(90_000), &MachineFacts::default()).is_empty());

    let maps = run([quiet(), vec![(300_000, call("mmap", None, false, Role::Loader))]].concat());
    assert!(!rules(maps, &MachineFacts::default()).contains(&"slow-calls"), "dynamic linking names it");
    let failed = run([quiet(), vec![(300_000, call("readlink", None, true, Role::Libc))]].concat());
    assert!(!rules(failed, &MachineFacts::default()).contains(&"slow-calls"));
}

#[test]
fn an_exec_before_the_last_one_is_a_chain_with_the_programs_that_ran_meanwhile() {
    let mut account = run(quiet());
    let mut second = account.processes[0].execs[0].clone();
    second.start = Nanos(70_000);
    account.processes[0].execs.push(second);
    let mut child = account.threads[0].clone();
    (child.pid, child.tid) = (ROOT + 1, ROOT + 1);
    account.threads.push(child);
    let piece = |thread: usize, from, to| {
        let pid = account.threads[thread].pid;
        PathPiece { thread, pid, tid: pid, from: Nanos(from), to: Nanos(to) }
    };
    account.path = vec![piece(0, 0, 20_000), piece(1, 20_000, 60_000), piece(0, 60_000, 1_000_100)];
    let summary = Summary::of(vec![account]).unwrap();
    let finding = findings(&summary, &MachineFacts::default()).remove(0);
    assert_eq!(
        (finding.rule, finding.cost, finding.saves),
        ("exec-chain", Nanos(70_000), Some(Nanos(70_000)))
    );
    assert!(finding.text.contains("takes this long, 40.0 µs of it in programs"), "{}", finding.text);
}

#[test]
fn a_wait_for_the_reader_of_the_output_is_not_blamed_on_a_device() {
    let text = |file: Option<&str>| {
        let mut account = run([quiet(), vec![(500_000, What::Off(Reason::For(Wait::Write)))]].concat());
        let write = Step {
            start: Nanos(1_000_000),
            elapsed: Nanos(600_000),
            self_time: Nanos(0),
            what: call("write", file, false, Role::Executable).into(),
        };
        let index = account.steps.len() - 1;
        account.steps.insert(index, write);
        let summary = Summary::of(vec![account]).unwrap();
        findings(&summary, &MachineFacts::default()).remove(0).text
    };
    assert!(text(Some("stdout")).contains("until its output is read"));
    assert!(text(None).contains("another program"));
}

#[test]
fn a_sleep_inside_an_exec_is_that_of_the_kernel() {
    let account = run([quiet(), vec![(500_000, What::Off(Reason::Exec))]].concat());
    let finding = findings(&Summary::of(vec![account]).unwrap(), &MachineFacts::default()).remove(0);
    assert_eq!(finding.rule, "waits");
    assert!(finding.text.starts_with("The process sleeps inside its exec (once)"), "{}", finding.text);
}

#[test]
fn major_faults_with_a_cost_are_reads_from_disk() {
    let steps = |major| run([quiet(), vec![(90_000, fault(Region::Heap, Role::Executable, major))]].concat());
    assert_eq!(rules(steps(true), &MachineFacts::default()), ["from-disk"]);
    assert!(rules(steps(false), &MachineFacts::default()).is_empty());
}

#[test]
fn a_tenth_of_the_time_preempted_is_a_busy_machine() {
    let steps = |ns| run([quiet(), vec![(ns, What::Off(Reason::Preempted))]].concat());
    assert!(is_busy(&steps(200_000)) && !is_busy(&steps(20_000)));
    assert!(rules(steps(200_000), &MachineFacts::default()).is_empty(), "it is no finding");
}

/// The first thread is preempted 1,000,100 ns after the start, for 300 µs. Another thread of the process `pid` gets a processor
/// at `from`, and keeps it until `to`.
fn beside_a_turn(pid: u32, from: u64, to: u64) -> Account {
    let mut account = run([quiet(), vec![(300_000, What::Off(Reason::Preempted))]].concat());
    let step = |start, elapsed, what: What| {
        let elapsed = Nanos(elapsed);
        Step { start: Nanos(start), elapsed, self_time: elapsed, what: what.into() }
    };
    let mut thread = account.threads[0].clone();
    (thread.pid, thread.tid) = (pid, ROOT + 1);
    thread.steps =
        vec![step(from - 5_000, 5_000, What::Off(Reason::Runnable)), step(from, to - from, What::User)];
    thread.steps.push(step(to, 10_000, What::Off(Reason::Preempted)));
    account.threads.push(thread);
    account.path = vec![PathPiece { thread: 0, pid: ROOT, tid: ROOT, from: Nanos(0), to: account.total }];
    account
}

#[test]
fn a_thread_that_waits_long_for_a_processor_is_on_a_busy_machine() {
    let waiting = |ns, reason| is_busy(&run([quiet(), vec![(ns, What::Off(reason))]].concat()));
    assert!(waiting(600_000, Reason::Runnable) && waiting(600_000, Reason::Created));
    assert!(!waiting(400_000, Reason::Runnable), "an idle processor may take that long");
}

#[test]
fn who_keeps_the_processor_is_told_by_who_leaves_it_when_the_turn_comes() {
    let kept_by = |leaves: u64| {
        let mut account = run([quiet(), vec![(600_000, What::Off(Reason::Runnable))]].concat());
        let what = What::Off(Reason::For(Wait::Futex));
        let other =
            Step { start: Nanos(leaves), elapsed: Nanos(5_000), self_time: Nanos(5_000), what: what.into() };
        let mut thread = account.threads[0].clone();
        (thread.tid, thread.steps) = (ROOT + 1, vec![other]);
        account.threads.push(thread);
        account.path = vec![PathPiece { thread: 0, pid: ROOT, tid: ROOT, from: Nanos(0), to: account.total }];
        (is_busy(&account), rules(account, &MachineFacts::default()))
    };
    assert_eq!(kept_by(1_600_100), (false, vec!["competing-threads"]));
    assert_eq!(kept_by(1_500_000), (true, vec![]));
}

#[test]
fn a_process_that_ends_leaves_its_processor_to_the_one_that_waits() {
    let found = |ends: u64| {
        let mut account = run([quiet(), vec![(600_000, What::Off(Reason::Created))]].concat());
        let mut thread = account.threads[0].clone();
        (thread.pid, thread.tid, thread.steps) = (ROOT + 1, ROOT + 1, Vec::new());
        thread.lifetime = Nanos(ends);
        account.threads.push(thread);
        account.path = vec![PathPiece { thread: 0, pid: ROOT, tid: ROOT, from: Nanos(0), to: account.total }];
        (is_busy(&account), rules(account, &MachineFacts::default()))
    };
    assert_eq!(found(1_550_100), (false, vec!["competing-threads"]));
    assert_eq!(found(1_450_100), (true, vec![]), "long before its turn came");
}

#[test]
fn who_takes_the_processor_is_told_by_whose_turn_begins_at_that_instant() {
    let found = |from, to| rules(beside_a_turn(ROOT, from, to), &MachineFacts::default());
    assert_eq!(
        found(1_000_100, 1_300_100),
        ["competing-threads"],
        "it got the processor when the other one left"
    );
    assert!(found(1_000_200, 1_300_000).is_empty(), "it got another processor");
    assert!(is_busy(&beside_a_turn(ROOT, 1_000_200, 1_300_000)));
}

#[test]
fn a_thread_takes_the_processor_only_until_it_leaves_it() {
    let summary = Summary::of(vec![beside_a_turn(ROOT, 1_000_100, 1_140_100)]).unwrap();
    let costs =
        findings(&summary, &MachineFacts::default()).into_iter().map(|found| (found.rule, found.cost));
    assert_eq!(
        costs.collect::<Vec<_>>(),
        [("competing-threads", Nanos(140_000))],
        "other programs had it afterwards"
    );
    assert_eq!(summary.taken_by_others().to_bits(), 160_000.0_f64.to_bits());
    let shares: f64 = summary.shares.iter().map(|share| share.time.middle).sum();
    assert_eq!(shares.to_bits(), summary.total.middle.to_bits(), "the shares sum to the total");
}

#[test]
fn another_process_of_the_program_that_takes_the_processor_is_no_thread() {
    let text = |pid| {
        let summary = Summary::of(vec![beside_a_turn(pid, 1_000_100, 1_300_100)]).unwrap();
        findings(&summary, &MachineFacts::default()).remove(0).text
    };
    assert!(
        text(ROOT).starts_with("The program's own threads took or kept the processor once"),
        "{}",
        text(ROOT)
    );
    let other = text(ROOT + 1);
    assert!(other.starts_with("The program's own processes took or kept the processor once"), "{other}");
}

/// A shell that starts `tr`, then a program as a child, and waits for both. `writers` write to stdout.
fn wrapper(writers: &[u32], waits_in: &str) -> Summary {
    let [helper, program] = [ROOT + 1, ROOT + 2];
    let mut account =
        run([quiet(), vec![(1_000, call("write", Some("stdout"), false, Role::Libc))]].concat());
    account.threads[0].steps.pop();
    let write = account.steps[2].clone();
    let mut started = vec![(helper, 50_000, 150_000, "/bin/tr"), (program, 200_000, 990_000, "/bin/java")];
    for (pid, start, end, path) in started.drain(..) {
        let exec = Execution {
            start: Nanos(start),
            path: path.into(),
            executed: path.into(),
            ..account.processes[0].execs[0].clone()
        };
        let of_root = account.processes[0].clone();
        account.processes.push(ProcessAccount {
            pid,
            parent: ROOT,
            start: Nanos(start),
            end: Some(Nanos(end)),
            execs: vec![exec],
            ..of_root
        });
        let thread =
            ThreadAccount { pid, tid: pid, steps: vec![write.clone()], ..account.threads[0].clone() };
        account.threads.push(thread);
    }
    for thread in
        account.threads.iter_mut().filter(|thread| !writers.contains(&thread.pid) && thread.pid != ROOT)
    {
        thread.steps.clear();
    }
    if writers.contains(&ROOT) {
        account.threads[0].steps.push(write);
    }
    let wait = call(waits_in, None, false, Role::Libc);
    let wait =
        Step { start: Nanos(200_000), elapsed: Nanos(790_000), self_time: Nanos(0), what: wait.into() };
    account.threads[0].steps.push(wait);
    let piece = |pid, from, to| {
        let thread = (pid - ROOT) as usize;
        PathPiece { thread, pid, tid: pid, from: Nanos(from), to: Nanos(to) }
    };
    account.path = vec![
        piece(ROOT, 0, 50_000),
        piece(helper, 50_000, 150_000),
        piece(ROOT, 150_000, 200_000),
        piece(program, 200_000, 990_000),
        piece(ROOT, 990_000, 1_001_100),
    ];
    let loads = vec![
        load(EXECUTABLE, "x", "/x", [111_100, 1_001_100], 0),
        load(EXECUTABLE, "tr", "/bin/tr", [100_000, 100_000], 1),
        load(EXECUTABLE, "java", "/bin/java", [790_000, 790_000], 1),
    ];
    Summary { loads, ..Summary::of(vec![account]).unwrap() }
}

#[test]
fn a_program_that_a_wrapper_waits_for_is_not_saved() {
    let found = |writers: &[u32], waits_in| {
        let found = findings(&wrapper(writers, waits_in), &MachineFacts::default());
        let of_rule = |rule| found.iter().find(|it| it.rule == rule).cloned();
        (of_rule("programs").unwrap(), of_rule("exec-chain"))
    };
    for writers in [&[ROOT + 2][..], &[]] {
        let (programs, wrappers) = found(writers, "wait4");
        assert_eq!(programs.saves, Some(Nanos(100_000)), "{}", programs.text);
        assert!(programs.text.starts_with("It waits for 1 program that it starts: `tr` 100 µs."));
        let text = wrappers.unwrap().text;
        assert!(
            text.starts_with("`/bin/java` works in a child process behind 1 other exec (/x), which"),
            "{text}"
        );
    }
    for writers in [[ROOT, ROOT + 2], [ROOT + 1, ROOT + 2]] {
        let (programs, wrappers) = found(&writers, "wait4");
        assert_eq!((programs.saves, wrappers), (Some(Nanos(890_000)), None), "others write, too");
    }
    assert_eq!(found(&[], "read").1, None, "it wants the output");
}
