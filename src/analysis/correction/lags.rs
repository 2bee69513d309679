//! How far each thread lags behind where it would be unobserved, from event to event.

use super::costs::{GivingWay, PointCosts, is_other, reads};
use super::points;
use super::points::{Part, Point};
use super::stops::{Before, Stops};
use super::wakes::{self, Wake};
use crate::analysis::inferred_wakes::was_woken;
use firstbyte_measure::arch::{CallFacts, Wait, call_names};
use firstbyte_measure::tracer::event::Call;
use firstbyte_measure::tracer::{Backend, Event, EventCost, EventKind, Recording};
use firstbyte_measure::units::Nanos;
use std::collections::HashMap;
use std::mem::{swap, take};

/// What the walks ask of a call.
#[derive(Clone, Copy, Debug, Default)]
struct CallKind {
    /// It ends its thread or process.
    exits: bool,
    /// It lasts until its thread ends, whatever ends that.
    never_returns: bool,
    /// For what it may wait, which takes as long however slow the program is.
    wait: Option<Wait>,
    /// Nothing ended its wait before its timeout.
    timed_out: bool,
    /// Where the thread is that ended its wait for a futex.
    woken: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waker {
    /// In the same process (`FUTEX_PRIVATE_FLAG`).
    InProcess,
    Anywhere,
}

/// The corrected times of one event.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    begin: Nanos,
    woken: Nanos,
    end: Nanos,
}

/// The instants of a recording in their order, and who ended its waits.
pub(super) struct Lags {
    points: Vec<Point>,
    /// What the readings at the stops say, if there are any.
    stops: Option<Stops>,
    wakes: HashMap<usize, Wake>,
    /// Of each event.
    kinds: Vec<CallKind>,
    /// The places of all thread ids.
    places: HashMap<u32, usize>,
    by_ptrace: bool,
}

/// Where a thread is, unobserved.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// Nanoseconds behind.
    lag: f64,
    /// Its last instant, as recorded and corrected.
    recorded: Nanos,
    last: Nanos,
    /// The event of the call that it is in.
    call: Option<usize>,
    /// It is not in user code, so it may wake others.
    in_kernel: bool,
    /// It was not in user code when it left the processor.
    left_kernel: bool,
    /// It has ended. Another one may get its id.
    over: bool,
    /// How long it was in user code, corrected; before the page fault that it is in, too.
    user: Nanos,
    user_before_fault: Nanos,
}

impl Thread {
    /// Where an instant of the recording lies. Costs that exceed the time since the last instant are made up for later: two
    /// instants never become one, as no event may vanish.
    fn place(&self, at: Nanos) -> Nanos {
        earlier(at, self.lag).max(self.after_last(at))
    }

    fn after_last(&self, at: Nanos) -> Nanos {
        Nanos(self.last.0 + u64::from(at > self.recorded && self.last.0 > 0))
    }

    /// What a stop costs varies by more than most programs do between two of them. So if it seems to have cost more than all of
    /// the time since the last instant, the rest is no debt.
    fn stamp(&mut self, at: Nanos, guessed: bool) -> Nanos {
        let corrected = self.place(at);
        if guessed {
            self.lag = at.as_f64() - corrected.as_f64();
        }
        self.passed(at, corrected)
    }

    /// The same for a call, which gets this part of the user code before it.
    fn enters(&mut self, given: f64, at: Nanos, guessed: bool) -> Nanos {
        let before = self.user;
        self.stamp(at, guessed);
        let user = self.user.0 - before.0;
        // two instants never become one
        let given = Nanos::rounded(given * Nanos(user).as_f64()).0.min(user.saturating_sub(1));
        (self.user.0, self.last.0) = (self.user.0 - given, self.last.0 - given);
        self.last
    }

    fn passed(&mut self, at: Nanos, corrected: Nanos) -> Nanos {
        if !self.in_kernel && self.last.0 > 0 {
            self.user.0 += corrected.0.saturating_sub(self.last.0);
        }
        (self.recorded, self.last) = (at, corrected);
        corrected
    }

    /// The end of a wait, whatever the lag was when it began.
    fn wait_until(&mut self, at: Nanos, corrected: Nanos) -> Nanos {
        let corrected = corrected.max(self.after_last(at));
        self.lag = at.as_f64() - corrected.as_f64();
        self.passed(at, corrected)
    }
}

impl Lags {
    pub(super) fn of(recording: &Recording) -> Lags {
        let wakes = wakes::of(recording);
        let places = points::places(recording);
        let points = points::of(recording, &wakes, &places);
        let stops = Stops::of(&points, recording, &places);
        let kinds = recording.events.iter().map(CallKind::of).collect();
        Lags { points, stops, wakes, kinds, places, by_ptrace: recording.backend == Backend::Ptrace }
    }

    /// The recording says what goes by between stops.
    pub(super) fn measures(&self) -> bool {
        self.stops.is_some()
    }

    /// What stops took in user code, in nanoseconds; 0 if nothing was measured.
    pub(super) fn stops_in_user_code(&self) -> f64 {
        self.stops.as_ref().map_or(0.0, Stops::in_user_code)
    }

    /// What goes by between the stops is only guessed.
    fn guesses(&self) -> bool {
        self.by_ptrace && !self.measures()
    }

    /// From the launch until it was reaped, in nanoseconds.
    pub(super) fn wall(&self, recording: &Recording, costs: &PointCosts) -> f64 {
        let times = self.walked(recording, costs).times;
        let end_of = |wanted: fn(&EventKind) -> bool| {
            let index = recording.events.iter().position(|event| wanted(&event.kind))?;
            Some(times[index].end.as_f64())
        };
        let reached = end_of(|kind| matches!(kind, EventKind::Reached { .. }));
        let end = reached.or_else(|| end_of(|kind| matches!(kind, EventKind::Reaped { .. })));
        let spawn = end_of(|kind| matches!(kind, EventKind::Spawn));
        end.zip(spawn).map_or(0.0, |(end, spawn)| end - spawn)
    }

    /// From the first event of the tracee itself to its last one, or to what the run was to wait for, in nanoseconds.
    pub(super) fn total(&self, recording: &Recording, costs: &PointCosts) -> f64 {
        let times = self.walked(recording, costs).times;
        let events = || recording.events.iter().zip(&times);
        let of_root = events().filter(|(event, _)| event.pid == recording.root);
        let ends: Vec<f64> = of_root.map(|(_, times)| times.end.as_f64()).collect();
        let first = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let mut reached = events().filter(|(event, _)| matches!(event.kind, EventKind::Reached { .. }));
        let end = reached.next().map(|(_, times)| times.end.as_f64());
        end.unwrap_or_else(|| ends.iter().copied().fold(first, f64::max)) - first
    }

    /// User code of all threads, in nanoseconds, until what the run was to wait for.
    pub(super) fn user(&self, recording: &Recording, costs: &PointCosts) -> f64 {
        let walk = self.walked(recording, costs);
        walk.user_until_reached.unwrap_or_else(|| walk.user())
    }

    /// Calls `then` with the recording while every event is where it would have been.
    pub(super) fn corrected<T>(
        self,
        recording: &mut Recording,
        costs: &PointCosts,
        then: impl FnOnce(&Recording) -> T,
    ) -> T {
        let mut times = self.walked(recording, costs).times;
        drop(self);
        for (event, times) in recording.events.iter_mut().zip(&mut times) {
            *times = moved(event, times);
            exchange(event, times);
        }
        let mut order: Vec<usize> = (0..recording.events.len()).collect();
        order.sort_by_key(|index| recording.events[*index].at);
        recording.events = in_order(take(&mut recording.events), &order);

        let result = then(recording);

        let mut places = vec![0; order.len()];
        for (place, index) in order.into_iter().enumerate() {
            places[index] = place;
        }
        recording.events = in_order(take(&mut recording.events), &places);
        for (event, times) in recording.events.iter_mut().zip(&mut times) {
            exchange(event, times);
        }
        result
    }

    fn walked<'l>(&'l self, recording: &Recording, costs: &'l PointCosts) -> Walk<'l> {
        let mut walk = Walk {
            times: vec![Times::default(); recording.events.len()],
            threads: vec![None; self.places.len()],
            latest: self.places[&recording.root],
            latest_pid: recording.root,
            before: Before::default(),
            user_until_reached: None,
            lags: self,
            costs,
        };
        for (place, point) in self.points.iter().enumerate() {
            walk.take_over(point.thread, &recording.events[point.event]);
            if let Some(stops) = &self.stops {
                walk.before = stops.before(place, costs.pace);
            }
            if walk.before.all != 0.0 {
                walk.threads[point.thread].get_or_insert_default().lag += walk.before.all;
            }
            walk.pass(point, &recording.events[point.event]);
        }
        walk
    }
}

/// The way through the instants of one recording.
struct Walk<'l> {
    times: Vec<Times>,
    /// By their places; `None`: a thread has not begun.
    threads: Vec<Option<Thread>>,
    /// The place of the thread whose instant was the last one.
    latest: usize,
    latest_pid: u32,
    /// What the stops took before the present instant.
    before: Before,
    user_until_reached: Option<f64>,
    lags: &'l Lags,
    costs: &'l PointCosts,
}

impl Walk<'_> {
    /// User code of all threads so far, in nanoseconds.
    fn user(&self) -> f64 {
        self.threads.iter().flatten().map(|thread| thread.user.as_f64()).sum()
    }

    fn pass(&mut self, point: &Point, event: &Event) {
        if event.pid == 0 {
            // what we saw from outside follows what the tracee did last
            let latest = self.threads[self.latest].unwrap_or_default();
            let since = point.at.0 - latest.recorded.0;
            // before the thread goes on, which an unobserved one does at once
            let is_reached = matches!(event.kind, EventKind::Reached { .. });
            let is_seen_in_stop = self.lags.measures() && is_reached;
            if is_reached {
                self.user_until_reached.get_or_insert(self.user());
            }
            self.times[point.event].end =
                Nanos(latest.last.0 + if is_seen_in_stop { since.min(1) } else { since });
            return;
        }
        match point.part {
            Part::Begin => self.begin(point, event),
            Part::Woken => self.woken(point),
            Part::End => self.end(point, event),
        }
        if point.part != Part::Woken {
            (self.latest, self.latest_pid) = (point.thread, event.pid);
        }
    }

    fn begin(&mut self, point: &Point, event: &Event) {
        let before = match &event.kind {
            EventKind::Call(_) => self.costs.syscall.around / 2.0,
            EventKind::Fault(_) => self.costs.fault.around / 2.0,
            _ => 0.0,
        };
        let thread = self.threads[point.thread].get_or_insert_default();
        thread.lag += before;
        let guesses = self.lags.guesses();
        self.times[point.event].begin = match &event.kind {
            EventKind::Call(_) => thread.enters(self.costs.pace.given, point.at, guesses),
            _ => thread.stamp(point.at, guesses),
        };
        match &event.kind {
            EventKind::Call(_) => (thread.call, thread.in_kernel) = (Some(point.event), true),
            EventKind::OffCpu(_) => {
                thread.left_kernel = thread.in_kernel;
                thread.in_kernel = true;
            }
            EventKind::Fault(_) => thread.user_before_fault = thread.user,
            _ => {}
        }
    }

    /// An interrupt may wake a thread while another one happens to run there: that one is in user code then.
    fn woken(&mut self, point: &Point) {
        let waker = self.lags.wakes.get(&point.event).map(|wake| wake.waker);
        let waker = waker.and_then(|waker| self.threads[*self.lags.places.get(&waker)?].as_ref());
        if let Some(waker) = waker.filter(|waker| self.lags.by_ptrace || waker.in_kernel) {
            self.times[point.event].woken = waker.place(point.at);
        }
    }

    fn end(&mut self, point: &Point, event: &Event) {
        let costs = self.costs;
        let end = match &event.kind {
            EventKind::Call(call) => self.call_ends(point, event.pid, call),
            EventKind::Fault(_) => self.fault_ends(point),
            EventKind::OffCpu(_) => self.runs_again(point, event),
            EventKind::Exit { .. } => self.exits(point),
            kind => self.own_end(point, 0.0, if is_other(kind) { costs.other } else { 0.0 }),
        };
        self.times[point.event].end = end;
        self.follow(point.thread, event);
    }

    /// The end of something that the thread itself has done. `within` has been spent before, `after` will be.
    fn own_end(&mut self, point: &Point, within: f64, after: f64) -> Nanos {
        let thread = self.threads[point.thread].get_or_insert_default();
        thread.lag += within;
        let end = thread.stamp(point.at, self.lags.guesses());
        thread.lag += after;
        end
    }

    fn fault_ends(&mut self, point: &Point) -> Nanos {
        let EventCost { around, within } = self.costs.fault;
        let end = self.own_end(point, within, around / 2.0);
        let thread = self.threads[point.thread].get_or_insert_default();
        thread.user = thread.user_before_fault;
        end
    }

    fn call_ends(&mut self, point: &Point, pid: u32, call: &Call) -> Nanos {
        let kind = self.lags.kinds[point.event];
        let EventCost { around, within } = self.costs.syscall;
        let after = around / 2.0 + f64::from(reads(call)) * self.costs.read;
        let Times { begin, woken, .. } = self.times[point.event];
        let Before { slept, in_call, .. } = self.before;
        let may_wait = self.lags.by_ptrace && call.entered < point.at && slept != Some(false);
        let waits = may_wait && kind.wait.is_some();
        let wake = self.lags.wakes.get(&point.event).filter(|_| woken.0 > 0 && slept != Some(false));
        let ended = if waits && wake.is_none() { self.ended_by_latest(point, pid) } else { None };

        let thread = self.threads[point.thread].get_or_insert_default();
        thread.call = Some(point.event).filter(|_| kind.never_returns);
        let end = match wake {
            Some(wake) => {
                let since = after_wake(call, point.at.as_f64() - wake.at.as_f64(), within + in_call);
                thread.wait_until(point.at, later(woken.max(begin), since))
            }
            None if let Some((last, since)) = ended => {
                let since = after_wake(call, since, within + in_call);
                thread.wait_until(point.at, later(last.max(begin), since))
            }
            None if waits && slept.is_none() => {
                let length = (point.at.as_f64() - call.entered.as_f64() - within).max(0.0);
                thread.wait_until(point.at, later(begin, length))
            }
            None => {
                thread.lag += within;
                thread.stamp(point.at, self.lags.guesses())
            }
        };
        thread.in_kernel = kind.never_returns;
        thread.lag += after;
        end
    }

    /// Where the last event before the end of a wait lies, and how long the wait went on, if another thread ended it: no call says
    /// which one, so it was probably the one that did the last thing. By ptrace, threads wait several times as long for each
    /// other as they do unobserved. That is known of a futex, and supposed of others that give way.
    fn ended_by_latest(&self, point: &Point, pid: u32) -> Option<(Nanos, f64)> {
        let latest = self.threads[self.latest].filter(|_| self.latest != point.thread)?;
        let CallKind { wait, timed_out, woken, .. } = self.lags.kinds[point.event];
        let needed = if timed_out { GivingWay::Timeouts } else { GivingWay::Waits };
        let gives_way = wait != Some(Wait::Sleep) && self.costs.pace.giving_way >= needed;
        let was_woken = match woken {
            Some(Waker::InProcess) => self.latest_pid == pid,
            Some(Waker::Anywhere) => true,
            None => false,
        };
        (was_woken || gives_way).then(|| (latest.last, point.at.as_f64() - latest.recorded.as_f64()))
    }

    /// Another thread may have ended the process while this one waited, however long, or killed it. Then it ends as much earlier
    /// as that thread, so their order stays.
    fn exits(&mut self, point: &Point) -> Nanos {
        let (wake, woken) = (self.lags.wakes.get(&point.event), self.times[point.event].woken);
        let wake = wake.filter(|_| woken.0 > 0).map(|wake| (wake.at, woken));
        let latest = self.threads[self.latest].filter(|_| self.lags.by_ptrace && self.latest != point.thread);
        let latest = latest.map(|latest| (latest.recorded, latest.last));
        let EventCost { around, within } = self.costs.syscall;
        let stop = within + around / 2.0 + self.before.all;

        let thread = self.threads[point.thread].get_or_insert_default();
        let ends_itself = thread.call.is_some_and(|call| self.lags.kinds[call].exits);
        let Some((recorded, corrected)) = wake.or(latest.filter(|_| !ends_itself)) else {
            return self.own_end(point, 0.0, self.costs.other);
        };
        let since = (point.at.as_f64() - recorded.as_f64() - stop).max(0.0);
        thread.wait_until(point.at, later(corrected, since))
    }

    /// A thread has the processor again.
    fn runs_again(&mut self, point: &Point, event: &Event) -> Nanos {
        let EventKind::OffCpu(absence) = event.kind else { return point.at };
        let Times { begin, woken, .. } = self.times[point.event];
        let thread = self.threads[point.thread].get_or_insert_default();
        let sleeps = |kind: CallKind| kind.wait == Some(Wait::Sleep) && !kind.never_returns;
        let is_timer = thread.call.is_some_and(|call| sleeps(self.lags.kinds[call]));
        let end = if absence.left.0 == 0 {
            thread.stamp(point.at, self.lags.guesses())
        } else if woken.0 > 0 && !is_timer {
            let since = point.at.as_f64() - absence.woken.as_f64();
            thread.wait_until(point.at, later(woken.max(begin), since))
        } else {
            let length = point.at.as_f64() - absence.left.as_f64();
            thread.wait_until(point.at, later(begin, length))
        };
        thread.in_kernel = take(&mut thread.left_kernel);
        thread.lag += self.costs.other;
        end
    }

    /// The thread that executes an image takes over the id of its process.
    fn take_over(&mut self, place: usize, event: &Event) {
        let EventKind::Image(image) = &event.kind else { return };
        if let Some(old) = image.old_tid.and_then(|old| self.threads[self.lags.places[&old]].take()) {
            self.threads[place] = Some(old);
        }
    }

    /// Threads come or go.
    fn follow(&mut self, place: usize, event: &Event) {
        let thread = self.threads[place].get_or_insert_default();
        match &event.kind {
            EventKind::Fork { child_tid, .. } => {
                // the creator pays for the observation
                let lag = thread.lag - self.costs.other;
                // with bpf, it is seen when it begins to run
                let in_kernel = !self.lags.by_ptrace;
                let child =
                    Thread { lag, recorded: event.at, last: thread.last, in_kernel, ..Thread::default() };
                let known = &mut self.threads[self.lags.places[child_tid]];
                *known = known.filter(|known| !known.over).or(Some(child));
            }
            EventKind::ExecEnter => thread.in_kernel = true,
            EventKind::Exit { .. } => (thread.in_kernel, thread.over) = (true, true),
            EventKind::ExecExit { .. } => thread.in_kernel = false,
            _ => {}
        }
    }
}

impl CallKind {
    fn of(event: &Event) -> CallKind {
        let EventKind::Call(call) = &event.kind else { return CallKind::default() };
        let name = call_names::name(call.call);
        let wait = CallFacts::of(&name).and_then(CallFacts::waits_for);
        let is_private = call.arguments[1] & u64::from(libc::FUTEX_PRIVATE_FLAG.unsigned_abs()) != 0;
        let is_late = call.error() == Some(-i64::from(libc::ETIMEDOUT));
        CallKind {
            exits: name.starts_with("exit"),
            never_returns: call.result.is_none(),
            wait,
            timed_out: is_late || wait == Some(Wait::Poll) && call.result == Some(0),
            woken: was_woken(call).then_some(if is_private { Waker::InProcess } else { Waker::Anywhere }),
        }
    }
}

/// How long a call still took when its wait had ended. `at_most`: as recorded, with the stop; `stop`: what that took. The thread
/// works for a half of its time before it sleeps.
fn after_wake(call: &Call, at_most: f64, stop: f64) -> f64 {
    let worked = call.processor.as_ref().map(|times| times[1].ran.as_f64() - times[0].ran.as_f64());
    let since = worked.map_or(at_most - stop / 2.0, |worked| (worked - stop) / 2.0);
    since.min(at_most).max(0.0)
}

fn earlier(at: Nanos, ns: f64) -> Nanos {
    Nanos::rounded((at.as_f64() - ns).max(0.0))
}

fn later(at: Nanos, ns: f64) -> Nanos {
    Nanos::rounded(at.as_f64() + ns)
}

/// The times that an event gets where it would have been.
fn moved(event: &Event, to: &Times) -> Times {
    let begin = to.begin.min(to.end);
    let EventKind::OffCpu(absence) = event.kind else { return Times { begin, ..*to } };
    let woken_after = absence.woken.0.saturating_sub(absence.left.0);
    let woken = if to.woken.0 > 0 { to.woken.0 } else { begin.0 + woken_after };
    match absence.left.0 {
        0 => Times { begin: absence.left, woken: absence.woken, ..*to },
        _ if absence.woken.0 == 0 => Times { begin, woken: absence.woken, ..*to },
        _ => Times { begin, woken: Nanos(woken).clamp(begin, to.end), ..*to },
    }
}

/// Exchanges the times of an event for others.
fn exchange(event: &mut Event, times: &mut Times) {
    swap(&mut event.at, &mut times.end);
    match &mut event.kind {
        EventKind::Call(call) => swap(&mut call.entered, &mut times.begin),
        EventKind::Fault(fault) => swap(&mut fault.entered, &mut times.begin),
        EventKind::OffCpu(absence) => {
            swap(&mut absence.left, &mut times.begin);
            swap(&mut absence.woken, &mut times.woken);
        }
        _ => {}
    }
}

/// All events, in the order that these places of theirs have.
fn in_order(events: Vec<Event>, places: &[usize]) -> Vec<Event> {
    let mut events: Vec<Option<Event>> = events.into_iter().map(Some).collect();
    places.iter().filter_map(|place| events[*place].take()).collect()
}
