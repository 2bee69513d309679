//! Which part of the path a finding is about, so that no time is counted twice.

use crate::analysis::{Account, PathPiece, Step, What};
use firstbyte_measure::units::Nanos;
use std::collections::HashMap;
use std::iter::Peekable;

/// Nanoseconds of the path's steps, in their order. A path can have millions of steps, so two extents are merged rather than
/// searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent(Vec<Part>);

/// What an extent has of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// When the step began, and how long it lasted.
    step: (Nanos, Nanos),
    time: u64,
}

impl Extent {
    /// All of these steps of the path.
    pub(super) fn of<'s>(steps: impl IntoIterator<Item = &'s Step>) -> Extent {
        let part = |step: &Step| Part { step: (step.start, step.elapsed), time: step.self_time.0 };
        Extent::of_parts(steps.into_iter().map(part).collect())
    }

    /// These steps, until so much user code has run: of the last one, only that part.
    pub(super) fn of_first_user_code(steps: &[Step], time: Nanos) -> Extent {
        let mut left = time.0;
        let part = |step: &Step| {
            let is_user = *step.what == What::User;
            let time = if is_user { step.self_time.0.min(left) } else { step.self_time.0 };
            let is_before = left > 0;
            left -= if is_user { time } else { 0 };
            is_before.then_some(Part { step: (step.start, step.elapsed), time })
        };
        Extent::of_parts(steps.iter().map_while(part).collect())
    }

    /// The times of equal steps are added.
    fn of_parts(mut parts: Vec<Part>) -> Extent {
        parts.sort_by_key(|part| part.step);
        parts.dedup_by(|part, before| {
            let is_same = part.step == before.step;
            before.time += if is_same { part.time } else { 0 };
            is_same
        });
        Extent(parts)
    }

    /// The time in which other programs had the processor.
    pub(super) fn taken_by_others(account: &Account) -> Extent {
        let part = |(place, time): &(usize, Nanos)| {
            let step = &account.steps[*place];
            Part { step: (step.start, step.elapsed), time: time.0 }
        };
        Extent::of_parts(account.taken().by_others.iter().map(part).collect())
    }

    /// User code of the processes that are wanted.
    pub(super) fn of_user_code(account: &Account, wanted: impl Fn(u32) -> bool) -> Extent {
        let processes = Processes::of(account);
        let is_wanted = |step: &&Step| *step.what == What::User && wanted(processes.at(step.start));
        Extent::of(account.steps.iter().filter(is_wanted))
    }

    /// What the processes that are wanted do within an interval.
    pub(super) fn between(account: &Account, [from, to]: [Nanos; 2], wanted: impl Fn(u32) -> bool) -> Extent {
        let processes = Processes::of(account);
        let [first, end] = [from, to].map(|at| account.steps.partition_point(|step| step.start < at));
        let steps = account.steps[first..end.max(first)].iter();
        Extent::of(steps.filter(|step| wanted(processes.at(step.start))))
    }

    /// What lies in an interval, also of the steps that began before.
    pub(super) fn during(account: &Account, [from, to]: [Nanos; 2]) -> Extent {
        // at most so many steps lie within each other
        const NESTED: usize = 4;
        let [first, end] = [from, to].map(|at| account.steps.partition_point(|step| step.start < at));
        let part = |step: &Step| {
            let inside = (step.start + step.elapsed).min(to).0.saturating_sub(step.start.max(from).0);
            Part { step: (step.start, step.elapsed), time: inside.min(step.self_time.0) }
        };
        let steps = &account.steps[first.saturating_sub(NESTED)..end.max(first)];
        Extent::of_parts(steps.iter().map(part).collect())
    }

    /// User code of a program, by the name of its file. If too little of it is found (the program is executed by another name),
    /// all user code.
    pub(super) fn of_program(account: &Account, name: &str, time: Nanos) -> Extent {
        let executions = account.executions();
        let is_named = |step: &&Step, pid| {
            let exec = executions.at(pid, step.start);
            exec.is_some_and(|exec| exec.executed.rsplit('/').next() == Some(name))
        };
        let processes = Processes::of(account);
        let steps = account.steps.iter().filter(|step| *step.what == What::User);
        let extent = Extent::of(steps.filter(|step| is_named(step, processes.at(step.start))));
        if extent.total().0 * 2 < time.0 { Extent::of_user_code(account, |_| true) } else { extent }
    }

    /// The time from when each of these files is first opened or executed, for as long as it takes.
    pub(super) fn of_files<'f>(
        account: &Account,
        files: impl IntoIterator<Item = (&'f str, Nanos)>,
    ) -> Extent {
        let mut opened: HashMap<&str, Nanos> = HashMap::new();
        for step in &account.steps {
            let path = match &*step.what {
                What::Call { file: Some(path), failed: false, .. } if step.what.opens() => path,
                What::Exec { path, .. } => path,
                _ => continue,
            };
            opened.entry(path).or_insert(step.start);
        }
        let begun = files.into_iter().filter_map(|(path, time)| Some((*opened.get(path)?, time)));
        begun.fold(Extent::default(), |all, (from, time)| {
            all.and(&Extent::between(account, [from, from + time], |_| true))
        })
    }

    /// What lies in steps that begin at these instants.
    pub(super) fn begun(&self, is_wanted: impl Fn(Nanos) -> bool) -> Nanos {
        Nanos(self.0.iter().filter(|part| is_wanted(part.step.0)).map(|part| part.time).sum())
    }

    pub(super) fn total(&self) -> Nanos {
        Nanos(self.0.iter().map(|part| part.time).sum())
    }

    /// Both together: of each step, the larger part.
    pub(super) fn and(self, other: &Extent) -> Extent {
        self.merged(other, u64::max)
    }

    /// Both, one beside the other.
    pub(super) fn plus(self, other: &Extent) -> Extent {
        self.merged(other, |own, other| own + other)
    }

    /// All steps of both. Of a step that both have, the time is `of_both` of theirs.
    fn merged(self, other: &Extent, of_both: fn(u64, u64) -> u64) -> Extent {
        if self.0.is_empty() || other.0.is_empty() {
            return if self.0.is_empty() { other.clone() } else { self };
        }
        let mut all = Vec::with_capacity(self.0.len().max(other.0.len()));
        let mut others = other.0.iter().copied().peekable();
        for part in self.0 {
            all.extend(std::iter::from_fn(|| others.next_if(|it| it.step < part.step)));
            let same = others.next_if(|it| it.step == part.step);
            all.push(Part { time: same.map_or(part.time, |it| of_both(part.time, it.time)), ..part });
        }
        all.extend(others);
        Extent(all)
    }

    /// What another extent leaves of this one.
    pub(super) fn without(mut self, other: &Extent) -> Extent {
        let mut others = other.0.iter().peekable();
        for part in &mut self.0 {
            let same = same_step(&mut others, part);
            part.time = part.time.saturating_sub(same.map_or(0, |it| it.time));
        }
        self
    }

    /// A part of this length, if it is not known which: the same part of each step.
    pub(super) fn part(mut self, length: Nanos) -> Extent {
        let all = self.total();
        if length < all {
            let of_step = |time: u64| u128::from(time) * u128::from(length.0) / u128::from(all.0.max(1));
            for part in &mut self.0 {
                part.time = u64::try_from(of_step(part.time)).unwrap_or(part.time);
            }
        }
        self
    }

    /// The time that both contain.
    pub(super) fn shared(&self, other: &Extent) -> Nanos {
        let mut others = other.0.iter().peekable();
        let both = |part: &Part| same_step(&mut others, part).map_or(0, |it| it.time.min(part.time));
        Nanos(self.0.iter().map(both).sum())
    }
}

/// The part of the same step among those that are left, if there is one.
fn same_step<'p>(left: &mut Peekable<impl Iterator<Item = &'p Part>>, part: &Part) -> Option<&'p Part> {
    while left.next_if(|it| it.step < part.step).is_some() {}
    left.next_if(|it| it.step == part.step)
}

/// Which process has the path when.
pub(super) struct Processes<'a> {
    path: &'a [PathPiece],
    root: u32,
}

impl<'a> Processes<'a> {
    pub(super) fn of(account: &'a Account) -> Processes<'a> {
        Processes { path: &account.path, root: account.root }
    }

    pub(super) fn at(&self, instant: Nanos) -> u32 {
        let behind = self.path.partition_point(|piece| piece.from <= instant);
        behind.checked_sub(1).map_or(self.root, |index| self.path[index].pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(times: &[u64]) -> Vec<Step> {
        let mut start = Nanos(0);
        let step = |time: &u64| {
            let step =
                Step { start, elapsed: Nanos(*time), self_time: Nanos(*time), what: What::User.into() };
            start = start + step.elapsed;
            step
        };
        times.iter().map(step).collect()
    }

    #[test]
    fn extents_share_the_steps_that_both_contain() {
        let all = steps(&[10, 20, 70]);
        let (begin, end) = (Extent::of(&all[..2]), Extent::of(&all[1..]));
        assert_eq!(
            (begin.total(), begin.shared(&end), end.shared(&begin)),
            (Nanos(30), Nanos(20), Nanos(20))
        );
        assert_eq!(begin.clone().without(&end).total(), Nanos(10));
        assert_eq!(begin.clone().and(&end).total(), Nanos(100));
        let part = Extent::of(&all).part(Nanos(50));
        assert_eq!((part.total(), part.shared(&begin)), (Nanos(50), Nanos(15)));
        assert_eq!(begin.clone().part(Nanos(99)), begin, "no part is more than all");
    }
}
