//! How the phases look. Pictures and pages draw a colour with a pattern, a terminal one of its own colours and a
//! character. The patterns and characters are for readers who see no colours.

use anstyle::{AnsiColor, Color, Style};
use firstbyte_measure::timeline::Phase;

/// Red, green and blue in pictures and pages. The colours differ in lightness too.
pub(crate) const fn colour(phase: Phase) -> (u8, u8, u8) {
    match phase {
        Phase::Startup => (0x8f, 0xb4, 0xdc),
        Phase::Setup => (0xf0, 0xc0, 0x40),
        Phase::Write => (0x00, 0x79, 0x6b),
        Phase::Teardown => (0xb7, 0x86, 0xb0),
    }
}

/// The lines that the pattern draws over the colour in a cell of 6 by 6, an SVG path; empty: none.
pub(crate) const fn pattern(phase: Phase) -> &'static str {
    match phase {
        Phase::Startup => "M0 6L6 0",
        Phase::Setup => "",
        Phase::Write => "M1.5 0V6M4.5 0V6",
        Phase::Teardown => "M0 3H6M3 0V6",
    }
}

/// The colour in a terminal, one of those that its user has chosen.
const fn terminal_colour(phase: Phase) -> AnsiColor {
    match phase {
        Phase::Startup => AnsiColor::Blue,
        Phase::Setup => AnsiColor::Yellow,
        Phase::Write => AnsiColor::Magenta,
        Phase::Teardown => AnsiColor::Cyan,
    }
}

/// The character that fills a phase's part of a bar in a terminal.
pub(crate) const fn character(phase: Phase) -> char {
    match phase {
        Phase::Startup => '░',
        Phase::Setup => '█',
        Phase::Write => '┃',
        Phase::Teardown => '▒',
    }
}

/// As a terminal prints it.
pub(crate) fn style(phase: Phase) -> Style {
    Style::new().fg_color(Some(Color::Ansi(terminal_colour(phase))))
}

/// As SVG and scripts write the colour.
pub(crate) fn hex(phase: Phase) -> String {
    let (red, green, blue) = colour(phase);
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// The colour of text on the phase's colour: black, or white where that is dark.
pub(crate) fn ink(phase: Phase) -> &'static str {
    if lightness(phase) < 128.0 { "#ffffff" } else { "#10151b" }
}

/// The relative luminance of its colour, as WCAG 2 approximates it.
fn lightness(phase: Phase) -> f64 {
    let (red, green, blue) = colour(phase);
    0.2126 * f64::from(red) + 0.7152 * f64::from(green) + 0.0722 * f64::from(blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_colours_differ_in_lightness() {
        let mut all = Phase::ALL.map(lightness);
        all.sort_by(f64::total_cmp);
        assert!(all.windows(2).all(|pair| pair[1] - pair[0] > 15.0), "{all:?}");
    }

    #[test]
    fn text_on_a_dark_phase_is_white() {
        assert_eq!([Phase::Setup, Phase::Write].map(ink), ["#10151b", "#ffffff"]);
    }
}
