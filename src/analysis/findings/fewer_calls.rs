//! What saves a system call that is made many times. From the calls' pages in section 2 of the manual, and mallopt(3).

use crate::analysis::{Step, What};
use firstbyte_measure::arch::CallFacts;
use std::collections::BTreeSet;

/// The advice for each call, a sentence. Where nothing is known that replaces it, there is none.
const ADVICE: &[(&[&str], &str)] = &[
    (&["close"], "`close_range` closes all descriptors of a range in one call."),
    (
        &["read", "readv", "pread64", "preadv", "recvfrom", "recvmsg"],
        "A larger buffer reads as much with fewer calls.",
    ),
    (
        &["write", "writev", "pwrite64", "pwritev", "sendto", "sendmsg"],
        "Collected in a buffer, the same bytes are written with fewer calls.",
    ),
    (
        &[
            "stat",
            "stat64",
            "lstat",
            "lstat64",
            "newfstatat",
            "fstatat64",
            "statx",
            "access",
            "faccessat",
            "faccessat2",
        ],
        "Ask once for each path and keep the answer; listing a folder (`getdents64`) answers for all its files.",
    ),
    (&["readlink", "readlinkat"], "Resolve each path once, and keep the result."),
    (
        &["open", "openat", "openat2"],
        "Open each file once; a list of the folder (`getdents64`) shows which files exist.",
    ),
    (&["lseek", "_llseek"], "`pread64` and `pwrite64` take the offset as an argument."),
    (&["brk"], "`mallopt(M_TOP_PAD, …)` makes the heap grow in larger steps."),
    (
        &["mmap", "mmap2", "munmap"],
        "`mallopt(M_MMAP_THRESHOLD, …)` takes larger blocks from the heap, if `malloc` makes these calls.",
    ),
    (&["fsync", "fdatasync"], "Sync once, after the last write."),
    (
        &["getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid"],
        "Ask once, and keep the answer.",
    ),
    (&["rt_sigprocmask"], "`_setjmp` saves no signal mask, unlike `sigsetjmp` with 1, and needs no call."),
];

/// What replaces these calls of one name, and which part of them it saves, if that is known; `None`: nothing
/// is known that replaces them.
pub(super) fn saved(name: &str, calls: &[&Step]) -> Option<(&'static str, Option<f64>)> {
    let advice = advice(name)?;
    let count = calls.len().max(1) as f64;
    let part = match Kind::of(name) {
        Kind::Once => 1.0 - 1.0 / count,
        Kind::Buffer => 1.0 - (bytes(calls) / BUFFER).ceil().max(1.0) / count,
        Kind::Path => 1.0 - paths(calls) as f64 / count,
        Kind::Unknown => return Some((advice, None)),
    };
    // where each call is about another file, asking once saves nothing
    (part >= LEAST).then_some((advice, Some(part)))
}

/// A call with a buffer of this size is as cheap for each byte as any, in bytes.
const BUFFER: f64 = 65_536.0;

/// Advice that saves a smaller part of the calls is none.
const LEAST: f64 = 0.2;

/// On what it depends how many calls are left.
enum Kind {
    /// One call does what all of them do.
    Once,
    Buffer,
    /// One call for each path.
    Path,
    Unknown,
}

impl Kind {
    fn of(name: &str) -> Kind {
        match CallFacts::of(name) {
            _ if matches!(name, "close" | "lseek" | "_llseek" | "fsync" | "fdatasync" | "rt_sigprocmask") => {
                Kind::Once
            }
            _ if name.starts_with("get") => Kind::Once,
            Some(call) if call.reads() || call.writes() => Kind::Buffer,
            Some(call) if call.looks_up() || call.opens() => Kind::Path,
            _ => Kind::Unknown,
        }
    }
}

/// What the calls returned, in all.
fn bytes(calls: &[&Step]) -> f64 {
    calls.iter().filter_map(|step| returned(step)).sum::<u64>() as f64
}

/// What a call returned, if that is a number.
pub(super) fn returned(step: &Step) -> Option<u64> {
    match &*step.what {
        What::Call { text, .. } => text.rsplit(" = ").next().and_then(|result| result.parse().ok()),
        _ => None,
    }
}

fn paths(calls: &[&Step]) -> usize {
    let path = |step: &&Step| match &*step.what {
        What::Call { file: Some(file), .. } => Some(file.to_string()),
        _ => None,
    };
    calls.iter().filter_map(path).collect::<BTreeSet<String>>().len()
}

fn advice(name: &str) -> Option<&'static str> {
    ADVICE.iter().find(|(names, _)| names.contains(&name)).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_is_known_and_has_one_advice_that_is_a_sentence() {
        let mut names: Vec<&str> = ADVICE.iter().flat_map(|(names, _)| *names).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(names.iter().all(|name| CallFacts::of(name).is_some()), "{names:?}");
        assert!(ADVICE.iter().all(|(_, advice)| advice.ends_with('.')));
    }

    #[test]
    fn larger_buffers_are_for_calls_that_have_buffers() {
        assert!(advice("read").is_some_and(|advice| advice.contains("buffer")));
        assert!(advice("close").is_some_and(|advice| !advice.contains("buffer")));
        assert_eq!(advice("futex"), None);
    }
}
