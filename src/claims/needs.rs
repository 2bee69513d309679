//! What has to be measured to judge some claims: the quantities in their checks.

use super::claim::Claim;
use super::claim_programs::is_level0;
use super::quantity::{Quantity, RunState};
use crate::document::floor::Group;
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
pub struct Needs {
    quantities: BTreeSet<Quantity>,
}

impl Needs {
    pub fn of(claims: &[Claim]) -> Needs {
        let checks = claims.iter().flat_map(|claim| &claim.checks);
        Needs { quantities: checks.flat_map(|check| check.of.quantities()).collect() }
    }

    pub fn quantities(&self) -> impl Iterator<Item = Quantity> + '_ {
        self.quantities.iter().copied()
    }

    fn collect<T: Ord>(&self, of: impl Fn(Quantity) -> Option<T>) -> BTreeSet<T> {
        self.quantities().filter_map(of).collect()
    }

    /// The programs that run under a condition. Counts, overheads and file sizes come from the warm runs.
    pub fn programs(&self, state: RunState) -> BTreeSet<&'static str> {
        let running = self.running(state);
        running.into_iter().filter(|program| !is_level0(program)).collect()
    }

    /// The solutions of Level 0 that run under a condition.
    pub fn level0(&self, state: RunState) -> BTreeSet<&'static str> {
        self.running(state).into_iter().filter(|program| is_level0(program)).collect()
    }

    fn running(&self, state: RunState) -> BTreeSet<&'static str> {
        self.collect(|quantity| match quantity {
            Quantity::Time { program, state: stated, .. } => (stated == state).then_some(program),
            Quantity::Count { program, .. } | Quantity::Overhead(program) | Quantity::FileSize(program) => {
                (state == RunState::Warm).then_some(program)
            }
            _ => None,
        })
    }

    /// The programs that have to be built.
    pub fn built(&self) -> BTreeSet<&'static str> {
        self.collect(|quantity| match quantity {
            Quantity::Time { program, .. }
            | Quantity::UserTime(program)
            | Quantity::Count { program, .. }
            | Quantity::Imports { program, .. }
            | Quantity::Overhead(program)
            | Quantity::FileSize(program)
            | Quantity::TraceLines(program)
            | Quantity::LostByPerf { program, .. }
            | Quantity::AllProcessors(program) => Some(program).filter(|program| !is_level0(program)),
            _ => None,
        })
    }

    /// The programs and solutions whose user time and system time are measured apart.
    pub fn divided(&self) -> BTreeSet<&'static str> {
        self.collect(|quantity| match quantity {
            Quantity::UserTime(program) => Some(program),
            _ => None,
        })
    }

    /// The programs whose first byte is timed with fewer processors, too.
    pub fn swept(&self) -> BTreeSet<&'static str> {
        self.collect(|quantity| match quantity {
            Quantity::AllProcessors(program) => Some(program),
            _ => None,
        })
    }

    /// The parts of the floor that are needed.
    pub fn groups(&self) -> BTreeSet<Group> {
        self.collect(|quantity| match quantity {
            Quantity::Floor(figure) => Some(group(figure)),
            _ => None,
        })
    }

    /// The designs that print this number of lines.
    pub fn designs(&self, lines: u64) -> BTreeSet<&'static str> {
        self.collect(|quantity| match quantity {
            Quantity::Lines { design, count } => (count == lines).then_some(design),
            _ => None,
        })
    }

    /// The designs whose output is compared.
    pub fn compared(&self) -> BTreeSet<&'static str> {
        self.collect(|quantity| match quantity {
            Quantity::Right(design) => Some(design),
            _ => None,
        })
    }

    /// The numbers of lines that designs print.
    pub fn line_counts(&self) -> BTreeSet<u64> {
        self.collect(|quantity| match quantity {
            Quantity::Lines { count, .. } => Some(count),
            _ => None,
        })
    }
}

/// Which part of the floor a figure belongs to.
pub fn group(figure: &str) -> Group {
    match figure {
        _ if figure.starts_with("bash: ") => Group::Shells,
        _ if figure.starts_with("vfork+exec") => Group::Processes,
        _ => Group::Syscalls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims;

    fn named(names: &[&str]) -> Needs {
        Needs::of(&claims::select(&names.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap())
    }

    #[test]
    fn only_the_quantities_of_the_claims_are_measured() {
        let size = named(&["003-154-bytes"]);
        assert!(size.built().is_empty() && size.groups().is_empty() && size.line_counts().is_empty());
        let hundredfold = named(&["000-hundredfold"]);
        assert_eq!(
            hundredfold.programs(RunState::Warm),
            BTreeSet::from(["c-printf", "java", "node", "ruby"])
        );
        assert!(hundredfold.programs(RunState::Cold).is_empty());
        assert_eq!(named(&["003-loop-16-us"]).groups(), BTreeSet::from([Group::Shells]));
    }

    #[test]
    fn only_the_designs_that_a_claim_names_print_a_number_of_lines() {
        let buffered = named(&["002-table-buffered"]);
        for count in [5_000_000, 17_500_000] {
            assert_eq!(buffered.designs(count), BTreeSet::from(["asm-v2", "go-v2"]));
        }
        assert!(buffered.designs(1).is_empty() && buffered.compared().is_empty());
    }

    #[test]
    fn every_program_that_a_claim_names_exists() {
        let corpus = crate::corpus::Corpus::load(None).unwrap();
        let stated = claims::claim_programs::programs().unwrap();
        for name in Needs::of(&claims::all()).built() {
            let known = corpus.find(name).is_some() || stated.iter().any(|program| program.name() == name);
            assert!(known, "{name}");
        }
    }

    #[test]
    fn every_design_that_a_claim_names_exists() {
        let designs = crate::throughput::design::programs().unwrap();
        let needs = Needs::of(&claims::all());
        let counted = needs.line_counts().into_iter().flat_map(|count| needs.designs(count));
        for name in counted.chain(needs.compared()) {
            assert!(designs.iter().any(|design| design.name() == name), "{name}");
        }
    }
}
