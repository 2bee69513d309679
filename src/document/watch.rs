//! The results of `firstbyte watch`: the programs that a command or a machine started, and what their starts cost.

use super::Kind;
use super::read::{self, ReadError};
use crate::document::bench::Tool;
use crate::stats::LogHistogram;
use firstbyte_measure::launch::ExitStatus;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::iter::Sum;
use std::path::Path;
use std::rc::Rc;

/// The results of one invocation. All times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchDocument {
    /// [`super::bench::SCHEMA`].
    pub schema: String,
    /// [`Kind::Watch`].
    pub kind: Kind,
    pub tool: Tool,
    pub machine: Value,
    /// The watch was interrupted.
    pub partial: bool,
    /// The command, as a shell would take it; `null` if the machine was watched.
    pub command: Option<String>,
    /// Which processes were watched.
    pub scope: String,
    /// How the command ended; `null` if there was none or it had not ended.
    pub exit: Option<ExitStatus>,
    /// From before the command was started until it was reaped, or for how long the machine was watched.
    pub wall_ns: u64,
    /// The programs, those with the largest sum of exec times first.
    pub results: Vec<WatchProgram>,
    pub totals: WatchTotals,
    /// Why the critical path is not known; `null` if it is.
    pub critical_path_unknown: Option<String>,
    /// Which programs started which, each after the one that started it.
    #[serde(default)]
    pub tree: Vec<WatchNode>,
    /// The most expensive ones first.
    pub findings: Vec<WatchFinding>,
    /// Events that could not be recorded. The counts are exact if it is 0.
    pub lost_events: u64,
    /// Why every system call was slower although nobody asked for the first output; `null` if none was.
    #[serde(default)]
    pub slow_calls: Option<String>,
}

impl WatchDocument {
    /// Reads `text`, the content of a file; `None` if it is another document. `path` is for errors only.
    pub fn parse_if_it_is_one(text: &str, path: &Path) -> Result<Option<WatchDocument>, ReadError> {
        let document = read::checked(text, path)?;
        let is_watch = document.get("kind").and_then(Value::as_str) == Some(Kind::Watch.name());
        if is_watch { read::content(document, path).map(Some) } else { Ok(None) }
    }

    /// Reads `text`, which must be a watch.
    pub fn parse(text: &str, path: &Path) -> Result<WatchDocument, ReadError> {
        read::of_kind(Kind::Watch, text, path)
    }
}

#[cfg(test)]
impl WatchDocument {
    /// A watch of a machine with these results, and nothing else.
    pub(crate) fn of(results: Vec<WatchProgram>) -> WatchDocument {
        WatchDocument {
            schema: String::new(),
            kind: Kind::Watch,
            tool: Tool::ours(),
            machine: Value::Null,
            partial: false,
            command: None,
            scope: "all".to_owned(),
            exit: None,
            wall_ns: 1,
            results,
            totals: WatchTotals::default(),
            critical_path_unknown: None,
            tree: Vec::new(),
            findings: Vec::new(),
            lost_events: 0,
            slow_calls: None,
        }
    }
}

/// The row of all programs without one of their own.
pub const OTHERS_ROW: u64 = 0;

/// One program: all its executions, by the path that was executed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchProgram {
    /// The last part of the path, or the whole path if another program has the same last part.
    pub program: String,
    /// As it was executed. Of a script, this is the script and not its interpreter.
    pub path: String,
    /// Which row this is, while something is watched: a program that had no row for a while gets another one.
    #[serde(skip)]
    pub row: u64,
    /// How often it was executed, without `unlisted_execs`.
    pub execs: u64,
    /// The most executions of it that are in `(other programs)`, because its row had to make room for others before. All other
    /// figures of the row leave these out as well.
    #[serde(default)]
    pub unlisted_execs: u64,
    /// How often an exec failed in the search for it, or an exec of its path.
    pub failed: u64,
    /// How many executions ended with another exit status than 0, or by a signal.
    pub unsuccessful: u64,
    /// How many executions ended when the process executed another program.
    pub replaced: u64,
    /// How many executions had not ended when the watch did.
    pub running: u64,
    /// Processes that it forked and that executed no program of their own.
    pub forks: u64,
    /// From the entry of `execve` to its return in the new program.
    pub startup_ns: Option<WatchTimes>,
    /// The part of its exec times that is on the critical path of the command; `null` if that is not known.
    pub critical_path: Option<WatchPath>,
    /// From the entry of `execve` to the return of the first successful write of output.
    pub first_output_ns: Option<WatchTimes>,
    /// From the entry of `execve` to the end.
    pub lifetime_ns: Option<WatchTimes>,
    /// CPU time of all its threads and forks.
    pub cpu_ns: u64,
    /// By the name of the mark that ends it, each part of its executions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub marks: BTreeMap<String, WatchTimes>,
    /// The command lines with the largest sums of lifetimes.
    pub command_lines: Vec<WatchCommandLine>,
}

/// Many durations of one kind. The median and the 95th percentile are within 1.6 %.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchTimes {
    pub count: u64,
    pub sum: u64,
    pub median: u64,
    pub p95: u64,
    pub min: u64,
    pub max: u64,
    /// The lowest value of each bucket, and how many values it has.
    pub histogram: Vec<(u64, u64)>,
}

impl WatchTimes {
    /// `None` without values.
    pub fn of(histogram: &LogHistogram) -> Option<WatchTimes> {
        Some(WatchTimes {
            count: histogram.count(),
            sum: histogram.sum(),
            median: histogram.quantile(0.5)?,
            p95: histogram.quantile(0.95)?,
            min: histogram.min()?,
            max: histogram.max()?,
            histogram: histogram.buckets().collect(),
        })
    }
}

/// Executions with the same arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchCommandLine {
    /// As a shell would take it. It ends with ` …` if it was too long to be kept whole.
    pub command: String,
    pub execs: u64,
    /// The sum of the lifetimes of those that have ended.
    pub lifetime_ns: u64,
}

/// Sums over all programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchTotals {
    /// How many different programs were executed.
    pub programs: u64,
    pub execs: u64,
    pub failed: u64,
    /// Processes that ended.
    pub processes: u64,
    /// Those of them that executed no program of their own.
    pub forks: u64,
    /// Processes that had not ended.
    pub running: u64,
    pub startup_ns: u64,
    /// The exec times on the critical path of the command; `null` if that is not known.
    pub critical_path: Option<WatchPath>,
    pub cpu_ns: u64,
    /// Executions whose program is not listed, because the memory was used up: they are in `(other programs)`.
    pub unlisted_execs: u64,
    /// Executions whose command line was not kept, for the same reason.
    pub unlisted_command_lines: u64,
    /// Executions that are missing in the exported timelines, for the same reason.
    pub unlisted_runs: u64,
}

/// Start-ups on the critical path of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchPath {
    pub execs: u64,
    pub startup_ns: u64,
}

impl Sum for WatchPath {
    fn sum<I: Iterator<Item = WatchPath>>(paths: I) -> WatchPath {
        paths.fold(WatchPath::default(), |sum, path| WatchPath {
            execs: sum.execs + path.execs,
            startup_ns: sum.startup_ns.saturating_add(path.startup_ns),
        })
    }
}

/// All executions of a program by one that was itself started in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchNode {
    /// The place of the program that started it; `null` for what was not started by a program that is watched.
    pub above: Option<usize>,
    /// The place of the program in `results`.
    pub program: usize,
    pub execs: u64,
    pub startup_ns: u64,
    /// CPU time of all its threads and forks, without that of the programs that it started.
    pub cpu_ns: u64,
}

/// What is worth looking at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchFinding {
    /// `repeated_command`, `shim`, `path_search`, `failed_exec` or `forks`.
    pub rule: String,
    /// The program or the command line.
    pub subject: String,
    /// How often.
    pub count: u64,
    /// The sum of the lifetimes, or of the failed execs, that belong to it.
    pub cost_ns: u64,
    /// One or two sentences.
    pub text: String,
}

/// Every execution, for timelines. It is not part of the document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchTimeline {
    /// In the order of their ends.
    pub runs: Vec<WatchRun>,
}

/// One execution of a program. The times are in nanoseconds since the first one began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchRun {
    /// As [`WatchProgram::program`].
    pub program: Rc<str>,
    /// As a shell would take it; `None` if it was not kept.
    pub command: Option<Rc<str>>,
    pub pid: u32,
    /// The entry of `execve`.
    pub start: u64,
    /// Its return in the new program.
    pub returned: Option<u64>,
    /// The return of the first write of output.
    pub first_output: Option<u64>,
    /// Not before the start.
    pub end: u64,
    pub cpu_ns: u64,
    /// How it ended, in words.
    pub outcome: String,
}

impl WatchRun {
    /// Its parts, each with its beginning and its end.
    pub fn parts(&self) -> impl Iterator<Item = (WatchPart, u64, u64)> {
        let returned = self.returned.unwrap_or(self.end).min(self.end);
        let output = self.first_output.map(|output| output.clamp(returned, self.end));
        let parts = [
            (WatchPart::Exec, self.start, returned),
            (WatchPart::BeforeOutput, returned, output.unwrap_or(returned)),
            (WatchPart::AfterOutput, output.unwrap_or(self.end), self.end),
            (WatchPart::Life, returned, if output.is_some() { returned } else { self.end }),
        ];
        parts.into_iter().filter(|(_, from, to)| from < to)
    }
}

/// A part of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchPart {
    /// The kernel's work, until `execve` returns.
    Exec,
    /// Until the first output.
    BeforeOutput,
    /// From there to the end.
    AfterOutput,
    /// Until the end, if there was no output, or if nobody asked for it.
    Life,
}

impl WatchPart {
    pub const ALL: [WatchPart; 4] =
        [WatchPart::Exec, WatchPart::BeforeOutput, WatchPart::AfterOutput, WatchPart::Life];

    pub fn name(self) -> &'static str {
        match self {
            WatchPart::Exec => "exec",
            WatchPart::BeforeOutput => "before its first output",
            WatchPart::AfterOutput => "after its first output",
            WatchPart::Life => "after its exec",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_nothing_are_null_and_those_of_values_their_own() {
        let mut histogram = LogHistogram::default();
        assert_eq!(WatchTimes::of(&histogram), None);
        histogram.add(7);
        histogram.add(9);
        let times = WatchTimes::of(&histogram).unwrap();
        assert_eq!((times.count, times.sum, times.median, times.p95), (2, 16, 7, 9));
        assert_eq!((times.min, times.max, times.histogram), (7, 9, vec![(7, 1), (9, 1)]));
    }

    #[test]
    fn the_parts_of_an_execution_cover_it_without_a_gap() {
        let parts = |returned, first_output| -> Vec<(&str, u64, u64)> {
            let run = WatchRun {
                program: "ls".into(),
                command: None,
                pid: 1,
                start: 10,
                returned,
                first_output,
                end: 50,
                cpu_ns: 0,
                outcome: String::new(),
            };
            run.parts().map(|(part, from, to)| (part.name(), from, to)).collect()
        };
        let [startup, before, after, life] = WatchPart::ALL.map(WatchPart::name);
        assert_eq!(parts(Some(20), Some(30)), [(startup, 10, 20), (before, 20, 30), (after, 30, 50)]);
        assert_eq!(parts(Some(20), None), [(startup, 10, 20), (life, 20, 50)]);
        assert_eq!(parts(None, None), [(startup, 10, 50)]);
    }
}
