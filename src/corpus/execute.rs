//! Runs one command to its end, with a time limit: for builds, versions and verification, never for measuring.

use firstbyte_measure::launch::ExitStatus;
use firstbyte_measure::launch::diagnosis::interpreter_of;
use firstbyte_measure::launch::exit_status::named;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid,
};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often a waiting loop looks whether it was interrupted.
const SLICE: Duration = Duration::from_millis(100);

/// Asked several times a second whether we were told to stop.
pub type Interrupted<'a> = &'a (dyn Fn() -> bool + Sync);

/// What a command may take.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// When its process group is killed.
    pub timeout: Duration,
    /// How many bytes of output are taken before it is killed.
    pub output: usize,
    /// Whether to end it early.
    pub interrupted: Interrupted<'a>,
}

/// Where its output goes.
#[derive(Debug)]
pub enum Destination {
    /// stdout is captured, stderr dropped.
    Stdout,
    /// Both are captured, as one.
    Both,
    /// Both go to this file.
    Log(File),
}

/// How a command ended, and what it printed.
#[derive(Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub exit: ExitStatus,
    /// What was captured.
    pub output: Vec<u8>,
}

/// Why a command did not come to its end. One lower-case line each.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// It could not be started.
    #[error("cannot start `{}`: {cause}", program.display())]
    NotStarted {
        /// What was to be started.
        program: PathBuf,
        /// The kernel's answer.
        cause: io::Error,
    },
    /// It stopped itself, by this signal, and nobody would have continued it.
    #[error("it stopped itself ({}) and was killed", named(*.0))]
    Stopped(i32),
    /// It was killed when its time was up.
    #[error("it did not end within {} s and was killed", .0.as_secs_f64())]
    TimedOut(Duration),
    /// It was killed for printing too much.
    #[error("it printed more than {0} bytes and was killed")]
    TooMuchOutput(usize),
    /// It was killed because we were interrupted.
    #[error("interrupted")]
    Interrupted,
    /// The kernel refused a call of ours.
    #[error("cannot wait for it: {0}")]
    Wait(io::Error),
}

/// Runs `argv` in `directory` with an empty stdin, in a process group of its own, of which nothing is left.
pub fn execute(
    argv: &[OsString],
    directory: &Path,
    destination: Destination,
    limits: Limits,
) -> Result<Finished, ExecuteError> {
    execute_with(argv, directory, None, destination, limits)
}

/// The same, with its temporary files (`TMPDIR`) in this folder: who is killed leaves them behind.
pub fn execute_with(
    argv: &[OsString],
    directory: &Path,
    temporary: Option<&Path>,
    destination: Destination,
    limits: Limits,
) -> Result<Finished, ExecuteError> {
    let not_started = |cause| ExecuteError::NotStarted {
        program: argv.first().map(PathBuf::from).unwrap_or_default(),
        cause,
    };
    let (program, arguments) = argv
        .split_first()
        .ok_or_else(|| not_started(io::Error::new(io::ErrorKind::InvalidInput, "the command is empty")))?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).stdin(Stdio::null()).process_group(0);
    command.envs(temporary.map(|folder| ("TMPDIR", folder)));
    let reader = connect(&mut command, destination).map_err(not_started)?;
    let mut child = spawn(&mut command).map_err(|cause| not_started(explained(cause, program, directory)))?;
    // It holds the writing ends of our pipe.
    drop(command);
    let observed = observe(&child, reader, limits);
    kill_group(&child);
    let status = child.wait().map_err(ExecuteError::Wait)?;
    Ok(Finished { exit: ExitStatus::from_wait(status.into_raw()), output: observed? })
}

/// "No such file" of a file that is there means the interpreter that it names.
fn explained(cause: io::Error, program: &OsStr, directory: &Path) -> io::Error {
    let interpreter = interpreter_of(&directory.join(program));
    match interpreter.filter(|_| cause.kind() == io::ErrorKind::NotFound) {
        Some(interpreter) => {
            io::Error::new(cause.kind(), format!("its interpreter `{interpreter}` does not exist"))
        }
        None => cause,
    }
}

/// A file that we have just written is busy as long as a child, forked meanwhile by another thread, has not
/// come to its own exec: it holds our descriptor until then.
fn spawn(command: &mut Command) -> io::Result<Child> {
    const TRIES: usize = 50;
    for _ in 0..TRIES {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => std::thread::sleep(SLICE / 10),
            result => return result,
        }
    }
    command.spawn()
}

fn connect(command: &mut Command, destination: Destination) -> io::Result<Option<PipeReader>> {
    if let Destination::Log(file) = destination {
        command.stdout(file.try_clone()?).stderr(file);
        return Ok(None);
    }
    let (reader, writer) = io::pipe()?;
    match destination {
        Destination::Both => command.stderr(writer.try_clone()?),
        _ => command.stderr(Stdio::null()),
    };
    command.stdout(writer);
    Ok(Some(reader))
}

/// Whoever still lives in the group. The child has not been waited for, so its number cannot be another's.
fn kill_group(child: &Child) {
    if let Some(pid) = pid_of(child) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Reads until the child has exited, not until every holder of the pipe has: a daemon must not keep us.
fn observe(child: &Child, reader: Option<PipeReader>, limits: Limits) -> Result<Vec<u8>, ExecuteError> {
    let pid = pid_of(child).ok_or_else(|| ExecuteError::Wait(io::ErrorKind::NotFound.into()))?;
    let exit = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| ExecuteError::Wait(error.into()))?;
    let deadline = Instant::now() + limits.timeout;
    let mut capture = Capture { reader, output: Vec::new(), limit: limits.output };
    loop {
        if (limits.interrupted)() {
            return Err(ExecuteError::Interrupted);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ExecuteError::TimedOut(limits.timeout));
        }
        if capture.wait(&exit, left.min(SLICE))? {
            capture.drain()?;
            return Ok(capture.output);
        }
        if let Some(signal) = stopped_by(pid) {
            return Err(ExecuteError::Stopped(signal));
        }
    }
}

/// The signal that stopped it, if it is stopped. Nothing is consumed.
fn stopped_by(pid: Pid) -> Option<i32> {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(pid), options).ok()??.stopping_signal()
}

struct Capture {
    /// `None` once the pipe has ended, or where there is none.
    reader: Option<PipeReader>,
    output: Vec<u8>,
    limit: usize,
}

impl Capture {
    /// Takes what is there; true: the child has exited.
    fn wait(&mut self, exit: &OwnedFd, at_most: Duration) -> Result<bool, ExecuteError> {
        let mut descriptors = vec![PollFd::new(exit, PollFlags::IN)];
        descriptors.extend(self.reader.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        wait_for(&mut descriptors, at_most)?;
        let exited = !descriptors[0].revents().is_empty();
        if descriptors.get(1).is_some_and(|pipe| !pipe.revents().is_empty()) {
            self.take()?;
        }
        Ok(exited)
    }

    /// What the child left in the pipe.
    fn drain(&mut self) -> Result<(), ExecuteError> {
        while let Some(pipe) = &self.reader {
            let mut descriptors = [PollFd::new(pipe, PollFlags::IN)];
            wait_for(&mut descriptors, Duration::ZERO)?;
            if descriptors[0].revents().is_empty() {
                break;
            }
            self.take()?;
        }
        Ok(())
    }

    /// One read of a pipe that has something, or has ended.
    fn take(&mut self) -> Result<(), ExecuteError> {
        let Some(pipe) = &mut self.reader else { return Ok(()) };
        let mut buffer = [0; 4096];
        match pipe.read(&mut buffer).map_err(ExecuteError::Wait)? {
            0 => self.reader = None,
            count => self.output.extend_from_slice(&buffer[..count]),
        }
        if self.output.len() > self.limit { Err(ExecuteError::TooMuchOutput(self.limit)) } else { Ok(()) }
    }
}

fn wait_for(descriptors: &mut [PollFd], at_most: Duration) -> Result<(), ExecuteError> {
    let timeout = Timespec::try_from(at_most).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
    match poll(descriptors, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(ExecuteError::Wait(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { timeout: Duration::from_secs(20), output: 1000, interrupted: &|| false };

    fn shell(text: &str, destination: Destination, limits: Limits) -> Result<Finished, ExecuteError> {
        execute(&["sh", "-c", text].map(OsString::from), Path::new("/"), destination, limits)
    }

    #[test]
    fn output_and_status_are_what_the_command_gave() {
        let finished = shell("echo out; echo error >&2; exit 3", Destination::Stdout, LIMITS).unwrap();
        assert_eq!(finished, Finished { exit: ExitStatus::Code(3), output: b"out\n".to_vec() });
        let finished = shell("echo out; echo error >&2", Destination::Both, LIMITS).unwrap();
        assert_eq!(finished.output, b"out\nerror\n");
    }

    #[test]
    fn a_command_that_hangs_is_killed_with_its_children() {
        let limits = Limits { timeout: Duration::from_millis(50), ..LIMITS };
        let error = shell("sleep 1000 & sleep 1000", Destination::Stdout, limits).unwrap_err();
        assert!(matches!(error, ExecuteError::TimedOut(_)));
    }

    #[test]
    fn a_child_that_keeps_stdout_open_does_not_keep_us() {
        let finished = shell("echo out; sleep 1000 &", Destination::Stdout, LIMITS).unwrap();
        assert_eq!(finished.output, b"out\n");
    }

    #[test]
    fn endless_output_is_cut_off() {
        let error = shell("while :; do echo y; done", Destination::Stdout, LIMITS).unwrap_err();
        assert!(matches!(error, ExecuteError::TooMuchOutput(1000)));
    }

    #[test]
    fn whoever_is_killed_takes_the_children_along() {
        let folder = tempfile::tempdir().unwrap();
        let number = folder.path().join("number");
        let script = format!("sleep 1000 & echo $! >{}; while :; do echo y; done", number.display());
        shell(&script, Destination::Stdout, LIMITS).unwrap_err();
        let child = std::fs::read_to_string(number).unwrap();
        while is_alive(child.trim()) {
            std::thread::yield_now();
        }
    }

    /// Neither gone nor a zombie that init has yet to reap (`proc_pid_stat(5)`: the state follows the name).
    fn is_alive(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.contains("(sleep)") && !stat.contains(") Z ")
    }

    #[test]
    fn a_command_that_stops_itself_is_told_from_one_that_hangs() {
        let error = shell("kill -STOP $$", Destination::Stdout, LIMITS).unwrap_err();
        assert_eq!(error.to_string(), "it stopped itself (SIGSTOP) and was killed");
    }

    #[test]
    fn a_missing_interpreter_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("test");
        std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let error = execute(&["./test".into()], folder.path(), Destination::Stdout, LIMITS).unwrap_err();
        let expected = "cannot start `./test`: its interpreter `/no/such/interpreter` does not exist";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn an_interruption_ends_it() {
        let limits = Limits { interrupted: &|| true, ..LIMITS };
        let error = shell("sleep 1000", Destination::Stdout, limits).unwrap_err();
        assert!(matches!(error, ExecuteError::Interrupted));
    }

    #[test]
    fn what_cannot_be_started_says_so() {
        let error = execute(&["/nowhere".into()], Path::new("/"), Destination::Stdout, LIMITS).unwrap_err();
        assert!(error.to_string().starts_with("cannot start `/nowhere`: "), "{error}");
        assert!(execute(&[], Path::new("/"), Destination::Stdout, LIMITS).is_err());
    }
}
