//! Counts what a run does by the records of the full mode, most of which are not kept.
//!
//! It differs from the counting pass under ptrace in three ways: the peak memory is not known, processes that outlive the
//! tracee are counted to their ends, and a call that ptrace would have interrupted is not.

use super::full_records::{CALL_NUMBER, CALL_OUTPUT, FAULT_MAJOR};
use super::record::{Head, RecordKind, syscall};
use crate::Counts;
use crate::arch::{FileCall, IO_URING_BASE, Syscall, file_calls};
use crate::tracer::Recording;
use crate::tracer::event::EventKind;

/// Counts of one run so far.
#[derive(Debug, Default)]
pub(super) struct RunCounts(Counts);

impl RunCounts {
    /// Counts a record that did not fit the log. Returns whether it is kept instead, to be counted as an event of the run.
    pub(super) fn is_kept(&mut self, record: &[u8]) -> bool {
        let Some(head) = Head::of(record) else { return true };
        let counts = &mut self.0;
        let call = syscall(head.code, CALL_NUMBER);
        match head.kind {
            RecordKind::Syscall | RecordKind::SyscallPath | RecordKind::SyscallPaths => {
                add_call(counts, call, Some(head.value), head.code & CALL_OUTPUT != 0);
            }
            RecordKind::Unfinished => add_call(counts, call, None, false),
            RecordKind::UringOutput => add_call(counts, call, Some(head.value), true),
            RecordKind::Fault => add_fault(counts, head.code & FAULT_MAJOR != 0),
            RecordKind::FaultWasMajor => counts.major_faults += 1,
            RecordKind::OffCpu
            | RecordKind::PathRest
            | RecordKind::Structure
            | RecordKind::LargeStructure
            | RecordKind::Content
            | RecordKind::LargeContent => {}
            _ => return true,
        }
        false
    }

    /// The counts of the whole run, which has what was kept.
    pub(super) fn of(self, recording: &Recording) -> Counts {
        let mut counts = Counts { processes: self.0.processes + 1, threads: self.0.threads + 1, ..self.0 };
        for event in &recording.events {
            match &event.kind {
                EventKind::ExecEnter => counts.syscalls += 1,
                EventKind::ExecExit { result: 0 } => counts.execs += 1,
                EventKind::Fork { child_pid, .. } => {
                    counts.threads += 1;
                    counts.processes += u64::from(*child_pid != event.pid);
                }
                EventKind::Fault(fault) => add_fault(&mut counts, fault.major),
                EventKind::Call(call) => add_call(&mut counts, call.call, call.result, call.output),
                _ => {}
            }
        }
        counts
    }
}

fn add_fault(counts: &mut Counts, major: bool) {
    counts.page_faults += 1;
    counts.major_faults += u64::from(major);
}

fn add_call(counts: &mut Counts, call: Syscall, result: Option<i64>, output: bool) {
    counts.writes += u64::from(output && result > Some(0));
    if call.number >= IO_URING_BASE {
        return;
    }

    counts.syscalls += 1;
    match (file_calls().get(call), result) {
        (Some(FileCall::Open), Some(0..)) => counts.files_opened += 1,
        (Some(FileCall::Open), Some(_)) => counts.failed_opens += 1,
        (Some(FileCall::Read), Some(read @ 1..)) => counts.bytes_read += read.unsigned_abs(),
        _ => {}
    }
}
