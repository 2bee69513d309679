//! What this machine charges: waterfalls, figures, and sweeps over processors.

use super::block::{Cell, PageBlock, Picture, Row, Section, Table, columns, row};
use crate::document::floor::{Figure, Floor, Group, Print, Waterfall};
use crate::output::visible;
use crate::report::pictures::floor as floor_svg;
use crate::report::row::{UNKNOWN, percent};
use crate::report::text::floor::figure::{duration, title};
use crate::report::text::floor::prints::explained;
use firstbyte_measure::units::display_nanos;

/// The waterfalls, then a table for each group.
pub(crate) fn section(documents: &[&Floor]) -> Option<Section> {
    let mut section = Section::new("floor", "Floor");
    for floor in documents {
        section.blocks.extend(floor.waterfalls.iter().filter_map(waterfall));
        section.blocks.extend(Group::ALL.into_iter().filter_map(|group| figures(floor, group)));
        section.blocks.extend(prints(floor));
        section.blocks.extend(sweeps(floor));
        section.blocks.extend(missing(floor));
    }
    (!section.blocks.is_empty()).then_some(section)
}

fn waterfall(waterfall: &Waterfall) -> Option<PageBlock> {
    let svg = floor_svg::svg(waterfall)?;
    let title = format!("Waterfall: {}", visible(&waterfall.title));
    let caption = format!(
        "{title}. The steps and the floor sum to {} of {} ns, ± {}",
        waterfall.sum_ns.0,
        waterfall.top_ns.0,
        display_nanos(waterfall.error_ns)
    );
    let rows = (0..waterfall.layers.len()).map(|index| layer(waterfall, index)).collect();
    let columns = columns(&["layer", "#median", "removed part", "#saves", "#share of the top", "note"]);
    Some(PageBlock::Picture {
        picture: Picture { title, svg, table: Table { caption, columns, rows, folded: true, filter: false } },
    })
}

fn layer(waterfall: &Waterfall, index: usize) -> Row {
    let layer = &waterfall.layers[index];
    let ns = layer.ns.as_f64();
    let median = Cell::figure(duration(ns), ns).noted(interval(layer.low, layer.high));
    let mut cells = vec![Cell::text(visible(&layer.name)), median];
    if let Some(step) = waterfall.steps.get(index) {
        let saved = step.ns as f64;
        cells.push(Cell::text(visible(&step.removes)));
        cells.push(Cell::figure(signed(saved), saved).noted(interval(step.low, step.high)));
        cells.push(Cell::figure(format!("{:.1} %", step.share * 100.0), step.share));
        cells.push(Cell::text(if step.unsure { "within the noise" } else { "" }));
    }
    cells.resize(6, Cell::default());
    row(cells)
}

fn signed(ns: f64) -> String {
    if ns < 0.0 { format!("−{}", display_nanos(-ns)) } else { display_nanos(ns) }
}

fn interval(low: f64, high: f64) -> String {
    format!("{} to {}", signed(low), signed(high))
}

fn figures(floor: &Floor, group: Group) -> Option<PageBlock> {
    let line = |figure: &Figure| {
        let name = Cell::text(visible(&figure.name));
        let spread = format!("{}{}", percent(figure.spread), if figure.noisy { ", noisy" } else { "" });
        let single = figure.single.as_ref();
        row(vec![
            figure.note.as_deref().map_or(name.clone(), |note| name.noted(visible(note))),
            Cell::figure(duration(figure.median), figure.median).noted(interval(figure.low, figure.high)),
            Cell::figure(spread, figure.spread),
            Cell::figure(duration(figure.min), figure.min),
            Cell::figure(duration(figure.p99), figure.p99),
            single.map_or_else(|| Cell::text(UNKNOWN), |s| Cell::figure(duration(s.p99), s.p99)),
            Cell::figure(figure.samples.len().to_string(), figure.samples.len() as f64),
            Cell::text(figure.lmbench.as_deref().map(visible).unwrap_or_default()),
        ])
    };

    let rows: Vec<Row> = floor.results.iter().filter(|f| f.group == group).map(line).collect();
    let headings =
        ["what", "#median", "#± spread", "#min", "#p99", "#p99 of single calls", "#rounds", "lmbench"];
    Table::of(title(group), &headings, rows).map(PageBlock::from)
}

fn prints(floor: &Floor) -> Option<PageBlock> {
    let rows: Vec<Row> = floor.prints.iter().map(print).collect();
    let headings = [
        "program",
        "#first, own clock",
        "#hundredth, own clock",
        "#clock",
        "observed by",
        "#first, from outside",
        "#hundredth, from outside",
        "system calls",
        "#faults of the first",
    ];
    Table::of(title(Group::Prints), &headings, rows).map(PageBlock::from)
}

fn print(print: &Print) -> Row {
    let outside = print.outside.as_ref();
    let faults = outside.and_then(|outside| outside.first_faults);
    row(vec![
        Cell::text(visible(&print.label)),
        median(Some(&print.first)),
        median(Some(&print.hundredth)),
        median(Some(&print.clock)),
        Cell::text(outside.map_or("nothing".into(), |outside| visible(&outside.backend))),
        median(outside.map(|outside| &outside.first)),
        median(outside.map(|outside| &outside.hundredth)),
        Cell::text(outside.map_or(String::new(), |outside| visible(&explained(outside)))),
        faults.map_or_else(|| Cell::text(UNKNOWN), |faults| Cell::figure(faults.to_string(), faults as f64)),
    ])
}

fn median(figure: Option<&Figure>) -> Cell {
    figure.map_or_else(
        || Cell::text(UNKNOWN),
        |figure| {
            let shown = duration(figure.median) + if figure.noisy { ", noisy" } else { "" };
            Cell::figure(shown, figure.median).noted(interval(figure.low, figure.high))
        },
    )
}

fn sweeps(floor: &Floor) -> Option<PageBlock> {
    let mut rows = Vec::new();
    for sweep in &floor.sweeps {
        for point in &sweep.points {
            let threads = point.threads.map_or(UNKNOWN.to_owned(), |threads| threads.to_string());
            let first_byte = Cell::figure(display_nanos(point.first_byte), point.first_byte);
            rows.push(row(vec![
                Cell::text(visible(&sweep.name)),
                Cell::figure(point.cpus.to_string(), point.cpus as f64),
                Cell::text(visible(&point.how)),
                first_byte.noted(interval(point.low, point.high)),
                Cell::figure(display_nanos(point.total), point.total),
                Cell { value: point.threads.map(f64::from), ..Cell::text(threads) },
            ]));
        }
    }
    let headings = ["program", "#processors", "limited by", "#first byte", "#total", "#threads"];
    Table::of("First byte by number of processors", &headings, rows).map(PageBlock::from)
}

fn missing(floor: &Floor) -> Option<PageBlock> {
    let line = |m: &crate::document::floor::Missing| {
        row(vec![Cell::text(visible(&m.name)), Cell::text(m.group.name()), Cell::text(visible(&m.reason))])
    };
    let rows: Vec<Row> = floor.missing.iter().map(line).collect();
    Table::of("Not measured here", &["what", "group", "why"], rows).map(PageBlock::from)
}
