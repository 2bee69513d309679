//! Waits until something listens on a TCP port.

use crate::clock;
use crate::units::Nanos;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::Duration;

/// How often we look: often enough for one per cent of the time so far.
const PART: u32 = 100;
const SHORTEST_PAUSE: Duration = Duration::from_micros(200);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// `TCP_LISTEN` (`include/net/tcp_states.h`), as the kernel prints it.
const LISTENS: &str = "0A";

/// Looks whether something listens on a port.
#[derive(Debug)]
pub(super) struct PortWatch {
    port: u16,
    found: Option<Nanos>,
}

impl PortWatch {
    pub(super) fn new(port: u16) -> PortWatch {
        PortWatch { port, found: None }
    }

    /// When it was seen to listen.
    pub(super) fn found(&self) -> Option<Nanos> {
        self.found
    }

    /// Looks once, unless it was found before.
    pub(super) fn look(&mut self) {
        if self.found.is_none() && is_listened_to(self.port) {
            self.found = Some(clock::now());
        }
    }
}

/// How long to wait before the next look at a run that has lasted so long.
pub(super) fn pause_after(elapsed: Duration) -> Duration {
    (elapsed / PART).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
}

/// Whether a process in our network namespace listens on this TCP port, at any address.
pub fn is_listened_to(port: u16) -> bool {
    ["/proc/self/net/tcp", "/proc/self/net/tcp6"].iter().any(|table| is_in(table, port))
}

/// The kernel lists listening sockets before all others (`tcp_get_idx` in `net/ipv4/tcp_ipv4.c`).
fn is_in(table: &str, port: u16) -> bool {
    let Ok(file) = File::open(table) else { return false };
    let lines = BufReader::new(file).lines().map_while(Result::ok).skip(1);
    let listening = lines.map_while(|line| listening_port(&line));
    listening.into_iter().any(|listening| listening == port)
}

/// The port of a line of `/proc/net/tcp` (`proc_pid_net(5)`), if the socket listens.
fn listening_port(line: &str) -> Option<u16> {
    let mut fields = line.split_whitespace().skip(1);
    let (local, _, state) = (fields.next()?, fields.next()?, fields.next()?);
    let (_, port) = local.rsplit_once(':')?;
    u16::from_str_radix(port, 16).ok().filter(|_| state == LISTENS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn only_listening_sockets_count() {
        let line = |state| {
            format!("   0: 0100007F:1F90 00000000:0000 {state} 00000000:00000000 00:00000000 00000000")
        };
        assert_eq!(listening_port(&line("0A")), Some(8080));
        assert_eq!(listening_port(&line("01")), None);
        let v6 = "  1: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 0A 0:0";
        assert_eq!(listening_port(v6), Some(22));
        assert_eq!(listening_port(""), None);
    }

    #[test]
    fn a_port_is_found_while_something_listens_there() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let port = listener.local_addr().unwrap().port();
            assert!(is_listened_to(port), "{address}");
            drop(listener);
            assert!(!is_listened_to(port), "{address}");
        }
    }

    #[test]
    fn pauses_are_a_hundredth_of_the_time_so_far() {
        let pauses = [1, 100, 5000].map(|ms| pause_after(Duration::from_millis(ms)));
        assert_eq!(pauses, [SHORTEST_PAUSE, Duration::from_millis(1), LONGEST_PAUSE]);
    }
}
