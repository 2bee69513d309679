//! `firstbyte trace`.

use super::common::MeasuringArgs;
use crate::output::Target;
use firstbyte_measure::launch::{CpuSet, OutputKind};
use firstbyte_measure::tracer::Choice;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Explains one program's start-up, every microsecond of it: phases, system calls, page faults, files, processes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many runs; the times shown are medians (default: 20, fewer for a command that takes long)
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: Option<u32>,
    /// Print every step of one run, as strace would, with the times of page faults and of user code
    #[arg(long)]
    timeline: bool,
    /// Print one line for each of several commands (quoted, as in `--summary 'ls -l' 'node x.js'`)
    #[arg(long, value_name = "COMMAND", num_args = 1.., conflicts_with_all = ["timeline", "command"])]
    summary: Vec<String>,
    /// Do without the untraced runs that the observer overhead is measured by
    #[arg(long)]
    no_overhead: bool,
    /// Write the events of the run that is shown as JSON lines, for `--replay` and `firstbyte diff`
    #[arg(long, value_name = "FILE")]
    record: Option<String>,
    /// Explain a recording instead of running a command
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "summary", "runs", "record"])]
    replay: Option<PathBuf>,
    /// Write the result as JSON (`-`: stdout)
    #[arg(long, value_name = "FILE")]
    export_json: Option<String>,
    /// Write a timeline for ui.perfetto.dev (`-`: stdout)
    #[arg(long, value_name = "FILE")]
    export_perfetto: Option<String>,
    /// Write a profile for profiler.firefox.com (`-`: stdout)
    #[arg(long, value_name = "FILE")]
    export_firefox: Option<String>,
    /// Write the result as one self-contained HTML page (`-`: stdout)
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
    /// Bytes of the BPF ring buffer, a power of two: more where events are lost (default: 16 MiB)
    #[arg(long, value_name = "BYTES", value_parser = ring)]
    ring: Option<u32>,
    #[command(flatten)]
    measuring: MeasuringArgs,
    /// The program and its arguments
    #[arg(last = true, required_unless_present_any = ["replay", "summary"], value_name = "CMD")]
    command: Vec<OsString>,
}

/// What is to be explained.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A program and its arguments.
    Command(Vec<OsString>),
    /// Several commands, each split as a shell splits words.
    Summary(Vec<String>),
    /// A recording.
    Recording(PathBuf),
}

/// A form in which a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    /// `--export-json`
    Json,
    /// `--export-perfetto`
    Perfetto,
    /// `--export-firefox`
    Firefox,
    /// `--html`
    Html,
    /// `--record`
    Recording,
}

/// How runs are made.
#[derive(Clone, Debug)]
pub struct Runs {
    /// How many; `None`: as many as make sense.
    pub count: Option<u32>,
    /// Measure the observer overhead.
    pub overhead: bool,
    /// Which backend.
    pub backend: Choice,
    /// What stdout is.
    pub output: OutputKind,
    /// Processors that the program may run on.
    pub cpus: Option<CpuSet>,
    /// A run is killed after this long.
    pub timeout: Duration,
    /// Bytes of the BPF ring buffer.
    pub ring: Option<u32>,
    /// Seed of the order in which two commands take turns.
    pub seed: u64,
}

/// A validated plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What.
    pub subject: Subject,
    /// How.
    pub runs: Runs,
    /// The whole list of steps is wanted.
    pub timeline: bool,
    /// What is written where.
    pub exports: Vec<(Export, Target)>,
}

/// Longer than any start-up that somebody waits for.
const TIMEOUT: Duration = Duration::from_secs(600);

impl Args {
    /// The plan that these arguments amount to.
    pub fn plan(self) -> Plan {
        let exports = [
            (Export::Json, self.export_json),
            (Export::Perfetto, self.export_perfetto),
            (Export::Firefox, self.export_firefox),
            (Export::Html, self.html),
            (Export::Recording, self.record),
        ];
        let subject = match self.replay {
            Some(path) => Subject::Recording(path),
            None if self.command.is_empty() => Subject::Summary(self.summary),
            None => Subject::Command(self.command),
        };
        let exports = exports.into_iter();
        Plan {
            subject,
            runs: Runs { ring: self.ring, ..runs(&self.measuring, self.runs, !self.no_overhead) },
            timeline: self.timeline,
            exports: exports.filter_map(|(export, target)| Some((export, Target::parse(&target?)))).collect(),
        }
    }
}

/// How the runs of a trace or a comparison are made.
pub(super) fn runs(measuring: &MeasuringArgs, count: Option<u32>, overhead: bool) -> Runs {
    Runs {
        count,
        overhead,
        backend: measuring.backend(),
        output: measuring.output(),
        cpus: measuring.cpus.clone(),
        timeout: measuring.timeout.unwrap_or(TIMEOUT),
        ring: None,
        seed: measuring.seed,
    }
}

/// A size that a ring buffer can have: a power of two, a page at least (`BPF_MAP_TYPE_RINGBUF`).
fn ring(text: &str) -> Result<u32, String> {
    let wrong =
        || format!("`{text}` is no size of a ring buffer\nhelp: give a power of two from 4096 to 1073741824");
    let bytes: u32 = text.parse().map_err(|_| wrong())?;
    if bytes.is_power_of_two() && (4096..=1 << 30).contains(&bytes) { Ok(bytes) } else { Err(wrong()) }
}
