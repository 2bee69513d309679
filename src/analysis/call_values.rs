//! The names of values that arguments of system calls have, as strace writes them.

use firstbyte_measure::arch::Values;
use std::fmt::Write;

/// Bits or numbers, and their names.
pub(super) type Names = &'static [(u64, &'static str)];

/// A value by its name: one name, or those of its bits joined by `|`.
pub(super) fn text(kind: Values, value: u64) -> String {
    // a C int is in the low half of its register
    let int = value & 0xffff_ffff;
    match kind {
        Values::AtFlags => flags(int, AT, "0"),
        Values::FcntlCommand => one_of(int, FCNTL),
        Values::IoctlRequest => one_of(int, IOCTL),
        Values::Process => one_of(int, PRCTL),
        Values::Architecture => one_of(int, ARCH_PRCTL),
        Values::Advice => one_of(int, ADVICE),
        Values::Clock => one_of(int, CLOCK),
        Values::MaskChange => one_of(int, MASK_CHANGE),
        Values::Domain => one_of(int, DOMAIN),
        Values::SocketType => socket_type(int),
        Values::Limit => one_of(int, LIMIT),
        Values::EpollOperation => one_of(int, EPOLL),
        Values::WaitOptions => flags(int, WAIT, "0"),
        Values::LockOperation => flags(int, LOCK, "0"),
        Values::DescriptorFlags => flags(int, DESCRIPTOR, "0"),
        Values::RandomFlags => flags(int, RANDOM, "0"),
        Values::MemoryFile => flags(int, MEMORY_FILE, "0"),
        Values::Whose => one_of(int, WHOSE),
        Values::RemapFlags => flags(int, REMAP, "0"),
    }
}

/// The name of a value, or its number.
pub(super) fn one_of(value: u64, names: Names) -> String {
    let known = names.iter().find(|(number, _)| *number == value);
    known.map_or_else(|| number(value), |(_, name)| (*name).to_owned())
}

fn number(value: u64) -> String {
    if value < 1024 { value.to_string() } else { format!("{value:#x}") }
}

/// The names of the bits that are set; bits without a name as a number.
pub(super) fn flags(value: u64, names: Names, none: &str) -> String {
    let mut rest = value;
    let mut shown = if none.starts_with("O_") { none.to_owned() } else { String::new() };
    for (bit, name) in names {
        if value & bit != 0 {
            let _ = write!(shown, "{}{name}", if shown.is_empty() { "" } else { "|" });
            rest &= !bit;
        }
    }
    if rest != 0 {
        let _ = write!(shown, "{}{rest:#x}", if shown.is_empty() { "" } else { "|" });
    }
    if shown.is_empty() { none.to_owned() } else { shown }
}

/// A type of socket, with the flags that `socket(2)` takes beside it.
fn socket_type(value: u64) -> String {
    let kind = one_of(value & 0xf, SOCKET_TYPE);
    match value & !0xf {
        0 => kind,
        rest => format!("{kind}|{}", flags(rest, SOCKET_FLAGS, "0")),
    }
}

pub(super) fn signal(number: i32) -> String {
    one_of(u64::from(number.unsigned_abs()), SIGNALS)
}

/// `signal(7)`; the numbers of x86 and Arm.
const SIGNALS: Names = &[
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (10, "SIGUSR1"),
    (11, "SIGSEGV"),
    (12, "SIGUSR2"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
    (16, "SIGSTKFLT"),
    (17, "SIGCHLD"),
    (18, "SIGCONT"),
    (19, "SIGSTOP"),
    (20, "SIGTSTP"),
    (21, "SIGTTIN"),
    (22, "SIGTTOU"),
    (23, "SIGURG"),
    (24, "SIGXCPU"),
    (25, "SIGXFSZ"),
    (26, "SIGVTALRM"),
    (27, "SIGPROF"),
    (28, "SIGWINCH"),
    (29, "SIGIO"),
    (30, "SIGPWR"),
    (31, "SIGSYS"),
    (32, "SIGRTMIN"),
    (33, "SIGRT_1"),
];

/// `include/uapi/linux/fcntl.h`.
const AT: Names = &[
    (0x100, "AT_SYMLINK_NOFOLLOW"),
    (0x200, "AT_REMOVEDIR"),
    (0x400, "AT_SYMLINK_FOLLOW"),
    (0x800, "AT_NO_AUTOMOUNT"),
    (0x1000, "AT_EMPTY_PATH"),
    (0x2000, "AT_STATX_FORCE_SYNC"),
    (0x4000, "AT_STATX_DONT_SYNC"),
];
const FCNTL: Names = &[
    (0, "F_DUPFD"),
    (1, "F_GETFD"),
    (2, "F_SETFD"),
    (3, "F_GETFL"),
    (4, "F_SETFL"),
    (5, "F_GETLK"),
    (6, "F_SETLK"),
    (7, "F_SETLKW"),
    (36, "F_OFD_GETLK"),
    (37, "F_OFD_SETLK"),
    (38, "F_OFD_SETLKW"),
    (1024, "F_SETLEASE"),
    (1030, "F_DUPFD_CLOEXEC"),
    (1031, "F_SETPIPE_SZ"),
    (1032, "F_GETPIPE_SZ"),
    (1033, "F_ADD_SEALS"),
    (1034, "F_GET_SEALS"),
];
/// `include/uapi/asm-generic/ioctls.h` and `include/uapi/linux/fs.h`.
const IOCTL: Names = &[
    (0x5401, "TCGETS"),
    (0x5402, "TCSETS"),
    (0x5403, "TCSETSW"),
    (0x5404, "TCSETSF"),
    (0x540e, "TIOCSCTTY"),
    (0x540f, "TIOCGPGRP"),
    (0x5410, "TIOCSPGRP"),
    (0x5413, "TIOCGWINSZ"),
    (0x5414, "TIOCSWINSZ"),
    (0x541b, "FIONREAD"),
    (0x5421, "FIONBIO"),
    (0x5422, "TIOCNOTTY"),
    (0x5450, "FIONCLEX"),
    (0x5451, "FIOCLEX"),
    (0x802c_542a, "TCGETS2"),
    (0x8004_5430, "TIOCGPTN"),
    (0x4004_9409, "FICLONE"),
];
/// `include/uapi/linux/prctl.h`.
const PRCTL: Names = &[
    (1, "PR_SET_PDEATHSIG"),
    (2, "PR_GET_PDEATHSIG"),
    (3, "PR_GET_DUMPABLE"),
    (4, "PR_SET_DUMPABLE"),
    (8, "PR_SET_KEEPCAPS"),
    (15, "PR_SET_NAME"),
    (16, "PR_GET_NAME"),
    (22, "PR_SET_SECCOMP"),
    (23, "PR_CAPBSET_READ"),
    (29, "PR_SET_TIMERSLACK"),
    (36, "PR_SET_CHILD_SUBREAPER"),
    (38, "PR_SET_NO_NEW_PRIVS"),
    (39, "PR_GET_NO_NEW_PRIVS"),
    (41, "PR_SET_THP_DISABLE"),
    (47, "PR_CAP_AMBIENT"),
    (0x5356_4d41, "PR_SET_VMA"),
];
/// `arch/x86/include/uapi/asm/prctl.h`.
const ARCH_PRCTL: Names = &[
    (0x1001, "ARCH_SET_GS"),
    (0x1002, "ARCH_SET_FS"),
    (0x1003, "ARCH_GET_FS"),
    (0x1004, "ARCH_GET_GS"),
    (0x3001, "ARCH_CET_STATUS"),
    (0x5001, "ARCH_SHSTK_ENABLE"),
];
const ADVICE: Names = &[
    (0, "MADV_NORMAL"),
    (1, "MADV_RANDOM"),
    (2, "MADV_SEQUENTIAL"),
    (3, "MADV_WILLNEED"),
    (4, "MADV_DONTNEED"),
    (8, "MADV_FREE"),
    (10, "MADV_DONTFORK"),
    (14, "MADV_HUGEPAGE"),
    (15, "MADV_NOHUGEPAGE"),
    (16, "MADV_DONTDUMP"),
    (21, "MADV_PAGEOUT"),
    (23, "MADV_POPULATE_WRITE"),
    (25, "MADV_COLLAPSE"),
    (102, "MADV_GUARD_INSTALL"),
];
const CLOCK: Names = &[
    (0, "CLOCK_REALTIME"),
    (1, "CLOCK_MONOTONIC"),
    (2, "CLOCK_PROCESS_CPUTIME_ID"),
    (3, "CLOCK_THREAD_CPUTIME_ID"),
    (4, "CLOCK_MONOTONIC_RAW"),
    (5, "CLOCK_REALTIME_COARSE"),
    (6, "CLOCK_MONOTONIC_COARSE"),
    (7, "CLOCK_BOOTTIME"),
];
const MASK_CHANGE: Names = &[(0, "SIG_BLOCK"), (1, "SIG_UNBLOCK"), (2, "SIG_SETMASK")];
const DOMAIN: Names = &[
    (1, "AF_UNIX"),
    (2, "AF_INET"),
    (10, "AF_INET6"),
    (16, "AF_NETLINK"),
    (17, "AF_PACKET"),
    (38, "AF_ALG"),
    (40, "AF_VSOCK"),
];
const SOCKET_TYPE: Names = &[(1, "SOCK_STREAM"), (2, "SOCK_DGRAM"), (3, "SOCK_RAW"), (5, "SOCK_SEQPACKET")];
const SOCKET_FLAGS: Names =
    &[(libc::SOCK_NONBLOCK as u64, "SOCK_NONBLOCK"), (libc::SOCK_CLOEXEC as u64, "SOCK_CLOEXEC")];
const LIMIT: Names = &[
    (0, "RLIMIT_CPU"),
    (1, "RLIMIT_FSIZE"),
    (2, "RLIMIT_DATA"),
    (3, "RLIMIT_STACK"),
    (4, "RLIMIT_CORE"),
    (5, "RLIMIT_RSS"),
    (6, "RLIMIT_NPROC"),
    (7, "RLIMIT_NOFILE"),
    (8, "RLIMIT_MEMLOCK"),
    (9, "RLIMIT_AS"),
];
const EPOLL: Names = &[(1, "EPOLL_CTL_ADD"), (2, "EPOLL_CTL_DEL"), (3, "EPOLL_CTL_MOD")];
const WAIT: Names = &[
    (1, "WNOHANG"),
    (2, "WUNTRACED"),
    (4, "WEXITED"),
    (8, "WCONTINUED"),
    (0x0100_0000, "WNOWAIT"),
    (0x4000_0000, "__WALL"),
];
const LOCK: Names = &[(1, "LOCK_SH"), (2, "LOCK_EX"), (4, "LOCK_NB"), (8, "LOCK_UN")];
const DESCRIPTOR: Names = &[
    (1, "EFD_SEMAPHORE"),
    (libc::O_NONBLOCK as u64, "O_NONBLOCK"),
    (libc::O_DIRECT as u64, "O_DIRECT"),
    (libc::O_CLOEXEC as u64, "O_CLOEXEC"),
];
const RANDOM: Names = &[(1, "GRND_NONBLOCK"), (2, "GRND_RANDOM"), (4, "GRND_INSECURE")];
const MEMORY_FILE: Names = &[
    (1, "MFD_CLOEXEC"),
    (2, "MFD_ALLOW_SEALING"),
    (4, "MFD_HUGETLB"),
    (8, "MFD_NOEXEC_SEAL"),
    (0x10, "MFD_EXEC"),
];
const WHOSE: Names = &[(0, "RUSAGE_SELF"), (1, "RUSAGE_THREAD"), (0xffff_ffff, "RUSAGE_CHILDREN")];
const REMAP: Names = &[(1, "MREMAP_MAYMOVE"), (2, "MREMAP_FIXED"), (4, "MREMAP_DONTUNMAP")];
