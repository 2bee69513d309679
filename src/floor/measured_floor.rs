//! The whole floor: the ladder is built, the groups are measured, the costs are kept for estimates.

use super::ladder::ladder;
use super::layers::UserCommand;
use super::{Effort, FloorError, GroupResult, Pinned, Survey, calibration, prints, shells};
use crate::document::Kind;
use crate::document::bench::{SCHEMA, Tool};
use crate::document::floor::{BatchOverhead, Calibration, Floor, Group};
use firstbyte_measure::launch::{Command, CpuSet, ExitStatus, Launcher, OutputKind, tree};
use firstbyte_measure::machine::Machine;
use firstbyte_measure::own_folder::OwnFolder;
use firstbyte_measure::tracer::pipe::PipeTracer;
use firstbyte_measure::tracer::{EventKind, Recording, RunOptions, Tracer};
use firstbyte_measure::units::Nanos;
use std::ffi::OsString;
use std::time::Duration;

/// What to measure.
#[derive(Clone, Debug)]
pub struct FloorPlan {
    /// The groups, in display order.
    pub groups: Vec<Group>,
    pub effort: Effort,
    /// The processor that everything runs on, then that of the readers.
    pub cpus: Option<CpuSet>,
    /// The command is killed after this long.
    pub timeout: Duration,
    /// Seed of the random order.
    pub seed: u64,
    /// The command to compare with the floor; empty if there is none.
    pub command: Vec<OsString>,
}

/// Measures the groups. `begins` hears of each group and its place. An interruption is no error: what is finished is
/// returned.
pub fn measure(plan: &FloorPlan, begins: &mut dyn FnMut(usize, Group)) -> Result<Floor, FloorError> {
    let folder = OwnFolder::temporary()?;
    let (rungs, missing) = ladder(folder.path())?;
    let cpu = |place: usize| plan.cpus.as_ref().and_then(|cpus| cpus.cpus().get(place).copied());
    let pinned = Pinned::to(cpu(0))?;
    let command = if plan.command.is_empty() { None } else { Some(tried(plan)?) };

    let survey = Survey {
        rungs: &rungs,
        folder: folder.path(),
        other: cpu(1).or(pinned.other),
        effort: plan.effort,
        seed: plan.seed,
    };
    let mut floor = Floor { cpu: Some(pinned.cpu), missing, ..empty() };
    let done = groups(plan, &survey, command.as_ref(), &mut floor, begins);
    let cleared = tree::kill_adopted();
    drop(pinned);
    match done {
        Err(FloorError::Interrupted) => floor.partial = true,
        done => done?,
    }
    cleared?;

    floor.calibration = kept_costs(&floor);
    Ok(floor)
}

/// A document without results.
pub fn empty() -> Floor {
    Floor {
        schema: SCHEMA.to_owned(),
        kind: Kind::Floor,
        tool: Tool::ours(),
        machine: crate::document::this_machine(),
        partial: false,
        cpu: None,
        overhead: BatchOverhead::default(),
        results: Vec::new(),
        missing: Vec::new(),
        prints: Vec::new(),
        waterfalls: Vec::new(),
        sweeps: Vec::new(),
        calibration: None,
    }
}

fn groups(
    plan: &FloorPlan,
    survey: &Survey,
    command: Option<&(UserCommand, Nanos)>,
    floor: &mut Floor,
    begins: &mut dyn FnMut(usize, Group),
) -> Result<(), FloorError> {
    for (place, group) in plan.groups.iter().enumerate() {
        begins(place, *group);
        let part = match group {
            Group::Syscalls => survey.syscalls()?,
            Group::Processes => survey.processes()?,
            Group::Shells => survey.shells(&shells::NAMES)?,
            Group::Faults => survey.faults()?,
            Group::Waterfall => match command {
                Some((command, duration)) => survey.command(command, *duration)?,
                None => survey.waterfall()?,
            },
            Group::Prints => {
                let (prints, missing) = prints::measure(plan.effort, plan.seed)?;
                floor.prints = prints;
                GroupResult { missing, ..GroupResult::default() }
            }
        };

        if floor.overhead.step == 0 {
            floor.overhead = part.overhead;
        }
        floor.results.extend(part.figures);
        floor.waterfalls.extend(part.waterfall);
        floor.missing.extend(part.missing);
    }
    Ok(())
}

/// Runs the command once before anything is timed: it must end, and succeed. Also returns how long that took.
fn tried(plan: &FloorPlan) -> Result<(UserCommand, Nanos), FloorError> {
    let command = Command::new(&plan.command)?;
    let absolute = std::path::absolute(command.program());
    let executable = absolute.map_err(|error| FloorError::Program(error.to_string()))?;
    let mut launcher = Launcher::new(command)?;
    let options =
        RunOptions { output: OutputKind::Null, timeout: Some(plan.timeout), ..RunOptions::default() };
    let recording = PipeTracer::blind().run(&mut launcher, &options)?;

    let command = UserCommand { words: plan.command.clone(), executable, limit: plan.timeout };
    if !recording.exit.success() {
        return Err(FloorError::Program(format!(
            "`{}` {}\nhelp: run it by hand; if it was killed after {:?}, give it more time with --timeout",
            command.shown(),
            recording.exit.instead_of(ExitStatus::SUCCESS),
            plan.timeout
        )));
    }
    Ok((command, duration(&recording)))
}

/// From the launch until the program was reaped.
fn duration(recording: &Recording) -> Nanos {
    let at = |is: fn(&EventKind) -> bool| recording.events.iter().find(|e| is(&e.kind)).map(|e| e.at);
    let start = at(|kind| matches!(kind, EventKind::Spawn));
    let end = at(|kind| matches!(kind, EventKind::Reaped { .. }));
    end.zip(start).and_then(|(end, start)| end.since(start)).unwrap_or_default()
}

/// Keeps the costs for estimates, if there is a place for them. Returns all that are kept.
fn kept_costs(floor: &Floor) -> Option<Calibration> {
    let measured = calibration::of(&floor.results);
    let machine = Machine::examine();
    if measured != Calibration::default() && !floor.partial {
        let _ = calibration::store(measured, &machine);
    }
    calibration::load(&machine)
}
