//! What several commands take: how runs are made, and where results go.

use crate::launch::{CpuSet, OutputKind};
use crate::report::export::Target;
use crate::tracer::Choice;
use std::time::Duration;

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
    #[arg(long, value_name = "LIST")]
    pub(super) cpus: Option<CpuSet>,
    /// Kill a run after this long (default: 10s in a showdown, 10m elsewhere)
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(super) timeout: Option<Duration>,
    /// Seed of the random order of runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
}

/// Where results go.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ExportArgs {
    /// Write the results as JSON (`-`: stdout)
    #[arg(long = "export-json", value_name = "FILE")]
    json: Option<String>,
    /// Write the results as CSV (`-`: stdout)
    #[arg(long = "export-csv", value_name = "FILE")]
    csv: Option<String>,
    /// Write the results as a Markdown table (`-`: stdout)
    #[arg(long = "export-markdown", value_name = "FILE")]
    markdown: Option<String>,
    // no doc comment: the name in backticks, which the lint wants there, has no place in a help text
    #[arg(
        long = "export-asciidoc",
        value_name = "FILE",
        help = "Write the results as an AsciiDoc table (`-`: stdout)"
    )]
    asciidoc: Option<String>,
    /// Write the results in Bencher Metric Format (`-`: stdout)
    #[arg(long = "export-bencher", value_name = "FILE")]
    bencher: Option<String>,
    /// Write the results for github-action-benchmark, as `customSmallerIsBetter` (`-`: stdout)
    #[arg(long = "export-benchmark-action", value_name = "FILE")]
    benchmark_action: Option<String>,
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
        ];
        asked.into_iter().filter_map(|(format, target)| Some((format, Target::parse(&target?)))).collect()
    }
}

/// `20ms`, `1.5s`, `300us`, `2m`; a plain number means seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let error = || format!("`{text}` is no duration\nhelp: write it like 300us, 20ms, 1.5s or 2m");
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..split].parse().map_err(|_| error())?;
    let unit = match text[split..].trim() {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(error()),
    };
    let duration = Duration::try_from_secs_f64(number * unit).map_err(|_| error())?;
    if duration.is_zero() { Err(error()) } else { Ok(duration) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_the_usual_units_and_nothing_else() {
        assert_eq!(duration("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2"), Ok(Duration::from_secs(2)));
        for nonsense in ["", "ms", "-1s", "1parsec", "0s", "1e400s", "NaN", "1..2s"] {
            assert!(duration(nonsense).is_err(), "{nonsense}");
        }
    }
}
