//! How pictures and pages draw the phases: their colours and, for readers who see no colours, a pattern each.

use firstbyte_measure::timeline::Phase;

/// As SVG and scripts write it.
pub(crate) fn hex(phase: Phase) -> String {
    let (red, green, blue) = phase.colour();
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// The colour of text on the phase's colour: black, or white where that is dark.
pub(crate) fn ink(phase: Phase) -> &'static str {
    let (red, green, blue) = phase.colour();
    // relative luminance, as WCAG 2 approximates it
    let lightness = 0.2126 * f64::from(red) + 0.7152 * f64::from(green) + 0.0722 * f64::from(blue);
    if lightness < 128.0 { "#ffffff" } else { "#10151b" }
}

/// The lines that the pattern draws over the colour in a cell of 6 by 6, an SVG path; empty: none.
fn pattern(phase: Phase) -> &'static str {
    match phase {
        Phase::Startup => "M0 6L6 0",
        Phase::Setup => "",
        Phase::Write => "M1.5 0V6M4.5 0V6",
        Phase::Teardown => "M0 3H6M3 0V6",
    }
}

/// The patterns, for the head of an SVG picture: `url(#pattern-setup)` and so on.
pub(crate) fn definitions() -> String {
    let one = |phase: Phase| {
        let (name, colour, path) = (phase.name(), hex(phase), pattern(phase));
        format!(
            "<pattern id=\"pattern-{name}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
             <rect width=\"6\" height=\"6\" fill=\"{colour}\"/>\
             <path d=\"{path}\" stroke=\"#000000\" stroke-opacity=\"0.45\" fill=\"none\"/></pattern>"
        )
    };
    format!("<defs>{}</defs>", Phase::ALL.map(one).concat())
}

/// The rules of a page's style that fill the class of each phase with its pattern.
pub(crate) fn rules() -> String {
    let one = |phase: Phase| {
        let name = phase.name();
        format!(".phase-{name} {{ fill: url(#pattern-{name}); }}\n")
    };
    Phase::ALL.map(one).concat()
}

/// The picture with every surface of a phase's colour filled by its pattern.
pub(crate) fn patterned(svg: &str) -> String {
    let svg = svg.replacen('>', &format!(">{}", definitions()), 1);
    let (head, body) = svg.split_at(svg.find("</defs>").unwrap_or_default());
    let mut body = body.to_owned();
    for phase in Phase::ALL {
        let fill = format!("fill=\"{}\"", hex(phase));
        body = body.replace(&fill, &format!("fill=\"url(#pattern-{})\"", phase.name()));
    }
    head.to_owned() + &body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surfaces_get_patterns_and_the_patterns_keep_their_colours() {
        let svg = patterned("<svg a=\"b\"><rect fill=\"#F0C040\"/><text>#F0C040</text></svg>");
        assert!(svg.contains("<rect fill=\"url(#pattern-setup)\"/>"), "{svg}");
        assert!(svg.contains("<rect width=\"6\" height=\"6\" fill=\"#F0C040\"/>"), "{svg}");
        assert!(svg.ends_with("<text>#F0C040</text></svg>"), "{svg}");
    }

    #[test]
    fn text_on_a_dark_phase_is_white() {
        assert_eq!([Phase::Setup, Phase::Write].map(ink), ["#10151b", "#ffffff"]);
    }
}
