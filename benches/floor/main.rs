//! Compares the floor's figures with loops in C, `perf bench` and whole scripts that are timed from outside:
//! `cargo bench --bench floor -- [--rounds N] [--quick] [--json FILE]`.
//!
//! Both sides alternate, round by round, on the same processor. Prints the median of each side, the ratio, and the largest
//! allowed difference. Run it on an idle machine, because other programs change the figures.

use firstbyte::corpus::{Corpus, build_cache, prepare};
use firstbyte::document::floor::Figure;
use firstbyte::floor::{Effort, Pinned, Rung, Survey};
use firstbyte_measure::machine::Machine;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs of the corpus that both sides start, and their names in the floor.
const PROGRAMS: [(&str, &str); 5] = [
    ("floor-elf", "plain ELF"),
    ("asm-x86_64", "assembler"),
    ("c-musl", "static musl"),
    ("c-static", "static glibc"),
    ("c-printf", "dynamic C"),
];

/// The cost of a fork depends on the parent's memory. There are two loops, one with a dynamically linked parent.
const FORK: &str = "fork+exit, the loop linked dynamically";
const FORK_STATIC: &str = "fork+exit, the loop linked statically";

/// Repetitions of the straight-line scripts.
const REPETITIONS: u32 = 10_000;

/// The two sides of one figure, one value per round.
#[derive(Default)]
struct Sides {
    aim: f64,
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

struct Bench {
    folder: tempfile::TempDir,
    loops: PathBuf,
    static_loops: PathBuf,
    rungs: Vec<Rung>,
    sides: BTreeMap<String, Sides>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let option =
        |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1)).cloned();
    let effort = if arguments.iter().any(|a| a == "--quick") { Effort::Quick } else { Effort::Full };
    let rounds: u32 = option("--rounds").and_then(|n| n.parse().ok()).unwrap_or(5);
    let mut bench = Bench::new();
    let pinned = Pinned::to(None).expect("a processor");
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        bench.round(u64::from(round), pinned.other, effort);
    }
    bench.print();
    if let Some(file) = option("--json") {
        std::fs::write(&file, format!("{:#}\n", bench.document())).expect("the JSON file is writable");
    }
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/floor/loops.c");
        let compiled = |name: &str, flags: &[&str]| {
            let path = folder.path().join(name);
            let done = Command::new("cc").args(flags).arg("-o").arg(&path).arg(&source).status();
            assert!(done.expect("a C compiler").success(), "loops.c compiles");
            path
        };
        let (loops, static_loops) =
            (compiled("loops", &["-O2"]), compiled("static-loops", &["-O2", "-static"]));
        let (corpus, cache) = (Corpus::load(None).expect("the corpus"), build_cache().expect("a cache"));
        let rung = |(name, label): &(&str, &str)| {
            let built = prepare(corpus.find(name)?, &cache, &|| false).ok()?;
            Some(Rung { name: (*label).to_owned(), executable: built.executable, argv: built.argv })
        };
        let rungs = PROGRAMS.iter().filter_map(rung).collect();
        Bench { folder, loops, static_loops, rungs, sides: BTreeMap::new() }
    }

    fn round(&mut self, seed: u64, other: Option<usize>, effort: Effort) {
        self.theirs();
        let survey =
            Survey { rungs: &self.rungs, folder: self.folder.path(), other, effort: Effort::Quick, seed };
        let mut figures = survey.syscalls().expect("system calls").figures;
        figures.extend(survey.processes().expect("processes").figures);
        let shells = Survey { effort, ..survey }.shells(&["bash"]).expect("shells").figures;
        for name in ["getppid", "write of 14 bytes to /dev/null"] {
            self.ours(name, &figures, name);
        }
        for name in [FORK, FORK_STATIC] {
            self.ours(name, &figures, "fork+exit");
        }
        // perf's loop calls through libc
        self.ours("getppid through libc, perf bench syscall basic", &figures, "getppid through libc");
        for rung in self.rungs.clone() {
            let name = format!("vfork+exec, {}", rung.name);
            self.ours(&name, &figures, &name);
        }
        // before and after, so that slow drift affects both sides equally
        self.theirs();
        for command in ["echo H", "printf 'H\\n'"] {
            let over = find(&shells, &format!("bash: `{command}` over `:`, inline"));
            let colon = find(&shells, "bash: `:`, inline");
            if let Some((over, colon)) = over.zip(colon) {
                self.side(&script_name(command), 0.10).ours.push(over + colon);
            }
        }
    }

    fn side(&mut self, name: &str, aim: f64) -> &mut Sides {
        let sides = self.sides.entry(name.to_owned()).or_default();
        sides.aim = aim;
        sides
    }

    fn ours(&mut self, name: &str, figures: &[Figure], figure: &str) {
        if let Some(ns) = find(figures, figure) {
            let aim = if name.starts_with("vfork") || name.starts_with("fork") { 0.05 } else { 0.10 };
            self.side(name, aim).ours.push(ns);
        }
    }

    fn theirs(&mut self) {
        let loops = |words: &[&str]| {
            run(Command::new(&self.loops).args(words)).and_then(|text| text.trim().parse().ok())
        };
        let static_loops = |words: &[&str]| {
            run(Command::new(&self.static_loops).args(words)).and_then(|text| text.trim().parse().ok())
        };
        let mut found: Vec<(String, Option<f64>)> = vec![
            ("getppid".to_owned(), loops(&["null", "1000"])),
            ("write of 14 bytes to /dev/null".to_owned(), loops(&["write", "1000"])),
            (FORK.to_owned(), loops(&["fork-exit", "100"])),
            (FORK_STATIC.to_owned(), static_loops(&["fork-exit", "100"])),
            ("getppid through libc, perf bench syscall basic".to_owned(), perf()),
        ];
        for rung in &self.rungs {
            let path = rung.executable.to_string_lossy();
            found.push((format!("vfork+exec, {}", rung.name), loops(&["spawn", "100", &path])));
        }
        let empty = self.script("empty", "");
        for command in ["echo H", "printf 'H\\n'"] {
            let script = self.script("commands", &format!("{command}\n").repeat(REPETITIONS as usize));
            let bash = |script: &Path| loops(&["spawn", "15", "/bin/bash", &script.to_string_lossy()]);
            let taken = bash(&script)
                .zip(bash(&empty))
                .map(|(all, none): (f64, f64)| (all - none) / f64::from(REPETITIONS));
            found.push((script_name(command), taken));
        }
        for (name, ns) in found {
            let aim = if name.starts_with("vfork") || name.starts_with("fork") { 0.05 } else { 0.10 };
            self.side(&name, aim).theirs.extend(ns);
        }
    }

    fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(format!("{name}.sh"));
        std::fs::write(&path, text).expect("a script");
        path
    }

    fn print(&self) {
        println!("{:<50} {:>12} {:>12} {:>7}  aim", "", "floor, ns", "loop, ns", "ratio");
        for (name, sides) in &self.sides {
            let (Some(ours), Some(theirs)) = (median(&sides.ours), median(&sides.theirs)) else {
                println!("{name:<50} not measured");
                continue;
            };
            let ratio = ours / theirs;
            let within = if (ratio - 1.0).abs() <= sides.aim { "within" } else { "beyond" };
            println!(
                "{name:<50} {ours:>12.1} {theirs:>12.1} {ratio:>7.3}  {within} {:.0} %",
                sides.aim * 100.0
            );
        }
    }

    fn document(&self) -> Value {
        let results: Vec<Value> = self
            .sides
            .iter()
            .map(|(name, sides)| json!({"name": name, "aim": sides.aim, "floor_ns": sides.ours, "loop_ns": sides.theirs}))
            .collect();
        json!({
            "schema": "firstbyte/1", "tool": {"name": "firstbyte", "version": env!("CARGO_PKG_VERSION")},
            "machine": Machine::examine(), "command": "cargo bench --bench floor", "results": results,
        })
    }
}

fn script_name(command: &str) -> String {
    format!("bash, {REPETITIONS} × `{command}`")
}

fn find(figures: &[Figure], name: &str) -> Option<f64> {
    figures.iter().find(|figure| figure.name == name).map(|figure| figure.median)
}

fn median(values: &[f64]) -> Option<f64> {
    firstbyte::stats::Statistics::of(values).map(|summary| summary.median)
}

fn run(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `perf bench syscall basic` prints microseconds per call.
fn perf() -> Option<f64> {
    let text = run(Command::new("perf").args(["bench", "syscall", "basic", "-l", "1000000"]))?;
    let line = text.lines().find(|line| line.contains("usecs/op"))?;
    line.split_whitespace().next()?.parse::<f64>().ok().map(|us| us * 1000.0)
}
