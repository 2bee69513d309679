//! Files, modules and programs that are loaded.

use super::*;
use crate::analysis::binaries::FileBinaries;
use crate::analysis::loads::of_path;

fn with_loads(loads: Vec<Load>) -> Vec<Finding> {
    let summary = Summary { loads, ..Summary::of(vec![run(quiet())]).unwrap() };
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
fn modules_that_several_threads_read_have_no_certain_times() {
    let module = |n: u64| load(FILE, &format!("m{n}.pyc"), "/m/a.pyc", [100_000 + n, 100_000], 1);
    let program = load(EXECUTABLE, "python3.11", "/bin/python3.11", [1, 1], 0);
    let loads: Vec<Load> = std::iter::once(program).chain((0..6).map(module)).collect();
    let text = |pid| {
        let mut account =
            run([quiet(), vec![(10, call("openat", Some("/m/a.pyc"), false, Role::Libc))]].concat());
        let exec = &mut account.processes[0].execs[0];
        (exec.path, exec.executed) = ("/bin/python3.11".into(), "/bin/python3.11".into());
        account.threads.push(ThreadAccount { pid, tid: 200, ..account.threads[0].clone() });
        let summary = Summary { loads: loads.clone(), ..Summary::of(vec![account]).unwrap() };
        findings(&summary, &MachineFacts::default()).remove(0).text
    };
    assert!(text(ROOT).contains("(5). Several threads read modules, so a"), "{}", text(ROOT));
    assert!(!text(200).contains("Several threads"), "another process");
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
fn a_program_that_loads_one_module_is_named_with_it() {
    let loads = vec![
        load("Node", "/app.js", "/app.js", [100_000, 500_000], 0),
        load("Node", "./big", "/big.js", [400_000, 400_000], 1),
    ];
    let found = with_loads(loads);
    assert_eq!((found[0].rule, found[0].cost), ("reported", Nanos(500_000)));
    assert!(found[0].text.contains("`/app.js` 500 µs (of it `./big` 400 µs)"), "{}", found[0].text);
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
    let finding = all.iter().find(|finding| finding.rule == "site-customization").unwrap();
    assert_eq!(finding.cost, Nanos(90_000));
    assert!(
        finding.text.starts_with("Python imports `sitecustomize` at"),
        "no file of it is known: {}",
        finding.text
    );

    let file = load(FILE, "sitecustomize.pyc", "/lib/sitecustomize.pyc", [1, 1], 1);
    let all = with_loads([site("os", "dist-packages"), vec![file]].concat());
    let finding = all.iter().find(|finding| finding.rule == "site-customization").unwrap();
    assert!(finding.text.contains("`sitecustomize` (`/lib/sitecustomize.pyc`)"), "{}", finding.text);
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
        text.contains("2 programs") && text.contains("`git` 700 µs (2 times, of it `less` 200 µs)"),
        "{text}"
    );
}

#[test]
fn a_program_that_a_shell_starts_has_the_line_that_starts_it() {
    let loads = vec![
        load(EXECUTABLE, "zsh", "/bin/zsh", [1, 900_000], 0),
        load(EXECUTABLE, "sleep", "/bin/sleep", [300_000, 300_000], 1),
        load(EXECUTABLE, "git", "/bin/git", [200_000, 200_000], 1),
        load(EXECUTABLE, "id", "/bin/id", [100_000, 100_000], 1),
    ];
    let command = |program: &str, place: &str, time| {
        let (program, place) = (program.to_owned(), place.to_owned());
        ShellCommand { program, place, time: Some(Nanos(time)) }
    };
    let commands = vec![
        command("sleep", "/plug.zsh:3", 0),
        command("git", "/a:1", 7),
        command("git", "/b:2", 9),
        command("git", "/a:1", 1),
    ];
    let mut summary = Summary { loads, commands, ..Summary::of(vec![run(quiet())]).unwrap() };
    let text = |summary: &Summary| findings(summary, &MachineFacts::default()).remove(0).text;
    summary.commands[2].time = None;
    assert!(text(&summary).contains("`git` 200 µs, from 2 lines, "), "the last one may be the longest");
    summary.commands[2].time = Some(Nanos(9));
    let text = text(&summary);
    assert!(
        text.contains("`sleep` 300 µs, from /plug.zsh:3, `git` 200 µs, mostly from /b:2, `id` 100 µs."),
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

#[test]
fn what_lengthens_the_imports_is_a_part_of_them() {
    let imported = (0..3).map(|n| load("Python", &format!("a.m{n}"), "", [200_000, 200_000], 0));
    let read = (0..3).map(|n| load(FILE, &format!("m{n}.py"), &format!("/a/m{n}.py"), [110_000, 110_000], 1));
    let found = with_loads(imported.chain(read).collect());
    let shown: Vec<_> = found.iter().map(|it| (it.rule, it.within)).collect();
    assert_eq!(shown, [("reported", None), ("uncompiled-python", Some(0))]);
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
fn neither_a_script_that_is_executed_nor_the_cache_of_the_loader_is_a_slow_file() {
    let mut account = run(quiet());
    account.processes[0].execs[0].path = "/usr/bin/report".into();
    account.processes[0].execs[0].executed = "/bin/sh".into();
    let found = |path: &str| {
        let loads = vec![load(FILE, "x", path, [500_000, 500_000], 1), load(FILE, "y", "/etc/y", [1, 1], 1)];
        let summary = Summary { loads, ..Summary::of(vec![account.clone()]).unwrap() };
        findings(&summary, &MachineFacts::default()).iter().map(|it| it.rule).collect::<Vec<_>>()
    };
    assert_eq!(found("/etc/settings"), ["slow-file"]);
    assert!(found("/usr/bin/report").is_empty() && found("/etc/ld.so.cache").is_empty());
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
fn a_library_is_loaded_as_soon_as_the_program_touches_a_page() {
    let mut account = run(vec![
        (100, exec()),
        (10, call("openat", Some("/lib/liba.so"), false, Role::Loader)),
        (10, call("mmap", Some("/lib/liba.so"), false, Role::Loader)),
        (5, fault(Region::Heap, Role::Executable, false)),
        (1_000, What::User),
    ]);
    account.path = vec![PathPiece { thread: 0, pid: ROOT, tid: ROOT, from: Nanos(0), to: account.total }];
    let loads = of_path(&account, &FileBinaries::default());
    let times: Vec<(&str, u64)> = loads.iter().map(|load| (&*load.unit, load.self_time.0)).collect();
    assert_eq!(times, [("x", 1_105), ("liba.so", 20)]);
}

#[test]
fn a_variable_is_blamed_for_what_it_makes_programs_load() {
    let found = |path: &str| {
        let environment = [("LD_PRELOAD".into(), path.into())].into_iter().collect();
        let loads = vec![load(LIBRARY, "liba.so", "/lib/liba.so", [300_000, 400_000], 1)];
        let environment = KnownEnvironment::Whole(environment);
        let summary = Summary { loads, environment, ..Summary::of(vec![run(quiet())]).unwrap() };
        findings(&summary, &MachineFacts::default()).into_iter().find(|finding| finding.rule == "preloaded")
    };
    assert!(found("/lib/libb.so").is_none());
    let finding = found("/lib/liba.so").unwrap();
    assert_eq!(finding.cost, Nanos(400_000));
    assert!(finding.text.contains("load `/lib/liba.so`. Unset it"), "{}", finding.text);
}

/// A program may write the report itself.
#[test]
fn reported_times_that_no_run_can_have_taken_are_limited_to_its_own() {
    let long = |unit: &str, depth| load("Python", unit, "", [u64::MAX, u64::MAX], depth);
    let loads = (0..20).map(|n| long(&format!("a.m{n}"), 0)).chain([long("b", 0), long("c", 1)]);
    let found = with_loads(loads.collect());
    assert_eq!((found[0].rule, found[0].cost), ("reported", Nanos(1_000_100)), "the whole run");
}

#[test]
fn a_module_that_brings_in_all_others_is_named_if_it_takes_long_itself() {
    let found = with_loads(vec![
        load("Perl", "JSON/PP.pm", "/p/JSON/PP.pm", [500_000, 900_000], 0),
        load("Perl", "Carp.pm", "/p/Carp.pm", [300_000, 300_000], 1),
        load("Perl", "bytes.pm", "/p/bytes.pm", [100_000, 100_000], 1),
    ]);
    let reported = found.iter().find(|finding| finding.rule == "reported").unwrap();
    assert_eq!(reported.cost, Nanos(900_000));
    assert!(
        reported.text.contains("`JSON/PP.pm` 900 µs (of it `Carp.pm` 300 µs, `bytes.pm` 100 µs)."),
        "{}",
        reported.text
    );
}

#[test]
fn reported_times_are_those_of_the_run_that_is_shown() {
    let cost = |reporting_run| {
        let loads = vec![load("Python", "slow", "", [500_000, 500_000], 0)];
        let summary = Summary { loads, reporting_run, ..Summary::of(vec![run(quiet())]).unwrap() };
        findings(&summary, &MachineFacts::default()).remove(0).cost
    };
    let times = |wall, processor| Some(RunTimes { wall: Nanos(wall), processor: Nanos(processor) });
    assert_eq!(cost(None), Nanos(500_000));
    assert_eq!(cost(times(1_000_100, 1_000_100)), Nanos(500_000));
    assert_eq!(cost(times(2_000_200, 2_000_200)), Nanos(250_000), "the reporting run took twice as long");
    assert_eq!(cost(times(500_000, 500_000)), Nanos(500_000), "nothing becomes longer");
    assert_eq!(
        cost(times(2_000_200, 1_500_000)),
        Nanos(500_000),
        "it waited, and waits do not become longer"
    );
    let loads =
        vec![load("Python", "a", "", [1_500_150, 1_500_150], 0), load("Python", "b", "", [500_050; 2], 0)];
    let reporting_run = times(3_000_000, 1_000_000);
    let summary = Summary { loads, reporting_run, ..Summary::of(vec![run(quiet())]).unwrap() };
    let found = findings(&summary, &MachineFacts::default()).remove(0);
    assert_eq!(found.cost, Nanos(1_000_100));
    assert!(found.text.contains("`a` 750 µs; `b` 250 µs."), "others made it wait: {}", found.text);

    // two thirds of the run that is shown, and so of the long load, are a sleep
    let asleep = (2_000_000, What::Off(Reason::For(Wait::Sleep)));
    let sleeping = run([quiet(), vec![asleep]].concat());
    let loads = vec![load("Python", "a", "", [4_000_100; 2], 0), load("Python", "b", "", [500_000; 2], 0)];
    let reporting_run = times(9_000_000, 2_000_100);
    let summary = Summary { loads, reporting_run, ..Summary::of(vec![sleeping]).unwrap() };
    let found = findings(&summary, &MachineFacts::default());
    let text = &found.iter().find(|finding| finding.rule == "reported").unwrap().text;
    assert!(text.contains("`a` 2.80 ms; `b` 200 µs."), "{text}");
}
