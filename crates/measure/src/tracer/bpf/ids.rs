//! Process ids. The kernel side records those of the machine. In a container we have others, and know our tracees and
//! their processes only by them.

use super::record::{Head, RecordKind, halves};
use super::shared_run::Run;
use crate::tracer::{Event, EventKind};
use crate::units::Nanos;
use std::collections::BTreeMap;

/// The ids in our namespace of the threads that a run created, each from the instant on at which it got it.
#[derive(Debug, Default)]
pub(super) struct Ids(BTreeMap<(u32, Nanos), u32>);

impl Ids {
    /// Remembers the id in the record of a fork.
    pub(super) fn learn(&mut self, record: &[u8]) {
        if let Some(fork) = Head::of(record).filter(|head| head.kind == RecordKind::Fork) {
            let [id, tid] = halves(fork.value);
            self.0.insert((tid, fork.at), id);
        }
    }

    /// Gives the events of a run the ids of our namespace, in which the tracee is `tracee`. Removes those of threads whose
    /// fork is not known, because its record was lost, and returns how many these are.
    pub(super) fn translate(mut self, events: &mut Vec<Event>, run: &Run, tracee: u32) -> u64 {
        if run.level == 0 {
            return 0;
        }
        self.0.insert((run.root, Nanos(0)), tracee);
        let before = events.len();
        events.retain_mut(|event| self.renamed(event).is_some());
        (before - events.len()) as u64
    }

    fn renamed(&self, event: &mut Event) -> Option<()> {
        let at = event.at;
        event.pid = self.of(event.pid, at)?;
        event.tid = self.of(event.tid, at)?;

        match &mut event.kind {
            EventKind::Fork { child_pid, child_tid } => {
                *child_pid = self.of(*child_pid, at)?;
                *child_tid = self.of(*child_tid, at)?;
            }
            // a waker that is not of the run has no id here
            EventKind::OffCpu(absence) => {
                let woken = absence.woken;
                let ours = |[pid, tid]: [u32; 2]| Some([self.of(pid, woken)?, self.of(tid, woken)?]);
                absence.waker = absence.waker.and_then(ours);
            }
            EventKind::Image(image) => image.old_tid = image.old_tid.and_then(|old| self.of(old, at)),
            _ => {}
        }
        Some(())
    }

    /// The machine gives an id away again once its thread is dead, so the last one until then counts.
    fn of(&self, id: u32, at: Nanos) -> Option<u32> {
        self.0.range((id, Nanos(0))..=(id, at)).next_back().map(|(_, id)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracer::event::{Image, OffCpu};

    /// A run in a container, in whose namespace the tracee 5000 of the machine is 5.
    fn contained() -> Run {
        Run { root: 5000, level: 1, ..Run::default() }
    }

    fn fork(at: u64, tid: u32, id: u32) -> Vec<u8> {
        let mut record = at.to_ne_bytes().to_vec();
        for word in [5000, 5000, RecordKind::Fork as u32, tid, tid, id] {
            record.extend(word.to_ne_bytes());
        }
        record
    }

    fn event(at: u64, id: u32, kind: EventKind) -> Event {
        Event { at: Nanos(at), pid: id, tid: id, kind }
    }

    fn translated(forks: &[Vec<u8>], mut events: Vec<Event>, run: &Run) -> (Vec<Event>, u64) {
        let mut ids = Ids::default();
        for record in forks {
            ids.learn(record);
        }
        let lost = ids.translate(&mut events, run, 5);
        (events, lost)
    }

    #[test]
    fn every_id_of_a_run_becomes_that_of_the_container() {
        let waker = |waker| OffCpu { left: Nanos(1), woken: Nanos(20), waker, preempted: false };
        let given = vec![
            event(10, 5000, EventKind::Fork { child_pid: 6000, child_tid: 6000 }),
            event(21, 6000, EventKind::OffCpu(waker(Some([5000, 5000])))),
            event(22, 6000, EventKind::OffCpu(waker(Some([7, 7])))),
            event(23, 6000, EventKind::Image(Box::new(Image { old_tid: Some(5000), ..Image::default() }))),
        ];
        let expected = vec![
            event(10, 5, EventKind::Fork { child_pid: 6, child_tid: 6 }),
            event(21, 6, EventKind::OffCpu(waker(Some([5, 5])))),
            event(22, 6, EventKind::OffCpu(waker(None))),
            event(23, 6, EventKind::Image(Box::new(Image { old_tid: Some(5), ..Image::default() }))),
        ];
        assert_eq!(translated(&[fork(10, 6000, 6)], given, &contained()), (expected, 0));
    }

    #[test]
    fn an_id_that_was_given_away_twice_means_the_thread_of_its_time() {
        let forks = [fork(30, 6000, 7), fork(10, 6000, 6)];
        let at = [10, 29, 30, 31].map(|at| event(at, 6000, EventKind::ExecEnter));
        let (events, lost) = translated(&forks, at.to_vec(), &contained());
        assert_eq!((events.iter().map(|event| event.tid).collect::<Vec<_>>(), lost), (vec![6, 6, 7, 7], 0));
    }

    #[test]
    fn events_of_unknown_threads_are_lost() {
        let given = vec![event(10, 5000, EventKind::ExecEnter), event(11, 6000, EventKind::ExecEnter)];
        assert_eq!(translated(&[], given, &contained()), (vec![event(10, 5, EventKind::ExecEnter)], 1));
    }

    #[test]
    fn the_ids_of_the_machine_stay_as_they_are() {
        let given = vec![event(11, 6000, EventKind::ExecEnter)];
        let run = Run { level: 0, ..contained() };
        assert_eq!(translated(&[fork(10, 6000, 6)], given.clone(), &run), (given, 0));
    }
}
