//! No time is counted twice: whatever happens, the findings outside of others sum to no more than the total. No figure lies
//! outside of its interval.

use super::*;
use proptest::prelude::*;

/// Steps of every kind that rules look at.
fn what(kind: u8) -> What {
    match kind % 10 {
        0 => What::User,
        1 => call("read", Some("/etc/data"), false, Role::Executable),
        2 => call("openat", Some("/a/missing"), true, Role::Libc),
        3 => call("mmap", None, false, Role::Loader),
        4 => call("openat", Some("/m/a.py"), false, Role::Executable),
        5 => fault(Region::Heap, Role::Executable, false),
        6 => fault(Region::File("/lib/libx.so".into()), Role::Loader, true),
        7 => What::Off(Reason::For(Wait::Sleep)),
        8 => What::Off(Reason::Preempted),
        _ => What::Off(Reason::For(Wait::Poll)),
    }
}

/// Loads of every kind; what a runtime reports is of another run, and can be anything.
fn loads(times: &[u32]) -> Vec<Load> {
    let kinds = [(FILE, "/m/a.py"), (LIBRARY, "/lib/libx.so"), ("Python", ""), (EXECUTABLE, "/bin/child")];
    let load_of = |(n, time): (usize, &u32)| {
        let (runtime, path) = kinds[n % kinds.len()];
        let time = u64::from(*time);
        load(runtime, &format!("m{n}.py"), path, [time, time], 1)
    };
    times.iter().enumerate().map(load_of).collect()
}

fn sampled(time: u32) -> UserCode {
    let estimate = Estimate { time: f64::from(time), low: 0.0, high: f64::from(time) };
    let frame = Frame::native("/bin/x", Some("gc_collect_main".into()));
    let node = Node { caller: None, frame: frame.clone(), time: f64::from(time) };
    let function = Function { frame, self_time: estimate, total: estimate, samples: 9, lines: Vec::new() };
    let divided = Divided { functions: vec![function], nodes: vec![node], ..Divided::default() };
    UserCode { divided, ..UserCode::default() }
}

proptest! {
    #[test]
    fn findings_outside_of_others_never_sum_to_more_than_the_total(
        steps in proptest::collection::vec((0..400_000_u64, any::<u8>()), 1..60),
        times in proptest::collection::vec(0..3_000_000_u32, 0..12),
        samples in 0..5_000_000_u32,
        first_byte in proptest::option::of(0..2_000_000_u64),
        runs in proptest::collection::vec(1..16_u64, 1..9),
    ) {
        let account = |nth: &u64| {
            // the steps of a run are not all longer or all shorter than those of another one
            let varied = |(place, (ns, kind)): (u64, &(u64, u8))| (ns * (8 + place * nth % 5) / 8, what(*kind));
            let mut account = run((1..).zip(&steps).map(varied).collect());
            if let Some(first) = first_byte.filter(|first| *first < account.total.0) {
                account.phases = Phases { setup: Some(Nanos(first)), write: Some(Nanos(0)), ..account.phases };
            }
            account
        };
        let summary = Summary::of(runs.iter().map(account).collect()).unwrap();
        let summary = Summary { loads: loads(&times), user_code: Some(sampled(samples)), ..summary };
        let total = summary.median_run.total;
        let found = findings(&summary, &VIRTUAL);
        let outer: u64 = found.iter().filter(|it| it.within.is_none()).map(|it| it.cost.0).sum();
        prop_assert!(outer <= total.0, "{outer} of {total}: {found:#?}");
        for (index, finding) in found.iter().enumerate() {
            let figure = finding.saves.unwrap_or(finding.cost);
            let contains = |[low, high]: [Nanos; 2], figure| low <= figure && figure <= high;
            prop_assert!(finding.interval.is_none_or(|it| contains(it, finding.cost)), "{finding:#?}");
            prop_assert!(finding.figure_interval().is_none_or(|it| contains(it, figure)), "{finding:#?}");
            prop_assert!(figure <= finding.cost && finding.cost <= summary.explained_total());
            prop_assert!(finding.within.is_none_or(|outer| outer < index && found[outer].within.is_none()));
        }
    }
}
