//! Makes the runs: traced, and untraced in turn; or those of two commands in turn.

use crate::bench::schedule::{round, settling};
use crate::cli::trace::Runs;
use crate::commands::{CommandError, Exit, interference};
use crate::document::bench::Warning;
use crate::output::visible;
use crate::stats;
use firstbyte_measure::launch::rights::{Rights, lost_under_ptrace};
use firstbyte_measure::launch::wait::Killed;
use firstbyte_measure::launch::{Command, ExitStatus, Launcher, interrupt};
use firstbyte_measure::timeline::Timeline;
use firstbyte_measure::tracer::full::FullTracer;
use firstbyte_measure::tracer::pipe::PipeTracer;
use firstbyte_measure::tracer::{Recording, Setting, Tracer};
use firstbyte_measure::units::Nanos;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Runs by default.
const RUNS: u32 = 20;
/// By default no more runs than this take, traced ones alone.
const PATIENCE: Duration = Duration::from_secs(8);
/// The fewest runs by default.
const FEWEST: u32 = 3;
/// Traced and untraced runs take turns in blocks of so many runs each, as many blocks as that makes up to `BLOCKS`: short
/// blocks, because a machine's speed changes by the second, and what it does between two blocks is in their ratio.
const SHARE: u32 = 3;
const BLOCKS: u32 = 60;

/// What the runs gave.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// The traced runs that count.
    pub(crate) recordings: Vec<Recording>,
    /// The round to which each of these belongs: two commands that take turns run once each in every round.
    pub(crate) rounds: Vec<u32>,
    /// Walls of traced and of untraced runs: from the launch to the reaping, nanoseconds.
    pub(crate) traced: Vec<f64>,
    /// See `traced`.
    pub(crate) untraced: Vec<f64>,
    /// Median wall of each block, of its traced runs and of its untraced ones.
    pub(crate) blocks: Vec<[f64; 2]>,
    /// Traced runs that do not count, and why.
    pub(crate) rejected: Vec<String>,
    /// It was interrupted before all runs were made.
    pub(crate) interrupted: bool,
    /// How the first run ended, which nobody traced.
    pub(crate) untraced_exit: Option<ExitStatus>,
    /// What the program's file would give it and a run under ptrace does not get.
    pub(crate) rights: Option<Rights>,
    /// Who else used the processors meanwhile.
    pub(crate) interference: Vec<Warning>,
}

/// Runs a command as often as planned.
pub(crate) fn observe(
    command: Command,
    runs: &Runs,
    tracer: &mut FullTracer,
) -> Result<Observed, CommandError> {
    let (mut session, first) = Session::begin(command, runs)?;
    let count = runs.count.unwrap_or_else(|| affordable(first));
    session.settling = if count == 1 { 0 } else { settling(first, 1) };
    let watch = interference::Watch::begin();
    let blocks = if runs.overhead { (count / SHARE).clamp(1, BLOCKS) } else { 1 };
    let made = (0..blocks).try_for_each(|block| {
        let share = count / blocks + u32::from(block < count % blocks);
        session.block(tracer, share, runs.overhead, !block.is_multiple_of(2))
    });
    session.observed.interference = watch.warnings(&Value::Null);
    session.observed.interrupted = cut_short(made, !session.observed.recordings.is_empty())?;
    tracer.detach().map_err(CommandError::unable)?;
    Ok(session.observed)
}

/// Runs two commands as often as planned, each once in every round, in an order that the seed decides: what drifts hits
/// both alike. Nothing is run untraced but the first run of each.
pub(crate) fn observe_in_turn(
    commands: [Command; 2],
    runs: &Runs,
    tracer: &mut FullTracer,
) -> Result<[Observed; 2], CommandError> {
    let [a, b] = commands.map(|command| Session::begin(command, runs));
    let ((a, first), (b, second)) = (a?, b?);
    let mut sessions = [a, b];
    let count = runs.count.unwrap_or_else(|| affordable(first.max(second)));
    tracer.attach().map_err(CommandError::unable)?;
    let discarded = if count == 1 { 0 } else { settling(first + second, 1) };
    let mut random = fastrand::Rng::with_seed(runs.seed);
    let watch = interference::Watch::begin();
    let made = (0..discarded + count).try_for_each(|n| {
        round(&[0, 1], &mut random).into_iter().try_for_each(|side| {
            let session = &mut sessions[side];
            let recording = tracer.run(&mut session.launcher, &session.setting)?;
            match n.checked_sub(discarded) {
                Some(n) => session.keep(recording, n),
                None => interrupted(),
            }
        })
    });
    let interference = watch.warnings(&Value::Null);
    for session in &mut sessions {
        session.observed.interference.clone_from(&interference);
    }
    // both have runs, or the difference is none
    let shown = sessions.iter().all(|session| !session.observed.recordings.is_empty());
    let interrupted = cut_short(made, shown)?;
    tracer.detach().map_err(CommandError::unable)?;
    Ok(sessions.map(|session| Observed { interrupted, ..session.observed }))
}

/// Whether the runs were interrupted. Those made before are shown; without any, or after another error, that is it.
fn cut_short(made: Result<(), CommandError>, shown: bool) -> Result<bool, CommandError> {
    match made {
        Err(error) if error.exit == Exit::Interrupted && shown => Ok(true),
        made => made.map(|()| false),
    }
}

/// As many runs as patience lasts for.
fn affordable(one: Duration) -> u32 {
    let fitting = PATIENCE.as_nanos() / one.as_nanos().max(1);
    u32::try_from(fitting).unwrap_or(RUNS).clamp(FEWEST, RUNS)
}

struct Session {
    launcher: Launcher,
    setting: Setting,
    observed: Observed,
    /// Runs that are discarded whenever the tracer was attached or detached.
    settling: u32,
}

impl Session {
    /// Runs the command once, and says how long that took.
    fn begin(command: Command, runs: &Runs) -> Result<(Session, Duration), CommandError> {
        let rights = lost_under_ptrace(command.program());
        let mut launcher = Launcher::new(command)?;
        if let Some(cpus) = &runs.cpus {
            launcher.set_cpus(cpus);
        }
        let setting = Setting {
            output: runs.output,
            expected: None,
            timeout: Some(runs.timeout),
            ..Setting::default()
        };
        let observed = Observed { rights, ..Observed::default() };
        let mut session = Session { launcher, setting, observed, settling: 1 };
        // The first run is the slowest: it reads from disk. It also says how long the rest will take.
        let began = Instant::now();
        session.untraced()?;
        let first = began.elapsed();
        session.observed.untraced.clear();
        Ok((session, first))
    }

    /// Some traced runs and, if asked for, as many untraced ones, after or before them.
    fn block(
        &mut self,
        tracer: &mut FullTracer,
        share: u32,
        both: bool,
        untraced_first: bool,
    ) -> Result<(), CommandError> {
        let before = [self.observed.traced.len(), self.observed.untraced.len()];
        if both && untraced_first {
            self.untraced_runs(share)?;
        }
        self.traced_runs(tracer, share, both)?;
        if both && !untraced_first {
            self.untraced_runs(share)?;
        }
        let medians = [&self.observed.traced[before[0]..], &self.observed.untraced[before[1]..]].map(median);
        if let [Some(with), Some(without)] = medians {
            self.observed.blocks.push([with, without]);
        }
        Ok(())
    }

    fn traced_runs(&mut self, tracer: &mut FullTracer, share: u32, detach: bool) -> Result<(), CommandError> {
        tracer.attach().map_err(CommandError::unable)?;
        for _ in 0..self.settling {
            tracer.run(&mut self.launcher, &self.setting)?;
            interrupted()?;
        }
        for round in 0..share {
            let recording = tracer.run(&mut self.launcher, &self.setting)?;
            self.keep(recording, round)?;
        }
        if detach { tracer.detach().map_err(CommandError::unable) } else { Ok(()) }
    }

    fn untraced_runs(&mut self, share: u32) -> Result<(), CommandError> {
        for _ in 0..self.settling {
            self.untraced()?;
            self.observed.untraced.pop();
        }
        (0..share).try_for_each(|_| self.untraced())
    }

    fn untraced(&mut self) -> Result<(), CommandError> {
        let recording = PipeTracer::blind().run(&mut self.launcher, &self.setting)?;
        given_up(&recording)?;
        self.observed.untraced_exit.get_or_insert(recording.exit);
        self.observed.untraced.push(wall(&recording).as_f64());
        interrupted()
    }

    fn keep(&mut self, recording: Recording, round: u32) -> Result<(), CommandError> {
        interrupted()?;
        given_up(&recording)?;
        if recording.lost > 0 {
            let reason = format!("{} events were lost (--ring makes more room)", recording.lost);
            self.observed.rejected.push(reason);
            return Ok(());
        }
        match Timeline::of(&recording) {
            Ok(timeline) => {
                self.observed.traced.push(timeline.wall.as_f64());
                self.observed.recordings.push(recording);
                self.observed.rounds.push(round);
            }
            Err(error) => self.observed.rejected.push(error.to_string()),
        }
        Ok(())
    }
}

/// A run that had to be killed is an error: all others would take as long.
fn given_up(recording: &Recording) -> Result<(), CommandError> {
    let Some(killed) = recording.killed else { return Ok(()) };
    let help = match killed {
        Killed::Stopped(_) => "let it run without stopping, or continue it from another process",
        _ => "give it more time with --timeout",
    };
    Err(CommandError::program(format!(
        "`{}` was given up after {}: {killed}\nhelp: {help}",
        visible(&recording.command.join(" ")),
        wall(recording)
    )))
}

fn interrupted() -> Result<(), CommandError> {
    match interrupt::interrupted() {
        Some(_) => Err(firstbyte_measure::launch::LaunchError::Interrupted.into()),
        None => Ok(()),
    }
}

fn median(values: &[f64]) -> Option<f64> {
    stats::median(&stats::quantile::sorted(values)?)
}

fn wall(recording: &Recording) -> Nanos {
    Timeline::of(recording).map(|timeline| timeline.wall).unwrap_or_default()
}
