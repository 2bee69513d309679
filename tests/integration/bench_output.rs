//! `firstbyte bench --output` and `--show-output`: where the output of the programs goes.

use crate::bench::{exported, firstbyte, folder};
use crate::support::skipped;
use crate::trace::compiled;
use std::fs;
use std::process::Command;

/// One run of each command, and no other.
const ONCE: [&str; 4] = ["--runs", "1", "--warmup=0", "--no-counts"];

#[test]
fn shown_output_is_on_our_stdout_and_stderr_before_the_results() {
    for backend in ["auto", "ptrace", "pipe"] {
        for option in ["--show-output", "--output=inherit"] {
            let command = "sh -c 'echo out-4fd47015; echo err-4fd47015 >&2'";
            let ran = firstbyte(
                folder().path(),
                &[&["bench", "--backend", backend, option], &ONCE[..], &[command]].concat(),
            );
            let stdout = String::from_utf8(ran.stdout).unwrap();
            let stderr = String::from_utf8(ran.stderr).unwrap();
            if ran.status.code() == Some(4) {
                skipped(&format!("{backend} does not work here"));
                continue;
            }
            assert!(ran.status.success(), "{stderr}");
            assert!(stdout.starts_with("out-4fd47015\n"), "{backend}: {stdout}");
            assert_eq!(stderr.lines().filter(|line| *line == "err-4fd47015").count(), 1, "{stderr}");
            let words = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains("firstbyte's own stdout"), "a warning says so: {stdout}");
        }
    }
}

#[test]
fn the_first_byte_is_seen_on_a_stdout_that_is_shown() {
    let folder = folder();
    let options = ["bench", "--show-output", "--no-overhead", "--export-json", "out.json"];
    let ran = firstbyte(folder.path(), &[&options[..], &ONCE, &["echo hi", "true"]].concat());
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let text = fs::read(folder.path().join("out.json")).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&text).unwrap();
    if document["tool"]["backend"] == "pipe" {
        return skipped("no tracer works here");
    }
    let first_byte = |place: usize| &document["results"][place]["phases"]["first_byte"];
    assert!(first_byte(0).is_object() && first_byte(1).is_null(), "{document}");
    assert_eq!(document["results"][0]["plan"]["output"], "inherit");
}

#[test]
fn each_command_may_have_a_file_which_the_last_run_leaves() {
    let folder = folder();
    let output = ["--output", "./a/out", "--output", "pipe", "--setup", "mkdir -p a; echo old > a/out"];
    let (document, status) = exported(
        folder.path(),
        &[&output[..], &["--runs", "3", "--no-counts", "echo one", "echo three"]].concat(),
    );
    assert_eq!(status, Some(0), "{document}");
    assert_eq!(fs::read_to_string(folder.path().join("a/out")).unwrap(), "one\n", "each run replaces it");
    let bytes = |place: usize| document["results"][place]["output"]["bytes"].as_u64();
    assert_eq!((bytes(0), bytes(1)), (Some(4), Some(6)));
    let kinds = |place: usize| document["results"][place]["plan"]["output"].as_str();
    assert_eq!((kinds(0), kinds(1)), (Some("file"), Some("pipe")));
}

#[test]
fn an_output_that_cannot_be_is_refused_before_anything_runs() {
    let table: [(&[&str], &str); 7] = [
        (&["--output", "nowhere"], "--output ./nowhere"),
        (&["--output", "no/such/file"], "mkdir -p"),
        (&["--output", "/"], "not a regular file"),
        (&["--output", "null", "--show-output"], "cannot be used with"),
        (&["--show-output", "--export-json", "-"], "would both go to stdout"),
        (&["--output", "null", "--output", "pipe"], "--output is given 2 times for 1 command"),
        (&["--output", "./out.json", "--export-json", "out.json"], "an export would replace it"),
    ];
    for (words, clue) in table {
        let folder = folder();
        fs::write(folder.path().join("out.json"), "before").unwrap();
        let ran = firstbyte(folder.path(), &[&["bench", "touch ran"], words].concat());
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(clue), "{words:?}: {said}");
        assert!(!folder.path().join("ran").exists());
        assert_eq!(fs::read_to_string(folder.path().join("out.json")).unwrap(), "before");
    }
}

#[test]
fn null_is_an_empty_stdin_as_in_hyperfine() {
    let (document, status) = exported(folder().path(), &[&["--input", "null"], &ONCE[..], &["cat"]].concat());
    assert_eq!((status, document["results"][0]["output"]["bytes"].as_u64()), (Some(0), Some(0)));
}

/// Fails unless its stdout and stderr are like new pipes, prints, and then changes how they work, as `argv[1]` says.
const CHANGES_ITS_PIPES: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int how = atoi(argv[1]);
	for (int fd = 1; fd <= 2; fd++) {
		int changed = (fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK | O_APPEND | O_DIRECT)) != O_WRONLY;
		if (changed || fcntl(fd, F_GETPIPE_SZ) != 16 * sysconf(_SC_PAGESIZE))
			return 10 + fd;
		if (write(fd, "text", 4) != 4)
			return 20 + fd;
		if (how == 1)
			fcntl(fd, F_SETFL, O_WRONLY | O_NONBLOCK);
		if (how == 2)
			fcntl(fd, F_SETPIPE_SZ, 1 << 17);
	}
	return 0;
}
"#;

#[test]
fn what_a_run_does_to_its_pipes_does_not_reach_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), CHANGES_ITS_PIPES, &[]) else {
        return skipped("no C compiler");
    };
    let commands = ["0", "1", "2"].map(|how| format!("{} {how}", program.display()));
    for backend in ["auto", "ptrace", "pipe"] {
        let mut bench = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
        bench.args(["bench", "-N", "--runs", "10", "--no-counts", "--backend", backend]).args(&commands);
        let ended = bench.output().unwrap();
        assert!(ended.status.success(), "{backend}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}
