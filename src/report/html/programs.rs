//! Every program with its phases, warm and cold.

use super::bars::Scale;
use super::block::{Cell, Column, PageBlock, Row, Section, Table, columns, row};
use super::forest::figures;
use crate::document::Document;
use crate::document::bench::{Cache, Distribution, Measurement};
use crate::document::named_span::NamedSpan;
use crate::output::visible;
use crate::report::phase_row::PhaseRow;
use crate::report::row as rows;
use crate::report::row::{UNKNOWN, ratio};
use crate::report::words::runs;
use crate::stats::median_count;
use firstbyte_measure::timeline::Phase;
use firstbyte_measure::units::display_nanos;

/// A table of all programs, and tables of cold runs and of programs without times.
pub(crate) fn section(documents: &[&Document]) -> Option<Section> {
    let mut section = Section::new("programs", "Programs");
    if documents.iter().any(|document| !document.results.is_empty()) {
        section.blocks.push(PageBlock::Prose { text: EXPLANATION.to_owned() });
        section.blocks.push(PageBlock::Table { table: table(documents) });
    }
    section.blocks.extend(named_spans(documents).map(|table| PageBlock::Table { table }));
    section.blocks.extend(warm_against_cold(documents).map(|table| PageBlock::Table { table }));
    section.blocks.extend(left_out(documents).map(|table| PageBlock::Table { table }));
    (!section.blocks.is_empty()).then_some(section)
}

const EXPLANATION: &str = "Medians of all runs. Below each first byte and total are the 95 % interval of the median \
    (bootstrap) and the median absolute deviation (±). A bar shows the medians of a program's phases. On the logarithmic \
    scale, the length of a bar is the total, and within the bar each phase has its share. × floor is the first byte \
    divided by that of the smallest executable (or the total, if one prints nothing), with its interval.";

fn table(documents: &[&Document]) -> Table {
    let all: Vec<&Measurement> =
        documents.iter().flat_map(|d| rows::ranking(d)).flat_map(|(_, r)| r).collect();
    let phases: Vec<PhaseRow> = all.iter().filter_map(|m| phase_row(m)).collect();
    let scale = Scale::of(&phases);
    let verdicts = all.iter().any(|m| !m.relative.is_empty());

    let mut headings = columns(&["program", "cache", "phases", "#first byte", "#total"]);
    headings.extend(Phase::ALL.map(|phase| Column { heading: phase.name().to_owned(), number: true }));
    headings.extend(columns(&["#× floor", "#runs"]));
    let counts = rows::counts();
    headings.extend(counts.iter().map(|c| Column { heading: c.plain_heading(), number: true }));
    if verdicts {
        headings.extend(columns(&["against the reference"]));
    }

    let line = |m: &&Measurement| Row {
        cells: cells(m, &scale, &counts, verdicts),
        cache: m.cache.map(Cache::name),
    };
    Table {
        caption: "Programs".to_owned(),
        columns: headings,
        rows: all.iter().map(line).collect(),
        filter: true,
        folded: false,
    }
}

fn cells(m: &Measurement, scale: &Scale, counts: &[rows::MeasurementColumn], verdicts: bool) -> Vec<Cell> {
    let phases = &m.phases;
    let name = Cell::text(visible(m.label()));
    let name = if m.label() == m.command_line() { name } else { name.noted(visible(m.command_line())) };
    let mut cells = vec![
        name,
        Cell::text(m.cache.map_or("", Cache::name)),
        Cell {
            value: m.ranked().map(|d| d.median),
            bar: phase_row(m).map(|row| scale.bar(&row)),
            ..Cell::default()
        },
        first_byte(m),
        wide(phases.total.as_ref()).unwrap_or_else(|| wall(m)),
    ];

    cells.extend(Phase::ALL.map(|phase| phases.get(phase).map_or_else(unknown, narrow)));
    cells.push(floor(m));
    cells.push(number(m.times.len() as f64, m.times.len().to_string()));
    cells.extend(counts.iter().map(|column| counted((column.cell)(m))));
    if verdicts {
        cells.push(verdict(m));
    }
    cells
}

/// The parts of the runs that have a name.
fn named_spans(documents: &[&Document]) -> Option<Table> {
    let line = |m: &Measurement, span: &NamedSpan| {
        let against = span.relative.as_ref().map(|r| format!("{}, {}", r.verdict, figures(&r.ratio)));
        row(vec![
            Cell::text(visible(m.label())),
            Cell::text(visible(&span.title())),
            narrow(&span.times),
            number(span.times.low, display_nanos(span.times.low)),
            number(span.times.high, display_nanos(span.times.high)),
            Cell::text(against.unwrap_or_default()),
        ])
    };
    let all = documents.iter().flat_map(|document| &document.results);
    let rows: Vec<Row> = all.flat_map(|m| m.marks.iter().map(move |span| line(m, span))).collect();
    (!rows.is_empty()).then(|| Table {
        caption: "Marks: parts of the runs that the programs name".to_owned(),
        columns: columns(&["program", "mark", "#median", "#from (95 %)", "#to", "against the reference"]),
        rows,
        ..Table::default()
    })
}

fn phase_row(m: &Measurement) -> Option<PhaseRow> {
    PhaseRow::measured(m, m.label().to_owned())
}

fn unknown() -> Cell {
    Cell::text(UNKNOWN)
}

fn number(value: f64, text: String) -> Cell {
    Cell::figure(text, value)
}

/// A count as text, sorted by its leading digits and its unit.
fn counted(text: String) -> Cell {
    let value = sortable(&text);
    Cell { text, value, ..Cell::default() }
}

/// The number at the beginning of `12`, `3 %`, `<1` or `1.5 MiB`; in bytes if a unit follows.
fn sortable(text: &str) -> Option<f64> {
    let text = text.trim_start_matches('<');
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let unit = match text[end..].trim() {
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => 1.0,
    };
    text[..end].parse::<f64>().ok().map(|number| number * unit)
}

fn first_byte(m: &Measurement) -> Cell {
    match &m.phases.first_byte {
        None if m.prints_nothing() => Cell::text("prints nothing"),
        None => unknown(),
        Some(distribution) => wide(Some(distribution)).unwrap_or_default(),
    }
}

/// hyperfine's files have only wall times.
fn wall(m: &Measurement) -> Cell {
    let spread = m.stddev.map_or(String::new(), |s| format!("± {} (stddev)", display_nanos(s * 1e9)));
    let (low, high) = (display_nanos(m.min * 1e9), display_nanos(m.max * 1e9));
    Cell::figure(display_nanos(m.median * 1e9), m.median * 1e9).noted(format!("{low} to {high}\n{spread}"))
}

/// The median, with its interval and spread.
fn wide(distribution: Option<&Distribution>) -> Option<Cell> {
    let d = distribution?;
    Some(narrow(d).noted(spread(d)))
}

/// The interval of the median, and below it the median absolute deviation.
pub(crate) fn spread(d: &Distribution) -> String {
    format!("{} to {}\n± {}", display_nanos(d.low), display_nanos(d.high), display_nanos(d.mad))
}

fn narrow(d: &Distribution) -> Cell {
    Cell::figure(display_nanos(d.median), d.median)
}

fn floor(m: &Measurement) -> Cell {
    let Some(floor) = &m.floor_ratio else { return unknown() };
    let (low, high) = (ratio(floor.ratio.low), ratio(floor.ratio.high));
    Cell::figure(ratio(floor.ratio.ratio), floor.ratio.ratio).noted(format!("{low} to {high}"))
}

fn verdict(m: &Measurement) -> Cell {
    let one = |r: &crate::document::bench::Relative| {
        let (low, high) = (ratio(r.ratio.low), ratio(r.ratio.high));
        let (name, times) = (visible(&r.reference), ratio(r.ratio.ratio));
        format!("{}: {}, {times} × `{name}` ({low} to {high})", r.of.name(), r.verdict)
    };
    Cell::text(m.relative.iter().map(one).collect::<Vec<_>>().join("; "))
}

/// Programs that were measured both warm and cold.
fn warm_against_cold(documents: &[&Document]) -> Option<Table> {
    let all: Vec<&Measurement> = documents.iter().flat_map(|d| &d.results).collect();
    let cold = all.iter().filter(|m| m.cache == Some(Cache::Cold));
    let pair = |cold: &&&Measurement| {
        let same = |m: &&&Measurement| m.cache == Some(Cache::Warm) && m.label() == cold.label();
        pair_row(all.iter().find(same), cold)
    };

    let rows: Vec<Row> = cold.filter_map(|cold| pair(&cold)).collect();
    let columns = columns(&[
        "program",
        "#warm",
        "#cold",
        "#cold / warm",
        "#major faults",
        "#read from disk",
        "files evicted",
    ]);
    (!rows.is_empty()).then(|| Table {
        caption: "Warm against cold: first byte (or the total, if a program prints nothing)".to_owned(),
        columns,
        rows,
        ..Table::default()
    })
}

fn pair_row(warm: Option<&&Measurement>, cold: &Measurement) -> Option<Row> {
    let (warm, distribution) = (warm?.ranked()?, cold.ranked()?);
    let quotient = distribution.median / warm.median.max(1.0);
    let how = cold.cold.as_ref();
    let counted =
        |n: Option<u64>, unit: &str| n.map_or_else(unknown, |n| Cell::figure(format!("{n}{unit}"), n as f64));
    Some(row(vec![
        Cell::text(visible(cold.label())),
        wide(Some(warm))?,
        wide(Some(distribution))?,
        Cell::figure(ratio(quotient), quotient),
        counted(how.and_then(|how| median_count(how.major_faults.clone())), ""),
        counted(how.and_then(|how| median_count(how.bytes_from_disk.clone())), " bytes"),
        counted(how.map(|how| how.files as u64), ""),
    ]))
}

fn left_out(documents: &[&Document]) -> Option<Table> {
    let mut rows = Vec::new();
    for document in documents {
        for failed in &document.failed {
            let reason = format!("{} ({})", visible(&failed.reason), runs(failed.runs));
            rows.push(row(vec![
                Cell::text(visible(&failed.name)),
                Cell::text("failed"),
                Cell::text(reason),
                Cell::text(""),
            ]));
        }
        for skipped in &document.skipped {
            let install = skipped.install.as_deref().map(visible).unwrap_or_default();
            let cells = [&visible(&skipped.name), "skipped", &visible(&skipped.reason), &install];
            rows.push(row(cells.map(Cell::text).to_vec()));
        }
    }

    let columns = columns(&["program", "state", "why", "fix"]);
    (!rows.is_empty()).then(|| Table {
        caption: "Without times".to_owned(),
        columns,
        rows,
        ..Table::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_sorted_by_their_values() {
        let values = ["12", "<1", "97 %", "1.5 KiB", "2 MiB", "–"].map(sortable);
        assert_eq!(values, [Some(12.0), Some(1.0), Some(97.0), Some(1536.0), Some(2_097_152.0), None]);
    }
}
