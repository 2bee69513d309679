//! The requests of `ptrace(2)`, typed: a seized thread, and what can be asked of it while it is stopped.
//!
//! A tracee may be killed at any instant, so every request can fail with ESRCH. The next wait then reports what
//! happened.

use crate::arch::{Syscall, audit};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// A thread that we trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TracedThread(pub(crate) i32);

/// How far a tracee runs before it stops again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunUntil {
    /// To the next event or signal.
    Event,
    /// To the next entry of or return from a system call, event or signal.
    Syscall,
}

/// The side of a system call at which a tracee is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallStop {
    /// It is about to execute the call.
    Entry(EnteredCall),
    /// The call returned this: a result, or a negative errno.
    Exit(i64),
}

/// A system call that is about to be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EnteredCall {
    /// The call.
    pub(super) call: Syscall,
    /// Its arguments. 32-bit arguments are not sign-extended.
    pub(super) arguments: [u64; 6],
}

/// `TRAP_PERF` of `asm-generic/siginfo.h`.
const TRAP_PERF: i32 = 6;

/// How many signals of a thread are looked at together.
const PEEKED: i32 = 8;

/// Every new process and thread is traced from its first instruction, and is killed if we die.
const OPTIONS: i32 = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXIT
    | libc::PTRACE_O_TRACESECCOMP
    | libc::PTRACE_O_EXITKILL;

impl TracedThread {
    /// Begins to trace a process of ours, which keeps running.
    pub(crate) fn seize(pid: i32) -> io::Result<TracedThread> {
        // SAFETY: PTRACE_SEIZE takes no pointer; its last argument is a bit set.
        let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0_usize, libc::c_long::from(OPTIONS)) };
        if seized == 0 { Ok(TracedThread(pid)) } else { Err(io::Error::last_os_error()) }
    }

    /// Stops it before its next instruction.
    pub(super) fn interrupt(self) {
        // SAFETY: takes no pointer.
        unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, self.0, 0_usize, 0_usize) };
    }

    /// Lets it continue with `signal` (0: none).
    pub(crate) fn resume(self, until: RunUntil, signal: i32) {
        let request = match until {
            RunUntil::Event => libc::PTRACE_CONT,
            RunUntil::Syscall => libc::PTRACE_SYSCALL,
        };
        // SAFETY: the last argument is a signal number.
        unsafe { libc::ptrace(request, self.0, 0_usize, libc::c_long::from(signal)) };
    }

    /// Leaves it in its group stop. The end of that stop is reported.
    pub(super) fn listen(self) {
        // SAFETY: takes no pointer.
        unsafe { libc::ptrace(libc::PTRACE_LISTEN, self.0, 0_usize, 0_usize) };
    }

    /// The message of the event for which it stopped.
    pub(super) fn message(self) -> Option<u64> {
        let mut message: libc::c_ulong = 0;
        // SAFETY: the kernel writes one unsigned long.
        let asked = unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, self.0, 0_usize, &raw mut message) };
        (asked == 0).then_some(message)
    }

    /// The system call at which it is stopped (`PTRACE_GET_SYSCALL_INFO`, Linux 5.3). This reads only registers.
    pub(super) fn side(self) -> Option<CallStop> {
        let mut room = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
        let size = size_of::<libc::ptrace_syscall_info>();
        // SAFETY: the kernel writes at most `size` bytes.
        let got = unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, self.0, size, room.as_mut_ptr()) };
        if got <= 0 {
            return None;
        }

        // SAFETY: plain integers, for which zeroes are valid where the kernel wrote nothing.
        let info = unsafe { room.assume_init() };

        let entry = |number, arguments| {
            CallStop::Entry(EnteredCall { call: audit::syscall(info.arch, number), arguments })
        };

        // SAFETY: `op` says which member the kernel wrote.
        unsafe {
            match info.op {
                libc::PTRACE_SYSCALL_INFO_ENTRY => Some(entry(info.u.entry.nr, info.u.entry.args)),
                libc::PTRACE_SYSCALL_INFO_SECCOMP => Some(entry(info.u.seccomp.nr, info.u.seccomp.args)),
                libc::PTRACE_SYSCALL_INFO_EXIT => Some(CallStop::Exit(info.u.exit.sval)),
                _ => None,
            }
        }
    }

    /// The user's instruction and stack pointers at a system-call stop.
    pub(super) fn place(self) -> Option<(u64, u64)> {
        let mut room = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
        let size = size_of::<libc::ptrace_syscall_info>();
        // SAFETY: the kernel writes at most `size` bytes.
        let got = unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, self.0, size, room.as_mut_ptr()) };
        // SAFETY: plain integers, for which zeroes are valid where the kernel wrote nothing.
        let info = unsafe { room.assume_init() };
        (got > 0).then_some((info.instruction_pointer, info.stack_pointer))
    }

    /// Whether a signal is on its way to this thread, and to no other one of its process.
    pub(super) fn awaits(self, signal: i32) -> bool {
        let mut room = [const { MaybeUninit::<libc::siginfo_t>::zeroed() }; PEEKED.unsigned_abs() as usize];
        let mut seen = 0;
        loop {
            let next = libc::ptrace_peeksiginfo_args { off: seen, flags: 0, nr: PEEKED };
            // SAFETY: the kernel reads `next`, and writes at most `PEEKED` times a `siginfo_t`.
            let got =
                unsafe { libc::ptrace(libc::PTRACE_PEEKSIGINFO, self.0, &raw const next, room.as_mut_ptr()) };
            let got = usize::try_from(got).unwrap_or(0);
            // SAFETY: plain integers, for which zeroes are valid where the kernel wrote nothing.
            if room.iter().take(got).any(|info| unsafe { info.assume_init() }.si_signo == signal) {
                return true;
            }
            if got < room.len() {
                return false;
            }
            seen += got as u64;
        }
    }

    /// Whether it stopped because an event of `perf_event_open(2)` sent it the SIGTRAP (`attr.sigtrap`) that it is about to get.
    pub(crate) fn is_perf_trap(self) -> bool {
        let mut room = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: the kernel writes one `siginfo_t`.
        let got = unsafe {
            libc::ptrace(libc::PTRACE_GETSIGINFO, self.0, ptr::null_mut::<u8>(), room.as_mut_ptr())
        };
        // SAFETY: plain integers, for which zeroes are valid where the kernel wrote nothing.
        got == 0 && unsafe { room.assume_init() }.si_code == TRAP_PERF
    }

    /// Copies its memory from `address` to `room`, as far as it can be read. Returns the number of bytes.
    pub(crate) fn read_memory(self, address: u64, room: &mut [u8]) -> usize {
        let Ok(address) = usize::try_from(address) else { return 0 };
        let local = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
        let remote = libc::iovec { iov_base: ptr::without_provenance_mut(address), iov_len: room.len() };
        // SAFETY: the kernel writes only to `room`, and checks the addresses of the other process itself.
        let read = unsafe { libc::process_vm_readv(self.0, &raw const local, 1, &raw const remote, 1, 0) };
        usize::try_from(read).unwrap_or(0)
    }

    /// Kills its process, which has not been reaped, so the id is still its own.
    pub(crate) fn kill(self) {
        // SAFETY: a signal to a process that we trace.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
    }
}
