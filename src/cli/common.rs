//! What several commands take: how runs are made, and where results go.

use crate::document::bench::ColdMethod;
use crate::output::Target;
use firstbyte_measure::launch::affinity::CpuSetError;
use firstbyte_measure::launch::{CpuSet, OutputKind};
use firstbyte_measure::tracer::Choice;
pub(super) use firstbyte_measure::units::parse_duration as duration;
use std::path::Path;
use std::time::Duration;

/// A list of processors that are there.
pub(super) fn cpus(text: &str) -> Result<CpuSet, String> {
    let cpus: CpuSet = text.parse().map_err(|error: CpuSetError| error.to_string())?;
    cpus.check().map_err(|error| error.to_string())?;
    Ok(cpus)
}

/// Words as a shell splits them.
pub(super) fn split(command: &str) -> Result<Vec<String>, String> {
    let words = shell_words::split(command).map_err(|_| {
        format!("`{command}` cannot be split into words: a quote is not closed\nhelp: close it, or write \\' or \\\" for the character itself")
    })?;
    if words.is_empty() {
        return Err("a command is empty\nhelp: name a program, as in `firstbyte bench 'ls -l'`".to_owned());
    }
    Ok(words)
}

/// `5%` or `5` as 0.05.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let sensible = number.filter(|percent| (0.0..=1000.0).contains(percent));
    sensible
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("`{text}` is no percentage\nhelp: write it like 0.5 or 5%"))
}

/// Whether a file that runs are to read is there.
pub(super) fn readable(input: &Path) -> Result<(), String> {
    let name = input.display();
    if input.is_dir() {
        return Err(format!(
            "the input `{name}` is a directory\nhelp: name a file in it: --input {name}/FILE"
        ));
    }
    rustix::fs::access(input, rustix::fs::Access::READ_OK).map_err(|error| {
        let cause = std::io::Error::from(error);
        format!("the input `{name}` cannot be read: {cause}\nhelp: check the path and the permissions")
    })
}

/// How runs are made.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct MeasuringArgs {
    /// How runs are observed
    #[arg(long, value_name = "BACKEND", default_value = "auto")]
    backend: BackendArg,
    /// What the programs' stdout is
    #[arg(long, value_name = "KIND", default_value = "pipe")]
    output: OutputArg,
    /// Processors that the programs may run on, such as 0 or 0-3
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub(super) cpus: Option<CpuSet>,
    /// Kill a run after this long, such as 500ms or 2m; a plain number means seconds (default: 10s in a showdown, 10m
    /// elsewhere)
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(super) timeout: Option<Duration>,
    /// Seed of the random order of runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
}

/// The state of the page cache before each run.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct CacheArgs {
    /// Whether the programs' files are in memory when a run begins
    #[arg(long, value_name = "STATE", default_value = "warm")]
    cache: CacheArg,
    /// How cold is made: copies of the programs' files, evicted and proven absent; or what is dropped of the whole
    /// machine's page cache, which leaves what is in use (as root)
    #[arg(long, value_name = "METHOD", default_value = "copies", requires = "cache")]
    cold_method: ColdMethodArg,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CacheArg {
    Warm,
    Cold,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ColdMethodArg {
    Copies,
    DropCaches,
}

impl CacheArgs {
    /// How the page cache is made cold; `None`: it stays warm.
    pub(super) fn cold(&self) -> Option<ColdMethod> {
        match (self.cache, self.cold_method) {
            (CacheArg::Warm, _) => None,
            (CacheArg::Cold, ColdMethodArg::Copies) => Some(ColdMethod::Copies),
            (CacheArg::Cold, ColdMethodArg::DropCaches) => Some(ColdMethod::DropCaches),
        }
    }
}

/// Where results go.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ExportArgs {
    /// Write the results as JSON (`-`: stdout)
    #[arg(id = "export_json", long = "export-json", value_name = "FILE")]
    json: Option<String>,
    /// Write the results as CSV (`-`: stdout)
    #[arg(id = "export_csv", long = "export-csv", value_name = "FILE")]
    csv: Option<String>,
    /// Write the results as a Markdown table (`-`: stdout)
    #[arg(id = "export_markdown", long = "export-markdown", value_name = "FILE")]
    markdown: Option<String>,
    // no doc comment: the name in backticks, which the lint wants there, has no place in a help text
    #[arg(
        long = "export-asciidoc",
        value_name = "FILE",
        help = "Write the results as an AsciiDoc table (`-`: stdout)"
    )]
    asciidoc: Option<String>,
    /// Write the results in Bencher Metric Format (`-`: stdout)
    #[arg(id = "export_bencher", long = "export-bencher", value_name = "FILE")]
    bencher: Option<String>,
    /// Write the results for github-action-benchmark, as `customSmallerIsBetter` (`-`: stdout)
    #[arg(id = "export_benchmark_action", long = "export-benchmark-action", value_name = "FILE")]
    benchmark_action: Option<String>,
    /// Write the results as one self-contained HTML page (`-`: stdout)
    #[arg(id = "export_html", long = "html", value_name = "FILE")]
    html: Option<String>,
}

/// A form in which results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `--export-json`
    Json,
    /// `--export-csv`
    Csv,
    /// `--export-markdown`
    Markdown,
    /// `--export-asciidoc`
    AsciiDoc,
    /// `--export-bencher`
    Bencher,
    /// `--export-benchmark-action`
    BenchmarkAction,
    /// `--html`
    Html,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum BackendArg {
    Auto,
    Bpf,
    Ptrace,
    Pipe,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum OutputArg {
    Null,
    Pipe,
    Pty,
    File,
}

impl MeasuringArgs {
    /// Which backend was asked for.
    pub(super) fn backend(&self) -> Choice {
        match self.backend {
            BackendArg::Auto => Choice::Auto,
            BackendArg::Bpf => Choice::Bpf,
            BackendArg::Ptrace => Choice::Ptrace,
            BackendArg::Pipe => Choice::Pipe,
        }
    }

    /// What stdout is.
    pub(super) fn output(&self) -> OutputKind {
        match self.output {
            OutputArg::Null => OutputKind::Null,
            OutputArg::Pipe => OutputKind::Pipe,
            OutputArg::Pty => OutputKind::Pty,
            OutputArg::File => OutputKind::File,
        }
    }
}

impl ExportArgs {
    /// Each format that was asked for, and its target.
    pub(super) fn targets(self) -> Vec<(Format, Target)> {
        let asked = [
            (Format::Json, self.json),
            (Format::Csv, self.csv),
            (Format::Markdown, self.markdown),
            (Format::AsciiDoc, self.asciidoc),
            (Format::Bencher, self.bencher),
            (Format::BenchmarkAction, self.benchmark_action),
            (Format::Html, self.html),
        ];
        asked.into_iter().filter_map(|(format, target)| Some((format, Target::parse(&target?)))).collect()
    }
}
