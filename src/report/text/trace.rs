//! A start-up explained, for a terminal.

use super::phase_bars;
use super::terminal::{Terminal, columns, fitted, truncated};
use crate::account::attribution::{Kind, kind};
use crate::account::summary::{CommonStep, Spread};
use crate::account::{ProcessAccount, Search, Step, Summary};
use crate::output::visible;
use anstyle::{AnsiColor, Color, Style};
use firstbyte_measure::timeline::{Phase, Phases};
use firstbyte_measure::units::{Bytes, Nanos, display_nanos};
use std::fmt::Write;

/// What a rendering needs besides the runs themselves.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The command, as a shell would take it.
    pub command: String,
    /// How it was observed: backend, overhead, what could not be seen; a line each.
    pub notes: Vec<String>,
    /// What the evidence says, a paragraph each.
    pub findings: Vec<String>,
    /// The total without the observer's part, nanoseconds.
    pub corrected_total: Option<f64>,
}

/// The most lines of each section; the rest is summed up in one.
const SHARES: usize = 7;
const STEPS: usize = 12;
const FILES: usize = 12;
const SEARCHES: usize = 8;
const NAMES: usize = 3;
const FOLDERS: usize = 6;
const TASKS: usize = 24;
/// Shares below this part of the total are summed up.
const NOTEWORTHY: f64 = 0.005;

/// Everything that a person sees first.
pub fn render(summary: &Summary, context: &Context, terminal: &Terminal) -> String {
    let mut sections = vec![
        headline(summary, context, terminal),
        phase_bar(summary, terminal),
        attribution(summary, terminal),
        costliest(summary, terminal),
        files(summary, terminal),
        searches(summary, terminal),
        tasks(summary, terminal),
        findings(context, terminal),
        notes(summary, context, terminal),
    ];
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

fn headline(summary: &Summary, context: &Context, terminal: &Terminal) -> String {
    let runs = match summary.runs {
        1 => "one run".to_owned(),
        n => format!(
            "median of {n} runs, {} to {}",
            display_nanos(summary.total.least),
            display_nanos(summary.total.most)
        ),
    };
    let corrected = context
        .corrected_total
        .map_or(String::new(), |total| format!("; {} without the observer's part", display_nanos(total)));
    let first = match summary.first_byte {
        Some(first) => format!("first byte after {}", display_nanos(first.median)),
        None => "printed nothing".to_owned(),
    };
    let name = terminal.bold(&truncated(&context.command, terminal.width));
    let total = display_nanos(summary.total.median);
    let line = format!("{total} from execve to exit ({runs}{corrected}); {first}.");
    format!("{name}\n{}\n", terminal.wrap(&line, 0))
}

/// One bar over the whole width, and its legend.
fn phase_bar(summary: &Summary, terminal: &Terminal) -> String {
    let present: Vec<(Phase, f64)> =
        summary.phases.iter().filter_map(|(phase, spread)| Some((phase, spread.as_ref()?.median))).collect();
    let total: f64 = present.iter().map(|(_, ns)| ns).sum();
    let (mut bar, mut legend, mut used) = (String::new(), Vec::new(), 0);

    for (n, (phase, ns)) in present.iter().enumerate() {
        let rest = present.len() - n - 1;
        let room = terminal.width.saturating_sub(used + rest).max(1);
        let width = if rest == 0 { room } else { cells(ns / total, terminal.width).clamp(1, room) };
        used += width;
        bar += &phase_bars::cells(*phase, width, terminal);
        let sample = phase_bars::cells(*phase, 1, terminal);
        legend.push(format!("{sample} {} {}", phase.name(), display_nanos(*ns)));
    }
    format!("{bar}\n{}\n", legend.join("   "))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to a terminal's width
fn cells(part: f64, width: usize) -> usize {
    (part.clamp(0.0, 1.0) * width as f64).round() as usize
}

/// What medians leave of the total is shown from this part of it on.
const DIFFERING: f64 = 0.01;

fn attribution(summary: &Summary, terminal: &Terminal) -> String {
    let width = terminal.width.saturating_sub(30).max(20);
    let title = fitted("Where the main thread's time went", width);
    let mut text = terminal.bold(&format!("{title}{:>10}{:>8}{:>10}", "time", "%", "steps")) + "\n";
    let total = summary.total.median.max(1.0);
    for (wanted, (time, count)) in Kind::ALL.into_iter().zip(&summary.kinds) {
        if *count == 0.0 && time.median == 0.0 {
            continue;
        }
        let line = row(wanted.title(), width, time.median, total, *count);
        text += &terminal.paint(style(wanted), &line);
        text.push('\n');
        text += &parts(summary, wanted, width, total);
    }
    text + &differing(summary, width, total)
}

/// In one run the times add up to its total; medians of runs that differ need not: what they leave of the median total.
fn differing(summary: &Summary, width: usize, total: f64) -> String {
    let sum: f64 = summary.kinds.iter().map(|(time, _)| time.median).sum();
    let rest = summary.total.median - sum;
    if rest < DIFFERING * total {
        return String::new();
    }
    let name = fitted("in some runs more, in others less", width);
    format!("{name}{:>10}{:>8.1}\n", display_nanos(rest), 100.0 * rest / total)
}

fn row(name: &str, width: usize, time: f64, total: f64, count: f64) -> String {
    let percent = 100.0 * time / total;
    format!("{}{:>10}{percent:>8.1}{count:>10.0}", fitted(name, width), display_nanos(time))
}

/// The shares of a kind; the small ones in one line.
fn parts(summary: &Summary, wanted: Kind, width: usize, total: f64) -> String {
    let shares: Vec<_> = summary.shares.iter().filter(|s| s.kind == wanted && s.time.median > 0.0).collect();
    let noteworthy = shares.iter().take_while(|s| s.time.median >= NOTEWORTHY * total).count();
    let shown = noteworthy.min(SHARES);
    // a line that sums up one share could as well be that share's
    let shown = if shares.len() <= shown + 1 { shares.len() } else { shown };
    let mut text = String::new();
    for share in &shares[..shown] {
        text += &row(&format!("  {}", share.name), width, share.time.median, total, share.count);
        text.push('\n');
    }
    let rest = &shares[shown..];
    if !rest.is_empty() {
        let (time, count) =
            rest.iter().fold((0.0, 0.0), |(t, c), share| (t + share.time.median, c + share.count));
        text += &row(&format!("  {} others", rest.len()), width, time, total, count);
        text.push('\n');
    }
    text
}

/// The colour of a kind.
pub(crate) fn style(kind: Kind) -> Style {
    let colour = match kind {
        Kind::KernelExec => AnsiColor::Blue,
        Kind::Fault => AnsiColor::Red,
        Kind::Syscall => AnsiColor::Yellow,
        Kind::User => AnsiColor::Green,
        Kind::Waiting => AnsiColor::Magenta,
    };
    Style::new().fg_color(Some(Color::Ansi(colour)))
}

fn costliest(summary: &Summary, terminal: &Terminal) -> String {
    let mut steps: Vec<&CommonStep> = summary.steps.iter().filter(|step| step.own.median > 0.0).collect();
    steps.sort_by(|a, b| b.own.median.total_cmp(&a.own.median));
    let width = terminal.width.saturating_sub(32).max(20);
    let varying = if summary.runs > 1 { "varies" } else { "" };
    let head = format!("{:>10}{:>10}{varying:>10}  step", "at", "time");
    let mut text = format!("{}\n{}\n", terminal.bold("The costliest single steps"), head);
    for common in steps.iter().take(STEPS) {
        let varies = if summary.runs > 1 { variation(common.own) } else { String::new() };
        let title = fitted_end(&common.step.what.title(), width);
        let title = terminal.paint(style(kind(&common.step.what)), &title);
        let at = common.step.start;
        let _ = writeln!(text, "{at:>10}{:>10}{varies:>10}  {title}", display_nanos(common.own.median));
    }
    text
}

/// How far apart the middle half of the runs lies.
fn variation(spread: Spread) -> String {
    format!("± {}", display_nanos(spread.quartiles / 2.0))
}

fn fitted_end(text: &str, width: usize) -> String {
    truncated(text, width)
}

fn files(summary: &Summary, terminal: &Terminal) -> String {
    let files = &summary.reference.files;
    if files.is_empty() {
        return String::new();
    }
    let width = terminal.width.saturating_sub(46).max(20);
    let counts = &summary.reference.counts;
    let mut text = terminal.bold(&format!(
        "Files: {} opened, {} failed opens, {} read",
        counts.files_opened,
        counts.failed_opens,
        Bytes(counts.bytes_read)
    ));
    let _ =
        write!(text, "\n{:>10}{:>7}{:>7}{:>11}{:>9}  path\n", "time", "opened", "failed", "read", "faults");
    let seen = summary.reference.page_faults().is_some();
    let faults_text = |faults: u64| if seen { faults.to_string() } else { "-".to_owned() };
    for file in files.iter().take(FILES) {
        let _ = writeln!(
            text,
            "{:>10}{:>7}{:>7}{:>11}{:>9}  {}",
            file.time.to_string(),
            file.opened,
            file.failed,
            Bytes(file.bytes_read).to_string(),
            faults_text(file.faults),
            truncated_front(&file.path, width)
        );
    }
    let rest = &files[FILES.min(files.len())..];
    if !rest.is_empty() {
        let time = Nanos(rest.iter().fold(0, |sum: u64, file| sum.saturating_add(file.time.0)));
        let failed: u64 = rest.iter().map(|file| file.failed).sum();
        let opened: u64 = rest.iter().map(|file| file.opened).sum();
        let read = rest.iter().fold(0, |sum: u64, file| sum.saturating_add(file.bytes_read));
        let faults: u64 = rest.iter().map(|file| file.faults).sum();
        let _ = writeln!(
            text,
            "{:>10}{opened:>7}{failed:>7}{:>11}{:>9}  {} others",
            time.to_string(),
            Bytes(read).to_string(),
            faults_text(faults),
            rest.len()
        );
    }
    text
}

/// What was looked for in vain, folder by folder, before it was found or given up.
fn searches(summary: &Summary, terminal: &Terminal) -> String {
    let all = &summary.reference.searches;
    if all.is_empty() {
        return String::new();
    }
    let misses: u64 = all.iter().map(|search| search.misses).sum();
    let title = format!("Searches: {misses} lookups of paths that are not there");
    let mut text = terminal.bold(&title) + &format!("\n{:>10}{:>7}  what\n", "time", "misses");
    for search in all.iter().take(SEARCHES) {
        let what = terminal.wrap(&format!("{:19}{}", "", visible(&search_text(search))), 21);
        let _ = writeln!(text, "{:>10}{:>7}  {}", search.time.to_string(), search.misses, what.trim_start());
    }
    let rest = &all[SEARCHES.min(all.len())..];
    if !rest.is_empty() {
        let time = Nanos(rest.iter().fold(0, |sum: u64, search| sum.saturating_add(search.time.0)));
        let misses: u64 = rest.iter().map(|search| search.misses).sum();
        let _ = writeln!(text, "{:>10}{misses:>7}  {} others", time.to_string(), rest.len());
    }
    text
}

/// `libx.so: not in /a, /b; found in /c (ld.so)`.
fn search_text(search: &Search) -> String {
    let first = search.names.iter().take(NAMES).cloned().collect::<Vec<String>>().join(", ");
    let names = match search.names.len().saturating_sub(NAMES) {
        0 => first,
        more => format!("{first} and {more} more"),
    };
    let folders = search.folders.iter().take(FOLDERS).cloned().collect::<Vec<String>>().join(", ");
    let more = match search.folders.len().saturating_sub(FOLDERS) {
        0 => String::new(),
        more => format!(" and {more} more folders"),
    };
    let found = match &search.found {
        Some(folder) if search.folders.last() == Some(folder) => "found there by another name".to_owned(),
        Some(folder) => format!("found in {folder}"),
        None => "found nowhere".to_owned(),
    };
    format!("{names}: not in {folders}{more}; {found} ({})", search.by)
}

/// Of a path the end tells more than the beginning.
fn truncated_front(path: &str, width: usize) -> String {
    let path = visible(path);
    if columns(&path) <= width {
        return path;
    }
    let mut kept = String::new();
    for c in path.chars().rev() {
        if columns(&kept) + 2 > width {
            break;
        }
        kept.insert(0, c);
    }
    format!("…{kept}")
}

/// Processes and threads as a tree; nothing for a program that is one of each and executes once.
fn tasks(summary: &Summary, terminal: &Terminal) -> String {
    let account = &summary.reference;
    let execs: usize = account.processes.iter().map(|process| process.execs.len()).sum();
    if account.threads.len() == 1 && execs <= 1 {
        return String::new();
    }
    let title = format!(
        "{}, {}, {}",
        plural(account.processes.len(), "process", "processes"),
        plural(account.threads.len(), "thread", "threads"),
        plural(execs, "exec", "execs")
    );
    let mut lines = Vec::new();
    branch(summary, 0, 0, &mut lines);
    let mut text = terminal.bold(&title) + "\n" + &format!("{:>10}{:>10}  what\n", "at", "lasted");
    for (at, lasted, what) in lines.iter().take(TASKS) {
        let what = truncated(what, terminal.width.saturating_sub(22).max(20));
        let _ = writeln!(text, "{:>10}{:>10}  {what}", at.to_string(), lasted.to_string());
    }
    if lines.len() > TASKS {
        let _ =
            writeln!(text, "{:>22}{} more lines: see --timeline or --export-json", "", lines.len() - TASKS);
    }
    text
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn branch(summary: &Summary, index: usize, depth: usize, lines: &mut Vec<(Nanos, Nanos, String)>) {
    let account = &summary.reference;
    let Some(process) = account.processes.get(index).filter(|_| depth < 64) else { return };
    let indent = "  ".repeat(depth.min(12));
    let end = process.end.unwrap_or(account.total);
    let lasted = Nanos(end.0.saturating_sub(process.start.0));
    let (ended, threads) = (ending(process), extra_threads(process));
    lines.push((process.start, lasted, format!("{indent}process {}{threads}{ended}", process.pid)));
    for exec in &process.execs {
        let argv = if exec.argv.is_empty() { exec.path.to_string() } else { shell_words::join(&exec.argv) };
        let by = if exec.path == exec.executed { String::new() } else { format!("   [{}]", exec.path) };
        lines.push((exec.start, exec.took, format!("{indent}  exec {argv}{by}")));
    }
    for (child, candidate) in account.processes.iter().enumerate() {
        if candidate.parent == process.pid
            && candidate.start >= process.start
            && candidate.start <= end
            && child > index
        {
            branch(summary, child, depth + 1, lines);
        }
    }
}

fn extra_threads(process: &ProcessAccount) -> String {
    match process.threads {
        0 | 1 => String::new(),
        n => format!(", {n} threads"),
    }
}

fn ending(process: &ProcessAccount) -> String {
    match process.status {
        None | Some(0) => String::new(),
        Some(status) if status & 0x7f != 0 => format!(", killed by signal {}", status & 0x7f),
        Some(status) => format!(", exit status {}", status >> 8),
    }
}

fn findings(context: &Context, terminal: &Terminal) -> String {
    if context.findings.is_empty() {
        return String::new();
    }
    let mut text = terminal.bold("Findings") + "\n";
    for (n, finding) in context.findings.iter().enumerate() {
        text += &terminal.wrap(&format!("{}. {}", n + 1, visible(finding)), 3);
        text.push('\n');
    }
    text
}

fn notes(summary: &Summary, context: &Context, terminal: &Terminal) -> String {
    let mut notes = context.notes.clone();
    if summary.lost > 0 {
        notes.insert(
            0,
            format!(
                "{} events were lost: the account has holes. --ring makes more room for them.",
                summary.lost
            ),
        );
    }
    notes.iter().map(|note| terminal.wrap(&visible(note), 2) + "\n").collect()
}

/// The whole list, strace-like: every step of every thread of the reference run.
pub fn timeline(summary: &Summary, terminal: &Terminal) -> String {
    let account = &summary.reference;
    let several = account.threads.len() > 1;
    let mut all: Vec<(u32, Nanos, &Step)> = Vec::new();
    for thread in &account.threads {
        all.extend(thread.steps.iter().map(|step| (thread.tid, step.start, step)));
    }
    all.sort_by_key(|(tid, at, _)| (*at, *tid != account.root));
    let head = if several { "       tid" } else { "" };
    let mut text = terminal.bold(&format!("  {:>10}{:>10}{head}  step", "at", "own time")) + "\n";
    let width = terminal.width.saturating_sub(if several { 34 } else { 24 }).max(20);
    for (tid, at, step) in all {
        let mark = phase_bars::cells(phase_at(&summary.reference.phases, at), 1, terminal);
        let tid = if several { format!("{tid:>10}") } else { String::new() };
        // whoever reads it from a file or a pipe wants all of it
        let title = visible(&step.what.title());
        let title = if terminal.colour { truncated(&title, width) } else { title };
        let title = terminal.paint(style(kind(&step.what)), &title);
        let _ = writeln!(text, "{mark} {:>10}{:>10}{tid}  {title}", at.to_string(), step.own.to_string());
    }
    text
}

/// The phase in which an instant lies: the last one after all of them.
fn phase_at(phases: &Phases, at: Nanos) -> Phase {
    let mut end = Nanos(0);
    let contains = |phase: &Phase| {
        end = end + phases.get(*phase).unwrap_or_default();
        at < end
    };
    Phase::ALL.into_iter().find(contains).unwrap_or(Phase::Teardown)
}

/// Seed 000's table: several programs, a line each.
pub fn table(rows: &[(String, Summary)], terminal: &Terminal) -> String {
    let width = rows.iter().map(|(name, _)| columns(name)).max().unwrap_or(0).clamp(8, 26);
    let head = ["calls", "procs", "threads", "faults", "files", "failed", "setup", "teardn", "total"];
    let mut text = fitted("", width);
    for title in head {
        let _ = write!(text, "{title:>6}{}", if title == "total" { "" } else { " " });
    }
    text = terminal.bold(text.trim_end());
    text.push('\n');
    for (name, summary) in rows {
        let counts = &summary.counts;
        let faults = if counts.page_faults == 0 { "-".to_owned() } else { counts.page_faults.to_string() };
        let percent = |phase: Option<Spread>| match phase {
            Some(phase) => format!("{:.1}%", 100.0 * phase.median / summary.total.median.max(1.0)),
            None => "-".to_owned(),
        };
        let _ = writeln!(
            text,
            "{}{:>6} {:>6} {:>7} {:>6} {:>6} {:>6} {:>6} {:>6} {}",
            fitted(name, width),
            counts.syscalls,
            counts.processes,
            counts.threads,
            faults,
            counts.files_opened,
            counts.failed_opens,
            percent(summary.phases[Phase::Setup]),
            percent(summary.phases[Phase::Teardown]),
            display_nanos(summary.total.median)
        );
    }
    text
}
