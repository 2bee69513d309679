//! Turns readings into a verdict. Pure.

use super::claim::Claim;
use super::evidence::{ClaimEvidence, Lack, Reading};
use super::limit_check::LimitCheck;
use crate::document::claims::ClaimVerdict;

/// Whether a value is within its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// All of its interval is.
    Yes,
    /// No part of it is.
    No,
    /// A part of it is.
    Perhaps,
}

#[derive(Clone, Debug)]
pub struct CheckOutcome {
    pub check: LimitCheck,
    /// Its value, or why there is none.
    pub reading: Result<Reading, Lack>,
}

impl CheckOutcome {
    /// Whether the value is within the limits; `None` without a value.
    pub fn met(&self) -> Option<Met> {
        let reading = self.reading.as_ref().ok()?;
        let LimitCheck { low, high, .. } = self.check;
        Some(if low <= reading.low && reading.high <= high {
            Met::Yes
        } else if reading.high < low || high < reading.low {
            Met::No
        } else {
            Met::Perhaps
        })
    }
}

/// The verdict on a claim, and the reasons for it.
#[derive(Clone, Debug)]
pub struct Judgement {
    pub verdict: ClaimVerdict,
    pub outcomes: Vec<CheckOutcome>,
    /// The explanation, one line.
    pub why: String,
    /// The command that would make the claim testable.
    pub install: Option<String>,
}

/// Judges a claim. One check that is surely missed refutes it, even if other values are not known.
pub fn judge(claim: &Claim, evidence: &ClaimEvidence) -> Judgement {
    let outcome =
        |check: &LimitCheck| CheckOutcome { check: check.clone(), reading: evidence.evaluate(&check.of) };
    decide(claim, claim.checks.iter().map(outcome).collect())
}

fn decide(claim: &Claim, outcomes: Vec<CheckOutcome>) -> Judgement {
    let first = |met: Met| outcomes.iter().find(|outcome| outcome.met() == Some(met));
    let unknown = || {
        let mut deciding = outcomes.iter().filter(|outcome| outcome.check.has_limits());
        deciding.find_map(|outcome| outcome.reading.as_ref().err())
    };

    let (verdict, why, install) = if first(Met::No).is_some() {
        (ClaimVerdict::DoesNotHold, claim.fails.to_owned(), None)
    } else if claim.checks.is_empty() {
        (ClaimVerdict::CannotBeTested, claim.fails.to_owned(), None)
    } else if let Some(lack) = unknown() {
        (ClaimVerdict::CannotBeTested, lack.reason.clone(), lack.install.clone())
    } else if let Some(uncertain) = first(Met::Perhaps) {
        (ClaimVerdict::CannotBeTested, too_uncertain(&uncertain.check), None)
    } else {
        (ClaimVerdict::Holds, claim.holds.to_owned(), None)
    };
    Judgement { verdict, outcomes, why, install }
}

fn too_uncertain(check: &LimitCheck) -> String {
    format!(
        "too uncertain in these runs: only a part of the interval of \"{}\" is within its limits",
        check.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::quantity::{CountKind, Quantity, RunState, TimedPart};
    use crate::claims::select;

    fn claim(id: &str) -> Claim {
        select(&[id.to_owned()]).unwrap().remove(0)
    }

    fn total(program: &'static str) -> Quantity {
        Quantity::Time { program, span: TimedPart::Total, state: RunState::Warm }
    }

    /// Runs with this median and a spread of some per cent.
    fn runs(median: f64) -> Reading {
        Reading::of([0.98, 1.0, 1.02, 0.99, 1.01].map(|part| part * median).to_vec()).unwrap()
    }

    /// Medians of a showdown, in nanoseconds: Intel Xeon, Linux 6.18, 2026-11-21.
    fn showdown() -> ClaimEvidence {
        let recorded = [
            ("c-printf", 603_900.0),
            ("java", 46.8e6),
            ("ruby", 63.7e6),
            ("node", 100.2e6),
            ("c-write", 561_200.0),
        ];
        let mut evidence = ClaimEvidence::default();
        for (program, median) in recorded {
            evidence.insert(total(program), runs(median));
        }
        evidence
    }

    #[test]
    fn a_claim_whose_values_are_within_its_limits_holds() {
        let judgement = judge(&claim("000-hundredfold"), &showdown());
        assert_eq!(judgement.verdict, ClaimVerdict::Holds);
        assert_eq!(judgement.outcomes.len(), 3);
        assert!(judgement.outcomes.iter().all(|outcome| outcome.met() == Some(Met::Yes)));
    }

    #[test]
    fn a_claim_with_one_value_outside_its_limits_does_not_hold() {
        let judgement = judge(&claim("000-slowest-javascript"), &showdown());
        assert_eq!(judgement.verdict, ClaimVerdict::DoesNotHold, "Ruby took longer than Java");
        let missed: Vec<&str> = judgement
            .outcomes
            .iter()
            .filter(|outcome| outcome.met() == Some(Met::No))
            .map(|outcome| outcome.check.name.as_str())
            .collect();
        assert_eq!(missed, ["Java over Ruby"]);
    }

    #[test]
    fn a_claim_with_an_unknown_value_cannot_be_tested_unless_another_one_refutes_it() {
        let mut evidence = ClaimEvidence::default();
        evidence.insert(total("c-printf"), runs(600_000.0));
        evidence.insert(total("ruby"), runs(60e6));
        evidence.lack(total("java"), Lack::because("`java` is not in PATH"));
        evidence.lack(total("node"), Lack::because("`node` is not in PATH"));
        let judgement = judge(&claim("000-hundredfold"), &evidence);
        assert_eq!(
            (judgement.verdict, &*judgement.why),
            (ClaimVerdict::CannotBeTested, "`java` is not in PATH")
        );
        evidence.insert(total("ruby"), runs(600e6));
        assert_eq!(judge(&claim("000-hundredfold"), &evidence).verdict, ClaimVerdict::DoesNotHold);
    }

    #[test]
    fn a_claim_with_an_interval_across_a_limit_cannot_be_tested() {
        let mut evidence = ClaimEvidence::default();
        evidence.insert(
            Quantity::Floor("bash: `:`, for i in $(seq N)"),
            Reading::with_interval(12e3, 11e3, 13e3),
        );
        let judgement = judge(&claim("003-loop-16-us"), &evidence);
        assert_eq!(judgement.verdict, ClaimVerdict::CannotBeTested);
        assert!(judgement.why.contains("only a part of the interval of"), "{}", judgement.why);
        evidence.insert(
            Quantity::Floor("bash: `:`, for i in $(seq N)"),
            Reading::with_interval(1.4e3, 1.3e3, 1.5e3),
        );
        assert_eq!(judge(&claim("003-loop-16-us"), &evidence).verdict, ClaimVerdict::DoesNotHold);
    }

    #[test]
    fn a_value_without_limits_decides_nothing() {
        let mut evidence = ClaimEvidence::default();
        for (program, processes) in [("c-printf", 1.0), ("java", 16.0), ("ruby", 3.0), ("node", 7.0)] {
            let processes_of = Quantity::Count { program, counted: CountKind::Processes };
            evidence.insert(processes_of, Reading::exact(processes));
        }
        assert_eq!(
            judge(&claim("000-processes"), &evidence).verdict,
            ClaimVerdict::Holds,
            "threads are not known"
        );
    }

    #[test]
    fn a_claim_that_needs_another_machine_says_so() {
        let judgement = judge(&claim("003-floor-10-ms"), &ClaimEvidence::default());
        assert_eq!(judgement.verdict, ClaimVerdict::CannotBeTested);
        assert!(judgement.why.contains("phone"));
    }
}
