//! Where runs take place: on which processors a program and its launcher run.
//!
//! A child that starts now on the launcher's processor, now on another one makes samples bimodal: waking another processor
//! takes longer than a small program runs. So the launcher shares the processor of a program that runs on one anyway.

use crate::document::conditions::PlacedOn;
use firstbyte_measure::launch::CpuSet;

/// Where the runs of a program take place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Launcher and program together on these processors.
    Given(CpuSet),
    /// A program of one process with one thread on one processor, together with the launcher. Any other one wherever the
    /// kernel puts it: its threads may need several processors.
    Steady,
    /// Wherever the kernel puts them.
    #[default]
    Anywhere,
}

impl Placement {
    /// The processors that the user chose.
    pub fn given(&self) -> Option<&CpuSet> {
        match self {
            Placement::Given(cpus) => Some(cpus),
            Placement::Steady | Placement::Anywhere => None,
        }
    }
}

/// Moves the thread that launches to where each program is to run: a child starts on the processors of its parent.
/// Moves it back when dropped.
#[derive(Debug)]
pub(super) struct Placements {
    /// Where we may run; `None` if the kernel does not say, then nothing is moved.
    home: Option<CpuSet>,
    /// Where each program runs; `None`: at home.
    seats: Vec<Option<CpuSet>>,
    wanted: Vec<Placement>,
    now: Option<CpuSet>,
}

impl Placements {
    pub(super) fn new(wanted: Vec<Placement>) -> Placements {
        let seats = wanted.iter().map(|placement| placement.given().cloned()).collect();
        Placements { home: CpuSet::of_this_thread(), seats, wanted, now: None }
    }

    /// Takes note that runs of a program had one process and one thread. The last processor serves the fewest interrupts.
    pub(super) fn runs_alone(&mut self, program: usize) {
        let last = self.home.as_ref().and_then(CpuSet::last);
        if self.wanted.get(program) == Some(&Placement::Steady) {
            self.seats[program] = last;
        }
    }

    /// Whether a program and its launcher run on the same single processor.
    pub(super) fn is_on_one(&self, program: usize) -> bool {
        self.seats[program].as_ref().is_some_and(|cpus| cpus.cpus().len() == 1)
    }

    /// Where a program runs.
    pub(super) fn of(&self, program: usize) -> PlacedOn {
        match (&self.wanted[program], &self.seats[program]) {
            (Placement::Given(_), _) => PlacedOn::Given,
            (_, Some(cpus)) => PlacedOn::One(cpus.cpus()[0]),
            (_, None) => PlacedOn::Any,
        }
    }

    /// Goes to where a program runs.
    pub(super) fn go_to(&mut self, program: usize) {
        let seat = self.seats.get(program).and_then(Option::as_ref).or(self.home.as_ref()).cloned();
        self.go(seat);
    }

    /// Goes to where we may run, so that what is started now has all processors.
    pub(super) fn go_home(&mut self) {
        self.go(self.home.clone());
    }

    fn go(&mut self, to: Option<CpuSet>) {
        let Some(cpus) = to.filter(|to| self.now.as_ref() != Some(to)) else { return };
        // Where the kernel refuses, runs take place where we are.
        if self.now.is_some() || Some(&cpus) != self.home.as_ref() {
            cpus.keep_this_thread();
        }
        self.now = Some(cpus);
    }
}

impl Drop for Placements {
    fn drop(&mut self) {
        self.go_home();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_one_thread_gets_the_last_processor_and_the_others_stay_at_home() {
        let home = CpuSet::of_this_thread().unwrap();
        let last = home.last().unwrap();
        let mut placements = Placements::new(vec![
            Placement::Steady,
            Placement::Steady,
            Placement::Anywhere,
            Placement::Given(last.clone()),
        ]);
        placements.runs_alone(0);
        placements.runs_alone(2);
        let one = PlacedOn::One(last.cpus()[0]);
        assert_eq!(
            [0, 1, 2, 3].map(|n| placements.of(n)),
            [one, PlacedOn::Any, PlacedOn::Any, PlacedOn::Given]
        );
        for (program, expected) in [(0, &last), (1, &home), (3, &last), (2, &home)] {
            placements.go_to(program);
            assert_eq!(&CpuSet::of_this_thread().unwrap(), expected);
        }
        placements.go_to(0);
        drop(placements);
        assert_eq!(CpuSet::of_this_thread().unwrap(), home);
    }
}
