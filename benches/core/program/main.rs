//! The figures of the measuring core, side by side in one run: `cargo bench --bench core` (`../start.rs`).
//!
//! Prints a table, and writes the raw data with `--json FILE` after `--`. Run it on an idle machine, because other programs
//! change the figures. `--only NAME` runs one part: overhead, harness, rate, startup, truth.

mod parts;

use firstbyte_measure::machine::Machine;
use serde_json::{Value, json};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option =
        |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1)).cloned();
    let only = option("--only");
    let mut results = serde_json::Map::new();
    for (name, part) in parts::ALL {
        if only.as_deref().is_none_or(|wanted| wanted == *name) {
            eprintln!("measuring: {name}");
            results.insert((*name).to_owned(), part());
        }
    }
    if let Some(file) = option("--json") {
        let document: Value = json!({
            "schema": "firstbyte/1", "tool": {"name": "firstbyte", "version": env!("CARGO_PKG_VERSION")},
            "machine": Machine::examine(), "command": "cargo bench --bench core", "results": results,
        });
        std::fs::write(&file, format!("{document:#}\n")).expect("the JSON file is writable");
    }
}
