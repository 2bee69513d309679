//! A judged claim as a row of the document.

use super::claim::Claim;
use super::judge_readings::{CheckOutcome, Judgement, Met};
use crate::document::claims::{ClaimRow, ClaimUnit, ClaimValue};
use firstbyte_measure::units::display_nanos;

pub fn row(claim: &Claim, judgement: &Judgement) -> ClaimRow {
    let values: Vec<ClaimValue> = judgement.outcomes.iter().map(value).collect();
    ClaimRow {
        id: claim.id.to_owned(),
        seed: claim.post.number().to_owned(),
        post: claim.post.title().to_owned(),
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

fn value(outcome: &CheckOutcome) -> ClaimValue {
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

fn measured(values: &[ClaimValue]) -> String {
    let is_shown = |value: &&ClaimValue| value.value.is_some() && !(value.quiet && value.met == Some(true));
    let shown: Vec<String> = values.iter().filter(is_shown).map(in_words).collect();
    if shown.is_empty() { "nothing".to_owned() } else { shown.join("; ") }
}

/// The name, the value, and the interval if there is one.
fn in_words(value: &ClaimValue) -> String {
    let (name, unit) = (&value.name, value.unit);
    let (Some(median), Some(low), Some(high)) = (value.value, value.low, value.high) else {
        return format!("{name} not known");
    };
    let [median, low, high] = [median, low, high].map(|end| number(end, unit));
    if low == high { format!("{name} {median}") } else { format!("{name} {median} ({low} to {high})") }
}

fn number(value: f64, unit: ClaimUnit) -> String {
    match unit {
        ClaimUnit::Ns if value < 0.0 => format!("-{}", display_nanos(-value)),
        ClaimUnit::Ns => display_nanos(value),
        ClaimUnit::Times => format!("{} ×", digits(value)),
        ClaimUnit::Part => format!("{} %", digits(value * 100.0)),
        ClaimUnit::Count => digits(value),
        ClaimUnit::Bytes => format!("{value:.0} bytes"),
        ClaimUnit::Yes => if value > 0.5 { "yes" } else { "no" }.to_owned(),
    }
}

/// Three significant digits; a whole number is shown as it is.
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
    fn a_number_has_three_digits_and_its_unit() {
        let table = [
            (77.46, ClaimUnit::Times, "77.5 ×"),
            (0.871, ClaimUnit::Part, "87.1 %"),
            (1500.0, ClaimUnit::Count, "1500"),
            (0.000_04, ClaimUnit::Part, "0.0040 %"),
            (130.0, ClaimUnit::Bytes, "130 bytes"),
            (1.0, ClaimUnit::Yes, "yes"),
            (-1500.0, ClaimUnit::Ns, "-1.50 µs"),
        ];
        for (value, unit, expected) in table {
            assert_eq!(number(value, unit), expected);
        }
    }
}
