//! Which file a step of a trace is booked to.

use super::support::skipped;
use super::trace::{compiled, result, spans};
use serde_json::Value;

/// Opens the files that it is given.
const DEEP: &str = r"
#include <fcntl.h>
#include <stdio.h>
int main(int count, char **words)
{
	for (int n = 1; n < count; n++)
		if (open(words[n], O_RDONLY) < 0)
			return 1;
	return rename(words[1], words[1]);
}
";

#[test]
fn long_paths_are_told_whole_and_no_two_become_one() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join(["a", "é", "c"].map(|letter| letter.repeat(120)).join("/"));
    let deeper = deep.join(vec!["d".repeat(250); 9].join("/"));
    std::fs::create_dir_all(&deeper).unwrap();
    let files = [deep.join("one.txt"), deep.join("two.txt"), deeper.join("one.txt"), deeper.join("two.txt")];
    for file in &files {
        std::fs::write(file, "x").unwrap();
    }
    let Some(program) = compiled(folder.path(), DEEP, &[]) else { return skipped("no C compiler") };
    for backend in ["bpf", "ptrace"] {
        let names = std::iter::once(&program).chain(&files).map(|path| path.to_str().unwrap());
        let command: Vec<&str> =
            ["--backend", backend, "--runs", "1", "--"].into_iter().chain(names).collect();
        let Some(result) = result(&command) else {
            skipped("this machine does not trace so");
            continue;
        };
        for file in &files {
            let known = result["files"]
                .as_array()
                .unwrap()
                .iter()
                .find(|known| known["path"] == file.to_str().unwrap());
            assert_eq!(
                known.map(|known| &known["opened"]),
                Some(&Value::from(1)),
                "{backend}: {}",
                file.display()
            );
        }
    }
}

#[test]
fn what_goes_through_a_pipe_is_no_file_s() {
    for backend in ["bpf", "ptrace"] {
        let command = ["--backend", backend, "--runs", "1", "--", "sh", "-c", "echo hello | cat >/dev/null"];
        let Some(result) = result(&command) else {
            skipped("this machine does not trace so");
            continue;
        };
        let files = result["files"].as_array().unwrap();
        let stdin = files.iter().find(|file| file["path"] == "stdin");
        let read = stdin.map_or(0, |stdin| stdin["bytes_read"].as_u64().unwrap());
        assert_eq!(read, 0, "{backend}: the stdin is empty, the pipe is not: {stdin:?}");
        let of_pipe = spans(&result, |span| {
            span["detail"].as_str().is_some_and(|call| call.starts_with("read(0, ") && call.ends_with(" = 6"))
        });
        assert!(of_pipe.len() == 1 && of_pipe[0]["file"].is_null(), "{backend}: {of_pipe:?}");
    }
}
