//! What the lines are printed to, and what takes them out again.

use rustix::pipe::{SpliceFlags, splice};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What a reader asks for at a time.
const CHUNK: usize = 64 * 1024;

/// A kind of stdout, with its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sink {
    /// `/dev/null`, which never looks at what it is given.
    Null,
    /// A pipe, read in pieces of 64 KiB.
    PipeRead,
    /// A pipe, spliced to `/dev/null`: a reader that copies nothing.
    PipeSplice,
    /// `| wc -l`
    Wc,
    /// `| cat >/dev/null`
    Cat,
    /// A new file in memory.
    Tmpfs,
    /// A new file on disk.
    File,
    /// A file on disk that is as long already.
    Overwrite,
    /// A pseudo terminal in its default mode.
    Pty,
}

impl Sink {
    /// All of them.
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

    /// As the command line spells it.
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

    /// One line for a heading.
    pub fn description(self) -> &'static str {
        match self {
            Sink::Null => "/dev/null: the producer's time alone, for nobody looks at the bytes",
            Sink::PipeRead => "a pipe, read in pieces of 64 KiB",
            Sink::PipeSplice => "a pipe, spliced to /dev/null by its reader",
            Sink::Wc => "a pipe to `wc -l`",
            Sink::Cat => "a pipe to `cat >/dev/null`",
            Sink::Tmpfs => "a new file on tmpfs",
            Sink::File => "a new file on disk (in the page cache: no fsync)",
            Sink::Overwrite => "a file on disk that is as long already",
            Sink::Pty => "a terminal in its default mode",
        }
    }

    /// The sink through which a design's bytes are looked at: where nobody reads them all, a pipe.
    #[must_use]
    pub fn to_verify(self) -> Sink {
        match self {
            Sink::Tmpfs | Sink::File | Sink::Overwrite | Sink::Pty => self,
            _ => Sink::PipeRead,
        }
    }
}

/// Where files are made.
#[derive(Clone, Debug)]
pub struct Places {
    /// A folder on tmpfs.
    pub memory: PathBuf,
    /// A folder on disk.
    pub disk: PathBuf,
}

/// Our end of one run's stdout.
pub(super) enum End {
    Nothing,
    Pipe(File),
    Spliced(File, File),
    Consumer(Child),
    File(File),
    Terminal(File),
}

/// What came out at our end.
#[derive(Debug, Default)]
pub(super) struct Received {
    pub(super) bytes: Option<u64>,
    pub(super) lines: Option<u64>,
    pub(super) hash: Option<String>,
}

/// Opens a fresh sink for so many bytes: the program's stdout, and our end.
pub(super) fn open(sink: Sink, places: &Places, bytes: u64) -> io::Result<(OwnedFd, End)> {
    match sink {
        Sink::Null => Ok((File::options().write(true).open("/dev/null")?.into(), End::Nothing)),
        Sink::PipeRead => pipe().map(|(reader, writer)| (writer, End::Pipe(reader))),
        Sink::PipeSplice => {
            let null = File::options().write(true).open("/dev/null")?;
            pipe().map(|(reader, writer)| (writer, End::Spliced(reader, null)))
        }
        Sink::Wc => consumer(Command::new("wc").arg("-l").stdout(Stdio::piped())),
        Sink::Cat => consumer(Command::new("cat").stdout(Stdio::null())),
        Sink::Tmpfs => file(&places.memory, 0),
        Sink::File => file(&places.disk, 0),
        Sink::Overwrite => file(&places.disk, bytes),
        Sink::Pty => terminal(),
    }
}

impl End {
    /// Takes out what comes until the end; files wait.
    pub(super) fn drain(&mut self, look: bool) -> io::Result<Received> {
        match self {
            End::Pipe(reader) => read(reader, look, false),
            End::Terminal(ours) => read(ours, look, true),
            End::Spliced(reader, null) => splice_all(reader, null),
            End::Nothing | End::Consumer(_) | End::File(_) => Ok(Received::default()),
        }
    }

    /// Waits for a consumer; the last step that is timed.
    pub(super) fn wait(&mut self) -> io::Result<Received> {
        let End::Consumer(child) = self else { return Ok(Received::default()) };
        let mut printed = String::new();
        if let Some(mut stdout) = child.stdout.take() {
            stdout.read_to_string(&mut printed)?;
        }
        child.wait()?;
        Ok(Received { lines: printed.trim().parse().ok(), ..Received::default() })
    }

    /// What lies in a file; not timed.
    pub(super) fn inspect(&mut self, look: bool) -> io::Result<Received> {
        let End::File(file) = self else { return Ok(Received::default()) };
        if !look {
            return Ok(Received { bytes: Some(file.metadata()?.len()), ..Received::default() });
        }
        file.seek(SeekFrom::Start(0))?;
        read(file, true, false)
    }
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

/// A file without a name, of so many bytes that nobody would print.
fn file(folder: &Path, bytes: u64) -> io::Result<(OwnedFd, End)> {
    let mut ours = tempfile::tempfile_in(folder)?;
    io::copy(&mut io::repeat(b'.').take(bytes), &mut io::BufWriter::with_capacity(1 << 20, &mut ours))?;
    ours.flush()?;
    ours.seek(SeekFrom::Start(0))?; // the program shares the position
    Ok((ours.try_clone()?.into(), End::File(ours)))
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

/// Of a terminal, the carriage returns that its line discipline adds do not count.
fn read(from: &mut File, look: bool, terminal: bool) -> io::Result<Received> {
    let (mut buffer, mut bytes, mut hash) = (vec![0; CHUNK], 0, Sha256::new());
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // A pseudo terminal whose last holder is gone says EIO.
            Err(error) if terminal && error.raw_os_error() == Some(libc::EIO) => break,
            Err(error) => return Err(error),
        };
        let mut got = &buffer[..count];
        let kept: Vec<u8>;
        if terminal && look {
            kept = got.iter().copied().filter(|byte| *byte != b'\r').collect();
            got = &kept;
        }
        bytes += got.len() as u64;
        if look {
            hash.update(got);
        }
    }
    let exact = !terminal || look;
    Ok(Received {
        bytes: exact.then_some(bytes),
        hash: look.then(|| format!("{:x}", hash.finalize())),
        lines: None,
    })
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
