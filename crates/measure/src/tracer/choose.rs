//! Which backend to use: the one asked for, or the best that works here.

/// The backend that was asked for (`--backend`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// The best that works.
    #[default]
    Auto,
    /// Only BPF.
    Bpf,
    /// Only ptrace.
    Ptrace,
    /// Nothing attached: only a pipe.
    Pipe,
}

/// The tracer that was chosen, and why.
#[derive(Debug)]
pub struct Chosen<T> {
    /// The tracer.
    pub tracer: T,
    /// Why it was chosen, and what would give a better one: one line for the user.
    pub reason: String,
}

/// Why a backend that was asked for cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    /// BPF was asked for, and does not work here.
    #[error("the `bpf` backend does not work here: {0}")]
    Bpf(String),
    /// A trace was asked for with the backend that traces nothing.
    #[error("the `pipe` backend sees no system calls, and a trace needs them\nhelp: leave out `--backend`")]
    NoCalls,
    /// A watch of the machine was asked for with ptrace.
    #[error("the `ptrace` backend watches only the processes of a command\nhelp: firstbyte watch COMMAND")]
    OnlyACommand,
    /// The ptrace backend asks `/proc` about the tracee, and this `/proc` shows other processes.
    #[error("{0}")]
    Proc(String),
    /// A program could not be attached or detached later on.
    #[error("the tracer could not be attached or detached: {0}")]
    Switch(String),
}

/// The reason for a backend that was asked for by name.
pub(super) const ASKED_FOR: &str = "asked for";

/// The reason, and how this kernel makes the backend observe differently from a current one.
pub(super) fn with_remarks(reason: &str, remarks: &[&str]) -> String {
    std::iter::once(reason).chain(remarks.iter().copied()).collect::<Vec<_>>().join("; ")
}

/// Why the BPF backend does not work in a build without it.
#[cfg(not(feature = "bpf"))]
pub(super) const BUILT_WITHOUT_BPF: &str =
    "this firstbyte was built without it\nhelp: install clang and build with the default features";

/// The error and its `help:` in one line.
pub(super) fn one_line(cause: &str) -> String {
    cause.lines().collect::<Vec<_>>().join("; ")
}
