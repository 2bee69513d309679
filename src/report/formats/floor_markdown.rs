//! The floor as Markdown tables.

use super::markdown_text::plain;
use crate::document::floor::{CpuScaling, Figure, Floor, Group, Missing, Waterfall};
use crate::report::text::floor::figure::{COLUMNS, duration, title};
use crate::report::text::floor::prints as floor_prints;
use crate::report::text::floor::waterfall::{saved, share};
use firstbyte_measure::units::display_nanos;
use std::fmt::Write;

/// A table for each group, waterfall and sweep over processors. Noisy figures are in italics.
pub fn render(floor: &Floor) -> String {
    let groups = Group::ALL.into_iter().filter_map(|group| table(floor, group));
    let prints = floor_prints::markdown(&floor.prints);
    let waterfalls = floor.waterfalls.iter().map(waterfall);
    groups
        .chain(prints)
        .chain(waterfalls)
        .chain(floor.sweeps.iter().map(sweep))
        .chain(missing(floor))
        .collect::<Vec<_>>()
        .join("\n")
}

fn missing(floor: &Floor) -> Option<String> {
    let line = |each: &Missing| format!("- not measured: {}: {}\n", plain(&each.name), plain(&each.reason));
    Some(floor.missing.iter().map(line).collect()).filter(|lines: &String| !lines.is_empty())
}

fn table(floor: &Floor, group: Group) -> Option<String> {
    let figures: Vec<&Figure> = floor.results.iter().filter(|figure| figure.group == group).collect();
    figures.first()?;
    let headings: Vec<&str> = COLUMNS.iter().map(|(heading, _)| *heading).collect();
    let mut text = format!("| {} | {} | lmbench |\n", title(group), headings.join(" | "));
    let _ = writeln!(text, "|:---|{}:---|", "---:|".repeat(COLUMNS.len()));
    for figure in figures {
        let mark = if figure.noisy { "*" } else { "" };
        let cells = COLUMNS.map(|(_, cell)| format!("{mark}{}{mark}", cell(figure)));
        let lmbench = figure.lmbench.as_deref().unwrap_or_default();
        let _ = writeln!(text, "| {} | {} | {lmbench} |", plain(&figure.name), cells.join(" | "));
    }
    Some(text)
}

fn waterfall(waterfall: &Waterfall) -> String {
    let mut text = format!("| Waterfall: {} | | share |\n|:---|---:|---:|\n", plain(&waterfall.title));
    for (index, layer) in waterfall.layers.iter().enumerate() {
        let _ = writeln!(text, "| **{}** | **{}** | |", plain(&layer.name), duration(layer.ns.as_f64()));
        if let Some(step) = waterfall.steps.get(index) {
            let (saved, share) = (saved(step), share(step));
            let _ = writeln!(text, "| − {} | {saved} | {share} |", plain(&step.removes));
        }
    }
    let error = display_nanos(waterfall.error_ns);
    text + &format!("| sum of the steps and the floor, ± {error} | {} ns | |\n", waterfall.sum_ns.0)
}

fn sweep(sweep: &CpuScaling) -> String {
    let mut text =
        format!("| {}, limited by | CPUs | first byte | 95 % | whole run | threads |\n", plain(&sweep.name));
    text += "|:---|---:|---:|---:|---:|---:|\n";
    for point in &sweep.points {
        let threads = point.threads.map_or("?".to_owned(), |threads| threads.to_string());
        let [first, low, high, total] = [point.first_byte, point.low, point.high, point.total].map(duration);
        let how = plain(&point.how);
        let _ =
            writeln!(text, "| {how} | {} | {first} | {low} to {high} | {total} | {threads} |", point.cpus);
    }
    text
}
