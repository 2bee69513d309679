//! The first screen of a trace: what a person looks for first, in the lines that every terminal has.

use super::{cost_of_observing, first_byte, name_line, path, phase_bar, running_total, style};
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

/// On a terminal of 24 lines: the maximum numbers of lines of the path, of costs, of findings, and of warnings. A higher
/// terminal shows more.
const PATH: usize = 2;
const COSTS: usize = 5;
/// A terminal of fewer columns needs the lines of some costs for texts that wrap.
const COSTS_IF_NARROW: usize = 3;
const NARROW: usize = 80;
const FINDINGS: usize = 3;
const URGENT: usize = 3;
const SMALLEST: usize = 24;
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
    // without the last line, the empty line before it, and that of the prompt
    let left = terminal.height.saturating_sub(before + 3);
    let numbered = notes.findings.iter().take(FINDINGS + extra(terminal) / 2).enumerate();
    let numbered = numbered.map(|(n, finding)| format!("{}. {}", n + 1, visible(finding)));
    let texts = numbered.map(|text| ListedText::new(text, 3, terminal));
    let findings: Vec<ListedText> = texts.collect();
    let first = findings.first().map_or(0, |finding| 2 + finding.least);

    let texts = urgent.iter().map(|note| ListedText::new(visible(note), 2, terminal));
    let most = (left * 2 / 3).min(left.saturating_sub(first));
    let warnings = listed(&texts.take(URGENT + extra(terminal) / 2).collect::<Vec<_>>(), most, terminal);
    let lines = left.saturating_sub(warnings.text.lines().count() + 2);
    let findings = listed(&findings, lines, terminal);
    let title = format!("\n{}\n", terminal.bold(&notes.findings_title()));
    let title = if findings.shown == 0 { "" } else { &title };

    let left_out = [urgent.len() - warnings.shown, notes.findings.len() - findings.shown];
    format!("{title}{}\n{}{}", findings.text, warnings.text, what_is_more(left_out, more, terminal))
}

/// The lines that this terminal has more than the smallest usual one.
fn extra(terminal: &Terminal) -> usize {
    terminal.height.saturating_sub(SMALLEST)
}

fn headline(summary: &Summary, command: &str, terminal: &Terminal) -> String {
    let total = display_nanos(summary.total.middle);
    let line = format!("{total} from execve to exit; {}.", first_byte(summary));
    let observing = cost_of_observing(summary, terminal);
    format!("{}{}\n{observing}", name_line(command, terminal), terminal.wrap(&line, 0))
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
    clipped(&format!("Critical path: {}", parts.join(", ")), 2, PATH + extra(terminal) / 4, terminal)
}

/// The parts of the path that take longest, whatever their kind.
fn costs(summary: &Summary, terminal: &Terminal) -> String {
    let mut shares: Vec<&CommonShare> =
        summary.shares.iter().filter(|s| s.time.middle > 0.0 && !s.is_of_others()).collect();
    shares.sort_by(|a, b| b.time.middle.total_cmp(&a.time.middle));
    let width = terminal.width.saturating_sub(20).max(20);
    let total = running_total(summary);
    let most = if terminal.width < NARROW { COSTS_IF_NARROW } else { COSTS };

    let mut text =
        terminal.bold(&format!("{}{:>10}{:>8}", fitted("Largest costs", width), "time", "%")) + "\n";
    for share in shares.into_iter().take(most + extra(terminal) / 3) {
        let (time, part) = (display_nanos(share.time.middle), 100.0 * share.time.middle / total);
        let line = format!("{}{time:>10}{part:>8.1}", fitted(&title(share), width));
        let _ = writeln!(text, "{}", terminal.paint(style(share.kind), &line));
    }
    text
}

fn title(share: &CommonShare) -> String {
    match share.kind {
        WorkKind::User => share.kind.title().to_owned(),
        WorkKind::Death => format!("{} {}", share.kind.title(), share.name),
        kind => format!("{}: {}", kind.title(), share.name),
    }
}

/// A text of a list.
struct ListedText {
    text: String,
    indent: usize,
    /// The lines without which it says less than a sentence, or not what helps.
    least: usize,
}

impl ListedText {
    fn new(text: String, indent: usize, terminal: &Terminal) -> ListedText {
        let first = first_sentence(&text);
        let all = first.len() == text.len() || text.contains("help: ");
        let needed = if all { text.clone() } else { format!("{first} …") };
        let least = terminal.wrap(&needed, indent).lines().count();
        ListedText { text, indent, least }
    }
}

/// The end of a sentence is followed by a capital or a name in backquotes, and is not within such a name.
fn first_sentence(text: &str) -> &str {
    let ends = text.match_indices(". ").filter(|(at, _)| {
        let goes_on = text[at + 2..].starts_with(|c: char| c.is_uppercase() || c == '`');
        // the number of a finding is no sentence
        goes_on && *at > 2 && text[..*at].matches('`').count().is_multiple_of(2)
    });
    ends.map(|(at, _)| &text[..=at]).next().unwrap_or(text)
}

/// Texts below each other, as far as they fit.
struct Listed {
    text: String,
    /// How many of them it has.
    shown: usize,
}

/// The first texts in at most `lines` lines, or the first one in the lines that it needs. Those that remain go to the first
/// ones.
fn listed(texts: &[ListedText], lines: usize, terminal: &Terminal) -> Listed {
    let mut needed = 0;
    let fits = |text: &&ListedText| {
        needed += text.least;
        needed <= lines
    };
    let shown = texts.iter().take_while(fits).count().max(texts.len().min(1));
    let needed: usize = texts[..shown].iter().map(|text| text.least).sum();

    let (mut text, mut left) = (String::new(), lines.saturating_sub(needed));
    for each in &texts[..shown] {
        let clipped = clipped(&each.text, each.indent, each.least + left, terminal);
        left -= clipped.lines().count().saturating_sub(each.least).min(left);
        text += &clipped;
    }
    Listed { text, shown }
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
        let long = "and a sentence that goes on in another line and one more";
        let first = "what happened to the program and what would help";
        (0..count).map(|n| format!("{what}-{n}: {first}. After it, {long}, {long}.")).collect()
    }

    /// The first screen below `before` lines, with so many warnings and findings.
    fn below(before: usize, [warnings, findings]: [usize; 2], terminal: &Terminal) -> String {
        let notes = TraceNotes { findings: sentences("finding", findings), ..TraceNotes::default() };
        rest(before, &sentences("warning", warnings), &notes, ["--full", "all"], terminal)
    }

    #[test]
    fn the_first_screen_fits_with_any_number_of_warnings_and_findings() {
        let counts = (0..9).flat_map(|warnings| (0..9).map(move |findings| [warnings, findings]));
        let sizes = [(60, 24), (80, 24), (200, 24), (80, 50)];
        for (counts, (width, height)) in counts.flat_map(|all| sizes.map(|size| (all, size))) {
            let terminal = Terminal { width, height, colour: false };
            for before in 8..=14 {
                let text = below(before, counts, &terminal);
                assert!(before + text.lines().count() < height, "{before} lines and {text}");
                assert!(text.lines().all(|line| columns(line) <= width), "{width}: {text}");
                for (what, count) in ["warning", "finding"].into_iter().zip(counts) {
                    let shown = text.matches(&format!("{what}-")).count();
                    assert!(shown >= count.min(1), "{text}");
                    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
                    let whole = words.matches("would help.").count();
                    assert!(whole >= shown, "no first sentence is cut: {text}");
                    let word = if what == "warning" { "note" } else { what };
                    let more = format!(" {} more {word}", count - shown);
                    assert!(shown == count || text.contains(&more), "{shown} of {count}: {text}");
                }
            }
        }
    }

    #[test]
    fn a_higher_terminal_shows_more() {
        let shown = |height| {
            let text = below(12, [2, 7], &Terminal { height, ..Terminal::default() });
            ["warning-", "finding-"].map(|what| text.matches(what).count())
        };
        assert_eq!([shown(24), shown(60)], [[2, 1], [2, 7]]);
    }

    #[test]
    fn help_and_the_first_sentence_are_never_cut() {
        let long = "a word and ".repeat(20);
        let text = format!("It failed: {long} so. help: type `this`");
        let listed = listed(&[ListedText::new(text, 2, &Terminal::default())], 1, &Terminal::default());
        assert!(listed.text.ends_with("help: type `this`\n"), "{}", listed.text);
        assert_eq!(
            first_sentence("1. 3 ms, 5 %: `a. B` is 1.5 MB. Shorten it. Or not."),
            "1. 3 ms, 5 %: `a. B` is 1.5 MB."
        );
    }

    #[test]
    fn clipped_text_ends_with_a_whole_word() {
        let terminal = Terminal { width: 12, ..Terminal::default() };
        assert_eq!(clipped("one two three four", 2, 1, &terminal), "one two …\n");
        assert_eq!(clipped("one two four five", 2, 1, &terminal), "one two …\n");
        assert_eq!(clipped("one two", 2, 1, &terminal), "one two\n");
    }

    #[test]
    fn clipped_text_keeps_the_ends_of_its_paths() {
        let terminal = Terminal { width: 60, ..Terminal::default() };
        let text = "9 %: It reads `/usr/share/of/a/long/name/and/of/another/module.js`, and works on it";
        let shown = clipped(text, 3, 1, &terminal);
        assert!(shown.starts_with("9 %: It reads `…f/another/module.js`, and works"), "{shown}");
        let terminal = Terminal { width: 30, ..Terminal::default() };
        assert_eq!(clipped(text, 3, 1, &terminal), "9 %: It reads …her/module.js …\n");
        let long_name = "9 %: It reads `/etc/ssl/ca-certificates.crt` and works on it";
        assert_eq!(clipped(long_name, 3, 1, &terminal), "9 %: It reads …tificates.crt …\n");
    }
}
