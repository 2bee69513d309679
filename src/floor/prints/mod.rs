//! The first and the hundredth print of programs that time themselves, seen from inside and from outside.
//!
//! Hello World Overdone times one `printf` in C by `CLOCK_PROCESS_CPUTIME_ID` and one `puts` in Ruby by its wall clock,
//! and finds Ruby ten times as fast. Its Ruby program had printed before (the marker), its C program had not: work that
//! C does once, in the first call, was taken for the cost of each call. So here every program prints a hundred times,
//! and writes its marker without the library that is timed. Each program reports the first and the hundredth print by
//! the best clock of its language, and the cost of two clock readings with nothing between them, which is subtracted.
//! In other runs a tracer sees the writes: a print lasts from the return of the write before it to the return of its
//! own.

mod print_programs;
mod print_runs;
mod section;

pub use print_programs::measure;
pub use print_runs::TimedProgram;

use super::{Effort, FloorError};
use crate::document::floor::{Group, Missing, Print};
use firstbyte_measure::launch::interrupt;
use firstbyte_measure::tracer::full::FullTracer;
use print_runs::Runs;

/// Written by each program before it prints, without the library that prints: it marks the beginning of the prints in a
/// trace.
pub const MARKER: &str = ">>>> before print >>>>>\n";
/// One print.
pub const LINE: &str = "hello world\n";
/// The number of prints.
pub const PRINTS: u64 = 100;

/// Rounds of all programs, untraced and then traced.
pub struct Prints {
    pub effort: Effort,
    /// Seed of the random order.
    pub seed: u64,
    /// Sees the prints from outside, if this machine has a tracer that can.
    pub tracer: Option<Box<dyn FullTracer>>,
}

impl Prints {
    pub fn measure(mut self, programs: Vec<TimedProgram>) -> Result<(Vec<Print>, Vec<Missing>), FloorError> {
        let (mut runs, mut missing) = (Vec::new(), Vec::new());
        for program in programs {
            let label = program.label.clone();
            match Runs::new(program) {
                Ok(prepared) => runs.push(prepared),
                Err(error) => missing.push(lack(&label, first_line(&error.to_string()))),
            }
        }

        self.rounds(&mut runs)?;

        let mut prints = Vec::new();
        for run in runs {
            missing.extend(run.missing());
            prints.extend(run.print(self.tracer.as_deref()));
        }
        Ok((prints, missing))
    }

    fn rounds(&mut self, runs: &mut [Runs]) -> Result<(), FloorError> {
        let rounds = if self.effort == Effort::Quick { 7 } else { 31 };
        let mut random = fastrand::Rng::with_seed(self.seed);
        let mut order: Vec<usize> = (0..runs.len()).collect();
        let mut round = |runs: &mut [Runs], one: &mut dyn FnMut(&mut Runs)| {
            random.shuffle(&mut order);
            for &index in &order {
                if interrupt::interrupted().is_some() {
                    return Err(FloorError::Interrupted);
                }
                one(&mut runs[index]);
            }
            Ok(())
        };

        for number in 0..=rounds {
            round(runs, &mut |run| run.untraced(number > 0))?;
        }

        let Some(tracer) = self.tracer.as_deref_mut() else { return Ok(()) };
        if tracer.attach().is_err() {
            return Ok(());
        }
        let done = (0..=rounds).try_for_each(|n| round(runs, &mut |run| run.traced(tracer, n > 0)));
        let _ = tracer.detach();
        done
    }
}

fn lack(label: &str, reason: String) -> Missing {
    Missing { group: Group::Prints, name: label.to_owned(), reason }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
