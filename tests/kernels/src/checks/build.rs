//! The files that firstbyte makes for this architecture: executables, the C runtime, the programs of the corpus.

use super::{Check, check, right, skipped, tracee};
use crate::report::Checked;
use crate::tool::{User, document, firstbyte, run, same};
use serde_json::Value;

const MESSAGE: &str = "Hello, World!\n";

pub(super) fn list() -> Vec<Check> {
    vec![
        check("-", "elf: plain executables run", plain),
        check("-", "elf: packed executables run", packed),
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

/// Each must print its message and end with its exit status.
fn run_layout(options: &[&str], status: i32) -> Result<u64, String> {
    executable(User::Root, options, "/tmp/hello")?;
    let answer = run(User::Root, "/tmp/hello", &[])?;
    let line = options.join(" ");
    same(&format!("status of {line}"), &answer.status, &Some(status))?;
    same(&format!("output of {line}"), &answer.stdout.as_str(), &MESSAGE)?;
    std::fs::metadata("/tmp/hello").map(|found| found.len()).map_err(|error| error.to_string())
}

fn plain() -> Checked {
    right(format!("{} bytes", run_layout(&["--layout", "plain"], 0)?))
}

fn packed() -> Checked {
    let size = match run_layout(&["--layout", "packed"], 0) {
        Err(_) if !ignores_unwritable_tail()? => {
            return skipped("this kernel requires a segment with more memory than file to be writable");
        }
        found => found?,
    };
    run_layout(&["--layout", "packed", "--exit", "42"], 42)?;
    right(format!("{size} bytes"))
}

/// Where `p_memsz` of the only program header of a plain 64-bit executable is.
const P_MEMSZ: usize = 64 + 40;

/// Whether the kernel runs a plain executable with one more byte of memory than of file. It zeroes the rest of the last
/// page, which is not writable here. Old kernels then kill the process; newer ones ignore the fault.
fn ignores_unwritable_tail() -> Result<bool, String> {
    executable(User::Root, &["--layout", "plain"], "/tmp/hello")?;
    let mut bytes = std::fs::read("/tmp/hello").map_err(|error| error.to_string())?;
    bytes[P_MEMSZ] += 1;
    std::fs::write("/tmp/hello", bytes).map_err(|error| error.to_string())?;
    Ok(run(User::Root, "/tmp/hello", &[])?.status == Some(0))
}

fn inspect() -> Checked {
    let Some(path) = tracee("writer_dynamic") else { return skipped("the tracee was not built") };
    let document = document(User::Root, &["inspect", "--json", &path])?;
    same("schema", &document["schema"], &Value::from("firstbyte/1"))?;
    right("")
}

fn of_runtime() -> Checked {
    let Some(path) = tracee("cc_hello") else {
        return skipped("there was no compiler for this architecture");
    };
    let answer = run(User::Root, &path, &[])?;
    same("status", &answer.status, &Some(0))?;
    same("bytes of output", &answer.stdout.is_empty(), &false)?;
    right(answer.stdout)
}

fn showdown(backend: &str) -> Checked {
    let arguments =
        ["showdown", "--only", "floor-elf", "--backend", backend, "--runs", "3", "--export-json", "-"];
    let document = document(User::Root, &arguments)?;
    let results = document["results"].as_array().ok_or("no results")?;
    same("programs", &results.len(), &1)?;
    for result in results {
        same("output", &result["output"]["ok"], &Value::from(true))?;
        same("system calls", &result["counts"]["syscalls"], &Value::from(3))?;
    }
    right("")
}
