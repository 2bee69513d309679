//! The phases of a run: the one definition of their order and names.

use crate::units::Nanos;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// One of the four parts of a run's total, in the order in which they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Entry of the tracee's first `execve` to that call's return in the new image.
    Startup,
    /// From there to the entry of the first write of output.
    Setup,
    /// That write: when it returns, the first byte is out.
    Write,
    /// From there to the exit of the tracee's thread group.
    Teardown,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Phase; 4] = [Phase::Startup, Phase::Setup, Phase::Write, Phase::Teardown];

    /// The name in documents and in text.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Startup => "startup",
            Phase::Setup => "setup",
            Phase::Write => "write",
            Phase::Teardown => "teardown",
        }
    }
}

/// One value for each phase, indexed by [`Phase`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerPhase<T>([T; Phase::ALL.len()]);

impl<T> PerPhase<T> {
    /// The value of each phase, computed in order.
    pub fn from_fn(value: impl FnMut(Phase) -> T) -> PerPhase<T> {
        PerPhase(Phase::ALL.map(value))
    }

    /// Each phase with its value, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Phase, &T)> {
        Phase::ALL.into_iter().zip(&self.0)
    }
}

impl<T> Index<Phase> for PerPhase<T> {
    type Output = T;

    fn index(&self, phase: Phase) -> &T {
        &self.0[phase as usize]
    }
}

impl<T> IndexMut<Phase> for PerPhase<T> {
    fn index_mut(&mut self, phase: Phase) -> &mut T {
        &mut self.0[phase as usize]
    }
}

/// As a map from the names of the phases.
impl<T: Serialize> Serialize for PerPhase<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(phase, value)| (phase.name(), value)))
    }
}

/// From a map: a phase that is missing has the default value, other names are ignored.
impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for PerPhase<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PerPhase<T>, D::Error> {
        deserializer.deserialize_map(ByName(PhantomData))
    }
}

struct ByName<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for ByName<T> {
    type Value = PerPhase<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a map from the names of the phases")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PerPhase<T>, A::Error> {
        let mut values = PerPhase::from_fn(|_| T::default());
        while let Some(name) = map.next_key::<String>()? {
            match Phase::ALL.into_iter().find(|phase| phase.name() == name) {
                Some(phase) => values[phase] = map.next_value()?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(values)
    }
}

/// The partition of one run's total, in integer nanoseconds: the four sum to it exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// See [`Phase::Startup`].
    pub startup: Nanos,
    /// See [`Phase::Setup`]. `None`: the program printed nothing.
    pub setup: Option<Nanos>,
    /// See [`Phase::Write`]. `None`: the program printed nothing.
    pub write: Option<Nanos>,
    /// See [`Phase::Teardown`]. It begins where the startup ends if the program printed nothing.
    pub teardown: Nanos,
}

impl Phases {
    /// The length of one phase; `None` for a phase that a program without output does not have.
    pub fn get(&self, phase: Phase) -> Option<Nanos> {
        match phase {
            Phase::Startup => Some(self.startup),
            Phase::Setup => self.setup,
            Phase::Write => self.write,
            Phase::Teardown => Some(self.teardown),
        }
    }

    /// startup + setup + write; `None` for a program that printed nothing.
    pub fn first_byte(&self) -> Option<Nanos> {
        Some(self.startup + self.setup? + self.write?)
    }

    /// The sum of all phases.
    pub fn total(&self) -> Nanos {
        Phase::ALL.into_iter().filter_map(|phase| self.get(phase)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_for_each_phase_is_found_by_its_phase() {
        let names = PerPhase::from_fn(Phase::name);
        assert_eq!(names[Phase::Write], "write");
        assert!(names.iter().all(|(phase, name)| phase.name() == *name));
    }
}
