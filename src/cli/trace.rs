//! Arguments and plan of `firstbyte trace`.

use super::environment::EnvironmentArgs;
use super::export::ExportArgs;
use super::options::{JsonArgs, MeasuringArgs};
use super::values::ring_size;
use crate::bench::explain::{Along, ExplainPlan};
use crate::document::Kind;
use crate::output::Target;
use crate::report::formats::Format;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  firstbyte trace -- node app.js
  firstbyte trace --timeline -- ls -l
  firstbyte trace --summary 'python3 app.py' './app'
  firstbyte trace --html trace.html -- ./app";

/// Explain where the time of one program's start-up goes
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Run the command N times; the times shown are means of the middle half [default: 20, fewer for a command that takes long]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: Option<u32>,
    /// Print every step of one run, as strace does, with the times of page faults and user code
    #[arg(long)]
    timeline: bool,
    /// Print one line for each of these commands, each in quotes if it has arguments
    #[arg(long, value_name = "COMMAND", num_args = 1.., conflicts_with_all = ["timeline", "command"])]
    summary: Vec<String>,
    /// Skip the untraced runs that measure the observer overhead
    #[arg(long)]
    no_overhead: bool,
    /// Skip the sampled runs that name the functions of user code
    #[arg(long)]
    no_samples: bool,
    /// Follow the threads that work while the others wait, or the first thread with its waits
    #[arg(long, value_name = "THREAD", default_value = "critical")]
    thread: ThreadArg,
    /// Explain a recording that --record wrote, instead of running a command
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "summary", "runs", "record"])]
    replay: Option<PathBuf>,
    /// Use a BPF ring buffer of this size, a power of two; increase it if events are lost [default: 16777216]
    #[arg(long, value_name = "BYTES", value_parser = ring_size)]
    ring: Option<u32>,
    #[command(flatten)]
    measuring: MeasuringArgs,
    #[command(flatten)]
    environment: EnvironmentArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    exports: ExportArgs<{ Kind::Trace as usize }>,
    /// Program to explain, and its arguments
    #[arg(last = true, required_unless_present_any = ["replay", "summary"], value_name = "CMD")]
    command: Vec<OsString>,
}

/// What the account follows.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ThreadArg {
    /// The threads that work while the others wait
    Critical,
    /// The first thread, waiting or not
    Main,
}

impl From<ThreadArg> for Along {
    fn from(thread: ThreadArg) -> Along {
        match thread {
            ThreadArg::Critical => Along::CriticalPath,
            ThreadArg::Main => Along::MainThread,
        }
    }
}

/// What is to be explained.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A program and its arguments.
    Command(Vec<OsString>),
    /// Several commands, not yet split into words.
    Summary(Vec<String>),
    /// The file of a recording.
    Recording(PathBuf),
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub subject: Subject,
    pub runs: ExplainPlan,
    /// Print the whole list of steps.
    pub timeline: bool,
    pub exports: Vec<(Format, Target)>,
}

impl Args {
    pub fn plan(self) -> Plan {
        let subject = match self.replay {
            Some(path) => Subject::Recording(path),
            None if self.command.is_empty() => Subject::Summary(self.summary),
            None => Subject::Command(self.command),
        };
        Plan {
            subject,
            runs: ExplainPlan {
                ring: self.ring,
                samples: !self.no_samples,
                along: self.thread.into(),
                ..runs(&self.measuring, &self.environment, self.runs, !self.no_overhead)
            },
            timeline: self.timeline,
            exports: self.exports.targets_with(&self.json),
        }
    }
}

/// How the runs of a trace or a comparison are made.
pub(super) fn runs(
    measuring: &MeasuringArgs,
    environment: &EnvironmentArgs,
    count: Option<u32>,
    overhead: bool,
) -> ExplainPlan {
    ExplainPlan {
        count,
        overhead,
        backend: measuring.backend(),
        output: measuring.output(),
        environment: environment.environment(),
        place: measuring.place(),
        timeout: measuring.timeout(),
        ring: None,
        seed: measuring.seed(),
        samples: true,
        along: Along::CriticalPath,
    }
}
