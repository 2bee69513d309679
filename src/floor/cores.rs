//! Does a program start faster with more processors? Which settings are tried, and what came of them. Pure.

use crate::bench::Series;
use crate::stats::{Bootstrap, Summary};
use object::{Object, ObjectSection};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One way of giving a program fewer processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// How many.
    pub cpus: usize,
    /// The processors that it may run on.
    pub allowed: Vec<usize>,
    /// A variable by which the program is told so, while it may run on all of them.
    pub variable: Option<(&'static str, String)>,
}

impl Setting {
    /// What a row is called.
    pub fn name(&self) -> String {
        match &self.variable {
            Some((name, value)) => format!("{name}={value}"),
            None => "affinity".to_owned(),
        }
    }
}

/// A program's answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The program.
    pub name: String,
    /// One a setting, fewer processors first.
    pub points: Vec<Point>,
}

/// What came of one setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// How many processors.
    pub cpus: usize,
    /// `affinity`, or the variable that told the program.
    pub how: String,
    /// Median time to the first byte (of a program that prints nothing: to the end), nanoseconds.
    pub first_byte: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Median of the whole run, nanoseconds.
    pub total: f64,
    /// Median number of threads of the whole process tree; absent where nobody could see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// The samples, nanoseconds to the first byte.
    pub samples: Vec<f64>,
}

impl Point {
    /// From the runs under one setting; `None` when none counted.
    pub fn of(setting: &Setting, series: &Series) -> Option<Point> {
        let first = |sample: &crate::bench::Sample| sample.first_byte.unwrap_or(sample.total).as_f64();
        let samples: Vec<f64> = series.samples.iter().map(first).collect();
        let totals: Vec<f64> = series.samples.iter().map(|sample| sample.total.as_f64()).collect();
        let interval = Bootstrap::default().median_interval(&samples)?;
        let mut threads: Vec<u32> = series.samples.iter().map(|s| s.threads).filter(|t| *t > 0).collect();
        threads.sort_unstable();
        Some(Point {
            cpus: setting.cpus,
            how: setting.name(),
            first_byte: Summary::of(&samples)?.median,
            low: interval.low,
            high: interval.high,
            total: Summary::of(&totals)?.median,
            threads: threads.get(threads.len() / 2).copied(),
            samples,
        })
    }
}

/// 1, 2, 4 … of the processors that we may use, and all of them: by affinity, and by the program's own variable where
/// it has one.
pub fn settings(available: &[usize], executable: &Path) -> Vec<Setting> {
    let all = available.len().max(1);
    let mut counts: Vec<usize> =
        std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|n| *n < all).collect();
    counts.push(all);
    let by_affinity = counts.iter().map(|cpus| Setting {
        cpus: *cpus,
        allowed: available.iter().take(*cpus).copied().collect(),
        variable: None,
    });
    let knob = Knob::of(executable);
    let by_variable = counts.iter().filter_map(|cpus| {
        let variable = Some(knob.as_ref()?.variable(*cpus));
        Some(Setting { cpus: *cpus, allowed: available.to_vec(), variable })
    });
    by_affinity.chain(by_variable).collect()
}

/// How a runtime is told how many processors there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knob {
    Go,
    Java,
    Node,
}

impl Knob {
    fn of(executable: &Path) -> Option<Knob> {
        if let Some(knob) = Knob::named(executable) {
            return Some(knob);
        }
        let bytes = std::fs::read(executable).ok()?;
        if let Some(line) = bytes.strip_prefix(b"#!").and_then(|rest| rest.split(|b| *b == b'\n').next()) {
            let line = String::from_utf8_lossy(line);
            return line.split_whitespace().find_map(|word| Knob::named(Path::new(word)));
        }
        let file = object::File::parse(bytes.as_slice()).ok()?;
        // what `go version FILE` reads
        file.sections().any(|section| section.name() == Ok(".go.buildinfo")).then_some(Knob::Go)
    }

    /// By the name of the file: `/usr/bin/node`.
    fn named(executable: &Path) -> Option<Knob> {
        match executable.file_name()?.to_str()? {
            "java" => Some(Knob::Java),
            "node" => Some(Knob::Node),
            _ => None,
        }
    }

    fn variable(self, cpus: usize) -> (&'static str, String) {
        match self {
            Knob::Go => ("GOMAXPROCS", cpus.to_string()),
            Knob::Java => ("JAVA_TOOL_OPTIONS", format!("-XX:ActiveProcessorCount={cpus}")),
            Knob::Node => ("NODE_OPTIONS", format!("--v8-pool-size={cpus}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(available: &[usize], executable: &str) -> Vec<(usize, usize, String)> {
        let settings = settings(available, Path::new(executable));
        settings.iter().map(|s| (s.cpus, s.allowed.len(), s.name())).collect()
    }

    #[test]
    fn counts_double_up_to_all_processors() {
        let cpus = |available: &[usize]| -> Vec<usize> {
            counts(available, "/bin/sh").into_iter().map(|(cpus, ..)| cpus).collect()
        };
        assert_eq!(cpus(&[0]), [1]);
        assert_eq!(cpus(&[0, 1]), [1, 2]);
        assert_eq!(cpus(&[0, 1, 2, 3, 4, 5]), [1, 2, 4, 6]);
    }

    #[test]
    fn a_runtime_with_a_variable_is_told_by_it_while_it_may_run_everywhere() {
        let named = counts(&[0, 1], "/usr/bin/java");
        let option = |cpus: usize| format!("JAVA_TOOL_OPTIONS=-XX:ActiveProcessorCount={cpus}");
        assert_eq!(named[2..], [(1, 2, option(1)), (2, 2, option(2))]);
        assert_eq!(counts(&[0, 1], "/bin/sh").len(), 2);
        let script = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(script.path(), "#!/usr/bin/env node\n").unwrap();
        assert_eq!(counts(&[0], script.path().to_str().unwrap())[1].2, "NODE_OPTIONS=--v8-pool-size=1");
    }
}
