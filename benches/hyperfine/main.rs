//! Compares with hyperfine, and cold runs with warm ones: `cargo bench --bench hyperfine`.
//!
//! `beside` measures the floor's static ELF and the C printf program with `firstbyte bench` and `hyperfine -N` in
//! alternating blocks, and prints medians and the spread within the blocks. `cold` measures C printf cold and warm in
//! alternating blocks, the pages that were resident when a run began, and whether the machine still has its C library in
//! memory afterwards. `demonstration` lets firstbyte, hyperfine 1.20 and hyperfine 2.0.0 compare two programs whose
//! difference is known.
//!
//! After `--`: `--json FILE` for the raw data, `--only beside`, `--only cold` or `--only demonstration`, `--blocks N`. For
//! `demonstration`: `--trials N`, and `--seconds N` to stop after that time; the next call goes on with the same file. It
//! is made only if `--only` names it. The environment variables `HYPERFINE_1` and `HYPERFINE_2` name hyperfine 1.x and 2.x;
//! otherwise they are looked for in PATH.

mod beside;
mod blocks;
mod cold;
mod demonstration;
mod programs;
mod tools;

use firstbyte_measure::machine::Machine;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

fn main() {
    let options = Options::read();
    if options.only.as_deref() == Some("demonstration") {
        return demonstrate(&options);
    }

    // not in /tmp, which may be in memory, where nothing can be evicted
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (elf, c) = (programs::static_elf(folder.path()), programs::c_printf(folder.path()));
    let wanted = |name: &str| options.only.as_deref().is_none_or(|only| only == name);
    let mut results = serde_json::Map::new();
    if wanted("beside") {
        results.insert("static-elf".to_owned(), beside::measure("static-elf", &elf, options.blocks));
        results.insert("c-printf".to_owned(), beside::measure("c-printf", &c, options.blocks));
    }
    if wanted("cold") {
        results.insert("cold".to_owned(), cold::measure(&c, folder.path(), options.blocks / 4 + 1));
    }
    if let Some(file) = options.json {
        write(file.as_ref(), "cargo bench --bench hyperfine", &Value::Object(results));
    }
}

/// The demonstration needs its file: it is measured in several calls.
fn demonstrate(options: &Options) {
    let file = options.json.as_deref().expect("--only demonstration needs --json FILE");
    let before = std::fs::read(file).ok().map(|text| serde_json::from_slice(&text).expect("a JSON file"));
    let save = |results: &Value| {
        write(file.as_ref(), "cargo bench --bench hyperfine -- --only demonstration", results);
    };
    demonstration::measure(before, options.trials, options.seconds, &save);
}

fn write(file: &Path, command: &str, results: &Value) {
    let document = json!({
        "schema": "firstbyte/1", "tool": {"name": "firstbyte", "version": env!("CARGO_PKG_VERSION")},
        "machine": Machine::examine(), "command": command, "results": results,
    });
    std::fs::write(file, format!("{document:#}\n")).expect("the JSON file is writable");
}

struct Options {
    json: Option<String>,
    only: Option<String>,
    blocks: usize,
    trials: usize,
    /// No trial begins after this time.
    seconds: Option<Duration>,
}

impl Options {
    fn read() -> Options {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let value =
            |name: &str| words.iter().position(|w| w == name).and_then(|at| words.get(at + 1)).cloned();
        let number = |name: &str| value(name).map(|n| n.parse::<usize>().expect("a number after the option"));
        Options {
            json: value("--json"),
            only: value("--only"),
            blocks: number("--blocks").unwrap_or(20),
            trials: number("--trials").unwrap_or(20),
            seconds: number("--seconds").map(|seconds| Duration::from_secs(seconds as u64)),
        }
    }
}
