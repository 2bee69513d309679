//! The processes and threads of a start-up, as a tree.

use crate::account::{Execution, ProcessAccount, Summary};
use crate::report::text::terminal::{Terminal, truncated};
use crate::report::words::count_of;
use firstbyte_measure::units::Nanos;
use std::fmt::Write;

const MOST_LINES: usize = 24;
/// Deeper processes are left out, or no further indented.
const DEEPEST: usize = 64;
const DEEPEST_INDENT: usize = 12;

/// When it began, how long it lasted, and what it was.
type Line = (Nanos, Nanos, String);

/// Empty for a program that is one process with one thread and one exec.
pub(super) fn tasks(summary: &Summary, terminal: &Terminal) -> String {
    let account = &summary.median_run;
    let execs: usize = account.processes.iter().map(|process| process.execs.len()).sum();
    if account.threads.len() == 1 && execs <= 1 {
        return String::new();
    }
    let title = format!(
        "{}, {}, {}",
        count_of(account.processes.len(), "process", "processes"),
        count_of(account.threads.len(), "thread", "threads"),
        count_of(execs, "exec", "execs")
    );
    let mut lines = Vec::new();
    branch(summary, 0, 0, &mut lines);

    let mut text = terminal.bold(&title) + "\n" + &format!("{:>10}{:>10}  what\n", "at", "lasted");
    for (at, lasted, what) in lines.iter().take(MOST_LINES) {
        let what = truncated(what, terminal.width.saturating_sub(22).max(20));
        let _ = writeln!(text, "{:>10}{:>10}  {what}", at.to_string(), lasted.to_string());
    }
    if lines.len() > MOST_LINES {
        let more = count_of(lines.len() - MOST_LINES, "more line", "more lines");
        let _ = writeln!(text, "{:>22}{more}: see --timeline or --export-json", "");
    }
    text
}

/// A process, its execs, and then the processes that it started.
fn branch(summary: &Summary, index: usize, depth: usize, lines: &mut Vec<Line>) {
    let account = &summary.median_run;
    let Some(process) = account.processes.get(index).filter(|_| depth < DEEPEST) else { return };
    let indent = "  ".repeat(depth.min(DEEPEST_INDENT));
    let end = process.end.unwrap_or(account.total);

    lines.push(process_line(process, end, &indent));
    lines.extend(process.execs.iter().map(|exec| exec_line(exec, &indent)));

    for (child, candidate) in account.processes.iter().enumerate().skip(index + 1) {
        let is_within = candidate.start >= process.start && candidate.start <= end;
        if candidate.parent == process.pid && is_within {
            branch(summary, child, depth + 1, lines);
        }
    }
}

fn process_line(process: &ProcessAccount, end: Nanos, indent: &str) -> Line {
    let lasted = Nanos(end.0.saturating_sub(process.start.0));
    let threads = match process.threads {
        0 | 1 => String::new(),
        n => format!(", {n} threads"),
    };
    (process.start, lasted, format!("{indent}process {}{threads}{}", process.pid, ending(process)))
}

fn ending(process: &ProcessAccount) -> String {
    match process.status {
        None | Some(0) => String::new(),
        Some(status) if status & 0x7f != 0 => format!(", killed by signal {}", status & 0x7f),
        Some(status) => format!(", exit status {}", status >> 8),
    }
}

fn exec_line(exec: &Execution, indent: &str) -> Line {
    let argv = if exec.argv.is_empty() { exec.path.to_string() } else { shell_words::join(&exec.argv) };
    let script = if exec.path == exec.executed { String::new() } else { format!("   [{}]", exec.path) };
    (exec.start, exec.took, format!("{indent}  exec {argv}{script}"))
}
