//! How often the kernel skipped a program, because a task was preempted while it ran the same program on the same processor
//! (`bpf_prog_get_recursion_context` in `include/linux/bpf.h`; its callers in `kernel/trace/bpf_trace.c` and
//! `kernel/bpf/trampoline.c`). It counts this since Linux 5.12. What the program would have seen is lost, unless its twin of
//! `twice.h` has seen it.

use super::attach::Object;
use aya::Ebpf;
use aya::programs::Program;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};

/// The programs of `TWICE` and their twins. Without these the events of a run are incomplete. The programs on wakings,
/// signals and switches are not preempted.
const TWICE: [(&str, &str); 8] = [
    ("sched_process_fork", "sched_process_fork_again"),
    ("sched_process_exec", "sched_process_exec_again"),
    ("sched_process_exit", "sched_process_exit_again"),
    ("sys_enter", "sys_enter_again"),
    ("sys_exit", "sys_exit_again"),
    ("page_fault_user", "page_fault_user_again"),
    ("page_fault_kernel", "page_fault_kernel_again"),
    (OF_INTERRUPTS_TOO, "count_memcg_events_again"),
];

/// An interrupt that counts something may find this program at work, so its skips mean nothing.
const OF_INTERRUPTS_TOO: &str = "count_memcg_events";

/// Since Linux 7.0 tasks are preempted in the programs of tracepoints (`TRACE_EVENT` calls them under SRCU).
const PREEMPTED_SINCE: u32 = 7;

/// Whether the kernel may skip programs of [`TWICE`], so that both of each pair are attached.
pub(super) fn programs_may_be_skipped() -> bool {
    #[cfg(test)]
    if twins::FORCED.get() {
        return true;
    }
    let system = rustix::system::uname();
    major(system.release().to_str().unwrap_or_default()).is_some_and(|major| major >= PREEMPTED_SINCE)
}

/// A program for a tracepoint and, where programs may be skipped, its twin. They are attached in this order.
pub(super) fn with_twin(name: &'static str, object: Object) -> impl Iterator<Item = &'static str> {
    let both = object == Object::Current && programs_may_be_skipped();
    let twin = TWICE.into_iter().find(|(first, _)| both && *first == name);
    std::iter::once(name).chain(twin.map(|(_, again)| again))
}

fn major(release: &str) -> Option<u32> {
    release.split('.').next()?.parse().ok()
}

/// The skips of the programs that observe a run, from one moment on.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    before: [[Option<u64>; 2]; TWICE.len()],
}

impl Skipped {
    /// From now on.
    pub(super) fn since_now(programs: &Ebpf) -> Skipped {
        let count = |name| skips_of(programs.program(name)?);
        Skipped { before: TWICE.map(|(name, again)| [name, again].map(count)) }
    }

    /// The most events that were missed: by a program and, if it has one, by its twin.
    pub(super) fn until_now(&self, programs: &Ebpf) -> u64 {
        let now = Skipped::since_now(programs).before;
        let pairs = TWICE.iter().zip(now).zip(self.before);
        let counted = pairs.filter(|((names, _), _)| names.0 != OF_INTERRUPTS_TOO);
        counted.map(|((_, now), before)| missed(now, before)).sum()
    }
}

/// A twin has no count where it is not loaded.
fn missed(now: [Option<u64>; 2], before: [Option<u64>; 2]) -> u64 {
    let since = |one: usize| Some(now[one]?.saturating_sub(before[one].unwrap_or(0)));
    let first = since(0).unwrap_or(0);
    since(1).map_or(first, |again| first.min(again))
}

/// How often the kernel has skipped these programs since they were loaded.
pub(super) fn skips(programs: &Ebpf, names: &[&str]) -> u64 {
    names.iter().filter_map(|name| skips_of(programs.program(name)?)).sum()
}

fn skips_of(program: &Program) -> Option<u64> {
    let descriptor = program.fd().ok()?.as_fd().as_raw_fd();
    recursion_misses(&fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).ok()?)
}

fn recursion_misses(info: &str) -> Option<u64> {
    info.lines().find_map(|line| line.strip_prefix("recursion_misses:"))?.trim().parse().ok()
}

/// For tests of the twins, which this kernel may not need.
#[cfg(test)]
pub(super) mod twins {
    use super::super::attach::AttachError;
    use super::TWICE;
    use crate::launch::{Command, Launcher};
    use crate::tracer::{EventKind, RunOptions, Tracer};
    use std::cell::Cell;
    use std::collections::BTreeMap;

    thread_local! {
        /// As if this kernel were 7.0 or newer.
        pub(super) static FORCED: Cell<bool> = const { Cell::new(false) };
    }

    /// What both programs see is recorded once, and what only the second one sees is recorded too.
    pub(in super::super) fn agree<T: Tracer>(
        load: impl Fn() -> Result<T, AttachError>,
        detach: impl Fn(&mut T, &[&str]),
    ) {
        let mut alone = match load() {
            Ok(tracer) => tracer,
            Err(error) => {
                assert!(std::env::var_os("FIRSTBYTE_REQUIRE").is_none_or(|value| value != "all"), "{error}");
                return eprintln!("skipped: {error}");
            }
        };
        let expected = counts(&mut alone);
        drop(alone);

        FORCED.set(true);
        let mut both = load().unwrap();
        assert_eq!(counts(&mut both), expected);
        detach(&mut both, &TWICE.map(|(first, _)| first));
        assert_eq!(counts(&mut both), expected);
    }

    /// How many events of each kind a script has. The number of page faults varies, but there are some, or none are seen.
    fn counts(tracer: &mut dyn Tracer) -> BTreeMap<String, usize> {
        let words = ["/bin/sh", "-c", "echo a; (echo b); /bin/true; exec /bin/echo c"];
        let mut launcher = Launcher::new(Command::new(&words).unwrap()).unwrap();
        let recording = tracer.run(&mut launcher, &RunOptions::default()).unwrap();
        assert_eq!(recording.lost, 0);

        let mut counts = BTreeMap::new();
        if recording.events.iter().any(|event| matches!(event.kind, EventKind::Fault(_))) {
            counts.insert("Fault".to_owned(), 1);
        }
        for event in recording.events.iter().filter(|event| !is_by_chance(&event.kind)) {
            let kind = format!("{:?}", event.kind);
            *counts.entry(kind.split([' ', '(']).next().unwrap().to_owned()).or_default() += 1;
        }
        counts
    }

    fn is_by_chance(kind: &EventKind) -> bool {
        matches!(kind, EventKind::OffCpu(_) | EventKind::Fault(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_first_number_of_the_release() {
        assert_eq!(
            ["7.2.13+deb14-cloud-amd64", "10.0", "6.1.0-9", "x"].map(major),
            [Some(7), Some(10), Some(6), None]
        );
    }

    #[test]
    fn an_event_is_missed_if_both_programs_were_skipped() {
        assert_eq!(missed([Some(7), None], [Some(3), None]), 4, "it has no twin");
        assert_eq!(missed([Some(7), Some(2)], [Some(3), Some(2)]), 0);
        assert_eq!(missed([Some(7), Some(3)], [Some(3), Some(2)]), 1);
    }

    #[test]
    fn the_kernel_says_how_often_it_skipped_a_program() {
        let info = "pos:\t0\nflags:\t02000002\nprog_type:\t26\nrun_cnt:\t0\nrecursion_misses:\t12\n";
        assert_eq!(recursion_misses(info), Some(12));
        assert_eq!(recursion_misses("prog_type:\t26\n"), None);
    }
}
