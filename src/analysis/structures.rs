//! Structures among the arguments of system calls, as strace writes them.

use super::call_values::{Names, flags, names, one_of, signal};
use firstbyte_measure::arch::{Abi, Argument, CallFacts, Structure, call_names};
use firstbyte_measure::tracer::event::Call;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The content of a call's structure; `None`: it is not known.
pub(super) fn text(kind: Structure, call: &Call) -> Option<String> {
    match kind {
        Structure::Pair => call.pair.map(|[a, b]| format!("[{a}, {b}]")),
        Structure::Time => timeout(call),
        Structure::ClockTime => time(call, "tv_nsec").filter(|_| call.result == Some(0)),
        Structure::TimeLeft => time_left(call),
        Structure::SocketAddress => Some(address(call)?.in_braces()),
        Structure::ChildStatus => call.value().filter(|child| *child > 0).and_then(|_| child_status(call)),
        Structure::Polled => polled(call),
        Structure::FileStatus => file_status(call, "st"),
        Structure::ExtendedStatus => file_status(call, "stx"),
        Structure::SignalAction => signal_action(call),
        Structure::SignalSet => call.structure.first_chunk().map(|set| signals(u64::from_ne_bytes(*set))),
        Structure::Limits => limits(call),
    }
}

/// The name of the socket to which a call connects.
pub(super) fn peer(call: &Call) -> Option<String> {
    match address(call)? {
        Address::Unix(path) => Some(path),
        Address::Internet(address) => Some(address.to_string()),
    }
}

/// The four bytes at a place.
fn int(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The two numbers with which a structure of the native table begins.
fn two_words(call: &Call) -> Option<[u64; 2]> {
    let [first, second] = call.structure.as_chunks::<8>().0 else { return None };
    (call.call.abi == Abi::Native).then(|| [*first, *second].map(u64::from_ne_bytes))
}

/// A `struct timespec`, or a `struct timeval`, whose fraction is in microseconds.
fn time(call: &Call, fraction: &str) -> Option<String> {
    let [seconds, rest] = two_words(call)?.map(u64::cast_signed);
    Some(format!("{{tv_sec={seconds}, {fraction}={rest}}}"))
}

/// How long a call waits at most. In the same place, `futex(2)` has a number if it does not wait.
fn timeout(call: &Call) -> Option<String> {
    const WAITS: [u64; 5] = [0, 6, 9, 11, 13];
    let at = CallFacts::of(call_names::name(call.call).as_ref())?.position(Argument::FutexOperation);
    let operation = at.map(|at| call.arguments[usize::from(at)] & 0x7f);
    time(call, "tv_nsec").filter(|_| operation.is_none_or(|operation| WAITS.contains(&operation)))
}

/// What the kernel left of the time of a `select(2)` or `pselect6(2)`.
fn time_left(call: &Call) -> Option<String> {
    let fraction = if call_names::name(call.call) == "select" { "tv_usec" } else { "tv_nsec" };
    time(call, fraction).map(|time| format!("left {time}"))
}

/// `inode(7)`.
fn file_status(call: &Call, prefix: &str) -> Option<String> {
    const KINDS: Names = names! {
        S_IFIFO S_IFCHR S_IFDIR S_IFBLK S_IFREG S_IFLNK S_IFSOCK
    };
    const BITS: Names = names! { S_ISUID S_ISGID S_ISVTX };
    let [mode, size] = two_words(call).filter(|_| call.result == Some(0))?;
    let kind = one_of(mode & u64::from(libc::S_IFMT), KINDS);
    let bits = match mode & 0o7000 {
        0 => String::new(),
        bits => format!("|{}", flags(bits, BITS, "0")),
    };
    let size = match kind.as_str() {
        "S_IFCHR" | "S_IFBLK" => device(prefix, size),
        _ => format!(", {prefix}_size={size}"),
    };
    Some(format!("{{{prefix}_mode={kind}{bits}|0{:03o}{size}, ...}}", mode & 0o777))
}

/// The number of a device. Old recordings have its size instead, which is 0. A `struct statx` has its two parts.
fn device(prefix: &str, number: u64) -> String {
    let [major, minor] = match (number, prefix) {
        (0, _) => return String::new(),
        (_, "stx") => {
            let bytes = number.to_ne_bytes();
            [0, 4].map(|at| bytes[at..].first_chunk().copied().map_or(0, u32::from_ne_bytes))
        }
        _ => [libc::major(number), libc::minor(number)],
    };
    format!(", {prefix}_rdev=makedev({major:#x}, {minor:#x})")
}

/// The kernel's `struct sigaction`, `include/uapi/asm-generic/signal.h`.
fn signal_action(call: &Call) -> Option<String> {
    const FLAGS: Names = &[
        (0x0400_0000, "SA_RESTORER"),
        (libc::SA_ONSTACK as u64, "SA_ONSTACK"),
        (libc::SA_RESTART as u64, "SA_RESTART"),
        (libc::SA_NODEFER as u64, "SA_NODEFER"),
        (0x8000_0000, "SA_RESETHAND"),
        (libc::SA_SIGINFO as u64, "SA_SIGINFO"),
        (libc::SA_NOCLDSTOP as u64, "SA_NOCLDSTOP"),
        (libc::SA_NOCLDWAIT as u64, "SA_NOCLDWAIT"),
    ];
    let [handler, set] = two_words(call)?;
    let handler = match handler {
        0 => "SIG_DFL".to_owned(),
        1 => "SIG_IGN".to_owned(),
        function => format!("{function:#x}"),
    };
    Some(format!("{{sa_handler={handler}, sa_flags={}, ...}}", flags(set, FLAGS, "0")))
}

/// A set of signals; one that contains most of them by those that it does not contain.
fn signals(set: u64) -> String {
    let (begin, listed) = if set.count_ones() > 32 { ("~", !set) } else { ("", set) };
    let numbers = (1..=64).filter(|number| listed >> (number - 1) & 1 == 1);
    let names: Vec<String> = numbers.map(signal_in_set).collect();
    format!("{begin}[{}]", names.join(" "))
}

fn signal_in_set(number: i32) -> String {
    match number {
        33.. => format!("RT_{}", number - 32),
        _ => signal(number).trim_start_matches("SIG").to_owned(),
    }
}

/// A `struct rlimit64`.
fn limits(call: &Call) -> Option<String> {
    let limit = |value: u64| match value {
        u64::MAX => "RLIM64_INFINITY".to_owned(),
        _ if value > 1024 && value.is_multiple_of(1024) => format!("{}*1024", value / 1024),
        _ => value.to_string(),
    };
    let [current, most] = two_words(call).filter(|_| call.result == Some(0))?.map(limit);
    Some(format!("{{rlim_cur={current}, rlim_max={most}}}"))
}

enum Address {
    /// A path; that of an abstract socket begins with `@`.
    Unix(String),
    Internet(SocketAddr),
}

impl Address {
    fn in_braces(&self) -> String {
        match self {
            Address::Unix(path) => format!("{{sa_family=AF_UNIX, sun_path={path:?}}}"),
            Address::Internet(address) => {
                let family = if address.is_ipv4() { "AF_INET" } else { "AF_INET6" };
                format!("{{sa_family={family}, {address}}}")
            }
        }
    }
}

/// A socket address, whose length follows it among the arguments.
fn address(call: &Call) -> Option<Address> {
    let (at, _) = CallFacts::of(call_names::name(call.call).as_ref())?
        .structure()
        .filter(|(_, kind)| *kind == Structure::SocketAddress)?;
    let length = usize::try_from(*call.arguments.get(usize::from(at) + 1)?).ok()?;
    let bytes = &call.structure[..call.structure.len().min(length)];
    let (family, rest) = bytes.split_first_chunk::<2>()?;
    let port = || Some(u16::from_be_bytes(*rest.first_chunk()?));
    match i32::from(u16::from_ne_bytes(*family)) {
        libc::AF_UNIX => unix(rest).map(Address::Unix),
        libc::AF_INET => {
            let ip = Ipv4Addr::from(*rest.get(2..)?.first_chunk::<4>()?);
            Some(Address::Internet(SocketAddr::new(IpAddr::V4(ip), port()?)))
        }
        libc::AF_INET6 => {
            let ip = Ipv6Addr::from(*rest.get(6..)?.first_chunk::<16>()?);
            Some(Address::Internet(SocketAddr::new(IpAddr::V6(ip), port()?)))
        }
        _ => None,
    }
}

fn unix(path: &[u8]) -> Option<String> {
    let (first, rest) = path.split_first()?;
    let (begin, path) = if *first == 0 { ("@", rest) } else { ("", path) };
    let path = path.split(|byte| *byte == 0).next().unwrap_or_default();
    Some(format!("{begin}{}", String::from_utf8_lossy(path)))
}

/// `wait(2)`.
fn child_status(call: &Call) -> Option<String> {
    let status = int(&call.structure, 0)?;
    let text = if libc::WIFEXITED(status) {
        format!("WIFEXITED(s) && WEXITSTATUS(s) == {}", libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) {
        format!("WIFSIGNALED(s) && WTERMSIG(s) == {}", signal(libc::WTERMSIG(status)))
    } else if libc::WIFSTOPPED(status) {
        format!("WIFSTOPPED(s) && WSTOPSIG(s) == {}", signal(libc::WSTOPSIG(status)))
    } else {
        "WIFCONTINUED(s)".to_owned()
    };
    Some(format!("[{{{text}}}]"))
}

/// An array of `struct pollfd`, as far as it was read. The second argument is its length.
fn polled(call: &Call) -> Option<String> {
    let count = usize::try_from(call.arguments[1]).ok()?;
    let (read, _) = call.structure.as_chunks::<8>();
    let shown: Vec<String> = read.iter().copied().take(count).filter_map(pollfd).collect();
    let more = if shown.len() < count { ", ..." } else { "" };
    (!shown.is_empty()).then(|| format!("[{}{more}]", shown.join(", ")))
}

fn pollfd(bytes: [u8; 8]) -> Option<String> {
    let events = u16::from_ne_bytes([bytes[4], bytes[5]]);
    Some(format!("{{fd={}, events={}}}", int(&bytes, 0)?, flags(u64::from(events), EVENTS, "0")))
}

/// `poll(2)`.
const EVENTS: Names = names! {
    POLLIN POLLPRI POLLOUT POLLERR POLLHUP POLLNVAL POLLRDNORM POLLRDBAND POLLWRNORM POLLWRBAND
    POLLRDHUP; 0x400 POLLMSG
};

#[cfg(test)]
mod tests {
    use super::*;
    use firstbyte_measure::arch::native_number;
    use firstbyte_measure::tracer::Syscall;
    use firstbyte_measure::units::Nanos;

    fn shown(name: &str, arguments: [u64; 6], result: i64, structure: &[u8]) -> Option<String> {
        let call = Call {
            call: Syscall { abi: Abi::Native, number: native_number(name).unwrap() },
            entered: Nanos(0),
            result: Some(result),
            arguments,
            structure: structure.to_vec(),
            ..Call::default()
        };
        let (_, kind) = CallFacts::of(name)?.structure()?;
        text(kind, &call)
    }

    #[test]
    fn a_socket_address_is_as_long_as_the_call_says() {
        let unix = |path: &[u8]| [&[1, 0], path].concat();
        let connect = |length: u64, bytes: &[u8]| shown("connect", [3, 1, length, 0, 0, 0], 0, bytes);
        let expected = Some("{sa_family=AF_UNIX, sun_path=\"/run/x\"}".to_owned());
        assert_eq!(connect(110, &unix(b"/run/x\0rest")), expected);
        assert_eq!(connect(8, &unix(b"/run/xyz")), expected);
        let hidden = Some("{sa_family=AF_UNIX, sun_path=\"@bus\"}".to_owned());
        assert_eq!(connect(6, &unix(b"\0busy")), hidden);
        let internet = [2, 0, 0, 80, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(connect(16, &internet), Some("{sa_family=AF_INET, 127.0.0.1:80}".to_owned()));
        let six = [&[10, 0, 1, 187, 0, 0, 0, 0][..], &[0; 15], &[1], &[0; 4]].concat();
        assert_eq!(connect(28, &six), Some("{sa_family=AF_INET6, [::1]:443}".to_owned()));
        assert_eq!(connect(1, &unix(b"/x")), None);
        assert_eq!(connect(16, &[16, 0, 0, 0]), None, "netlink");
    }

    #[test]
    fn times_states_of_children_and_polled_descriptors_are_decoded() {
        let time = [1_u64, 200_000_000].map(u64::to_ne_bytes).concat();
        assert_eq!(
            shown("clock_gettime", [0; 6], 0, &time).as_deref(),
            Some("{tv_sec=1, tv_nsec=200000000}")
        );
        assert_eq!(shown("clock_gettime", [0; 6], -22, &time), None, "the kernel wrote nothing");
        let sleep = shown("clock_nanosleep", [0; 6], 0, &time);
        assert_eq!(sleep.as_deref(), Some("{tv_sec=1, tv_nsec=200000000}"));
        assert_eq!(shown("clock_nanosleep", [0; 6], 0, &time[..8]), None);

        let wait = |result, status: i32| shown("wait4", [0; 6], result, &status.to_ne_bytes());
        assert_eq!(wait(7, 3 << 8).as_deref(), Some("[{WIFEXITED(s) && WEXITSTATUS(s) == 3}]"));
        assert_eq!(wait(7, 9).as_deref(), Some("[{WIFSIGNALED(s) && WTERMSIG(s) == SIGKILL}]"));
        assert_eq!(wait(0, 9), None, "no child ended: the kernel wrote nothing");
        assert_eq!(wait(-10, 9), None);

        let wait = |operation: u64| shown("futex", [1, operation, 0, 1, 0, 0], 0, &time);
        assert_eq!(wait(0x80).as_deref(), Some("{tv_sec=1, tv_nsec=200000000}"));
        assert_eq!(wait(0x81), None, "a wake has no timeout");
        let left = shown("select", [0; 6], 0, &time);
        assert_eq!(left.as_deref(), Some("left {tv_sec=1, tv_usec=200000000}"));

        let polled = [3, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0];
        let poll = |count: u64| shown("poll", [1, count, 0, 0, 0, 0], 0, &polled);
        assert_eq!(poll(1).as_deref(), Some("[{fd=3, events=POLLIN}]"));
        let three = "[{fd=3, events=POLLIN}, {fd=4, events=POLLIN|POLLOUT}, ...]";
        assert_eq!(poll(3).as_deref(), Some(three));
        assert_eq!(poll(0), None);
    }

    #[test]
    fn files_signals_and_limits_are_decoded() {
        let words = |first: u64, second: u64| [first, second].map(u64::to_ne_bytes).concat();
        let status = |name: &str, mode: u64, result: i64| shown(name, [0; 6], result, &words(mode, 7));
        let file = Some("{st_mode=S_IFREG|S_ISUID|0755, st_size=7, ...}");
        assert_eq!(status("newfstatat", 0o104_755, 0).as_deref(), file);
        let device = |name: &str, number: u64| shown(name, [0; 6], 0, &words(0o20_620, number));
        let terminal = Some("{st_mode=S_IFCHR|0620, st_rdev=makedev(0x88, 0x2), ...}");
        assert_eq!(device("fstat", libc::makedev(136, 2)).as_deref(), terminal);
        assert_eq!(device("fstat", 0).as_deref(), Some("{st_mode=S_IFCHR|0620, ...}"), "of an old recording");
        let parts = u64::from_ne_bytes([1, 0, 0, 0, 3, 0, 0, 0]);
        let null = Some("{stx_mode=S_IFCHR|0620, stx_rdev=makedev(0x1, 0x3), ...}");
        assert_eq!(device("statx", parts).as_deref(), null);
        assert_eq!(status("statx", 0o40_005, 0).as_deref(), Some("{stx_mode=S_IFDIR|0005, stx_size=7, ...}"));
        assert_eq!(status("newfstatat", 0o100_644, -2), None, "the kernel wrote nothing");

        let action = |handler, set| shown("rt_sigaction", [17, 1, 0, 8, 0, 0], 0, &words(handler, set));
        let ignored = Some("{sa_handler=SIG_IGN, sa_flags=SA_RESTORER|SA_RESTART, ...}");
        assert_eq!(action(1, 0x1400_0000).as_deref(), ignored);
        assert_eq!(action(0x4000, 0).as_deref(), Some("{sa_handler=0x4000, sa_flags=0, ...}"));

        let set = |set: u64| shown("rt_sigprocmask", [0; 6], 0, &set.to_ne_bytes());
        assert_eq!(set(0).as_deref(), Some("[]"));
        assert_eq!(set(1 << 1 | 1 << 16 | 1 << 33).as_deref(), Some("[INT CHLD RT_2]"));
        assert_eq!(set(!(3 << 31)).as_deref(), Some("~[RTMIN RT_1]"));

        let limits = shown("prlimit64", [0; 6], 0, &words(8 << 20, u64::MAX));
        assert_eq!(limits.as_deref(), Some("{rlim_cur=8192*1024, rlim_max=RLIM64_INFINITY}"));
    }
}
