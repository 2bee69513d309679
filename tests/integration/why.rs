//! What `firstbyte trace` says of user code and of waiting, checked with programs that know it.

use super::support::skipped;
use super::trace::{compiled, result, traced};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Two functions do the same loop, one of them seven times as the other does it three times. The system calls between
/// them are made by other code, so the beginnings of intervals show nothing of them.
const BURNER: &str = r#"
#include <fcntl.h>
#include <unistd.h>
#define BURN(name, times) \
	__attribute__((noinline)) unsigned long name(unsigned long n) \
	{ \
		volatile unsigned long sum = n; \
		for (int i = 0; i < times * 20000; i++) \
			sum = sum * 6364136223846793005ul + 1442695040888963407ul; \
		return sum; \
	}
BURN(seventy, 7)
BURN(thirty, 3)
int main(void)
{
	unsigned long sum = 0;
	int null = open("/dev/null", O_WRONLY);
	for (int round = 0; round < 120; round++) {
		sum = thirty(sum);
		for (int i = 0; i < 20; i++)
			getppid();
		sum = seventy(sum);
		if (write(null, &sum, 1) != 1)
			return 1;
	}
	return write(1, "x\n", 2) != 2;
}
"#;

fn functions(result: &Value) -> Vec<(&str, f64, f64)> {
    let all = result["user_functions"].as_array().unwrap().iter();
    let number = |function: &Value, name: &str| function[name].as_f64().unwrap();
    all.filter_map(|it| Some((it["function"].as_str()?, number(it, "self_ns"), number(it, "total_ns"))))
        .collect()
}

/// How far a share in per cent may be from the truth: by `points`, and by chance, which is four standard errors. A
/// machine with slow timers takes few samples.
fn allowed(points: f64, share: f64, result: &Value) -> f64 {
    let samples = result["sampling"]["samples"].as_f64().unwrap();
    points.max(4.0 * (share * (100.0 - share) / samples).sqrt())
}

/// Without the right to sample, or without a tracer, there is no result.
fn sampled(words: &[&str]) -> Option<Value> {
    let Some(result) = result(words) else {
        skipped("this machine does not trace");
        return None;
    };
    if result["sampling"].is_null() {
        skipped("this machine does not sample");
        return None;
    }
    Some(result)
}

/// `None`: there is no C compiler, or this machine does not trace or sample.
fn burner() -> Option<Value> {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), BURNER, &["-O1"]);
    if program.is_none() {
        skipped("no C compiler");
    }
    sampled(&["-r", "8", "--", program?.to_str().unwrap()])
}

#[test]
fn times_of_functions_sum_to_all_user_code() {
    let Some(result) = burner() else { return };
    let user = result["sampling"]["user_ns"].as_f64().unwrap();
    let sum: f64 = functions(&result).iter().map(|(_, own, _)| own).sum();
    assert!((sum - user).abs() <= user * 1e-6, "the shares sum to all user code: {sum} of {user}");
    let kinds = result["attribution"].as_array().unwrap().iter().filter(|share| share["kind"] == "user");
    let exact: f64 = kinds.map(|share| share["ns"].as_f64().unwrap()).sum();
    assert!((exact - user).abs() < 1.0, "which is exact: {exact} and {user}");
}

#[test]
#[ignore = "needs the processors: `make test` runs it after the others, alone"]
fn functions_of_c_have_their_share_whatever_the_system_calls_between() {
    let Some(result) = burner() else { return };
    let all = functions(&result);
    let of = |wanted: &str| all.iter().find(|(name, ..)| *name == wanted).copied().unwrap();
    let [(_, seventy, _), (_, thirty, _), (_, own, with_calls)] = ["seventy", "thirty", "main"].map(of);
    let share = 100.0 * seventy / (seventy + thirty);
    assert!((share - 70.0).abs() <= allowed(3.0, 70.0, &result), "{share}: {all:?}");
    let user = result["sampling"]["user_ns"].as_f64().unwrap();
    assert!(own < 0.05 * user && with_calls > 0.9 * user, "main calls them: {all:?}");
}

/// `perf` beside it: the samples of user code, by the name of the file, added to `all`.
fn add_perf(words: &[&str], all: &mut BTreeMap<String, f64>) -> Option<()> {
    let folder = tempfile::tempdir().ok()?;
    let data = folder.path().join("perf.data");
    let data = data.to_str()?;
    for _ in 0..6 {
        let record = ["record", "-q", "-e", "cpu-clock:u", "-c", "100000", "-o", data, "--"];
        Command::new("perf").args(record).args(words).output().ok().filter(|it| it.status.success())?;
        let report = ["report", "-i", data, "--sort", "dso", "--stdio", "-q", "-F", "sample,dso"];
        let report = Command::new("perf").args(report).output().ok().filter(|it| it.status.success())?;
        for line in String::from_utf8(report.stdout).ok()?.lines() {
            let Some((samples, name)) = line.trim().split_once(char::is_whitespace) else { continue };
            *all.entry(name.trim().to_owned()).or_default() += samples.parse::<f64>().unwrap_or(0.0);
        }
    }
    Some(())
}

fn output(words: &[&str]) -> Option<String> {
    let output = Command::new(words[0]).args(&words[1..]).output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

#[test]
#[ignore = "needs the processors: `make test` runs it after the others, alone"]
fn shares_of_modules_are_those_that_perf_finds() {
    // Not a script that stands for it: that would start a dozen programs.
    let python = output(&["python3", "-c", "import sys; print(sys.executable)"]).unwrap_or_default();
    let commands = [
        &["node", "-e", "console.log(1)"][..],
        &[&python, "-S", "-c", "import json, decimal, argparse, email.message"],
    ];
    for words in commands {
        if output(&[words[0], "--version"]).is_none() {
            skipped(&format!("no {}", words[0]));
            continue;
        }
        // A shared machine's speed changes: perf before and after.
        let mut perf = BTreeMap::new();
        let Some(()) = add_perf(words, &mut perf) else { return skipped("no perf that may record") };
        let Some(result) = sampled(&[&["-r", "12", "--"], words].concat()) else { return };
        let Some(()) = add_perf(words, &mut perf) else { return skipped("no perf that may record") };

        let interpreter =
            perf.keys().find(|file| file.starts_with("libpython")).map_or(words[0], String::as_str);
        let mut ours: BTreeMap<String, f64> = BTreeMap::new();
        for function in result["user_functions"].as_array().unwrap() {
            // the interpreter's file executes functions of a language; compiled JavaScript hardly runs so early
            let is_native = function["language"].is_null();
            let module = if is_native { function["module"].as_str().unwrap() } else { interpreter };
            let file = module.rsplit('/').next().unwrap();
            *ours.entry(file.to_owned()).or_default() += function["self_ns"].as_f64().unwrap();
        }
        let [all, all_of_perf] = [&ours, &perf].map(|shares| shares.values().sum::<f64>());
        for (file, theirs) in perf.iter().filter(|(file, _)| !file.starts_with('[')) {
            let share = 100.0 * ours.get(file).copied().unwrap_or_default() / all;
            let theirs = 100.0 * theirs / all_of_perf;
            assert!(
                (share - theirs).abs() <= allowed(5.0, theirs, &result),
                "{words:?} {file}: {share:.1} % and {theirs:.1} % by perf"
            );
            eprintln!("{} {file}: {share:.1} %, by perf {theirs:.1} %", words[0]);
        }
    }
}

/// The pieces of the path: program, start and end.
fn path(result: &Value) -> Vec<(String, u64, u64)> {
    let piece = |piece: &Value| {
        let program = piece["program"].as_str().unwrap().to_owned();
        (program, piece["from_ns"].as_u64().unwrap(), piece["to_ns"].as_u64().unwrap())
    };
    result["critical_path"].as_array().unwrap().iter().map(piece).collect()
}

fn assert_end_to_end(result: &Value) {
    let path = path(result);
    assert_eq!(path[0].1, 0);
    assert!(path.windows(2).all(|pair| pair[0].2 == pair[1].1), "{path:?}");
    assert_eq!(result["total_ns"], path[path.len() - 1].2);
    let sum: u64 =
        result["attribution"].as_array().unwrap().iter().map(|it| it["ns"].as_u64().unwrap()).sum();
    assert_eq!(result["total_ns"], sum, "what happened along the path is the total");
}

fn waiting(result: &Value, name: &str) -> u64 {
    let shares = result["attribution"].as_array().unwrap().iter();
    let wanted = shares.filter(|it| it["kind"] == "waiting" && it["name"] == name);
    wanted.map(|it| it["ns"].as_u64().unwrap()).sum()
}

#[test]
fn a_wait_for_a_program_is_that_program() {
    let script = "x=$(sleep 0.3; echo 1); echo $x";
    let Some(result) =
        result(&["--backend", "bpf", "-r", "1", "--no-samples", "--", "/bin/sh", "-c", script])
    else {
        return skipped("the bpf backend does not work here");
    };
    assert_end_to_end(&result);
    let path = path(&result);
    let sleep: u64 = path.iter().filter(|(name, ..)| name == "sleep").map(|(_, from, to)| to - from).sum();
    assert!(sleep >= 300_000_000, "it provably slept so long: {path:?}");
    assert!(waiting(&result, "for sleep") >= 300_000_000, "a timer ended that, and nobody's work");
    assert!(waiting(&result, "for read") < 300_000_000, "the shell's wait is not on the path: {result}");
}

#[test]
fn ptrace_follows_a_pipe_to_the_program_that_writes_to_it() {
    // nothing but the pipe tells that the shell waits for `sleep`: the second program ends before
    let script = "x=$(sleep 0.3 & echo 1); echo $x";
    let words = ["--backend", "ptrace", "-r", "1", "--no-samples", "--", "/bin/sh", "-c", script];
    let Some(result) = result(&words) else { return skipped("the ptrace backend does not work here") };
    assert_end_to_end(&result);
    let path = path(&result);
    let sleep: u64 = path.iter().filter(|(name, ..)| name == "sleep").map(|(_, from, to)| to - from).sum();
    assert!(sleep >= 300_000_000, "it provably slept so long: {path:?}");
}

#[test]
fn the_first_thread_alone_waits() {
    let script = "x=$(sleep 0.3; echo 1); echo $x";
    let words =
        ["--backend", "bpf", "-r", "1", "--no-samples", "--thread", "main", "--", "/bin/sh", "-c", script];
    let Some(result) = result(&words) else { return skipped("the bpf backend does not work here") };
    assert_end_to_end(&result);
    assert_eq!(result["critical_path"].as_array().unwrap().len(), 1);
    let waits = ["for read", "for a child's exit"].map(|name| waiting(&result, name));
    // less than the child sleeps, because the shell first waits a little later
    assert!(waits.iter().sum::<u64>() >= 150_000_000, "{waits:?}");
    let text = finding(&result, "waits").expect("it waits for most of the time");
    assert!(text.contains("until another thread or process of the program ends this wait"), "{text}");
}

/// Waits, and writes the first byte.
const WRAPPED: &str = r#"
#include <unistd.h>
int main(void)
{
	usleep(300000);
	return write(1, "x\n", 2) != 2;
}
"#;

#[test]
fn a_wrapper_cannot_save_the_program_that_it_waits_for() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), WRAPPED, &[]) else { return skipped("no C compiler") };
    let program = program.to_str().unwrap();
    let script = format!("x=$(sleep 0.1); {program}; exit $?");
    let words = ["--backend", "bpf", "-r", "1", "--no-samples", "--", "/bin/sh", "-c", &script];
    let Some(result) = result(&words) else { return skipped("the bpf backend does not work here") };
    let text = finding(&result, "programs").expect("it waits for `sleep`");
    assert!(text.contains("1 program that it starts: `sleep`"), "{text}");
    let text = finding(&result, "exec-chain").expect("the shell takes a quarter of the time");
    assert!(text.contains(&format!("`{program}` works in a child process behind 1 other exec")), "{text}");
    let total = result["total_ns"].as_u64().unwrap();
    for finding in result["findings"].as_array().unwrap().iter().filter(|it| it["rule"] != "sleep") {
        let saves = finding["saves_ns"].as_u64().unwrap_or_default();
        assert!(saves + 300_000_000 <= total, "the program provably sleeps so long: {finding}");
    }
}

fn finding<'r>(result: &'r Value, rule: &str) -> Option<&'r str> {
    let of_rule = result["findings"].as_array()?.iter().find(|finding| finding["rule"] == rule);
    of_rule?["text"].as_str()
}

#[test]
fn a_wait_for_a_server_names_its_address() {
    if !Path::new("/bin/bash").exists() {
        return skipped("bash is not installed");
    }
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut client in server.incoming().map_while(Result::ok) {
            std::thread::sleep(Duration::from_millis(100));
            let _ = client.write_all(b"late\n");
        }
    });
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{}; read -u 3 answer; echo $answer", address.port());
    let words = ["--backend", "bpf", "-r", "1", "--no-samples", "--", "/bin/bash", "-c", &script];
    let Some(result) = result(&words) else { return skipped("the bpf backend does not work here") };
    let text = finding(&result, "waits").expect("it waits for most of the time");
    assert!(text.contains(&format!("for an answer (once, the longest for `{address}`)")), "{text}");
}

#[test]
fn a_recording_of_a_program_that_computes_says_that_it_has_no_samples() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), BURNER, &["-O1"]) else { return skipped("no C compiler") };
    let recording = folder.path().join("recording");
    let recording = recording.to_str().unwrap();
    let words = ["-r", "1", "--no-samples", "--record", recording, "--", program.to_str().unwrap()];
    if traced(&words).is_none() {
        return skipped("this machine does not trace");
    }
    let text = traced(&["--replay", recording]).unwrap();
    assert!(text.contains("A recording has no samples"), "{text}");
}

/// The first thread waits for the second, which works, then sleeps.
const THREADS: &str = r#"
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static void *works(void *argument)
{
	struct timespec now, start;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < 200000000);
	return argument;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, 0, works, 0);
	pthread_join(thread, 0);
	return write(1, "x\n", 2) != 2;
}
"#;

#[test]
fn a_wait_for_a_thread_is_what_the_thread_does() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), THREADS, &["-pthread"]) else {
        return skipped("no C compiler");
    };
    for backend in ["bpf", "ptrace"] {
        let words = ["--backend", backend, "-r", "1", "--no-samples", "--", program.to_str().unwrap()];
        match result(&words) {
            Some(result) => assert_second_thread_works(&result),
            None => skipped(&format!("the {backend} backend does not work here")),
        }
    }
}

fn assert_second_thread_works(result: &Value) {
    assert_end_to_end(result);
    let root = &result["processes"][0]["pid"];
    let pieces = result["critical_path"].as_array().unwrap().iter();
    let other = pieces.filter(|piece| piece["tid"] != *root);
    let other: u64 = other.map(|it| it["to_ns"].as_u64().unwrap() - it["from_ns"].as_u64().unwrap()).sum();
    assert!(other >= 200_000_000, "it provably worked so long: {}", result["critical_path"]);
    assert!(waiting(result, "for futex") < 200_000_000, "{}", result["attribution"]);
}
