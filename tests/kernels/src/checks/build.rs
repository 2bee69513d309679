//! What firstbyte itself makes for this architecture: executables, the C runtime, the programs of the corpus.

use super::{Check, check, right, skipped, tracee};
use crate::report::Checked;
use crate::tool::{User, document, firstbyte, run, same};
use serde_json::Value;

const MESSAGE: &str = "Hello, World!\n";

pub(super) fn list() -> Vec<Check> {
    vec![
        check("-", "elf: plain and packed executables run", executables),
        check("-", "inspect", inspect),
        check("-", "cc: a program of the C runtime runs", of_runtime),
        check("bpf", "showdown of the built-in programs", || showdown("bpf")),
        check("ptrace", "showdown of the built-in programs", || showdown("ptrace")),
    ]
}

/// Writes an executable with our message.
pub(super) fn executable(user: User, options: &[&str], path: &str) -> Result<(), String> {
    let mut arguments = vec!["elf", "--escape", "Hello, World!\\n", "-o", path];
    arguments.extend(options);
    let answer = firstbyte(user, &arguments)?;
    same("status of elf", &answer.status, &Some(0)).map_err(|fault| format!("{fault}: {}", answer.stderr))
}

fn executables() -> Checked {
    let layouts: [&[&str]; 3] =
        [&["--layout", "plain"], &["--layout", "packed"], &["--layout", "packed", "--exit", "42"]];
    let mut sizes = Vec::new();
    for options in layouts {
        executable(User::Root, options, "/tmp/hello")?;
        let answer = run(User::Root, "/tmp/hello", &[])?;
        same("output", &answer.stdout.as_str(), &MESSAGE)?;
        same("status", &answer.status, &Some(if options.contains(&"42") { 42 } else { 0 }))?;
        sizes.push(std::fs::metadata("/tmp/hello").map_or(0, |found| found.len()).to_string());
    }
    right(format!("{} bytes", sizes.join(", ")))
}

fn inspect() -> Checked {
    let Some(path) = tracee("writer_dynamic") else { return skipped("the tracee was not built") };
    let document = document(User::Root, &["inspect", "--json", &path])?;
    same("schema", &document["schema"], &Value::from("firstbyte/1"))?;
    right("")
}

fn of_runtime() -> Checked {
    let Some(path) = tracee("cc_hello") else {
        return skipped("no compiler for this architecture was there");
    };
    let answer = run(User::Root, &path, &[])?;
    same("status", &answer.status, &Some(0))?;
    same("bytes of output", &answer.stdout.is_empty(), &false)?;
    right(answer.stdout)
}

fn showdown(backend: &str) -> Checked {
    let only = "floor-elf,floor-elf-packed";
    let arguments = ["showdown", "--only", only, "--backend", backend, "--runs", "3", "--export-json", "-"];
    let document = document(User::Root, &arguments)?;
    let results = document["results"].as_array().ok_or("no results")?;
    same("programs", &results.len(), &2)?;
    for result in results {
        same("output", &result["output"]["ok"], &Value::from(true))?;
        same("system calls", &result["counts"]["syscalls"], &Value::from(3))?;
    }
    right("")
}
