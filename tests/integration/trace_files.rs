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

/// Reads 1000 bytes of a file by each of the five calls that read, 777 of a pipe and nothing of a socket pair.
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
fn bytes_read_are_those_of_every_call_that_reads_and_the_same_as_counted() {
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
            skipped("this machine does not trace so");
            continue;
        };
        let known = result["files"].as_array().unwrap().iter().find(|known| known["path"] == file).unwrap();
        assert_eq!(known["bytes_read"], 5000, "{backend}");
        assert_eq!(known["calls"], 5, "{backend}: the five reads");
        assert_eq!(result["counts"]["bytes_read"], 5777, "{backend}: those of the pipe, too");
        assert_eq!(counted["results"][0]["counts"]["bytes_read"], 5777);
    }
}
