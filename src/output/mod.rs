//! Writes exports to standard output, files, devices and pipes. Each target is checked before the first run.
//!
//! A regular file is replaced by renaming, as often as there are new results. A named pipe, a shell's `>(…)` or a device
//! cannot take back what was written: it is opened once, by the check, and written once.

mod closed_stdout;
mod entry;
mod replace;
mod say;
mod visible;

pub use closed_stdout::stdout_was_closed;
pub use say::say;
pub use visible::{visible, visible_path};

use entry::{FolderEntry, folder_of};
use rustix::fs::{FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use thiserror::Error;

/// Why a target cannot be written.
#[derive(Debug, Error)]
#[error("cannot write `{}`: {}\nhelp: {}", visible_path(path), explained(cause), remedy(path, cause))]
pub struct ExportError {
    pub path: PathBuf,
    #[source]
    pub cause: io::Error,
}

/// For a named pipe that nobody reads the system says "No such device or address" (ENXIO, `fifo(7)`), and for a stdout
/// that is closed "Bad file descriptor". That helps nobody.
fn explained(cause: &io::Error) -> String {
    match cause.raw_os_error() {
        Some(libc::ENXIO) => "no process has it open for reading".to_owned(),
        Some(libc::EBADF) => "it is closed".to_owned(),
        _ => cause.to_string(),
    }
}

fn remedy(path: &Path, cause: &io::Error) -> &'static str {
    match cause.kind() {
        _ if cause.raw_os_error() == Some(libc::ENXIO) => "start its reader first, for example `cat PIPE &`",
        _ if cause.raw_os_error() == Some(libc::EBADF) => "give it a target, such as `>FILE`",
        io::ErrorKind::NotFound if !folder_of(path).is_dir() => "create its folder first, with `mkdir -p`",
        io::ErrorKind::IsADirectory => "name a file in that folder",
        io::ErrorKind::StorageFull => "free some space, or name a file on another file system",
        io::ErrorKind::FileTooLarge => "allow larger files: ulimit -f unlimited",
        io::ErrorKind::AlreadyExists => "give each export its own file",
        io::ErrorKind::BrokenPipe => "let its reader read everything",
        _ => "name a file in a folder that you may write to, or `-` for standard output",
    }
}

/// Where exported text goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Our own standard output.
    Stdout,
    /// A file, a device or a named pipe.
    File(FileTarget),
}

/// A path to write to.
#[derive(Clone, Debug)]
pub struct FileTarget {
    path: PathBuf,
    /// Open since the check, if it is not a regular file.
    stream: Arc<OnceLock<File>>,
}

impl PartialEq for FileTarget {
    fn eq(&self, other: &FileTarget) -> bool {
        self.path == other.path
    }
}

impl Eq for FileTarget {}

impl From<PathBuf> for Target {
    fn from(path: PathBuf) -> Target {
        Target::File(FileTarget { path, stream: Arc::default() })
    }
}

impl Target {
    /// `-` and the other names of our standard output are [`Target::Stdout`]. Opening them again would truncate the file
    /// behind them, and fails for a socket.
    pub fn parse(argument: &str) -> Target {
        match argument {
            "-" | "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => Target::Stdout,
            path => Target::from(PathBuf::from(path)),
        }
    }

    pub fn is_stdout(&self) -> bool {
        *self == Target::Stdout
    }

    /// It can be written only once: standard output, and everything that the check found not to be a regular file.
    pub fn is_stream(&self) -> bool {
        match self {
            Target::Stdout => true,
            Target::File(file) => file.stream.get().is_some(),
        }
    }

    /// Whether the target can be written, without changing it. Call this before the first run: then no result is lost to
    /// a typing error.
    pub fn check(&self) -> Result<(), ExportError> {
        match self {
            Target::Stdout => check_stdout().map_err(|cause| named(Path::new("/dev/stdout"), cause)),
            Target::File(file) => file.check().map_err(|cause| named(&file.path, cause)),
        }
    }

    /// [`check`](Target::check) for all of them, and for two that are the same.
    pub fn check_all<'t>(targets: impl Iterator<Item = &'t Target>) -> Result<(), ExportError> {
        let mut seen = Vec::new();
        for target in targets {
            target.check()?;
            let identity = target.identity();
            if identity.is_some() && seen.contains(&identity) {
                let twice = io::Error::new(io::ErrorKind::AlreadyExists, "two exports have this target");
                return Err(named(target.path(), twice));
            }
            seen.push(identity);
        }
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Target::Stdout => Path::new("/dev/stdout"),
            Target::File(file) => &file.path,
        }
    }

    /// Writing there would replace the file at `path`.
    pub fn replaces(&self, path: &Path) -> bool {
        let theirs = Target::from(path.to_owned()).identity();
        theirs.is_some() && self.identity() == theirs
    }

    /// Different for different targets; `None` for devices, which any number of writers may share.
    fn identity(&self) -> Option<PathBuf> {
        let Target::File(file) = self else { return Some(PathBuf::from("/dev/stdout")) };
        match fs::metadata(&file.path) {
            Ok(found) if found.file_type().is_char_device() => None,
            Ok(found) => Some(PathBuf::from(format!("{}:{}", found.dev(), found.ino()))),
            Err(_) => FolderEntry::behind(&file.path).ok()?.identity(),
        }
    }

    /// A regular file is replaced by renaming, so it contains either the old or the new text at any moment. Devices and
    /// pipes are written directly.
    pub fn write(&self, text: &str) -> Result<(), ExportError> {
        self.write_bytes(text.as_bytes())
    }

    /// The same for bytes.
    pub fn write_bytes(&self, bytes: &[u8]) -> Result<(), ExportError> {
        match self {
            Target::Stdout => write_stdout(bytes).map_err(|cause| named(self.path(), cause)),
            Target::File(file) => file.write(bytes).map_err(|cause| named(&file.path, cause)),
        }
    }
}

impl FileTarget {
    fn check(&self) -> io::Result<()> {
        let entry = FolderEntry::behind(&self.path)?;
        entry.check_owner()?;
        match &entry.found {
            None => replace::check_folder(&entry),
            Some(found) if found.is(FileType::RegularFile) => entry.open().map(drop),
            Some(found) if found.is(FileType::Directory) => Err(io::Error::from(io::ErrorKind::IsADirectory)),
            // kept open: its reader would take closing for the end of the file
            Some(_) if self.stream.get().is_some() => Ok(()),
            Some(_) => open_stream(&self.path).map(|stream| drop(self.stream.set(stream))),
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match self.stream.get() {
            Some(mut stream) => stream.write_all(bytes),
            None => write_file(&self.path, bytes, DATA),
        }
    }
}

/// Opens a pipe or a device. A plain `open` of a named pipe without a reader would wait and ignore signals, so this one
/// does not block and fails with ENXIO (`fifo(7)`). Later writes wait for the reader again.
fn open_stream(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let stream = match rustix::fs::open(path, flags, Mode::empty()) {
        // a socket cannot be opened by the name of its descriptor, but it can be duplicated
        Err(rustix::io::Errno::NXIO) => inherited_socket(path)?,
        opened => {
            let opened = opened?;
            fcntl_setfl(&opened, fcntl_getfl(&opened)? - OFlags::NONBLOCK)?;
            opened
        }
    };
    let stream = File::from(stream);
    // what is a file now was none before: it was exchanged
    if stream.metadata()?.is_file() { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(stream) }
}

/// A duplicate of our socket that `/dev/fd/N` names (`pidfd_getfd(2)`, Linux 5.6).
fn inherited_socket(path: &Path) -> io::Result<OwnedFd> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    let no_reader = || io::Error::from_raw_os_error(libc::ENXIO);
    let is_socket = fs::metadata(path)?.file_type().is_socket();
    let of_ours = ["/dev/fd", "/proc/self/fd"].iter().any(|folder| path.starts_with(folder));
    let number = path.file_name().and_then(|name| name.to_str()?.parse().ok());
    let number = number.filter(|_| is_socket && of_ours).ok_or_else(no_reader)?;
    let ourselves = pidfd_open(getpid(), PidfdFlags::empty())?;
    Ok(pidfd_getfd(&ourselves, number, PidfdGetfdFlags::empty())?)
}

/// A write would not fail: the standard library opens `/dev/null` in place of a closed stdout before `main`.
fn check_stdout() -> io::Result<()> {
    if stdout_was_closed() { Err(io::Error::from_raw_os_error(libc::EBADF)) } else { Ok(()) }
}

fn named(path: &Path, cause: io::Error) -> ExportError {
    ExportError { path: path.to_owned(), cause }
}

/// Permissions of new files, before the umask.
const DATA: u32 = 0o666;
const PROGRAM: u32 = 0o777;

/// Writes a program like [`Target::write`]. Everyone who may read it may execute it.
pub fn write_program(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_file(path, bytes, PROGRAM)
}

fn write_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let entry = FolderEntry::behind(path)?;
    match &entry.found {
        Some(found) if !found.is(FileType::RegularFile) => {
            entry.check_owner()?;
            open_stream(path)?.write_all(bytes)
        }
        _ => replace::write(&entry, mode, mode == PROGRAM, bytes),
    }
}

fn write_stdout(bytes: &[u8]) -> io::Result<()> {
    check_stdout()?;
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

#[cfg(test)]
mod tests;
