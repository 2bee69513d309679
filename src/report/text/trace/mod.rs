//! A start-up and where its time went, for a terminal.

mod files;
mod loads;
mod own_code;
mod path;
mod short;
mod table;
mod tasks;
mod timeline;
mod user_code;

pub use own_code::own_code;
pub use short::{first_part, second_part, whole};
pub use table::table;
pub use timeline::timeline;

use super::phase_bars;
use super::terminal::{Terminal, fitted, flowed, truncated_paths};
use crate::analysis::Summary;
use crate::analysis::attribution::{WorkKind, kind};
use crate::analysis::notes::TraceNotes;
use crate::analysis::summary::{CommonShare, Spread};
use crate::output::visible;
use crate::report::words::count_of;
use anstyle::{AnsiColor, Color, Style};
use firstbyte_measure::timeline::Phase;
use firstbyte_measure::tracer::Recording;
use firstbyte_measure::units::display_nanos;
use std::fmt::Write;

/// The maximum number of shares of a kind, and the most steps; other shares become one line.
const SHARES: usize = 7;
const STEPS: usize = 12;
/// The fewest shares of a kind that have lines of their own.
const MIN_ROWS: usize = 3;
/// Other shares below this part of the total become one line, too.
const NOTEWORTHY: f64 = 0.005;

/// Of the full text, what the traced runs alone say: the total, the phases, and where the time went.
pub fn full_first_part(summary: &Summary, command: &str, terminal: &Terminal) -> String {
    joined(vec![
        headline(summary, command, terminal),
        phase_bar(summary, terminal),
        path::path(summary, terminal),
        marks(summary, terminal),
        attribution(summary, terminal),
    ])
}

/// Of the full text, the rest.
pub fn full_second_part(summary: &Summary, notes: &TraceNotes, terminal: &Terminal) -> String {
    let sections = vec![
        user_code::user_code(summary, terminal),
        own_code(summary, terminal),
        own_code::imports(summary, terminal),
        longest_steps(summary, terminal),
        loads::files(summary, terminal),
        loads::reported(summary, terminal),
        files::files(summary, terminal),
        files::searches(summary, terminal),
        tasks::tasks(summary, terminal),
        findings(notes, terminal),
        note_lines(summary, notes, terminal),
    ];
    format!("\n{}", joined(sections))
}

fn joined(mut sections: Vec<String>) -> String {
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

fn headline(summary: &Summary, command: &str, terminal: &Terminal) -> String {
    let runs = match summary.runs {
        1 => "one run".to_owned(),
        n => format!(
            "mean of the middle half of {n} runs, which take {} to {}",
            display_nanos(summary.total.least),
            display_nanos(summary.total.most)
        ),
    };

    let total = display_nanos(summary.total.middle);
    let line = match &summary.within {
        Some(name) => format!("{total} in `{}` ({runs}).", visible(name)),
        None => format!("{total} from execve to exit ({runs}); {}.", first_byte(summary)),
    };
    let observing = cost_of_observing(summary, terminal);
    format!("{}{}\n{observing}", name_line(command, terminal), terminal.wrap(&line, 0))
}

/// The part of the recorded time from which on the first screen says what the observation took.
const NOTEWORTHY_OBSERVATION: f64 = 1.0 / 3.0;

/// What the observation took, where it matters.
fn cost_of_observing(summary: &Summary, terminal: &Terminal) -> String {
    let times = |recorded: f64| format!("{:.1} times as long", recorded / summary.total.middle.max(1.0));
    let text = match (summary.stopped, summary.recorded) {
        (true, None) => {
            "Traced by ptrace, which stops the program at every system call. These times are too long; by how \
                         much is not known here."
                .to_owned()
        }
        (true, Some(recorded)) => format!(
            "Traced by ptrace, which made the run {} ({}). The extra time is subtracted; times of single steps are uncertain.",
            times(recorded),
            display_nanos(recorded)
        ),
        (false, Some(recorded)) if summary.observed_part() > NOTEWORTHY_OBSERVATION => format!(
            "The program makes so many system calls or page faults that tracing made the run {} ({}). The extra time is subtracted.",
            times(recorded),
            display_nanos(recorded)
        ),
        (false, _) => return String::new(),
    };
    terminal.wrap(&text, 0) + "\n"
}

fn name_line(command: &str, terminal: &Terminal) -> String {
    terminal.bold(&truncated_paths(command, terminal.width)) + "\n"
}

fn first_byte(summary: &Summary) -> String {
    match summary.first_byte {
        Some(first) => {
            format!("first byte after {}", display_nanos(first.middle))
        }
        None => match summary.median_run.writes_to_stderr() {
            0 => "printed nothing".to_owned(),
            count => format!(
                "printed nothing to stdout, but to stderr ({})",
                count_of(count, "system call", "system calls")
            ),
        },
    }
}

/// One bar over the whole width, and its legend.
fn phase_bar(summary: &Summary, terminal: &Terminal) -> String {
    let phases = summary.phases.iter();
    let present = phases.filter_map(|(phase, spread)| Some((phase, spread.as_ref()?.middle)));
    // a part of the run may lie outside of some phases
    let present: Vec<(Phase, f64)> =
        present.filter(|(_, ns)| summary.within.is_none() || *ns > 0.0).collect();
    let total: f64 = present.iter().map(|(_, ns)| ns).sum();
    let (mut bar, mut legend, mut used) = (String::new(), Vec::new(), 0);

    for (n, (phase, ns)) in present.iter().enumerate() {
        let rest = present.len() - n - 1;
        let room = terminal.width.saturating_sub(used + rest).max(1);
        let width = if rest == 0 { room } else { cells(ns / total, terminal.width).clamp(1, room) };
        used += width;
        bar += &phase_bars::cells(*phase, width, terminal);
        let said = |sample: String| format!("{sample} {} {}", phase.name(), display_nanos(*ns));
        let plain = phase_bars::cells(*phase, 1, &Terminal::default());
        legend.push((said(plain), said(phase_bars::cells(*phase, 1, terminal))));
    }
    format!("{bar}\n{}\n", flowed(&legend, terminal.width))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to a terminal's width
fn cells(part: f64, width: usize) -> usize {
    (part.clamp(0.0, 1.0) * width as f64).round() as usize
}

/// A line for each part that has a name: its median, what it is between, and how far its times differ.
fn marks(summary: &Summary, terminal: &Terminal) -> String {
    if summary.marks.is_empty() {
        return String::new();
    }
    let width = terminal.width.saturating_sub(20).max(20);
    let mut text = terminal.bold(&format!("{}{:>10}{:>10}", fitted("Marks", width), "time", "varies")) + "\n";
    for span in &summary.marks {
        let times = &span.times;
        let varies = if times.samples.len() > 1 {
            format!("± {}", display_nanos((times.high - times.low) / 2.0))
        } else {
            String::new()
        };
        let name = fitted(&visible(&span.title()), width);
        let _ = writeln!(text, "{name}{:>10}{varies:>10}", display_nanos(times.median));
    }
    text
}

fn attribution(summary: &Summary, terminal: &Terminal) -> String {
    let width = terminal.width.saturating_sub(30).max(20);
    let title = fitted(title(summary), width);
    let mut text = terminal.bold(&format!("{title}{:>10}{:>8}{:>10}", "time", "%", "steps")) + "\n";
    let (total, others) = (running_total(summary), summary.taken_by_others());
    for (wanted, (time, count)) in WorkKind::ALL.into_iter().zip(&summary.kinds) {
        let time = if wanted == WorkKind::Waiting { time.middle - others } else { time.middle };
        if *count == 0.0 && time <= 0.0 {
            continue;
        }
        let line = row(wanted.title(), width, time, total, *count);
        text += &terminal.paint(style(wanted), &line);
        text.push('\n');
        text += &parts(summary, wanted, time, width, total);
        if wanted == WorkKind::User && !summary.sees_faults() {
            text += "  with page faults, which ptrace does not see\n";
        }
    }
    if others > 0.0 {
        let _ = writeln!(
            text,
            "{}{:>10}",
            fitted("other programs had the processor", width),
            display_nanos(others)
        );
    }
    text
}

/// The total without the time in which other programs had the processor: percentages are of this.
fn running_total(summary: &Summary) -> f64 {
    (summary.total.middle - summary.taken_by_others()).max(1.0)
}

fn title(summary: &Summary) -> &'static str {
    let account = &summary.median_run;
    if account.path.iter().all(|piece| piece.tid == account.root) {
        "Where the main thread's time went"
    } else {
        "Where the time went, along this path"
    }
}

fn row(name: &str, width: usize, time: f64, total: f64, count: f64) -> String {
    let percent = 100.0 * time / total;
    format!("{}{:>10}{percent:>8.1}{count:>10.0}", fitted(name, width), display_nanos(time))
}

/// The shares of a kind that takes `time` in all. The small ones share a line.
fn parts(summary: &Summary, wanted: WorkKind, time: f64, width: usize, total: f64) -> String {
    // the functions of user code have a table of their own, and the line of a small kind says enough
    if wanted == WorkKind::User || time < NOTEWORTHY * total {
        return String::new();
    }
    let shares: Vec<_> = summary
        .shares
        .iter()
        .filter(|s| s.kind == wanted && s.time.middle > 0.0 && !s.is_of_others())
        .collect();
    let noteworthy = shares.iter().take_while(|s| s.time.middle >= NOTEWORTHY * total).count();
    let shown = noteworthy.clamp(MIN_ROWS, SHARES);
    // a line for one share can be its own line
    let shown = if shares.len() <= shown + 1 { shares.len() } else { shown };
    let mut text = String::new();
    for share in &shares[..shown] {
        text += &row(&format!("  {}", share.name), width, share.time.middle, total, share.count);
        text.push('\n');
    }
    text + &others(&shares[shown..], width, total)
}

/// One line for several shares.
fn others(shares: &[&CommonShare], width: usize, total: f64) -> String {
    if shares.is_empty() {
        return String::new();
    }
    let time = shares.iter().map(|share| share.time.middle).sum();
    let count = shares.iter().map(|share| share.count).sum();
    let name = format!("  {}", count_of(shares.len(), "other", "others"));
    row(&name, width, time, total, count) + "\n"
}

/// The colour of a kind.
pub(crate) fn style(kind: WorkKind) -> Style {
    let colour = match kind {
        WorkKind::KernelExec => AnsiColor::Blue,
        WorkKind::Fault => AnsiColor::Red,
        WorkKind::Syscall => AnsiColor::Yellow,
        WorkKind::Death => AnsiColor::BrightRed,
        WorkKind::User => AnsiColor::Green,
        WorkKind::Waiting => AnsiColor::Magenta,
    };
    Style::new().fg_color(Some(Color::Ansi(colour)))
}

fn longest_steps(summary: &Summary, terminal: &Terminal) -> String {
    let mut steps = summary.steps();
    steps.retain(|step| step.self_time.median > 0.0);
    steps.sort_by(|a, b| b.self_time.median.total_cmp(&a.self_time.median));
    let width = terminal.width.saturating_sub(32).max(20);
    let varying = if summary.runs > 1 { "varies" } else { "" };
    let head = format!("{:>10}{:>10}{varying:>10}  step", "at", "time");
    let mut text = format!("{}\n{}\n", terminal.bold("Longest single steps"), head);
    for common in steps.iter().take(STEPS) {
        let varies = if summary.runs > 1 { variation(common.self_time) } else { String::new() };
        let title = truncated_paths(&common.step.what.title(), width);
        let title = terminal.paint(style(kind(&common.step.what)), &title);
        let at = common.step.start;
        let _ = writeln!(text, "{at:>10}{:>10}{varies:>10}  {title}", display_nanos(common.self_time.median));
    }
    text
}

/// Half the distance between the quartiles of the runs.
fn variation(spread: Spread) -> String {
    format!("± {}", display_nanos(spread.quartiles / 2.0))
}

fn findings(notes: &TraceNotes, terminal: &Terminal) -> String {
    if notes.findings.is_empty() {
        return String::new();
    }
    let mut text = terminal.bold(&notes.findings_title()) + "\n";
    for finding in &notes.findings {
        text += &terminal.wrap(&visible(&finding.shown()), finding.mark.len() + 1);
        text.push('\n');
    }
    text
}

fn note_lines(summary: &Summary, notes: &TraceNotes, terminal: &Terminal) -> String {
    [&notes.ending, &urgent(summary, notes), &notes.notes].map(|lines| wrapped(lines, terminal)).concat()
}

/// Warnings.
fn urgent(summary: &Summary, notes: &TraceNotes) -> Vec<String> {
    let mut urgent = notes.urgent.clone();
    if summary.lost > 0 {
        let lost = format!(
            "{} lost, so the account is incomplete ({}).",
            count_of(usize::try_from(summary.lost).unwrap_or(usize::MAX), "event was", "events were"),
            Recording::HELP_FOR_LOST
        );
        urgent.insert(0, lost);
    }
    urgent
}

fn wrapped(notes: &[String], terminal: &Terminal) -> String {
    notes.iter().map(|note| terminal.wrap(&visible(note), 2) + "\n").collect()
}
