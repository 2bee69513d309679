//! Pictures of programs: their phases as stacked bars, their samples as points.

use super::patterns::patterned;
use crate::document::bench::{Distribution, Measurement};
use crate::report::palette;
use crate::report::phase_row::PhaseRow;
use crate::report::text::terminal::truncated;
use firstbyte_measure::timeline::Phase;
use firstbyte_measure::units::display_nanos;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::collections::HashMap;
use std::fmt::Write;

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

const WIDTH: i32 = 1100;
/// The left and the right end of the plots.
const LEFT: i32 = 210;
const RIGHT: i32 = WIDTH - 110;
const TOP: i32 = 64;
const ROW: i32 = 26;
const NAME: usize = 26;

const POINT: RGBColor = RGBColor(0x2f, 0x6d, 0xb5);
const MIDDLE: RGBColor = RGBColor(0xc2, 0x41, 0x0c);
const GREY: RGBColor = RGBColor(0x77, 0x77, 0x77);
const GRID: RGBColor = RGBColor(0xcc, 0xcc, 0xcc);

/// The label of a program, with the state of its page cache if others have a different one.
pub(crate) fn name(m: &Measurement, all: &[&Measurement]) -> String {
    let several = all.iter().any(|other| other.cache != m.cache);
    match m.cache.filter(|_| several) {
        Some(cache) => format!("{} ({})", m.label(), cache.name()),
        None => m.label().to_owned(),
    }
}

/// The programs that have phases, each with its label.
pub(crate) fn rows(all: &[&Measurement]) -> Vec<PhaseRow> {
    all.iter().filter_map(|m| PhaseRow::measured(m, name(m, all))).collect()
}

/// Stacked bars. The length is the total on a logarithmic scale; within a bar each phase has its share. `None` without
/// programs.
pub(crate) fn phases(bars: &[PhaseRow]) -> Option<String> {
    let scale = Scale::of(bars.iter().map(PhaseRow::end))?;

    let svg = picture(bars.len(), |area| {
        title(area, "Phases, medians")?;
        legend(area)?;
        for (index, row) in bars.iter().enumerate() {
            bar(area, &scale, index, row)?;
            let (end, y) = (scale.x(row.end()), middle(index));
            write(area, &display_nanos(row.total), (end + 8, y), 13, BLACK, HPos::Left)?;
            write(area, &truncated(&row.name, NAME), (LEFT - 10, y), 13, BLACK, HPos::Right)?;
        }
        let note = "The length of a bar is the total, on a logarithmic scale. Within a bar, each phase has its share.";
        write(area, note, (16, bottom(bars.len()) + 14), 11, GREY, HPos::Left)
    })?;
    Some(patterned(&svg))
}

fn colour(phase: Phase) -> RGBColor {
    let (red, green, blue) = palette::colour(phase);
    RGBColor(red, green, blue)
}

fn bar(area: &Area, scale: &Scale, index: usize, row: &PhaseRow) -> Drawn {
    let total = row.end().max(1.0);
    let length = f64::from(scale.x(total) - LEFT).max(8.0);
    let (y, mut begin) = (middle(index), f64::from(LEFT));
    for (phase, ns) in row.phases.iter().filter(|(_, ns)| **ns > 0.0) {
        let end = begin + (ns / total * length).max(2.0);
        let corners = [(whole(begin), y - 8), (whole(end), y + 8)];
        area.draw(&Rectangle::new(corners, colour(phase).filled()))?;
        begin = end;
    }
    Ok(())
}

fn legend(area: &Area) -> Drawn {
    let mut x = LEFT;
    for phase in Phase::ALL {
        area.draw(&Rectangle::new([(x, 38), (x + 22, 52)], colour(phase).filled()))?;
        write(area, phase.name(), (x + 28, 45), 13, BLACK, HPos::Left)?;
        x += 130;
    }
    Ok(())
}

/// Every sample of the first byte (or the total, if there is none) as a point, and the median and its 95 % interval as
/// lines. `None` without samples.
pub(crate) fn distributions(all: &[&Measurement]) -> Option<String> {
    let rows: Vec<(String, &Distribution)> =
        all.iter().filter_map(|m| Some((name(m, all), m.ranked()?))).collect();
    samples(&rows)
}

/// The same of any distributions, each with its name.
pub(crate) fn samples(rows: &[(String, &Distribution)]) -> Option<String> {
    let scale = Scale::of(rows.iter().flat_map(|(_, d)| [d.min, d.max]))?;
    let svg = picture(rows.len(), |area| {
        title(area, "First byte, every sample (or the total, if a program prints nothing)")?;
        axis(area, &scale, bottom(rows.len()))?;
        for (index, (name, distribution)) in rows.iter().enumerate() {
            write(area, &truncated(name, NAME), (LEFT - 10, middle(index)), 13, BLACK, HPos::Right)?;
            points(area, &scale, index, distribution)?;
            let median = display_nanos(distribution.median);
            write(area, &median, (RIGHT + 12, middle(index)), 13, BLACK, HPos::Left)?;
        }
        let note = "Each point is a sample. The line is the median, and the bar below it is its 95 % interval. \
                    Logarithmic scale.";
        write(area, note, (16, bottom(rows.len()) + 34), 11, GREY, HPos::Left)
    })?;
    Some(joined(&svg))
}

/// The picture with neighbouring points as one element. A browser needs a second for a hundred thousand elements.
fn joined(svg: &str) -> String {
    let (mut text, mut points) = (String::with_capacity(svg.len()), String::new());
    for line in svg.split_inclusive('\n') {
        if let Some((x, y)) = centre(line) {
            let _ = write!(points, "M{x} {y}h0");
            continue;
        }
        if !points.is_empty() {
            let style =
                "stroke=\"#2F6DB5\" stroke-opacity=\"0.75\" stroke-width=\"2\" stroke-linecap=\"round\"";
            let _ = writeln!(text, "<path d=\"{points}\" {style} fill=\"none\"/>");
            points.clear();
        }
        text += line;
    }
    text
}

/// Where the circle of this line is.
fn centre(line: &str) -> Option<(&str, &str)> {
    let (x, rest) = line.strip_prefix("<circle cx=\"")?.split_once("\" cy=\"")?;
    Some((x, rest.split_once('"')?.0))
}

/// How many points may be side by side.
const LAYERS: i32 = 9;

fn points(area: &Area, scale: &Scale, index: usize, d: &Distribution) -> Drawn {
    let (y, mut taken) = (middle(index), HashMap::<i32, i32>::new());
    for ns in &d.samples {
        // a point is two pixels wide
        let x = scale.x(*ns as f64) / 2 * 2;
        let layer = taken.entry(x).or_insert(0);
        // alternately above and below; beyond the last layer a point would hide another one
        let up = if *layer % 2 == 0 { *layer / 2 } else { -(*layer + 1) / 2 };
        if *layer < LAYERS {
            area.draw(&Circle::new((x, y + up * 2), 1, POINT.mix(0.75).filled()))?;
        }
        *layer += 1;
    }
    let (low, high, middle) = (scale.x(d.low), scale.x(d.high), scale.x(d.median));
    area.draw(&Rectangle::new([(low, y + 10), (high.max(low + 1), y + 12)], MIDDLE.filled()))?;
    Ok(area.draw(&PathElement::new(vec![(middle, y - 11), (middle, y + 12)], MIDDLE.stroke_width(2)))?)
}

fn axis(area: &Area, scale: &Scale, bottom: i32) -> Drawn {
    for tick in scale.ticks() {
        let x = scale.x(tick);
        area.draw(&PathElement::new(vec![(x, TOP - 8), (x, bottom)], GRID.stroke_width(1)))?;
        write(area, &display_nanos(tick), (x, bottom + 12), 11, GREY, HPos::Center)?;
    }
    Ok(())
}

/// Durations on a logarithmic axis.
struct Scale {
    from: f64,
    to: f64,
}

impl Scale {
    /// From below the shortest to the longest; `None` without durations.
    fn of(all: impl Iterator<Item = f64>) -> Option<Scale> {
        let (from, to) =
            all.fold((f64::INFINITY, 0.0), |(low, high), ns| (f64::min(low, ns), f64::max(high, ns)));
        let from = from.max(1.0) * 0.8;
        from.is_finite().then_some(Scale { from, to: to.max(from * 2.0) })
    }

    fn x(&self, ns: f64) -> i32 {
        let share = (ns.max(self.from) / self.from).ln() / (self.to / self.from).ln();
        LEFT + whole(share.clamp(0.0, 1.0) * f64::from(RIGHT - LEFT))
    }

    /// Powers of ten; also 2 and 5 times them, if the range is small.
    fn ticks(&self) -> Vec<f64> {
        let steps: &[f64] = if self.to / self.from > 2e3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let decades = (0..16).map(|power| 10_f64.powi(power));
        let all = decades.flat_map(|decade| steps.iter().map(move |step| step * decade));
        all.filter(|tick| *tick >= self.from && *tick <= self.to).collect()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "pixels")]
fn whole(value: f64) -> i32 {
    value.round() as i32
}

fn middle(index: usize) -> i32 {
    TOP + i32::try_from(index).unwrap_or(0) * ROW + ROW / 2
}

fn bottom(rows: usize) -> i32 {
    middle(rows) - ROW / 2 + 4
}

fn picture(rows: usize, draw: impl Fn(&Area) -> Drawn) -> Option<String> {
    let height = u32::try_from(bottom(rows) + 52).ok()?;
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH.unsigned_abs(), height)).into_drawing_area();
        area.fill(&WHITE).ok()?;
        draw(&area).ok()?;
        area.present().ok()?;
    }
    Some(text)
}

fn title(area: &Area, text: &str) -> Drawn {
    write(area, text, (16, 20), 18, BLACK, HPos::Left)
}

fn write(area: &Area, text: &str, at: (i32, i32), size: i32, colour: RGBColor, anchor: HPos) -> Drawn {
    let style = ("sans-serif", size).into_font().color(&colour).pos(Pos::new(anchor, VPos::Center));
    Ok(area.draw(&Text::new(text.to_owned(), at, style))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn measurement(name: &str, samples: &[u64]) -> Measurement {
        let text = r#"{"command": "x", "mean": 1, "median": 1, "user": 0, "system": 0, "min": 1, "max": 1}"#;
        let mut m: Measurement = serde_json::from_str(text).unwrap();
        m.name = Some(name.to_owned());
        let all = || Distribution::of(samples.to_vec());
        (m.phases.each[Phase::Startup], m.phases.each[Phase::Teardown], m.phases.total) =
            (all(), all(), all());
        m
    }

    #[test]
    fn every_sample_has_a_point_and_names_stay_text() {
        let all = [measurement("<script>&\"'", &[1000, 1000, 2000, 500_000]), measurement("b\nc", &[7])];
        let all: Vec<&Measurement> = all.iter().collect();
        let svg = distributions(&all).unwrap();
        assert_eq!((svg.matches("h0").count(), svg.matches("<circle").count()), (5, 0));
        assert!(!svg.contains("<script"), "{svg}");
        let svg = phases(&rows(&all)).unwrap();
        assert!(!svg.contains("<script") && svg.contains("url(#pattern-startup)"), "{svg}");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let document = Document::new(crate::document::bench::Tool::default(), serde_json::Value::Null);
        let all: Vec<&Measurement> = document.results.iter().collect();
        assert!(distributions(&all).is_none() && phases(&rows(&all)).is_none());
    }
}
