//! The search for a commit, for a terminal.

use super::check::{CAME, changes};
use super::terminal::Terminal;
use crate::bisect::{Boundary, Commit, Quantity, Side};
use crate::document::diff::DiffChange;
use crate::output::visible;

/// What the search goes by: one line.
pub fn boundary(boundary: &Boundary) -> String {
    let (name, [good, bad]) = (boundary.quantity.name(), boundary.ends);
    match boundary.quantity {
        Quantity::Time(_) => format!("by {name}: the bad commit takes {bad:.3} times as long"),
        Quantity::Count(_) => format!("by {name}: {good} in the good commit, {bad} in the bad one"),
    }
}

/// A commit that was measured: one line. `None`: it does not build or does not run, for this reason.
pub fn step(number: usize, commit: &Commit, side: Result<Side, &str>) -> String {
    let side = match side {
        Ok(Side::Good) => "good".to_owned(),
        Ok(Side::Bad) => "bad".to_owned(),
        Ok(Side::Open) => "skipped: it lies between good and bad".to_owned(),
        Err(reason) => format!("skipped: {reason}"),
    };
    visible(&format!("{number:>3}. {} {}: {side}", commit.short, commit.subject))
}

/// The commit that was found.
pub fn first_bad(commit: &Commit, terminal: &Terminal) -> String {
    let Commit { short, author, date, subject, .. } = commit;
    let title = format!("{short} is the first bad commit");
    format!("{}\n{}\n{}, {date}\n", terminal.bold(&title), visible(subject), visible(author))
}

/// The commits of which one is the first bad one.
pub fn one_of(commits: &[Commit], terminal: &Terminal) -> String {
    let lines = commits.iter().map(|commit| format!("  {} {}\n", commit.short, visible(&commit.subject)));
    let title = terminal.bold("The first bad commit is one of these. The others could not be judged:");
    format!("{title}\n{}", lines.collect::<String>())
}

/// What the commit brought: programs, files, modules and steps that the start before did not have.
pub fn brought(came: &[DiffChange], terminal: &Terminal) -> String {
    if came.is_empty() {
        return "  it brought nothing new: what was there takes longer\n".to_owned();
    }
    let others = came.len().saturating_sub(CAME);
    let others = if others > 0 { format!("    {others} more\n") } else { String::new() };
    format!("  it brought:\n{}{others}", changes(came, terminal))
}
