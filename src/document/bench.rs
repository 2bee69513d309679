//! Measured programs: what `bench` and `showdown` write, read back and draw.
//!
//! The document is a superset of hyperfine's JSON. In each result the fields of hyperfine 1 come first, in seconds; those
//! of hyperfine 2 follow in documents of `bench` ([`hyperfine`]). Ours are in integer nanoseconds. Every float is finite, because [`crate::stats`] returns no others.

use super::Kind;
use super::hyperfine::{self, Run, Summary};
use super::metrics::Selection;
use super::named_span::{NamedSpan, by_name};
use super::processor_time::ProcessorTimes;
use super::residence::ResidentPart;
use super::series::{Finish, Rejected};
use crate::stats::{Verdict, median_count};
use firstbyte_measure::timeline::marks::SpanKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

pub use super::distribution::{Distribution, PhaseTimes};
pub use super::head::{MIN_BLOCKS, Overhead, Ratio, SCHEMA, Tool, ToolVersion};
pub use super::median_counts::MedianCounts;
pub use super::warning::{Severity, Warning};

/// One invocation's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub schema: String,
    /// [`Kind::Bench`].
    #[serde(default = "Document::kind")]
    pub kind: Kind,
    /// 2 if the results have hyperfine 2's fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<u64>,
    /// What hyperfine 2's scripts draw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary_metric: Option<String>,
    /// The time by which programs are compared in text, page and gate; absent: the total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare_by: Option<Metric>,
    pub tool: Tool,
    /// A [`firstbyte_measure::machine::Machine`]; `null` in files of other tools. It is JSON, because a file may come from
    /// a version that knows other facts.
    #[serde(default)]
    pub machine: Value,
    /// Less was measured than planned: the invocation was interrupted, or had not ended when this was written.
    #[serde(default)]
    pub partial: bool,
    /// The error that ended the measuring early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
    /// One entry for each program and condition, in the given order.
    pub results: Vec<Measurement>,
    /// Programs without a single run that counts.
    #[serde(default)]
    pub failed: Vec<Failed>,
    /// Programs that this machine cannot run.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
    /// Why the measuring ended, where the number of runs was not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
    /// How many times the programs were executed in all: samples, warm-up, untraced runs, counting, runs that did not
    /// count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executions: Option<u64>,
    /// Caveats about the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// What the user wants to see of the results. The file has everything.
    #[serde(skip)]
    pub shown: Selection,
}

impl Document {
    fn kind() -> Kind {
        Kind::Bench
    }

    /// An empty document.
    pub fn new(tool: Tool, machine: Value) -> Document {
        Document {
            schema: SCHEMA.to_owned(),
            kind: Kind::Bench,
            schema_version: None,
            primary_metric: None,
            compare_by: None,
            tool,
            machine,
            partial: false,
            broken: None,
            results: Vec::new(),
            failed: Vec::new(),
            skipped: Vec::new(),
            finish: None,
            executions: None,
            warnings: Vec::new(),
            shown: Selection::default(),
        }
    }

    /// The document with the version of hyperfine 2's fields, which the results have. Its scripts draw the first metric
    /// that is shown.
    #[must_use]
    pub fn for_hyperfine(self, shown: Selection) -> Document {
        Document {
            schema_version: Some(hyperfine::SCHEMA_VERSION),
            primary_metric: Some(hyperfine::primary(&shown).to_owned()),
            shown,
            ..self
        }
    }

    /// The time by which programs are compared.
    pub fn compared_by(&self) -> Metric {
        self.compare_by.unwrap_or(Metric::Total)
    }

    /// The programs that are certainly slower than the reference by more than this part, with the whole interval.
    pub fn slower_than(&self, limit: f64) -> Vec<&str> {
        let is_slower = |measurement: &&Measurement| {
            let relative = measurement.relative_by(self.compared_by());
            relative.is_some_and(|r| r.verdict == Verdict::Slower && r.ratio.low > 1.0 + limit)
        };
        self.results.iter().filter(is_slower).map(Measurement::label).collect()
    }

    /// The number of programs beside the reference that have no comparison with it.
    pub fn uncompared(&self) -> usize {
        let compared = self.results.iter().filter(|m| m.relative_by(self.compared_by()).is_some()).count();
        self.results.len().saturating_sub(1 + compared)
    }

    /// Adds warnings, each once.
    pub fn add_warnings(&mut self, warnings: impl IntoIterator<Item = Warning>) {
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }
}

/// State of the page cache before each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// Everything that the program reads is in memory.
    Warm,
    /// Nothing of it is.
    Cold,
}

impl Cache {
    /// As the document spells it.
    pub fn name(self) -> &'static str {
        match self {
            Cache::Warm => "warm",
            Cache::Cold => "cold",
        }
    }
}

/// One program under one condition. The fields up to `parameters` are hyperfine's, with times in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// What hyperfine 1 calls so: the name of `-n`, which several values of a parameter may share, else the command.
    pub command: String,
    /// Mean wall time, from just before the process was created until it was reaped.
    pub mean: f64,
    /// Standard deviation of the wall time; `null` for one run.
    pub stddev: Option<f64>,
    /// Median wall time.
    pub median: f64,
    /// Mean user CPU time; `null` if it is not known, see `undivided`.
    #[serde(default)]
    pub user: Option<f64>,
    /// Mean system CPU time; `null` if it is not known.
    #[serde(default)]
    pub system: Option<f64>,
    /// Shortest wall time.
    pub min: f64,
    /// Longest wall time.
    pub max: f64,
    /// Every wall time, in the order of the runs.
    #[serde(default)]
    pub times: Vec<f64>,
    /// Peak resident set size of every run, from the kernel. A program that is smaller than its launcher has the figures
    /// of the counting runs instead. Absent if neither is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory_usage_byte: Vec<u64>,
    /// How often each run gave up or lost the processor; absent if it is not known for all runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_switches: Vec<u64>,
    /// Exit code of each run; `null` if a signal ended it.
    #[serde(default)]
    pub exit_codes: Vec<Option<i32>>,
    /// The signal that ended the runs without an exit code, such as `SIGSEGV`; several are joined by commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub killed_by: Option<String>,
    /// Values of the parameters in the command.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", with = "hyperfine::parameters")]
    pub parameters: BTreeMap<String, Value>,
    /// Variables that were set for this command alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Each run as hyperfine 2 writes it, and its metrics over all runs; only in documents of `bench`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measurements: Vec<Run>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub summary: BTreeMap<String, Summary>,
    /// The displayed name, which no other program has; files of other tools may have none.
    #[serde(default)]
    pub name: Option<String>,
    /// The command, as a shell would take it, where `command` is a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_line: Option<String>,
    #[serde(default)]
    pub cache: Option<Cache>,
    /// How the runs were made: [`super::conditions::Conditions`]; `null` in files that do not say.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub plan: Value,
    /// In nanoseconds.
    #[serde(default)]
    pub phases: PhaseTimes,
    /// Medians of the counting runs.
    #[serde(default)]
    pub counts: MedianCounts,
    /// Mean user and system CPU time, in seconds: what the kernel charges, which is exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// Why `user` and `system` are `null`: one lower-case line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undivided: Option<String>,
    /// Why the `write` of a program that prints is `null`: one lower-case line. `setup` ends when the first byte has arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen_write: Option<String>,
    /// Processor times of runs apart, in which user code was told from the kernel's work; absent if none were made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<ProcessorTimes>,
    /// The parts of a run that have a name: between the program's marks, in the timed runs, and between the texts of --from
    /// and --to, in the same runs as `processor`. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "by_name")]
    pub marks: Vec<NamedSpan>,
    /// What of its files was in memory before the first run that counts; absent if nobody looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resident: Vec<ResidentPart>,
    /// How the page cache was made cold, and what the runs had to read; absent for warm runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<ColdRuns>,
    /// The smallest and the largest of each count that differs between counting runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub varying: BTreeMap<String, [u64; 2]>,
    /// Why there are no counts: what went wrong in the last counting run, in one lower-case line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncounted: Option<String>,
    /// Files of the machine that slow its start and that no clean environment removes, such as Python's `.pth` files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub influences: Vec<String>,
    /// `null` if the output was not looked at.
    #[serde(default)]
    pub output: Option<OutputSummary>,
    /// Over all runs.
    #[serde(default)]
    pub lost_events: u64,
    /// Runs that did not count.
    #[serde(default)]
    pub rejected: Vec<Rejected>,
    /// Size of the executed or interpreted file in bytes.
    #[serde(default)]
    pub file_size: Option<u64>,
    /// Distance from the floor.
    #[serde(default)]
    pub floor_ratio: Option<FloorRatio>,
    /// How many runs were faster than the requested threshold.
    #[serde(default)]
    pub share_below: Option<ShareBelow>,
    /// Against the reference: one entry for each duration that both have; empty for the reference itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relative: Vec<Relative>,
    /// What remains without the baseline: one entry for each duration that both have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<Above>,
}

impl Measurement {
    /// The displayed name: its own, else the command.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.command)
    }

    /// The command, as a shell would take it. A file of hyperfine 1 may have its name alone.
    pub fn command_line(&self) -> &str {
        self.command_line.as_deref().unwrap_or(&self.command)
    }

    /// The times between the texts of `--from` and `--to`.
    pub fn region(&self) -> Option<&Distribution> {
        self.marks.iter().find(|span| span.kind == SpanKind::Region).map(|span| &span.times)
    }

    /// Mean CPU time in seconds. Files of other tools have only its parts.
    pub fn cpu(&self) -> Option<f64> {
        self.cpu.or_else(|| Some(self.user? + self.system?))
    }

    /// Peak resident set size in bytes: of the timed runs if all of them have it, else of the counting runs.
    pub fn rss(&self) -> Option<u64> {
        median_count(self.memory_usage_byte.clone()).or(self.counts.max_rss)
    }

    /// What programs are ranked by: the first byte, or the total of a program that has none.
    pub fn ranked(&self) -> Option<&Distribution> {
        self.phases.first_byte.as_ref().or(self.phases.total.as_ref())
    }

    /// Its comparison with the reference by this duration. Programs that print nothing are compared by their totals instead of
    /// first bytes; nothing stands for a user time or a region that is not known.
    pub fn relative_by(&self, by: Metric) -> Option<&Relative> {
        let other = self.relative.first().filter(|_| matches!(by, Metric::FirstByte | Metric::Total));
        self.relative.iter().find(|relative| relative.of == by).or(other)
    }

    /// It was observed, and wrote nothing.
    pub fn prints_nothing(&self) -> bool {
        let silent_phases = self.phases.are_known() && self.phases.first_byte.is_none();
        silent_phases || self.output.is_some_and(|output| output.bytes == 0)
    }
}

/// What was done before each cold run, and what the run then had to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColdRuns {
    pub method: ColdMethod,
    /// How many files were evicted.
    pub files: usize,
    /// The sum of their sizes.
    pub bytes: u64,
    /// Files that cannot be evicted because they are in memory, with their file systems.
    #[serde(default)]
    pub in_memory: Vec<String>,
    /// Files that were not evicted because the program writes to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_warm: Vec<String>,
    /// What went wrong in the run that looked for the files, in one lower-case line. Some files may be missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// Pages of the evicted files that were in memory when a run began. A cold run has 0; `null` if it was not checked.
    pub resident_pages: Option<u64>,
    /// The page faults of each run that waited for a disk.
    pub major_faults: Vec<u64>,
    /// The bytes of each run that came from a disk.
    pub bytes_from_disk: Vec<u64>,
}

/// How the page cache was made cold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColdMethod {
    /// Private copies of the program's files were evicted, and proven to be absent.
    Copies,
    /// By `/proc/sys/vm/drop_caches`; nothing is proven.
    DropCaches,
}

/// What a program printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputSummary {
    /// How many bytes the last run printed.
    pub bytes: u64,
    /// Every run printed the expected output; `null` if none was expected.
    pub ok: Option<bool>,
    /// The smallest and the largest number of bytes, if runs differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub varying: Option<[u64; 2]>,
}

/// How far a program is from the floor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FloorRatio {
    /// The name of the program that is the floor.
    pub floor: String,
    /// `first_byte`, or `total` if one of the two has no first byte.
    pub of: Metric,
    #[serde(flatten)]
    pub ratio: Ratio,
}

/// A program against the reference, run by run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relative {
    /// The program that it is compared with.
    pub reference: String,
    pub of: Metric,
    /// The interval is the one of the verdict, 99 %.
    #[serde(flatten)]
    pub ratio: Ratio,
    pub verdict: Verdict,
}

/// How much longer than a baseline a program takes, run by run, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Above {
    /// The program whose time is subtracted.
    pub baseline: String,
    pub of: Metric,
    /// The median of the differences; below 0 if the baseline takes longer.
    pub median: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// How many runs were faster than a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShareBelow {
    pub threshold_ns: u64,
    /// `first_byte`, or `total` for a program without one.
    pub of: Metric,
    /// The part of the samples below it, 0 to 1.
    pub share: f64,
}

/// The duration that a figure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Until the first byte was out.
    FirstByte,
    /// Until the exit.
    Total,
    /// User code, in runs apart: [`ProcessorTimes::user`].
    User,
    /// The region between two texts that the program prints, in runs apart: a [`NamedSpan`].
    Region,
}

impl Metric {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Metric::FirstByte => "first byte",
            Metric::Total => "total",
            Metric::User => "user time",
            Metric::Region => "region",
        }
    }
}

/// A program without a single run that counts, and so without times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    pub name: String,
    /// The command, as a shell would take it.
    pub command: String,
    pub cache: Option<Cache>,
    /// One lower-case line.
    pub reason: String,
    /// How many runs were tried.
    pub runs: usize,
    /// The last lines that a failing run wrote to its stderr.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
}

/// A program that was not run at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    pub name: String,
    /// One lower-case line.
    pub reason: String,
    /// The command that would fix it, if there is one.
    #[serde(default)]
    pub install: Option<String>,
}
