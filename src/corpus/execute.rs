//! Runs one command to its end, with a time limit. For builds, versions and verification, never for measuring.

use firstbyte_measure::clock;
use firstbyte_measure::launch::diagnosis::interpreter_of;
use firstbyte_measure::launch::exit_status::named;
use firstbyte_measure::launch::{Environment, ExitStatus};
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

/// How often a waiting loop checks for an interruption.
const SLICE: Duration = Duration::from_millis(100);

/// Called several times per second: whether to stop.
pub type Interrupted<'a> = &'a (dyn Fn() -> bool + Sync);

/// The limits of a command.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// Its process group is killed after this time.
    pub timeout: Duration,
    /// It is killed if it prints more bytes than this.
    pub output: usize,
    pub interrupted: Interrupted<'a>,
}

#[derive(Debug)]
pub enum Destination {
    /// stdout is captured, stderr is discarded.
    Stdout,
    /// Both are captured in one stream.
    Both,
    /// Both go to this file.
    Log(File),
}

/// The exit status of a command, and its output.
#[derive(Debug, PartialEq, Eq)]
pub struct Finished {
    pub exit: ExitStatus,
    pub output: Vec<u8>,
}

/// Why a command did not finish. Each message is one lower-case line.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    #[error("cannot start `{}`: {cause}", program.display())]
    NotStarted { program: PathBuf, cause: io::Error },
    /// It stopped itself with this signal, and nothing would have continued it.
    #[error("it stopped itself ({}) and was killed", named(*.0))]
    Stopped(i32),
    #[error("it did not end within {} s and was killed", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("it printed more than {0} bytes and was killed")]
    TooMuchOutput(usize),
    #[error("interrupted")]
    Interrupted,
    #[error("cannot wait for it: {0}")]
    Wait(io::Error),
}

/// Runs `argv` in `directory` with an empty stdin, in its own process group. No process of the group is left behind.
pub fn execute(
    argv: &[OsString],
    directory: &Path,
    destination: Destination,
    limits: Limits,
) -> Result<Finished, ExecuteError> {
    execute_with(argv, directory, None, destination, limits)
}

/// The same, with the environment in which the program is measured.
pub fn execute_in(
    environment: &Environment,
    argv: &[OsString],
    directory: &Path,
    limits: Limits,
) -> Result<Finished, ExecuteError> {
    let surroundings = |command: &mut Command| {
        command.env_clear().envs(environment.variables());
    };
    executed(argv, directory, surroundings, Destination::Stdout, limits)
}

/// The same, with `TMPDIR` set to a folder, because a killed command leaves its temporary files behind.
pub fn execute_with(
    argv: &[OsString],
    directory: &Path,
    temporary: Option<&Path>,
    destination: Destination,
    limits: Limits,
) -> Result<Finished, ExecuteError> {
    let surroundings = |command: &mut Command| {
        command.envs(temporary.map(|folder| ("TMPDIR", folder)));
    };
    executed(argv, directory, surroundings, destination, limits)
}

fn executed(
    argv: &[OsString],
    directory: &Path,
    surroundings: impl FnOnce(&mut Command),
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
    surroundings(&mut command);
    let reader = connect(&mut command, destination).map_err(not_started)?;
    let mut child = spawn(&mut command).map_err(|cause| not_started(explained(cause, program, directory)))?;
    // The command still has the writing ends of our pipe open.
    drop(command);

    let observed = observe(&child, reader, limits);
    kill_group(&child);
    let status = child.wait().map_err(ExecuteError::Wait)?;
    Ok(Finished { exit: ExitStatus::from_wait(status.into_raw()), output: observed? })
}

/// "No such file" about an existing file means that its interpreter does not exist.
fn explained(cause: io::Error, program: &OsStr, directory: &Path) -> io::Error {
    let interpreter = interpreter_of(&directory.join(program));
    match interpreter.filter(|_| cause.kind() == io::ErrorKind::NotFound) {
        Some(interpreter) => {
            io::Error::new(cause.kind(), format!("its interpreter `{interpreter}` does not exist"))
        }
        None => cause,
    }
}

/// A file that we have just written is busy while a child forked by another thread has not reached its exec: until then
/// it holds a copy of our descriptor.
fn spawn(command: &mut Command) -> io::Result<Child> {
    const TRIES: usize = 50;
    for _ in 0..TRIES {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => clock::pause(SLICE / 10),
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

/// Kills every process left in the group. The child has not been waited for, so no other process can have its number.
fn kill_group(child: &Child) {
    if let Some(pid) = pid_of(child) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Reads until the child has exited. A daemon that keeps the pipe open does not delay the end.
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

/// The signal that stopped the process, if it is stopped. The status stays readable for others.
fn stopped_by(pid: Pid) -> Option<i32> {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(pid), options).ok()??.stopping_signal()
}

struct Capture {
    /// `None` without a pipe, and at its end.
    reader: Option<PipeReader>,
    output: Vec<u8>,
    limit: usize,
}

impl Capture {
    /// Reads what is available. Returns whether the child has exited.
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

    /// Reads what the child left in the pipe.
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

    /// Reads once from a pipe that has data or has ended.
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
    fn the_output_and_the_status_of_a_command_are_returned() {
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
    fn a_command_with_endless_output_is_killed() {
        let error = shell("while :; do echo y; done", Destination::Stdout, LIMITS).unwrap_err();
        assert!(matches!(error, ExecuteError::TooMuchOutput(1000)));
    }

    #[test]
    fn a_killed_command_leaves_no_children() {
        let folder = tempfile::tempdir().unwrap();
        let number = folder.path().join("number");
        let script = format!("sleep 1000 & echo $! >{}; while :; do echo y; done", number.display());
        shell(&script, Destination::Stdout, LIMITS).unwrap_err();
        let child = std::fs::read_to_string(number).unwrap();
        while is_alive(child.trim()) {
            std::thread::yield_now();
        }
    }

    /// Whether the process exists and is not a zombie (`proc_pid_stat(5)`: the state follows the name).
    fn is_alive(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.contains("(sleep)") && !stat.contains(") Z ")
    }

    #[test]
    fn a_command_that_stops_itself_is_distinguished_from_one_that_hangs() {
        let error = shell("kill -STOP $$", Destination::Stdout, LIMITS).unwrap_err();
        assert_eq!(error.to_string(), "it stopped itself (SIGSTOP) and was killed");
    }

    #[test]
    fn a_missing_interpreter_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("test");
        std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let error = execute(&["./test".into()], folder.path(), Destination::Stdout, LIMITS).unwrap_err();
        let expected = "cannot start `./test`: its interpreter `/no/such/interpreter` does not exist";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn an_interruption_ends_the_command() {
        let limits = Limits { interrupted: &|| true, ..LIMITS };
        let error = shell("sleep 1000", Destination::Stdout, limits).unwrap_err();
        assert!(matches!(error, ExecuteError::Interrupted));
    }

    #[test]
    fn a_command_that_cannot_be_started_is_an_error() {
        let error = execute(&["/nowhere".into()], Path::new("/"), Destination::Stdout, LIMITS).unwrap_err();
        assert!(error.to_string().starts_with("cannot start `/nowhere`: "), "{error}");
        assert!(execute(&[], Path::new("/"), Destination::Stdout, LIMITS).is_err());
    }
}
