//! One design, once, into one sink.

use super::design::{Design, WC_ALONE};
use super::lines::Lines;
use super::sink::{End, Places, Received, Sink, open};
use crate::launch::{ExitStatus, clock, interrupt};
use crate::units::Nanos;
use sha2::{Digest, Sha256};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How often it is asked whether the user interrupted us.
const TICK: Duration = Duration::from_millis(50);

/// Why a run does not count.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user interrupted us.
    #[error("interrupted")]
    Interrupted,
    /// Its time was up.
    #[error("killed after {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// It failed.
    #[error("it {}", .0.ending())]
    Failed(ExitStatus),
    /// Another number of bytes came out.
    #[error("{got} of {wanted} bytes came out")]
    Count {
        /// So many came out.
        got: u64,
        /// So many should have.
        wanted: u64,
    },
    /// As many bytes, but other ones.
    #[error("the right number of bytes came out, but other ones")]
    Bytes,
    /// The sink or the process could not be had.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// Runs it, and looks at every byte; not to be timed.
pub fn verify(
    design: &Design,
    sink: Sink,
    count: u64,
    places: &Places,
    limit: Duration,
) -> Result<(), RunError> {
    let (_, received) = run(design, sink.to_verify(), count, places, limit, true)?;
    if received.hash.is_some_and(|hash| hash != expected_hash(count)) {
        return Err(RunError::Bytes);
    }
    Ok(())
}

/// From just before the process is created until it is reaped and its reader has had the last byte. The bytes are
/// counted, where anybody can.
pub fn time(
    design: &Design,
    sink: Sink,
    count: u64,
    places: &Places,
    limit: Duration,
) -> Result<Nanos, RunError> {
    if design.name == WC_ALONE {
        return time_wc_alone(count, places);
    }
    run(design, sink, count, places, limit, false).map(|(elapsed, _)| elapsed)
}

fn run(
    design: &Design,
    sink: Sink,
    count: u64,
    places: &Places,
    limit: Duration,
    look: bool,
) -> Result<(Nanos, Received), RunError> {
    let wanted = count * (Design::TEXT.len() as u64 + 1);
    let (stdout, mut end) = open(sink, places, wanted)?;
    let mut command = command(design, count);
    command.stdout(stdout);
    let started = clock::now();
    let mut child = command.spawn()?;
    drop(command); // with it our copy of the stdout, whose end would not come otherwise
    let watch = Watch::over(&child, limit);
    let mut received = end.drain(look)?;
    let status = child.wait()?;
    received = merged(received, end.wait()?);
    let elapsed = clock::now().since(started).unwrap_or_default();
    watch.verdict(status)?;
    received = merged(received, end.inspect(look)?);
    checked(&received, count, wanted)?;
    Ok((elapsed, received))
}

fn command(design: &Design, count: u64) -> Command {
    let mut command = Command::new(&design.argv[0]);
    command.args(&design.argv[1..]).arg(count.to_string()).current_dir(&design.directory);
    command.stdin(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command
}

fn merged(a: Received, b: Received) -> Received {
    Received { bytes: a.bytes.or(b.bytes), lines: a.lines.or(b.lines), hash: a.hash.or(b.hash) }
}

fn checked(received: &Received, count: u64, wanted: u64) -> Result<(), RunError> {
    match (received.bytes, received.lines) {
        (Some(got), _) if got != wanted => Err(RunError::Count { got, wanted }),
        (_, Some(lines)) if lines != count => Err(RunError::Count { got: lines * 12, wanted }),
        _ => Ok(()),
    }
}

fn expected_hash(count: u64) -> String {
    let block = format!("{}\n", Design::TEXT).repeat(4096);
    let mut left = usize::try_from(count * (Design::TEXT.len() as u64 + 1)).unwrap_or(usize::MAX);
    let mut hash = Sha256::new();
    while left > 0 {
        let piece = left.min(block.len());
        hash.update(&block.as_bytes()[..piece]);
        left -= piece;
    }
    format!("{:x}", hash.finalize())
}

fn time_wc_alone(count: u64, places: &Places) -> Result<Nanos, RunError> {
    let mut file = tempfile::tempfile_in(&places.memory)?;
    let lines = Lines::new(Design::TEXT.as_bytes(), count);
    lines.write_to(file.as_fd()).map_err(|error| io::Error::from(error.cause))?;
    file.seek(SeekFrom::Start(0))?;
    let mut command = Command::new("wc");
    command.arg("-l").stdin(file).stdout(Stdio::null());
    let started = clock::now();
    let status = command.status()?;
    let elapsed = clock::now().since(started).unwrap_or_default();
    if status.success() {
        Ok(elapsed)
    } else {
        Err(RunError::Failed(ExitStatus::from_wait(status.into_raw())))
    }
}

/// Kills the program's process group when its time is up or the user interrupts us, from a thread of its own: the
/// reader may sleep in a system call.
struct Watch {
    over: Sender<()>,
    thread: std::thread::JoinHandle<Option<RunError>>,
}

impl Watch {
    fn over(child: &Child, limit: Duration) -> Watch {
        let (over, ended) = channel();
        let group = rustix::process::Pid::from_child(child);
        let thread = std::thread::spawn(move || watch(group, &ended, limit));
        Watch { over, thread }
    }

    fn verdict(self, status: std::process::ExitStatus) -> Result<(), RunError> {
        drop(self.over);
        if let Ok(Some(error)) = self.thread.join() {
            return Err(error);
        }
        let exit = ExitStatus::from_wait(status.into_raw());
        if exit.success() { Ok(()) } else { Err(RunError::Failed(exit)) }
    }
}

fn watch(group: rustix::process::Pid, ended: &Receiver<()>, limit: Duration) -> Option<RunError> {
    let started = Instant::now();
    loop {
        if ended.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout) {
            return None;
        }
        let reason = if interrupt::interrupted().is_some() {
            RunError::Interrupted
        } else if started.elapsed() > limit {
            RunError::TimedOut(limit)
        } else {
            continue;
        };
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        return Some(reason);
    }
}

impl Drop for End {
    /// A consumer must not be left behind when a run fails.
    fn drop(&mut self) {
        if let End::Consumer(child) = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
