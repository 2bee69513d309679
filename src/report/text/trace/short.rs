//! The first screen of a trace: what a person looks for first, in the lines that every terminal has.

use super::{cost_of_observing, first_byte, name_line, path, phase_bar, running_total, style};
use crate::analysis::Summary;
use crate::analysis::attribution::WorkKind;
use crate::analysis::notes::{FindingText, TraceNotes};
use crate::analysis::summary::CommonShare;
use crate::document::named_span::NamedSpan;
use crate::output::visible;
use crate::report::text::clipping::{ListedText, clipped, listed};
use crate::report::text::sparkline::{MIN_SAMPLES, sparkline};
use crate::report::text::terminal::{Terminal, fitted};
use crate::report::words::{count_of, runs};
use firstbyte_measure::units::display_nanos;
use std::fmt::Write;

/// On a terminal of 24 lines: the maximum numbers of lines of the path, of marks, of costs, of findings, and of warnings. A higher
/// terminal shows more.
const PATH: usize = 2;
const MARKS: usize = 2;
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
    text += &marks(summary, terminal);
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
    let ending = ending(&notes.ending, left * 2 / 3, terminal);
    let left = left.saturating_sub(ending.lines().count());
    let all = notes.findings.iter().take(FINDINGS + extra(terminal) / 2);
    let text = |finding: &FindingText| {
        let text = ListedText::new(visible(&finding.marked()), finding.mark.len() + 1, terminal);
        text.ending_with(finding.attempt().map(|text| visible(&text)), terminal)
    };
    let mut findings: Vec<ListedText> = all.map(text).collect();
    // Of a program that failed, the reason comes first.
    let keep_fitting = |texts: &mut Vec<ListedText>, room: usize| {
        if !ending.is_empty() && texts.first().is_some_and(|text| text.least > room) {
            texts.clear();
        }
    };
    keep_fitting(&mut findings, left.saturating_sub(2));
    let first = findings.first().map_or(0, |finding| 2 + finding.least);

    let texts = urgent.iter().map(|note| ListedText::new(visible(note), 2, terminal));
    let mut warnings: Vec<ListedText> = texts.take(URGENT + extra(terminal) / 2).collect();
    let most = (left * 2 / 3).min(left.saturating_sub(first));
    keep_fitting(&mut warnings, most);
    let warnings = listed(&warnings, most, terminal);
    let lines = left.saturating_sub(warnings.text.lines().count() + 2);
    let findings = listed(&findings, lines, terminal);
    let title = format!("\n{}\n", terminal.bold(&notes.findings_title()));
    let title = if findings.shown == 0 { "" } else { &title };

    let left_out = [urgent.len() - warnings.shown, notes.findings.len() - findings.shown];
    format!("{title}{}\n{ending}{}{}", findings.text, warnings.text, what_is_more(left_out, more, terminal))
}

/// How the program ended, and the last lines of its stderr: as many as fit into `most` lines, and one in any case.
fn ending(lines: &[String], most: usize, terminal: &Terminal) -> String {
    let Some((how, stderr)) = lines.split_first() else { return String::new() };
    let how = terminal.wrap(&visible(how), 2) + "\n";
    let room = most.saturating_sub(how.lines().count()).max(1);
    let last = &stderr[stderr.len().saturating_sub(room)..];
    how + &last.iter().map(|line| clipped(&visible(line), 2, 1, terminal)).collect::<String>()
}

/// The lines that this terminal has more than the smallest usual one.
fn extra(terminal: &Terminal) -> usize {
    terminal.height.saturating_sub(SMALLEST)
}

fn headline(summary: &Summary, command: &str, terminal: &Terminal) -> String {
    let total = display_nanos(summary.total.middle);
    let mean = if summary.runs > 1 { "Mean " } else { "" };
    let line = match &summary.within {
        Some(name) => format!("{mean}{total} in `{}`.", visible(name)),
        None => format!("{mean}{total} from execve to exit; {}.", first_byte(summary)),
    };
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

/// The parts that have a name, with their medians.
fn marks(summary: &Summary, terminal: &Terminal) -> String {
    if summary.marks.is_empty() {
        return String::new();
    }
    let part = |span: &NamedSpan| format!("{} {}", visible(&span.title()), display_nanos(span.times.median));
    let parts: Vec<String> = summary.marks.iter().map(part).collect();
    clipped(&format!("Marks: {}", parts.join(", ")), 2, MARKS + extra(terminal) / 4, terminal)
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
        let line = format!("{}{time:>10}{part:>8.1}", fitted(&title(share, summary.sees_faults()), width));
        let _ = writeln!(text, "{}", terminal.paint(style(share.kind), &line));
    }
    text
}

fn title(share: &CommonShare, sees_faults: bool) -> String {
    match share.kind {
        WorkKind::User => share.kind.title_if(sees_faults).to_owned(),
        WorkKind::Death => format!("{} {}", share.kind.title(), share.name),
        kind => format!("{}: {}", kind.title(), share.name),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Account;
    use crate::analysis::binaries::FileBinaries;
    use crate::report::text::terminal::columns;
    use firstbyte_measure::tracer::replay;

    fn sentences(what: &str, count: usize) -> Vec<String> {
        let long = "and a sentence that goes on in another line and one more";
        let first = "what happened to the program and what would help";
        (0..count).map(|n| format!("{what}-{n}: {first}. After it, {long}, {long}.")).collect()
    }

    /// The first screen below `before` lines, with these numbers of warnings and findings.
    fn below(before: usize, [warnings, findings]: [usize; 2], terminal: &Terminal) -> String {
        below_failure(before, [warnings, findings], Vec::new(), terminal)
    }

    fn below_failure(
        before: usize,
        [warnings, findings]: [usize; 2],
        ending: Vec<String>,
        terminal: &Terminal,
    ) -> String {
        let numbered = sentences("finding", findings).into_iter().enumerate();
        let tune = |n| (n % 2 == 0).then(|| "firstbyte tune --only direct ./shim".to_owned());
        let numbered = numbered.map(|(n, text)| FindingText {
            mark: format!("{}.", n + 1),
            text,
            tune: tune(n),
            ..FindingText::default()
        });
        let notes = TraceNotes { findings: numbered.collect(), ending, ..TraceNotes::default() };
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
                    let commands = words.matches("Try it: firstbyte tune --only direct ./shim").count();
                    let all = if what == "finding" { shown.div_ceil(2) } else { commands };
                    assert_eq!(commands, all, "no command is cut: {text}");
                    let word = if what == "warning" { "note" } else { what };
                    let more = format!(" {} more {word}", count - shown);
                    assert!(shown == count || text.contains(&more), "{shown} of {count}: {text}");
                }
            }
        }
    }

    #[test]
    fn the_last_lines_of_a_failure_come_before_findings() {
        let failed =
            || ["The program failed.", "  stderr: first", "  stderr: last"].map(str::to_owned).to_vec();
        let terminal = Terminal::default();
        for before in 8..=18 {
            let text = below_failure(before, [2, 5], failed(), &terminal);
            assert!(text.contains("The program failed.\n") && text.contains("  stderr: last\n"), "{text}");
            assert!(before > 16 || text.contains("  stderr: first\n"), "{before}: {text}");
            assert_eq!(text.contains("finding-0"), before < 15, "{before}: {text}");
            assert!(before + text.lines().count() < terminal.height, "{before}: {text}");
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
    fn user_code_is_said_to_have_the_page_faults_that_are_not_seen() {
        let bytes = include_bytes!("../../../../tests/recordings/small.jsonl");
        let recording = replay::read("small", bytes.as_slice()).unwrap().recording;
        let account = Account::of(&recording, &FileBinaries::default()).unwrap();
        let mut summary = Summary::of(vec![account.clone(), account]).unwrap();
        summary.counts.page_faults = 3;
        let rows = |summary: &Summary| {
            let terminal = Terminal::default();
            let texts = [first_part, super::super::full_first_part].map(|part| part(summary, "x", &terminal));
            assert!(
                texts[0].contains("\nMean ") && texts[0].contains(" from execve to exit; "),
                "{}",
                texts[0]
            );
            let rows = ["\nuser code with page faults ", "\n  with page faults, "];
            [0, 1].map(|n| texts[n].matches(rows[n]).count())
        };
        assert_eq!(rows(&summary), [0, 0]);
        summary.stopped = true;
        assert_eq!(rows(&summary), [1, 1]);
    }
}
