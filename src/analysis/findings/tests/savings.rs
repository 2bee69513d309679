//! What following the advice of a finding saves, beside what its cause costs.

use super::*;
use crate::analysis::FileSearch;
use std::collections::BTreeMap;

fn found(account: Account, rule: &str) -> Option<Finding> {
    let summary = Summary::of(vec![account]).unwrap();
    findings(&summary, &MachineFacts::default()).into_iter().find(|finding| finding.rule == rule)
}

/// A run that makes these calls, of 100 ns each.
fn calls(name: &str, results: impl IntoIterator<Item = (String, String)>) -> Account {
    let of = |(file, result): (String, String)| {
        let What::Call { name, code, .. } = call(name, None, false, Role::Executable) else { panic!() };
        let text = format!("{name}(…) = {result}");
        (100, What::Call { name, text, file: Some(file.into()), failed: false, code })
    };
    run(quiet().into_iter().chain(results.into_iter().map(of)).collect())
}

#[test]
fn larger_buffers_save_the_calls_that_they_leave_out() {
    let reads = |bytes: u32| (0..2_000).map(move |_| ("/data".to_owned(), bytes.to_string()));
    let bytes = found(calls("read", reads(1)), "repeated-calls").unwrap();
    assert_eq!((bytes.cost, bytes.saves), (Nanos(200_000), Some(Nanos(199_900))));
    let pages = found(calls("read", reads(32_768)), "repeated-calls").unwrap();
    assert_eq!(pages.saves, Some(Nanos(100_000)), "half as many calls with a buffer that is twice as large");
    let large = found(calls("read", reads(65_536)), "repeated-calls").unwrap();
    assert_eq!(large.saves, None);
    assert!(!large.text.contains("buffer"), "{}", large.text);
}

#[test]
fn asking_once_saves_nothing_where_each_question_is_another_one() {
    let stats = |paths: u32| (0..2_000).map(move |n| (format!("/p{}", n % paths), "0".to_owned()));
    let same = found(calls("stat", stats(2)), "repeated-calls").unwrap();
    assert_eq!(same.saves, Some(Nanos(199_800)));
    let others = found(calls("stat", stats(2_000)), "repeated-calls").unwrap();
    assert_eq!((others.saves, others.text.contains("keep the answer")), (None, false), "{}", others.text);
    let opened = found(calls("openat", stats(2_000)), "repeated-calls").unwrap();
    assert_eq!(opened.text, "The system call `openat` is made 2000 times.");
}

#[test]
fn a_folder_is_only_to_come_first_where_one_has_what_is_looked_for() {
    let account = |found: Option<&str>| {
        let failed = |_| (20_000, call("openat", Some("/a/libx.so"), true, Role::Executable));
        let mut account = run(quiet().into_iter().chain((0..4).map(failed)).collect());
        account.searches = vec![FileSearch {
            names: vec!["libx.so".to_owned()],
            misses: 3,
            folders: vec!["/a".to_owned(), "/b".to_owned()],
            found: found.map(str::to_owned),
            ..FileSearch::default()
        }];
        account
    };
    let first = found(account(Some("/c")), "failed-searches").unwrap();
    assert_eq!((first.cost, first.saves), (Nanos(80_000), Some(Nanos(60_000))));
    assert!(
        first.text.contains("`/c` has what 3 of them look for elsewhere: put it before `/a`"),
        "{}",
        first.text
    );
    // another search through the first folder, after those for libraries of this processor
    let mut shared = account(Some("/c"));
    let folder = "/a/glibc-hwcaps/x86-64-v3".to_owned();
    let hardware =
        FileSearch { misses: 5, folders: vec![folder, "/a".to_owned()], ..shared.searches[0].clone() };
    let other = FileSearch { misses: 1, found: Some("/d".to_owned()), ..shared.searches[0].clone() };
    shared.searches = vec![hardware, other];
    // 5 misses less the two folders, which are then new to the other search
    assert_eq!(found(shared, "failed-searches").unwrap().saves, Some(Nanos(60_000)));

    let nowhere = found(account(None), "failed-searches").unwrap();
    assert_eq!(nowhere.saves, None);
    assert!(nowhere.text.ends_with("No folder has these files: look for them only where they can be."));
}

#[test]
fn imports_save_what_is_not_pythons_own_and_their_part_of_the_end() {
    let mut steps = quiet();
    steps.push((100, call("write", Some("stdout"), false, Role::Executable)));
    steps.push((100_020, What::User));
    let loads = vec![
        load("Python", "encodings", "", [100_000, 100_000], 0),
        load("Python", "site", "", [100_000, 100_000], 0),
        load("Python", "slow", "", [500_000, 500_000], 0),
    ];
    let summary = Summary { loads, ..Summary::of(vec![run(steps)]).unwrap() };
    let finding = findings(&summary, &MachineFacts::default()).remove(0);
    // 100 µs of the end are for the 1000 µs before it
    assert_eq!(
        (finding.rule, finding.cost, finding.saves),
        ("reported", Nanos(770_000), Some(Nanos(550_000)))
    );
    assert!(finding.text.contains("where it is used"), "{}", finding.text);
}

/// The first finding of `python3 -c 1` was "saves about 0 ns (of 4.67 ms)".
#[test]
fn what_saves_less_than_a_hundredth_is_promised_by_no_finding() {
    let of = |own: u64| {
        let loads = vec![
            load("Python", "site", "", [400_000, 400_000], 0),
            load("Python", "program", "", [own, own], 0),
        ];
        // no other run has a report
        let summary = Summary { loads, ..Summary::of(vec![run(quiet()); 5]).unwrap() };
        findings(&summary, &MachineFacts::default()).remove(0)
    };
    let (nothing, some) = (of(0), of(20_000));
    assert_eq!((nothing.rule, nothing.cost, nothing.saves), ("reported", Nanos(400_000), None));
    let sentence = nothing.sentence(Nanos(1_000_100));
    assert!(sentence.starts_with("400 µs, 40 %: By Python's own report: `site` 400 µs"), "{sentence}");
    assert!(sentence.ends_with(" Python itself loads these before the program begins."), "{sentence}");
    assert_eq!(of(9_000).saves, None);
    assert_eq!(some.saves, Some(Nanos(20_000)));
}

#[test]
fn processes_that_execute_nothing_are_part_of_what_is_started() {
    let fork = call("clone", None, false, Role::Libc);
    let mut account = run(vec![(100, exec()), (200_000, What::User), (100_000, fork), (300_000, What::User)]);
    account.steps.push(Step {
        start: Nanos(600_100),
        elapsed: Nanos(400_000),
        self_time: Nanos(400_000),
        what: What::User.into(),
    });
    account.total = Nanos(1_000_100);
    let piece = |pid, from, to| PathPiece { thread: 0, pid, tid: pid, from: Nanos(from), to: Nanos(to) };
    account.path = vec![piece(ROOT, 0, 600_100), piece(ROOT + 1, 600_100, 1_000_100)];
    let child =
        ProcessAccount { pid: ROOT + 1, parent: ROOT, execs: Vec::new(), ..account.processes[0].clone() };
    account.processes.push(child);
    let finding = found(account, "programs").unwrap();
    assert_eq!((finding.cost, finding.saves), (Nanos(500_000), Some(Nanos(500_000))));
    assert!(
        finding.text.contains("creating 1 process and their work before an exec 500 µs"),
        "{}",
        finding.text
    );
}

/// `strace perl -e 1`: 13 failed lookups with `LANG=C.UTF-8`, 1 with `C.utf8`; 7 with a locale that is not installed, and 0
/// once `localedef` has made it.
#[test]
fn a_locale_is_not_put_into_a_search_path() {
    let text = |name: &str, folders: [&str; 2], place: Option<&str>, variable: &str| {
        let failed = |_| (20_000, call("openat", Some("/l/x/LC_CTYPE"), true, Role::Executable));
        let mut account = run(quiet().into_iter().chain((0..4).map(failed)).collect());
        account.searches = vec![FileSearch {
            names: vec![name.to_owned()],
            misses: 3,
            folders: folders.map(str::to_owned).to_vec(),
            found: place.map(str::to_owned),
            ..FileSearch::default()
        }];
        let environment = KnownEnvironment::Whole([(variable.into(), "C.UTF-8".into())].into());
        let summary = Summary { environment, ..Summary::of(vec![account]).unwrap() };
        let finding = findings(&summary, &MachineFacts::default()).remove(0);
        assert!(!finding.text.contains("search path"), "{}", finding.text);
        (finding.text, finding.saves)
    };
    let spelled = |variable| text("LC_CTYPE", ["/l/C.UTF-8", "/m/C.UTF-8"], Some("/l/C.utf8"), variable);
    for (variable, advice) in [("LANG", "LANG=C.utf8"), ("HOME", "LC_ALL=C.utf8")] {
        let (text, saves) = spelled(variable);
        let expected = format!(
            "`/l/C.utf8` has what 3 of them look for in `/l/C.UTF-8`: with `{advice}` they are not made."
        );
        assert!(text.ends_with(&expected), "{text}");
        assert_eq!(saves, Some(Nanos(60_000)));
    }
    let (missing, saves) = text("LC_CTYPE", ["/l/de_DE.UTF-8", "/l/de_DE.utf8"], None, "HOME");
    assert!(missing.contains("The locale `de_DE.UTF-8` is not installed: `locale-gen`"), "{missing}");
    assert_eq!(saves, None);
    let folders = ["/l/de_DE/LC_MESSAGES", "/l/de_DE.utf8/LC_MESSAGES"];
    let (texts, saves) = text("ls.mo", folders, Some("/l/de/LC_MESSAGES"), "HOME");
    assert!(texts.ends_with(" 4 times."), "no advice helps: {texts}");
    assert_eq!(saves, None);
}

#[test]
fn a_folder_that_comes_first_does_not_spare_the_others_what_is_found_elsewhere() {
    let failed = |_| (1_000, call("openat", Some("/a/libx.so"), true, Role::Loader));
    let mut account = run(quiet().into_iter().chain((0..200).map(failed)).collect());
    let search = |misses, found: &str| FileSearch {
        misses,
        folders: (0..50).map(|n| format!("/e{n}/glibc-hwcaps/x86-64-v2")).collect(),
        found: Some(found.to_owned()),
        ..FileSearch::default()
    };
    account.searches = vec![search(150, "/c")];
    let alone = found(account.clone(), "failed-searches").unwrap();
    assert_eq!(alone.saves, Some(Nanos(150_000)));
    assert!(alone.text.contains("put it before `/e0` in the search path"), "{}", alone.text);
    account.searches.push(search(50, "/lib"));
    assert_eq!(found(account, "failed-searches").unwrap().saves, Some(Nanos(100_000)));
}

#[test]
fn new_memory_that_is_touched_in_large_blocks_could_be_in_huge_pages() {
    let touched = |step: u64| {
        let fault = |n: u64| {
            let fault = PageFault {
                region: Region::Anonymous,
                page: n * step,
                write: Some(true),
                major: false,
                code: None,
            };
            (1_000, What::Fault(fault))
        };
        found(run(quiet().into_iter().chain((0..1024).map(fault)).collect()), "new-memory").unwrap()
    };
    let dense = touched(4096);
    assert_eq!((dense.cost, dense.saves), (Nanos(1_024_000), Some(Nanos(921_600))));
    assert!(dense.text.contains("MADV_HUGEPAGE"), "{}", dense.text);
    let sparse = touched(1 << 16);
    assert_eq!((sparse.saves, sparse.text.contains("MADV_HUGEPAGE")), (None, false));
}

fn linked(path: &str, relocations: Relocations, bind_now: bool) -> LinkedFile {
    LinkedFile { path: path.into(), programs: 1, linking: Linking { relocations, bind_now }, is_idle: false }
}

fn of_linked(linked: Vec<LinkedFile>, functions: Vec<Function>) -> Vec<Finding> {
    let steps = [quiet(), vec![(100_000, call("mmap", None, false, Role::Loader))]].concat();
    let divided = Divided { functions, ..Divided::default() };
    let summary = Summary {
        linked,
        user_code: Some(UserCode { divided, ..UserCode::default() }),
        environment: KnownEnvironment::Whole(BTreeMap::new()),
        ..Summary::of(vec![run(steps)]).unwrap()
    };
    findings(&summary, &MachineFacts { loader: Some(Nanos(200_000)), ..MachineFacts::default() })
}

#[test]
fn static_linking_keeps_the_programs_own_relocations() {
    let own = |count| Relocations { relative: count, ..Relocations::default() };
    let found =
        of_linked(vec![linked("/x", own(995_000), false), linked("/lib/libc.so.6", own(0), false)], vec![]);
    // 995,000 of 1,005,000 parts of the loader's code
    let expected = Some(Nanos(198_010));
    assert_eq!((found[0].rule, found[0].cost, found[0].saves), ("dynamic-linking", Nanos(300_000), expected));
    assert!(found[0].text.contains("`-no-pie`") && found[0].text.contains("the program itself 198 µs"));
    let found = of_linked(vec![linked("/x", own(10), false)], vec![]);
    assert_eq!(found[0].saves, Some(Nanos(300_000)));
}

#[test]
fn binding_at_the_start_costs_the_lookups_alone() {
    let lookup = Estimate { time: 100_000.0, low: 0.0, high: 100_000.0 };
    let frame = Frame::native("/lib64/ld-linux-x86-64.so.2", Some("do_lookup_x".into()));
    let functions = vec![Function { frame, self_time: lookup, total: lookup, samples: 9, lines: vec![] }];
    let counted = |jump_slot, symbolic| Relocations { symbolic, jump_slot, ..Relocations::default() };
    let program = linked("/x", counted(300, 0), true);
    let found = of_linked(vec![program, linked("/lib/libc.so.6", counted(50, 50), true)], functions);
    let finding = found.iter().find(|finding| finding.rule == "bind-now").unwrap();
    assert_eq!((finding.cost, finding.saves), (Nanos(75_000), Some(Nanos(75_000))));
    assert!(finding.text.contains("`-z lazy`") && finding.within == Some(0), "{finding:?}");
}

#[test]
fn initialisers_have_the_faults_and_calls_between_linking_and_main() {
    let node = |caller, module: &str, name: &str, time| Node {
        caller,
        frame: Frame::native(module, Some(name.into())),
        time,
    };
    let nodes = vec![
        node(None, "/bin/a", "a", 900_000.0),
        node(Some(0), "/lib64/ld-linux-x86-64.so.2", "_dl_init", 400_000.0),
        node(Some(1), "/lib64/ld-linux-x86-64.so.2", "call_init", 400_000.0),
        node(Some(2), "/lib/libslow.so", "warm_tables", 400_000.0),
        node(Some(0), "/bin/a", "main", 500_000.0),
    ];
    let steps = vec![
        (100, exec()),
        (10_000, call("mprotect", None, false, Role::Loader)),
        (300_000, What::User),
        (200_000, fault(Region::Heap, Role::Library, false)),
        // most of it is that of `main`
        (700_000, What::User),
        (300_000, fault(Region::Heap, Role::Executable, false)),
        (500_000, What::User),
    ];
    let user_code =
        Some(UserCode { divided: Divided { nodes, ..Divided::default() }, ..UserCode::default() });
    let summary = Summary { user_code, ..Summary::of(vec![run(steps)]).unwrap() };
    let found = findings(&summary, &MachineFacts::default());
    let finding = found.iter().find(|finding| finding.rule == "initialisers").unwrap();
    assert_eq!((finding.cost, &*finding.subject), (Nanos(600_000), "libslow.so"));
    assert!(finding.text.contains("`libslow.so` 400 µs (`warm_tables`)"), "{}", finding.text);
}

/// The file that initialises most in a program whose functions are `index of the caller, file, name`.
fn initialiser(functions: &[(Option<usize>, &str, &str)]) -> Option<String> {
    let node = |(caller, module, name): &(Option<usize>, &str, &str)| Node {
        caller: *caller,
        frame: Frame::native(*module, Some(*name).filter(|name| !name.is_empty()).map(Into::into)),
        time: 500_000.0,
    };
    let divided = Divided { nodes: functions.iter().map(node).collect(), ..Divided::default() };
    let user_code = Some(UserCode { divided, ..UserCode::default() });
    let summary = Summary { user_code, ..Summary::of(vec![run(quiet())]).unwrap() };
    let found = findings(&summary, &MachineFacts::default());
    found.into_iter().find(|finding| finding.rule == "initialisers").map(|finding| finding.subject)
}

#[test]
fn main_is_no_initialiser_in_files_without_symbols() {
    let [start, old] = ["/lib/libc.so.6", "/lib/libc-2.31.so"].map(|libc| (None, libc, "__libc_start_main"));
    // __libc_start_call_main and main without names
    let newer =
        [start, (Some(0), "/lib/libc.so.6", ""), (Some(1), "/bin/a", ""), (Some(2), "/lib/b.so", "run")];
    let older = [old, (Some(0), "/bin/a", ""), (Some(1), "/bin/a", "work")];
    let ends_with_a_call = [old, (Some(0), "/bin/python3", "Py_BytesMain")];
    for functions in [&newer[..], &older, &ends_with_a_call] {
        assert_eq!(initialiser(functions), None);
    }

    let own = (Some(0), "/bin/a", "warm_tables");
    let before_an_older_main = [old, own, (Some(0), "/bin/a", "main")];
    let is_static = [(None, "/bin/a", "__libc_start_main"), own];
    for functions in [&[start, own][..], &[start, (Some(0), "/bin/a", "")], &before_an_older_main, &is_static]
    {
        assert_eq!(initialiser(functions).as_deref(), Some("a"));
    }
}

#[test]
fn collections_while_python_ends_are_told_apart() {
    let node = |caller, name: &str, time| Node {
        caller,
        frame: Frame::native("/usr/bin/python3.11", Some(name.into())),
        time,
    };
    let nodes = vec![
        node(None, "python3", 900_000.0),
        node(Some(0), "Py_FinalizeEx", 300_000.0),
        node(Some(1), "gc_collect_main", 200_000.0),
        node(Some(0), "gc_collect_main", 300_000.0),
        node(Some(2), "delete_garbage", 60_000.0),
        node(Some(4), "dict_dealloc", 50_000.0),
    ];
    let total = Estimate { time: 500_000.0, low: 400_000.0, high: 600_000.0 };
    let frame = nodes[2].frame.clone();
    let functions = vec![Function { frame, self_time: total, total, samples: 9, lines: vec![] }];
    let user_code =
        Some(UserCode { divided: Divided { functions, nodes, ..Divided::default() }, ..UserCode::default() });
    let summary = Summary { user_code, ..Summary::of(vec![run(quiet())]).unwrap() };
    let found = findings(&summary, &MachineFacts::default());
    let finding = found.iter().find(|finding| finding.rule == "garbage-collection").unwrap();
    let without_freeing = Some(Nanos(440_000));
    assert_eq!((finding.cost, finding.saves), (Nanos(500_000), without_freeing));
    assert!(finding.text.contains(", 200 µs of it while Python ends."), "{}", finding.text);
    assert!(finding.text.contains("`gc.disable()` before the imports and `gc.freeze()` after them"));
}
