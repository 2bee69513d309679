//! How `firstbyte trace` takes its command and makes its runs: the options that it shares with `bench`.

use super::support::skipped;
use super::trace::{compiled, firstbyte, result, spans, traced};
use serde_json::Value;
use std::net::TcpListener;

const NO_TRACER: &str = "no backend works here";

/// The words of the program that was executed.
fn argv(result: &Value) -> Vec<&str> {
    let words = result["processes"][0]["execs"][0]["argv"].as_array().unwrap();
    words.iter().map(|word| word.as_str().unwrap()).collect()
}

#[test]
fn the_first_word_that_is_no_option_begins_the_command() {
    let table: [(&[&str], &[&str]); 5] = [
        (&["true"], &["true"]),
        (&["echo 'a  b' c"], &["echo", "a  b", "c"]),
        (&["--", "echo", "a  b", "-c"], &["echo", "a  b", "-c"]),
        (&["echo", "--version", "--", "-c"], &["echo", "--version", "--", "-c"]),
        (&["-S", "echo a | cat"], &["/bin/sh", "-c", "echo a | cat"]),
    ];
    for (arguments, words) in table {
        let all: Vec<&str> =
            ["-r", "1", "--backend", "ptrace"].into_iter().chain(arguments.iter().copied()).collect();
        let Some(result) = result(&all) else { return skipped(NO_TRACER) };
        assert_eq!(argv(&result), words, "{arguments:?}");
    }
}

#[test]
fn what_is_no_single_command_is_refused_with_the_right_way_to_write_it() {
    let table: [(&[&str], &str); 5] = [
        (&[], "help: name one, as in firstbyte trace ls -l"),
        (&["-S", "ls", "-l"], "firstbyte trace -S 'ls | wc'"),
        (&["--cache", "warm,cold", "ls"], "help: use --cache warm, and then --cache cold"),
        (&["--input", "/nonexistent", "ls"], "`/nonexistent` cannot be read"),
        (&["'ls"], "has a quote that is not closed"),
    ];
    for (arguments, expected) in table {
        let all: Vec<&str> = std::iter::once("trace").chain(arguments.iter().copied()).collect();
        let (status, _, errors) = firstbyte(&all);
        assert_eq!(status, Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(expected), "{arguments:?}: {errors}");
    }
}

#[test]
fn the_input_is_stdin_and_variables_are_set() {
    let folder = tempfile::tempdir().unwrap();
    let (input, out) = (folder.path().join("input"), folder.path().join("out"));
    std::fs::write(&input, "123456789").unwrap();
    let script = format!("cat; echo $COLOUR > {}", out.display());
    let input = input.to_str().unwrap();
    let arguments = ["-r", "1", "--env", "COLOUR=red", "--input", input, "-S", &script];
    if traced(&arguments).is_none() {
        return skipped(NO_TRACER);
    }
    assert_eq!(std::fs::read_to_string(out).unwrap(), "red\n");
    let words = ["-r", "1", "--backend", "ptrace", "--input", input, "cat"];
    let Some(result) = result(&words) else { return skipped(NO_TRACER) };
    let writes = spans(&result, |span| span["name"] == "write" && span["detail"] != Value::Null);
    assert!(writes.iter().any(|span| span["detail"].as_str().unwrap().ends_with("= 9")), "{writes:?}");
}

#[test]
fn a_failing_program_shows_the_end_of_its_stderr() {
    let script = "echo one >&2; echo two >&2; exit 3";
    let (status, text, errors) = firstbyte(&["trace", "-r", "2", "-S", script]);
    if status == Some(4) {
        return skipped(NO_TRACER);
    }
    assert_eq!(status, Some(3), "{errors}");
    assert!(text.contains("exit status 3.\n  stderr: one\n  stderr: two\n"), "{text}");
    let ignoring = firstbyte(&["trace", "-r", "1", "-i", "--json", "-S", script]);
    assert_eq!(ignoring.0, Some(0), "{}", ignoring.2);
    let document: Value = serde_json::from_str(&ignoring.1).unwrap();
    assert_eq!(document["results"][0]["stderr"], serde_json::json!(["one", "two"]));
    // one more where CPUID instructions trap
    let executions = document["results"][0]["executions"].as_u64();
    assert!(matches!(executions, Some(1 | 2)), "{executions:?}");

    let (status, text, _) = firstbyte(&["bench", "-r", "2", "--no-counts", "-S", script]);
    assert_eq!(status, Some(3));
    assert!(text.contains("    stderr: one\n    stderr: two\n"), "{text}");
}

#[test]
fn a_run_ends_at_a_text_in_its_stderr_and_its_account_ends_there() {
    let script = "echo ready >&2; sleep 100; echo never";
    let arguments = ["-r", "1", "--until", "ready", "-S", script];
    let Some(result) = result(&arguments) else { return skipped("the bpf backend does not work here") };
    let total = result["total_ns"].as_u64().unwrap();
    let own = result["attribution"].as_array().unwrap();
    assert_eq!(own.iter().map(|share| share["ns"].as_u64().unwrap()).sum::<u64>(), total);
    let late = spans(&result, |span| span["start_ns"].as_u64().unwrap() > total);
    assert!(late.is_empty(), "{late:?}");
    let Some(text) = traced(&arguments) else { return skipped(NO_TRACER) };
    let shown = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains("Each run ended when it printed `ready`; then the program was stopped."),
        "{text}"
    );
    let (status, _, errors) = firstbyte(&["trace", "--until", "ready", "-S", "echo no >&2"]);
    assert_eq!(status, Some(3));
    assert!(errors.contains("ended before it printed `ready`; its stderr ends with:\n  no\n"), "{errors}");
}

/// Listens on the port of its argument and waits for a signal.
const SERVER: &str = r"
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int count, char **words)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in address = { AF_INET, htons(atoi(words[1])) };
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 1))
		return 1;
	for (;;)
		pause();
}
";

#[test]
fn a_silent_server_is_ready_when_it_listens() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = compiled(folder.path(), SERVER, &[]) else { return skipped("no C compiler") };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let command = format!("{} {port}", server.display());

    let (status, _, errors) = firstbyte(&["bench", "-r", "1", "--until-port", &port, &command]);
    assert_eq!(status, Some(4), "{errors}");
    assert!(errors.contains(&format!("something listens on port {port} already")), "{errors}");
    drop(listener);

    for backend in ["auto", "ptrace", "pipe"] {
        let all = ["bench", "-r", "3", "--no-counts", "--backend", backend, "--until-port", &port, "--json"];
        let (status, text, errors) =
            firstbyte(&all.into_iter().chain([command.as_str()]).collect::<Vec<_>>());
        assert_eq!(status, Some(0), "{backend}: {errors}{text}");
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["results"][0]["plan"]["until"]["port"].to_string(), port);
    }

    let Some(silent) = result(&["-r", "1", "--backend", "ptrace", "--until-port", &port, &command]) else {
        return skipped(NO_TRACER);
    };
    // we see that it listens only later, but the run ends when the call returns
    let all = spans(&silent, |_| true);
    assert_eq!(all[all.len() - 1]["name"], "listen", "{all:?}");
    assert_eq!(spans(&silent, |span| span["name"] == "listen").len(), 1);
    assert_eq!(silent["until"]["port"].to_string(), port);

    // the shell waits for the server, which is the one that listens
    let shell = format!("{} {port} & wait", server.display());
    let Some(result) = result(&["-r", "1", "--until-port", &port, "-S", &shell]) else {
        return skipped(NO_TRACER);
    };
    let path = result["critical_path"].as_array().unwrap();
    assert_eq!(path[path.len() - 1]["program"], "tracee", "{path:?}");
    assert_eq!(spans(&result, |span| span["name"] == "pause").len(), 0);
}

#[test]
fn a_cold_trace_waits_for_the_disk_and_says_so() {
    let (status, text, errors) = firstbyte(&["trace", "-r", "2", "--cache", "cold", "--json", "ls /"]);
    if status == Some(4) {
        return skipped(&errors);
    }
    assert_eq!(status, Some(0), "{errors}");
    let document: Value = serde_json::from_str(&text).unwrap();
    let result = &document["results"][0];
    assert!(result["cold"]["files"].as_u64().unwrap() > 2, "{}", result["cold"]);
    assert_eq!(result["cold"]["resident_pages"], 0);
    if document["tool"]["backend"] == "bpf" {
        assert!(result["counts"]["major_faults"].as_u64().unwrap() > 0, "{}", result["counts"]);
    }
}

#[test]
fn a_quick_trace_makes_one_run_of_each_kind() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("echo >> {}/runs", folder.path().display());
    let Some(text) = traced(&["--quick", "--json", "-S", &script]) else { return skipped(NO_TRACER) };
    let document: Value = serde_json::from_str(&text).unwrap();
    let result = &document["results"][0];
    let sampled = result["sampling"]["runs"].as_u64().unwrap_or(0);
    let runs = std::fs::read_to_string(folder.path().join("runs")).unwrap().lines().count() as u64;
    assert_eq!((result["runs"].as_u64(), runs), (Some(1), 2 + sampled));
    assert_eq!(result["executions"].as_u64(), Some(runs));
    assert!(sampled <= 1);
}

/// Commands have side effects, so what is printed is what happened.
#[test]
fn a_benchmark_prints_how_often_it_executed_its_programs() {
    let folder = tempfile::tempdir().unwrap();
    let script = "sh -c 'echo >> runs'";
    for options in [&["--runs", "3"][..], &["--runs", "3", "--no-overhead"], &["--runs", "1", "--no-counts"]]
    {
        let output =
            crate::bench::firstbyte(folder.path(), &[&["bench"], options, &[script, "true"]].concat());
        let text = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
        assert!(output.status.success(), "{output:?}");
        let runs = std::fs::read_to_string(folder.path().join("runs")).unwrap().lines().count();
        std::fs::remove_file(folder.path().join("runs")).unwrap();
        assert!(text.contains(&format!(" executed {} times", 2 * runs)), "{runs} runs of each: {text}");
    }
}

/// Each of its two stops takes many times as long as a call, and how many times differs from stop to stop.
#[test]
fn by_ptrace_too_a_program_that_only_makes_calls_spends_its_time_in_them() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let source = include_str!("../tracees/counted.c");
    let Some(program) = compiled(folder.path(), source, &["-pthread"]) else { return };
    let failing_opens = ["0", "20000", "0", "0", "0", "0", "0"];
    let options = ["--backend", "ptrace", "--export-json", "-", program.to_str().unwrap()];
    let arguments: Vec<&str> = options.into_iter().chain(failing_opens).collect();
    let Some(text) = traced(&arguments) else { return skipped("ptrace does not work here") };

    let [calls, user] = ["syscall", "user"].map(|kind| attributed(&text, kind));
    assert!(calls > 2 * user, "{calls} ns in calls, {user} ns in user code");
}

/// Threads that wait until the process ends are in their last call, not in user code.
#[test]
fn by_ptrace_too_a_program_that_computes_beside_waiting_threads_is_in_user_code() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let source = include_str!("../tracees/waited.c");
    let Some(program) = compiled(folder.path(), source, &["-pthread"]) else { return };
    let options = ["--backend", "ptrace", "--export-json", "-", program.to_str().unwrap(), "12", "1000"];
    let Some(text) = traced(&options) else { return skipped("ptrace does not work here") };
    let [calls, user] = ["syscall", "user"].map(|kind| attributed(&text, kind));
    assert!(user > 2 * calls, "{calls} ns in calls, {user} ns in user code");
}

/// How many nanoseconds of the path are of this kind.
fn attributed(document: &str, kind: &str) -> u64 {
    let result = &serde_json::from_str::<Value>(document).unwrap()["results"][0];
    let shares = result["attribution"].as_array().unwrap().iter().filter(|share| share["kind"] == kind);
    shares.map(|share| share["ns"].as_u64().unwrap()).sum()
}
