//! The expected behaviour of the tracees: one table for all backends, on this machine and on others.

use firstbyte_measure::launch::wait::Killed;
use firstbyte_measure::launch::{ExitStatus, OutputKind};
use firstbyte_measure::tracer::{Event, EventKind, Recording, RunOptions};
use std::time::Duration;

/// The output of most of them.
pub(crate) const HELLO: &[u8] = b"hello world\n";

/// Long enough for any machine, so that no test hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// One tracee and its expected behaviour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// The source in `tests/tracees/`.
    pub(crate) source: &'static str,
    pub(crate) arguments: &'static [&'static str],
    /// Bytes of output.
    pub(crate) bytes: u64,
    /// Number of writes of output; `None` if the kernel decides it.
    pub(crate) writes: Option<u64>,
    /// The thread or process that makes the first one.
    pub(crate) writer: Writer,
    pub(crate) exit: ExitStatus,
    pub(crate) processes: usize,
    pub(crate) threads: usize,
    /// Successful and failed execs.
    pub(crate) execs: (usize, usize),
    pub(crate) left_behind: bool,
}

/// The thread or process that makes the first write of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    MainThread,
    OtherThread,
    Child,
    Nobody,
}

use Writer::{Child, MainThread, Nobody, OtherThread};

/// The C program that writes in the way that its argument names. This case is the plainest one.
const PLAIN: Case = Case {
    source: "writer.c",
    arguments: &["write"],
    bytes: HELLO.len() as u64,
    writes: Some(1),
    writer: MainThread,
    exit: ExitStatus::SUCCESS,
    processes: 1,
    threads: 1,
    execs: (1, 0),
    left_behind: false,
};

const SILENT: Case = Case { bytes: 0, writes: Some(0), writer: Nobody, ..PLAIN };
const BY_CHILD: Case = Case { writer: Child, processes: 2, threads: 2, ..PLAIN };

/// Every way to write output that a tracer must see, and every way to end.
pub(crate) const CASES: &[Case] = &[
    PLAIN,
    Case { arguments: &["thread"], writer: OtherThread, threads: 2, ..PLAIN },
    Case { arguments: &["fork"], ..BY_CHILD },
    Case { arguments: &["vfork"], execs: (2, 0), ..BY_CHILD },
    Case { arguments: &["spawn"], execs: (2, 0), ..BY_CHILD },
    Case { arguments: &["dup7"], ..PLAIN },
    Case { arguments: &["moved"], ..PLAIN },
    Case { arguments: &["writev"], ..PLAIN },
    Case { arguments: &["sendfile"], ..PLAIN },
    Case { arguments: &["bytes"], writes: Some(12), ..PLAIN },
    Case { arguments: &["exec"], execs: (2, 0), ..PLAIN },
    Case { arguments: &["exec-thread"], threads: 2, execs: (2, 0), ..PLAIN },
    Case { arguments: &["exec-fails"], execs: (1, 1), ..PLAIN },
    Case { arguments: &["elsewhere"], ..PLAIN },
    Case { arguments: &["handler"], ..PLAIN },
    Case { arguments: &["silent"], ..SILENT },
    Case { arguments: &["closed"], ..SILENT },
    Case { arguments: &["status", "3"], exit: ExitStatus::Code(3), ..PLAIN },
    Case { arguments: &["crash"], exit: ExitStatus::Signal(libc::SIGSEGV), ..PLAIN },
    Case { arguments: &["continued"], ..BY_CHILD },
    Case { arguments: &["often-continued", "15"], writer: MainThread, ..BY_CHILD },
    Case { arguments: &["daemon"], processes: 2, threads: 2, left_behind: true, ..PLAIN },
    Case { arguments: &["threads", "200"], threads: 201, ..PLAIN },
    Case { source: "three_calls.S", arguments: &[], ..PLAIN },
    Case { source: "mixed_calls.S", arguments: &[], ..PLAIN },
    Case { source: "int80.S", arguments: &[], ..PLAIN },
];

/// Ways to write that do not work with every kind of stdout.
pub(crate) const PIPE_CASES: &[Case] = &[
    Case { arguments: &["splice"], ..PLAIN },
    Case { arguments: &["reopened"], ..PLAIN },
    Case { arguments: &["failing-first"], ..PLAIN },
    Case { arguments: &["bulk", "64"], bytes: 64 << 20, writes: None, ..PLAIN },
];

/// The settings of the table's runs.
pub(crate) fn options(output: OutputKind) -> RunOptions {
    RunOptions { output, expected: None, timeout: Some(LIMIT), ..RunOptions::default() }
}

/// The differences of a recording from its case.
pub(crate) fn faults_of(case: &Case, output: OutputKind, recording: &Recording) -> Vec<String> {
    let mut faults = disorder_of(recording);
    let mut expect = |what: &str, found: String, wanted: String| {
        if found != wanted {
            faults.push(format!("{what}: {found}, not {wanted}"));
        }
    };
    let text = |value: &dyn std::fmt::Debug| format!("{value:?}");
    expect("exit", text(&recording.exit), text(&case.exit));
    expect("lost", text(&recording.lost), text(&0));
    expect("killed", text(&recording.killed), text(&None::<Killed>));
    expect("left behind", text(&recording.left_behind), text(&case.left_behind));
    let created = created(recording);
    expect("processes", text(&created.0), text(&case.processes));
    expect("threads", text(&created.1), text(&case.threads));
    expect("execs", text(&execs(recording)), text(&case.execs));
    expect("first writer", text(&first_writer(recording)), text(&case.writer));
    let (writes, bytes) = last_output(recording);
    expect("bytes that the tracer saw", text(&bytes), text(&case.bytes));
    expect("writes", text(&writes), text(&case.writes.unwrap_or(writes)));
    let seen = (output != OutputKind::Null).then_some(case.bytes);
    expect("bytes that arrived", text(&recording.output.bytes), text(&seen));
    faults
}

fn kinds(recording: &Recording) -> impl Iterator<Item = &EventKind> {
    recording.events.iter().map(|event| &event.kind)
}

fn created(recording: &Recording) -> (usize, usize) {
    let children = |is: fn(&Event, u32) -> bool| {
        let created =
            |event: &&Event| matches!(event.kind, EventKind::Fork { child_pid, .. } if is(event, child_pid));
        recording.events.iter().filter(created).count() + 1
    };
    (children(|event, child| child != event.pid), children(|_, _| true))
}

fn execs(recording: &Recording) -> (usize, usize) {
    let count = |wanted: fn(i64) -> bool| {
        kinds(recording).filter(|k| matches!(k, EventKind::ExecExit { result } if wanted(*result))).count()
    };
    (count(|result| result == 0), count(|result| result < 0))
}

fn first_writer(recording: &Recording) -> Writer {
    let first = recording.events.iter().find(|e| matches!(e.kind, EventKind::OutputEnter { .. }));
    match first {
        None => Nobody,
        Some(event) if event.pid != recording.root => Child,
        Some(event) if event.tid != event.pid => OtherThread,
        Some(_) => MainThread,
    }
}

/// Writes of output and their bytes, as summed by the tracer.
pub(crate) fn last_output(recording: &Recording) -> (u64, u64) {
    let sums = kinds(recording).find_map(|kind| match kind {
        EventKind::OutputLast { writes, bytes } => Some((*writes, *bytes)),
        _ => None,
    });
    sums.unwrap_or_default()
}

/// Errors in the order of a recording's events.
fn disorder_of(recording: &Recording) -> Vec<String> {
    let mut faults = Vec::new();
    let events = &recording.events;
    if !events.is_sorted_by_key(|event| event.at) {
        faults.push("the events are not sorted by time".to_owned());
    }
    let place = |wanted: &dyn Fn(&Event) -> bool| events.iter().position(wanted);
    let of_root = |event: &Event| event.pid == recording.root;
    let places = [
        ("spawn", place(&|e| e.kind == EventKind::Spawn)),
        ("exec enter", place(&|e| of_root(e) && e.kind == EventKind::ExecEnter)),
        ("exec commit", place(&|e| of_root(e) && matches!(e.kind, EventKind::ExecCommit { .. }))),
        ("exec exit", place(&|e| of_root(e) && e.kind == EventKind::ExecExit { result: 0 })),
        ("exit", place(&|e| of_root(e) && matches!(e.kind, EventKind::Exit { group_dead: true, .. }))),
        ("reaped", place(&|e| matches!(e.kind, EventKind::Reaped { .. }))),
    ];
    for pair in places.windows(2) {
        if pair[0].1.is_none() || pair[0].1 >= pair[1].1 {
            faults.push(format!("{:?} does not come before {:?}", pair[0], pair[1]));
        }
    }
    let output = [
        places[3].1,
        place(&|e| matches!(e.kind, EventKind::OutputEnter { .. })),
        place(&|e| matches!(e.kind, EventKind::OutputExit { .. })),
        place(&|e| matches!(e.kind, EventKind::OutputLast { .. })),
    ];
    if output[1..].iter().any(Option::is_some) && !(output.is_sorted() && output[0].is_some()) {
        faults.push(format!("output before the exec, or incomplete: {output:?}"));
    }
    faults
}
