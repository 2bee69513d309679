//! Searches, libraries and instructions that trap.

use super::*;

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
    assert_eq!(rules(steps(45_100), &machine(4_510, 10)), ["cpuid"], "ten are enough");
    assert!(rules(steps(45_100), &machine(4_510, 9)).is_empty(), "nine are not");
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
fn a_library_whose_faults_others_wait_for_is_heavy() {
    let region = || Region::File("/lib/libstdc++.so.6".into());
    let mut account = run([quiet(), vec![(2_000, fault(region(), Role::Executable, false)); 20]].concat());
    account.threads[0].steps.clear();
    assert_eq!(rules(account.clone(), &MachineFacts::default()), ["heavy-library"], "another thread's");
    account.threads[0].steps = std::mem::replace(&mut account.steps, run(quiet()).steps);
    assert!(rules(account, &MachineFacts::default()).is_empty(), "off the path");
}

#[test]
fn a_tenth_of_the_time_in_faults_on_new_memory_is_a_finding() {
    let touches = |ns, region, major| {
        let account = run([quiet(), vec![(ns, fault(region, Role::Executable, major)); 2]].concat());
        findings(&Summary::of(vec![account]).unwrap(), &MachineFacts::default())
    };
    let found = touches(100_000, Region::Anonymous, false).remove(0);
    assert_eq!((found.rule, found.cost), ("new-memory", Nanos(200_000)));
    assert!(found.text.starts_with("2 page faults in memory without a file"), "{}", found.text);
    assert!(touches(40_000, Region::Heap, false).is_empty());
    assert!(touches(100_000, Region::File("/x".into()), false).is_empty());
    assert_eq!(touches(100_000, Region::Heap, true).remove(0).rule, "from-disk");
}
