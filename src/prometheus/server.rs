//! The clients of the listener, and what they get.

use super::Callbacks;
use super::connection::Connection;
use super::request::{AcceptedFormat, head};
use crate::document::exposition::Exposition;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{ErrorKind, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of clients served at once. Others wait in the kernel's queue.
const MAX_CLIENTS: usize = 32;

/// A client that is older than this makes room for another one.
const SLOW: Duration = Duration::from_secs(1);

/// Results that are older than this are not shown: newer ones are asked for.
const FRESH: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Server {
    pub(super) listener: TcpListener,
    pub(super) connections: Vec<Connection>,
    shown: Option<Shown>,
    callbacks: Callbacks,
}

/// The latest results, in the forms that clients have asked for.
#[derive(Debug)]
struct Shown {
    since: Instant,
    exposition: Exposition,
    bodies: [Option<Arc<[u8]>>; 4],
}

impl Server {
    pub(super) fn new(listener: TcpListener, callbacks: Callbacks) -> Server {
        Server { listener, connections: Vec::new(), shown: None, callbacks }
    }

    /// Lets clients in. If there are too many, the oldest one goes, if it is slow.
    pub(super) fn accept(&mut self) {
        while self.has_room() {
            match self.listener.accept() {
                Ok((stream, _)) => self.connections.extend(Connection::new(stream)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // Too many open files, for example: the next moment may be better.
                Err(_) => return std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Whether another client would be let in.
    pub(super) fn has_room(&mut self) -> bool {
        if self.connections.len() >= MAX_CLIENTS
            && self.connections.first().is_some_and(|oldest| oldest.age() >= SLOW)
        {
            self.connections.remove(0);
        }
        self.connections.len() < MAX_CLIENTS
    }

    pub(super) fn show(&mut self, exposition: Exposition) {
        self.shown = Some(Shown { since: Instant::now(), exposition, bodies: [const { None }; 4] });
        self.answer();
    }

    /// Answers those who wait, if the results are fresh. Returns whether newer ones are needed.
    pub(super) fn answer(&mut self) -> bool {
        let Server { connections, shown, callbacks, .. } = self;
        let fresh = shown.as_mut().filter(|shown| shown.since.elapsed() < FRESH);
        let Some(shown) = fresh else { return connections.iter().any(|client| client.format().is_some()) };
        for client in connections {
            if let Some(format) = client.format() {
                let body = shown.body(format, *callbacks);
                let sent = if format.head { Arc::default() } else { Arc::clone(&body) };
                client.answer(head(format, body.len()), sent);
            }
        }
        false
    }

    /// Forgets those who are done or too slow.
    pub(super) fn tidy(&mut self) {
        self.connections.retain(|client| !client.is_over());
    }

    /// When there is something to do even if nothing happens.
    pub(super) fn until(&self) -> Option<Instant> {
        let oldest = self.connections.first().filter(|_| self.connections.len() >= MAX_CLIENTS);
        let room = oldest.map(|oldest| Instant::now() + SLOW.saturating_sub(oldest.age()));
        self.connections.iter().map(Connection::until).chain(room).min()
    }
}

impl Shown {
    fn body(&mut self, format: AcceptedFormat, callbacks: Callbacks) -> Arc<[u8]> {
        let exposition = &self.exposition;
        let render = if format.open { callbacks.open } else { callbacks.older };
        let index = usize::from(format.open) * 2 + usize::from(format.gzip);
        let body = self.bodies[index].get_or_insert_with(|| {
            let text = render(exposition).into_bytes();
            if format.gzip { compressed(&text).into() } else { text.into() }
        });
        Arc::clone(body)
    }
}

fn compressed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to a vector cannot fail.
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default()
}
