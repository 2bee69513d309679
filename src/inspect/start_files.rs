//! What the C library does before main in a static program, and how it prints and allocates.

use super::code::walk::Habits;
use super::faults::{Faults, Touches};
use super::runtime::CLibrary;
use super::started::Started;
use super::texts::contains;

/// Before main, in a static program.
#[derive(Clone, Debug, Default)]
pub(super) struct StaticStart {
    pub(super) calls: u64,
    pub(super) faults: Faults,
    pub(super) habits: Habits,
    /// Why there may be more.
    pub(super) uncertain: Vec<&'static str>,
}

/// Go's runtime sets a handler for each of 57 signals, with two calls each, and asks for memory and threads. It touches at
/// least this many pages. Both are less than a hello world of Go 1.26 takes.
pub(super) const GO_CALLS: u64 = 130;
pub(super) const GO_FAULTS: u64 = 60;

/// The C library's start: brk (5), `arch_prctl`, `set_tid_address`, `set_robust_list`, rseq, prlimit, readlink, getrandom,
/// mprotect. This is what glibc 2.36 and 2.41 do on x86-64.
const GLIBC_CALLS: u64 = 13;
/// What versions since 2.31 have in common: brk (4), `arch_prctl`, readlink, mprotect.
const LEAST_GLIBC_CALLS: u64 = 7;
/// `arch_prctl`, `set_tid_address`.
const MUSL_CALLS: u64 = 2;

pub(super) fn of(started: &Started<'_>) -> StaticStart {
    let is_static = started.interpreter.is_none();
    let is_x86_64 = (started.elf.machine_name, started.elf.class) == ("x86-64", 64);
    let start = match started.elf.runtime.c_library {
        Some(CLibrary::Glibc) => glibc(started, is_static),
        Some(CLibrary::Musl) => StaticStart {
            calls: MUSL_CALLS,
            habits: Habits { first_print: 1, first_memory: None, buffer: 1024, once: true },
            ..StaticStart::default()
        },
        None => StaticStart::default(),
    };
    if is_x86_64 || start.calls == 0 {
        return start;
    }
    let uncertain = vec!["only the calls of the C library on x86-64 were compared with a trace"];
    StaticStart { calls: 2, uncertain, faults: Faults::exactly(2), ..start }
}

/// The first text that is printed takes fstat, and memory. A static program has memory before.
fn glibc(started: &Started<'_>, is_static: bool) -> StaticStart {
    let bytes = started.bytes;
    let is_known = contains(bytes, b"dynamic_sort") && !contains(bytes, b"FATAL: kernel too old");
    let first_memory = if is_static { 0 } else { started.loading.memory_calls };
    StaticStart {
        calls: if is_known { GLIBC_CALLS } else { LEAST_GLIBC_CALLS },
        faults: glibc_faults(started),
        habits: Habits { first_print: 1, first_memory: Some(first_memory), buffer: 4096, once: false },
        uncertain: if is_known {
            Vec::new()
        } else {
            vec!["this version of glibc was not compared with a trace"]
        },
    }
}

/// Nearly all pages of a small program are touched: the tunables, the functions for this processor, the heap.
fn glibc_faults(started: &Started<'_>) -> Faults {
    let code = Touches::code_pieces(started.elf);
    let read =
        started.elf.loads().filter(|s| s.flags == "r--").map(|s| s.file_pages.div_ceil(16)).sum::<u64>();
    let written = started.elf.loads().filter(|s| s.flags.contains('w')).map(|s| s.file_pages).sum::<u64>();
    let expected = code.min(8) + read.min(4) + written.min(7) + 7;
    Faults::between(code.saturating_sub(1).min(4) + written.saturating_sub(1).min(4) + 3, expected)
}
