//! Arguments and plan of `firstbyte trace`.

use super::environment::EnvironmentArgs;
use super::export::ExportArgs;
use super::options::{CacheArgs, JsonArgs, MeasuringArgs};
use super::program::ProgramArgs;
use super::region::RegionArgs;
use super::running::RunningArgs;
use super::shell::{Interpreter, ShellArgs};
use super::values::{ring_size, whole};
use crate::analysis::profile::By;
use crate::analysis::runs::Along;
use crate::document::Kind;
use crate::document::bench::ColdMethod;
use crate::output::Target;
use crate::report::formats::Format;
use crate::tracing::{Beside, TracePlan};
use firstbyte_measure::tracer::event::WantedContents;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  firstbyte trace ls
  firstbyte trace node app.js
  firstbyte trace --full node app.js
  firstbyte trace --timeline ls -l
  firstbyte trace --until-port 8000 python3 -m http.server 8000
  firstbyte trace --summary 'python3 app.py' './app'
  firstbyte trace --html trace.html ./app";

/// Explain where the time of one program's start-up goes
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("cache", |cache| cache.help(CACHE)))]
pub struct Args {
    #[command(flatten)]
    explaining: ExplainingArgs,
    #[command(flatten)]
    extent: ExtentArgs,
    /// Print one line for each of these commands, each in quotes if it has arguments
    #[arg(long, value_name = "COMMAND", num_args = 1.., conflicts_with_all = ["timeline", "command"])]
    summary: Vec<String>,
    #[command(flatten)]
    region: RegionArgs,
    /// Explain only the part of each run that the program named NAME by its marks; see docs/marks.md
    #[arg(long, value_name = "NAME")]
    mark: Option<String>,
    /// Skip the untraced runs that measure the observer overhead
    #[arg(long)]
    no_overhead: bool,
    /// Follow the threads that work while the others wait, or the first thread with its waits
    #[arg(long, value_name = "THREAD", default_value = "critical")]
    thread: ThreadArg,
    /// Explain a recording that --record wrote, instead of running a command
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "summary", "runs", "record"])]
    replay: Option<PathBuf>,
    /// Record up to N bytes of what the program writes and reads; without this option 32 bytes, and only of what it writes,
    /// because what it reads may be secret
    #[arg(long, value_name = "N", conflicts_with = "replay", value_parser = whole::<u16>(0..=WantedContents::MOST_BYTES.into()))]
    strings: Option<u16>,
    /// Use a BPF ring buffer of this size, a power of two; increase it if events are lost [default: 16777216]
    #[arg(long, alias = "ring", value_name = "BYTES", value_parser = ring_size)]
    ring_bytes: Option<u32>,
    /// Divide the program's own code by functions, lines, files or packages: in findings, in the table of own code, which this
    /// option prints, and in flame graphs [default: function]
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["summary", "replay", "no_samples"])]
    by: Option<ByArg>,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    exports: ExportArgs<{ Kind::Trace as usize }>,
    #[command(flatten)]
    program: ProgramArgs,
}

/// How much is printed.
#[derive(Debug, clap::Args)]
struct ExtentArgs {
    /// Print everything, not only the phases, the path, the largest costs and the first findings
    #[arg(long)]
    full: bool,
    /// Print every step of one run, as strace does, with the times of page faults and user code
    #[arg(long)]
    timeline: bool,
}

/// How the runs of `trace` and `diff` are made.
#[derive(Debug, clap::Args)]
pub(super) struct ExplainingArgs {
    /// Run each command N times; the times shown are means of the middle half [default: 20, fewer for a command that takes long]
    #[arg(short, long, value_name = "N", value_parser = whole::<u32>(1..=10_000))]
    runs: Option<u32>,
    /// Make one run of each kind: one to warm up, one traced, one sampled
    #[arg(long, conflicts_with = "runs")]
    quick: bool,
    /// Skip the sampled runs that name the functions of user code
    #[arg(long)]
    no_samples: bool,
    /// Skip the run in which language runtimes such as Python and Node report what they load
    #[arg(long)]
    pub(super) no_runtimes: bool,
    #[command(flatten)]
    running: RunningArgs,
    #[command(flatten)]
    shell: ShellArgs,
    #[command(flatten)]
    measuring: MeasuringArgs,
    #[command(flatten)]
    environment: EnvironmentArgs,
    #[command(flatten)]
    cache: CacheArgs,
}

/// `trace` and `diff` explain one state of the page cache at a time.
pub(super) const CACHE: &str =
    "Start each traced run with the program's files in memory (warm) or on disk only (cold)";

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

/// What the program's own code is divided by.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ByArg {
    /// Functions
    Function,
    /// The lines that functions execute, where they are known
    Line,
    /// Source files
    File,
    /// Packages; outside of packages, source files
    Package,
}

impl From<ByArg> for By {
    fn from(by: ByArg) -> By {
        match by {
            ByArg::Function => By::Function,
            ByArg::Line => By::Line,
            ByArg::File => By::File,
            ByArg::Package => By::Package,
        }
    }
}

/// What is to be explained.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A program and its arguments.
    Command(Vec<OsString>),
    /// Several commands, each with its words.
    Summary(Vec<(String, Vec<String>)>),
    /// The file of a recording.
    Recording(PathBuf),
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub subject: Subject,
    pub runs: TracePlan,
    /// Print more than the first screen.
    pub full: bool,
    /// Print the whole list of steps.
    pub timeline: bool,
    /// Print the table of own code.
    pub own_code: bool,
    pub exports: Vec<(Format, Target)>,
}

impl Args {
    /// The plan, or an error that ends in its `help:` line.
    pub fn plan(self) -> Result<Plan, String> {
        let subject = self.subject()?;
        let mut runs = self.explaining.plan()?;
        runs.each_run.region = self.region.region(runs.each_run.output.kind)?;
        let reports = !self.explaining.no_runtimes;
        let overhead = !self.no_overhead && !self.explaining.quick;
        let exports = self.exports.targets_with(&self.json);
        // the list of steps and the table need nothing else
        let only_traced =
            (self.extent.timeline && exports.is_empty()) || matches!(subject, Subject::Summary(_));
        let beside = match &self.mark {
            _ if only_traced => Beside::default(),
            // the others do not see marks
            Some(_) => Beside { samples: runs.beside.samples, ..Beside::default() },
            None => beside(&runs, reports, overhead),
        };

        Ok(Plan {
            subject,
            runs: TracePlan {
                overhead,
                ring: self.ring_bytes,
                along: self.thread.into(),
                by: self.by.map(By::from).unwrap_or_default(),
                beside,
                contents: contents(self.strings),
                mark: self.mark,
                ..runs
            },
            full: self.extent.full,
            timeline: self.extent.timeline,
            own_code: self.by.is_some(),
            exports,
        })
    }

    fn subject(&self) -> Result<Subject, String> {
        if let Some(path) = &self.replay {
            return Ok(Subject::Recording(path.clone()));
        }
        let interpreter =
            self.explaining.interpreter(self.program.single().into_iter().chain(self.summary()))?;
        if !self.summary.is_empty() {
            let named = |command: &str| Ok((command.to_owned(), interpreter.words(command)?));
            return self.summary().map(named).collect::<Result<_, String>>().map(Subject::Summary);
        }
        if self.program.is_empty() {
            return Err(
                "there is no command to explain\nhelp: name one, as in firstbyte trace ls -l".to_owned()
            );
        }

        self.program.words(&interpreter).map(Subject::Command)
    }

    fn summary(&self) -> impl Iterator<Item = &str> {
        self.summary.iter().map(String::as_str)
    }
}

/// What strace shows by default. What a program reads can be a password or a key, so it is only recorded for those who ask.
fn contents(strings: Option<u16>) -> WantedContents {
    const USUAL_BYTES: u16 = 32;
    WantedContents { bytes: strings.unwrap_or(USUAL_BYTES), read: strings.is_some() }
}

/// Which runs are made beside the traced ones. Who wants one run gets one run.
pub(super) fn beside(runs: &TracePlan, reports: bool, costs: bool) -> Beside {
    let several = runs.count != Some(1);
    // a run that ends at a moment has no whole output, and a cold one no comparable time
    let is_whole = runs.each_run.until.is_none() && runs.cold.is_none();
    Beside { reports: reports && several && is_whole, cpuid: several, costs, ..runs.beside }
}

impl ExplainingArgs {
    /// What runs these commands.
    pub(super) fn interpreter<'c>(
        &self,
        commands: impl Iterator<Item = &'c str>,
    ) -> Result<Interpreter, String> {
        self.shell.interpreter(commands)
    }

    /// How the runs are made, along the critical path and without untraced runs.
    pub(super) fn plan(&self) -> Result<TracePlan, String> {
        let environment = self.environment.environment();
        Ok(TracePlan {
            count: if self.quick { Some(1) } else { self.runs },
            quick: self.quick,
            overhead: false,
            beside: Beside { samples: !self.no_samples && self.runs != Some(1), ..Beside::default() },
            along: Along::CriticalPath,
            by: By::default(),
            mark: None,
            backend: self.measuring.backend(),
            contents: contents(None),
            each_run: self.running.plan(self.measuring.output(), &self.measuring, environment, false)?,
            cold: self.cold()?,
            ring: None,
            seed: self.measuring.seed(),
        })
    }

    /// How the page cache is made cold.
    fn cold(&self) -> Result<Option<ColdMethod>, String> {
        match self.cache.states()[..] {
            [state] => Ok(state),
            _ => Err("a start-up is explained in one state of the page cache\n\
                      help: use --cache warm, and then --cache cold"
                .to_owned()),
        }
    }
}
