//! The same programs by firstbyte and by hyperfine, in alternating blocks.

use crate::blocks::Blocks;
use crate::tools::{firstbyte, hyperfine_1, json_of};
use serde_json::{Value, json};
use std::path::Path;

/// Runs of each block.
const RUNS: &str = "200";

pub(crate) fn measure(name: &str, program: &Path, blocks: usize) -> Value {
    let (mut total, mut wall, mut theirs) = (Blocks::default(), Blocks::default(), Blocks::default());
    for block in 0..blocks {
        for turn in [block % 2, 1 - block % 2] {
            if turn == 0 {
                let own = firstbyte(program, &["--warmup", "10", "--runs", RUNS]);
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

fn hyperfine(program: &Path) -> Value {
    let mut hyperfine = hyperfine_1();
    hyperfine.args(["-N", "--style", "none", "--warmup", "10", "--runs", RUNS]);
    hyperfine.args(["--export-json", "/dev/stdout"]).arg(program);
    json_of(&mut hyperfine)["results"][0].take()
}
