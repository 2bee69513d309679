//! Numbers with their words.

use crate::document::diff::DiffFinding;
use firstbyte_measure::units::display_nanos;

/// `1 run`, `2 runs`.
pub(crate) fn count_of(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `1 run`, `2 runs`.
pub(crate) fn runs(count: usize) -> String {
    count_of(count, "run", "runs")
}

/// What became of a finding's cost. `minus`: the sign of a negative number.
pub(crate) fn became(finding: &DiffFinding, minus: &str) -> String {
    let signed = |ns: f64| format!("{}{}", if ns < 0.0 { minus } else { "+" }, display_nanos(ns.abs()));
    let interval = finding.interval_ns.map(|bounds| bounds.map(signed).join(" to "));
    let interval = interval.map_or(String::new(), |interval| format!(" ({interval})"));
    let changed = format!("{}{interval}", signed(finding.ns));
    let costs = [finding.before_ns, finding.after_ns].map(|cost| cost.map(display_nanos));
    match (costs, finding.unknown) {
        // the text is that of the side which spends more
        ([Some(a), Some(b)], true) if finding.ns < 0.0 => format!("{b} in B, {a} in A"),
        ([Some(a), Some(b)], true) => format!("{a} in A, {b} in B"),
        ([Some(a), Some(b)], false) => format!("{changed}, {a} → {b}"),
        ([Some(a), None], true) => format!("{a} in A"),
        ([None, b], true) => format!("{} in B", b.unwrap_or_default()),
        ([None, _], false) => format!("{changed}, only B"),
        ([_, None], false) => format!("{changed}, only A"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_a_finding_has_the_costs_and_the_interval_of_the_difference() {
        let said = |before_ns: Option<f64>, after_ns: Option<f64>, unknown: bool| {
            let ns = after_ns.unwrap_or_default() - before_ns.unwrap_or_default();
            let interval_ns = (!unknown).then_some([ns - 100.0, ns + 100.0]);
            let (rule, text) = ("r".to_owned(), "t".to_owned());
            became(&DiffFinding { rule, text, before_ns, after_ns, unknown, ns, interval_ns }, "-")
        };
        let (some, more) = (Some(500.0), Some(900.0));
        assert_eq!(said(some, more, false), "+400 ns (+300 ns to +500 ns), 500 ns → 900 ns");
        assert_eq!(said(some, None, false), "-500 ns (-600 ns to -400 ns), only A");
        assert_eq!(said(None, some, false), "+500 ns (+400 ns to +600 ns), only B");
        assert_eq!([said(some, None, true), said(None, some, true)], ["500 ns in A", "500 ns in B"]);
        assert_eq!(said(some, more, true), "500 ns in A, 900 ns in B");
        assert_eq!(said(more, some, true), "500 ns in B, 900 ns in A", "the side with the text is last");
    }
}
