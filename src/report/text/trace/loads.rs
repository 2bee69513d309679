//! What a start-up brought in, and how long each load took.

use crate::analysis::Summary;
use crate::analysis::loads::{JAVA_CLASSES, JAVA_OWN_CLASSES, Load};
use crate::report::text::terminal::{Terminal, truncated, truncated_front};
use crate::report::words::count_of;
use firstbyte_measure::units::Nanos;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The maximum number of lines; the rest becomes one line.
const LOADS: usize = 12;

/// Loads of the same file in several processes.
#[derive(Clone, Default)]
struct Line {
    times: usize,
    self_time: Nanos,
    total: Nanos,
}

/// The files that were loaded, by what the system calls show.
pub(super) fn files(summary: &Summary, terminal: &Terminal) -> String {
    let lines = by_file(&summary.loads);
    if lines.len() < 2 {
        return String::new();
    }

    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by(|(a_key, a), (b_key, b)| b.self_time.cmp(&a.self_time).then_with(|| a_key.cmp(b_key)));
    let (shown, rest) = lines.split_at(LOADS.min(lines.len()));
    let total = summary.median_run.total.as_f64().max(1.0);
    let mut text = head(terminal);
    for ((kind, path), line) in shown {
        let times = if line.times > 1 { format!(" ({} times)", line.times) } else { String::new() };
        let path = truncated_front(path, terminal.width.saturating_sub(41 + times.len()).max(9));
        text += &row(line, total, &format!("{kind:<9}{path}{times}"));
    }
    if !rest.is_empty() {
        let self_time = rest.iter().map(|(_, line)| line.self_time).sum();
        let line = Line { self_time, total: self_time, times: rest.len() };
        text += &row(&line, total, &count_of(rest.len(), "other", "others"));
    }
    text
}

/// The files by kind and path. A load inside another one of the same file is in the time of that one.
fn by_file(loads: &[Load]) -> BTreeMap<(&str, &str), Line> {
    let mut lines: BTreeMap<(&str, &str), Line> = BTreeMap::new();
    let mut around: Vec<(u32, (&str, &str))> = Vec::new();
    for load in loads.iter().filter(|load| load.is_file()) {
        let key = (load.runtime, load.file.as_deref().unwrap_or_default());
        around.retain(|(depth, _)| *depth < load.depth);
        let line = lines.entry(key).or_default();
        line.times += 1;
        line.self_time = line.self_time + load.self_time;
        if around.iter().all(|(_, other)| *other != key) {
            line.total = line.total + load.total;
        }
        around.push((load.depth, key));
    }
    lines
}

fn head(terminal: &Terminal) -> String {
    let title = "What was loaded, and how long each load took";
    format!("{}\n{:>10}{:>8}{:>12}  what\n", terminal.bold(title), "time", "%", "with nested")
}

fn row(line: &Line, total: f64, what: &str) -> String {
    let mut text = String::new();
    let share = 100.0 * line.self_time.as_f64() / total;
    let (self_time, nested) = (line.self_time.to_string(), line.total.to_string());
    let nested = if line.total == line.self_time { String::new() } else { nested };
    let _ = writeln!(text, "{self_time:>10}{share:>8.1}{nested:>12}  {what}");
    text
}

/// The maximum number of lines of a runtime's report, and the smallest share of the total that gets a line.
const REPORTED: usize = 16;
const NOTEWORTHY: f64 = 0.01;

/// What the language runtimes themselves report of their loads. The classes of Java are too small to list.
pub(super) fn reported(summary: &Summary, terminal: &Terminal) -> String {
    let mut runtimes: Vec<&str> = Vec::new();
    let is_class = |load: &Load| matches!(load.runtime, JAVA_CLASSES | JAVA_OWN_CLASSES);
    for load in summary.loads.iter().filter(|load| !load.is_file() && !is_class(load)) {
        if !runtimes.contains(&load.runtime) {
            runtimes.push(load.runtime);
        }
    }
    let sections = runtimes.into_iter().map(|runtime| report(summary, runtime, terminal));
    sections.filter(|section| !section.is_empty()).collect::<Vec<String>>().join("\n")
}

fn report(summary: &Summary, runtime: &str, terminal: &Terminal) -> String {
    let total = summary.median_run.total.as_f64().max(1.0);
    let all: Vec<&Load> = summary.loads.iter().filter(|load| load.runtime == runtime).collect();
    let mut lengths: Vec<Nanos> = all.iter().map(|load| load.total).collect();
    lengths.sort_by(|a, b| b.cmp(a));
    let least = lengths.get(REPORTED).copied().unwrap_or_default();
    let is_shown = |load: &&&Load| load.total > least && load.total.as_f64() >= NOTEWORTHY * total;

    let mut text = String::new();
    for load in all.iter().filter(is_shown) {
        let line = Line { times: 1, self_time: load.self_time, total: load.total };
        let room = terminal.width.saturating_sub(32).max(12);
        let indent = (2 * load.depth as usize).min(room - 12);
        text += &row(&line, total, &format!("{:indent$}{}", "", truncated(&load.unit, room - indent)));
    }
    if text.is_empty() {
        return text;
    }
    let title = format!("What {runtime} itself reports ({} in all)", count_of(all.len(), "load", "loads"));
    format!("{}\n{:>10}{:>8}{:>12}  what\n{text}", terminal.bold(&title), "own time", "%", "with nested")
}
