//! Follows the critical path, and gives each piece of its time to a load.

use super::process::LoadingProcess;
use super::units::is_code;
use crate::analysis::critical_path::piece_steps;
use crate::analysis::executions::Executions;
use crate::analysis::step_times::StepTimes;
use crate::analysis::{Account, Code, ExecStage, Role, Step, What};
use firstbyte_measure::arch::{Argument, CallFacts};
use firstbyte_measure::units::Nanos;
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadOrigin {
    Executable,
    Library,
    File,
}

/// A load and its own time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) origin: LoadOrigin,
    pub(super) path: Arc<str>,
    pub(super) self_time: Nanos,
    /// The place of the load around it, which is before this one.
    pub(super) around: Option<usize>,
    /// The place of the executable of its process.
    pub(super) program: usize,
}

/// All loads on the path, in the order in which they begin.
pub(super) fn rows(account: &Account) -> Vec<Row> {
    let mut follower = Follower {
        account,
        executions: account.executions(),
        uses: uses(account),
        first_byte: account.phases.first_byte(),
        processes: HashMap::new(),
        rows: Vec::new(),
    };
    let times = StepTimes::of(&account.threads);
    for piece in &account.path {
        for step in piece_steps(&times, piece) {
            follower.step(piece.pid, &step);
        }
    }
    follower.finish()
}

/// When each process opens each file (`true`), and when it has read or mapped it (`false`), in order.
type Uses = HashMap<(u32, Arc<str>), Vec<(Nanos, bool)>>;

fn uses(account: &Account) -> Uses {
    let mut all = Uses::new();
    for thread in &account.threads {
        for step in &thread.steps {
            let What::Call { name, text, file: Some(path), failed: false, .. } = &*step.what else {
                continue;
            };
            // the end of a file is often seen late, after other work
            let (opens, reads) = (step.what.opens(), reads(name) && !text.ends_with(" = 0"));
            if (opens || reads) && !path.starts_with("/dev/") {
                let at = if opens { step.start } else { step.start + step.elapsed };
                all.entry((thread.pid, Arc::clone(path))).or_default().push((at, opens));
            }
        }
    }
    for times in all.values_mut() {
        times.sort_unstable();
    }
    all
}

fn reads(name: &str) -> bool {
    let maps = |call: &CallFacts| call.position(Argument::MappingFlags).is_some();
    CallFacts::of(name).is_some_and(|call| call.reads() || maps(call))
}

/// Whether a call opens a file to write its whole content.
fn writes_anew(what: &What) -> bool {
    matches!(what, What::Call { name, text, .. } if &**name == "creat" || text.contains("O_TRUNC"))
}

struct Follower<'a> {
    account: &'a Account,
    executions: Executions<'a>,
    uses: Uses,
    /// What happens after it belongs to the program.
    first_byte: Option<Nanos>,
    processes: HashMap<u32, LoadingProcess>,
    rows: Vec<Row>,
}

impl Follower<'_> {
    fn step(&mut self, pid: u32, step: &Step) {
        self.pass_first_byte(step.start);
        let mut process = self.processes.remove(&pid).unwrap_or_else(|| self.inherited(pid, step.start));
        self.leave(&mut process, step);
        match &*step.what {
            What::Exec { stage, path } => {
                if !process.executing {
                    process = self.execute(process, pid, path, step.start);
                }
                process.executing = *stage != ExecStage::Return;
            }
            What::Call { file: Some(path), failed: false, .. } if step.what.opens() => {
                self.open(pid, &mut process, path, step);
            }
            _ => {}
        }
        process.pending = process.pending + step.self_time;
        if let What::Call { name, file: Some(path), failed: false, .. } = &*step.what
            && role(&step.what) == Some(Role::Loader)
        {
            self.link(&mut process, name, path);
        }
        self.processes.insert(pid, process);
    }

    /// Ends what ends with this step: files that have been read, and the work of a library that was opened by itself.
    fn leave(&mut self, process: &mut LoadingProcess, step: &Step) {
        let ends = process.data.last().is_some_and(|(_, until)| *until <= step.start);
        let code = code(&step.what).filter(|code| !works_for_others(code.module.role));
        if !ends && code.is_none() {
            return;
        }
        self.flush(process);
        process.data.retain(|(_, until)| *until > step.start);
        if let Some(code) = code {
            process.own_code_runs(code);
        }
    }

    /// A load begins if the file is read or mapped, too, and is not one that the program itself writes.
    fn open(&mut self, pid: u32, process: &mut LoadingProcess, path: &Arc<str>, step: &Step) {
        if writes_anew(&step.what) {
            return;
        }
        let Some(until) = self.read_until(pid, path, step.start) else { return };
        self.flush(process);
        let by_loader = role(&step.what) == Some(Role::Loader);
        let is_library = by_loader && path.contains(".so") && !path.starts_with("/etc/ld.so.");
        let executed = Arc::clone(&self.rows[process.executable].path);
        if is_library {
            let row = self.row(process, LoadOrigin::Library, path);
            process.maps_library(row, path);
        } else if is_code(path, &process.interpreter, Some(&executed)) {
            let row = self.row(process, LoadOrigin::File, path);
            process.begins_code(row);
        } else {
            let row = self.row(process, LoadOrigin::File, path);
            process.data.push((row, until));
        }
    }

    /// When a file that is opened now has been read; `None`: it never is.
    fn read_until(&self, pid: u32, path: &Arc<str>, now: Nanos) -> Option<Nanos> {
        let uses = self.uses.get(&(pid, Arc::clone(path)))?;
        let begun = uses.partition_point(|(at, _)| *at < now);
        let later = uses[begun..].iter().skip_while(|(at, opens)| *opens && *at == now);
        later.take_while(|(_, opens)| !opens).map(|(at, _)| *at).last()
    }

    /// The dynamic loader maps one library after another. Then it relocates one after another, and protects each as soon as
    /// it is relocated: the time until then belongs to that file, whichever was opened last.
    fn link(&mut self, process: &mut LoadingProcess, name: &str, path: &Arc<str>) {
        match name {
            "close" if process.mapped.is_some() => self.flush(process),
            "mprotect" => {
                let Some(row) = process.known.get(path) else { return };
                self.rows[*row].self_time = self.rows[*row].self_time + std::mem::take(&mut process.pending);
                process.mapped = None;
            }
            _ => {}
        }
    }

    /// The row of a file in a process.
    fn row(&mut self, process: &mut LoadingProcess, origin: LoadOrigin, path: &Arc<str>) -> usize {
        if let Some(known) = process.known.get(path) {
            return *known;
        }
        let nested = origin == LoadOrigin::File && !is_code(path, &process.interpreter, None);
        let around = Some(if nested { process.code } else { process.executable });
        let program = process.executable;
        self.rows.push(Row { origin, path: Arc::clone(path), self_time: Nanos(0), around, program });
        process.known.insert(Arc::clone(path), self.rows.len() - 1);
        self.rows.len() - 1
    }

    /// Gives the time since the last boundary to the current load.
    fn flush(&mut self, process: &mut LoadingProcess) {
        let self_time = &mut self.rows[process.current()].self_time;
        *self_time = *self_time + std::mem::take(&mut process.pending);
    }

    /// What a process executes is a load. Programs that a process executes one after another stand side by side.
    fn execute(
        &mut self,
        mut before: LoadingProcess,
        pid: u32,
        path: &Arc<str>,
        at: Nanos,
    ) -> LoadingProcess {
        self.flush(&mut before);
        let around = if before.inherited { Some(before.code) } else { self.rows[before.executable].around };
        let row = self.rows.len();
        let path = Arc::clone(path);
        let executed = self.executions.at(pid, at).map_or(&path, |execution| &execution.executed);
        let executed = Arc::clone(executed);
        self.rows.push(Row {
            origin: LoadOrigin::Executable,
            path,
            self_time: Nanos(0),
            around,
            program: row,
        });
        LoadingProcess::executes(row, executed)
    }

    /// A new process continues with the load of the one that created it.
    fn inherited(&mut self, pid: u32, at: Nanos) -> LoadingProcess {
        let parent = self.executions.process(pid, at).map(|process| process.parent);
        if let Some(parent) = parent.and_then(|parent| self.processes.get(&parent)) {
            return parent.child();
        }
        self.unknown()
    }

    /// Of a process without a known beginning: the first row, which the tracee has.
    fn unknown(&mut self) -> LoadingProcess {
        let first = self.account.processes.first().and_then(|process| process.execs.first());
        let path: Arc<str> = first.map_or_else(|| "".into(), |exec| Arc::clone(&exec.path));
        let executed = first.map_or_else(|| Arc::clone(&path), |exec| Arc::clone(&exec.executed));
        if self.rows.is_empty() {
            let (self_time, around, program) = (Nanos(0), None, 0);
            self.rows.push(Row { origin: LoadOrigin::Executable, path, self_time, around, program });
            return LoadingProcess::executes(0, executed).during_exec();
        }
        LoadingProcess::executes(0, executed)
    }

    /// From the first byte on, every program is at work: what it loaded before has served its purpose.
    fn pass_first_byte(&mut self, now: Nanos) {
        if self.first_byte.is_none_or(|first| now < first) {
            return;
        }
        self.first_byte = None;
        let mut processes = std::mem::take(&mut self.processes);
        for process in processes.values_mut() {
            self.flush(process);
            process.has_loaded();
        }
        self.processes = processes;
    }

    fn finish(mut self) -> Vec<Row> {
        let mut processes = std::mem::take(&mut self.processes);
        for process in processes.values_mut() {
            self.flush(process);
        }
        self.rows
    }
}

/// The code that made a call or touched a page.
fn code(what: &What) -> Option<&Code> {
    match what {
        What::Call { code, .. } => code.as_ref(),
        What::Fault(fault) => fault.code.as_ref(),
        _ => None,
    }
}

/// Such code runs on behalf of others, so that it runs shows nothing.
fn works_for_others(role: Role) -> bool {
    matches!(role, Role::Loader | Role::Libc | Role::Vdso | Role::Unknown)
}

fn role(what: &What) -> Option<Role> {
    code(what).map(|code| code.module.role)
}
