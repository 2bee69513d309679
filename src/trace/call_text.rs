//! A system call as text, the way strace writes it: `openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3`.

use crate::arch::call_names;
use crate::tracer::detail::Call;
use std::fmt::Write;

/// A call's arguments, a letter each: `f` descriptor, `D` directory descriptor, `p` path, `z` count, `i` number,
/// `x` address, `O` open flags, `m` mode, `P` protection, `M` mapping flags, `a` access mode, `s` signal,
/// `c` clone flags, `F` futex operation, `w` whence. From `man 2` of each.
const ARGUMENTS: &[(&str, &str)] = &[
    ("access", "pa"),
    ("arch_prctl", "xx"),
    ("bind", "fxi"),
    ("brk", "x"),
    ("chdir", "p"),
    ("chmod", "pm"),
    ("chown", "pii"),
    ("clock_getres", "ix"),
    ("clock_gettime", "ix"),
    ("clock_nanosleep", "iixx"),
    ("clone", "cxxxx"),
    ("clone3", "xz"),
    ("close", "f"),
    ("close_range", "iii"),
    ("connect", "fxi"),
    ("copy_file_range", "fxfxzi"),
    ("dup", "f"),
    ("dup2", "ff"),
    ("dup3", "ffO"),
    ("epoll_create1", "i"),
    ("epoll_ctl", "fifx"),
    ("epoll_pwait", "fxiix"),
    ("epoll_wait", "fxii"),
    ("eventfd2", "ii"),
    ("execve", "pxx"),
    ("execveat", "Dpxxi"),
    ("exit", "i"),
    ("exit_group", "i"),
    ("faccessat", "Dpa"),
    ("faccessat2", "Dpai"),
    ("fadvise64", "fizi"),
    ("fchdir", "f"),
    ("fchmod", "fm"),
    ("fcntl", "fii"),
    ("fcntl64", "fii"),
    ("flock", "fi"),
    ("fork", ""),
    ("fstat", "fx"),
    ("fstat64", "fx"),
    ("fstatfs", "fx"),
    ("fsync", "f"),
    ("ftruncate", "fz"),
    ("futex", "xFixxi"),
    ("getcwd", "xz"),
    ("getdents64", "fxz"),
    ("getegid", ""),
    ("geteuid", ""),
    ("getgid", ""),
    ("getpgrp", ""),
    ("getpid", ""),
    ("getppid", ""),
    ("getrandom", "xzi"),
    ("getrusage", "ix"),
    ("getsockname", "fxx"),
    ("gettid", ""),
    ("gettimeofday", "xx"),
    ("getuid", ""),
    ("io_uring_setup", "ix"),
    ("ioctl", "fxx"),
    ("kill", "is"),
    ("link", "pp"),
    ("lseek", "fiw"),
    ("lstat", "px"),
    ("lstat64", "px"),
    ("madvise", "xzi"),
    ("membarrier", "iii"),
    ("memfd_create", "pi"),
    ("mkdir", "pm"),
    ("mkdirat", "Dpm"),
    ("mmap", "xzPMfx"),
    ("mmap2", "xzPMfx"),
    ("mprotect", "xzP"),
    ("mremap", "xzzix"),
    ("munmap", "xz"),
    ("nanosleep", "xx"),
    ("newfstatat", "Dpxi"),
    ("open", "pOm"),
    ("openat", "DpOm"),
    ("openat2", "Dpxz"),
    ("pipe", "x"),
    ("pipe2", "xO"),
    ("poll", "xii"),
    ("ppoll", "xixx"),
    ("prctl", "ixxxx"),
    ("pread64", "fxzi"),
    ("prlimit64", "iixx"),
    ("pselect6", "ixxxxx"),
    ("pwrite64", "fxzi"),
    ("read", "fxz"),
    ("readahead", "fiz"),
    ("readlink", "pxz"),
    ("readlinkat", "Dpxz"),
    ("readv", "fxi"),
    ("recvfrom", "fxzi"),
    ("recvmsg", "fxi"),
    ("rename", "pp"),
    ("renameat2", "DpDpi"),
    ("rmdir", "p"),
    ("rseq", "xiii"),
    ("rt_sigaction", "sxxi"),
    ("rt_sigprocmask", "ixxi"),
    ("rt_sigreturn", ""),
    ("sched_getaffinity", "izx"),
    ("sched_yield", ""),
    ("select", "ixxxx"),
    ("sendfile", "ffxz"),
    ("sendmsg", "fxi"),
    ("sendto", "fxzixi"),
    ("set_robust_list", "xz"),
    ("set_tid_address", "x"),
    ("setpgid", "ii"),
    ("setsockopt", "fiixi"),
    ("sigaltstack", "xx"),
    ("socket", "iii"),
    ("socketpair", "iiix"),
    ("splice", "fxfxzi"),
    ("stat", "px"),
    ("stat64", "px"),
    ("statfs", "px"),
    ("statx", "Dpixx"),
    ("symlink", "pp"),
    ("sysinfo", "x"),
    ("tgkill", "iis"),
    ("umask", "m"),
    ("uname", "x"),
    ("unlink", "p"),
    ("unlinkat", "Dpi"),
    ("vfork", ""),
    ("wait4", "ixix"),
    ("waitid", "iixix"),
    ("write", "fxz"),
    ("writev", "fxi"),
];

/// The call with its arguments and its result.
pub fn text(call: &Call) -> String {
    let name = call_names::name(call.call);
    let arguments = if call.result.is_none() { "…".to_owned() } else { arguments(&name, call) };
    format!("{name}({arguments}) = {}", result(call.result))
}

fn arguments(name: &str, call: &Call) -> String {
    let place = ARGUMENTS.binary_search_by_key(&name, |(known, _)| known);
    let kinds = place.map_or("xxx", |place| ARGUMENTS[place].1);
    let mut paths = call.paths.iter();
    let flags_at = if name == "open" { 1 } else { 2 };
    let creating = call.arguments[flags_at] & 0o100 != 0;
    let shown = kinds.chars().zip(call.arguments).map(|(kind, value)| match kind {
        'p' => paths.next().map_or_else(|| address(value), |path| format!("{path:?}")),
        _ => argument(kind, value),
    });
    let mut shown: Vec<String> = shown.collect();
    if matches!(name, "open" | "openat") && !creating {
        shown.pop(); // the mode counts only with O_CREAT
    }
    if place.is_err() {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

#[allow(clippy::cast_possible_truncation)] // registers hold C ints in their low half
fn argument(kind: char, value: u64) -> String {
    let int = value as i32;
    match kind {
        'D' if int == libc::AT_FDCWD => "AT_FDCWD".to_owned(),
        'f' | 'i' | 'D' => int.to_string(),
        'z' => value.to_string(),
        'm' => format!("0{value:o}"),
        's' => signal(int),
        'O' => flags(value & !3, OPEN, ["O_RDONLY", "O_WRONLY", "O_RDWR", "3"][(value & 3) as usize]),
        'P' => flags(value, PROTECTION, "PROT_NONE"),
        'M' => flags(value, MAPPING, "0"),
        'a' => flags(value, &[(1, "X_OK"), (2, "W_OK"), (4, "R_OK")], "F_OK"),
        'c' => flags(value & !0xff, CLONE, "0"),
        'F' => futex(value & 0x7f),
        'w' => ["SEEK_SET", "SEEK_CUR", "SEEK_END"].get(value as usize).map_or("?", |w| w).to_owned(),
        _ => address(value),
    }
}

fn address(value: u64) -> String {
    if value == 0 { "NULL".to_owned() } else { format!("{value:#x}") }
}

fn signal(number: i32) -> String {
    let name = match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        17 => "SIGCHLD",
        28 => "SIGWINCH",
        _ => return number.to_string(),
    };
    name.to_owned()
}

fn futex(operation: u64) -> String {
    let names = ["FUTEX_WAIT", "FUTEX_WAKE", "FUTEX_FD", "FUTEX_REQUEUE", "FUTEX_CMP_REQUEUE"];
    let bitset = [(9, "FUTEX_WAIT_BITSET"), (10, "FUTEX_WAKE_BITSET")];
    let known = usize::try_from(operation).ok().and_then(|n| names.get(n)).copied();
    let known = known.or_else(|| bitset.iter().find(|(n, _)| *n == operation).map(|(_, name)| *name));
    known.map_or_else(|| operation.to_string(), str::to_owned)
}

type Flags = &'static [(u64, &'static str)];

const OPEN: Flags = &[
    (0o100, "O_CREAT"),
    (0o200, "O_EXCL"),
    (0o400, "O_NOCTTY"),
    (0o1000, "O_TRUNC"),
    (0o2000, "O_APPEND"),
    (0o4000, "O_NONBLOCK"),
    (0o200_000, "O_DIRECTORY"),
    (0o400_000, "O_NOFOLLOW"),
    (0o2_000_000, "O_CLOEXEC"),
    (0o10_000_000, "O_PATH"),
];
const PROTECTION: Flags = &[(1, "PROT_READ"), (2, "PROT_WRITE"), (4, "PROT_EXEC")];
const MAPPING: Flags = &[
    (1, "MAP_SHARED"),
    (2, "MAP_PRIVATE"),
    (0x10, "MAP_FIXED"),
    (0x20, "MAP_ANONYMOUS"),
    (0x800, "MAP_DENYWRITE"),
    (0x4000, "MAP_NORESERVE"),
    (0x8000, "MAP_POPULATE"),
    (0x20000, "MAP_STACK"),
    (0x40000, "MAP_HUGETLB"),
    (0x10_0000, "MAP_FIXED_NOREPLACE"),
];
const CLONE: Flags = &[
    (0x100, "CLONE_VM"),
    (0x200, "CLONE_FS"),
    (0x400, "CLONE_FILES"),
    (0x800, "CLONE_SIGHAND"),
    (0x4000, "CLONE_VFORK"),
    (0x10000, "CLONE_THREAD"),
    (0x40000, "CLONE_SYSVSEM"),
    (0x80000, "CLONE_SETTLS"),
    (0x10_0000, "CLONE_PARENT_SETTID"),
    (0x20_0000, "CLONE_CHILD_CLEARTID"),
    (0x100_0000, "CLONE_CHILD_SETTID"),
];

/// The names of the bits that are set; what has no name as a number.
fn flags(value: u64, names: Flags, none: &str) -> String {
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

/// A result: an address is one, an errno has its name.
fn result(value: Option<i64>) -> String {
    match value {
        None => "?".to_owned(),
        Some(n @ -4095..=-1) => format!("-1 {}", errno(n)),
        Some(n) if n.unsigned_abs() > 0xffff_ffff => format!("{n:#x}"),
        Some(n) => n.to_string(),
    }
}

/// The name of a negative errno.
pub fn errno(value: i64) -> String {
    let number = i32::try_from(value.unsigned_abs()).unwrap_or_default();
    let known = syscalls::Errno::new(number).name();
    known.map_or_else(|| format!("errno {number}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::native_number;
    use crate::tracer::{Abi, Syscall};
    use crate::units::Nanos;

    fn call(name: &str, arguments: [u64; 6], paths: &[&str], result: Option<i64>) -> Call {
        Call {
            call: Syscall { abi: Abi::Native, number: native_number(name).unwrap() },
            entered: Nanos(0),
            result,
            arguments,
            ip: 0,
            stack: Vec::new(),
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            output: false,
        }
    }

    #[test]
    fn the_table_is_sorted_for_the_search() {
        assert!(ARGUMENTS.is_sorted_by_key(|(name, _)| name));
    }

    #[test]
    fn calls_are_written_as_strace_writes_them() {
        let cwd = u64::from(libc::AT_FDCWD.cast_unsigned());
        let table = [
            (
                call("openat", [cwd, 1, 0o2_000_000, 0, 0, 0], &["/etc/ld.so.cache"], Some(3)),
                "openat(AT_FDCWD, \"/etc/ld.so.cache\", O_RDONLY|O_CLOEXEC) = 3",
            ),
            (
                call("openat", [cwd, 1, 0o101, 0o644, 0, 0], &["a\nb"], Some(-13)),
                "openat(AT_FDCWD, \"a\\nb\", O_WRONLY|O_CREAT, 0644) = -1 EACCES",
            ),
            (
                call("mmap", [0, 8192, 3, 0x22, u64::MAX, 0], &[], Some(0x7fff_0000_0000)),
                "mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, NULL) = 0x7fff00000000",
            ),
            (call("exit_group", [0; 6], &[], None), "exit_group(…) = ?"),
            (call("write", [1, 0x1000, 12, 0, 0, 0], &[], Some(12)), "write(1, 0x1000, 12) = 12"),
        ];
        for (call, expected) in table {
            assert_eq!(text(&call), expected);
        }
    }
}
