//! One client of the listener. Nothing here waits: a connection is asked to go on when the kernel says that it can.

use super::request::{AcceptedFormat, MAX_REQUEST_BYTES, Request, parse, refused};
use rustix::event::PollFlags;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a client may take to send its request, how long it waits for the results, and how long it may take to read the
/// answer. The time begins anew with each of these, because on a busy machine it may be us who were late before.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);

/// What a client still sends after the answer is read for this long: closing earlier could destroy the answer.
const GOODBYE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    begun: Instant,
    until: Instant,
    state: State,
}

#[derive(Debug)]
enum State {
    Reading(Vec<u8>),
    /// For the results.
    Waiting(AcceptedFormat),
    Writing {
        head: Vec<u8>,
        body: Arc<[u8]>,
        written: usize,
    },
    /// Until the client has closed its side.
    Closing,
    Closed,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        let begun = Instant::now();
        Ok(Connection { stream, begun, until: begun + CLIENT_TIMEOUT, state: State::Reading(Vec::new()) })
    }

    /// What must happen before it can go on.
    pub(super) fn interest(&self) -> PollFlags {
        match self.state {
            State::Reading(_) | State::Closing => PollFlags::IN,
            State::Writing { .. } => PollFlags::OUT,
            State::Waiting(_) | State::Closed => PollFlags::empty(),
        }
    }

    pub(super) fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// When it is over at the latest.
    pub(super) fn until(&self) -> Instant {
        self.until
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Closed) || Instant::now() >= self.until
    }

    /// The format of a client that waits for results.
    pub(super) fn format(&self) -> Option<AcceptedFormat> {
        if let State::Waiting(format) = self.state { Some(format) } else { None }
    }

    /// Reads and writes what is possible now.
    pub(super) fn go_on(&mut self) {
        let gone_on = match self.state {
            State::Reading(_) => self.read(),
            State::Writing { .. } => self.write(),
            State::Closing => self.read_the_rest(),
            // nothing was waited for, so the client has gone
            State::Waiting(_) | State::Closed => Err(ErrorKind::ConnectionReset.into()),
        };
        match gone_on {
            Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                self.state = State::Closed;
            }
            _ => {}
        }
    }

    fn read(&mut self) -> io::Result<()> {
        let State::Reading(received) = &mut self.state else { return Ok(()) };
        let mut part = [0; 1024];
        while received.len() < MAX_REQUEST_BYTES {
            let length = self.stream.read(&mut part)?;
            received.extend_from_slice(&part[..length]);
            if length == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if parse(received).is_some() {
                break;
            }
        }
        match parse(received) {
            Some(Request::Metrics(format)) => self.step(State::Waiting(format)),
            Some(Request::Refused(refusal)) => self.answer(refused(refusal), Arc::default()),
            None => {}
        }
        Ok(())
    }

    /// Sends the head and the body, now or as soon as the client takes them.
    pub(super) fn answer(&mut self, head: String, body: Arc<[u8]>) {
        self.step(State::Writing { head: head.into_bytes(), body, written: 0 });
        self.go_on();
    }

    fn step(&mut self, state: State) {
        self.state = state;
        self.until = Instant::now() + CLIENT_TIMEOUT;
    }

    fn write(&mut self) -> io::Result<()> {
        let State::Writing { head, body, written } = &mut self.state else { return Ok(()) };
        while *written < head.len() + body.len() {
            let rest = head.get(*written..).filter(|rest| !rest.is_empty());
            let rest = rest.unwrap_or_else(|| &body[*written - head.len()..]);
            match self.stream.write(rest)? {
                0 => return Err(ErrorKind::WriteZero.into()),
                length => *written += length,
            }
        }
        self.stream.shutdown(Shutdown::Write)?;
        self.state = State::Closing;
        self.until = Instant::now() + GOODBYE;
        Ok(())
    }

    fn read_the_rest(&mut self) -> io::Result<()> {
        let mut part = [0; 1024];
        match self.stream.read(&mut part)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// The request was there in time, but we had no processor.
    #[test]
    fn a_client_is_not_sent_away_because_we_were_late() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut ours = Connection::new(listener.accept().unwrap().0).unwrap();
        client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();

        ours.until = Instant::now();
        // the kernel may need a moment
        while ours.format().is_none() {
            ours.go_on();
        }
        assert!(!ours.is_over());

        ours.until = Instant::now();
        ours.answer("HTTP/1.1 200 OK\r\n\r\n".to_owned(), Arc::default());
        assert!(!ours.is_over());
    }
}
