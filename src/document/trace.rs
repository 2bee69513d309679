//! A start-up as JSON: the result document with every span.

use crate::account::attribution::{kind, shares};
use crate::account::summary::Spread;
use crate::account::{Account, Step, Summary, What};
use crate::document::bench::{Overhead, Ratio, SCHEMA};
use crate::stats;
use firstbyte_measure::Counts;
use firstbyte_measure::launch::wait::Usage;
use firstbyte_measure::timeline::Phase;
use firstbyte_measure::units::Nanos;
use serde_json::{Value, json};

/// What the document says besides the runs themselves.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// The command, as a shell would take it.
    pub command: String,
    /// Which backend observed, and why.
    pub backend: [String; 2],
    /// Facts of the machine.
    pub machine: Value,
    /// It was interrupted: fewer runs than planned are in here.
    pub partial: bool,
    /// Walls of traced and of untraced runs, nanoseconds.
    pub walls: [Vec<f64>; 2],
    /// The first over the second, in turn.
    pub overhead: Option<Ratio>,
    /// The exit code of each run; `None`: a signal.
    pub exit_codes: Vec<Option<i32>>,
    /// What the kernel charged each run with.
    pub usages: Vec<Usage>,
    /// The total without the observer's part, nanoseconds.
    pub corrected_total: Option<f64>,
    /// Findings: cost in nanoseconds and text.
    pub findings: Vec<(u64, String)>,
}

/// The document, indented.
pub fn render(summary: &Summary, frame: &Frame) -> String {
    serde_json::to_string_pretty(&document(summary, frame)).unwrap_or_default() + "\n"
}

/// The document.
pub fn document(summary: &Summary, frame: &Frame) -> Value {
    json!({
        "schema": SCHEMA,
        "tool": {
            "name": "firstbyte",
            "version": env!("CARGO_PKG_VERSION"),
            "backend": frame.backend[0],
            "backend_reason": frame.backend[1],
            "observer_overhead": overhead(frame),
        },
        "partial": frame.partial,
        "machine": frame.machine,
        "results": [result(summary, frame)],
    })
}

fn overhead(frame: &Frame) -> Vec<Overhead> {
    frame.overhead.iter().map(|&ratio| Overhead { name: frame.command.clone(), ratio }).collect()
}

/// hyperfine's fields first, in seconds; then ours, in nanoseconds. What is exact (`attribution`, `spans`, `files`,
/// `processes`) is that of the run whose total is the median.
fn result(summary: &Summary, frame: &Frame) -> Value {
    let account = &summary.reference;
    let seconds: Vec<f64> = frame.walls[0].iter().map(|ns| ns / 1e9).collect();
    let wall = Spread::of(&seconds);
    let statistics = stats::Summary::of(&seconds);
    let charged = |of: fn(&Usage) -> Nanos| -> Vec<f64> {
        frame.usages.iter().map(|usage| of(usage).as_f64() / 1e9).collect()
    };
    json!({
        "command": frame.command,
        "mean": mean(&seconds),
        "stddev": statistics.and_then(|s| s.stddev),
        "median": wall.median,
        "user": mean(&charged(|usage| usage.user)),
        "system": mean(&charged(|usage| usage.system)),
        "min": wall.least,
        "max": wall.most,
        "times": seconds,
        "exit_codes": frame.exit_codes,
        "runs": summary.runs,
        "phases": phases(summary),
        "run_phases": {
            "startup": account.phases.startup.0,
            "setup": account.phases.setup.map(|n| n.0),
            "write": account.phases.write.map(|n| n.0),
            "teardown": account.phases.teardown.0,
        },
        "total_ns": account.total.0,
        "corrected_total_ns": frame.corrected_total,
        "untraced_times": frame.walls[1].iter().map(|ns| ns / 1e9).collect::<Vec<f64>>(),
        "counts": counts(&account.counts),
        "lost_events": summary.lost,
        "attribution": attribution(account),
        "spans": spans(account),
        "files": files(account),
        "searches": searches(account),
        "processes": processes(account),
        "findings": frame.findings.iter().map(|(ns, text)| json!({"ns": ns, "text": text})).collect::<Vec<_>>(),
    })
}

/// Null where there is nothing to take it of.
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The phases over all runs; null for what the program has not.
pub(super) fn phases(summary: &Summary) -> Value {
    json!({
        "startup": figure(summary.phases[Phase::Startup]),
        "setup": figure(summary.phases[Phase::Setup]),
        "write": figure(summary.phases[Phase::Write]),
        "teardown": figure(summary.phases[Phase::Teardown]),
        "first_byte": figure(summary.first_byte),
        "total": figure(Some(summary.total)),
    })
}

fn figure(spread: Option<Spread>) -> Value {
    spread.map_or(Value::Null, |s| json!({"median": s.median, "min": s.least, "max": s.most}))
}

/// What was not seen is null, not 0.
pub(super) fn counts(counted: &Counts) -> Value {
    let mut counts = json!(counted);
    if counted.max_rss == 0 {
        counts["max_rss"] = Value::Null;
    }
    if counted.page_faults == 0 {
        counts["page_faults"] = Value::Null;
        counts["major_faults"] = Value::Null;
    }
    counts
}

fn attribution(account: &Account) -> Vec<Value> {
    let shares = shares(&account.main().steps);
    shares
        .iter()
        .map(|s| json!({"kind": s.kind.key(), "name": s.name, "ns": s.time.0, "count": s.count}))
        .collect()
}

fn spans(account: &Account) -> Vec<Value> {
    let threads = account.threads.iter();
    threads.flat_map(|t| t.steps.iter().map(|step| span(t.pid, t.tid, step))).collect()
}

/// `duration_ns` is the step's own time; `elapsed_ns` counts what lies within, too.
fn span(pid: u32, tid: u32, step: &Step) -> Value {
    let mut span = json!({
        "pid": pid,
        "tid": tid,
        "kind": kind(&step.what).key(),
        "name": name(&step.what),
        "start_ns": step.start.0,
        "duration_ns": step.own.0,
        "elapsed_ns": step.elapsed.0,
        "detail": step.what.title(),
    });
    if let Some(file) = file(&step.what) {
        span["file"] = json!(file);
    }
    span
}

/// A step's short name.
pub(crate) fn name(what: &What) -> String {
    match what {
        What::Exec { stage, .. } => format!("exec: {stage}"),
        What::Call { name, .. } => name.to_string(),
        What::Fault(fault) if fault.major => "major page fault".to_owned(),
        What::Fault(_) => "page fault".to_owned(),
        What::Off(reason) => reason.name().to_owned(),
        What::User(code) => code.module.name(),
    }
}

fn file(what: &What) -> Option<&str> {
    match what {
        What::Exec { path, .. } => Some(path),
        What::Call { file, .. } => file.as_deref(),
        What::Fault(fault) => fault.region.file().map(|path| &**path),
        What::User(code) if !code.module.path.is_empty() => Some(&code.module.path),
        What::User(_) | What::Off(_) => None,
    }
}

fn files(account: &Account) -> Vec<Value> {
    let files = account.files.iter();
    files
        .map(|f| {
            json!({
                "path": &*f.path, "ns": f.time.0, "opened": f.opened, "failed": f.failed, "calls": f.calls,
                "bytes_read": f.bytes_read, "faults": f.faults, "major_faults": f.major_faults,
            })
        })
        .collect()
}

fn searches(account: &Account) -> Vec<Value> {
    let searches = account.searches.iter();
    searches
        .map(|s| {
            json!({
                "names": s.names, "by": s.by, "misses": s.misses, "folders": s.folders, "found": s.found,
                "ns": s.time.0,
            })
        })
        .collect()
}

fn processes(account: &Account) -> Vec<Value> {
    let processes = account.processes.iter();
    processes
        .map(|p| {
            let execs = p.execs.iter().map(|e| {
                json!({
                    "path": &*e.path, "executed": &*e.executed, "argv": e.argv,
                    "start_ns": e.start.0, "duration_ns": e.took.0,
                })
            });
            json!({
                "pid": p.pid, "parent": p.parent, "start_ns": p.start.0, "end_ns": p.end.map(|n| n.0),
                "status": p.status, "threads": p.threads, "execs": execs.collect::<Vec<_>>(),
            })
        })
        .collect()
}
