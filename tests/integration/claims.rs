//! `firstbyte claims`: the list, the measurements and the documents.

use crate::support::skipped;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

const FIRSTBYTE: &str = env!("CARGO_BIN_EXE_firstbyte");

fn claims(arguments: &[&str]) -> Output {
    Command::new(FIRSTBYTE).arg("claims").args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let all = [&["--quick", "--json"], arguments].concat();
    serde_json::from_str(&stdout(&claims(&all))).unwrap()
}

fn row<'d>(document: &'d Value, id: &str) -> &'d Value {
    document["results"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap()
}

#[test]
fn every_claim_is_listed() {
    let listed = stdout(&claims(&["--list"]));
    for claim in firstbyte::claims::all() {
        assert!(listed.contains(claim.id), "{}", claim.id);
    }
    assert_eq!(stdout(&claims(&["--list", "--only", "004-musl"])).split(' ').next(), Some("004-musl"));
}

#[test]
fn an_unknown_claim_is_refused_with_the_command_that_lists_them() {
    let output = claims(&["--only", "nonsense"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("`nonsense` is not a claim or the number of a post")
            && said.contains("help: firstbyte claims --list")
    );
}

#[test]
fn sizes_are_judged_without_running_anything() {
    let document = json(&["--only", "003-154-bytes"]);
    assert_eq!(document["schema"], "firstbyte/1");
    assert_eq!(document["tool"]["name"], "firstbyte");
    assert!(document["machine"].is_object());
    let row = row(&document, "003-154-bytes");
    for key in ["id", "seed", "claim", "figure", "measured", "how", "verdict", "why"] {
        assert!(row[key].is_string(), "{key}");
    }
    assert_eq!(row["verdict"], "does not hold here");
    assert_eq!(row["values"][0]["value"], 122.0);
}

#[test]
fn a_run_with_few_programs_judges_their_claims() {
    let document = json(&["--only", "000-printf-is-puts,000-write-fewer-calls,001-footnote-2,004-tenfold"]);
    for row in document["results"].as_array().unwrap() {
        let values = row["values"].as_array().unwrap();
        // Noise may leave a claim undecided in these few runs; it was still measured.
        if values.iter().any(|value| value["value"].is_null()) {
            skipped(&format!("{}: {}", row["id"], row["why"]));
        }
        for value in values {
            let (low, high) = (&value["low"], &value["high"]);
            if let (Some(low), Some(high)) = (low.as_f64(), high.as_f64()) {
                let median = value["value"].as_f64().unwrap();
                assert!(low <= median && median <= high, "{value}");
            }
        }
    }
}

#[test]
fn a_missing_program_makes_its_claims_untestable_and_names_the_install_command() {
    let folder = tempfile::tempdir().unwrap();
    // apt-get is in PATH, the tools to install are not.
    std::os::unix::fs::symlink("/bin/true", folder.path().join("apt-get")).unwrap();
    let output = Command::new(FIRSTBYTE)
        .args(["claims", "--quick", "--only", "004-musl", "--json"])
        .env("PATH", folder.path())
        .env("XDG_CACHE_HOME", folder.path())
        .output()
        .unwrap();
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let row = row(&document, "004-musl");
    assert_eq!(row["verdict"], "cannot be tested here");
    assert!(row["why"].as_str().unwrap().contains("is not in PATH"), "{row}");
    assert!(row["install"].as_str().unwrap().contains("install"), "{row}");
}

#[test]
fn a_file_of_another_kind_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.json");
    std::fs::write(&file, "{\"schema\": \"other/1\"}").unwrap();
    for path in [file.as_path(), Path::new("/nonexistent")] {
        let output = claims(&["--from", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8(output.stderr).unwrap().contains("help: "));
    }
}

/// The run that is the source of the page in docs.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/results/2026-11-26-epyc-kvm/claims.json");

#[test]
fn the_page_in_docs_matches_the_recorded_run() {
    let written = claims(&["--from", RECORDED, "--export-markdown", "-"]);
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/claims.md");
    assert_eq!(stdout(&written), std::fs::read_to_string(page).unwrap());
}

#[test]
fn the_recorded_run_has_every_claim() {
    let recorded: Value = serde_json::from_str(&std::fs::read_to_string(RECORDED).unwrap()).unwrap();
    let judged: Vec<&str> =
        recorded["results"].as_array().unwrap().iter().filter_map(|row| row["id"].as_str()).collect();
    let listed = stdout(&claims(&["--list"]));
    let listed: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(judged.iter().all(|id| listed.contains(id)), "{judged:?}");
    let claims: BTreeSet<&str> = listed.into_iter().filter(|word| word.starts_with("00")).collect();
    assert_eq!(claims, judged.into_iter().collect());
}
