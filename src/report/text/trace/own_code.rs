//! The program's own code in its language: its parts with the libraries that they call, and what its imports brought.

use super::NOTEWORTHY;
use crate::analysis::Summary;
use crate::analysis::profile::{By, Charged, Divided, Frame, Import};
use crate::output::visible;
use crate::report::text::terminal::{Terminal, fitted};
use firstbyte_measure::units::display_nanos;
use std::fmt::Write;

/// The maximum number of parts of own code, and of imports.
const PARTS: usize = 20;
const IMPORTS: usize = 8;

/// The parts of own code, each with the libraries that it calls; packages stand for themselves.
pub fn own_code(summary: &Summary, terminal: &Terminal) -> String {
    let Some(Divided { by, charged, .. }) = summary.user_code.as_ref().map(|code| &code.divided) else {
        return String::new();
    };
    let title = match by {
        By::Function => "Own code by function",
        By::Line => "Own code by line",
        By::File => "Own code by file",
        By::Package => "Code by package",
    };
    let column = if *by == By::Package { "time" } else { "with libraries" };
    let row = |charged: &Charged| (name(&charged.frame), vec![charged.time]);
    table([title, column, ""], charged.iter().take(PARTS).map(row), summary, terminal)
}

fn name(frame: &Frame) -> String {
    let place = frame.place();
    frame.function.as_deref().map_or_else(|| place.clone(), |function| format!("{function} ({place})"))
}

/// What the statements that import modules brought.
pub(super) fn imports(summary: &Summary, terminal: &Terminal) -> String {
    let all = summary.user_code.iter().flat_map(|code| &code.divided.imports);
    let row = |import: &Import| {
        let modules: Vec<&str> = import.modules.iter().take(2).map(|module| short(&module.file)).collect();
        let modules = if modules.is_empty() { String::new() } else { format!(": {}", modules.join(", ")) };
        let itself: f64 = import.modules.iter().map(|module| module.self_time).sum();
        (format!("{}{modules}", import.place()), vec![import.time, itself])
    };
    let titles = ["Imports by statement, by samples", "in all", "top levels"];
    table(titles, all.take(IMPORTS).map(row), summary, terminal)
}

/// The file and the folder that it is in: many modules have the name `__init__.py`.
fn short(file: &str) -> &str {
    file.rmatch_indices('/').nth(1).map_or(file, |(at, _)| &file[at + 1..])
}

/// Rows with a name and times, as far as the first of these is noteworthy. `titles`: of the name and of the times.
fn table(
    titles: [&str; 3],
    rows: impl Iterator<Item = (String, Vec<f64>)>,
    summary: &Summary,
    terminal: &Terminal,
) -> String {
    let columns = titles[1..].iter().filter(|title| !title.is_empty());
    let width = terminal.width.saturating_sub(16 * columns.clone().count()).max(20);
    let least = NOTEWORTHY * summary.median_run.total.as_f64().max(1.0);
    let mut text = String::new();
    for (name, times) in rows.take_while(|(_, times)| times[0] >= least) {
        let times: Vec<String> =
            times.into_iter().map(|time| format!("{:>16}", display_nanos(time))).collect();
        let _ = writeln!(text, "{}{}", fitted(&visible(&name), width), times.concat());
    }
    if text.is_empty() {
        return text;
    }

    let columns: Vec<String> = columns.map(|title| format!("{title:>16}")).collect();
    terminal.bold(&(fitted(titles[0], width) + &columns.concat())) + "\n" + &text
}
