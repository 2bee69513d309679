//! `firstbyte bench` of tracees whose behaviour is known: phases, counts, output, lost events.

use super::{Check, check, right, runs_32_bit, skipped, tracee};
use crate::report::Checked;
use crate::tool::{User, document, same};
use serde_json::Value;

/// A command and its expected behaviour.
struct Case {
    tracee: &'static str,
    arguments: &'static str,
    bytes: u64,
    counts: &'static [(&'static str, u64)],
}

const CASES: &[Case] = &[
    Case {
        tracee: "writer_c",
        arguments: "write",
        bytes: 12,
        counts: &[("processes", 1), ("writes", 1), ("execs", 1)],
    },
    Case { tracee: "writer_c", arguments: "threads 20", bytes: 12, counts: &[("threads", 21)] },
    Case { tracee: "writer_c", arguments: "vfork", bytes: 12, counts: &[("processes", 2), ("execs", 2)] },
    Case { tracee: "writer_c", arguments: "exec", bytes: 12, counts: &[("processes", 1), ("execs", 2)] },
    Case { tracee: "writer_c", arguments: "exec-thread", bytes: 12, counts: &[("threads", 2), ("execs", 2)] },
    Case { tracee: "writer_c", arguments: "bytes", bytes: 12, counts: &[("writes", 12)] },
    Case { tracee: "writer_c", arguments: "silent", bytes: 0, counts: &[("writes", 0)] },
    Case { tracee: "writer_dynamic", arguments: "write", bytes: 12, counts: &[("execs", 1)] },
    Case {
        tracee: "counted_c",
        arguments: "3 4 100 2 1 1 1",
        bytes: 24,
        counts: &[
            ("processes", 4),
            ("threads", 6),
            ("execs", 2),
            ("files_opened", 5),
            ("failed_opens", 4),
            ("bytes_read", 100),
            ("writes", 2),
        ],
    },
];

const CASES_32: &[Case] = &[
    Case {
        tracee: "writer_32",
        arguments: "write",
        bytes: 12,
        counts: &[("processes", 1), ("writes", 1), ("execs", 1)],
    },
    Case { tracee: "writer_32", arguments: "threads 20", bytes: 12, counts: &[("threads", 21)] },
    Case { tracee: "writer_32", arguments: "vfork", bytes: 12, counts: &[("processes", 2), ("execs", 2)] },
    Case { tracee: "writer_32", arguments: "exec", bytes: 12, counts: &[("processes", 1), ("execs", 2)] },
];

const PHASES: [&str; 4] = ["startup", "setup", "write", "teardown"];

pub(super) fn list(user: User) -> Vec<Check> {
    let backends: &[&'static str] =
        if user == User::Root { &["bpf", "ptrace", "pipe"] } else { &["ptrace", "pipe"] };
    let mut list = Vec::new();
    for backend in backends {
        list.push(check(backend, format!("bench{}", user.mark()), move || bench(user, backend, CASES)));
        if user == User::Root {
            list.push(check(backend, "bench, 32-bit", move || match runs_32_bit() {
                Ok(()) => bench(user, backend, CASES_32),
                Err(why) => skipped(why),
            }));
        }
    }
    list
}

pub(super) fn cold(user: User) -> Vec<Check> {
    vec![check("-", format!("cold page cache{}", user.mark()), move || cold_bench(user))]
}

fn command(case: &Case) -> Option<String> {
    Some(format!("{} {}", tracee(case.tracee)?, case.arguments))
}

fn bench(user: User, backend: &str, cases: &[Case]) -> Checked {
    let there: Vec<_> = cases.iter().filter_map(|case| Some((case, command(case)?))).collect();
    let mut arguments =
        vec!["bench", "--backend", backend, "--runs", "3", "--warmup", "1", "--export-json", "-"];
    arguments.extend(there.iter().map(|(_, command)| command.as_str()));
    let document = document(user, &arguments)?;
    same("backend", &document["tool"]["backend"], &Value::from(backend))?;
    same("failed", &document["failed"], &Value::Array(Vec::new()))?;
    let mut wrong = Vec::new();
    for (case, command) in &there {
        let result = result_of(&document, command)?;
        let judged = judge(case, result).and_then(|()| judge_phases(result, backend, case.bytes > 0));
        wrong.extend(judged.err().map(|fault| format!("{command}: {fault}")));
    }
    if wrong.is_empty() { right(format!("{} programs", there.len())) } else { Err(wrong.join("; ")) }
}

fn result_of<'d>(document: &'d Value, command: &str) -> Result<&'d Value, String> {
    let results = document["results"].as_array().ok_or("no results")?;
    results.iter().find(|result| result["command"] == command).ok_or_else(|| format!("{command}: no result"))
}

fn judge(case: &Case, result: &Value) -> Result<(), String> {
    same("lost events", &result["lost_events"], &Value::from(0))?;
    same("rejected runs", &result["rejected"], &Value::Array(Vec::new()))?;
    same("bytes of output", &result["output"]["bytes"], &Value::from(case.bytes))?;
    for (name, wanted) in case.counts {
        same(name, &result["counts"][name], &Value::from(*wanted))?;
    }
    Ok(())
}

fn samples(result: &Value, phase: &str) -> Option<Vec<u64>> {
    result["phases"][phase]["samples"].as_array()?.iter().map(Value::as_u64).collect()
}

/// The phases of each run sum to its total, to the nanosecond.
fn judge_phases(result: &Value, backend: &str, prints: bool) -> Result<(), String> {
    let totals = samples(result, "total").ok_or("no totals")?;
    same("runs", &totals.len(), &3)?;
    let first = samples(result, "first_byte");
    same("whether there is a first byte", &first.is_some(), &prints)?;
    if backend == "pipe" {
        return same("startup by pipe", &samples(result, "startup"), &None);
    }
    // a program without output has no write, and a single stop sees none
    let sees_write = prints && !(backend == "ptrace" && result["unseen_write"].is_string());
    let names: &[&str] = if sees_write { &PHASES } else { &["startup", "setup", "teardown"] };
    let phases: Vec<_> =
        names.iter().map(|name| samples(result, name)).collect::<Option<_>>().ok_or("a phase is missing")?;
    for (run, total) in totals.iter().enumerate() {
        same("sum of the phases", &phases.iter().map(|phase| phase[run]).sum(), total)?;
        if let Some(first) = &first {
            same(
                "first byte",
                &phases[..phases.len() - 1].iter().map(|phase| phase[run]).sum(),
                &first[run],
            )?;
        }
    }
    Ok(())
}

fn cold_bench(user: User) -> Checked {
    let Some(path) = tracee("writer_dynamic") else { return skipped("the tracee was not built") };
    let command = format!("{path} write");
    let arguments = ["bench", "--cache", "cold", "--runs", "3", "--export-json", "-", &command];
    let document = document(user, &arguments)?;
    let result = result_of(&document, &command)?;
    same("cache", &result["cache"], &Value::from("cold"))?;
    same("rejected runs", &result["rejected"], &Value::Array(Vec::new()))?;
    let cold = &result["cold"];
    same("resident pages", &cold["resident_pages"], &Value::from(0))?;
    // the program, its loader, its C library
    same("files", &cold["files"].as_u64().is_some_and(|files| files >= 3), &true)?;
    let majors = cold["major_faults"].as_array().ok_or("no major faults")?;
    same("every run had major faults", &majors.iter().all(|count| count.as_u64() > Some(0)), &true)?;
    right(format!("{} files", cold["files"]))
}
