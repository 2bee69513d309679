//! Every sample of every program.

use super::block::{Cell, PageBlock, Picture, Row, Section, Table, columns};
use crate::document::Document;
use crate::document::bench::{Cache, Measurement};
use crate::output::visible;
use crate::report::pictures::charts;
use crate::report::row;
use firstbyte_measure::units::display_nanos;

/// A picture with the samples of each program as points, and a table with the samples and their statistics.
pub(crate) fn section(documents: &[&Document]) -> Option<Section> {
    let all = ordered(documents);
    let svg = charts::distributions(&all)?;
    let mut section = Section::new("distributions", "Distributions");
    let picture = Picture { title: "Distributions of the samples".to_owned(), svg, table: table(&all) };
    section.blocks.push(PageBlock::Picture { picture });
    Some(section)
}

/// The programs in the order of the table.
pub(crate) fn ordered<'d>(documents: &[&'d Document]) -> Vec<&'d Measurement> {
    documents.iter().flat_map(|document| row::ranking(document)).flat_map(|(_, rows)| rows).collect()
}

fn table(all: &[&Measurement]) -> Table {
    Table {
        caption: "First byte (or the total, if a program prints nothing)".to_owned(),
        columns: columns(&[
            "program",
            "cache",
            "#median",
            "#low",
            "#high",
            "#mean",
            "#± MAD",
            "#min",
            "#p95",
            "#p99",
            "#max",
            "#runs",
            "samples in order, ns",
        ]),
        rows: all.iter().filter_map(|m| line(m)).collect(),
        folded: true,
        ..Table::default()
    }
}

fn line(m: &Measurement) -> Option<Row> {
    let d = m.ranked()?;
    let mut cells = vec![Cell::text(visible(m.label())), Cell::text(m.cache.map_or("", Cache::name))];
    let figures = [d.median, d.low, d.high, d.mean, d.mad, d.min, d.p95, d.p99, d.max];
    cells.extend(figures.map(|ns| Cell::figure(display_nanos(ns), ns)));
    cells.push(Cell::figure(d.samples.len().to_string(), d.samples.len() as f64));
    cells.push(Cell::text(samples(&d.samples)));
    Some(super::block::row(cells))
}

/// The maximum number of samples of a program that are listed.
const MAX_SAMPLES: usize = 1000;

fn samples(samples: &[u64]) -> String {
    let listed: Vec<String> = samples.iter().take(MAX_SAMPLES).map(u64::to_string).collect();
    let rest = samples.len().saturating_sub(MAX_SAMPLES);
    let rest = if rest > 0 { format!(" … and {rest} more in the document") } else { String::new() };
    listed.join(" ") + &rest
}
