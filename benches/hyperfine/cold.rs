//! Cold runs beside warm ones.

use crate::blocks::Blocks;
use crate::tools::firstbyte;
use firstbyte_measure::page_cache::resident_pages;
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Runs of each block.
const WARM_RUNS: &str = "200";
const COLD_RUNS: &str = "20";

pub(crate) fn measure(program: &Path, folder: &Path, blocks: usize) -> Value {
    let (mut warm, mut cold, mut details) = (Blocks::default(), Blocks::default(), Vec::new());
    // SAFETY: no other thread runs that could read the environment.
    unsafe { std::env::set_var("XDG_CACHE_HOME", folder) };
    let library = c_library();
    let before = library.as_ref().map(resident);
    for _ in 0..blocks {
        warm.add(&firstbyte(program, &["--runs", WARM_RUNS])["phases"]["first_byte"]["samples"], 1.0);
        let own = firstbyte(program, &["--cache", "cold", "--runs", COLD_RUNS]);
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
