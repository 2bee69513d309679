//! What is known of the environment in which a program was started.

use super::environment::shown;
use super::{Command, environment};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// The variables that a program was started with, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KnownEnvironment {
    /// Somebody else started it.
    #[default]
    Unknown,
    /// Those that change how programs start, as a recording lists them: private values are hashes.
    Recorded(BTreeMap<String, String>),
    /// All variables, because we started it.
    Whole(BTreeMap<OsString, OsString>),
}

impl KnownEnvironment {
    /// That of a command.
    pub fn of(command: &Command) -> KnownEnvironment {
        let entries = command.environment.iter().map(|entry| OsStr::from_bytes(entry.as_bytes()));
        KnownEnvironment::Whole(entries.filter_map(environment::parsed).collect())
    }

    /// Whether a variable that any value sets, such as `LD_BIND_NOW`, is set; `None`: that is not known.
    pub fn sets(&self, variable: &str) -> Option<bool> {
        match self {
            KnownEnvironment::Unknown => None,
            KnownEnvironment::Recorded(record) => {
                Some(record.get(variable).is_some_and(|value| !value.is_empty()))
            }
            KnownEnvironment::Whole(all) => {
                Some(all.get(OsStr::new(variable)).is_some_and(|value| !value.is_empty()))
            }
        }
    }

    /// The value of a variable, where it is known.
    pub fn value(&self, variable: &str) -> Option<&OsStr> {
        match self {
            KnownEnvironment::Whole(all) => all.get(OsStr::new(variable)).map(OsString::as_os_str),
            KnownEnvironment::Unknown | KnownEnvironment::Recorded(_) => None,
        }
    }

    /// The variables that have this value, where they are known.
    pub fn variables_with(&self, value: &str) -> Vec<String> {
        match self {
            KnownEnvironment::Unknown => Vec::new(),
            KnownEnvironment::Recorded(record) => {
                let with = record.iter().filter(|(name, known)| **known == shown(name, value.as_ref()));
                with.map(|(name, _)| name.clone()).collect()
            }
            KnownEnvironment::Whole(all) => {
                let with = all.iter().filter(|(_, known)| *known == value);
                with.map(|(name, _)| name.to_string_lossy().into_owned()).collect()
            }
        }
    }

    /// The variable whose value, a list with colons, has at least half of these folders, where it is known.
    pub fn variable_with_folders(&self, folders: &[&str]) -> Option<String> {
        let KnownEnvironment::Whole(all) = self else { return None };
        let wanted: BTreeSet<&str> = folders.iter().map(|folder| folder.trim_end_matches('/')).collect();
        let named = |value: &OsString| {
            let value = value.to_string_lossy();
            let parts: BTreeSet<&str> = value.split(':').map(|part| part.trim_end_matches('/')).collect();
            parts.intersection(&wanted).count()
        };
        let most = all.iter().map(|(name, value)| (named(value), name)).max_by_key(|(count, _)| *count);
        let (_, name) = most.filter(|(count, _)| *count > 0 && count * 2 >= wanted.len())?;
        Some(name.to_string_lossy().into_owned())
    }

    /// Each variable and how many bytes it takes in the memory of a program (`environ(7)`), where they are known.
    pub fn sizes(&self) -> Option<Vec<(String, usize)>> {
        let KnownEnvironment::Whole(all) = self else { return None };
        let size = |(name, value): (&OsString, &OsString)| {
            (name.to_string_lossy().into_owned(), name.len() + value.len() + "=\0".len())
        };
        Some(all.iter().map(size).collect())
    }

    /// Sets a variable, as a program does that executes another one. What is not known stays unknown.
    pub fn set(&mut self, name: &str, value: &str) {
        match self {
            KnownEnvironment::Unknown => {}
            KnownEnvironment::Recorded(record) => {
                record.insert(name.to_owned(), shown(name, value.as_ref()));
            }
            KnownEnvironment::Whole(all) => drop(all.insert(name.into(), value.into())),
        }
    }

    /// Removes the variables for which `is_unset` holds.
    pub fn unset(&mut self, is_unset: impl Fn(&str) -> bool) {
        match self {
            KnownEnvironment::Unknown => {}
            KnownEnvironment::Recorded(record) => record.retain(|name, _| !is_unset(name)),
            KnownEnvironment::Whole(all) => all.retain(|name, _| !is_unset(&name.to_string_lossy())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Environment;

    #[test]
    fn a_recording_knows_which_variable_has_a_value_and_not_the_value() {
        let mut environment = Environment::clean();
        environment.set("NODE_EXTRA_CA_CERTS".as_ref(), "/ca.pem".as_ref());
        environment.set("LD_BIND_NOW".as_ref(), "1".as_ref());
        let command = Command::new(&["/bin/sh"]).unwrap().with_environment(&environment);
        let (whole, recorded) =
            (KnownEnvironment::of(&command), KnownEnvironment::Recorded(environment.record()));

        for known in [&whole, &recorded] {
            assert_eq!(known.variables_with("/ca.pem"), ["NODE_EXTRA_CA_CERTS"]);
            assert_eq!((known.sets("LD_BIND_NOW"), known.sets("LD_PRELOAD")), (Some(true), Some(false)));
        }
        assert_eq!(whole.value("NODE_EXTRA_CA_CERTS"), Some("/ca.pem".as_ref()));
        assert_eq!(recorded.value("NODE_EXTRA_CA_CERTS"), None);

        let unknown = KnownEnvironment::Unknown;
        assert_eq!((unknown.sets("LD_BIND_NOW"), unknown.variables_with("/ca.pem")), (None, Vec::new()));
    }

    #[test]
    fn the_variable_that_lists_most_of_the_folders_is_known() {
        let variables = [("PATH", "/bin:/usr/bin"), ("PYTHONPATH", "/a:/b/:/c")];
        let all = variables.map(|(name, value)| (name.into(), value.into()));
        let known = KnownEnvironment::Whole(all.into());
        assert_eq!(known.variable_with_folders(&["/a/", "/b", "/d"]).as_deref(), Some("PYTHONPATH"));
        assert_eq!(known.variable_with_folders(&["/a", "/d", "/e"]), None);
        assert_eq!(known.sizes().unwrap(), [("PATH".to_owned(), 19), ("PYTHONPATH".to_owned(), 21)]);
    }
}
