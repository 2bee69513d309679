//! Who worked while others waited: the path from the first `execve` to the first byte, and from there to the exit.
//!
//! It is walked backwards. Where a thread was asleep, the path goes on with the thread that woke it, from that moment on;
//! where a thread begins, with the one that created it. So the pieces lie end to end. A sleep that no thread of the tree
//! ended (a timer, a disk, another program) stays on the path as what it is. wPerf (OSDI 2018) and the critical path of
//! Perfetto work alike.
//!
//! Two threads that worked beside each other may be ready almost together: then a faster waker saves only the short sleep.
//! So the waker has that sleep, and the path stays with the thread that slept. Workers that spin until their pool is closed
//! would have all of its time otherwise.

use super::model::{PathPiece, ProcessAccount, ThreadAccount, Wake};
use super::partition::{TimeInterval, partition};
use super::step::{Reason, Step, What};
use super::step_times::StepTimes;
use super::wakers::{Sleep, ends};
use firstbyte_measure::units::Nanos;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

/// A moment of a thread, from which the path is walked back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) at: Nanos,
}

/// The path that ends at the last of these moments, and has been at each of them. They are in order.
pub(super) fn critical_path(threads: &[ThreadAccount], moments: &[Moment]) -> Vec<PathPiece> {
    let walker = Walker::new(threads);
    let mut path = Vec::new();
    let mut until = Nanos(0);
    for moment in moments {
        let thread = walker.thread(moment.pid, moment.tid, moment.at).unwrap_or(0);
        let backwards = walker.walk(thread, moment.at, until);
        path.extend(backwards.into_iter().rev());
        until = moment.at;
    }
    path
}

/// The pieces, cut where their process begins to execute another program.
pub(super) fn split_at_execs(path: Vec<PathPiece>, processes: &[ProcessAccount]) -> Vec<PathPiece> {
    let mut execs: HashMap<u32, Vec<Nanos>> = HashMap::new();
    for process in processes {
        execs.entry(process.pid).or_default().extend(process.execs.iter().map(|exec| exec.start));
    }
    for starts in execs.values_mut() {
        starts.sort();
    }
    let cut = |piece: PathPiece| {
        let starts = execs.get(&piece.pid).map_or(&[][..], Vec::as_slice);
        let [first, end] = [piece.from.0 + 1, piece.to.0].map(|at| starts.partition_point(|it| it.0 < at));
        let cuts = starts[first..end.max(first)].iter().copied().chain([piece.to]);
        let mut from = piece.from;
        let pieces = cuts.map(|to| PathPiece { from: std::mem::replace(&mut from, to), to, ..piece });
        pieces.collect::<Vec<_>>()
    };
    path.into_iter().flat_map(cut).collect()
}

/// The path of one thread alone.
pub(super) fn thread_alone(thread: &ThreadAccount) -> Vec<PathPiece> {
    let to = thread.start + thread.lifetime;
    vec![PathPiece { thread: 0, pid: thread.pid, tid: thread.tid, from: thread.start, to }]
}

/// The instants at which the tracee's main thread fell asleep until another thread or process of the tree woke it, in order. On
/// the critical path, these work instead.
pub(super) fn main_thread_waits(threads: &[ThreadAccount]) -> Vec<Nanos> {
    Walker::new(threads).ended_sleeps(0).iter().map(|sleep| sleep.asleep_since).collect()
}

/// What happened on a path.
pub(super) fn steps(threads: &[ThreadAccount], path: &[PathPiece]) -> Vec<Step> {
    let times = StepTimes::of(threads);
    path.iter().flat_map(|piece| piece_steps(&times, piece)).collect()
}

/// What a thread did in one piece. The own times sum to the length of the piece.
pub(super) fn piece_steps(times: &StepTimes, piece: &PathPiece) -> Vec<Step> {
    let (from, to) = (piece.from, piece.to);
    let begun = times.between(piece.thread, from, to).iter();
    let within: Vec<&Step> = begun.filter(|step| step.start + step.elapsed > from).collect();
    let interval = |step: &&Step| TimeInterval {
        from: step.start,
        to: step.start + step.elapsed,
        depth: depth(&step.what),
    };
    let intervals: Vec<TimeInterval> = within.iter().map(interval).collect();

    let mut self_time = vec![Nanos(0); within.len()];
    let mut all = Vec::new();
    for part in partition(from, to, &intervals) {
        match part.owner {
            Some(owner) => self_time[owner] = self_time[owner] + (part.to - part.from),
            // after its last event: the kernel ends it, and wakes those who wait for that
            None => all.push(exit_work(part.from, part.to)),
        }
    }
    all.extend(within.into_iter().zip(self_time).map(|(step, self_time)| {
        let (start, end) = (step.start.max(from), (step.start + step.elapsed).min(to));
        Step { start, elapsed: end - start, self_time, what: Arc::clone(&step.what) }
    }));
    all.sort_by_key(|step| (step.start, std::cmp::Reverse(step.elapsed)));
    all
}

fn exit_work(from: Nanos, to: Nanos) -> Step {
    let what = What::Call {
        name: "exit".into(),
        text: "the end of a thread or process".to_owned(),
        file: None,
        failed: false,
        code: None,
    };
    Step { start: from, elapsed: to - from, self_time: to - from, what: what.into() }
}

fn depth(what: &What) -> u8 {
    match what {
        What::User => 0,
        What::Exec { .. } | What::Call { .. } | What::Death { .. } => 1,
        What::Fault(_) => 2,
        What::Off(_) => 3,
    }
}

/// A thread that slept for less than this part of its waker's work was ready together with it: one tenth.
const READY_TOGETHER: u64 = 10;

/// How a thread came to its place on the path.
struct Before {
    /// When it was woken or created, or where the path ends.
    woken: Nanos,
    /// When it fell asleep, if it was woken.
    asleep_since: Option<Nanos>,
    /// The thread that woke or created it.
    by: Option<usize>,
}

/// A sleep that a thread of the tree ended.
#[derive(Clone, Copy)]
struct EndedSleep {
    asleep_since: Nanos,
    woken: Nanos,
    by: usize,
}

struct Walker<'t> {
    threads: &'t [ThreadAccount],
    times: StepTimes<'t>,
    /// The sleeps of each thread that another one ended, in order.
    ended: Vec<OnceCell<Vec<EndedSleep>>>,
    /// The places of the threads that had an id, in the order in which they began.
    indices: HashMap<(u32, u32), Vec<usize>>,
}

impl Walker<'_> {
    fn new(threads: &[ThreadAccount]) -> Walker<'_> {
        let mut indices: HashMap<(u32, u32), Vec<usize>> = HashMap::new();
        for (index, thread) in threads.iter().enumerate() {
            indices.entry((thread.pid, thread.tid)).or_default().push(index);
        }
        let ended = threads.iter().map(|_| OnceCell::new()).collect();
        Walker { threads, times: StepTimes::of(threads), ended, indices }
    }

    /// The thread that has an id at an instant.
    fn thread(&self, pid: u32, tid: u32, at: Nanos) -> Option<usize> {
        let indices = self.indices.get(&(pid, tid))?;
        indices.iter().rev().copied().find(|index| self.threads[*index].start <= at)
    }

    /// From an instant of a thread back to `until`; the last piece first.
    fn walk(&self, mut index: usize, at: Nanos, until: Nanos) -> Vec<PathPiece> {
        let (mut now, mut path) = (at, Vec::new());
        let mut together = HashMap::new();
        while now > until {
            let before = self.before(index, now, until);
            path.push(self.piece(index, before.woken, now));
            now = before.woken;
            let Some(waker) = before.by else { break };

            let worked_since = self.before(waker, now, self.threads[waker].start).woken;
            let were_together = || self.were_ready_together(index, waker, worked_since, now);
            match before.asleep_since {
                // the same for all sleeps beside the same work
                Some(since)
                    if *together.entry((index, waker, worked_since)).or_insert_with(were_together) =>
                {
                    let since = since.max(until);
                    path.push(self.piece(waker, since, now));
                    now = since;
                }
                _ => index = waker,
            }
        }
        path
    }

    fn piece(&self, index: usize, from: Nanos, to: Nanos) -> PathPiece {
        let thread = &self.threads[index];
        PathPiece { thread: index, pid: thread.pid, tid: thread.tid, from, to }
    }

    /// Whether a thread slept for a small part of the time in which its waker worked, until it woke it.
    fn were_ready_together(&self, index: usize, waker: usize, worked_since: Nanos, woken: Nanos) -> bool {
        let (sleeper, by) = (&self.threads[index], &self.threads[waker]);
        let both_since = worked_since.max(sleeper.start);
        let until = sleeper.wakes.partition_point(|wake| wake.woken <= woken);
        let recent = sleeper.wakes[..until].iter().rev().take_while(|wake| wake.woken > both_since);
        let slept: Nanos = recent
            .filter(|wake| wake.waker == [by.pid, by.tid])
            .map(|wake| wake.woken - wake.from.max(both_since))
            .sum();
        slept.0 < (woken - both_since).0 / READY_TOGETHER
    }

    /// Since when a thread was on the path, and who was before it.
    fn before(&self, index: usize, now: Nanos, until: Nanos) -> Before {
        let thread = &self.threads[index];
        let ended = self.ended_sleeps(index);
        let last = ended[..ended.partition_point(|sleep| sleep.woken < now)].last();
        if let Some(sleep) = last.filter(|sleep| sleep.woken > until) {
            let EndedSleep { asleep_since, woken, by } = *sleep;
            return Before { woken, asleep_since: Some(asleep_since), by: Some(by) };
        }

        let creator = thread.creator.filter(|_| thread.start > until && thread.start < now);
        match creator.and_then(|creator| self.thread(creator.pid, creator.tid, thread.start)) {
            Some(creator) => Before { woken: thread.start, asleep_since: None, by: Some(creator) },
            None => Before { woken: until, asleep_since: None, by: None },
        }
    }

    fn ended_sleeps(&self, index: usize) -> &[EndedSleep] {
        let ended = |wake: &Wake| {
            let by = self.waker(index, wake)?;
            Some(EndedSleep { asleep_since: wake.from, woken: wake.woken, by })
        };
        self.ended[index].get_or_init(|| self.threads[index].wakes.iter().filter_map(ended).collect())
    }

    /// The thread that ended a sleep, if what it did then can end such a sleep. An interrupt that ends one finds any thread
    /// on the processor.
    fn waker(&self, index: usize, wake: &Wake) -> Option<usize> {
        let [pid, tid] = wake.waker;
        let waker = self.thread(pid, tid, wake.woken)?;
        // ptrace does not see when a thread is off the processor, only the call in which it is
        let reason =
            self.times.begun_at(index, wake.from).iter().rev().find_map(|step| match &*step.what {
                What::Off(reason) => Some(*reason),
                What::Call { name, .. } => Some(Reason::of_call(name)),
                _ => None,
            })?;
        let call = match self.doing(index, wake.from) {
            Some(What::Call { name, file, .. }) => Some((&**name, file.as_ref())),
            _ => None,
        };
        let doing = self.doing(waker, wake.woken);
        ends(&Sleep { reason, call }, doing).then_some(waker)
    }

    /// What a thread does at an instant; `None`: it has ended, and the kernel works on its end.
    fn doing(&self, index: usize, at: Nanos) -> Option<&What> {
        self.times.at(index, at).map(|step| &*step.what).find(|what| !matches!(what, What::Off(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::model::{Creation, Execution};
    use firstbyte_measure::arch::Wait;

    fn call(name: &str) -> What {
        What::Call { name: name.into(), text: String::new(), file: None, failed: false, code: None }
    }

    fn step(start: u64, end: u64, what: What) -> Step {
        Step { start: Nanos(start), elapsed: Nanos(end - start), self_time: Nanos(0), what: what.into() }
    }

    fn thread(id: u32, start: u64, end: u64, creator: Option<u32>, steps: Vec<Step>) -> ThreadAccount {
        ThreadAccount {
            pid: id,
            tid: id,
            start: Nanos(start),
            lifetime: Nanos(end - start),
            creator: creator.map(|id| Creation { pid: id, tid: id }),
            wakes: Vec::new(),
            steps,
        }
    }

    fn wake(from: u64, woken: u64, waker: u32) -> Wake {
        Wake { from: Nanos(from), woken: Nanos(woken), waker: [waker, waker] }
    }

    #[test]
    fn a_step_that_only_touches_a_piece_is_not_in_it() {
        let steps = [(0, 10, "read"), (10, 20, "write"), (20, 30, "close")];
        let steps = steps.map(|(start, end, name)| step(start, end, call(name))).to_vec();
        let thread = thread(1, 0, 30, None, steps);
        let piece = PathPiece { thread: 0, pid: 1, tid: 1, from: Nanos(10), to: Nanos(20) };
        let threads = [thread];
        let inside = piece_steps(&StepTimes::of(&threads), &piece);
        assert_eq!(
            inside.iter().map(|step| (step.start.0, step.self_time.0)).collect::<Vec<_>>(),
            [(10, 10)]
        );
    }

    /// A shell that creates a child and waits for it.
    fn parent_and_child() -> Vec<ThreadAccount> {
        let mut parent = thread(
            1,
            0,
            100,
            None,
            vec![
                step(0, 20, What::User),
                step(20, 82, call("wait4")),
                step(22, 80, What::Off(Reason::For(Wait::Child))),
                step(82, 100, What::User),
            ],
        );
        parent.wakes.push(wake(22, 80, 2));
        let child =
            thread(2, 15, 78, Some(1), vec![step(15, 70, What::User), step(70, 78, call("exit_group"))]);
        vec![parent, child]
    }

    fn moment(id: u32, at: u64) -> Moment {
        Moment { pid: id, tid: id, at: Nanos(at) }
    }

    fn shown(path: &[PathPiece]) -> Vec<(u32, u64, u64)> {
        path.iter().map(|piece| (piece.tid, piece.from.0, piece.to.0)).collect()
    }

    #[test]
    fn a_wait_for_a_child_is_replaced_by_what_the_child_did() {
        let threads = parent_and_child();
        let path = critical_path(&threads, &[moment(1, 100)]);
        assert_eq!(shown(&path), [(1, 0, 15), (2, 15, 80), (1, 80, 100)]);
        let steps = steps(&threads, &path);
        assert_eq!(steps.iter().map(|step| step.self_time).sum::<Nanos>(), Nanos(100));
        assert!(!steps.iter().any(
            |step| step.self_time > Nanos(0) && matches!(*step.what, What::Off(Reason::For(Wait::Child)))
        ));
        let ending = steps.iter().find(|step| step.start == Nanos(78)).unwrap();
        assert_eq!((ending.self_time, ending.what.key().starts_with("call exit")), (Nanos(2), true));
    }

    #[test]
    fn a_piece_is_cut_where_its_process_executes_another_program() {
        let exec = |at| Execution {
            start: Nanos(at),
            took: Nanos(1),
            path: "/p".into(),
            executed: "/p".into(),
            argv: Vec::new(),
        };
        let process = ProcessAccount {
            pid: 2,
            parent: 1,
            start: Nanos(15),
            end: None,
            status: None,
            waited_for: false,
            execs: vec![exec(20), exec(50), exec(80)],
            threads: 1,
        };
        let path = critical_path(&parent_and_child(), &[moment(1, 100)]);
        let cut = split_at_execs(path, &[process]);
        assert_eq!(shown(&cut), [(1, 0, 15), (2, 15, 20), (2, 20, 50), (2, 50, 80), (1, 80, 100)]);
    }

    #[test]
    fn a_path_goes_through_the_first_byte() {
        let path = critical_path(&parent_and_child(), &[moment(2, 40), moment(1, 100)]);
        assert_eq!(shown(&path), [(1, 0, 15), (2, 15, 40), (2, 40, 80), (1, 80, 100)]);
    }

    /// A program that works until `asleep`, and then waits for a thread that spins until the program ends it.
    fn works_beside_a_spinner(asleep: u64) -> Vec<ThreadAccount> {
        let wait = [step(asleep, 950, call("futex")), step(asleep, 950, What::Off(Reason::For(Wait::Futex)))];
        let mut main = thread(1, 0, 1000, None, [vec![step(0, asleep, What::User)], wait.to_vec()].concat());
        main.steps.push(step(950, 1000, What::User));
        main.wakes.push(wake(asleep, 950, 2));
        let spinner = vec![step(50, 940, What::User), step(940, 950, call("exit"))];
        vec![main, thread(2, 50, 950, Some(1), spinner)]
    }

    #[test]
    fn a_short_sleep_after_long_work_leaves_the_path_with_the_sleeper() {
        let path = |asleep| shown(&critical_path(&works_beside_a_spinner(asleep), &[moment(1, 1000)]));
        assert_eq!(path(930), [(1, 0, 930), (2, 930, 950), (1, 950, 1000)]);
        assert_eq!(
            path(100),
            [(1, 0, 50), (2, 50, 950), (1, 950, 1000)],
            "it waited for nearly all of the work"
        );
    }

    #[test]
    fn of_several_short_sleeps_beside_the_same_work_each_is_short() {
        let mut threads = works_beside_a_spinner(940);
        let main = &mut threads[0];
        main.steps.insert(1, step(930, 938, call("futex")));
        main.steps.insert(2, step(930, 938, What::Off(Reason::For(Wait::Futex))));
        main.wakes.insert(0, wake(930, 938, 2));
        threads[1].steps.insert(1, step(935, 939, call("futex")));
        let path = shown(&critical_path(&threads, &[moment(1, 1000)]));
        assert_eq!(path, [(1, 0, 930), (2, 930, 938), (1, 938, 940), (2, 940, 950), (1, 950, 1000)]);
    }

    #[test]
    fn an_interrupt_that_finds_a_thread_in_user_code_is_not_its_doing() {
        let mut threads = parent_and_child();
        threads[0].wakes = vec![wake(22, 60, 2)];
        assert_eq!(shown(&critical_path(&threads, &[moment(1, 100)])), [(1, 0, 100)]);
        threads[0].wakes = vec![wake(22, 80, 7)];
        assert_eq!(shown(&critical_path(&threads, &[moment(1, 100)])), [(1, 0, 100)], "another program");
    }

    #[test]
    fn a_call_that_ends_no_such_wait_is_not_on_the_path() {
        let reader = |call_of_other: &str| {
            let mut threads = parent_and_child();
            threads[0].steps[1].what = call("read").into();
            threads[0].steps[2].what = What::Off(Reason::For(Wait::Read)).into();
            threads[0].wakes = vec![wake(22, 74, 2)];
            threads[1].steps[1].what = call(call_of_other).into();
            shown(&critical_path(&threads, &[moment(1, 100)])).len()
        };
        assert_eq!((reader("write"), reader("mmap")), (3, 1), "an interrupt finds a thread in any call");
    }

    #[test]
    fn the_pieces_of_any_path_lie_end_to_end() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..500 {
            let mut threads = vec![thread(1, 0, 1000, None, vec![step(0, 1000, call("write"))])];
            for id in 2..random.u32(2..8) {
                let start = random.u64(0..900);
                let end = random.u64(start..1000) + 1;
                let mut other =
                    thread(id, start, end, Some(random.u32(1..id)), vec![step(start, end, call("write"))]);
                let sleep = random.u64(start..end);
                other.steps.push(step(sleep, end, What::Off(Reason::For(Wait::Read))));
                other.wakes.push(wake(sleep, random.u64(sleep..=end), random.u32(1..9)));
                threads.push(other);
            }
            let path =
                critical_path(&threads, &[moment(random.u32(1..9), random.u64(1..1000)), moment(1, 1000)]);
            assert_eq!((path[0].from, path[path.len() - 1].to), (Nanos(0), Nanos(1000)));
            assert!(path.windows(2).all(|pair| pair[0].to == pair[1].from));
            let self_time: Nanos = steps(&threads, &path).iter().map(|step| step.self_time).sum();
            assert_eq!(self_time, Nanos(1000));
        }
    }
}
