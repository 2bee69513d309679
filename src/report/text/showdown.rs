//! A showdown for a terminal: the head, tables sorted by first byte, phase bars, and the programs that did not run.

use super::head::head;
use super::lists::{failed, list, notes, skipped};
use super::terminal::{Terminal, columns as width_of, truncated};
use super::{phase_bars, side_by_side};
use crate::document::Document;
use crate::document::bench::{Cache, ColdMethod, Measurement};
use crate::output::visible;
use crate::report::row::{self, MeasurementColumn, UNKNOWN, name};
use crate::report::words::{count_of, runs};
use comfy_table::{CellAlignment, Table, TableComponent, presets};
use firstbyte_measure::timeline::Phase;

/// Names are cut to this width, or to less in a narrow terminal.
const WIDEST_NAME: usize = 32;

/// If names would have less than this, the table is divided.
const NARROWEST_NAME: usize = 12;

pub fn render(document: &Document, terminal: &Terminal) -> String {
    let mut parts = vec![head(document, terminal)];
    let conditions = row::ranking(document);
    parts.extend(side_by_side::render(&conditions, terminal));
    for (cache, rows) in conditions {
        parts.extend(condition(document, cache, &rows, terminal));
    }
    parts.push(failed(document, terminal));
    parts.push(notes(document, terminal));
    parts.push(list("Warnings", general_warnings(document), terminal));
    parts.push(skipped(document, terminal));
    parts.retain(|part| !part.is_empty());
    let page = parts.join("\n");
    let lines: Vec<&str> = page.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

/// The tables of one state of the page cache.
fn condition(
    document: &Document,
    cache: Option<Cache>,
    rows: &[&Measurement],
    terminal: &Terminal,
) -> Vec<String> {
    let mut parts = vec![title(rows, cache, terminal)];
    if rows.iter().any(|row| row.ranked().is_some()) {
        parts.extend(main_tables(rows, terminal));
        parts.push(legend(rows, terminal));
        parts.push(bars(document, rows, terminal));
    }
    parts.push(statistics(rows, terminal));
    parts
}

fn bars(document: &Document, rows: &[&Measurement], terminal: &Terminal) -> String {
    let names = phase_bars::name_width(rows, WIDEST_NAME.min(terminal.width / 4).max(4));
    let bars = phase_bars::render(&phase_bars::rows(rows), names, terminal);
    if bars.is_empty() { without_phases(document, terminal) } else { bars }
}

fn title(rows: &[&Measurement], cache: Option<Cache>, terminal: &Terminal) -> String {
    let (least, most) = rows
        .iter()
        .map(|m| m.times.len())
        .fold((usize::MAX, 0), |(least, most), n| (least.min(n), most.max(n)));
    let each = if least == most { runs(most) } else { format!("{least} to {most} runs") };
    let cache = cache.map_or(String::new(), |cache| format!(", {} page cache", cache.name()));
    let programs = count_of(rows.len(), "program", "programs");
    terminal.bold(&format!("{programs}, {each} each{cache}")) + "\n"
}

/// One table if the terminal is wide enough, else one for times and one for counts.
fn main_tables(rows: &[&Measurement], terminal: &Terminal) -> Vec<String> {
    let one = table(rows, &row::times_and_counts(), None, terminal, NARROWEST_NAME);
    let parts =
        || [row::times(), row::counts()].map(|columns| divided(rows, &columns, None, terminal)).concat();
    one.map_or_else(parts, |one| vec![one])
}

/// These columns in one table, or in several that are narrow enough.
fn divided(
    rows: &[&Measurement],
    columns: &[MeasurementColumn],
    below: Option<&str>,
    terminal: &Terminal,
) -> Vec<String> {
    let narrowest = if columns.len() > 1 { NARROWEST_NAME } else { 0 };
    if let Some(whole) = table(rows, columns, below, terminal, narrowest) {
        return vec![whole];
    }
    let (first, rest) = columns.split_at(columns.len().div_ceil(2));
    [divided(rows, first, None, terminal), divided(rows, rest, below, terminal)].concat()
}

fn statistics(rows: &[&Measurement], terminal: &Terminal) -> String {
    let below = row::threshold(rows);
    let tables = divided(rows, &row::statistics(), below.as_deref(), terminal);
    let timed = rows.iter().any(|row| row.ranked().is_some());
    let title = if timed { "First byte (or total, if there is none)" } else { "Wall time" };
    format!("{}\n{}", terminal.bold(&truncated(title, terminal.width)), tables.join("\n"))
}

/// A table with the names first and, with a threshold, the share of runs below it last. `None` if less than `narrowest`
/// columns would be left for the names.
fn table(
    rows: &[&Measurement],
    columns: &[MeasurementColumn],
    below: Option<&str>,
    terminal: &Terminal,
    narrowest: usize,
) -> Option<String> {
    let mut headings: Vec<String> =
        columns.iter().map(|column| column.heading.clone().into_owned()).collect();
    headings.extend(below.map(str::to_owned));
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let mut cells: Vec<String> = columns.iter().map(|column| (column.cell)(row)).collect();
            cells.extend(below.map(|_| row::below(row)));
            cells
        })
        .collect();

    let (name_width, gap) = name_and_gap(rows, &headings, &cells, terminal, narrowest)?;
    Some(laid_out(rows, &headings, &cells, name_width, gap))
}

/// The width for names, and the gap between columns: two if the names then fit, else one.
fn name_and_gap(
    rows: &[&Measurement],
    headings: &[String],
    cells: &[Vec<String>],
    terminal: &Terminal,
    narrowest: usize,
) -> Option<(usize, u16)> {
    let wanted = phase_bars::name_width(rows, WIDEST_NAME).max(4);
    let taken: usize = (0..headings.len())
        .map(|column| {
            let texts = cells.iter().map(|row| &row[column]).chain([&headings[column]]);
            texts.flat_map(|text| text.lines()).map(width_of).max().unwrap_or(0)
        })
        .sum();

    let left = |gap: u16| terminal.width.saturating_sub(taken + usize::from(gap) * headings.len());
    if left(2) >= wanted {
        return Some((wanted, 2));
    }
    (left(1) >= wanted.min(narrowest)).then(|| (left(1).min(wanted).max(4), 1))
}

fn laid_out(
    rows: &[&Measurement],
    headings: &[String],
    cells: &[Vec<String>],
    name_width: usize,
    gap: u16,
) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table
        .set_style(TableComponent::HeaderLines, '─')
        .set_style(TableComponent::MiddleHeaderIntersections, '─');
    table.set_header([String::new()].iter().chain(headings));

    for (row, cells) in rows.iter().zip(cells) {
        table.add_row([truncated(&name(row), name_width)].iter().chain(cells));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        // the column separators of the preset are one space wide
        column.set_padding((if index == 0 { 0 } else { gap - 1 }, 0));
        column.set_cell_alignment(if index == 0 { CellAlignment::Left } else { CellAlignment::Right });
    }
    format!("{table}\n")
}

/// The meaning of the columns.
fn legend(rows: &[&Measurement], terminal: &Terminal) -> String {
    let floor = rows.iter().find_map(|m| m.floor_ratio.as_ref());
    let sentences = [
        Some("Medians. ± is the median absolute deviation of the first byte, in percent of its median.".to_owned()),
        floor.map(|f| {
            format!(
                "× floor is relative to the first byte of `{}`, run by run (to the total, if one has no first byte).",
                visible(&f.floor)
            )
        }),
        rows.iter().any(|m| m.phases.get(Phase::Setup).is_some()).then(|| "setup % and teardown % are shares of the total.".to_owned()),
        rows.iter().any(|m| !m.phases.are_known()).then(|| format!("{UNKNOWN} means not measured.")),
        rows.iter().find_map(|m| m.cold.as_ref()).map(|cold| coldness(cold.method).to_owned()),
    ];
    let text: Vec<String> = sentences.into_iter().flatten().collect();
    terminal.wrap(&text.join(" "), 0) + "\n"
}

fn coldness(method: ColdMethod) -> &'static str {
    match method {
        ColdMethod::Copies => {
            "Cold: the files that a program reads were evicted before each run, and none of their pages was in memory when it began."
        }
        ColdMethod::DropCaches => {
            "Cold: the page cache was dropped before each run, except for pages in use. Nothing is proven."
        }
    }
}

fn without_phases(document: &Document, terminal: &Terminal) -> String {
    let backend = document.tool.backend.as_deref().unwrap_or("chosen");
    terminal.wrap(&format!("No phase bars: the {} backend does not see phases.", visible(backend)), 0) + "\n"
}

/// Those about the machine. Those about single programs are in the document.
fn general_warnings(document: &Document) -> impl Iterator<Item = String> {
    document.warnings.iter().filter(|warning| warning.name.is_none()).map(ToString::to_string)
}
