//! Empties the ring buffer while a long run fills it.
//!
//! The kernel side never wakes us, since that would disturb the run. The records of a short run fit the log and the
//! ring, and are read after the run. For longer runs a thread empties the ring every 50 ms, and more often while it
//! fills fast, or while the run waits for one of the records.

use crate::launch::ourselves;
use aya::maps::{MapData, RingBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What precedes each record in the ring: `BPF_RINGBUF_HDR_SZ` in include/uapi/linux/bpf.h.
const HEADER: usize = 8;

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How soon the thread looks again after it found a quarter of the ring full.
const BUSY_POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Hears of each record, and returns whether it is kept.
pub(super) type Listener = Box<dyn FnMut(&[u8]) -> bool + Send>;

/// A ring buffer that is emptied before it is full.
pub(super) struct RingDrain {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    content: Mutex<Content>,
    /// The size of the ring, in bytes.
    size: usize,
    watching: AtomicBool,
    gone: AtomicBool,
}

struct Content {
    ring: RingBuf<MapData>,
    records: Vec<Vec<u8>>,
    listener: Option<Listener>,
}

impl RingDrain {
    /// Takes over the ring, which has `size` bytes.
    pub(super) fn start(ring: RingBuf<MapData>, size: u32) -> RingDrain {
        let shared = Arc::new(Shared {
            content: Mutex::new(Content { ring, records: Vec::new(), listener: None }),
            size: size as usize,
            watching: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        });
        let watched = Arc::clone(&shared);
        // Without the thread, records that overflow the ring are counted as lost.
        let thread = std::thread::Builder::new().name("ring".to_owned()).spawn(move || watched.look()).ok();
        RingDrain { shared, thread }
    }

    /// Whether the thread empties the ring.
    pub(super) fn watch(&self, on: bool) {
        // ORDERING: a hint; the lock orders the records.
        self.shared.watching.store(on, Ordering::Relaxed);
    }

    /// Who hears of each record, soon after it was written.
    pub(super) fn listen(&self, listener: Option<Listener>) {
        let is_needed = listener.is_some();
        self.shared.content().listener = listener;
        if let Some(thread) = self.thread.as_ref().filter(|_| is_needed) {
            thread.thread().unpark();
        }
    }

    /// All records since the last call.
    pub(super) fn take(&self) -> Vec<Vec<u8>> {
        let mut content = self.shared.content();
        content.drain();
        std::mem::take(&mut content.records)
    }
}

impl Drop for RingDrain {
    /// The ring's descriptor is closed by this thread: the other one has a table of its own.
    fn drop(&mut self) {
        self.shared.gone.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Empties the ring. Returns whether to do that again soon.
    fn is_busy(&self) -> bool {
        let mut content = self.content();
        content.drain() > self.size / 4 || content.listener.is_some()
    }

    fn look(&self) {
        // The ring is mapped. On a kernel that cannot do it, the table stays shared.
        ourselves::keep_descriptors(None);
        let mut pause = POLL_INTERVAL;
        while !self.gone.load(Ordering::Relaxed) {
            std::thread::park_timeout(pause);
            let is_busy = self.watching.load(Ordering::Relaxed) && self.is_busy();
            pause = if is_busy { BUSY_POLL_INTERVAL } else { POLL_INTERVAL };
        }
    }
}

impl Content {
    /// Returns the size of what it found, in bytes.
    fn drain(&mut self) -> usize {
        let mut found = 0;
        while let Some(record) = self.ring.next() {
            found += space(record.len());
            if self.listener.as_mut().is_none_or(|hears| hears(&record)) {
                self.records.push(record.to_vec());
            }
        }
        found
    }
}

/// How many bytes of the ring a record takes (`__bpf_ringbuf_reserve` in kernel/bpf/ringbuf.c).
fn space(record: usize) -> usize {
    (HEADER + record).next_multiple_of(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_takes_whole_words_and_its_header() {
        assert_eq!([0, 1, 8, 100].map(space), [8, 16, 16, 112]);
    }
}
