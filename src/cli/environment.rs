//! Options about the environment of the programs.

use firstbyte_measure::launch::Environment;
use firstbyte_measure::launch::environment;
use std::ffi::{OsStr, OsString};

const HEADING: &str = "Environment options";

/// For commands that run the user's programs, which get the user's environment.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct EnvironmentArgs {
    /// Set a variable in the environment of the programs (can be repeated)
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment, help_heading = HEADING)]
    env: Vec<(String, String)>,
    /// Remove a variable from the environment of the programs (can be repeated)
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    env_remove: Vec<OsString>,
    /// Give the programs only PATH, HOME and LANG, with the same values on every machine
    #[arg(long, help_heading = HEADING)]
    clean_env: bool,
}

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
        let mut environment = self.without_assignments();
        for (name, value) in &self.env {
            environment.set(name.as_ref(), value.as_ref());
        }
        environment
    }

    /// The environment without the variables of `--env`, which a command may set differently for each program.
    pub(super) fn without_assignments(&self) -> Environment {
        let mut environment = if self.clean_env { Environment::clean() } else { Environment::inherited() };
        self.env_remove.iter().for_each(|name| environment.remove(name));
        environment
    }

    /// The variables of `--env`.
    pub(super) fn assignments(&self) -> &[(String, String)] {
        &self.env
    }
}

impl InheritEnvArgs {
    pub(super) fn environment(self) -> Environment {
        if self.inherit_env { Environment::inherited() } else { Environment::clean() }
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let text_of = |part: OsString| part.into_string().unwrap_or_default();
    let parts = environment::parsed(OsStr::new(text)).map(|(name, value)| (text_of(name), text_of(value)));
    parts.ok_or_else(|| {
        format!("`{text}` does not set a variable\nhelp: write it like NAME=VALUE, or use --env-remove NAME")
    })
}
