//! Carries out a schedule: rounds of runs, rejected ones repeated in place, samples collected into series.

use super::adaptive::Finish;
use super::runner::{Runner, SwitchError};
use super::sample::{Printed, Rejected, Sample, Series, Untraced};
use super::schedule::{self, Budget, Schedule};
use super::verdict::{self, TRACED};
use firstbyte_measure::clock;
use firstbyte_measure::launch::{ExitStatus, LaunchError};
use firstbyte_measure::tracer::{Backend, Recording};
use firstbyte_measure::units::Bytes;
use std::time::Duration;

/// A run that does not count is repeated so often; then its program is given up.
pub(super) const TRIES: u32 = 4;

/// One program of a campaign.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The name shown.
    pub name: String,
    /// The command, as a shell would take it.
    pub command: String,
    /// How it must end; `None`: as it likes.
    pub expected: Option<ExitStatus>,
    /// The size of its file.
    pub file_size: Option<Bytes>,
}

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The programs, by the numbers that the runner knows them by.
    pub subjects: Vec<Subject>,
    /// How long, or how often.
    pub budget: Budget,
    /// Unmeasured rounds first.
    pub warmup: u32,
    /// Seed of the order.
    pub seed: u64,
    /// Measure untraced runs, too.
    pub overhead: bool,
}

/// What is told while it goes on.
pub trait Progress {
    /// So many runs are planned.
    fn planned(&mut self, runs: u64);
    /// A run of this program has ended.
    fn ran(&mut self, name: &str);
    /// A run has become a sample, the last of this series.
    fn sampled(&mut self, _series: &Series) {}
    /// A block of rounds has ended: what would be lost if we died now.
    fn checkpoint(&mut self, series: &[Series]);
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One a subject, in their order.
    pub series: Vec<Series>,
    /// We were interrupted: fewer rounds than planned.
    pub interrupted: bool,
    /// Why there were no more rounds.
    pub finish: Finish,
    /// The subjects that kept failing, and were not run to the end.
    pub given_up: Vec<usize>,
    /// The tracer or the machine failed, or a process could not be killed: fewer rounds than planned.
    pub broken: Option<SwitchError>,
}

/// Why a round ended early.
enum Stop {
    Interrupted,
    Failed(SwitchError),
}

impl From<SwitchError> for Stop {
    fn from(error: SwitchError) -> Stop {
        Stop::Failed(error)
    }
}

impl Campaign {
    /// Carries it out. An interruption is no error, nor is a tracer or a machine that fails when there are samples already:
    /// what is finished is returned.
    pub fn run(&self, runner: &mut dyn Runner, progress: &mut dyn Progress) -> Result<Outcome, SwitchError> {
        let mut state = State::new(self, runner, progress);
        let (finish, interrupted, broken) = match state.go_through() {
            Ok(finish) => (finish, false, None),
            Err(Stop::Interrupted) => (Finish::AsPlanned, true, None),
            Err(Stop::Failed(error)) if state.has_samples() => (Finish::AsPlanned, false, Some(error)),
            Err(Stop::Failed(error)) => return Err(error),
        };
        let given_up = (0..self.subjects.len()).filter(|program| !state.alive.contains(program)).collect();
        Ok(Outcome { series: state.series, interrupted, finish, given_up, broken })
    }
}

struct State<'c> {
    campaign: &'c Campaign,
    runner: &'c mut dyn Runner,
    progress: &'c mut dyn Progress,
    random: fastrand::Rng,
    series: Vec<Series>,
    /// Programs that have not been given up.
    alive: Vec<usize>,
    /// How many samples each program had when the tracer was last attached.
    before: Vec<usize>,
}

impl<'c> State<'c> {
    fn new(campaign: &'c Campaign, runner: &'c mut dyn Runner, progress: &'c mut dyn Progress) -> State<'c> {
        State {
            campaign,
            runner,
            progress,
            random: fastrand::Rng::with_seed(campaign.seed),
            series: campaign.subjects.iter().map(Subject::series).collect(),
            alive: (0..campaign.subjects.len()).collect(),
            before: vec![0; campaign.subjects.len()],
        }
    }

    fn go_through(&mut self) -> Result<Finish, Stop> {
        self.runner.switch(true)?;
        let round = self.warm_up()?;
        let schedule = Schedule::new(self.campaign.budget, round, self.alive.len(), self.campaign.overhead);
        self.progress.planned(schedule.runs(self.alive.len()));
        let deadline = self.deadline();
        let mut before = 0;
        for &(traced, untraced) in &schedule.blocks {
            if before > 0 {
                self.switch(true, schedule.settling)?;
                self.before = self.series.iter().map(|series| series.samples.len()).collect();
            }
            self.block(&schedule, (traced, untraced), deadline)?;
            before = untraced;
            self.progress.checkpoint(&self.series);
            if let Some(finish) = self.finished(deadline) {
                return Ok(finish);
            }
        }
        Ok(match self.campaign.budget {
            Budget::Adaptive(_) => Finish::MostRuns,
            _ => Finish::AsPlanned,
        })
    }

    fn block(&mut self, schedule: &Schedule, rounds: (u32, u32), deadline: Option<u64>) -> Result<(), Stop> {
        let (traced, untraced) = rounds;
        for _ in 0..traced {
            self.traced_round()?;
            if self.has_least_rounds() && is_over(deadline) {
                break;
            }
        }
        if untraced == 0 || (self.has_untraced() && is_over(deadline)) {
            return Ok(());
        }
        self.switch(false, schedule.settling)?;
        for _ in 0..untraced {
            self.untraced_round()?;
            if self.has_least_rounds() && is_over(deadline) {
                break;
            }
        }
        Ok(())
    }

    fn has_samples(&self) -> bool {
        self.series.iter().any(|series| !series.samples.is_empty())
    }

    fn has_untraced(&self) -> bool {
        self.series.iter().any(|series| !series.untraced.is_empty())
    }

    /// Whether there are enough runs, and why, where that is not settled beforehand.
    fn finished(&self, deadline: Option<u64>) -> Option<Finish> {
        let Budget::Adaptive(adaptive) = self.campaign.budget else { return None };
        if self.alive.is_empty() {
            return Some(Finish::AsPlanned);
        }
        if adaptive.is_precise(&self.series) {
            return Some(Finish::Precise);
        }
        is_over(deadline).then_some(Finish::TimeSpent)
    }

    /// Whether every program that can be run has been run as often as it must.
    fn has_least_rounds(&self) -> bool {
        let Budget::Adaptive(adaptive) = self.campaign.budget else { return true };
        self.alive.iter().all(|&program| self.series[program].samples.len() >= adaptive.least as usize)
    }

    /// When the time is up. For a schedule that was made to fit, when it is hopelessly overdrawn: the first round may
    /// have been a fast one.
    fn deadline(&self) -> Option<u64> {
        let allowed = match self.campaign.budget {
            Budget::Runs(_) => return None,
            Budget::Time(time) => time + time / 2,
            Budget::Adaptive(adaptive) => adaptive.time,
        };
        Some(clock::now().0.saturating_add(u64::try_from(allowed.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// The warm-up rounds, and how long one round takes. At least one, where a program that cannot run is found, and as
    /// many as the tracer that has just been attached needs to settle.
    fn warm_up(&mut self) -> Result<Duration, Stop> {
        let mut round = Duration::ZERO;
        let mut done = 0;
        while done < self.campaign.warmup.max(schedule::settling(round, self.alive.len())) {
            done += 1;
            let began = clock::now();
            for program in self.order() {
                if self.attempt(program)?.is_none() {
                    self.give_up(program);
                }
            }
            round = Duration::from_nanos(clock::now().0 - began.0);
        }
        Ok(round)
    }

    fn switch(&mut self, traced: bool, settling: u32) -> Result<(), Stop> {
        self.runner.switch(traced)?;
        for _ in 0..settling {
            for program in self.order() {
                let _thrown_away = self.once(program)?;
            }
        }
        Ok(())
    }

    fn traced_round(&mut self) -> Result<(), Stop> {
        for program in self.order() {
            match self.attempt(program)? {
                Some((sample, output)) => {
                    let series = &mut self.series[program];
                    series.output = series.output.map_or(output, |before| output.map(|o| before.and(o)));
                    series.samples.push(sample);
                    self.progress.sampled(series);
                }
                None => self.give_up(program),
            }
        }
        Ok(())
    }

    fn untraced_round(&mut self) -> Result<(), Stop> {
        for program in self.order() {
            let Some((sample, _)) = self.attempt(program)? else {
                self.give_up(program);
                continue;
            };
            let series = &mut self.series[program];
            let beside = self.before[program]..series.samples.len();
            if !beside.is_empty() {
                series.untraced.push(Untraced { wall: sample.wall, beside });
            }
        }
        Ok(())
    }

    fn order(&mut self) -> Vec<usize> {
        schedule::round(&self.alive, &mut self.random)
    }

    /// Runs a program until a run counts; `None` if none of [`TRIES`] did.
    fn attempt(&mut self, program: usize) -> Result<Option<(Sample, Option<Printed>)>, Stop> {
        let expected = self.campaign.subjects[program].expected;
        let mut by_ptrace = false;
        for _ in 0..TRIES {
            let reason = match self.once(program)? {
                Ok(recording) => {
                    by_ptrace = recording.backend == Backend::Ptrace
                        && verdict::is_the_programs(&recording, expected);
                    self.series[program].lost_events += recording.lost;
                    match verdict::sample(&recording, expected) {
                        Ok(sample) => return Ok(Some((sample, Printed::of(&recording.output)))),
                        Err(reason) => reason,
                    }
                }
                Err(reason) => reason,
            };
            self.reject(program, reason);
        }
        if by_ptrace && self.succeeds_untraced(program)? {
            let rejected = &mut self.series[program].rejected;
            let failed = rejected.len().saturating_sub(TRIES as usize);
            for run in &mut rejected[failed..] {
                let reason = &run.reason;
                run.reason = format!(
                    "{reason} when traced, but not in a run that was not: {TRACED} (help: --backend pipe)"
                );
            }
        }
        Ok(None)
    }

    /// One more run, of a program that failed whenever it was traced: whether it is the tracing that makes it fail.
    fn succeeds_untraced(&mut self, program: usize) -> Result<bool, Stop> {
        self.runner.switch(false)?;
        let run = self.once(program)?;
        self.runner.switch(true)?;
        let expected = self.campaign.subjects[program].expected;
        Ok(run.is_ok_and(|recording| verdict::flaw(&recording, expected).is_none()))
    }

    /// One run, whatever comes of it.
    fn once(&mut self, program: usize) -> Result<Result<Recording, String>, Stop> {
        let run = self.runner.run(program);
        self.progress.ran(&self.campaign.subjects[program].name);
        match run {
            Err(LaunchError::Interrupted) => Err(Stop::Interrupted),
            // no other run would fare better, of whichever program; and what cannot be killed would not be the last
            Err(error) if error.is_the_machines() => Err(Stop::Failed(SwitchError(error.to_string()))),
            Err(error) => Ok(Err(one_line(&error.to_string()))),
            Ok(recording) => Ok(Ok(recording)),
        }
    }

    fn reject(&mut self, program: usize, reason: String) {
        let series = &mut self.series[program];
        let run = u32::try_from(series.samples.len()).unwrap_or(u32::MAX);
        series.rejected.push(Rejected { run, reason });
    }

    fn give_up(&mut self, program: usize) {
        self.alive.retain(|&alive| alive != program);
    }
}

fn is_over(deadline: Option<u64>) -> bool {
    deadline.is_some_and(|deadline| clock::now().0 > deadline)
}

/// An error's message without its `help:` line, which the table has no room for.
pub(super) fn one_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}

impl Subject {
    fn series(&self) -> Series {
        Series {
            name: self.name.clone(),
            command: self.command.clone(),
            expected: self.expected,
            samples: Vec::new(),
            untraced: Vec::new(),
            rejected: Vec::new(),
            counts: Vec::new(),
            counters: Vec::new(),
            uncounted: None,
            lost_events: 0,
            file_size: self.file_size,
            output: None,
        }
    }
}

#[cfg(test)]
mod tests;
