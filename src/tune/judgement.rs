//! Which ways are proven to be faster, by the samples of interleaved runs. Pure.

use crate::document::Document;
use crate::document::bench::{Distribution, Measurement, Metric, Ratio};
use crate::stats::significance::{holm, sign_test};
use crate::stats::{Verdict, comparing, judge};

/// Two programs of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    pub name: String,
    /// What it is compared with.
    pub against: String,
}

impl Pair {
    pub fn new(name: &str, against: &str) -> Pair {
        Pair { name: name.to_owned(), against: against.to_owned() }
    }
}

/// A program compared with another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub name: String,
    pub ratio: Ratio,
    /// In nanoseconds.
    pub median: f64,
    /// The median of its total, where it is compared by another time.
    pub total: Option<f64>,
    /// How likely a difference like this is by chance, if there is none.
    pub chance: f64,
    pub verdict: Verdict,
}

impl Judged {
    pub fn is_faster(&self) -> bool {
        self.verdict == Verdict::Faster
    }

    /// The verdict of runs by which a way was chosen: they favour those that were lucky, so they prove no gain.
    pub fn before_confirmation(&self) -> Verdict {
        if self.is_faster() { Verdict::CantTell } else { self.verdict }
    }

    /// It may be faster: worth to be measured again.
    pub fn is_promising(&self) -> bool {
        self.chance <= PROMISING && self.ratio.ratio < 1.0 - NOTEWORTHY
    }

    /// It is slower, as far as it alone is concerned. A way that is no slower is never left out by mistake more often than
    /// once in 200 times.
    pub fn is_slower(&self) -> bool {
        self.chance <= 1.0 - comparing::CONFIDENCE && self.ratio.ratio > 1.0 + NOTEWORTHY
    }
}

/// Five pairs that all lie on one side have a probability of 6 %.
const PROMISING: f64 = 0.1;
/// A difference that is smaller is none that anyone wants.
const NOTEWORTHY: f64 = 0.01;

/// Compares programs of a document, with one correction for all of them: the probability that any verdict is wrong is 1 %.
pub fn judged(document: &Document, by: Metric, pairs: &[Pair]) -> Vec<Judged> {
    let compared = pairs.iter().filter_map(|pair| {
        let (new, old) = (times(document, &pair.name, by)?, times(document, &pair.against, by)?);
        let (new, old) = (new.samples.as_slice(), old.samples.as_slice());
        let [new, old] = [new, old].map(|all| all.iter().map(|ns| *ns as f64).collect::<Vec<f64>>());
        let (comparison, chance) = (judge(&old, &new)?, sign_test(&old, &new)?);
        let median = times(document, &pair.name, by)?.median;
        let name = pair.name.clone();
        let total = total_beside(document, &name, by);
        Some(Judged { name, ratio: comparison.into(), median, total, chance, verdict: Verdict::CantTell })
    });
    let mut all: Vec<Judged> = compared.collect();
    let chances: Vec<f64> = all.iter().map(|judged| judged.chance).collect();
    for (judged, certain) in all.iter_mut().zip(holm(&chances, 1.0 - comparing::CONFIDENCE)) {
        judged.verdict = match judged.ratio.ratio {
            ratio if certain && ratio < 1.0 => Verdict::Faster,
            ratio if certain && ratio > 1.0 => Verdict::Slower,
            _ => Verdict::CantTell,
        };
    }
    all
}

/// The median of a program, in nanoseconds.
pub fn median(document: &Document, name: &str, by: Metric) -> Option<f64> {
    times(document, name, by).map(|times| times.median)
}

/// The median of its total, where programs are compared by another time.
pub fn total_beside(document: &Document, name: &str, by: Metric) -> Option<f64> {
    if by == Metric::Total { None } else { median(document, name, Metric::Total) }
}

fn times<'d>(document: &'d Document, name: &str, by: Metric) -> Option<&'d Distribution> {
    let of = |measurement: &'d Measurement| match by {
        Metric::FirstByte => measurement.phases.first_byte.as_ref(),
        _ => measurement.phases.total.as_ref(),
    };
    document.results.iter().find(|measurement| measurement.label() == name).and_then(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::read::parse;
    use serde_json::json;
    use std::path::Path;

    fn document(programs: &[(&str, Vec<u64>)]) -> Document {
        let result = |(name, samples): &(&str, Vec<u64>)| {
            json!({"command": name, "name": name, "mean": 1.0, "stddev": null, "median": 1.0, "min": 1.0, "max": 1.0,
                   "phases": {"total": {"samples": samples}}})
        };
        let results: Vec<_> = programs.iter().map(result).collect();
        let text =
            json!({"schema": "firstbyte/1", "kind": "bench", "tool": {"name": "x"}, "results": results});
        parse(&text.to_string(), Path::new("x.json")).unwrap()
    }

    #[test]
    fn verdicts_are_corrected_for_the_number_of_programs_judged_together() {
        let plain: Vec<u64> = (0..8).map(|n| 1000 + n).collect();
        let faster: Vec<u64> = plain.iter().map(|ns| ns - 100).collect();
        let slower: Vec<u64> = plain.iter().map(|ns| ns + 100).collect();
        let document =
            document(&[("plain", plain.clone()), ("a", faster.clone()), ("b", slower), ("c", faster)]);
        let verdicts = |names: &[&str]| {
            let pairs: Vec<Pair> = names.iter().map(|name| Pair::new(name, "plain")).collect();
            judged(&document, Metric::Total, &pairs).iter().map(|it| it.verdict).collect::<Vec<_>>()
        };
        // 8 pairs on one side have a probability of 0.8 %
        assert_eq!(verdicts(&["a"]), [Verdict::Faster]);
        assert_eq!(verdicts(&["b"]), [Verdict::Slower]);
        assert_eq!(verdicts(&["a", "b", "c"]), [Verdict::CantTell; 3]);
        assert_eq!(verdicts(&["a", "unknown"]), [Verdict::Faster]);
    }

    #[test]
    fn five_pairs_that_are_all_faster_are_promising_and_a_small_difference_is_not() {
        let of = |less: u64| {
            let new = (0..5).map(|n| 1000 + n - less).collect();
            let document = document(&[("plain", (0..5).map(|n| 1000 + n).collect()), ("a", new)]);
            judged(&document, Metric::Total, &[Pair::new("a", "plain")]).remove(0)
        };
        assert!(of(50).is_promising() && !of(2).is_promising() && !of(0).is_promising());
        assert!(!of(50).is_slower());
        assert_eq!(median(&document(&[("plain", vec![3, 1, 2])]), "plain", Metric::Total), Some(2.0));
    }
}
