//! What `firstbyte trace` shows of structures and of pipes, checked with programs that know it.

use super::support::skipped;
use super::trace::{compiled, traced};
use std::process::Command;

/// Connects to a socket that nobody listens at, sleeps, polls, waits for a child that exits with 3, and asks for the status
/// of a file.
const SHOWS: &str = r#"
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
	int status, ends[2], word = 1;
	struct stat file;
	struct statx extended;
	struct timeval instant = { 0, 0 };
	sigset_t set;
	struct rlimit limit;
	connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&local, sizeof local);
	connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&remote, sizeof remote);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	poll(&input, 1, 0);
	if (pipe(ends) || ends[0] < 0)
		return 1;
	if (fork() == 0)
		_exit(3);
	wait(&status);
	syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/fd", &file, 0);
	syscall(SYS_fstat, 1, &file);
	statx(AT_FDCWD, "/", 0, STATX_BASIC_STATS, &extended);
	signal(SIGUSR1, SIG_IGN);
	sigfillset(&set);
	sigdelset(&set, SIGINT);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8);
	syscall(SYS_futex, &word, FUTEX_WAIT, 1, &time, NULL, 0);
	select(0, NULL, NULL, NULL, &instant);
	getrlimit(RLIMIT_NOFILE, &limit);
	return write(1, "x\n", 2) != 2;
}
"#;

/// The calls of two posts, "Hello World Overdone" and "Startup Showdown", and those of "C Runtime Overhead" that read.
const EXCHANGES: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
	struct timespec time;
	struct stat file;
	struct statx extended;
	char room[64];
	struct iovec out[] = { { "hello world", 11 }, { "\n", 1 } }, in[] = { { room, 4 }, { room + 4, 60 } };
	int null = open("/dev/null", O_RDWR), ends[2];
	char *words = "Collaboratively administrate empowered markets";
	syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &time);
	syscall(SYS_fstat, null, &file);
	statx(AT_FDCWD, "/dev/null", 0, STATX_BASIC_STATS, &extended);
	if (pipe(ends) || write(1, "hello world\n", 12) != 12 || write(ends[1], words, 46) != 46)
		return 1;
	if (read(ends[0], room, 64) != 46 || read(null, room, 64) != 0)
		return 1;
	if (writev(1, out, 2) != 12 || write(ends[1], "secret\0\33[2J\377", 12) != 12 || readv(ends[0], in, 2) != 12)
		return 1;
	int pair[2];
	struct iovec bad[] = { { "abc", 3 }, { (void *)16, 5 }, { "de", 2 } }, said[] = { { "\1" "7z", 3 } };
	struct msghdr sent = { .msg_iov = said, .msg_iovlen = 1 }, received = { .msg_iov = in, .msg_iovlen = 2 };
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || sendmsg(pair[0], &sent, 0) != 3 || recvmsg(pair[1], &received, 0) != 3)
		return 1;
	if (sendto(pair[0], "GET\n", 4, 0, NULL, 0) != 4 || writev(1, bad, 3) > 3 || open((char *)16, O_RDONLY) != -1)
		return 1;
	open("caf\351\t\1" "7\"", O_RDONLY);
	return readlink("/proc/self/fd/0", room, 64) < 0 || write(-1, "nowhere", 7) != -1;
}
"#;

const BACKENDS: [&str; 2] = ["bpf", "ptrace"];

/// The list of steps; `None` where the backend does not work.
fn steps(backend: &str, words: &[&str]) -> Option<String> {
    let options = ["--backend", backend, "-r", "1", "--timeline"];
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
        let Some(text) = steps(backend, &["--", program.to_str().unwrap()]) else { continue };
        for expected in [
            "{sa_family=AF_UNIX, sun_path=\"/nobody/listens\"}",
            "{sa_family=AF_INET, 127.0.0.1:1}",
            "{tv_sec=0, tv_nsec=1234567}",
            "[{fd=1, events=POLLOUT}], 1, 0) = 1",
            "[{WIFEXITED(s) && WEXITSTATUS(s) == 3}]",
            "\"/proc/self/fd\", {st_mode=S_IFDIR|0500, st_size=",
            "{st_mode=S_IFIFO|0600, st_size=0, ...}) = 0",
            "{stx_mode=S_IFDIR|0755, stx_size=",
            "rt_sigaction(SIGUSR1, {sa_handler=SIG_IGN, sa_flags=SA_RESTORER|SA_RESTART, ...}, ",
            "rt_sigprocmask(SIG_BLOCK, ~[INT",
            "FUTEX_WAIT, 1, {tv_sec=0, tv_nsec=1234567}, ",
            "NULL, left {tv_sec=0, tv_",
            "RLIMIT_NOFILE, NULL, {rlim_cur=",
        ] {
            assert!(text.contains(expected), "{backend}: {expected} is missing in\n{text}");
        }
    }
}

/// What a program reads may be a password, so that is shown only to those who ask.
#[test]
fn what_is_written_and_read_is_shown_as_strace_shows_it() {
    let written = [
        "clock_gettime(CLOCK_PROCESS_CPUTIME_ID, {tv_sec=0, tv_nsec=",
        "/dev/null>, {st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...}) = 0",
        "{stx_mode=S_IFCHR|0666, stx_rdev=makedev(0x1, 0x3), ...}) = 0",
        ", \"hello world\\n\", 12) = 12",
        "[{iov_base=\"hello world\", iov_len=11}, {iov_base=\"\\n\", iov_len=1}], 2) = 12",
        "readlink(\"/proc/self/fd/0\", \"/dev/null\", 64) = 9",
        "write(-1, \"nowhere\", 7) = -1 EBADF",
        "{msg_iov=[{iov_base=\"\\0017z\", iov_len=3}], ...}, 0) = 3",
        ", \"GET\\n\", 4, 0, NULL, 0) = 4",
        "[{iov_base=\"abc\", iov_len=3}, {iov_base=0x10, iov_len=5}, {iov_base=\"de\", iov_len=2}], 3) = ",
        "openat(AT_FDCWD, 0x10, O_RDONLY) = -1 EFAULT",
        "openat(AT_FDCWD, \"caf\\351\\t\\0017\\\"\", O_RDONLY) = -1 ENOENT",
    ];
    let short = [", \"Collaboratively administrate emp\"..., 46) = 46"];
    let read = [
        ", \"Collaboratively administrate empowered markets\", 46) = 46",
        ", \"Collaboratively administrate empowered markets\", 64) = 46",
        ", \"\", 64) = 0",
        ", \"secret\\0\\33[2J\\377\", 12) = 12",
        "{msg_iov=[{iov_base=\"\\0017z\"}, {iov_base=\"\"}], ...}, 0) = 3",
        ", [{iov_base=\"secr\"}, {iov_base=\"et\\0\\33[2J\\377\"}], 2) = 12",
    ];

    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), EXCHANGES, &[]) else { return skipped("no C compiler") };
    let program = program.to_str().unwrap();
    for backend in BACKENDS {
        let Some(text) = steps(backend, &["--", program]) else { continue };
        let all = |options: &[&str]| steps(backend, &[options, &["--", program]].concat()).unwrap();
        let more = all(&["--strings", "100"]);
        for (text, expected) in [(&text, &short[..]), (&text, &written), (&more, &written), (&more, &read)] {
            for each in expected {
                assert!(text.contains(each), "{backend}: {each} is missing in\n{text}");
            }
        }
        assert_eq!(
            text.matches("Collaboratively").count(),
            1,
            "{backend}: what is read is not shown\n{text}"
        );
        assert!(!all(&["--strings", "0"]).contains("hello"), "{backend}: no bytes");
    }
}

/// Waits by `sigsuspend` for a signal, as zsh does for its children: first of a child that ends, then of a timer.
const SUSPENDS: &str = r#"
#define _GNU_SOURCE
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>
static void handler(int signal) { (void)signal; }
int main(void)
{
	sigset_t blocked, none;
	struct itimerval soon = { { 0, 0 }, { 0, 50000 } };
	sigemptyset(&none);
	sigfillset(&blocked);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	signal(SIGCHLD, handler);
	signal(SIGALRM, handler);
	if (fork() == 0) {
		usleep(50000);
		_exit(0);
	}
	sigsuspend(&none);
	setitimer(ITIMER_REAL, &soon, NULL);
	sigsuspend(&none);
	return write(1, "x\n", 2) != 2;
}
"#;

/// ptrace does not see when a thread waits, but the critical path goes through the child.
#[test]
fn a_wait_for_a_signal_that_a_child_sends_is_a_wait_for_the_child() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), SUSPENDS, &[]) else { return skipped("no C compiler") };
    let program = program.to_str().unwrap();
    for backend in BACKENDS {
        let Some(critical) = steps(backend, &["--", program]) else { continue };
        assert!(critical.contains("clock_nanosleep("), "{backend}: the child's sleep\n{critical}");
        let main = steps(backend, &["--thread", "main", "--", program]).unwrap();
        let count = |text: &str| main.matches(text).count();
        let expected = if backend == "bpf" { (1, 1) } else { (0, 0) };
        let found = (count("waiting for a child's exit"), count("waiting for a signal"));
        assert_eq!(found, expected, "{backend}\n{main}");
        let named =
            main.lines().filter(|line| line.contains("rt_sigsuspend(") && line.contains(", child ")).count();
        assert_eq!(named, expected.0, "{backend}: the call names the child\n{main}");
    }
}

#[test]
fn a_pipe_is_named_after_the_program_at_its_other_end() {
    if Command::new("bash").arg("--version").output().is_err() {
        return skipped("no bash");
    }
    for backend in BACKENDS {
        let words = ["--", "bash", "-c", "x=$(sleep 0.2; echo 1); echo $x"];
        let Some(text) = steps(backend, &words) else { continue };
        assert!(text.contains("<pipe from bash"), "{backend}: the subshell still has it\n{text}");
    }
}
