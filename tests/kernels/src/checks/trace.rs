//! `firstbyte trace`: the account sums exactly, and files, faults, calls and processes are those of the tracee.

use super::{Check, check, right, runs_32_bit, skipped, tracee};
use crate::report::Checked;
use crate::tool::{User, document, same};
use serde_json::Value;

pub(super) fn list(user: User) -> Vec<Check> {
    let backends: &[&'static str] = if user == User::Root { &["bpf", "ptrace"] } else { &["ptrace"] };
    let mut list = Vec::new();
    for backend in backends {
        let add = |list: &mut Vec<Check>, name: &str, run: fn(Tracing) -> Checked| {
            let how = Tracing { user, backend };
            list.push(check(backend, format!("trace: {name}{}", user.mark()), move || run(how)));
        };
        add(&mut list, "files, processes, threads", counted);
        if user == User::Root {
            add(&mut list, "threads, vfork, exec chains", others);
            add(&mut list, "files of a dynamic program", dynamic);
            add(&mut list, "system calls by name", calls);
            add(&mut list, "system calls by name, 32-bit", calls_32);
        }
    }
    if user == User::Root {
        let how = Tracing { user, backend: "bpf" };
        list.push(check("bpf", "trace: page faults", move || faults(how)));
        list.push(check("bpf", "trace: major faults", move || major_faults(how)));
        list.push(check("bpf", "trace: critical path", move || critical_path(how)));
        list.push(check("bpf", "trace: sampled user code", move || sampled(how)));
    }
    list
}

#[derive(Clone, Copy)]
struct Tracing {
    user: User,
    backend: &'static str,
}

/// The only result of a trace of two runs. Its sums must be exact.
fn traced(how: Tracing, words: &[&str]) -> Result<Value, String> {
    let mut arguments =
        vec!["trace", "--runs", "2", "--no-overhead", "--backend", how.backend, "--export-json", "-", "--"];
    arguments.extend(words);
    let document = document(how.user, &arguments)?;
    same("backend", &document["tool"]["backend"], &Value::from(how.backend))?;
    let result = document["results"][0].clone();
    judge_sums(&result).map_err(|fault| format!("{}: {fault}", words.join(" ")))?;
    Ok(result)
}

fn numbers<'v>(rows: &'v [Value], name: &'v str) -> impl Iterator<Item = u64> + 'v {
    rows.iter().filter_map(move |row| row[name].as_u64())
}

/// The account and the main thread's spans sum to the total, to the nanosecond.
fn judge_sums(result: &Value) -> Result<(), String> {
    let total = result["total_ns"].as_u64().ok_or("no total")?;
    let account = result["attribution"].as_array().ok_or("no account")?;
    same("sum of the account", &numbers(account, "ns").sum(), &total)?;
    let root = &result["processes"][0]["pid"];
    let spans = result["spans"].as_array().ok_or("no spans")?;
    let own: Vec<Value> = spans.iter().filter(|span| span["tid"] == *root).cloned().collect();
    same("sum of the main thread's spans", &numbers(&own, "duration_ns").sum(), &total)?;
    same("lost events", &result["lost_events"], &Value::from(0))
}

fn judge_counts(result: &Value, wanted: &[(&str, u64)]) -> Result<(), String> {
    wanted.iter().try_for_each(|(name, count)| same(name, &result["counts"][name], &Value::from(*count)))
}

fn counted(how: Tracing) -> Checked {
    let Some(path) = tracee("counted_c") else { return skipped("the tracee was not built") };
    let result = traced(how, &[&path, "3", "4", "100", "2", "1", "1", "1"])?;
    judge_counts(
        &result,
        &[
            ("processes", 4),
            ("threads", 6),
            ("execs", 2),
            ("files_opened", 5),
            ("failed_opens", 4),
            ("bytes_read", 100),
        ],
    )?;
    let null = file(&result, "/dev/null").ok_or("no row of /dev/null")?;
    same("how often /dev/null was opened", &null["opened"], &Value::from(3))?;
    let missing = file(&result, "/nonexistent").ok_or("no row of /nonexistent")?;
    same("how often opening /nonexistent failed", &missing["failed"], &Value::from(4))?;
    right("")
}

fn file<'r>(result: &'r Value, end: &str) -> Option<&'r Value> {
    let is = |row: &&Value| row["path"].as_str().is_some_and(|path| path.ends_with(end));
    result["files"].as_array()?.iter().find(is)
}

fn others(how: Tracing) -> Checked {
    let Some(path) = tracee("writer_c") else { return skipped("the tracee was not built") };
    let judge = |arguments: &[&str], counts: &[(&str, u64)]| {
        let words: Vec<&str> = std::iter::once(path.as_str()).chain(arguments.iter().copied()).collect();
        let result = traced(how, &words)?;
        judge_counts(&result, counts).map_err(|fault| format!("{}: {fault}", arguments.join(" ")))
    };
    judge(&["threads", "20"], &[("threads", 21)])?;
    judge(&["vfork"], &[("processes", 2), ("execs", 2)])?;
    judge(&["exec"], &[("processes", 1), ("execs", 2)])?;
    judge(&["exec-thread"], &[("processes", 1), ("threads", 2), ("execs", 2)])?;
    right("")
}

fn dynamic(how: Tracing) -> Checked {
    let Some(path) = tracee("writer_dynamic") else { return skipped("the tracee was not built") };
    let result = traced(how, &[&path, "write"])?;
    // the loader may have looked for it in other folders before
    let rows = result["files"].as_array().ok_or("no files")?;
    let is_libc = |row: &&Value| row["path"].as_str().is_some_and(|path| path.ends_with("/libc.so.6"));
    let libc =
        rows.iter().filter(is_libc).find(|row| row["opened"] == 1).ok_or("libc.so.6 was not opened once")?;
    if how.backend == "bpf" {
        let faults = |row: &Value| row["faults"].as_u64().unwrap_or(0);
        let [of_libc, of_loader, of_program] = [
            faults(libc),
            file(&result, "ld-linux-x86-64.so.2")
                .or_else(|| file(&result, "ld-linux-aarch64.so.1"))
                .map_or(0, faults),
            file(&result, "writer_dynamic").map_or(0, faults),
        ];
        if of_libc == 0 || of_loader == 0 || of_program == 0 {
            return Err(format!(
                "faults of libc {of_libc}, of the loader {of_loader}, of the program {of_program}"
            ));
        }
        return right(format!("faults: libc {of_libc}, loader {of_loader}, program {of_program}"));
    }
    right("")
}

/// The calls of the main thread, in order.
fn names(result: &Value) -> Vec<String> {
    let spans = result["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
    let calls = spans.iter().filter(|span| span["kind"] == "syscall");
    calls.filter_map(|span| Some(span["name"].as_str()?.to_owned())).collect()
}

/// One of our own executables, which makes two calls.
fn calls(how: Tracing) -> Checked {
    super::build::executable(how.user, &["--layout", "plain"], "/tmp/two-calls")?;
    let result = traced(how, &["/tmp/two-calls"])?;
    let end = names(&result);
    same("calls", &end, &["write".to_owned(), end.last().cloned().unwrap_or_default()].to_vec())?;
    same("its end", &end.last().is_some_and(|name| name.starts_with("exit")), &true)?;
    right("")
}

/// The 32-bit table has other numbers. Its programs end with the same calls.
fn calls_32(how: Tracing) -> Checked {
    if let Err(why) = runs_32_bit() {
        return skipped(why);
    }
    let Some(path) = tracee("writer_32") else { return skipped("the tracee was not built") };
    let result = traced(how, &[&path, "write"])?;
    let names = names(&result);
    let wanted = ["write".to_owned(), "exit_group".to_owned()];
    let end = names.len().checked_sub(2).map(|from| names[from..].to_vec()).unwrap_or_default();
    same("the last calls", &end, &wanted.to_vec())?;
    right("")
}

/// Each further page that the program touches is one more fault.
fn faults(how: Tracing) -> Checked {
    // the start of the stack decides whether it needs one more page
    std::fs::write("/proc/sys/kernel/randomize_va_space", "0").map_err(|error| error.to_string())?;
    let Some(path) = tracee("pages_c") else { return skipped("the tracee was not built") };
    let count = |pages: &str| {
        let result = traced(how, &[&path, pages])?;
        result["counts"]["page_faults"].as_u64().ok_or_else(|| "no page faults are seen".to_owned())
    };
    let (few, many) = (count("100")?, count("400")?);
    same("page faults of 300 more pages", &(many.saturating_sub(few)), &300)?;
    right(format!("{few} and {many}"))
}

/// Faults on pages of a file that is not in memory.
fn major_faults(how: Tracing) -> Checked {
    let Some(path) = tracee("pages_c") else { return skipped("the tracee was not built") };
    let result = traced(how, &[&path, "10", "/t/large-file"])?;
    let majors = result["counts"]["major_faults"].as_u64().ok_or("no major faults are seen")?;
    let of_file = file(&result, "/t/large-file").and_then(|row| row["major_faults"].as_u64());
    if majors == 0 || of_file.is_none_or(|of_file| of_file == 0) {
        return Err(format!("{majors} major faults, {of_file:?} of the file"));
    }
    right(format!("{majors}"))
}

/// A child of vfork(2) holds up its parent until it executes a program, so the path goes through both processes. It covers
/// the whole run without a gap.
fn critical_path(how: Tracing) -> Checked {
    let Some(path) = tracee("writer_c") else { return skipped("the tracee was not built") };
    let result = traced(how, &[&path, "vfork"])?;
    let rows = result["critical_path"].as_array().ok_or("no critical path")?;
    let bounds = |name: &'static str| rows.iter().map(move |row| row[name].as_u64());
    let (from, to): (Vec<_>, Vec<_>) = (bounds("from_ns").collect(), bounds("to_ns").collect());
    same("beginning", &from.first(), &Some(&Some(0)))?;
    same("end", &to.last(), &Some(&result["total_ns"].as_u64()))?;
    same("beginnings and ends", &from[1..], &to[..to.len() - 1])?;

    let pids: Vec<_> = rows.iter().filter_map(|row| row["pid"].as_u64()).collect();
    let root = result["processes"][0]["pid"].as_u64();
    same("process at its ends", &[pids.first().copied(), pids.last().copied()], &[root, root])?;
    same("a child is on it", &pids.iter().any(|pid| Some(*pid) != root), &true)?;
    right(format!("{} turns", pids.len()))
}

/// The samples find the function where the program spends its time, and the stack leads to its caller.
fn sampled(how: Tracing) -> Checked {
    let Some(path) = tracee("busy_c") else { return skipped("the tracee was not built") };
    let result = traced(how, &[&path, "30000000"])?;
    let rows = result["user_functions"].as_array().ok_or("no functions")?;
    let time = |row: &Value, which: &str| row[which].as_f64().unwrap_or(0.0);
    let most = rows.iter().max_by(|a, b| time(a, "self_ns").total_cmp(&time(b, "self_ns")));
    let most = most.ok_or("no functions")?;
    same("function with most samples", &most["function"], &Value::from("spin"))?;
    let caller = rows.iter().find(|row| row["function"] == "main").ok_or("no caller")?;
    same("its caller takes at least as long", &(time(caller, "total_ns") >= time(most, "self_ns")), &true)?;
    right(format!("{} samples", result["sampling"]["samples"]))
}
