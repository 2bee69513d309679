//! Warnings about how the way in which programs were run affects the figures.

use super::accepted::Accepted;
use crate::document::bench::{Failed, Warning};
use firstbyte_measure::counters::CountersError;
use firstbyte_measure::launch::rights::lost_under_ptrace;
use firstbyte_measure::launch::{Command, OutputKind};

/// Some programs write differently to this kind of output.
pub fn of_output(output: OutputKind) -> Option<Warning> {
    let target = match output {
        OutputKind::Null => "/dev/null, which reads nothing, and which some programs treat in a special way",
        OutputKind::File => "a file, to which programs write later and in larger pieces than to a terminal",
        OutputKind::Inherit => "firstbyte's own stdout, whose reader may make programs wait",
        OutputKind::Pipe | OutputKind::Pty => return None,
    };
    Some(Warning {
        name: None,
        message: format!("the output went to {target}"),
        help: Some("--output pipe, or --output pty for what a user at a terminal sees".to_owned()),
    })
}

/// A program may fail on purpose.
pub fn of_failures(failed: &[Failed], accepted: Accepted) -> Option<Warning> {
    let is_by_status = |failed: &Failed| failed.reason.contains("it ended with exit status");
    let by_status = failed.iter().any(is_by_status) && accepted == Accepted::SUCCESS;
    by_status.then(|| Warning {
        name: None,
        message: "runs whose exit status is not 0 were not counted".to_owned(),
        help: Some("--ignore-failure accepts all, --ignore-failure=1,2 these".to_owned()),
    })
}

/// The program's file gives it rights that its traced runs or its counting runs did not have.
pub fn of_rights(name: &str, words: &[String], traced: bool, counted: bool) -> Option<Warning> {
    let runs = match (traced, counted) {
        (true, _) => "it ran",
        (false, true) => "the runs that were counted ran",
        (false, false) => return None,
    };
    let rights = lost_under_ptrace(Command::new(words).ok()?.program())?;
    Some(Warning {
        name: Some(name.to_owned()),
        message: format!("{runs} without {rights}: a program under ptrace gets none"),
        help: Some("--backend pipe --no-counts".to_owned()),
    })
}

/// The processor's counters counted nothing.
pub fn of_counters(reason: &CountersError) -> Warning {
    Warning {
        name: None,
        message: format!("no instructions, cycles or misses were counted: {reason}"),
        help: Some("firstbyte doctor".to_owned()),
    }
}
