//! The critical path of a command: what its end waited for, and how much of that was the execs of programs.
//!
//! It goes backwards from the end of the command. In a process, it goes back to the last end of a child that the process
//! waited for, through the life of that child to its fork, and from there on backwards in the process again. Children that
//! overlap with one on the path are not on it: had they started faster, nothing would have ended earlier.

use super::memory::{Memory, STEP};
use super::programs::ProgramId;
use crate::document::watch::WatchPath;
use firstbyte_measure::tracer::watch::{AwaitedEnd, EndedProgram, Ending, LateWait, ProcessBirth};
use firstbyte_measure::units::Nanos;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

/// A record of an end can come after those of its parent: both are written when a task leaves its processor. So no process
/// is looked at until the others have ended so much later.
const LATEST: Nanos = Nanos(100_000_000);

/// The exec times on a path, by the row of their program.
pub(super) type Startups = BTreeMap<ProgramId, WatchPath>;

/// The processes whose place on the path is not known yet.
#[derive(Debug)]
pub(super) struct CriticalPath {
    steps: HashMap<ProcessBirth, Vec<Step>>,
    waits: HashMap<ProcessBirth, Vec<LateWait>>,
    /// In the order in which they began to exit, if somebody waited for that, or ended.
    ended: BinaryHeap<Reverse<Ended>>,
    last_end: Nanos,
    /// The process that was forked first, which is the command, and the exec times on its path once it has ended.
    command: Option<(Nanos, Option<Startups>)>,
    memory: Memory,
    /// There was no memory for a step.
    incomplete: bool,
}

/// A part of a process's life that the process did not spend on its own work: a child that it waited for, or its exec.
#[derive(Debug)]
struct Step {
    from: Nanos,
    until: Nanos,
    /// As of [`AwaitedEnd`].
    late: Option<Nanos>,
    startups: Box<[(ProgramId, WatchPath)]>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ended {
    at: Nanos,
    process: ProcessBirth,
    awaited: Option<AwaitedEnd>,
}

impl CriticalPath {
    pub(super) fn new(memory: Memory) -> CriticalPath {
        CriticalPath {
            steps: HashMap::new(),
            waits: HashMap::new(),
            ended: BinaryHeap::new(),
            last_end: Nanos(0),
            command: None,
            memory,
            incomplete: false,
        }
    }

    /// A program, or a process that executed none, has ended.
    pub(super) fn end(&mut self, ended: &EndedProgram, program: Option<ProgramId>) {
        let Some(forked) = ended.forked else { return };
        let process = ProcessBirth { pid: ended.pid, at: forked };
        if let (Some(program), Some(from), Some(until)) = (program, ended.entered, ended.returned) {
            let path = WatchPath { execs: 1, startup_ns: ended.startup().0 };
            self.add(process, Step { from, until, late: None, startups: Box::new([(program, path)]) });
        }

        match ended.how {
            Ending::Replaced => {}
            Ending::Running => self.note_command(forked, None),
            Ending::Exited(_) => {
                let at = ended.awaited.map_or(ended.at, |awaited| awaited.at);
                self.ended.push(Reverse(Ended { at, process, awaited: ended.awaited }));
                self.last_end = self.last_end.max(ended.at);
                self.resolve(Nanos(self.last_end.0.saturating_sub(LATEST.0)));
            }
        }
    }

    /// A process waits for children that have ended before.
    pub(super) fn wait(&mut self, wait: LateWait) {
        if self.memory.take(STEP, "") {
            self.waits.entry(wait.by).or_default().push(wait);
        } else {
            self.incomplete = true;
        }
    }

    /// The exec times on the critical path, or why they are not known. Call it after the last event.
    pub(super) fn finish(&mut self) -> Result<Startups, &'static str> {
        self.resolve(Nanos(u64::MAX));
        if self.incomplete {
            return Err("there was no memory for it; --memory gives it more");
        }
        let startups = self.command.take().and_then(|(_, startups)| startups);
        startups.ok_or("the command has not ended")
    }

    fn add(&mut self, process: ProcessBirth, step: Step) {
        if self.memory.take(size(&step), "") {
            self.steps.entry(process).or_default().push(step);
        } else {
            self.incomplete = true;
        }
    }

    /// Finds the paths of the processes that have ended until then. A child ends before a parent that waits for it.
    fn resolve(&mut self, until: Nanos) {
        while self.ended.peek().is_some_and(|Reverse(next)| next.at <= until) {
            let Some(Reverse(Ended { process, awaited, .. })) = self.ended.pop() else { return };
            let startups = backwards(self.take_steps(process));
            self.note_command(process.at, Some(&startups));
            if let Some(AwaitedEnd { by, at, late }) = awaited.filter(|_| !startups.is_empty()) {
                let startups = startups.into_iter().collect();
                self.add(by, Step { from: process.at, until: at, late, startups });
            }
        }
    }

    /// The steps of a process that has ended, without the children for which it did not wait.
    fn take_steps(&mut self, process: ProcessBirth) -> Vec<Step> {
        let mut steps = self.steps.remove(&process).unwrap_or_default();
        let mut waits = self.waits.remove(&process).unwrap_or_default();
        self.memory.give(steps.iter().map(size).sum::<u64>() + waits.len() as u64 * STEP);

        waits.sort_by_key(|wait| wait.at);
        steps.retain(|step| step.late.is_none_or(|cpu| has_waited(&waits, step.until, cpu)));
        steps
    }

    fn note_command(&mut self, forked: Nanos, startups: Option<&Startups>) {
        if self.command.as_ref().is_none_or(|(first, _)| forked < *first) {
            self.command = Some((forked, startups.cloned()));
        }
    }
}

fn size(step: &Step) -> u64 {
    STEP + size_of_val(&*step.startups) as u64
}

/// Whether a process waited for a child that began to exit at an instant: it had worked less than the child's CPU time.
fn has_waited(waits: &[LateWait], exit: Nanos, cpu: Nanos) -> bool {
    let next = waits.partition_point(|wait| wait.at < exit);
    waits.get(next).is_some_and(|wait| wait.since <= exit && wait.worked < cpu)
}

/// The exec times on the path through a process, from its end to its fork.
fn backwards(mut steps: Vec<Step>) -> Startups {
    steps.sort_by_key(|step| (step.until, step.from));
    let mut path = Startups::new();
    let mut now = Nanos(u64::MAX);
    for step in steps.into_iter().rev() {
        if step.until > now {
            continue;
        }
        now = step.from;
        for &(program, WatchPath { execs, startup_ns }) in &step.startups {
            let sum = path.entry(program).or_default();
            sum.execs += execs;
            sum.startup_ns = sum.startup_ns.saturating_add(startup_ns);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstbyte_measure::launch::ExitStatus;

    const COMMAND: ProcessBirth = ProcessBirth { pid: 1, at: Nanos(1) };

    /// A process whose program needs 2 ns to start.
    fn ended(pid: u32, life: [u64; 2], waited: bool, how: Ending) -> EndedProgram {
        let [born, at] = life;
        EndedProgram {
            pid,
            entered: Some(Nanos(born)),
            by: None,
            forked: Some(Nanos(born)),
            returned: Some(Nanos(born + 2)),
            first_output: None,
            awaited: waited.then_some(AwaitedEnd { by: COMMAND, at: Nanos(at), late: None }),
            at: Nanos(at),
            cpu: Nanos(0),
            how,
        }
    }

    /// The programs on the path of a command that lives from 1 to 1000 and has these children, each with a program of its own.
    fn on_path(children: &[([u64; 2], bool)]) -> Vec<ProgramId> {
        let mut path = CriticalPath::new(Memory::new(1 << 20));
        let exited = Ending::Exited(ExitStatus::SUCCESS);
        for (pid, (life, waited)) in (2..).zip(children) {
            path.end(&ended(pid, *life, *waited, exited), Some(pid.into()));
        }
        path.end(&ended(1, [1, 1000], false, exited), Some(1));
        path.finish().unwrap().into_keys().collect()
    }

    #[test]
    fn children_one_after_the_other_are_all_on_the_path() {
        assert_eq!(on_path(&[([10, 20], true), ([21, 30], true), ([31, 40], true)]), [1, 2, 3, 4]);
    }

    #[test]
    fn of_children_at_the_same_time_the_last_to_end_is_on_the_path() {
        assert_eq!(on_path(&[([11, 20], true), ([12, 30], true), ([10, 25], true)]), [1, 3]);
        assert_eq!(on_path(&[([10, 50], true), ([11, 100], true), ([51, 120], true)]), [1, 2, 4]);
    }

    #[test]
    fn what_nobody_waits_for_is_not_on_the_path() {
        assert_eq!(on_path(&[([10, 20], true), ([15, 900], false)]), [1, 2]);
    }

    #[test]
    fn a_parent_that_waits_late_has_waited_for_a_child_that_worked_longer() {
        let on_path = |exit: u64, worked: u64| {
            let mut path = CriticalPath::new(Memory::new(1 << 20));
            let mut child = ended(2, [10, exit], false, Ending::Exited(ExitStatus::SUCCESS));
            child.awaited = Some(AwaitedEnd { by: COMMAND, at: Nanos(exit), late: Some(Nanos(5)) });
            path.end(&child, Some(2));
            for [since, at] in [[15, 20], [30, 40]] {
                path.wait(LateWait {
                    by: COMMAND,
                    since: Nanos(since),
                    at: Nanos(at),
                    worked: Nanos(worked),
                });
            }
            path.end(&ended(1, [1, 1000], false, Ending::Exited(ExitStatus::SUCCESS)), Some(1));
            path.finish().unwrap().contains_key(&2)
        };
        assert!(on_path(15, 4) && on_path(35, 4));
        assert!(!on_path(35, 5), "the parent worked as long itself");
        assert!(!on_path(25, 4) && !on_path(45, 4), "it forked or ended before it waited");
    }

    #[test]
    fn the_paths_of_children_are_part_of_that_of_their_parent() {
        let mut path = CriticalPath::new(Memory::new(1 << 20));
        let exited = Ending::Exited(ExitStatus::SUCCESS);
        let child = ProcessBirth { pid: 2, at: Nanos(10) };
        let mut below = ended(3, [20, 30], false, exited);
        below.awaited = Some(AwaitedEnd { by: child, at: Nanos(30), late: None });
        // the record of the parent comes first
        path.end(&ended(2, [10, 40], true, exited), Some(7));
        path.end(&below, Some(8));
        path.end(&ended(1, [1, 1000], false, Ending::Replaced), Some(7));
        path.end(&ended(1, [1, 2000], false, exited), Some(9));
        let found = path.finish().unwrap();
        let shares: Vec<_> = found.iter().map(|(program, path)| (*program, path.execs)).collect();
        assert_eq!(
            shares,
            [(7, 1), (8, 1), (9, 1)],
            "an exec cannot overlap with another one of its process"
        );
    }

    #[test]
    fn a_path_that_is_not_known_has_a_reason() {
        let mut running = CriticalPath::new(Memory::new(1 << 20));
        running.end(&ended(1, [1, 5], false, Ending::Running), Some(1));
        running.end(&ended(2, [2, 9], true, Ending::Exited(ExitStatus::SUCCESS)), Some(2));
        assert!(running.finish().unwrap_err().contains("not ended"));
        let mut small = CriticalPath::new(Memory::new(10));
        small.end(&ended(1, [1, 5], false, Ending::Exited(ExitStatus::SUCCESS)), Some(1));
        assert!(small.finish().unwrap_err().contains("--memory"));
    }
}
