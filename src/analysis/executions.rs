//! What each process executed, found by when, without a look at all processes.

use super::model::{Account, Execution, PathPiece, ProcessAccount};
use firstbyte_measure::units::Nanos;
use std::collections::HashMap;

/// The processes and further threads of a run, by process id.
#[derive(Debug)]
pub struct Executions<'a> {
    account: &'a Account,
    /// The processes that had an id, in the order in which they began.
    processes: HashMap<u32, Vec<&'a ProcessAccount>>,
    /// When the threads of a process began, without the first one, in order.
    threads: HashMap<u32, Vec<Nanos>>,
}

impl Account {
    /// What its processes executed.
    pub fn executions(&self) -> Executions<'_> {
        let mut processes: HashMap<u32, Vec<&ProcessAccount>> = HashMap::new();
        for process in &self.processes {
            processes.entry(process.pid).or_default().push(process);
        }
        let mut threads: HashMap<u32, Vec<Nanos>> = HashMap::new();
        for thread in self.threads.iter().filter(|thread| thread.tid != thread.pid) {
            threads.entry(thread.pid).or_default().push(thread.start);
        }
        for starts in threads.values_mut() {
            starts.sort();
        }
        Executions { account: self, processes, threads }
    }
}

impl<'a> Executions<'a> {
    /// The process that has an id at an instant.
    pub fn process(&self, pid: u32, at: Nanos) -> Option<&'a ProcessAccount> {
        self.processes.get(&pid)?.iter().rev().find(|process| process.start <= at).copied()
    }

    /// What a process executes at an instant: its own last exec, else that of the process that created it.
    pub fn at(&self, pid: u32, at: Nanos) -> Option<&'a Execution> {
        let process = self.process(pid, at)?;
        let exec = process.execs.iter().rev().find(|exec| exec.start <= at);
        exec.or_else(|| self.at(process.parent, process.start))
    }

    /// The how-manieth thread a process created since its last exec this one is; 0 for the first thread.
    pub fn thread_order(&self, piece: &PathPiece) -> u32 {
        if piece.tid == piece.pid {
            return 0;
        }
        let start = self.account.threads[piece.thread].start;
        let since = self.at(piece.pid, piece.from).map_or(Nanos(0), |exec| exec.start);
        let starts = self.threads.get(&piece.pid).map_or(&[][..], Vec::as_slice);
        let [before, until] =
            [starts.partition_point(|it| *it < since), starts.partition_point(|it| *it <= start)];
        u32::try_from(until.saturating_sub(before)).unwrap_or(u32::MAX)
    }

    /// What a process is called at an instant: the file that it executes, after the script for which it does so.
    pub fn program(&self, pid: u32, at: Nanos) -> String {
        let file = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let Some(exec) = self.at(pid, at) else { return "the launcher".to_owned() };
        match (file(&exec.path), file(&exec.executed)) {
            (script, program) if script == program => program,
            (script, program) => format!("{script} ({program})"),
        }
    }
}
