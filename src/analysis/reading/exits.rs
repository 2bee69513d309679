//! The ends of threads and processes.

use super::Reader;
use crate::analysis::thread::Thread;
use firstbyte_measure::tracer::{Event, EventKind};

/// The part of a wait status that is the signal of which a process died: `WTERMSIG` of `wait(2)`.
const DEADLY: i32 = 0x7f;

/// A thread that has exited, and the wait status that the kernel keeps for it.
pub(super) fn status(event: &Event) -> Option<(u32, i32)> {
    match event.kind {
        EventKind::Exit { status, .. } => Some((event.tid, status)),
        _ => None,
    }
}

impl Reader<'_> {
    pub(super) fn exit(&mut self, event: &Event, group_dead: bool, status: i32) {
        let signal = status & DEADLY;
        if signal != 0 {
            let sent = self.signals.get(&(event.pid, signal)).copied().unwrap_or(event.at);
            self.thread(event).died(sent, event.at, signal);
        }
        self.thread(event).ended = Some(event.at);
        if event.tid != self.root {
            self.finished.extend(self.threads.remove(&event.tid));
            self.gone.insert(event.tid);
        }
        if group_dead && let Some(process) = self.processes.get(&event.pid) {
            for end in process.descriptors.ends().filter(|end| end.for_writing) {
                self.pipes.closed(end.pipe, [event.at; 2], [event.pid, event.tid]);
            }
        }
        let end = self.since(event.at);
        if group_dead {
            self.ended(event);
        }
        if let Some(account) = self.account(event.pid)
            && (group_dead || account.end.is_some_and(|known| known < end))
        {
            account.end = Some(end);
            account.status = Some(status);
        }
    }

    /// Between the exit and the notice to the parent, the kernel releases what the process had.
    pub(super) fn parent_told(&mut self, event: &Event) {
        let end = self.since(event.at);
        self.ended(event);
        if let Some(account) = self.account(event.pid) {
            account.end = Some(end);
        }
        if event.tid == self.root {
            self.thread(event).gave_back_until(event.at);
        } else {
            let was = |thread: &&mut Thread| (thread.pid, thread.tid) == (event.pid, event.tid);
            if let Some(gone) = self.finished.iter_mut().rev().find(was) {
                gone.gave_back_until(event.at);
            }
        }
    }

    /// A process ends with this event, as far as its parent is concerned.
    fn ended(&mut self, event: &Event) {
        let Some(place) = self.places.get(&event.pid).copied() else { return };
        let account = &self.accounts[place];
        if !account.waited_for {
            self.left.entry(account.parent).or_default().insert(event.pid, place);
        }
    }
}
