//! How often the kernel skipped a program, because a task was preempted while it ran the same program on the same processor
//! (`bpf_prog_get_recursion_context` in `include/linux/bpf.h`; its callers in `kernel/trace/bpf_trace.c` and
//! `kernel/bpf/trampoline.c`). It counts this since Linux 5.12. What the program would have seen is lost.

use aya::Ebpf;
use aya::programs::Program;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};

/// Without these the events of a run are incomplete. Wakings and signals are left out: an interrupt that wakes any task of
/// the machine finds their programs at work from time to time.
const OF_A_RUN: [&str; 5] =
    ["sched_process_fork", "sched_process_exec", "sched_process_exit", "sys_enter", "sys_exit"];

/// The skips of the programs that observe a run, from one moment on.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    before: u64,
}

impl Skipped {
    /// From now on.
    pub(super) fn since_now(programs: &Ebpf) -> Skipped {
        Skipped { before: skips(programs, &OF_A_RUN) }
    }

    pub(super) fn until_now(&self, programs: &Ebpf) -> u64 {
        skips(programs, &OF_A_RUN).saturating_sub(self.before)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_how_often_it_skipped_a_program() {
        let info = "pos:\t0\nflags:\t02000002\nprog_type:\t26\nrun_cnt:\t0\nrecursion_misses:\t12\n";
        assert_eq!(recursion_misses(info), Some(12));
        assert_eq!(recursion_misses("prog_type:\t26\n"), None);
    }
}
