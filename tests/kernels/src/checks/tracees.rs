//! The table of tracees, run with the library: every event of every case, with each backend and for both word sizes.

use super::{Check, TRACEES, check, right, runs_32_bit, skipped, tracee};
use crate::report::Checked;
use crate::table::{CASES, Case, HELLO, PIPE_CASES, faults_of, last_output, options};
use crate::tool::RUNS;
use firstbyte_measure::launch::{Command, ExitStatus, Launcher, OutputKind};
use firstbyte_measure::timeline::Timeline;
use firstbyte_measure::timeline::marks::{Marks, REST};
use firstbyte_measure::tracer::bpf::{BpfFull, BpfPhases, DEFAULT_RING, LARGE_RING};
use firstbyte_measure::tracer::ptrace::PtracePhases;
use firstbyte_measure::tracer::{EventKind, Recording, RunOptions, Tracer};
use std::ffi::OsString;

pub(super) fn list() -> Vec<Check> {
    let table = |word: &str| format!("every event of the tracees{word}");
    vec![
        check("bpf", "the programs of the phases load", programs_of_phases),
        check("bpf", "the programs of trace load", programs_of_trace),
        check("bpf", table(""), || bpf().and_then(|mut bpf| of_table(&mut bpf, &native))),
        check("bpf", table(", 32-bit"), || bpf().and_then(|mut bpf| of_32_bit(&mut bpf))),
        check("ptrace", table(""), || of_table(&mut PtracePhases::new(), &native)),
        check("ptrace", table(", 32-bit"), || of_32_bit(&mut PtracePhases::new())),
        check("bpf", "marks in the phases", || bpf().and_then(|mut bpf| marks(&mut bpf))),
        check("bpf", "marks in a trace", || full().and_then(|mut full| marks(&mut full))),
        check("ptrace", "marks in the phases", || marks(&mut PtracePhases::new())),
        check("bpf", "writes by io_uring", || bpf().and_then(|mut bpf| uring(&mut bpf))),
    ]
}

fn bpf() -> Result<BpfPhases, String> {
    let loaded = BpfPhases::load(DEFAULT_RING);
    loaded.and_then(|mut bpf| bpf.attach().map(|()| bpf)).map_err(|error| error.to_string())
}

fn full() -> Result<BpfFull, String> {
    let loaded = BpfFull::load(LARGE_RING);
    loaded.and_then(|mut full| full.attach().map(|()| full)).map_err(|error| error.to_string())
}

fn programs_of_phases() -> Checked {
    let bpf = bpf().map_err(|error| with_log(&error))?;
    right(loaded(&bpf.attached(), &bpf.remarks()))
}

fn programs_of_trace() -> Checked {
    let tracer = full().map_err(|error| with_log(&error))?;
    if !tracer.sees_faults() {
        return Err(format!("page faults are not seen: {}", loaded(&tracer.attached(), &tracer.remarks())));
    }
    right(loaded(&tracer.attached(), &tracer.remarks()))
}

fn loaded(attached: &[&str], remarks: &[&str]) -> String {
    format!("{} ({})", attached.join(", "), remarks.join(", "))
}

/// The end of the verifier's log.
fn with_log(error: &str) -> String {
    let log = std::fs::read_to_string("/root/.cache/firstbyte/verifier.log").unwrap_or_default();
    let lines: Vec<&str> = log.lines().filter(|line| !line.starts_with("processed")).collect();
    format!("{error}: … {}", lines[lines.len().saturating_sub(8)..].join("; "))
}

fn native(case: &Case) -> String {
    format!("{TRACEES}/{}", case.source.replace('.', "_"))
}

fn of_32_bit(tracer: &mut dyn Tracer) -> Checked {
    if let Err(why) = runs_32_bit() {
        return skipped(why);
    }
    of_table(tracer, &|case| {
        if case.source == "writer.c" { format!("{TRACEES}/writer_32") } else { String::new() }
    })
}

/// Runs the cases whose executables exist.
fn of_table(tracer: &mut dyn Tracer, path: &dyn Fn(&Case) -> String) -> Checked {
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for case in CASES.iter().chain(PIPE_CASES) {
        let path = path(case);
        if !std::path::Path::new(&path).exists() || case.source == "int80.S" && runs_32_bit().is_err() {
            continue;
        }
        checked += 1;
        let faults = faults_of_run(tracer, case, &path).unwrap_or_else(|error| vec![error]);
        wrong
            .extend(faults.into_iter().map(|fault| format!("{} {:?}: {fault}", case.source, case.arguments)));
    }
    if wrong.is_empty() { right(format!("{checked} tracees")) } else { Err(wrong.join("; ")) }
}

fn faults_of_run(tracer: &mut dyn Tracer, case: &Case, path: &str) -> Result<Vec<String>, String> {
    let mut recording = run(tracer, case, path)?;
    for _ in 1..RUNS {
        if recording.lost > 0 {
            recording = run(tracer, case, path)?;
        }
    }
    Ok(faults_of(case, OutputKind::Pipe, &recording))
}

fn run(tracer: &mut dyn Tracer, case: &Case, path: &str) -> Result<Recording, String> {
    let recording = tracer.run(&mut launcher(path, case.arguments)?, &options(OutputKind::Pipe));
    recording.map_err(|error| error.to_string())
}

fn launcher(path: &str, arguments: &[&str]) -> Result<Launcher, String> {
    let words: Vec<OsString> = [path].iter().chain(arguments).map(OsString::from).collect();
    let command = Command::new(&words).map_err(|error| error.to_string())?;
    Launcher::new(command).map_err(|error| error.to_string())
}

/// The parts of a program that marks them in threads and children, in their order, which sum to the total.
fn marks(tracer: &mut dyn Tracer) -> Checked {
    const NAMES: [&str; 5] = ["config", "from a thread", "from a child", "after the output", REST];
    let Some(path) = tracee("marks_c") else { return skipped("the tracee was not built") };
    let options = RunOptions { marks: true, ..options(OutputKind::Pipe) };
    let run = |tracer: &mut dyn Tracer| {
        tracer.run(&mut launcher(&path, &["plain"])?, &options).map_err(|error| error.to_string())
    };

    let mut recording = run(tracer)?;
    for _ in 1..RUNS {
        if recording.lost > 0 {
            recording = run(tracer)?;
        }
    }
    let marks = Marks::of(&recording).map_err(|error| error.to_string())?;
    let names: Vec<&str> = marks.chain.iter().map(|span| &*span.name).collect();
    let sum: u64 = marks.chain.iter().map(|span| span.to.0 - span.from.0).sum();
    let total = Timeline::of(&recording).map_err(|error| error.to_string())?.total;
    let spans: Vec<&str> = marks.spans.iter().map(|span| &*span.name).collect();
    if names == NAMES && sum == total.0 && spans == ["thread"] {
        return right(format!("{} parts", names.len() + spans.len()));
    }
    Err(format!("{names:?} and {spans:?}, {sum} of {} ns", total.0))
}

fn uring(bpf: &mut BpfPhases) -> Checked {
    let Some(path) = tracee("uring_c") else { return skipped("the tracee was not built") };
    let recording =
        bpf.run(&mut launcher(&path, &[])?, &options(OutputKind::Pipe)).map_err(|e| e.to_string())?;
    if recording.exit == ExitStatus::Code(77) {
        return skipped("the kernel refuses io_uring");
    }
    if recording.output.head != HELLO {
        return Err(format!("it printed {:?}", recording.output.head));
    }
    if !bpf.attached().contains(&"io_uring_complete") {
        return skipped("the kernel's tracepoints do not identify the request (before 5.19)");
    }
    let exits =
        recording.events.iter().filter(|event| matches!(event.kind, EventKind::OutputExit { .. })).count();
    match (last_output(&recording), exits) {
        ((1, 12), 1) => right(""),
        other => Err(format!("writes, bytes and first bytes: {other:?}")),
    }
}
