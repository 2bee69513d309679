//! One more run in which the language runtimes of a command report what they load, because their environment asks them to.
//!
//! The run counts only if the command does the same as in a run without the questions: the same exit status, the same
//! output and, apart from the reports, the same text on stderr.

mod java_counters;
mod questions;
mod xtrace;

use self::questions::{ask, ask_bash, ask_places, separate, written};
use self::xtrace::Xtrace;
use super::TracePlan;
use crate::analysis::runs::{AskedRuntime, Reports, RunTimes};
use crate::bench::ExperimentError;
use crate::bench::captured::{Captured, MAX_TEXT_BYTES};
use firstbyte_measure::launch::Command;
use firstbyte_measure::own_folder::OwnFolder;
use firstbyte_measure::regular_file;
use firstbyte_measure::tracer::Recording;
use firstbyte_measure::units::Nanos;
use std::io;
use std::path::Path;

/// Runs the command once as it is and once with the questions. The inner error: why the reports do not count, as one
/// lower-case line.
pub(super) fn reports(
    command: &Command,
    plan: &TracePlan,
    runtimes: &[AskedRuntime],
) -> Result<Result<Reports, String>, ExperimentError> {
    let folder = OwnFolder::temporary().map_err(ExperimentError::machine)?;
    let mut asked = command.clone();
    for runtime in runtimes {
        if let Err(cause) = ask(*runtime, &mut asked, folder.path()) {
            return Ok(Err(format!("{} could not be asked: {cause}", runtime.name())));
        }
    }

    let untouched = Run::of(command.clone(), plan)?;
    if runtimes.contains(&AskedRuntime::Zsh) {
        let mut placed = asked.clone();
        match ask_places(&mut placed) {
            Ok(()) => drop(Run::of(placed, plan)?),
            Err(cause) => return Ok(Err(format!("zsh could not be asked: {cause}"))),
        }
    }
    let xtrace = match asked_bash(runtimes, &mut asked, folder.path()) {
        Ok(xtrace) => xtrace,
        Err(cause) => return Ok(Err(format!("bash could not be asked: {cause}"))),
    };
    let run = Run::of(asked, plan);
    let mut commands = xtrace.map(Xtrace::end).unwrap_or_default();
    let mut run = run?;
    let mut texts = Vec::new();
    for runtime in runtimes {
        let (report, rest) = separate(*runtime, &run.stderr);
        run.stderr = rest;
        let lines =
            if *runtime == AskedRuntime::Bash { std::mem::take(&mut commands) } else { String::new() };
        texts.push((*runtime, report + &lines + &written(*runtime, folder.path())));
    }
    let expected = Run { stderr: without_reports(runtimes, &untouched.stderr), ..untouched };
    if let Some(difference) = difference(&run, &expected) {
        return Ok(Err(difference));
    }
    texts.retain(|(_, text)| !text.is_empty());
    Ok(Ok(Reports { texts, runs: [&run, &expected].map(|run| run.times) }))
}

/// Where bash will write its commands, if it takes part.
fn asked_bash(runtimes: &[AskedRuntime], asked: &mut Command, folder: &Path) -> io::Result<Option<Xtrace>> {
    if !runtimes.contains(&AskedRuntime::Bash) {
        return Ok(None);
    }
    let xtrace = Xtrace::begin()?;
    ask_bash(asked, xtrace.descriptor(), folder)?;
    Ok(Some(xtrace))
}

/// What is a report in the run with the questions is none in the run without, unless the user asks, too.
fn without_reports(runtimes: &[AskedRuntime], stderr: &str) -> String {
    runtimes.iter().fold(stderr.to_owned(), |text, runtime| separate(*runtime, &text).1)
}

/// One run, and what it wrote to stderr.
struct Run {
    recording: Recording,
    stderr: String,
    times: RunTimes,
}

impl Run {
    fn of(command: Command, plan: &TracePlan) -> Result<Run, ExperimentError> {
        let run = Captured::of(command, &plan.each_run)?;
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        let usage = &run.recording.usage;
        let times = RunTimes { wall: run.wall(), processor: Nanos(usage.user.0 + usage.system.0) };
        Ok(Run { recording: run.recording, stderr, times })
    }
}

/// What a run does otherwise than the untouched one.
fn difference(run: &Run, untouched: &Run) -> Option<String> {
    let (asked, other) = (&run.recording, &untouched.recording);
    if let Some(killed) = asked.killed.or(other.killed) {
        return Some(killed.to_string());
    }
    if asked.exit != other.exit {
        return Some(format!("it {}", asked.exit.instead_of(other.exit)));
    }
    let output = |run: &Recording| (run.output.bytes, run.output.head.clone());
    if output(asked) != output(other) {
        return Some("its output was not that of an untouched run".to_owned());
    }
    let errors = [&run.stderr, &untouched.stderr].map(|text| without_numbers(text));
    (errors[0] != errors[1]).then(|| "its text on stderr was not that of an untouched run".to_owned())
}

/// Messages contain process ids and times, which differ from run to run.
fn without_numbers(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '0'..='9' if kept.ends_with('0') => {}
            '0'..='9' => kept.push('0'),
            _ => kept.push(c),
        }
    }
    kept
}

/// Files of the reports: all that begin with a name, in any order.
fn files(folder: &Path, beginning: &str) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let wanted = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning));
    wanted
        .filter_map(|entry| regular_file::read(&entry.path(), MAX_TEXT_BYTES).ok())
        .map(|(bytes, _)| bytes)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_messages_do_not_count() {
        let of = |id: u32| format!("bash: cannot set terminal process group ({id}): x\n");
        assert_eq!(without_numbers(&of(7)), without_numbers(&of(18_477)));
        assert_ne!(without_numbers("a 1"), without_numbers("a"));
    }
}
