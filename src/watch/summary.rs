//! The document of a watch.

use super::critical::Startups;
use super::findings::findings;
use super::program::{CommandLine, Program};
use super::programs::{ProgramId, Programs};
use super::tally::{Run, Tally};
use super::tree::Node;
use crate::document::Kind;
use crate::document::bench::{SCHEMA, Tool};
use crate::document::watch::{
    WatchCommandLine, WatchDocument, WatchNode, WatchPath, WatchProgram, WatchRun, WatchTimeline, WatchTimes,
    WatchTotals,
};
use firstbyte_measure::launch::ExitStatus;
use firstbyte_measure::tracer::Backend;
use firstbyte_measure::tracer::watch::Ending;
use firstbyte_measure::units::Nanos;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// The largest number of command lines of one program.
const MAX_COMMAND_LINES: usize = 10;

/// What the document says besides what was observed of programs.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) command: Option<String>,
    pub(super) scope: String,
    pub(super) exit: Option<ExitStatus>,
    pub(super) wall: Nanos,
    pub(super) partial: bool,
    pub(super) lost: u64,
    pub(super) backend: Backend,
    pub(super) slow_calls: Option<String>,
    /// Why who waits for whom is not known.
    pub(super) waits_unknown: Option<&'static str>,
}

/// Every execution that was kept.
pub(super) fn timeline(tally: &Tally) -> WatchTimeline {
    let labels = labels(&tally.programs).into_iter().map(|(id, label)| (id, Rc::from(label)));
    let labels: HashMap<ProgramId, Rc<str>> = labels.collect();
    let runs = tally.runs.as_deref().unwrap_or_default();
    let entered = |run: &Run| run.ended.entered.unwrap_or(run.ended.at);
    let begun = runs.iter().map(entered).min().unwrap_or_default();
    let since = |instant: Nanos| instant.since(begun).unwrap_or_default().0;

    let of_run = |run: &Run| {
        let start = since(entered(run));
        WatchRun {
            program: Rc::clone(&labels[&tally.programs.listed(run.program)]),
            command: run.command.clone(),
            pid: run.ended.pid,
            start,
            returned: run.ended.returned.map(since),
            first_output: run.ended.first_output.map(since),
            end: since(run.ended.at).max(start),
            cpu_ns: run.ended.cpu.0,
            outcome: outcome(run.ended.how),
        }
    };
    WatchTimeline { runs: runs.iter().map(of_run).collect() }
}

fn outcome(how: Ending) -> String {
    match how {
        Ending::Exited(status) => status.to_string(),
        Ending::Replaced => "the process executed another program".to_owned(),
        Ending::Running => "still running".to_owned(),
    }
}

pub(super) fn document(tally: &Tally, frame: Frame, machine: Value) -> WatchDocument {
    let Frame { command, scope, exit, wall, partial, lost, backend, slow_calls, waits_unknown } = frame;
    let events_lost = (lost > 0).then_some("events were lost");
    let path = match waits_unknown.or(events_lost) {
        Some(unknown) => Err(unknown),
        None => tally.path.as_ref().map(|startups| listed(startups, &tally.programs)).map_err(|why| *why),
    };
    let labels = labels(&tally.programs);
    let mut results: Vec<WatchProgram> = (tally.programs.iter())
        .map(|(id, program)| row(id, program, labels[&id].clone(), on_path(path.as_ref(), id)))
        .collect();
    results.sort_by(|a, b| startup(b).cmp(&startup(a)).then_with(|| a.path.cmp(&b.path)));

    WatchDocument {
        schema: SCHEMA.to_owned(),
        kind: Kind::Watch,
        tool: Tool { backend: Some(backend.name().to_owned()), ..Tool::ours() },
        machine,
        partial,
        command,
        scope,
        exit,
        wall_ns: wall.0,
        totals: totals(tally, &results),
        critical_path_unknown: path.err().map(str::to_owned),
        tree: tree(tally, &results),
        results,
        findings: findings(tally),
        lost_events: lost,
        slow_calls,
    }
}

/// The exec times of rows that have moved are those of all others.
fn listed(startups: &Startups, programs: &Programs) -> Startups {
    let mut sums = Startups::new();
    for (id, path) in startups {
        let sum = sums.entry(programs.listed(*id)).or_default();
        *sum = [*sum, *path].into_iter().sum();
    }
    sums
}

fn on_path(path: Result<&Startups, &&'static str>, id: ProgramId) -> Option<WatchPath> {
    path.ok().map(|startups| startups.get(&id).copied().unwrap_or_default())
}

fn tree(tally: &Tally, results: &[WatchProgram]) -> Vec<WatchNode> {
    let indices: HashMap<ProgramId, usize> =
        results.iter().enumerate().map(|(index, program)| (program.row, index)).collect();
    let node = |node: &Node| {
        let Node { above, program, execs, startup_ns, cpu_ns } = *node;
        WatchNode { above, program: indices[&tally.programs.listed(program)], execs, startup_ns, cpu_ns }
    };
    tally.tree.nodes.iter().map(node).collect()
}

fn startup(program: &WatchProgram) -> u64 {
    program.startup_ns.as_ref().map_or(0, |times| times.sum)
}

/// The last part of each path, or the whole path where another program has the same last part.
fn labels(programs: &Programs) -> HashMap<ProgramId, String> {
    let mut names: HashMap<&str, usize> = HashMap::new();
    for (_, program) in programs.iter() {
        *names.entry(program.name()).or_default() += 1;
    }
    let label = |program: &Program| {
        let unique = names[program.name()] == 1;
        if unique { program.name().to_owned() } else { program.path.clone() }
    };
    programs.iter().map(|(id, program)| (id, label(program))).collect()
}

fn row(id: ProgramId, program: &Program, label: String, critical_path: Option<WatchPath>) -> WatchProgram {
    WatchProgram {
        row: id,
        program: label,
        path: program.path.clone(),
        execs: program.execs,
        unlisted_execs: program.missed,
        failed: program.failed,
        unsuccessful: program.unsuccessful,
        replaced: program.replaced,
        running: program.running,
        forks: program.forks,
        startup_ns: WatchTimes::of(&program.startup),
        critical_path,
        first_output_ns: WatchTimes::of(&program.first_output),
        lifetime_ns: WatchTimes::of(&program.lifetime),
        cpu_ns: program.cpu_ns,
        marks: marks(program),
        command_lines: command_lines(program),
    }
}

fn marks(program: &Program) -> BTreeMap<String, WatchTimes> {
    let times = program.parts.iter().filter_map(|(name, times)| Some((name.clone(), WatchTimes::of(times)?)));
    times.collect()
}

fn command_lines(program: &Program) -> Vec<WatchCommandLine> {
    let line = |(command, line): (&Rc<str>, &CommandLine)| WatchCommandLine {
        command: command.to_string(),
        execs: line.execs,
        lifetime_ns: line.lifetime_ns,
    };
    let mut lines: Vec<WatchCommandLine> = program.commands.iter().map(line).collect();
    lines.sort_by(|a, b| {
        (b.lifetime_ns, b.execs).cmp(&(a.lifetime_ns, a.execs)).then_with(|| a.command.cmp(&b.command))
    });
    lines.truncate(MAX_COMMAND_LINES);
    lines
}

fn path_of_all(results: &[WatchProgram]) -> Option<WatchPath> {
    let paths = results.iter().map(|program| program.critical_path);
    paths.sum::<Option<WatchPath>>().filter(|_| !results.is_empty())
}

fn totals(tally: &Tally, results: &[WatchProgram]) -> WatchTotals {
    WatchTotals {
        programs: results.iter().filter(|program| program.execs > 0).count() as u64,
        execs: results.iter().map(|program| program.execs).sum(),
        failed: tally.failed,
        processes: tally.processes,
        forks: tally.forks,
        running: tally.unended,
        startup_ns: results.iter().map(startup).fold(0, u64::saturating_add),
        critical_path: path_of_all(results),
        cpu_ns: tally.cpu_ns,
        unlisted_execs: tally.programs.others().map_or(0, |others| others.execs),
        unlisted_command_lines: tally.programs.iter().map(|(_, program)| program.unlisted_commands).sum(),
        unlisted_runs: tally.unlisted_runs,
    }
}
