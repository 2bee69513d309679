//! `firstbyte throughput`: many lines, printed by each design.

use super::progress::{Building, ExperimentBar};
use super::{CommandError, Exit, before_launching, export, show, terminal};
use crate::cli::throughput::Plan;
use crate::corpus::Program;
use crate::document::throughput::ThroughputDocument;
use crate::report::formats::Exported;
use crate::report::text::throughput as throughput_text;
use crate::throughput::design::{self, Design, OURS, WC_ALONE};
use crate::throughput::measured_designs::measure;
use std::collections::BTreeSet;

/// Builds the designs, measures them and prints the tables.
pub fn run(plan: Plan) -> Result<Exit, CommandError> {
    let programs = design::programs().map_err(CommandError::usage)?;
    let known: Vec<&str> = programs.iter().map(Program::name).chain([OURS, WC_ALONE]).collect();
    let mut names: BTreeSet<&str> = known.iter().copied().collect();
    let mut own = plan.measuring.own.iter().map(|design| design.name.as_str());
    if let Some(name) = own.find(|name| !names.insert(name)) {
        let message =
            format!("two designs are called `{name}`\nhelp: give yours another name: --command 'NAME=...'");
        return Err(CommandError::usage(message));
    }
    if let Some(name) = plan.measuring.only.iter().find(|name| !known.contains(&name.as_str())) {
        let message = format!("there is no design `{name}`\nhelp: firstbyte throughput --list");
        return Err(CommandError::usage(message));
    }
    if plan.list {
        show(terminal().wrap_lines(&list(&programs), 21).as_bytes())?;
        return Ok(Exit::Done);
    }

    check_chart(&plan)?;
    export::check_targets(&plan.exports)?;
    plan.measuring.check().map_err(CommandError::unable)?;
    before_launching();
    let building = Building::new();
    let document = measure(plan.measuring, &|step| building.step(&step), &mut ExperimentBar::new(None))?;

    let drawn =
        export::write_drawn(&plan.exports, &Exported::Throughput { document: &document, log: plan.log })?;
    if !export::takes_stdout(&plan.exports) {
        show(throughput_text::render(&document, &terminal()).as_bytes())?;
    }
    exit(&document, drawn)
}

/// A chart is drawn over several numbers of lines.
fn check_chart(plan: &Plan) -> Result<(), CommandError> {
    let is_asked_for = plan.exports.iter().any(|(format, _)| format.is_picture());
    match plan.measuring.counts[..] {
        [only] if is_asked_for => Err(CommandError::usage(format!(
            "a chart shows time by number of lines, and there is only one number\nhelp: give several, as in --n {only},{}; \
             --html FILE draws bars for one",
            only.saturating_mul(2)
        ))),
        _ => Ok(()),
    }
}

fn exit(document: &ThroughputDocument, drawn: bool) -> Result<Exit, CommandError> {
    let failed = document.wrong.iter().any(|wrong| !wrong.literal);
    match document.partial {
        true => Ok(Exit::Interrupted),
        false if !drawn => Err(CommandError::unable(
            "there is no chart to draw: nothing was timed\nhelp: firstbyte throughput --list; print fewer lines with \
             --n, or allow more time with --timeout",
        )),
        false if failed => Ok(Exit::ProgramFailed),
        false => Ok(Exit::Done),
    }
}

fn list(programs: &[Program]) -> String {
    let line = |program: &Program| format!("{:<20} {}\n", program.name(), program.manifest.description);
    let ours = [Design::ours("firstbyte".as_ref()), Design::wc_alone()];
    let ours = ours.map(|design| format!("{:<20} {}\n", design.name, design.description));
    programs.iter().map(line).chain(ours).collect()
}
