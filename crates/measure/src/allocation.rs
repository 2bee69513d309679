//! An allocator that never aborts the process.

use crate::launch::limits;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

/// The system's allocator. When it has no memory, a limit that a tracee has lowered is set back (`prlimit(2)`), and if that
/// does not help, `exhausted` ends the process. Rust would abort it.
pub struct Allocator {
    exhausted: fn() -> !,
    is_ending: AtomicBool,
}

impl std::fmt::Debug for Allocator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Allocator").finish_non_exhaustive()
    }
}

impl Allocator {
    /// `exhausted` is called once. If it needs memory itself, the process ends at once, with status 4.
    pub const fn new(exhausted: fn() -> !) -> Allocator {
        Allocator { exhausted, is_ending: AtomicBool::new(false) }
    }

    fn or_end(&self, allocate: impl Fn() -> *mut u8) -> *mut u8 {
        let first = allocate();
        if !first.is_null() {
            return first;
        }
        let is_raised = matches!(limits::restore_memory(), Ok(true));
        let second = if is_raised { allocate() } else { first };
        if !second.is_null() {
            return second;
        }
        // ORDERING: a lone flag.
        if self.is_ending.swap(true, Ordering::Relaxed) {
            // SAFETY: ends this process.
            unsafe { libc::_exit(4) }
        }
        (self.exhausted)()
    }
}

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        self.or_end(|| unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        self.or_end(|| unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise; a failed call leaves the block as it is.
        self.or_end(|| unsafe { System.realloc(block, layout, size) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}
