//! The programs that time their own prints: built from the corpus, with a tracer that sees them from outside.

use super::print_runs::TimedProgram;
use super::{Prints, first_line, lack};
use crate::corpus::{Built, Corpus, PrepareOptions, Program, Selection, build_cache, prepare_all};
use crate::document::floor::{Missing, Print};
use crate::floor::{Effort, FloorError};
use firstbyte_measure::launch::interrupt;
use firstbyte_measure::tracer::BackendChoice;
use firstbyte_measure::tracer::full::choose_full;

/// The tag of the programs in the corpus.
const TAG: &str = "timed";

/// Measures every program with the tag that this machine can build.
pub fn measure(effort: Effort, seed: u64) -> Result<(Vec<Print>, Vec<Missing>), FloorError> {
    let (programs, mut missing) = match built() {
        Ok(built) => built,
        Err(reason) => (Vec::new(), vec![lack(TAG, reason)]),
    };
    if interrupt::interrupted().is_some() {
        return Err(FloorError::Interrupted);
    }

    let tracer = match choose_full(BackendChoice::Auto, None) {
        Ok(chosen) => Some(chosen.tracer),
        Err(error) => {
            missing.push(lack("prints from outside", first_line(&error.to_string())));
            None
        }
    };
    let (prints, failed) = Prints { effort, seed, tracer }.measure(programs)?;
    missing.extend(failed);
    Ok((prints, missing))
}

/// The programs that could be built, and why the others could not. The error is one lower-case line.
fn built() -> Result<(Vec<TimedProgram>, Vec<Missing>), String> {
    let corpus = Corpus::load(None).map_err(|error| error.to_string())?;
    let cache = build_cache().map_err(|error| error.to_string())?;
    let timed = Selection { tags: vec![TAG.to_owned()], ..Selection::default() };
    let programs = corpus.select(&timed).map_err(|error| error.to_string())?;
    let interrupted = || interrupt::interrupted().is_some();
    let results = prepare_all(&programs, &cache, PrepareOptions::new(&interrupted), &|_| {});

    let (mut timed, mut missing) = (Vec::new(), Vec::new());
    for (program, result) in programs.iter().zip(results) {
        match result {
            Ok(built) => timed.push(timed_program(program, built)),
            Err(skipped) => missing.push(lack(&label(program), skipped.reason)),
        }
    }
    Ok((timed, missing))
}

fn timed_program(program: &Program, built: Built) -> TimedProgram {
    TimedProgram {
        program: program.name().to_owned(),
        label: label(program),
        directory: built.directory,
        argv: built.argv,
    }
}

/// The language and the function that prints, which the variant names: `timed printf`.
fn label(program: &Program) -> String {
    let variant = &program.manifest.variant;
    let call = variant.strip_prefix(TAG).unwrap_or(variant).trim();
    format!("{} {call}", program.manifest.language)
}
