//! Reads the events of a recording in order, and follows every process and thread.

mod exits;
mod pipe_names;

use super::announced::announcer;
use super::apply::{KnownCall, apply, file_of};
use super::binaries::Binaries;
use super::call_text;
use super::event_loops::EventLoops;
use super::inferred_wakes::{self, InferredWakes, of_futexes, of_signals};
use super::model::{Creation, Execution, ProcessAccount, ThreadAccount, Wake};
use super::pipes::PipeUses;
use super::process::Process;
use super::step::{ExecStage, PageFault, Reason, What};
use super::thread::Thread;
use firstbyte_measure::arch::{CallFacts, FileCall, Wait, file_calls};
use firstbyte_measure::tracer::event::{Call, Fault, Image, OffCpu};
use firstbyte_measure::tracer::{Backend, Event, EventKind, Recording, Syscall};
use firstbyte_measure::units::Nanos;
use pipe_names::Holders;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

pub(super) struct Reconstruction {
    pub(super) threads: Vec<ThreadAccount>,
    pub(super) processes: Vec<ProcessAccount>,
    /// The bytes that `read` and similar calls returned, by file.
    pub(super) bytes_read: Vec<(Arc<str>, u64)>,
    /// The sum of all of them, including those from pipes and sockets.
    pub(super) all_bytes_read: u64,
}

struct Reader<'b> {
    binaries: &'b dyn Binaries,
    by_ptrace: bool,
    /// Ends of waits that ptrace does not see.
    inferred: InferredWakes,
    pipes: PipeUses,
    loops: EventLoops,
    zero: Nanos,
    root: u32,
    processes: HashMap<u32, Process>,
    /// Which programs have the ends of pipes.
    holders: Holders,
    accounts: Vec<ProcessAccount>,
    /// Where the account of the process is that has an id now.
    places: HashMap<u32, usize>,
    /// The children of a process that have ended and were not waited for, by id, each with the place of its account.
    left: HashMap<u32, BTreeMap<u32, usize>>,
    threads: HashMap<u32, Thread>,
    /// Threads that have exited. The kernel may still work for them.
    gone: HashSet<u32>,
    finished: Vec<Thread>,
    execs: HashMap<u32, Exec>,
    bytes_read: HashMap<Arc<str>, u64>,
    all_bytes_read: u64,
    known: HashMap<Syscall, KnownCall>,
    /// A program can make the same call a million times.
    calls: HashSet<Arc<What>>,
    /// When each process got each signal last.
    signals: HashMap<(u32, i32), Nanos>,
    /// The wait status of each thread that has exited.
    exits: HashMap<u32, i32>,
}

/// An exec in progress.
#[derive(Default)]
struct Exec {
    pid: u32,
    entered: Nanos,
    prepared: Option<Nanos>,
    /// When the calling thread took over the id of the first thread of its process; 0: it is the first thread.
    taken_over: Nanos,
    committed: Option<(Nanos, Image)>,
    /// Faults in memory that is not known before the image is: zeroed data and the stack.
    faults: Vec<(Event, Fault)>,
}

impl Reconstruction {
    pub(super) fn of(recording: &Recording, binaries: &dyn Binaries, total: Nanos) -> Reconstruction {
        let root = recording.root;
        let entered = recording.events.iter().find(|e| e.pid == root && e.kind == EventKind::ExecEnter);
        let zero = entered.map_or(Nanos(0), |event| event.at);
        let by_ptrace = recording.backend == Backend::Ptrace;
        let mut reader = Reader {
            binaries,
            by_ptrace,
            inferred: if by_ptrace { inferred(&recording.events) } else { InferredWakes::new() },
            pipes: PipeUses::default(),
            loops: EventLoops::default(),
            zero,
            root,
            processes: HashMap::from([(root, Process::tracee())]),
            holders: Holders::default(),
            accounts: vec![process(root, 0, Nanos(0))],
            places: HashMap::from([(root, 0)]),
            left: HashMap::new(),
            gone: HashSet::new(),
            threads: HashMap::from([(root, Thread::new(root, root, zero))]),
            finished: Vec::new(),
            execs: HashMap::new(),
            bytes_read: HashMap::new(),
            all_bytes_read: 0,
            known: HashMap::new(),
            calls: HashSet::new(),
            signals: HashMap::new(),
            exits: recording.events.iter().filter_map(exits::status).collect(),
        };

        let events = &recording.events;
        let ended = events.iter().find(|event| matches!(event.kind, EventKind::Reached { .. }));
        let ended = ended.map(|event| event.at);
        let is_within = |event: &&Event| {
            event.pid != 0 && event.at >= zero && ended.is_none_or(|ended| begun(event) < ended)
        };
        for event in events.iter().filter(is_within) {
            reader.read(event);
        }
        if let Some([_, tid]) = announcer(events) {
            reader.outlive(tid, zero + total);
        }
        reader.finish(total)
    }
}

/// Ends of waits that only the calls tell of.
fn inferred(events: &[Event]) -> InferredWakes {
    of_futexes(events).into_iter().chain(of_signals(events)).collect()
}

/// When something began whose event is its end.
fn begun(event: &Event) -> Nanos {
    match &event.kind {
        EventKind::Call(call) => call.entered,
        EventKind::Fault(fault) => fault.entered,
        EventKind::OffCpu(absence) if absence.left.0 > 0 => absence.left,
        _ => event.at,
    }
}

fn process(pid: u32, parent: u32, start: Nanos) -> ProcessAccount {
    ProcessAccount {
        pid,
        parent,
        start,
        end: None,
        status: None,
        waited_for: false,
        execs: Vec::new(),
        threads: 1,
    }
}

impl Reader<'_> {
    fn read(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ExecEnter => {
                self.execs.insert(event.tid, Exec { pid: event.pid, entered: event.at, ..Exec::default() });
            }
            EventKind::ExecPrepare => {
                if let Some(exec) = self.execs.get_mut(&event.tid) {
                    exec.prepared = Some(event.at);
                }
            }
            EventKind::Image(image) => self.image(event, image),
            EventKind::ExecExit { result } => self.exec_exit(event, *result),
            EventKind::Call(call) => self.call(event, call),
            EventKind::Fault(fault) if self.kept_for_next_image(event, fault) => {}
            EventKind::Fault(_) | EventKind::OffCpu(_) if self.gone.contains(&event.tid) => {}
            EventKind::Fault(fault) => self.fault(event, fault),
            EventKind::OffCpu(absence) => self.off_cpu(event, absence),
            EventKind::Fork { child_pid, child_tid } => self.fork(event, *child_pid, *child_tid),
            EventKind::Exit { group_dead, status } => self.exit(event, *group_dead, *status),
            EventKind::ParentTold => self.parent_told(event),
            EventKind::Signalled { signal } => {
                self.signals.insert((event.pid, *signal), event.at);
            }
            _ => {}
        }
    }

    fn since(&self, at: Nanos) -> Nanos {
        Nanos(at.0.saturating_sub(self.zero.0))
    }

    fn thread(&mut self, event: &Event) -> &mut Thread {
        self.threads.entry(event.tid).or_insert_with(|| Thread::new(event.pid, event.tid, event.at))
    }

    fn image(&mut self, event: &Event, image: &Image) {
        // a thread other than the leader may have taken over the leader's id
        let caller = image.old_tid.filter(|old| *old != event.tid && self.execs.contains_key(old));
        let exec = self.execs.remove(&caller.unwrap_or(event.tid));
        let mut exec = exec.unwrap_or(Exec { pid: event.pid, entered: event.at, ..Exec::default() });
        exec.committed = Some((event.at, image.clone()));
        if let Some(caller) = caller {
            exec.taken_over = self.take_over(event, caller);
            self.exec_stages(caller, &exec, event.at, [Nanos(0), exec.taken_over]);
            self.finished.extend(self.threads.remove(&caller));
        }
        let faults = std::mem::take(&mut exec.faults);
        self.execs.insert(event.tid, exec);
        let binaries = self.binaries;
        self.replaced(event.pid, |process| process.exec(image, binaries));
        self.ends_closed_by_exec(event);
        self.replay_kept_faults(&faults);
    }

    /// A thread continues under the id of the first thread of its process, which has ended (`de_thread` in `fs/exec.c`). This
    /// happens after the last events of both threads under their own ids; that time is returned.
    fn take_over(&mut self, event: &Event, caller: u32) -> Nanos {
        self.gone.remove(&event.tid);
        let was = |thread: &Thread| (thread.pid, thread.tid) == (event.pid, event.tid);
        if !self.threads.contains_key(&event.tid)
            && let Some(index) = self.finished.iter().rposition(was)
        {
            self.threads.insert(event.tid, self.finished.remove(index));
        }
        let seen = self.threads.get(&caller).map_or(Nanos(0), Thread::last_seen);
        let leader = self.thread(event);
        let at = seen.max(leader.ended.unwrap_or_default()).min(event.at);
        leader.taken_over_at(at);
        if let Some(caller) = self.threads.get_mut(&caller) {
            caller.ended = Some(at);
        }
        at
    }

    /// Adds the parts of an exec's stages that are between two instants.
    fn exec_stages(&mut self, tid: u32, exec: &Exec, end: Nanos, [from, to]: [Nanos; 2]) {
        let image = Image::default();
        let (committed, image) = exec.committed.as_ref().map_or((end, &image), |(at, image)| (*at, image));
        let path: Arc<str> = image.path.as_str().into();
        let prepared = exec.prepared.unwrap_or(committed).min(committed);
        let stages = [
            (ExecStage::Open, exec.entered, prepared),
            (ExecStage::Load, prepared, committed),
            (ExecStage::Return, committed, end),
        ];

        let Some(thread) = self.threads.get_mut(&tid) else { return };
        for (stage, begin, end) in stages {
            let (begin, end) = (begin.max(from), end.min(to));
            if begin < end {
                let what = What::Exec { stage, path: Arc::clone(&path) };
                thread.kernel(begin, end, what);
            }
        }
    }

    fn exec_exit(&mut self, event: &Event, result: i64) {
        let Some(exec) = self.execs.remove(&event.tid) else { return };
        self.replay_kept_faults(&exec.faults);
        if result != 0 {
            return; // a failed exec has a record of a system call, too
        }

        self.thread(event);
        self.exec_stages(event.tid, &exec, event.at, [exec.taken_over, event.at]);
        let image = exec.committed.map(|(_, image)| image).unwrap_or_default();
        let execution = Execution {
            start: self.since(exec.entered),
            took: Nanos(event.at.0.saturating_sub(exec.entered.0)),
            path: image.path.as_str().into(),
            executed: image.executed.as_str().into(),
            argv: image.argv,
        };

        if let Some(account) = self.account(event.pid) {
            account.execs.push(execution);
        }
    }

    fn account(&mut self, pid: u32) -> Option<&mut ProcessAccount> {
        self.accounts.get_mut(*self.places.get(&pid)?)
    }

    fn call(&mut self, event: &Event, call: &Call) {
        let known = self.known.entry(call.call).or_insert_with(|| KnownCall::of(call.call)).clone();
        let KnownCall { name, facts } = &known;
        let binaries = self.binaries;
        let pipe_names = facts.map_or_else(HashMap::new, |facts| self.pipe_names(event.pid, call, facts));
        let process = self.processes.entry(event.pid).or_default();
        let file = file_of(process, &known, call);
        let code = process.caller(call.ip, &call.stack, binaries);
        // before the call closes its descriptors
        let text = match self.exits.get(&event.tid).filter(|_| call.result.is_none()) {
            Some(status) if matches!(&**name, "exit" | "exit_group") => call_text::exit_text(name, *status),
            _ => {
                let file =
                    |number| process.descriptors.name(number).or_else(|| pipe_names.get(&number).cloned());
                call_text::text(call, &file)
            }
        };
        if let Some(facts) = facts.filter(|_| self.by_ptrace) {
            self.pipes.call(event, call, facts, &process.descriptors);
            self.loops.call(event, call, facts, &process.descriptors);
        }
        apply(process, &known, call, file.as_ref());
        self.ends_changed(event, call.entered);
        if let (Some(FileCall::Read), Some(read @ 1..)) = (file_calls().get(call.call), call.result) {
            self.has_read(file.as_ref(), read.unsigned_abs());
        }
        let failed = call.error().is_some();
        if self.by_ptrace
            && let Some(wake) = self.inferred.remove(&(event.tid, event.at))
        {
            self.thread(event).wakes.push(wake);
        }
        if facts.and_then(CallFacts::waits_for) == Some(Wait::Child) {
            self.waited(event, call, name);
        }
        let what = self.shared(What::Call { name: known.name, text, file, failed, code });
        let until = if call.result.is_some() { event.at } else { Nanos(u64::MAX) };
        self.thread(event).kernel(call.entered, until, what);
    }

    /// The same for all calls that say the same.
    fn shared(&mut self, call: What) -> Arc<What> {
        if let Some(known) = self.calls.get(&call) {
            return Arc::clone(known);
        }
        let call = Arc::new(call);
        self.calls.insert(Arc::clone(&call));
        call
    }

    /// A thread waited for a child. ptrace sees no wake-ups, but this call tells of one.
    fn waited(&mut self, event: &Event, call: &Call, name: &str) {
        let now = self.since(event.at);
        let left = self.left.get(&event.pid);
        let has_ended = |place: &usize| self.accounts[*place].end.is_some_and(|end| end < now);
        let ended = left.into_iter().flatten().filter(|(_, place)| has_ended(place)).map(|(pid, _)| *pid);
        let Some(child) = inferred_wakes::child_of(name, call, ended) else { return };
        let place = left.and_then(|left| left.get(&child)).copied().filter(has_ended);
        let Some(place) = place else { return };

        self.left.entry(event.pid).or_default().remove(&child);
        let last = &mut self.accounts[place];
        last.waited_for = true;
        let woken = last.end.unwrap_or_default() + self.zero;
        if self.by_ptrace && woken >= call.entered {
            self.thread(event).wakes.push(Wake { from: call.entered, woken, waker: [child, child] });
        }
    }

    fn has_read(&mut self, file: Option<&Arc<str>>, bytes: u64) {
        self.all_bytes_read = self.all_bytes_read.saturating_add(bytes);
        if let Some(file) = file {
            let sum = self.bytes_read.entry(Arc::clone(file)).or_default();
            *sum = sum.saturating_add(bytes);
        }
    }

    /// The exec during which an event happened. A thread gets the id of the first thread before the event of its image.
    fn exec_around(&mut self, event: &Event) -> Option<&mut Exec> {
        let has_ended = event.tid == event.pid
            && (self.gone.contains(&event.tid)
                || self.threads.get(&event.tid).is_some_and(|thread| thread.ended.is_some()));
        if has_ended && !self.execs.contains_key(&event.tid) {
            return self.execs.values_mut().find(|exec| exec.pid == event.pid);
        }
        self.execs.get_mut(&event.tid)
    }

    /// Whether a fault is in an image that is being built. If so, it is kept until the image is known.
    fn kept_for_next_image(&mut self, event: &Event, fault: &Fault) -> bool {
        let is_mapped = self
            .processes
            .get(&event.pid)
            .is_some_and(|process| process.memory.find(fault.address).is_some());
        let Some(exec) = self.exec_around(event) else { return false };
        let is_old = exec.prepared.is_none() && is_mapped;
        if fault.user || exec.committed.is_some() || is_old {
            return false;
        }
        exec.faults.push((event.clone(), fault.clone()));
        true
    }

    fn replay_kept_faults(&mut self, faults: &[(Event, Fault)]) {
        for (event, fault) in faults {
            self.fault(event, fault);
        }
    }

    fn fault(&mut self, event: &Event, fault: &Fault) {
        let binaries = self.binaries;
        let process = self.processes.entry(event.pid).or_default();
        let (region, page) = process.region(fault.address);
        let code = if fault.user { process.code(fault.ip, binaries) } else { None };
        let what = What::Fault(PageFault { region, page, write: fault.write, major: fault.major, code });
        self.thread(event).fault(fault.entered, event.at, what);
    }

    fn off_cpu(&mut self, event: &Event, absence: &OffCpu) {
        let thread = self.thread(event);
        let from = if absence.left.0 == 0 { thread.begun } else { absence.left };
        let reason = match absence {
            OffCpu { left: Nanos(0), .. } => Some(Reason::Created),
            OffCpu { preempted: true, .. } => Some(Reason::Preempted),
            _ => None,
        };
        let woken = absence.woken;
        if let Some(waker) = absence.waker.filter(|_| reason.is_none() && from < woken) {
            thread.wakes.push(Wake { from, woken: woken.min(event.at), waker });
        }
        if reason.is_none() && from < woken && woken < event.at {
            thread.off(from, woken, None);
            thread.off(woken, event.at, Some(Reason::Runnable));
        } else {
            thread.off(from, event.at, reason);
        }
    }

    fn fork(&mut self, event: &Event, child_pid: u32, thread: u32) {
        if child_pid == event.pid {
            if let Some(account) = self.account(child_pid) {
                account.threads += 1;
            }
        } else {
            let copy = self.processes.entry(event.pid).or_default().clone();
            self.copied(child_pid, copy);
            let start = self.since(event.at);
            self.places.insert(child_pid, self.accounts.len());
            self.accounts.push(process(child_pid, event.pid, start));
        }
        self.gone.remove(&thread); // ids are reused
        let mut child = Thread::new(child_pid, thread, event.at);
        child.creator = Some(Creation { pid: event.pid, tid: event.tid });
        self.finished.extend(self.threads.insert(thread, child));
    }

    /// The thread that brought about the end of the run was alive then. It had made no event for a while: it waited in a
    /// call, or for a turn on a processor.
    fn outlive(&mut self, tid: u32, end: Nanos) {
        let alive = self.threads.get_mut(&tid).filter(|thread| thread.ended.is_none());
        if let Some(thread) = alive
            && thread.last_seen() < end
        {
            thread.off(thread.last_seen(), end, Some(Reason::Kernel));
        }
    }

    /// ptrace sees no wake-ups, but what was done with pipes and event descriptors tells of some.
    fn add_wakes_by_descriptors(&mut self) {
        let mut threads: HashMap<u32, Vec<&mut Thread>> = HashMap::new();
        for thread in self.finished.iter_mut().chain(self.threads.values_mut()) {
            threads.entry(thread.tid).or_default().push(thread);
        }
        for (tid, wake) in self.pipes.wakes().into_iter().chain(self.loops.wakes()) {
            let had_id = threads.get_mut(&tid).into_iter().flatten();
            let was_there = had_id.filter(|thread| thread.begun <= wake.from);
            if let Some(thread) = was_there.max_by_key(|thread| thread.begun) {
                thread.wakes.push(wake);
            }
        }
        for thread in threads.into_values().flatten() {
            thread.wakes.sort_by_key(|wake| wake.woken);
        }
    }

    fn finish(mut self, total: Nanos) -> Reconstruction {
        for exec in std::mem::take(&mut self.execs).into_values() {
            self.replay_kept_faults(&exec.faults);
        }
        if self.by_ptrace {
            self.add_wakes_by_descriptors();
        }
        let (zero, end) = (self.zero, self.zero + total);
        let main = self.threads.remove(&self.root).unwrap_or_else(|| Thread::new(self.root, self.root, zero));
        let mut others: Vec<Thread> = self.finished.into_iter().chain(self.threads.into_values()).collect();
        others.sort_by_key(|thread| (thread.begun, thread.tid));
        let mut threads = vec![explained(main, zero, end, zero)];
        threads.extend(others.into_iter().map(|thread| {
            let (from, to) =
                (thread.begun, thread.ended.unwrap_or_else(|| thread.last_seen().min(end).max(thread.begun)));
            explained(thread, from, to, zero)
        }));
        for thread in &mut threads {
            inferred_wakes::name_waits_for_children(thread, &self.accounts);
        }
        let mut bytes_read: Vec<(Arc<str>, u64)> = self.bytes_read.into_iter().collect();
        bytes_read.sort();
        Reconstruction { threads, processes: self.accounts, bytes_read, all_bytes_read: self.all_bytes_read }
    }
}

fn explained(thread: Thread, from: Nanos, to: Nanos, zero: Nanos) -> ThreadAccount {
    ThreadAccount {
        pid: thread.pid,
        tid: thread.tid,
        start: Nanos(from.0.saturating_sub(zero.0)),
        lifetime: Nanos(to.0.saturating_sub(from.0)),
        creator: thread.creator,
        wakes: thread.wakes.iter().map(|wake| wake.since(zero)).collect(),
        steps: thread.steps(from, to, zero),
    }
}
