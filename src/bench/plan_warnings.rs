//! Warnings about how the way in which programs were run affects the figures.

use crate::document::bench::Warning;
use firstbyte_measure::counters::CountersError;
use firstbyte_measure::launch::rights::lost_under_ptrace;
use firstbyte_measure::launch::{Command, OutputKind};

/// Some programs write differently to this kind of output.
pub fn of_output(output: OutputKind) -> Option<Warning> {
    let target = match output {
        OutputKind::Null => "/dev/null, which reads nothing, and which some programs treat in a special way",
        OutputKind::File => "a file, to which programs write later and in larger pieces than to a terminal",
        OutputKind::Pipe | OutputKind::Pty => return None,
    };
    Some(Warning {
        name: None,
        message: format!("the output went to {target}"),
        help: Some("--output pipe, or --output pty for what a user at a terminal sees".to_owned()),
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
