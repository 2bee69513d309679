//! The first and the hundredth print of each program, from inside and from outside.

use crate::document::floor::{Figure, Group, Outside, Print};
use crate::output::visible;
use crate::report::text::floor::figure::{duration, grey_if, title};
use crate::report::text::terminal::{Terminal, fitted};
use std::fmt::Write;

const LABEL: usize = 22;
const NUMBER: usize = 10;
/// The calls and the faults. A narrow terminal lacks them; the notes name the calls.
const COUNTS: usize = 14;

/// For a terminal; empty without prints.
pub(crate) fn render(prints: &[Print], terminal: &Terminal) -> String {
    if prints.is_empty() {
        return String::new();
    }
    let backend = prints.iter().find_map(|print| print.outside.as_ref()).map(|outside| &outside.backend);
    let outside = backend.map_or_else(String::new, |backend| format!("from outside ({backend})"));
    let counts = terminal.width >= LABEL + 4 * NUMBER + COUNTS;
    let label = LABEL.min(terminal.width.saturating_sub(4 * NUMBER));
    let [of_first, counted] = if counts { ["  in the first", "  calls faults"] } else { [""; 2] };
    let mut text = terminal.bold(title(Group::Prints)) + "\n";
    let _ = writeln!(text, "{:label$}{:>20}{outside:>20}{of_first}", "", "its own clock");
    let headings = ["first", "hundredth", "first", "hundredth"].map(|heading| format!("{heading:>NUMBER$}"));
    let _ = writeln!(text, "{:label$}{}{counted}", "of hello world\\n", headings.concat());
    for print in prints {
        text += &line(print, label, counts, terminal);
    }
    text + &notes(prints, terminal)
}

fn line(print: &Print, label: usize, counts: bool, terminal: &Terminal) -> String {
    let mut text = fitted(&visible(&print.label), label);
    text += &cell(Some(&print.first), terminal);
    text += &cell(Some(&print.hundredth), terminal);
    let outside = print.outside.as_ref();
    text += &cell(outside.map(|outside| &outside.first), terminal);
    text += &cell(outside.map(|outside| &outside.hundredth), terminal);
    if !counts {
        return text + "\n";
    }
    let calls = outside.map_or("-".to_owned(), |outside| outside.first_calls.len().to_string());
    let faults = outside.and_then(|outside| outside.first_faults);
    let faults = faults.map_or("-".to_owned(), |faults| faults.to_string());
    text + &format!("{calls:>7}{faults:>7}\n")
}

fn cell(figure: Option<&Figure>, terminal: &Terminal) -> String {
    let Some(figure) = figure else { return format!("{:>NUMBER$}", "-") };
    let text = format!("{:>NUMBER$}", duration(figure.median));
    grey_if(figure.noisy, &text, terminal)
}

/// More calls than this are only counted.
const MAX_CALLS: usize = 8;

fn notes(prints: &[Print], terminal: &Terminal) -> String {
    let mut text = String::new();
    let clocks = "Medians, to a terminal. From inside, the cost of two readings of the program's own clock is subtracted. From \
                  outside, a print lasts from the return of the previous write to the return of its own write, including \
                  the cost of the tracer.";
    text += &(terminal.wrap(clocks, 2) + "\n");
    for print in prints {
        if let Some(outside) = &print.outside {
            let said = format!("{}: {}.", print.label, explained(outside));
            text += &(terminal.wrap(&visible(&said), 2) + "\n");
        }
    }
    text
}

/// The calls of the first print and of the hundredth.
pub(crate) fn explained(outside: &Outside) -> String {
    format!("first {}; hundredth {}", listed(&outside.first_calls), listed(&outside.hundredth_calls))
}

fn listed(calls: &[String]) -> String {
    if calls.len() > MAX_CALLS { format!("{} calls", calls.len()) } else { calls.join(", ") }
}

/// In Markdown; `None` without prints.
pub(crate) fn markdown(prints: &[Print]) -> Option<String> {
    let first = prints.first()?;
    let backend = first.outside.as_ref().map_or("not observed", |outside| outside.backend.as_str());
    let mut text = format!(
        "| {} | first, own clock | hundredth, own clock | clock | first, {backend} | hundredth, {backend} | calls | faults |\n\
         |:---|---:|---:|---:|---:|---:|:---|---:|\n",
        title(Group::Prints)
    );

    for print in prints {
        let outside = print.outside.as_ref();
        let cell = |figure: Option<&Figure>| figure.map_or("-".to_owned(), marked);
        let faults = outside.and_then(|o| o.first_faults).map_or("-".to_owned(), |faults| faults.to_string());
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {faults} |",
            visible(&print.label),
            marked(&print.first),
            marked(&print.hundredth),
            marked(&print.clock),
            cell(outside.map(|o| &o.first)),
            cell(outside.map(|o| &o.hundredth)),
            outside.map_or(String::new(), explained),
        );
    }
    Some(text)
}

/// Noisy figures are in italics.
fn marked(figure: &Figure) -> String {
    let mark = if figure.noisy { "*" } else { "" };
    format!("{mark}{}{mark}", duration(figure.median))
}
