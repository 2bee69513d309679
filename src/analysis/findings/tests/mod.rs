//! For every rule, there is a run that triggers it and one that does not.

mod causes;
mod code;
mod linking;
mod loading;
mod loads;
mod processes;
mod savings;
mod sums;

use super::*;
use crate::analysis::libraries::LinkedFile;
use crate::analysis::loads::{EXECUTABLE, FILE, LIBRARY};
use crate::analysis::profile::{Divided, Frame, Function, Node};
use crate::analysis::{
    Code, CodeOrigin, ExecStage, Execution, FileAccount, PageFault, PathPiece, ProcessAccount, Region,
    ThreadAccount,
};
use crate::inspect::headers::Linking;
use crate::inspect::relocations::Relocations;
use firstbyte_measure::Counts;
use firstbyte_measure::arch::Wait;
use firstbyte_measure::timeline::Phases;
use std::sync::{Arc, OnceLock};

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
            let step =
                Step { start: Nanos(now), elapsed: Nanos(ns), self_time: Nanos(ns), what: what.into() };
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
            waited_for: false,
            execs: vec![execution(0)],
            threads: 1,
        }],
        files: Vec::new(),
        searches: Vec::new(),
        counts: Counts::default(),
        lost: 0,
        taken: OnceLock::new(),
    }
}

const VIRTUAL: MachineFacts = machine(1_100, 41);

const fn machine(each: u64, executed: u64) -> MachineFacts {
    MachineFacts { cpuid: Some(Cpuid { each: Nanos(each), executed }), loader: None, loader_error: Nanos(0) }
}

fn rules(account: Account, machine: &MachineFacts) -> Vec<&'static str> {
    let summary = Summary::of(vec![account]).unwrap();
    findings(&summary, machine).iter().map(|finding| finding.rule).collect()
}

fn is_busy(account: &Account) -> bool {
    processor_rules::busy(account).is_some()
}

fn quiet() -> Vec<(u64, What)> {
    vec![(100, exec()), (1_000_000, What::User)]
}

fn load(runtime: &'static str, unit: &str, file: &str, times: [u64; 2], depth: u32) -> Load {
    let [self_time, total] = times.map(Nanos);
    Load { runtime, unit: unit.to_owned(), file: Some(file.into()), self_time, total, depth }
}

/// The findings of a run that executes this program and loads these files.
fn of_program(program: &str, loads: Vec<Load>) -> Vec<Finding> {
    let mut account = run(quiet());
    let exec = &mut account.processes[0].execs[0];
    (exec.path, exec.executed) = (program.into(), program.into());
    let summary = Summary { loads, ..Summary::of(vec![account]).unwrap() };
    findings(&summary, &MachineFacts::default())
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
fn a_cost_has_the_interval_of_all_runs() {
    let sleeping = |ns| run([quiet(), vec![(ns, What::Off(Reason::For(Wait::Sleep)))]].concat());
    let summary = Summary::of([300_000, 100_000, 200_000, 500_000, 400_000].map(sleeping).into()).unwrap();
    let found = findings(&summary, &MachineFacts::default()).remove(0);
    assert_eq!((found.cost, found.interval), (Nanos(300_000), Some([Nanos(100_000), Nanos(500_000)])));
    let sentence = found.sentence(Nanos(1_300_100));
    let expected = "saves about 300 µs (100 µs to 500 µs), 23 %: The program sleeps once";
    assert!(sentence.starts_with(expected), "{sentence}");
    let half = Finding { saves: Some(Nanos(150_000)), ..found };
    let sentence = half.sentence(Nanos(1_300_100));
    assert!(sentence.starts_with("saves about 150 µs (of 300 µs, 50.0 µs to 250 µs), 12 %: "), "{sentence}");
}

#[test]
fn a_finding_is_never_more_than_the_total() {
    // half of the runs take five times as long, in all that they do
    let sleeping = |ns: u64| run(vec![(10_000, What::User), (ns, What::Off(Reason::For(Wait::Sleep)))]);
    let runs = [990_000, 990_000, 990_000, 4_990_000, 4_990_000, 4_990_000].map(sleeping);
    let summary = Summary::of(runs.into()).unwrap();
    let found = findings(&summary, &MachineFacts::default()).remove(0);
    assert_eq!((found.cost, summary.median_run.total), (Nanos(990_000), Nanos(1_000_000)));
    assert_eq!(found.interval, Some([Nanos(990_000), Nanos(1_000_000)]));
}

#[test]
fn a_cost_that_many_runs_lack_has_no_interval_and_one_that_most_lack_is_none() {
    let sleeping = |ns| run([quiet(), vec![(ns, What::Off(Reason::For(Wait::Sleep)))]].concat());
    let with = [300_000, 310_000, 320_000, 330_000, 340_000, 350_000].map(sleeping);
    let without = (0..5).map(|_| run(quiet()));
    let runs: Vec<Account> = with.into_iter().chain(without).collect();
    let of = |runs: &[Account]| findings(&Summary::of(runs.to_vec()).unwrap(), &MachineFacts::default());
    let found = of(&runs).remove(0);
    assert_eq!((found.cost, found.interval), (Nanos(300_000), None));
    // by ptrace, three calls of `getuid` took 354 µs in the run with the median total, and nothing in the others
    let mut slow = run([quiet(), vec![(300_000, call("getuid", None, false, Role::Executable))]].concat());
    slow.total = Nanos(1_000_100);
    let calls = [vec![run(quiet()), slow.clone()], vec![run(quiet()); 2]].concat();
    assert_eq!((of(&calls).len(), of(&[slow]).len()), (0, 1));
}

/// By ptrace, `git --version` was said to save 274 µs, with an interval of 288 µs to 389 µs: the first was of one run, the
/// second of all.
#[test]
fn a_finding_is_of_the_run_in_which_it_costs_the_median() {
    let opening = |ns, name: &str| (ns, call("openat", Some(name), true, Role::Libc));
    // the run with the median total searches the shortest
    let run = |computing: u64, first: u64, name: &str| {
        let searches = [opening(first, name), opening(40_000, name), opening(40_000, name)];
        run([vec![(100, exec()), (computing, What::User)], searches.to_vec()].concat())
    };
    let runs = [
        run(1_000_000, 230_000, "/a/one"),
        run(1_100_000, 240_000, "/a/two"),
        run(1_900_000, 20_000, "/a/three"),
        run(2_000_000, 250_000, "/a/four"),
        run(2_100_000, 260_000, "/a/five"),
    ];
    let summary = Summary::of(runs.to_vec()).unwrap();
    assert_eq!(summary.median_run.total, Nanos(2_000_100));
    let found = findings(&summary, &MachineFacts::default()).remove(0);
    assert_eq!((found.cost, found.interval), (Nanos(320_000), Some([Nanos(100_000), Nanos(340_000)])));
    assert!(found.text.contains("most often of `two`, 3 times"), "all of it is of that run: {}", found.text);
    // a run that lacks it is shown
    let mut lacking = runs.clone();
    lacking[2] = run(2_000_000 - 60_000, 0, "/a/none");
    lacking[2].steps.truncate(2);
    lacking[2].total = summary.median_run.total;
    let summary = Summary::of(lacking.to_vec()).unwrap();
    let all = every(&summary, &MachineFacts::default());
    assert_eq!(all.iter().map(|it| (it.rule, it.cost.0)).collect::<Vec<_>>(), [("failed-searches", 320_000)]);
    assert!(findings(&summary, &MachineFacts::default()).is_empty());
    // of two in the middle, the smaller
    let summary = Summary::of([&runs[..2], &runs[3..]].concat()).unwrap();
    assert_eq!(findings(&summary, &MachineFacts::default())[0].cost, Nanos(320_000));
}

#[test]
fn the_most_expensive_come_first() {
    let mut all = quiet();
    all.push((800_000, call("mmap", None, false, Role::Loader)));
    all.push((700_000, fault(Region::Heap, Role::Executable, true)));
    let found = rules(run(all), &MachineFacts::default());
    assert_eq!(found, ["dynamic-linking", "from-disk"]);
}

#[test]
fn a_busy_machine_hides_no_finding() {
    let taken =
        |ns| vec![(ns, What::Off(Reason::Preempted)), (200_000, call("mmap", None, false, Role::Loader))];
    let found = |ns| rules(run([quiet(), taken(ns)].concat()), &MachineFacts::default());
    assert_eq!((found(0), found(50_000_000)), (vec!["dynamic-linking"], vec!["dynamic-linking"]));
}

#[test]
fn a_small_share_is_not_shown_as_nothing() {
    let percent = |cost| Finding::new("waits", Nanos(cost), "It waits.".to_owned()).sentence(Nanos(100_000));
    assert_eq!(percent(400), "400 ns, under 1 %: It waits.");
    assert_eq!(percent(600), "600 ns, 1 %: It waits.");
}
