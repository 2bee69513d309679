//! The phases' colours: those of seed 000 (setup yellowish, write bluish green), chosen so that they also differ in
//! lightness, for whoever sees no colours; in the page and in pictures each has a pattern besides.

/// A phase and its colour, as `#RRGGBB`.
pub(crate) struct Phase {
    /// Its name in documents.
    pub(crate) name: &'static str,
    /// Its colour.
    pub(crate) colour: (u8, u8, u8),
    /// Lines that its pattern draws over the colour in a cell of 6 by 6, an SVG path; empty: none.
    pub(crate) pattern: &'static str,
}

/// In the order in which they happen.
pub(crate) const PHASES: [Phase; 4] = [
    Phase { name: "startup", colour: (0x8f, 0xb4, 0xdc), pattern: "M0 6L6 0" },
    Phase { name: "setup", colour: (0xf0, 0xc0, 0x40), pattern: "" },
    Phase { name: "write", colour: (0x00, 0x79, 0x6b), pattern: "M1.5 0V6M4.5 0V6" },
    Phase { name: "teardown", colour: (0xb7, 0x86, 0xb0), pattern: "M0 3H6M3 0V6" },
];

impl Phase {
    /// As SVG writes it.
    pub(crate) fn hex(&self) -> String {
        let (red, green, blue) = self.colour;
        format!("#{red:02X}{green:02X}{blue:02X}")
    }
}

/// The patterns, for the head of an SVG picture: `url(#pattern-setup)` and the like.
pub(crate) fn definitions() -> String {
    let one = |phase: &Phase| {
        let (name, colour, path) = (phase.name, phase.hex(), phase.pattern);
        format!(
            "<pattern id=\"pattern-{name}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
             <rect width=\"6\" height=\"6\" fill=\"{colour}\"/>\
             <path d=\"{path}\" stroke=\"#000000\" stroke-opacity=\"0.45\" fill=\"none\"/></pattern>"
        )
    };
    format!("<defs>{}</defs>", PHASES.iter().map(one).collect::<String>())
}

/// The picture with every surface of a phase's colour filled by its pattern.
pub(crate) fn patterned(svg: &str) -> String {
    let mut svg = svg.replacen('>', &format!(">{}", definitions()), 1);
    let (head, body) = svg.split_at(svg.find("</defs>").unwrap_or_default());
    let mut body = body.to_owned();
    for phase in &PHASES {
        let fill = format!("fill=\"{}\"", phase.hex());
        body = body.replace(&fill, &format!("fill=\"url(#pattern-{})\"", phase.name));
    }
    svg = head.to_owned() + &body;
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phases_colours_differ_in_lightness_too() {
        // relative luminance, as WCAG 2 approximates it
        let lightness = |p: &Phase| {
            let (r, g, b) = p.colour;
            0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)
        };
        let mut all: Vec<f64> = PHASES.iter().map(lightness).collect();
        all.sort_by(f64::total_cmp);
        assert!(all.windows(2).all(|pair| pair[1] - pair[0] > 15.0), "{all:?}");
    }

    #[test]
    fn surfaces_get_patterns_and_the_patterns_keep_their_colours() {
        let svg = patterned("<svg a=\"b\"><rect fill=\"#F0C040\"/><text>#F0C040</text></svg>");
        assert!(svg.contains("<rect fill=\"url(#pattern-setup)\"/>"), "{svg}");
        assert!(svg.contains("<rect width=\"6\" height=\"6\" fill=\"#F0C040\"/>"), "{svg}");
        assert!(svg.ends_with("<text>#F0C040</text></svg>"), "{svg}");
    }
}
