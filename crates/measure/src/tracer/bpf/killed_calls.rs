//! Calls in which seccomp killed their thread.

use crate::tracer::{Event, EventKind};

/// Calls that seccomp answers are seen only at `sys_exit`. Where it kills, the signal is on its way by then. So the call began
/// before the signal, and it never returned; the death begins where the kernel leaves the call. `events` are in order before
/// and afterwards.
pub(super) fn correct_killed_calls(events: &mut [Event]) {
    let is_death = |event: &&Event| matches!(event.kind, EventKind::Exit { status, .. } if libc::WTERMSIG(status) == libc::SIGSYS);
    let died: Vec<u32> = events.iter().filter(is_death).map(|event| event.tid).collect();
    for &thread in &died {
        correct_last_call(events, thread);
    }
    if !died.is_empty() {
        events.sort_by_key(|event| event.at);
    }
}

/// Only the thread that made the call has the signal before it.
fn correct_last_call(events: &mut [Event], thread: u32) {
    let mut before = events.iter_mut().rev().filter(|event| event.tid == thread);
    let Some(last) = before.find(|event| matches!(event.kind, EventKind::Call(_))) else { return };
    let is_signal = |event: &&mut Event| event.kind == EventKind::Signalled { signal: libc::SIGSYS };
    let Some(signal) = before.find(is_signal) else { return };

    let EventKind::Call(call) = &mut last.kind else { return };
    if call.entered >= signal.at {
        (call.entered, call.result) = (signal.at, None);
        (last.at, signal.at) = (signal.at, last.at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Abi, Syscall};
    use crate::tracer::event::Call;
    use crate::units::Nanos;

    fn event(at: u64, tid: u32, kind: EventKind) -> Event {
        Event { at: Nanos(at), pid: 1, tid, kind }
    }

    fn call(at: u64, tid: u32, entered: u64, result: Option<i64>) -> Event {
        let call = Syscall { abi: Abi::Native, number: 110 };
        let call = Call { call, entered: Nanos(entered), result, ..Call::default() };
        event(at, tid, EventKind::Call(Box::new(call)))
    }

    fn died(at: u64, tid: u32) -> Event {
        event(at, tid, EventKind::Exit { group_dead: false, status: libc::SIGSYS })
    }

    fn signalled(at: u64, signal: i32) -> Event {
        event(at, 1, EventKind::Signalled { signal })
    }

    #[test]
    fn the_call_begins_before_the_signal_and_never_returns() {
        let mut events = vec![
            call(5, 2, 4, Some(0)),
            signalled(6, libc::SIGSYS),
            call(9, 1, 9, Some(110)),
            died(20, 2),
            died(30, 1),
        ];
        correct_killed_calls(&mut events);
        let expected = [
            call(5, 2, 4, Some(0)),
            call(6, 1, 6, None),
            signalled(9, libc::SIGSYS),
            died(20, 2),
            died(30, 1),
        ];
        assert_eq!(events, expected);
    }

    #[test]
    fn a_call_that_sent_the_signal_is_left_alone() {
        let mut events = vec![signalled(6, libc::SIGSYS), call(9, 1, 3, Some(0)), died(30, 1)];
        let before = events.clone();
        correct_killed_calls(&mut events);
        assert_eq!(events, before);
    }
}
