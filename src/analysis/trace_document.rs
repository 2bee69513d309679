//! Accounts as documents.

use super::attribution::{kind, shares_of};
use super::notes::{FindingText, TraceNotes};
use super::profile::{Divided, Frame, Function, Import, Imported, Node, SourceLine};
use super::source_lines::source_lines;
use super::summary::Spread;
use super::trace_analysis::TraceAnalysis;
use super::{Account, PathPiece, ProcessAccount, Step, Summary, What, processor_time};
use crate::bench::run_conditions::ended_by;
use crate::document::Kind;
use crate::document::bench::{ColdRuns, Overhead, Ratio, SCHEMA, Tool, Warning};
use crate::document::conditions::EndedBy;
use crate::document::trace::{
    TraceCall, TraceDocument, TraceExec, TraceFigure, TraceFile, TraceFinding, TraceFunction, TraceImport,
    TraceImported, TraceLine, TraceLoad, TracePhases, TracePiece, TraceProcess, TraceProgram, TraceSampling,
    TraceSearch, TraceShare, TraceSource, TraceSpan, TraceWatched,
};
use crate::stats::Statistics;
use firstbyte_measure::Counts;
use firstbyte_measure::launch::Usage;
use firstbyte_measure::timeline::PerPhase;
use serde_json::Value;
use std::collections::BTreeMap;

/// What the document says besides the runs themselves.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// The command, as a shell would take it.
    pub command: String,
    /// Which backend observed, and why.
    pub backend: [String; 2],
    /// Facts of the machine.
    pub machine: Value,
    /// The user interrupted it, so it contains fewer runs than planned.
    pub partial: bool,
    /// Wall times of traced and of untraced runs, nanoseconds.
    pub walls: [Vec<f64>; 2],
    /// The first over the second, of interleaved runs.
    pub overhead: Option<Ratio>,
    /// The exit code of each run; `None`: a signal ended it.
    pub exit_codes: Vec<Option<i32>>,
    /// What the kernel charged each run with.
    pub usages: Vec<Usage>,
    /// The total without the time that the observation adds, nanoseconds.
    pub corrected_total: Option<f64>,
    /// The last lines of a failing run's stderr.
    pub stderr: Vec<String>,
    /// How often the command was executed; `None`: it was not executed now.
    pub executions: Option<u64>,
    /// The runs are starts that others made.
    pub watched: Option<TraceWatched>,
    pub until: Option<EndedBy>,
    pub cold: Option<ColdRuns>,
    pub findings: Vec<TraceFinding>,
    pub warnings: Vec<Warning>,
}

impl Invocation {
    pub fn of(analysis: &TraceAnalysis, notes: &TraceNotes, machine: Value) -> Invocation {
        let TraceAnalysis { observed, tracer, .. } = analysis;
        Invocation {
            command: notes.command.clone(),
            backend: [tracer.backend.name().to_owned(), tracer.reason.clone()],
            machine,
            partial: observed.interrupted,
            walls: [observed.traced.clone(), observed.untraced.clone()],
            overhead: analysis.overhead().map(Ratio::from),
            exit_codes: observed.recordings.iter().map(|run| run.exit.code()).collect(),
            usages: observed.recordings.iter().map(|run| run.usage).collect(),
            corrected_total: notes.corrected_total,
            stderr: analysis.stderr.clone(),
            executions: Some(analysis.executions()).filter(|executions| *executions > 0),
            watched: None,
            until: observed.until.as_ref().map(ended_by),
            cold: observed.cold.clone(),
            findings: notes.findings.iter().map(finding).collect(),
            warnings: notes.warnings.clone(),
        }
    }
}

fn finding(FindingText { finding, text, tune, .. }: &FindingText) -> TraceFinding {
    TraceFinding {
        costs_ns: finding.cost.0,
        saves_ns: finding.saves.map(|saves| saves.0),
        interval_ns: finding.interval.map(|interval| interval.map(|end| end.0)),
        within: finding.within,
        rule: finding.rule.to_owned(),
        text: text.clone(),
        tune: tune.clone(),
    }
}

/// The document of one command's runs.
pub fn trace_document(summary: &Summary, invocation: &Invocation) -> TraceDocument {
    let [backend, reason] = invocation.backend.clone();
    let overhead = invocation.overhead.map(|ratio| Overhead { name: invocation.command.clone(), ratio });
    TraceDocument {
        schema: SCHEMA.to_owned(),
        kind: Kind::Trace,
        tool: Tool {
            backend: Some(backend),
            backend_reason: Some(reason),
            observer_overhead: overhead.into_iter().collect(),
            ..Tool::ours()
        },
        machine: invocation.machine.clone(),
        partial: invocation.partial,
        warnings: invocation.warnings.clone(),
        results: vec![traced(summary, invocation)],
    }
}

fn traced(summary: &Summary, invocation: &Invocation) -> TraceProgram {
    let account = &summary.median_run;
    let [times, untraced_times] = invocation.walls.each_ref().map(|walls| seconds(walls));
    let wall = Spread::of(&times);
    let statistics = Statistics::of(&times);
    let [cpu, user, system] = processor_time::of_runs(summary, &invocation.usages);

    TraceProgram {
        command: invocation.command.clone(),
        name: invocation.watched.as_ref().map(|watched| watched.program.clone()),
        mean: statistics.map(|all| all.mean),
        stddev: statistics.and_then(|all| all.stddev),
        median: wall.median,
        cpu,
        user,
        system,
        min: wall.least,
        max: wall.most,
        times,
        exit_codes: invocation.exit_codes.clone(),
        stderr: invocation.stderr.clone(),
        executions: invocation.executions,
        watched: invocation.watched.clone(),
        until: invocation.until.clone(),
        cold: invocation.cold.clone(),
        marks: summary.marks.clone(),
        within: summary.within.clone(),
        runs: summary.runs,
        phases: phases(summary),
        run_phases: PerPhase::from_fn(|phase| account.phases.get(phase).map(|ns| ns.0)),
        total_ns: account.total.0,
        corrected_total_ns: invocation.corrected_total,
        recorded_total_ns: summary.recorded,
        untraced_times,
        counts: counts(&account.counts),
        lost_events: summary.lost,
        attribution: attribution(account),
        critical_path: critical_path(account),
        user_functions: user_functions(summary),
        user_calls: calls(summary, |divided| &divided.nodes),
        all_calls: calls(summary, |divided| &divided.all_nodes),
        source_lines: source_lines(summary),
        imports: imports(summary),
        sampling: sampling(summary),
        spans: spans(account),
        files: files(account),
        searches: searches(account),
        loads: summary.loads.iter().map(load).collect(),
        processes: account.processes.iter().map(process).collect(),
        findings: invocation.findings.clone(),
    }
}

fn seconds(nanos: &[f64]) -> Vec<f64> {
    nanos.iter().map(|ns| ns / 1e9).collect()
}

pub(super) fn phases(summary: &Summary) -> TracePhases {
    TracePhases {
        each: PerPhase::from_fn(|phase| summary.phases[phase].map(figure)),
        first_byte: summary.first_byte.map(figure),
        total: Some(figure(summary.total)),
    }
}

fn figure(spread: Spread) -> TraceFigure {
    TraceFigure { median: spread.median, mean: Some(spread.middle), min: spread.least, max: spread.most }
}

/// By name. What the backend did not see is `None`, not 0.
pub(super) fn counts(counts: &Counts) -> BTreeMap<String, Option<u64>> {
    let seen = |count: u64, witness: u64| (witness > 0).then_some(count);
    let all = [
        ("processes", Some(counts.processes)),
        ("threads", Some(counts.threads)),
        ("execs", Some(counts.execs)),
        ("syscalls", Some(counts.syscalls)),
        // no program starts without a page fault
        ("page_faults", seen(counts.page_faults, counts.page_faults)),
        ("major_faults", seen(counts.major_faults, counts.page_faults)),
        ("files_opened", Some(counts.files_opened)),
        ("failed_opens", Some(counts.failed_opens)),
        ("bytes_read", Some(counts.bytes_read)),
        ("writes", Some(counts.writes)),
        ("max_rss", seen(counts.max_rss, counts.max_rss)),
    ];
    all.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

fn attribution(account: &Account) -> Vec<TraceShare> {
    let share = |share: super::attribution::Share| TraceShare {
        kind: share.kind.key().to_owned(),
        name: share.name,
        ns: share.time.0,
        count: share.count,
    };
    shares_of(account).into_iter().map(share).collect()
}

fn critical_path(account: &Account) -> Vec<TracePiece> {
    let executions = account.executions();
    let piece = |piece: &PathPiece| TracePiece {
        pid: piece.pid,
        tid: piece.tid,
        program: executions.program(piece.pid, piece.from),
        from_ns: piece.from.0,
        to_ns: piece.to.0,
    };
    account.path.iter().map(piece).collect()
}

fn user_functions(summary: &Summary) -> Vec<TraceFunction> {
    let function = |function: &Function| TraceFunction {
        module: function.frame.module.to_string(),
        function: function.frame.function.as_deref().map(str::to_owned),
        self_ns: function.self_time.time,
        self_error_ns: function.self_time.error(),
        total_ns: function.total.time,
        total_error_ns: function.total.error(),
        samples: function.samples,
        source: source(&function.frame),
        lines: function.lines.iter().map(|line| TraceLine { line: line.line, ns: line.time }).collect(),
    };
    summary.user_code.iter().flat_map(|code| &code.divided.functions).map(function).collect()
}

fn calls(summary: &Summary, tree: impl Fn(&Divided) -> &Vec<Node>) -> Vec<TraceCall> {
    let call = |node: &Node| TraceCall {
        caller: node.caller,
        module: node.frame.file().to_owned(),
        function: node.frame.function.as_deref().map(str::to_owned),
        ns: node.time,
        source: source(&node.frame),
    };
    summary.user_code.iter().flat_map(|code| tree(&code.divided)).map(call).collect()
}

fn imports(summary: &Summary) -> Vec<TraceImport> {
    let module =
        |it: &Imported| TraceImported { file: it.file.to_string(), total_ns: it.time, self_ns: it.self_time };
    let import = |it: &Import| TraceImport {
        file: it.file.to_string(),
        line: it.line,
        total_ns: it.time,
        self_ns: it.self_time,
        modules: it.modules.iter().map(module).collect(),
    };
    summary.user_code.iter().flat_map(|code| &code.divided.imports).map(import).collect()
}

fn source(frame: &Frame) -> TraceSource {
    let Some(SourceLine { language, file, line }) = &frame.source else { return TraceSource::default() };
    let (language, file) = ((*language).to_owned(), file.to_string());
    TraceSource { language: Some(language), file: Some(file), line: (*line > 0).then_some(*line) }
}

fn sampling(summary: &Summary) -> Option<TraceSampling> {
    summary.user_code.as_ref().map(|code| TraceSampling {
        runs: code.runs,
        samples: code.samples,
        lost: code.lost,
        period_ns: code.period.0,
        user_ns: code.divided.total,
        unsampled_ns: code.divided.unsampled,
        overhead: code.overhead.map(Ratio::from),
    })
}

fn spans(account: &Account) -> Vec<TraceSpan> {
    let threads = account.threads.iter();
    threads.flat_map(|thread| thread.steps.iter().map(|step| span(thread.pid, thread.tid, step))).collect()
}

fn span(pid: u32, tid: u32, step: &Step) -> TraceSpan {
    TraceSpan {
        pid,
        tid,
        kind: kind(&step.what).key().to_owned(),
        name: name(&step.what),
        start_ns: step.start.0,
        duration_ns: step.self_time.0,
        elapsed_ns: Some(step.elapsed.0),
        file: file(&step.what).map(str::to_owned),
        detail: Some(step.what.title()),
    }
}

/// A step's short name.
pub(crate) fn name(what: &What) -> String {
    match what {
        What::Exec { stage, .. } => format!("exec: {stage}"),
        What::Call { name, .. } => name.to_string(),
        What::Fault(fault) if fault.major => "major page fault".to_owned(),
        What::Fault(_) => "page fault".to_owned(),
        What::Death { .. } => what.title(),
        What::Off(reason) => reason.name().to_owned(),
        What::User => "user code".to_owned(),
    }
}

fn file(what: &What) -> Option<&str> {
    match what {
        What::Exec { path, .. } => Some(path),
        What::Call { file, .. } => file.as_deref(),
        What::Fault(fault) => fault.region.file().map(|path| &**path),
        What::Death { .. } | What::User | What::Off(_) => None,
    }
}

fn files(account: &Account) -> Vec<TraceFile> {
    let file = |file: &super::FileAccount| TraceFile {
        path: file.path.to_string(),
        ns: file.time.0,
        opened: file.opened,
        failed: file.failed,
        calls: file.calls,
        bytes_read: file.bytes_read,
        faults: file.faults,
        major_faults: file.major_faults,
    };
    account.files.iter().map(file).collect()
}

fn searches(account: &Account) -> Vec<TraceSearch> {
    let search = |search: &super::FileSearch| TraceSearch {
        names: search.names.clone(),
        by: search.by.clone(),
        misses: search.misses,
        folders: search.folders.clone(),
        found: search.found.clone(),
        ns: search.time.0,
    };
    account.searches.iter().map(search).collect()
}

fn load(load: &super::loads::Load) -> TraceLoad {
    TraceLoad {
        runtime: load.runtime.to_owned(),
        unit: load.unit.clone(),
        file: load.file.as_deref().map(str::to_owned),
        self_ns: load.self_time.0,
        total_ns: load.total.0,
        depth: load.depth,
    }
}

fn process(process: &ProcessAccount) -> TraceProcess {
    let exec = |exec: &super::Execution| TraceExec {
        path: exec.path.to_string(),
        executed: exec.executed.to_string(),
        argv: exec.argv.clone(),
        start_ns: exec.start.0,
        duration_ns: exec.took.0,
    };
    TraceProcess {
        pid: process.pid,
        parent: process.parent,
        start_ns: process.start.0,
        end_ns: process.end.map(|end| end.0),
        status: process.status,
        threads: process.threads,
        execs: process.execs.iter().map(exec).collect(),
    }
}
