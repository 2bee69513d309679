//! The layering of `src/`, held by reading it.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

fn code_lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).map(str::to_owned).collect()
}

#[test]
fn pure_modules_know_nothing_of_clap_launching_or_tracing() {
    // `tracer::event` and `tracer::recording` are vocabulary; what launches or attaches is not.
    let forbidden =
        ["clap::", "crate::cli", "crate::commands", "launch::spawn", "tracer::bpf", "tracer::ptrace"];
    for folder in ["crates/measure/src/timeline", "src/stats", "crates/elf/src", "src/report"] {
        for path in sources(folder) {
            for line in code_lines(&path) {
                for word in forbidden {
                    assert!(!line.contains(word), "{} uses `{word}`: {line}", path.display());
                }
            }
        }
    }
}

#[test]
fn unsafe_code_stays_in_the_rooms_that_need_it() {
    let allowed = ["launch", "tracer", "page_cache", "arch", "floor", "throughput"];
    for path in sources("src") {
        let relative = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
        let room = relative.iter().next().unwrap().to_str().unwrap();
        if allowed.contains(&room) {
            continue;
        }
        for line in code_lines(&path) {
            assert!(!line.contains("unsafe {") && !line.contains("unsafe fn"), "{}: {line}", path.display());
        }
    }
}
