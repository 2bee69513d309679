//! Causes that `firstbyte trace` names by their file, address, variable or holder, planted in programs that have nothing else.

use super::support::skipped;
use super::trace::{compiled, result};
use serde_json::Value;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

fn finding<'r>(result: &'r Value, rule: &str) -> &'r Value {
    let all = result["findings"].as_array().unwrap();
    all.iter().find(|finding| finding["rule"] == rule).unwrap_or_else(|| panic!("no {rule} in {all:#?}"))
}

fn text<'r>(result: &'r Value, rule: &str) -> &'r str {
    finding(result, rule)["text"].as_str().unwrap()
}

/// A program traced once by bpf; `None`: there is no compiler or no bpf.
fn of_program(source: &str, arguments: impl Fn(&Path) -> Vec<String>) -> Option<(PathBuf, Value)> {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), source, &["-pthread"]) else {
        skipped("no C compiler");
        return None;
    };
    let arguments = arguments(folder.path());
    let mut words = vec!["--backend", "bpf", "-r", "1", "--no-samples"];
    words.extend(
        arguments.iter().map(|word| if word == "PROGRAM" { program.to_str().unwrap() } else { word }),
    );
    let Some(result) = result(&words) else {
        skipped("the bpf backend does not work here");
        return None;
    };
    Some((folder.path().to_owned(), result))
}

/// A child has the lock of a file while the parent wants it.
const LOCKED: &str = r#"
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
int main(int count, char **words)
{
	int ready[2], file = open(words[1], O_RDWR | O_CREAT, 0600);
	char byte;
	if (count < 2 || file < 0 || pipe(ready))
		return 1;
	if (!fork()) {
		int own = open(words[1], O_RDWR);
		if (flock(own, LOCK_EX) || write(ready[1], "x", 1) != 1)
			return 1;
		usleep(300000);
		_exit(0);
	}
	if (read(ready[0], &byte, 1) != 1 || flock(file, LOCK_EX))
		return 1;
	return write(1, "x\n", 2) != 2;
}
"#;

#[test]
fn a_file_lock_has_its_path_and_its_holder() {
    let lock = |folder: &Path| folder.join("cache.lock").to_str().unwrap().to_owned();
    let words = |folder: &Path| vec!["--".to_owned(), "PROGRAM".to_owned(), lock(folder)];
    let Some((folder, result)) = of_program(LOCKED, words) else { return };
    let child = result["processes"][1]["pid"].as_u64().unwrap();
    let expected = format!("the lock of `{}`, which `tracee` (process {child}) holds", lock(&folder));
    assert!(text(&result, "locks").contains(&expected), "{}", text(&result, "locks"));
    assert!(finding(&result, "locks")["costs_ns"].as_u64() <= result["total_ns"].as_u64());
}

/// A thread has a mutex while the first one wants it.
const MUTEX: &str = r#"
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ready[2];
static void *holds(void *argument)
{
	pthread_mutex_lock(&mutex);
	if (write(ready[1], "x", 1) == 1)
		usleep(300000);
	pthread_mutex_unlock(&mutex);
	pause();
	return argument;
}
int main(void)
{
	pthread_t thread;
	char byte;
	if (pipe(ready) || pthread_create(&thread, 0, holds, 0) || read(ready[0], &byte, 1) != 1)
		return 1;
	pthread_mutex_lock(&mutex);
	_exit(write(1, "x\n", 2) != 2);
}
"#;

#[test]
fn a_lock_in_memory_has_the_thread_that_holds_it() {
    let words = |_: &Path| vec!["--".to_owned(), "PROGRAM".to_owned()];
    let Some((_, result)) = of_program(MUTEX, words) else { return };
    let expected = "The program waits once for a lock in memory, which its thread 1 holds until then.";
    assert!(text(&result, "locks").contains(expected), "{}", text(&result, "locks"));
}

/// Connects to a port that refuses, three times.
const RETRIES: &str = r#"
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int count, char **words)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(words[count - 1]))};
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int attempt = 0; attempt < 3; attempt++) {
		int own = socket(AF_INET, SOCK_STREAM, 0);
		if (!connect(own, (struct sockaddr *)&to, sizeof to))
			return 1;
		close(own);
		usleep(30000);
	}
	return write(1, "x\n", 2) != 2;
}
"#;

#[test]
fn an_address_that_refuses_is_named_with_the_number_of_attempts() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let words = |_: &Path| vec!["--".to_owned(), "PROGRAM".to_owned(), address.port().to_string()];
    let Some((_, result)) = of_program(RETRIES, words) else { return };
    let expected = format!("Connecting to `{address}` fails 3 times (ECONNREFUSED). Start");
    let text = text(&result, "failed-connections");
    assert!(text.contains(&expected), "{text}");
    // two of the three sleeps lie between attempts
    assert!(finding(&result, "failed-connections")["costs_ns"].as_u64().unwrap() >= 60_000_000);
}

/// Reads the file that a variable names, slowly.
const READS: &str = r#"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	char bytes[8];
	int file = open(getenv("SETTINGS"), O_RDONLY);
	if (read(file, bytes, 1) != 1)
		return 1;
	usleep(50000);
	if (read(file, bytes, 1) != 1)
		return 1;
	close(file);
	return write(1, "x\n", 2) != 2;
}
"#;

#[test]
fn a_variable_that_env_sets_is_named_with_its_file() {
    let words = |folder: &Path| {
        let settings = folder.join("settings");
        std::fs::write(&settings, "ab").unwrap();
        let set = format!("SETTINGS={}", settings.display());
        ["--", "/usr/bin/env", "-u", "LANG", &set, "PROGRAM"].map(str::to_owned).to_vec()
    };
    let Some((_, result)) = of_program(READS, words) else { return };
    let text = text(&result, "slow-file");
    assert!(text.contains("The environment names this file: SETTINGS."), "{text}");
}

#[test]
fn a_large_environment_is_said_with_its_variables_and_without_their_values() {
    let large = |name: &str, times: usize| format!("{name}={}", "hidden".repeat(times));
    let variables = [large("SECOND_LARGEST", 15_000), large("LARGEST", 16_000)];
    let words =
        ["--backend", "bpf", "-r", "1", "--no-samples", "--clean-env", "--env", &variables[0], "--env"];
    let words = [&words[..], &[&variables[1], "--", "/bin/true"]].concat();
    let Some(result) = result(&words) else { return skipped("the bpf backend does not work here") };
    let text = text(&result, "large-environment");
    assert!(text.contains("the largest: `LARGEST` (96009), `SECOND_LARGEST` (90016)"), "{text}");
    assert!(!text.contains("hidden"), "{text}");
}

#[test]
fn folders_of_pythons_path_without_what_it_imports_are_named_with_their_variable() {
    let python = "/usr/bin/python3";
    if !Path::new(python).exists() {
        return skipped("no python3 of the distribution");
    }
    let folder = tempfile::tempdir().unwrap();
    let folders: Vec<String> = (10..40).map(|n| format!("{}/e{n}", folder.path().display())).collect();
    for folder in &folders {
        std::fs::create_dir(folder).unwrap();
    }
    let with_module = folder.path().join("lib");
    std::fs::create_dir(&with_module).unwrap();
    std::fs::write(with_module.join("wanted.py"), "x = 1\n").unwrap();
    let variable = format!("PYTHONPATH={}:{}", folders.join(":"), with_module.display());
    let words = ["--backend", "bpf", "-r", "1", "--no-samples", "--env", &variable, "--", python, "-S", "-c"];
    let words = [&words[..], &["import wanted"]].concat();
    let Some(result) = result(&words) else { return skipped("the bpf backend does not work here") };
    let text = text(&result, "searched-folders");
    assert!(text.contains(&format!("such as `{}`", folders[0])), "{text}");
    assert!(text.contains("uses no file of them. `PYTHONPATH` names them."), "{text}");
}
