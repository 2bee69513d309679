//! The environment of a program that is executed by `env`, which sets and removes variables first.

use super::model::Account;
use firstbyte_measure::launch::KnownEnvironment;

/// What the last program of the first process is started with, as far as the arguments of each `env` before it tell.
pub fn environment(account: &Account, first: &KnownEnvironment) -> KnownEnvironment {
    let root = account.processes.iter().filter(|process| process.pid == account.root);
    let mut known = first.clone();
    for exec in root.flat_map(|process| &process.execs) {
        let mut words = exec.argv.iter().map(String::as_str);
        if words.next().and_then(|name| name.rsplit('/').next()) == Some("env") {
            known = changed(&known, words).unwrap_or(known);
        }
    }
    known
}

/// The environment as these arguments of `env` change it; `None`: an option is not known, or the arguments were cut off before
/// the program.
fn changed<'w>(
    before: &KnownEnvironment,
    mut words: impl Iterator<Item = &'w str>,
) -> Option<KnownEnvironment> {
    let mut known = before.clone();
    loop {
        match words.next()? {
            "--" => {}
            "-" | "-i" | "--ignore-environment" => known.unset(|_| true),
            "-u" => {
                let name = words.next()?;
                known.unset(|known| known == name);
            }
            option if option.starts_with("--unset=") => {
                known.unset(|name| option.strip_prefix("--unset=") == Some(name));
            }
            "-C" => drop(words.next()?),
            option if option.starts_with("--chdir=") => {}
            option if option.starts_with('-') => return None,
            word => match word.split_once('=') {
                Some((name, value)) => known.set(name, value),
                None => return Some(known),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn after(words: &str) -> Option<Vec<(OsString, OsString)>> {
        let before = [("A", "1"), ("B", "2")].map(|(name, value)| (name.into(), value.into()));
        match changed(&KnownEnvironment::Whole(before.into()), words.split(' '))? {
            KnownEnvironment::Whole(all) => Some(all.into_iter().collect()),
            _ => None,
        }
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn env_sets_and_removes_variables_before_the_program() {
        assert_eq!(after("C=3=4 B= node D=5"), Some(pairs(&[("A", "1"), ("B", ""), ("C", "3=4")])));
        assert_eq!(after("-u A --unset=B -- C=3 node"), Some(pairs(&[("C", "3")])));
        assert_eq!(after("-i -C /tmp C=3 node"), Some(pairs(&[("C", "3")])));
        assert_eq!((after("--new A=9 node"), after("A=9 C=cut")), (None, None));
    }
}
