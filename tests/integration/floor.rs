//! The floor, on this machine: every figure has its samples, nothing is counted twice, and the sums are sums.

use firstbyte::floor::{Effort, Figure, Floor, Group, Rung, Survey};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

fn quick<'s>(folder: &'s Path, rungs: &'s [Rung]) -> Survey<'s> {
    Survey { rungs, folder, other: None, effort: Effort::Quick, seed: 1 }
}

fn sound(figures: &[Figure]) {
    let names: BTreeSet<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names.len(), figures.len(), "every name once");
    for figure in figures {
        assert!(!figure.samples.is_empty() && figure.calls > 0, "{}", figure.name);
        assert!(figure.min <= figure.median && figure.median <= figure.p99, "{}", figure.name);
        assert!(figure.low <= figure.median && figure.median <= figure.high, "{}", figure.name);
    }
}

#[test]
fn every_system_call_has_a_batch_a_round_and_single_calls() {
    let folder = tempfile::tempdir().unwrap();
    let part = quick(folder.path(), &[]).syscalls().unwrap();
    sound(&part.figures);
    let rounds = part.figures[0].samples.len();
    for figure in &part.figures {
        assert_eq!(figure.samples.len(), rounds, "{}", figure.name);
        let singles = figure.single.as_ref().unwrap();
        assert!(singles.histogram.counts.iter().sum::<u32>() > 0, "{}", figure.name);
    }
    // without a second processor, what needs a reader is missing, and says so
    assert!(part.missing.iter().all(|missing| missing.reason.contains("another processor")));
    assert_eq!(part.missing.len(), 4);
}

#[test]
fn the_steps_of_a_measured_waterfall_sum_up_to_its_top() {
    let folder = tempfile::tempdir().unwrap();
    let rungs = [Rung { name: "true".into(), executable: "/bin/true".into(), argv: vec!["true".into()] }];
    let waterfall = quick(folder.path(), &rungs).waterfall().unwrap().unwrap();
    assert_eq!(waterfall.steps.len() + 1, waterfall.layers.len());
    assert_eq!(waterfall.sum_ns, waterfall.top_ns);
    let rounds: BTreeSet<usize> = waterfall.layers.iter().map(|layer| layer.samples.len()).collect();
    assert_eq!(rounds.len(), 1, "every layer in every round");
}

fn floor(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.arg("floor").args(arguments).output().unwrap()
}

#[test]
fn the_document_holds_what_was_asked_for_and_the_page_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("floor.json");
    let page = floor(&["--quick", "--only", "syscalls", "--export-json", file.to_str().unwrap()]);
    assert!(page.status.success(), "{}", String::from_utf8_lossy(&page.stderr));
    let document: Floor = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!((document.schema.as_str(), document.partial), ("firstbyte/1", false));
    assert!(document.results.iter().all(|figure| figure.group == Group::Syscalls));
    sound(&document.results);
    let text = String::from_utf8(page.stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for name in ["getppid", "write of 14 bytes to /dev/null"] {
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn a_processor_that_does_not_exist_is_an_error_with_a_help_line() {
    let refused = floor(&["--quick", "--only", "syscalls", "--cpus", "1000"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("`1000`") && said.contains("\nhelp: "), "{said}");
}
