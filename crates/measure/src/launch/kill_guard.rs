//! A process that outlives us by an instant: if we are killed (SIGKILL), it kills the processes of the present tracee.
//!
//! The tracee itself dies with us (`PR_SET_PDEATHSIG`), but no process that it has created does.

use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

/// The process group of the present tracee, 0 between two runs. The guard shares this memory.
static GUARDED: AtomicPtr<AtomicI32> = AtomicPtr::new(ptr::null_mut());

/// Starts the guard, once. Call it before [`adopt_orphans`](super::tree::adopt_orphans), so that it does not become our
/// child. Without resources for it there is none.
pub fn start() {
    if !GUARDED.load(Ordering::Relaxed).is_null() {
        return;
    }
    let (mut ends, access) = ([-1; 2], libc::PROT_READ | libc::PROT_WRITE);
    let length = rustix::param::page_size();
    // SAFETY: a fresh mapping, a fresh pipe, and a child that does nothing but system calls.
    unsafe {
        let shared =
            libc::mmap(ptr::null_mut(), length, access, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0);
        if shared == libc::MAP_FAILED || libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return;
        }
        let guarded: *mut AtomicI32 = shared.cast();
        let between = libc::fork();
        if between == 0 {
            // The guard's parent ends at once, so the guard is nobody's child.
            if libc::fork() == 0 {
                watch(&*guarded, ends[0]);
            }
            libc::_exit(0);
        }
        libc::close(ends[0]);
        if between > 0 {
            libc::waitpid(between, ptr::null_mut(), 0);
            // ORDERING: set once, before any launch.
            GUARDED.store(guarded, Ordering::Relaxed);
        }
        // Our end stays open as long as we live.
    }
}

/// From now on this is the process group that must not outlive us; 0: there is none.
pub(super) fn guard(group: i32) {
    let guarded = GUARDED.load(Ordering::Relaxed);
    if !guarded.is_null() {
        // SAFETY: the mapping is never unmapped.
        // ORDERING: the guard reads it after we have died.
        unsafe { (*guarded).store(group, Ordering::Relaxed) };
    }
}

/// Waits until all ends of the pipe that we hold are closed, which is when we have died.
unsafe fn watch(guarded: &AtomicI32, end: i32) -> ! {
    // SAFETY: only system calls, with valid arguments.
    unsafe {
        // No signal from the terminal or to our process group ends the guard before us.
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        let name = c"firstbyte-guard";
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
        libc::dup2(end, 0);
        if libc::syscall(libc::SYS_close_range, 1, u32::MAX, 0) != 0 {
            for descriptor in 1..4096 {
                libc::close(descriptor);
            }
        }

        let mut byte = 0_u8;
        while libc::read(0, ptr::from_mut(&mut byte).cast(), 1) < 0
            && *libc::__errno_location() == libc::EINTR
        {}
        let group = guarded.load(Ordering::Relaxed);
        if group > 1 {
            libc::kill(-group, libc::SIGKILL);
        }
        libc::_exit(0)
    }
}
