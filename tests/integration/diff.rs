//! `firstbyte diff` between recordings and commands.

use super::support::skipped;
use super::trace::{firstbyte, traced};

#[test]
fn a_recording_differs_from_itself_in_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.rec");
    let file = file.to_str().unwrap();
    if traced(&["-r", "1", "--no-overhead", "--record", file, "--", "true"]).is_none() {
        return skipped("no backend sees every system call");
    }
    let (status, text, _) = firstbyte(&["diff", file, file]);
    assert_eq!(status, Some(0));
    assert!(text.contains("+0 ns against A: 1.000 times"), "{text}");
    assert!(text.contains("Counts of all threads and processes: the same."), "{text}");
    assert!(!text.contains("came or went"), "{text}");
}

#[test]
fn a_file_that_only_one_side_reads_came() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("read-by-b");
    std::fs::write(&file, "text").unwrap();
    let recording = folder.path().join("a.rec");
    let recording = recording.to_str().unwrap();
    if traced(&["-r", "1", "--no-overhead", "--record", recording, "--", "cat", "/dev/null"]).is_none() {
        return skipped("no backend sees every system call");
    }
    let (status, text, errors) =
        firstbyte(&["diff", "-r", "2", recording, &format!("cat '{}'", file.display())]);
    assert_eq!(status, Some(0), "{errors}");
    let line = text
        .lines()
        .find(|line| line.starts_with('+') && line.contains("openat") && line.contains("read-by-b"));
    assert!(line.is_some(), "{text}");
}

#[test]
fn the_export_has_both_sides_and_what_changed_from_recordings_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(path("b"), "text").unwrap();
    for (recording, file) in [("a.rec", "/dev/null".to_owned()), ("b.rec", path("b"))] {
        let arguments = ["-r", "1", "--no-overhead", "--record", &path(recording), "--", "cat", &file];
        if traced(&arguments).is_none() {
            return skipped("no backend sees every system call");
        }
    }
    let (status, text, errors) = firstbyte(&["diff", "--export-json", "-", &path("a.rec"), &path("b.rec")]);
    assert_eq!(status, Some(0), "{errors}");
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["schema"], "firstbyte/1");
    assert_eq!(document["results"].as_array().unwrap().len(), 2);
    let steps = document["difference"]["steps"].as_array().unwrap();
    let opened = steps.iter().find(|step| step["name"] == format!("openat {}", path("b"))).unwrap();
    assert!(opened["before"].is_null(), "{opened}");
    assert_eq!(opened["after"]["count"], 1.0);
    let kinds = document["difference"]["kinds"].as_array().unwrap();
    let sum: f64 = kinds.iter().map(|kind| kind["after"]["ns"].as_f64().unwrap()).sum();
    let total = document["results"][1]["phases"]["total"]["median"].as_f64().unwrap();
    assert!((sum - total).abs() < 0.5, "the kinds of one run sum up to its total: {sum} {total}");
}

#[test]
fn what_is_neither_a_command_nor_a_recording_is_told_before_anything_runs() {
    let (status, _, errors) = firstbyte(&["diff", "true", "no-such-program-here"]);
    assert_eq!(status, Some(3));
    assert!(errors.contains("`no-such-program-here` was not found in PATH"), "{errors}");
}
