//! Runs one design once, into one sink.

use super::design::{Design, WC_ALONE};
use super::lines::Lines;
use super::sink::{End, Received, Sink, SinkFolders, open};
use firstbyte_measure::clock;
use firstbyte_measure::launch::{Environment, ExitStatus, interrupt};
use firstbyte_measure::units::Nanos;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How often to check for an interruption.
const TICK: Duration = Duration::from_millis(50);

/// Why a run does not count.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("interrupted")]
    Interrupted,
    #[error("killed after {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("it {}", .0.ending())]
    Failed(ExitStatus),
    #[error("{got} of {wanted} bytes arrived")]
    Count { got: u64, wanted: u64 },
    #[error("{got} of {wanted} lines arrived")]
    Lines { got: u64, wanted: u64 },
    #[error("the right number of bytes arrived, but not the right bytes")]
    Bytes,
    /// The sink or the process could not be created.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// What a design prints for a number of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Printed {
    pub bytes: u64,
    /// The number of newlines.
    pub lines: u64,
    /// These are exactly the lines that were asked for.
    pub right: bool,
}

impl Printed {
    /// The lines that are asked for.
    pub fn wanted(count: u64) -> Printed {
        Printed { bytes: count * (Design::TEXT.len() as u64 + 1), lines: count, right: true }
    }

    /// How it differs from the lines that are asked for.
    fn difference(self, count: u64) -> RunError {
        let wanted = Printed::wanted(count).bytes;
        if self.bytes == wanted { RunError::Bytes } else { RunError::Count { got: self.bytes, wanted } }
    }

    /// How it differs, in words; `None` if it does not.
    pub fn remark(self, count: u64) -> Option<String> {
        (!self.right).then(|| self.difference(count).to_string())
    }
}

/// Runs the design untimed and compares every byte of its output. Other bytes are an error, unless it may print others. Sinks
/// that cannot be read are replaced by a pipe.
pub fn verify(
    design: &Design,
    sink: Sink,
    count: u64,
    folders: &SinkFolders,
    limit: Duration,
) -> Result<Printed, RunError> {
    let (_, received) = run(design, sink.to_verify(), count, folders, limit, None)?;
    let wanted = Printed::wanted(count);
    let (bytes, lines) = (received.bytes.unwrap_or_default(), received.lines.unwrap_or_default());
    let right = bytes == wanted.bytes && received.other == Some(false);
    let printed = Printed { bytes, lines, right };
    if right || design.may_differ { Ok(printed) } else { Err(printed.difference(count)) }
}

/// The time from just before the process is created until it is reaped and its reader has read the last byte. The bytes
/// are counted, except into `/dev/null`; `wc -l` counts lines. They must be as many as were `printed` when it was verified.
pub fn time(
    design: &Design,
    sink: Sink,
    count: u64,
    printed: Printed,
    folders: &SinkFolders,
    limit: Duration,
) -> Result<Nanos, RunError> {
    interrupt::without_stops(|| match design.name.as_str() {
        WC_ALONE => time_wc_alone(count, folders),
        _ => run(design, sink, count, folders, limit, Some(printed)).map(|(elapsed, _)| elapsed),
    })
}

/// One run. Without expected bytes, every byte is looked at.
fn run(
    design: &Design,
    sink: Sink,
    count: u64,
    folders: &SinkFolders,
    limit: Duration,
    expected: Option<Printed>,
) -> Result<(Nanos, Received), RunError> {
    let look = expected.is_none();
    let (stdout, mut end) = open(sink, folders, expected.unwrap_or(Printed::wanted(count)).bytes)?;
    let mut command = command(design, count);
    command.stdout(stdout);

    let started = clock::now();
    let mut child = command.spawn()?;
    drop(command); // and with it our copy of stdout: otherwise the reader would never see the end
    let watch = Watchdog::over(&mut child, limit)?;
    let mut received = end.drain(look)?;
    let status = child.wait()?;
    received = merged(received, end.wait()?);
    let elapsed = clock::now().since(started).unwrap_or_default();

    watch.verdict(status)?;
    received = merged(received, end.inspect(look)?);
    if let Some(expected) = expected {
        checked(&received, expected)?;
    }
    Ok((elapsed, received))
}

fn command(design: &Design, count: u64) -> Command {
    let words = design.command(count);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir(&design.directory);
    command.stdin(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.env_clear().envs(Environment::of_programs().variables());
    // It would make Python write each line separately.
    command.env_remove("PYTHONUNBUFFERED");
    command
}

fn merged(a: Received, b: Received) -> Received {
    Received {
        bytes: a.bytes.or(b.bytes),
        lines: a.lines.or(b.lines),
        typed: a.typed.or(b.typed),
        other: a.other.or(b.other),
    }
}

fn checked(received: &Received, expected: Printed) -> Result<(), RunError> {
    let wanted = expected.bytes;
    let returned = wanted + expected.lines; // a terminal adds a carriage return to each line
    match received {
        Received { bytes: Some(got), .. } if *got != wanted => Err(RunError::Count { got: *got, wanted }),
        Received { typed: Some(got), .. } if *got != returned => {
            Err(RunError::Count { got: *got, wanted: returned })
        }
        Received { lines: Some(got), .. } if *got != expected.lines => {
            Err(RunError::Lines { got: *got, wanted: expected.lines })
        }
        _ => Ok(()),
    }
}

fn time_wc_alone(count: u64, folders: &SinkFolders) -> Result<Nanos, RunError> {
    let mut file = tempfile::tempfile_in(&folders.memory)?;
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

/// Kills the program's process group when its time is up or the user interrupts. It is a separate thread, because the
/// reader may sleep in a system call.
struct Watchdog {
    over: Sender<()>,
    thread: std::thread::JoinHandle<Option<RunError>>,
}

impl Watchdog {
    /// Kills the program if there can be no such thread.
    fn over(child: &mut Child, limit: Duration) -> io::Result<Watchdog> {
        let (over, ended) = channel();
        let group = rustix::process::Pid::from_child(child);
        match std::thread::Builder::new().spawn(move || watch(group, &ended, limit)) {
            Ok(thread) => Ok(Watchdog { over, thread }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error)
            }
        }
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
    /// A failed run must not leave its consumer behind.
    fn drop(&mut self) {
        if let End::Consumer(child) | End::Cat(child, _) | End::Behind(child, ..) = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_that_unbuffers_python_is_not_inherited() {
        let command = command(&Design::ours("firstbyte".as_ref()), 1);
        // the environment is cleared first, so what is not set is not there
        assert!(!command.get_envs().any(|(name, value)| name == "PYTHONUNBUFFERED" && value.is_some()));
    }

    #[test]
    fn a_reader_must_receive_all_of_the_output() {
        let of =
            |bytes, lines, typed| checked(&Received { bytes, lines, typed, other: None }, Printed::wanted(3));
        for whole in [of(Some(36), None, None), of(None, Some(3), None), of(None, None, Some(39))] {
            assert!(whole.is_ok(), "{whole:?}");
        }
        for lost in [of(Some(24), None, None), of(None, None, Some(36))] {
            assert!(matches!(lost, Err(RunError::Count { .. })), "{lost:?}");
        }
        assert!(matches!(of(None, Some(2), None), Err(RunError::Lines { got: 2, wanted: 3 })));
    }
}
