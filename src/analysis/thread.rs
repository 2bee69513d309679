//! Turns the events of one thread into steps that partition its lifetime.

use super::model::{Creation, Wake};
use super::partition::{TimeInterval, partition};
use super::step::{Reason, Step, What};
use firstbyte_measure::units::Nanos;
use std::sync::Arc;

const USER: u8 = 0;
const KERNEL: u8 = 1;
const FAULT: u8 = 2;
const OFF: u8 = 3;

/// A step in the making.
#[derive(Clone, Debug)]
struct Entry {
    interval: TimeInterval,
    what: Arc<What>,
}

/// A call or fault, and the reason why a thread sleeps in it.
#[derive(Clone, Copy, Debug)]
struct Surrounding {
    from: Nanos,
    to: Nanos,
    reason: Reason,
}

#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) begun: Nanos,
    pub(super) ended: Option<Nanos>,
    /// By whom it was created; `None` for the tracee's first thread.
    pub(super) creator: Option<Creation>,
    /// Its sleeps that a task of the tree may have ended, in order.
    pub(super) wakes: Vec<Wake>,
    entries: Vec<Entry>,
}

impl Thread {
    pub(super) fn new(pid: u32, tid: u32, begun: Nanos) -> Thread {
        Thread { pid, tid, begun, ended: None, creator: None, wakes: Vec::new(), entries: Vec::new() }
    }

    fn add(&mut self, from: Nanos, to: Nanos, depth: u8, what: impl Into<Arc<What>>) {
        self.entries.push(Entry { interval: TimeInterval { from, to, depth }, what: what.into() });
    }

    /// Adds a system call or a part of an exec.
    pub(super) fn kernel(&mut self, from: Nanos, to: Nanos, what: impl Into<Arc<What>>) {
        self.add(from, to, KERNEL, what);
    }

    /// The thread died of this signal, which was sent at `sent`. Its last call ended before, whether it returned or not.
    pub(super) fn died(&mut self, sent: Nanos, to: Nanos, signal: i32) {
        let is_over = |entry: &&Entry| entry.interval.depth == KERNEL && entry.interval.to < Nanos(u64::MAX);
        let returned = self.entries.iter().filter(is_over).map(|entry| entry.interval.to).max();
        let from = sent.max(returned.unwrap_or_default()).min(to);
        for entry in self.entries.iter_mut().filter(|entry| entry.interval.depth == KERNEL) {
            entry.interval.to = entry.interval.to.min(from).max(entry.interval.from);
        }
        self.kernel(from, to, What::Death { signal });
    }

    /// Extends the last call of the thread, which did not return, or its death: until `to`, the kernel released what the
    /// process had.
    pub(super) fn gave_back_until(&mut self, to: Nanos) {
        let calls = self.entries.iter_mut().filter(|entry| entry.interval.depth == KERNEL);
        if let Some(last) = calls.max_by_key(|entry| entry.interval.to) {
            last.interval.to = last.interval.to.max(to);
        }
        self.ended = Some(to);
    }

    /// From `at` on, another thread uses the id of this one, which has ended. None of its steps lasts longer.
    pub(super) fn taken_over_at(&mut self, at: Nanos) {
        let ended = self.ended.take().unwrap_or(at);
        for entry in &mut self.entries {
            entry.interval.to = entry.interval.to.min(ended);
        }
        if ended < at {
            self.off(ended, at, Some(Reason::Gone));
        }
    }

    /// Adds a page fault of user code, or of the kernel inside a call.
    pub(super) fn fault(&mut self, from: Nanos, to: Nanos, what: What) {
        self.add(from, to, FAULT, what);
    }

    /// Adds a time off the processor. Without a reason, the call or fault around it will give one.
    pub(super) fn off(&mut self, from: Nanos, to: Nanos, reason: Option<Reason>) {
        let what = What::Off(reason.unwrap_or(Reason::Kernel));
        let depth = OFF + u8::from(reason.is_none());
        self.add(from, to, depth, what);
    }

    /// The end of the last event.
    pub(super) fn last_seen(&self) -> Nanos {
        self.entries.iter().map(|entry| entry.interval.to).max().unwrap_or(self.begun)
    }

    /// The steps from `from` to `to`, in order. Their own times sum to `to - from` exactly. Their times are counted from `zero`.
    pub(super) fn steps(mut self, from: Nanos, to: Nanos, zero: Nanos) -> Vec<Step> {
        self.explain_absences();
        if let Some(ended) = self.ended.filter(|ended| *ended < to) {
            self.add(ended, to, OFF, What::Off(Reason::Gone));
        }
        self.fill_gaps(from, to);

        let intervals: Vec<TimeInterval> = self.entries.iter().map(|entry| entry.interval).collect();
        let mut self_time = vec![0; intervals.len()];
        let mut begin = vec![None; intervals.len()];
        for piece in partition(from, to, &intervals) {
            if let Some(owner) = piece.owner {
                self_time[owner] += piece.to.0 - piece.from.0;
                begin[owner].get_or_insert(piece.from);
            }
        }

        let mut steps: Vec<Step> = Vec::with_capacity(intervals.len());
        for (n, entry) in self.entries.into_iter().enumerate() {
            let Some(begin) = begin[n] else { continue };
            let start = begin.max(entry.interval.from).max(from);
            let elapsed = Nanos(entry.interval.to.min(to).0 - start.0);
            let start = Nanos(start.0.saturating_sub(zero.0));
            steps.push(Step { start, elapsed, self_time: Nanos(self_time[n]), what: entry.what });
        }
        steps.sort_by_key(|step| (step.start, std::cmp::Reverse(step.elapsed)));
        steps
    }

    /// Gives each time off the processor the reason of the call or fault around it. Outside of calls and faults, a thread sleeps
    /// only on its way back to user code, where the kernel stops, freezes and ends threads. One that made a call afterwards was
    /// stopped or frozen.
    fn explain_absences(&mut self) {
        let [calls, faults] = [KERNEL, FAULT].map(|depth| self.surroundings(depth));
        let last_call = calls.last().map(|around| around.from);
        for entry in self.entries.iter_mut().filter(|entry| entry.interval.depth == OFF + 1) {
            entry.interval.depth = OFF;
            let TimeInterval { from, to, .. } = entry.interval;
            let reason = around(&faults, from).or_else(|| around(&calls, from));
            let stopped = last_call.is_some_and(|last| last >= to).then_some(Reason::Stopped);
            entry.what = What::Off(reason.or(stopped).unwrap_or(Reason::Kernel)).into();
        }
    }

    /// All calls, or all faults, in order, with their reasons.
    fn surroundings(&self, depth: u8) -> Vec<Surrounding> {
        let of_depth = self.entries.iter().filter(|entry| entry.interval.depth == depth);
        let mut sorted: Vec<&Entry> = of_depth.collect();
        sorted.sort_by_key(|entry| entry.interval.from);
        let mut all: Vec<Surrounding> = Vec::with_capacity(sorted.len());
        for Entry { interval: TimeInterval { from, to, .. }, what, .. } in sorted {
            let interrupted = all.last().filter(|_| is_restart(what)).map(|before| before.reason);
            let Some(reason) = interrupted.or_else(|| reason(what)) else { continue };
            all.push(Surrounding { from: *from, to: *to, reason });
        }
        all
    }

    /// Adds user code wherever there is neither a call nor a fault.
    fn fill_gaps(&mut self, from: Nanos, to: Nanos) {
        let relevant = |entry: &&Entry| {
            (entry.interval.depth == KERNEL || entry.interval.depth == FAULT || never_ran(&entry.what))
                && entry.interval.to > from
                && entry.interval.from < to
        };
        let mut bounds: Vec<TimeInterval> =
            self.entries.iter().filter(relevant).map(|entry| entry.interval).collect();
        bounds.sort_by_key(|interval| (interval.from, interval.depth));
        let (mut now, user) = (from, Arc::new(What::User));
        for interval in bounds {
            if interval.from > now {
                self.add(now, interval.from, USER, Arc::clone(&user));
            }
            now = now.max(interval.to);
        }

        if now < to {
            self.add(now, to, USER, user);
        }
    }
}

/// The reason of the last one that began before `at`, if it lasted until then. Calls do not nest, and neither do faults.
fn around(all: &[Surrounding], at: Nanos) -> Option<Reason> {
    let until = all.partition_point(|around| around.from <= at);
    all[..until].last().filter(|around| around.to >= at).map(|around| around.reason)
}

/// `restart_syscall(2)`: the kernel continues the call that a stop interrupted.
fn is_restart(what: &What) -> bool {
    matches!(what, What::Call { name, .. } if &**name == "restart_syscall")
}

fn never_ran(what: &What) -> bool {
    matches!(what, What::Off(Reason::Created | Reason::Gone))
}

fn reason(what: &What) -> Option<Reason> {
    match what {
        What::Exec { .. } => Some(Reason::Exec),
        What::Call { name, .. } => Some(Reason::of_call(name)),
        What::Death { .. } => Some(Reason::Kernel),
        What::Fault(_) => Some(Reason::PageRead),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstbyte_measure::arch::Wait;

    fn call(name: &str) -> What {
        What::Call { name: name.into(), text: String::new(), file: None, failed: false, code: None }
    }

    #[test]
    fn own_times_sum_to_the_lifetime_whatever_the_events() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..1000 {
            let mut thread = Thread::new(1, 1, Nanos(0));
            for _ in 0..random.usize(0..15) {
                let (a, b) = (Nanos(random.u64(0..100)), Nanos(random.u64(0..100)));
                match random.u8(0..4) {
                    0 => thread.kernel(a, b, call("read")),
                    1 => thread.fault(a, b, call("fault")),
                    2 => thread.off(a, b, None),
                    _ => thread.off(a, b, Some(Reason::Preempted)),
                }
            }
            if random.bool() {
                thread.ended = Some(Nanos(random.u64(0..120)));
            }

            let (from, to) = (Nanos(random.u64(0..50)), Nanos(random.u64(50..120)));
            let steps = thread.steps(from, to, Nanos(0));
            assert_eq!(steps.iter().map(|s| s.self_time).sum::<Nanos>(), to - from);
            assert!(steps.iter().all(|s| s.self_time <= s.elapsed && s.start >= from));
        }
    }

    #[test]
    fn a_sleep_in_a_call_has_the_reason_of_the_call() {
        let mut thread = Thread::new(1, 1, Nanos(0));
        thread.off(Nanos(12), Nanos(80), None);
        thread.kernel(Nanos(10), Nanos(90), call("wait4"));
        let steps = thread.steps(Nanos(0), Nanos(100), Nanos(0));
        let shown: Vec<_> = steps.iter().map(|s| (s.start.0, s.elapsed.0, s.self_time.0)).collect();
        assert_eq!(shown, [(0, 10, 10), (10, 80, 12), (12, 68, 68), (90, 10, 10)]);
        assert_eq!(*steps[2].what, What::Off(Reason::For(Wait::Child)));
    }

    fn waits(thread: Thread) -> Vec<Reason> {
        let steps = thread.steps(Nanos(0), Nanos(100), Nanos(0));
        steps
            .iter()
            .filter_map(|s| if let What::Off(reason) = *s.what { Some(reason) } else { None })
            .collect()
    }

    #[test]
    fn a_stopped_thread_is_found_and_the_interrupted_call_continues_as_itself() {
        let mut thread = Thread::new(1, 1, Nanos(0));
        thread.kernel(Nanos(10), Nanos(30), call("nanosleep"));
        thread.off(Nanos(12), Nanos(28), None);
        thread.off(Nanos(32), Nanos(60), None);
        thread.kernel(Nanos(62), Nanos(90), call("restart_syscall"));
        thread.off(Nanos(64), Nanos(88), None);
        assert_eq!(waits(thread), [Reason::For(Wait::Sleep), Reason::Stopped, Reason::For(Wait::Sleep)]);
    }

    #[test]
    fn a_thread_that_makes_no_call_after_a_sleep_was_not_stopped() {
        let mut thread = Thread::new(1, 1, Nanos(0));
        thread.kernel(Nanos(10), Nanos(30), call("nanosleep"));
        thread.off(Nanos(32), Nanos(60), None);
        assert_eq!(waits(thread), [Reason::Kernel]);
    }

    #[test]
    fn a_sleep_after_many_faults_in_a_call_still_belongs_to_the_call() {
        let mut thread = Thread::new(1, 1, Nanos(0));
        thread.kernel(Nanos(10), Nanos(90), call("recvmmsg"));
        for n in 0..9 {
            thread.fault(Nanos(20 + 3 * n), Nanos(21 + 3 * n), call("fault"));
        }
        thread.off(Nanos(60), Nanos(80), None);
        assert_eq!(waits(thread), [Reason::For(Wait::Read)]);
    }

    #[test]
    fn a_thread_ends_where_another_one_takes_over_its_id() {
        let mut thread = Thread::new(1, 1, Nanos(0));
        thread.kernel(Nanos(10), Nanos(u64::MAX), call("pause"));
        thread.off(Nanos(12), Nanos(28), None);
        thread.ended = Some(Nanos(30));
        thread.taken_over_at(Nanos(40));
        thread.kernel(Nanos(40), Nanos(60), call("exec"));
        let steps = thread.steps(Nanos(0), Nanos(100), Nanos(0));
        let shown: Vec<_> = steps.iter().map(|s| (s.start.0, s.elapsed.0, s.self_time.0)).collect();
        assert_eq!(shown, [(0, 10, 10), (10, 20, 4), (12, 16, 16), (30, 10, 10), (40, 20, 20), (60, 40, 40)]);
        assert_eq!(*steps[3].what, What::Off(Reason::Gone));
    }

    #[test]
    fn a_call_ends_at_its_return_or_at_the_signal_of_which_the_thread_dies() {
        let mut returned = Thread::new(1, 1, Nanos(0));
        returned.kernel(Nanos(10), Nanos(20), call("write"));
        returned.died(Nanos(22), Nanos(40), libc::SIGSEGV);
        returned.gave_back_until(Nanos(60));

        let mut unfinished = Thread::new(1, 1, Nanos(0));
        unfinished.kernel(Nanos(10), Nanos(u64::MAX), call("pause"));
        unfinished.died(Nanos(22), Nanos(40), libc::SIGKILL);
        unfinished.gave_back_until(Nanos(60));

        let shown = |thread: Thread| -> Vec<(u64, String)> {
            let steps = thread.steps(Nanos(0), Nanos(60), Nanos(0));
            steps.iter().map(|step| (step.self_time.0, step.what.key())).collect()
        };
        let step = |ns: u64, what: &str| (ns, what.to_owned());
        assert_eq!(
            shown(returned),
            [step(10, "user"), step(10, "call write  false"), step(2, "user"), step(38, "death 11")]
        );
        assert_eq!(shown(unfinished), [step(10, "user"), step(12, "call pause  false"), step(38, "death 9")]);
    }

    #[test]
    fn user_code_ends_where_the_thread_ends_and_begins_where_it_first_runs() {
        let mut thread = Thread::new(1, 1, Nanos(0));
        thread.off(Nanos(0), Nanos(10), Some(Reason::Created));
        thread.kernel(Nanos(20), Nanos(30), call("read"));
        thread.ended = Some(Nanos(40));
        let steps = thread.steps(Nanos(0), Nanos(100), Nanos(0));
        let shown: Vec<_> = steps.iter().map(|s| (s.start.0, s.elapsed.0, s.self_time.0)).collect();
        assert_eq!(shown, [(0, 10, 10), (10, 10, 10), (20, 10, 10), (30, 10, 10), (40, 60, 60)]);
        assert_eq!([&*steps[1].what, &*steps[3].what], [&What::User; 2]);
    }
}
