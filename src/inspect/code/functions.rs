//! What functions of the C library do, as far as their system calls go.

/// A function whose effect is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It returns, and makes no system call.
    Nothing,
    /// It makes this many.
    Calls(u64),
    /// It prints the text that is this argument.
    Prints { argument: usize, adds_newline: bool },
    /// It allocates as many bytes as its first argument says.
    Allocates,
    /// It starts `main`, its first argument, and exits when `main` returns.
    StartsMain,
    /// It runs destructors and ends.
    Exits,
    /// It ends at once.
    EndsAtOnce,
    /// A program that works does not get there.
    Fails,
}

const EFFECTS: [(&str, Effect); 30] = [
    ("__libc_start_main", Effect::StartsMain),
    ("puts", Effect::Prints { argument: 0, adds_newline: true }),
    ("printf", Effect::Prints { argument: 0, adds_newline: false }),
    ("__printf_chk", Effect::Prints { argument: 1, adds_newline: false }),
    ("malloc", Effect::Allocates),
    ("free", Effect::Nothing),
    ("write", Effect::Calls(1)),
    ("getpid", Effect::Calls(1)),
    ("getppid", Effect::Calls(1)),
    ("exit", Effect::Exits),
    ("_exit", Effect::EndsAtOnce),
    ("_Exit", Effect::EndsAtOnce),
    ("__stack_chk_fail", Effect::Fails),
    ("__cxa_finalize", Effect::Nothing),
    // a static program's unwinder, whose memory is there before
    ("__register_frame_info", Effect::Nothing),
    ("__deregister_frame_info", Effect::Nothing),
    ("__errno_location", Effect::Nothing),
    ("memchr", Effect::Nothing),
    ("memcmp", Effect::Nothing),
    ("strchr", Effect::Nothing),
    ("strcmp", Effect::Nothing),
    ("strncmp", Effect::Nothing),
    ("strlen", Effect::Nothing),
    ("strrchr", Effect::Nothing),
    ("strstr", Effect::Nothing),
    ("atoi", Effect::Nothing),
    ("toupper", Effect::Nothing),
    ("tolower", Effect::Nothing),
    ("abs", Effect::Nothing),
    ("getenv", Effect::Nothing),
];

/// `None`: it may do anything.
pub(super) fn effect(name: &str) -> Option<Effect> {
    EFFECTS.iter().find(|(known, _)| *known == name).map(|(_, effect)| *effect)
}

pub(super) fn is_described(name: &str) -> bool {
    effect(name).is_some()
}

/// Functions of profilers and of transactional memory. Programs ask for their addresses and work without them.
pub(super) fn is_absent(name: &str) -> bool {
    name == "__gmon_start__" || name.starts_with("_ITM_") || name == "_Jv_RegisterClasses"
}
