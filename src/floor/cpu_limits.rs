//! Does a program start faster with more processors? The limits to try, and the result of each. Pure.

use crate::bench::{Sample, Series};
use crate::document::floor::Point;
use crate::stats::{Bootstrap, Statistics};
use object::{Object, ObjectSection};
use std::path::Path;

/// The highest processor count that a runtime is given.
const MAX_PROCESSORS: usize = 64;

/// One way to limit a program to fewer processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuLimit {
    /// The number of processors: by a variable, it may be larger than that of this machine.
    pub cpus: usize,
    /// The processors that the program may run on.
    pub allowed: Vec<usize>,
    /// An environment variable that tells the program the number, while it may run on all processors.
    pub variable: Option<(&'static str, String)>,
}

impl CpuLimit {
    /// The name of its row.
    pub fn name(&self) -> String {
        match &self.variable {
            Some((name, value)) => format!("{name}={value}"),
            None => "affinity".to_owned(),
        }
    }

    /// The result of the runs under this limit; `None` if no run counted.
    pub fn point(&self, series: &Series) -> Option<Point> {
        let first = |sample: &Sample| sample.first_byte.unwrap_or(sample.total).as_f64();
        let samples: Vec<f64> = series.samples.iter().map(first).collect();
        let totals: Vec<f64> = series.samples.iter().map(|sample| sample.total.as_f64()).collect();
        let interval = Bootstrap::default().median_interval(&samples)?;

        let mut threads: Vec<u32> = series.samples.iter().map(|s| s.threads).filter(|t| *t > 0).collect();
        threads.sort_unstable();

        Some(Point {
            cpus: self.cpus,
            how: self.name(),
            first_byte: Statistics::of(&samples)?.median,
            low: interval.low,
            high: interval.high,
            total: Statistics::of(&totals)?.median,
            threads: threads.get(threads.len() / 2).copied(),
            samples,
        })
    }
}

/// 1, 2, 4 … of the available processors, and all of them, by affinity. If the program has a variable of its own, the same
/// numbers by that, and then twice and more, up to [`MAX_PROCESSORS`]: what a runtime does on a larger machine.
pub fn cpu_limits(available: &[usize], executable: &Path) -> Vec<CpuLimit> {
    let all = available.len().max(1);
    let mut counts: Vec<usize> =
        std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|n| *n < all).collect();
    counts.push(all);

    let by_affinity = counts.iter().map(|cpus| CpuLimit {
        cpus: *cpus,
        allowed: available.iter().take(*cpus).copied().collect(),
        variable: None,
    });
    let knob = Knob::of(executable);
    let beyond = std::iter::successors(Some(2 * all), |n| Some(n * 2)).take_while(|n| *n <= MAX_PROCESSORS);
    let numbers: Vec<usize> = counts.iter().copied().chain(beyond).collect();
    let by_variable = numbers.iter().filter_map(|cpus| {
        let variable = Some(knob.as_ref()?.variable(*cpus));
        Some(CpuLimit { cpus: *cpus, allowed: available.to_vec(), variable })
    });
    by_affinity.chain(by_variable).collect()
}

/// A runtime that takes the number of processors from an environment variable.
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
        // `go version FILE` reads this section.
        file.sections().any(|section| section.name() == Ok(".go.buildinfo")).then_some(Knob::Go)
    }

    /// Recognises the runtime by the file's name: `/usr/bin/node`.
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
        let limits = cpu_limits(available, Path::new(executable));
        limits.iter().map(|s| (s.cpus, s.allowed.len(), s.name())).collect()
    }

    #[test]
    fn the_counts_double_up_to_all_processors() {
        let cpus = |available: &[usize]| -> Vec<usize> {
            counts(available, "/bin/sh").into_iter().map(|(cpus, ..)| cpus).collect()
        };
        assert_eq!(cpus(&[0]), [1]);
        assert_eq!(cpus(&[0, 1]), [1, 2]);
        assert_eq!(cpus(&[0, 1, 2, 3, 4, 5]), [1, 2, 4, 6]);
    }

    #[test]
    fn a_runtime_with_a_variable_may_still_run_on_every_processor() {
        let named = counts(&[0, 1], "/usr/bin/java");
        let option = |cpus: usize| format!("JAVA_TOOL_OPTIONS=-XX:ActiveProcessorCount={cpus}");
        let numbers = [1, 2, 4, 8, 16, 32, 64];
        assert_eq!(named[2..], numbers.map(|cpus| (cpus, 2, option(cpus))), "beyond the processors, too");
        assert_eq!(counts(&[0, 1], "/bin/sh").len(), 2);
        let script = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(script.path(), "#!/usr/bin/env node\n").unwrap();
        assert_eq!(counts(&[0], script.path().to_str().unwrap())[1].2, "NODE_OPTIONS=--v8-pool-size=1");
    }
}
