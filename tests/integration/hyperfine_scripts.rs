//! hyperfine's own scripts, of version 2.0 and of 1.20, read our JSON unchanged. Every key that one of them reads exists,
//! with the type, the length and the range that the script expects.
//!
//! According to their sources, in hyperfine's `scripts/`, they read these keys of each of the `results` at the top of the
//! document:
//!
//! | script | 1.20 | 2.0 |
//! |---|---|---|
//! | `plot_whisker.py` | `command`, `times`; `median` with `--sort-by` | `name` or `command`, `measurements`, `summary` |
//! | `plot_histogram.py` | `command`, `times` | the same |
//! | `plot_progression.py` | `command`, `times`, in the order of the runs | the same |
//! | `plot_parametrized.py` | `parameters`, `mean`, `stddev`: **not readable**, see below | `parameters`, `summary` |
//! | `plot_benchmark_comparison.py` | `command`, `mean`; the same commands in each file | `name` or `command`, `summary` |
//! | `advanced_statistics.py` | `command`, `times`: at least two numbers | `measurements`, `summary` |
//! | `welch_ttest.py` | `command`, `times`: exactly two results | `measurements` |
//!
//! Those of 2.0 also read `primary_metric` at the top. `measurements` has a list of runs, each with
//! `{METRIC: {"value": …}}`; `summary` has `{METRIC: {"count", "mean", "stddev", "median", "min", "max"}}`.
//!
//! A parameter is `{"NAME": {"value": "1"}}` in 2.0 and `{"NAME": "1"}` in 1.x. One file cannot have both; it is as in 2.0.
//!
//! All of them expect seconds and bytes. With `-n`, hyperfine 1 writes the name as `command`; hyperfine 2 writes it as
//! `name`. Here it is both, so the scripts of both show it, and `command_line` is the command.

use crate::bench::firstbyte;
use serde_json::{Value, json};
use std::fs;

/// The results, found as the scripts find them.
fn results(arguments: &[&str]) -> Vec<Value> {
    let document = document(arguments);
    assert_eq!(
        (&document["schema_version"], &document["primary_metric"]),
        (&json!(2), &json!("time_wall_clock"))
    );
    document["results"].as_array().unwrap().clone()
}

fn document(arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let fixed = ["bench", "--backend", "pipe", "--no-counts", "--export-json", "out.json"];
    let output = firstbyte(folder.path(), &[&fixed[..], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&fs::read(folder.path().join("out.json")).unwrap()).unwrap()
}

fn seconds(result: &Value, key: &str) -> f64 {
    let value = result[key].as_f64().unwrap_or_else(|| panic!("{key}: {result}"));
    assert!(value.is_finite() && (0.0..600.0).contains(&value), "seconds: {key} is {value}");
    value
}

/// The values that whisker, histogram, progression, comparison, statistics and t-test read.
fn is_as_hyperfine_has_it(result: &Value, runs: usize) {
    assert!(result["command"].as_str().is_some_and(|command| !command.is_empty()));
    let times: Vec<f64> =
        result["times"].as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).collect();
    assert_eq!(times.len(), runs);
    assert!(times.iter().all(|time| *time > 0.0 && time.is_finite()));
    let [mean, median, min, max] = ["mean", "median", "min", "max"].map(|key| seconds(result, key));
    assert!(min <= median && median <= max && min <= mean && mean <= max);
    let sum: f64 = times.iter().sum();
    assert!(
        (sum / times.len() as f64 - mean).abs() <= 1e-12 + mean * 1e-9,
        "the mean is the mean of the times"
    );
    assert!(times.contains(&min) && times.contains(&max));
    seconds(result, "cpu");
    // no script reads these, and nothing knows them of short programs without a tracer
    assert!(result["user"].is_null() && result["system"].is_null() && result["undivided"].is_string());
    assert_eq!(result["exit_codes"].as_array().unwrap().len(), runs);
    is_as_hyperfine_2_has_it(result, &times);
}

/// The same values once more, where the scripts of hyperfine 2 look for them.
fn is_as_hyperfine_2_has_it(result: &Value, times: &[f64]) {
    let runs = result["measurements"].as_array().unwrap();
    let value = |run: &Value, metric: &str| run[metric]["value"].as_f64().unwrap();
    let walls: Vec<f64> = runs.iter().map(|run| value(run, "time_wall_clock")).collect();
    assert_eq!(walls, times);
    for run in runs {
        assert!(value(run, "time_cpu") >= 0.0 && run.get("exit_code").is_some(), "{run}");
    }

    for metric in ["time_wall_clock", "time_cpu"] {
        let summary = &result["summary"][metric];
        assert_eq!((&summary["count"], &summary["unit"]), (&json!(times.len()), &json!("second")));
        let [mean, median, min, max] = ["mean", "median", "min", "max"].map(|key| seconds(summary, key));
        assert!(min <= median && median <= max && min <= mean && mean <= max);
        assert!(summary.get("stddev").is_some());
    }
    for key in ["mean", "stddev", "median", "min", "max"] {
        assert_eq!(result["summary"]["time_wall_clock"][key], result[key], "{key}");
    }
}

#[test]
fn whisker_histogram_progression_statistics_and_t_test_find_what_they_read() {
    let results = results(&["--runs", "5", "true", "echo hi"]);
    assert_eq!(results.len(), 2, "welch_ttest.py needs two");
    for result in &results {
        is_as_hyperfine_has_it(result, 5);
        assert!(seconds(result, "stddev") >= 0.0);
        assert!(result.get("parameters").is_none(), "hyperfine leaves it out too");
    }
    let commands: Vec<&str> = results.iter().map(|result| result["command"].as_str().unwrap()).collect();
    assert_eq!(commands, ["true", "echo hi"], "in the given order, which the labels follow");
}

#[test]
fn the_parametrized_plot_finds_one_number_in_each_result() {
    for arguments in
        [["-P", "n", "1", "3"].as_slice(), &["-L", "n", "1,2,3"], &["-P", "n", "0.5", "1.5", "-D", "0.5"]]
    {
        let results = results(&[&["--runs", "2"], arguments, &["echo {n}"]].concat());
        assert_eq!(results.len(), 3);
        let mut values = Vec::new();
        for result in &results {
            is_as_hyperfine_has_it(result, 2);
            assert!(seconds(result, "stddev") >= 0.0, "the error bar");
            let parameters = result["parameters"].as_object().unwrap();
            let [(name, value)] = parameters.iter().collect::<Vec<_>>()[..] else { panic!("{result}") };
            assert_eq!(name, "n");
            // hyperfine writes them as text, also in a scan
            values.push(value["value"].as_str().unwrap().parse::<f64>().unwrap());
        }
        assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "{values:?}");
    }
}

#[test]
fn the_files_of_the_comparison_plot_name_the_same_commands() {
    let names = |results: Vec<Value>| -> Vec<Value> {
        results
            .iter()
            .inspect(|result| is_as_hyperfine_has_it(result, 2))
            .map(|r| r["command"].clone())
            .collect()
    };
    let [first, second] = [(); 2].map(|()| names(results(&["--runs", "2", "-n", "a", "true", "echo hi"])));
    assert_eq!(first, second);
}

#[test]
fn a_given_name_is_the_command_and_values_of_a_parameter_share_it() {
    let arguments = ["--runs", "1", "-n", "build", "-n", "{n}", "-L", "n", "1,2", "echo {n}", "true"];
    let results = results(&arguments);
    let field = |field: &str| -> Vec<Value> { results.iter().map(|result| result[field].clone()).collect() };
    assert_eq!(field("command"), ["build", "build", "1", "2"]);
    assert_eq!(field("command_line"), ["echo 1", "echo 2", "true", "true"]);
    assert_eq!(field("name"), ["build (n = 1)", "build (n = 2)", "1", "2"]);

    let folder = tempfile::tempdir().unwrap();
    let fixed = ["bench", "--backend", "pipe", "--no-counts", "--style", "none", "--export-csv", "-"];
    let csv = firstbyte(folder.path(), &[&fixed[..], &arguments].concat()).stdout;
    let mut rows = csv::Reader::from_reader(&csv[..]);
    let columns = ["command", "command_line", "name", "parameter_n"].map(|column| {
        let headings = rows.headers().unwrap();
        headings.iter().position(|heading| heading == column).unwrap()
    });
    let rows: Vec<Vec<String>> =
        rows.records().map(|row| columns.map(|at| row.as_ref().unwrap()[at].to_owned()).into()).collect();
    assert_eq!(rows[1], ["build", "echo 2", "build (n = 2)", "2"]);
    assert_eq!(rows[2], ["1", "true", "1", "1"]);
}

#[test]
fn a_single_run_has_all_keys_and_no_deviation() {
    let results = results(&["--runs", "1", "true"]);
    is_as_hyperfine_has_it(&results[0], 1);
    assert!(results[0].get("stddev").is_some_and(Value::is_null), "as in hyperfine's file");
}
