//! Adds up what is observed, by program.

use super::command_lines::CommandLines;
use super::critical::{CriticalPath, Startups};
use super::marks::OpenParts;
use super::memory::{Memory, RUN};
use super::program::name;
use super::programs::{ProgramId, Programs};
use super::tree::ProcessTree;
use firstbyte_measure::tracer::watch::{
    EndedProgram, Ending, FailedExec, MadeMark, ProgramRun, StartedProgram, WatchEvent,
};
use firstbyte_measure::units::Nanos;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Half of the memory is for the rows, so that command lines and timelines cannot take it from them.
const ROWS: u64 = 2;

/// Half of the rest is for the critical path.
const PATHS: u64 = 2;

/// Everything that was observed. What grows with the length of the watch is bounded.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) programs: Programs,
    running: HashMap<ProgramRun, Running>,
    /// Programs whose process is about to execute the next one, by the process.
    replaced: HashMap<u32, Running>,
    searches: HashMap<u32, Search>,
    memory: Memory,
    /// `None` if it is not wanted.
    critical: Option<CriticalPath>,
    /// The exec times on the critical path, or why they are not known.
    pub(super) path: Result<Startups, &'static str>,
    pub(super) tree: ProcessTree,
    command_lines: CommandLines,
    /// Processes that ended, and those of them that executed no program.
    pub(super) processes: u64,
    pub(super) forks: u64,
    /// Processes that had not ended.
    pub(super) unended: u64,
    pub(super) failed: u64,
    pub(super) cpu_ns: u64,
    /// The executions that have ended; `None` if nobody wants them.
    pub(super) runs: Option<Vec<Run>>,
    /// Those for which there was no memory.
    pub(super) unlisted_runs: u64,
}

/// An execution that has ended.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) program: ProgramId,
    pub(super) command: Option<Rc<str>>,
    pub(super) ended: EndedProgram,
}

/// A program in execution.
#[derive(Debug)]
struct Running {
    program: ProgramId,
    command: Option<Rc<str>>,
    run: ProgramRun,
    /// Its place in the tree of processes.
    node: Option<usize>,
    /// The program that created the process.
    creator: Option<ProgramRun>,
    /// The processes that it and its children have created and that have ended.
    created: u64,
    /// The first program that the process executed, and when.
    first: (ProgramId, ProgramRun),
    /// As `created`, of the earlier programs of the process.
    created_before: u64,
    parts: OpenParts,
}

/// Execs that failed one after the other, of files with the same name.
#[derive(Debug)]
struct Search {
    first_path: String,
    tries: u64,
    took: Nanos,
    errno: i32,
}

impl Tally {
    /// `memory`: in bytes, for what is kept. `timeline`: every execution is wanted.
    pub(super) fn new(memory: u64, timeline: bool, command_lines: CommandLines) -> Tally {
        let mut memory = Memory::new(memory);
        Tally {
            programs: Programs::new(memory.split_off(ROWS)),
            running: HashMap::new(),
            replaced: HashMap::new(),
            searches: HashMap::new(),
            memory,
            critical: None,
            path: Err("the watch has not ended"),
            tree: ProcessTree::default(),
            command_lines,
            processes: 0,
            forks: 0,
            unended: 0,
            failed: 0,
            cpu_ns: 0,
            runs: timeline.then(Vec::new),
            unlisted_runs: 0,
        }
    }

    /// Call it before the first event of a command, whose critical path is wanted.
    pub(super) fn find_critical_path(&mut self) {
        self.critical = Some(CriticalPath::new(self.memory.split_off(PATHS)));
    }

    pub(super) fn add(&mut self, event: &WatchEvent) {
        match event {
            WatchEvent::Started(started) => self.start(started),
            WatchEvent::Ended(ended) => self.end(ended),
            WatchEvent::Failed(failed) => self.fail(failed),
            WatchEvent::Marked(mark) => self.mark(mark),
            WatchEvent::LateWait(wait) => {
                if let Some(critical) = &mut self.critical {
                    critical.wait(*wait);
                }
            }
        }
    }

    /// Call it after the last event.
    pub(super) fn finish(&mut self) {
        let processes: Vec<u32> = self.searches.keys().copied().collect();
        for pid in processes {
            self.finish_search(pid, None);
        }
        if let Some(critical) = &mut self.critical {
            self.path = critical.finish();
        }
    }

    fn start(&mut self, started: &StartedProgram) {
        let program = self.row_of(&started.path, true);
        self.finish_search(started.run.pid, Some(program));
        let earlier = self.replaced.remove(&started.run.pid);
        let command = self.command_lines.of(started);
        let command = self.programs.get(program).starts(command.as_deref(), &mut self.memory);

        let above = earlier.as_ref().or_else(|| self.running.get(&started.by?)).and_then(|above| above.node);
        let running = Running {
            program,
            command,
            node: self.tree.start(above, program, &mut self.memory),
            run: started.run,
            creator: earlier.as_ref().map_or(started.by, |earlier| earlier.creator),
            created: 0,
            first: earlier.as_ref().map_or((program, started.run), |earlier| earlier.first),
            created_before: earlier.map_or(0, |earlier| earlier.created_before + earlier.created),
            parts: OpenParts::default(),
        };
        self.note_shim(&running);
        self.running.insert(started.run, running);
    }

    /// A process that executes a program of the same name as its first one, from another place.
    fn note_shim(&mut self, running: &Running) {
        let (first, entered) = running.first;
        let path = self.programs.path(first).to_owned();
        let program = self.programs.get(running.program);
        if first == running.program || name(&path) != program.name() {
            return;
        }
        let Some(shim) = program.shim(&path, &mut self.memory) else { return };
        shim.execs += 1;
        shim.processes += running.created_before;
        let delay = running.run.entered.since(entered.entered).unwrap_or_default();
        shim.delay_ns = shim.delay_ns.saturating_add(delay.0);
    }

    fn end(&mut self, ended: &EndedProgram) {
        self.cpu_ns = self.cpu_ns.saturating_add(ended.cpu.0);
        let running = ended.run().and_then(|run| self.running.remove(&run));
        let program = running.as_ref().map(|running| running.program);
        if let Some(critical) = &mut self.critical {
            critical.end(ended, program);
        }
        if let Some(running) = &running {
            self.tree.end(running.node, ended.startup(), ended.cpu);
            self.programs.get(running.program).ends(ended, running.command.as_ref());
            self.keep(ended, running);
        }
        match ended.how {
            Ending::Running => self.unended += 1,
            Ending::Exited(_) => self.end_process(ended, running.as_ref()),
            Ending::Replaced => {
                if let Some(running) = running {
                    self.replaced.insert(ended.pid, running);
                }
            }
        }
    }

    fn keep(&mut self, ended: &EndedProgram, running: &Running) {
        let Some(runs) = &mut self.runs else { return };
        if self.memory.take(RUN, "") {
            let command = running.command.clone();
            runs.push(Run { program: running.program, command, ended: *ended });
        } else {
            self.unlisted_runs += 1;
        }
    }

    fn end_process(&mut self, ended: &EndedProgram, running: Option<&Running>) {
        self.finish_search(ended.pid, None);
        self.processes += 1;
        let creator = match running {
            Some(running) => running.creator,
            None => ended.by,
        };
        let below = running.map_or(0, |running| running.created_before + running.created);
        if ended.entered.is_none() {
            self.forks += 1;
            self.add_fork(ended);
        }
        if let Some(creator) = creator.and_then(|creator| self.running.get_mut(&creator)) {
            creator.created += 1 + below;
        }
    }

    /// A process that executed no program belongs to the program that it is a copy of, while that runs.
    fn add_fork(&mut self, ended: &EndedProgram) {
        let Some(original) = ended.by.and_then(|by| self.running.get(&by)) else { return };
        let program = self.programs.get(original.program);
        program.forks += 1;
        program.cpu_ns = program.cpu_ns.saturating_add(ended.cpu.0);
        self.tree.end(original.node, Nanos(0), ended.cpu);
        let lifetime = ended.forked.and_then(|forked| ended.at.since(forked)).unwrap_or_default();
        program.forks_ns = program.forks_ns.saturating_add(lifetime.0);
    }

    /// A mark counts while its program runs.
    fn mark(&mut self, mark: &MadeMark) {
        let Some(running) = self.running.get_mut(&mark.by) else { return };
        let Some((name, time)) = running.parts.ended_by(mark) else { return };
        self.programs.get(running.program).parts.add(&name, time, &mut self.memory);
    }

    fn fail(&mut self, failed: &FailedExec) {
        self.failed += 1;
        let same = self.searches.get(&failed.pid).is_some_and(|search| search.looks_for(&failed.path));
        if !same {
            self.finish_search(failed.pid, None);
        }
        let begun =
            || Search { first_path: failed.path.clone(), tries: 0, took: Nanos(0), errno: failed.errno };
        let search = self.searches.entry(failed.pid).or_insert_with(begun);
        search.tries += 1;
        search.took.0 = search.took.0.saturating_add(failed.took.0);
    }

    /// The process has executed a program, or something else than what it looked for.
    fn finish_search(&mut self, pid: u32, found: Option<ProgramId>) {
        let Some(search) = self.searches.remove(&pid) else { return };
        let found = found.filter(|found| search.looks_for(self.programs.path(*found)));
        let row = found.unwrap_or_else(|| self.row_of(&search.first_path, false));
        let program = self.programs.get(row);
        program.failed += search.tries;
        program.failed_ns = program.failed_ns.saturating_add(search.took.0);
        match found {
            Some(_) => program.searches += 1,
            None => program.errno = Some(search.errno),
        }
    }

    /// The row of a path. If there is no room for a new one, rows of programs that are not running make room.
    fn row_of(&mut self, path: &str, is_executed: bool) -> ProgramId {
        if self.programs.needs_room(path) {
            self.make_room();
        }
        self.programs.of_path(path, is_executed)
    }

    fn make_room(&mut self) {
        let processes = self.running.values().chain(self.replaced.values());
        let in_use: HashSet<ProgramId> =
            processes.flat_map(|process| [process.program, process.first.0]).collect();
        self.programs.move_rarest(&in_use, &mut self.memory);

        let indices = self.tree.merge(|id| self.programs.listed(id), &mut self.memory);
        for process in self.running.values_mut().chain(self.replaced.values_mut()) {
            process.node = process.node.map(|node| indices[node]);
        }
    }

    /// The number of programs that are in execution, as far as is known.
    pub(super) fn in_execution(&self) -> usize {
        self.running.len()
    }

    /// Forgets processes whose end was lost: all but those that are `living`.
    pub(super) fn keep_only(&mut self, living: &HashSet<u32>) {
        self.running.retain(|run, _| living.contains(&run.pid));
        self.replaced.retain(|pid, _| living.contains(pid));
        self.searches.retain(|pid, _| living.contains(pid));
    }
}

impl Search {
    fn looks_for(&self, path: &str) -> bool {
        name(&self.first_path) == name(path)
    }
}
