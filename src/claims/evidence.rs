//! What was measured, by quantity. All claims share it.

use super::quantity::{Expression, Operator, PairedRounds, Quantity};
use crate::stats::{Bootstrap, Interval, quantile};
use std::collections::BTreeMap;
use std::fmt::Display;

/// More than the usual 95 %, because there are many verdicts.
const CONFIDENCE: f64 = 0.99;

/// A value with its spread.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The median.
    pub value: f64,
    /// The lower end of its 99 % bootstrap interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// One value for each run; empty if there are no runs behind the value.
    samples: Vec<f64>,
    rounds: Option<PairedRounds>,
}

impl Reading {
    /// The median of runs; `None` of fewer than two, which have no spread.
    pub fn of(samples: Vec<f64>) -> Option<Reading> {
        if samples.len() < 2 {
            return None;
        }
        let bootstrap = Bootstrap { confidence: CONFIDENCE, ..Bootstrap::default() };
        let Interval { low, high } = bootstrap.median_interval(&samples)?;
        let value = quantile::median(&quantile::sorted(&samples)?)?;
        Some(Reading { value, low, high, samples, rounds: None })
    }

    /// A value that does not vary.
    pub fn exact(value: f64) -> Reading {
        Reading { value, low: value, high: value, samples: Vec::new(), rounds: None }
    }

    /// A value whose interval is known already.
    pub fn with_interval(value: f64, low: f64, high: f64) -> Reading {
        Reading { value, low, high, samples: Vec::new(), rounds: None }
    }

    /// Combines two readings: run by run if both come from the same rounds, else by their intervals.
    fn combined(&self, operator: Operator, other: &Reading) -> Option<Reading> {
        let same_rounds = self.rounds.is_some() && self.rounds == other.rounds;
        if same_rounds && self.samples.len() == other.samples.len() && !self.samples.is_empty() {
            let pairs = self.samples.iter().zip(&other.samples);
            let each = pairs.map(|(a, b)| operator.apply(*a, *b)).collect();
            return Reading::of(each).map(|reading| Reading { rounds: self.rounds, ..reading });
        }

        // a ratio has no bounds if the divisor may be 0
        if operator == Operator::Divide && other.low <= 0.0 && other.high >= 0.0 {
            return None;
        }

        let ends = [
            operator.apply(self.low, other.low),
            operator.apply(self.low, other.high),
            operator.apply(self.high, other.low),
            operator.apply(self.high, other.high),
        ];
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let combined = Reading::with_interval(operator.apply(self.value, other.value), low, high);
        [combined.value, low, high].iter().all(|number| number.is_finite()).then_some(combined)
    }
}

/// Why a value is not known here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// One lower-case line.
    pub reason: String,
    /// The command that would help.
    pub install: Option<String>,
}

impl Lack {
    /// No command helps.
    pub fn because(reason: impl Into<String>) -> Lack {
        Lack { reason: reason.into(), install: None }
    }

    /// The first line of an error, and its help.
    pub fn of(error: impl Display) -> Lack {
        let message = error.to_string();
        let (reason, help) = message.split_once("\nhelp: ").unwrap_or((&message, ""));
        Lack {
            reason: reason.lines().next().unwrap_or_default().to_owned(),
            install: Some(help.to_owned()).filter(|help| !help.is_empty()),
        }
    }
}

/// Everything that was measured, and what could not be measured.
#[derive(Clone, Debug, Default)]
pub struct ClaimEvidence {
    known: BTreeMap<Quantity, Reading>,
    lacking: BTreeMap<Quantity, Lack>,
}

impl ClaimEvidence {
    pub fn insert(&mut self, quantity: Quantity, reading: Reading) {
        self.known.insert(quantity, Reading { rounds: quantity.rounds(), ..reading });
    }

    /// Notes why a quantity could not be measured. The first reason is kept.
    pub fn lack(&mut self, quantity: Quantity, lack: Lack) {
        self.lacking.entry(quantity).or_insert(lack);
    }

    /// The value of an expression, or why it is not known.
    pub fn evaluate(&self, expression: &Expression) -> Result<Reading, Lack> {
        match expression {
            Expression::Of(quantity) => self.of(*quantity).cloned(),
            Expression::Constant(value) => Ok(Reading::exact(*value)),
            Expression::Both(operator, a, b) => {
                let (a, b) = (self.evaluate(a)?, self.evaluate(b)?);
                a.combined(*operator, &b).ok_or_else(|| Lack::because("its divisor may be 0"))
            }
        }
    }

    fn of(&self, quantity: Quantity) -> Result<&Reading, Lack> {
        self.known.get(&quantity).ok_or_else(|| {
            self.lacking.get(&quantity).cloned().unwrap_or_else(|| Lack::because("it was not measured"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::quantity::{RunState, TimedPart, floor, warm};

    fn of(program: &'static str) -> Quantity {
        Quantity::Time { program, span: TimedPart::Total, state: RunState::Warm }
    }

    #[test]
    fn runs_of_the_same_rounds_are_combined_one_by_one() {
        let mut evidence = ClaimEvidence::default();
        evidence.insert(of("slow"), Reading::of(vec![20.0, 200.0, 40.0]).unwrap());
        evidence.insert(of("fast"), Reading::of(vec![10.0, 100.0, 20.0]).unwrap());
        let ratio =
            evidence.evaluate(&(warm("slow", TimedPart::Total) / warm("fast", TimedPart::Total))).unwrap();
        assert_eq!((ratio.value, ratio.low, ratio.high), (2.0, 2.0, 2.0));
    }

    #[test]
    fn readings_of_different_rounds_are_combined_by_their_intervals() {
        let mut evidence = ClaimEvidence::default();
        evidence.insert(Quantity::Floor("a"), Reading::with_interval(10.0, 8.0, 12.0));
        evidence.insert(Quantity::Floor("b"), Reading::with_interval(2.0, 1.0, 4.0));
        let ratio = evidence.evaluate(&(floor("a") / floor("b"))).unwrap();
        assert_eq!((ratio.value, ratio.low, ratio.high), (5.0, 2.0, 12.0));
        let difference = evidence.evaluate(&(floor("a") - floor("b"))).unwrap();
        assert_eq!((difference.value, difference.low, difference.high), (8.0, 4.0, 11.0));
    }

    #[test]
    fn a_division_by_a_value_that_may_be_zero_gives_no_reading() {
        let mut evidence = ClaimEvidence::default();
        evidence.insert(Quantity::Floor("a"), Reading::exact(1.0));
        evidence.insert(Quantity::Floor("zero"), Reading::exact(0.0));
        evidence.insert(Quantity::Floor("around zero"), Reading::with_interval(0.5, -1.0, 1.0));
        assert!(evidence.evaluate(&(floor("a") / floor("zero"))).is_err());
        assert!(evidence.evaluate(&(floor("a") / floor("around zero"))).is_err());
    }

    #[test]
    fn one_run_gives_no_reading() {
        assert!(Reading::of(vec![1.0]).is_none());
        assert!(Reading::of(vec![1.0, 1.0]).is_some());
    }

    #[test]
    fn a_missing_value_says_why() {
        let mut evidence = ClaimEvidence::default();
        evidence.lack(of("java"), Lack::because("`java` is not in PATH"));
        evidence.lack(of("java"), Lack::because("later"));
        let lack = evidence.evaluate(&warm("java", TimedPart::Total)).unwrap_err();
        assert_eq!(lack.reason, "`java` is not in PATH");
        assert_eq!(evidence.evaluate(&floor("x")).unwrap_err().reason, "it was not measured");
    }
}
