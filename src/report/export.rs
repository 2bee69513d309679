//! Where exported text goes: standard output or a file, checked before the first run, replaced at a stroke.

use super::terminal::visible;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::Builder;
use thiserror::Error;

/// Why a target cannot be written.
#[derive(Debug, Error)]
#[error("cannot write `{}`: {cause}\nhelp: {}", visible(&path.to_string_lossy()), remedy(cause))]
pub struct ExportError {
    /// The target.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub cause: io::Error,
}

fn remedy(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::NotFound => "make its folder first with `mkdir -p`",
        io::ErrorKind::IsADirectory => "name a file in that folder",
        io::ErrorKind::StorageFull => "free some space, or name a file elsewhere",
        _ => "name a file in a folder that you may write, or `-` for standard output",
    }
}

/// Where exported text goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Our own standard output.
    Stdout,
    /// A file, a device or a named pipe.
    File(PathBuf),
}

impl Target {
    /// `-` and the names that stand for our own standard output are [`Target::Stdout`]: opening those anew
    /// would truncate what they were redirected to, and fails for a socket.
    pub fn parse(argument: &str) -> Target {
        match argument {
            "-" | "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => Target::Stdout,
            path => Target::File(PathBuf::from(path)),
        }
    }

    /// Whether it is our own standard output.
    pub fn is_stdout(&self) -> bool {
        *self == Target::Stdout
    }

    /// Whether the target can be written, without changing it. Call before the first run, so that no result is
    /// lost to a typing error.
    pub fn check(&self) -> Result<(), ExportError> {
        match self {
            Target::Stdout => Ok(()),
            Target::File(path) => check_file(path).map_err(|cause| named(path, cause)),
        }
    }

    /// Writes `text`. A regular file is replaced by renaming: at any moment it holds the old text or the new.
    /// Devices and pipes are written as they are; a named pipe waits for its reader.
    pub fn write(&self, text: &str) -> Result<(), ExportError> {
        match self {
            Target::Stdout => write_stdout(text).map_err(|cause| named(Path::new("/dev/stdout"), cause)),
            Target::File(path) => write_file(path, text).map_err(|cause| named(path, cause)),
        }
    }
}

fn named(path: &Path, cause: io::Error) -> ExportError {
    ExportError { path: path.to_owned(), cause }
}

fn check_file(path: &Path) -> io::Result<()> {
    let path = followed(path)?;
    match fs::metadata(&path) {
        // Opening and closing a named pipe would show its reader an end of file.
        Ok(found) if found.file_type().is_fifo() || found.file_type().is_socket() => Ok(()),
        Ok(_) => OpenOptions::new().write(true).open(&path).map(drop),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => beside(&path).map(drop),
        Err(cause) => Err(cause),
    }
}

fn write_file(path: &Path, text: &str) -> io::Result<()> {
    let path = followed(path)?;
    let found = fs::metadata(&path).ok();
    if found.as_ref().is_some_and(|found| !found.is_file()) {
        return in_place(&path, text);
    }
    match beside(&path) {
        Ok(file) => replace(file, &path, found.as_ref(), text),
        // A file that may be written in a folder that may not.
        Err(_) if found.is_some() => in_place(&path, text),
        Err(cause) => Err(cause),
    }
}

/// The path that a symbolic link stands for, so that the link survives the renaming.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    // 40 is how many links the kernel itself follows: path_resolution(7).
    for _ in 0..40 {
        if !path.is_symlink() {
            return Ok(path);
        }
        // What /proc/PID/fd holds are not paths: `pipe:[123]`.
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

/// A new file in the folder of `path`, removed again unless it is kept.
fn beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.file_name().is_none() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    // What the umask leaves of it, as for any new file.
    Builder::new().prefix(".firstbyte-").permissions(fs::Permissions::from_mode(0o666)).tempfile_in(folder)
}

fn replace(
    mut file: tempfile::NamedTempFile,
    path: &Path,
    found: Option<&Metadata>,
    text: &str,
) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    if let Some(found) = found {
        file.as_file().set_permissions(found.permissions())?;
    }
    // No fsync: it would disturb the runs that follow, and what a power failure may cost is one document.
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn in_place(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())
}

fn write_stdout(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    fn target(path: &Path) -> Target {
        Target::File(path.to_owned())
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_dash_and_the_names_of_stdout_are_stdout() {
        for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            assert_eq!(Target::parse(name), Target::Stdout);
        }
        assert_eq!(Target::parse("./-"), target(Path::new("./-")));
    }

    #[test]
    fn checking_changes_nothing_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        fs::write(&old, "kept").unwrap();
        target(&old).check().unwrap();
        target(&new).check().unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "kept");
        assert_eq!(names(folder.path()), ["old"]);
    }

    #[test]
    fn a_file_is_replaced_and_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        target(&path).write("a longer first text").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        target(&path).write("second").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    fn a_symbolic_link_stays_a_link_also_to_a_file_that_is_not_there_yet() {
        let folder = tempfile::tempdir().unwrap();
        let (link, file) = (folder.path().join("link"), folder.path().join("file"));
        symlink("file", &link).unwrap();
        for text in ["new", "replaced"] {
            target(&link).check().unwrap();
            target(&link).write(text).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
            assert!(link.is_symlink());
        }
    }

    #[test]
    fn what_cannot_be_written_is_an_error_that_names_the_path_before_any_run() {
        let folder = tempfile::tempdir().unwrap();
        let looping = folder.path().join("loop");
        symlink("loop", &looping).unwrap();
        let paths = [
            folder.path().join("no/such/folder"),
            folder.path().to_owned(),
            looping,
            PathBuf::from("/proc/firstbyte"),
            PathBuf::from("/"),
            PathBuf::new(),
        ];
        for path in paths {
            let message = target(&path).check().unwrap_err().to_string();
            assert!(message.starts_with(&format!("cannot write `{}`: ", path.display())), "{message}");
            assert!(message.contains("\nhelp: "), "{message}");
        }
    }

    #[test]
    fn devices_are_written_in_place() {
        let null = target(Path::new("/dev/null"));
        null.check().unwrap();
        null.write("gone").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        let full = target(Path::new("/dev/full"));
        full.check().unwrap();
        let error = full.write("x").unwrap_err();
        assert_eq!(error.cause.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_named_pipe_is_checked_without_a_reader_and_written_to_one() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        target(&path).check().unwrap();
        let reader = std::thread::spawn({
            let path = path.clone();
            move || fs::read_to_string(path).unwrap()
        });
        target(&path).write("through the pipe").unwrap();
        assert_eq!(reader.join().unwrap(), "through the pipe");
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
    }

    /// The read end of a pipe by its name under `/proc`: what a shell's `>(…)` hands over.
    #[test]
    fn a_pipe_by_its_descriptor_is_written_in_place() {
        use std::os::fd::AsRawFd;
        let (mut reader, writer) = io::pipe().unwrap();
        let pipe = target(Path::new(&format!("/proc/self/fd/{}", writer.as_raw_fd())));
        pipe.check().unwrap();
        pipe.write("through the pipe").unwrap();
        drop(writer);
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, "through the pipe");
    }
}
