//! The versioned result document: what is exported, read back, and drawn from.
//!
//! A superset of hyperfine's JSON: its fields come first in each result, in seconds; what is ours follows, in
//! integer nanoseconds. Every float in it is finite, because [`crate::stats`] gives no other.

use super::kind::Kind;
use super::series::{Finish, Rejected};
use crate::stats::{Comparison, Verdict, median_count};
use firstbyte_measure::timeline::Phase;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

pub use super::distribution::{Distribution, PhaseTimes};

/// The version of the format. A reader takes any document of this number: fields may be added to it, never
/// changed or taken away.
pub const SCHEMA: &str = "firstbyte/1";

/// One invocation's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`Kind::Bench`].
    #[serde(default = "Document::kind")]
    pub kind: Kind,
    /// What measured.
    pub tool: Tool,
    /// Where: a [`firstbyte_measure::machine::Machine`], `null` in files of other tools. As JSON, because a file may come from
    /// a version that knows other facts.
    #[serde(default)]
    pub machine: Value,
    /// More was planned than was measured: the invocation was interrupted, or had not ended when this was written.
    #[serde(default)]
    pub partial: bool,
    /// What ended the measuring before its end, other than the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
    /// One entry a program and condition, in the order in which they were given.
    pub results: Vec<Measurement>,
    /// Programs of which not one run counted.
    #[serde(default)]
    pub failed: Vec<Failed>,
    /// Programs that this machine cannot run.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
    /// Why no further runs were made, where that was not settled beforehand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
    /// What a reader must know before believing the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
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
            tool,
            machine,
            partial: false,
            broken: None,
            results: Vec::new(),
            failed: Vec::new(),
            skipped: Vec::new(),
            finish: None,
            warnings: Vec::new(),
        }
    }
}

/// What measured, and what its measuring costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// `firstbyte`, or the tool whose file was read.
    pub name: String,
    /// Its version; empty when unknown.
    #[serde(default)]
    pub version: String,
    /// What observed the runs: `bpf`, `ptrace`, `pipe`.
    #[serde(default)]
    pub backend: Option<String>,
    /// Why that one.
    #[serde(default)]
    pub backend_reason: Option<String>,
    /// Traced over untraced, per program.
    #[serde(default)]
    pub observer_overhead: Vec<Overhead>,
}

impl Tool {
    /// This firstbyte, without a backend.
    pub fn ours() -> Tool {
        ToolVersion::ours().into()
    }
}

/// What wrote a document, where no backend is involved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolVersion {
    pub name: String,
    #[serde(default)]
    pub version: String,
}

impl From<ToolVersion> for Tool {
    fn from(ToolVersion { name, version }: ToolVersion) -> Tool {
        Tool { name, version, ..Tool::default() }
    }
}

impl ToolVersion {
    /// This firstbyte.
    pub fn ours() -> ToolVersion {
        ToolVersion { name: "firstbyte".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// Wall time of traced runs over that of untraced runs of the same program, in blocks by turns: a pair is a block's two
/// medians, because only blocks are independent of each other where a machine's speed changes by the second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// The program.
    pub name: String,
    /// The ratio and its interval.
    #[serde(flatten)]
    pub ratio: Ratio,
}

/// A ratio of paired runs with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Median of the pairs' ratios.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// How many pairs.
    pub pairs: usize,
}

impl From<Comparison> for Ratio {
    fn from(comparison: Comparison) -> Ratio {
        let Comparison { ratio, interval, pairs } = comparison;
        Ratio { ratio, low: interval.low, high: interval.high, pairs }
    }
}

/// State of the page cache before each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// Everything that the program reads is resident.
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

/// One program under one condition. Up to `parameters` the fields are hyperfine's, times in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The command, as a shell would take it.
    pub command: String,
    /// Mean wall time, from just before the process was created until it was reaped.
    pub mean: f64,
    /// Its standard deviation; `null` for one run.
    pub stddev: Option<f64>,
    /// Median wall time.
    pub median: f64,
    /// Mean user CPU time.
    pub user: f64,
    /// Mean system CPU time.
    pub system: f64,
    /// Shortest wall time.
    pub min: f64,
    /// Longest wall time.
    pub max: f64,
    /// Every wall time, in the order of the runs.
    #[serde(default)]
    pub times: Vec<f64>,
    /// Peak resident set size of every run: the kernel's figure, or, of programs smaller than what started them, what
    /// the counting runs found. Absent when neither is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory_usage_byte: Vec<u64>,
    /// How often every run gave the processor up or lost it; absent when it is not known for all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_switches: Vec<u64>,
    /// Exit code of every run, `null` when a signal ended it.
    #[serde(default)]
    pub exit_codes: Vec<Option<i32>>,
    /// The signal that ended every run, as in `SIGSEGV`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub killed_by: Option<String>,
    /// Values of the parameters in the command.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Value>,
    /// The name shown; files of other tools have none.
    #[serde(default)]
    pub name: Option<String>,
    /// State of the page cache.
    #[serde(default)]
    pub cache: Option<Cache>,
    /// How its runs were made: [`super::conditions::Conditions`], `null` in files that do not say.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub plan: Value,
    /// What the total consists of, in nanoseconds.
    #[serde(default)]
    pub phases: PhaseTimes,
    /// Medians of the counting runs.
    #[serde(default)]
    pub counts: Counts,
    /// How the page cache was made cold, and what that cost; `null` for warm runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<Cold>,
    /// The counts that differ from counting run to counting run: the smallest and the largest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub varying: BTreeMap<String, [u64; 2]>,
    /// Why counting runs are missing: what was wrong with the last one, in one lower-case line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncounted: Option<String>,
    /// What it printed; `null` when nobody looked.
    #[serde(default)]
    pub output: Option<Output>,
    /// Events that were lost over all runs.
    #[serde(default)]
    pub lost_events: u64,
    /// Runs that did not count.
    #[serde(default)]
    pub rejected: Vec<Rejected>,
    /// Size of the executed (or interpreted) file, bytes.
    #[serde(default)]
    pub file_size: Option<u64>,
    /// Distance from the floor.
    #[serde(default)]
    pub floor_ratio: Option<FloorRatio>,
    /// How many runs stayed below the threshold that was asked for.
    #[serde(default)]
    pub share_below: Option<ShareBelow>,
    /// Against the reference, one entry a duration that both have; none for the reference itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relative: Vec<Relative>,
    /// What remains without the baseline, one entry a duration that both have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<Above>,
}

impl Measurement {
    /// The name shown: its own, else the command.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.command)
    }

    /// Peak resident set size in bytes: of the timed runs if all of them have it, else of the counting runs.
    pub fn rss(&self) -> Option<u64> {
        median_count(self.memory_usage_byte.clone()).or(self.counts.max_rss)
    }

    /// What programs are ranked by: the first byte, or the total of a program that has none.
    pub fn ranked(&self) -> Option<&Distribution> {
        self.phases.first_byte.as_ref().or(self.phases.total.as_ref())
    }

    /// It was watched, and wrote nothing.
    pub fn prints_nothing(&self) -> bool {
        let silent_phases = self.phases.are_known() && self.phases.get(Phase::Write).is_none();
        silent_phases || self.output.is_some_and(|output| output.bytes == 0)
    }
}

/// The deterministic tier: medians of the counting runs, absent where nothing counted it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Processes of the tree, the tracee included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Threads of the tree, main threads included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// Successful execs, the first included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execs: Option<u64>,
    /// System calls entered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syscalls: Option<u64>,
    /// Page faults, minor and major.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_faults: Option<u64>,
    /// Page faults that needed I/O.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
    /// Successful opens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_opened: Option<u64>,
    /// Opens that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_opens: Option<u64>,
    /// Bytes that `read`-like calls returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_read: Option<u64>,
    /// Writes of output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<u64>,
    /// Peak resident set size, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rss: Option<u64>,
    /// Instructions of the program itself, where the processor's counters can be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// Instructions of the kernel on its behalf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions_kernel: Option<u64>,
    /// Cycles of the program itself, where the processor's counters can be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// Cycles of the kernel on its behalf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles_kernel: Option<u64>,
    /// Mispredicted branches of the program itself, where the processor's counters can be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_misses: Option<u64>,
    /// Mispredicted branches of the kernel on its behalf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_misses_kernel: Option<u64>,
    /// Misses of the last cache of the program itself, where the processor's counters can be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_misses: Option<u64>,
    /// Misses of the last cache of the kernel on its behalf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_misses_kernel: Option<u64>,
}

impl Counts {
    /// Each count that is known, by its name in the document.
    pub fn known(&self) -> Vec<(&'static str, u64)> {
        let all = [
            ("processes", self.processes),
            ("threads", self.threads),
            ("execs", self.execs),
            ("syscalls", self.syscalls),
            ("page_faults", self.page_faults),
            ("major_faults", self.major_faults),
            ("files_opened", self.files_opened),
            ("failed_opens", self.failed_opens),
            ("bytes_read", self.bytes_read),
            ("writes", self.writes),
            ("max_rss", self.max_rss),
            ("instructions", self.instructions),
            ("instructions_kernel", self.instructions_kernel),
            ("cycles", self.cycles),
            ("cycles_kernel", self.cycles_kernel),
            ("branch_misses", self.branch_misses),
            ("branch_misses_kernel", self.branch_misses_kernel),
            ("cache_misses", self.cache_misses),
            ("cache_misses_kernel", self.cache_misses_kernel),
        ];
        all.into_iter().filter_map(|(name, count)| Some((name, count?))).collect()
    }
}

/// What was done before each cold run, and what the run then had to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cold {
    /// `copies`: the files below were evicted and proven absent; `drop_caches`: nothing is proven.
    pub method: ColdMethod,
    /// How many files were evicted.
    pub files: usize,
    /// Their sizes, summed up.
    pub bytes: u64,
    /// Files that cannot be evicted because they are memory, with their file systems.
    #[serde(default)]
    pub in_memory: Vec<String>,
    /// Files that were left as they are because the program writes to them, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_warm: Vec<String>,
    /// What was wrong with the run that looked for the files, so that some may be missing: one lower-case line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// Pages of the evicted files that were resident when a run began: 0, or it is no cold run. `null` where nobody looked.
    pub resident_pages: Option<u64>,
    /// Page faults of every run that waited for a disk.
    pub major_faults: Vec<u64>,
    /// Bytes of every run that came from a disk.
    pub bytes_from_disk: Vec<u64>,
}

/// How the page cache was made cold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColdMethod {
    /// Private copies of the program's files, evicted.
    Copies,
    /// `/proc/sys/vm/drop_caches`.
    DropCaches,
}

/// What a program printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// How many bytes, in the last run.
    pub bytes: u64,
    /// In every run they were the expected ones; `null` where none were expected: then nothing was compared.
    pub ok: Option<bool>,
    /// The smallest and the largest number of bytes, where runs differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub varying: Option<[u64; 2]>,
}

/// How far a program is from the floor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FloorRatio {
    /// The program that is the floor.
    pub floor: String,
    /// `first_byte`, or `total` where one of the two has no first byte.
    pub of: Metric,
    /// The ratio and its interval.
    #[serde(flatten)]
    pub ratio: Ratio,
}

/// A program against the reference, run by run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relative {
    /// The program that it is compared with.
    pub reference: String,
    /// Which duration.
    pub of: Metric,
    /// The ratio; its interval is the verdict's, of 99 %.
    #[serde(flatten)]
    pub ratio: Ratio,
    /// What that says of this program.
    pub verdict: Verdict,
}

/// What a program takes longer than a baseline, run by run, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Above {
    /// The program whose time is taken off.
    pub baseline: String,
    /// Which duration.
    pub of: Metric,
    /// Median of the differences; below 0 where the baseline takes longer.
    pub median: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What a reader must know before believing the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The program that it is about; `null`: all.
    #[serde(default)]
    pub name: Option<String>,
    /// One lower-case line.
    pub message: String,
    /// What would mend it.
    #[serde(default)]
    pub help: Option<String>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{name}: ")?;
        }
        f.write_str(&self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; help: {help}"))
    }
}

/// How many runs stayed below a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShareBelow {
    /// The threshold.
    pub threshold_ns: u64,
    /// `first_byte`, or `total` for a program without one.
    pub of: Metric,
    /// The part of the samples that lie below it, 0 to 1.
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
}

impl Metric {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Metric::FirstByte => "first byte",
            Metric::Total => "total",
        }
    }
}

/// A program of which not one run counted, so that it has no times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Its name.
    pub name: String,
    /// The command, as a shell would take it.
    pub command: String,
    /// State of the page cache.
    pub cache: Option<Cache>,
    /// Why: one lower-case line.
    pub reason: String,
    /// How many runs were tried.
    pub runs: usize,
}

/// A program that was not run at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Its name.
    pub name: String,
    /// Why: one lower-case line.
    pub reason: String,
    /// The command that would mend it, where there is one.
    #[serde(default)]
    pub install: Option<String>,
}
