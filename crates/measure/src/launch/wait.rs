//! Waits for a tracee until it is reaped: reads its output, and keeps to the time limit.

use super::attendant;
use super::child::Child;
use super::diagnosis::LaunchError;
use super::exit_status::named;
use super::interrupt;
use super::ready::{ChildEnd, polled_for_long};
use super::stdio::Stdout;
use super::usage::Usage;
use super::{ExitStatus, kill_guard, tree};
use crate::clock;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// When we look at the tracee's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// As it arrives: we see when the first byte arrives, but the tracee's write wakes us.
    Arrival,
    /// The first byte as it arrives, and then as [`Watch::Exit`]. For tracers that do not see the write, and programs that
    /// print little.
    FirstByte,
    /// Once the tracee has exited, or has run for 50 to 100 ms. Its write wakes nobody, and a time limit costs
    /// nothing. For tracers that see the write themselves, and for programs that print less than a pipe can hold:
    /// see [`Launcher::watch`](super::Launcher::watch).
    Exit,
}

/// A time limit below this needs a timer from the start.
const SHORT_LIMIT: Duration = Duration::from_millis(200);

/// How long a tracee has to end after it was asked to (SIGTERM), in nanoseconds.
const GRACE_NANOS: u64 = 1_000_000_000;

/// How often we check whether a long-lived tracee has stopped itself.
const STOP_CHECK: Duration = Duration::from_millis(100);

/// How long it may stay stopped: one of its own processes may continue it.
pub(crate) const STANDSTILL: Duration = Duration::from_secs(1);

/// How long we wait for a tracee that was killed to die. One that waits for a device or a network file system does not
/// hear the signal.
const DYING: Duration = Duration::from_secs(10);

/// The same when somebody waits for us to end.
const DYING_INTERRUPTED: Duration = Duration::from_secs(2);

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The raw wait status.
    pub status: i32,
    /// When it was reaped, by our clock.
    pub reaped: Nanos,
    /// The resources that it used.
    pub usage: Usage,
    /// Why we killed it, if we did.
    pub killed: Option<Killed>,
    /// Processes of its group were still alive when it was reaped. They were killed.
    pub left_behind: bool,
    /// When we began to wait for the first byte and then, woken by it, for the end; `None`: we did not.
    pub slept: [Option<Nanos>; 2],
    /// It is known that nothing is left of its tree.
    pub childless: bool,
}

/// Why we killed a tracee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Killed {
    /// Its time was up.
    TimedOut,
    /// It had stopped itself with this signal, and nobody would have continued it.
    Stopped(i32),
    /// The user interrupted us.
    Interrupted,
}

impl std::fmt::Display for Killed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Killed::TimedOut => f.write_str("it did not end in time and was killed"),
            Killed::Stopped(signal) => write!(f, "it stopped itself ({}) and was killed", named(*signal)),
            Killed::Interrupted => f.write_str("it was interrupted"),
        }
    }
}

impl Ended {
    /// The exit status.
    pub fn exit(&self) -> ExitStatus {
        ExitStatus::from_wait(self.status)
    }
}

/// Waits until the tracee has exited, and reaps it. Its process group is gone when this returns.
///
/// # Errors
///
/// [`LaunchError::Interrupted`] if the user interrupts us. [`LaunchError::Unkillable`] if the tracee has to be
/// killed and we may not do that; then it keeps running and is not reaped.
pub(crate) fn until_reaped(
    child: &Child,
    stdout: &mut Stdout,
    watch: Watch,
    timeout: Option<Duration>,
) -> Result<Ended, LaunchError> {
    let ended = until_cleared(child, stdout, watch, timeout);
    kill_guard::guard(0);
    ended
}

fn until_cleared(
    child: &Child,
    stdout: &mut Stdout,
    watch: Watch,
    timeout: Option<Duration>,
) -> Result<Ended, LaunchError> {
    let mut ended = match blocking_wait(child, stdout, watch, timeout) {
        BlockingWait::Reaped(ended) => ended,
        BlockingWait::Interrupted => {
            stdout.note_whether_full();
            with_limits(child, stdout, timeout)?
        }
        BlockingWait::NotTried => with_limits(child, stdout, timeout)?,
        BlockingWait::Stopped(signal) => killed_at_stop(child, signal)?,
    };

    // Not earlier: our copy keeps the open file alive, and the kernel side knows the file by its address. If it
    // were freed, the next file that the tracee opens could be taken for it.
    stdout.release();

    // An orphan of its tree would be our child, so this tells of its group, too.
    ended.childless = tree::is_childless();
    if ended.childless && ended.killed.is_none() {
        stdout.complete();
    } else {
        stdout.drain();
    }
    if !ended.childless {
        ended.left_behind = tree::clear_group(child.pid);
    }
    if interrupt::interrupted().is_some() {
        return Err(LaunchError::Interrupted);
    }
    Ok(ended)
}

/// The result of one wait without a time limit, which is the cheapest kind.
enum BlockingWait {
    /// The tracee has exited and been reaped.
    Reaped(Ended),
    /// The tracee runs so long that the attendant interrupted the wait.
    Interrupted,
    /// Somebody waits for the output, the time limit is short, or there is no attendant to interrupt the wait.
    NotTried,
    /// The tracee has made us its tracer (`PTRACE_TRACEME` in `ptrace(2)`) and stopped with this signal.
    Stopped(i32),
}

/// Prepares a wait for a tracee that is about to be launched.
pub(crate) fn prepare(watch: Watch) {
    if watch != Watch::Arrival {
        attendant::be_present();
    }
}

fn blocking_wait(
    child: &Child,
    stdout: &mut Stdout,
    watch: Watch,
    timeout: Option<Duration>,
) -> BlockingWait {
    let has_short_limit = timeout.is_some_and(|limit| limit <= SHORT_LIMIT);
    if watch == Watch::Arrival || stdout.is_awaited() || has_short_limit {
        return BlockingWait::NotTried;
    }
    let first = (watch == Watch::FirstByte).then(clock::now);
    if watch == Watch::FirstByte && !read_first_byte(stdout) {
        return BlockingWait::Interrupted;
    }
    let slept = [first, (stdout.bytes() > 0).then(clock::now)];
    match attendant::attended(|| reap(child, 0)) {
        Some(Some(ended)) if libc::WIFSTOPPED(ended.status) => {
            BlockingWait::Stopped(libc::WSTOPSIG(ended.status))
        }
        Some(Some(ended)) => BlockingWait::Reaped(Ended { slept, ..ended }),
        Some(None) => BlockingWait::Interrupted,
        None => BlockingWait::NotTried,
    }
}

/// Waits for the first byte, and reads it, or for the end of the tracee. Returns false if neither came for long.
fn read_first_byte(stdout: &mut Stdout) -> bool {
    let Some(end) = stdout.end.as_ref().map(AsRawFd::as_raw_fd) else { return false };
    loop {
        let [output, errors, _] = stdout.pollable();
        match attendant::attended(|| polled_for_long([end, output, errors])).flatten() {
            Some([false, false, true]) => stdout.drain(),
            Some([ended, has_output, _]) if ended || has_output => {
                if ended {
                    stdout.note_end();
                }
                if has_output {
                    stdout.drain_stdout();
                }
                return true;
            }
            _ => return false,
        }
    }
}

/// Waits with the time limit, and reads output as it arrives. If that fails, kills and reaps the tracee.
fn with_limits(child: &Child, stdout: &mut Stdout, timeout: Option<Duration>) -> Result<Ended, LaunchError> {
    reaped_within(child, stdout, timeout).inspect_err(|_| tree::discard(child.pid))
}

fn reaped_within(
    child: &Child,
    stdout: &mut Stdout,
    timeout: Option<Duration>,
) -> Result<Ended, LaunchError> {
    let killed = until_exited(child, stdout, timeout)?;
    Ok(Ended { killed, ..reaped(child)? })
}

/// Kills and reaps a tracee that waits for us, its tracer: nobody else can continue it.
fn killed_at_stop(child: &Child, signal: i32) -> Result<Ended, LaunchError> {
    tree::kill_with_group(child.pid).map_err(|cause| LaunchError::unkillable(child.pid, cause))?;
    Ok(Ended { killed: Some(Killed::Stopped(signal)), ..reaped(child)? })
}

/// Reaps a child that has ended or was killed.
fn reaped(child: &Child) -> Result<Ended, LaunchError> {
    loop {
        if let Some(ended) = reap(child, 0) {
            return Ok(ended);
        }
        if io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return Err(LaunchError::resource("the exit status of the program"));
        }
    }
}

fn until_exited(
    child: &Child,
    stdout: &mut Stdout,
    timeout: Option<Duration>,
) -> Result<Option<Killed>, LaunchError> {
    let end = ChildEnd::of(child.pid);
    let (mut ending, mut standstill) = (Ending::default(), StoppedSince::default());
    loop {
        let elapsed = Duration::from_nanos(clock::now().0.saturating_sub(child.spawned.0));
        let left = timeout.map(|t| t.saturating_sub(elapsed));
        stdout.look();

        let done = if stdout.is_reached() {
            ending.ask(child)
        } else if ending.killed.is_none() {
            let stopped = if elapsed < STOP_CHECK { None } else { standstill.look(child) };
            ending.killed = reason_to_kill(left, stopped);
            ending.killed.map_or(Ok(()), |_| ending.kill(child))
        } else {
            ending.check_death()
        };

        // A tracee that is dead already and belongs to another user may not be killed either.
        if let Err(cause) = done
            && !wait_for_both(&end, stdout, Duration::ZERO)
        {
            return Err(LaunchError::unkillable(child.pid, cause));
        }

        let pause = if ending.has_begun() { STOP_CHECK } else { left.unwrap_or(STOP_CHECK).min(STOP_CHECK) };
        let pause = if ending.has_begun() { pause } else { stdout.pause(pause, elapsed) };
        if wait_for_both(&end, stdout, pause) {
            return Ok(ending.killed);
        }
    }
}

/// The steps that were taken to end a tracee.
#[derive(Debug, Default)]
pub struct Ending {
    /// Why it was killed, if it was.
    pub killed: Option<Killed>,
    /// When it was asked to end.
    asked: Option<Nanos>,
    /// When it was sent SIGKILL.
    sent: Option<Nanos>,
}

impl Ending {
    /// Whether any step was taken.
    pub(crate) fn has_begun(&self) -> bool {
        self.killed.is_some() || self.asked.is_some()
    }

    /// Asks a tracee that is no longer needed to end, and kills it if it does not.
    ///
    /// # Errors
    ///
    /// The kernel's answer if we may not kill the tracee. It may be dead all the same.
    pub fn ask(&mut self, child: &Child) -> io::Result<()> {
        match self.asked {
            None => {
                tree::terminate_group(child.pid);
                self.asked = Some(clock::now());
            }
            Some(since) if clock::now().0.saturating_sub(since.0) > GRACE_NANOS => {
                return self.kill(child);
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn kill(&mut self, child: &Child) -> io::Result<()> {
        self.check_death()?;
        self.sent.get_or_insert_with(clock::now);
        tree::kill_with_group(child.pid)
    }

    /// An error if it was killed long ago.
    fn check_death(&self) -> io::Result<()> {
        let waited = self.sent.map(|sent| Duration::from_nanos(clock::now().0.saturating_sub(sent.0)));
        let patience = if interrupt::interrupted().is_some() { DYING_INTERRUPTED } else { DYING };
        match waited {
            Some(waited) if waited > patience => {
                Err(io::Error::other("it was sent SIGKILL, and has not died"))
            }
            _ => Ok(()),
        }
    }
}

/// Since when a tracee has been stopped without a break.
#[derive(Debug, Default)]
struct StoppedSince(Option<Still>);

#[derive(Debug)]
struct Still {
    since: Nanos,
    /// How often it had given up the processor then: a tracee that was continued has run.
    switches: u64,
}

impl StoppedSince {
    /// The signal that stopped the child, if it has been stopped for too long.
    fn look(&mut self, child: &Child) -> Option<i32> {
        let Some(signal) = stopped_by(child) else {
            self.0 = None;
            return None;
        };
        let (now, switches) = (clock::now(), context_switches(child));
        let still = self.0.take().filter(|still| still.switches == switches);
        let still = self.0.insert(still.unwrap_or(Still { since: now, switches }));
        (Duration::from_nanos(now.0.saturating_sub(still.since.0)) >= STANDSTILL).then_some(signal)
    }
}

/// How often the first thread of the child has given up or lost the processor: `proc_pid_status(5)`.
fn context_switches(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.pid)).unwrap_or_default();
    let counts = status.lines().filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
    counts.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum()
}

/// `left`: of the time limit. `stopped`: the signal that stopped the tracee for too long.
pub(crate) fn reason_to_kill(left: Option<Duration>, stopped: Option<i32>) -> Option<Killed> {
    if interrupt::interrupted().is_some() {
        return Some(Killed::Interrupted);
    }
    if left.is_some_and(|left| left.is_zero()) {
        return Some(Killed::TimedOut);
    }
    stopped.map(Killed::Stopped)
}

/// Whether the child has exited, after waiting at most `pause`. Reads output as it arrives.
fn wait_for_both(end: &ChildEnd, stdout: &mut Stdout, pause: Duration) -> bool {
    let (ended, has_output) = end.wait(stdout.pollable(), pause);
    if ended {
        stdout.note_end();
    }
    if has_output {
        stdout.drain();
    }
    ended
}

/// The signal that stopped the child, if it is stopped.
fn stopped_by(child: &Child) -> Option<i32> {
    // SAFETY: plain data; WNOHANG, and WNOWAIT so that nothing is consumed.
    unsafe {
        let mut state: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT;
        let answer = libc::waitid(libc::P_PID, child.pid.cast_unsigned(), &raw mut state, options);
        (answer == 0 && state.si_pid() == child.pid).then(|| state.si_status())
    }
}

/// Reaps the child; `None` if the wait was interrupted or failed (see `errno`).
fn reap(child: &Child, options: i32) -> Option<Ended> {
    let mut status = 0;
    // SAFETY: plain data, filled by the kernel.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both out-pointers are valid.
    let reaped = unsafe { libc::wait4(child.pid, &raw mut status, options, &raw mut usage) };
    let at = clock::now();
    (reaped == child.pid).then(|| Ended {
        status,
        reaped: at,
        usage: Usage::from_kernel(&usage),
        killed: None,
        left_behind: false,
        slept: [None; 2],
        childless: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_tracee_that_was_killed_long_ago_is_given_up() {
        let sent = |sent| Ending { sent, ..Ending::default() }.check_death().is_ok();
        let later = Nanos(clock::now().0 + 3_600_000_000_000);
        assert_eq!([None, Some(later), Some(Nanos(0))].map(sent), [true, true, false]);
    }
}
