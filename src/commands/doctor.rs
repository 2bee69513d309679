//! `firstbyte doctor`.

use super::{CommandError, Exit, show, terminal};
use crate::cli::doctor::Args;
use crate::corpus::Corpus;
use crate::doctor;
use crate::doctor::install::{self, InstallError};
use crate::document::doctor::DoctorReport;
use crate::output::say;
use crate::report::text::doctor as doctor_text;
use firstbyte_measure::launch::interrupt;

/// Examines this machine, or installs missing packages.
pub fn run(args: &Args) -> Result<Exit, CommandError> {
    let corpus = Corpus::load(None).map_err(CommandError::usage)?;
    if args.install {
        return install(&corpus, args.tests);
    }
    let report = doctor::examine(&corpus, &doctor::try_bpf);
    let text = if args.json() { json(&report)? } else { doctor_text::render(&report, &terminal()) };
    show(text.as_bytes())?;
    Ok(Exit::Done)
}

fn json(report: &DoctorReport) -> Result<String, CommandError> {
    serde_json::to_string_pretty(report).map(|text| text + "\n").map_err(CommandError::unable)
}

/// Without root it prints the command. That is not a failure: other work continues with the installed packages.
fn install(corpus: &Corpus, tests: bool) -> Result<Exit, CommandError> {
    let plan = if tests { install::plan_for_tests(corpus) } else { install::plan_for_corpus(corpus) };
    if plan.packages.is_empty() {
        show(b"nothing is missing\n")?;
        return Ok(Exit::Done);
    }
    interrupt::catch_signals();
    let mut announce = |line: &str| say(line);
    match install::install(&plan, &mut announce) {
        Ok(()) => Ok(Exit::Done),
        Err(error @ InstallError::NotRoot(_)) => {
            say(error);
            Ok(Exit::Done)
        }
        Err(error @ InstallError::Interrupted { .. }) => Err(CommandError::interrupted(error)),
        Err(error) => Err(CommandError::unable(error)),
    }
}
