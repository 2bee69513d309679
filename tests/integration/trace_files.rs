//! The file to which a trace attributes a step.

use super::support::skipped;
use super::trace::{compiled, result, spans};
use serde_json::Value;

/// Opens the files in its arguments.
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
fn long_paths_are_complete_and_none_are_merged() {
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
            skipped("this backend does not work here");
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
fn bytes_read_from_a_pipe_belong_to_no_file() {
    for backend in ["bpf", "ptrace"] {
        let command = ["--backend", backend, "--runs", "1", "--", "sh", "-c", "echo hello | cat >/dev/null"];
        let Some(result) = result(&command) else {
            skipped("this backend does not work here");
            continue;
        };
        let files = result["files"].as_array().unwrap();
        let stdin = files.iter().find(|file| file["path"] == "stdin");
        let read = stdin.map_or(0, |stdin| stdin["bytes_read"].as_u64().unwrap());
        assert_eq!(read, 0, "{backend}: stdin is empty, only the pipe is not: {stdin:?}");
        let of_pipe = spans(&result, |span| {
            span["detail"]
                .as_str()
                .is_some_and(|call| call.starts_with("read(0<pipe") && call.ends_with(" = 6"))
        });
        assert!(of_pipe.len() == 1 && of_pipe[0]["file"].is_null(), "{backend}: {of_pipe:?}");
    }
}

/// Reads 1000 bytes of a file with each of the five calls that read, 777 bytes of a pipe and none of a socket pair.
const READS: &str = r"
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
static char bytes[1000];
int main(int count, char **words)
{
	struct iovec whole = { bytes, sizeof bytes };
	int file = open(words[1], O_RDONLY), pipes[2], sockets[2];
	read(file, bytes, 1000);
	pread(file, bytes, 1000, 1);
	readv(file, &whole, 1);
	preadv(file, &whole, 1, 2);
	preadv2(file, &whole, 1, 3, 0);
	pipe(pipes);
	write(pipes[1], bytes, 777);
	read(pipes[0], bytes, 777);
	socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
	send(sockets[0], bytes, 55, 0);
	return recv(sockets[1], bytes, 55, 0) != 55;
}
";

#[test]
fn every_call_that_reads_is_included_in_the_bytes_read_also_in_the_count() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    std::fs::write(&file, vec![7; 5000]).unwrap();
    let file = file.to_str().unwrap();
    let Some(program) = compiled(folder.path(), READS, &["-static"]) else { return skipped("no C compiler") };
    let program = program.to_str().unwrap();
    let command = format!("{program} {file}");
    let counted = super::trace::firstbyte(&["bench", "-r", "3", "--export-json", "-", &command]);
    let counted: Value = serde_json::from_str(&counted.1).unwrap();
    for backend in ["bpf", "ptrace"] {
        let Some(result) = result(&["--backend", backend, "--runs", "1", "--", program, file]) else {
            skipped("this backend does not work here");
            continue;
        };
        let known = result["files"].as_array().unwrap().iter().find(|known| known["path"] == file).unwrap();
        assert_eq!(known["bytes_read"], 5000, "{backend}");
        assert_eq!(known["calls"], 5, "{backend}: the five reads");
        assert_eq!(result["counts"]["bytes_read"], 5777, "{backend}: including those of the pipe");
        assert_eq!(counted["results"][0]["counts"]["bytes_read"], 5777);
    }
}
