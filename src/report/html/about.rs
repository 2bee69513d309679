//! How the figures were made: machines, documents, observer overhead, method and warnings.

use super::block::{Cell, PageBlock, Section, Table, columns, row};
use super::source::PageSource;
use crate::document::Document;
use crate::document::bench::{Overhead, Severity, Tool, Warning};
use crate::document::trace::TraceDocument;
use crate::document::warnings as document_warnings;
use crate::output::visible;
use crate::report::row::ratio;
use crate::report::text::head::machine as facts;
use crate::report::words::count_of;
use firstbyte_measure::units::Bytes;
use serde_json::Value;
use std::collections::HashSet;

/// A line for each machine, warnings, and tables of the documents and the machines.
pub(crate) fn section(sources: &[(String, PageSource)]) -> Section {
    let mut section = Section::new("about", "About these figures");
    section.blocks.extend(machines(sources).into_iter().map(|text| PageBlock::Prose { text }));
    section.blocks.extend(warnings(sources).into_iter().map(block));
    section.blocks.push(PageBlock::Table { table: documents(sources) });
    section.blocks.extend(overheads(sources).map(|table| PageBlock::Table { table }));
    section.blocks.extend(machine_table(sources).map(|table| PageBlock::Table { table }));
    section.blocks.push(PageBlock::Heading { text: "Method".to_owned() });
    section.blocks.extend(method(sources).map(|text| PageBlock::Prose { text: text.to_owned() }));
    section
}

fn block((severity, text): (Severity, String)) -> PageBlock {
    match severity {
        Severity::Serious => PageBlock::Warning { text },
        Severity::Minor => PageBlock::Prose { text },
    }
}

/// How the documents of this page were measured.
fn method(sources: &[(String, PageSource)]) -> impl Iterator<Item = &'static str> {
    let programs = |source: &PageSource| matches!(source, PageSource::Programs(_));
    let trace = |source: &PageSource| matches!(source, PageSource::Trace(_));
    let number = |is: fn(&PageSource) -> bool| sources.iter().filter(|(_, source)| is(source)).count();
    let (measured, traced) = (number(programs), number(trace));
    [
        (measured + traced > 0).then_some(PHASES),
        (measured > 0).then_some(INTERLEAVED),
        (measured > 1).then_some(SEPARATE_FILES),
        (traced > 0).then_some(TRACES),
        (traced > 1).then_some(SEPARATE_TRACES),
        Some(NOTHING_ELSE),
    ]
    .into_iter()
    .flatten()
}

const PHASES: &str = "Four phases partition the total exactly. Startup begins with the entry of the first execve and ends with its return in \
     the new image. Setup ends with the entry of the first write of output by any process of the tree. Write ends with the \
     return of that write: the first byte is out. Teardown ends with the exit. The time to the first byte is the sum of \
     startup, setup and write.";
const INTERLEAVED: &str = "The runs of all programs of a document are interleaved in a seeded random order, so drift of the \
     machine affects all of them alike. A run that fails, prints the wrong output or loses events does not count. Ratios \
     are of paired runs, with bootstrap intervals.";
const SEPARATE_FILES: &str = "Programs of different documents were not measured together. Their difference contains what \
     changed on the machine in between.";
const TRACES: &str = "The traced runs of a program alternate with untraced ones, which show the observer overhead. The steps \
     are those of the run whose total is the median.";
const SEPARATE_TRACES: &str = "Each trace on this page was made on its own, one after the other. To compare two programs in \
     alternating runs, use `firstbyte diff`.";
const NOTHING_ELSE: &str =
    "This page contains only what the documents listed here contain. Nothing was measured for it.";

fn machines(sources: &[(String, PageSource)]) -> Vec<String> {
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

/// A line for each document.
fn documents(sources: &[(String, PageSource)]) -> Table {
    let line = |(name, source): &(String, PageSource)| {
        let (tool, _) = source.origin();
        let version = format!("{} {}", visible(&tool.name), visible(&tool.version));
        row(vec![
            Cell::text(visible(name)),
            Cell::text(source.name()),
            Cell::text(version.trim_end()),
            Cell::text(backend(&tool)),
            Cell::text(if source.partial() { "partial" } else { "complete" }),
        ])
    };
    Table {
        caption: "Documents".to_owned(),
        columns: columns(&["document", "kind", "measured by", "backend", "state"]),
        rows: sources.iter().map(line).collect(),
        ..Table::default()
    }
}

fn backend(tool: &Tool) -> String {
    let reason = tool.backend_reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    tool.backend.as_ref().map_or(String::new(), |backend| visible(&format!("{backend}{reason}")))
}

/// Caveats about the figures: the serious warnings first, each once.
pub(crate) fn warnings(sources: &[(String, PageSource)]) -> Vec<(Severity, String)> {
    let mut lines = Vec::new();
    for (name, source) in sources {
        let of = if sources.len() > 1 { format!("{}: ", visible(name)) } else { String::new() };
        let all = of_source(source).into_iter();
        lines.extend(all.map(|(severity, line)| (severity, format!("{of}{line}"))));
    }
    lines.sort_by_key(|(severity, _)| *severity != Severity::Serious);

    let mut seen = HashSet::new();
    lines.retain(|line| seen.insert(line.1.clone()));
    lines
}

fn of_source(source: &PageSource) -> Vec<(Severity, String)> {
    let partial = "some planned runs are missing.".to_owned();
    let partial = source.partial().then_some((Severity::Serious, partial));
    let facts = match source {
        PageSource::Programs(document) => of_programs(document),
        PageSource::Trace(document) => of_traces(document),
        PageSource::Throughput(document) => {
            document.warnings.iter().map(|line| (Severity::Serious, visible(line))).collect()
        }
        PageSource::Watch(document) => {
            let lost = format!("Events were lost: {}.", document.lost_events);
            (document.lost_events > 0).then_some((Severity::Serious, lost)).into_iter().collect()
        }
        PageSource::Check(document) => document.warnings.iter().cloned().map(in_words).collect(),
        PageSource::Tune(document) => document.warnings.iter().cloned().map(in_words).collect(),
        PageSource::Diff(document) => document
            .results
            .iter()
            .filter_map(|side| lost(&visible(&side.command), side.lost_events))
            .collect(),
        PageSource::Floor(_) | PageSource::Elf(_) | PageSource::Claims(_) => Vec::new(),
    };
    partial.into_iter().chain(facts).collect()
}

/// The document's warnings, or else those that its figures imply; and runs that did not count.
fn of_programs(document: &Document) -> Vec<(Severity, String)> {
    let all = if document.warnings.is_empty() {
        document_warnings::load(&document.machine)
            .into_iter()
            .chain(document_warnings::of(document))
            .collect()
    } else {
        document.warnings.clone()
    };

    let mut lines: Vec<_> = all.into_iter().map(in_words).collect();
    for m in &document.results {
        let name = visible(m.label());
        let limit = |limit: String| (Severity::Serious, format!("`{name}`: {}", visible(&limit)));
        lines.extend(m.limits().into_iter().map(limit));
    }
    lines
}

fn of_traces(document: &TraceDocument) -> Vec<(Severity, String)> {
    let lost = document.results.iter().filter_map(|t| lost(&visible(t.label()), t.lost_events));
    document.warnings.iter().cloned().map(in_words).chain(lost).collect()
}

fn in_words(warning: Warning) -> (Severity, String) {
    let name = warning.name.map_or(String::new(), |name| format!("`{}`: ", visible(&name)));
    let help = warning.help.map_or(String::new(), |help| format!(" (help: {})", visible(&help)));
    (warning.severity, format!("{name}{}{help}", visible(&warning.message)))
}

fn lost(name: &str, events: u64) -> Option<(Severity, String)> {
    let events = usize::try_from(events).unwrap_or(usize::MAX);
    let line = || format!("`{name}`: {} lost.", count_of(events, "event was", "events were"));
    (events > 0).then(|| (Severity::Serious, line()))
}

fn overheads(sources: &[(String, PageSource)]) -> Option<Table> {
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
        caption: "Observer overhead: wall time of traced runs over that of untraced runs, interleaved"
            .to_owned(),
        columns: columns(&["program", "#traced / untraced", "#pairs"]),
        rows,
        ..Table::default()
    })
}

/// Every fact of the machines; those that are the same appear once.
fn machine_table(sources: &[(String, PageSource)]) -> Option<Table> {
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
