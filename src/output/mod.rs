//! Writes exports to standard output, files, devices and pipes. Each target is checked before the first run.
//!
//! A regular file is replaced by renaming, as often as there are new results. A named pipe, a shell's `>(…)` or a device
//! cannot take back what was written: it is opened once, by the check, and written once.

mod closed_stdout;
mod visible;

pub use closed_stdout::stdout_was_closed;
pub use visible::visible;

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tempfile::Builder;
use thiserror::Error;

/// Why a target cannot be written.
#[derive(Debug, Error)]
#[error("cannot write `{}`: {}\nhelp: {}", visible(&path.to_string_lossy()), explained(cause), remedy(path, cause))]
pub struct ExportError {
    pub path: PathBuf,
    #[source]
    pub cause: io::Error,
}

/// For a named pipe that nobody reads the system says "No such device or address" (ENXIO, `fifo(7)`), which helps
/// nobody.
fn explained(cause: &io::Error) -> String {
    match cause.raw_os_error() {
        Some(libc::ENXIO) => "no process has it open for reading".to_owned(),
        _ => cause.to_string(),
    }
}

fn remedy(path: &Path, cause: &io::Error) -> &'static str {
    match cause.kind() {
        _ if cause.raw_os_error() == Some(libc::ENXIO) => "start its reader first, for example `cat PIPE &`",
        io::ErrorKind::NotFound if !folder_of(path).is_dir() => "create its folder first, with `mkdir -p`",
        io::ErrorKind::IsADirectory => "name a file in that folder",
        io::ErrorKind::StorageFull => "free some space, or name a file on another file system",
        io::ErrorKind::FileTooLarge => "allow larger files: ulimit -f unlimited",
        io::ErrorKind::AlreadyExists => "give each export its own file",
        io::ErrorKind::BrokenPipe => "let its reader read everything",
        _ => "name a file in a folder that you may write to, or `-` for standard output",
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Where exported text goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Our own standard output.
    Stdout,
    /// A file, a device or a named pipe.
    File(Place),
}

/// A path to write to.
#[derive(Clone, Debug)]
pub struct Place {
    path: PathBuf,
    /// Open since the check, if it is not a regular file.
    stream: Arc<OnceLock<File>>,
}

impl PartialEq for Place {
    fn eq(&self, other: &Place) -> bool {
        self.path == other.path
    }
}

impl Eq for Place {}

impl From<PathBuf> for Target {
    fn from(path: PathBuf) -> Target {
        Target::File(Place { path, stream: Arc::default() })
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
            Target::File(place) => place.stream.get().is_some(),
        }
    }

    /// Whether the target can be written, without changing it. Call this before the first run: then no result is lost to
    /// a typing error.
    pub fn check(&self) -> Result<(), ExportError> {
        match self {
            Target::Stdout => check_stdout().map_err(|cause| named(Path::new("/dev/stdout"), cause)),
            Target::File(place) => place.check().map_err(|cause| named(&place.path, cause)),
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
            Target::File(place) => &place.path,
        }
    }

    /// Writing there would replace the file at `path`.
    pub fn replaces(&self, path: &Path) -> bool {
        let theirs = Target::from(path.to_owned()).identity();
        theirs.is_some() && self.identity() == theirs
    }

    /// Different for different targets; `None` for devices, which any number of writers may share.
    fn identity(&self) -> Option<PathBuf> {
        let Target::File(place) = self else { return Some(PathBuf::from("/dev/stdout")) };
        match fs::metadata(&place.path) {
            Ok(found) if found.file_type().is_char_device() => None,
            Ok(found) => Some(PathBuf::from(format!("{}:{}", found.dev(), found.ino()))),
            Err(_) => {
                let path = followed(&place.path).ok()?;
                Some(fs::canonicalize(folder_of(&path)).ok()?.join(path.file_name()?))
            }
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
            Target::File(place) => place.write(bytes).map_err(|cause| named(&place.path, cause)),
        }
    }
}

impl Place {
    fn check(&self) -> io::Result<()> {
        let path = followed(&self.path)?;
        match fs::metadata(&path) {
            Ok(found) if found.is_file() => OpenOptions::new().write(true).open(&path).map(drop),
            Ok(found) if found.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
            // kept open: its reader would take closing for the end of the file
            Ok(_) if self.stream.get().is_some() => Ok(()),
            Ok(_) => open_stream(&path).map(|stream| drop(self.stream.set(stream))),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => beside(&path, DATA).map(drop),
            Err(cause) => Err(cause),
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
    Ok(File::from(stream))
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
    let path = followed(path)?;
    let found = fs::metadata(&path).ok();
    if found.as_ref().is_some_and(|found| !found.is_file()) {
        return in_place(&path, bytes);
    }
    match beside(&path, mode) {
        Ok(file) => replace(file, &path, found.map(|found| kept(&found, mode)), bytes),
        // the file is writable, and its folder is not
        Err(_) if found.is_some() => in_place(&path, bytes),
        Err(cause) => Err(cause),
    }
}

/// The path behind symbolic links. The links survive the renaming.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    // the kernel follows 40 links, too: path_resolution(7)
    for _ in 0..40 {
        if !path.is_symlink() {
            return Ok(path);
        }
        // links in /proc/PID/fd may not contain paths: `pipe:[123]`
        if path.exists() && fs::metadata(&path)?.is_file() {
            return fs::canonicalize(&path);
        } else if path.exists() {
            return Ok(path);
        }
        let next = fs::read_link(&path)?;
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// A new file in the folder of `path`, which is deleted unless it is kept.
fn beside(path: &Path, mode: u32) -> io::Result<tempfile::NamedTempFile> {
    if path.file_name().is_none() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    // the umask applies, as to any new file
    let mut builder = Builder::new();
    builder.prefix(".firstbyte-").permissions(Permissions::from_mode(mode));
    builder.tempfile_in(folder_of(path)).map_err(|error| without_path(&error))
}

/// Without the name of our temporary file, which `tempfile` adds.
fn without_path(error: &io::Error) -> io::Error {
    let text = error.to_string();
    let plain = text.split(" at path ").next().unwrap_or_default();
    io::Error::new(error.kind(), plain.to_owned())
}

fn replace(
    mut file: tempfile::NamedTempFile,
    path: &Path,
    permissions: Option<Permissions>,
    bytes: &[u8],
) -> io::Result<()> {
    file.write_all(bytes).map_err(|error| without_path(&error))?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    // no fsync: it would disturb the next runs, and a power failure costs one document at most
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// The permissions of the file that is replaced. Everyone who may read a program may execute it.
fn kept(found: &Metadata, mode: u32) -> Permissions {
    let own = found.permissions().mode();
    let executable = if mode == PROGRAM { (own & 0o444) >> 2 } else { 0 };
    Permissions::from_mode(own | executable)
}

fn in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)
}

fn write_stdout(bytes: &[u8]) -> io::Result<()> {
    check_stdout()?;
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

#[cfg(test)]
mod tests;
