//! Structures among the arguments of system calls, as strace writes them.

use super::call_values::{Names, flags, signal};
use firstbyte_measure::arch::{Abi, CallFacts, Structure};
use firstbyte_measure::tracer::event::Call;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The content of a call's structure; `None`: it is not known.
pub(super) fn text(kind: Structure, call: &Call) -> Option<String> {
    match kind {
        Structure::Pair => call.pair.map(|[a, b]| format!("[{a}, {b}]")),
        Structure::Time => time(call),
        Structure::SocketAddress => Some(address(call)?.in_braces()),
        Structure::ChildStatus => call.value().filter(|child| *child > 0).and_then(|_| child_status(call)),
        Structure::Polled => polled(call),
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

/// A `struct timespec` of the native table.
fn time(call: &Call) -> Option<String> {
    let (words, rest) = call.structure.as_chunks::<8>();
    let [seconds, nanoseconds, ..] = words else { return None };
    let [seconds, nanoseconds] = [seconds, nanoseconds].map(|word| i64::from_ne_bytes(*word));
    (call.call.abi == Abi::Native && rest.is_empty())
        .then(|| format!("{{tv_sec={seconds}, tv_nsec={nanoseconds}}}"))
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
    let (at, _) = CallFacts::of(firstbyte_measure::arch::call_names::name(call.call).as_ref())?
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
const EVENTS: Names = &[
    (1, "POLLIN"),
    (2, "POLLPRI"),
    (4, "POLLOUT"),
    (8, "POLLERR"),
    (0x10, "POLLHUP"),
    (0x20, "POLLNVAL"),
    (0x40, "POLLRDNORM"),
    (0x80, "POLLRDBAND"),
    (0x100, "POLLWRNORM"),
    (0x200, "POLLWRBAND"),
    (0x400, "POLLMSG"),
    (0x2000, "POLLRDHUP"),
];

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
            ip: 0,
            stack: Vec::new(),
            paths: Vec::new(),
            pair: None,
            structure: structure.to_vec(),
            output: false,
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
        let sleep = shown("clock_nanosleep", [0; 6], 0, &time);
        assert_eq!(sleep.as_deref(), Some("{tv_sec=1, tv_nsec=200000000}"));
        assert_eq!(shown("clock_nanosleep", [0; 6], 0, &time[..8]), None);

        let wait = |result, status: i32| shown("wait4", [0; 6], result, &status.to_ne_bytes());
        assert_eq!(wait(7, 3 << 8).as_deref(), Some("[{WIFEXITED(s) && WEXITSTATUS(s) == 3}]"));
        assert_eq!(wait(7, 9).as_deref(), Some("[{WIFSIGNALED(s) && WTERMSIG(s) == SIGKILL}]"));
        assert_eq!(wait(0, 9), None, "no child ended: the kernel wrote nothing");
        assert_eq!(wait(-10, 9), None);

        let polled = [3, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0];
        let poll = |count: u64| shown("poll", [1, count, 0, 0, 0, 0], 0, &polled);
        assert_eq!(poll(1).as_deref(), Some("[{fd=3, events=POLLIN}]"));
        let three = "[{fd=3, events=POLLIN}, {fd=4, events=POLLIN|POLLOUT}, ...]";
        assert_eq!(poll(3).as_deref(), Some(three));
        assert_eq!(poll(0), None);
    }
}
