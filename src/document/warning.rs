//! What a reader must know of the figures.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Caveats about the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Older files do not say it.
    #[serde(default)]
    pub severity: Severity,
    /// The program that it is about; `null` for all.
    #[serde(default)]
    pub name: Option<String>,
    /// One lower-case line.
    pub message: String,
    /// The command or the change that would fix it.
    #[serde(default)]
    pub help: Option<String>,
}

/// What a warning says of the figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// They may be wrong: something disturbed the runs, or the runs did not do what was asked for.
    #[default]
    Serious,
    /// They hold for this machine and this way of measuring, which the reader should know.
    Minor,
}

impl Warning {
    pub fn serious(message: impl Into<String>) -> Warning {
        Warning { severity: Severity::Serious, name: None, message: message.into(), help: None }
    }

    pub fn minor(message: impl Into<String>) -> Warning {
        Warning { severity: Severity::Minor, ..Warning::serious(message) }
    }

    /// This warning about one program.
    #[must_use]
    pub fn about(self, name: &str) -> Warning {
        Warning { name: Some(name.to_owned()), ..self }
    }

    /// This warning with what would fix it.
    #[must_use]
    pub fn with_help(self, help: &str) -> Warning {
        Warning { help: Some(help.to_owned()), ..self }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "`{name}`: ")?; // it may end with a colon
        }
        f.write_str(&self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; help: {help}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_program_may_end_with_a_colon() {
        let warning = Warning::serious("it varies").about("dash -c :").with_help("run it again");
        assert_eq!(warning.to_string(), "`dash -c :`: it varies; help: run it again");
    }
}
