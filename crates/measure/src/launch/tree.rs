//! Leaves nothing of a tracee behind: kills and reaps its process group and its orphans.

use super::diagnosis::LaunchError;
use super::interrupt;
use super::limits;
use super::ready::{ChildEnd, pidfd, polled};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

static ADOPTING: AtomicBool = AtomicBool::new(false);

/// Children that are not a tracee's orphans: see [`keeper`](super::keeper).
static SPARED: Mutex<Vec<i32>> = Mutex::new(Vec::new());

/// Makes sure that we can wait for our children. A process that ignores SIGCHLD passes that on to its children, and
/// then the kernel forgets how their own children ended (`wait(2)`, `sigaction(2)`).
pub fn hear_of_exits() {
    // SAFETY: plain data; the default action of a signal that is ignored by default.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// From now on neither we nor our tracees write core files. That takes long, and crashing programs are measured,
/// too.
pub fn leave_no_cores() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: plain data; the hard limit stays as it was, since it may not be raised.
    unsafe {
        let mut before = none;
        libc::getrlimit(libc::RLIMIT_CORE, &raw mut before);
        let none = libc::rlimit { rlim_max: before.rlim_max, ..none };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
    }
}

/// From now on the tracees' orphans become our children, so that they can be found and killed. This changes the
/// whole process: it is meant for the `firstbyte` command, not for other users of this library.
pub fn adopt_orphans() {
    // SAFETY: a flag of our own process.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    // ORDERING: set once, before any launch, by the thread that launches.
    ADOPTING.store(true, Ordering::Relaxed);
}

/// How long we wait for a killed process to die. It may have much memory to give back.
const DYING: Duration = Duration::from_secs(2);

/// A process, held by a descriptor. The process id alone may belong to another process once this one has been
/// reaped.
#[derive(Debug)]
pub struct Held(OwnedFd);

/// Holds the process that has this id now; `None` if there is none. The caller must check afterwards that it is the
/// intended one: it is if that one has not exited yet.
pub fn hold(pid: i32) -> Option<Held> {
    pidfd(pid).ok().map(Held)
}

impl Held {
    /// Kills it, and waits at most two seconds until it is dead (not until it is reaped, which is its parent's
    /// part). Returns whether it was still alive.
    ///
    /// # Errors
    ///
    /// The kernel's answer if we may not kill it: a set-user-ID program may now run as another user.
    pub fn kill(&self) -> io::Result<bool> {
        if self.is_dead(Duration::ZERO) {
            return Ok(false);
        }
        let no_details = ptr::null::<libc::siginfo_t>();
        // SAFETY: a signal to the process that the descriptor stands for (`pidfd_send_signal(2)`, Linux 5.1).
        let sent = unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), libc::SIGKILL, no_details, 0)
        };
        let answer = io::Error::last_os_error();
        if sent != 0 && answer.raw_os_error() != Some(libc::ESRCH) && !self.is_dead(Duration::ZERO) {
            return Err(answer);
        }
        self.dies();
        Ok(true)
    }

    /// Asks it to end (SIGTERM). A stopped one is continued, so that it receives the signal.
    pub(super) fn terminate(&self) {
        self.send(libc::SIGTERM);
        self.send(libc::SIGCONT);
    }

    pub(super) fn send(&self, signal: i32) {
        let no_details = ptr::null::<libc::siginfo_t>();
        // SAFETY: as in `kill`.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), signal, no_details, 0) };
    }

    /// Waits until it is dead, its time is up, or somebody interrupts us.
    fn dies(&self) {
        let until = Instant::now() + DYING;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            // A signal ends the wait early, and not every signal interrupts us.
            if self.is_dead(left) || left.is_zero() || interrupt::interrupted().is_some() {
                return;
            }
        }
    }

    /// Returns early if a signal arrives.
    fn is_dead(&self, pause: Duration) -> bool {
        polled([self.0.as_raw_fd()], pause) == Some([true])
    }
}

/// Kills and reaps the orphans that have become our children, if we adopt them: see [`adopt_orphans`].
///
/// # Errors
///
/// One of them may not be killed, or does not die. It keeps running.
pub fn kill_adopted() -> Result<(), LaunchError> {
    // ORDERING: see `adopt_orphans`.
    if ADOPTING.load(Ordering::Relaxed) && has_children() { kill_orphans() } else { Ok(()) }
}

/// Whether nothing is left of the trees of our children. It is known only if we adopt their orphans.
pub(super) fn is_childless() -> bool {
    // ORDERING: see `adopt_orphans`.
    ADOPTING.load(Ordering::Relaxed) && !has_children()
}

/// From now on this child is left alone. Forgets and reaps those that have ended.
pub(super) fn spare(child: i32) {
    let mut spared = SPARED.lock().unwrap_or_else(PoisonError::into_inner);
    spared.retain(|earlier| !is_reaped(*earlier));
    spared.push(child);
}

/// Kills and reaps a child that was spared.
pub(super) fn discard_spared(child: i32) {
    SPARED.lock().unwrap_or_else(PoisonError::into_inner).retain(|spared| *spared != child);
    let _ = kill_and_reap(child);
}

/// Whether this process has any child, with a single system call. It may have some if the kernel does not say.
pub(super) fn has_children() -> bool {
    // SAFETY: plain data; WNOHANG, and WNOWAIT so that nothing is consumed.
    unsafe {
        let mut state: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_ALL, 0, &raw mut state, options) == 0
            || io::Error::last_os_error().raw_os_error() != Some(libc::ECHILD)
    }
}

/// Asks the living processes of a group to end. Stopped ones are continued, so that they receive the signal.
pub(crate) fn terminate_group(leader: i32) {
    // SAFETY: signals to a process group that we created.
    unsafe {
        libc::kill(-leader, libc::SIGTERM);
        libc::kill(-leader, libc::SIGCONT);
    }
}

/// Kills a tracee that has not been reaped, and its process group. The tracee may have moved to another group, even
/// ours.
///
/// # Errors
///
/// The kernel's answer if we may not kill the tracee. It may be dead all the same.
pub(crate) fn kill_with_group(tracee: i32) -> io::Result<()> {
    kill_group(tracee);
    // SAFETY: our own child, which has not been reaped: its id cannot be another's.
    let sent = unsafe { libc::kill(tracee, libc::SIGKILL) };
    if sent == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Kills and reaps a child that nobody will follow, and its process group, as far as we may.
pub fn discard(tracee: i32) {
    let _ = kill_with_group(tracee);
    let _ = kill_and_reap(tracee);
}

/// Kills the living processes of a group, without reaping any. Returns whether there were any.
pub fn kill_group(leader: i32) -> bool {
    // SAFETY: a signal to a process group that we created.
    unsafe { libc::kill(-leader, libc::SIGKILL) == 0 }
}

/// Kills the processes that are still alive in a group whose leader has been reaped. Returns whether there were
/// any. Processes that had exited and were not reaped by their parent do not count; processes that we may not kill
/// do.
pub(crate) fn clear_group(leader: i32) -> bool {
    if !group_exists(leader) {
        return false;
    }
    reap_group(leader);
    let found = kill_group(leader) || group_exists(leader);
    reap_group(leader);
    found
}

/// Whether a process group that we created still exists, even if we may not kill its members (EPERM).
fn group_exists(leader: i32) -> bool {
    // SAFETY: asks, without sending anything.
    let asked = unsafe { libc::kill(-leader, 0) };
    asked == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// Reaps the dead members of a group that have become our children. The others belong to other parents.
fn reap_group(leader: i32) {
    // SAFETY: no status is asked for; WNOHANG.
    while unsafe { libc::waitpid(-leader, ptr::null_mut(), libc::WNOHANG) } > 0 {}
}

/// Kills and reaps every child of this thread that is not spared, and their children in turn.
fn kill_orphans() -> Result<(), LaunchError> {
    let mut spared = SPARED.lock().unwrap_or_else(PoisonError::into_inner);
    spared.retain(|child| !is_reaped(*child));
    // Each round may make the orphans of the processes that it kills our children.
    for _ in 0..64 {
        let mut children = children();
        children.retain(|child| !spared.contains(child));
        if children.is_empty() {
            break;
        }
        // The first failure is reported after all others have been killed.
        children.into_iter().map(kill_and_reap).fold(Ok(()), Result::and)?;
    }
    Ok(())
}

/// Kills and reaps a child, and waits for its death as long as [`DYING`], or until we are interrupted.
///
/// # Errors
///
/// We may not kill it, or it does not die.
fn kill_and_reap(child: i32) -> Result<(), LaunchError> {
    if is_reaped(child) {
        return Ok(());
    }
    // SAFETY: our own child, which has not been reaped: its id cannot be another's.
    if unsafe { libc::kill(child, libc::SIGKILL) } != 0 {
        return Err(LaunchError::unkillable(child, io::Error::last_os_error()));
    }

    let (end, until) = (ChildEnd::of(child), Instant::now() + DYING);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        // A signal ends the wait early, and not every signal interrupts us.
        let has_ended = end.wait([-1; 3], left).0;
        if is_reaped(child) {
            return Ok(());
        }
        if has_ended {
            return Err(LaunchError::resource("the exit status of the program"));
        }
        if left.is_zero() || interrupt::interrupted().is_some() {
            let cause = io::Error::other("it was sent SIGKILL, and has not died");
            return Err(LaunchError::unkillable(child, cause));
        }
    }
}

/// Reaps a child if it is dead. A process that is not our child counts as reaped.
fn is_reaped(child: i32) -> bool {
    // SAFETY: our own child: nobody else reaps it, so its id cannot have been reused. No status is asked for.
    let answer = unsafe { libc::waitpid(child, ptr::null_mut(), libc::__WALL | libc::WNOHANG) };
    answer == child || (answer < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD))
}

/// Our children, by `/proc/thread-self/children` (proc(5)).
fn children() -> Vec<i32> {
    let list = || fs::read_to_string("/proc/thread-self/children");
    let listed = list().or_else(|error| match limits::restore() {
        Ok(true) => list(),
        _ => Err(error),
    });
    let listed = listed.unwrap_or_default();
    listed.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_held_process_is_killed_but_no_other_one_after_it_was_reaped() {
        let mut child = Command::new("sleep").arg("98761").spawn().unwrap();
        let held = hold(child.id().cast_signed()).unwrap();
        assert!(held.kill().unwrap(), "it was alive");
        assert!(!held.kill().unwrap(), "it is dead but not yet reaped");
        assert!(!child.wait().unwrap().success());
        assert!(!held.kill().unwrap(), "another process may have its id now");
        assert!(hold(i32::MAX).is_none());
    }
}
