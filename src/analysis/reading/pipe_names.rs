//! What pipes are called: after the programs that have their other ends.

use super::Reader;
use crate::analysis::descriptors::PipeEnd;
use crate::analysis::process::Process;
use firstbyte_measure::arch::{Argument, CallFacts, Use, call_names};
use firstbyte_measure::tracer::event::Call;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

impl Reader<'_> {
    /// What the pipes are called on which a call works, by descriptor: the programs that have their other ends.
    pub(super) fn pipe_names(&self, pid: u32, call: &Call) -> HashMap<i32, Arc<str>> {
        let Some(facts) = CallFacts::of(call_names::name(call.call).as_ref()) else { return HashMap::new() };
        let descriptors = [Use::Reads, Use::Writes, Use::File].into_iter();
        let at = descriptors.filter_map(|used| facts.position(Argument::Descriptor(used)));
        #[allow(clippy::cast_possible_truncation)] // a C int is in the low half of its register
        let numbers = at.map(|at| call.arguments[usize::from(at)] as i32);
        numbers.filter_map(|number| Some((number, self.pipe_name(pid, number)?))).collect()
    }

    fn pipe_name(&self, pid: u32, number: i32) -> Option<Arc<str>> {
        let pipe = self.processes.get(&pid)?.descriptors.pipe(number)?;
        let has_other_end = |(other, process): &(&u32, &Process)| {
            **other != pid && process.descriptors.has_pipe(PipeEnd { for_writing: !pipe.for_writing, ..pipe })
        };
        let programs =
            self.processes.iter().filter(has_other_end).filter_map(|(other, _)| self.program(*other));
        let programs: BTreeSet<&str> = programs.collect();
        let programs: Vec<&str> = programs.into_iter().collect();
        let direction = if pipe.for_writing { "to" } else { "from" };
        Some(if programs.is_empty() {
            "pipe".into()
        } else {
            format!("pipe {direction} {}", programs.join(", ")).into()
        })
    }

    /// The name of the program that a process executes now, or that the process did which created it.
    fn program(&self, pid: u32) -> Option<&str> {
        let mut wanted = pid;
        // A process stands behind the one that created it, and a pid may be used again.
        for account in self.accounts.iter().rev() {
            if account.pid != wanted {
                continue;
            }
            match account.execs.last() {
                Some(exec) => return exec.path.rsplit('/').next(),
                None => wanted = account.parent,
            }
        }
        None
    }
}
