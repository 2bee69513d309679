//! What `firstbyte trace` shows of structures and of pipes, checked with programs that know it.

use super::support::skipped;
use super::trace::{compiled, traced};
use std::process::Command;

/// Connects to a socket that nobody listens at, sleeps, polls, and waits for a child that exits with 3.
const SHOWS: &str = r#"
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
	struct sockaddr_un local = { AF_UNIX, "/nobody/listens" };
	struct sockaddr_in remote = { .sin_family = AF_INET, .sin_port = htons(1) };
	remote.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	struct timespec time = { 0, 1234567 };
	struct pollfd input = { 1, POLLOUT, 0 };
	int status, ends[2];
	connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&local, sizeof local);
	connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&remote, sizeof remote);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	poll(&input, 1, 0);
	if (pipe(ends) || ends[0] < 0)
		return 1;
	if (fork() == 0)
		_exit(3);
	wait(&status);
	return write(1, "x\n", 2) != 2;
}
"#;

const BACKENDS: [&str; 2] = ["bpf", "ptrace"];

/// The list of steps; `None` where the backend does not work.
fn steps(backend: &str, words: &[&str]) -> Option<String> {
    let options = ["--backend", backend, "-r", "1", "--timeline", "--"];
    let text = traced(&[&options, words].concat());
    if text.is_none() {
        skipped(&format!("the {backend} backend does not work here"));
    }
    text
}

#[test]
fn structures_are_shown_as_strace_shows_them() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), SHOWS, &[]) else { return skipped("no C compiler") };
    for backend in BACKENDS {
        let Some(text) = steps(backend, &[program.to_str().unwrap()]) else { continue };
        for expected in [
            "{sa_family=AF_UNIX, sun_path=\"/nobody/listens\"}",
            "{sa_family=AF_INET, 127.0.0.1:1}",
            "{tv_sec=0, tv_nsec=1234567}",
            "[{fd=1, events=POLLOUT}], 1, 0) = 1",
            "[{WIFEXITED(s) && WEXITSTATUS(s) == 3}]",
        ] {
            assert!(text.contains(expected), "{backend}: {expected} is missing in\n{text}");
        }
    }
}

#[test]
fn a_pipe_is_named_after_the_program_at_its_other_end() {
    if Command::new("bash").arg("--version").output().is_err() {
        return skipped("no bash");
    }
    for backend in BACKENDS {
        let words = ["bash", "-c", "x=$(sleep 0.2; echo 1); echo $x"];
        let Some(text) = steps(backend, &words) else { continue };
        assert!(text.contains("<pipe from bash"), "{backend}: the subshell still has it\n{text}");
    }
}
