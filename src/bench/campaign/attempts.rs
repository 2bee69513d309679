//! One run of a program: made again until it counts, or until it is clear that none does.

use super::{State, Stop, TRIES};
use crate::bench::error::{ExperimentError, not_reached, one_line};
use crate::bench::runner::LAST_LINES;
use crate::bench::sample::Sample;
use crate::bench::schedule::Aim;
use crate::bench::validity::{self, TRACED};
use crate::document::series::Rejected;
use crate::output::visible;
use firstbyte_measure::launch::{LaunchError, interrupt};
use firstbyte_measure::timeline::Timeline;
use firstbyte_measure::tracer::Recording;

impl State<'_> {
    /// Runs a program until a run counts; `None` if none did.
    pub(super) fn attempt(&mut self, program: usize) -> Result<Option<(Sample, Recording)>, Stop> {
        let run = match self.campaign.aim {
            Aim::Time => self.repeated(program),
            Aim::Explain | Aim::ExplainStopped | Aim::Sample => self.unrepeated(program),
        }?;
        if let Some((sample, _)) = run.as_ref().filter(|_| !self.traced) {
            self.series[program].untraced_exit.get_or_insert(sample.exit);
        }
        Ok(run)
    }

    /// Runs a program until a run counts; `None` if none of [`TRIES`] did.
    fn repeated(&mut self, program: usize) -> Result<Option<(Sample, Recording)>, Stop> {
        let accepted = self.series[program].accepted;
        let mut by_ptrace = false;

        for _ in 0..TRIES {
            let (reason, stderr) = match self.once(program)? {
                Ok(recording) => {
                    by_ptrace =
                        recording.backend.stops_tracee() && validity::program_failed(&recording, accepted);
                    self.series[program].lost_events += recording.lost;
                    if recording.backend.stops_tracee() {
                        self.series[program].stopped_writes = recording.output_writes();
                    }
                    match validity::sample(&recording, accepted) {
                        Ok(sample) => {
                            self.series[program].left_behind |= recording.left_behind;
                            return Ok(Some((sample, recording)));
                        }
                        Err(reason) => (reason, recording.output.last_errors(LAST_LINES)),
                    }
                }
                Err(LaunchError::NotReached { awaited, last }) => (not_reached(&awaited), last),
                Err(error) => (one_line(&error.to_string()), Vec::new()),
            };
            self.reject(program, reason, stderr);
        }

        if by_ptrace && self.succeeds_untraced(program)? {
            let rejected = &mut self.series[program].rejected;
            let failed = rejected.len().saturating_sub(TRIES as usize);
            for run in &mut rejected[failed..] {
                let reason = &run.reason;
                run.reason =
                    format!("{reason} when traced, but not when untraced: {TRACED} (help: --backend pipe)");
            }
        }
        Ok(None)
    }

    /// Runs a program once. A run that lost events does not count.
    fn unrepeated(&mut self, program: usize) -> Result<Option<(Sample, Recording)>, Stop> {
        let recording = self.unfailing(program)?;
        self.series[program].lost_events += recording.lost;
        let verdict = match recording.lost {
            0 => validity::sample(&recording, self.series[program].accepted),
            lost => Err(format!("{lost} events were lost ({})", Recording::HELP_FOR_LOST)),
        };
        match verdict {
            Ok(sample) => Ok(Some((sample, recording))),
            Err(reason) => {
                self.reject(program, reason, recording.output.last_errors(LAST_LINES));
                Ok(None)
            }
        }
    }

    /// Makes one run. If it fails, it ends the campaign, because all other runs would also fail.
    pub(super) fn unfailing(&mut self, program: usize) -> Result<Recording, Stop> {
        let recording = self.once(program)?.map_err(|error| match error {
            LaunchError::NotReached { awaited, last } => {
                let command = visible(&self.series[program].name);
                let last = last.iter().map(|line| visible(line)).collect();
                ExperimentError::NotReached { command, awaited, last }
            }
            error => ExperimentError::Run(error),
        })?;
        if interrupt::interrupted().is_some() {
            return Err(Stop::Interrupted);
        }
        let Some(killed) = recording.killed.filter(|_| !recording.suspended) else { return Ok(recording) };
        let command = visible(&recording.command.join(" "));
        let after = Timeline::of(&recording).map(|timeline| timeline.wall).unwrap_or_default();
        Err(ExperimentError::Killed { command, after, killed }.into())
    }

    /// Makes one more run of a program that failed whenever it was traced. It shows whether the tracing makes it fail.
    fn succeeds_untraced(&mut self, program: usize) -> Result<bool, Stop> {
        self.runner.switch(false)?;
        let run = self.once(program)?;
        self.runner.switch(true)?;
        let accepted = self.series[program].accepted;
        Ok(run.is_ok_and(|recording| validity::flaw(&recording, accepted).is_none()))
    }

    /// Makes one run, with any result. A run during which we were stopped is made again, and so is one that we observed too
    /// late. On an idle machine that happens to some runs in a thousand; on a busy one, the last try counts.
    pub(super) fn once(&mut self, program: usize) -> Result<Result<Recording, LaunchError>, Stop> {
        for _ in 1..TRIES {
            match self.tried(program)? {
                Ok(recording) if recording.suspended => {
                    self.reject(program, validity::SUSPENDED.to_owned(), Vec::new());
                }
                Ok(recording) if recording.late => {}
                run => return Ok(run),
            }
        }
        self.tried(program)
    }

    fn tried(&mut self, program: usize) -> Result<Result<Recording, LaunchError>, Stop> {
        let run = self.runner.run(program);
        self.progress.ran(&self.series[program].name);
        match run {
            Err(LaunchError::Interrupted) => Err(Stop::Interrupted),
            // No other run of any program would succeed, and a process that cannot be killed would not be the last.
            Err(error) if error.is_machine_failure() && self.campaign.aim == Aim::Time => {
                Err(ExperimentError::machine(error).into())
            }
            run => Ok(run),
        }
    }

    fn reject(&mut self, program: usize, reason: String, stderr: Vec<String>) {
        let series = &mut self.series[program];
        let run = u32::try_from(series.samples.len()).unwrap_or(u32::MAX);
        series.rejected.push(Rejected { run, reason, stderr });
    }
}
