//! Everything that a backend observed of one run.

use super::event::{Event, EventKind};
use crate::arch::IO_URING_BASE;
use crate::launch::ExitStatus;
use crate::launch::Usage;
use crate::launch::wait::Killed;
use serde::{Deserialize, Serialize};

/// Everything that was observed of one run, in the order in which it happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The backend that observed it.
    pub backend: Backend,
    /// The argument vector that was executed.
    pub command: Vec<String>,
    /// The tracee's process id.
    pub root: u32,
    /// The events, sorted by time.
    pub events: Vec<Event>,
    /// Number of events that the kernel or we had to drop. A recording with lost events must not become a sample.
    pub lost: u64,
    /// How the tracee ended.
    pub exit: ExitStatus,
    /// What the tracee wrote to its stdout.
    pub output: Output,
    /// Why we killed the tracee, if we did.
    pub killed: Option<Killed>,
    /// The resources that it used.
    pub usage: Usage,
    /// Some processes of its tree were still alive when it ended. They were killed.
    pub left_behind: bool,
    /// We were stopped (Ctrl-Z) during the run, so its times include the stop. Such a recording must not become a sample.
    #[serde(default)]
    pub suspended: bool,
    /// It was observed by a single stop, and we did not have the processor when it went on or when its first byte arrived. So
    /// that was earlier than the recording says.
    #[serde(default)]
    pub late: bool,
}

impl Recording {
    /// A run that succeeded, and of which nothing else is known.
    pub fn empty(backend: Backend, root: u32) -> Recording {
        Recording {
            backend,
            command: Vec::new(),
            root,
            events: Vec::new(),
            lost: 0,
            exit: ExitStatus::SUCCESS,
            output: Output::default(),
            killed: None,
            usage: Usage::default(),
            left_behind: false,
            suspended: false,
            late: false,
        }
    }

    /// What helps if events were lost.
    pub const HELP_FOR_LOST: &str =
        "--ring-bytes makes more room; Linux 7.0 and newer may also skip a BPF program";

    /// How many writes of output there were.
    pub fn output_writes(&self) -> u64 {
        let last = self.events.iter().rev().find_map(|event| match event.kind {
            EventKind::OutputLast { writes, .. } => Some(writes),
            _ => None,
        });
        last.unwrap_or(0)
    }

    /// Adds the events that bound the phases, where only whole system calls were recorded: the first successful
    /// write of output, and the sum of all writes. Removes the calls that stand for writes by `io_uring`, which are
    /// not calls of a thread and are only part of that sum. Sorts the events.
    #[cfg_attr(not(feature = "bpf"), expect(dead_code, reason = "ptrace tells of output by itself"))]
    pub(crate) fn add_output_events(&mut self) {
        let successful = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::Call(call) if call.output => {
                let written = call.result.and_then(|result| u64::try_from(result).ok()).filter(|n| *n > 0)?;
                Some((event, call, written))
            }
            _ => None,
        });

        let (mut added, mut sum) = (Vec::new(), None);
        for (event, call, written) in successful {
            let at_entry = |kind| Event { at: call.entered, kind, ..event.clone() };
            if sum.is_none() {
                added.push(at_entry(EventKind::OutputEnter { call: call.call }));
                let result = i64::try_from(written).unwrap_or(i64::MAX);
                added
                    .push(Event { kind: EventKind::OutputExit { call: call.call, result }, ..event.clone() });
            }
            let (_, writes, bytes) = sum.unwrap_or((event.at, 0, 0));
            sum = Some((event.at, writes + 1, bytes + written));
        }

        if let Some((at, writes, bytes)) = sum {
            added.push(Event { at, pid: 0, tid: 0, kind: EventKind::OutputLast { writes, bytes } });
        }

        let by_ring = |event: &Event| matches!(&event.kind, EventKind::Call(call) if call.output && call.call.number >= IO_URING_BASE);
        self.events.retain(|event| !by_ring(event));
        self.events.extend(added);
        self.events.sort_by_key(|event| event.at); // stable: events at the same instant keep their order
    }
}

/// What arrived from the tracee's stdout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// How many bytes arrived; `None` if nobody could count them (a null device).
    pub bytes: Option<u64>,
    /// Whether these are exactly the bytes that were written. A terminal adds bytes, and in a file a place can be
    /// written twice.
    pub exact: bool,
    /// A place can be written twice, as in a file, so fewer bytes may arrive than were written.
    #[serde(default)]
    pub rewritable: bool,
    /// Whether they are the expected bytes; `None` if none were expected, or none could be seen.
    pub ok: Option<bool>,
    /// The first bytes, for messages (at most 4 KiB).
    #[serde(with = "lossy")]
    pub head: Vec<u8>,
    /// How many bytes had been written at the end of each text that was looked for, as far as they were found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<u64>,
    /// The last bytes of stderr, for messages (at most 4 KiB).
    #[serde(default, with = "lossy", skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<u8>,
}

impl Output {
    /// The last lines of stderr, at most this many, without empty ones.
    pub fn last_errors(&self, most: usize) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.stderr);
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(most)..].iter().map(|line| (*line).to_owned()).collect()
    }
}

/// The backend that observed a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// eBPF programs on raw tracepoints.
    Bpf,
    /// ptrace stops.
    Ptrace,
    /// Nothing attached: only the reading end of the pipe, and the wait.
    Pipe,
}

impl Backend {
    /// The backend's name for `--backend`.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Bpf => "bpf",
            Backend::Ptrace => "ptrace",
            Backend::Pipe => "pipe",
        }
    }

    /// Whether it stops the tracee, which then takes longer and may behave differently.
    pub fn stops_tracee(self) -> bool {
        self == Backend::Ptrace
    }

    /// Whether nothing is attached to the tracee, so that it sees no phases and has no overhead.
    pub(crate) fn attaches_nothing(self) -> bool {
        self == Backend::Pipe
    }
}

/// Writes bytes as text, because people also read recordings. Bytes that are not UTF-8 are replaced.
mod lossy {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&String::from_utf8_lossy(bytes))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(d: D) -> Result<Vec<u8>, D::Error> {
        Ok(String::deserialize(d)?.into_bytes())
    }
}
