//! The doctor on this machine: every check has an answer, and the answers are consistent.

use crate::support::skipped;
use firstbyte::corpus::{Corpus, debian};
use firstbyte::doctor;
use firstbyte::doctor::install;
use firstbyte::document::doctor::{CheckGroup, DoctorReport, InstallPlan, Status};
use std::collections::BTreeSet;

fn examined() -> (Corpus, DoctorReport) {
    let corpus = Corpus::load(None).unwrap();
    let report = doctor::examine(&corpus, &|| Err("not tried".to_owned()));
    (corpus, report)
}

#[test]
fn every_check_has_a_unique_name_one_line_and_a_reason_if_it_fails() {
    let (_, report) = examined();
    let names: BTreeSet<&str> = report.results.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names.len(), report.results.len());
    for check in &report.results {
        assert!(check.status == Status::Works || check.why.is_some(), "{check:?}");
        for line in [Some(&check.detail), check.why.as_ref(), check.fix.as_ref()].into_iter().flatten() {
            assert!(!line.is_empty() && !line.contains('\n'), "{check:?}");
        }
    }
    assert!(
        report.results.windows(2).all(|pair| pair[0].group <= pair[1].group),
        "the checks are sorted by group"
    );
}

#[test]
fn the_callers_result_for_bpf_is_reported() {
    let corpus = Corpus::load(None).unwrap();
    let with = |answer: Result<Vec<&'static str>, String>| {
        let report = doctor::examine(&corpus, &move || answer.clone());
        report.check("bpf backend").unwrap().clone()
    };
    assert_eq!(with(Ok(Vec::new())).status, Status::Works);
    let old = with(Ok(vec!["by another way"]));
    assert_eq!(old.status, Status::Works);
    assert!(old.detail.ends_with(": by another way"), "{}", old.detail);
    let refused = with(Err("no such luck".to_owned()));
    assert_eq!(refused.status, Status::DoesNotWork);
    assert!(refused.why.unwrap().starts_with("no such luck; "));
}

#[test]
fn bpf_is_tried_by_loading_and_attaching() {
    if let Err(why) = doctor::try_bpf() {
        skipped(&why);
    }
}

#[test]
fn every_tool_of_the_core_is_checked_once() {
    let (corpus, report) = examined();
    let core = corpus.programs().iter().filter(|p| p.is_core());
    let fitting = core.filter(|p| p.manifest.fits(std::env::consts::ARCH));
    let tools: BTreeSet<&str> =
        fitting.flat_map(|p| &p.manifest.toolchain).map(|tool| tool.tool.as_str()).collect();
    let checked: BTreeSet<&str> =
        report.results.iter().filter(|c| c.group == CheckGroup::Corpus).map(|c| c.name.as_str()).collect();
    assert!(tools.is_subset(&checked), "{:?}", tools.difference(&checked).collect::<Vec<_>>());
}

#[test]
fn the_report_is_written_as_json() {
    let (_, report) = examined();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["results"][0]["name"], "bpf backend");
    assert_eq!(json["results"][0]["status"], "does not work");
    assert!(json["machine"]["kernel_release"].is_string());
    assert!(json["install"]["packages"].is_array());
}

#[test]
fn only_missing_packages_would_be_installed() {
    let (corpus, report) = examined();
    if debian::is_installed("dpkg").is_none() {
        return skipped("there is no dpkg-query");
    }
    let all: BTreeSet<String> =
        corpus.packages().into_iter().chain(install::test_packages().into_keys()).collect();
    for plan in [report.install, install::plan_for_tests(&corpus)] {
        assert!(plan.packages.windows(2).all(|pair| pair[0] < pair[1]), "{plan:?}");
        for package in &plan.packages {
            assert!(all.contains(package), "{package} is in no list");
            assert_eq!(debian::is_installed(package), Some(false), "{package}");
        }
        assert_eq!(plan.command.is_some(), !plan.packages.is_empty());
    }
}

#[test]
fn an_empty_plan_runs_nothing() {
    let mut announced = Vec::new();
    install::install(&InstallPlan::default(), &mut |command| announced.push(command.to_owned())).unwrap();
    assert!(announced.is_empty());
}

#[test]
fn a_plan_without_apt_names_its_packages() {
    let plan = InstallPlan { packages: vec!["gcc".to_owned()], command: None };
    let text = install::install(&plan, &mut |_| panic!("nothing can be run")).unwrap_err().to_string();
    assert!(text.starts_with("cannot install gcc: there is no `apt-get`\nhelp: "), "{text}");
}

#[test]
fn the_packages_of_the_tests_are_listed_with_their_reasons() {
    let packages = install::test_packages();
    assert!(packages.contains_key("clang"));
    assert!(packages.values().all(|reason| !reason.is_empty()));
    let corpus = Corpus::load(None).unwrap().packages();
    assert!(packages.keys().all(|name| !corpus.contains(name)), "no package is in both lists");
}
