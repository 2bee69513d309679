//! The names of values that arguments of system calls have, as strace writes them.

use firstbyte_measure::arch::Values;
use std::fmt::Write;

/// Bits or numbers, and their names.
pub(super) type Names = &'static [(u64, &'static str)];

/// Constants of the C library as [`Names`], and numbers of the kernel for which it has none. None is longer than a C int.
macro_rules! names {
    ($($name:ident)* $(; $($number:literal $other:ident),*)?) => {
        &[$((libc::$name as u64 & 0xffff_ffff, stringify!($name)),)* $($(($number, stringify!($other))),*)?]
    };
}
pub(super) use names;

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

/// `signal(7)`.
const SIGNALS: Names = names! {
    SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGKILL SIGUSR1 SIGSEGV SIGUSR2
    SIGPIPE SIGALRM SIGTERM SIGSTKFLT SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGXCPU
    SIGXFSZ SIGVTALRM SIGPROF SIGWINCH SIGIO SIGPWR SIGSYS; 32 SIGRTMIN, 33 SIGRT_1
};

/// `include/uapi/linux/fcntl.h`.
const AT: Names = names! {
    AT_SYMLINK_NOFOLLOW AT_REMOVEDIR AT_SYMLINK_FOLLOW AT_NO_AUTOMOUNT AT_EMPTY_PATH
    AT_STATX_FORCE_SYNC AT_STATX_DONT_SYNC
};
const FCNTL: Names = names! {
    F_DUPFD F_GETFD F_SETFD F_GETFL F_SETFL F_GETLK F_SETLK F_SETLKW F_OFD_GETLK F_OFD_SETLK
    F_OFD_SETLKW F_SETLEASE F_DUPFD_CLOEXEC F_SETPIPE_SZ F_GETPIPE_SZ F_ADD_SEALS F_GET_SEALS
};
/// `include/uapi/asm-generic/ioctls.h` and `include/uapi/linux/fs.h`.
const IOCTL: Names = names! {
    TCGETS TCSETS TCSETSW TCSETSF TIOCSCTTY TIOCGPGRP TIOCSPGRP TIOCGWINSZ TIOCSWINSZ FIONREAD
    FIONBIO TIOCNOTTY FIONCLEX FIOCLEX TCGETS2 TIOCGPTN FICLONE
};
/// `include/uapi/linux/prctl.h`.
const PRCTL: Names = names! {
    PR_SET_PDEATHSIG PR_GET_PDEATHSIG PR_GET_DUMPABLE PR_SET_DUMPABLE PR_SET_KEEPCAPS PR_SET_NAME
    PR_GET_NAME PR_SET_SECCOMP PR_CAPBSET_READ PR_SET_TIMERSLACK PR_SET_CHILD_SUBREAPER
    PR_SET_NO_NEW_PRIVS PR_GET_NO_NEW_PRIVS PR_SET_THP_DISABLE PR_CAP_AMBIENT PR_SET_VMA
};
/// `arch/x86/include/uapi/asm/prctl.h`.
const ARCH_PRCTL: Names = &[
    (0x1001, "ARCH_SET_GS"),
    (0x1002, "ARCH_SET_FS"),
    (0x1003, "ARCH_GET_FS"),
    (0x1004, "ARCH_GET_GS"),
    (0x3001, "ARCH_CET_STATUS"),
    (0x5001, "ARCH_SHSTK_ENABLE"),
];
const ADVICE: Names = names! {
    MADV_NORMAL MADV_RANDOM MADV_SEQUENTIAL MADV_WILLNEED MADV_DONTNEED MADV_FREE MADV_DONTFORK
    MADV_HUGEPAGE MADV_NOHUGEPAGE MADV_DONTDUMP MADV_PAGEOUT MADV_POPULATE_WRITE;
    25 MADV_COLLAPSE, 102 MADV_GUARD_INSTALL
};
const CLOCK: Names = names! {
    CLOCK_REALTIME CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID CLOCK_THREAD_CPUTIME_ID
    CLOCK_MONOTONIC_RAW CLOCK_REALTIME_COARSE CLOCK_MONOTONIC_COARSE CLOCK_BOOTTIME
};
const MASK_CHANGE: Names = names! { SIG_BLOCK SIG_UNBLOCK SIG_SETMASK };
const DOMAIN: Names = names! {
    AF_UNIX AF_INET AF_INET6 AF_NETLINK AF_PACKET AF_ALG AF_VSOCK
};
const SOCKET_TYPE: Names = names! { SOCK_STREAM SOCK_DGRAM SOCK_RAW SOCK_SEQPACKET };
const SOCKET_FLAGS: Names = names! { SOCK_NONBLOCK SOCK_CLOEXEC };
const LIMIT: Names = names! {
    RLIMIT_CPU RLIMIT_FSIZE RLIMIT_DATA RLIMIT_STACK RLIMIT_CORE RLIMIT_RSS RLIMIT_NPROC
    RLIMIT_NOFILE RLIMIT_MEMLOCK RLIMIT_AS
};
const EPOLL: Names = names! { EPOLL_CTL_ADD EPOLL_CTL_DEL EPOLL_CTL_MOD };
const WAIT: Names = names! {
    WNOHANG WUNTRACED WEXITED WCONTINUED WNOWAIT __WALL
};
const LOCK: Names = names! { LOCK_SH LOCK_EX LOCK_NB LOCK_UN };
const DESCRIPTOR: Names = names! { EFD_SEMAPHORE O_NONBLOCK O_DIRECT O_CLOEXEC };
const RANDOM: Names = names! { GRND_NONBLOCK GRND_RANDOM GRND_INSECURE };
const MEMORY_FILE: Names = names! {
    MFD_CLOEXEC MFD_ALLOW_SEALING MFD_HUGETLB MFD_NOEXEC_SEAL MFD_EXEC
};
const WHOSE: Names = names! { RUSAGE_SELF RUSAGE_THREAD; 0xffff_ffff RUSAGE_CHILDREN };
const REMAP: Names = names! { MREMAP_MAYMOVE MREMAP_FIXED MREMAP_DONTUNMAP };
