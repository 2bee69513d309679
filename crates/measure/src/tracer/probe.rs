//! Tries once, without side effects, everything that tracing and measuring need of the kernel (for `firstbyte
//! doctor`).
//!
//! Each function does the thing itself, with a child that has ended when the function returns, and reports the
//! kernel's own error.

use std::io;
use std::mem::size_of;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Stops a child with `ptrace(2)` and reads `PTRACE_GET_SYSCALL_INFO` there (Linux 5.3). It needs no `/proc`.
pub fn ptrace_stop() -> io::Result<()> {
    // SAFETY: the child makes system calls only.
    let child = match unsafe { libc::fork() } {
        // SAFETY: this is that child.
        0 => unsafe { stop_traced() },
        child => child,
    };
    check(child.into())?;

    let stopped = has_stopped(child).and_then(|()| syscall_info(child));
    // SAFETY: our own child, which nobody else reaps.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    stopped
}

/// In the child: stops, or exits with the number of the error.
unsafe fn stop_traced() -> ! {
    // SAFETY: system calls without pointers. If it is not known who we are, `raise` signals nobody.
    unsafe {
        if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) == 0 {
            libc::raise(libc::SIGSTOP);
        }
        libc::_exit(*libc::__errno_location())
    }
}

fn has_stopped(child: libc::pid_t) -> io::Result<()> {
    let mut status = 0;
    // SAFETY: `status` is a valid place for the kernel to write an int to, and outlives the call.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } != child {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    match status {
        stopped if libc::WIFSTOPPED(stopped) => Ok(()),
        ended if libc::WIFEXITED(ended) => Err(io::Error::from_raw_os_error(libc::WEXITSTATUS(ended))),
        other => Err(io::Error::other(format!("the child did not stop (wait status {other:#x})"))),
    }
}

fn syscall_info(child: libc::pid_t) -> io::Result<()> {
    const PTRACE_GET_SYSCALL_INFO: libc::c_uint = 0x420e;
    let mut record = [0_u8; 128];
    // SAFETY: the kernel writes at most `record.len()` bytes, which is the address argument (ptrace(2)).
    check(unsafe { libc::ptrace(PTRACE_GET_SYSCALL_INFO, child, record.len(), record.as_mut_ptr()) })
}

/// The first 64 bytes of `struct perf_event_attr` (`PERF_ATTR_SIZE_VER0`, `linux/perf_event.h`).
#[repr(C)]
#[derive(Default)]
struct CounterAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

const ATTRIBUTES_SIZE: u32 = 64;
const _: () = assert!(size_of::<CounterAttributes>() == ATTRIBUTES_SIZE as usize);

/// `exclude_kernel` and `exclude_hv` of the flags. Many users may count user instructions but not the kernel's.
const USER_ONLY: u64 = 1 << 5 | 1 << 6;

/// Opens a counter of user instructions on this thread, and returns how many it counted during a short loop. 0:
/// there is a counter, but it does not count.
pub fn count_instructions() -> io::Result<u64> {
    const PERF_COUNT_HW_INSTRUCTIONS: u64 = 1;
    let attributes = CounterAttributes {
        size: ATTRIBUTES_SIZE,
        config: PERF_COUNT_HW_INSTRUCTIONS,
        flags: USER_ONLY,
        ..CounterAttributes::default()
    };
    let counter = open_counter(&attributes)?;
    let work: u64 = std::hint::black_box((0..1000_u64).map(std::hint::black_box).sum());
    let mut count = [0; 8];
    debug_assert!(work > 0);
    rustix::io::read(&counter, &mut count)?;
    Ok(u64::from_ne_bytes(count))
}

fn open_counter(attributes: &CounterAttributes) -> io::Result<OwnedFd> {
    const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;
    let (this_thread, any_cpu, no_group) = (0, -1, -1);
    // SAFETY: the kernel reads `size` bytes of `attributes`, which is as large as it says (perf_event_open(2)).
    let opened = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const *attributes,
            this_thread,
            any_cpu,
            no_group,
            PERF_FLAG_FD_CLOEXEC,
        )
    };
    check(opened)?;
    let descriptor = i32::try_from(opened).map_err(io::Error::other)?;
    // SAFETY: the kernel has just created this descriptor; nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Creates a mount namespace in a child, and a bind mount in it, as `--cache cold` does.
pub fn mount_namespace() -> io::Result<()> {
    in_child(|| {
        unshare(libc::CLONE_NEWNS)?;
        bind_mount()
    })
}

/// Does the same in a new user namespace, which needs no privilege on machines that allow it.
pub fn user_namespace() -> io::Result<()> {
    in_child(|| {
        unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)?;
        bind_mount()
    })
}

fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: takes no pointer; after the fork the child has a single thread and shares nothing that this could
    // remove.
    check(unsafe { libc::unshare(flags) }.into())
}

/// Mounts `/` over itself, in a namespace whose mounts do not propagate to the machine's. It includes all mounts
/// below, because a user namespace may not uncover what they hide (`mount_namespaces(7)`, locked mounts).
fn bind_mount() -> io::Result<()> {
    let root = c"/".as_ptr();
    let none = std::ptr::null();
    // SAFETY: the two strings are static and end in a zero byte; the other pointers may be null (mount(2)).
    check(unsafe { libc::mount(none, root, none, libc::MS_REC | libc::MS_PRIVATE, none.cast()) }.into())?;
    // SAFETY: as above.
    check(unsafe { libc::mount(root, root, none, libc::MS_BIND | libc::MS_REC, none.cast()) }.into())
}

/// Runs `attempt` in a forked child that never executes a program: after a success, too, the child ends before its
/// exec.
fn in_child(attempt: fn() -> io::Result<()>) -> io::Result<()> {
    /// Stands for success, because no system call of an attempt returns it.
    const SUCCEEDED: i32 = libc::EXFULL;
    let mut command = Command::new("/proc/self/exe");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let attempt_and_end = move || attempt().and(Err(io::Error::from_raw_os_error(SUCCEEDED)));
    // SAFETY: the closure runs in the forked child and makes system calls only; it neither allocates nor locks.
    unsafe { command.pre_exec(attempt_and_end) };
    match command.spawn() {
        Err(error) if error.raw_os_error() == Some(SUCCEEDED) => Ok(()),
        Err(error) => Err(error),
        Ok(mut child) => {
            child.kill()?;
            child.wait()?;
            Err(io::Error::other("the child went on to its exec"))
        }
    }
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever this machine allows, a probe ends, and leaves no child behind.
    #[test]
    fn every_probe_ends_with_the_kernels_answer() {
        for answer in [ptrace_stop(), count_instructions().map(|_| ()), mount_namespace(), user_namespace()] {
            if let Err(error) = answer {
                assert!(error.raw_os_error().is_some(), "{error}");
            }
        }
    }
}
