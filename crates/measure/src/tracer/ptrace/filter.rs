//! The seccomp filters that stop the tracee only at execs and output calls, or only at execs (`seccomp(2)`). A filter
//! cannot read a path, so it does not know which lookups are marks. Where marks are wanted, every lookup stops.
//!
//! It checks the architecture first, because the same number means different calls in the two tables. It allows all
//! other calls, so there the tracee runs at full speed.

use crate::arch::audit::{self, with_x32};
use crate::arch::{Abi, CallRole, IO_URING_SETUP, call_roles, lookups};
use libc::sock_filter;

/// `BPF_LD | BPF_W | BPF_ABS`, `BPF_JMP | BPF_JEQ | BPF_K` and `BPF_RET | BPF_K` of `linux/bpf_common.h`.
const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

/// The offsets of the number and the architecture in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

/// A filter that stops at the calls in [`call_roles`], in every table of this machine, and where an `io_uring` is set
/// up.
pub(super) fn program() -> Vec<sock_filter> {
    stopping_at(bounds)
}

/// The same, and the calls that look up paths, among which are marks.
pub(super) fn with_lookups() -> Vec<sock_filter> {
    stopping_at(|abi| bounds(abi).into_iter().chain(lookups().of(abi).map(|(number, _)| number)).collect())
}

fn bounds(abi: Abi) -> Vec<u32> {
    call_roles().of(abi).map(|(number, _)| number).chain([IO_URING_SETUP]).collect()
}

/// A filter that stops only at execs.
pub(super) fn execs() -> Vec<sock_filter> {
    let is_exec = |(number, role)| (role == CallRole::Exec).then_some(number);
    stopping_at(|abi| call_roles().of(abi).filter_map(is_exec).collect())
}

fn stopping_at(numbers: impl Fn(Abi) -> Vec<u32>) -> Vec<sock_filter> {
    let mut program = vec![load(ARCHITECTURE)];
    program.extend(section(audit::NATIVE, numbers(Abi::Native).into_iter().flat_map(with_x32)));
    program.extend(section(audit::COMPAT, numbers(Abi::Compat).into_iter()));
    program.push(allow());
    program
}

/// The tests for the calls of one table. A call of another table skips all of them.
fn section(architecture: u32, numbers: impl Iterator<Item = u32>) -> Vec<sock_filter> {
    let mut tests: Vec<sock_filter> = numbers.flat_map(|number| [equal(number, 0, 1), trace()]).collect();
    tests.insert(0, load(NUMBER));
    tests.push(allow());
    let length = u8::try_from(tests.len()).expect("a table of fewer than 127 calls");
    tests.insert(0, equal(architecture, 0, length));
    tests
}

fn load(offset: u32) -> sock_filter {
    sock_filter { code: LOAD, jt: 0, jf: 0, k: offset }
}

fn equal(value: u32, then: u8, otherwise: u8) -> sock_filter {
    sock_filter { code: EQUAL, jt: then, jf: otherwise, k: value }
}

fn trace() -> sock_filter {
    sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_TRACE }
}

fn allow() -> sock_filter {
    sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Syscall;

    /// The answer of a filter, from an interpreter of the three instructions that it uses.
    fn answer_of(program: &[sock_filter], architecture: u32, number: u32) -> u32 {
        let (mut at, mut loaded) = (0, 0);
        loop {
            let step = program[at];
            at += 1;
            match step.code {
                LOAD => loaded = if step.k == NUMBER { number } else { architecture },
                EQUAL => at += usize::from(if loaded == step.k { step.jt } else { step.jf }),
                _ => return step.k,
            }
        }
    }

    fn answer(architecture: u32, number: u32) -> u32 {
        answer_of(&program(), architecture, number)
    }

    #[test]
    fn the_filter_of_a_watch_stops_only_at_execs() {
        for number in 0..600 {
            let is_exec = call_roles().get(Syscall { abi: Abi::Native, number }) == Some(CallRole::Exec);
            let stops = answer_of(&execs(), audit::NATIVE, number) == libc::SECCOMP_RET_TRACE;
            assert_eq!(stops, is_exec, "{number}");
        }
    }

    #[test]
    fn lookups_stop_only_where_marks_are_wanted() {
        let number = crate::arch::native_number("newfstatat").unwrap_or_else(|| {
            crate::arch::native_number("fstatat").expect("every table has one of the two")
        });
        assert_eq!(answer(audit::NATIVE, number), libc::SECCOMP_RET_ALLOW);
        assert_eq!(answer_of(&with_lookups(), audit::NATIVE, number), libc::SECCOMP_RET_TRACE);
        for (number, _) in call_roles().of(Abi::Native) {
            assert_eq!(answer_of(&with_lookups(), audit::NATIVE, number), libc::SECCOMP_RET_TRACE);
        }
    }

    #[test]
    fn only_the_listed_calls_stop_and_only_in_their_own_table() {
        let tables = [(audit::NATIVE, Abi::Native), (audit::COMPAT, Abi::Compat)];
        for number in 0..600 {
            for (architecture, abi) in tables {
                let means = number == IO_URING_SETUP || call_roles().get(Syscall { abi, number }).is_some();
                assert_eq!(answer(architecture, number) == libc::SECCOMP_RET_TRACE, means, "{number}");
            }
            assert_eq!(answer(1, number), libc::SECCOMP_RET_ALLOW);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn x32_calls_stop_by_their_own_numbers() {
        for number in [1, 520, 516, 44] {
            assert_eq!(answer(audit::NATIVE, audit::X32_BIT | number), libc::SECCOMP_RET_TRACE);
        }
        for number in [59, 20, 0] {
            assert_eq!(answer(audit::NATIVE, audit::X32_BIT | number), libc::SECCOMP_RET_ALLOW);
        }
    }
}
