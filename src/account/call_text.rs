//! A system call as text, as strace writes it: `openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3`.

use firstbyte_measure::arch::call_names;
use firstbyte_measure::tracer::Abi;
use firstbyte_measure::tracer::event::Call;
use std::fmt::Write;

/// The arguments of each call, one letter each, from its page in section 2 of the manual: `f` descriptor, `D` directory
/// descriptor, `p` path, `z` count, `i` number, `x` address, `O` open flags, `m` mode, `P` protection, `M` mapping flags,
/// `a` access mode, `s` signal, `c` clone flags, `F` futex operation, `w` whence, `_` a register without a meaning. An
/// offset or length in a file is `o` if it takes one register, `L` if it takes two with the low half first, and `H` with the
/// high half first.
const ARGUMENTS: &[(&str, &str)] = &[
    ("accept", "fxx"),
    ("accept4", "fxxi"),
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
    ("epoll_pwait2", "fxixx"),
    ("epoll_wait", "fxii"),
    ("eventfd2", "ii"),
    ("execve", "pxx"),
    ("execveat", "Dpxxi"),
    ("exit", "i"),
    ("exit_group", "i"),
    ("faccessat", "Dpa"),
    ("faccessat2", "Dpai"),
    ("fadvise64", "fozi"),
    ("fallocate", "fioo"),
    ("fchdir", "f"),
    ("fchmod", "fm"),
    ("fcntl", "fii"),
    ("fcntl64", "fii"),
    ("fdatasync", "f"),
    ("flock", "fi"),
    ("fork", ""),
    ("fstat", "fx"),
    ("fstat64", "fx"),
    ("fstatfs", "fx"),
    ("fsync", "f"),
    ("ftruncate", "fo"),
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
    ("io_uring_enter", "fiiixz"),
    ("io_uring_setup", "ix"),
    ("ioctl", "fxx"),
    ("kill", "is"),
    ("link", "pp"),
    ("lseek", "fow"),
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
    ("pause", ""),
    ("pipe", "x"),
    ("pipe2", "xO"),
    ("poll", "xii"),
    ("ppoll", "xixx"),
    ("prctl", "ixxxx"),
    ("pread64", "fxzo"),
    ("preadv", "fxio"),
    ("preadv2", "fxio_i"),
    ("prlimit64", "iixx"),
    ("pselect6", "ixxxxx"),
    ("pwrite64", "fxzo"),
    ("pwritev", "fxio"),
    ("pwritev2", "fxio_i"),
    ("read", "fxz"),
    ("readahead", "foz"),
    ("readlink", "pxz"),
    ("readlinkat", "Dpxz"),
    ("readv", "fxi"),
    ("recvfrom", "fxzi"),
    ("recvmmsg", "fxiix"),
    ("recvmsg", "fxi"),
    ("rename", "pp"),
    ("renameat2", "DpDpi"),
    ("restart_syscall", ""),
    ("rmdir", "p"),
    ("rseq", "xiii"),
    ("rt_sigaction", "sxxi"),
    ("rt_sigprocmask", "ixxi"),
    ("rt_sigreturn", ""),
    ("rt_sigsuspend", "xz"),
    ("rt_sigtimedwait", "xxxz"),
    ("sched_getaffinity", "izx"),
    ("sched_yield", ""),
    ("select", "ixxxx"),
    ("sendfile", "ffxz"),
    ("sendmmsg", "fxii"),
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
    ("sync_file_range", "fooi"),
    ("sysinfo", "x"),
    ("tee", "ffzi"),
    ("tgkill", "iis"),
    ("truncate", "po"),
    ("umask", "m"),
    ("uname", "x"),
    ("unlink", "p"),
    ("unlinkat", "Dpi"),
    ("vfork", ""),
    ("vmsplice", "fxii"),
    ("wait4", "ixix"),
    ("waitid", "iixix"),
    ("write", "fxz"),
    ("writev", "fxi"),
];

/// The calls whose arguments differ in the 32-bit table: there, an offset of 64 bits takes two registers, and an `off_t` has
/// 32 bits (`arch/x86/kernel/sys_ia32.c`).
const COMPAT_ARGUMENTS: &[(&str, &str)] = &[
    ("_llseek", "fHxw"),
    ("fadvise64", "fLzi"),
    ("fadvise64_64", "fLLi"),
    ("fallocate", "fiLL"),
    ("ftruncate", "fi"),
    ("ftruncate64", "fL"),
    ("lseek", "fiw"),
    ("pread64", "fxzL"),
    ("preadv", "fxiL"),
    ("preadv2", "fxiLi"),
    ("pwrite64", "fxzL"),
    ("pwritev", "fxiL"),
    ("pwritev2", "fxiLi"),
    ("readahead", "fLz"),
    ("sync_file_range", "fLLi"),
    ("truncate", "pi"),
    ("truncate64", "pL"),
];

/// Calls that return an address.
const ADDRESSES: [&str; 5] = ["brk", "mmap", "mmap2", "mremap", "shmat"];

/// A call with its arguments and its result.
pub fn text(call: &Call) -> String {
    let name = call_names::name(call.call);
    let arguments = if call.result.is_none() { "…".to_owned() } else { arguments(&name, call) };
    format!("{name}({arguments}) = {}", result(&name, call))
}

/// The letters of a call's arguments, if the call is in the tables.
fn kinds(name: &str, abi: Abi) -> Option<&'static str> {
    let of = |table: &[(&str, &'static str)]| {
        table.binary_search_by_key(&name, |(known, _)| known).ok().map(|place| table[place].1)
    };
    let own = if abi == Abi::Compat { of(COMPAT_ARGUMENTS) } else { None };
    own.or_else(|| of(ARGUMENTS))
}

fn arguments(name: &str, call: &Call) -> String {
    let known = kinds(name, call.call.abi);
    let mut paths = call.paths.iter();
    let flags_at = if name == "open" { 1 } else { 2 };
    let creating = call.arguments[flags_at] & 0o100 != 0;
    let mut registers = call.arguments.into_iter();
    let mut next = || registers.next().unwrap_or(0);

    let mut shown: Vec<String> = Vec::new();
    for kind in known.unwrap_or("xxx").chars() {
        let value = next();
        shown.push(match kind {
            '_' => continue,
            'p' => paths.next().map_or_else(|| address(value), |path| format!("{path:?}")),
            'L' => wide(next(), value),
            'H' => wide(value, next()),
            _ => argument(kind, value),
        });
    }

    if matches!(name, "open" | "openat") && !creating {
        shown.pop(); // without O_CREAT, the mode has no meaning
    }
    if known.is_none() {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

/// A number of 64 bits from the low halves of two registers.
fn wide(high: u64, low: u64) -> String {
    (high << 32 | low & 0xffff_ffff).cast_signed().to_string()
}

#[allow(clippy::cast_possible_truncation)] // a C int is in the low half of its register
fn argument(kind: char, value: u64) -> String {
    let int = value as i32;
    match kind {
        'D' if int == libc::AT_FDCWD => "AT_FDCWD".to_owned(),
        'f' | 'i' | 'D' => int.to_string(),
        'o' => value.cast_signed().to_string(),
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

// Some of their values differ between architectures.
const OPEN: Flags = &[
    (libc::O_CREAT as u64, "O_CREAT"),
    (libc::O_EXCL as u64, "O_EXCL"),
    (libc::O_NOCTTY as u64, "O_NOCTTY"),
    (libc::O_TRUNC as u64, "O_TRUNC"),
    (libc::O_APPEND as u64, "O_APPEND"),
    (libc::O_NONBLOCK as u64, "O_NONBLOCK"),
    (libc::O_DIRECTORY as u64, "O_DIRECTORY"),
    (libc::O_NOFOLLOW as u64, "O_NOFOLLOW"),
    (libc::O_CLOEXEC as u64, "O_CLOEXEC"),
    (libc::O_PATH as u64, "O_PATH"),
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

/// The names of the bits that are set; bits without a name as a number.
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

/// The result: an address in hexadecimal, an error by its name.
fn result(name: &str, call: &Call) -> String {
    match call.result {
        None => "?".to_owned(),
        Some(n @ -4095..=-1) => format!("-1 {}", errno(n)),
        Some(n) if ADDRESSES.contains(&name) && call.call.abi == Abi::Compat => {
            format!("{:#x}", n & 0xffff_ffff)
        }
        Some(n) if ADDRESSES.contains(&name) => format!("{n:#x}"),
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
    use firstbyte_measure::arch::native_number;
    use firstbyte_measure::tracer::Syscall;
    use firstbyte_measure::units::Nanos;

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
    fn the_tables_are_sorted_for_the_search() {
        assert!(ARGUMENTS.is_sorted_by_key(|(name, _)| name));
        assert!(COMPAT_ARGUMENTS.is_sorted_by_key(|(name, _)| name));
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

    #[test]
    fn an_offset_has_all_64_bits() {
        let far = 5_000_000_000_u64;
        let table = [
            (
                call("lseek", [3, far, 0, 0, 0, 0], &[], Some(5_000_000_000)),
                "lseek(3, 5000000000, SEEK_SET) = 5000000000",
            ),
            (call("lseek", [3, u64::MAX, 2, 0, 0, 0], &[], Some(9)), "lseek(3, -1, SEEK_END) = 9"),
            (call("pread64", [3, 0x10, 4, far, 0, 0], &[], Some(0)), "pread64(3, 0x10, 4, 5000000000) = 0"),
            (
                call("pwritev2", [3, 0x10, 1, far, 0, 2], &[], Some(1)),
                "pwritev2(3, 0x10, 1, 5000000000, 2) = 1",
            ),
            (call("readahead", [3, far, 4096, 0, 0, 0], &[], Some(0)), "readahead(3, 5000000000, 4096) = 0"),
            (call("fadvise64", [3, far, 0, 4, 0, 0], &[], Some(0)), "fadvise64(3, 5000000000, 0, 4) = 0"),
            (
                call("fallocate", [3, 1, far, far, 0, 0], &[], Some(0)),
                "fallocate(3, 1, 5000000000, 5000000000) = 0",
            ),
            (call("truncate", [1, far, 0, 0, 0, 0], &["a"], Some(0)), "truncate(\"a\", 5000000000) = 0"),
        ];

        for (call, expected) in table {
            assert_eq!(text(&call), expected);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_32_bit_call_has_its_offset_in_two_registers() {
        let compat = |name: &str, arguments: [u64; 6], result: i64| {
            let number = firstbyte_measure::arch::compat_number(name).unwrap();
            let call = Syscall { abi: Abi::Compat, number };
            text(&Call { call, ..self::call("read", arguments, &[], Some(result)) })
        };
        let [low, high] = [0x2a05_f200, 1];
        assert_eq!(compat("pread64", [3, 16, 4, low, high, 0], 4), "pread64(3, 0x10, 4, 5000000000) = 4");
        assert_eq!(
            compat("_llseek", [3, high, low, 16, 0, 0], 0),
            "_llseek(3, 5000000000, 0x10, SEEK_SET) = 0"
        );
        assert_eq!(compat("lseek", [3, 0xffff_ffff, 2, 0, 0, 0], 9), "lseek(3, -1, SEEK_END) = 9");
        assert_eq!(
            compat("fadvise64_64", [3, low, high, 0, 0, 4], 0),
            "fadvise64_64(3, 5000000000, 0, 4) = 0"
        );
        assert_eq!(compat("brk", [0; 6], 0x804_8000), "brk(NULL) = 0x8048000");
    }
}
