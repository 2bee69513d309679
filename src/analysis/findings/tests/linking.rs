//! The work of the dynamic loader.

use super::*;
use std::collections::BTreeMap;

fn linked(path: &str, relocations: u64, is_idle: bool) -> LinkedFile {
    let counted = Relocations { relative: relocations, jump_slot: relocations, ..Relocations::default() };
    let linking = Linking { relocations: counted, bind_now: true };
    LinkedFile { path: path.into(), programs: 1, linking, is_idle }
}

#[test]
fn a_tenth_of_the_time_in_ld_so_is_dynamic_linking() {
    let steps = |ns| [quiet(), vec![(ns, call("mmap", None, false, Role::Loader))]].concat();
    assert_eq!(rules(run(steps(150_000)), &MachineFacts::default()), ["dynamic-linking"]);
    assert!(rules(run(steps(50_000)), &MachineFacts::default()).is_empty());
    let sampled = MachineFacts { loader: Some(Nanos(100_000)), ..MachineFacts::default() };
    assert_eq!(rules(run(steps(50_000)), &sampled), ["dynamic-linking"], "with its sampled user code");
}

/// By ptrace, samples give most of the cost, the same for all runs: two programs that link alike differed by 29.4 µs (27.2 µs
/// to 31.6 µs).
#[test]
fn the_error_of_samples_is_in_the_interval_of_linking() {
    let linking = |ns| run([quiet(), vec![(ns, call("mmap", None, false, Role::Loader))]].concat());
    let runs = [120_000, 123_000, 123_000, 123_000, 126_000].map(linking);
    let summary = Summary::of(runs.to_vec()).unwrap();
    let of = |loader_error| {
        let loader = Some(Nanos(100_000));
        let sampled = MachineFacts { loader, loader_error: Nanos(loader_error), ..MachineFacts::default() };
        let found = findings(&summary, &sampled).remove(0);
        (found.cost.0, found.interval.map(|bounds| bounds.map(|it| it.0)))
    };
    assert_eq!(of(0), (223_000, Some([220_000, 226_000])));
    assert_eq!(of(4_000), (223_000, Some([218_000, 228_000])));
}

#[test]
fn libraries_are_unmapped_at_the_exit() {
    let library = (10_000, fault(Region::File("/lib/libc.so.6".into()), Role::Executable, false));
    let own = (10_000, fault(Region::Heap, Role::Executable, false));
    let end = vec![
        (150_000, call("mmap", None, false, Role::Loader)),
        (80_000, call("exit_group", None, false, Role::Libc)),
    ];
    let account = run([quiet(), vec![library.clone(), library.clone(), library, own], end].concat());
    let found = findings(&Summary::of(vec![account]).unwrap(), &MachineFacts::default());
    let linking = found.iter().find(|finding| finding.rule == "dynamic-linking").unwrap();
    // three of the four faults were in libraries
    assert_eq!((linking.cost, linking.saves), (Nanos(210_000), Some(Nanos(210_000))));
    assert!(
        linking.text.contains("1 system calls of ld.so, 60.0 µs to unmap libraries at the exit"),
        "{}",
        linking.text
    );
}

#[test]
fn libraries_of_which_no_code_runs_are_unused_unless_samples_show_it() {
    let loads = ["used", "idle", "sampled"].map(|name| {
        load(LIBRARY, &format!("lib{name}.so"), &format!("/lib/lib{name}.so"), [100_000, 100_000], 1)
    });
    let files = [("used", false), ("idle", true), ("sampled", true)];
    let files = files.map(|(name, is_idle)| linked(&format!("/lib/lib{name}.so"), 500, is_idle));
    let self_time = Estimate { time: 1_000.0, low: 1_000.0, high: 1_000.0 };
    let frame = Frame::native("/lib/libsampled.so", None);
    let functions = vec![Function { frame, self_time, total: self_time, samples: 1, lines: vec![] }];
    let user_code = UserCode { divided: Divided { functions, ..Divided::default() }, ..UserCode::default() };
    let summary = Summary {
        loads: loads.to_vec(),
        linked: files.to_vec(),
        user_code: Some(user_code),
        environment: KnownEnvironment::Whole(BTreeMap::new()),
        ..Summary::of(vec![run([quiet(), vec![(200_000, call("mmap", None, false, Role::Loader))]].concat())])
            .unwrap()
    };
    let found = findings(&summary, &MachineFacts::default());
    assert_eq!(found.iter().map(|it| it.rule).collect::<Vec<_>>(), ["dynamic-linking", "unused-libraries"]);
    assert!(
        found[0].text.contains(
            ", 3000 relocations, 1500 of them by a symbol's name; the longest: `libidle.so` 100 µs, `libsampled.so` 100 µs, \
             `libused.so` 100 µs)"
        ),
        "{}",
        found[0].text
    );
    assert_eq!(found[1].cost, Nanos(100_000));
    assert!(found[1].text.contains("1 large library") && found[1].text.contains("`libidle.so` 100 µs"));
    assert!(found[1].text.contains("as far as page faults and samples show"));

    let started_by_others = Summary { user_code: None, environment: KnownEnvironment::Unknown, ..summary };
    let found = findings(&started_by_others, &MachineFacts::default());
    assert!(!found[0].text.contains("relocations"), "LD_BIND_NOW may be set: {}", found[0].text);
    assert!(found[1].text.contains("as far as page faults show: "), "{}", found[1].text);
}
