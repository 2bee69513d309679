//! The thread that exports.

use super::catalogue::Catalogue;
use super::mailbox::Mailbox;
use super::server::Server;
use super::{Callbacks, PrometheusPlan};
use crate::document::exposition::Exposition;
use crate::document::watch::WatchDocument;
use crate::output::{ExportError, Target};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use thiserror::Error;

/// How often the text file is written.
const TEXTFILE: Duration = Duration::from_secs(15);

/// At the end we wait this long for a disk.
const GOODBYE: Duration = Duration::from_secs(5);

/// Why nothing can be exported.
#[derive(Debug, Error)]
#[allow(missing_docs)] // each message says it
pub enum PrometheusError {
    #[error("cannot listen on `{address}`: {cause}\nhelp: {}", remedy(cause))]
    Listen { address: SocketAddr, cause: io::Error },
    #[error(transparent)]
    Textfile(#[from] ExportError),
    #[error("cannot start a thread: {0}\nhelp: close other programs, or raise `ulimit -u`")]
    Thread(io::Error),
}

fn remedy(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::AddrInUse => "`ss -ltnp` shows who listens there; give another port",
        io::ErrorKind::AddrNotAvailable => "give an address of this machine, such as 127.0.0.1:9464",
        _ => "give an address and a port that you may use, such as 127.0.0.1:9464",
    }
}

/// The side of the thread that measures.
#[derive(Debug)]
pub struct Exporter {
    mailbox: Arc<Mailbox>,
    ended: Receiver<()>,
    /// Where it listens: the port may have been chosen by the kernel.
    pub address: Option<SocketAddr>,
}

impl Exporter {
    /// Starts the thread. What cannot work fails here.
    pub fn start(plan: &PrometheusPlan, callbacks: Callbacks) -> Result<Exporter, PrometheusError> {
        plan.textfile.as_ref().map_or(Ok(()), Target::check)?;
        let listener = plan.listen.map(listen).transpose()?;
        let address = listener.as_ref().and_then(|listener| listener.local_addr().ok());
        let mailbox = Arc::new(Mailbox::new().map_err(PrometheusError::Thread)?);
        let (end, ended) = channel();

        let worker = Worker {
            mailbox: Arc::clone(&mailbox),
            catalogue: Catalogue::new(plan.programs),
            server: listener.map(|listener| Server::new(listener, callbacks)),
            textfile: plan.textfile.clone().map(Textfile::new),
            callbacks,
        };
        let thread = std::thread::Builder::new().name("exporter".to_owned());
        thread.spawn(move || worker.run(&end)).map_err(PrometheusError::Thread)?;
        Ok(Exporter { mailbox, ended, address })
    }

    /// Whether results are needed now.
    pub fn is_asked(&self) -> bool {
        self.mailbox.is_asked()
    }

    /// Hands the results so far over.
    pub fn hand_over(&self, results: WatchDocument) {
        self.mailbox.put(results, false);
    }

    /// Hands the last results over, and waits until they are written.
    pub fn finish(self, results: WatchDocument) {
        self.mailbox.put(results, true);
        // A disk that hangs must not keep us.
        let _ = self.ended.recv_timeout(GOODBYE);
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, PrometheusError> {
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    bound.map_err(|cause| PrometheusError::Listen { address, cause })
}

#[derive(Debug)]
struct Worker {
    mailbox: Arc<Mailbox>,
    catalogue: Catalogue,
    server: Option<Server>,
    textfile: Option<Textfile>,
    callbacks: Callbacks,
}

impl Worker {
    fn run(mut self, end: &Sender<()>) {
        loop {
            self.ask();
            self.wait();
            let content = self.mailbox.take();
            if let Some(results) = content.results {
                self.export(&results, content.ended);
            }
            if content.ended {
                // Nobody may be waiting any more.
                let _ = end.send(());
                return;
            }
        }
    }

    fn ask(&mut self) {
        let by_clients = self.server.as_mut().is_some_and(Server::answer);
        let by_file = self.textfile.as_ref().is_some_and(|file| file.due <= Instant::now());
        if by_clients || by_file {
            self.mailbox.ask();
        }
    }

    fn export(&mut self, results: &WatchDocument, ended: bool) {
        let unwritten = self.textfile.as_ref().map_or(0, |file| file.errors);
        let exposition = self.catalogue.update(results, unwritten);
        if let Some(file) = self.textfile.as_mut().filter(|file| ended || file.due <= Instant::now()) {
            file.write(&exposition, self.callbacks);
        }
        if let Some(server) = &mut self.server {
            server.show(exposition);
        }
    }

    /// Until results arrive, a client needs attention, or something is due.
    fn wait(&mut self) {
        // What is due while results are on their way comes with them.
        let file = self.textfile.as_ref().map(|file| file.due).filter(|_| !self.mailbox.is_asked());
        let Some(server) = &mut self.server else {
            return wait_for(&mut [PollFd::new(self.mailbox.wakeup_fd(), PollFlags::IN)], file);
        };
        let lets_in = if server.has_room() { PollFlags::IN } else { PollFlags::empty() };
        let mut watched = vec![
            PollFd::new(self.mailbox.wakeup_fd(), PollFlags::IN),
            PollFd::new(&server.listener, lets_in),
        ];
        watched
            .extend(server.connections.iter().map(|client| PollFd::new(&client.stream, client.interest())));
        wait_for(&mut watched, file.into_iter().chain(server.until()).min());

        let ready: Vec<bool> = watched.iter().map(|one| !one.revents().is_empty()).collect();
        for (client, _) in server.connections.iter_mut().zip(&ready[2..]).filter(|(_, ready)| **ready) {
            client.go_on();
        }
        server.tidy();
        if ready[1] {
            server.accept();
        }
    }
}

fn wait_for(watched: &mut [PollFd], until: Option<Instant>) {
    // A little later, so that what is due is due.
    let left = until.map(|until| until.saturating_duration_since(Instant::now()) + Duration::from_millis(1));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    // A signal ends the wait early, which does no harm.
    let _ = poll(watched, left.as_ref());
}

/// The file of the node exporter's textfile collector.
#[derive(Debug)]
struct Textfile {
    target: Target,
    due: Instant,
    errors: u64,
    fails: bool,
}

impl Textfile {
    fn new(target: Target) -> Textfile {
        Textfile { target, due: Instant::now(), errors: 0, fails: false }
    }

    /// If it fails, the file keeps its old content, and the next time may succeed.
    fn write(&mut self, exposition: &Exposition, callbacks: Callbacks) {
        self.due = Instant::now() + TEXTFILE;
        match self.target.write(&(callbacks.older)(exposition)) {
            Ok(()) => self.fails = false,
            Err(error) => {
                self.errors += 1;
                if !self.fails {
                    (callbacks.tell)(&error.to_string());
                }
                self.fails = true;
            }
        }
    }
}
