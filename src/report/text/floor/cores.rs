//! First byte and threads by number of processors, as bars of characters.

use crate::document::floor::{CpuScaling, Point};
use crate::output::visible;
use crate::report::text::floor::figure::duration;
use crate::report::text::terminal::{Terminal, fitted};
use std::fmt::Write;

/// A line for each setting: processors, first byte, whole run and threads.
pub(crate) fn render(sweep: &CpuScaling, terminal: &Terminal) -> String {
    let title = format!("{}: first byte by number of processors", visible(&sweep.name));
    let mut text = terminal.bold(&terminal.wrap(&title, 2)) + "\n";
    let width = terminal.width.saturating_sub(50).clamp(8, 40);
    let heading = format!("{} CPUs   first byte    whole run  threads", fitted("limited by", width));
    text += &(heading + "\n");
    let longest = sweep.points.iter().map(|point| point.first_byte).fold(1.0, f64::max);
    for point in &sweep.points {
        text += &line(point, width, longest);
    }
    text + &verdict(sweep, terminal)
}

fn line(point: &Point, width: usize, longest: f64) -> String {
    let threads = point.threads.map_or("?".to_owned(), |threads| threads.to_string());
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at least 0, at most 10
    let bar = "█".repeat((point.first_byte / longest * 8.0).round() as usize);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{} {:>4} {:>12} {:>12} {threads:>8} {bar}",
        fitted(&point.how, width),
        point.cpus,
        duration(point.first_byte),
        duration(point.total),
    );
    text
}

/// One processor compared with all of them, limited by affinity.
fn verdict(sweep: &CpuScaling, terminal: &Terminal) -> String {
    let affinity: Vec<&Point> = sweep.points.iter().filter(|point| point.how == "affinity").collect();
    let (Some(one), Some(all)) = (affinity.first(), affinity.last()) else { return String::new() };
    if one.cpus == all.cpus {
        return "There is only one processor, so there is nothing to compare.\n".to_owned();
    }
    let ratio = one.first_byte / all.first_byte.max(1.0);
    let apart = one.low > all.high || one.high < all.low;
    let sure = if apart { "" } else { " (can't tell: the 95 % intervals overlap)" };
    let text = format!("On 1 processor it takes {ratio:.2} times as long as on {}{sure}.", all.cpus);
    terminal.wrap(&text, 0) + "\n"
}
