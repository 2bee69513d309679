//! Reads `firstbyte.toml`, with errors that name the line and the column, and writes it from measurements.

use super::executables::{Executable, executables};
use super::value::{AtMost, Size};
use crate::document::bench::{Distribution, Measurement, MedianCounts};
use crate::document::read::{bounded, position};
use firstbyte_measure::timeline::marks::SpanKind;
use firstbyte_measure::units::Nanos;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// One `[[program]]`. Each budget is named as the document names its figure.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramBudget {
    /// `None`: the command is the name.
    pub name: Option<String>,
    /// The command, split into words as a shell does.
    pub command: String,
    /// Whether `/bin/sh` runs the command.
    #[serde(default)]
    pub shell: bool,
    /// What ran it when the budgets were written: [`executables`].
    #[serde(default)]
    pub executables: Vec<Executable>,
    /// A recording of the run that the counts are of; a relative path begins in the folder of the file.
    pub recording: Option<PathBuf>,
    pub first_byte: Option<AtMost<Nanos>>,
    pub total: Option<AtMost<Nanos>>,
    /// By the names that the program gives its parts.
    #[serde(default)]
    pub marks: BTreeMap<String, AtMost<Nanos>>,
    pub syscalls: Option<AtMost<u64>>,
    pub page_faults: Option<AtMost<u64>>,
    pub major_faults: Option<AtMost<u64>>,
    pub files_opened: Option<AtMost<u64>>,
    pub failed_opens: Option<AtMost<u64>>,
    pub bytes_read: Option<AtMost<Size>>,
    pub processes: Option<AtMost<u64>>,
    pub threads: Option<AtMost<u64>>,
    pub execs: Option<AtMost<u64>>,
    pub writes: Option<AtMost<u64>>,
    pub instructions: Option<AtMost<u64>>,
    pub rss: Option<AtMost<Size>>,
}

/// Why the budgets cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BudgetError {
    #[error("cannot read `{}`: {cause}\nhelp: firstbyte check --init 'COMMAND' writes one", path.display())]
    Unreadable { path: PathBuf, cause: std::io::Error },
    /// The text is not TOML, or has fields or values that a budget file does not have.
    #[error("`{}` line {line}, column {column}: {message}\nhelp: docs/ci.md lists what a budget file may contain", path.display())]
    Content {
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        message: String,
    },
    /// The form is right, but the budgets make no sense. The message includes the help line.
    #[error("`{}`: {message}", path.display())]
    Senseless { path: PathBuf, message: String },
}

/// The content of a budget file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetFile {
    /// The variables that change how programs start, as [`firstbyte_measure::launch::Environment::to_fix`] lists them;
    /// `None`: the programs get today's.
    pub environment: Option<BTreeMap<String, String>>,
    #[serde(default, rename = "program")]
    pub programs: Vec<ProgramBudget>,
}

/// More than anyone writes. The limit is there because reading a device may never end.
const MAX_FILE_BYTES: u64 = 16 << 20;

pub fn read(path: &Path) -> Result<BudgetFile, BudgetError> {
    let unreadable = |cause| BudgetError::Unreadable { path: path.to_owned(), cause };
    parse(&bounded(path, MAX_FILE_BYTES).map_err(unreadable)?, path)
}

/// Parses `text`; `path` appears in errors only.
pub fn parse(text: &str, path: &Path) -> Result<BudgetFile, BudgetError> {
    let file = match toml::from_str::<BudgetFile>(text) {
        Ok(file) => file,
        Err(error) => {
            let (line, column) = position(text, error.span().map_or(0, |span| span.start));
            let message = error.message().lines().collect::<Vec<_>>().join(", ");
            return Err(BudgetError::Content { path: path.to_owned(), line, column, message });
        }
    };
    match nonsense(&file.programs) {
        Some(message) => Err(BudgetError::Senseless { path: path.to_owned(), message }),
        None => Ok(file),
    }
}

fn nonsense(programs: &[ProgramBudget]) -> Option<String> {
    if programs.is_empty() {
        return Some(
            "there is no [[program]] in it\nhelp: firstbyte check --init 'COMMAND' writes one".to_owned(),
        );
    }

    let mut names = BTreeSet::new();
    for program in programs {
        if program.command.trim().is_empty() {
            return Some("a program has an empty command\nhelp: give it a command = \"…\"".to_owned());
        }
        let name = program.label();
        if name.trim().is_empty() {
            return Some(format!(
                "the program `{}` has an empty name\nhelp: give it a name = \"…\", or leave out the name",
                program.command
            ));
        }
        if !names.insert(name) {
            return Some(format!("two programs are called `{name}`\nhelp: give each its own name = \"…\""));
        }
        if !program.has_budget() {
            return Some(format!(
                "the program `{name}` has no budget\nhelp: add one, such as total = \"5ms\" or syscalls = 30"
            ));
        }
    }
    None
}

impl ProgramBudget {
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.command)
    }

    /// Whether a budget is for a duration.
    pub fn limits_time(&self) -> bool {
        self.first_byte.is_some() || self.total.is_some() || !self.marks.is_empty()
    }

    fn has_budget(&self) -> bool {
        let without = ProgramBudget {
            command: self.command.clone(),
            name: self.name.clone(),
            shell: self.shell,
            executables: self.executables.clone(),
            recording: self.recording.clone(),
            ..ProgramBudget::default()
        };
        *self != without
    }
}

/// A budget for a time is this many times what was measured: another day, or another machine of the same kind, may take
/// longer.
const SPARE: f64 = 1.5;

/// The text of a file with budgets that these measurements meet, but only just for counts. `recordings`: by the names of
/// the programs.
pub fn write(
    measured: &[Measurement],
    environment: &BTreeMap<String, String>,
    recordings: &BTreeMap<String, String>,
) -> String {
    let mut text = "# Budgets for `firstbyte check`. One more misses the budget of a count without\n\
                    # a tolerance. Page faults, instructions and memory always have one.\n\
                    # Budgets for times are 1.5 times the measured times.\n\
                    \n\
                    # The programs get these variables, and no others that change how they start.\n\
                    # Of private ones there are hashes, which are compared.\n\
                    [environment]\n"
        .to_owned();
    for (name, value) in environment {
        text += &entry(&key(name), value);
    }

    for measurement in measured {
        text += &program(measurement, recordings.get(measurement.label()));
    }
    text
}

/// The width of a line, if what it says can be broken.
const WIDTH: usize = 80;

/// A key and its text. A long one has several lines, which TOML joins where they end with a backslash.
fn entry(key: &str, value: &str) -> String {
    let line = format!("{key} = {}\n", quoted(value));
    if line.chars().count() <= WIDTH || value.contains(|c: char| c.is_control() || matches!(c, '"' | '\\')) {
        return line;
    }

    let (mut text, mut used) = (format!("{key} = \"\"\""), WIDTH);
    for piece in value.split_inclusive([':', ' ', ',']) {
        let columns = piece.chars().count();
        // blanks at the beginning of a line are not part of the text
        if used + columns > WIDTH - 4 && !piece.starts_with(char::is_whitespace) {
            text += "\\\n";
            used = 0;
        }
        text += piece;
        used += columns;
    }
    text + "\"\"\"\n"
}

fn quoted(text: &str) -> toml::Value {
    toml::Value::String(text.to_owned())
}

/// A name without its quotes where TOML needs none.
fn key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_bare { name.to_owned() } else { quoted(name).to_string() }
}

fn program(measurement: &Measurement, recording: Option<&String>) -> String {
    let mut text = "\n[[program]]\n".to_owned() + &entry("command", measurement.command_line());
    if measurement.label() != measurement.command_line() {
        text += &entry("name", measurement.label());
    }
    let words = shell_words::split(measurement.command_line()).unwrap_or_default();
    let tables: String = executables(&words).iter().map(table).collect();
    if !tables.is_empty() {
        let _ = writeln!(text, "executables = [\n{tables}]");
    }
    if let Some(recording) = recording {
        text += &entry("recording", recording);
    }

    let times = [("first_byte", &measurement.phases.first_byte), ("total", &measurement.phases.total)];
    for (name, time) in times {
        if let Some(time) = time {
            let _ = writeln!(text, "{name} = \"{}\"", spared(time));
        }
    }

    let marks = measurement.marks.iter().filter(|span| span.kind != SpanKind::Region);
    let marks: Vec<String> =
        marks.map(|span| format!("{} = \"{}\"", key(&span.name), spared(&span.times))).collect();
    if !marks.is_empty() {
        let _ = writeln!(text, "marks = {{ {} }}", marks.join(", "));
    }

    for (name, count) in budgeted(&measurement.counts) {
        let _ = writeln!(text, "{} = {}", name.replace("max_rss", "rss"), exact(name, count, measurement));
    }
    text
}

/// An element of a list. The hash alone nearly fills a line.
fn table(executable: &Executable) -> String {
    let Executable { path, sha256 } = executable;
    format!("  {{ path = {}, sha256 = \"\"\"\\\n    {sha256}\"\"\" }},\n", quoted(path))
}

/// The counts that get a budget. Writes say nothing about the start-up; major faults and execs follow from other counts.
fn budgeted(counts: &MedianCounts) -> Vec<(&'static str, u64)> {
    let known = counts.known().into_iter();
    known
        .filter(|(name, _)| !matches!(*name, "writes" | "major_faults" | "execs") && !is_of_processor(name))
        .collect()
}

/// Whether a count depends on the processor's model and on what else it does. The program's own instructions do not.
fn is_of_processor(name: &str) -> bool {
    name.starts_with("cycles") || name.contains("misses") || name.ends_with("_kernel")
}

/// Two digits, rounded up: `730us`.
fn spared(time: &Distribution) -> String {
    let most = time.high * SPARE;
    let (value, unit) = match most {
        n if n < 1e6 => (n / 1e3, "us"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let step = if value < 10.0 { 0.1 } else { 10_f64.powf(value.log10().floor() - 1.0) };
    let rounded = (value / step).ceil() * step;
    if rounded < 10.0 { format!("{rounded:.1}{unit}") } else { format!("{rounded:.0}{unit}") }
}

/// The count. If it varied, the largest value with a tolerance as wide as the variation.
fn exact(name: &str, count: u64, measurement: &Measurement) -> String {
    match measurement.varying.get(name) {
        None => count.to_string(),
        Some([low, high]) => {
            let percent = ((high - low) as f64 / (*high).max(1) as f64 * 100.0).ceil();
            format!("{{ max = {high}, tolerance = \"{percent}%\" }}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text, Path::new("firstbyte.toml")).unwrap_err().to_string()
    }

    #[test]
    fn budgets_are_plain_values_or_have_a_tolerance() {
        let text = "[[program]]\ncommand = 'ls -l'\ntotal = '1.5ms'\nsyscalls = 30\nrss = '2MiB'\n\
                    page_faults = { max = 90, tolerance = '5%' }\n";
        let [program] = &parse(text, Path::new("x")).unwrap().programs[..] else { unreachable!() };
        assert_eq!(program.total, Some(AtMost { max: Nanos(1_500_000), tolerance: None }));
        assert_eq!(program.syscalls, Some(AtMost { max: 30, tolerance: None }));
        assert_eq!(program.rss.unwrap().max.0, 2 << 20);
        assert_eq!(program.page_faults, Some(AtMost { max: 90, tolerance: Some(0.05) }));
        assert_eq!(program.label(), "ls -l");
    }

    #[test]
    fn errors_name_line_and_column() {
        let table = [
            ("[[program]\n", 1, 11),
            ("[[program]]\ncommand = 'a'\nsyscals = 3\n", 3, 1),
            ("[[program]]\ncommand = 'é'\ntotal = 5\n", 3, 9),
            ("[[program]]\ncommand = 'a'\ntotal = '5 parsecs'\n", 3, 9),
            ("[[program]]\ncommand = 'a'\nsyscalls = -1\n", 3, 12),
            ("[[program]]\ncommand = 'a'\nsyscalls = nan\n", 3, 12),
            ("[[program]]\ncommand = 'a'\nsyscalls = {max = 1, tolerance = 'x'}\n", 3, 34),
            ("program = 3\n", 1, 11),
            ("other = 3\n", 1, 1),
        ];
        for (text, line, column) in table {
            let message = error(text);
            let position = format!("`firstbyte.toml` line {line}, column {column}: ");
            assert!(message.starts_with(&position) && message.contains("\nhelp: "), "{text}\n{message}");
        }
    }

    #[test]
    fn budgets_that_make_no_sense_are_refused() {
        assert!(error("").contains("no [[program]]"));
        assert!(error("[[program]]\ncommand = 'a'\n").contains("`a` has no budget"));
        assert!(error("[[program]]\ncommand = ' '\nsyscalls = 1\n").contains("empty command"));
        assert!(
            error("[[program]]\ncommand = 'a'\nname = ''\nsyscalls = 1\n").contains("`a` has an empty name")
        );
        let twice = "[[program]]\ncommand = 'a'\nsyscalls = 1\n";
        assert!(error(&twice.repeat(2)).contains("two programs are called `a`"));
    }

    #[test]
    fn no_text_makes_the_reader_panic() {
        let good = "[[program]]\ncommand = 'ls'\ntotal = '5ms'\nrss = { max = '2MiB', tolerance = '5%' }\n";
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..2000 {
            let mut bytes = good.as_bytes().to_vec();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..bytes.len());
                match random.u8(..3) {
                    0 => bytes[at] = random.u8(..),
                    1 => bytes.truncate(at.max(1)),
                    _ => bytes.insert(at, random.u8(..128)),
                }
            }
            let _ = parse(&String::from_utf8_lossy(&bytes), Path::new("x"));
        }
    }

    #[test]
    fn long_texts_have_several_lines_and_stay_as_they_are() {
        let path = (1..20).map(|n| format!("/opt/tool-{n}/bin")).collect::<Vec<_>>().join(":");
        let texts = [path, "word, ".repeat(40) + "   " + &"x ".repeat(60), "é".repeat(70), "\"".repeat(90)];
        for (text, lines) in texts.into_iter().zip([6, 6, 1, 1]) {
            let written = entry("key", &text);
            assert_eq!(written.lines().count(), lines, "{written}");
            assert!(lines == 1 || written.lines().all(|line| line.chars().count() <= WIDTH), "{written}");
            let read: toml::Table = written.parse().unwrap();
            assert_eq!(read["key"].as_str(), Some(&*text));
        }
    }

    #[test]
    fn a_written_file_can_be_read_and_its_budgets_are_met() {
        let text = r#"{"command": "env ls \"hi\"", "mean": 1, "median": 1, "user": 0, "system": 0, "min": 1, "max": 1,
            "name": "greeting", "counts": {"syscalls": 30, "page_faults": 90, "max_rss": 1048576, "writes": 1},
            "varying": {"page_faults": [89, 91]}}"#;
        let mut measurement: Measurement = serde_json::from_str(text).unwrap();
        measurement.phases.total = Distribution::of(vec![400_000, 410_000, 420_000]);

        let environment = BTreeMap::from([("LC_ALL", "C"), ("a b", "\"")]);
        let environment = environment.into_iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
        let recordings = BTreeMap::from([("greeting".to_owned(), "folder/greeting.jsonl".to_owned())]);
        let written = write(std::slice::from_ref(&measurement), &environment, &recordings);
        let file = parse(&written, Path::new("x")).unwrap();
        let [program] = &file.programs[..] else { unreachable!() };

        assert!(written.lines().all(|line| line.chars().count() <= WIDTH), "{written}");
        assert_eq!(program.executables, executables(&["env", "ls", "hi"].map(str::to_owned)));
        assert_eq!(file.environment, Some(environment));
        assert_eq!(program.recording.as_deref(), Some(Path::new("folder/greeting.jsonl")));

        assert_eq!((program.label(), program.command.as_str()), ("greeting", "env ls \"hi\""));
        assert_eq!(program.total.unwrap().max, Nanos(630_000));
        assert_eq!(program.page_faults, Some(AtMost { max: 91, tolerance: Some(0.03) }));
        assert_eq!(
            (program.syscalls.unwrap().max, program.rss.unwrap().max.0, program.writes),
            (30, 1 << 20, None)
        );
        assert!(
            super::super::judge(program, &measurement)
                .iter()
                .all(|j| j.outcome == crate::document::check::BudgetOutcome::Met)
        );
    }
}
