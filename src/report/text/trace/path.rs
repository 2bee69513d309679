//! Who worked when: the critical path as a list of programs.

use crate::analysis::{Account, Executions, PathPiece, Summary};
use crate::output::visible;
use crate::report::text::terminal::Terminal;
use crate::report::words::count_of;
use firstbyte_measure::units::{Nanos, display_nanos};

/// The maximum number of parts that are listed, and the smallest share of the total that is.
const PARTS: usize = 12;
const NOTEWORTHY: f64 = 0.002;

pub(super) fn path(summary: &Summary, terminal: &Terminal) -> String {
    let parts = parts(summary);
    if parts.len() < 2 {
        return String::new();
    }
    format!(
        "{}\n{}\n",
        terminal.bold("Who worked while the others waited"),
        terminal.wrap(&parts.join(", "), 2)
    )
}

/// Each part with its time, in order; one part or none if there is only one worker.
pub(super) fn parts(summary: &Summary) -> Vec<String> {
    // of one run, as parts of the total that is shown
    let scale = summary.total.middle / summary.median_run.total.as_f64().max(1.0);
    let parts = pieces(&summary.median_run);
    let total: Nanos = parts.iter().map(|(_, time)| *time).sum();
    let mut lengths: Vec<Nanos> = parts.iter().map(|(_, time)| *time).collect();
    lengths.sort_by(|a, b| b.cmp(a));
    let least = lengths.get(PARTS).map_or(0.0, |time| time.as_f64()).max(NOTEWORTHY * total.as_f64());

    let (long, short): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(_, time)| time.as_f64() > least);
    let long = joined(long);
    let part = |(name, time): &(String, Nanos)| {
        format!("{} {}", visible(name), display_nanos(time.as_f64() * scale))
    };
    let mut list: Vec<String> = long.iter().map(part).collect();
    if long.len() > 1 && !short.is_empty() {
        let time: Nanos = short.iter().map(|(_, time)| *time).sum();
        let others = count_of(short.len(), "shorter part", "shorter parts");
        list.push(format!("{others} {}", display_nanos(time.as_f64() * scale)));
    }
    list
}

fn pieces(account: &Account) -> Vec<(String, Nanos)> {
    let executions = account.executions();
    joined(account.path.iter().map(|piece| (actor(&executions, piece), piece.to - piece.from)))
}

/// Neighbours with the same name become one.
fn joined(parts: impl IntoIterator<Item = (String, Nanos)>) -> Vec<(String, Nanos)> {
    let mut all: Vec<(String, Nanos)> = Vec::new();
    for (name, time) in parts {
        match all.last_mut() {
            Some((last, sum)) if *last == name => *sum = *sum + time,
            _ => all.push((name, time)),
        }
    }
    all
}

/// Who does a piece of the path: the program, and its thread if that is not the first one.
fn actor(executions: &Executions, piece: &PathPiece) -> String {
    let program = executions.program(piece.pid, piece.from);
    match executions.thread_order(piece) {
        0 => program,
        order => format!("{program}'s thread {order}"),
    }
}
