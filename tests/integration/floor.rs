//! The floor on this machine: every figure has samples, nothing is counted twice, and the steps sum to the whole.

use crate::support::skipped;
use firstbyte::document::floor::{Figure, Floor, Group};
use firstbyte::floor::{Effort, Rung, Survey};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

fn quick<'s>(folder: &'s Path, rungs: &'s [Rung]) -> Survey<'s> {
    Survey { rungs, folder, other: None, effort: Effort::Quick, seed: 1 }
}

fn check_figures(figures: &[Figure]) {
    let names: BTreeSet<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names.len(), figures.len(), "names are unique");
    for figure in figures {
        assert!(!figure.samples.is_empty() && figure.calls > 0, "{}", figure.name);
        assert!(figure.min <= figure.median && figure.median <= figure.p99, "{}", figure.name);
        assert!(figure.low <= figure.median && figure.median <= figure.high, "{}", figure.name);
    }
}

#[test]
fn every_system_call_has_one_batch_per_round_and_single_calls() {
    let folder = tempfile::tempdir().unwrap();
    let part = quick(folder.path(), &[]).syscalls().unwrap();
    check_figures(&part.figures);
    let rounds = part.figures[0].samples.len();
    for figure in &part.figures {
        assert_eq!(figure.samples.len(), rounds, "{}", figure.name);
        let singles = figure.single.as_ref().unwrap();
        assert!(singles.histogram.counts.iter().sum::<u32>() > 0, "{}", figure.name);
    }
    // Without a second processor, the figures that need a reader are missing, with the reason.
    assert!(part.missing.iter().all(|missing| missing.reason.contains("another processor")));
    assert_eq!(part.missing.len(), 4);
}

#[test]
fn the_steps_of_a_measured_waterfall_sum_to_its_top() {
    let folder = tempfile::tempdir().unwrap();
    let rungs = [Rung { name: "true".into(), executable: "/bin/true".into(), argv: vec!["true".into()] }];
    let waterfall = quick(folder.path(), &rungs).waterfall().unwrap().waterfall.unwrap();
    assert_eq!(waterfall.steps.len() + 1, waterfall.layers.len());
    assert_eq!(waterfall.sum_ns, waterfall.top_ns);
    let rounds: BTreeSet<usize> = waterfall.layers.iter().map(|layer| layer.samples.len()).collect();
    assert_eq!(rounds.len(), 1, "every round has every layer");
}

fn floor(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.arg("floor").args(arguments).output().unwrap()
}

#[test]
fn the_document_and_the_page_contain_the_selected_group() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("floor.json");
    let page = floor(&["--quick", "--only", "syscalls", "--export-json", file.to_str().unwrap()]);
    assert!(page.status.success(), "{}", String::from_utf8_lossy(&page.stderr));
    let document: Floor = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!((document.schema.as_str(), document.partial), ("firstbyte/1", false));
    assert!(document.results.iter().all(|figure| figure.group == Group::Syscalls));
    check_figures(&document.results);
    let text = String::from_utf8(page.stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for name in ["getppid", "write of 14 bytes to /dev/null"] {
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn a_picture_of_something_that_is_not_measured_is_refused_at_once() {
    for picture in ["--export-svg", "--export-png"] {
        for asked in [&["--only", "syscalls"][..], &["--cpus-sweep"]] {
            let refused = floor(&[asked, &[picture, "-"]].concat());
            assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
            let said = String::from_utf8(refused.stderr).unwrap();
            assert!(said.contains("no waterfall to draw\nhelp: "), "{said}");
        }
    }
}

#[test]
fn prints_are_seen_from_inside_and_from_outside() {
    let page = floor(&["--quick", "--only", "print", "--json"]);
    assert!(page.status.success(), "{}", String::from_utf8_lossy(&page.stderr));
    let document: Floor = serde_json::from_slice(&page.stdout).unwrap();
    let Some(write) = document.prints.iter().find(|print| print.program == "timed-c-write") else {
        let reasons: Vec<&str> = document.missing.iter().map(|missing| missing.reason.as_str()).collect();
        return skipped(&reasons.join("; "));
    };
    assert_eq!(write.first.samples.len(), 7);
    let outside = write.outside.as_ref().unwrap();
    assert_eq!(
        (&*outside.first_calls, &*outside.hundredth_calls),
        (&["write".to_owned()][..], &["write".to_owned()][..])
    );
    if let Some(printf) = document.prints.iter().find(|print| print.program == "timed-c-printf") {
        let outside = printf.outside.as_ref().unwrap();
        assert!(outside.first_calls.len() > 1, "{outside:?}");
        assert_eq!(outside.hundredth_calls, ["write"]);
    }
}

#[test]
fn a_processor_that_does_not_exist_is_an_error_with_a_help_line() {
    let refused = floor(&["--quick", "--only", "syscalls", "--cpus", "1000"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("`1000`") && said.contains("\nhelp: "), "{said}");
}

#[test]
fn a_command_is_above_the_ladder_and_its_steps_sum_to_the_top() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("floor.json");
    let (json, picture) = (file.to_str().unwrap(), folder.path().join("floor.svg"));
    let exports = ["--export-json", json, "--export-svg", picture.to_str().unwrap()];
    let done = floor(&[&["--quick"][..], &exports, &["--", "ls", "/"]].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(std::fs::read_to_string(picture).unwrap().contains("vfork+exec, plain ELF"));
    let document: Floor = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert!(document.results.is_empty(), "with a command only its waterfall is measured");
    let [waterfall] = &document.waterfalls[..] else { panic!("{} waterfalls", document.waterfalls.len()) };
    assert_eq!(waterfall.sum_ns, waterfall.top_ns);
    let names: Vec<&str> = waterfall.layers.iter().map(|layer| layer.name.as_str()).collect();
    let place = |name: &str| names.iter().position(|own| *own == name).unwrap_or_else(|| panic!("{names:?}"));
    assert!(place("/bin/sh -c, the command") < place("vfork+exec, the command"));
    assert!(place("vfork+exec, the command") < place("vfork+exec, plain ELF"));
    let echo =
        |how: &str| names.iter().position(|own| own.starts_with(&format!("echo, {how} of a running ")));
    assert!(Some(place("vfork+exit")) < echo("in a shell loop"), "{names:?}");
    assert!(echo("in a shell loop") < echo("builtin"), "{names:?}");
    assert_eq!(place("getppid, inline system call: the floor"), names.len() - 1);
}

#[test]
fn a_command_that_hangs_in_its_second_run_is_killed_and_reported_and_the_rest_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let (mark, file) = (folder.path().join("mark"), folder.path().join("floor.json"));
    let script = format!("mkdir '{}' || exec sleep 1000", mark.display());
    let export = ["--quick", "--timeout", "2s", "--export-json", file.to_str().unwrap()];
    let done = floor(&[&export[..], &["--", "sh", "-c", &script]].concat());
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("the command was not measured") && said.contains("\nhelp: "), "{said}");
    let document: Floor = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let lacks = document.missing.iter().filter(|lack| lack.reason.contains("had not ended after 2s"));
    assert_eq!(lacks.count(), 3, "{:?}", document.missing);
    assert_eq!(document.waterfalls[0].sum_ns, document.waterfalls[0].top_ns);
}

#[test]
fn a_command_that_fails_or_does_not_exist_is_not_timed() {
    for (command, status, said) in
        [("false", 3, "exit status 1"), ("no-such-program", 3, "not found in PATH")]
    {
        let refused = floor(&["--quick", "--", command]);
        assert_eq!(refused.status.code(), Some(status));
        let text = String::from_utf8(refused.stderr).unwrap();
        assert!(text.contains(said) && text.contains("\nhelp: "), "{text}");
        assert!(refused.stdout.is_empty());
    }
    let endless = floor(&["--quick", "--timeout", "300ms", "--", "sleep", "1000"]);
    assert_eq!(endless.status.code(), Some(3));
}

#[test]
fn there_is_one_fault_per_page_and_the_calibration_contains_the_costs() {
    let cache = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.args(["floor", "--quick", "--only", "faults", "--json"]).env("FIRSTBYTE_CACHE", cache.path());
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let document: Floor = serde_json::from_slice(&done.stdout).unwrap();
    check_figures(&document.results);
    let calibration = document.calibration.unwrap();
    let measured = calibration.anonymous_fault.is_some() && calibration.file_fault.is_some();
    assert!(measured, "{:?}", document.missing);
    assert_eq!(calibration.null_syscall, None, "it was not selected");
    assert_eq!(std::fs::read_dir(cache.path().join("calibration")).unwrap().count(), 1);
}

#[test]
fn a_sweep_has_a_point_for_every_number_of_processors() {
    let done = floor(&["--cpus-sweep", "--quick", "--json", "--", "echo", "hello"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let document: Floor = serde_json::from_slice(&done.stdout).unwrap();
    let [sweep] = &document.sweeps[..] else { panic!("{} sweeps", document.sweeps.len()) };
    let cpus: Vec<usize> = sweep.points.iter().map(|point| point.cpus).collect();
    assert_eq!(cpus[0], 1);
    assert!(cpus.windows(2).all(|pair| pair[0] < pair[1]), "{cpus:?}");
    assert_eq!(cpus.last(), Some(&firstbyte::floor::allowed_cpus().unwrap().len()));
    assert!(sweep.points.iter().all(|point| point.samples.len() == 8 && point.how == "affinity"));
}

#[test]
fn a_sweep_is_written_as_markdown() {
    let done = floor(&["--cpus-sweep", "--quick", "--export-markdown", "-", "--", "echo", "hello"]);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.starts_with("| echo hello, limited by | CPUs | first byte |"), "{text}");
    assert_eq!(text.matches("\n| affinity | 1 |").count(), 1, "{text}");
}
