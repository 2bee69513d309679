//! Where `firstbyte bench` writes: pipes, and several files.

use crate::bench::{firstbyte, folder};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A named pipe in a folder.
fn named_pipe(folder: &Path) -> std::path::PathBuf {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let path = folder.join("pipe");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    path
}

#[test]
fn a_pipe_gets_only_the_final_document_without_the_checkpoints() {
    use rustix::fs::{Mode, OFlags};
    let folder = folder();
    let pipe = named_pipe(folder.path());
    let mut cat = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().unwrap();
    // The pipe has a reader once it can be opened for writing without blocking.
    let held = loop {
        match rustix::fs::open(&pipe, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) {
            Ok(held) => break held,
            Err(_) => std::thread::yield_now(),
        }
    };
    let words = ["bench", "--runs", "4", "--no-counts", "true", "echo hi", "--export-json", "pipe"];
    let ran = firstbyte(folder.path(), &words);
    drop(held);
    let mut text = String::new();
    std::io::Read::read_to_string(cat.stdout.as_mut().unwrap(), &mut text).unwrap();
    cat.wait().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((document["results"].as_array().unwrap().len(), &document["partial"]), (2, &false.into()));
}

#[test]
fn a_shells_process_substitution_gets_one_document_too() {
    let folder = folder();
    let script = format!(
        "{} bench --runs 4 --no-counts true 'echo hi' --export-json >(cat > out) > /dev/null; wait $!",
        env!("CARGO_BIN_EXE_firstbyte")
    );
    let ran = Command::new("bash").args(["-c", &script]).current_dir(folder.path()).output();
    let Ok(ran) = ran else { return crate::support::skipped("there is no bash") };
    assert!(ran.status.success(), "{ran:?}");
    let text = fs::read_to_string(folder.path().join("out")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["results"].as_array().unwrap().len(), 2);
}

#[test]
fn a_pipe_without_a_reader_is_refused_before_the_first_run() {
    let folder = folder();
    named_pipe(folder.path());
    let ran = firstbyte(folder.path(), &["bench", "touch ran", "--export-json", "pipe"]);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{said}");
    assert!(
        said.contains("no process has it open for reading") && !folder.path().join("ran").exists(),
        "{said}"
    );
}

#[test]
fn two_exports_to_the_same_place_and_missing_processors_are_wrong_usage() {
    let table: [(&[&str], &str); 4] = [
        (&["--export-json", "x", "--export-csv", "./x"], "two exports"),
        (&["--export-json", "-", "--export-csv", "-"], "two exports"),
        (&["--cpus", "1023"], "there is no processor 1023, only "),
        (&["--export-csv", "/no/such/x"], "cannot write `/no/such/x`: No such file or directory"),
    ];
    for (words, clue) in table {
        let ran = firstbyte(folder().path(), &[&["bench", "true"], words].concat());
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{said}");
        assert!(said.contains(clue) && said.contains("help: ") && !said.contains(".firstbyte-"), "{said}");
    }
}

#[test]
fn every_markup_lists_what_limits_the_figures() {
    for (option, line) in [
        ("--export-markdown", "\n- `false`: every run failed (status 1)\n"),
        ("--export-asciidoc", "\n* `+false+`: `+every run failed (status 1)+`\n"),
        ("--export-orgmode", "\n- =false=: =every run failed (status 1)=\n"),
    ] {
        let words =
            ["bench", "-i", "--runs", "2", "--no-counts", "--style", "none", option, "-", "false", "true"];
        let stdout = String::from_utf8(firstbyte(folder().path(), &words).stdout).unwrap();
        assert!(stdout.contains(line), "{stdout}");
        assert_eq!(stdout.matches("every run failed").count(), 1, "{stdout}");
    }
}
