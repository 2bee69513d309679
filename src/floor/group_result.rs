//! The results of one group.

use super::FloorError;
use super::batch::{self, BatchResult, Microbenchmark, RoundPlan};
use super::syscalls::{Candidate, FigureText};
use crate::document::floor::{BatchOverhead, Figure, Group, Missing, Waterfall};

#[derive(Debug, Default)]
pub struct GroupResult {
    pub figures: Vec<Figure>,
    pub missing: Vec<Missing>,
    pub waterfall: Option<Waterfall>,
    /// The cost of the clock and of the loop in these rounds.
    pub overhead: BatchOverhead,
}

impl GroupResult {
    /// Measures all candidates in the same rounds.
    pub(super) fn measure(
        group: Group,
        candidates: Vec<Candidate>,
        rounds: &RoundPlan,
    ) -> Result<GroupResult, FloorError> {
        let mut result = GroupResult::default();
        let (mut benchmarks, mut texts): (Vec<Microbenchmark>, Vec<FigureText>) = (Vec::new(), Vec::new());
        for candidate in candidates {
            match candidate {
                Ok((benchmark, text)) => {
                    benchmarks.push(benchmark);
                    texts.push(text);
                }
                Err((name, error)) => result.missing.push(Missing { group, name, reason: error.line() }),
            }
        }

        let (measured, overhead) = batch::measure(&mut benchmarks, rounds)?;
        result.overhead = overhead;

        for ((benchmark, text), measured) in benchmarks.iter().zip(&texts).zip(measured) {
            result.take(group, &benchmark.name, *text, measured);
        }
        Ok(result)
    }

    fn take(&mut self, group: Group, name: &str, text: FigureText, result: BatchResult) {
        match result {
            Ok(measured) => self.figures.extend(
                measured.figure(group, name).map(|figure| figure.lmbench(text.lmbench).note(text.note)),
            ),
            Err(reason) => self.missing.push(Missing { group, name: name.to_owned(), reason }),
        }
    }

    /// Adds the figures of another result, and what is missing from it.
    pub(super) fn extend(&mut self, other: GroupResult) {
        self.figures.extend(other.figures);
        self.missing.extend(other.missing);
    }
}
