//! A comparison of two watches for a terminal.

use super::lists::list;
use super::terminal::{Terminal, columns, fitted, fitted_path};
use crate::document::watch_compare::{WatchChange, WatchComparison, WatchProgramChange};
use crate::output::visible;
use firstbyte_measure::units::Nanos;
use std::fmt::Write;

/// The largest number of programs that are shown.
const MAX_PROGRAMS: usize = 30;

/// The width of a figure, with the space before it.
const FIGURE: usize = 11;

/// Names of programs have at most this much room, and if they can, as much as the longest title has.
const NARROWEST: usize = 7;
const TITLES: usize = 20;
const WIDEST: usize = 44;

pub fn render(comparison: &WatchComparison, terminal: &Terminal) -> String {
    let files = format!("old {}, new {}", comparison.old.display(), comparison.new.display());
    let once = "each file is one watch: its counts are exact, its times vary from run to run".to_owned();
    let parts = [
        terminal.wrap(&visible(&files), 4) + "\n",
        totals(comparison, terminal),
        programs(comparison, terminal),
        list("Notes", comparison.notes.iter().cloned().chain([once]), terminal),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn totals(comparison: &WatchComparison, terminal: &Terminal) -> String {
    let width = room(terminal).min(TITLES);
    let lines = comparison.totals.iter().map(|change| line(title(change), width, change));
    heading("Totals", width, terminal) + &lines.collect::<String>()
}

/// What the figures leave for a name.
fn room(terminal: &Terminal) -> usize {
    terminal.width.saturating_sub(3 * FIGURE).clamp(NARROWEST, WIDEST)
}

fn title(change: &WatchChange) -> &str {
    match change.name.as_str() {
        "startup_ns" => "exec",
        "cpu_ns" => "CPU time",
        "wall_ns" => "wall time",
        "failed" => "failed execs",
        other => other,
    }
}

fn heading(name: &str, width: usize, terminal: &Terminal) -> String {
    let heading = format!("{}{:>FIGURE$}{:>FIGURE$}{:>FIGURE$}", fitted(name, width), "old", "new", "change");
    terminal.bold(&heading) + "\n"
}

fn line(name: &str, width: usize, change: &WatchChange) -> String {
    let figure = |value: u64| if change.is_time() { Nanos(value).to_string() } else { value.to_string() };
    let difference = match change.new.checked_sub(change.old) {
        Some(0) => "=".to_owned(),
        Some(more) => format!("+{}", figure(more)),
        None => format!("-{}", figure(change.old - change.new)),
    };
    let (old, new) = (figure(change.old), figure(change.new));
    let name = fitted_path(name, width);
    format!("{name}{old:>FIGURE$}{new:>FIGURE$}{difference:>FIGURE$}\n")
}

/// The execs of each program whose counts have changed.
fn programs(comparison: &WatchComparison, terminal: &Terminal) -> String {
    let WatchComparison { programs, unchanged, .. } = comparison;
    let same = match unchanged {
        0 => String::new(),
        _ => format!("programs with the same counts: {unchanged}\n"),
    };
    if programs.is_empty() {
        return same;
    }
    let widest = programs.iter().map(|program| columns(&visible(&program.path))).max().unwrap_or(0);
    let room = room(terminal);
    let width = widest.clamp(TITLES.min(room), room);

    let lines = programs.iter().take(MAX_PROGRAMS).map(|program| lines_of(program, width));
    let mut text = heading("Execs", width, terminal) + &lines.collect::<String>();
    if let Some(more @ 1..) = programs.len().checked_sub(MAX_PROGRAMS) {
        let _ = writeln!(text, "… and {more} more: --json has them all");
    }
    text + &same
}

/// A line for the execs, and one for each other count that has changed.
fn lines_of(program: &WatchProgramChange, width: usize) -> String {
    let shown =
        |change: &&WatchChange| change.name == "execs" || !change.is_time() && change.old != change.new;
    let name = |change: &WatchChange| match change.name.as_str() {
        "execs" => program.path.clone(),
        _ => format!("  {}", title(change)),
    };
    program.changes.iter().filter(shown).map(|change| line(&name(change), width, change)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Kind;

    fn change(name: &str, old: u64, new: u64) -> WatchChange {
        WatchChange { name: name.to_owned(), old, new }
    }

    fn comparison(programs: usize) -> WatchComparison {
        let program = |n: usize| WatchProgramChange {
            path: format!("/bin/program-{n}"),
            changes: vec![change("execs", 100, 1000), change("forks", 3, 2), change("cpu_ns", 1, 2)],
        };
        WatchComparison {
            kind: Kind::Compare,
            old: "old.json".into(),
            new: "new.json".into(),
            totals: vec![change("execs", 100, 1000), change("cpu_ns", 2_000_000, 1_000_000)],
            programs: (0..programs).map(program).collect(),
            unchanged: 2,
            notes: Vec::new(),
        }
    }

    #[test]
    fn every_changed_count_has_a_line_with_the_difference() {
        let text = render(&comparison(1), &Terminal::default());
        let words = |start: &str| -> Vec<String> {
            let line = text.lines().find(|line| line.trim_start().starts_with(start)).unwrap();
            line.split_whitespace().map(str::to_owned).collect()
        };
        assert_eq!(words("execs"), ["execs", "100", "1000", "+900"]);
        assert_eq!(words("CPU"), ["CPU", "time", "2.00", "ms", "1.00", "ms", "-1.00", "ms"]);
        assert_eq!(words("/bin/program-0"), ["/bin/program-0", "100", "1000", "+900"]);
        assert_eq!(words("forks"), ["forks", "3", "2", "-1"]);
        assert!(text.contains("programs with the same counts: 2\n"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_long_lists_are_cut() {
        let mut long = comparison(MAX_PROGRAMS + 2);
        long.programs[0].path =
            "/a/path/of/more/columns/than/any/terminal/has/for/a/name/of/a/program".to_owned();
        for width in [40, 60, 80, 200] {
            let text = render(&long, &Terminal { width, ..Terminal::default() });
            assert!(text.contains("… and 2 more: "), "{text}");
            assert!(text.lines().all(|line| columns(line) <= width), "{width}\n{text}");
        }
    }
}
