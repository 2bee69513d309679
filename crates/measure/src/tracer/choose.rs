//! Which backend observes: the one asked for, or the best that works here.

/// What was asked for (`--backend`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The best that works.
    #[default]
    Auto,
    /// BPF or nothing.
    Bpf,
    /// ptrace.
    Ptrace,
    /// Nothing attached.
    Pipe,
}

/// The tracer that was chosen, and why.
#[derive(Debug)]
pub struct Chosen<T> {
    /// It.
    pub tracer: T,
    /// One line for the user: why this one, and what would give a better one.
    pub reason: String,
}

/// A backend that was asked for and is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    /// BPF was asked for.
    #[error("the `bpf` backend does not work here: {0}")]
    Bpf(String),
    /// A trace was asked for by the backend that traces nothing.
    #[error(
        "the `pipe` backend sees no system calls, of which a trace consists\nhelp: leave `--backend` out"
    )]
    NoCalls,
    /// ptrace asks `/proc` about the tracee, and it knows others by its id.
    #[error("{0}")]
    Proc(String),
    /// A program could not be attached, or detached, later on.
    #[error("the tracer could not be switched: {0}")]
    Switch(String),
}

/// The reason for a backend that was named.
pub(super) const ASKED_FOR: &str = "asked for";

/// The reason, and how this kernel makes the backend observe differently from a current one.
pub(super) fn with_remarks(reason: &str, remarks: &[&str]) -> String {
    std::iter::once(reason).chain(remarks.iter().copied()).collect::<Vec<_>>().join("; ")
}

/// Why the BPF backend does not work in a build without it.
#[cfg(not(feature = "bpf"))]
pub(super) const BUILT_WITHOUT_BPF: &str =
    "this firstbyte was built without it\nhelp: install clang and build with the default features";

/// The error without its `help:`, which `firstbyte doctor` gives.
pub(super) fn first_line(cause: &str) -> &str {
    cause.lines().next().unwrap_or(cause)
}
