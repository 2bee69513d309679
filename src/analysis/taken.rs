//! Who had the processor while the program could have run.

use super::model::{Account, AllTaken, PathPiece};
use super::step::{Reason, Step, What};
use firstbyte_measure::units::Nanos;
use std::collections::BTreeMap;

/// A thread that is woken on an idle processor runs sooner than this. After a longer time, others had the processor.
const SOON: Nanos = Nanos(500_000);

/// After its last event, the kernel releases what a thread had, and then gives its processor to the next one within this time.
const LAST_WORK: Nanos = Nanos(100_000);

/// Whether others had the processor in this step, although the thread could have run.
pub fn is_taken(step: &Step) -> bool {
    match *step.what {
        What::Off(Reason::Preempted) => true,
        What::Off(Reason::Runnable | Reason::Created) => step.self_time >= SOON,
        _ => false,
    }
}

impl Account {
    /// What others took of the path's time.
    pub fn taken(&self) -> &AllTaken {
        self.taken.get_or_init(|| taken(self))
    }
}

fn taken(account: &Account) -> AllTaken {
    let turns = Turns::of(account);
    let mut all = AllTaken::default();
    for (place, step) in account.steps.iter().enumerate().filter(|(_, step)| is_taken(step)) {
        let mut ours = 0;
        if let Some((piece, whole)) = whole(account, step) {
            let [until, from] = turns.beside(whole);
            let end = step.start + step.elapsed;
            let before = until.min(end).0.saturating_sub(step.start.0);
            let after = end.0.saturating_sub(from.max(step.start).0);
            ours = (before + after).min(step.self_time.0);
            all.other_processes |= ours > 0 && turns.is_of_another_process(whole, piece.pid);
        }

        let by_others = Nanos(step.self_time.0 - ours);
        all.ours.add(Nanos(ours));
        all.others.add(by_others);
        all.by_others.extend((by_others.0 > 0).then_some((place, by_others)));
    }
    all
}

/// A thread's time on a processor without a break.
#[derive(Clone, Copy)]
struct Turn {
    pid: u32,
    begin: Nanos,
    end: Nanos,
}

/// Those of all threads, by the instants at which they begin and end. The kernel gives a processor to the next thread at the
/// instant at which one leaves it.
#[derive(Default)]
struct Turns {
    begin: BTreeMap<Nanos, Turn>,
    end: BTreeMap<Nanos, Turn>,
    /// The last turn of each thread, by its last event.
    last: BTreeMap<Nanos, Turn>,
}

impl Turns {
    fn of(account: &Account) -> Turns {
        let mut turns = Turns::default();
        for thread in &account.threads {
            let (pid, mut begin) = (thread.pid, thread.start);
            for wait in thread.steps.iter().filter(|step| matches!(*step.what, What::Off(_))) {
                let turn = Turn { pid, begin, end: wait.start };
                if turn.end > turn.begin {
                    turns.begin.insert(turn.begin, turn);
                    turns.end.insert(turn.end, turn);
                }
                begin = wait.start + wait.elapsed;
            }
            // a thread that ends leaves its processor a little later
            let last = Turn { pid, begin, end: thread.start + thread.lifetime };
            if last.end > begin {
                turns.begin.insert(begin, last);
                turns.last.insert(last.end, last);
            }
        }
        turns
    }

    /// Until when the program's threads have a processor without a break after one of them lost it, and from when before it
    /// gets it again.
    fn beside(&self, wait: &Step) -> [Nanos; 2] {
        let until = self.after(wait).last().map_or(wait.start, |turn| turn.end);
        let from = self.before(wait).last().map_or(wait.start + wait.elapsed, |turn| turn.begin);
        [until, from]
    }

    fn after(&self, wait: &Step) -> impl Iterator<Item = &Turn> {
        let first = self.begin.get(&wait.start).filter(|_| *wait.what == What::Off(Reason::Preempted));
        let end = wait.start + wait.elapsed;
        std::iter::successors(first, move |turn| self.begin.get(&turn.end).filter(|_| turn.end < end))
    }

    fn before(&self, wait: &Step) -> impl Iterator<Item = &Turn> {
        let (first, start) = (self.left_at(wait.start + wait.elapsed), wait.start);
        std::iter::successors(first, move |turn| self.left_at(turn.begin).filter(|_| turn.begin > start))
    }

    /// The turn after which a thread left its processor at this instant.
    fn left_at(&self, at: Nanos) -> Option<&Turn> {
        let ended = || self.last.range(Nanos(at.0.saturating_sub(LAST_WORK.0))..at).next_back();
        self.end.get(&at).or_else(|| ended().map(|(_, turn)| turn))
    }

    fn is_of_another_process(&self, wait: &Step, pid: u32) -> bool {
        self.after(wait).chain(self.before(wait)).any(|turn| turn.pid != pid)
    }
}

/// The step of a thread of which the path has a part, and the piece of the path with it: the path can come to the thread
/// later, and leave it sooner.
fn whole<'a>(account: &'a Account, step: &Step) -> Option<(&'a PathPiece, &'a Step)> {
    let begun = account.path.partition_point(|piece| piece.from <= step.start);
    let piece = account.path[..begun].last().filter(|piece| step.start < piece.to)?;
    let steps = &account.threads.get(piece.thread)?.steps;
    let begun = steps.partition_point(|other| other.start <= step.start);
    let holds = |other: &&Step| other.what == step.what && step.start < other.start + other.elapsed;
    steps[..begun].iter().rfind(holds).map(|wait| (piece, wait))
}
