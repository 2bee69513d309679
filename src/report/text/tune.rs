//! The ways to start a program, for a terminal.

use super::lists::list as listed;
use super::terminal::{Terminal, truncated_paths};
use crate::document::bench::{Metric, Ratio};
use crate::document::tune::{TuneDocument, TunedVariant, UntriedVariant};
use crate::output::visible;
use crate::report::row::fine_ratio;
use crate::report::words::count_of;
use crate::stats::Verdict;
use anstyle::{AnsiColor, Style};
use firstbyte_measure::units::display_nanos;
use std::time::Duration;

/// A line before anything is measured.
pub fn beginning(ways: usize, budget: Duration) -> String {
    format!(
        "trying {}; the command is executed again and again, for about {} s",
        count_of(ways, "way", "ways"),
        budget.as_secs_f64()
    )
}

/// What a person is asked before a command is run that may not be fit for it.
pub fn question(reasons: &str) -> String {
    format!("This command may not be fit to be run hundreds of times: {reasons}. Go on? [y/N]")
}

/// The ways that would be tried, each with its command and its reason.
pub fn list<'w>(
    ways: impl IntoIterator<Item = ListedWay<'w>>,
    untried: &[UntriedVariant],
    terminal: &Terminal,
) -> String {
    let mut text = String::new();
    for ListedWay { name, why, command, behaviour } in ways {
        let mark = if behaviour { " (changes what it does)" } else { "" };
        text += &terminal.bold(&visible(name));
        text += &(mark.to_owned() + "\n");
        let lines = [why, &command].map(|line| terminal.wrap(&format!("  {}", visible(line)), 4) + "\n");
        text.extend(lines);
    }
    if text.is_empty() {
        text += "no way of the catalogue applies to this command\n";
    }
    let untried = not_tried("Not tried", untried, terminal);
    let note = "Nothing was run. What a traced run shows, such as the end of a chain of programs and the most expensive imports, is \
                not known yet.";
    format!("{text}{untried}\n{}\n", terminal.wrap(note, 0))
}

/// A way that would be tried.
#[derive(Clone, Debug)]
pub struct ListedWay<'w> {
    pub name: &'w str,
    pub why: &'w str,
    pub command: String,
    pub behaviour: bool,
}

/// The ways that help, and a word on the others; with `all`, a line on each of the others.
pub fn render(document: &TuneDocument, all: bool, terminal: &Terminal) -> String {
    let mut text = headline(document, terminal);
    text.extend(document.proven().map(|tuned| way(tuned, terminal)));
    text += &together(document, terminal);
    if all {
        let others = document.of_no_help().map(|tuned| format!("{}: {}", tuned.name, no_help(tuned)));
        let title = if document.partial { "No help so far" } else { "No help" };
        text += &listed(title, others, terminal);
        text += &not_tried("Not tried", &document.untried, terminal);
    } else {
        text += &others(document, terminal);
    }
    text + &listed("Warnings", document.warnings.iter().map(ToString::to_string), terminal)
}

fn headline(document: &TuneDocument, terminal: &Terminal) -> String {
    let command = terminal.bold(&truncated_paths(&document.command, terminal.width));
    format!("{command}\n{}\n", terminal.wrap(&summary(document), 0))
}

/// What was tried, in a sentence or two.
pub fn summary(document: &TuneDocument) -> String {
    let cold = if document.cold { " with a cold page cache" } else { "" };
    let plain = plain(document).map_or(String::new(), |times| format!("{times}{cold}. "));
    let ways = count_of(document.results.len(), "way was", "ways were");
    let interrupted = if document.partial { " Interrupted: what is proven until then." } else { "" };
    let none = match (document.proven().next(), &document.together) {
        (Some(_), _) => "",
        (None, Some(_)) => " None alone is proven to be faster.",
        (None, None) => " None is proven to be faster.",
    };
    let text = format!(
        "{plain}{ways} tried in {:.0} s, with {}.{interrupted}{none}",
        document.seconds,
        count_of(usize::try_from(document.executions).unwrap_or(usize::MAX), "execution", "executions"),
    );
    let first = text.chars().next().map_or(0, char::len_utf8);
    text[..first].to_uppercase() + &text[first..]
}

/// The times of the plain command.
fn plain(document: &TuneDocument) -> Option<String> {
    let time = display_nanos(document.plain_ns?);
    let total =
        document.plain_total_ns.map(|ns| format!(", total {}", display_nanos(ns))).unwrap_or_default();
    Some(match document.by {
        Metric::FirstByte => format!("first byte after {time}{total}"),
        _ if document.silent => format!("it writes nothing to stdout; total {time}"),
        by => format!("{} {time}", by.name()),
    })
}

/// A way that helps: its figures, its command, and what must be known of it.
fn way(tuned: &TunedVariant, terminal: &Terminal) -> String {
    let against = tuned.against.as_ref().map_or(String::new(), |name| format!(" against {name}"));
    let line = format!(
        "  {}{against}   {}",
        figures(tuned.ratio.as_ref(), tuned.median_ns, tuned.total_ns),
        visible(&tuned.command)
    );
    let green = Style::new().fg_color(Some(AnsiColor::Green.into()));
    let notes = notes(tuned);
    let notes = if notes.is_empty() {
        String::new()
    } else {
        terminal.wrap(&format!("      {}: {notes}", visible(&tuned.name)), 6) + "\n"
    };
    terminal.paint(green, &terminal.wrap(&line, 4)) + "\n" + &notes
}

/// What must be known of a way before it is used.
pub fn notes(tuned: &TunedVariant) -> String {
    let changes = tuned.behaviour.then(|| "changes what it does".to_owned());
    let writes = tuned.writes.as_ref().map(|what| format!("writes {what}"));
    let undo = tuned.undo.as_ref().map(|how| format!("to undo it, {how}"));
    let fresh = (!tuned.confirmed).then(|| "not confirmed by fresh runs".to_owned());
    let text = [Some(visible(&tuned.text)), changes, writes, undo, fresh].into_iter().flatten();
    text.collect::<Vec<_>>().join("; ")
}

/// `0.350 × (0.34 to 0.36)   49 ms, total 60 ms`.
pub fn figures(ratio: Option<&Ratio>, median: Option<f64>, total: Option<f64>) -> String {
    let ratio = ratio.map_or(String::new(), |ratio| {
        let [middle, low, high] = [ratio.ratio, ratio.low, ratio.high].map(fine_ratio);
        format!("{middle} × ({low} to {high})")
    });
    let median = median.map_or(String::new(), |ns| format!("   {}", display_nanos(ns)));
    let total = total.map_or(String::new(), |ns| format!(", total {}", display_nanos(ns)));
    ratio + &median + &total
}

fn together(document: &TuneDocument, terminal: &Terminal) -> String {
    document.together.as_ref().map_or(String::new(), |together| {
        let figures = figures(Some(&together.ratio), Some(together.median_ns), together.total_ns);
        let names = together.names.join(", ");
        let line = format!("together: {figures}   {}", visible(&together.command));
        let names = terminal.wrap(&format!("      {}", visible(&names)), 6);
        format!("{}\n{names}\n", terminal.bold(&terminal.wrap(&line, 4)))
    })
}

/// How many ways do not help, and which were not tried.
fn others(document: &TuneDocument, terminal: &Terminal) -> String {
    let count = document.of_no_help().count();
    let so_far = if document.partial { " so far" } else { "" };
    let no_help =
        if count == 0 { String::new() } else { format!("no help{so_far}: {count} (--all lists them)   ") };
    let untried = if document.untried.is_empty() {
        String::new()
    } else {
        format!(
            "not tried: {} ({})",
            document.untried.len(),
            visible(&by_reason(&document.untried).join("; "))
        )
    };
    let line = no_help + &untried;
    if line.is_empty() { line } else { terminal.wrap(line.trim_end(), 2) + "\n" }
}

fn no_help(tuned: &TunedVariant) -> String {
    let verdict = match tuned.verdict {
        Verdict::Faster => "too little",
        Verdict::Slower => "slower",
        Verdict::CantTell => "can't tell",
    };
    format!("{verdict}, {}; {}", figures(tuned.ratio.as_ref(), None, None), tuned.text)
}

fn not_tried(title: &str, untried: &[UntriedVariant], terminal: &Terminal) -> String {
    listed(title, by_reason(untried).into_iter(), terminal)
}

/// The ways that were not tried for one reason, and the reason.
fn by_reason(untried: &[UntriedVariant]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for UntriedVariant { name, reason } in untried {
        match reasons.iter_mut().find(|(other, _)| other == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    reasons.into_iter().map(|(reason, names)| format!("{}: {reason}", names.join(", "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Kind;
    use crate::document::bench::{SCHEMA, Tool};
    use crate::document::tune::TunedTogether;

    fn tuned(name: &str, ratio: f64, verdict: Verdict) -> TunedVariant {
        TunedVariant {
            name: name.to_owned(),
            runtime: "Node".to_owned(),
            text: "without this variable".to_owned(),
            command: format!("env -u {name} node app.js"),
            against: None,
            ratio: Some(Ratio { ratio, low: ratio - 0.01, high: ratio + 0.01, pairs: 20 }),
            median_ns: Some(ratio * 140e6),
            total_ns: Some(ratio * 160e6),
            verdict,
            confirmed: true,
            behaviour: false,
            writes: None,
            undo: None,
            finding: None,
            promised_ns: None,
        }
    }

    fn document() -> TuneDocument {
        let helps = tuned("A", 0.35, Verdict::Faster);
        TuneDocument {
            schema: SCHEMA.to_owned(),
            kind: Kind::Tune,
            tool: Tool::ours(),
            machine: serde_json::Value::Null,
            partial: false,
            warnings: Vec::new(),
            command: "node app.js".to_owned(),
            by: Metric::FirstByte,
            silent: false,
            cold: false,
            plain_ns: Some(140e6),
            plain_total_ns: Some(160e6),
            executions: 312,
            seconds: 34.2,
            together: Some(TunedTogether {
                names: vec!["A".to_owned(), "B".to_owned()],
                command: "B=1 env -u A node app.js".to_owned(),
                ratio: Ratio { ratio: 0.31, low: 0.3, high: 0.32, pairs: 20 },
                median_ns: 43.4e6,
                total_ns: Some(50e6),
            }),
            results: vec![helps, tuned("C", 1.2, Verdict::Slower), tuned("D", 0.999, Verdict::Faster)],
            untried: vec![UntriedVariant {
                name: "E".to_owned(),
                reason: "it prints something else".to_owned(),
            }],
        }
    }

    #[test]
    fn what_helps_is_shown_with_its_command_and_the_rest_in_a_line() {
        let text = render(&document(), false, &Terminal { width: 200, ..Terminal::default() });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1],
            "First byte after 140 ms, total 160 ms. 3 ways were tried in 34 s, with 312 executions."
        );
        assert_eq!(lines[2], "  0.350 × (0.340 to 0.360)   49.0 ms, total 56.0 ms   env -u A node app.js");
        assert!(
            text.contains(
                "together: 0.310 × (0.300 to 0.320)   43.4 ms, total 50.0 ms   B=1 env -u A node app.js\n"
            ),
            "{text}"
        );
        assert!(
            text.ends_with("no help: 2 (--all lists them)   not tried: 1 (E: it prints something else)\n"),
            "{text}"
        );
        let silent = TuneDocument { by: Metric::Total, silent: true, plain_total_ns: None, ..document() };
        let text = render(&silent, false, &Terminal { width: 200, ..Terminal::default() });
        assert!(
            text.lines().nth(1).unwrap().starts_with("It writes nothing to stdout; total 140 ms. 3 ways ")
        );
        let partial = render(&TuneDocument { partial: true, ..document() }, false, &Terminal::default());
        assert!(partial.contains("\nno help so far: 2 "), "{partial}");
        let all = render(&document(), true, &Terminal::default());
        assert!(all.contains("  C: slower, 1.200 ×") && all.contains("  D: too little, 0.999 ×"), "{all}");
    }

    #[test]
    fn a_reason_is_given_once() {
        let untried =
            |name: &str, reason: &str| UntriedVariant { name: name.to_owned(), reason: reason.to_owned() };
        let untried = vec![untried("E", "no time"), untried("F", "it fails"), untried("G", "no time")];
        let document = TuneDocument { untried, ..document() };
        for all in [false, true] {
            let text = render(&document, all, &Terminal { width: 200, ..Terminal::default() });
            assert!(text.contains("E, G: no time") && text.contains("F: it fails"), "{text}");
        }
    }

    #[test]
    fn hostile_names_do_not_reach_the_terminal() {
        let mut document = document();
        document.command = "a\u{1b}[2J".to_owned();
        document.results[0].command = "b\u{1b}]0;x".to_owned();
        document.untried[0].reason = "c\u{7}".to_owned();
        let text = render(&document, false, &Terminal::default());
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text}");
    }
}
