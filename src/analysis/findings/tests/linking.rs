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
