//! A system call as text, as `strace -y` writes it: `read(3</etc/passwd>, 0x7ffe0000, 4096) = 1200`.

use super::call_values::{self, Names, flags, names, one_of};
use super::{contents, structures};
use firstbyte_measure::arch::{Argument, CallFacts, call_names};
use firstbyte_measure::tracer::Abi;
use firstbyte_measure::tracer::event::{Call, Content};
use std::sync::Arc;

/// Calls that return an address.
const ADDRESSES: [&str; 5] = ["brk", "mmap", "mmap2", "mremap", "shmat"];

/// The file behind a descriptor, if it is known.
pub type FileOf<'f> = &'f dyn Fn(i32) -> Option<Arc<str>>;

/// A call with its arguments and its result.
pub fn text(call: &Call, file_of: FileOf) -> String {
    let name = call_names::name(call.call);
    let arguments = if call.result.is_none() { "…".to_owned() } else { arguments(&name, call, file_of) };
    format!("{name}({arguments}) = {}", result(&name, call))
}

/// `exit` or `exit_group`, which do not return, with the wait status that the kernel kept.
pub fn exit_text(name: &str, status: i32) -> String {
    format!("{name}({}) = ?", status >> 8 & 0xff)
}

fn arguments(name: &str, call: &Call, file_of: FileOf) -> String {
    let Some(facts) = CallFacts::of(name) else {
        let [a, b, c, ..] = call.arguments.map(address);
        return format!("{a}, {b}, {c}, …");
    };

    let flags = facts.position(Argument::OpenFlags).map_or(0, |at| call.arguments[usize::from(at)]);
    let modeless = facts.opens() && facts.position(Argument::OpenFlags).is_some() && flags & CREATE == 0;
    let mut paths = call.paths.iter();
    let mut registers = call.arguments.into_iter();
    let mut next = || registers.next().unwrap_or(0);

    let mut shown: Vec<String> = Vec::new();
    for (at, kind) in facts.arguments(call.call.abi).enumerate() {
        let value = next();
        shown.push(match kind {
            Argument::Unused => continue,
            Argument::Mode if modeless => continue,
            Argument::Path => path(paths.next(), value, call),
            Argument::Structure(kind) => structures::text(kind, call).unwrap_or_else(|| address(value)),
            Argument::Buffer(kind) => contents::text(kind, at, call).unwrap_or_else(|| address(value)),
            Argument::LowHigh => wide(next(), value),
            Argument::HighLow => wide(value, next()),
            _ => argument(kind, value, file_of),
        });
    }
    shown.join(", ")
}

/// A path; its address if it could not be read. At the address 0 there is none.
fn path(path: Option<&Content>, value: u64, call: &Call) -> String {
    let is_readable = value != 0 && call.error() != Some(-i64::from(libc::EFAULT));
    let path = path.filter(|path| is_readable || !path.bytes.is_empty());
    path.map_or_else(|| address(value), contents::quoted)
}

/// A number of 64 bits from the low halves of two registers.
fn wide(high: u64, low: u64) -> String {
    (high << 32 | low & 0xffff_ffff).cast_signed().to_string()
}

#[allow(clippy::cast_possible_truncation)] // a C int is in the low half of its register
fn argument(kind: Argument, value: u64, file_of: FileOf) -> String {
    let int = value as i32;
    match kind {
        Argument::Directory if int == libc::AT_FDCWD => "AT_FDCWD".to_owned(),
        Argument::Directory | Argument::Descriptor(_) => descriptor(int, file_of),
        Argument::Int => int.to_string(),
        Argument::Value(kind) => call_values::text(kind, value),
        Argument::Offset => value.cast_signed().to_string(),
        Argument::Size => value.to_string(),
        Argument::Mode => format!("0{value:o}"),
        Argument::Signal => call_values::signal(int),
        Argument::OpenFlags => {
            flags(value & !3, OPEN, ["O_RDONLY", "O_WRONLY", "O_RDWR", "3"][(value & 3) as usize])
        }
        Argument::Protection => flags(value, PROTECTION, "PROT_NONE"),
        Argument::MappingFlags => flags(value, MAPPING, "0"),
        Argument::Access => flags(value, &[(1, "X_OK"), (2, "W_OK"), (4, "R_OK")], "F_OK"),
        Argument::CloneFlags => flags(value & !0xff, CLONE, "0"),
        Argument::FutexOperation => futex(value & 0xffff_ffff),
        Argument::Whence => {
            ["SEEK_SET", "SEEK_CUR", "SEEK_END"].get(value as usize).map_or("?", |w| w).to_owned()
        }
        _ => address(value),
    }
}

fn descriptor(number: i32, file_of: FileOf) -> String {
    match file_of(number) {
        Some(file) => format!("{number}<{}>", contents::escaped(file.as_bytes())),
        None => number.to_string(),
    }
}

fn address(value: u64) -> String {
    if value == 0 { "NULL".to_owned() } else { format!("{value:#x}") }
}

fn futex(operation: u64) -> String {
    let private = if operation & 0x80 != 0 { "_PRIVATE" } else { "" };
    let clock = if operation & 0x100 != 0 { "|FUTEX_CLOCK_REALTIME" } else { "" };
    format!("{}{private}{clock}", one_of(operation & 0x7f, FUTEX))
}

const FUTEX: Names = names! {
    FUTEX_WAIT FUTEX_WAKE FUTEX_FD FUTEX_REQUEUE FUTEX_CMP_REQUEUE FUTEX_WAKE_OP FUTEX_LOCK_PI
    FUTEX_UNLOCK_PI FUTEX_TRYLOCK_PI FUTEX_WAIT_BITSET FUTEX_WAKE_BITSET
};

const CREATE: u64 = libc::O_CREAT as u64;
const OPEN: Names = names! {
    O_CREAT O_EXCL O_NOCTTY O_TRUNC O_APPEND O_NONBLOCK O_DIRECTORY O_NOFOLLOW O_CLOEXEC O_PATH
};
const PROTECTION: Names = names! { PROT_READ PROT_WRITE PROT_EXEC };
const MAPPING: Names = names! {
    MAP_SHARED MAP_PRIVATE MAP_FIXED MAP_ANONYMOUS MAP_DENYWRITE MAP_NORESERVE MAP_POPULATE
    MAP_STACK MAP_HUGETLB MAP_FIXED_NOREPLACE
};
const CLONE: Names = names! {
    CLONE_VM CLONE_FS CLONE_FILES CLONE_SIGHAND CLONE_VFORK CLONE_THREAD CLONE_SYSVSEM CLONE_SETTLS
    CLONE_PARENT_SETTID CLONE_CHILD_CLEARTID CLONE_CHILD_SETTID
};

/// The result: an address in hexadecimal, an error by its name.
fn result(name: &str, call: &Call) -> String {
    if let Some(error) = call.error() {
        return format!("-1 {}", errno(error));
    }
    match call.result {
        None => "?".to_owned(),
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
            paths: paths.iter().map(|path| (*path).into()).collect(),
            ..Call::default()
        }
    }

    #[test]
    fn calls_are_written_as_strace_writes_them() {
        let cwd = u64::from(libc::AT_FDCWD.cast_unsigned());
        let table = [
            (
                call("openat", [cwd, 1, libc::O_CLOEXEC as u64, 0, 0, 0], &["/etc/ld.so.cache"], Some(3)),
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
            (
                call(
                    "openat",
                    [cwd, 1, (libc::O_DIRECTORY | libc::O_NOFOLLOW) as u64, 0, 0, 0],
                    &["/"],
                    Some(3),
                ),
                "openat(AT_FDCWD, \"/\", O_RDONLY|O_DIRECTORY|O_NOFOLLOW) = 3",
            ),
            (
                call("openat", [cwd, 1, 0, 0, 0, 0], &["caf\u{e9}\t\u{1}7\""], Some(-2)),
                "openat(AT_FDCWD, \"caf\\303\\251\\t\\0017\\\"\", O_RDONLY) = -1 ENOENT",
            ),
            (
                call("openat", [cwd, 16, 0, 0, 0, 0], &[""], Some(-14)),
                "openat(AT_FDCWD, 0x10, O_RDONLY) = -1 EFAULT",
            ),
            (call("utimensat", [3, 0, 0, 0, 0, 0], &[""], Some(0)), "utimensat(3, NULL, NULL, 0) = 0"),
            (call("swapon", [1, 0, 2, 0, 0, 0], &[], Some(0)), "swapon(0x1, NULL, 0x2, …) = 0"),
            (call("exit_group", [0; 6], &[], None), "exit_group(…) = ?"),
            (call("write", [1, 0x1000, 12, 0, 0, 0], &[], Some(12)), "write(1, 0x1000, 12) = 12"),
        ];

        for (call, expected) in table {
            assert_eq!(text(&call, &|_| None), expected);
        }
    }

    #[test]
    fn numbers_with_a_meaning_have_names_and_descriptors_their_files() {
        let table = [
            (call("fcntl", [3, 1030, 0, 0, 0, 0], &[], Some(4)), "fcntl(3, F_DUPFD_CLOEXEC, 0) = 4"),
            (
                call("ioctl", [1, 0x5401, 0, 0, 0, 0], &[], Some(-25)),
                "ioctl(1</out>, TCGETS, NULL) = -1 ENOTTY",
            ),
            (
                call("socket", [1, 0o2_000_001, 0, 0, 0, 0], &[], Some(3)),
                "socket(AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC, 0) = 3",
            ),
            (
                call("pipe2", [0, 0o2_004_000, 0, 0, 0, 0], &[], Some(0)),
                "pipe2(NULL, O_NONBLOCK|O_CLOEXEC) = 0",
            ),
            (
                Call { pair: Some([3, 4]), ..call("pipe2", [0x1000, 0, 0, 0, 0, 0], &[], Some(0)) },
                "pipe2([3, 4], 0) = 0",
            ),
            (
                call("futex", [0, 0x189, 2, 0, 0, 0], &[], Some(0)),
                "futex(NULL, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 2, NULL, NULL, 0) = 0",
            ),
            (
                call("wait4", [u64::MAX, 0, 3, 0, 0, 0], &[], Some(0)),
                "wait4(-1, NULL, WNOHANG|WUNTRACED, NULL) = 0",
            ),
            (
                call("getrusage", [u64::MAX, 0, 0, 0, 0, 0], &[], Some(0)),
                "getrusage(RUSAGE_CHILDREN, NULL) = 0",
            ),
            (call("madvise", [0, 4096, 99, 0, 0, 0], &[], Some(0)), "madvise(NULL, 4096, 99) = 0"),
            (call("tgkill", [5, 6, 23, 0, 0, 0], &[], Some(0)), "tgkill(5, 6, SIGURG) = 0"),
        ];
        let file_of = |number| (number == 1).then(|| "/out".into());
        for (call, expected) in table {
            assert_eq!(text(&call, &file_of), expected);
        }
        assert_eq!(exit_text("exit_group", 3 << 8), "exit_group(3) = ?");
    }

    #[test]
    fn buffers_have_the_content_that_was_recorded() {
        let with = |name, arguments, result, contents: &[(u64, &[u8])]| {
            let content = |(length, bytes): &(u64, &[u8])| Content {
                length: *length,
                bytes: bytes.to_vec(),
                unreadable: None,
            };
            let contents = contents.iter().map(content).collect();
            text(&Call { contents, ..call(name, arguments, &[], Some(result)) }, &|_| None)
        };
        let write =
            with("write", [1, 16, 1449, 0, 0, 0], 1449, &[(1449, b"Collaboratively administrate emp")]);
        assert_eq!(write, "write(1, \"Collaboratively administrate emp\"..., 1449) = 1449");
        assert_eq!(with("read", [0, 16, 4096, 0, 0, 0], 0, &[(0, b"")]), "read(0, \"\", 4096) = 0");
        let writev = with("writev", [1, 16, 3, 0, 0, 0], 12, &[(11, b"hello world"), (1, b"\n")]);
        let both = "{iov_base=\"hello world\", iov_len=11}, {iov_base=\"\\n\", iov_len=1}";
        assert_eq!(writev, format!("writev(1, [{both}, ...], 3) = 12"));
        assert_eq!(
            with("getcwd", [16, 4096, 0, 0, 0, 0], 6, &[(6, b"/work\0")]),
            "getcwd(\"/work\", 4096) = 6"
        );
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
            assert_eq!(text(&call, &|_| None), expected);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_32_bit_call_has_its_offset_in_two_registers() {
        let compat = |name: &str, arguments: [u64; 6], result: i64| {
            let number = firstbyte_measure::arch::compat_number(name).unwrap();
            let call = Syscall { abi: Abi::Compat, number };
            text(&Call { call, ..self::call("read", arguments, &[], Some(result)) }, &|_| None)
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
