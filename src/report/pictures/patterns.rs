//! The patterns of the phases in pictures and pages, for readers who see no colours.

use crate::report::palette::{hex, pattern};
use firstbyte_measure::timeline::Phase;

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
        format!(".fill-{name} {{ fill: url(#pattern-{name}); }}\n")
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
}
