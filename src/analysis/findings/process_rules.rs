//! Findings about processes and about the machine.

use super::extent::Extent;
use super::floors::floor;
use super::peers::{is_connecting, peer};
use super::wrapped::chain;
use super::{Finding, cost, fewer_calls, noteworthy, role};
use crate::analysis::attribution::shares;
use crate::analysis::critical_path::{main_thread_waits, piece_steps};
use crate::analysis::step_times::StepTimes;
use crate::analysis::{Account, Execution, PathPiece, ProcessAccount, Reason, Role, Step, What};
use firstbyte_measure::arch::Wait;
use firstbyte_measure::units::Nanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The tracee executes other programs before the program itself, or starts the program as a child and waits for it.
pub(super) fn exec_chain(account: &Account) -> Option<Finding> {
    let chain = chain(account);
    let program = chain.last()?;
    let execs: Vec<&Execution> = chain.iter().flat_map(|process| &process.execs).collect();
    let (last, before) = execs.split_last()?;
    if before.is_empty() {
        return None;
    }

    let names: Vec<&str> = before.iter().map(|exec| &*exec.path).collect();
    let (how, when, end) = match program.end {
        Some(end) if program.pid != account.root => ("works in a child process", " before and after it", end),
        _ => ("is executed", "", account.total),
    };
    let (own, others) = outside(account, &chain, [last.start, end]);
    let of_it = match others {
        Nanos(0) => String::new(),
        time => format!(", {time} of it in programs started meanwhile"),
    };
    let (execs, take, they_find) = match before.len() {
        1 => ("1 other exec".to_owned(), "takes", "it only finds"),
        count => (format!("{count} other execs"), "take", "they only find"),
    };
    let text = format!(
        "`{}` {how} behind {execs} ({}), which {take} this long{when}{of_it}. If {they_find} the program, calling it directly \
         saves that time.",
        last.path,
        names.join(", ")
    );
    let extent = [[Nanos(0), last.start], [end, Nanos(u64::MAX)]]
        .map(|times| Extent::between(account, times, |_| true))
        .into_iter()
        .fold(Extent::default(), |all, part| all.and(&part));
    Some(Finding::new("exec-chain", own + others, text).saving_all().on(extent))
}

/// How long the processes of a chain themselves worked outside of an interval, and how long others did for which they waited.
fn outside(account: &Account, chain: &[&ProcessAccount], [from, to]: [Nanos; 2]) -> (Nanos, Nanos) {
    let (mut ours, mut others) = (Nanos(0), Nanos(0));
    let times = StepTimes::of(&account.threads);
    let parts = |piece: &PathPiece| {
        [PathPiece { to: piece.to.min(from), ..*piece }, PathPiece { from: piece.from.max(to), ..*piece }]
    };
    for piece in account.path.iter().flat_map(parts).filter(|piece| piece.from < piece.to) {
        let is_of_chain = chain.iter().any(|process| process.pid == piece.pid);
        for step in piece_steps(&times, &piece) {
            let waits = matches!(*step.what, What::Off(Reason::For(Wait::Child | Wait::Vfork)));
            let time = if is_of_chain && !waits { &mut ours } else { &mut others };
            *time = *time + step.self_time;
        }
    }
    (ours, others)
}

/// Pages that had to be read from disk.
pub(super) fn from_disk(account: &Account) -> Option<Finding> {
    let from_disk = |step: &&Step| {
        matches!(&*step.what, What::Fault(fault) if fault.major) || *step.what == What::Off(Reason::PageRead)
    };
    let steps: Vec<&Step> = account.steps.iter().filter(from_disk).collect();
    let cost = cost(steps.iter().copied());
    if !noteworthy(cost, account, floor("from-disk")) {
        return None;
    }
    let faults = match account.counts.major_faults {
        1 => "1 page fault was major: its page was".to_owned(),
        count => format!("{count} page faults were major: their pages were"),
    };
    let text = format!("{faults} read from disk. A second run finds them in the page cache.");
    Some(Finding::new("from-disk", cost, text).on(Extent::of(steps)))
}

/// A timer that the program set for itself.
pub(super) fn sleep(account: &Account) -> Option<Finding> {
    let waits_are_seen = waits_are_seen(account);
    let sleeps = |step: &&Step| match &*step.what {
        What::Call { name, .. } => !waits_are_seen && is_sleep(name),
        what => *what == What::Off(Reason::For(Wait::Sleep)),
    };
    let steps: Vec<&Step> = account.steps.iter().filter(sleeps).collect();
    let cost = cost(steps.iter().copied());
    let text = format!(
        "The program sleeps {} on the critical path. Nothing works meanwhile: wait for the event instead.",
        times(steps.len())
    );
    (!steps.is_empty()).then(|| Finding::new("sleep", cost, text).saving_all().on(Extent::of(steps)))
}

/// ptrace does not see when a thread leaves the processor: its waits are part of its calls.
fn waits_are_seen(account: &Account) -> bool {
    let mut steps = account.threads.iter().flat_map(|thread| &thread.steps);
    // it sees when threads begin, and when the first one ends before its process
    steps.any(
        |step| matches!(*step.what, What::Off(reason) if !matches!(reason, Reason::Created | Reason::Gone)),
    )
}

fn is_sleep(call: &str) -> bool {
    Reason::of_call(call) == Reason::For(Wait::Sleep)
}

pub(super) fn times(count: usize) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// Waits that no thread of the program ends, or of the main thread alone.
pub(super) fn waits(account: &Account) -> Option<Finding> {
    let mut waits: BTreeMap<(Reason, End), Waited> = BTreeMap::new();
    let waits_are_seen = waits_are_seen(account);
    let ended_by_others =
        if is_of_main_thread(account) { main_thread_waits(&account.threads) } else { Vec::new() };
    let mut call = None;
    for step in &account.steps {
        match &*step.what {
            What::Call { name, .. } if !waits_are_seen && is_wait_alone(step) => {
                let reason = Reason::of_call(name);
                let end = if End::of(reason, step) == End::Timeout { End::Timeout } else { End::Unseen };
                waits.entry((reason, end)).or_default().add(step.self_time, Some(step));
            }
            What::Call { .. } => call = Some(step),
            What::Off(reason) if !is_explained(*reason) => {
                let around = call.filter(|call| step.start < call.start + call.elapsed);
                let end = match around {
                    _ if ended_by_others.binary_search(&step.start).is_ok() => End::Ours,
                    Some(call) => End::of(*reason, call),
                    None => End::Unknown,
                };
                waits.entry((*reason, end)).or_default().add(step.self_time, around);
            }
            _ => {}
        }
    }
    let ((reason, end), waited) = waits.into_iter().max_by_key(|(_, waited)| waited.cost)?;
    let is_one = |step: &&Step| match &*step.what {
        What::Off(of_step) => *of_step == reason,
        What::Call { name, .. } => !waits_are_seen && is_wait_alone(step) && Reason::of_call(name) == reason,
        _ => false,
    };
    let extent = Extent::of(account.steps.iter().filter(is_one)).part(waited.cost);
    noteworthy(waited.cost, account, floor("waits")).then(|| {
        Finding::new("waits", waited.cost, waited.text(account, reason, end)).about(reason.name()).on(extent)
    })
}

/// Whether the path is that of the main thread, however long it waits for others.
fn is_of_main_thread(account: &Account) -> bool {
    matches!(&account.path[..], [piece] if piece.tid == account.root) && account.threads.len() > 1
}

/// Whether a call that can wait did nothing else: it failed, or its timeout expired. A sleep is another finding.
fn is_wait_alone(step: &Step) -> bool {
    let What::Call { name, failed, .. } = &*step.what else { return false };
    let reason = Reason::of_call(name);
    let can_wait = matches!(reason, Reason::For(_)) && !is_sleep(name);
    can_wait && (*failed || End::of(reason, step) == End::Timeout)
}

/// What ends a wait, as far as its call tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// Another thread or process of the program.
    Ours,
    /// Somebody reads what the program writes.
    Reader,
    /// The time that the program gave to the call has passed.
    Timeout,
    /// The backend does not see who wakes a thread.
    Unseen,
    Unknown,
}

impl End {
    fn of(reason: Reason, call: &Step) -> End {
        let What::Call { text, file, .. } = &*call.what else { return End::Unknown };
        let nothing_ready = reason == Reason::For(Wait::Poll) && text.ends_with(" = 0");
        if nothing_ready || text.ends_with(" ETIMEDOUT") {
            End::Timeout
        } else if reason == Reason::For(Wait::Write) && matches!(file.as_deref(), Some("stdout" | "stderr")) {
            End::Reader
        } else {
            End::Unknown
        }
    }
}

/// Waits of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Waited<'s> {
    count: usize,
    cost: Nanos,
    /// The time of the longest one, and its call.
    longest: (Nanos, Option<&'s Step>),
}

impl<'s> Waited<'s> {
    fn add(&mut self, time: Nanos, call: Option<&'s Step>) {
        (self.count, self.cost) = (self.count + 1, self.cost + time);
        if time > self.longest.0 {
            self.longest = (time, call);
        }
    }

    fn is_connecting(&self, account: &Account, reason: Reason) -> bool {
        let polled = || self.longest.1.is_some_and(|call| is_connecting(account, call));
        reason == Reason::For(Wait::Connection) || reason == Reason::For(Wait::Poll) && polled()
    }

    fn text(&self, account: &Account, reason: Reason, end: End) -> String {
        let times = times(self.count);
        let (name, file) = match self.longest.1.map(|call| &*call.what) {
            Some(What::Call { name, file, .. }) => (&**name, file.as_deref()),
            _ => (reason.name(), None),
        };
        let peer = self.longest.1.and_then(|call| peer(account, call));
        let longest = match (&peer, file) {
            (Some(peer), _) => format!(", the longest for {peer}"),
            (None, Some(file)) => format!(", the longest on `{file}`"),
            (None, None) => String::new(),
        };
        match (end, reason) {
            (End::Ours, _) => format!(
                "The main thread waits for {} ({times}{longest}) until another thread or process of the program ends this \
                 wait. Without `--thread main`, `trace` says what these do meanwhile.",
                reason.name()
            ),
            (End::Reader, _) => format!(
                "The program waits until its output is read ({times}): it writes more than fits into the pipe, which \
                 firstbyte reads here. A reader that is faster or slower changes this time."
            ),
            (End::Timeout, _) if peer.is_some() => format!(
                "The program waits until the timeout of `{name}` expires ({times}{longest}): it does not answer in time. A \
                 shorter timeout ends this wait sooner."
            ),
            (End::Timeout, _) => format!(
                "The program waits until the timeout of `{name}` expires ({times}{longest}). No event ends this wait: a \
                 shorter timeout does."
            ),
            (End::Unseen, _) => format!(
                "The program waits in `{name}` ({times}{longest}). What ends this wait is only seen with bpf."
            ),
            _ if peer.is_some() && self.is_connecting(account, reason) => {
                format!("The program waits until its connection is accepted ({times}{longest}).")
            }
            _ if peer.is_some() => format!("The program waits for an answer ({times}{longest})."),
            (_, Reason::Exec) => format!(
                "The process sleeps inside its exec ({times}): the kernel reads the file from disk there, waits for a lock, \
                 or moves the process to a processor that has less to do. Measure on a quieter machine."
            ),
            (_, Reason::For(Wait::FileLock)) if file.is_some() => format!(
                "The program waits for a file lock ({times}{longest}), which a program outside this trace holds."
            ),
            _ => format!(
                "The program waits for {} ({times}{longest}), and no thread of it ends this wait: another program, a \
                 device, the network or a timer does.",
                reason.name()
            ),
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
    if !noteworthy(cost, account, floor("after-first-byte")) {
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
    Some(Finding::new("after-first-byte", cost, text).on(Extent::of(&after)))
}

/// The programs that worked after an instant, if the one that works longest is not the tracee's.
fn programs_after(account: &Account, first: Nanos) -> Option<String> {
    let mut programs: BTreeMap<&str, (u64, bool)> = BTreeMap::new();
    let executions = account.executions();
    for piece in account.path.iter().filter(|piece| piece.to > first) {
        let path = executions.at(piece.pid, piece.from).map_or("", |execution| &*execution.path);
        let (time, is_own) = programs.entry(path.rsplit('/').next().unwrap_or(path)).or_default();
        *time += piece.to.0 - piece.from.max(first).0;
        *is_own |= piece.pid == account.root;
    }
    let mut programs: Vec<(&str, (u64, bool))> = programs.into_iter().collect();
    programs.sort_by_key(|(_, (time, _))| Reverse(*time));
    let (_, (_, is_own)) = programs.first()?;
    let shown: Vec<String> =
        programs.iter().take(3).map(|(name, (time, _))| format!("`{name}` {}", Nanos(*time))).collect();
    (!is_own).then(|| shown.join(", "))
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
    let waits_are_seen = waits_are_seen(account);
    for step in &account.steps {
        let What::Call { name, file, failed, .. } = &*step.what else { continue };
        // other findings name what the loader does, what lies behind the first byte, and sleeps
        if role(&step.what) == Some(Role::Loader) || name.starts_with("exit") || is_sleep(name) {
            continue;
        }
        let calls = all.entry(name).or_default();
        (calls.count, calls.time) = (calls.count + 1, calls.time + step.self_time);
        if *failed || !waits_are_seen && is_wait_alone(step) {
            continue;
        }
        calls.useful = calls.useful + step.self_time;
        if let Some(file) = file {
            let time = calls.files.entry(file).or_default();
            *time = *time + step.self_time;
        }
    }
    let (name, calls) = all.into_iter().max_by_key(|(_, calls)| calls.time)?;

    if calls.count >= 1000 && noteworthy(calls.time, account, 2) {
        let of_name = steps_of(account, name);
        let extent = Extent::of(of_name.iter().copied());
        let saved = fewer_calls::saved(name, &of_name);
        let advice = saved.map_or(String::new(), |(advice, _)| format!(" {advice}"));
        let text = format!("The system call `{name}` is made {} times.{advice}", calls.count);
        let finding = Finding::new("repeated-calls", calls.time, text).about(name).on(extent);
        return Some(match saved {
            Some((_, Some(part))) => finding.saving(Nanos::rounded(calls.time.as_f64() * part)),
            _ => finding,
        });
    }
    let longest = calls.files.iter().max_by_key(|(_, time)| **time);
    let longest = longest.map_or(String::new(), |(file, time)| format!(", the longest for `{file}`, {time}"));
    let may_wait = Reason::of_call(name) != Reason::Kernel && !waits_are_seen;
    let works = if may_wait { "works or waits" } else { "works" };
    let text = match calls.count {
        1 => format!("The kernel {works} this long in one system call, `{name}`{longest}."),
        count => format!("The kernel {works} this long in {count} system calls `{name}`{longest}."),
    };
    let extent = Extent::of(steps_of(account, name)).part(calls.useful);
    noteworthy(calls.useful, account, floor("slow-calls"))
        .then(|| Finding::new("slow-calls", calls.useful, text).about(name).on(extent))
}

/// The system calls with a name that `slow_calls` counts.
fn steps_of<'a>(account: &'a Account, wanted: &str) -> Vec<&'a Step> {
    let is_one = |step: &&Step| {
        matches!(&*step.what, What::Call { name, .. } if &**name == wanted)
            && role(&step.what) != Some(Role::Loader)
    };
    account.steps.iter().filter(is_one).collect()
}
