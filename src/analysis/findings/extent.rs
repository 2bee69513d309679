//! Which part of the path a finding is about, so that no time is counted twice.

use crate::analysis::taken::taken;
use crate::analysis::{Account, PathPiece, Step, What};
use firstbyte_measure::units::Nanos;
use std::collections::{BTreeMap, HashMap};

/// Nanoseconds of the path's steps, by when each step began and how long it lasted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent(BTreeMap<(Nanos, Nanos), u64>);

impl Extent {
    /// All of these steps of the path.
    pub(super) fn of<'s>(steps: impl IntoIterator<Item = &'s Step>) -> Extent {
        let mut extent = Extent::default();
        for step in steps {
            *extent.0.entry((step.start, step.elapsed)).or_default() += step.self_time.0;
        }
        extent
    }

    /// The time in which other programs had the processor.
    pub(super) fn taken_by_others(account: &Account) -> Extent {
        let mut extent = Extent::default();
        for (step, time) in account.steps.iter().zip(taken(account).by_others).filter(|(_, time)| time.0 > 0)
        {
            extent.0.insert((step.start, step.elapsed), time.0);
        }
        extent
    }

    /// User code of the processes that are wanted.
    pub(super) fn of_user_code(account: &Account, wanted: impl Fn(u32) -> bool) -> Extent {
        let processes = Processes::of(account);
        let is_wanted = |step: &&Step| step.what == What::User && wanted(processes.at(step.start));
        Extent::of(account.steps.iter().filter(is_wanted))
    }

    /// What the processes that are wanted do within an interval.
    pub(super) fn between(account: &Account, [from, to]: [Nanos; 2], wanted: impl Fn(u32) -> bool) -> Extent {
        let processes = Processes::of(account);
        let [first, end] = [from, to].map(|at| account.steps.partition_point(|step| step.start < at));
        let steps = account.steps[first..end.max(first)].iter();
        Extent::of(steps.filter(|step| wanted(processes.at(step.start))))
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
        let steps = account.steps.iter().filter(|step| step.what == What::User);
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
            let path = match &step.what {
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
        Nanos(self.0.iter().filter(|((start, _), _)| is_wanted(*start)).map(|(_, time)| time).sum())
    }

    pub(super) fn total(&self) -> Nanos {
        Nanos(self.0.values().sum())
    }

    /// Both together: of each step, the larger part.
    pub(super) fn and(mut self, other: &Extent) -> Extent {
        for (step, time) in &other.0 {
            let part = self.0.entry(*step).or_default();
            *part = (*part).max(*time);
        }
        self
    }

    /// Both, one beside the other.
    pub(super) fn plus(mut self, other: &Extent) -> Extent {
        for (step, time) in &other.0 {
            *self.0.entry(*step).or_default() += time;
        }
        self
    }

    /// What another extent leaves of this one.
    pub(super) fn without(mut self, other: &Extent) -> Extent {
        for (step, time) in &mut self.0 {
            *time = time.saturating_sub(other.0.get(step).copied().unwrap_or_default());
        }
        self
    }

    /// A part of this length, if it is not known which: the same part of each step.
    pub(super) fn part(mut self, length: Nanos) -> Extent {
        let all = self.total();
        if length < all {
            let of_step = |time: u64| u128::from(time) * u128::from(length.0) / u128::from(all.0.max(1));
            self.0.values_mut().for_each(|time| *time = u64::try_from(of_step(*time)).unwrap_or(*time));
        }
        self
    }

    /// The time that both contain.
    pub(super) fn shared(&self, other: &Extent) -> Nanos {
        let (small, large) = if self.0.len() < other.0.len() { (self, other) } else { (other, self) };
        let both = |(step, time): (&(Nanos, Nanos), &u64)| large.0.get(step).map_or(0, |it| *it.min(time));
        Nanos(small.0.iter().map(both).sum())
    }
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
            let step = Step { start, elapsed: Nanos(*time), self_time: Nanos(*time), what: What::User };
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
