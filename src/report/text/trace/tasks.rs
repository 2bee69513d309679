//! The processes and threads of a start-up, as a tree.

use crate::analysis::{Execution, ProcessAccount, Summary};
use crate::report::text::terminal::{Terminal, truncated_paths};
use crate::report::words::count_of;
use firstbyte_measure::units::Nanos;
use std::collections::HashMap;
use std::fmt::Write;

const MAX_LINES: usize = 24;
/// Deeper processes are left out, or no further indented.
const DEEPEST: usize = 64;
const DEEPEST_INDENT: usize = 12;

/// A process or an exec.
struct Line {
    at: Nanos,
    /// Until the process ended, or executed something else.
    lasted: Nanos,
    /// What the kernel took for the exec.
    execve: Option<Nanos>,
    what: String,
}

/// A process with its execs.
struct Entry {
    lasted: Nanos,
    lines: Vec<Line>,
}

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
    let mut entries = Vec::new();
    branch(summary, &children(&account.processes), 0, 0, &mut entries);
    let least = least_shown(&entries);

    let mut text =
        terminal.bold(&title) + "\n" + &format!("{:>10}{:>10}{:>10}  what\n", "at", "lasted", "execve");
    let (shown, rest): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|entry| entry.lasted >= least);
    for line in shown.iter().flat_map(|entry| &entry.lines) {
        let what = truncated_paths(&line.what, terminal.width.saturating_sub(32).max(20));
        let execve = line.execve.map_or_else(String::new, |took| took.to_string());
        let _ =
            writeln!(text, "{:>10}{:>10}{execve:>10}  {what}", line.at.to_string(), line.lasted.to_string());
    }
    if !rest.is_empty() {
        let more = count_of(rest.len(), "shorter process", "shorter processes");
        let longest = rest.iter().map(|entry| entry.lasted).max().unwrap_or_default();
        text +=
            &terminal.wrap(&format!("{:>12}{more}, of at most {longest} each: see --export-json", ""), 12);
        text.push('\n');
    }
    text
}

/// The shortest process that is shown: as many lines as fit, the longest processes first. The first process always fits.
fn least_shown(entries: &[Entry]) -> Nanos {
    let mut lengths: Vec<(Nanos, usize)> =
        entries.iter().map(|entry| (entry.lasted, entry.lines.len())).collect();
    lengths.sort_by(|a, b| b.cmp(a));
    let mut lines = 0;
    let fitting = lengths.iter().take_while(|(_, length)| {
        lines += length;
        lines <= MAX_LINES
    });
    let least = fitting.last().or(lengths.first()).map(|(lasted, _)| *lasted);
    least.unwrap_or_default()
}

/// The places of the processes that a process with this id created.
type Children = HashMap<u32, Vec<usize>>;

fn children(processes: &[ProcessAccount]) -> Children {
    let mut children = Children::new();
    for (index, process) in processes.iter().enumerate() {
        children.entry(process.parent).or_default().push(index);
    }
    children
}

/// A process, its execs, and then the processes that it started.
fn branch(summary: &Summary, children: &Children, index: usize, depth: usize, entries: &mut Vec<Entry>) {
    let account = &summary.median_run;
    let Some(process) = account.processes.get(index).filter(|_| depth < DEEPEST) else { return };
    let indent = "  ".repeat(depth.min(DEEPEST_INDENT));
    let end = process.end.unwrap_or(account.total);

    let line = process_line(process, end, &indent);
    let lasted = line.lasted;
    let ends = process.execs.iter().skip(1).map(|next| next.start).chain([end]);
    let execs = process.execs.iter().zip(ends).map(|(exec, end)| exec_line(exec, end, &indent));
    entries.push(Entry { lasted, lines: [line].into_iter().chain(execs).collect() });

    let candidates = children.get(&process.pid).map_or(&[][..], Vec::as_slice);
    let later = candidates.partition_point(|child| *child <= index);
    for child in &candidates[later..] {
        let start = account.processes[*child].start;
        if start >= process.start && start <= end {
            branch(summary, children, *child, depth + 1, entries);
        }
    }
}

fn process_line(process: &ProcessAccount, end: Nanos, indent: &str) -> Line {
    let lasted = Nanos(end.0.saturating_sub(process.start.0));
    let threads = match process.threads {
        0 | 1 => String::new(),
        n => format!(", {n} threads"),
    };
    let what = format!("{indent}process {}{threads}{}", process.pid, ending(process));
    Line { at: process.start, lasted, execve: None, what }
}

fn ending(process: &ProcessAccount) -> String {
    match process.status {
        None | Some(0) => String::new(),
        Some(status) if status & 0x7f != 0 => format!(", killed by signal {}", status & 0x7f),
        Some(status) => format!(", exit status {}", status >> 8),
    }
}

/// A program runs until its process ends or executes the next one.
fn exec_line(exec: &Execution, end: Nanos, indent: &str) -> Line {
    let argv = if exec.argv.is_empty() { exec.path.to_string() } else { shell_words::join(&exec.argv) };
    let script = if exec.path == exec.executed { String::new() } else { format!("   [{}]", exec.path) };
    let lasted = Nanos(end.0.saturating_sub(exec.start.0));
    Line { at: exec.start, lasted, execve: Some(exec.took), what: format!("{indent}  exec {argv}{script}") }
}
