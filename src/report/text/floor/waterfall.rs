//! A waterfall as bars: the layers from the top, what each step saves, and the sum.

use crate::document::floor::{Waterfall, WaterfallStep};
use crate::output::visible;
use crate::report::text::floor::figure::duration;
use crate::report::text::terminal::{Terminal, columns, fitted};
use anstyle::{AnsiColor, Style};
use firstbyte_measure::units::display_nanos;
use std::fmt::Write;

/// Names are cut to this width, or to less in a narrow terminal.
const WIDEST_NAME: usize = 52;
const NUMBERS: usize = 20;
/// The numbers of a step that is within the noise, and these words.
const UNSURE: usize = 40;

pub(crate) fn render(waterfall: &Waterfall, terminal: &Terminal) -> String {
    let names = waterfall.layers.iter().map(|layer| columns(&layer.name));
    let steps = waterfall.steps.iter().map(|step| columns(&step.removes) + STEP.chars().count());
    let longest = names.chain(steps).max().unwrap_or(0);
    let numbers = if waterfall.steps.iter().any(|step| step.unsure) { UNSURE } else { NUMBERS };
    let room = terminal.width.saturating_sub(numbers).min(terminal.width / 2);
    let width = longest.min(WIDEST_NAME).min(room).max(8);
    let title = terminal.wrap(&format!("Waterfall: {}", visible(&waterfall.title)), 2);
    let mut text = terminal.bold(&title) + "\n";
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

fn line(step: &WaterfallStep, width: usize, terminal: &Terminal) -> String {
    let saved = saved(step);
    let share = share(step);
    let unsure = if step.unsure { "  (within the noise)" } else { "" };
    let text = format!("{} {saved:>9} {share:>9}{unsure}", fitted(&format!("{STEP}{}", step.removes), width));
    let grey = Style::new().fg_color(Some(AnsiColor::BrightBlack.into()));
    if step.unsure { terminal.paint(grey, &text) } else { text }
}

/// How much less, or more, the next layer takes.
pub(crate) fn saved(step: &WaterfallStep) -> String {
    let change = display_nanos(-(step.ns as f64));
    if step.ns < 0 { format!("+{change}") } else { change }
}

/// As a part of the top layer. A saving is negative, like the nanoseconds beside it.
pub(crate) fn share(step: &WaterfallStep) -> String {
    // the sign of 0.0 means nothing
    format!("{:+.1} %", -step.share * 100.0).replace("-0.0", "0.0").replace("+0.0", "0.0")
}

/// The layers span four orders of magnitude, so the scale is logarithmic. It begins at a third of the lowest.
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
        "The steps and the floor sum to {} of {}, ± {} (the 95 % interval of the top; medians of paired differences would \
         miss it by {}). The scale of the bars is logarithmic.",
        exact(waterfall.sum_ns.0),
        exact(waterfall.top_ns.0),
        display_nanos(waterfall.error_ns),
        display_nanos(waterfall.residual_ns.abs()),
    );
    terminal.wrap(&text, 0) + "\n"
}

/// All digits of the nanoseconds, in groups of three.
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
    fn digits_are_in_groups_of_three() {
        assert_eq!(exact(0), "0 ns");
        assert_eq!(exact(999), "999 ns");
        assert_eq!(exact(1_234_567).replace('\u{a0}', "_"), "1_234_567 ns");
    }
}
