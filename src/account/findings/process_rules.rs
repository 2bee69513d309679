//! Findings about processes and about the machine.

use super::{Finding, cost, noteworthy, role};
use crate::account::attribution::shares;
use crate::account::critical_path::piece_steps;
use crate::account::{Account, PathPiece, Reason, Role, Step, What};
use firstbyte_measure::arch::Wait;
use firstbyte_measure::units::Nanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The tracee executes other programs before the program itself.
pub(super) fn exec_chain(account: &Account) -> Option<Finding> {
    let root = account.processes.iter().find(|process| process.pid == account.root)?;
    let (last, before) = root.execs.split_last()?;
    if before.is_empty() {
        return None;
    }

    let names: Vec<&str> = before.iter().map(|exec| &*exec.path).collect();
    let (cost, others) = until(account, last.start);
    let also = match others {
        Nanos(0) => String::new(),
        time => format!(" The programs that they start meanwhile take {time} more."),
    };
    let text = format!(
        "`{}` is executed behind {} ({}), which take this long themselves.{also} If these only find it, calling it directly \
         saves that time.",
        last.path,
        if before.len() == 1 { "1 other exec".to_owned() } else { format!("{} other execs", before.len()) },
        names.join(", ")
    );
    Some(Finding::new("exec-chain", cost, text))
}

/// How long the tracee itself worked before an instant, and how long others did for which it waited.
fn until(account: &Account, end: Nanos) -> (Nanos, Nanos) {
    let (mut own, mut others) = (Nanos(0), Nanos(0));
    for piece in account.path.iter().filter(|piece| piece.from < end) {
        let piece = PathPiece { to: piece.to.min(end), ..*piece };
        for step in piece_steps(&account.threads[piece.thread], &piece) {
            let waits = matches!(step.what, What::Off(Reason::For(Wait::Child | Wait::Vfork)));
            let time = if piece.pid == account.root && !waits { &mut own } else { &mut others };
            *time = *time + step.own;
        }
    }
    (own, others)
}

/// Pages that had to be read from disk.
pub(super) fn from_disk(account: &Account) -> Option<Finding> {
    let from_disk = |step: &&Step| {
        matches!(&step.what, What::Fault(fault) if fault.major) || step.what == What::Off(Reason::PageRead)
    };
    let steps: Vec<&Step> = account.steps.iter().filter(from_disk).collect();
    let cost = cost(steps.iter().copied());
    if !noteworthy(cost, account, 2) {
        return None;
    }
    let faults = match account.counts.major_faults {
        1 => "1 page fault was major: its page was".to_owned(),
        count => format!("{count} page faults were major: their pages were"),
    };
    let text = format!("{faults} read from disk. A second run finds them in the page cache.");
    Some(Finding::new("from-disk", cost, text))
}

/// Other programs took the processor for a part of the time.
pub(super) fn preempted(account: &Account) -> Option<Finding> {
    let Taken { time, times: count } = preemptions(account).by_others;
    let text = format!(
        "Other programs took the processor {}. Measure on a quieter machine, or with --cpus.",
        times(count)
    );
    noteworthy(time, account, 10).then(|| Finding::new("preempted", time, text))
}

/// The program's own threads took the processor from each other.
pub(super) fn competing_threads(account: &Account) -> Option<Finding> {
    let Preemptions { by_own: Taken { time, times: count }, of_other_processes, .. } = preemptions(account);
    let (who, remedy) = if of_other_processes {
        ("processes", "fewer processes at the same time, or more processors, make this shorter")
    } else {
        (
            "threads",
            "fewer threads (a runtime has some for its compiler and its garbage collector), or more processors, make this \
             shorter",
        )
    };
    let text = format!(
        "The program's own {who} took the processor {} from the one that the others wait for. They compete: {remedy}.",
        times(count)
    );
    noteworthy(time, account, 10).then(|| Finding::new("competing-threads", time, text))
}

/// The times of the path in which a thread could have run, but another one did.
#[derive(Default)]
struct Preemptions {
    by_own: Taken,
    by_others: Taken,
    /// Some of the program's threads that took the processor belong to another process than the one that lost it.
    of_other_processes: bool,
}

#[derive(Default)]
struct Taken {
    time: Nanos,
    times: usize,
}

impl Taken {
    fn add(&mut self, time: Nanos) {
        self.time = self.time + time;
        self.times += usize::from(time > Nanos(0));
    }
}

/// A thread's time on a processor without a break.
struct Turn {
    pid: u32,
    end: Nanos,
}

fn preemptions(account: &Account) -> Preemptions {
    let turns = turns(account);
    let mut all = Preemptions::default();
    for step in account.steps.iter().filter(|step| step.what == What::Off(Reason::Preempted)) {
        let end = step.start + step.elapsed;
        let mut at = step.start;
        if let Some((piece, left)) = left_at(account, step) {
            at = left;
            // The kernel gives the processor to the next thread at the instant at which the one before leaves it.
            while let Some(turn) = turns.get(&at).filter(|_| at < end) {
                all.of_other_processes |= turn.pid != piece.pid;
                at = turn.end;
            }
        }
        let by_own = at.min(end).0.saturating_sub(step.start.0).min(step.own.0);
        all.by_own.add(Nanos(by_own));
        all.by_others.add(Nanos(step.own.0 - by_own));
    }
    all
}

/// The turns of all threads after their waits, by the instant at which each begins.
fn turns(account: &Account) -> BTreeMap<Nanos, Turn> {
    let mut turns = BTreeMap::new();
    for thread in &account.threads {
        let mut waits = thread.steps.iter().filter(|step| matches!(step.what, What::Off(_))).peekable();
        while let Some(wait) = waits.next() {
            let begin = wait.start + wait.elapsed;
            let end = waits.peek().map_or(thread.start + thread.lifetime, |next| next.start);
            if end > begin {
                turns.insert(begin, Turn { pid: thread.pid, end });
            }
        }
    }
    turns
}

/// The piece of the path with this step, and when its thread left the processor: the step begins later if the path comes to the
/// thread later.
fn left_at<'a>(account: &'a Account, step: &Step) -> Option<(&'a PathPiece, Nanos)> {
    let piece = account.path.iter().find(|piece| (piece.from..piece.to).contains(&step.start))?;
    let steps = &account.threads.get(piece.thread)?.steps;
    let holds =
        |own: &&Step| own.what == step.what && (own.start..own.start + own.elapsed).contains(&step.start);
    steps.iter().find(holds).map(|own| (piece, own.start))
}

/// A timer that the program set for itself.
pub(super) fn sleep(account: &Account) -> Option<Finding> {
    let waits_are_seen = waits_are_seen(account);
    let sleeps = |step: &&Step| match &step.what {
        What::Call { name, .. } => !waits_are_seen && is_sleep(name),
        what => *what == What::Off(Reason::For(Wait::Sleep)),
    };
    let steps: Vec<&Step> = account.steps.iter().filter(sleeps).collect();
    let cost = cost(steps.iter().copied());
    let text = format!(
        "The program sleeps {} on the critical path. Nothing works meanwhile: wait for the event instead.",
        times(steps.len())
    );
    (!steps.is_empty()).then(|| Finding::new("sleep", cost, text))
}

/// ptrace does not see when a thread leaves the processor: its waits are part of its calls.
fn waits_are_seen(account: &Account) -> bool {
    let mut steps = account.threads.iter().flat_map(|thread| &thread.steps);
    steps.any(|step| matches!(step.what, What::Off(_)))
}

fn is_sleep(call: &str) -> bool {
    Reason::of_call(call) == Reason::For(Wait::Sleep)
}

fn times(count: usize) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// Waits that no thread of the program ends.
pub(super) fn waits(account: &Account) -> Option<Finding> {
    let mut waits: BTreeMap<(Reason, bool), Waited> = BTreeMap::new();
    let mut call = None;
    for step in &account.steps {
        match &step.what {
            What::Call { file, .. } => call = Some((step.start + step.elapsed, file.as_deref())),
            What::Off(reason) if !is_explained(*reason) => {
                let around = call.filter(|(end, _)| step.start < *end).and_then(|(_, file)| file);
                let to_us = matches!(around, Some("stdout" | "stderr"));
                waits.entry((*reason, to_us)).or_default().add(step.own, around);
            }
            _ => {}
        }
    }
    let ((reason, to_us), Waited { count, cost, longest }) =
        waits.into_iter().max_by_key(|(_, waited)| waited.cost)?;
    if !noteworthy(cost, account, 5) {
        return None;
    }
    let times = times(count);
    let text = if to_us && reason == Reason::For(Wait::Write) {
        format!(
            "The program waits until its output is read ({times}): it writes more than fits into the pipe, which \
             firstbyte reads here. A reader that is faster or slower changes this time."
        )
    } else if reason == Reason::Exec {
        format!(
            "The process sleeps inside its exec ({times}): the kernel reads the file from disk there, waits for a lock, or \
             moves the process to a processor that has less to do. Measure on a quieter machine."
        )
    } else {
        let place = longest.1.map_or(String::new(), |file| format!(", the longest on `{file}`"));
        format!(
            "The program waits for {} ({times}{place}), and nothing that it does ends this wait: another program, a \
             device, the network or a timer does.",
            reason.name()
        )
    };
    Some(Finding::new("waits", cost, text).about(reason.name()))
}

/// Waits of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Waited<'s> {
    count: usize,
    cost: Nanos,
    /// The time of the longest one, and its file.
    longest: (Nanos, Option<&'s str>),
}

impl<'s> Waited<'s> {
    fn add(&mut self, time: Nanos, file: Option<&'s str>) {
        (self.count, self.cost) = (self.count + 1, self.cost + time);
        if time > self.longest.0 {
            self.longest = (time, file);
        }
    }
}

/// Other findings have these waits, or they are no wait for anybody.
fn is_explained(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::For(Wait::Sleep)
            | Reason::Preempted
            | Reason::Runnable
            | Reason::Created
            | Reason::PageRead
            | Reason::Gone
    )
}

/// What the program does when its first byte is out.
pub(super) fn after_the_first_byte(account: &Account) -> Option<Finding> {
    let first = account.phases.first_byte()?;
    let cost = account.total - first;
    if !noteworthy(cost, account, 10) {
        return None;
    }
    let after: Vec<Step> = account.steps.iter().filter(|step| step.start >= first).cloned().collect();
    let longest = shares(&after).into_iter().max_by_key(|share| share.time)?;
    let mostly =
        programs_after(account, first).unwrap_or_else(|| format!("{}, {}", longest.title(), longest.time));
    let text = format!(
        "After its first byte the program works on until it exits, mostly: {mostly}. Everyone who waits for the program's \
         end waits for that, too."
    );
    Some(Finding::new("after-first-byte", cost, text))
}

/// The programs that worked after an instant, if the one that works longest is not the tracee.
fn programs_after(account: &Account, first: Nanos) -> Option<String> {
    let mut programs: BTreeMap<(bool, &str), u64> = BTreeMap::new();
    for piece in account.path.iter().filter(|piece| piece.to > first) {
        let path = account.execution(piece.pid, piece.from).map_or("", |execution| &*execution.path);
        let name = path.rsplit('/').next().unwrap_or(path);
        *programs.entry((piece.pid == account.root, name)).or_default() +=
            piece.to.0 - piece.from.max(first).0;
    }
    let mut programs: Vec<((bool, &str), u64)> = programs.into_iter().collect();
    programs.sort_by_key(|(_, time)| Reverse(*time));
    let ((is_root, _), _) = programs.first()?;
    let shown: Vec<String> =
        programs.iter().take(3).map(|((_, name), time)| format!("`{name}` {}", Nanos(*time))).collect();
    (!is_root).then(|| shown.join(", "))
}

/// What a system call costs in all, outside the loader.
#[derive(Default)]
struct Calls<'a> {
    count: usize,
    time: Nanos,
    /// Of those that did not fail: failed ones may be searches, which another finding explains.
    useful: Nanos,
    files: BTreeMap<&'a str, Nanos>,
}

/// The system calls with one name that take the most time: a thousand of them, or a tenth of the total.
pub(super) fn slow_calls(account: &Account) -> Option<Finding> {
    let mut all: BTreeMap<&str, Calls> = BTreeMap::new();
    for step in &account.steps {
        let What::Call { name, file, failed, .. } = &step.what else { continue };
        // other findings name what the loader does, what lies behind the first byte, and sleeps
        if role(&step.what) == Some(Role::Loader) || name.starts_with("exit") || is_sleep(name) {
            continue;
        }
        let calls = all.entry(name).or_default();
        (calls.count, calls.time) = (calls.count + 1, calls.time + step.own);
        if *failed {
            continue;
        }
        calls.useful = calls.useful + step.own;
        if let Some(file) = file {
            let time = calls.files.entry(file).or_default();
            *time = *time + step.own;
        }
    }
    let (name, calls) = all.into_iter().max_by_key(|(_, calls)| calls.time)?;

    if calls.count >= 1000 && noteworthy(calls.time, account, 2) {
        let text = format!(
            "The system call `{name}` is made {} times. Larger buffers, or fewer repetitions, save calls.",
            calls.count
        );
        return Some(Finding::new("repeated-calls", calls.time, text).about(name));
    }
    let longest = calls.files.iter().max_by_key(|(_, time)| **time);
    let longest = longest.map_or(String::new(), |(file, time)| format!(", the longest for `{file}`, {time}"));
    let may_wait = Reason::of_call(name) != Reason::Kernel && !waits_are_seen(account);
    let works = if may_wait { "works or waits" } else { "works" };
    let text = match calls.count {
        1 => format!("The kernel {works} this long in one system call, `{name}`{longest}."),
        count => format!("The kernel {works} this long in {count} system calls `{name}`{longest}."),
    };
    noteworthy(calls.useful, account, 10).then(|| Finding::new("slow-calls", calls.useful, text).about(name))
}
