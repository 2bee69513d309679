//! How often verdicts are right: `cargo bench --bench verdicts`.
//!
//! Runs `firstbyte bench` as a user would, one process each time, and counts its verdicts. It compares a program with
//! itself, where faster and slower are both wrong, and with itself plus a spin of 3 % of its total, where only slower is
//! right.
//!
//! After `--`: `--json FILE` for the raw data, `--only self` or `--only slower`, `--comparisons N`, `--time DURATION`
//! for the time of each comparison.

use firstbyte_measure::machine::Machine;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The duration of the spin, as a part of the total.
const SLOWER_BY: f64 = 0.03;

/// The total is measured again after this many comparisons, because machines drift.
const CALIBRATED_FOR: usize = 10;

fn main() {
    let options = Options::read();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile(folder.path());
    let mut results = serde_json::Map::new();
    for (name, comparisons, part) in [("self", 200, itself as Part), ("slower", 100, slower)] {
        if options.only.as_deref().is_none_or(|only| only == name) {
            let comparisons = options.comparisons.unwrap_or(comparisons);
            results.insert(name.to_owned(), part(&program, comparisons, &options.time));
        }
    }
    if let Some(file) = options.json {
        let document = json!({
            "schema": "firstbyte/1", "tool": {"name": "firstbyte", "version": env!("CARGO_PKG_VERSION")},
            "machine": Machine::examine(), "command": "cargo bench --bench verdicts",
            "time": options.time, "results": results,
        });
        std::fs::write(&file, format!("{document:#}\n")).expect("the JSON file is writable");
    }
}

type Part = fn(&Path, usize, &str) -> Value;

struct Options {
    json: Option<String>,
    only: Option<String>,
    comparisons: Option<usize>,
    time: String,
}

impl Options {
    fn read() -> Options {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let value =
            |name: &str| words.iter().position(|w| w == name).and_then(|at| words.get(at + 1)).cloned();
        Options {
            json: value("--json"),
            only: value("--only"),
            comparisons: value("--comparisons").map(|n| n.parse().expect("--comparisons takes a number")),
            time: value("--time").unwrap_or_else(|| "1s".to_owned()),
        }
    }
}

fn compile(folder: &Path) -> PathBuf {
    let program = folder.join("spin");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/verdicts/spin.c");
    let compiled = Command::new("cc").args(["-O2", "-o"]).arg(&program).arg(source).status();
    assert!(compiled.expect("cc is installed").success(), "cc failed");
    program
}

/// The verdict of `firstbyte bench` about its second command.
fn compared(commands: [String; 2], seed: usize, time: &str) -> Value {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    bench.args([
        "bench",
        "-n",
        "first",
        "-n",
        "second",
        "--no-overhead",
        "--no-counts",
        "--export-json",
        "-",
    ]);
    bench.args(["--time", time, "--seed", &seed.to_string()]).args(commands);
    let output = bench.output().expect("firstbyte runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let second = &document["results"][1];
    let relative = second["relative"].as_array().expect("a list").iter();
    let total = relative.clone().find(|relative| relative["of"] == "total").expect("a verdict on the total");
    let first_byte = relative.clone().find(|relative| relative["of"] == "first_byte");
    let medians = [0, 1].map(|place| document["results"][place]["phases"]["total"]["median"].clone());
    json!({"total": total, "first_byte": first_byte, "medians_ns": medians, "finish": document["finish"]})
}

fn spinning(program: &Path, nanoseconds: f64) -> String {
    format!("{} {nanoseconds:.0}", program.display())
}

/// Compares a program with itself. Every verdict except "can't tell" is wrong.
fn itself(program: &Path, comparisons: usize, time: &str) -> Value {
    let command = || spinning(program, 0.0);
    let all: Vec<Value> = (0..comparisons).map(|seed| compared([command(), command()], seed, time)).collect();
    for of in ["total", "first_byte"] {
        let wrong = comparisons - said(&all, of, "cant_tell");
        let (faster, slower) = (said(&all, of, "faster"), said(&all, of, "slower"));
        println!(
            "self    {of:<10}  {wrong} of {comparisons} said faster ({faster}) or slower ({slower}): {:.1} %, at most 5 %",
            100.0 * wrong as f64 / comparisons as f64
        );
    }
    summary(&all);
    Value::Array(all)
}

/// Compares a program with itself plus a spin. Every verdict except slower is wrong.
fn slower(program: &Path, comparisons: usize, time: &str) -> Value {
    let mut all = Vec::new();
    let mut spin = 0.0;
    for seed in 0..comparisons {
        if seed % CALIBRATED_FOR == 0 {
            let same = compared([spinning(program, 0.0), spinning(program, 0.0)], seed, time);
            spin = SLOWER_BY * same["medians_ns"][0].as_f64().expect("a median");
        }
        // alternating, so that the position on the command line does not matter
        let (fast, slow) = (spinning(program, 0.0), spinning(program, spin));
        let is_second = seed % 2 == 0;
        let commands = if is_second { [fast, slow] } else { [slow, fast] };
        let mut comparison = compared(commands, seed, time);
        comparison["spin_ns"] = json!(spin);
        comparison["slow_one_is_second"] = json!(is_second);
        all.push(comparison);
    }
    for of in ["total", "first_byte"] {
        let right = |one: &&Value| {
            let expected = if one["slow_one_is_second"] == true { "slower" } else { "faster" };
            one[of]["verdict"] == expected
        };
        let seen = all.iter().filter(right).count();
        println!("slower  {of:<10}  {seen} of {comparisons} saw the 3 %, at least 90 %");
    }
    summary(&all);
    Value::Array(all)
}

fn said(all: &[Value], of: &str, verdict: &str) -> usize {
    all.iter().filter(|one| one[of]["verdict"] == verdict).count()
}

/// The settings of the comparisons.
fn summary(all: &[Value]) {
    let median = |of: &dyn Fn(&Value) -> Option<f64>| {
        let mut values: Vec<f64> = all.iter().filter_map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let pairs = median(&|one| one["total"]["pairs"].as_f64());
    let ratio = median(&|one| {
        let ratio = one["total"]["ratio"].as_f64()?;
        Some(if one["slow_one_is_second"] == false { 1.0 / ratio } else { ratio })
    });
    let width = median(&|one| Some(one["total"]["high"].as_f64()? - one["total"]["low"].as_f64()?));
    let total = median(&|one| one["medians_ns"][0].as_f64());
    println!(
        "        medians: {pairs:.0} pairs, total {:.0} us, ratio {ratio:.4}, 99 % interval {:.1} % wide",
        total / 1e3,
        100.0 * width
    );
}
