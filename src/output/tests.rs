//! Tests of exported files: what they replace, and what they leave alone. `hostile.rs` has those of shared folders.

mod hostile;

use super::*;
use std::fs::Permissions;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};

fn target(path: &Path) -> Target {
    Target::from(path.to_owned())
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
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    target(&path).write("second").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "second");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn a_symbolic_link_stays_a_link_even_to_a_file_that_does_not_exist_yet() {
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
fn a_target_that_cannot_be_written_is_an_error_that_names_the_path() {
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

fn named_pipe(folder: &Path) -> PathBuf {
    use rustix::fs::{CWD, FileType, mknodat};
    let path = folder.join("pipe");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    path
}

fn reader_of(pipe: &Path) -> OwnedFd {
    let at_once = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(pipe, at_once, Mode::empty()).unwrap()
}

#[test]
fn a_named_pipe_without_a_reader_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let message = target(&named_pipe(folder.path())).check().unwrap_err().to_string();
    assert!(message.contains("no process has it open for reading\nhelp: start its reader"), "{message}");
}

#[test]
fn a_named_pipe_is_opened_once_and_its_reader_sees_one_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = named_pipe(folder.path());
    let mut reader = File::from(reader_of(&path));
    let pipe = target(&path);
    assert!(!pipe.is_stream());
    pipe.check().unwrap();
    pipe.check().unwrap();
    assert!(pipe.is_stream() && pipe.clone().is_stream());
    pipe.write("through the pipe").unwrap();
    drop(pipe);
    let mut read = String::new();
    fcntl_setfl(&reader, OFlags::empty()).unwrap();
    reader.read_to_string(&mut read).unwrap();
    assert_eq!(read, "through the pipe");
    assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
}

#[test]
fn a_pipe_whose_reader_has_gone_is_an_error_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = named_pipe(folder.path());
    let reader = reader_of(&path);
    let pipe = target(&path);
    pipe.check().unwrap();
    drop(reader);
    // A child that another test has just forked holds a copy of the descriptor until its exec.
    let refused = || {
        pipe.write("x").err().or_else(|| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            None
        })
    };
    let error = (0..10_000).find_map(|_| refused()).unwrap();
    assert_eq!(error.cause.kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn two_exports_to_one_target_are_refused_except_for_devices() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    symlink("file", &link).unwrap();
    let stdout = || Target::Stdout;
    let same = [[target(&file), target(&link)], [stdout(), stdout()]];
    for pair in same {
        let message = Target::check_all(pair.iter()).unwrap_err().to_string();
        assert!(message.contains("two exports have this target\nhelp: give each"), "{message}");
    }
    fs::write(&file, "").unwrap();
    assert!(Target::check_all([target(&file), target(&link)].iter()).is_err());
    let null = || target(Path::new("/dev/null"));
    let different = [null(), null(), stdout(), target(&file), target(&folder.path().join("other"))];
    Target::check_all(different.iter()).unwrap();
}

#[test]
fn a_message_does_not_name_the_temporary_file_and_suggests_a_folder_only_if_it_is_missing() {
    let missing = target(Path::new("/no/such/x")).check().unwrap_err().to_string();
    assert!(!missing.contains(".firstbyte-") && missing.contains("mkdir -p"), "{missing}");
    let proc = target(Path::new("/proc/firstbyte")).check().unwrap_err().to_string();
    assert!(!proc.contains(".firstbyte-") && !proc.contains("mkdir"), "{proc}");
}

/// A shell's `>(…)` is such a name.
#[test]
fn a_pipe_named_by_its_descriptor_is_written_in_place() {
    use std::os::fd::AsRawFd;
    let (mut reader, writer) = io::pipe().unwrap();
    let pipe = target(Path::new(&format!("/proc/self/fd/{}", writer.as_raw_fd())));
    pipe.check().unwrap();
    pipe.write("through the pipe").unwrap();
    drop((writer, pipe));
    let mut read = String::new();
    reader.read_to_string(&mut read).unwrap();
    assert_eq!(read, "through the pipe");
}
