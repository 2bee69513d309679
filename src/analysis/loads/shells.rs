//! What shells report: the time of each command (bash), of each rc file and of each function (zsh).

use super::{Load, decimal};
use crate::analysis::runs::AskedRuntime;
use firstbyte_measure::units::Nanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Between these, bash writes the file of a command. See [`crate::tracing::runtimes`].
const MARK: char = '\u{1}';

/// How many of the longest commands are listed. A long script has thousands.
const MAX_COMMANDS: usize = 40;
/// How many characters of a command are kept as its name.
const MAX_NAME_CHARS: usize = 60;

/// A command lasts until the next line of the report. One that is executed several times is one load.
pub(super) fn bash(text: &str) -> Vec<Load> {
    let lines: Vec<(u64, &str, Option<&str>)> = text.lines().filter_map(bash_line).collect();
    let mut commands: BTreeMap<(String, &str), Nanos> = BTreeMap::new();
    for pair in lines.windows(2) {
        let [(from, command, file), (to, ..)] = pair else { continue };
        let time = commands.entry((shortened(command), file.unwrap_or_default())).or_default();
        *time = *time + Nanos(to.saturating_sub(*from));
    }
    let mut commands: Vec<((String, &str), Nanos)> = commands.into_iter().collect();
    commands.sort_by_key(|(_, time)| Reverse(*time));
    let load = |((unit, file), time): ((String, &str), Nanos)| {
        let file: Option<Arc<str>> = Some(file).filter(|file| file.starts_with('/')).map(Into::into);
        Load { runtime: AskedRuntime::Bash.name(), unit, file, self_time: time, total: time, depth: 0 }
    };
    commands.into_iter().take(MAX_COMMANDS).map(load).collect()
}

/// `123<tab>++ id -u`: when it arrived, and a plus sign for each level. Further lines of a command have none.
fn bash_line(line: &str) -> Option<(u64, &str, Option<&str>)> {
    let (at, line) = line.split_once('\t')?;
    let rest = line.trim_start_matches('+');
    if rest.len() == line.len() {
        return None;
    }
    let (file, command) = match rest.strip_prefix(MARK).and_then(|rest| rest.split_once(MARK)) {
        Some((file, command)) => (Some(file), command),
        None => (None, rest),
    };
    Some((at.parse().ok()?, command.trim(), file))
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
        let report = "1\t+\u{1}/root/.bashrc\u{1} a b\n5\t+\u{1}\u{1} c\n9\t+\u{1}\u{1} exit\n";
        assert_eq!(shown(&bash(report)), [("a b", Some("/root/.bashrc"), 4, 4, 0), ("c", None, 4, 4, 0)]);
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
