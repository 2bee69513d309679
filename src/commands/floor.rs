//! `firstbyte floor`: the costs of the steps of a start on this machine.

use super::progress::{ExperimentBar, bar};
use super::{CommandError, Exit, export, show, terminal};
use crate::cli::floor::Plan;
use crate::document::floor::{Floor, Group};
use crate::floor::{COMMAND, FloorError, empty, measure, scale_cpus};
use crate::report::formats::Exported;
use crate::report::text::floor as floor_text;
use firstbyte_measure::launch::{LaunchError, interrupt, tree};

/// Measures the groups, or one program with fewer processors, and prints the result.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    check(plan)?;
    plan.environment.clone().choose();
    interrupt::catch_signals();
    tree::adopt_orphans();
    let floor = if plan.sweep { swept(plan)? } else { measured(plan)? };
    finish(plan, &floor)
}

/// Refuses pictures and exports that are impossible, before anything is measured.
fn check(plan: &Plan) -> Result<(), CommandError> {
    for (format, _) in &plan.exports {
        if format.is_picture() && (plan.sweep || !plan.measuring.groups.contains(&Group::Waterfall)) {
            return Err(CommandError::usage(
                "there is no waterfall to draw\nhelp: leave out --only and --cpus-sweep, or add --only waterfall",
            ));
        }
    }
    export::check_targets(&plan.exports)
}

fn swept(plan: &Plan) -> Result<Floor, CommandError> {
    let mut floor = empty();
    scale_cpus(&plan.measuring, &mut floor, &mut ExperimentBar::new(None))?;
    Ok(floor)
}

fn measured(plan: &Plan) -> Result<Floor, CommandError> {
    let bar = bar("measuring", plan.measuring.groups.len() as u64);
    let floor = measure(&plan.measuring, &mut |index, group| {
        bar.set_position(index as u64);
        bar.set_message(group.name());
    });
    bar.finish_and_clear();
    Ok(floor?)
}

/// Writes and shows the results, even if a picture of them cannot be drawn.
fn finish(plan: &Plan, floor: &Floor) -> Result<Exit, CommandError> {
    let drawn = export::write_drawn(&plan.exports, &Exported::Floor(floor))?;
    if !export::takes_stdout(&plan.exports) {
        show(floor_text::render(floor, plan.histograms, &terminal()).as_bytes())?;
    }

    if let Some(lack) = floor.missing.iter().find(|lack| lack.name == COMMAND && !floor.partial) {
        return Err(CommandError::program(format!(
            "the command was not measured: {}\nhelp: run it by hand, several times; --timeout gives it more time",
            lack.reason
        )));
    }
    match floor.partial {
        true => Ok(Exit::Interrupted),
        false if !drawn => Err(CommandError::unable(
            "the waterfall could not be drawn: no layer of it was measured\nhelp: the page says why",
        )),
        false => Ok(Exit::Done),
    }
}

impl From<FloorError> for CommandError {
    fn from(error: FloorError) -> CommandError {
        match error {
            FloorError::Interrupted => LaunchError::Interrupted.into(),
            FloorError::Experiment(error) => error.into(),
            FloorError::Processor { .. } => CommandError::usage(error),
            FloorError::Resource { .. } | FloorError::Unable(_) => CommandError::unable(error),
            FloorError::Program(_) => CommandError::program(error),
        }
    }
}
