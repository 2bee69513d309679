//! Throughput as Markdown.

use crate::document::throughput::ThroughputDocument;
use crate::report::text::terminal::Terminal;
use crate::report::text::throughput::{factor, grouped, last, rate_shown, seconds, warnings, wrong};
use std::fmt::Write;

/// One table for each sink.
pub fn render(document: &ThroughputDocument) -> String {
    let mut text = String::new();
    for (sink, description) in document.sinks() {
        let counts = document.counts(sink);
        let _ = write!(text, "**{sink}**: {description}\n\n| lines |");
        for count in &counts {
            let _ = write!(text, " {} |", grouped(*count));
        }
        let _ = write!(text, " × faster than {} | GB/s |\n|:---|", document.baseline);
        text += &("---:|".repeat(counts.len() + 2) + "\n");

        for name in document.ranking(sink) {
            let _ = write!(text, "| `{name}` |");
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
    text += &wrong(document, &unwrapped).replace("not timed:", "- not timed:");
    text
}
