//! Waits until something listens on a TCP port.

use crate::clock;
use crate::units::Nanos;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

/// How often we look: often enough for one per cent of the time so far.
const PART: u32 = 100;
const MIN_PAUSE: Duration = Duration::from_micros(200);
const MAX_PAUSE: Duration = Duration::from_millis(10);

/// `TCP_LISTEN` (`include/net/tcp_states.h`), as the kernel prints it.
const LISTENS: &str = "0A";

/// Looks whether something listens on a port.
#[derive(Debug)]
pub(super) struct PortWatch {
    port: u16,
    found: Option<Nanos>,
    holders: Vec<(u32, i32)>,
}

impl PortWatch {
    pub(super) fn new(port: u16) -> PortWatch {
        PortWatch { port, found: None, holders: Vec::new() }
    }

    /// When it was seen to listen.
    pub(super) fn found(&self) -> Option<Nanos> {
        self.found
    }

    /// Looks once, unless it was found before.
    pub(super) fn look(&mut self) {
        if self.found.is_some() {
            return;
        }
        let sockets = listening(self.port);
        if !sockets.is_empty() {
            self.found = Some(clock::now());
            self.holders = holders(&sockets);
        }
    }

    /// The processes that have the socket open, as far as we may see, each with the number of its descriptor.
    pub(super) fn holders(&self) -> &[(u32, i32)] {
        &self.holders
    }
}

/// How long to wait before the next look at a run that has lasted so long.
pub(super) fn pause_after(elapsed: Duration) -> Duration {
    (elapsed / PART).clamp(MIN_PAUSE, MAX_PAUSE)
}

/// Whether a process in our network namespace listens on this TCP port, at any address.
pub(crate) fn is_listened_to(port: u16) -> bool {
    !listening(port).is_empty()
}

/// The inodes of the sockets that listen on a port.
fn listening(port: u16) -> Vec<u64> {
    ["/proc/self/net/tcp", "/proc/self/net/tcp6"].iter().flat_map(|table| in_table(table, port)).collect()
}

/// The open descriptors that stand for one of these sockets (`/proc/PID/fd`, `proc_pid_fd(5)`).
fn holders(sockets: &[u64]) -> Vec<(u32, i32)> {
    let links: Vec<String> = sockets.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let is_socket = |target: &Path| links.iter().any(|link| Path::new(link) == target);
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = number::<u32>(&process.file_name()) else { continue };
        for descriptor in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            if fs::read_link(descriptor.path()).is_ok_and(|target| is_socket(&target)) {
                found.extend(number(&descriptor.file_name()).map(|number| (pid, number)));
            }
        }
    }
    found
}

fn number<N: std::str::FromStr>(name: &OsStr) -> Option<N> {
    name.to_str()?.parse().ok()
}

/// The kernel lists listening sockets before all others (`tcp_get_idx` in `net/ipv4/tcp_ipv4.c`).
fn in_table(table: &str, port: u16) -> Vec<u64> {
    let Ok(file) = File::open(table) else { return Vec::new() };
    let lines = BufReader::new(file).lines().map_while(Result::ok).skip(1);
    let listening = lines.map_while(|line| listening_socket(&line));
    listening.filter(|(listening, _)| *listening == port).map(|(_, inode)| inode).collect()
}

/// The port and the inode of a line of `/proc/net/tcp` (`proc_pid_net(5)`), if the socket listens.
fn listening_socket(line: &str) -> Option<(u16, u64)> {
    let mut fields = line.split_whitespace().skip(1);
    let (local, _, state) = (fields.next()?, fields.next()?, fields.next()?);
    let (_, port) = local.rsplit_once(':')?;
    let inode = fields.nth(5)?.parse().ok()?;
    u16::from_str_radix(port, 16).ok().filter(|_| state == LISTENS).map(|port| (port, inode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;

    #[test]
    fn only_listening_sockets_count() {
        let line = |state| {
            format!(
                "   0: 0100007F:1F90 00000000:0000 {state} 00000000:00000000 00:00000000 00000000 0 0 77 1"
            )
        };
        assert_eq!(listening_socket(&line("0A")), Some((8080, 77)));
        assert_eq!(listening_socket(&line("01")), None);
        let v6 = "  1: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 78";
        assert_eq!(listening_socket(v6), Some((22, 78)));
        assert_eq!(listening_socket(""), None);
    }

    /// A child that another test has just forked holds copies of our descriptors until its exec.
    fn until(holds: impl Fn() -> bool) {
        for _ in 0..1000 {
            if holds() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("not within ten seconds");
    }

    #[test]
    fn a_port_is_found_while_something_listens_there() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let port = listener.local_addr().unwrap().port();
            assert!(is_listened_to(port), "{address}");
            let holder = (std::process::id(), listener.as_raw_fd());
            until(|| holders(&listening(port)) == [holder]);
            drop(listener);
            until(|| !is_listened_to(port));
        }
    }

    #[test]
    fn pauses_are_a_hundredth_of_the_time_so_far() {
        let pauses = [1, 100, 5000].map(|ms| pause_after(Duration::from_millis(ms)));
        assert_eq!(pauses, [MIN_PAUSE, Duration::from_millis(1), MAX_PAUSE]);
    }
}
