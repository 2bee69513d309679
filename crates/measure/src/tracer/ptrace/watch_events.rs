//! Turns stops into what a watch observes: the programs that start, fail to start, and end.

use super::proc::own_proc;
use super::task_tree::Task;
use crate::clock;
use crate::launch::ExitStatus;
use crate::tracer::event::is_restart;
use crate::tracer::watch::{EndedProgram, Ending, FailedExec, ProgramRun, StartedProgram, WatchEvent};
use crate::units::Nanos;
use std::collections::HashMap;
use std::fs;
use std::sync::mpsc::{Sender, SyncSender};

/// The most bytes of the arguments that are kept, as by the other backend.
const ARGUMENTS: usize = 4095;

/// What a watch has asked to be told.
#[derive(Debug)]
pub(super) struct Listeners {
    /// Everything that is observed. If nobody takes it, the processes wait, so that nothing is lost.
    pub(super) events: SyncSender<WatchEvent>,
    /// The command has been executed.
    pub(super) begun: Sender<()>,
    /// How the command has ended, and when.
    pub(super) ended: Sender<(ExitStatus, Nanos)>,
}

/// The processes of the tree.
#[derive(Debug)]
pub(super) struct WatchEvents {
    command: i32,
    listeners: Listeners,
    processes: HashMap<i32, Process>,
    /// Execs in progress, by thread.
    flights: HashMap<i32, Flight>,
    reads_arguments: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Process {
    /// The entry of the `execve` of its program; `None`: it is a copy of the program `by`.
    entered: Option<Nanos>,
    returned: Option<Nanos>,
    by: Option<ProgramRun>,
    forked: Option<Nanos>,
    cpu: Nanos,
    /// The CPU time before this program.
    cpu_before: Nanos,
}

#[derive(Debug)]
struct Flight {
    entered: Nanos,
    path: String,
}

impl WatchEvents {
    /// For a command that has been seized.
    pub(super) fn new(command: i32, listeners: Listeners) -> WatchEvents {
        let process = Process { forked: Some(clock::now()), ..Process::default() };
        WatchEvents {
            command,
            listeners,
            processes: HashMap::from([(command, process)]),
            flights: HashMap::new(),
            reads_arguments: own_proc().is_ok(),
        }
    }

    /// A thread is at the entry of an exec.
    pub(super) fn entered(&mut self, task: Task, path: String) {
        self.flights.insert(task.thread, Flight { entered: clock::now(), path });
    }

    /// A thread has returned from an exec.
    pub(super) fn returned(&mut self, at: Nanos, task: Task, result: i64) {
        let Some(flight) = self.flights.remove(&task.thread) else { return };
        let Some(process) = self.processes.get_mut(&task.process) else { return };
        if result == 0 {
            process.returned = Some(at);
        } else if !is_restart(result) {
            let by = process.program(task.process);
            let errno = i32::try_from(-result).unwrap_or_default();
            let took = at.since(flight.entered).unwrap_or_default();
            self.tell(WatchEvent::Failed(FailedExec { pid: pid(task), by, path: flight.path, errno, took }));
        }
    }

    /// An exec has succeeded; `former` is the id of the thread that called it.
    pub(super) fn executed(&mut self, at: Nanos, task: Task, former: i32) {
        let flight = self.flights.remove(&former).unwrap_or(Flight { entered: at, path: String::new() });
        let Some(process) = self.processes.get_mut(&task.process) else { return };
        let replaced = *process;
        process.by = replaced.program(task.process);
        process.entered = Some(flight.entered);
        process.returned = None;
        let run = ProgramRun { pid: pid(task), entered: flight.entered };
        let by = process.by;
        if replaced.entered.is_some() {
            let cpu = cpu_time(task.process);
            process.cpu_before = cpu;
            let ended = Process { cpu, ..replaced }.ended(task, flight.entered, Ending::Replaced);
            self.tell(WatchEvent::Ended(ended));
        }

        let (argv, argv_bytes) = if self.reads_arguments { arguments(task.process) } else { (Vec::new(), 0) };
        self.tell(WatchEvent::Started(StartedProgram {
            run,
            by,
            path: flight.path.clone(),
            argv,
            argv_bytes,
        }));
        self.flights.insert(task.thread, flight);
        if task.process == self.command {
            let _ = self.listeners.begun.send(());
        }
    }

    /// A process or a thread has been created.
    pub(super) fn forked(&mut self, at: Nanos, task: Task, child: Task) {
        if child.process != task.process {
            let by = self.processes.get(&task.process).and_then(|process| process.program(task.process));
            self.processes.insert(child.process, Process { by, forked: Some(at), ..Process::default() });
        }
    }

    /// A thread is about to exit. `group_dead`: it is the last one of its process.
    pub(super) fn exiting(&mut self, task: Task, group_dead: bool) {
        self.flights.remove(&task.thread);
        if let Some(process) = self.processes.get_mut(&task.process).filter(|_| group_dead) {
            process.cpu = cpu_time(task.process);
        }
    }

    /// A thread has been reaped.
    pub(super) fn gone(&mut self, at: Nanos, task: Task, status: i32) {
        if task.thread != task.process {
            return;
        }
        let Some(process) = self.processes.remove(&task.process) else { return };
        let status = ExitStatus::from_wait(status);
        self.tell(WatchEvent::Ended(process.ended(task, at, Ending::Exited(status))));
        if task.process == self.command {
            let _ = self.listeners.ended.send((status, at));
        }
    }

    /// If the watch is over, nobody listens.
    fn tell(&self, event: WatchEvent) {
        let _ = self.listeners.events.send(event);
    }
}

impl Process {
    /// The program that it executes, or of which it is a copy.
    fn program(&self, process: i32) -> Option<ProgramRun> {
        let run = self.entered.map(|entered| ProgramRun { pid: process.cast_unsigned(), entered });
        run.or(self.by)
    }

    fn ended(self, task: Task, at: Nanos, how: Ending) -> EndedProgram {
        EndedProgram {
            pid: pid(task),
            entered: self.entered,
            by: self.by,
            forked: self.forked,
            returned: self.returned,
            first_output: None,
            awaited: None,
            at,
            cpu: self.cpu.since(self.cpu_before).unwrap_or_default(),
            how,
        }
    }
}

fn pid(task: Task) -> u32 {
    task.process.cast_unsigned()
}

/// The CPU time of a process so far, of all its threads; 0 if it is gone (`clock_getcpuclockid(3)`).
fn cpu_time(process: i32) -> Nanos {
    let mut clock = 0;
    let mut used = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both out-pointers are valid.
    let read = unsafe {
        libc::clock_getcpuclockid(process, &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut used) == 0
    };
    let nanos = used.tv_sec.unsigned_abs() * 1_000_000_000 + used.tv_nsec.unsigned_abs();
    Nanos(if read { nanos } else { 0 })
}

/// The arguments, as many as fit, and the length of all (`proc_pid_cmdline(5)`).
fn arguments(process: i32) -> (Vec<String>, u32) {
    let all = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let kept = &all[..all.len().min(ARGUMENTS)];
    let words = kept.strip_suffix(&[0]).unwrap_or(kept).split(|byte| *byte == 0);
    let words = words.map(|word| String::from_utf8_lossy(word).into_owned());
    let argv = if kept.is_empty() { Vec::new() } else { words.collect() };
    (argv, u32::try_from(all.len()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_arguments_and_cpu_time_are_read() {
        let our_pid = std::process::id().cast_signed();
        let (argv, bytes) = arguments(our_pid);
        let expected: Vec<String> = std::env::args().collect();
        assert_eq!((argv.len(), argv.first()), (expected.len(), expected.first()));
        assert_eq!(bytes as usize, expected.iter().map(|word| word.len() + 1).sum::<usize>());
        assert!(cpu_time(our_pid) > Nanos(0));
    }
}
