//! The socket at which a program says that it is ready, as services of systemd do: `NOTIFY_SOCKET` of `sd_notify(3)`.

use super::diagnosis::LaunchError;
use crate::clock;
use crate::units::Nanos;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg, sockopt::set_socket_passcred,
};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicU32, Ordering};

/// The variable that names it.
pub(super) const VARIABLE: &str = "NOTIFY_SOCKET";

/// More than any message of `sd_notify(3)` that says it.
const MESSAGE: usize = 4096;

/// Waits for the message.
#[derive(Debug)]
pub(super) struct ReadySocket {
    socket: UnixDatagram,
    name: String,
    found: Option<(Nanos, u32)>,
}

impl ReadySocket {
    /// A socket with a name of its own, which is no file. All names are equally long: they are in the tracee's environment.
    pub(super) fn open() -> Result<ReadySocket, LaunchError> {
        // ORDERING: each caller gets another number, and nothing else.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("firstbyte-{:010}-{number:010}", std::process::id());
        let opened = || -> io::Result<UnixDatagram> {
            let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
            set_socket_passcred(&socket, true)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let socket = opened().map_err(|cause| LaunchError::Resource { what: "a socket", cause })?;
        Ok(ReadySocket { socket, name, found: None })
    }

    /// As the variable names it: an abstract socket begins with `@`.
    pub(super) fn address(&self) -> String {
        format!("@{}", self.name)
    }

    pub(super) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// When the message came, and from which process.
    pub(super) fn found(&self) -> Option<(Nanos, u32)> {
        self.found
    }

    /// Reads all messages that have come.
    pub(super) fn look(&mut self) {
        while let Ok((is_ready, sender)) = self.message() {
            if is_ready && self.found.is_none() {
                self.found = Some((clock::now(), sender));
            }
        }
    }

    /// Whether the next message says it, and its sender.
    fn message(&self) -> io::Result<(bool, u32)> {
        let (mut text, mut space) =
            ([0; MESSAGE], [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))]);
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let read =
            recvmsg(&self.socket, &mut [IoSliceMut::new(&mut text)], &mut ancillary, RecvFlags::DONTWAIT)?;
        let sender = ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmCredentials(sender) => {
                Some(sender.pid.as_raw_nonzero().get().cast_unsigned())
            }
            _ => None,
        });
        let mut lines = text[..read.bytes].split(|byte| *byte == b'\n');
        Ok((lines.any(|line| line == b"READY=1"), sender.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_message_that_says_ready_counts_and_the_first_one_of_them() {
        let mut ready = ReadySocket::open().unwrap();
        let client = UnixDatagram::unbound().unwrap();
        let address = SocketAddr::from_abstract_name(&ready.address()[1..]).unwrap();
        for (message, is_ready) in
            [("STATUS=READY=1", false), ("READY=10", false), ("STATUS=x\nREADY=1\n", true)]
        {
            client.send_to_addr(message.as_bytes(), &address).unwrap();
            ready.look();
            assert_eq!(ready.found().map(|(_, sender)| sender), is_ready.then(std::process::id), "{message}");
        }
        let first = ready.found();
        client.send_to_addr(b"READY=1", &address).unwrap();
        ready.look();
        assert_eq!((ready.found(), ready.message().is_err()), (first, true), "all is read");
    }
}
