//! `firstbyte throughput`: its arguments, and the plan that they amount to.

use super::common::duration;
use crate::output::Target;
use crate::throughput::sink::Sink;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Prints many lines to a target, by each design of seed 002 and by ours, and compares.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many lines
    #[arg(long = "n", value_name = "LIST", value_delimiter = ',', default_values_t = SEED_COUNTS,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000))]
    counts: Vec<u64>,
    /// What they are printed to
    #[arg(long = "sink", value_name = "LIST", value_delimiter = ',', default_value = "null,pipe-read",
        value_parser = clap::builder::PossibleValuesParser::new(Sink::ALL.map(Sink::name)))]
    sinks: Vec<String>,
    /// These designs only (the baseline is always there; `--list` shows all)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// List the designs and stop
    #[arg(long)]
    list: bool,
    /// Runs of each design, sink and number of lines
    #[arg(short, long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    /// No further run of a design that has taken so long in all for one sink and number of lines
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration)]
    enough: Duration,
    /// Kill a run after this long
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = duration)]
    timeout: Duration,
    /// Where files are made (default: the temporary folder)
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// A folder on tmpfs
    #[arg(long, value_name = "DIR", default_value = "/dev/shm")]
    memory: PathBuf,
    /// Seed of the random order of runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Write the results as JSON (`-`: stdout)
    #[arg(long = "export-json", visible_alias = "json", value_name = "FILE")]
    json: Option<String>,
    /// Write the results as CSV (`-`: stdout)
    #[arg(long = "export-csv", value_name = "FILE")]
    csv: Option<String>,
    /// Write the results as Markdown tables (`-`: stdout)
    #[arg(long = "export-markdown", value_name = "FILE")]
    markdown: Option<String>,
    /// Write the results as one self-contained HTML page (`-`: stdout)
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
    /// Draw time against lines: as PNG if FILE ends in .png, otherwise as SVG (`-`: stdout)
    #[arg(long, value_name = "FILE")]
    chart: Option<String>,
    /// Logarithmic axes
    #[arg(long, requires = "chart")]
    log: bool,
}

/// The seed's numbers of lines.
const SEED_COUNTS: [u64; 8] =
    [1_000_000, 2_500_000, 5_000_000, 7_500_000, 10_000_000, 12_500_000, 15_000_000, 17_500_000];

/// What is to be measured, and where the results go.
#[derive(Debug)]
pub struct Plan {
    /// The numbers of lines, ascending.
    pub counts: Vec<u64>,
    /// What they are printed to.
    pub sinks: Vec<Sink>,
    /// The designs that are wanted; empty: all.
    pub only: Vec<String>,
    /// Only list them.
    pub list: bool,
    /// Runs of each.
    pub runs: u32,
    /// No further run after so long.
    pub enough: Duration,
    /// When a run is killed.
    pub timeout: Duration,
    /// Where files are made.
    pub directory: PathBuf,
    /// A folder on tmpfs.
    pub memory: PathBuf,
    /// The seed of the order.
    pub seed: u64,
    /// The exports.
    pub exports: Vec<(Form, Target)>,
}

/// A form in which results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON.
    Json,
    /// CSV.
    Csv,
    /// Markdown.
    Markdown,
    /// A picture, with logarithmic axes or not.
    Chart {
        /// Both axes are logarithmic.
        log: bool,
        /// PNG, not SVG.
        png: bool,
    },
    /// One page.
    Html,
}

impl Args {
    /// The plan.
    pub fn plan(self) -> Plan {
        let mut counts = self.counts;
        counts.sort_unstable();
        counts.dedup();
        let png = self.chart.as_deref().is_some_and(is_png);
        let exports = [
            (Form::Json, self.json),
            (Form::Csv, self.csv),
            (Form::Markdown, self.markdown),
            (Form::Chart { log: self.log, png }, self.chart),
            (Form::Html, self.html),
        ];
        let wanted = |sink: &Sink| self.sinks.iter().any(|name| name == sink.name());
        Plan {
            counts,
            sinks: Sink::ALL.into_iter().filter(wanted).collect(),
            only: self.only,
            list: self.list,
            runs: self.runs,
            enough: self.enough,
            timeout: self.timeout,
            directory: self.directory.unwrap_or_else(std::env::temp_dir),
            memory: self.memory,
            seed: self.seed,
            exports: exports.into_iter().filter_map(|(form, to)| Some((form, Target::parse(&to?)))).collect(),
        }
    }
}

fn is_png(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png"))
}
