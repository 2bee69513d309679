//! The run of a program that its budgets are of: `check --init` records it, and where a count is missed, `check` compares
//! it with a run of today.

use super::progress::TraceBars;
use crate::analysis::TraceAnalysis;
use crate::analysis::diff_document::came;
use crate::cli::bench::Benchmark;
use crate::document::diff::DiffChange;
use crate::output::Target;
use crate::tracing::{TraceError, TracePlan, Tracing, replayed};
use firstbyte_measure::launch::Command;
use firstbyte_measure::tracer::replay;
use std::path::{Path, PathBuf};

/// Records one run of each program in the folder. Each result has the path of its recording, or why there is none.
pub(super) fn record(
    plan: &TracePlan,
    benchmarks: &[Benchmark],
    folder: &Path,
) -> Vec<Result<PathBuf, String>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for benchmark in benchmarks {
        let name = file_name(&benchmark.name);
        let numbered = (2..).map(|n| format!("{name}-{n}"));
        let mut free = std::iter::once(name.clone()).chain(numbered).map(|name| folder.join(name + ".jsonl"));
        paths.extend(free.find(|path| !paths.contains(path)));
    }
    let both = benchmarks.iter().zip(paths);
    both.map(|(benchmark, path)| record_one(plan, benchmark, &path).map(|()| path)).collect()
}

fn record_one(plan: &TracePlan, benchmark: &Benchmark, path: &Path) -> Result<(), String> {
    let analysis = traced(plan, benchmark)?;
    let run = analysis.shown().ok_or("no run counts")?;
    let text = replay::save(run, &analysis.modules(), None);
    let folder = path.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("`{}` cannot be created: {error}", folder.display()))?;
    Target::parse(&path.to_string_lossy()).write(&text).map_err(|error| first_line(&error.to_string()))
}

/// What the program does now and did not do in the recorded run, or why that is not known.
pub(super) fn compare(
    plan: &TracePlan,
    benchmark: &Benchmark,
    recording: &Path,
) -> Result<Vec<DiffChange>, String> {
    let then = replayed(recording, plan.along, None).map_err(|error| first_line(&error))?;
    let now = traced(plan, benchmark)?;
    Ok(came(&then.analysis.summary, &now.summary))
}

fn traced(plan: &TracePlan, benchmark: &Benchmark) -> Result<TraceAnalysis, String> {
    let command = Command::new(&benchmark.words).map_err(|error| first_line(&error.to_string()))?;
    let mut bars = TraceBars;
    let mut tracing = Tracing::begin(plan, &mut bars).map_err(|error| first_line(&error.to_string()))?;
    let analysis = tracing.trace(&command, |_| Ok::<_, TraceError>(()));
    analysis.map_err(|error| first_line(&error.to_string()))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Of the name of a program: the characters that no file system and no shell minds.
fn file_name(name: &str) -> String {
    const LONGEST: usize = 60;
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    let words: Vec<&str> = name.split('-').filter(|word| !word.trim_matches('.').is_empty()).collect();
    let name: String = words.join("-").chars().take(LONGEST).collect();
    if name.is_empty() { "program".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_recording_is_named_after_its_program() {
        let names = ["./hello", "python3 -c 'import os'", "../a/b.sh", "…", "-"].map(file_name);
        assert_eq!(names, ["hello", "python3-c-import-os", "a-b.sh", "program", "program"]);
    }
}
