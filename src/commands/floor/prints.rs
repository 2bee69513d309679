//! The programs that time their own prints, built, and who looks at them from outside.

use crate::cli::floor::Plan;
use crate::corpus::{BuildCache, Built, Corpus, PrepareOptions, Program, prepare_all};
use crate::document::floor::{Group, Missing, Print};
use crate::floor::FloorError;
use crate::floor::prints::{Prints, TimedProgram};
use firstbyte_measure::launch::interrupt;
use firstbyte_measure::tracer::Choice;
use firstbyte_measure::tracer::full::choose_full;

/// The programs' tag in the corpus.
const TAG: &str = "timed";

/// Measures every program with the tag whose tools are here.
pub(super) fn run(plan: &Plan) -> Result<(Vec<Print>, Vec<Missing>), FloorError> {
    let (programs, mut missing) = match built() {
        Ok(built) => built,
        Err(reason) => (Vec::new(), vec![lack(TAG, reason)]),
    };
    if interrupt::interrupted().is_some() {
        return Err(FloorError::Interrupted);
    }
    let mut tracer = match choose_full(Choice::Auto, None) {
        Ok(chosen) => Some(chosen.tracer),
        Err(error) => {
            let reason = error.to_string().lines().next().unwrap_or_default().to_owned();
            missing.push(lack("prints from outside", reason));
            None
        }
    };
    let asked = Prints { effort: plan.effort, seed: plan.seed, tracer: tracer.as_mut() };
    let (prints, failed) = asked.measure(programs)?;
    missing.extend(failed);
    Ok((prints, missing))
}

/// The programs that could be built, and why not the rest. The error is one lower-case line.
fn built() -> Result<(Vec<TimedProgram>, Vec<Missing>), String> {
    let corpus = Corpus::load(None).map_err(|error| error.to_string())?;
    let cache = BuildCache::of_user().map_err(|error| error.to_string())?;
    let programs = corpus.select(&[], &[TAG.to_owned()]).map_err(|error| error.to_string())?;
    let interrupted = || interrupt::interrupted().is_some();
    let results = prepare_all(&programs, &cache, PrepareOptions::new(&interrupted), &|_| {});
    let (mut timed, mut missing) = (Vec::new(), Vec::new());
    for (program, result) in programs.iter().zip(results) {
        match result {
            Ok(built) => timed.push(of(program, built)),
            Err(skipped) => missing.push(lack(&label(program), skipped.reason)),
        }
    }
    Ok((timed, missing))
}

fn of(program: &Program, built: Built) -> TimedProgram {
    TimedProgram {
        program: program.name().to_owned(),
        label: label(program),
        directory: built.directory,
        argv: built.argv,
    }
}

/// The variant is named for what it prints with: `timed printf`.
fn label(program: &Program) -> String {
    let variant = &program.manifest.variant;
    let call = variant.strip_prefix(TAG).unwrap_or(variant).trim();
    format!("{} {call}", program.manifest.language)
}

fn lack(name: &str, reason: String) -> Missing {
    Missing { group: Group::Prints, name: name.to_owned(), reason }
}
