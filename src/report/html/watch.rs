//! The programs that a command or a machine started: a chart of who started whom, and a row for each.

use super::block::{Cell, PageBlock, Row, Section, Table, columns, row};
use super::icicle;
use crate::document::watch::{WatchDocument, WatchProgram, WatchTimes};
use crate::output::visible;
use crate::report::row::{UNKNOWN, percent};
use crate::report::text::watch as watch_text;
use firstbyte_measure::units::display_nanos;

pub(crate) fn section(documents: &[&WatchDocument]) -> Option<Section> {
    let mut section = Section::new("watch", "Started programs");
    for document in documents {
        section.blocks.extend(icicle::processes(document));
        section.blocks.push(PageBlock::Table { table: table(document) });
        section
            .blocks
            .extend(watch_text::notes(document).into_iter().map(|text| PageBlock::Warning { text }));
    }
    (!section.blocks.is_empty()).then_some(section)
}

/// The sums, and what is worth looking at.
pub(crate) fn answer(document: &WatchDocument) -> Vec<PageBlock> {
    let mut lines = watch_text::sums(document).into_iter();
    let title = visible(document.command.as_ref().unwrap_or(&document.scope));
    let first = lines.next().unwrap_or_default();
    let mut blocks = vec![PageBlock::Answer { text: format!("`{title}`: {first}.") }];
    blocks.extend(lines.map(|text| PageBlock::Prose { text }));
    let items: Vec<String> = document.findings.iter().map(|finding| visible(&finding.text)).collect();
    let title = "Findings".to_owned();
    blocks.extend((!items.is_empty()).then_some(PageBlock::List { title, items }));
    blocks
}

const COLUMNS: [&str; 10] = [
    "program",
    "#execs",
    "#failed",
    "#exec, median",
    "#exec, sum",
    "#of the wall time",
    "#on the critical path",
    FIRST_OUTPUT,
    "#life, median",
    "#CPU time",
];

/// The column that is left out if nothing is known of it.
const FIRST_OUTPUT: &str = "#1st output, median";

fn table(document: &WatchDocument) -> Table {
    let with_output = watch_text::has_first_output(document);
    let names: Vec<&str> = COLUMNS.into_iter().filter(|name| with_output || *name != FIRST_OUTPUT).collect();
    Table {
        caption: "Programs, those with the largest sum of exec times first".to_owned(),
        columns: columns(&names),
        rows: document.results.iter().map(|program| line(program, document, with_output)).collect(),
        filter: true,
        folded: false,
    }
}

fn line(program: &WatchProgram, document: &WatchDocument, with_output: bool) -> Row {
    let time = |ns: u64| Cell::figure(display_nanos(ns as f64), ns as f64);
    let of = |times: Option<&WatchTimes>, figure: fn(&WatchTimes) -> u64| {
        times.map_or_else(|| Cell::text(UNKNOWN), |times| time(figure(times)))
    };
    let startup = program.startup_ns.as_ref();
    let spread = |cell: Cell| match startup {
        Some(times) => cell.noted(format!("95 %: {}", display_nanos(times.p95 as f64))),
        None => cell,
    };
    let share = startup.map_or(0.0, |times| times.sum as f64 / document.wall_ns.max(1) as f64);

    let first_output = with_output.then(|| of(program.first_output_ns.as_ref(), |times| times.median));
    let cells = [
        Some(Cell::text(visible(&program.program)).noted(visible(&program.path))),
        Some(Cell::figure(program.execs.to_string(), program.execs as f64)),
        Some(Cell::figure(program.failed.to_string(), program.failed as f64)),
        Some(spread(of(startup, |times| times.median))),
        Some(of(startup, |times| times.sum)),
        Some(Cell::figure(percent(share), share)),
        Some(program.critical_path.map_or_else(|| Cell::text(UNKNOWN), |path| time(path.startup_ns))),
        first_output,
        Some(of(program.lifetime_ns.as_ref(), |times| times.median)),
        Some(time(program.cpu_ns)),
    ];
    row(cells.into_iter().flatten().collect())
}
