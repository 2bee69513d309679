//! The course of a trace: from a plan and a command to the finished analysis, in one call.
//!
//! | file | what it does |
//! |---|---|
//! | `mod.rs` | [`Tracing`]: the tracer is chosen, the runs are made, and the analysis gets what each kind of run found out |
//! | [`plan`] | how the runs are made, and which kinds of runs |
//! | [`runs`] | traced runs, alternating with untraced ones, or with those of another command |
//! | [`sampling`] | runs whose user code is sampled |
//! | [`runtimes`] | one run in which language runtimes report what they load |
//! | [`replayed`], [`started`] | analyses of what was traced elsewhere: a recording, or starts during a watch |

mod error;
mod plan;
mod replayed;
mod runs;
mod runtimes;
mod sampling;
mod started;

pub use error::TraceError;
pub use plan::{Beside, TracePlan};
pub use replayed::{Replayed, replayed};
pub use started::{Started, started};

use crate::analysis::TraceAnalysis;
use crate::analysis::correction::ObserverCosts;
use crate::analysis::findings::TRAP;
use crate::analysis::runs::ObservedRuns;
use crate::analysis::trace_analysis::UsedTracer;
use crate::bench::Progress;
use firstbyte_measure::launch::{Command, interrupt};
use firstbyte_measure::tracer::full::{FullTracer, choose_full};

/// The kinds of work of a trace, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Tracing,
    Counting,
    Sampling,
    Asking,
    Calibrating,
}

/// Receives the progress of a trace.
pub trait TraceProgress {
    /// A stage begins. It ends when the result is dropped.
    fn begin(&mut self, stage: Stage) -> Box<dyn Progress>;
}

/// A tracer that is ready, and how it is to be used.
pub struct Tracing<'p> {
    plan: &'p TracePlan,
    tracer: Box<dyn FullTracer>,
    used: UsedTracer,
    progress: &'p mut dyn TraceProgress,
}

impl<'p> Tracing<'p> {
    /// Chooses the tracer. The process must be ready to launch programs.
    pub fn begin(
        plan: &'p TracePlan,
        progress: &'p mut dyn TraceProgress,
    ) -> Result<Tracing<'p>, TraceError> {
        let mut chosen = choose_full(plan.backend, plan.ring)?;
        chosen.tracer.record_contents(plan.contents);
        let used = UsedTracer {
            backend: chosen.tracer.backend(),
            reason: chosen.reason,
            sees_faults: chosen.tracer.sees_faults(),
        };
        Ok(Tracing { plan, tracer: chosen.tracer, used, progress })
    }

    /// Traces a command. `first` gets what the traced runs say, before functions are sampled. If the user interrupts it after the
    /// first traced run, the analysis has what was found until then.
    pub fn trace<E: From<TraceError>>(
        &mut self,
        command: &Command,
        first: impl FnOnce(&TraceAnalysis) -> Result<(), E>,
    ) -> Result<TraceAnalysis, E> {
        let mut observed = self.observe([command.clone()])?;
        self.look_for_user_code(std::slice::from_ref(command), &mut observed)?;
        let costs = self.calibrate(&mut observed)?;
        let [observed] = observed;
        let mut analysis = self.analyse(command, observed, costs)?;
        first(&analysis)?;
        self.look_beside(&mut analysis, command)?;
        Ok(analysis)
    }

    /// Traces two commands that alternate.
    pub fn trace_both(&mut self, commands: &[Command; 2]) -> Result<[TraceAnalysis; 2], TraceError> {
        let mut observed = self.observe(commands.clone())?;
        self.look_for_user_code(commands, &mut observed)?;
        let costs = self.calibrate(&mut observed)?;
        let [first, second] = observed;
        let mut one = |command: &Command, observed| {
            let mut analysis = self.analyse(command, observed, costs)?;
            self.look_beside(&mut analysis, command)?;
            Ok::<_, TraceError>(analysis)
        };
        Ok([one(&commands[0], first)?, one(&commands[1], second)?])
    }

    fn observe<const N: usize>(&mut self, commands: [Command; N]) -> Result<[ObservedRuns; N], TraceError> {
        let mut shown = self.progress.begin(Stage::Tracing);
        Ok(runs::observe(commands, self.plan, &mut *self.tracer, &mut *shown)?)
    }

    /// Asks samples how much of each run is user code, where the observation hides it.
    fn look_for_user_code(
        &mut self,
        commands: &[Command],
        observed: &mut [ObservedRuns],
    ) -> Result<(), TraceError> {
        for (command, runs) in commands.iter().zip(observed) {
            let corrects = runs.by_ptrace() || self.plan.beside.costs;
            let wanted = self.plan.beside.samples && corrects && !runs.interrupted;
            let wall = runs.hidden_wall().filter(|_| wanted);
            let Some(wall) = wall else { continue };
            let mut shown = self.progress.begin(Stage::Calibrating);
            let user = sampling::user_time(command.clone(), self.plan, wall, &mut *shown);
            match user.map_err(TraceError::from) {
                Err(error) if error.is_interruption() => runs.interrupted = true,
                user => runs.user = user?,
            }
        }
        Ok(())
    }

    fn analyse(
        &self,
        command: &Command,
        observed: ObservedRuns,
        costs: Option<ObserverCosts>,
    ) -> Result<TraceAnalysis, TraceError> {
        let name = command.words().join(" ");
        let analysis = || TraceAnalysis::of(&name, observed, self.used.clone(), self.plan.along, costs);
        interrupt::while_nothing_runs(analysis).map_err(TraceError::NothingCounts)
    }

    /// Adds what other runs than the traced ones find out.
    fn look_beside(&mut self, analysis: &mut TraceAnalysis, command: &Command) -> Result<(), TraceError> {
        if self.plan.beside.cpuid && !analysis.observed.interrupted {
            self.count(analysis, command);
        }
        let stages = [Tracing::sample, Tracing::ask];
        for stage in stages {
            if analysis.observed.interrupted {
                break;
            }
            match stage(self, analysis, command) {
                Err(error) if error.is_interruption() => analysis.observed.interrupted = true,
                done => done?,
            }
        }
        Ok(())
    }

    /// Counts CPUID instructions.
    fn count(&mut self, analysis: &mut TraceAnalysis, command: &Command) {
        let _shown = self.progress.begin(Stage::Counting);
        analysis.cpuid = runs::count_cpuids(command, TRAP, analysis.summary.total.median);
        analysis.observed.interrupted = interrupt::interrupted().is_some();
    }

    /// Names the functions of user code.
    fn sample(&mut self, analysis: &mut TraceAnalysis, command: &Command) -> Result<(), TraceError> {
        if self.plan.beside.samples {
            let mut shown = self.progress.begin(Stage::Sampling);
            let sampled = sampling::sample(
                command.clone(),
                self.plan,
                (analysis.expected(), analysis.sampling_wish(), &analysis.interpreters()),
                &mut *shown,
            )?;
            interrupt::while_nothing_runs(|| analysis.add_samples(sampled, self.plan.by));
        }
        Ok(())
    }

    /// Asks the language runtimes what they load.
    fn ask(&mut self, analysis: &mut TraceAnalysis, command: &Command) -> Result<(), TraceError> {
        let runtimes = analysis.runtimes();
        if self.plan.beside.reports && !runtimes.is_empty() {
            let _shown = self.progress.begin(Stage::Asking);
            analysis.add_reports(runtimes::reports(command, self.plan, &runtimes)?);
        }
        Ok(())
    }

    /// Measures the cost of observing, where this backend can.
    fn calibrate(&mut self, observed: &mut [ObservedRuns]) -> Result<Option<ObserverCosts>, TraceError> {
        let is_interrupted = observed.iter().any(|runs| runs.interrupted);
        if !self.plan.beside.costs || is_interrupted {
            return Ok(None);
        }
        let _shown = self.progress.begin(Stage::Calibrating);
        let Some(each) = self.tracer.event_costs()? else { return Ok(None) };
        let smallest = runs::observe_smallest(self.plan, &mut *self.tracer).map_err(TraceError::from);
        let smallest = match smallest {
            Err(error) if error.is_interruption() => {
                for runs in observed {
                    runs.interrupted = true;
                }
                None
            }
            smallest => smallest?,
        };
        Ok(Some(ObserverCosts::new(each, smallest.as_ref())))
    }
}
