//! Empties the ring buffer while a long run fills it.
//!
//! The kernel side never wakes us, since that would disturb the run. The records of a short run fit the log and the
//! ring, and are read after the run. For longer runs a thread empties the ring every 50 ms.

use aya::maps::{MapData, RingBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(50);

/// A ring buffer that is emptied before it is full.
pub(super) struct RingDrain {
    shared: Arc<Shared>,
}

struct Shared {
    content: Mutex<Content>,
    watching: AtomicBool,
    gone: AtomicBool,
}

struct Content {
    ring: RingBuf<MapData>,
    records: Vec<Vec<u8>>,
}

impl RingDrain {
    /// Takes over the ring.
    pub(super) fn start(ring: RingBuf<MapData>) -> RingDrain {
        let content = Mutex::new(Content { ring, records: Vec::new() });
        let shared =
            Arc::new(Shared { content, watching: AtomicBool::new(false), gone: AtomicBool::new(false) });
        let watched = Arc::clone(&shared);
        // Without the thread, records that overflow the ring are counted as lost.
        let _ = std::thread::Builder::new().name("ring".to_owned()).spawn(move || watched.look());
        RingDrain { shared }
    }

    /// Whether the thread empties the ring.
    pub(super) fn watch(&self, on: bool) {
        // ORDERING: a hint; the lock orders the records.
        self.shared.watching.store(on, Ordering::Relaxed);
    }

    /// All records since the last call.
    pub(super) fn take(&self) -> Vec<Vec<u8>> {
        let mut content = self.shared.content();
        content.drain();
        std::mem::take(&mut content.records)
    }
}

impl Drop for RingDrain {
    fn drop(&mut self) {
        self.shared.gone.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self) {
        while !self.gone.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
            if self.watching.load(Ordering::Relaxed) {
                self.content().drain();
            }
        }
    }
}

impl Content {
    fn drain(&mut self) {
        while let Some(record) = self.ring.next() {
            self.records.push(record.to_vec());
        }
    }
}
