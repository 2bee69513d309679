//! Makes the runs: traced, and untraced in turn.

use crate::cli::trace::Runs;
use crate::commands::CommandError;
use crate::launch::wait::Killed;
use crate::launch::{Command, Launcher, interrupt};
use crate::report::terminal::visible;
use crate::timeline::Timeline;
use crate::tracer::full::FullBackend;
use crate::tracer::pipe::PipeTracer;
use crate::tracer::{Recording, Setting, Tracer};
use crate::units::Nanos;
use std::time::{Duration, Instant};

/// Runs by default.
const RUNS: u32 = 20;
/// By default no more runs than this take, traced ones alone.
const PATIENCE: Duration = Duration::from_secs(8);
/// The fewest runs by default.
const FEWEST: u32 = 3;
/// After programs have been attached to tracepoints the first runs are slower, and are discarded: so many, and no
/// longer than this.
const WARMUP: u32 = 15;
const WARMUP_TIME: Duration = Duration::from_millis(300);
/// Traced and untraced runs take turns in so many blocks each.
const BLOCKS: u32 = 4;

/// What the runs gave.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// The traced runs that count.
    pub(crate) recordings: Vec<Recording>,
    /// Walls of traced and of untraced runs: from the launch to the reaping, nanoseconds.
    pub(crate) traced: Vec<f64>,
    /// See `traced`.
    pub(crate) untraced: Vec<f64>,
    /// Traced runs that do not count, and why.
    pub(crate) rejected: Vec<String>,
}

/// Runs a command as often as planned.
pub(crate) fn observe(
    command: Command,
    runs: &Runs,
    tracer: &mut FullBackend,
) -> Result<Observed, CommandError> {
    let mut launcher = Launcher::new(command)?;
    if let Some(cpus) = &runs.cpus {
        launcher.set_cpus(cpus);
    }
    let setting =
        Setting { output: runs.output, expected: None, timeout: Some(runs.timeout), ..Setting::default() };
    let mut session = Session { launcher, setting, observed: Observed::default() };
    // The first run is the slowest: it reads from disk. It also says how long the rest will take.
    let began = Instant::now();
    session.untraced()?;
    session.observed.untraced.clear();
    let count = runs.count.unwrap_or_else(|| affordable(began.elapsed()));
    let blocks = if runs.overhead { BLOCKS.min(count) } else { 1 };
    for block in 0..blocks {
        let share = count / blocks + u32::from(block < count % blocks);
        session.block(tracer, share, runs.overhead, count == 1)?;
    }
    tracer.detach().map_err(CommandError::unable)?;
    Ok(session.observed)
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
}

impl Session {
    /// Some traced runs, then as many untraced ones.
    fn block(
        &mut self,
        tracer: &mut FullBackend,
        share: u32,
        untraced: bool,
        single: bool,
    ) -> Result<(), CommandError> {
        tracer.attach().map_err(CommandError::unable)?;
        if !single {
            self.warm_up(tracer)?;
        }
        for _ in 0..share {
            let recording = tracer.run(&mut self.launcher, &self.setting)?;
            self.keep(recording)?;
        }
        if untraced {
            tracer.detach().map_err(CommandError::unable)?;
            for n in 0..share + 2 {
                self.untraced()?;
                if n < 2 {
                    self.observed.untraced.pop();
                }
            }
        }
        Ok(())
    }

    fn warm_up(&mut self, tracer: &mut FullBackend) -> Result<(), CommandError> {
        let began = Instant::now();
        for _ in 0..WARMUP {
            tracer.run(&mut self.launcher, &self.setting)?;
            if began.elapsed() > WARMUP_TIME {
                break;
            }
        }
        Ok(())
    }

    fn untraced(&mut self) -> Result<(), CommandError> {
        let recording = PipeTracer::blind().run(&mut self.launcher, &self.setting)?;
        self.observed.untraced.push(wall(&recording).as_f64());
        interrupted()
    }

    fn keep(&mut self, recording: Recording) -> Result<(), CommandError> {
        interrupted()?;
        if let Some(killed) = recording.killed {
            let help = match killed {
                Killed::Stopped(_) => "let it run without stopping, or continue it from another process",
                _ => "give it more time with --timeout",
            };
            return Err(CommandError::program(format!(
                "`{}` was given up after {}: {killed}\nhelp: {help}",
                visible(&recording.command.join(" ")),
                wall(&recording)
            )));
        }
        match Timeline::of(&recording) {
            Ok(timeline) => {
                self.observed.traced.push(timeline.wall.as_f64());
                self.observed.recordings.push(recording);
            }
            Err(_) if recording.lost > 0 => {
                self.observed
                    .rejected
                    .push(format!("{} events were lost (--ring makes more room)", recording.lost));
            }
            Err(error) => self.observed.rejected.push(error.to_string()),
        }
        Ok(())
    }
}

fn interrupted() -> Result<(), CommandError> {
    match interrupt::interrupted() {
        Some(_) => Err(crate::launch::LaunchError::Interrupted.into()),
        None => Ok(()),
    }
}

fn wall(recording: &Recording) -> Nanos {
    Timeline::of(recording).map(|timeline| timeline.wall).unwrap_or_default()
}
