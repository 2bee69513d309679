//! Start-ups with every span: what `firstbyte trace --export-json` writes, and what a page reads.

use super::Kind;
use super::named_span::{NamedSpan, by_name};
pub use super::user_code::{
    TraceCall, TraceFunction, TraceImport, TraceImported, TraceLine, TraceSampling, TraceSource,
};
use crate::document::bench::{ColdRuns, Tool, Warning};
use crate::document::conditions::EndedBy;
use firstbyte_measure::timeline::PerPhase;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// One invocation's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceDocument {
    /// [`super::bench::SCHEMA`].
    pub schema: String,
    /// [`Kind::Trace`].
    #[serde(default = "TraceDocument::kind")]
    pub kind: Kind,
    pub tool: Tool,
    #[serde(default)]
    pub machine: Value,
    /// The user interrupted it, so it contains fewer runs than planned.
    #[serde(default)]
    pub partial: bool,
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// One entry for each program.
    pub results: Vec<TraceProgram>,
}

impl TraceDocument {
    fn kind() -> Kind {
        Kind::Trace
    }
}

/// One program's start-up: hyperfine's fields first, in seconds; then ours, in nanoseconds. What is exact
/// (`attribution`, `spans`, `files`, `processes`) is that of the run whose total is the median.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceProgram {
    /// The command, as a shell would take it.
    pub command: String,
    /// The name shown instead of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default)]
    pub mean: Option<f64>,
    #[serde(default)]
    pub stddev: Option<f64>,
    #[serde(default)]
    pub median: f64,
    /// Mean user and system time, in seconds: what the kernel charges.
    #[serde(default)]
    pub cpu: Option<f64>,
    /// Its parts; `null` if they are not known: see [`DIVIDED_BY_TICKS`](super::processor_time::DIVIDED_BY_TICKS).
    #[serde(default)]
    pub user: Option<f64>,
    #[serde(default)]
    pub system: Option<f64>,
    #[serde(default)]
    pub min: f64,
    #[serde(default)]
    pub max: f64,
    /// Wall times of the traced runs.
    #[serde(default)]
    pub times: Vec<f64>,
    /// `null`: a signal ended the run.
    #[serde(default)]
    pub exit_codes: Vec<Option<i32>>,
    /// The last lines of its stderr, if it failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
    /// How often the command was executed, for whatever purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executions: Option<u64>,
    /// The runs are starts that others made while `watch` watched them; left out if firstbyte made them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<TraceWatched>,
    /// What ended each run before the program's own end; left out if nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<EndedBy>,
    /// How the page cache was made cold before each traced run; left out if it was warm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<ColdRuns>,
    /// The parts of a run that have a name: between the program's marks, and between the texts of --from and --to; left out
    /// if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "by_name")]
    pub marks: Vec<NamedSpan>,
    /// The name of the part to which everything else is confined; left out if it is of the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    #[serde(default)]
    pub runs: usize,
    /// Over all runs.
    #[serde(default)]
    pub phases: TracePhases,
    /// Of the run that is shown, nanoseconds.
    #[serde(default)]
    pub run_phases: PerPhase<Option<u64>>,
    /// Of the run that is shown.
    pub total_ns: u64,
    /// The mean total without the time that the observation took; `null` if that is not known. All other times are without it,
    /// too.
    #[serde(default)]
    pub corrected_total_ns: Option<f64>,
    /// The mean total with it, as it was recorded; left out if it is not known what of it the observation took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_total_ns: Option<f64>,
    /// Wall times of the untraced runs, seconds.
    #[serde(default)]
    pub untraced_times: Vec<f64>,
    /// By name; `null` where the backend does not see them.
    #[serde(default)]
    pub counts: BTreeMap<String, Option<u64>>,
    #[serde(default)]
    pub lost_events: u64,
    /// Where the time went, along the critical path.
    #[serde(default)]
    pub attribution: Vec<TraceShare>,
    /// Who worked while the others waited: pieces that lie end to end, from the first `execve` to the exit.
    #[serde(default)]
    pub critical_path: Vec<TracePiece>,
    /// User code on this path by function, the longest own time first.
    #[serde(default)]
    pub user_functions: Vec<TraceFunction>,
    /// The tree of these functions' calls. Every caller stands before what it called. With `--by`, of lines, files or packages:
    /// a whole file or package has no function and no line.
    #[serde(default)]
    pub user_calls: Vec<TraceCall>,
    /// The same tree with the functions of interpreters that only execute the program; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub all_calls: Vec<TraceCall>,
    /// The texts of the lines that `user_functions` and `user_calls` name, by file and line, as far as the files could be read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_lines: BTreeMap<String, BTreeMap<u32, String>>,
    /// What each statement that imports modules brought, the longest time first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imports: Vec<TraceImport>,
    /// How the functions are known; `null`: the user code was not sampled.
    #[serde(default)]
    pub sampling: Option<TraceSampling>,
    pub spans: Vec<TraceSpan>,
    #[serde(default)]
    pub files: Vec<TraceFile>,
    #[serde(default)]
    pub searches: Vec<TraceSearch>,
    /// The files and modules that it brought in, each followed by those that it brought in itself.
    #[serde(default)]
    pub loads: Vec<TraceLoad>,
    #[serde(default)]
    pub processes: Vec<TraceProcess>,
    #[serde(default)]
    pub findings: Vec<TraceFinding>,
}

/// Starts of a program that others made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceWatched {
    /// Its path, or the name at the end of the path.
    pub program: String,
    /// How many starts there were while they were counted.
    pub starts: u64,
    /// One start in this many was to be traced.
    pub every: u64,
    /// The number of each run among the starts, from 1 on.
    #[serde(default)]
    pub numbers: Vec<u64>,
    /// What was executed, the most frequent first.
    #[serde(default)]
    pub command_lines: Vec<TraceCommandLine>,
    /// Starts that were traced but took too long or made too many events.
    #[serde(default)]
    pub given_up: u64,
    /// Why starts that were traced do not count.
    #[serde(default)]
    pub rejected: Vec<String>,
}

/// The arguments of some runs, at most 255 bytes of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceCommandLine {
    pub command: String,
    pub runs: u64,
}

/// The phases over all runs; `null` where the program does not have one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TracePhases {
    #[serde(flatten)]
    pub each: PerPhase<Option<TraceFigure>>,
    #[serde(default)]
    pub first_byte: Option<TraceFigure>,
    #[serde(default)]
    pub total: Option<TraceFigure>,
}

/// Nanoseconds over several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceFigure {
    pub median: f64,
    /// Over the middle half of the runs by their total: the means of the phases add up to that of the total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    pub min: f64,
    pub max: f64,
}

impl TraceFigure {
    /// The mean, by which sums come out even; of older documents the median.
    pub fn typical(&self) -> f64 {
        self.mean.unwrap_or(self.median)
    }
}

/// A part of the time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceShare {
    /// `kernel_exec`, `syscall`, `fault`, `user` or `waiting`.
    pub kind: String,
    /// Its name within the kind.
    pub name: String,
    pub ns: u64,
    /// How many steps.
    pub count: u64,
}

/// A time in which one thread did what all others waited for, nanoseconds from the entry of the first `execve`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracePiece {
    pub pid: u32,
    pub tid: u32,
    pub program: String,
    pub from_ns: u64,
    pub to_ns: u64,
}

/// A step of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSpan {
    pub pid: u32,
    pub tid: u32,
    /// As in [`TraceShare`].
    pub kind: String,
    /// A system call, a module, a reason for waiting.
    pub name: String,
    /// From the entry of the first `execve`.
    pub start_ns: u64,
    /// Its own time, without the steps within it.
    pub duration_ns: u64,
    /// The time including the steps within it.
    #[serde(default)]
    pub elapsed_ns: Option<u64>,
    /// The file that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Arguments and result, address, place.
    #[serde(default)]
    pub detail: Option<String>,
}

impl TraceSpan {
    /// The time including the steps within it.
    pub(crate) fn elapsed(&self) -> u64 {
        self.elapsed_ns.unwrap_or(self.duration_ns)
    }
}

/// What a file cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceFile {
    pub path: String,
    #[serde(default)]
    pub ns: u64,
    #[serde(default)]
    pub opened: u64,
    /// Opens that failed.
    #[serde(default)]
    pub failed: u64,
    #[serde(default)]
    pub calls: u64,
    #[serde(default)]
    pub bytes_read: u64,
    #[serde(default)]
    pub faults: u64,
    #[serde(default)]
    pub major_faults: u64,
}

/// Names that were searched for in several folders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSearch {
    pub names: Vec<String>,
    /// What searched.
    pub by: String,
    /// Lookups that found nothing.
    pub misses: u64,
    pub folders: Vec<String>,
    /// The folder that has it; `null`: none.
    pub found: Option<String>,
    pub ns: u64,
}

/// Something that the start-up brought in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceLoad {
    /// `exec`, `library` or `file`, whose own times sum to the total; else the language runtime that reports the load.
    pub runtime: String,
    /// A module, or the name of a file.
    pub unit: String,
    #[serde(default)]
    pub file: Option<String>,
    /// Without the loads that it brought in.
    pub self_ns: u64,
    /// With them.
    pub total_ns: u64,
    /// How many loads are around it.
    #[serde(default)]
    pub depth: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceProcess {
    pub pid: u32,
    /// 0 for the tracee.
    #[serde(default)]
    pub parent: u32,
    #[serde(default)]
    pub start_ns: u64,
    /// `null`: its end was not seen.
    #[serde(default)]
    pub end_ns: Option<u64>,
    /// The wait status at its end.
    #[serde(default)]
    pub status: Option<i32>,
    /// The main thread included.
    #[serde(default)]
    pub threads: u32,
    #[serde(default)]
    pub execs: Vec<TraceExec>,
}

/// A successful exec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceExec {
    /// The file that was named.
    #[serde(default)]
    pub path: String,
    /// The file that is executed: another one where `path` is a script.
    #[serde(default)]
    pub executed: String,
    #[serde(default)]
    pub argv: Vec<String>,
    #[serde(default)]
    pub start_ns: u64,
    /// How long the kernel took.
    #[serde(default)]
    pub duration_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceFinding {
    /// What the cause takes on the path, without the observer: the median of the runs.
    #[serde(default, alias = "ns")]
    pub costs_ns: u64,
    /// What following the advice would save of that; `null`: nobody knows, or it is less than 1 % of the total.
    #[serde(default)]
    pub saves_ns: Option<u64>,
    /// The 95 % interval of the cost. `null`: too few runs.
    #[serde(default)]
    pub interval_ns: Option<[u64; 2]>,
    /// The place, in the list, of the finding of which this one is a part; `null`: of none. Those of none never sum to more
    /// than the total.
    #[serde(default)]
    pub within: Option<usize>,
    /// The name of the rule that found it.
    #[serde(default)]
    pub rule: String,
    /// What it saves and costs, the cause and what to do.
    pub text: String,
    /// The command that tries what removes the cause; left out if no such way is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tune: Option<String>,
}

impl TraceProgram {
    /// The name shown: its own, else the command.
    pub(crate) fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.command)
    }

    /// The phases of the run that is shown, nanoseconds. A document without them says at least how long the first exec
    /// took. What is not known is `None`.
    pub(crate) fn shown_phases(&self) -> PerPhase<Option<u64>> {
        if self.run_phases.iter().any(|(_, ns)| ns.is_some()) {
            return self.run_phases;
        }
        let exec = self.processes.first().and_then(|process| process.execs.first());
        let startup = exec.map(|exec| exec.duration_ns);
        PerPhase::from_fn(|phase| startup.filter(|_| phase == firstbyte_measure::timeline::Phase::Startup))
    }
}
