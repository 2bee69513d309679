//! The lists below the figures: failed programs, and notes on single programs.

use super::terminal::Terminal;
use crate::document::Document;
use crate::document::bench::{Cache, ColdRuns, Measurement};
use crate::output::visible;
use crate::report::words::{count_of, runs};

/// A title and its lines; nothing without lines.
pub(crate) fn list(title: &str, lines: impl Iterator<Item = String>, terminal: &Terminal) -> String {
    let lines: String = lines.map(|line| terminal.wrap(&format!("  {}", visible(&line)), 4) + "\n").collect();
    if lines.is_empty() { lines } else { format!("{}\n{lines}", terminal.bold(title)) }
}

pub(crate) fn failed(document: &Document, terminal: &Terminal) -> String {
    let lines = document.failed.iter().flat_map(|failed| {
        let name = under(&failed.name, failed.cache);
        let reason = format!("{name}: {}; {} tried", failed.reason, runs(failed.runs));
        [reason].into_iter().chain(failed.stderr.iter().map(|line| format!("  stderr: {line}")))
    });
    list("Failed", lines, terminal)
}

/// Programs that were not run.
pub(crate) fn skipped(document: &Document, terminal: &Terminal) -> String {
    let lines = document.skipped.iter().map(|skipped| match &skipped.install {
        Some(install) => format!("{}: {}; help: {install}", skipped.name, skipped.reason),
        None => format!("{}: {}", skipped.name, skipped.reason),
    });
    list("Skipped", lines, terminal)
}

/// Caveats about single programs.
pub(crate) fn notes(document: &Document, terminal: &Terminal) -> String {
    let lines = document.results.iter().flat_map(|m| {
        let name = under(m.label(), m.cache);
        let limits = m.limits().into_iter().map(|limit| format!("{name}: {limit}"));
        let help = format!("help: see how {name} ends: firstbyte trace -i -- {}", m.command_line());
        let help = (!m.failures().is_empty()).then_some(help);
        let influences = influences(m).map(|text| format!("{name}*: {text}"));
        let warm = m.cold.as_ref().into_iter().flat_map(|cold| warm(&name, cold)).collect::<Vec<_>>();
        limits.chain(help).chain(influences).chain(warm).collect::<Vec<_>>()
    });
    list("Notes", lines, terminal)
}

/// Files of the machine that slow the program.
fn influences(measurement: &Measurement) -> Option<String> {
    let files = &measurement.influences;
    (!files.is_empty()).then(|| {
        format!(
            "its time includes the execution of {} on this machine: {}",
            plural(files.len()),
            files.join(", ")
        )
    })
}

fn plural(files: usize) -> String {
    format!("code from {}", count_of(files, "file", "files"))
}

/// Files that may not have been cold.
fn warm(name: &str, cold: &ColdRuns) -> Vec<String> {
    let left = cold.left_warm.first().map(|first| {
        let more = match cold.left_warm.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{name}: left warm, because the runs write to it, replace it or remove it: {first}{more}")
    });
    let doubt = cold.doubt.as_ref().map(|flaw| {
        format!("{name}: some of its files may have stayed warm: in the run that looked for them, {flaw}")
    });
    left.into_iter().chain(doubt).collect()
}

/// A name, which may end with a colon, with the state of the page cache.
fn under(name: &str, cache: Option<Cache>) -> String {
    cache.map_or(format!("`{name}`"), |cache| format!("`{name}` ({})", cache.name()))
}
