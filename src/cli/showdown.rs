//! `firstbyte showdown`: its arguments, and the plan that they amount to.

use crate::bench::Budget;
use crate::launch::{CpuSet, OutputKind};
use crate::report::export::Target;
use crate::tracer::Choice;
use crate::units::Nanos;
use std::path::PathBuf;
use std::time::Duration;

/// Builds, verifies and measures hello world in many languages, and prints the table.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// Runs of each program (default: as many as fit the time)
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    runs: Option<u32>,
    /// Unmeasured rounds before the measured ones
    #[arg(short, long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    warmup: u32,
    /// About 20 seconds in all, once everything is built
    #[arg(long, conflicts_with = "runs")]
    quick: bool,
    /// These programs (may be repeated; `--list` shows all)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Programs with this tag (may be repeated)
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    tag: Vec<String>,
    /// A folder with further programs, a subfolder with a program.toml each
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// List the programs and stop
    #[arg(long)]
    list: bool,
    /// How runs are observed
    #[arg(long, value_name = "BACKEND", default_value = "auto")]
    backend: BackendArg,
    /// What the programs' stdout is
    #[arg(long, value_name = "KIND", default_value = "pipe")]
    output: OutputArg,
    /// Processors that the programs may run on, such as 0 or 0-3
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// Kill a run after this long
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    timeout: Duration,
    /// Print the share of runs whose first byte came sooner, such as 20ms
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    threshold: Option<Duration>,
    /// Seed of the random order of runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Leave out the untraced runs by which the observer overhead is measured
    #[arg(long)]
    no_overhead: bool,
    /// Leave out the counting runs (system calls, page faults, memory)
    #[arg(long)]
    no_counts: bool,
    /// Write the results as JSON (`-`: stdout)
    #[arg(long, value_name = "FILE")]
    export_json: Option<String>,
    /// Write the results as CSV (`-`: stdout)
    #[arg(long, value_name = "FILE")]
    export_csv: Option<String>,
    /// Write the results as a Markdown table (`-`: stdout)
    #[arg(long, value_name = "FILE")]
    export_markdown: Option<String>,
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

/// What a showdown is to do, checked as far as arguments can be.
#[derive(Debug)]
pub struct Plan {
    /// How long, or how often.
    pub budget: Budget,
    /// Unmeasured rounds first.
    pub warmup: u32,
    /// The names of the programs that are wanted.
    pub names: Vec<String>,
    /// The tags of those that are wanted. Neither names nor tags: all but the optional ones.
    pub tags: Vec<String>,
    /// A folder with further programs.
    pub corpus: Option<PathBuf>,
    /// Only list them.
    pub list: bool,
    /// Which backend was asked for.
    pub backend: Choice,
    /// What stdout is.
    pub output: OutputKind,
    /// Where the programs may run.
    pub cpus: Option<CpuSet>,
    /// When a run is killed.
    pub timeout: Duration,
    /// The share of runs below this is wanted.
    pub threshold: Option<Nanos>,
    /// The seed of the order.
    pub seed: u64,
    /// Measure the observer overhead.
    pub overhead: bool,
    /// Count system calls and page faults.
    pub counts: bool,
    /// Where results go.
    pub exports: Vec<(Format, Target)>,
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
}

/// How long a showdown takes by default, once everything is built.
const DEFAULT_TIME: Duration = Duration::from_secs(75);
/// And with `--quick`.
const QUICK_TIME: Duration = Duration::from_secs(13);

impl Args {
    /// The plan.
    pub fn plan(self) -> Plan {
        let budget = match (self.runs, self.quick) {
            (Some(runs), _) => Budget::Runs(runs),
            (None, true) => Budget::Time(QUICK_TIME),
            (None, false) => Budget::Time(DEFAULT_TIME),
        };
        let exports = [
            (Format::Json, self.export_json),
            (Format::Csv, self.export_csv),
            (Format::Markdown, self.export_markdown),
        ];
        Plan {
            budget,
            warmup: self.warmup,
            names: self.only,
            tags: self.tag,
            corpus: self.corpus,
            list: self.list,
            backend: self.backend.choice(),
            output: self.output.kind(),
            cpus: self.cpus,
            timeout: self.timeout,
            threshold: self.threshold.map(|d| Nanos(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))),
            seed: self.seed,
            overhead: !self.no_overhead,
            counts: !self.no_counts,
            exports: exports
                .into_iter()
                .filter_map(|(format, target)| Some((format, Target::parse(&target?))))
                .collect(),
        }
    }
}

impl BackendArg {
    fn choice(self) -> Choice {
        match self {
            BackendArg::Auto => Choice::Auto,
            BackendArg::Bpf => Choice::Bpf,
            BackendArg::Ptrace => Choice::Ptrace,
            BackendArg::Pipe => Choice::Pipe,
        }
    }
}

impl OutputArg {
    fn kind(self) -> OutputKind {
        match self {
            OutputArg::Null => OutputKind::Null,
            OutputArg::Pipe => OutputKind::Pipe,
            OutputArg::Pty => OutputKind::Pty,
            OutputArg::File => OutputKind::File,
        }
    }
}

/// `20ms`, `1.5s`, `300us`, `2m`; a plain number means seconds.
fn duration(text: &str) -> Result<Duration, String> {
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
