//! How often the kernel skipped a program, because a task was preempted while it ran the same program on the same processor
//! (`bpf_prog_get_recursion_context` in `include/linux/bpf.h`; its callers in `kernel/trace/bpf_trace.c` and
//! `kernel/bpf/trampoline.c`). It counts this since Linux 5.12. What the program would have seen is lost, unless its twin of
//! `twice.h` has seen it.

use super::attach::Object;
use aya::Ebpf;
use aya::programs::Program;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::LazyLock;

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

static PREEMPTED: LazyLock<bool> = LazyLock::new(|| {
    let system = rustix::system::uname();
    major(system.release().to_str().unwrap_or_default()).is_some_and(|major| major >= PREEMPTED_SINCE)
});

/// Whether the kernel may skip programs of [`TWICE`], so that both of each pair are attached.
pub(super) fn programs_may_be_skipped() -> bool {
    #[cfg(test)]
    if twins::FORCED.get() {
        return true;
    }
    *PREEMPTED
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

/// The skips of the programs that observe runs, from one reading to the next.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    before: [[Option<u64>; 2]; TWICE.len()],
}

impl Skipped {
    /// From now on. The counts are those of the machine, so what is skipped between two runs is none of theirs.
    pub(super) fn since_now(programs: &Ebpf) -> Skipped {
        Skipped { before: counts(programs) }
    }

    /// The most events that were missed since the last reading, by a program and, if it has one, by its twin. One system
    /// call for each program.
    pub(super) fn read(&mut self, programs: &Ebpf) -> u64 {
        let now = counts(programs);
        let before = std::mem::replace(&mut self.before, now);
        let pairs = TWICE.iter().zip(now).zip(before);
        let counted = pairs.filter(|((names, _), _)| names.0 != OF_INTERRUPTS_TOO);
        counted.map(|((_, now), before)| missed(now, before)).sum()
    }
}

fn counts(programs: &Ebpf) -> [[Option<u64>; 2]; TWICE.len()] {
    TWICE.map(|(name, again)| [name, again].map(|name| skips_of(programs.program(name)?)))
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
    recursion_misses(program.fd().ok()?.as_fd())
}

/// `struct bpf_prog_info` of `bpf(2)`, as far as `recursion_misses`, the last field that we read.
const INFO_BYTES: u32 = 216;

const INFO_WORDS: usize = INFO_BYTES as usize / 8;

/// `BPF_OBJ_GET_INFO_BY_FD`.
const GET_INFO: libc::c_int = 15;

/// The attributes of `BPF_OBJ_GET_INFO_BY_FD`: `info` in `union bpf_attr`.
#[repr(C)]
struct InfoRequest {
    fd: u32,
    length: u32,
    address: u64,
}

/// One system call. `None`: this kernel has no count.
fn recursion_misses(program: BorrowedFd<'_>) -> Option<u64> {
    let mut info = [0_u64; INFO_WORDS];
    let mut request = InfoRequest {
        fd: program.as_raw_fd().cast_unsigned(),
        length: INFO_BYTES,
        address: info.as_mut_ptr() as u64,
    };
    // SAFETY: the kernel writes at most `length` bytes to `info`. All fields that say how much room our arrays have are 0.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, GET_INFO, &raw mut request, size_of::<InfoRequest>()) };
    (result == 0 && request.length >= INFO_BYTES).then(|| info[INFO_WORDS - 1])
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
}
