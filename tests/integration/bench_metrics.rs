//! `firstbyte bench --metrics`: which figures are shown, in which units, and what is said of those that are missing.

use crate::bench::{firstbyte, folder};
use serde_json::Value;

const SHORT: [&str; 5] = ["bench", "--runs", "3", "--no-overhead", "--warmup=0"];

fn stdout(arguments: &[&str]) -> String {
    let ran = firstbyte(folder().path(), &[&SHORT[..], arguments].concat());
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// The labels of the lines below a program's name.
fn labels<'t>(text: &'t str, program: &str) -> Vec<&'t str> {
    let below = text.lines().skip_while(|line| *line != program).skip(1);
    let lines = below.take_while(|line| line.starts_with("  "));
    let labels =
        lines.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    labels.collect()
}

#[test]
fn the_chosen_metrics_are_shown_in_their_order_and_units() {
    let metrics = "--metrics=total:us,memory_peak_resident:KiB,time_wall_clock,first_byte";
    let text = stdout(&[metrics, "true", "echo hi"]);
    let expected = ["total", "memory_peak_resident", "time_wall_clock", "first_byte", "runs"];
    assert_eq!(labels(&text, "echo hi"), expected, "{text}");

    let of = |label: &str| text.lines().find(|line| line.trim_start().starts_with(label)).unwrap();
    assert!(of("total").contains(" µs ± ") && of("memory_peak_resident").contains(" KiB"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("× `true`") && words.contains("(it prints nothing)"), "{text}");
}

#[test]
fn a_preset_leaves_out_what_no_program_has_and_a_list_says_why() {
    let pipe = ["--backend", "pipe", "--no-counts", "true"];
    let all = stdout(&[&["--metrics", "all"], &pipe[..]].concat());
    let labels = labels(&all, "true");
    assert!(labels.contains(&"time_cpu") && labels.contains(&"context_switches"), "{all}");
    assert!(!labels.contains(&"setup") && !labels.contains(&"cache_references"), "{all}");
    assert!(all.contains("hyperfine's metric cache_references is not counted"), "{all}");

    let listed = stdout(&[&["--metrics", "setup,syscalls,cache_references"], &pipe[..]].concat());
    let words = listed.split_whitespace().collect::<Vec<_>>().join(" ");
    for reason in ["setup – (the pipe backend", "syscalls – (not counted", "firstbyte does not count it"]
    {
        assert!(words.contains(reason), "{reason}: {listed}");
    }
}

#[test]
fn the_usual_figures_are_the_default() {
    let text = stdout(&["--metrics", "default", "--no-counts", "echo hi"]);
    assert!(labels(&text, "echo hi").contains(&"CPU"), "{text}");
}

#[test]
fn tables_have_a_column_for_each_metric() {
    let table = [
        ("--export-markdown", "| program | cache | syscalls | total |"),
        ("--export-asciidoc", "| program | cache | syscalls | total"),
        ("--export-orgmode", "| program | cache | syscalls | total |"),
        (
            "--export-csv",
            "command,syscalls_unit,syscalls_mean,syscalls_stddev,syscalls_median,syscalls_min,syscalls_max,\
             total_unit,total_mean,total_stddev,total_median,total_min,total_max,parameter_n,name,cache",
        ),
    ];
    for (option, expected) in table {
        let text = stdout(&[option, "-", "--metrics", "syscalls,total:ms", "-L", "n", "1,2", "echo {n}"]);
        assert!(text.lines().any(|line| line == expected), "{option}: {text}");
    }

    let csv = stdout(&["--export-csv", "-", "--metrics", "total:ms,time_wall_clock", "true"]);
    let record: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!((record[1], record[7]), ("ms", "s"), "base units where none is asked for: {csv}");
    let [total, wall]: [f64; 2] = [record[4], record[10]].map(|median| median.parse().unwrap());
    assert!(
        total > 0.0 && wall > 0.0 && total / 1e3 <= wall * (1.0 + 1e-9),
        "the total is a part of the wall time: {csv}"
    );
}

#[test]
fn the_first_metric_is_the_one_that_hyperfines_scripts_draw() {
    for (metrics, primary) in [
        ("memory_peak_resident,total", "memory_peak_resident"),
        ("time_cpu", "time_cpu"),
        ("time_user", "time_wall_clock"),
        ("first_byte", "time_wall_clock"),
    ] {
        let text = stdout(&["--metrics", metrics, "--export-json", "-", "echo hi"]);
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["primary_metric"], primary);
        assert!(document["results"][0]["phases"]["total"].is_object(), "the file has everything");
    }
}

#[test]
fn an_unknown_metric_is_refused_with_the_names_of_all_before_anything_runs() {
    for (metrics, clue) in [("speed", "memory_peak_resident"), ("memory_peak_resident:ms", "KiB")] {
        let folder = folder();
        let words =
            ["bench", "--metrics", metrics, "--setup", "touch ran", "--export-csv", "out.csv", "true"];
        let ran = firstbyte(folder.path(), &words);
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{said}");
        assert!(said.contains("help: ") && said.contains(clue), "{said}");
        assert!(!folder.path().join("ran").exists() && !folder.path().join("out.csv").exists());
    }
}
