//! Throughput as Markdown.

use crate::document::throughput::ThroughputDocument;
use crate::report::text::terminal::Terminal;
use crate::report::text::throughput::{
    factor, grouped, last, marked, post_rows, rate_shown, seconds, warnings, wrong,
};
use std::fmt::Write;

/// One table for each sink.
pub fn render(document: &ThroughputDocument) -> String {
    let mut text = String::new();
    for (sink, description) in document.sinks() {
        let counts = document.counts(sink);
        let _ = write!(text, "**{sink}**: {description}\n\n");
        text += &post_table(document, sink);
        text += "| lines |";
        for count in &counts {
            let _ = write!(text, " {} |", grouped(*count));
        }
        let _ = write!(text, " × faster than {} | GB/s |\n|:---|", document.baseline);
        text += &("---:|".repeat(counts.len() + 2) + "\n");

        for name in document.ranking(sink) {
            let _ = write!(text, "| `{}` |", marked(document, sink, name));
            for count in &counts {
                let _ = write!(text, " {} |", seconds(document.find(sink, name, *count)));
            }
            let row = last(document, sink, name);
            let _ = writeln!(text, " {} | {} |", factor(row), rate_shown(row));
        }
        text.push('\n');
    }

    let unwrapped = Terminal { width: usize::MAX, ..Terminal::default() };
    text += &warnings(document, &unwrapped).replace("warning:", "- warning:");
    let wrong = wrong(document, &unwrapped);
    text += &wrong.replace("not timed:", "- not timed:").replace("other bytes:", "- other bytes:");
    text
}

/// The table of the post, with names that say whose figures they are.
fn post_table(document: &ThroughputDocument, sink: &str) -> String {
    let mut rows = post_rows(document, sink).into_iter();
    let Some(mut heading) = rows.next() else { return String::new() };
    for name in &mut heading[1..=document.columns().len()] {
        name.push_str(", published");
    }
    let rule = format!("|{}", "---:|".repeat(heading.len()));
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let lines: Vec<String> = [line(heading), rule].into_iter().chain(rows.map(line)).collect();
    lines.join("\n") + "\n\n"
}
