//! Carries out a schedule: makes rounds of runs, repeats rejected ones immediately, collects samples into series.

use super::adaptive::Adaptive;
use super::error::ExperimentError;
use super::runner::Runner;
use super::sample::{Printed, Sample, Series, Untraced};
use super::schedule::{self, Aim, Block, MIN_EXPLAINED, RunLimit, Schedule};
use crate::document::series::Finish;
use firstbyte_measure::clock;
use std::time::Duration;

mod attempts;

/// A run that does not count is tried this many times in total. Then its program is given up.
pub(super) const TRIES: u32 = 4;

/// How the runs of several programs are ordered.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    pub aim: Aim,
    pub limit: RunLimit,
    /// The number of unmeasured rounds before the measured ones.
    pub warmup: u32,
    /// Seed of the random order.
    pub seed: u64,
    /// Also make untraced runs.
    pub overhead: bool,
}

/// Receives the progress. Code that measures prints nothing itself.
pub trait Progress {
    /// The runs of an experiment begin with its warm-up.
    fn began(&mut self) {}
    /// The number of planned runs is known.
    fn planned(&mut self, _runs: u64) {}
    /// A run of this program has ended.
    fn ran(&mut self, _name: &str) {}
    /// A run has become a sample, the last one of this series.
    fn sampled(&mut self, _series: &Series) {}
    /// A block of rounds has ended. These results would be lost if the process died now.
    fn checkpoint(&mut self, _series: &[Series]) {}
    /// The counting runs of this many programs begin.
    fn counting(&mut self, _programs: usize) {}
    /// One program has been counted.
    fn counted(&mut self) {}
    /// The experiment has ended.
    fn ended(&mut self) {}
}

/// Ignores the progress.
impl Progress for () {}

#[derive(Debug)]
pub struct CampaignEnd {
    /// The user interrupted it, so there are fewer rounds than planned.
    pub interrupted: bool,
    /// Why there were no more rounds.
    pub finish: Finish,
    /// The programs that kept failing and were not run to the end.
    pub given_up: Vec<usize>,
    /// The error that made it end early.
    pub broken: Option<ExperimentError>,
}

/// To explain an event takes up to 8 µs. Runs with more than these are explained for longer than they took.
const MAX_EVENTS: usize = 300_000;

/// Why a round ended early.
enum Stop {
    Interrupted,
    Failed(ExperimentError),
}

impl From<ExperimentError> for Stop {
    fn from(error: ExperimentError) -> Stop {
        Stop::Failed(error)
    }
}

impl Campaign {
    /// Fills `series`, one for each program of the runner. An interruption is not an error. A failure of the tracer or the
    /// machine is not one either if there are samples, which are kept. With [`Aim::Explain`] every other failure is an
    /// error.
    pub fn run(
        &self,
        series: &mut [Series],
        runner: &mut dyn Runner,
        progress: &mut dyn Progress,
    ) -> Result<CampaignEnd, ExperimentError> {
        let mut state = State::new(self, series, runner, progress);

        let went = state.go_through();
        state.note_missed();
        let (finish, interrupted, broken) = match went {
            Ok(finish) => (finish, false, None),
            Err(Stop::Interrupted) => (Finish::AsPlanned, true, None),
            Err(Stop::Failed(error)) if self.aim == Aim::Time && state.has_samples() => {
                (Finish::AsPlanned, false, Some(error))
            }
            Err(Stop::Failed(error)) => return Err(error),
        };

        let given_up = (0..state.series.len()).filter(|program| !state.alive.contains(program)).collect();
        Ok(CampaignEnd { interrupted, finish, given_up, broken })
    }
}

struct State<'c> {
    campaign: &'c Campaign,
    runner: &'c mut dyn Runner,
    progress: &'c mut dyn Progress,
    random: fastrand::Rng,
    series: &'c mut [Series],
    /// Programs that have not been given up.
    alive: Vec<usize>,
    traced: bool,
    /// Programs whose runs so far had one process and one thread each.
    alone: Vec<Option<bool>>,
    /// Measured rounds so far.
    rounds: u32,
    /// How many samples each program had when the block began.
    before: Vec<usize>,
    /// Untraced runs of the block, each with its program.
    untraced: Vec<(usize, Sample)>,
}

impl<'c> State<'c> {
    fn new(
        campaign: &'c Campaign,
        series: &'c mut [Series],
        runner: &'c mut dyn Runner,
        progress: &'c mut dyn Progress,
    ) -> State<'c> {
        State {
            campaign,
            runner,
            progress,
            random: fastrand::Rng::with_seed(campaign.seed),
            alive: (0..series.len()).collect(),
            traced: false,
            alone: vec![None; series.len()],
            rounds: 0,
            before: vec![0; series.len()],
            untraced: Vec::new(),
            series,
        }
    }

    fn go_through(&mut self) -> Result<Finish, Stop> {
        let Campaign { aim, limit, overhead, .. } = *self.campaign;
        let round = self.warm_up()?;
        self.place();
        // Without a warm-up nothing is known of the rounds that would have to be thrown away.
        let overhead = overhead && self.campaign.warmup > 0;
        let schedule = Schedule::new(aim, limit, round, self.alive.len(), overhead);
        self.progress.planned(schedule.runs(self.alive.len()));
        let deadline = self.deadline();

        for &block in &schedule.blocks {
            self.block(block, schedule.discarded, deadline)?;
            self.progress.checkpoint(self.series);
            if let Some(finish) = self.finished(deadline) {
                return Ok(finish);
            }
        }

        Ok(match limit {
            RunLimit::Adaptive(_) => Finish::MostRuns,
            _ => Finish::AsPlanned,
        })
    }

    /// Makes a block of rounds. Untraced runs are paired with the samples of their block, even if it ends early.
    fn block(&mut self, block: Block, discarded: u32, deadline: Option<u64>) -> Result<(), Stop> {
        self.before = self.series.iter().map(|series| series.samples.len()).collect();
        let result = block
            .parts()
            .into_iter()
            .try_for_each(|(traced, rounds)| self.part(traced, rounds, discarded, deadline));
        self.pair();
        result
    }

    /// Makes the traced or the untraced rounds of a block. When the time is up, the first untraced rounds are enough.
    fn part(&mut self, traced: bool, rounds: u32, discarded: u32, deadline: Option<u64>) -> Result<(), Stop> {
        let enough = !traced && self.has_untraced() && self.is_late(deadline);
        if rounds == 0 || enough {
            return Ok(());
        }
        self.switch(traced, discarded)?;
        for _ in 0..rounds {
            if traced {
                self.traced_round()?;
            } else {
                self.untraced_round()?;
            }
            if self.has_least_rounds() && self.is_late(deadline) || self.is_at_limit(deadline) {
                break;
            }
        }
        Ok(())
    }

    fn pair(&mut self) {
        for (program, sample) in self.untraced.drain(..) {
            let series = &mut self.series[program];
            let beside = self.before[program]..series.samples.len();
            if !beside.is_empty() {
                series.untraced.push(Untraced { wall: sample.wall, processor: sample.processor(), beside });
            }
        }
    }

    fn has_samples(&self) -> bool {
        self.series.iter().any(|series| !series.samples.is_empty())
    }

    fn has_untraced(&self) -> bool {
        !self.untraced.is_empty() || self.series.iter().any(|series| !series.untraced.is_empty())
    }

    /// Whether there are enough runs, and why, if this is not known beforehand.
    fn finished(&self, deadline: Option<u64>) -> Option<Finish> {
        let RunLimit::Adaptive(adaptive) = self.campaign.limit else {
            let late = self.campaign.aim.explains() && self.has_least_rounds() && self.is_late(deadline);
            return late.then_some(Finish::AsPlanned);
        };
        if self.alive.is_empty() {
            return Some(Finish::AsPlanned);
        }
        if self.is_at_limit(deadline) {
            return Some(Finish::TimeSpent);
        }
        let rest = nanoseconds(adaptive.time.saturating_sub(adaptive.least_time));
        let is_early = deadline.is_some_and(|deadline| clock::now().0.saturating_add(rest) < deadline);
        if !is_early && adaptive.is_precise(self.series) {
            return Some(Finish::Precise);
        }
        is_over(deadline).then_some(Finish::TimeSpent)
    }

    /// Whether the time is up, or the runs have as many events as can be explained in it.
    fn is_late(&self, deadline: Option<u64>) -> bool {
        let events = || self.series.iter().map(Series::events).sum::<usize>();
        is_over(deadline) || deadline.is_some() && events() > MAX_EVENTS
    }

    /// Whether the time is up even for the minimum number of runs.
    fn is_at_limit(&self, deadline: Option<u64>) -> bool {
        let RunLimit::Adaptive(Adaptive { limit: Some(limit), time, .. }) = self.campaign.limit else {
            return false;
        };
        let rest = nanoseconds(limit.saturating_sub(time));
        is_over(deadline.map(|deadline| deadline.saturating_add(rest)))
    }

    /// Whether every program that can be run has the minimum number of runs.
    fn has_least_rounds(&self) -> bool {
        let RunLimit::Adaptive(adaptive) = self.campaign.limit else {
            return !self.campaign.aim.explains() || self.rounds >= MIN_EXPLAINED;
        };
        self.alive.iter().all(|&program| self.series[program].samples.len() >= adaptive.least as usize)
    }

    /// The time limit. A schedule that was made to fit may take half as long again, because the first round may have been
    /// fast.
    fn deadline(&self) -> Option<u64> {
        let allowed = match self.campaign.limit {
            RunLimit::Runs(_) => return None,
            RunLimit::Time(time) | RunLimit::RunsWithin(_, time) => time + time / 2,
            RunLimit::Adaptive(adaptive) => adaptive.time,
        };
        Some(clock::now().0.saturating_add(nanoseconds(allowed)))
    }

    /// The warm-up rounds, and how long one round takes. There are none if none are wanted. To time programs, there are as
    /// many as are discarded after the tracer was attached. To explain them, they are untraced: the first run is the
    /// slowest, because it reads from disk.
    fn warm_up(&mut self) -> Result<Duration, Stop> {
        let mut round = Duration::ZERO;
        let mut done = 0;
        self.switch(self.campaign.aim == Aim::Time, 0)?;
        if self.campaign.warmup == 0 {
            return Ok(round);
        }

        self.runner.warm_up(true);
        while done < self.campaign.warmup.max(self.discarded(round)) {
            done += 1;
            let began = clock::now();
            for program in self.order() {
                match self.attempt(program)? {
                    Some((sample, _)) => self.note_tasks(program, &sample),
                    None => self.give_up(program),
                }
            }
            round = Duration::from_nanos(clock::now().0 - began.0);
        }
        self.runner.warm_up(false);
        Ok(round)
    }

    /// Each program may be the one whose events were missed.
    fn note_missed(&mut self) {
        let missed = self.runner.missed();
        self.series.iter_mut().for_each(|series| series.lost_events += missed);
    }

    /// Takes note of the processes and threads of a run.
    fn note_tasks(&mut self, program: usize, sample: &Sample) {
        let alone = sample.processes == 1 && sample.threads == 1;
        self.alone[program] = Some(self.alone[program].unwrap_or(true) && alone);
    }

    /// Programs that run alone may be placed from now on.
    fn place(&mut self) {
        for &program in self.alive.iter().filter(|program| self.alone[**program] == Some(true)) {
            let placement = self.runner.runs_alone(program);
            if let Some((conditions, placement)) = self.series[program].conditions.as_mut().zip(placement) {
                conditions.placement = placement;
            }
        }
    }

    /// Rounds that are thrown away after the last switch.
    fn discarded(&self, round: Duration) -> u32 {
        if self.traced { schedule::discarded(round, self.alive.len()) } else { 1 }
    }

    /// Attaches or detaches, and discards the runs that follow.
    fn switch(&mut self, traced: bool, discarded: u32) -> Result<(), Stop> {
        if traced == self.traced {
            return Ok(());
        }
        self.runner.switch(traced)?;
        self.traced = traced;
        for _ in 0..discarded {
            for program in self.order() {
                self.throw_away(program)?;
            }
        }
        Ok(())
    }

    fn throw_away(&mut self, program: usize) -> Result<(), Stop> {
        match self.campaign.aim {
            Aim::Time => self.once(program).map(drop),
            Aim::Explain | Aim::ExplainStopped | Aim::Sample => self.unfailing(program).map(drop),
        }
    }

    fn traced_round(&mut self) -> Result<(), Stop> {
        for program in self.order() {
            let Some((sample, recording)) = self.attempt(program)? else {
                self.give_up(program);
                continue;
            };
            let series = &mut self.series[program];
            let output = Printed::of(&recording.output);
            series.output = series.output.map_or(output, |before| output.map(|later| before.and(later)));
            series.samples.push(sample);
            if self.campaign.aim.explains() {
                series.recordings.push((self.rounds, recording));
            }
            self.progress.sampled(series);
        }
        self.rounds += 1;
        Ok(())
    }

    fn untraced_round(&mut self) -> Result<(), Stop> {
        for program in self.order() {
            match self.attempt(program)? {
                Some((sample, _)) => self.untraced.push((program, sample)),
                None => self.give_up(program),
            }
        }
        Ok(())
    }

    fn order(&mut self) -> Vec<usize> {
        schedule::round(&self.alive, &mut self.random)
    }

    /// Stops running a program that keeps failing. Runs that are explained fail for other reasons.
    fn give_up(&mut self, program: usize) {
        if self.campaign.aim == Aim::Time {
            self.alive.retain(|&alive| alive != program);
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn is_over(deadline: Option<u64>) -> bool {
    deadline.is_some_and(|deadline| clock::now().0 > deadline)
}

#[cfg(test)]
mod tests;
