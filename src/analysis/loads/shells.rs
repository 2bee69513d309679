//! What shells report: the time of each command (bash), of each rc file and of each function (zsh).

use super::{Load, decimal};
use crate::analysis::runs::AskedRuntime;
use firstbyte_measure::units::Nanos;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Between these, bash writes the file of a command. See [`crate::tracing::runtimes`].
const MARK: char = '\u{1}';

/// How many of the longest commands are listed. A long script has thousands.
const MAX_COMMANDS: usize = 40;
/// How many characters of a command are kept as its name.
const MAX_NAME_CHARS: usize = 60;

/// A command in a file of a shell, by the shell's own report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommand {
    /// The name of the program, if the command executes one.
    pub program: String,
    /// The file and the line: `/root/.bashrc:3`.
    pub place: String,
    /// How long it took, in the run in which the shell reports it; `None` of the last one.
    pub time: Option<Nanos>,
}

/// A line of a shell's report: the command of a process began.
struct Begun<'t, T> {
    at: T,
    process: Option<u32>,
    place: Option<&'t str>,
    command: &'t str,
}

/// The lines of all processes. Where several of them report at once, those of the first one: the next line is not always of the
/// same process, and would end its command.
fn of_one_at_a_time<'t, T>(lines: impl Iterator<Item = Begun<'t, T>>) -> Vec<Begun<'t, T>> {
    let mut lines: Vec<Begun<T>> = lines.collect();
    let first = lines.iter().find_map(|line| line.process);
    if report_at_once(lines.iter().filter_map(|line| line.process)) {
        lines.retain(|line| line.process.is_none() || line.process == first);
    }
    lines
}

/// Whether a process goes on after the one around it did: that one has not waited for it.
fn report_at_once(processes: impl Iterator<Item = u32>) -> bool {
    let (mut running, mut ended): (Vec<u32>, HashSet<u32>) = (Vec::new(), HashSet::new());
    for process in processes {
        match running.iter().rposition(|other| *other == process) {
            Some(at) => ended.extend(running.drain(at + 1..)),
            None if ended.contains(&process) => return true,
            None => running.push(process),
        }
    }
    false
}

/// The commands of bash that are in files.
pub(super) fn bash_commands(text: &str) -> Vec<ShellCommand> {
    let lines = of_one_at_a_time(text.lines().filter_map(bash_line));
    let next = lines.iter().skip(1).map(|line| Some(line.at)).chain([None]);
    let command = |(line, next): (&Begun<u64>, Option<u64>)| {
        let time = next.map(|next| Nanos(next.saturating_sub(line.at)));
        Some(ShellCommand { program: program(line.command)?, place: line.place?.to_owned(), time })
    };
    lines.iter().zip(next).filter_map(command).collect()
}

/// Those of zsh, each until the next one; also the programs that are connected by pipes.
pub(super) fn zsh_commands(text: &str) -> Vec<ShellCommand> {
    let lines = of_one_at_a_time(text.lines().filter_map(zsh_line));
    let parts = lines.windows(2).flat_map(|pair| {
        let (line, to) = (&pair[0], pair[1].at);
        let time = Nanos::rounded(((to - line.at) * 1e9).max(0.0));
        // within quotes, a bar connects nothing
        let most = if line.command.contains(['"', '\'']) { 1 } else { usize::MAX };
        line.command.split(" | ").take(most).map(move |part| (line.place, part, time))
    });
    let command = |(place, part, time): (Option<&str>, &str, Nanos)| {
        Some(ShellCommand { program: program(part)?, place: place?.to_owned(), time: Some(time) })
    };
    parts.filter_map(command).collect()
}

/// `at<tab>SECONDS<tab>PROCESS<tab>FILE:LINE<tab>COMMAND`: when it began.
fn zsh_line(line: &str) -> Option<Begun<'_, f64>> {
    let mut fields = line.strip_prefix("at\t")?.splitn(4, '\t');
    let (at, process) = (decimal(fields.next()?)?, fields.next()?.parse().ok());
    Some(Begun { at, process, place: Some(fields.next()?), command: fields.next()? })
}

/// The name of the program that a simple command executes.
fn program(command: &str) -> Option<String> {
    const BEFORE: [&str; 5] = ["builtin", "command", "exec", "nocorrect", "noglob"];
    let word = command.split_whitespace().find(|word| !BEFORE.contains(word))?;
    let name = word.rsplit('/').next().filter(|name| !name.is_empty())?;
    Some(name.to_owned())
}

/// The commands of one line of a file: a loop executes them again and again, with other arguments each time.
#[derive(Default)]
struct CommandLine {
    time: Nanos,
    /// The time of each command, and how often it was executed.
    commands: BTreeMap<String, (Nanos, usize)>,
}

impl CommandLine {
    fn add(&mut self, command: &str, time: Nanos) {
        self.time = self.time + time;
        let entry = self.commands.entry(shortened(command)).or_default();
        *entry = (entry.0 + time, entry.1 + 1);
    }

    /// The command that has most of the time; if none has, the one that is executed most often, with a sign that there are
    /// others.
    fn name(&self) -> String {
        let longest = self.commands.iter().max_by_key(|(_, (time, _))| *time);
        let most = longest.filter(|(_, (time, _))| time.0.saturating_mul(2) >= self.time.0);
        if let Some((command, _)) = most {
            return command.clone();
        }
        let most_often = self.commands.iter().max_by_key(|(_, (time, times))| (*times, *time));
        most_often.map_or(String::new(), |(command, _)| format!("{}; …", command.trim_end_matches('…')))
    }
}

/// A command lasts until the next line of the report. Those of one line of a file are one load; one that is in no file and
/// executed several times is one, too.
pub(super) fn bash(text: &str) -> Vec<Load> {
    let lines = of_one_at_a_time(text.lines().filter_map(bash_line));
    let mut commands: BTreeMap<(Option<&str>, &str), CommandLine> = BTreeMap::new();
    // our own hook is a command, too
    let is_own = |command: &str| command.starts_with("PS4=") && command.contains("$BASH_SOURCE");
    for pair in lines.windows(2) {
        let [line, next] = pair else { continue };
        if !is_own(line.command) {
            let alone = if line.place.is_some() { "" } else { line.command };
            let time = Nanos(next.at.saturating_sub(line.at));
            commands.entry((line.place, alone)).or_default().add(line.command, time);
        }
    }
    let mut commands: Vec<(Option<&str>, CommandLine)> =
        commands.into_iter().map(|((place, _), line)| (place, line)).collect();
    commands.sort_by_key(|(_, line)| Reverse(line.time));
    let load = |(place, line): (Option<&str>, CommandLine)| {
        let (unit, file, time) = (line.name(), place.map(Arc::from), line.time);
        Load { runtime: AskedRuntime::Bash.name(), unit, file, self_time: time, total: time, depth: 0 }
    };
    commands.into_iter().take(MAX_COMMANDS).map(load).collect()
}

/// `123<tab>++ id -u`: when it arrived, and a plus sign for each level; between two marks the process, the file and the line.
/// Further lines of a command have no plus sign. A command that is in no file has a line number alone.
fn bash_line(line: &str) -> Option<Begun<'_, u64>> {
    let (at, line) = line.split_once('\t')?;
    let rest = line.trim_start_matches('+');
    if rest.len() == line.len() {
        return None;
    }
    let marked = rest.strip_prefix(MARK).and_then(|rest| rest.split_once(MARK));
    let (process, place) = marked.and_then(|(at, _)| at.split_once(':')).unzip();
    let is_in_file = |place: &&str| !place.starts_with(':') && !place.starts_with("environment:");
    Some(Begun {
        at: at.parse().ok()?,
        process: process.and_then(|id| id.parse().ok()),
        place: place.filter(is_in_file),
        command: marked.map_or(rest, |(_, command)| command).trim(),
    })
}

fn shortened(command: &str) -> String {
    let end = command.char_indices().nth(MAX_NAME_CHARS).map_or(command.len(), |(end, _)| end);
    if end < command.len() { format!("{}…", &command[..end]) } else { command.to_owned() }
}

/// The rc files, each with the functions that ran in it.
pub(super) fn zsh(text: &str) -> Vec<Load> {
    let mut loads: Vec<Load> = Vec::new();
    for (line, in_table) in with_tables(text) {
        if let Some(rc) = zsh_file(line) {
            loads.push(rc);
        } else if let Some(function) = zsh_function(line).filter(|_| in_table && !loads.is_empty()) {
            let rc = loads.iter_mut().rev().find(|load| load.depth == 0);
            if let Some(rc) = rc {
                rc.self_time = Nanos(rc.self_time.0.saturating_sub(function.self_time.0));
            }
            loads.push(function);
        }
    }
    loads
}

/// Each line, and whether it is in a table of zprof. Below the table, zprof repeats each function with its callers.
fn with_tables(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.lines().scan(false, |in_table, line| {
        *in_table = line.starts_with("num ") || *in_table && !line.is_empty();
        Some((line, *in_table))
    })
}

/// The number of lines that begin like a file or a function, and are none.
pub(super) fn zsh_misread(text: &str) -> usize {
    let is_misread = |(line, in_table): &(&str, bool)| {
        let is_function = *in_table && line.trim_start().starts_with(|c: char| c.is_ascii_digit());
        line.starts_with("rc\t") && zsh_file(line).is_none() || is_function && zsh_function(line).is_none()
    };
    with_tables(text).filter(is_misread).count()
}

/// `rc<tab>FROM<tab>TO<tab>PATH`, in seconds.
fn zsh_file(line: &str) -> Option<Load> {
    let mut fields = line.strip_prefix("rc\t")?.splitn(3, '\t');
    let mut seconds = || decimal(fields.next()?);
    let (from, to) = (seconds()?, seconds()?);
    let time = Nanos::rounded((to - from) * 1e9);
    let path = fields.next()?;
    let unit = path.rsplit('/').next().unwrap_or_default().to_owned();
    Some(Load {
        runtime: AskedRuntime::Zsh.name(),
        unit,
        file: Some(path.into()),
        self_time: time,
        total: time,
        depth: 0,
    })
}

/// A line of the table of zprof: ` 1)    1    53.20    53.20   90.00%     20.10    20.10   34.00%  compinit`, in
/// milliseconds: with what it calls, then by itself.
fn zsh_function(line: &str) -> Option<Load> {
    let mut rest = line;
    let mut field = || {
        let (field, after) = rest.trim_start().split_once(char::is_whitespace)?;
        rest = after;
        Some(field)
    };
    let fields: Vec<&str> = (0..8).map_while(|_| field()).collect();
    let [number, _, total, _, _, self_time, ..] = fields[..] else { return None };
    // an anonymous function has a name of two words: `(anon) [FILE:LINE]`
    let unit = rest.trim();
    number.strip_suffix(')')?.parse::<u32>().ok().filter(|_| fields.len() == 8 && !unit.is_empty())?;
    let [self_time, total] =
        [self_time, total].map(|time| decimal(time).map(|time| Nanos::rounded(time * 1e6)));
    let (self_time, total) = (self_time?, total?);
    Some(Load {
        runtime: AskedRuntime::Zsh.name(),
        unit: unit.to_owned(),
        file: None,
        self_time,
        total,
        depth: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(loads: &[Load]) -> Vec<(&str, Option<&str>, u64, u64, u32)> {
        loads.iter().map(|it| (&*it.unit, it.file.as_deref(), it.self_time.0, it.total.0, it.depth)).collect()
    }

    #[test]
    fn a_command_of_bash_lasts_until_the_next_one() {
        let report = "\
100\t++ id -u
400\t+ '[' 0 -eq 0 ']'
410\t+ echo 'two
415\tlines'
420\t++ id -u
430\t+ exit
";
        let expected = [
            ("id -u", None, 310, 310, 0),
            ("'[' 0 -eq 0 ']'", None, 10, 10, 0),
            ("echo 'two", None, 10, 10, 0),
        ];
        assert_eq!(shown(&bash(report)), expected);
    }

    #[test]
    fn bash_names_the_file_of_a_command_where_it_may() {
        let report = "1\t+\u{1}8:/root/.bashrc:7\u{1} a b\n5\t+\u{1}8::1\u{1} c\n9\t+\u{1}8::1\u{1} exit\n";
        assert_eq!(shown(&bash(report)), [("c", None, 4, 4, 0), ("a b", Some("/root/.bashrc:7"), 4, 4, 0)]);
    }

    #[test]
    fn a_line_that_a_loop_executes_with_other_arguments_each_time_is_one_load() {
        let line = |at: u64, place: &str, command: &str| format!("{at}\t+\u{1}8:{place}\u{1} {command}\n");
        let turn =
            |n: u64| line(n * 10, "/rc:1", "for i in 1 2 3") + &line(n * 10 + 4, "/rc:1", &format!("x={n}"));
        let rest = [line(30, "/rc:2", "sleep 1"), line(90, "/rc:2", "z=1"), line(91, "", "exit")].concat();
        let report = (0..3).map(turn).collect::<String>() + &rest;
        let expected =
            [("sleep 1", Some("/rc:2"), 61, 61, 0), ("for i in 1 2 3; …", Some("/rc:1"), 30, 30, 0)];
        assert_eq!(shown(&bash(&report)), expected);
    }

    #[test]
    fn commands_have_the_names_of_their_programs_and_their_places() {
        let named = |commands: Vec<ShellCommand>| {
            let time = |it: &ShellCommand| it.time.map_or("?".to_owned(), |time| time.0.to_string());
            let each = commands.iter().map(|it| format!("{} {} {}", it.program, it.place, time(it)));
            each.collect::<Vec<String>>()
        };
        let report = "1\t+\u{1}8:/a:1\u{1} /bin/sleep 1\n5\t+\u{1}8:b:2\u{1} command id\n9\t+\u{1}8::1\u{1} x\n10\t+\u{1}8:/a:9\u{1} y\n";
        assert_eq!(named(bash_commands(report)), ["sleep /a:1 4", "id b:2 4", "y /a:9 ?"]);
        let report = "at\t1,5\t8\t/a:3\tprint a | cat\nat\t3.5\t8\t/a:4\techo ' | id'\nat\t3.75\t8\t/a:5\tx\nrc\t1\t2\t/a\n";
        let expected = ["print /a:3 2000000000", "cat /a:3 2000000000", "echo /a:4 250000000"];
        assert_eq!(named(zsh_commands(report)), expected);
    }

    #[test]
    fn a_process_in_the_background_ends_no_command() {
        let line = |at: u64, process: u32, command: &str| {
            format!("{at}\t+\u{1}{process}:/{command}:1\u{1} {command}\n")
        };
        let times = |lines: &[(u64, u32, &str)]| {
            let report: String =
                lines.iter().map(|(at, process, command)| line(*at, *process, command)).collect();
            bash(&report).into_iter().map(|load| (load.unit, load.total.0)).collect::<Vec<_>>()
        };
        let owned = |all: &[(&str, u64)]| {
            all.iter().map(|(unit, time)| ((*unit).to_owned(), *time)).collect::<Vec<_>>()
        };

        // a substitution, for which the shell waits
        let nested = times(&[(0, 1, "x"), (10, 2, "id"), (50, 1, "y"), (60, 3, "z"), (70, 1, "end")]);
        assert_eq!(nested, owned(&[("id", 40), ("x", 10), ("y", 10), ("z", 10)]));
        let at_once = times(&[(0, 1, "x"), (10, 2, "b"), (50, 1, "y"), (60, 2, "c"), (70, 1, "end")]);
        assert_eq!(at_once, owned(&[("x", 50), ("y", 20)]));
    }

    #[test]
    fn the_hook_that_makes_bash_name_its_files_is_no_command_of_the_program() {
        let report =
            "1\t+ PS4=$'+\\001$BASHPID:$BASH_SOURCE:$LINENO\\001 '\n5\t+\u{1}8:/a:1\u{1} b\n9\t+ c\n";
        assert_eq!(shown(&bash(report)), [("b", Some("/a:1"), 4, 4, 0)]);
    }

    #[test]
    fn a_decimal_comma_is_a_decimal_point_and_other_numbers_are_noted() {
        let comma = "rc\t100,5\t100,75\t/root/.zshrc\nnum  calls\n 1)    1          53,20    53,20   90,00%     20,10    20,10   34,00%  f\n";
        let loads = zsh(comma);
        let shown: Vec<_> = loads.iter().map(|it| (&*it.unit, it.self_time.0)).collect();
        assert_eq!(shown, [(".zshrc", 229_900_000), ("f", 20_100_000)]);
        let misread = ["", "rc\tx\t1\t/root/.zshrc\n"].map(|more| zsh_misread(&format!("{more}{comma}")));
        assert_eq!(misread, [0, 1]);
        assert_eq!(zsh_misread(&comma.replace("53,20", "x")), 1);
    }

    #[test]
    fn a_function_of_zsh_without_a_name_has_its_place_and_callers_are_no_rows() {
        let report = "\
rc\t100.5\t100.75\t/root/.zshrc
num  calls                time                       self            name
-----------------------------------------------------------------------------------
 1)    1          11.85    11.85   99.76%     11.85    11.85   99.76%  (anon) [z.zsh:2]

-----------------------------------------------------------------------------------

       1/1        11.85    11.85   99.76%     11.85    11.85             (anon) [z.zsh:3] [3]
";
        let units: Vec<String> = zsh(report).into_iter().map(|load| load.unit).collect();
        assert_eq!(
            (units.as_slice(), zsh_misread(report)),
            (&[".zshrc".to_owned(), "(anon) [z.zsh:2]".to_owned()][..], 0)
        );
    }

    #[test]
    fn zsh_reports_its_files_with_the_functions_in_them() {
        let report = "\
rc\t100.5\t100.75\t/root/.zshrc
num  calls                time                       self            name
-----------------------------------------------------------------------------------
 1)    1          53.20    53.20   90.00%     20.10    20.10   34.00%  compinit
 2)    2          33.10    16.55   56.00%     33.10    16.55   56.00%  compdump

-----------------------------------------------------------------------------------

 1)    1          53.20    53.20   90.00%     20.10    20.10   34.00%  compinit
rc\t100.75\t100.875\t/root/.zlogin
";
        let expected = [
            (".zshrc", Some("/root/.zshrc"), 196_800_000, 250_000_000, 0),
            ("compinit", None, 20_100_000, 53_200_000, 1),
            ("compdump", None, 33_100_000, 33_100_000, 1),
            (".zlogin", Some("/root/.zlogin"), 125_000_000, 125_000_000, 0),
        ];
        assert_eq!(shown(&zsh(report)), expected);
    }
}
