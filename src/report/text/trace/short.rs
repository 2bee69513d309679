//! The first screen of a trace: what a person looks for first, in the lines that every terminal has.

use super::{first_byte, name_line, path, phase_bar, style};
use crate::analysis::Summary;
use crate::analysis::attribution::WorkKind;
use crate::analysis::notes::TraceNotes;
use crate::analysis::summary::CommonShare;
use crate::output::visible;
use crate::report::text::sparkline::{MIN_SAMPLES, sparkline};
use crate::report::text::terminal::{Terminal, columns, fitted, short_paths, truncated, truncated_front};
use crate::report::words::{count_of, runs};
use firstbyte_measure::units::display_nanos;
use std::fmt::Write;

/// The lines of the smallest usual terminal, without that of the prompt.
const LINES: usize = 23;
/// The most lines of the path, the most costs and findings, and the most warnings that have a line in any case.
const PATH: usize = 2;
const COSTS: usize = 5;
const FINDINGS: usize = 3;
const URGENT: usize = 3;
/// The columns of the picture of the runs.
const RUNS: usize = 24;

/// What the traced runs alone say: the total, the phases, who worked, and the largest costs.
pub fn first_part(summary: &Summary, command: &str, terminal: &Terminal) -> String {
    let mut text = headline(summary, command, terminal);
    text += &several_runs(summary);
    text += &phase_bar(summary, terminal);
    text += &critical_path(summary, terminal);
    text + "\n" + &costs(summary, terminal)
}

/// The rest: the most expensive findings, what must be known, and where there is more.
pub fn second_part(summary: &Summary, notes: &TraceNotes, terminal: &Terminal) -> String {
    let more = ["--full", "steps, functions, loads, files, processes, method"];
    let before = first_part(summary, &notes.command, terminal).lines().count();
    rest(before, &super::urgent(summary, notes), notes, more, terminal)
}

/// All of the first screen. `source`: what shows the rest.
pub fn whole(summary: &Summary, notes: &TraceNotes, source: &str, terminal: &Terminal) -> String {
    let first = first_part(summary, &notes.command, terminal);
    let more = [source, "steps, loads, files, processes, method"];
    let rest = rest(first.lines().count(), &super::urgent(summary, notes), notes, more, terminal);
    first + &rest
}

/// What fits below `before` lines. `more`: where there is more, and what.
fn rest(
    before: usize,
    urgent: &[String],
    notes: &TraceNotes,
    more: [&str; 2],
    terminal: &Terminal,
) -> String {
    // without the last line and the empty line before it
    let left = LINES.saturating_sub(before + 2);
    let wanted = if notes.findings.is_empty() { 0 } else { 2 + 2 * notes.findings.len().min(FINDINGS) };

    let lines = left.saturating_sub(wanted).max(urgent.len().min(URGENT));
    let warnings = listed(urgent.iter().map(|note| visible(note)), lines, 2, terminal);
    let (findings, shown) = findings(notes, left.saturating_sub(warnings.text.lines().count()), terminal);
    let left_out = [urgent.len() - warnings.shown, notes.findings.len() - shown];
    format!("{findings}\n{}{}", warnings.text, what_is_more(left_out, more, terminal))
}

fn headline(summary: &Summary, command: &str, terminal: &Terminal) -> String {
    let total = display_nanos(summary.total.middle);
    let line = format!("{total} from execve to exit; {}.", first_byte(summary));
    format!("{}{}\n", name_line(command, terminal), terminal.wrap(&line, 0))
}

/// How the totals of the runs are distributed.
fn several_runs(summary: &Summary) -> String {
    let others = summary.others.iter().map(|(account, _)| account.total.as_f64());
    let totals: Vec<f64> = others.chain([summary.median_run.total.as_f64()]).collect();
    if totals.len() < MIN_SAMPLES {
        return String::new();
    }
    let (least, most) = (summary.total.least, summary.total.most);
    let picture = sparkline(&totals, [least, most], RUNS);
    format!("{}: {} {picture} {}\n", runs(totals.len()), display_nanos(least), display_nanos(most))
}

fn critical_path(summary: &Summary, terminal: &Terminal) -> String {
    let parts = path::parts(summary);
    if parts.len() < 2 {
        return String::new();
    }
    clipped(&format!("Critical path: {}", parts.join(", ")), 2, PATH, terminal)
}

/// The parts of the path that take longest, whatever their kind.
fn costs(summary: &Summary, terminal: &Terminal) -> String {
    let mut shares: Vec<&CommonShare> = summary.shares.iter().filter(|s| s.time.middle > 0.0).collect();
    shares.sort_by(|a, b| b.time.middle.total_cmp(&a.time.middle));
    let width = terminal.width.saturating_sub(20).max(20);
    let total = summary.total.middle.max(1.0);

    let mut text =
        terminal.bold(&format!("{}{:>10}{:>8}", fitted("Largest costs", width), "time", "%")) + "\n";
    for share in shares.into_iter().take(COSTS) {
        let (time, part) = (display_nanos(share.time.middle), 100.0 * share.time.middle / total);
        let line = format!("{}{time:>10}{part:>8.1}", fitted(&title(share), width));
        let _ = writeln!(text, "{}", terminal.paint(style(share.kind), &line));
    }
    text
}

fn title(share: &CommonShare) -> String {
    match share.kind {
        WorkKind::User => share.kind.title().to_owned(),
        kind => format!("{}: {}", kind.title(), share.name),
    }
}

/// The findings that fit into so many lines, and how many those are. The most expensive one always has a line.
fn findings(notes: &TraceNotes, lines: usize, terminal: &Terminal) -> (String, usize) {
    let numbered = notes.findings.iter().take(FINDINGS).enumerate();
    let numbered = numbered.map(|(n, finding)| format!("{}. {}", n + 1, visible(finding)));
    let list = listed(numbered, lines.saturating_sub(2).max(1), 3, terminal);
    if list.shown == 0 {
        return (String::new(), 0);
    }
    (format!("\n{}\n{}", terminal.bold(&notes.findings_title()), list.text), list.shown)
}

/// Texts below each other, as far as they fit.
struct Listed {
    text: String,
    /// How many of them it has.
    shown: usize,
}

/// The first texts in at most `lines` lines. Each has its part of these lines, at least one; the first ones have most.
fn listed(texts: impl Iterator<Item = String>, lines: usize, indent: usize, terminal: &Terminal) -> Listed {
    let texts: Vec<String> = texts.take(lines).collect();
    let (mut text, mut left) = (String::new(), lines);
    for (n, each) in texts.iter().enumerate() {
        let most = left.div_ceil(texts.len() - n);
        let each = clipped(each, indent, most, terminal);
        left = left.saturating_sub(each.lines().count());
        text += &each;
    }
    Listed { text, shown: texts.len() }
}

/// Where there are the notes and findings that are not here, and everything else.
fn what_is_more([notes, findings]: [usize; 2], [source, others]: [&str; 2], terminal: &Terminal) -> String {
    let of = |count: usize, one: &str, several: &str| {
        if count > 0 { format!("{}, ", count_of(count, one, several)) } else { String::new() }
    };
    let notes = of(notes, "more note", "more notes");
    let findings = of(findings, "more finding", "more findings");
    let text = format!("{source}: {notes}{findings}{others}");
    clipped(&text, 8, 1, terminal)
}

/// What remains free at the end of a line, because the next word is too long for it.
const RAGGED: usize = 8;
/// The end of a path says something from this width on, in columns.
const PATH_END: usize = 10;

/// `text` in at most `most` lines. If it needs more, its paths lose their beginnings, and `…` stands for what still does not
/// fit.
fn clipped(text: &str, indent: usize, most: usize, terminal: &Terminal) -> String {
    let mut wrapped = terminal.wrap(text, indent);
    if wrapped.lines().count() > most {
        let room = most * terminal.width.saturating_sub(indent + RAGGED);
        wrapped = terminal.wrap(&short_paths(text, room), indent);
    }

    let mut lines: Vec<String> = wrapped.lines().take(most).map(str::to_owned).collect();
    let next = wrapped.lines().nth(most).and_then(|line| line.split_whitespace().next());
    if let (Some(next), Some(last)) = (next, lines.last_mut()) {
        *last = broken_off(last, next, terminal.width);
    }
    lines.join("\n") + "\n"
}

/// A line that goes on with the word `next`: with the end of this word, if it is a path and there is room, and `…`.
fn broken_off(line: &str, next: &str, width: usize) -> String {
    let room = width.saturating_sub(columns(line) + 3);
    let next = next.trim_matches(['`', ',']);
    let is_path = next.contains('/') || next.starts_with('…');
    if is_path && room >= PATH_END {
        return format!("{line} {} …", truncated_front(next, room));
    }
    let is_room = columns(line) + 2 <= width;
    let words = if is_room { line } else { line.rsplit_once(' ').map_or("", |(words, _)| words) };
    truncated(&format!("{words} …"), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(what: &str, count: usize) -> Vec<String> {
        let long =
            "what happened and what would help, in a sentence that goes on in another line and one more";
        (0..count).map(|n| format!("{what}-{n}: {long}, {long}.")).collect()
    }

    #[test]
    fn the_first_screen_fits_with_any_number_of_warnings_and_findings() {
        let counts = (0..9).flat_map(|warnings| (0..9).map(move |findings| [warnings, findings]));
        for ([warnings, findings], width) in counts.flat_map(|all| [60, 80, 200].map(|width| (all, width))) {
            let terminal = Terminal { width, colour: false };
            let notes = TraceNotes { findings: sentences("finding", findings), ..TraceNotes::default() };
            for before in 8..=16 {
                let text =
                    rest(before, &sentences("warning", warnings), &notes, ["--full", "all"], &terminal);
                assert!(before + text.lines().count() <= 24, "{before} lines and {text}");
                assert!(before == 16 || before + text.lines().count() < 24, "{before} lines and {text}");
                assert!(text.lines().all(|line| columns(line) <= width), "{width}: {text}");
                for (what, count) in [("warning", warnings), ("finding", findings)] {
                    let shown = text.matches(&format!("{what}-")).count();
                    assert!(shown >= count.min(1), "{text}");
                    let word = if what == "warning" { "note" } else { what };
                    let more = format!(" {} more {word}", count - shown);
                    assert!(shown == count || text.contains(&more), "{shown} of {count}: {text}");
                }
            }
        }
    }

    #[test]
    fn clipped_text_ends_with_a_whole_word() {
        let terminal = Terminal { width: 12, colour: false };
        assert_eq!(clipped("one two three four", 2, 1, &terminal), "one two …\n");
        assert_eq!(clipped("one two four five", 2, 1, &terminal), "one two …\n");
        assert_eq!(clipped("one two", 2, 1, &terminal), "one two\n");
    }

    #[test]
    fn clipped_text_keeps_the_ends_of_its_paths() {
        let terminal = Terminal { width: 60, colour: false };
        let text = "9 %: It reads `/usr/share/of/a/long/name/and/of/another/module.js`, and works on it";
        let shown = clipped(text, 3, 1, &terminal);
        assert!(shown.starts_with("9 %: It reads `…f/another/module.js`, and works"), "{shown}");
        let terminal = Terminal { width: 30, colour: false };
        assert_eq!(clipped(text, 3, 1, &terminal), "9 %: It reads …her/module.js …\n");
        let long_name = "9 %: It reads `/etc/ssl/ca-certificates.crt` and works on it";
        assert_eq!(clipped(long_name, 3, 1, &terminal), "9 %: It reads …tificates.crt …\n");
    }
}
