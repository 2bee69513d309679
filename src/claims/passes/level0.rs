//! Level 0 of C Runtime Overhead: its solutions are run, and the wrong answers of some are counted.

use super::runs::{COUNTING_RUNS, Stopping};
use super::session::Session;
use super::solutions::{DICTIONARY, SOLUTIONS, Solution, SolutionSet, prepare};
use crate::bench::{
    Accepted, ExperimentEntry, ExperimentError, LookForMarks, Placement, RunHooks, Series, Tracee,
};
use crate::claims::quantity::{Quantity, RunState};
use crate::claims::{Lack, Reading, gather};
use firstbyte_measure::launch::{self, Environment, Launcher, OutputKind};
use firstbyte_measure::own_folder::OwnFolder;
use firstbyte_measure::tracer::RunOptions;
use firstbyte_measure::units::Bytes;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The input has words of the dictionary and others, and as many bytes as the contest's first test.
const LENGTH: usize = 1398;

/// A solution and its command line.
type Ready = (&'static Solution, Vec<OsString>);

/// Runs the solutions, each set interleaved, with the same text on stdin.
pub(super) fn level0(session: &mut Session) -> Result<(), Lack> {
    let folder = OwnFolder::temporary().map_err(Lack::of)?;
    let ready = built(session, folder.path())?;
    if ready.is_empty() {
        return Ok(());
    }

    let (text, longer) = (folder.path().join("text"), folder.path().join("longer"));
    let words = self::text().map_err(Lack::of)?;
    fs::write(&text, &words).map_err(Lack::of)?;
    fs::write(&longer, words.repeat(10)).map_err(Lack::of)?;
    for set in SolutionSet::ALL {
        let text = if set == SolutionSet::Longer { &longer } else { &text };
        warm(session, &ready, set, text)?;
        divided(session, &ready, set, text)?;
    }
    stopped(session, &ready, &text)?;
    taken_for_known(session, &ready, folder.path())
}

/// Builds what the claims need. What cannot be built is lacking.
fn built(session: &mut Session, folder: &Path) -> Result<Vec<Ready>, Lack> {
    let failed = |error: io::Error| Lack::because(format!("level 0 could not be built: {error}"));
    prepare(folder).map_err(failed)?;

    let wanted: BTreeSet<&str> = session.needs.quantities().filter_map(gather::program).collect();
    let mut ready = Vec::new();
    for solution in SOLUTIONS.iter().filter(|solution| wanted.contains(solution.name)) {
        match solution.build(folder) {
            Ok(argv) => ready.push((solution, argv)),
            Err(lack) => gather::lacking(&mut session.evidence, session.needs, solution.name, &lack),
        }
    }
    Ok(ready)
}

fn warm(session: &mut Session, ready: &[Ready], set: SolutionSet, text: &Path) -> Result<(), Lack> {
    let named = session.needs.level0(RunState::Warm);
    let chosen = ready.iter().filter(|(solution, _)| solution.set == set && named.contains(solution.name));
    let entries = entries(chosen, text)?;
    if entries.is_empty() {
        return Ok(());
    }

    let (quick, full) = runs(set);
    let mut experiment = session.experiment(entries, session.runs(quick, full));
    experiment.counting.runs = COUNTING_RUNS;
    let series = session.traced(experiment)?;
    gather::runs(&mut session.evidence, session.needs, RunState::Warm, &series);
    Ok(())
}

/// The number of runs of a quick run and of a full one.
fn runs(set: SolutionSet) -> (u32, u32) {
    match set {
        SolutionSet::Starting => (20, 200),
        SolutionSet::Reading => (10, 60),
        SolutionSet::Interpreted => (3, 9),
        SolutionSet::Longer => (2, 5),
    }
}

fn divided(session: &mut Session, ready: &[Ready], set: SolutionSet, text: &Path) -> Result<(), Lack> {
    let named = session.needs.divided();
    let chosen = ready.iter().filter(|(solution, _)| solution.set == set && named.contains(solution.name));
    let entries = entries(chosen, text)?;
    if entries.is_empty() { Ok(()) } else { session.divided(entries, runs(set)) }
}

fn stopped(session: &mut Session, ready: &[Ready], text: &Path) -> Result<(), Lack> {
    let named = session.needs.level0(RunState::Stopped);
    let entries = entries(ready.iter().filter(|(solution, _)| named.contains(solution.name)), text)?;
    if entries.is_empty() {
        return Ok(());
    }
    let experiment = session.experiment(entries, session.runs(20, 150));
    let series = session.observed(experiment, &mut Stopping)?;
    gather::runs(&mut session.evidence, session.needs, RunState::Stopped, &series);
    Ok(())
}

fn entries<'r>(chosen: impl Iterator<Item = &'r Ready>, text: &Path) -> Result<Vec<ExperimentEntry>, Lack> {
    let entries = chosen.map(|(solution, argv)| entry(solution.name, argv, text));
    entries.collect::<Result<_, _>>().map_err(Lack::of)
}

fn entry(name: &str, argv: &[OsString], text: &Path) -> Result<ExperimentEntry, ExperimentError> {
    let command = launch::Command::new(argv)?;
    let options = RunOptions {
        output: OutputKind::Pipe,
        timeout: Some(Duration::from_secs(20)),
        ..RunOptions::default()
    };
    Ok(ExperimentEntry {
        series: Series {
            name: name.to_owned(),
            command: name.to_owned(),
            accepted: Accepted::SUCCESS,
            file_size: fs::metadata(&argv[0]).ok().map(|file| Bytes(file.len())),
            ..Series::default()
        },
        tracee: Tracee {
            launcher: Launcher::new(command)?,
            options,
            placement: Placement::Steady,
            marks: LookForMarks::Never,
        },
        hooks: RunHooks { input: Some(text.to_owned()), ..RunHooks::default() },
        reread: None,
    })
}

/// Some words of the dictionary, with a word that is not in it after each third.
fn text() -> io::Result<Vec<u8>> {
    let words = fs::read(DICTIONARY)?;
    let chosen = words.split(|byte| *byte == b'\n').step_by(997).enumerate();
    let mut text: Vec<u8> = Vec::new();
    for (number, word) in chosen {
        text.extend_from_slice(word);
        text.extend_from_slice(if number % 3 == 2 { b" nowordatall\n" } else { b" " });
    }
    text.truncate(LENGTH - 1);
    text.push(b'\n');
    Ok(text)
}

/// Counts the words that are nearly in the dictionary, and that a solution takes for words of it.
fn taken_for_known(session: &mut Session, ready: &[Ready], folder: &Path) -> Result<(), Lack> {
    let input = folder.join("near");
    for (solution, argv) in ready {
        let quantity = Quantity::TakenForKnown(solution.name);
        if session.needs.quantities().any(|needed| needed == quantity) {
            fs::write(&input, near_misses(&fs::read(DICTIONARY).map_err(Lack::of)?)).map_err(Lack::of)?;
            let taken = part_unmarked(argv, &input).map_err(Lack::of)?;
            session.evidence.insert(quantity, Reading::exact(taken));
        }
    }
    Ok(())
}

/// Words that differ in one letter from a word of the list, and that are not in it: one a line.
fn near_misses(list: &[u8]) -> Vec<u8> {
    let words: BTreeSet<&[u8]> = list.split(|byte| *byte == b'\n').collect();
    let small = words.iter().filter(|word| !word.is_empty() && word.iter().all(u8::is_ascii_lowercase));
    let changed = |(number, word): (usize, &&[u8])| {
        let mut near = word.to_vec();
        let place = number % near.len();
        near[place] = b'a' + (near[place] - b'a' + 1) % 26; // the next letter
        near
    };
    let near = small.step_by(11).enumerate().map(changed).filter(|near| !words.contains(near.as_slice()));
    near.flat_map(|word| [word, b"\n".to_vec()].concat()).collect()
}

/// The part of the lines that the program leaves without an angle bracket.
fn part_unmarked(argv: &[OsString], input: &Path) -> io::Result<f64> {
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).env_clear().envs(Environment::of_programs().variables());
    let printed = command.stdin(File::open(input)?).stderr(Stdio::null()).output()?.stdout;
    let lines = || printed.split_inclusive(|byte| *byte == b'\n');
    let unmarked = lines().filter(|line| !line.starts_with(b"<")).count();
    Ok(unmarked as f64 / lines().count().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::claim_programs::is_level0;

    #[test]
    fn near_misses_are_new_words_of_the_same_lengths() {
        assert_eq!(near_misses(b"Aachen\nab\nabacus\nb\nbc\n"), b"bb\n");
    }

    #[test]
    fn each_solution_is_needed_by_a_claim_and_each_that_a_claim_needs_is_there() {
        let known: BTreeSet<&str> = SOLUTIONS.iter().map(|solution| solution.name).collect();
        assert_eq!(known.len(), SOLUTIONS.len());
        let needs = crate::claims::Needs::of(&crate::claims::all());
        let programs = needs.quantities().filter_map(gather::program);
        assert_eq!(programs.filter(|name| is_level0(name)).collect::<BTreeSet<&str>>(), known);
    }
}
