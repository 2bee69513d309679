//! What pipes are called: after the programs that have their other ends.

use super::Reader;
use crate::analysis::descriptors::PipeEnd;
use crate::analysis::process::Process;
use firstbyte_measure::arch::{Argument, CallFacts, Use};
use firstbyte_measure::tracer::Event;
use firstbyte_measure::tracer::event::Call;
use firstbyte_measure::units::Nanos;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The programs that have each end of each pipe, and how many processes execute each of them. A process that has ended
/// still has what it had: a reader may read later.
#[derive(Debug, Default)]
pub(super) struct Holders(HashMap<PipeEnd, BTreeMap<Arc<str>, usize>>);

impl Holders {
    /// A process has all of its ends from now on, or no more.
    fn change_all(&mut self, process: &Process, has: bool) {
        for end in process.descriptors.ends() {
            self.change(end, &process.program, has);
        }
    }

    fn change(&mut self, end: PipeEnd, program: &Arc<str>, has: bool) {
        let programs = self.0.entry(end).or_default();
        let count = programs.entry(Arc::clone(program)).or_default();
        *count = if has { *count + 1 } else { count.saturating_sub(1) };
        if *count == 0 {
            programs.remove(program);
        }
        if programs.is_empty() {
            self.0.remove(&end);
        }
    }

    /// The programs of the processes that have an end, but for one process.
    fn others(&self, end: PipeEnd, process: &Process) -> Vec<&str> {
        let own =
            |program: &Arc<str>| usize::from(*program == process.program && process.descriptors.has_end(end));
        let programs = self.0.get(&end).into_iter().flatten();
        let others = programs.filter(|(program, count)| !program.is_empty() && **count > own(program));
        others.map(|(program, _)| &**program).collect()
    }
}

impl Reader<'_> {
    /// What the pipes are called on which a call works, by descriptor: the programs that have their other ends.
    pub(super) fn pipe_names(&self, pid: u32, call: &Call, facts: &CallFacts) -> HashMap<i32, Arc<str>> {
        let descriptors = [Use::Reads, Use::Writes, Use::File].into_iter();
        let at = descriptors.filter_map(|used| facts.position(Argument::Descriptor(used)));
        #[allow(clippy::cast_possible_truncation)] // a C int is in the low half of its register
        let numbers = at.map(|at| call.arguments[usize::from(at)] as i32);
        numbers.filter_map(|number| Some((number, self.pipe_name(pid, number)?))).collect()
    }

    fn pipe_name(&self, pid: u32, number: i32) -> Option<Arc<str>> {
        let process = self.processes.get(&pid)?;
        let pipe = process.descriptors.pipe(number)?;
        let other_end = PipeEnd { for_writing: !pipe.for_writing, ..pipe };
        let programs = self.holders.others(other_end, process);
        let direction = if pipe.for_writing { "to" } else { "from" };
        Some(if programs.is_empty() {
            "pipe".into()
        } else {
            format!("pipe {direction} {}", programs.join(", ")).into()
        })
    }

    /// A process begins as a copy of another one.
    pub(super) fn copied(&mut self, pid: u32, copy: Process) {
        self.holders.change_all(&copy, true);
        if let Some(former) = self.processes.insert(pid, copy) {
            self.holders.change_all(&former, false); // ids are reused
        }
    }

    /// Changes the image of a process, and with it the name by which it has its pipes.
    pub(super) fn replaced(&mut self, pid: u32, change: impl FnOnce(&mut Process)) {
        let process = self.processes.entry(pid).or_default();
        self.holders.change_all(process, false);
        change(process);
        self.holders.change_all(process, true);
    }

    /// Notes which ends a process has got and lost by an event that began at `from`.
    pub(super) fn ends_changed(&mut self, event: &Event, from: Nanos) {
        let Some(process) = self.processes.get_mut(&event.pid) else { return };
        for (end, has) in process.descriptors.take_changes() {
            self.holders.change(end, &process.program, has);
            if !has && end.for_writing {
                self.pipes.closed(end.pipe, [from, event.at], [event.pid, event.tid]);
            }
        }
    }

    /// Notes which ends a process has lost by an exec. Its other ends have been noted with it.
    pub(super) fn ends_closed_by_exec(&mut self, event: &Event) {
        let Some(process) = self.processes.get_mut(&event.pid) else { return };
        for (end, _) in process.descriptors.take_changes() {
            if end.for_writing {
                self.pipes.closed(end.pipe, [event.at; 2], [event.pid, event.tid]);
            }
        }
    }
}
