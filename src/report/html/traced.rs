//! A trace document, as far as a page shows it.

use crate::document::bench::Tool;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// What `firstbyte trace --export-json` writes.
#[derive(Clone, Debug, Deserialize)]
pub struct TraceDocument {
    /// What observed.
    pub tool: Tool,
    /// Where.
    #[serde(default)]
    pub machine: Value,
    /// One a program.
    pub results: Vec<Traced>,
}

/// One program's start-up.
#[derive(Clone, Debug, Deserialize)]
pub struct Traced {
    /// As a shell would take it.
    pub command: String,
    /// What it is called; absent: by its command.
    #[serde(default)]
    pub name: Option<String>,
    /// How many runs.
    #[serde(default)]
    pub runs: u64,
    /// Wall times of the traced runs, seconds.
    #[serde(default)]
    pub times: Vec<f64>,
    /// And of the untraced ones.
    #[serde(default)]
    pub untraced_times: Vec<f64>,
    /// Over all runs, by name: startup, setup, write, teardown, `first_byte`, total.
    #[serde(default)]
    pub phases: BTreeMap<String, Option<Figure>>,
    /// Those of the run that is shown, nanoseconds.
    #[serde(default)]
    pub run_phases: BTreeMap<String, Option<u64>>,
    /// The total of the run that is shown, nanoseconds.
    pub total_ns: u64,
    /// The median total without the observer's part.
    #[serde(default)]
    pub corrected_total_ns: Option<f64>,
    /// By name.
    #[serde(default)]
    pub counts: BTreeMap<String, Option<u64>>,
    /// Events that were lost.
    #[serde(default)]
    pub lost_events: u64,
    /// Where the main thread's time went.
    #[serde(default)]
    pub attribution: Vec<Share>,
    /// Every step.
    pub spans: Vec<Span>,
    /// Every file.
    #[serde(default)]
    pub files: Vec<File>,
    /// Every process.
    #[serde(default)]
    pub processes: Vec<Process>,
    /// What would save time.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// Nanoseconds over several runs.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Figure {
    /// Median.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

/// A part of the time.
#[derive(Clone, Debug, Deserialize)]
pub struct Share {
    /// `kernel_exec`, `syscall`, `fault`, `user` or `waiting`.
    pub kind: String,
    /// Its name within the kind.
    pub name: String,
    /// Nanoseconds.
    pub ns: u64,
    /// How many steps.
    pub count: u64,
}

/// A step of a thread.
#[derive(Clone, Debug, Deserialize)]
pub struct Span {
    /// Its process.
    pub pid: u32,
    /// Its thread.
    pub tid: u32,
    /// As a share's.
    pub kind: String,
    /// A system call, a module, a reason.
    pub name: String,
    /// From the entry of the first `execve`, nanoseconds.
    pub start_ns: u64,
    /// Its own time, without what lies within.
    pub duration_ns: u64,
    /// With it.
    #[serde(default)]
    pub elapsed_ns: Option<u64>,
    /// The file that it is about.
    #[serde(default)]
    pub file: Option<String>,
    /// Arguments and result, address, place.
    #[serde(default)]
    pub detail: Option<String>,
}

impl Span {
    /// With what lies within, nanoseconds.
    pub(crate) fn elapsed(&self) -> u64 {
        self.elapsed_ns.unwrap_or(self.duration_ns)
    }
}

/// What a file cost.
#[derive(Clone, Debug, Deserialize)]
pub struct File {
    /// Its path.
    pub path: String,
    /// Nanoseconds.
    #[serde(default)]
    pub ns: u64,
    /// How often it was opened.
    #[serde(default)]
    pub opened: u64,
    /// In vain.
    #[serde(default)]
    pub failed: u64,
    /// Page faults in it.
    #[serde(default)]
    pub faults: u64,
}

/// A process.
#[derive(Clone, Debug, Deserialize)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// What it executed.
    #[serde(default)]
    pub execs: Vec<Exec>,
}

/// A successful exec.
#[derive(Clone, Debug, Deserialize)]
pub struct Exec {
    /// The file that is executed.
    #[serde(default)]
    pub executed: String,
    /// How long the kernel took.
    #[serde(default)]
    pub duration_ns: u64,
}

/// What would save time.
#[derive(Clone, Debug, Deserialize)]
pub struct Finding {
    /// What it costs, nanoseconds.
    #[serde(default)]
    pub ns: u64,
    /// A sentence.
    pub text: String,
}

impl Traced {
    /// What it is called.
    pub(crate) fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.command)
    }

    /// Startup, setup, write and teardown of the run that is shown, nanoseconds. A document without them tells at least
    /// how long the first exec took; what is not known is `None`.
    pub(crate) fn shown_phases(&self) -> [Option<u64>; 4] {
        let known =
            ["startup", "setup", "write", "teardown"].map(|p| self.run_phases.get(p).copied().flatten());
        if known.iter().any(Option::is_some) {
            return known;
        }
        let exec = self.processes.first().and_then(|process| process.execs.first());
        [exec.map(|exec| exec.duration_ns), None, None, None]
    }
}
