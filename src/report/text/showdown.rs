//! A showdown for a terminal: the head, tables sorted by first byte, phase bars, and the programs that did not run.

use super::terminal::{Terminal, columns as width_of, truncated};
use super::{phase_bars, side_by_side};
use crate::document::Document;
use crate::document::bench::{Cache, ColdMethod, ColdRuns, Measurement, Overhead, Tool};
use crate::output::visible;
use crate::report::row::{self, MeasurementColumn, UNKNOWN, name, ratio};
use crate::report::words::{count_of, runs};
use comfy_table::{CellAlignment, Table, TableComponent, presets};
use firstbyte_measure::timeline::Phase;
use serde_json::Value;

/// Names are cut to this width, or to less in a narrow terminal.
const WIDEST_NAME: usize = 32;

/// For more programs than this, the head shows only the lowest and the highest observer overhead.
const MOST_OVERHEADS: usize = 4;

/// For more programs than this, the head shows only their number.
const MOST_NAMES: usize = 6;

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
    let bars = phase_bars::render(rows, names, terminal);
    if bars.is_empty() { without_phases(document, terminal) } else { bars }
}

pub(crate) fn head(document: &Document, terminal: &Terminal) -> String {
    let tool = &document.tool;
    let mut lines = vec![format!("{} {}", tool.name, tool.version).trim_end().to_owned()];
    lines.extend(machine(&document.machine).map(|machine| format!("machine   {machine}")));
    lines.extend(environment(&document.machine).map(|environment| format!("programs  {environment}")));
    lines.extend(placement(document).map(|placement| format!("place     {placement}")));
    lines.extend(backend(tool).map(|backend| format!("backend   {backend}")));
    lines.extend(observer(&tool.observer_overhead).map(|observer| format!("observer  {observer}")));
    if let Some(reason) = &document.broken {
        lines.push(format!("partial   the measuring failed: {}", reason.replace('\n', "; ")));
    } else if document.partial {
        lines.push(
            "partial   some planned runs are missing: the measuring was interrupted or has not ended"
                .to_owned(),
        );
    }
    lines.iter().map(|line| terminal.wrap(&visible(line), 10) + "\n").collect()
}

/// The facts that identify a machine, as far as the file has them.
pub(crate) fn machine(machine: &Value) -> Option<String> {
    let fact = |key: &str, before: &str, after: &str| {
        let fact = match machine.get(key)? {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        (fact != "none").then(|| format!("{before}{fact}{after}"))
    };

    let facts = [
        fact("cpu_model", "", ""),
        fact("cores", "", " cores"),
        fact("kernel_release", "Linux ", ""),
        fact("virtualisation", "guest of ", ""),
        fact("container", "in ", ""),
        fact("governor", "governor ", ""),
    ];
    let known: Vec<String> = facts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// The environment in which the programs ran, as far as the file says.
fn environment(machine: &Value) -> Option<String> {
    let origin = machine.get("environment_origin")?.as_str().filter(|origin| !origin.is_empty())?;
    let variables = machine.get("environment")?.as_object()?;
    let usual = |name: &str| ["PATH", "LANG", "TERM"].contains(&name) || name.starts_with("LC_");
    let names: Vec<&str> = variables.keys().map(String::as_str).filter(|name| !usual(name)).collect();

    let also = if names.is_empty() { String::new() } else { format!(" and {}", names.join(", ")) };
    Some(match (origin, names.is_empty()) {
        ("clean", _) => format!("in a clean environment: PATH, HOME, LANG{also}"),
        (_, true) => "in your environment".to_owned(),
        (_, false) => {
            format!(
                "in your environment; these variables may change how programs start: {}",
                names.join(", ")
            )
        }
    })
}

/// On which processors the programs ran, as far as the file says.
fn placement(document: &Document) -> Option<String> {
    let of = |m: &Measurement| m.plan.get("placement").cloned();
    let one = document.results.iter().find_map(|m| of(m)?.get("one")?.as_u64())?;
    let elsewhere = document.results.iter().filter(|m| of(m).is_some_and(|place| place == "any"));
    let names: Vec<&str> = elsewhere.map(Measurement::label).collect();
    let others = match &names[..] {
        [] => String::new(),
        names if names.len() <= MOST_NAMES => format!("; on any: {}", names.join(", ")),
        names => format!("; on any: {} programs with several threads or processes", names.len()),
    };
    Some(format!(
        "programs with one thread on processor {one}, as firstbyte{others} (--cpus all: the kernel decides)"
    ))
}

fn backend(tool: &Tool) -> Option<String> {
    let backend = tool.backend.as_ref()?;
    Some(match &tool.backend_reason {
        Some(reason) => format!("{backend}: {reason}"),
        None => backend.clone(),
    })
}

/// The overhead of each program; of many programs, the lowest and the highest.
fn observer(overheads: &[Overhead]) -> Option<String> {
    let each = |o: &Overhead| {
        let (low, high) = (ratio(o.ratio.low), ratio(o.ratio.high));
        format!("`{}` {} ({low} to {high}, {} blocks)", o.name, ratio(o.ratio.ratio), o.ratio.pairs)
    };

    let mut ordered: Vec<&Overhead> = overheads.iter().filter(|overhead| overhead.is_known()).collect();
    if ordered.is_empty() && !overheads.is_empty() {
        return Some("no ratio of traced and untraced runs: too few blocks of runs".to_owned());
    }
    ordered.sort_by(|a, b| a.ratio.ratio.total_cmp(&b.ratio.ratio));
    let shown = match ordered[..] {
        [] => return None,
        [least, .., most] if ordered.len() > MOST_OVERHEADS => {
            format!("from {} to {} over {} programs", each(least), each(most), ordered.len())
        }
        _ => overheads.iter().filter(|overhead| overhead.is_known()).map(each).collect::<Vec<_>>().join(", "),
    };
    Some(format!("traced / untraced wall time: {shown}"))
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
    let part = |columns: Vec<MeasurementColumn>| table(rows, &columns, None, terminal, 0).unwrap_or_default();
    one.map_or_else(|| [row::times(), row::counts()].map(part).into(), |one| vec![one])
}

fn statistics(rows: &[&Measurement], terminal: &Terminal) -> String {
    let below = row::threshold(rows);
    let table = table(rows, &row::statistics(), below.as_deref(), terminal, 0).unwrap_or_default();
    let timed = rows.iter().any(|row| row.ranked().is_some());
    let title = if timed { "First byte (or total, if there is none)" } else { "Wall time" };
    format!("{}\n{table}", terminal.bold(&truncated(title, terminal.width)))
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
    let mut headings: Vec<String> = columns.iter().map(|column| column.heading.to_owned()).collect();
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
        Some("Medians. ± is the median absolute deviation of the first byte.".to_owned()),
        floor.map(|f| {
            format!(
                "× floor is relative to the first byte of `{}`, run by run (to the total, if one has no first byte).",
                visible(&f.floor)
            )
        }),
        rows.iter().any(|m| m.phases.get(Phase::Setup).is_some()).then(|| "% is the share of the total.".to_owned()),
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

pub(crate) fn failed(document: &Document, terminal: &Terminal) -> String {
    let lines = document.failed.iter().flat_map(|failed| {
        let name = under(&failed.name, failed.cache);
        let reason = format!("{name}: {}; {} tried", failed.reason, runs(failed.runs));
        [reason].into_iter().chain(failed.stderr.iter().map(|line| format!("  stderr: {line}")))
    });
    list("Failed", lines, terminal)
}

/// What a reader must know of single programs.
pub(crate) fn notes(document: &Document, terminal: &Terminal) -> String {
    let lines = document.results.iter().flat_map(|m| {
        let name = under(m.label(), m.cache);
        let rejected = m.rejected.first().map(|first| {
            format!("{name}: {} did not count; run {}: {}", runs(m.rejected.len()), first.run, first.reason)
        });
        let lost = usize::try_from(m.lost_events).unwrap_or(usize::MAX);
        let lost = (lost > 0).then(|| format!("{name}: {} lost", count_of(lost, "event", "events")));
        let killed = m.killed_by.as_ref();
        let killed = killed.map(|signal| format!("{name}: every run was killed by {signal}, as expected"));
        let uncounted = m.uncounted.as_ref();
        let uncounted = uncounted.map(|reason| format!("{name}: no counts: in a counting run, {reason}"));
        let influences = influences(m).map(|text| format!("{name}*: {text}"));
        let warm = m.cold.as_ref().into_iter().flat_map(|cold| warm(&name, cold)).collect::<Vec<_>>();
        killed.into_iter().chain(influences).chain(rejected).chain(lost).chain(uncounted).chain(warm)
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

/// A name with the state of the page cache.
fn under(name: &str, cache: Option<Cache>) -> String {
    cache.map_or(name.to_owned(), |cache| format!("{name} ({})", cache.name()))
}

fn skipped(document: &Document, terminal: &Terminal) -> String {
    let lines = document.skipped.iter().map(|skipped| match &skipped.install {
        Some(install) => format!("{}: {}; help: {install}", skipped.name, skipped.reason),
        None => format!("{}: {}", skipped.name, skipped.reason),
    });
    list("Skipped", lines, terminal)
}

/// Those about the machine. Those about single programs are in the document.
pub(crate) fn general_warnings(document: &Document) -> impl Iterator<Item = String> {
    document.warnings.iter().filter(|warning| warning.name.is_none()).map(ToString::to_string)
}

pub(crate) fn list(title: &str, lines: impl Iterator<Item = String>, terminal: &Terminal) -> String {
    let lines: String = lines.map(|line| terminal.wrap(&format!("  {}", visible(&line)), 4) + "\n").collect();
    if lines.is_empty() { lines } else { format!("{}\n{lines}", terminal.bold(title)) }
}
