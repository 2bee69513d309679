//! What a start-up brought in, and how long each load took.

use crate::account::Summary;
use crate::account::loads::Load;
use crate::report::text::terminal::{Terminal, truncated_front};
use crate::report::words::count_of;
use firstbyte_measure::units::Nanos;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The most lines; the rest becomes one line.
const LOADS: usize = 12;

/// Loads of the same file in several processes.
#[derive(Clone, Default)]
struct Line {
    times: usize,
    own: Nanos,
    total: Nanos,
}

/// The files that were loaded, by what the system calls show.
pub(super) fn files(summary: &Summary, terminal: &Terminal) -> String {
    let lines = by_file(&summary.loads);
    if lines.len() < 2 {
        return String::new();
    }

    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by(|(a_key, a), (b_key, b)| b.own.cmp(&a.own).then_with(|| a_key.cmp(b_key)));
    let (shown, rest) = lines.split_at(LOADS.min(lines.len()));
    let total = summary.median_run.total.as_f64().max(1.0);
    let mut text = head(terminal);
    for ((kind, path), line) in shown {
        let path = truncated_front(path, terminal.width.saturating_sub(41).max(20));
        let times = if line.times > 1 { format!(" ({} times)", line.times) } else { String::new() };
        text += &row(line, total, &format!("{kind:<9}{path}{times}"));
    }
    if !rest.is_empty() {
        let own = Nanos(rest.iter().map(|(_, line)| line.own.0).sum());
        let line = Line { own, total: own, times: rest.len() };
        text += &row(&line, total, &count_of(rest.len(), "other", "others"));
    }
    text
}

/// The files by kind and path. A load inside another one of the same file is in the time of that one.
fn by_file(loads: &[Load]) -> BTreeMap<(&str, &str), Line> {
    let mut lines: BTreeMap<(&str, &str), Line> = BTreeMap::new();
    let mut around: Vec<(u32, (&str, &str))> = Vec::new();
    for load in loads.iter().filter(|load| is_file(load)) {
        let key = (load.runtime, load.file.as_deref().unwrap_or_default());
        around.retain(|(depth, _)| *depth < load.depth);
        let line = lines.entry(key).or_default();
        line.times += 1;
        line.own = line.own + load.own;
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
    let share = 100.0 * line.own.as_f64() / total;
    let (own, nested) = (line.own.to_string(), line.total.to_string());
    let nested = if line.total == line.own { String::new() } else { nested };
    let _ = writeln!(text, "{own:>10}{share:>8.1}{nested:>12}  {what}");
    text
}

fn is_file(load: &Load) -> bool {
    use crate::account::loads::{EXECUTABLE, FILE, LIBRARY};
    matches!(load.runtime, EXECUTABLE | LIBRARY | FILE)
}
