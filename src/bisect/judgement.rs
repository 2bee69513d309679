//! What tells the bad commit from the good one, and on which side of it another commit is.

use crate::document::Document;
use crate::document::bench::Metric;
use crate::stats::Verdict;

/// What commits are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// This time, as a ratio to that of the good commit.
    Time(Metric),
    /// A count, by its name in the document.
    Count(&'static str),
}

/// Counts in the order in which they are tried: those that never vary without a reason come first.
pub const COUNTS: [&str; 7] =
    ["processes", "execs", "files_opened", "failed_opens", "syscalls", "threads", "bytes_read"];

impl Quantity {
    /// `total`, `files opened`.
    pub fn name(self) -> String {
        match self {
            Quantity::Time(metric) => metric.name().to_owned(),
            Quantity::Count(name) => name.replace('_', " "),
        }
    }

    /// The interval of a program's figure, in a document whose first program is the good commit.
    fn of(self, document: &Document, name: &str) -> Option<[f64; 2]> {
        let program = document.results.iter().find(|program| program.label() == name)?;
        match self {
            Quantity::Time(metric) => {
                let ratio = program.relative.iter().find(|relative| relative.of == metric)?.ratio;
                Some([ratio.low, ratio.high])
            }
            Quantity::Count(count) => {
                let (_, median) = program.counts.known().into_iter().find(|(known, _)| *known == count)?;
                Some(program.varying.get(count).copied().unwrap_or([median; 2]).map(|end| end as f64))
            }
        }
    }
}

/// The side of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// As good as the good commit.
    Good,
    /// As bad as the bad one.
    Bad,
    /// It cannot be told: the interval contains the boundary.
    Open,
}

/// Tells bad commits from good ones: the middle between both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boundary {
    pub quantity: Quantity,
    /// The figures of the good and the bad commit: counts, or ratios.
    pub ends: [f64; 2],
}

impl Boundary {
    /// By this quantity; `None` if the bad commit is not certainly worse.
    pub fn by(quantity: Quantity, document: &Document, [good, bad]: [&str; 2]) -> Option<Boundary> {
        let [low, high] = quantity.of(document, bad)?;
        let ends = match quantity {
            Quantity::Time(metric) => {
                let program = document.results.iter().find(|program| program.label() == bad)?;
                let relative = program.relative.iter().find(|relative| relative.of == metric)?;
                (relative.verdict == Verdict::Slower).then_some([1.0, relative.ratio.ratio])?
            }
            Quantity::Count(_) => {
                let [_, most] = quantity.of(document, good)?;
                (low > most).then_some([most, f64::midpoint(low, high)])?
            }
        };
        Some(Boundary { quantity, ends })
    }

    /// The side of a program that was measured beside the good commit.
    pub fn side(&self, document: &Document, name: &str) -> Side {
        let between = f64::midpoint(self.ends[0], self.ends[1]);
        match self.quantity.of(document, name) {
            Some([_, high]) if high < between => Side::Good,
            Some([low, _]) if low > between => Side::Bad,
            _ => Side::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::read;
    use std::path::Path;

    /// A document in which the second program is slower by this ratio and opens this many files.
    fn document(ratio: [f64; 3], files: [u64; 2]) -> Document {
        let program = |name: &str, more: &str, files: [u64; 2]| {
            format!(
                r#"{{"command": "./a", "name": "{name}", "mean": 1, "stddev": null, "median": 1, "min": 1, "max": 1,
                 "counts": {{"files_opened": {}}}, "varying": {{"files_opened": {files:?}}}{more}}}"#,
                files[0]
            )
        };
        let verdict = if ratio[1] > 1.0 { "slower" } else { "cant_tell" };
        let relative = format!(
            r#", "relative": [{{"reference": "good", "of": "total", "ratio": {}, "low": {}, "high": {}, "pairs": 20,
             "verdict": "{verdict}"}}]"#,
            ratio[0], ratio[1], ratio[2]
        );
        let results = [program("good", "", [2, 3]), program("bad", &relative, files)].join(",");
        let text = format!(
            r#"{{"schema": "firstbyte/1", "tool": {{"name": "firstbyte"}}, "results": [{results}]}}"#
        );
        read::parse(&text, Path::new("document")).unwrap()
    }

    const TOTAL: Quantity = Quantity::Time(Metric::Total);
    const FILES: Quantity = Quantity::Count("files_opened");

    #[test]
    fn only_what_is_certainly_worse_makes_a_boundary() {
        let by = |quantity, document: &Document| Boundary::by(quantity, document, ["good", "bad"]);
        let worse = document([1.04, 1.02, 1.06], [5, 7]);
        assert_eq!(by(TOTAL, &worse), Some(Boundary { quantity: TOTAL, ends: [1.0, 1.04] }));
        assert_eq!(by(FILES, &worse), Some(Boundary { quantity: FILES, ends: [3.0, 6.0] }));
        let same = document([1.01, 0.99, 1.03], [3, 7]);
        assert_eq!([by(TOTAL, &same), by(FILES, &same)], [None, None]);
        assert_eq!(by(Quantity::Count("syscalls"), &worse), None, "it was not counted");
    }

    #[test]
    fn a_commit_whose_interval_contains_the_middle_is_on_no_side() {
        let time = Boundary { quantity: TOTAL, ends: [1.0, 1.04] };
        for (low, high, side) in
            [(0.99, 1.019, Side::Good), (1.021, 1.06, Side::Bad), (1.01, 1.03, Side::Open)]
        {
            assert_eq!(time.side(&document([1.02, low, high], [3, 3]), "bad"), side, "{low} to {high}");
        }
        let files = Boundary { quantity: FILES, ends: [3.0, 6.0] };
        for (counts, side) in [([2, 4], Side::Good), ([5, 9], Side::Bad), ([4, 5], Side::Open)] {
            assert_eq!(files.side(&document([1.0, 0.9, 1.1], counts), "bad"), side, "{counts:?}");
        }
        assert_eq!(files.side(&document([1.0, 0.9, 1.1], [3, 3]), "missing"), Side::Open);
    }
}
