//! From readings to a verdict. Pure.

use super::check::Check;
use super::claim::Claim;
use super::evidence::{Evidence, Lack, Reading};
use crate::document::claims::ClaimVerdict;

/// Whether a value lies within its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// All of its interval does.
    Yes,
    /// Nothing of it does.
    No,
    /// A part of it does.
    Perhaps,
}

/// What became of one check.
#[derive(Clone, Debug)]
pub struct CheckOutcome {
    /// The check.
    pub check: Check,
    /// Its value; or why there is none.
    pub reading: Result<Reading, Lack>,
}

impl CheckOutcome {
    /// Whether the value lies within the limits; `None` without a value.
    pub fn met(&self) -> Option<Met> {
        let reading = self.reading.as_ref().ok()?;
        let Check { low, high, .. } = self.check;
        Some(if low <= reading.low && reading.high <= high {
            Met::Yes
        } else if reading.high < low || high < reading.low {
            Met::No
        } else {
            Met::Perhaps
        })
    }
}

/// A claim's verdict, and what it rests on.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// One a check.
    pub outcomes: Vec<CheckOutcome>,
    /// The explanation, one line.
    pub why: String,
    /// The command that would make it testable.
    pub install: Option<String>,
}

/// What the evidence says of a claim. One check that is surely missed refutes it, whatever is not known beside.
pub fn judge(claim: &Claim, evidence: &Evidence) -> Judgement {
    let outcome =
        |check: &Check| CheckOutcome { check: check.clone(), reading: evidence.evaluate(&check.of) };
    let outcomes: Vec<CheckOutcome> = claim.checks.iter().map(outcome).collect();
    if outcomes.iter().any(|outcome| outcome.met() == Some(Met::No)) {
        return Judgement {
            verdict: ClaimVerdict::DoesNotHold,
            outcomes,
            why: claim.fails.to_owned(),
            install: None,
        };
    }
    if claim.checks.is_empty() {
        let why = claim.fails.to_owned();
        return Judgement { verdict: ClaimVerdict::CannotBeTested, outcomes, why, install: None };
    }
    if let Some(lack) =
        outcomes.iter().filter(|o| o.check.has_limits()).find_map(|o| o.reading.as_ref().err())
    {
        let (why, install) = (lack.reason.clone(), lack.install.clone());
        return Judgement { verdict: ClaimVerdict::CannotBeTested, outcomes, why, install };
    }
    let uncertain = outcomes.iter().find(|outcome| outcome.met() == Some(Met::Perhaps));
    if let Some(uncertain) = uncertain {
        let why = format!("too uncertain in these runs: {} may or may not be met", uncertain.check.name);
        return Judgement { verdict: ClaimVerdict::CannotBeTested, outcomes, why, install: None };
    }
    Judgement { verdict: ClaimVerdict::Holds, outcomes, why: claim.holds.to_owned(), install: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::quantity::{Counted, Quantity, Span, State};
    use crate::claims::select;

    fn claim(id: &str) -> Claim {
        select(&[id.to_owned()]).unwrap().remove(0)
    }

    fn total(program: &'static str) -> Quantity {
        Quantity::Time { program, span: Span::Total, state: State::Warm }
    }

    /// Runs in turn whose medians are these, with a spread of some per cent.
    fn runs(median: f64) -> Reading {
        Reading::of([0.98, 1.0, 1.02, 0.99, 1.01].map(|part| part * median).to_vec()).unwrap()
    }

    /// Medians of a showdown, in nanoseconds: Intel Xeon, Linux 6.18, 2026-11-21.
    fn showdown() -> Evidence {
        let recorded = [
            ("c-printf", 603_900.0),
            ("java", 46.8e6),
            ("ruby", 63.7e6),
            ("node", 100.2e6),
            ("c-write", 561_200.0),
        ];
        let mut evidence = Evidence::default();
        for (program, median) in recorded {
            evidence.insert(total(program), runs(median));
        }
        evidence
    }

    #[test]
    fn a_claim_whose_values_lie_within_its_limits_holds() {
        let judgement = judge(&claim("000-hundredfold"), &showdown());
        assert_eq!(judgement.verdict, ClaimVerdict::Holds);
        assert_eq!(judgement.outcomes.len(), 3);
        assert!(judgement.outcomes.iter().all(|outcome| outcome.met() == Some(Met::Yes)));
    }

    #[test]
    fn a_claim_of_which_one_value_lies_outside_does_not_hold() {
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
    fn a_claim_of_which_something_is_unknown_cannot_be_tested_unless_it_is_refuted_already() {
        let mut evidence = Evidence::default();
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
    fn a_value_whose_interval_reaches_over_a_limit_decides_nothing() {
        let mut evidence = Evidence::default();
        evidence.insert(
            Quantity::Floor("bash: `:`, for i in $(seq N)"),
            Reading::with_interval(12e3, 11e3, 13e3),
        );
        let judgement = judge(&claim("003-loop-16-us"), &evidence);
        assert_eq!(judgement.verdict, ClaimVerdict::CannotBeTested);
        assert!(judgement.why.contains("may or may not"), "{}", judgement.why);
        evidence.insert(
            Quantity::Floor("bash: `:`, for i in $(seq N)"),
            Reading::with_interval(1.4e3, 1.3e3, 1.5e3),
        );
        assert_eq!(judge(&claim("003-loop-16-us"), &evidence).verdict, ClaimVerdict::DoesNotHold);
    }

    #[test]
    fn what_is_only_shown_decides_nothing() {
        let mut evidence = Evidence::default();
        for (program, processes) in [("c-printf", 1.0), ("java", 16.0), ("ruby", 3.0), ("node", 7.0)] {
            let processes_of = Quantity::Count { program, counted: Counted::Processes };
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
        let judgement = judge(&claim("003-floor-10-ms"), &Evidence::default());
        assert_eq!(judgement.verdict, ClaimVerdict::CannotBeTested);
        assert!(judgement.why.contains("phone"));
    }
}
