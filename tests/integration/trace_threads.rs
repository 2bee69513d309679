//! `firstbyte trace` of threads that stop, wait and execute.

use super::support::skipped;
use super::trace::{compiled, result, spans};
use serde_json::Value;

/// A child stops its parent within `nanosleep`, continues it, ends the sleep with a signal that has a handler, and sends
/// the signal for which the parent waits. It waits until each of these has happened.
const STOPPED: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>
static void nothing(int number) {}
static void until_parent_is(char state)
{
	char path[64], text[512], *name_end;
	snprintf(path, sizeof path, "/proc/%d/stat", getppid());
	for (int tries = 0; tries < 20000; tries++) {
		int file = open(path, O_RDONLY);
		long length = read(file, text, sizeof text - 1);
		close(file);
		text[length > 0 ? length : 0] = 0;
		if ((name_end = strrchr(text, ')')) && name_end[2] == state)
			return;
		usleep(1000);
	}
	_exit(1);
}
int main(void)
{
	pid_t parent = getpid();
	struct timespec long_time = { 60, 0 };
	sigset_t set;
	int awake[2];
	char byte = 0;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, 0);
	signal(SIGUSR2, nothing);
	pipe(awake);
	if (fork() == 0) {
		until_parent_is('S');
		kill(parent, SIGSTOP);
		until_parent_is('T');
		usleep(20000);
		kill(parent, SIGCONT);
		until_parent_is('S');
		kill(parent, SIGUSR2);
		read(awake[0], &byte, 1);
		until_parent_is('S');
		kill(parent, SIGUSR1);
		_exit(0);
	}
	nanosleep(&long_time, 0);
	write(awake[1], &byte, 1);
	sigwaitinfo(&set, 0);
	return wait(0) < 0;
}
"#;

#[test]
fn a_stop_an_interrupted_call_and_a_wait_for_a_signal_have_names() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), STOPPED, &["-static"]) else {
        return skipped("no C compiler");
    };
    let Some(result) =
        result(&["--backend", "bpf", "-r", "1", "--thread", "main", "--", program.to_str().unwrap()])
    else {
        return skipped("the bpf backend does not work here");
    };
    let root = &result["processes"][0]["pid"];
    let waits = spans(&result, |span| {
        let waits = ["sleep", "stopped", "a signal"].map(Value::from).contains(&span["name"]);
        span["tid"] == *root && span["kind"] == "waiting" && waits
    });
    let names: Vec<&str> = waits.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sleep", "stopped", "sleep", "a signal"]);
    let stop = waits[1]["elapsed_ns"].as_u64().unwrap();
    assert!(stop >= 20_000_000, "it provably waited at least 20 ms: {stop}");
    let restarted = spans(&result, |span| span["name"] == "restart_syscall");
    let text = restarted[0]["detail"].as_str().unwrap();
    assert!(text.starts_with("restart_syscall() = "), "it has no arguments: {text}");
    let shares = result["attribution"].as_array().unwrap();
    assert!(shares.iter().any(|share| share["name"] == "stopped"), "{shares:?}");
}

/// A second thread executes the program again while the first waits and a third sleeps. With an argument, in a child.
const SECOND: &str = r#"
#include <pthread.h>
#include <unistd.h>
#include <sys/wait.h>
static void *execute(void *argument) { execl("/proc/self/exe", "tracee", "1", "2", (char *) 0); return argument; }
static void *sleeps(void *argument) { for (;;) usleep(500); return argument; }
int main(int count, char **words)
{
	if (count > 2)
		return write(1, "hello\n", 6) != 6;
	if (count > 1 && fork() != 0)
		return wait(0) < 0;
	pthread_t one, other;
	pthread_create(&one, 0, sleeps, 0);
	pthread_create(&other, 0, execute, 0);
	pause();
}
"#;

/// The spans of a thread are nested and never cross. A span's own time and the times of its parts sum to its duration.
fn assert_nested(result: &Value) {
    let number = |span: &Value, field: &str| span[field].as_u64().unwrap();
    let spans = result["spans"].as_array().unwrap();
    let mut threads: Vec<u64> = spans.iter().map(|span| number(span, "tid")).collect();
    threads.dedup();
    for thread in threads {
        let mut open: Vec<(u64, u64, &Value)> = Vec::new();
        for span in spans.iter().filter(|span| number(span, "tid") == thread) {
            let (start, whole) = (number(span, "start_ns"), number(span, "elapsed_ns"));
            while let Some(&(end, rest, parent)) = open.last().filter(|(end, ..)| *end <= start) {
                assert_eq!(rest, number(parent, "duration_ns"), "until {end}: {parent}");
                open.pop();
            }
            if let Some((end, rest, parent)) = open.last_mut() {
                assert!(start + whole <= *end, "{span} ends after {parent}");
                *rest -= whole;
            }
            open.push((start + whole, whole, span));
        }
    }
}

#[test]
fn the_exec_of_a_second_thread_does_not_overlap_with_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), SECOND, &["-static", "-pthread"]) else {
        return skipped("no C compiler");
    };
    let program = program.to_str().unwrap();
    // with untraced runs beside them, the runs by ptrace are corrected
    for (backend, runs, words, processes) in [
        ("bpf", "1", &[][..], 1),
        ("ptrace", "1", &[], 1),
        ("ptrace", "6", &[], 1),
        ("bpf", "1", &["child"], 2),
        ("ptrace", "1", &["child"], 2),
        ("ptrace", "6", &["child"], 2),
    ] {
        let command = ["--backend", backend, "-r", runs, "--", program];
        let Some(result) = result(&[&command[..], words].concat()) else {
            skipped("this machine does not trace so");
            continue;
        };
        assert_nested(&result);
        let counts = &result["counts"];
        assert_eq!((&counts["threads"], &counts["processes"]), (&(processes + 2).into(), &processes.into()));
        assert_eq!(counts["execs"], 2, "{backend}");
        let root = &result["processes"][0]["pid"];
        let own = spans(&result, |span| span["tid"] == *root);
        let sum: u64 = own.iter().map(|span| span["duration_ns"].as_u64().unwrap()).sum();
        assert_eq!(result["total_ns"], sum, "{backend}");
        let stages =
            spans(&result, |span| span["detail"].as_str().unwrap().starts_with("exec /proc/self/exe"));
        let has = |stage: &str, by_first: bool| {
            let of_stage = stages.iter().filter(|span| span["name"].as_str().unwrap().contains(stage));
            of_stage.filter(|span| (span["tid"] == span["pid"]) == by_first).count() == 1
        };
        assert!(has("open the file", false), "{backend}: the thread that called exec begins it: {stages:?}");
        assert!(has("return into", true), "{backend}: and returns as the first thread: {stages:?}");
    }
}

#[test]
fn a_fatal_signal_is_a_step_of_its_own_and_no_part_of_the_last_call() {
    for (script, last, death) in [
        ("echo hi; kill -SEGV $$", "kill", "death by SIGSEGV"),
        ("echo hi; kill -KILL $$", "kill", "death by SIGKILL"),
        ("(sleep 0.2; kill -TERM $$) & exec sleep 9", "clock_nanosleep", "death by SIGTERM"),
    ] {
        for backend in ["bpf", "ptrace"] {
            let words = ["--backend", backend, "-i", "-r", "1", "--", "sh", "-c", script];
            let Some(result) = result(&words) else { return };
            let spans = result["spans"].as_array().unwrap();
            let deaths: Vec<&Value> = spans.iter().filter(|span| span["kind"] == "death").collect();
            assert_eq!(deaths.len(), 1, "{backend}: {script}: {spans:?}");
            assert_eq!(deaths[0]["detail"], death);

            let is_before = |span: &&Value| span["start_ns"].as_u64() <= deaths[0]["start_ns"].as_u64();
            let calls =
                spans.iter().filter(|span| span["kind"] == "syscall" && span["tid"] == deaths[0]["tid"]);
            let calls: Vec<&Value> = calls.collect();
            assert!(calls.iter().all(is_before), "{backend}: {script}: {spans:?}");
            assert!(calls.last().is_some_and(|span| span["name"] == last), "{backend}: {script}: {spans:?}");
        }
    }
}

/// Lets seccomp kill it when it asks for its parent; with `READER` while another thread computes whose last call, `read`, returned
/// its own number.
const KILLED_IN_A_CALL: &str = r#"
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile int ended;
static inline void *reader(void *unused)
{
	char byte;
	ended = 1 + read(open("/dev/null", O_RDONLY), &byte, 1);
	for (;;)
		;
}
int main(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, KILL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, code };
#ifdef READER
	pthread_t thread;
	pthread_create(&thread, 0, reader, 0);
	while (!ended)
		;
#endif
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program))
		return 1;
	return getppid() < 0;
}
"#;

#[test]
fn a_call_in_which_seccomp_kills_never_returns() {
    let folder = tempfile::tempdir().unwrap();
    for how in ["PROCESS", "THREAD"] {
        let Some(program) =
            compiled(folder.path(), KILLED_IN_A_CALL, &[&format!("-DKILL=SECCOMP_RET_KILL_{how}")])
        else {
            return skipped("no C compiler");
        };
        for backend in ["bpf", "ptrace"] {
            let words = ["--backend", backend, "-i", "-r", "1", "--", program.to_str().unwrap()];
            let Some(result) = result(&words) else { return };
            let calls = spans(&result, |span| span["kind"] == "syscall");
            let last = calls.last().unwrap();
            assert_eq!(last["name"], "getppid", "{backend}: {how}");
            assert!(last["detail"].as_str().unwrap().ends_with(" = ?"), "{last}");
            let deaths = spans(&result, |span| span["detail"] == "death by SIGSYS");
            assert_eq!(deaths.len(), 1, "{backend}: {how}");
            assert!(last["start_ns"].as_u64() < deaths[0]["start_ns"].as_u64(), "{backend}: {how}");
        }
    }
}

#[test]
fn the_last_call_of_a_thread_that_dies_with_the_killed_one_has_returned() {
    let folder = tempfile::tempdir().unwrap();
    let beside = ["-DKILL=SECCOMP_RET_KILL_PROCESS", "-DREADER", "-pthread"];
    let Some(program) = compiled(folder.path(), KILLED_IN_A_CALL, &beside) else {
        return skipped("no C compiler");
    };
    let words = ["--backend", "ptrace", "-i", "-r", "1", "--", program.to_str().unwrap()];
    let Some(result) = result(&words) else { return };
    let last = |name: &str| spans(&result, |span| span["name"] == name).pop().cloned().unwrap();
    let [killed, reader] = ["getppid", "read"].map(last);
    assert_ne!(killed["tid"], reader["tid"]);
    for (call, result) in [(killed, " = ?"), (reader, " = 0")] {
        assert!(call["detail"].as_str().unwrap().ends_with(result), "{call}");
    }
}

/// The kernel tells only the end of such a call.
#[test]
fn a_call_that_seccomp_refuses_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let refused = ["-DKILL=SECCOMP_RET_ERRNO|38"];
    let Some(program) = compiled(folder.path(), KILLED_IN_A_CALL, &refused) else {
        return skipped("no C compiler");
    };
    let calls = ["bpf", "ptrace"].map(|backend| {
        let words = ["--backend", backend, "-i", "-r", "1", "--", program.to_str().unwrap()];
        let result = result(&words)?;
        let refused = spans(&result, |span| span["name"] == "getppid");
        let refused: Vec<Value> = refused.iter().map(|span| span["detail"].clone()).collect();
        Some((spans(&result, |span| span["kind"] == "syscall").len(), refused))
    });
    let [Some(bpf), Some(ptrace)] = calls else { return };
    assert_eq!(bpf, ptrace);
    assert_eq!(bpf.1, ["getppid() = -1 ENOSYS"]);
}
