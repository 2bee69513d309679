//! The waterfall as a picture: a bar for each layer on a logarithmic scale, and what each step saves.

use crate::document::floor::Waterfall;
use crate::output::visible;
use crate::report::text::floor::figure::duration;
use crate::report::text::floor::waterfall::{saved, share};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

const WIDTH: i32 = 1100;
const ROW: i32 = 44;
const HEAD: i32 = 56;
/// The beginning of the bars, and the length of the longest.
const LEFT: i32 = 420;
const MAX_BAR_WIDTH: f64 = 560.0;

const BAR: RGBColor = RGBColor(0x33, 0x6b, 0x9e);
const FLOOR: RGBColor = RGBColor(0x2e, 0x8b, 0x57);
const GREY: RGBColor = RGBColor(0x77, 0x77, 0x77);

/// `None` without layers.
pub fn svg(waterfall: &Waterfall) -> Option<String> {
    let rows = i32::try_from(waterfall.layers.len()).ok().filter(|rows| *rows > 0)?;
    let mut text = String::new();
    {
        let size = (WIDTH.unsigned_abs(), (HEAD + rows * ROW + 24).unsigned_abs());
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        draw(waterfall, &area).ok()?;
        area.present().ok()?;
    }
    Some(text)
}

fn draw(waterfall: &Waterfall, area: &Area) -> Result<(), Box<dyn std::error::Error>> {
    area.fill(&WHITE)?;
    write(area, &format!("Waterfall: {}", visible(&waterfall.title)), (16, 24), 18, BLACK, HPos::Left)?;

    let last = waterfall.layers.len() - 1;
    for (index, layer) in waterfall.layers.iter().enumerate() {
        let top = HEAD + i32::try_from(index)? * ROW;
        let end = LEFT + length(waterfall, layer.ns.as_f64());
        let colour = if index == last { FLOOR } else { BAR };
        area.draw(&Rectangle::new([(LEFT, top), (end, top + 18)], colour.filled()))?;
        write(area, &visible(&layer.name), (LEFT - 10, top + 9), 13, BLACK, HPos::Right)?;
        write(area, &duration(layer.ns.as_f64()), (end + 8, top + 9), 13, BLACK, HPos::Left)?;
        if let Some(step) = waterfall.steps.get(index) {
            let unsure = if step.unsure { ", within the noise" } else { "" };
            let text = format!("− {}: {} ({}{unsure})", visible(&step.removes), saved(step), share(step));
            write(area, &text, (LEFT, top + 31), 11, GREY, HPos::Left)?;
        }
    }

    let bottom = HEAD + i32::try_from(last + 1)? * ROW;
    let note = format!(
        "The steps and the floor sum to {} ns of {} ns. Logarithmic scale.",
        waterfall.sum_ns.0, waterfall.top_ns.0
    );
    write(area, &note, (16, bottom + 4), 11, GREY, HPos::Left)
}

fn write(
    area: &Area,
    text: &str,
    at: (i32, i32),
    size: i32,
    colour: RGBColor,
    anchor: HPos,
) -> Result<(), Box<dyn std::error::Error>> {
    let style = ("sans-serif", size).into_font().color(&colour).pos(Pos::new(anchor, VPos::Center));
    Ok(area.draw(&Text::new(text.to_owned(), at, style))?)
}

/// The scale begins at a third of the lowest layer, so that layer has a bar, too.
#[allow(clippy::cast_possible_truncation)] // at most the longest
fn length(waterfall: &Waterfall, ns: f64) -> i32 {
    let lowest = waterfall.layers.iter().map(|l| l.ns.as_f64()).fold(f64::INFINITY, f64::min).max(1.0) / 3.0;
    let highest = waterfall.layers.iter().map(|l| l.ns.as_f64()).fold(lowest * 2.0, f64::max);
    ((ns.max(lowest) / lowest).ln() / (highest / lowest).ln() * MAX_BAR_WIDTH).round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::floor::Layer;

    #[test]
    fn every_layer_has_a_bar_and_hostile_names_stay_text() {
        let layer = |name: &str, ns: f64| Layer {
            name: name.to_owned(),
            removes: "</text><script>".to_owned(),
            samples: vec![ns; 5],
        };
        let layers = [layer("<script>alert(1)</script>", 1e6), layer("a & b", 1e3), layer("floor", 100.0)];
        let svg = svg(&Waterfall::of("of \"x\" & <y>", &layers).unwrap()).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(!svg.contains("<script>"), "{svg}");
        // the background and three bars
        assert_eq!(svg.matches("<rect").count(), 4);
    }
}
