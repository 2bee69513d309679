//! Many lines by each design: which is the fastest, a chart, and a table.

use super::bars::Scale;
use super::block::{BarRow, Bars, Cell, PageBlock, Picture, Row, Section, Table, columns, row};
use crate::document::throughput::{Throughput, ThroughputDocument};
use crate::output::visible;
use crate::report::pictures::throughput as throughput_chart;
use crate::report::row::{UNKNOWN, ratio};
use crate::report::text::throughput::grouped;
use firstbyte_measure::units::display_nanos;

/// For each document, a chart with its table, and what was not timed.
pub(crate) fn section(documents: &[&ThroughputDocument]) -> Option<Section> {
    let mut section = Section::new("throughput", "Throughput");
    for document in documents {
        // logarithmic axes show designs that are far apart
        match throughput_chart::svg(document, true) {
            Some(svg) => section.blocks.push(PageBlock::Picture { picture: picture(document, svg) }),
            None => section.blocks.push(PageBlock::Table { table: table(document) }),
        }
        section.blocks.extend(left_out(document).map(|table| PageBlock::Table { table }));
    }
    (!section.blocks.is_empty()).then_some(section)
}

/// The fastest design, and all of them for the most lines of each sink.
pub(super) fn answer(document: &ThroughputDocument) -> Vec<PageBlock> {
    let fastest = fastest(document).map(|text| PageBlock::Answer { text });
    let sinks = document.sinks().into_iter();
    let bars = sinks.filter_map(|(sink, _)| bars(document, sink)).map(|bars| PageBlock::Bars { bars });
    fastest.into_iter().chain(bars).collect()
}

/// The fastest design at the largest number of lines, relative to the reference.
fn fastest(document: &ThroughputDocument) -> Option<String> {
    let most = document.results.iter().map(|result| result.lines).max()?;
    let gain = |result: &Throughput| result.times_faster.map_or(1.0, |faster| faster.ratio);
    let all = document.results.iter().filter(|result| result.lines == most);
    let best = all.max_by(|a, b| gain(a).total_cmp(&gain(b)))?;

    let compared = best.times_faster.map_or(String::new(), |faster| {
        let [times, low, high] = [faster.ratio, faster.low, faster.high].map(ratio);
        format!(", {times} times ({low} to {high}) as fast as `{}`", visible(&document.baseline))
    });
    let [design, sink] = [&best.design, &best.sink].map(|text| visible(text));
    let time = display_nanos(best.median_ns);
    Some(format!("`{design}` prints {most} lines to {sink} in {time}{compared}."))
}

fn bars(document: &ThroughputDocument, sink: &str) -> Option<Bars> {
    let most = *document.counts(sink).last()?;
    let ranked = document.ranking(sink).into_iter();
    let results: Vec<&Throughput> = ranked.filter_map(|design| document.find(sink, design, most)).collect();
    let times: Vec<f64> = results.iter().map(|result| result.median_ns).collect();
    let scale = Scale::over(&times);
    let (shown, note) = scale.best();

    let bar = |result: &&Throughput| BarRow {
        name: visible(&result.design),
        bar: scale.plain(result.median_ns),
        value: display_nanos(result.median_ns),
    };
    let title = format!("{} lines to {}, medians", grouped(most), visible(sink));
    Some(Bars { title, scale: shown, rows: results.iter().map(bar).collect(), note })
}

fn picture(document: &ThroughputDocument, svg: String) -> Picture {
    Picture {
        title: "Time by number of lines, one line for each design".to_owned(),
        svg,
        table: Table { folded: true, ..table(document) },
    }
}

fn table(document: &ThroughputDocument) -> Table {
    Table {
        caption: format!("Designs, compared with `{}`", visible(&document.baseline)),
        columns: columns(&[
            "sink",
            "design",
            "#lines",
            "#median",
            "#bytes per second",
            "#times faster",
            "#runs",
        ]),
        rows: document.results.iter().map(line).collect(),
        filter: true,
        folded: false,
    }
}

fn line(result: &Throughput) -> Row {
    let faster = result.times_faster.map_or_else(
        || Cell::text(UNKNOWN),
        |r| Cell::figure(ratio(r.ratio), r.ratio).noted(format!("{} to {}", ratio(r.low), ratio(r.high))),
    );
    let rate = result.bytes_per_second;
    let rate =
        rate.map_or_else(|| Cell::text("no reader"), |b| Cell::figure(format!("{:.2} GB/s", b / 1e9), b));
    let mark = if result.right { "" } else { "*" };
    let most = result.times_ns.iter().max().copied().unwrap_or_default();
    let spread = format!("{} to {}", display_nanos(result.min_ns), display_nanos(most as f64));

    row(vec![
        Cell::text(visible(&result.sink)).noted(visible(&result.sink_description)),
        Cell::text(visible(&format!("{}{mark}", result.design))).noted(visible(&result.description)),
        Cell::figure(result.lines.to_string(), result.lines as f64),
        Cell::figure(display_nanos(result.median_ns), result.median_ns).noted(spread),
        rate,
        faster,
        Cell::figure(result.times_ns.len().to_string(), result.times_ns.len() as f64),
    ])
}

fn left_out(document: &ThroughputDocument) -> Option<Table> {
    let mut rows: Vec<Row> = Vec::new();
    for wrong in &document.wrong {
        let what = match (wrong.timed, wrong.literal) {
            (true, true) => "timed with its own bytes; a bug of the published program",
            (true, false) => "timed with its own bytes",
            (false, true) => "not timed; a bug of the published program",
            (false, false) => "not timed",
        };
        let reason = format!("{} lines to {}: {}", wrong.lines, visible(&wrong.sink), visible(&wrong.reason));
        rows.push(row(vec![Cell::text(visible(&wrong.design)), Cell::text(what), Cell::text(reason)]));
    }
    for skipped in &document.skipped {
        let cells = [&*visible(&skipped.name), "skipped", &*visible(&skipped.reason)];
        rows.push(row(cells.map(Cell::text).to_vec()));
    }
    Table::of("Other bytes, or not timed", &["design", "state", "why"], rows)
}
