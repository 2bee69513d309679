//! For every rule, there is a run that triggers it and one that does not.

use super::*;
use crate::account::{
    Code, CodeOrigin, ExecStage, Execution, PageFault, ProcessAccount, Reason, Region, ThreadAccount,
};
use firstbyte_measure::Counts;
use firstbyte_measure::timeline::Phases;
use std::sync::Arc;

const ROOT: u32 = 100;

fn code(role: Role) -> Code {
    Code { module: CodeOrigin::without_file(role), function: None }
}

fn exec() -> What {
    What::Exec { stage: ExecStage::Return, path: "/x".into() }
}

fn call(name: &str, file: Option<&str>, failed: bool, role: Role) -> What {
    What::Call {
        name: name.into(),
        text: format!("{name}()"),
        file: file.map(Arc::from),
        failed,
        code: Some(code(role)),
    }
}

fn fault(region: Region, role: Role, major: bool) -> What {
    What::Fault(PageFault { region, page: 0, write: Some(false), major, code: Some(code(role)) })
}

/// A run of steps with these durations, one after another.
fn run(steps: Vec<(u64, What)>) -> Account {
    let mut now = 0;
    let steps: Vec<Step> = steps
        .into_iter()
        .map(|(ns, what)| {
            let step = Step { start: Nanos(now), elapsed: Nanos(ns), own: Nanos(ns), what };
            now += ns;
            step
        })
        .collect();

    let total = Nanos(now);
    let execution = |start| Execution {
        start: Nanos(start),
        took: Nanos(1),
        path: "/x".into(),
        executed: "/x".into(),
        argv: Vec::new(),
    };

    Account {
        phases: Phases { teardown: total, ..Phases::default() },
        total,
        wall: total,
        root: ROOT,
        path: Vec::new(),
        steps: steps.clone(),
        threads: vec![ThreadAccount {
            pid: ROOT,
            tid: ROOT,
            start: Nanos(0),
            lifetime: total,
            creator: None,
            wakes: Vec::new(),
            steps,
        }],
        processes: vec![ProcessAccount {
            pid: ROOT,
            parent: 0,
            start: Nanos(0),
            end: Some(total),
            status: Some(0),
            execs: vec![execution(0)],
            threads: 1,
        }],
        files: Vec::new(),
        searches: Vec::new(),
        counts: Counts::default(),
        lost: 0,
    }
}

const VIRTUAL: MachineFacts = machine(1_100, 41);

const fn machine(each: u64, executed: u64) -> MachineFacts {
    MachineFacts { cpuid: Some(Cpuid { each: Nanos(each), executed }), loader: None }
}

fn rules(account: Account, machine: &MachineFacts) -> Vec<&'static str> {
    let summary = Summary::of(vec![account]).unwrap();
    findings(&summary, machine).iter().map(|finding| finding.rule).collect()
}

fn quiet() -> Vec<(u64, What)> {
    vec![(100, exec()), (1_000_000, What::User)]
}

#[test]
fn a_program_that_only_computes_has_no_finding() {
    let mut account = run(quiet());
    account.main().steps.iter().for_each(drop);
    assert!(rules(account.clone(), &MachineFacts::default()).is_empty());
    account.threads[0].steps.clear();
    assert!(rules(account, &VIRTUAL).is_empty());
}

#[test]
fn a_tenth_of_the_time_in_ld_so_is_dynamic_linking() {
    let steps = |ns| [quiet(), vec![(ns, call("mmap", None, false, Role::Loader))]].concat();
    assert_eq!(rules(run(steps(150_000)), &MachineFacts::default()), ["dynamic-linking"]);
    assert!(rules(run(steps(50_000)), &MachineFacts::default()).is_empty());
    let sampled = MachineFacts { loader: Some(Nanos(100_000)), ..MachineFacts::default() };
    assert_eq!(rules(run(steps(50_000)), &sampled), ["dynamic-linking"], "with its sampled user code");
}

#[test]
fn three_failed_opens_with_a_cost_are_a_search() {
    let steps = |count| {
        let mut all = quiet();
        all.extend((0..count).map(|_| (20_000, call("openat", Some("/a/libx.so"), true, Role::Executable))));
        run(all)
    };
    assert_eq!(rules(steps(3), &MachineFacts::default()), ["failed-searches"]);
    assert!(rules(steps(2), &MachineFacts::default()).is_empty());
    let summary = Summary::of(vec![steps(4)]).unwrap();
    assert!(findings(&summary, &MachineFacts::default())[0].text.contains("`libx.so`, 4 times"));
}

#[test]
fn every_call_that_looks_up_a_path_counts_as_a_search() {
    for name in ["creat", "statx", "lstat64", "fstatat64", "faccessat", "faccessat2", "stat64", "execve"] {
        let failed = |_| (20_000, call(name, Some("/a/x"), true, Role::Executable));
        let account = run(quiet().into_iter().chain((0..3).map(failed)).collect());
        assert_eq!(rules(account, &MachineFacts::default()), ["failed-searches"], "{name}");
    }

    let failed = |_| (20_000, call("readlink", Some("/a/x"), true, Role::Executable));
    let account = run(quiet().into_iter().chain((0..3).map(failed)).collect());
    assert!(rules(account, &MachineFacts::default()).is_empty(), "it fails for files that exist, too");
}

#[test]
fn a_fifth_of_the_faults_on_one_library_are_a_heavy_library() {
    let steps = |heavy: usize, others: usize| {
        let mut all = quiet();
        let region = |path: &str| Region::File(path.into());
        all.extend(
            (0..heavy).map(|_| (2_000, fault(region("/lib/libstdc++.so.6"), Role::Executable, false))),
        );
        all.extend((0..others).map(|_| (100, fault(region("/lib/libc.so.6"), Role::Executable, false))));
        run(all)
    };
    assert_eq!(rules(steps(10, 40), &MachineFacts::default()), ["heavy-library"]);
    assert!(rules(steps(10, 41), &MachineFacts::default()).is_empty());
    assert!(rules(steps(0, 50), &MachineFacts::default()).is_empty());
}

#[test]
fn dozens_of_cpuid_in_early_code_are_a_finding_if_they_trap() {
    let steps = |ns| {
        run(vec![
            (100, exec()),
            (500, call("brk", None, false, Role::Loader)),
            (ns, What::User),
            (500, call("openat", Some("/x"), false, Role::Loader)),
            (900_000, What::User),
        ])
    };

    assert_eq!(rules(steps(45_100), &VIRTUAL), ["cpuid"]);
    assert!(rules(steps(45_100), &machine(80, 41)).is_empty(), "not a virtual machine");
    assert!(rules(steps(45_100), &machine(1_100, 2)).is_empty(), "Go executes only two");
    assert!(rules(steps(45_100), &MachineFacts::default()).is_empty(), "they were not counted");
    assert!(rules(steps(5_000), &VIRTUAL).is_empty(), "the code is too short for them");

    let short = Summary::of(vec![steps(5_000)]).unwrap();
    assert!(
        reservation(&short, &VIRTUAL)
            .unwrap()
            .starts_with("41 CPUID instructions were counted. At 1.10 µs each")
    );
    assert_eq!(reservation(&short, &machine(1_100, 2)), None);

    let summary = Summary::of(vec![steps(45_100)]).unwrap();
    assert_eq!(reservation(&summary, &VIRTUAL), None);
    let finding = &findings(&summary, &VIRTUAL)[0];
    assert_eq!(finding.cost, Nanos(41 * 1_100));

    let longer = Summary::of(vec![steps(160_000)]).unwrap();
    let sampled = MachineFacts { loader: Some(Nanos(160_000)), ..VIRTUAL };
    let both: Vec<(&str, Nanos)> = findings(&longer, &sampled).iter().map(|f| (f.rule, f.cost)).collect();
    // the rest of the code is not theirs, and their time is not the linker's
    let linking = Nanos(500 + 160_000 + 500 - 41 * 1_100);
    assert_eq!(both, [("dynamic-linking", linking), ("cpuid", Nanos(41 * 1_100))]);
    let text = &finding.text;
    assert!(
        text.contains("41 CPUID instructions") && text.contains("between `brk()` and `openat()`"),
        "{text}"
    );
}

#[test]
fn code_with_cpuid_may_be_interrupted() {
    let mut steps = vec![(100, exec()), (500, call("brk", None, false, Role::Loader))];
    for _ in 0..3 {
        steps.push((15_100, What::User));
        steps.push((1_000, fault(Region::File("/lib/ld.so".into()), Role::Loader, false)));
    }
    steps.push((500, call("openat", Some("/x"), false, Role::Loader)));
    steps.push((900_000, What::User));
    let summary = Summary::of(vec![run(steps)]).unwrap();
    let finding = &findings(&summary, &VIRTUAL)[0];
    assert_eq!((finding.rule, finding.cost), ("cpuid", Nanos(41 * 1_100)));
    assert!(finding.text.contains(", some of it between `"), "{}", finding.text);
}

#[test]
fn five_compiled_modules_are_python_imports() {
    let steps = |count, open| {
        let mut all = quiet();
        for n in 0..count {
            let path = if n == 1 { "/lib/site.cpython-311.pyc".to_owned() } else { format!("/lib/m{n}.pyc") };
            all.push((10, call(open, Some(&path), false, Role::Executable)));
            all.push((1_000, What::User));
        }
        all.push((10, call(open, Some("/script.py"), false, Role::Executable)));
        run(all)
    };

    let summary = Summary::of(vec![steps(5, "openat")]).unwrap();
    let finding = findings(&summary, &MachineFacts::default()).remove(0);
    assert_eq!((finding.rule, finding.cost), ("python-modules", Nanos(5 * 1_010)));
    assert!(
        finding.text.contains("5 modules") && finding.text.contains("4.04 µs of it for site"),
        "{}",
        finding.text
    );
    assert!(rules(steps(4, "openat"), &MachineFacts::default()).is_empty());
    assert_eq!(rules(steps(5, "openat2"), &MachineFacts::default()), ["python-modules"]);
}

#[test]
fn an_exec_before_the_last_one_is_a_chain() {
    let mut account = run(quiet());
    let mut second = account.processes[0].execs[0].clone();
    second.start = Nanos(700);
    account.processes[0].execs.push(second);
    let summary = Summary::of(vec![account]).unwrap();
    let finding = findings(&summary, &MachineFacts::default()).remove(0);
    assert_eq!((finding.rule, finding.cost), ("exec-chain", Nanos(700)));
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
    assert_eq!(rules(steps(200_000), &MachineFacts::default()), ["preempted"]);
    assert!(rules(steps(20_000), &MachineFacts::default()).is_empty());
}

#[test]
fn the_most_expensive_come_first() {
    let mut all = quiet();
    all.push((900_000, What::Off(Reason::Preempted)));
    all.push((800_000, call("mmap", None, false, Role::Loader)));
    all.push((700_000, fault(Region::Heap, Role::Executable, true)));
    let found = rules(run(all), &MachineFacts::default());
    assert_eq!(found, ["preempted", "dynamic-linking", "from-disk"]);
}
