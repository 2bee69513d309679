//! Starts that others made, traced while a watch ran, explained together.

use crate::analysis::Account;
use crate::analysis::binaries::{FileBinaries, Reach};
use crate::analysis::findings;
use crate::analysis::notes::{TraceNotes, findings_of, sentences};
use crate::analysis::runs::ObservedRuns;
use crate::analysis::trace_analysis::{TraceAnalysis, UsedTracer};
use crate::analysis::trace_document::Invocation;
use crate::document::bench::Warning;
use crate::document::trace::{TraceCommandLine, TraceWatched};
use firstbyte_measure::timeline::marks::Marks;
use firstbyte_measure::tracer::starts::{TracedStart, TracedStarts};
use firstbyte_measure::tracer::{Backend, Recording};
use serde_json::Value;
use std::collections::BTreeMap;

/// The maximum number of command lines in a document, and in a note.
const COMMAND_LINES: usize = 100;
const NOTED: usize = 3;

/// The room for arguments in the kernel's record of an exec, in bytes.
const ARGUMENTS: usize = 256;

/// Starts of one program, explained.
#[derive(Debug)]
pub struct Started {
    pub analysis: TraceAnalysis,
    pub notes: TraceNotes,
    pub watched: TraceWatched,
}

/// Explains what was traced. Without a start that counts, this is the sentence that says why.
pub fn started(mut traced: TracedStarts) -> Result<Started, String> {
    let starts = std::mem::take(&mut traced.starts);
    let reach = reach(&starts);
    let binaries = FileBinaries::within(reach);
    let Counted { accounts, kept, numbers, rejected } = Counted::of(starts, &binaries);

    let watched = TraceWatched {
        program: traced.program.clone(),
        starts: traced.seen,
        every: traced.every,
        numbers,
        command_lines: command_lines(&kept),
        given_up: traced.too_long + traced.too_large,
        rejected,
    };
    let observed = ObservedRuns {
        traced: accounts.iter().map(|account| account.wall.as_f64()).collect(),
        rounds: (0..).take(kept.len()).collect(),
        recordings: kept,
        ..ObservedRuns::default()
    };
    let reason = "traces the starts of other processes".to_owned();
    let used = UsedTracer { backend: Backend::Bpf, reason, sees_faults: true };
    let marks: Vec<Marks> =
        observed.recordings.iter().map(|recording| Marks::of(recording).unwrap_or_default()).collect();
    let analysis = TraceAnalysis::of_accounts(accounts, &marks, binaries, observed, used)
        .ok_or_else(|| nothing(&traced, &watched.rejected))?;
    let notes = notes(&analysis, &traced, &watched, reach);
    Ok(Started { analysis, notes, watched })
}

impl Started {
    /// What the document says besides the runs.
    pub fn invocation(&self, machine: Value) -> Invocation {
        let shown = self.analysis.shown().map(command_line).unwrap_or_default();
        Invocation {
            command: shown,
            watched: Some(self.watched.clone()),
            // nobody has reaped them for us
            usages: Vec::new(),
            ..Invocation::of(&self.analysis, &self.notes, machine)
        }
    }
}

/// Programs that were started in another folder do not mean our files by paths that are relative, and those in a container mean
/// others by all paths.
fn reach(starts: &[TracedStart]) -> Reach {
    if starts.iter().all(|start| start.sees_our_files) { Reach::Absolute } else { Reach::Nothing }
}

/// The starts that count, with their numbers, and why the others do not.
#[derive(Default)]
struct Counted {
    accounts: Vec<Account>,
    kept: Vec<Recording>,
    numbers: Vec<u64>,
    rejected: Vec<String>,
}

impl Counted {
    fn of(starts: Vec<TracedStart>, binaries: &FileBinaries) -> Counted {
        let mut counted = Counted::default();
        for TracedStart { recording, number, .. } in starts {
            match account(&recording, binaries) {
                Ok(account) => {
                    counted.accounts.push(account);
                    counted.kept.push(recording);
                    counted.numbers.push(number);
                }
                Err(reason) => counted.rejected.push(format!("start {number}: {reason}")),
            }
        }
        counted
    }
}

fn account(recording: &Recording, binaries: &FileBinaries) -> Result<Account, String> {
    match recording.lost {
        0 => Account::of(recording, binaries).map_err(|error| error.to_string()),
        lost => Err(format!("{lost} of its events were lost")),
    }
}

/// As a shell would take it.
fn command_line(recording: &Recording) -> String {
    let words = &recording.command;
    let bytes: usize = words.iter().map(|word| word.len() + 1).sum();
    shell_words::join(words) + if bytes >= ARGUMENTS { " …" } else { "" }
}

fn command_lines(recordings: &[Recording]) -> Vec<TraceCommandLine> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for recording in recordings {
        *counts.entry(command_line(recording)).or_default() += 1;
    }
    let all = counts.into_iter().map(|(command, runs)| TraceCommandLine { command, runs });
    let mut all: Vec<TraceCommandLine> = all.collect();
    all.sort_by_key(|line| std::cmp::Reverse(line.runs)); // stable: equal counts stay in alphabetic order
    all.truncate(COMMAND_LINES);
    all
}

/// Why there is nothing to explain, with its `help:`.
fn nothing(traced: &TracedStarts, rejected: &[String]) -> String {
    const AS_IN_TABLE: &str =
        "give the program as the table of `firstbyte watch` shows it, by its path or its name";
    let TracedStarts { program, seen, every, .. } = traced;
    let reasons = given_up(traced).into_iter().chain(rejected.iter().cloned());

    let (why, help) = match (seen, reasons.into_iter().next()) {
        (0, None) => ("it was not started".to_owned(), AS_IN_TABLE),
        (_, Some(reason)) if traced.too_long > 0 || traced.unfinished => (
            reason,
            "`firstbyte trace --until-first-byte` and `--until-port` explain programs that do not end",
        ),
        (_, Some(reason)) => (reason, "watch it again with a larger --memory"),
        (seen, None) if seen < every => {
            (format!("it was started {seen} times, and every {every}th start was to be traced"), "--every 1")
        }
        (_, None) => ("none of its starts could be followed".to_owned(), "watch it again"),
    };

    format!("no start of `{program}` was traced: {why}\nhelp: {help}")
}

/// What became of starts that are not in the account, a clause each.
fn given_up(traced: &TracedStarts) -> Vec<String> {
    let limit = traced.longest.as_secs();
    let clauses = [
        (traced.too_long > 0).then(|| format!("{} did not end within {limit} s", starts(traced.too_long))),
        (traced.too_large > 0)
            .then(|| format!("{} made more events than --memory allows", starts(traced.too_large))),
        traced.unfinished.then(|| "the last one had not ended when the watch did".to_owned()),
        traced.memory_full.then(|| "more starts did not fit into --memory".to_owned()),
    ];
    clauses.into_iter().flatten().collect()
}

fn starts(count: u64) -> String {
    if count == 1 { "1 start".to_owned() } else { format!("{count} starts") }
}

fn notes(
    analysis: &TraceAnalysis,
    traced: &TracedStarts,
    watched: &TraceWatched,
    reach: Reach,
) -> TraceNotes {
    let mut urgent = vec![commands(watched)];
    let left_out = given_up(traced).into_iter().chain(watched.rejected.iter().cloned());
    urgent.extend(left_out.map(|reason| format!("Left out: {reason}.")));
    if reach == Reach::Nothing {
        let sentence = "Some starts were in another mount namespace, so no function of a file has a name.";
        urgent.push(sentence.to_owned());
    }

    let method = "Others made these starts. Nothing was run untraced or sampled beside them, so the observer overhead and \
                  the functions of user code are not known.";
    let note = findings::note(&analysis.summary, &analysis.machine());
    let several = (watched.command_lines.len() > 1).then(|| {
        Warning::minor(
            "the runs had several command lines; the phases are those of all, the steps those of one",
        )
    });
    TraceNotes {
        command: format!("{}: {} of {}", traced.program, watched.numbers.len(), starts(traced.seen)),
        ending: Vec::new(),
        urgent,
        warnings: several.into_iter().collect(),
        notes: std::iter::once(method.to_owned()).chain(note).collect(),
        findings_of: findings_of(&analysis.summary),
        findings: sentences(analysis),
        corrected_total: None,
    }
}

/// The command lines that the starts had.
fn commands(watched: &TraceWatched) -> String {
    let lines = &watched.command_lines;
    let named = |line: &TraceCommandLine| match line.runs {
        1 => format!("`{}`", line.command),
        runs => format!("`{}` ({runs} times)", line.command),
    };
    let first: Vec<String> = lines.iter().take(NOTED).map(named).collect();
    let more = lines.len().saturating_sub(NOTED);
    let more = if more == 0 { String::new() } else { format!(", and {more} more command lines") };
    format!("Traced as they happened: {}{more}.", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstbyte_measure::tracer::replay;
    use std::time::Duration;

    fn small() -> Recording {
        let bytes = include_bytes!("../../tests/recordings/small.jsonl");
        replay::read("small", bytes.as_slice()).unwrap().recording
    }

    fn start(number: u64, words: &[&str]) -> TracedStart {
        let command = words.iter().map(|word| (*word).to_owned()).collect();
        TracedStart { recording: Recording { command, ..small() }, number, sees_our_files: true, bytes: 1000 }
    }

    fn traced(starts: Vec<TracedStart>, seen: u64) -> TracedStarts {
        TracedStarts { program: "small".to_owned(), every: 1, starts, seen, ..TracedStarts::default() }
    }

    #[test]
    fn starts_are_counted_by_their_command_lines() {
        let all = vec![start(1, &["small", "a b"]), start(2, &["small"]), start(5, &["small"])];
        let started = started(traced(all, 9)).unwrap();
        assert_eq!(started.watched.numbers, [1, 2, 5]);
        let lines: Vec<_> =
            started.watched.command_lines.iter().map(|line| (line.command.as_str(), line.runs)).collect();
        assert_eq!(lines, [("small", 2), ("small 'a b'", 1)]);
        assert_eq!(started.notes.command, "small: 3 of 9 starts");
        assert_eq!(started.notes.urgent[0], "Traced as they happened: `small` (2 times), `small 'a b'`.");

        let invocation = started.invocation(Value::Null);
        assert_eq!((invocation.usages.len(), invocation.overhead.is_none()), (0, true));
        assert_eq!((invocation.executions, invocation.walls[1].len()), (None, 0));
    }

    #[test]
    fn starts_with_lost_events_do_not_count() {
        let mut bad = start(2, &["small"]);
        bad.recording.lost = 7;
        let both = started(traced(vec![start(1, &["small"]), bad.clone()], 2)).unwrap();
        assert_eq!((both.analysis.summary.runs, both.watched.numbers), (1, vec![1]));
        assert_eq!(both.watched.rejected, ["start 2: 7 of its events were lost"]);

        let none = started(traced(vec![bad], 2)).unwrap_err();
        assert!(
            none.starts_with("no start of `small` was traced: start 2: 7 of its events were lost\nhelp: ")
        );
    }

    #[test]
    fn without_a_start_it_is_said_why() {
        let why = |traced| {
            let text = started(traced).unwrap_err();
            let (cause, help) = text.split_once("\nhelp: ").unwrap();
            assert!(!help.is_empty());
            cause.strip_prefix("no start of `small` was traced: ").unwrap().to_owned()
        };
        assert_eq!(why(traced(vec![], 0)), "it was not started");
        let rare = TracedStarts { every: 10, ..traced(vec![], 7) };
        assert_eq!(why(rare), "it was started 7 times, and every 10th start was to be traced");
        let running = TracedStarts { unfinished: true, ..traced(vec![], 1) };
        assert_eq!(why(running), "the last one had not ended when the watch did");
        let long = TracedStarts { too_long: 2, longest: Duration::from_secs(10), ..traced(vec![], 2) };
        assert_eq!(why(long), "2 starts did not end within 10 s");
        let large = TracedStarts { too_large: 1, ..traced(vec![], 2) };
        assert_eq!(why(large), "1 start made more events than --memory allows");
    }

    #[test]
    fn long_arguments_are_marked_as_cut() {
        let long = Recording { command: vec!["x".repeat(255)], ..small() };
        assert!(command_line(&long).ends_with("x …"));
        let short = Recording { command: vec!["x".repeat(254)], ..small() };
        assert!(command_line(&short).ends_with('x'));
    }
}
