//! Programs in five languages that mark at known moments: before and after the first byte, in a thread, in a child, and before
//! they are killed. Each backend has their order, their nesting and exact sums.

use super::{BACKENDS, NAP, benched, chain, chain_sums, go_cache, places, samples, traced, tracee};
use crate::bench::folder;
use crate::support::skipped;
use firstbyte_measure::launch::find_in_path;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const PYTHON: &str = r#"import os, signal, threading, time
def mark(path): os.access(path, 0)
def work():
    mark("MARK+: thread"); mark("MARK: from a thread"); time.sleep(0.005); mark("MARK-: thread")
mark("MARK: config")
time.sleep(0.005)
thread = threading.Thread(target=work)
thread.start()
thread.join()
if os.fork() == 0:
    mark("MARK: from a child")
    os._exit(0)
os.wait()
os.write(1, b"hello\n")
time.sleep(0.005)
mark("MARK: after the output")
mark("MARK+: open")
os.kill(os.getpid(), signal.SIGKILL)
"#;

const NODE: &str = r#"const fs = require("fs"), { Worker, isMainThread } = require("worker_threads");
const mark = path => fs.existsSync(path);
const nap = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6);
if (process.argv[2] === "child") {
    mark("MARK: from a child");
} else if (!isMainThread) {
    mark("MARK+: thread"); mark("MARK: from a thread"); nap(); mark("MARK-: thread");
} else {
    mark("MARK: config");
    nap();
    new Worker(__filename).on("exit", () => {
        require("child_process").spawnSync(process.execPath, [__filename, "child"], { stdio: "ignore" });
        fs.writeSync(1, "hello\n");
        nap();
        mark("MARK: after the output");
        mark("MARK+: open");
        process.kill(process.pid, "SIGKILL");
    });
}
"#;

const GO: &str = r#"package main

import ("os"; "os/exec"; "runtime"; "syscall"; "time")

func mark(path string) { os.Stat(path) }

func main() {
	if len(os.Args) > 1 {
		mark("MARK: from a child")
		return
	}
	mark("MARK: config")
	time.Sleep(5 * time.Millisecond)
	done := make(chan bool)
	go func() {
		runtime.LockOSThread()
		mark("MARK+: thread")
		mark("MARK: from a thread")
		time.Sleep(5 * time.Millisecond)
		mark("MARK-: thread")
		done <- true
	}()
	<-done
	exec.Command(os.Args[0], "child").Run()
	os.Stdout.WriteString("hello\n")
	time.Sleep(5 * time.Millisecond)
	mark("MARK: after the output")
	mark("MARK+: open")
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
"#;

/// It has no threads: a job in the background stands for one.
const BASH: &str = "mark() { [ -e \"$1\" ]; }
mark 'MARK: config'
sleep 0.005
(mark 'MARK+: thread'; mark 'MARK: from a thread'; sleep 0.005; mark 'MARK-: thread') &
wait
(mark 'MARK: from a child')
echo hello
sleep 0.005
mark 'MARK: after the output'
mark 'MARK+: open'
kill -KILL $$
";

/// The program in each language that is installed, with its words, in a folder.
fn programs(folder: &Path) -> Vec<(&'static str, Vec<String>)> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let interpreted = [("python3", "m.py", PYTHON), ("node", "m.js", NODE), ("bash", "m.sh", BASH)];
    let mut all: Vec<(&str, Vec<String>)> =
        tracee().map(|tracee| ("C", vec![tracee, "all".to_owned()])).into_iter().collect();
    for (tool, file, text) in interpreted {
        match find_in_path(tool) {
            Some(_) => all.push((tool, vec![tool.to_owned(), write(file, text)])),
            None => skipped(&format!("there is no {tool}")),
        }
    }
    if find_in_path("go").is_none() {
        skipped("there is no go");
        return all;
    }
    let (source, program) = (write("m.go", GO), folder.join("m"));
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program).arg(source).env("GOCACHE", go_cache());
    assert!(build.status().unwrap().success());
    all.push(("Go", vec![program.display().to_string()]));
    all
}

const CHAIN: [&str; 5] = ["config", "from a thread", "from a child", "after the output", "(rest)"];

#[test]
fn each_language_is_traced_with_its_marks_in_order_nested_and_exact() {
    let folder = folder();
    for (language, words) in programs(folder.path()) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        for backend in BACKENDS {
            let Some(result) = traced(backend, &words, &[]) else { continue };
            let of = format!("{language}, {backend}");
            check_chain(&result, &of);
            check_spans(&result, &of);
            let files = result["files"].as_array().unwrap();
            assert!(files.iter().all(|file| !file["path"].to_string().contains("MARK")), "{of}");
        }
    }
}

/// The plain marks partition the run, and the first byte lies between two of them.
fn check_chain(result: &Value, of: &str) {
    let chain = chain(result);
    assert_eq!(chain.iter().map(|(name, ..)| &**name).collect::<Vec<_>>(), CHAIN, "{of}");
    assert!(chain.windows(2).all(|two| two[0].2 == two[1].1), "{of}: {chain:?}");
    assert_eq!((chain[0].1, chain[4].2), (0, result["total_ns"].as_u64().unwrap()), "{of}");
    assert!(chain[1].2 - chain[1].1 >= NAP && chain[3].2 - chain[3].1 >= NAP, "{of}: {chain:?}");
    let before = ["startup", "setup", "write"].map(|phase| result["run_phases"][phase].as_u64().unwrap());
    let first_byte: u64 = before.iter().sum();
    assert!(chain[2].2 <= first_byte && first_byte + NAP <= chain[3].2, "{of}: {first_byte}, {chain:?}");

    let marks = &result["marks"];
    assert_eq!(marks["from a child"]["from"], "from a thread");
    assert!(marks["config"]["from"].is_null() && marks["(rest)"]["to"].is_null());
    let process = |name: &str| marks[name]["places"][0]["pid"].as_u64().unwrap();
    assert_ne!(process("config"), process("from a child"), "{of}");
}

/// The span of the thread holds its plain mark, and the one that is open ends with the run.
fn check_spans(result: &Value, of: &str) {
    let (chain, all) = (chain(result), places(result));
    let span = |wanted: &str| {
        let (.., from, to) = all.iter().find(|(name, kind, ..)| name == wanted && kind == "span").unwrap();
        (*from, *to)
    };
    let (thread, open) = (span("thread"), span("open"));
    assert!(
        thread.0 <= chain[1].2 && chain[1].2 + NAP <= thread.1 && thread.1 <= chain[2].2,
        "{of}: {all:?}"
    );
    assert!(chain[3].2 <= open.0 && open.1 == chain[4].2, "{of}: {all:?}");
    let unended = ["thread", "open"].map(|name| result["marks"][name]["unended"] == true);
    assert_eq!(unended, [false, true], "{of}");
}

#[test]
fn bench_has_the_marks_of_each_run_of_each_language_and_they_sum_to_its_total() {
    let folder = folder();
    for (language, words) in programs(folder.path()) {
        for backend in BACKENDS {
            let Some(document) = benched(backend, &words.join(" "), &[]) else { continue };
            let result = &document["results"][0];
            let mut names: Vec<&str> = CHAIN.into_iter().chain(["thread", "open"]).collect();
            names.sort_unstable();
            let marks = result["marks"].as_object().unwrap();
            assert_eq!(marks.keys().collect::<Vec<_>>(), names, "{language}, {backend}");
            assert_eq!(chain_sums(result), samples(&result["phases"]["total"]), "{language}, {backend}");
            let thread = &marks["thread"];
            assert!(samples(thread).len() == 4 && samples(thread).iter().all(|ns| *ns >= NAP), "{thread}");
            assert_eq!((&thread["kind"], &thread["count"]), (&"span".into(), &1.into()));
        }
    }
}
