//! The results of `firstbyte throughput`.

use super::Kind;
use crate::document::bench::{Ratio, SCHEMA, Skipped, Tool};
use crate::stats::{Bootstrap, Statistics, comparing};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The results of one invocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThroughputDocument {
    pub schema: String,
    /// [`Kind::Throughput`].
    #[serde(default = "ThroughputDocument::kind")]
    pub kind: Kind,
    pub tool: Tool,
    pub machine: Value,
    /// The invocation was interrupted.
    pub partial: bool,
    /// The design that the others are compared with.
    pub baseline: String,
    /// One entry for each sink, number of lines and design.
    pub results: Vec<Throughput>,
    /// What printed something else than the lines, or failed.
    pub wrong: Vec<WrongOutput>,
    /// The figures of the post, if the invocation repeats its table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedTime>,
    /// Designs that this machine cannot build.
    pub skipped: Vec<Skipped>,
    /// Sinks that are not what their names promise, and what else a reader must know, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// One design with one sink and one number of lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    pub sink: String,
    pub sink_description: String,
    pub design: String,
    /// What is special about the design.
    pub description: String,
    pub lines: u64,
    /// How many bytes it prints.
    pub bytes: u64,
    /// Whether they are the lines that were asked for. If not, it is timed against its own bytes.
    #[serde(default = "Throughput::right")]
    pub right: bool,
    /// Every run, from before the process was created until its reader had the last byte.
    pub times_ns: Vec<u64>,
    pub median_ns: f64,
    pub min_ns: f64,
    /// At the median; `null` where nobody reads the bytes (`/dev/null`).
    pub bytes_per_second: Option<f64>,
    /// The baseline's time over this one's, of interleaved runs.
    pub times_faster: Option<Ratio>,
}

/// A time that a post states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedTime {
    /// The design that is the post's program, as published.
    pub design: String,
    /// The post's name of it.
    pub column: String,
    pub lines: u64,
    pub seconds: f64,
}

/// A design whose output was wrong somewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrongOutput {
    pub design: String,
    /// What is special about it; of a literal program, its bug.
    pub description: String,
    /// It reproduces a published program with its bugs.
    pub literal: bool,
    pub sink: String,
    /// The requested number of lines.
    pub lines: u64,
    /// It was timed nevertheless, against its own bytes.
    #[serde(default)]
    pub timed: bool,
    /// One lower-case line.
    pub reason: String,
}

impl ThroughputDocument {
    fn kind() -> Kind {
        Kind::Throughput
    }

    /// A document without results.
    pub fn new(tool: Tool, machine: Value, baseline: &str) -> ThroughputDocument {
        ThroughputDocument {
            schema: SCHEMA.to_owned(),
            kind: Kind::Throughput,
            tool,
            machine,
            partial: false,
            baseline: baseline.to_owned(),
            results: Vec::new(),
            wrong: Vec::new(),
            published: Vec::new(),
            skipped: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Fills in the ratios against the baseline. The runs of one sink and number of lines were interleaved.
    pub fn compare(&mut self) {
        let baselines: Vec<Throughput> =
            self.results.iter().filter(|result| result.design == self.baseline).cloned().collect();
        for result in &mut self.results {
            let same = |other: &&Throughput| other.sink == result.sink && other.lines == result.lines;
            let Some(baseline) = baselines.iter().find(same) else { continue };
            result.times_faster = ratio(&result.times_ns, &baseline.times_ns);
        }
    }

    /// The sinks with their descriptions, each once, in the order of the results.
    pub fn sinks(&self) -> Vec<(&str, &str)> {
        let mut sinks = Vec::new();
        for result in &self.results {
            let sink = (result.sink.as_str(), result.sink_description.as_str());
            if !sinks.contains(&sink) {
                sinks.push(sink);
            }
        }
        sinks
    }

    /// The numbers of lines of a sink, ascending.
    pub fn counts(&self, sink: &str) -> Vec<u64> {
        let mut counts: Vec<u64> = self.of(sink).map(|result| result.lines).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    pub fn of<'d>(&'d self, sink: &'d str) -> impl Iterator<Item = &'d Throughput> {
        self.results.iter().filter(move |result| result.sink == sink)
    }

    /// The designs of one sink, ordered by their time for the most lines, the fastest first.
    pub fn ranking<'d>(&'d self, sink: &str) -> Vec<&'d str> {
        let mut rows: Vec<&'d Throughput> = self.results.iter().filter(|r| r.sink == sink).collect();
        rows.sort_by(|a, b| b.lines.cmp(&a.lines).then(a.median_ns.total_cmp(&b.median_ns)));
        let mut names: Vec<&str> = Vec::new();
        for row in rows {
            if !names.contains(&row.design.as_str()) {
                names.push(&row.design);
            }
        }
        names
    }

    /// Whether a design prints the lines that are asked for, wherever it was timed with a sink.
    pub fn is_right(&self, sink: &str, design: &str) -> bool {
        self.of(sink).filter(|row| row.design == design).all(|row| row.right)
    }

    /// The columns of the post's table: designs with the post's names, each once, in its order.
    pub fn columns(&self) -> Vec<(&str, &str)> {
        let mut columns = Vec::new();
        for time in &self.published {
            let column = (time.design.as_str(), time.column.as_str());
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        columns
    }

    /// The post's time.
    pub fn published(&self, design: &str, lines: u64) -> Option<f64> {
        let mut times = self.published.iter();
        times.find(|time| time.design == design && time.lines == lines).map(|time| time.seconds)
    }

    pub fn find(&self, sink: &str, design: &str, lines: u64) -> Option<&Throughput> {
        self.results.iter().find(|r| r.sink == sink && r.design == design && r.lines == lines)
    }
}

impl Throughput {
    /// Older versions timed nothing else.
    fn right() -> bool {
        true
    }

    /// Fills in what follows from the times; `None` if there are none.
    pub fn summarised(mut self, has_reader: bool) -> Option<Throughput> {
        let times: Vec<f64> = self.times_ns.iter().map(|&ns| ns as f64).collect();
        let summary = Statistics::of(&times)?;
        self.median_ns = summary.median;
        self.min_ns = summary.min;
        self.bytes_per_second = has_reader.then_some(self.bytes as f64 / (summary.median / 1e9));
        Some(self)
    }
}

fn ratio(times: &[u64], baseline: &[u64]) -> Option<Ratio> {
    let float = |times: &[u64]| times.iter().map(|&ns| ns as f64).collect::<Vec<f64>>();
    let bootstrap = Bootstrap { resamples: 2000, confidence: 0.95, seed: 1 };
    comparing::paired(&float(times), &float(baseline), bootstrap).map(Ratio::from)
}
