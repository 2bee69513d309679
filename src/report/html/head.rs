//! What measured, where and how, what observing costs, and what a reader must know before believing the figures.

use super::block::{Block, Cell, Section, Table, columns, row};
use super::source::Source;
use crate::document::Document;
use crate::document::bench::{Overhead, Tool};
use crate::document::warnings;
use crate::output::visible;
use crate::report::row::ratio;
use crate::report::text::showdown::machine as facts;
use firstbyte_measure::units::Bytes;
use serde_json::Value;

/// The top of the page: one line a machine, warnings, and a table of the documents.
pub(crate) fn section(sources: &[(String, Source)]) -> Section {
    let mut section = Section::new("overview", "Overview");
    section.blocks.extend(machines(sources).into_iter().map(|text| Block::Prose { text }));
    section.blocks.extend(all_warnings(sources).into_iter().map(|text| Block::Warning { text }));
    section.blocks.push(Block::Table { table: documents(sources) });
    section.blocks.extend(overheads(sources).map(|table| Block::Table { table }));
    section.blocks.extend(machine_table(sources).map(|table| Block::Table { table }));
    section.blocks.push(Block::Heading { text: "Method".to_owned() });
    section.blocks.extend(METHOD.iter().map(|text| Block::Prose { text: (*text).to_owned() }));
    section
}

const METHOD: [&str; 3] = [
    "Four phases partition the total exactly: startup (from the entry of the first execve to its return in the new \
     image), setup (to the entry of the first write of output by any process of the tree), write (to that write's \
     return: the first byte is out) and teardown (to the exit). first byte = startup + setup + write.",
    "The runs of all programs are made in turn, in a seeded random order, so that drift of the machine hits all alike; \
     a run that fails, prints the wrong thing or loses events is no sample. Ratios are of paired runs, with bootstrap \
     intervals.",
    "This page was made from the documents below alone: nothing was measured for it.",
];

fn machines(sources: &[(String, Source)]) -> Vec<String> {
    let mut lines: Vec<String> =
        sources.iter().filter_map(|(_, s)| facts(s.origin().1)).map(|f| visible(&f)).collect();
    lines.dedup();
    lines.sort();
    lines.dedup();
    let several = lines.len() > 1;
    lines
        .into_iter()
        .map(|line| if several { format!("One of several machines: {line}") } else { line })
        .collect()
}

/// A line each document.
fn documents(sources: &[(String, Source)]) -> Table {
    let line = |(name, source): &(String, Source)| {
        let (tool, _) = source.origin();
        let version = format!("{} {}", visible(&tool.name), visible(&tool.version));
        row(vec![
            Cell::text(visible(name)),
            Cell::text(source.name()),
            Cell::text(version.trim_end()),
            Cell::text(backend(&tool)),
            Cell::text(if source.partial() { "partial: interrupted, or not at its end" } else { "complete" }),
        ])
    };
    Table {
        caption: "Documents".to_owned(),
        columns: columns(&["document", "of", "measured by", "backend", "state"]),
        rows: sources.iter().map(line).collect(),
        ..Table::default()
    }
}

fn backend(tool: &Tool) -> String {
    let reason = tool.backend_reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    tool.backend.as_ref().map_or(String::new(), |backend| visible(&format!("{backend}{reason}")))
}

fn all_warnings(sources: &[(String, Source)]) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, source) in sources {
        if source.partial() {
            lines.push(format!("`{}` is partial: not every planned run is in it.", visible(name)));
        }
        match source {
            Source::Programs(document) => {
                let of = if sources.len() > 1 { format!("{}: ", visible(name)) } else { String::new() };
                lines.extend(of_programs(document).into_iter().map(|line| format!("{of}{line}")));
            }
            Source::Trace(document) => lines.extend(
                document
                    .results
                    .iter()
                    .filter(|t| t.lost_events > 0)
                    .map(|t| format!("{} events of `{}` were lost.", t.lost_events, visible(t.label()))),
            ),
            _ => {}
        }
    }
    let mut seen = Vec::new();
    lines.retain(|line| {
        !seen.contains(line) && {
            seen.push(line.clone());
            true
        }
    });
    lines
}

/// Those that the document holds, else those that its figures show; runs that did not count.
fn of_programs(document: &Document) -> Vec<String> {
    let told = if document.warnings.is_empty() {
        warnings::load(&document.machine).into_iter().chain(warnings::of(document)).collect()
    } else {
        document.warnings.clone()
    };
    let warning = |w: crate::document::bench::Warning| {
        let name = w.name.map_or(String::new(), |name| format!("`{}`: ", visible(&name)));
        let help = w.help.map_or(String::new(), |help| format!(" (help: {})", visible(&help)));
        format!("{name}{}{help}", visible(&w.message))
    };
    let mut lines: Vec<String> = told.into_iter().map(warning).collect();
    for m in &document.results {
        let name = visible(m.label());
        if m.lost_events > 0 {
            lines.push(format!("`{name}`: {} events were lost.", m.lost_events));
        }
        if let Some(first) = m.rejected.first() {
            let reason = visible(&first.reason);
            lines.push(format!(
                "`{name}`: {} runs did not count, the first because {reason}",
                m.rejected.len()
            ));
        }
    }
    lines
}

fn overheads(sources: &[(String, Source)]) -> Option<Table> {
    let of = |overhead: &Overhead| {
        let r = overhead.ratio;
        row(vec![
            Cell::text(visible(&overhead.name)),
            Cell::figure(ratio(r.ratio), r.ratio).noted(format!("{} to {}", ratio(r.low), ratio(r.high))),
            Cell::figure(r.pairs.to_string(), r.pairs as f64),
        ])
    };
    let all = sources.iter().flat_map(|(_, source)| source.origin().0.observer_overhead);
    let rows: Vec<_> = all.map(|overhead| of(&overhead)).collect();
    (!rows.is_empty()).then(|| Table {
        caption: "Observer overhead: wall time of traced runs over that of untraced ones, runs in turn"
            .to_owned(),
        columns: columns(&["program", "#traced / untraced", "#pairs"]),
        rows,
        ..Table::default()
    })
}

/// Every fact of the machines, those that are the same only once.
fn machine_table(sources: &[(String, Source)]) -> Option<Table> {
    let mut rows: Vec<(String, String)> = Vec::new();
    for (_, source) in sources {
        let Some(machine) = source.origin().1.as_object() else { continue };
        for (key, value) in machine.iter().filter(|(_, value)| !value.is_null()) {
            let fact = (visible(&key.replace('_', " ")), visible(&fact(key, value)));
            if !rows.contains(&fact) {
                rows.push(fact);
            }
        }
    }
    rows.sort();
    (!rows.is_empty()).then(|| Table {
        caption: "Machine".to_owned(),
        columns: columns(&["fact", "value"]),
        rows: rows.into_iter().map(|(key, value)| row(vec![Cell::text(key), Cell::text(value)])).collect(),
        ..Table::default()
    })
}

fn fact(key: &str, value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if key == "memory" || key == "page_size" => {
            number.as_u64().map_or_else(|| number.to_string(), |bytes| Bytes(bytes).to_string())
        }
        Value::Array(items) => items.iter().map(|item| fact("", item)).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{name}: {}", fact("", value));
            fields.iter().map(field).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    }
}
