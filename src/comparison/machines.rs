//! The same programs in several files, each from another machine: which machine is unlike the others.

use super::differing::{differing, measured_differently};
use super::{key, title};
use crate::document::Document;
use crate::document::bench::{Distribution, Measurement};
use crate::document::compare::ComparedFact;
use crate::stats::outlier::modified_z_scores;

/// One program in all files that have it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramOnMachines {
    /// Its name, with the state of the page cache if that is cold.
    pub program: String,
    /// The median of the machines' medians, in nanoseconds.
    pub middle: f64,
    /// The slowest one first.
    pub machines: Vec<OnMachine>,
}

/// One program on one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct OnMachine {
    /// The name of its file.
    pub machine: String,
    /// The first byte, or the total, or the wall time, in nanoseconds.
    pub time: Distribution,
    /// Its median over the middle of all.
    pub ratio: f64,
    /// It stands apart from the others.
    pub odd: bool,
    /// Of an odd one: in what it differs from a machine in the middle.
    pub differs: Vec<ComparedFact>,
}

/// With fewer machines, none is odd: there would be no telling which.
pub const MIN_MACHINES: usize = 5;

/// What is this near to the middle is not odd, however much alike the others are.
const NEAR_RATIO: f64 = 0.05;

/// Above this modified Z-score a value counts as an outlier: B. Iglewicz and D. Hoaglin (1993).
const FAR: f64 = 3.5;

/// The programs that at least two of the files have, in the order of the files.
pub fn by_machine<'d>(files: &[(&'d str, &'d Document)]) -> Vec<ProgramOnMachines> {
    let mut keys = Vec::new();
    for result in files.iter().flat_map(|(_, document)| &document.results) {
        if !keys.contains(&key(result)) {
            keys.push(key(result));
        }
    }
    let on_machines = |wanted| {
        let found_in = |(machine, document): &(&'d str, &'d Document)| {
            let result = document.results.iter().find(|result| key(result) == wanted)?;
            Some(Found { machine, document, time: time(result)? })
        };
        let found: Vec<Found> = files.iter().filter_map(found_in).collect();
        (found.len() > 1).then(|| judged(title(&wanted), &found))?
    };
    keys.into_iter().filter_map(on_machines).collect()
}

/// What one file has of a program.
struct Found<'d> {
    machine: &'d str,
    document: &'d Document,
    time: Distribution,
}

fn time(result: &Measurement) -> Option<Distribution> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time is positive and fits"
    )]
    let wall = || Distribution::of(result.times.iter().map(|seconds| (seconds * 1e9) as u64).collect());
    result.ranked().cloned().or_else(wall)
}

fn judged(program: String, found: &[Found]) -> Option<ProgramOnMachines> {
    let logarithms: Vec<f64> = found.iter().map(|one| one.time.median.max(1.0).ln()).collect();
    let scores = modified_z_scores(&logarithms)?;
    let middle = crate::stats::median_of(&found.iter().map(|one| one.time.median).collect::<Vec<_>>())?;
    let distance = |one: &Found| (one.time.median - middle).abs();
    let typical = found.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;

    let row = |(Found { machine, document, time }, score): (&Found, &f64)| {
        let ratio = time.median / middle;
        let odd = found.len() >= MIN_MACHINES
            && score.abs() > FAR
            && (ratio - 1.0).abs() > NEAR_RATIO
            && stands_apart(time, found.iter().map(|other| &other.time));
        let differs = if odd { facts(typical.document, document) } else { Vec::new() };
        OnMachine { machine: (*machine).to_owned(), time: time.clone(), ratio, odd, differs }
    };
    let mut machines: Vec<OnMachine> = found.iter().zip(&scores).map(row).collect();
    machines.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    Some(ProgramOnMachines { program, middle, machines })
}

/// The interval of its median lies outside those of most others.
fn stands_apart<'d>(time: &Distribution, all: impl Iterator<Item = &'d Distribution>) -> bool {
    let (mut apart, mut number) = (0, 0);
    for other in all {
        number += 1;
        apart += usize::from(time.low > other.high || time.high < other.low);
    }
    2 * apart > number
}

fn facts(typical: &Document, document: &Document) -> Vec<ComparedFact> {
    differing(typical, document).into_iter().chain(measured_differently(typical, document)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::Path;

    /// A program that takes about as many milliseconds as this.
    fn document(milliseconds: f64, governor: &str) -> Document {
        let times: Vec<f64> = (0..30).map(|n| milliseconds * 1e-3 * (1.0 + 0.0005 * f64::from(n))).collect();
        let result = json!({"command": "x", "mean": 1.0, "median": 1.0, "user": 0, "system": 0, "min": 1.0,
                            "max": 1.0, "times": times});
        let text = json!({"machine": {"governor": governor, "cores": 4}, "results": [result]}).to_string();
        crate::document::read::parse(&text, Path::new("x")).unwrap()
    }

    fn judged(milliseconds: &[f64]) -> Vec<ProgramOnMachines> {
        let governor = |ms: f64| if ms > 1.3 { "powersave" } else { "performance" };
        let documents: Vec<Document> = milliseconds.iter().map(|ms| document(*ms, governor(*ms))).collect();
        let names: Vec<String> = (0..documents.len()).map(|place| format!("node{place}")).collect();
        let files: Vec<(&str, &Document)> = names.iter().map(String::as_str).zip(&documents).collect();
        by_machine(&files)
    }

    fn odd(programs: &[ProgramOnMachines]) -> Vec<&str> {
        let machines = programs.iter().flat_map(|program| &program.machines);
        machines.filter(|machine| machine.odd).map(|machine| machine.machine.as_str()).collect()
    }

    #[test]
    fn the_machine_that_stands_apart_is_odd_and_its_facts_are_named() {
        let programs = judged(&[1.0, 1.01, 0.99, 1.4, 1.02, 0.98]);
        assert_eq!(odd(&programs), ["node3"]);
        let slowest = &programs[0].machines[0];
        assert_eq!((slowest.machine.as_str(), programs[0].program.as_str()), ("node3", "x"));
        let facts: Vec<String> = slowest.differs.iter().map(ToString::to_string).collect();
        assert_eq!(facts, ["governor `performance` and `powersave`"]);
        assert!((slowest.ratio - 1.393).abs() < 0.01, "{}", slowest.ratio);
    }

    #[test]
    fn faster_machines_can_be_odd_too_and_two_of_them() {
        assert_eq!(odd(&judged(&[1.0, 1.01, 0.5, 0.99, 1.02, 0.98, 0.51])), ["node6", "node2"]);
    }

    #[test]
    fn small_differences_and_few_machines_are_not_odd() {
        assert!(odd(&judged(&[1.0, 1.001, 0.999, 1.04, 1.0, 1.0])).is_empty());
        assert!(odd(&judged(&[1.0, 1.0, 1.0, 3.0])).is_empty());
        assert!(odd(&judged(&[1.0, 1.1, 1.2, 1.3, 1.4, 1.5])).is_empty(), "all differ");
    }

    #[test]
    fn a_program_of_one_file_has_no_machines() {
        assert!(judged(&[1.0]).is_empty());
        let mut other = document(1.0, "x");
        other.results[0].name = Some("y".to_owned());
        assert!(by_machine(&[("a", &document(1.0, "x")), ("b", &other)]).is_empty());
        assert!(by_machine(&[("a", &document(1.0, "x")), ("b", &document(1.0, "x"))])[0].machines.len() == 2);
    }
}
