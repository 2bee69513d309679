//! Options about the environment of the programs.

use firstbyte_measure::launch::Environment;
use firstbyte_measure::launch::environment;
use std::ffi::{OsStr, OsString};

const HEADING: &str = "Environment options";

/// For commands that run the user's programs, which get the user's environment.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct EnvironmentArgs {
    /// Set environment variables for the programs: one or more NAME=VALUE, separated by spaces; quoting works as in a shell,
    /// but nothing is expanded (can be repeated)
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignments, help_heading = HEADING)]
    env: Vec<Assignments>,
    /// Remove a variable from the environment of the programs (can be repeated)
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    env_remove: Vec<OsString>,
    /// Give the programs only PATH, HOME and LANG, with the same values on every machine
    #[arg(long, help_heading = HEADING)]
    clean_env: bool,
}

/// The variables of one `--env`, each with its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Assignments(pub(super) Vec<(String, String)>);

/// For commands whose programs get a clean environment.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct InheritEnvArgs {
    /// Give the programs your environment; by default they get only PATH, HOME and LANG, with the same values on every
    /// machine
    #[arg(long, help_heading = HEADING)]
    inherit_env: bool,
}

impl EnvironmentArgs {
    /// The environment of all programs.
    pub(super) fn environment(&self) -> Environment {
        self.environment_after(|_| ())
    }

    /// The same, if `change` changes the user's environment before these options do.
    pub(super) fn environment_after(&self, change: impl FnOnce(&mut Environment)) -> Environment {
        let mut environment = self.without_assignments_after(change);
        for (name, value) in self.env.iter().flat_map(|assignments| &assignments.0) {
            environment.set(name.as_ref(), value.as_ref());
        }
        environment
    }

    /// The environment without the variables of `--env`, which a command may set differently for each program.
    pub(super) fn without_assignments(&self) -> Environment {
        self.without_assignments_after(|_| ())
    }

    fn without_assignments_after(&self, change: impl FnOnce(&mut Environment)) -> Environment {
        let mut environment = if self.clean_env { Environment::clean() } else { Environment::inherited() };
        change(&mut environment);
        self.env_remove.iter().for_each(|name| environment.remove(name));
        environment
    }

    /// The variables of each `--env`.
    pub(super) fn assignments(&self) -> &[Assignments] {
        &self.env
    }
}

impl InheritEnvArgs {
    pub(super) fn environment(self) -> Environment {
        if self.inherit_env { Environment::inherited() } else { Environment::clean() }
    }
}

fn assignments(text: &str) -> Result<Assignments, String> {
    let words = shell_words::split(text).map_err(|_| {
        format!("`{text}` has a quote that is not closed\nhelp: close it, or write \\' or \\\"")
    })?;
    words.iter().map(|word| assignment(word)).collect::<Result<_, _>>().map(Assignments)
}

fn assignment(word: &str) -> Result<(String, String), String> {
    let text_of = |part: OsString| part.into_string().unwrap_or_default();
    let parts = environment::parsed(OsStr::new(word)).map(|(name, value)| (text_of(name), text_of(value)));
    parts.ok_or_else(|| {
        format!(
            "`{word}` does not set a variable\nhelp: write it like NAME=VALUE or NAME=\"two words\", or use --env-remove NAME"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Vec<(String, String)> {
        assignments(text).unwrap().0
    }

    #[test]
    fn assignments_are_split_and_unquoted_as_in_a_shell_but_not_expanded() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(set("A=1 B='x y' C=\"z\""), [pair("A", "1"), pair("B", "x y"), pair("C", "z")]);
        assert_eq!(set("A=$HOME"), [pair("A", "$HOME")]);
        assert_eq!((set("A="), set("")), (vec![pair("A", "")], vec![]));
        for text in ["A", "A=1 B", "A='x", "=1"] {
            assert!(assignments(text).unwrap_err().contains("\nhelp: "), "{text}");
        }
    }
}
