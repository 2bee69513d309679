//! Compares with hyperfine, and cold runs with warm ones: `cargo bench --bench hyperfine`.
//!
//! `beside` measures the floor's static ELF and the C printf program with `firstbyte bench` and `hyperfine -N` in
//! alternating blocks, and prints medians and the spread within the blocks. `cold` measures C printf cold and warm in
//! alternating blocks, the pages that were resident when a run began, and whether the machine still has its C library in
//! memory afterwards.
//!
//! After `--`: `--json FILE` for the raw data, `--only beside` or `--only cold`, `--blocks N`.

use firstbyte::stats::Statistics;
use firstbyte_elf::{Architecture, plain};
use firstbyte_measure::machine::Machine;
use firstbyte_measure::page_cache::resident_pages;
use serde_json::{Value, json};
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs of each block.
const RUNS: &str = "200";
const COLD_RUNS: &str = "20";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| words.iter().position(|w| w == name).and_then(|at| words.get(at + 1)).cloned();
    let blocks = option("--blocks").map_or(20, |n| n.parse().expect("--blocks takes a number"));
    // not in /tmp, which may be in memory, where nothing can be evicted
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (elf, c) = (static_elf(folder.path()), c_printf(folder.path()));
    let wanted = |name: &str| option("--only").is_none_or(|only| only == name);
    let mut results = serde_json::Map::new();
    if wanted("beside") {
        results.insert("static-elf".to_owned(), beside("static-elf", &elf, blocks));
        results.insert("c-printf".to_owned(), beside("c-printf", &c, blocks));
    }
    if wanted("cold") {
        results.insert("cold".to_owned(), cold(&c, folder.path(), blocks / 4 + 1));
    }
    if let Some(file) = option("--json") {
        let document = json!({
            "schema": "firstbyte/1", "tool": {"name": "firstbyte", "version": env!("CARGO_PKG_VERSION")},
            "machine": Machine::examine(), "command": "cargo bench --bench hyperfine", "results": results,
        });
        std::fs::write(&file, format!("{document:#}\n")).expect("the JSON file is writable");
    }
}

fn static_elf(folder: &Path) -> PathBuf {
    let path = folder.join("static-elf");
    let host = Architecture::host().expect("an architecture that we write for");
    std::fs::write(&path, plain::image(host, b"hello world\n", Some(0)).expect("an image")).expect("a file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    path
}

fn c_printf(folder: &Path) -> PathBuf {
    let path = folder.join("c-printf");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/c-printf/hello.c");
    let compiled = Command::new("cc").arg(source).arg("-o").arg(&path).status().expect("cc is installed");
    assert!(compiled.success(), "cc failed");
    path
}

fn json_of(command: &mut Command) -> Value {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn ours(program: &Path, options: &[&str]) -> Value {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    bench.args(["bench", "--no-overhead", "--no-counts", "--export-json", "-"]).args(options).arg(program);
    json_of(&mut bench)["results"][0].take()
}

fn hyperfine(program: &Path) -> Value {
    let mut hyperfine = Command::new("hyperfine");
    hyperfine.args([
        "-N",
        "--style",
        "none",
        "--warmup",
        "10",
        "--runs",
        RUNS,
        "--export-json",
        "/dev/stdout",
    ]);
    json_of(hyperfine.arg(program))["results"][0].take()
}

/// Nanoseconds, one list per block.
#[derive(Default)]
struct Blocks(Vec<Vec<f64>>);

impl Blocks {
    fn add(&mut self, samples: &Value, unit: f64) {
        let number = |sample: &Value| sample.as_f64().expect("a number") * unit;
        self.0.push(samples.as_array().expect("a list").iter().map(number).collect());
    }

    fn median(&self) -> f64 {
        median(&self.0.concat())
    }

    /// The median of the blocks' relative spread (MAD / median).
    fn spread(&self) -> f64 {
        let spreads: Vec<f64> = self
            .0
            .iter()
            .map(|block| {
                let summary = Statistics::of(block).expect("samples");
                summary.mad / summary.median
            })
            .collect();
        median(&spreads)
    }

    fn raw(&self) -> Value {
        json!({"median_ns": self.median(), "spread": self.spread(), "blocks_ns": self.0})
    }
}

fn median(values: &[f64]) -> f64 {
    Statistics::of(values).expect("values").median
}

fn beside(name: &str, program: &Path, blocks: usize) -> Value {
    let (mut total, mut wall, mut theirs) = (Blocks::default(), Blocks::default(), Blocks::default());
    for block in 0..blocks {
        for turn in [block % 2, 1 - block % 2] {
            if turn == 0 {
                let own = ours(program, &["--warmup", "10", "--runs", RUNS]);
                total.add(&own["phases"]["total"]["samples"], 1.0);
                wall.add(&own["times"], 1e9);
            } else {
                theirs.add(&hyperfine(program)["times"], 1e9);
            }
        }
    }
    for (what, own) in [("total", &total), ("wall", &wall)] {
        println!(
            "{name:<10} {what:<5}  median {:>6.1} us, MAD {:>4.1} %; hyperfine -N {:>6.1} us, MAD {:>4.1} %: {:.3} x",
            own.median() / 1e3,
            100.0 * own.spread(),
            theirs.median() / 1e3,
            100.0 * theirs.spread(),
            own.median() / theirs.median()
        );
    }
    json!({"runs": RUNS, "total": total.raw(), "wall": wall.raw(), "hyperfine": theirs.raw()})
}

fn cold(program: &Path, folder: &Path, blocks: usize) -> Value {
    let (mut warm, mut cold, mut details) = (Blocks::default(), Blocks::default(), Vec::new());
    // SAFETY: no other thread runs that could read the environment.
    unsafe { std::env::set_var("XDG_CACHE_HOME", folder) };
    let library = c_library();
    let before = library.as_ref().map(resident);
    for _ in 0..blocks {
        warm.add(&ours(program, &["--runs", RUNS])["phases"]["first_byte"]["samples"], 1.0);
        let own = ours(program, &["--cache", "cold", "--runs", COLD_RUNS]);
        cold.add(&own["phases"]["first_byte"]["samples"], 1.0);
        details.push(own["cold"].clone());
    }
    let after = library.as_ref().map(resident);
    let pages: u64 = details.iter().filter_map(|cold| cold["resident_pages"].as_u64()).sum();
    println!(
        "cold       first byte {:.0} us, warm {:.0} us: {:.2} x, at least 3; {pages} pages resident when a run began",
        cold.median() / 1e3,
        warm.median() / 1e3,
        cold.median() / warm.median()
    );
    if let (Some(before), Some(after)) = (before, after) {
        println!("           of this machine's C library in memory before: {before} pages, after: {after}");
    }
    json!({"warm_first_byte": warm.raw(), "cold_first_byte": cold.raw(), "cold": details,
        "c_library": library, "c_library_resident_before": before, "c_library_resident_after": after})
}

/// The C library that this process has mapped.
fn c_library() -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let paths = maps.lines().filter_map(|line| line.split_once('/'));
    let name = |path: &&str| path.contains("libc.so") || path.contains("libc-");
    let own = paths.map(|(_, path)| path).find(name).map(|path| PathBuf::from(format!("/{path}")));
    own.or_else(|| Some(PathBuf::from("/lib/x86_64-linux-gnu/libc.so.6")).filter(|path| path.exists()))
}

fn resident(path: &PathBuf) -> u64 {
    resident_pages(&File::open(path).expect("a library")).expect("the resident pages")
}
