//! What saves a system call that is made many times. From the calls' pages in section 2 of the manual, and mallopt(3).

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

/// What saves calls with this name.
pub(super) fn advice(name: &str) -> Option<&'static str> {
    ADVICE.iter().find(|(names, _)| names.contains(&name)).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstbyte_measure::arch::CallFacts;

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
