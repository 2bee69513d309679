//! Two programs whose difference is known, compared by each tool with its defaults: on a quiet machine, and beside two busy
//! loops.
//!
//! The program is a `printf` in C. The slower one spins for 3 % of its time more, which is measured once, before the first
//! trial. A comparison of the program with itself shows false alarms. The tools take turns, in another order in each trial.

use crate::blocks::median;
use crate::programs;
use crate::tools::{ComparedTool, firstbyte};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the slower program spins, as a part of the total.
const SLOWER_BY: f64 = 0.03;

/// The machine beside the tools.
const STATES: [&str; 2] = ["quiet", "busy"];

/// What is compared: the program with the slower one, or with itself.
const KINDS: [&str; 2] = ["slower", "same"];

/// Makes the trials that `before` does not have, and saves after each. Prints the result once all are made.
pub(crate) fn measure(before: Option<Value>, trials: usize, limit: Option<Duration>, save: &dyn Fn(&Value)) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let program = programs::spin(folder.path());
    let (spin, mut made) = match before {
        Some(mut document) => {
            let trials = document["results"]["trials"].take();
            (number(&document["results"], "spin_ns"), trials.as_array().expect("the earlier trials").clone())
        }
        None => (spin(&program), Vec::new()),
    };
    let bench = Bench { program, json: folder.path().join("out.json"), spin };

    let began = Instant::now();
    let left: Vec<_> = planned(trials).into_iter().filter(|one| !made.iter().any(|m| one.is(m))).collect();
    for (done, trial) in left.iter().enumerate() {
        if limit.is_some_and(|limit| began.elapsed() > limit) {
            println!("{} comparisons are left; call it again with the same file", left.len() - done);
            return;
        }
        made.push(bench.run(trial));
        save(&json!({"spin_ns": spin, "trials": made}));
    }
    summary(&made, spin);
}

/// 3 % of the program's total, in whole microseconds.
fn spin(program: &Path) -> f64 {
    let command = format!("{} 0", program.display());
    let own = firstbyte(command.as_ref(), &["--runs", "500"]);
    (number(&own["phases"]["total"], "median") * SLOWER_BY / 1e3).round() * 1e3
}

/// One comparison by one tool.
struct Trial {
    number: usize,
    state: &'static str,
    kind: &'static str,
    tool: ComparedTool,
}

/// All comparisons in their order. The tools take turns, and another one begins in each trial.
fn planned(trials: usize) -> Vec<Trial> {
    let mut planned = Vec::new();
    for number in 0..trials {
        let mut tools = ComparedTool::ALL;
        tools.rotate_left(number % ComparedTool::ALL.len());
        for state in STATES {
            for kind in KINDS {
                planned.extend(tools.map(|tool| Trial { number, state, kind, tool }));
            }
        }
    }
    planned
}

impl Trial {
    fn is(&self, made: &Value) -> bool {
        made["trial"] == self.number
            && made["state"] == self.state
            && made["kind"] == self.kind
            && made["tool"] == self.tool.name()
    }
}

struct Bench {
    program: PathBuf,
    json: PathBuf,
    /// How long the slower program spins, in nanoseconds.
    spin: f64,
}

impl Bench {
    fn run(&self, trial: &Trial) -> Value {
        let spinning = |nanoseconds: f64| format!("{} {nanoseconds:.0}", self.program.display());
        let second = if trial.kind == "slower" { self.spin } else { 0.0 };
        let mut command = trial.tool.comparison(&[spinning(0.0), spinning(second)], &self.json);
        let busy = (trial.state == "busy").then(Busy::begin);

        let began = Instant::now();
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("the tool runs");
        let seconds = began.elapsed().as_secs_f64();
        drop(busy);

        assert!(status.success(), "{command:?}: {status}");
        let mut found = found(trial.tool, &self.json);
        found["trial"] = json!(trial.number);
        found["state"] = json!(trial.state);
        found["kind"] = json!(trial.kind);
        found["tool"] = json!(trial.tool.name());
        found["seconds"] = json!(seconds);
        found
    }
}

/// The ratio that a tool found, its interval, and the time of the first program.
fn found(tool: ComparedTool, json: &Path) -> Value {
    let text = std::fs::read(json).expect("the tool wrote its JSON");
    let document: Value = serde_json::from_slice(&text).expect("JSON");
    let results = &document["results"];
    match tool {
        ComparedTool::Firstbyte => firstbytes(results),
        ComparedTool::Hyperfine1 => hyperfines(results, [0, 1].map(|place| &results[place])),
        ComparedTool::Hyperfine2 => {
            hyperfines(results, [0, 1].map(|place| &results[place]["summary"]["time_wall_clock"]))
        }
    }
}

fn firstbytes(results: &Value) -> Value {
    let relative = results[1]["relative"].as_array().expect("a comparison");
    let total = relative.iter().find(|relative| relative["of"] == "total").expect("that of the total");
    json!({
        "ratio": total["ratio"], "low": total["low"], "high": total["high"], "verdict": total["verdict"],
        "base_ns": results[0]["phases"]["total"]["median"], "runs": results[0]["times"].as_array().map(Vec::len),
    })
}

/// The ratio of the means, and its uncertainty as hyperfine 1.20 computes and prints it: the standard deviations of both
/// commands, propagated. hyperfine 2.0.0 prints the ratio without an interval.
fn hyperfines(results: &Value, [first, second]: [&Value; 2]) -> Value {
    let number = |of: &Value, name: &str| of[name].as_f64().expect("a number");
    let [a, b] = [first, second].map(|of| number(of, "mean"));
    let [a_deviation, b_deviation] = [first, second].map(|of| number(of, "stddev"));

    let ratio = b / a;
    let uncertainty = ratio * ((b_deviation / b).powi(2) + (a_deviation / a).powi(2)).sqrt();
    let runs = ["times", "measurements"].iter().find_map(|name| results[0][name].as_array()).map(Vec::len);
    json!({
        "ratio": ratio, "low": ratio - uncertainty, "high": ratio + uncertainty,
        "base_ns": a * 1e9, "runs": runs,
    })
}

/// Two threads that do nothing but compute, until dropped. They end with this process, whatever ends it.
struct Busy {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    fn begin() -> Busy {
        let stop = Arc::new(AtomicBool::new(false));
        let spin = |stop: Arc<AtomicBool>| {
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::black_box((0..1000_u32).sum::<u32>());
                }
            })
        };
        let threads = (0..2).map(|_| spin(Arc::clone(&stop))).collect();
        Busy { stop, threads }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("a busy thread ends");
        }
    }
}

/// A line for each tool and state.
fn summary(made: &[Value], spin: f64) {
    let base = base(made);
    println!(
        "total {:.0} us, and {:.0} us more: a ratio of {:.3}",
        base / 1e3,
        spin / 1e3,
        1.0 + spin / base
    );
    for state in STATES {
        for tool in ComparedTool::ALL {
            let of = |kind: &str| -> Vec<&Value> {
                made.iter()
                    .filter(|m| m["state"] == state && m["tool"] == tool.name() && m["kind"] == kind)
                    .collect()
            };
            let (slower, same) = (of("slower"), of("same"));
            println!(
                "{state:<6} {:<18} ratio {} to {}; slower {} of {}, wrong sign {}; with itself {} to {}, false alarms {} of {}; {:.1} to {:.1} s",
                tool.name(),
                shown(&slower, "ratio", f64::min),
                shown(&slower, "ratio", f64::max),
                slower.iter().filter(|one| number(one, "low") > 1.0).count(),
                slower.len(),
                slower.iter().filter(|one| number(one, "ratio") < 1.0).count(),
                shown(&same, "ratio", f64::min),
                shown(&same, "ratio", f64::max),
                same.iter().filter(|one| number(one, "low") > 1.0 || number(one, "high") < 1.0).count(),
                same.len(),
                extreme(&slower, "seconds", f64::min),
                extreme(&slower, "seconds", f64::max),
            );
        }
    }
}

/// The time of the program on a quiet machine.
fn base(made: &[Value]) -> f64 {
    let quiet = made.iter().filter(|m| m["state"] == "quiet" && m["tool"] == ComparedTool::Firstbyte.name());
    median(&quiet.map(|one| number(one, "base_ns")).collect::<Vec<f64>>())
}

fn number(of: &Value, name: &str) -> f64 {
    of[name].as_f64().expect("a number")
}

fn extreme(all: &[&Value], name: &str, pick: fn(f64, f64) -> f64) -> f64 {
    all.iter().map(|one| number(one, name)).reduce(pick).unwrap_or(f64::NAN)
}

fn shown(all: &[&Value], name: &str, pick: fn(f64, f64) -> f64) -> String {
    format!("{:.3}", extreme(all, name, pick))
}
