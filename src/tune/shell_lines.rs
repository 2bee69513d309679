//! Which lines of a shell's start-up files cost most. Pure.

use crate::analysis::loads::{Load, ShellCommand};
use crate::analysis::runs::AskedRuntime;
use firstbyte_measure::units::Nanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A line of a start-up file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellLine {
    pub file: String,
    /// From 1.
    pub line: usize,
    pub time: Nanos,
}

/// The files of a user that shells read when they start, by their names.
const FILES: [&str; 6] = [".bashrc", ".zshenv", ".zprofile", ".zshrc", ".zlogin", ".profile"];
/// The most lines that are tried, and the least part of the total that each must have.
const LINES: usize = 3;
const PART: u64 = 33;

/// What runs in functions and in other files belongs to the line that called it.
pub(super) fn expensive_lines(commands: &[ShellCommand], total: Nanos) -> Vec<ShellLine> {
    let mut times: BTreeMap<&str, Nanos> = BTreeMap::new();
    let mut place = None;
    for command in commands {
        place = Some(&*command.place).filter(|place| is_of_start_file(place)).or(place);
        let time = place.map(|place| times.entry(place).or_default());
        if let (Some(time), Some(took)) = (time, command.time) {
            *time = *time + took;
        }
    }

    let lines = times.into_iter().filter(|(_, time)| time.0.saturating_mul(PART) >= total.0);
    let mut lines: Vec<ShellLine> = lines.filter_map(|(place, time)| line(place, time)).collect();
    lines.sort_by_key(|line| Reverse(line.time));
    lines.truncate(LINES);
    lines
}

/// The lines of a file in which the longest commands stand, where a shell reports no places: an interactive bash of root.
pub(super) fn lines_of_commands(loads: &[Load], file: &str, text: &str, total: Nanos) -> Vec<ShellLine> {
    let commands = loads.iter().filter(|load| load.runtime == AskedRuntime::Bash.name());
    let expensive = commands.filter(|load| load.total.0.saturating_mul(PART) >= total.0);
    let line = |load: &Load| {
        let command = load.unit.trim_end_matches('…');
        let is_it = |(_, line): &(usize, &str)| !line.starts_with('#') && line.contains(command);
        let mut found = text.lines().enumerate().filter(is_it);
        let (place, _) = found.next().filter(|_| found.next().is_none())?;
        Some(ShellLine { file: file.to_owned(), line: place + 1, time: load.total })
    };
    let mut lines: Vec<ShellLine> = expensive.filter_map(line).collect();
    lines.dedup_by_key(|line| line.line);
    lines.truncate(LINES);
    lines
}

fn is_of_start_file(place: &str) -> bool {
    let name = place.rsplit_once(':').and_then(|(file, _)| file.rsplit('/').next());
    name.is_some_and(|name| FILES.contains(&name))
}

fn line(place: &str, time: Nanos) -> Option<ShellLine> {
    let (file, line) = place.rsplit_once(':')?;
    Some(ShellLine { file: file.to_owned(), line: line.parse().ok().filter(|line| *line > 0)?, time })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_other_files_belong_to_the_line_that_called_them() {
        let command = |place: &str, time| ShellCommand {
            program: "x".to_owned(),
            place: place.to_owned(),
            time: Some(Nanos(time)),
        };
        let commands = [
            command("/etc/zsh/zshrc:1", 900),
            command("/h/.zshrc:2", 10),
            command("/usr/share/zsh/compinit:7", 290),
            command("/h/.zshrc:3", 1),
            command("/h/.zshrc:2", 100),
            command("/h/.zshrc:9", 500),
        ];
        let lines = expensive_lines(&commands, Nanos(1900));
        let lines: Vec<(usize, u64)> = lines.iter().map(|line| (line.line, line.time.0)).collect();
        assert_eq!(lines, [(9, 500), (2, 400)]);
    }

    #[test]
    fn a_command_without_a_place_is_found_by_its_text_if_only_one_line_has_it() {
        let load = |unit: &str, time| Load {
            runtime: AskedRuntime::Bash.name(),
            unit: unit.to_owned(),
            file: None,
            self_time: Nanos(time),
            total: Nanos(time),
            depth: 0,
        };
        let loads = [load("tool init", 90), load("twice", 80), load("elsewhere", 70), load("short", 1)];
        let text = "# tool init\neval \"$(tool init)\"\ntwice\ntwice\nshort\n";
        let lines = lines_of_commands(&loads, "/h/.bashrc", text, Nanos(100));
        let lines: Vec<(usize, u64)> = lines.iter().map(|line| (line.line, line.time.0)).collect();
        assert_eq!(lines, [(2, 90)]);
    }
}
