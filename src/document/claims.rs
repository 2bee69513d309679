//! The results of `firstbyte claims`.

use crate::claims::judge::{Met, Outcome};
use crate::claims::quantity::Unit;
use crate::claims::{Claim, Judgement, Seed, Verdict};
use crate::document::bench::{SCHEMA, Tool};
use firstbyte_measure::units::display_nanos;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// One invocation's verdicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimsDocument {
    /// [`SCHEMA`].
    pub schema: String,
    /// What measured.
    pub tool: Tool,
    /// Where.
    pub machine: Value,
    /// Interrupted, or `--quick`: fewer runs than usual.
    #[serde(default)]
    pub partial: bool,
    /// `--quick`: fewer runs than usual, and fewer lines.
    #[serde(default)]
    pub quick: bool,
    /// One entry a claim.
    pub results: Vec<ClaimRow>,
}

/// One claim, its verdict, and what that rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimRow {
    /// Its name; begins with the seed's number.
    pub id: String,
    /// The seed's number.
    pub seed: String,
    /// The seed's title.
    pub post: String,
    /// What is said.
    pub claim: String,
    /// The seed's figures; may be empty.
    pub figure: String,
    /// What came out here, in words.
    pub measured: String,
    /// The same as numbers.
    pub values: Vec<ClaimValue>,
    /// How it was measured.
    pub how: String,
    /// When it holds.
    pub rule: String,
    /// The verdict.
    pub verdict: Verdict,
    /// One line of explanation.
    pub why: String,
    /// The command that would make it testable, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
}

/// A value that a verdict rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimValue {
    /// What it is.
    pub name: String,
    /// What it is counted in.
    pub unit: Unit,
    /// Median; `null` where it is not known here.
    pub value: Option<f64>,
    /// Lower end of its 99 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The claim holds only if it is not below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Only if it is not above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// Whether it is surely so (`true`), surely not (`false`), or uncertain (`null`).
    pub met: Option<bool>,
    /// Shown in words only where it is not met.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
}

/// A file that holds no such document.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error("`{path}` cannot be read: {cause}\nhelp: name a file that firstbyte claims --json has written")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's word for it.
        cause: std::io::Error,
    },
    /// It is something else.
    #[error("`{path}` holds no verdicts on claims: {cause}\nhelp: make one: firstbyte claims --json FILE")]
    Foreign {
        /// The file.
        path: String,
        /// What is wrong.
        cause: String,
    },
}

impl ClaimsDocument {
    /// Without results yet.
    pub fn new(tool: Tool, machine: Value, quick: bool) -> ClaimsDocument {
        ClaimsDocument {
            schema: SCHEMA.to_owned(),
            tool,
            machine,
            partial: false,
            quick,
            results: Vec::new(),
        }
    }

    /// From a file.
    pub fn read(path: &Path) -> Result<ClaimsDocument, ReadError> {
        let shown = || path.display().to_string();
        let text = std::fs::read(path).map_err(|cause| ReadError::Unreadable { path: shown(), cause })?;
        let foreign = |cause: String| ReadError::Foreign { path: shown(), cause };
        let document: ClaimsDocument =
            serde_json::from_slice(&text).map_err(|error| foreign(error.to_string()))?;
        if document.schema != SCHEMA {
            return Err(foreign(format!("its schema is `{}`, not `{SCHEMA}`", document.schema)));
        }
        Ok(document)
    }

    /// Takes over another document's results; of two verdicts on one claim the later one stays.
    pub fn merge(&mut self, other: ClaimsDocument) {
        self.partial |= other.partial;
        self.quick |= other.quick;
        self.results.retain(|row| !other.results.iter().any(|new| new.id == row.id));
        self.results.extend(other.results);
        let order: Vec<&str> = crate::claims::all().iter().map(|claim| claim.id).collect();
        let place = |row: &ClaimRow| order.iter().position(|id| *id == row.id).unwrap_or(order.len());
        self.results.sort_by_key(place);
    }

    /// The rows of one seed.
    pub fn of(&self, seed: Seed) -> Vec<&ClaimRow> {
        self.results.iter().filter(|row| row.seed == seed.number()).collect()
    }

    /// How many claims have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.results.iter().filter(|row| row.verdict == verdict).count()
    }
}

impl ClaimRow {
    /// Of a claim that has been judged.
    pub fn new(claim: &Claim, judgement: &Judgement) -> ClaimRow {
        let values: Vec<ClaimValue> = judgement.outcomes.iter().map(ClaimValue::of).collect();
        ClaimRow {
            id: claim.id.to_owned(),
            seed: claim.seed.number().to_owned(),
            post: claim.seed.title().to_owned(),
            claim: claim.text.to_owned(),
            figure: claim.figure.to_owned(),
            measured: measured(&values),
            values,
            how: claim.how.to_owned(),
            rule: claim.rule.to_owned(),
            verdict: judgement.verdict,
            why: judgement.why.clone(),
            install: judgement.install.clone(),
        }
    }
}

fn measured(values: &[ClaimValue]) -> String {
    let shown =
        values.iter().filter(|value| value.value.is_some() && !(value.quiet && value.met == Some(true)));
    let shown: Vec<String> = shown.map(ClaimValue::in_words).collect();
    if shown.is_empty() { "nothing".to_owned() } else { shown.join("; ") }
}

impl ClaimValue {
    fn of(outcome: &Outcome) -> ClaimValue {
        let reading = outcome.reading.as_ref().ok();
        let limit = |limit: f64| limit.is_finite().then_some(limit);
        let met = match outcome.met() {
            Some(Met::Yes) => Some(true),
            Some(Met::No) => Some(false),
            Some(Met::Perhaps) | None => None,
        };
        ClaimValue {
            name: outcome.check.name.clone(),
            unit: outcome.check.unit,
            value: reading.map(|reading| reading.value),
            low: reading.map(|reading| reading.low),
            high: reading.map(|reading| reading.high),
            at_least: limit(outcome.check.low),
            at_most: limit(outcome.check.high),
            met,
            quiet: outcome.check.quiet,
        }
    }

    /// The name, the value, and its interval where it has one.
    fn in_words(&self) -> String {
        let (Some(value), Some(low), Some(high)) = (self.value, self.low, self.high) else {
            return format!("{} not known", self.name);
        };
        let (value, low, high) = (number(value, self.unit), number(low, self.unit), number(high, self.unit));
        if low == high {
            return format!("{} {value}", self.name);
        }
        format!("{} {value} ({low} to {high})", self.name)
    }
}

fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ns if value < 0.0 => format!("-{}", display_nanos(-value)),
        Unit::Ns => display_nanos(value),
        Unit::Times => format!("{} ×", digits(value)),
        Unit::Part => format!("{} %", digits(value * 100.0)),
        Unit::Count => digits(value),
        Unit::Bytes => format!("{value:.0} bytes"),
        Unit::Yes => if value > 0.5 { "yes" } else { "no" }.to_owned(),
    }
}

/// Three significant digits; whole numbers as they are.
fn digits(value: f64) -> String {
    if value.fract() == 0.0 {
        return format!("{value:.0}");
    }
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        size if size >= 0.1 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_their_unit() {
        let table = [
            (77.46, Unit::Times, "77.5 ×"),
            (0.871, Unit::Part, "87.1 %"),
            (1500.0, Unit::Count, "1500"),
            (0.000_04, Unit::Part, "0.0040 %"),
            (130.0, Unit::Bytes, "130 bytes"),
            (1.0, Unit::Yes, "yes"),
            (-1500.0, Unit::Ns, "-1.50 µs"),
        ];
        for (value, unit, expected) in table {
            assert_eq!(number(value, unit), expected);
        }
    }
}
