//! Between the thread that measures and the one that exports. The first one never waits for the second.

use crate::document::watch::WatchDocument;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(super) struct Mailbox {
    asked: AtomicBool,
    content: Mutex<Content>,
    /// Readable when there is something.
    wakeup_fd: OwnedFd,
}

/// What was handed over.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) results: Option<WatchDocument>,
    /// These were the last ones.
    pub(super) ended: bool,
}

impl Mailbox {
    pub(super) fn new() -> io::Result<Mailbox> {
        let wakeup_fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Mailbox { asked: AtomicBool::new(false), content: Mutex::default(), wakeup_fd })
    }

    /// Results are wanted.
    pub(super) fn ask(&self) {
        // ORDERING: a lone flag; the results themselves are behind the mutex.
        self.asked.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_asked(&self) -> bool {
        // ORDERING: as above.
        self.asked.load(Ordering::Relaxed)
    }

    pub(super) fn put(&self, results: WatchDocument, ended: bool) {
        self.asked.store(false, Ordering::Relaxed);
        let earlier = self.content().results.replace(results);
        self.content().ended |= ended;
        drop(earlier);
        let _ = rustix::io::write(&self.wakeup_fd, &1_u64.to_ne_bytes());
    }

    pub(super) fn take(&self) -> Content {
        let _ = rustix::io::read(&self.wakeup_fd, &mut [0; 8]);
        let mut content = self.content();
        Content { results: content.results.take(), ended: content.ended }
    }

    pub(super) fn wakeup_fd(&self) -> &OwnedFd {
        &self.wakeup_fd
    }

    /// Held only for a moment.
    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
