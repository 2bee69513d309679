//! The stop of a child that has made us its tracer: when its exec has returned ([`Preparation::Stop`](super::Preparation)).

use super::attendant;
use super::child::Child;
use super::interrupt;
use crate::clock;
use crate::units::Nanos;
use std::time::Duration;

/// The one stop of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExecStop {
    /// When we learned that the exec had returned.
    pub(crate) returned: Nanos,
    /// When the child could go on. From then on nobody traces it.
    pub(crate) resumed: Nanos,
}

/// What the kernel says about a child that we wait for.
enum Found {
    Stopped(i32),
    Dead,
    /// A signal ended the wait.
    Nothing,
}

/// Prepares the wait for a tracee that is about to be launched: it may take our memory away.
pub(crate) fn prepare() {
    attendant::be_present();
}

/// Waits for the stop, and lets the child go. `None`: it died earlier, or its time was up, which the wait for its end handles.
pub(crate) fn pass_exec_stop(child: &Child, timeout: Option<Duration>) -> Option<ExecStop> {
    loop {
        // it stops soon, so that the wait may be one that nothing ends
        match attendant::attended(|| look(child.pid)).unwrap_or_else(|| look(child.pid)) {
            Found::Stopped(libc::SIGTRAP) => {
                let returned = clock::now();
                go_on(child.pid, false, 0);
                return Some(ExecStop { returned, resumed: clock::now() });
            }
            // it was sent this one during its exec
            Found::Stopped(signal) => go_on(child.pid, true, signal),
            Found::Dead => return None,
            Found::Nothing if interrupt::interrupted().is_some() => return None,
            Found::Nothing if timeout.is_some_and(|limit| has_lived(child) >= limit) => return None,
            Found::Nothing => {}
        }
    }
}

/// Does not reap the child (`WNOWAIT`): the wait for its end does.
fn look(child: i32) -> Found {
    // SAFETY: plain data, filled by the kernel.
    unsafe {
        let mut state: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT;
        match libc::waitid(libc::P_PID, child.cast_unsigned(), &raw mut state, options) {
            0 if matches!(state.si_code, libc::CLD_STOPPED | libc::CLD_TRAPPED) => {
                Found::Stopped(state.si_status())
            }
            0 => Found::Dead,
            _ => Found::Nothing,
        }
    }
}

/// A child that was killed meanwhile is no tracee, and nothing happens.
fn go_on(child: i32, is_traced: bool, signal: i32) {
    let request = if is_traced { libc::PTRACE_CONT } else { libc::PTRACE_DETACH };
    // SAFETY: the last argument is a signal number.
    unsafe { libc::ptrace(request, child, 0_usize, libc::c_long::from(signal)) };
}

fn has_lived(child: &Child) -> Duration {
    Duration::from_nanos(clock::now().0.saturating_sub(child.spawned.0))
}
