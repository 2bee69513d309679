//! The floor for a terminal: the head, a table for each group, the waterfalls as bars.

mod cores;
pub(crate) mod figure;
mod histogram;
pub(crate) mod prints;
pub(crate) mod waterfall;

use super::terminal::{Terminal, columns, fitted};
use crate::document::floor::{Figure, Floor, Group, NOISY};
use crate::output::visible;
use crate::report::text::floor::figure::{COLUMNS, Column, duration, grey_if, title};
use crate::report::text::floor::{
    cores as floor_cores, histogram as floor_histogram, prints as floor_prints, waterfall as floor_waterfall,
};
use crate::report::text::head as report_head;
use std::fmt::Write;

/// With `histograms`, every histogram of single calls is drawn below its table.
pub fn render(floor: &Floor, histograms: bool, terminal: &Terminal) -> String {
    let mut parts = vec![head(floor, terminal)];
    for group in Group::ALL {
        parts.push(table(floor, group, terminal));
        if histograms {
            parts.push(floor_histogram::render(&of_group(floor, group), terminal));
        }
    }
    parts.push(floor_prints::render(&floor.prints, terminal));
    parts.extend(floor.waterfalls.iter().map(|waterfall| floor_waterfall::render(waterfall, terminal)));
    parts.extend(floor.sweeps.iter().map(|sweep| floor_cores::render(sweep, terminal)));
    parts.push(noise(floor, terminal));
    parts.push(missing(floor, terminal));
    parts.retain(|part| !part.is_empty());
    let page = parts.join("\n");
    let lines: Vec<&str> = page.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

fn of_group(floor: &Floor, group: Group) -> Vec<&Figure> {
    floor.results.iter().filter(|figure| figure.group == group).collect()
}

fn head(floor: &Floor, terminal: &Terminal) -> String {
    let overhead = &floor.overhead;
    let mut lines = vec![format!("{} {}", floor.tool.name, floor.tool.version)];
    lines.extend(report_head::machine(&floor.machine).map(|machine| format!("machine   {machine}")));
    lines.extend(floor.cpu.map(|cpu| format!("pinned    to CPU {cpu}, with every program that is started")));
    if overhead.step > 0 {
        lines.push(format!(
            "clock     two readings cost {:.1} ns and one loop iteration {:.2} ns, both subtracted; \
             the clock advances in steps of {} ns; an empty timed region takes {:.1} ns",
            overhead.timer, overhead.turn, overhead.step, overhead.empty
        ));
    }
    if floor.partial {
        lines.push("partial   interrupted: not everything was measured".to_owned());
    }
    lines.iter().map(|line| terminal.wrap(&visible(line), 10) + "\n").collect()
}

const NUMBER: usize = 9;
const NARROWEST_NAME: usize = 24;
/// Where there is no room for all columns, these are left out, the first of them first.
const LEAST: [&str; 2] = ["mean", "min"];
/// Wide terminals show the single calls as well.
const SINGLES: usize = 34;

fn table(floor: &Floor, group: Group, terminal: &Terminal) -> String {
    let figures = of_group(floor, group);
    if figures.is_empty() {
        return String::new();
    }
    let shown = shown_columns(terminal.width);
    let numbers = NUMBER * shown.len();
    let singles = figures.iter().any(|figure| figure.single.is_some());
    let longest = figures.iter().map(|figure| columns(&figure.name)).max().unwrap_or(0);
    let singles = singles && terminal.width >= NARROWEST_NAME + numbers + SINGLES;
    let room = terminal.width.saturating_sub(numbers + if singles { SINGLES } else { 0 });
    let width = longest.min(room.max(NARROWEST_NAME)); // a longer name is wrapped above its numbers
    let heading = row(title(group), width, shown.iter().map(|(heading, _)| (*heading).to_owned()));
    let heading = if singles { heading + "   single calls, min to p99" } else { heading };
    let mut text = terminal.bold(&heading) + "\n";
    for figure in &figures {
        text += &line(figure, &shown, width, singles, terminal);
    }
    text + &notes(&figures, terminal)
}

fn shown_columns(width: usize) -> Vec<Column> {
    let mut shown = COLUMNS.to_vec();
    for least in LEAST {
        if width < NARROWEST_NAME + NUMBER * shown.len() {
            shown.retain(|(heading, _)| *heading != least);
        }
    }
    shown
}

/// A name and its numbers. The beginning of a name that is too long is above them, or the whole name rather than a part
/// of a word.
fn row(name: &str, width: usize, cells: impl Iterator<Item = String>) -> String {
    let name = visible(name);
    let is_breakable = name.split(' ').all(|word| columns(word) + 2 <= width);
    let wrapped = if is_breakable || columns(&name) <= width {
        Terminal { width, ..Terminal::default() }.wrap(&name, 2)
    } else {
        name + "\n"
    };
    let (above, name) = wrapped.rsplit_once('\n').unwrap_or(("", &wrapped));
    let above = if above.is_empty() { String::new() } else { format!("{above}\n") };
    let cells: Vec<String> = cells.map(|cell| format!("{cell:>NUMBER$}")).collect();
    above + &fitted(name, width) + &cells.concat()
}

fn line(figure: &Figure, shown: &[Column], width: usize, singles: bool, terminal: &Terminal) -> String {
    let mut text = row(&figure.name, width, shown.iter().map(|(_, cell)| cell(figure)));
    if let Some(single) = figure.single.as_ref().filter(|_| singles) {
        let range = format!("{} to {}", duration(single.min), duration(single.p99));
        let _ = write!(text, "   {:<20} {}", range, floor_histogram::spark(&single.histogram, 10));
    }
    grey_if(figure.noisy, &text, terminal) + "\n"
}

/// lmbench's names, and notes, each once.
fn notes(figures: &[&Figure], terminal: &Terminal) -> String {
    let mut text = String::new();
    let lmbench: Vec<String> = figures
        .iter()
        .filter_map(|figure| Some(format!("{} = {}", figure.lmbench.as_ref()?, figure.name)))
        .collect();
    if !lmbench.is_empty() {
        text += &(terminal.wrap(&format!("Names in lmbench: {}.", lmbench.join("; ")), 2) + "\n");
    }

    let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
    for figure in figures {
        let Some(note) = figure.note.as_deref() else { continue };
        match notes.iter_mut().find(|(known, _)| *known == note) {
            Some((_, names)) => names.push(&figure.name),
            None => notes.push((note, vec![&figure.name])),
        }
    }

    for (note, names) in notes {
        text += &(terminal.wrap(&visible(&format!("{}: {note}.", names.join("; "))), 2) + "\n");
    }
    text
}

/// The maximum number of figures that the warning names.
const MAX_NOISY: usize = 5;

/// A warning about figures that vary.
fn noise(floor: &Floor, terminal: &Terminal) -> String {
    let all: Vec<&Figure> = floor.figures().collect();
    let noisy: Vec<&str> =
        all.iter().filter(|figure| figure.noisy).map(|figure| figure.name.as_str()).collect();
    if noisy.is_empty() {
        return String::new();
    }
    let named = noisy.iter().take(MAX_NOISY).copied().collect::<Vec<_>>().join("; ");
    let more = if noisy.len() > MAX_NOISY { "; …" } else { "" };
    let text = format!(
        "warning: {} of {} figures vary by more than {:.0} % (grey): {}{more}. Other programs are running, or the clock speed \
         changes. Stop them and measure again.",
        noisy.len(),
        all.len(),
        NOISY * 100.0,
        named
    );
    terminal.wrap(&visible(&text), 2) + "\n"
}

fn missing(floor: &Floor, terminal: &Terminal) -> String {
    let line = |missing: &crate::document::floor::Missing| {
        terminal.wrap(&visible(&format!("not measured: {}: {}", missing.name, missing.reason)), 2) + "\n"
    };
    floor.missing.iter().map(line).collect()
}
