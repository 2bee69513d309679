//! The results of `firstbyte throughput` as tables, for a terminal.

use super::terminal::Terminal;
use crate::document::throughput::{Throughput, ThroughputDocument, WrongOutput};
use crate::output::visible;
use crate::report::pictures::throughput::plot;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The width of one number of lines, with the space before it.
const COLUMN: usize = 9;

/// A table for each sink, in seconds as in Response to Response; then wrong output and skipped designs.
pub fn render(document: &ThroughputDocument, terminal: &Terminal) -> String {
    let mut text = String::new();
    for (sink, description) in document.sinks() {
        let title = terminal.wrap(&visible(&format!("{sink} ({description})")), 2);
        let _ = writeln!(text, "{}\n", title.replacen(sink, &terminal.bold(sink), 1));
        text += &post_table(document, sink, terminal);
        text += &table(document, sink, terminal);
        text += &plot(document, sink, terminal);
        text.push('\n');
    }

    text += &warnings(document, terminal);
    text += &wrong(document, terminal);
    for skipped in &document.skipped {
        let install = skipped.install.as_ref().map_or(String::new(), |command| format!("; {command}"));
        let line = format!("skipped: {}: {}{install}", skipped.name, skipped.reason);
        text += &(terminal.wrap(&visible(&line), 4) + "\n");
    }
    if document.partial {
        text += "interrupted: some runs are missing\n";
    }
    text
}

/// The table of the post with our figures beside its own, the names of the columns first; empty unless it is repeated.
pub(crate) fn post_rows(document: &ThroughputDocument, sink: &str) -> Vec<Vec<String>> {
    let columns = document.columns();
    if columns.is_empty() {
        return Vec::new();
    }
    let names = || columns.iter().map(|(_, name)| (*name).to_owned());
    let heading = ["N".to_owned()].into_iter().chain(names()).chain(names()).chain(["ours".to_owned()]);

    let row = |count: &u64| -> Vec<String> {
        let published = columns.iter().map(|(design, _)| document.published(design, *count));
        let published = published.map(|time| time.map_or("-".to_owned(), |time| time.to_string()));
        let designs = columns.iter().map(|(design, _)| *design).chain(["firstbyte lines"]);
        let here = designs.map(|design| seconds(document.find(sink, design, *count)));
        [count.to_string()].into_iter().chain(published).chain(here).collect()
    };
    std::iter::once(heading.collect()).chain(document.counts(sink).iter().map(row)).collect()
}

fn post_table(document: &ThroughputDocument, sink: &str, terminal: &Terminal) -> String {
    const CELL: usize = 7;
    let rows = post_rows(document, sink);
    if rows.is_empty() {
        return String::new();
    }
    let wide = document.columns().len() * CELL;
    let mut text = format!("{:>9}{:>wide$}{:>wide$}\n", "", "published", "here");
    for row in rows {
        for (n, cell) in row.iter().enumerate() {
            let width = if n == 0 { 9 } else { CELL };
            let _ = write!(text, "{cell:>width$}");
        }
        text.push('\n');
    }
    let legend = "Seconds: those of the post, medians of its programs here, and `firstbyte lines`.";
    text + "\n" + &terminal.wrap(legend, 0) + "\n\n"
}

/// The name of a design, marked if it prints something else than the lines.
pub(crate) fn marked(document: &ThroughputDocument, sink: &str, design: &str) -> String {
    let mark = if document.is_right(sink, design) { "" } else { "*" };
    format!("{design}{mark}")
}

fn table(document: &ThroughputDocument, sink: &str, terminal: &Terminal) -> String {
    let names = document.ranking(sink);
    let marked = |name: &str| visible(&marked(document, sink, name));
    let width = names.iter().map(|name| marked(name).chars().count()).max().unwrap_or(0).max(5);
    let counts = shown_counts(&document.counts(sink), terminal.width.saturating_sub(width + 18));
    let mut text = format!("{:width$}", "lines");
    for count in &counts {
        let _ = write!(text, "{:>COLUMN$}", grouped(*count));
    }
    let rate = if names.iter().any(|n| rate(last(document, sink, n)).is_some()) { "GB/s" } else { "" };
    let _ = writeln!(text, "{:>9}{rate:>8}", "× faster");

    for name in names {
        let _ = write!(text, "{:width$}", marked(name));
        for count in &counts {
            let _ = write!(text, "{:>COLUMN$}", seconds(document.find(sink, name, *count)));
        }
        let row = last(document, sink, name);
        let _ = writeln!(text, "{:>9}{:>8}", factor(row), rate_shown(row));
    }

    let differs = document.of(sink).any(|row| !row.right);
    let star = if differs { " * prints other bytes (below), and is timed with those." } else { "" };
    let legend = format!(
        "Medians in seconds. × faster is relative to {}, for the most lines.{star}",
        document.baseline
    );
    text + "\n" + &terminal.wrap(&visible(&legend), 0) + "\n\n"
}

/// The first, the last, and as many of the others as there is room for.
fn shown_counts(counts: &[u64], room: usize) -> Vec<u64> {
    let most = (room / COLUMN).max(2);
    if counts.len() <= most {
        return counts.to_vec();
    }
    let last = counts.len() - 1;
    (0..most).map(|i| counts[i * last / (most - 1)]).collect()
}

pub(crate) fn last<'d>(document: &'d ThroughputDocument, sink: &str, design: &str) -> Option<&'d Throughput> {
    let count = document.counts(sink).into_iter().last()?;
    document.find(sink, design, count)
}

pub(crate) fn seconds(row: Option<&Throughput>) -> String {
    row.map_or("-".to_owned(), |row| {
        let seconds = row.median_ns / 1e9;
        if seconds < 0.1 { format!("{seconds:.4}") } else { format!("{seconds:.3}") }
    })
}

pub(crate) fn factor(row: Option<&Throughput>) -> String {
    let ratio = row.and_then(|row| row.times_faster);
    ratio.map_or("-".to_owned(), |r| {
        if r.ratio < 1.0 {
            format!("{:.3}", r.ratio)
        } else if r.ratio < 10.0 {
            format!("{:.2}", r.ratio)
        } else {
            format!("{:.1}", r.ratio)
        }
    })
}

fn rate(row: Option<&Throughput>) -> Option<f64> {
    row?.bytes_per_second.map(|rate| rate / 1e9)
}

pub(crate) fn rate_shown(row: Option<&Throughput>) -> String {
    rate(row).map_or(String::new(), |rate| format!("{rate:.2}"))
}

pub(crate) fn grouped(count: u64) -> String {
    match count {
        0 => "0".to_owned(),
        _ if count.is_multiple_of(100_000) => format!("{}M", count as f64 / 1e6),
        _ => count.to_string(),
    }
}

pub(crate) fn warnings(document: &ThroughputDocument, terminal: &Terminal) -> String {
    let line = |warning: &String| terminal.wrap(&visible(&format!("warning: {warning}")), 4) + "\n";
    document.warnings.iter().map(line).collect()
}

/// Of a design that prints other bytes for each number of lines, only the largest number.
fn most_lines(document: &ThroughputDocument) -> impl Iterator<Item = &WrongOutput> {
    let more = |wrong: &WrongOutput, other: &WrongOutput| {
        other.timed
            && (&other.sink, &other.design) == (&wrong.sink, &wrong.design)
            && other.lines > wrong.lines
    };
    let is_shown =
        move |wrong: &&WrongOutput| !wrong.timed || !document.wrong.iter().any(|other| more(wrong, other));
    document.wrong.iter().filter(is_shown)
}

/// A line for each design and reason, with the sinks.
pub(crate) fn wrong(document: &ThroughputDocument, terminal: &Terminal) -> String {
    let mut reasons: BTreeMap<(bool, &str, &str, String), Vec<&str>> = BTreeMap::new();
    for wrong in most_lines(document) {
        let reason = format!("{} lines: {}", wrong.lines, wrong.reason);
        let key = (wrong.timed, &*wrong.design, &*wrong.description, reason);
        reasons.entry(key).or_default().push(&wrong.sink);
    }
    let mut text = String::new();
    for ((timed, design, description, reason), sinks) in reasons {
        let verdict = if timed { "other bytes" } else { "not timed" };
        let line = format!("{verdict}: {design} ({}): {reason} ({description})", sinks.join(", "));
        text += &(terminal.wrap(&visible(&line), 4) + "\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::bench::{Skipped, Tool};
    use crate::document::throughput::PublishedTime;
    use crate::report::formats::{throughput_csv, throughput_markdown};
    use crate::report::pictures::throughput as throughput_chart;
    use serde_json::Value;

    fn row(sink: &str, design: &str, lines: u64, times: &[u64]) -> Throughput {
        let row = Throughput {
            sink: sink.to_owned(),
            sink_description: format!("about {sink}"),
            design: design.to_owned(),
            description: String::new(),
            lines,
            bytes: 12 * lines,
            right: true,
            times_ns: times.to_vec(),
            median_ns: 0.0,
            min_ns: 0.0,
            bytes_per_second: None,
            times_faster: None,
        };
        row.summarised(sink != "null").unwrap()
    }

    fn document() -> ThroughputDocument {
        let mut document = ThroughputDocument::new(Tool::default(), Value::Null, "old");
        for sink in ["null", "pipe"] {
            for lines in [1_000_000, 2_000_000] {
                let times = [lines * 20, lines * 30, lines * 25];
                document.results.push(row(sink, "old", lines, &times));
                document.results.push(row(sink, "new", lines, &times.map(|time| time / 10)));
            }
            document.wrong.push(WrongOutput {
                design: "odd".to_owned(),
                description: "it lies".to_owned(),
                literal: true,
                sink: sink.to_owned(),
                lines: 1_000_000,
                timed: false,
                reason: "1 of 2 bytes arrived".to_owned(),
            });
        }

        let (name, reason) = ("go".to_owned(), "`go` is not in PATH".to_owned());
        document.skipped.push(Skipped {
            name,
            reason,
            install: Some("apt-get install golang-go".to_owned()),
        });
        document.warnings.push("file: `/tmp` is in memory".to_owned());
        document.compare();
        document
    }

    #[test]
    fn a_ratio_is_the_baselines_time_over_the_designs() {
        let document = document();
        let ratio = |design| document.find("pipe", design, 2_000_000).unwrap().times_faster.unwrap();
        assert!((ratio("new").ratio - 10.0).abs() < 1e-9 && ratio("new").pairs == 3);
        assert!((ratio("old").ratio - 1.0).abs() < 1e-9);
        assert_eq!(document.ranking("pipe"), ["new", "old"]);
    }

    #[test]
    fn the_table_has_the_fastest_first_and_no_rate_without_a_reader() {
        let text = render(&document(), &Terminal { width: 80, ..Terminal::default() });
        let table: Vec<&str> =
            text.lines().filter(|l| l.starts_with("new") || l.starts_with("old")).collect();
        assert_eq!(table[0].split_whitespace().collect::<Vec<_>>(), ["new", "0.0025", "0.0050", "10.0"]);
        assert_eq!(
            table[2].split_whitespace().collect::<Vec<_>>(),
            ["new", "0.0025", "0.0050", "10.0", "4.80"]
        );
        assert!(text.contains("not timed: odd (null, pipe): 1000000 lines: 1 of 2 bytes arrived (it lies)"));
        assert!(text.contains("warning: file: `/tmp` is in memory"));
        assert!(text.contains("skipped: go: `go` is not in PATH; apt-get install golang-go"));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_design_that_prints_other_bytes_is_marked() {
        let mut document = document();
        let new = document.results.iter_mut().filter(|row| row.design == "new" && row.sink == "pipe");
        new.for_each(|row| row.right = false);
        for lines in [1_000_000, 2_000_000] {
            let first = document.wrong[0].clone();
            let new = ("new".to_owned(), "pipe".to_owned());
            document.wrong.push(WrongOutput { design: new.0, sink: new.1, lines, timed: true, ..first });
        }
        let text = render(&document, &Terminal { width: 80, ..Terminal::default() });
        assert!(text.contains("\nnew ") && text.contains("\nnew* "), "right only with one sink\n{text}");
        assert_eq!(text.matches("with those.").count(), 1, "{text}");
        assert_eq!(text.matches("other bytes: new (pipe): 2000000 lines: 1 of 2 bytes").count(), 1, "{text}");
        assert!(!text.contains("other bytes: new (pipe): 1000000"), "{text}");
        assert!(throughput_markdown::render(&document).contains("| `new*` |"));
    }

    #[test]
    fn the_table_of_the_post_has_its_figures_beside_ours() {
        let mut document = document();
        for lines in [1_000_000, 2_000_000] {
            let (design, column) = ("old".to_owned(), "Go v1".to_owned());
            document.published.push(PublishedTime { design, column, lines, seconds: lines as f64 / 1e6 });
        }
        let text = render(&document, &Terminal { width: 80, ..Terminal::default() });
        let row = text.lines().find(|line| line.trim_start().starts_with("2000000 ")).unwrap();
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["2000000", "2", "0.0500", "-"], "{text}");
        assert!(text.contains("Go v1 (published)"), "in the chart\n{text}");
        assert!(throughput_markdown::render(&document).contains("| 2000000 | 2 | 0.0500 | - |"));
    }

    #[test]
    fn in_a_narrow_table_the_first_and_the_last_column_stay() {
        assert_eq!(shown_counts(&[1, 2, 3, 4, 5], 2 * COLUMN), [1, 5]);
        assert_eq!(shown_counts(&[1, 2, 3, 4, 5], 3 * COLUMN), [1, 3, 5]);
        assert_eq!(shown_counts(&[1, 2, 3], 0), [1, 3]);
        assert_eq!(shown_counts(&[7], 0), [7]);
    }

    #[test]
    fn one_number_of_lines_is_a_table_without_a_plot() {
        let mut document = document();
        document.results.retain(|row| row.lines == 1_000_000);
        let text = render(&document, &Terminal::default());
        assert!(!text.contains('│') && text.contains("1M"), "{text}");
        assert!(throughput_chart::svg(&document, true).is_none(), "a line needs two points");
    }

    #[test]
    fn an_empty_document_is_rendered_as_nothing() {
        let document = ThroughputDocument::new(Tool::default(), Value::Null, "old");
        assert_eq!(render(&document, &Terminal::default()), "");
        assert_eq!(throughput_markdown::render(&document), "");
        assert_eq!(throughput_csv::render(&document).lines().count(), 1);
        assert_eq!(throughput_chart::svg(&document, true), None);
    }

    #[test]
    fn markdown_and_csv_contain_every_row() {
        let document = document();
        assert!(throughput_markdown::render(&document).contains("- warning: file: "));
        assert!(throughput_markdown::render(&document).contains("| `new` | 0.0025 | 0.0050 | 10.0 | 4.80 |"));
        let text = throughput_csv::render(&document);
        assert_eq!(text.lines().count(), 9);
        assert!(text.contains("\nnull,new,1000000,12000000,true,3,0.0025,0.002,,10"), "{text}");
    }

    #[test]
    fn the_chart_names_every_design_and_stays_text() {
        for log in [false, true] {
            let svg = throughput_chart::svg(&document(), log).unwrap();
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
            assert!(svg.contains("new") && svg.contains("old") && svg.contains("pipe: about pipe"));
        }
    }

    #[test]
    fn the_chart_marks_every_point_with_the_letter_of_its_design() {
        let svg = throughput_chart::svg(&document(), true).unwrap();
        let of = |letter: &str| svg.lines().filter(|line| line.trim() == letter).count();
        // two sinks with two numbers of lines each
        assert_eq!((of("a"), of("b")), (4, 4), "{svg}");
        assert!(svg.contains("a: new") && svg.contains("b: old"));
    }
}
