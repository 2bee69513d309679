//! The sinks of the lines, and their readers.

use super::design::Design;
use firstbyte_measure::page_cache::FileSystem;
use rustix::pipe::{SpliceFlags, splice};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// Bytes per read.
const CHUNK: usize = 64 * 1024;

/// A kind of stdout with its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sink {
    /// `/dev/null`, which never reads the bytes.
    Null,
    /// A pipe, read in blocks of 64 KiB.
    PipeRead,
    /// A pipe, spliced to `/dev/null` by a reader that copies nothing.
    PipeSplice,
    /// `| wc -l`
    Wc,
    /// `| cat >/dev/null`
    Cat,
    /// A new file in the folder that should be on tmpfs.
    Tmpfs,
    /// A new file in the folder that should be on disk.
    File,
    /// A file in the same folder that already has the length of the output.
    Overwrite,
    /// A pseudo terminal in its default mode.
    Pty,
}

impl Sink {
    pub const ALL: [Sink; 9] = [
        Sink::Null,
        Sink::PipeRead,
        Sink::PipeSplice,
        Sink::Wc,
        Sink::Cat,
        Sink::Tmpfs,
        Sink::File,
        Sink::Overwrite,
        Sink::Pty,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Sink::Null => "null",
            Sink::PipeRead => "pipe-read",
            Sink::PipeSplice => "pipe-splice",
            Sink::Wc => "wc",
            Sink::Cat => "cat",
            Sink::Tmpfs => "tmpfs",
            Sink::File => "file",
            Sink::Overwrite => "overwrite",
            Sink::Pty => "pty",
        }
    }

    /// One line for a heading. It names the file system of a file.
    pub fn description(self, folders: &SinkFolders) -> String {
        let (memory, disk) = (system_of(&folders.memory), system_of(&folders.disk));
        let said = match self {
            Sink::Null => "/dev/null: only the time of the writing program, because nothing reads the bytes",
            Sink::PipeRead => "a pipe, read in blocks of 64 KiB",
            Sink::PipeSplice => "a pipe, spliced to /dev/null by its reader",
            Sink::Wc => "a pipe to `wc -l`",
            Sink::Cat if counts_cat() => "a pipe to `cat >/dev/null`",
            Sink::Cat => "a pipe to `cat`, whose output is counted and spliced to /dev/null",
            Sink::Tmpfs => return format!("a new file on {memory}"),
            Sink::File => return format!("a new file on {disk} (in the page cache: no fsync)"),
            Sink::Overwrite => return format!("an existing file of the same length on {disk}"),
            Sink::Pty => "a terminal in its default mode",
        };
        said.to_owned()
    }

    /// The sink for verifying a design: a pipe, unless this sink can be read completely.
    #[must_use]
    pub fn to_verify(self) -> Sink {
        match self {
            Sink::Tmpfs | Sink::File | Sink::Pty => self,
            // the old bytes behind a shorter output would be read, too
            Sink::Overwrite => Sink::File,
            _ => Sink::PipeRead,
        }
    }
}

/// The folders for files.
#[derive(Clone, Debug)]
pub struct SinkFolders {
    /// A folder that should be on tmpfs.
    pub memory: PathBuf,
    /// A folder that should be on disk.
    pub disk: PathBuf,
}

const TMPFS: &str = "tmpfs";

impl SinkFolders {
    /// One line for each sink whose file system is not what its name promises.
    pub fn warnings(&self, sinks: &[Sink]) -> Vec<String> {
        let (memory, disk) = (system_of(&self.memory), system_of(&self.disk));
        let warning = |sink: &Sink| match sink {
            Sink::File | Sink::Overwrite if disk == TMPFS => Some(format!(
                "{}: `{}` is in memory, on {TMPFS}; help: give a folder on a disk with --directory",
                sink.name(),
                self.disk.display()
            )),
            Sink::Tmpfs | Sink::Wc if memory != TMPFS => Some(format!(
                "{}: `{}` is on {memory}, not on {TMPFS}; help: give a folder on {TMPFS} with --memory",
                sink.name(),
                self.memory.display()
            )),
            _ => None,
        };
        sinks.iter().filter_map(warning).collect()
    }
}

fn system_of(folder: &Path) -> &'static str {
    FileSystem::of_path(folder).map_or("an unknown file system", |found| found.name)
}

/// Our end of the stdout of one run.
pub(super) enum End {
    Nothing,
    Pipe(File),
    Spliced(File, File),
    /// A program that prints the number of lines that it read.
    Consumer(Child),
    /// `cat`, with the file in which the kernel reports how many bytes it wrote.
    Cat(Child, File),
    /// `cat` on a kernel without that report: its output is counted and spliced on.
    Behind(Child, File, File),
    File(File),
    /// A file that already had this length: the position after the last write counts, not the length.
    Overwritten(File),
    Terminal(File),
}

/// What arrived at our end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Received {
    pub(super) bytes: Option<u64>,
    pub(super) lines: Option<u64>,
    /// Bytes from a terminal, with a carriage return in each line.
    pub(super) typed: Option<u64>,
    /// Whether a byte was wrong; `None` if they were not compared.
    pub(super) other: Option<bool>,
}

/// Opens a fresh sink for this number of bytes. Returns the program's stdout and our end.
pub(super) fn open(sink: Sink, folders: &SinkFolders, bytes: u64) -> io::Result<(OwnedFd, End)> {
    match sink {
        Sink::Null => Ok((File::options().write(true).open("/dev/null")?.into(), End::Nothing)),
        Sink::PipeRead => pipe().map(|(reader, writer)| (writer, End::Pipe(reader))),
        Sink::PipeSplice => {
            let null = File::options().write(true).open("/dev/null")?;
            pipe().map(|(reader, writer)| (writer, End::Spliced(reader, null)))
        }
        Sink::Wc => consumer(Command::new("wc").arg("-l").stdout(Stdio::piped())),
        Sink::Cat if counts_cat() => cat(),
        Sink::Cat => counted_cat(),
        Sink::Tmpfs => file(&folders.memory, 0).map(|(stdout, ours)| (stdout, End::File(ours))),
        Sink::File => file(&folders.disk, 0).map(|(stdout, ours)| (stdout, End::File(ours))),
        Sink::Overwrite => file(&folders.disk, bytes).map(|(stdout, ours)| (stdout, End::Overwritten(ours))),
        Sink::Pty => terminal(),
    }
}

impl End {
    /// Reads until the end. Files are read later.
    pub(super) fn drain(&mut self, look: bool) -> io::Result<Received> {
        match self {
            End::Pipe(reader) => read(reader, look, false),
            End::Terminal(ours) => read(ours, look, true),
            End::Spliced(reader, null) | End::Behind(_, reader, null) => splice_all(reader, null),
            _ => Ok(Received::default()),
        }
    }

    /// Waits for a consumer: the last step that is timed.
    pub(super) fn wait(&mut self) -> io::Result<Received> {
        let child = match self {
            End::Consumer(child) | End::Behind(child, ..) => child,
            End::Cat(child, _) => {
                // It is not reaped yet, because the kernel then forgets how much it wrote.
                let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                rustix::io::retry_on_intr(|| waitid(WaitId::Pid(Pid::from_child(child)), how))?;
                return Ok(Received::default());
            }
            _ => return Ok(Received::default()),
        };
        let mut printed = String::new();
        if let Some(mut stdout) = child.stdout.take() {
            stdout.read_to_string(&mut printed)?;
        }
        child.wait()?;
        Ok(Received { lines: printed.trim().parse().ok(), ..Received::default() })
    }

    /// Inspects a file, or the count of `cat`. Not timed.
    pub(super) fn inspect(&mut self, look: bool) -> io::Result<Received> {
        let (file, bytes) = match self {
            End::File(file) => {
                let length = file.metadata()?.len();
                (file, length)
            }
            End::Overwritten(file) => {
                let offset = file.stream_position()?; // shared with the program
                (file, offset)
            }
            End::Cat(child, counters) => {
                let bytes = Some(written(counters)?);
                child.wait()?;
                return Ok(Received { bytes, ..Received::default() });
            }
            _ => return Ok(Received::default()),
        };

        if !look {
            return Ok(Received { bytes: Some(bytes), ..Received::default() });
        }
        file.seek(SeekFrom::Start(0))?;
        read(file, true, false)
    }
}

/// The bytes that a process has written. The kernel keeps the count until the process is reaped (`proc(5)`, `/proc/PID/io`).
fn written(counters: &mut File) -> io::Result<u64> {
    let counted = io::read_to_string(counters)?;
    let bytes = counted.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok());
    bytes.ok_or_else(|| io::Error::other("the kernel does not report how much `cat` wrote"))
}

/// Whether the kernel reports how much `cat` wrote: not if `cat` uses splice(2), nor without `TASK_IO_ACCOUNTING`.
fn counts_cat() -> bool {
    static COUNTS: OnceLock<bool> = OnceLock::new();
    let asked = || {
        let (stdin, mut end) = cat()?;
        File::from(stdin).write_all(Design::TEXT.as_bytes())?;
        end.wait()?;
        end.inspect(false)
    };
    *COUNTS.get_or_init(|| asked().is_ok_and(|received| received.bytes == Some(Design::TEXT.len() as u64)))
}

fn pipe() -> io::Result<(File, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((OwnedFd::from(reader).into(), writer.into()))
}

fn consumer(command: &mut Command) -> io::Result<(OwnedFd, End)> {
    let (reader, writer) = io::pipe()?;
    let child = command.stdin(reader).stderr(Stdio::null()).spawn()?;
    Ok((writer.into(), End::Consumer(child)))
}

fn cat() -> io::Result<(OwnedFd, End)> {
    let (reader, writer) = io::pipe()?;
    let child = Command::new("cat").stdin(reader).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    // Not later: after its exit the files in /proc belong to root.
    match File::open(format!("/proc/{}/io", child.id())) {
        Ok(counters) => Ok((writer.into(), End::Cat(child, counters))),
        Err(error) => {
            drop(End::Consumer(child));
            Err(error)
        }
    }
}

fn counted_cat() -> io::Result<(OwnedFd, End)> {
    let ((reader, writer), (behind, stdout)) = (io::pipe()?, pipe()?);
    let null = File::options().write(true).open("/dev/null")?;
    let child = Command::new("cat").stdin(reader).stdout(stdout).stderr(Stdio::null()).spawn()?;
    Ok((writer.into(), End::Behind(child, behind, null)))
}

/// An unnamed file with this number of bytes, none of which a design prints.
fn file(folder: &Path, bytes: u64) -> io::Result<(OwnedFd, File)> {
    let mut ours = tempfile::tempfile_in(folder)?;
    io::copy(&mut io::repeat(b'.').take(bytes), &mut io::BufWriter::with_capacity(1 << 20, &mut ours))?;
    ours.flush()?;
    ours.seek(SeekFrom::Start(0))?; // the program shares the position
    Ok((ours.try_clone()?.into(), ours))
}

fn terminal() -> io::Result<(OwnedFd, End)> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: plain system calls; the descriptors are owned at once.
    unsafe {
        let master = libc::posix_openpt(flags);
        if master < 0 {
            return Err(io::Error::last_os_error());
        }
        let ours = File::from_raw_fd(master);
        if libc::grantpt(master) != 0 || libc::unlockpt(master) != 0 {
            return Err(io::Error::last_os_error());
        }
        match libc::ioctl(ours.as_raw_fd(), libc::TIOCGPTPEER, flags) {
            peer @ 0.. => Ok((OwnedFd::from_raw_fd(peer), End::Terminal(ours))),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Reads all bytes. With `look` they are compared with the lines, without the carriage returns that a terminal's line
/// discipline adds.
fn read(from: &mut File, look: bool, terminal: bool) -> io::Result<Received> {
    let lines = format!("{}\n", Design::TEXT).repeat(CHUNK / Design::TEXT.len() + 2).into_bytes();
    let (mut buffer, mut bytes, mut newlines, mut other) = (vec![0; CHUNK], 0, 0, false);
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // A pseudo terminal returns EIO once its other end is closed.
            Err(error) if terminal && error.raw_os_error() == Some(libc::EIO) => break,
            Err(error) => return Err(error),
        };

        let mut got = &buffer[..count];
        let kept: Vec<u8>;
        if terminal && look {
            kept = got.iter().copied().filter(|byte| *byte != b'\r').collect();
            got = &kept;
        }
        if look {
            let offset = bytes % (Design::TEXT.len() + 1);
            other |= got != &lines[offset..offset + got.len()];
            newlines += got.split(|byte| *byte == b'\n').skip(1).count() as u64;
        }
        bytes += got.len();
    }
    let bytes = Some(bytes as u64);
    if terminal && !look {
        return Ok(Received { typed: bytes, ..Received::default() });
    }
    let (lines, other) = (look.then_some(newlines), look.then_some(other));
    Ok(Received { bytes, lines, other, ..Received::default() })
}

fn splice_all(from: &File, to: &File) -> io::Result<Received> {
    let mut bytes = 0;
    loop {
        match splice(from.as_fd(), None, to.as_fd(), None, 1 << 20, SpliceFlags::empty()) {
            Ok(0) => return Ok(Received { bytes: Some(bytes), ..Received::default() }),
            Ok(count) => bytes += count as u64,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_cat_is_counted_by_the_kernel_or_behind_it() {
        for made in [counted_cat(), cat()] {
            let (stdin, mut end) = made.unwrap();
            File::from(stdin).write_all(b"hello world\n").unwrap();
            let steps = [end.drain(false).unwrap(), end.wait().unwrap(), end.inspect(false).unwrap()];
            let counted: Vec<u64> = steps.iter().filter_map(|received| received.bytes).collect();
            assert!(counted == [12] || (counted == [0] && !counts_cat()), "{counted:?}");
        }
    }
}
