//! A waterfall as bars: layers from the top down, what each step saves, and the sum.

use crate::document::floor::{Step, Waterfall};
use crate::output::visible;
use crate::report::text::floor::figure::duration;
use crate::report::text::terminal::{Terminal, columns, fitted};
use anstyle::{AnsiColor, Style};
use firstbyte_measure::units::display_nanos;
use std::fmt::Write;

/// Names are cut to this width, less where the terminal is narrow.
const WIDEST_NAME: usize = 52;
const NUMBERS: usize = 20;

/// Title, layers with their steps between them, and the sum with its error.
pub(crate) fn render(waterfall: &Waterfall, terminal: &Terminal) -> String {
    let names = waterfall.layers.iter().map(|layer| columns(&layer.name));
    let steps = waterfall.steps.iter().map(|step| columns(&step.removes) + STEP.chars().count());
    let longest = names.chain(steps).max().unwrap_or(0);
    let width = longest.min(WIDEST_NAME).min(terminal.width / 2).max(8);
    let mut text = terminal.bold(&format!("Waterfall: {}", visible(&waterfall.title))) + "\n";
    for (index, layer) in waterfall.layers.iter().enumerate() {
        let name = fitted(&layer.name, width);
        let bar = bar(waterfall, layer.ns.as_f64(), terminal.width.saturating_sub(width + NUMBERS + 1));
        let _ = writeln!(text, "{name} {:>9}          {bar}", duration(layer.ns.as_f64()));
        if let Some(step) = waterfall.steps.get(index) {
            text += &(line(step, width, terminal) + "\n");
        }
    }
    text + &sum(waterfall, terminal)
}

const STEP: &str = "  − ";

fn line(step: &Step, width: usize, terminal: &Terminal) -> String {
    let saved = saved(step);
    let share = share(step);
    let unsure = if step.unsure { "  (within the noise)" } else { "" };
    let text = format!("{} {saved:>9} {share:>9}{unsure}", fitted(&format!("{STEP}{}", step.removes), width));
    let grey = Style::new().fg_color(Some(AnsiColor::BrightBlack.into()));
    if step.unsure { terminal.paint(grey, &text) } else { text }
}

/// What the next layer takes less, or more.
pub(crate) fn saved(step: &Step) -> String {
    let change = display_nanos(-(step.ns as f64));
    if step.ns < 0 { format!("+{change}") } else { change }
}

/// Of the top; what is saved is negative, like the nanoseconds beside it.
pub(crate) fn share(step: &Step) -> String {
    // 0.0 has a sign that says nothing
    format!("{:+.1} %", -step.share * 100.0).replace("-0.0", "0.0").replace("+0.0", "0.0")
}

/// The layers span four orders of magnitude: the length is on a logarithmic scale from a tenth of the lowest.
fn bar(waterfall: &Waterfall, ns: f64, room: usize) -> String {
    let lowest = waterfall.layers.iter().map(|l| l.ns.as_f64()).fold(f64::INFINITY, f64::min).max(1.0) / 3.0;
    let span = (waterfall.top_ns.as_f64().max(lowest * 2.0) / lowest).ln();
    let share = (ns.max(lowest) / lowest).ln() / span;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at least 0, at most the room
    let length = (share.clamp(0.0, 1.0) * room as f64).round() as usize;
    "█".repeat(length)
}

fn sum(waterfall: &Waterfall, terminal: &Terminal) -> String {
    let text = format!(
        "The steps and the floor sum up to {} of {}, ± {} (95 % interval of the top; steps taken as medians of paired \
         differences would miss it by {}). Bars are on a logarithmic scale.",
        exact(waterfall.sum_ns.0),
        exact(waterfall.top_ns.0),
        display_nanos(waterfall.error_ns),
        display_nanos(waterfall.residual_ns.abs()),
    );
    terminal.wrap(&text, 0) + "\n"
}

/// Nanoseconds to the last digit, in groups of three.
fn exact(ns: u64) -> String {
    let digits = ns.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{a0}');
        }
        text.push(digit);
    }
    text + " ns"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups_of_three() {
        assert_eq!(exact(0), "0 ns");
        assert_eq!(exact(999), "999 ns");
        assert_eq!(exact(1_234_567).replace('\u{a0}', "_"), "1_234_567 ns");
    }
}
