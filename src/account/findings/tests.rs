//! For every rule, there is a run that triggers it and one that does not.

use super::*;
use crate::account::libraries::LinkedFile;
use crate::account::loads::{EXECUTABLE, FILE, LIBRARY};
use crate::account::profile::{Divided, Frame, Function, Node};
use crate::account::{
    Code, CodeOrigin, ExecStage, Execution, PageFault, PathPiece, ProcessAccount, Reason, Region,
    ThreadAccount,
};
use crate::inspect::headers::Linking;
use crate::inspect::relocations::Relocations;
use firstbyte_measure::Counts;
use firstbyte_measure::arch::Wait;
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
        note(&short, &VIRTUAL).unwrap().starts_with("41 CPUID instructions were counted. At 1.10 µs each")
    );
    assert_eq!(note(&short, &machine(1_100, 2)), None);

    let summary = Summary::of(vec![steps(45_100)]).unwrap();
    assert_eq!(note(&summary, &VIRTUAL), None);
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

fn load(runtime: &'static str, unit: &str, file: &str, times: [u64; 2], depth: u32) -> Load {
    let [own, total] = times.map(Nanos);
    Load { runtime, unit: unit.to_owned(), file: Some(file.into()), own, total, depth }
}

fn with_loads(loads: Vec<Load>) -> Vec<Finding> {
    let summary = Summary { loads, ..Summary::of(vec![run(quiet())]).unwrap() };
    findings(&summary, &MachineFacts::default())
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
fn five_modules_are_a_finding_with_their_packages() {
    let loads = |count: usize| -> Vec<Load> {
        let modules = (0..count)
            .map(|n| load(FILE, &format!("m{n}.pyc"), "/m/a.pyc", [100_000 + n as u64, 100_000], 1));
        let last = load(FILE, "last.pyc", "/m/last.pyc", [400_000, 400_000], 1);
        let program = load(EXECUTABLE, "python3.11", "/bin/python3.11", [1, 1], 0);
        std::iter::once(program).chain(modules).chain([last]).collect()
    };
    let with_loads = |loads| of_program("/bin/python3.11", loads);
    let found = with_loads(loads(5));
    assert_eq!((found[0].rule, found[0].cost), ("modules", Nanos(500_010)));
    let text = &found[0].text;
    assert!(text.contains("5 modules") && text.contains("`/m` 500 µs (5)"), "{text}");
    assert!(with_loads(loads(4)).is_empty());
    assert!(of_program("/bin/tsc", loads(5)).is_empty(), "another program reads them as data");
    let with_report = |time| [loads(5), vec![load("Python", "json", "", [time, time], 0)]].concat();
    let rules = |time| with_loads(with_report(time)).iter().map(|finding| finding.rule).collect::<Vec<_>>();
    assert_eq!(rules(310_000), ["reported"], "its own report is better");
    assert_eq!(rules(200_000), ["modules", "reported"], "unless it has only a part of them");
}

#[test]
fn the_longest_reported_loads_are_named_with_those_inside() {
    let loads = vec![
        load("Node", "/app.js", "/app.js", [10_000, 500_000], 0),
        load("Node", "./big", "/big.js", [100_000, 400_000], 1),
        load("Node", "left", "/left.js", [300_000, 300_000], 2),
        load("Node", "./small", "/small.js", [90_000, 90_000], 1),
    ];
    let found = with_loads(loads);
    assert_eq!((found[0].rule, found[0].cost), ("reported", Nanos(490_000)), "the program itself is no load");
    let text = &found[0].text;
    assert!(text.contains("`./big` 400 µs (of it `left` 300 µs); `./small` 90.0 µs"), "{text}");
}

#[test]
fn a_load_that_only_brings_in_another_one_is_looked_through() {
    let loads = vec![
        load("Python", "re", "", [50_000, 50_000], 0),
        load("Python", "cli", "", [1_000, 500_000], 0),
        load("Python", "main", "", [9_000, 499_000], 1),
        load("Python", "rich", "", [290_000, 290_000], 2),
        load("Python", "urllib3", "", [200_000, 200_000], 2),
    ];
    let text = with_loads(loads).remove(0).text;
    assert!(
        text.contains("`cli` 500 µs (of it, in `main`: `rich` 290 µs, `urllib3` 200 µs); `re` 50.0 µs"),
        "{text}"
    );
}

#[test]
fn many_small_loads_of_one_package_stand_together() {
    let part = |n: u64| load("Python", &format!("mercurial.m{n}"), "", [9_000 + n, 9_000 + n], 0);
    let others =
        [load("Python", "site", "", [40_000, 40_000], 0), load("Python", "re", "", [5_000, 5_000], 0)];
    let text = with_loads((0..10).map(part).chain(others).collect()).remove(0).text;
    assert!(
        text.contains(
            "`mercurial` 90.0 µs (10 modules, the longest: `mercurial.m9` 9.01 µs, `mercurial.m8` 9.01 µs); `site` \
             40.0 µs"
        ),
        "{text}"
    );
}

#[test]
fn site_is_only_blamed_for_what_a_path_file_makes_it_import() {
    let site = |child: &str, folder: &str| {
        let pth = format!("/usr/lib/python3/{folder}/own.pth");
        vec![
            load("Python", "site", "", [10_000, 400_000], 0),
            load("Python", child, "", [290_000, 290_000], 1),
            load("Python", "sitecustomize", "", [90_000, 90_000], 1),
            load(FILE, "own.pth", &pth, [1, 1], 1),
            load(FILE, "certifi.pyc", "/lib/certifi/__init__.pyc", [1, 1], 1),
            load(FILE, "json.pyc", "/lib/json/__init__.pyc", [1, 1], 1),
        ]
    };
    let found = |child, folder| {
        let found = with_loads(site(child, folder));
        found.into_iter().find(|finding| finding.rule == "python-site").map(|finding| finding.cost.0)
    };
    assert_eq!(found("certifi", "dist-packages"), Some(290_000), "not all that `site` imports");
    assert_eq!(found("os", "dist-packages"), None);
    assert_eq!(found("certifi", "data"), None, "a file that the program reads");
    assert_eq!(found("requests", "dist-packages"), None, "no file of it was read then");
    let all = with_loads(site("os", "dist-packages"));
    let own = all.iter().find(|finding| finding.rule == "site-customization").unwrap();
    assert_eq!(own.cost, Nanos(90_000));
}

#[test]
fn programs_that_are_started_are_named_once_with_all_that_they_start() {
    let loads = vec![
        load(EXECUTABLE, "sh", "/bin/sh", [1, 900_000], 0),
        load(FILE, "rc", "/rc", [1, 800_000], 1),
        load(EXECUTABLE, "git", "/bin/git", [1, 400_000], 2),
        load(EXECUTABLE, "less", "/bin/less", [1, 200_000], 3),
        load(EXECUTABLE, "git", "/bin/git", [1, 300_000], 2),
    ];
    let found = with_loads(loads);
    let all: Vec<_> = found.iter().map(|finding| (finding.rule, finding.cost.0)).collect();
    assert_eq!(all, [("slow-file", 800_000), ("programs", 700_000)]);
    let text = &found[1].text;
    assert!(
        text.contains("2 programs") && text.contains("`git` 700 µs (2 times) (of it `less` 200 µs)"),
        "{text}"
    );
}

#[test]
fn a_program_has_not_the_time_of_those_that_it_starts() {
    let loads = vec![
        load(EXECUTABLE, "make", "/bin/make", [1, 900_000], 0),
        load(EXECUTABLE, "cc", "/bin/cc", [1, 800_000], 1),
        load(EXECUTABLE, "cc1", "/lib/cc1", [1, 300_000], 2),
        load(EXECUTABLE, "collect2", "/lib/collect2", [1, 400_000], 2),
        load(EXECUTABLE, "ld", "/bin/ld", [1, 390_000], 3),
    ];
    let text = with_loads(loads).remove(0).text;
    assert!(text.contains("`cc` 800 µs (of it `ld` 390 µs, `cc1` 300 µs)"), "{text}");
}

#[test]
fn what_the_kernel_writes_and_path_files_are_no_slow_files() {
    for path in ["/proc/self/statm", "/sys/fs/cgroup/cpu.max", "/lib/x.pth"] {
        let name = path.rsplit('/').next().unwrap();
        assert!(with_loads(vec![load(FILE, name, path, [500_000, 500_000], 1)]).is_empty(), "{path}");
    }
}

fn node(caller: Option<usize>, module: &str, function: Option<&str>, time: f64) -> Node {
    Node { caller, frame: Frame { module: module.into(), function: function.map(Into::into) }, time }
}

#[test]
fn user_code_is_named_where_its_calls_divide_it() {
    let nodes = vec![
        node(None, "/bin/node", None, 800_000.0),
        node(Some(0), "/bin/node", Some("main"), 790_000.0),
        node(Some(1), "/bin/node", Some("Start"), 780_000.0),
        node(Some(2), "/bin/node", Some("Compile"), 300_000.0),
        node(Some(2), "/bin/node", Some("Run"), 400_000.0),
        node(Some(2), "/bin/node", Some("Free"), 1_000.0),
    ];
    let divided = Divided { nodes, ..Divided::default() };
    let with = |loads: Vec<Load>| {
        let user_code = Some(UserCode { divided: divided.clone(), ..UserCode::default() });
        let summary = Summary { user_code, loads, ..Summary::of(vec![run(quiet())]).unwrap() };
        findings(&summary, &MachineFacts::default())
    };
    let found = with(Vec::new());
    assert_eq!((found[0].rule, found[0].cost), ("user-code", Nanos(800_000)));
    let text = &found[0].text;
    assert!(
        text.contains(
            "`node` computes 800 µs, by samples with all that it calls: `Run` 400 µs, `Compile` 300 µs."
        ),
        "{text}"
    );
    let report = |time| with(vec![load("Node", "x", "", [time, time], 0)]);
    assert_eq!((report(300_000)[0].rule, report(300_000)[0].cost), ("user-code", Nanos(500_000)));
    assert!(report(300_000)[0].text.ends_with("Other findings explain the rest of this time."));
    let rules: Vec<&str> =
        with(vec![load("Node", "x", "", [500_000, 500_000], 0)]).iter().map(|f| f.rule).collect();
    assert_eq!(rules, ["reported"], "its modules explain it");
}

#[test]
fn an_interpreter_is_not_looked_into() {
    let nodes = vec![
        node(None, "/bin/python3", None, 800_000.0),
        node(Some(0), "/bin/python3", Some("main"), 790_000.0),
        node(Some(1), "/bin/python3", Some("_PyEval_EvalFrameDefault"), 780_000.0),
        node(Some(2), "/bin/python3", Some("PyObject_GetAttr"), 770_000.0),
    ];
    let user_code = UserCode { divided: Divided { nodes, ..Divided::default() }, ..UserCode::default() };
    let summary = Summary { user_code: Some(user_code), ..Summary::of(vec![run(quiet())]).unwrap() };
    let text = findings(&summary, &MachineFacts::default()).remove(0).text;
    assert!(text.contains(": the program that it interprets 780 µs."), "{text}");
    let loads = vec![load("Python", "x", "", [250_000, 250_000], 0)];
    let rules: Vec<&str> =
        findings(&Summary { loads, ..summary }, &MachineFacts::default()).iter().map(|it| it.rule).collect();
    assert_eq!(rules, ["reported"], "a quarter is enough to say more than that");
}

#[test]
fn a_program_that_a_module_starts_stands_before_the_module() {
    let loads = vec![
        load(EXECUTABLE, "node", "/bin/node", [1, 900_000], 0),
        load(EXECUTABLE, "tsc", "/bin/tsc", [700_000, 700_000], 1),
        load("Node", "tsc.js", "/tsc.js", [750_000, 750_000], 0),
    ];
    let rules: Vec<&str> = with_loads(loads).iter().map(|it| it.rule).collect();
    assert_eq!(rules, ["programs", "reported"]);
}

#[test]
fn missing_compiled_files_stand_before_the_imports_that_they_lengthen() {
    let sources = |time| {
        let imported = (0..3).map(|n| load("Python", &format!("a.m{n}"), "", [200_000, 200_000], 0));
        let read =
            (0..3).map(move |n| load(FILE, &format!("m{n}.py"), &format!("/a/m{n}.py"), [time, time], 1));
        with_loads(imported.chain(read).collect()).iter().map(|it| it.rule).collect::<Vec<_>>()
    };
    assert_eq!(sources(110_000), ["uncompiled-python", "reported"]);
    assert_eq!(sources(90_000), ["reported", "uncompiled-python"]);
}

fn linked(path: &str, relocations: u64, is_idle: bool) -> LinkedFile {
    let counted = Relocations { relative: relocations, jump_slot: relocations, ..Relocations::default() };
    let linking = Linking { relocations: counted, bind_now: true };
    LinkedFile { path: path.into(), programs: 1, linking, is_idle }
}

#[test]
fn libraries_of_which_no_code_runs_are_unused_unless_samples_show_it() {
    let loads = ["used", "idle", "sampled"].map(|name| {
        load(LIBRARY, &format!("lib{name}.so"), &format!("/lib/lib{name}.so"), [100_000, 100_000], 1)
    });
    let files = [("used", false), ("idle", true), ("sampled", true)];
    let files = files.map(|(name, is_idle)| linked(&format!("/lib/lib{name}.so"), 500, is_idle));
    let own = Estimate { time: 1_000.0, error: 0.0 };
    let frame = Frame { module: "/lib/libsampled.so".into(), function: None };
    let functions = vec![Function { frame, own, total: own, samples: 1 }];
    let user_code = UserCode { divided: Divided { functions, ..Divided::default() }, ..UserCode::default() };
    let summary = Summary {
        loads: loads.to_vec(),
        linked: files.to_vec(),
        user_code: Some(user_code),
        ..Summary::of(vec![run([quiet(), vec![(200_000, call("mmap", None, false, Role::Loader))]].concat())])
            .unwrap()
    };
    let found = findings(&summary, &MachineFacts::default());
    assert_eq!(found.iter().map(|it| it.rule).collect::<Vec<_>>(), ["dynamic-linking", "unused-libraries"]);
    assert!(
        found[0].text.contains(", 3000 relocations, 1500 of them by a symbol's name;"),
        "{}",
        found[0].text
    );
    assert_eq!(found[1].cost, Nanos(100_000));
    assert!(found[1].text.contains("1 large library") && found[1].text.contains("`libidle.so` 100 µs"));
}

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
fn a_shell_that_reports_its_commands_needs_no_guess_by_the_file_it_read_last() {
    let read = load(FILE, "completions", "/root/completions", [500_000, 500_000], 1);
    let command = load("bash", "pyenv rehash", "", [400_000, 400_000], 0);
    assert_eq!(with_loads(vec![read.clone()])[0].rule, "slow-file");
    let found = with_loads(vec![read, command]);
    assert_eq!(found.iter().map(|it| it.rule).collect::<Vec<_>>(), ["reported"]);
}

#[test]
fn the_script_that_a_program_reads_last_is_not_blamed_for_the_rest() {
    let mut account = run(quiet());
    account.processes[0].execs[0].executed = "/usr/bin/nvim".into();
    let script = |unit: &str, time| load(FILE, unit, &format!("/runtime/{unit}"), [time, time], 1);
    let loads = vec![script("filetype.vim", 300_000), script("zipPlugin.vim", 600_000)];
    let summary = Summary { loads, ..Summary::of(vec![account]).unwrap() };
    let found = findings(&summary, &MachineFacts::default());
    assert_eq!((found[0].rule, found[0].cost), ("slow-file", Nanos(300_000)));
    assert!(found[0].text.contains("/runtime/filetype.vim"), "{}", found[0].text);
}

#[test]
fn modules_without_a_compiled_file_are_compiled_each_time() {
    let sources = |count: usize| -> Vec<Load> {
        let imported = (0..count).map(|n| load("Python", &format!("a.m{n}"), "", [1, 1], 0));
        let read = (0..count)
            .map(|n| load(FILE, &format!("m{n}.py"), &format!("/a/m{n}.py"), [100_000, 100_000], 1));
        imported.chain(read).collect()
    };
    assert_eq!(with_loads(sources(3))[0].rule, "uncompiled-python");
    assert!(with_loads(sources(2)).is_empty());
    assert!(with_loads(sources(3).split_off(3)).is_empty(), "they are read as data");
    let mut compiled = sources(3);
    compiled.push(load(FILE, "m0.cpython-311.pyc", "/a/__pycache__/m0.cpython-311.pyc", [1, 1], 1));
    assert!(with_loads(compiled).is_empty());
}

#[test]
fn an_archive_of_code_is_not_blamed_for_what_its_code_does() {
    let read = |unit: &str, program: &str| {
        let mut account = run(quiet());
        account.processes[0].execs[0].executed = program.into();
        let loads = vec![load(FILE, unit, &format!("/a/{unit}"), [500_000, 500_000], 1)];
        let summary = Summary { loads, ..Summary::of(vec![account]).unwrap() };
        findings(&summary, &MachineFacts::default())
    };
    assert_eq!(read("settings.conf", "/bin/java")[0].rule, "slow-file");
    for unit in ["app.jar", "classes.jsa", "lib/modules", "m.py"] {
        assert!(read(unit, "/bin/java").is_empty(), "{unit}");
    }
    assert!(read("app.zip", "/bin/python3.11").is_empty());
    assert_eq!(read("app.zip", "/bin/unzip")[0].rule, "slow-file", "its data");
}

#[test]
fn a_lookup_that_fails_for_another_reason_is_no_search() {
    let steps = |error: &str| {
        let failed = What::Call {
            name: "access".into(),
            text: format!("access(\"/usr\") = -1 {error}"),
            file: Some("/usr/".into()),
            failed: true,
            code: None,
        };
        run([quiet(), vec![(50_000, failed); 3]].concat())
    };
    assert_eq!(rules(steps("ENOENT"), &MachineFacts::default()), ["failed-searches"]);
    assert!(rules(steps("EACCES"), &MachineFacts::default()).is_empty());
    let summary = Summary::of(vec![steps("ENOENT")]).unwrap();
    assert!(findings(&summary, &MachineFacts::default())[0].text.contains("`usr`, 3 times"));
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
fn a_cost_has_the_interval_of_all_runs() {
    let sleeping = |ns| run([quiet(), vec![(ns, What::Off(Reason::For(Wait::Sleep)))]].concat());
    let summary = Summary::of([300_000, 100_000, 200_000, 500_000, 400_000].map(sleeping).into()).unwrap();
    let found = findings(&summary, &MachineFacts::default()).remove(0);
    assert_eq!((found.cost, found.interval), (Nanos(300_000), Some([Nanos(200_000), Nanos(400_000)])));
    let sentence = found.sentence(Nanos(1_300_000));
    assert!(sentence.starts_with("300 µs (200 µs to 400 µs), 23 %: The program sleeps once"), "{sentence}");
}

#[test]
fn a_cost_that_is_unusual_in_the_run_that_is_shown_is_the_median_of_all() {
    // the run with the median total sleeps the shortest
    let run = |computing: u64, sleeping: u64| {
        run(vec![(100, exec()), (computing, What::User), (sleeping, What::Off(Reason::For(Wait::Sleep)))])
    };
    let runs = [(1_000_000, 300_000), (1_100_000, 310_000), (1_900_000, 100_000)]
        .into_iter()
        .chain([(2_000_000, 320_000), (2_100_000, 330_000)]);
    let summary = Summary::of(runs.map(|(computing, sleeping)| run(computing, sleeping)).collect()).unwrap();
    let found = findings(&summary, &MachineFacts::default()).remove(0);
    let [low, high] = found.interval.unwrap();
    assert_eq!(found.cost, Nanos(310_000));
    assert!(low <= found.cost && found.cost <= high);
}

#[test]
fn an_exec_before_the_last_one_is_a_chain_without_the_programs_that_ran_meanwhile() {
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
    assert_eq!((finding.rule, finding.cost), ("exec-chain", Nanos(30_000)));
    assert!(finding.text.contains("take 40.0 µs more"), "{}", finding.text);
}

#[test]
fn a_wait_for_the_reader_of_the_output_is_not_blamed_on_a_device() {
    let text = |file: Option<&str>| {
        let mut account = run([quiet(), vec![(500_000, What::Off(Reason::For(Wait::Write)))]].concat());
        let write = Step {
            start: Nanos(1_000_000),
            elapsed: Nanos(600_000),
            own: Nanos(0),
            what: call("write", file, false, Role::Executable),
        };
        let place = account.steps.len() - 1;
        account.steps.insert(place, write);
        let summary = Summary::of(vec![account]).unwrap();
        findings(&summary, &MachineFacts::default()).remove(0).text
    };
    assert!(text(Some("stdout")).contains("until its output is read"));
    assert!(text(None).contains("another program"));
}

#[test]
fn a_library_whose_faults_others_wait_for_is_heavy() {
    let region = || Region::File("/lib/libstdc++.so.6".into());
    let mut account = run([quiet(), vec![(2_000, fault(region(), Role::Executable, false)); 20]].concat());
    account.threads[0].steps.clear();
    assert_eq!(rules(account.clone(), &MachineFacts::default()), ["heavy-library"], "another thread's");
    account.threads[0].steps = std::mem::replace(&mut account.steps, run(quiet()).steps);
    assert!(rules(account, &MachineFacts::default()).is_empty(), "off the path");
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
