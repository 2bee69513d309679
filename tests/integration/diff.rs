//! `firstbyte diff` between recordings and commands.

use super::support::{skipped, write_executable};
use super::trace::{compiled, firstbyte, traced};
use serde_json::Value;

#[test]
fn a_recording_does_not_differ_from_itself() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.rec");
    let file = file.to_str().unwrap();
    if traced(&["-r", "1", "--no-overhead", "--record", file, "--", "true"]).is_none() {
        return skipped("no backend sees every system call");
    }
    let (status, text, _) = firstbyte(&["diff", file, file]);
    assert_eq!(status, Some(0));
    assert!(text.contains("B takes 0 ns more than A: 1.000 times"), "{text}");
    assert!(text.contains("Counts of all threads and processes: the same."), "{text}");
    assert!(!text.contains("came or went"), "{text}");
}

#[test]
fn a_file_that_only_the_new_side_reads_is_reported_as_new() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("read-by-b");
    std::fs::write(&file, "text").unwrap();
    let recording = folder.path().join("a.rec");
    let recording = recording.to_str().unwrap();
    if traced(&["-r", "1", "--no-overhead", "--record", recording, "--", "cat", "/dev/null"]).is_none() {
        return skipped("no backend sees every system call");
    }
    let (status, text, errors) =
        firstbyte(&["diff", "--full", "-r", "2", recording, &format!("cat '{}'", file.display())]);
    assert_eq!(status, Some(0), "{errors}");
    let line = text
        .lines()
        .find(|line| line.starts_with('+') && line.contains("openat") && line.contains("read-by-b"));
    assert!(line.is_some(), "{text}");
}

#[test]
fn the_first_screen_has_the_verdict_and_the_largest_differences() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    for (recording, program) in [("a.rec", "true"), ("b.rec", "bash -c 'ls / | cat; ls /usr'")] {
        if traced(&["-r", "1", "--no-overhead", "--record", &path(recording), program]).is_none() {
            return skipped("no backend sees every system call");
        }
    }
    let diff = |more: &[&str]| firstbyte(&[&["diff", &path("a.rec"), &path("b.rec")], more].concat()).1;
    let (first, full) = (diff(&[]), diff(&["--full"]));
    assert!(first.lines().count() < 24, "{first}");
    assert!(full.lines().count() > first.lines().count(), "{full}");
    assert_eq!(first.lines().next(), full.lines().next());
    assert!(first.contains("B takes ") && first.contains("Where the difference lies"), "{first}");
    assert!(
        first.ends_with("--full: all findings, loads, steps, files and programs that differ\n"),
        "{first}"
    );

    // a higher terminal shows more, and the verdict stays where one looks first
    let high = std::process::Command::new(env!("CARGO_BIN_EXE_firstbyte"))
        .args(["diff", &path("a.rec"), &path("b.rec")])
        .env("LINES", "60")
        .output()
        .unwrap();
    let high = String::from_utf8(high.stdout).unwrap();
    assert!(high.lines().count() > first.lines().count() && high.lines().count() < 60, "{high}");
    assert!(first.lines().nth(2).unwrap().starts_with("B takes "), "{first}");

    // it explains in the words of `trace`
    let (_, traced, _) = firstbyte(&["trace", "--replay", &path("b.rec"), "--full"]);
    let finding = "programs that it starts";
    assert!(!traced.contains(finding) || full.contains(finding), "{traced}{full}");
    assert!(full.contains("What trace finds, and what became of it\n1. +"), "{full}");
}

#[test]
fn a_difference_has_a_page_of_its_own_and_a_place_in_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    for (recording, program) in [("a.rec", "true"), ("b.rec", "bash -c 'ls / | cat; sleep 1'")] {
        if traced(&["-r", "1", "--no-overhead", "--record", &path(recording), program]).is_none() {
            return skipped("no backend sees every system call");
        }
    }
    let exports = ["--html", &path("d.html"), "--export-json", &path("d.json")];
    let (status, _, errors) = firstbyte(&[&["diff", &path("a.rec"), &path("b.rec")], &exports[..]].concat());
    assert_eq!(status, Some(0), "{errors}");
    assert_eq!(firstbyte(&["report", &path("d.json"), "-o", &path("r.html")]).0, Some(0));
    for file in ["d.html", "r.html"] {
        let page = std::fs::read_to_string(path(file)).unwrap();
        assert!(page.contains("<section id=\"difference\"") && page.contains(" more than A, "), "{file}");
        assert!(page.contains("What trace finds, and what became of it"), "{file}");
        assert!(page.matches("fill-user").count() > 2, "{file}: both sides, and the key");
    }
}

#[test]
fn the_export_of_two_recordings_has_both_sides_and_the_changes() {
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
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["schema"], "firstbyte/1");
    assert_eq!(document["results"].as_array().unwrap().len(), 2);
    let steps = document["difference"]["steps"].as_array().unwrap();
    let opened = steps.iter().find(|step| step["name"] == format!("openat {}", path("b"))).unwrap();
    assert!(opened["before"].is_null(), "{opened}");
    assert_eq!(opened["after"]["count"], 1.0);
    for (side, file) in [(0, "a.rec"), (1, "b.rec")] {
        let (_, text, _) = firstbyte(&["trace", "--replay", &path(file), "--export-json", "-"]);
        let traced: Value = serde_json::from_str(&text).unwrap();
        let counts = &document["results"][side]["counts"];
        assert_eq!(counts, &traced["results"][0]["counts"], "counts that were not seen are null in both");
        assert_ne!(counts["max_rss"], 0);
    }
    let kinds = document["difference"]["kinds"].as_array().unwrap();
    let sum: f64 = kinds.iter().map(|kind| kind["after"]["ns"].as_f64().unwrap()).sum();
    let total = document["results"][1]["phases"]["total"]["median"].as_f64().unwrap();
    assert!((sum - total).abs() < 0.5, "the kinds of one run sum to its total: {sum} {total}");
}

#[test]
fn an_argument_that_is_neither_a_command_nor_a_recording_is_refused_before_any_run() {
    let (status, _, errors) = firstbyte(&["diff", "true", "no-such-program-here"]);
    assert_eq!(status, Some(3));
    assert!(errors.contains("`no-such-program-here` was not found in PATH"), "{errors}");
}

/// The order of the runs of both sides: each run appends its letter to a file.
fn order_of_runs(folder: &std::path::Path, runs: &str, seed: &str) -> Option<String> {
    let log = folder.join("log");
    let side = |letter: &str| format!("sh -c 'printf {letter} >> {}'", log.display());
    let (status, _, errors) =
        firstbyte(&["diff", "--no-samples", "-r", runs, "--seed", seed, &side("A"), &side("B")]);
    if status == Some(4) {
        return None;
    }
    assert_eq!(status, Some(0), "{errors}");
    let letters = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    Some(letters)
}

#[test]
fn both_sides_alternate_in_an_order_that_depends_on_the_seed() {
    let folder = tempfile::tempdir().unwrap();
    let mut orders = Vec::new();
    for seed in ["1", "2"] {
        let Some(letters) = order_of_runs(folder.path(), "12", seed) else {
            return skipped("no backend sees every system call");
        };
        let rounds: Vec<&[u8]> = letters.as_bytes().chunks(2).collect();
        assert!(rounds.len() > 12, "{letters}");
        assert!(rounds.iter().all(|round| round.contains(&b'A') && round.contains(&b'B')), "{letters}");
        assert!(rounds[1..].contains(&&b"AB"[..]) && rounds.contains(&&b"BA"[..]), "{letters}");
        orders.push(letters[..26].to_owned());
    }
    assert_ne!(orders[0], orders[1]);
}

#[test]
fn a_failing_side_is_reported_with_the_exit_status_of_a_trace() {
    for (a, b, letter) in [("true", "sh -c 'exit 7'", "B"), ("sh -c 'exit 7'", "true", "A")] {
        let (status, text, errors) = firstbyte(&["diff", "-r", "1", a, b]);
        if status == Some(4) {
            return skipped("no backend sees every system call");
        }
        assert_eq!(status, Some(3), "{errors}");
        assert!(text.contains(&format!("{letter}: The program ended with exit status 7.")), "{text}");
    }
}

#[test]
fn a_side_that_cannot_be_executed_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("no-program");
    write_executable(&file, b"\x7fELF and nothing else", 0o755);
    let (status, text, errors) = firstbyte(&["diff", "-r", "1", "true", file.to_str().unwrap()]);
    if status == Some(4) {
        return skipped("no backend sees every system call");
    }
    assert_eq!((status, text.as_str()), (Some(3), ""), "{errors}");
    assert!(errors.contains("no-program"), "{errors}");
}

#[test]
fn a_program_compared_with_itself_has_an_interval_and_a_spread() {
    let (status, text, errors) = firstbyte(&["diff", "-r", "9", "--export-json", "-", "true", "true"]);
    if status == Some(4) {
        return skipped("no backend sees every system call");
    }
    assert_eq!(status, Some(0), "{errors}");
    let document: Value = serde_json::from_str(&text).unwrap();
    let difference = &document["difference"];
    let figure = |name: &str| difference["comparison"][name].as_f64().unwrap();
    assert!(figure("low") <= figure("ratio") && figure("ratio") <= figure("high"), "{difference}");
    assert_eq!((&difference["comparison"]["pairs"], &difference["in_turn"]), (&9.into(), &true.into()));
    let holds_one = figure("low") <= 1.0 && 1.0 <= figure("high");
    assert_eq!(difference["verdict"] == "cant_tell", holds_one, "{difference}");
    for (side, result) in ["before", "after"].into_iter().zip(document["results"].as_array().unwrap()) {
        let kinds = difference["kinds"].as_array().unwrap().iter();
        let sum: f64 = kinds.map(|kind| kind[side]["ns"].as_f64().unwrap()).sum();
        let total = result["mean"].as_f64().unwrap() * 1e9;
        assert!((sum - total).abs() < 1.0, "{side}: the kinds add up to {sum}, not {total}");
    }
    let (_, text, _) = firstbyte(&["diff", "-r", "2", "true", "true"]);
    let text = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(text.contains("(2 runs each, interleaved: can't tell with fewer than 8 of each)"), "{text}");
}

#[test]
fn a_program_that_was_removed_is_named_with_its_whole_lifetime() {
    let words = ["diff", "-r", "3", "--export-json", "-", "sh -c '/bin/sleep 0.4; :'", "sh -c :"];
    let (status, text, errors) = firstbyte(&words);
    if status == Some(4) {
        return skipped("no backend sees every system call");
    }
    assert_eq!(status, Some(0), "{errors}");
    let document: Value = serde_json::from_str(&text).unwrap();
    let difference = &document["difference"];
    let programs = difference["programs"].as_array().unwrap();
    let removed = programs.iter().find(|program| program["name"] == "/bin/sleep").unwrap();
    assert!(removed["ns"].as_f64().unwrap() <= -400e6 && removed["after"].is_null(), "{removed}");
    assert_eq!(difference["verdict"], "faster", "three runs tell such a difference: {difference}");

    let sum = |list: &str| -> f64 {
        let changes = difference[list].as_array().unwrap().iter();
        changes.map(|change| change["ns"].as_f64().unwrap()).sum()
    };
    let total = difference["total_ns"].as_f64().unwrap();
    assert!((sum("attribution") - total).abs() < 10.0, "{} {total}", sum("attribution"));
}

#[test]
fn the_same_count_has_the_same_value_everywhere() {
    let (a, b) = ("sh -c :", "cat /dev/null");
    let (status, text, errors) = firstbyte(&["diff", "-r", "6", "--export-json", "-", a, b]);
    if status == Some(4) {
        return skipped("no backend sees every system call");
    }
    assert_eq!(status, Some(0), "{errors}");
    let document: Value = serde_json::from_str(&text).unwrap();
    let kinds = document["difference"]["kinds"].as_array().unwrap();
    let of_kind = |key: &str| kinds.iter().find(|kind| kind["kind"] == key).unwrap();
    for (side, result) in ["before", "after"].into_iter().zip(document["results"].as_array().unwrap()) {
        let counts = &result["counts"];
        let faults = counts["page_faults"].as_f64().unwrap_or(0.0);
        assert_eq!(of_kind("fault")[side]["count"], faults, "for the only thread: {counts}");
        let calls = counts["syscalls"].as_f64().unwrap() - counts["execs"].as_f64().unwrap();
        assert_eq!(of_kind("syscall")[side]["count"], calls, "the exec is a separate kind: {counts}");
    }
}

/// Touches fresh pages in its own code, so that this code is seen, and prints.
const NAMED: &str = r#"
#include <unistd.h>
static volatile char pages[16 * 65536];
__attribute__((noinline)) static void named_then(void) { for (int n = 0; n < 16; n++) pages[n * 65536] = 1; }
int main(void) { named_then(); return write(1, "one\n", 4) != 4; }
"#;

#[test]
fn a_recording_is_explained_by_the_files_that_it_saw_not_by_later_files_of_the_same_name() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("a.rec");
    let recording = recording.to_str().unwrap();
    let Some(program) = compiled(folder.path(), NAMED, &["-static", "-Wl,--build-id"]) else {
        return skipped("there is no C compiler that links statically");
    };
    let program = program.to_str().unwrap().to_owned();
    if traced(&["-r", "1", "--no-overhead", "--record", recording, "--", &program]).is_none() {
        return skipped("no backend sees every system call");
    }
    let replay = |more: &[&str]| {
        let (status, text, errors) = firstbyte(&[&["trace", "--replay", recording], more].concat());
        assert_eq!(status, Some(0), "{errors}");
        text
    };
    let changed =
        |text: &str| text.split_whitespace().collect::<String>().contains("changedsinceitwasrecorded");
    let then = (replay(&["--timeline"]), replay(&[]));
    assert!(then.0.contains("(executable): ") && !changed(&then.1), "{then:?}");
    assert!(then.0.contains(": named_then") || then.1.contains("by ptrace"), "{}", then.0);
    // Another function in front of it: now a different one is at the old address.
    let other =
        format!("void another(int *p) {{ while (*p) p++; }}\n{}", NAMED.replace("named_then", "named_now"));
    compiled(folder.path(), &other, &["-static", "-Wl,--build-id"]).unwrap();
    let now = (replay(&["--timeline"]), replay(&[]));
    assert!(!now.0.contains("named_now") && now.0.contains("tracee (executable)"), "{}", now.0);
    assert!(!now.0.contains("(executable):"), "{}", now.0);
    assert!(changed(&now.1), "{}", now.1);
    assert_eq!(now.0.lines().count(), then.0.lines().count());
    let (status, text, errors) = firstbyte(&["diff", recording, recording]);
    assert_eq!(status, Some(0), "{errors}");
    assert!(text.contains("A and B: `") && changed(&text), "{text}");
    // The format of older versions.
    let text = std::fs::read_to_string(recording).unwrap();
    let (start, rest) = text.split_once("\"modules\":[").unwrap();
    let (_, end) = rest.split_once("],\"backend\"").unwrap();
    std::fs::write(recording, format!("{start}\"backend\"{end}")).unwrap();
    assert!(replay(&[]).contains("does not list its files"));
}

#[test]
fn the_two_programs_are_one_thing_whatever_they_are_called() {
    let folder = tempfile::tempdir().unwrap();
    let copy = |name: &str| {
        let path = folder.path().join(name);
        std::fs::copy("/bin/true", &path).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let copies = ["first-copy", "second-copy"].map(copy);
    let json = folder.path().join("out.json");
    let words = ["diff", "--full", "-r", "2", "--export-json", json.to_str().unwrap()];
    let (status, text, errors) = firstbyte(&[&words[..], &copies.each_ref().map(String::as_str)].concat());
    if status == Some(4) {
        return skipped("no backend sees every system call");
    }
    assert_eq!(status, Some(0), "{errors}");
    let (_, rows) = text.split_once("Where the difference lies").unwrap();
    // a finding may name the file
    let rows = rows.split("What trace finds").next().unwrap();
    assert!(!rows.contains("first-copy") && !rows.contains("second-copy"), "{text}");
    assert_eq!(rows.lines().find(|line| line.starts_with(['+', '-'])), None, "{text}");
    let document: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(document["difference"]["steps"].as_array().map(Vec::len), Some(0), "{document}");
}
