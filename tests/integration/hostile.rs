//! `firstbyte cc` and `firstbyte elf` when something is wrong with the compiler, the names or the folders.

use crate::support::skipped;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn firstbyte(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.env("FIRSTBYTE_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile-cache"));
    command.env_remove("FIRSTBYTE_CC").env_remove("FIRSTBYTE_RUNTIME");
    command.envs(environment.iter().copied()).output().unwrap()
}

/// Checks the status, and the error with its help line.
#[track_caller]
fn refused(output: &Output, status: i32, word: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{said}");
    assert!(said.starts_with("error: ") && said.contains("\nhelp: ") && said.contains(word), "{said}");
    assert!(output.stdout.is_empty(), "{output:?}");
}

fn source(folder: &Path, name: &str) {
    fs::write(folder.join(name), "#include <stdio.h>\nint main(void) { return puts(\"hello\") < 0; }\n")
        .unwrap();
}

#[test]
fn names_with_spaces_and_quotes_reach_the_compiler_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    source(folder.path(), "a b'c\"$d.c");
    if Command::new("cc").arg("--version").output().is_err() {
        return skipped("`cc` is missing; help: `apt-get install gcc`");
    }
    let done = firstbyte(folder.path(), &["cc", "a b'c\"$d.c", "-o", "o p'q"], &[]);
    assert!(done.status.success(), "{done:?}");
    let ran = Command::new(folder.path().join("o p'q")).output().unwrap();
    assert_eq!((ran.status.code(), &*ran.stdout), (Some(0), &b"hello\n"[..]));
}

#[test]
fn without_a_compiler_or_a_cache_the_error_names_the_fix() {
    let folder = tempfile::tempdir().unwrap();
    source(folder.path(), "x.c");
    let build = ["cc", "x.c", "-o", "x"];
    let run = |environment: &[(&str, &str)]| firstbyte(folder.path(), &build, environment);
    refused(&run(&[("PATH", "/nonexistent")]), 4, "no C compiler");
    refused(&run(&[("FIRSTBYTE_CC", "/nonexistent")]), 4, "FIRSTBYTE_CC=/nonexistent");
    refused(&run(&[("FIRSTBYTE_CACHE", "/dev/null/x")]), 4, "/dev/null/x");
    refused(&run(&[("FIRSTBYTE_RUNTIME", "/nonexistent")]), 4, "/nonexistent");
    refused(&firstbyte(folder.path(), &["cc", "--target", "sparc", "x.c"], &[]), 2, "`sparc`");
    refused(&firstbyte(folder.path(), &["cc", "-shared", "x.c"], &[]), 2, "`-shared`");
    assert!(!folder.path().join("x").exists());
}

#[test]
fn without_a_folder_for_temporary_files_the_error_names_the_variable() {
    let folder = tempfile::tempdir().unwrap();
    let measure = ["floor", "--quick", "--only", "syscalls"];
    let output = firstbyte(folder.path(), &measure, &[("TMPDIR", "/nonexistent")]);
    refused(
        &output,
        4,
        "cannot create a temporary file in `/nonexistent`: No such file or directory (os error 2)\n",
    );
    refused(&output, 4, "export TMPDIR=DIR");
}

#[test]
fn the_compilers_own_errors_and_status_are_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    if Command::new("cc").arg("--version").output().is_err() {
        return skipped("`cc` is missing; help: `apt-get install gcc`");
    }
    source(folder.path(), "x.c");
    for arguments in [&["cc", "missing.c", "-o", "x"][..], &["cc", "x.c", "-o", "/nonexistent/x"]] {
        let done = firstbyte(folder.path(), arguments, &[]);
        assert_eq!(done.status.code(), Some(1), "{done:?}");
        assert!(!done.stderr.is_empty());
    }
}

#[test]
fn files_that_cannot_be_written_are_reported_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let write = |to: &str| firstbyte(folder.path(), &["elf", "--message", "x", "-o", to], &[]);
    for to in ["nowhere/x", "/", "/dev/full"] {
        let output = write(to);
        refused(&output, 4, &format!("`{to}` could not be written"));
        assert!(!String::from_utf8_lossy(&output.stderr).contains(".tmp"), "{output:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    refused(&firstbyte(folder.path(), &["elf", "--message-file", "none", "-o", "x"], &[]), 2, "`none`");
}

#[test]
fn a_message_of_a_mebibyte_is_read_from_a_file_and_printed_completely() {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return skipped("we write no executables for this machine");
    }
    let folder = tempfile::tempdir().unwrap();
    let text: Vec<u8> = (0..1 << 20).map(|i: u32| i.to_le_bytes()[1]).collect();
    fs::write(folder.path().join("text"), &text).unwrap();
    for layout in ["plain", "packed"] {
        let arguments = ["elf", "--message-file", "text", "--exit", "7", "--layout", layout, "-o", layout];
        let done = firstbyte(folder.path(), &arguments, &[]);
        assert!(done.status.success(), "{done:?}");
        let ran = Command::new(folder.path().join(layout)).output().unwrap();
        assert_eq!(ran.status.code(), Some(7));
        assert!(ran.stdout == text, "{layout}");
    }
}

/// A limit on the size of files (`ulimit -f`, in KiB or half of that) is an error like any other, and leaves nothing
/// behind. The programs that we run are subject to it as they would be without us.
#[test]
fn a_limit_on_file_sizes_is_an_error_and_does_not_kill_firstbyte() {
    let folder = tempfile::tempdir().unwrap();
    let limited = |arguments: &str| {
        let script = format!("trap - XFSZ; ulimit -f 1; \"$0\" {arguments} | cat");
        let script = format!("set -o pipefail; {script}");
        let mut command = Command::new("bash");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_firstbyte")]).current_dir(folder.path());
        command.env("FIRSTBYTE_CACHE", folder.path().join("cache")).stdin(Stdio::null()).output().unwrap()
    };
    let bench = "bench --runs 2 --warmup=0 --no-overhead --no-counts --backend pipe";
    let output = limited(&format!("{bench} --export-json exported true >/dev/null"));
    refused(&output, 4, "cannot write `exported`: File too large (os error 27)\nhelp: allow larger files");
    let program = format!("{bench} --output file --export-json - 'head -c 9999 /dev/zero'");
    let output = limited(&program);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("SIGXFSZ"), "{output:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Too few descriptors are the fault of this machine and not of a program. No message says that `true` failed.
#[test]
fn too_few_descriptors_are_not_reported_as_a_programs_fault() {
    let folder = tempfile::tempdir().unwrap();
    for backend in ["ptrace", "pipe"] {
        for most in 4..=16 {
            let arguments = format!("bench --runs 1 --no-overhead --no-counts --backend {backend} true");
            let script = format!("ulimit -n {most}; exec \"$0\" {arguments}");
            let mut command = Command::new("sh");
            command.args(["-c", &script, env!("CARGO_BIN_EXE_firstbyte")]).current_dir(folder.path());
            let output = command.env("FIRSTBYTE_CACHE", folder.path()).output().unwrap();
            if !output.status.success() {
                refused(&output, 4, "cannot get ");
            }
        }
    }
}
