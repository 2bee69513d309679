//! Time by number of lines: as SVG, and with letters for a terminal. Each design has a letter, because nineteen colours are
//! too many to distinguish.

use crate::document::throughput::ThroughputDocument;
use crate::output::visible;
use crate::report::text::terminal::Terminal;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::fmt::Write;
use std::ops::Range;

/// The size of the panel of a sink, in pixels.
const PANEL: (u32, u32) = (900, 460);

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// A panel for each sink with a line for each design. `log`: both axes are logarithmic. `None` if no sink got several
/// numbers of lines.
pub fn svg(document: &ThroughputDocument, log: bool) -> Option<String> {
    let title = |(sink, description): (&str, &str)| visible(&format!("{sink}: {description}"));
    let sinks = document.sinks().into_iter();
    let charts: Vec<Chart> = sinks.filter_map(|sink| Chart::of(document, sink.0, title(sink))).collect();
    let rows = u32::try_from(charts.len()).ok().filter(|rows| *rows > 0)?;
    let mut text = String::new();

    {
        let root = SVGBackend::with_string(&mut text, (PANEL.0, PANEL.1 * rows)).into_drawing_area();
        root.fill(&WHITE).ok()?;
        for (panel, chart) in root.split_evenly((charts.len(), 1)).iter().zip(charts) {
            if log {
                let (x, y) = (chart.x.clone().log_scale(), chart.y.clone().log_scale());
                chart.draw(panel, x, y).ok()?;
            } else {
                chart.draw(panel, chart.x.clone(), 0.0..chart.y.end).ok()?;
            }
        }
        root.present().ok()?;
    }

    Some(text)
}

/// Seconds by millions of lines.
struct Chart {
    title: String,
    x: Range<f64>,
    y: Range<f64>,
    lines: Vec<(String, Vec<(f64, f64)>)>,
}

impl Chart {
    /// `None` for a single number of lines, which makes no line.
    fn of(document: &ThroughputDocument, sink: &str, title: String) -> Option<Chart> {
        let counts = document.counts(sink);
        let [first, .., last] = counts[..] else { return None };
        let line = |design: &str| {
            let results = counts.iter().filter_map(|count| document.find(sink, design, *count));
            let points = results.map(|r| (r.lines.max(1) as f64 / 1e6, r.median_ns / 1e9));
            (visible(design), points.collect::<Vec<_>>())
        };
        let published = |(design, column): (&str, &str)| {
            let points =
                counts.iter().filter_map(|count| Some((*count, document.published(design, *count)?)));
            let points = points.map(|(count, seconds)| (count.max(1) as f64 / 1e6, seconds));
            (visible(&format!("{column} (published)")), points.collect::<Vec<_>>())
        };
        let lines = document.ranking(sink).into_iter().map(line);
        let lines: Vec<_> = lines.chain(document.columns().into_iter().map(published)).collect();
        let seconds = || lines.iter().flat_map(|(_, points)| points.iter().map(|point| point.1));
        let (low, high) = (seconds().min_by(f64::total_cmp)?, seconds().max_by(f64::total_cmp)?);
        let [first, last] = [first, last].map(|count| count.max(1) as f64 / 1e6);
        Some(Chart { title, x: first..last.max(first * 1.1), y: low * 0.8..high * 1.1, lines })
    }

    fn draw<X, Y>(&self, area: &Area, x: X, y: Y) -> Result<(), Box<dyn std::error::Error>>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let mut builder = ChartBuilder::on(area);
        builder.caption(&self.title, ("sans-serif", 18)).margin(12);
        builder.set_label_area_size(LabelAreaPosition::Left, 60);
        builder.set_label_area_size(LabelAreaPosition::Bottom, 40);
        let mut chart = builder.build_cartesian_2d(x, y)?;

        let label = |value: &f64| format!("{}", (value * 1e6).round() / 1e6);
        let mut mesh = chart.configure_mesh();
        mesh.x_desc("million lines").y_desc("seconds").light_line_style(WHITE);
        mesh.x_label_formatter(&label).y_label_formatter(&label).draw()?;

        let middle = Pos::new(HPos::Center, VPos::Center);
        let centred = TextStyle::from(("sans-serif", 12)).pos(middle).color(&BLACK);
        for (index, (design, points)) in self.lines.iter().enumerate() {
            let colour = Palette99::pick(index).to_rgba();
            let series = LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(3);
            let legend = move |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], colour.stroke_width(2));
            chart.draw_series(series)?.label(format!("{}: {design}", letter(index))).legend(legend);
        }

        // above all lines, the fastest design last; neighbours in the ranking are side by side (in pixels)
        for (index, (_, points)) in self.lines.iter().enumerate().rev() {
            let beside = ([-10, 0, 10][index % 3], 0);
            chart.draw_series(points.iter().map(|point| {
                EmptyElement::at(*point)
                    + Circle::new(beside, 5, WHITE.filled())
                    + Text::new(letter(index).to_string(), beside, centred.clone())
            }))?;
        }

        let mut labels = chart.configure_series_labels();
        labels.position(SeriesLabelPosition::UpperLeft).background_style(WHITE.mix(0.8));
        labels.border_style(BLACK.mix(0.3)).draw()?;
        Ok(())
    }
}

/// The mark of the design at this place in the ranking.
fn letter(index: usize) -> char {
    ('a'..='z').chain('A'..='Z').cycle().nth(index).unwrap_or('?')
}

/// The height of the plot in a terminal.
const ROWS: usize = 16;

/// For a terminal, with time on a logarithmic axis; empty for a single number of lines. Where two designs meet, the faster
/// one is shown.
pub(crate) fn plot(document: &ThroughputDocument, sink: &str, terminal: &Terminal) -> String {
    let Some(chart) = Chart::of(document, sink, String::new()) else { return String::new() };

    let width = terminal.width.clamp(40, 100) - 12;
    let (low, high) = (chart.y.start.ln(), chart.y.end.ln());
    let mut grid = vec![vec![' '; width]; ROWS];
    for (index, (_, points)) in chart.lines.iter().enumerate().rev() {
        for (x, y) in points {
            let along = (x - chart.x.start) / (chart.x.end - chart.x.start);
            let up = (y.ln() - low) / (high - low);
            grid[ROWS - 1 - cell(up, ROWS)][cell(along, width)] = letter(index);
        }
    }

    let mut text = String::new();
    for (row, letters) in grid.iter().enumerate() {
        let value = (high - (high - low) * (row as f64 + 0.5) / ROWS as f64).exp();
        let line: String = letters.iter().collect();
        let _ = writeln!(text, "{value:>8.4} │{}", line.trim_end());
    }
    let _ = writeln!(text, "{:>9}└{}", "s ", "─".repeat(width));
    let _ = writeln!(
        text,
        "{:>10}{}M lines{:>pad$}M",
        "",
        chart.x.start,
        chart.x.end,
        pad = width.saturating_sub(10)
    );

    let legend: Vec<String> =
        chart.lines.iter().enumerate().map(|(i, (design, _))| format!("{} {design}", letter(i))).collect();
    text + &terminal.wrap(&legend.join("   "), 0) + "\n"
}

/// The cell for a position from 0 to 1 on an axis.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the axis")]
fn cell(share: f64, cells: usize) -> usize {
    ((share.clamp(0.0, 1.0) * cells as f64) as usize).min(cells - 1)
}
