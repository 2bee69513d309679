//! The results of one group.

use super::FloorError;
use super::batch::{self, BatchResult, Microbenchmark, RoundPlan};
use super::syscalls::{Candidate, Remark};
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
        let (mut benchmarks, mut remarks): (Vec<Microbenchmark>, Vec<Remark>) = (Vec::new(), Vec::new());
        for candidate in candidates {
            match candidate {
                Ok((benchmark, remark)) => {
                    benchmarks.push(benchmark);
                    remarks.push(remark);
                }
                Err((name, error)) => result.missing.push(Missing { group, name, reason: error.line() }),
            }
        }

        let (measured, overhead) = batch::measure(&mut benchmarks, rounds)?;
        result.overhead = overhead;

        for ((benchmark, remark), measured) in benchmarks.iter().zip(&remarks).zip(measured) {
            result.take(group, &benchmark.name, *remark, measured);
        }
        Ok(result)
    }

    fn take(&mut self, group: Group, name: &str, remark: Remark, result: BatchResult) {
        match result {
            Ok(measured) => self.figures.extend(
                measured.figure(group, name).map(|figure| figure.lmbench(remark.lmbench).note(remark.note)),
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
