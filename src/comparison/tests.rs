//! Tests of comparisons.

use super::*;
use crate::document::read::parse;
use crate::stats::Verdict;
use serde_json::{Value, json};

fn result(name: &str, around: f64) -> Value {
    let times: Vec<f64> = (0..30).map(|n| around * (1.0 + 0.0005 * f64::from(n))).collect();
    json!({"command": name, "mean": around, "median": around, "user": 0, "system": 0, "min": around,
           "max": around, "times": times})
}

fn document(results: &[Value]) -> Document {
    parse(&json!({ "results": results }).to_string(), Path::new("x")).unwrap()
}

fn compared(old: &Document, new: &Document) -> Result<CompareDocument, CompareError> {
    compare((Path::new("old.json"), old), (Path::new("new.json"), new))
}

#[test]
fn programs_are_matched_by_name_in_any_order() {
    let old = document(&[result("a", 1.0), result("b", 1.0), result("gone", 1.0)]);
    let new = document(&[result("come", 1.0), result("b", 1.2), result("a", 1.0)]);
    let compared = compared(&old, &new).unwrap();
    let verdicts: Vec<_> = compared
        .programs
        .iter()
        .map(|p| (p.name.as_str(), p.times[0].of.as_str(), p.times[0].verdict))
        .collect();
    assert_eq!(verdicts, [("b", "wall", Verdict::Slower), ("a", "wall", Verdict::CantTell)]);
    assert_eq!((compared.only_old, compared.only_new), (vec!["gone".to_owned()], vec!["come".to_owned()]));
}

#[test]
fn rows_are_matched_by_name_and_parameters() {
    let of = |n: &str, around| {
        let mut result = result("build", around);
        result["parameters"] = json!({ "n": n });
        result
    };
    let old = document(&[of("1", 1.0), of("2", 15.6)]);
    let new = document(&[of("2", 15.6), of("1", 1.0)]);
    let compared = compared(&old, &new).unwrap();
    let verdicts: Vec<_> = compared.programs.iter().map(|p| (p.name.as_str(), p.times[0].verdict)).collect();
    assert_eq!(verdicts, [("build (n = 2)", Verdict::CantTell), ("build (n = 1)", Verdict::CantTell)]);
}

#[test]
fn failed_runs_are_never_faster() {
    let failed = json!({"exit_codes": vec![127; 30]});
    let mut after = result("a", 0.01);
    after.as_object_mut().unwrap().extend(failed.as_object().unwrap().clone());
    let compared = compared(&document(&[result("a", 1.0)]), &document(&[after])).unwrap();
    assert_eq!(compared.programs[0].times[0].verdict, Verdict::CantTell);
    assert_eq!(compared.programs[0].limits, ["new file: every run failed (status 127)"]);
    assert_eq!(compared.failed(), ["a"]);
}

#[test]
fn a_program_is_too_slow_only_if_its_whole_interval_is() {
    let compared = compared(&document(&[result("a", 1.0)]), &document(&[result("a", 1.1)])).unwrap();
    assert_eq!(compared.slower_than(0.05), ["a"]);
    assert!(compared.slower_than(0.10).is_empty(), "10 % lies within the interval");
    assert!(compared.slower_than(0.2).is_empty());
}

#[test]
fn facts_that_differ_are_named_and_unknown_ones_are_not() {
    let mut old = document(&[result("a", 1.0)]);
    let mut new = old.clone();
    old.machine = json!({"cpu_model": "Fast", "cores": 2, "governor": null});
    new.machine = json!({"cpu_model": "Slow", "cores": 2, "governor": "performance"});
    let message = same_machine(&compared(&old, &new).unwrap()).unwrap_err().to_string();
    assert!(message.contains("cpu_model `Fast` and `Slow`\nhelp: "), "{message}");
    new.machine = Value::Null;
    assert!(same_machine(&compared(&old, &new).unwrap()).is_ok());
    (new.tool.backend, old.tool.backend) = (Some("bpf".to_owned()), Some("pipe".to_owned()));
    assert!(same_machine(&compared(&old, &new).unwrap()).is_err());
}

#[test]
fn conditions_that_differ_are_named_once_and_files_without_conditions_are_compared() {
    let mut old = document(&[result("a", 1.0), result("b", 1.0)]);
    let mut new = old.clone();
    for (before, after) in old.results.iter_mut().zip(&mut new.results) {
        before.plan = json!({"output": "pipe", "cpus": null, "shell": null, "later": 1});
        after.plan = json!({"output": "null", "cpus": [0, 1], "until": null, "shell": null, "later": 2});
    }
    let message = same_machine(&compared(&old, &new).unwrap()).unwrap_err().to_string();
    assert!(message.contains(": output `pipe` and `null`, cpus none and [0,1]\nhelp: "), "{message}");
    new.results.iter_mut().for_each(|result| result.plan = Value::Null);
    assert!(same_machine(&compared(&old, &new).unwrap()).is_ok());
}

#[test]
fn cold_runs_by_different_methods_differ() {
    let mut old = document(&[result("a", 1.0)]);
    let cold = |method: &str| {
        let cold = json!({"method": method, "files": 1, "bytes": 1, "resident_pages": null,
                          "major_faults": [], "bytes_from_disk": []});
        Some(serde_json::from_value(cold).unwrap())
    };
    old.results[0].cold = cold("copies");
    let mut new = old.clone();
    assert!(same_machine(&compared(&old, &new).unwrap()).is_ok());
    new.results[0].cold = cold("drop_caches");
    let message = same_machine(&compared(&old, &new).unwrap()).unwrap_err().to_string();
    assert!(message.contains("cold_method `copies` and `drop_caches`"), "{message}");
}

#[test]
fn counts_that_both_have_are_compared() {
    let mut old = document(&[result("a", 1.0)]);
    let mut new = old.clone();
    (old.results[0].counts.syscalls, new.results[0].counts.syscalls) = (Some(30), Some(31));
    old.results[0].counts.writes = Some(1);
    let counts = compared(&old, &new).unwrap().programs.remove(0).counts;
    assert_eq!(counts, [CountChange { name: "syscalls".to_owned(), old: 30, new: 31, varies: false }]);
    let notes = compared(&old, &new).unwrap().notes;
    assert_eq!(notes.last().unwrap(), "a: only in the old file: writes");
}

#[test]
fn only_the_parts_of_a_fact_that_differ_are_named() {
    let (mut old, mut new) = (document(&[result("a", 1.0)]), document(&[result("a", 1.0)]));
    old.machine = json!({"cpu_model": "x", "mitigations": {"a": "on", "b": "on", "c": "on"}});
    new.machine = json!({"cpu_model": "x", "mitigations": {"a": "on", "b": "off"}});
    let names = differing(&old, &new).into_iter().map(|fact| fact.name).collect::<Vec<_>>();
    assert_eq!(names, ["mitigations.b", "mitigations.c"]);
}

#[test]
fn a_count_that_varies_has_changed_only_if_the_ranges_do_not_overlap() {
    let mut old = document(&[result("a", 1.0)]);
    let mut new = old.clone();
    (old.results[0].counts.syscalls, new.results[0].counts.syscalls) = (Some(463), Some(465));
    let varies = |old: &Document, new: &Document| compared(old, new).unwrap().programs[0].counts[0].varies;
    assert!(!varies(&old, &new));
    old.results[0].varying.insert("syscalls".to_owned(), [462, 465]);
    assert!(varies(&old, &new) && varies(&new, &old), "465 was seen before");
    new.results[0].varying.insert("syscalls".to_owned(), [464, 470]);
    assert!(varies(&old, &new) && varies(&new, &old), "the ranges overlap");
    new.results[0].varying.insert("syscalls".to_owned(), [466, 470]);
    assert!(!varies(&old, &new) && !varies(&new, &old), "they do not");
}

#[test]
fn files_that_cannot_be_compared_are_errors_that_name_them() {
    let (a, b, none) = (document(&[result("a", 1.0)]), document(&[result("b", 1.0)]), document(&[]));
    let twice = document(&[result("a", 1.0), result("a", 2.0)]);
    let table = [
        (&a, &none, "`new.json` has no results"),
        (&twice, &a, "`old.json` has two results with the name `a`"),
        (&a, &b, "no program in common: `a` before, `b` after"),
    ];
    for (old, new, expected) in table {
        let message = compared(old, new).unwrap_err().to_string();
        assert!(message.contains(expected) && message.contains("\nhelp: "), "{message}");
    }
}

#[test]
fn results_without_times_have_no_verdict() {
    let mut bare = document(&[result("a", 1.0)]);
    bare.results[0].times.clear();
    assert!(compared(&bare, &bare).unwrap().programs[0].times.is_empty());
}
