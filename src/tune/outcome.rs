//! What one run of the command did, compared with what another one did.

use crate::bench::captured::{Captured, MAX_TEXT_BYTES};
use crate::bench::{Destination, ExperimentError, RunPlan, validity};
use crate::output::visible;
use firstbyte_measure::launch::{Command, ExitStatus, OutputKind};
use firstbyte_measure::regular_file;
use regex_lite::Regex;
use std::path::Path;
use std::sync::Arc;

/// More output is not compared again in each timed run, in bytes.
const MOST_EXPECTED: usize = 1 << 20;

/// One run.
#[derive(Clone, Debug)]
pub struct Outcome {
    exit: ExitStatus,
    flaw: Option<String>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Outcome {
    /// Runs a command once. `folder`: where its output is kept until this returns.
    pub fn of(command: Command, plan: &RunPlan, folder: &Path) -> Result<Outcome, ExperimentError> {
        let file = folder.join("stdout");
        let output = Destination { kind: OutputKind::File, file: Some(file.clone()) };
        // a run that ends at a moment has no whole output, and a file does not show the moment
        let output = if plan.until.is_some() { plan.output.clone() } else { output };
        let run = Captured::of(command, &RunPlan { output, ..plan.clone() })?;
        let read = regular_file::read(&file, MAX_TEXT_BYTES);
        let stdout = read.map(|(bytes, _)| bytes).unwrap_or_default();
        let _ = std::fs::remove_file(&file);
        Ok(Outcome {
            exit: run.recording.exit,
            flaw: validity::flaw(&run.recording, plan.accepted()),
            stdout,
            stderr: run.stderr,
        })
    }

    /// Why the run does not count: a clause.
    pub fn flaw(&self) -> Option<&str> {
        self.flaw.as_deref()
    }

    /// The same, with what it says of itself.
    pub fn failure(&self) -> Option<String> {
        self.flaw().map(|flaw| format!("{flaw}{}", last_line(self)))
    }

    /// It writes to stdout.
    pub fn prints(&self) -> bool {
        !self.stdout.is_empty()
    }

    /// All that the command prints to stdout, where a run must print exactly that.
    pub fn expected(&self, comparing: &Comparing) -> Option<Arc<[u8]>> {
        let is_exact = comparing.accepted.is_empty() && !comparing.only_exit;
        (is_exact && self.stdout.len() <= MOST_EXPECTED).then(|| self.stdout.clone().into())
    }

    /// The texts of both streams, as a version of a program prints it.
    pub fn text(&self) -> String {
        [&self.stdout, &self.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
    }
}

/// What is compared of two runs.
#[derive(Clone, Debug, Default)]
pub struct Comparing {
    /// What matches is left out on both sides.
    accepted: Vec<Regex>,
    ignore_stderr: bool,
    /// Only how the runs end is compared.
    only_exit: bool,
}

impl Comparing {
    /// The error is the message for the user.
    pub fn new(accepted: &[String], ignore_stderr: bool) -> Result<Comparing, String> {
        let regex = |text: &String| {
            Regex::new(text).map_err(|cause| {
                format!("`{text}` is not a regular expression: {cause}\nhelp: write it like '[0-9]+ ms'")
            })
        };
        let accepted = accepted.iter().map(regex).collect::<Result<_, _>>()?;
        Ok(Comparing { accepted, ignore_stderr, only_exit: false })
    }

    /// For commands that print something else each time.
    #[must_use]
    pub fn only_exit(self) -> Comparing {
        Comparing { only_exit: true, ..self }
    }

    /// What the second run did otherwise: a clause.
    pub fn difference(&self, plain: &Outcome, other: &Outcome) -> Option<String> {
        if plain.exit != other.exit {
            return Some(format!("it {}{}", other.exit.instead_of(plain.exit), last_line(other)));
        }
        if self.only_exit || other.flaw.is_some() {
            return other.flaw.clone();
        }
        let stdout = self.differing("stdout", &plain.stdout, &other.stdout);
        let stderr = || self.differing("stderr", &plain.stderr, &other.stderr);
        stdout.or_else(|| if self.ignore_stderr { None } else { stderr() })
    }

    /// The first lines that differ.
    fn differing(&self, stream: &str, plain: &[u8], other: &[u8]) -> Option<String> {
        if plain == other {
            return None;
        }
        let [plain, other] = [plain, other].map(|bytes| self.masked(bytes));
        if plain == other {
            return self.accepted.is_empty().then(|| format!("it prints other bytes to {stream}"));
        }
        let place = plain.lines().zip(other.lines()).take_while(|(plain, other)| plain == other).count();
        let line = |text: &str| {
            text.lines().nth(place).map_or("nothing".to_owned(), |line| format!("`{}`", short(line)))
        };
        Some(format!(
            "it prints something else to {stream}, in line {}: {} instead of {}",
            place + 1,
            line(&other),
            line(&plain)
        ))
    }

    fn masked(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.accepted.iter().fold(text, |text, regex| regex.replace_all(&text, "").into_owned())
    }
}

/// What a failing run says of itself: its last line, or that with its error. Interpreters indent the calls that led to it.
fn last_line(run: &Outcome) -> String {
    let text = String::from_utf8_lossy(&run.stderr).into_owned();
    let style = Regex::new("\u{1b}\\[[0-9;]*m");
    let text = style.map_or_else(|_| text.clone(), |style| style.replace_all(&text, "").into_owned());
    let mut lines = text.lines().rev().filter(|line| !line.trim().is_empty());
    let mut outer = lines.clone().filter(|line| !line.starts_with(char::is_whitespace));
    let error = outer.clone().find(|line| line.to_ascii_lowercase().contains("error"));
    let last = error.or_else(|| outer.next()).or_else(|| lines.next());
    last.map_or(String::new(), |line| format!(": {}", short(line)))
}

/// The characters of a line that are shown.
const SHOWN: usize = 60;

fn short(line: &str) -> String {
    let kept: String = visible(&line.trim_end().chars().take(SHOWN).collect::<String>());
    if line.chars().count() > SHOWN { kept + "…" } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(exit: i32, stdout: &str, stderr: &str) -> Outcome {
        Outcome { exit: ExitStatus::Code(exit), flaw: None, stdout: stdout.into(), stderr: stderr.into() }
    }

    #[test]
    fn status_and_both_streams_are_compared_and_what_is_accepted_is_left_out() {
        let plain = outcome(0, "pid 17\nend\n", "took 3 ms\n");
        let with = |accepted: &[&str], ignore_stderr| {
            Comparing::new(&accepted.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>(), ignore_stderr)
                .unwrap()
        };
        let strict = with(&[], false);
        assert_eq!(strict.difference(&plain, &plain), None);
        let other = outcome(0, "pid 18\nend\n", "took 4 ms\n");
        let difference = strict.difference(&plain, &other).unwrap();
        assert_eq!(difference, "it prints something else to stdout, in line 1: `pid 18` instead of `pid 17`");
        let numbers = with(&["[0-9]+"], false);
        assert_eq!(numbers.difference(&plain, &other), None);
        assert!(with(&["pid [0-9]+"], false).difference(&plain, &other).unwrap().contains("to stderr"));
        assert_eq!(with(&["pid [0-9]+"], true).difference(&plain, &other), None);
        let failed = outcome(3, "", "no such file\n");
        let difference = numbers.difference(&plain, &failed).unwrap();
        assert!(difference.contains("status 3") && difference.ends_with(": no such file"), "{difference}");
        let traced = outcome(1, "", "app.rb:1: no file\n\tfrom app.rb:7\n");
        assert!(strict.difference(&plain, &traced).unwrap().ends_with(": app.rb:1: no file"));
        let styled =
            outcome(1, "", "\u{1b}[31mError\u{1b}[0m: no file\nrequire(x)\n\u{1b}[31m   ^\u{1b}[0m\n");
        assert!(strict.difference(&plain, &styled).unwrap().ends_with(": Error: no file"));
        assert!(strict.clone().only_exit().difference(&plain, &other).is_none());
        assert!(
            strict
                .difference(&plain, &outcome(0, "pid 17\n", ""))
                .unwrap()
                .contains("nothing instead of `end`")
        );
    }

    #[test]
    fn what_is_no_regular_expression_is_refused_with_help() {
        assert!(Comparing::new(&["(".to_owned()], false).unwrap_err().contains("\nhelp: "));
    }
}
