//! The document of `firstbyte doctor`: what this machine can and cannot do.

use super::Kind;
use firstbyte_measure::machine::Machine;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DoctorReport {
    /// [`Kind::Doctor`].
    pub kind: Kind,
    pub machine: Machine,
    /// The checks: tracing first, toolchains last.
    pub results: Vec<Check>,
    /// What would install the missing tools.
    pub install: InstallPlan,
}

impl DoctorReport {
    pub fn check(&self, name: &str) -> Option<&Check> {
        self.results.iter().find(|check| check.name == name)
    }
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub group: CheckGroup,
    /// The capability or condition that was checked.
    pub name: String,
    pub status: Status,
    /// The observation.
    pub detail: String,
    /// What is lost, and the cause.
    pub why: Option<String>,
    /// The command that fixes it.
    #[serde(rename = "mend")]
    pub fix: Option<String>,
}

impl Check {
    pub fn works(group: CheckGroup, name: &str, detail: impl Into<String>) -> Check {
        let (name, detail) = (name.to_owned(), detail.into());
        Check { group, name, status: Status::Works, detail, why: None, fix: None }
    }

    /// The same check with a worse status.
    #[must_use]
    pub fn hindered(self, status: Status, why: impl Into<String>, fix: Option<String>) -> Check {
        Check { status, why: Some(why.into()), fix, ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Status {
    #[serde(rename = "works")]
    Works,
    /// Something is lost, as `why` explains.
    #[serde(rename = "partly")]
    Partly,
    #[serde(rename = "does not work")]
    DoesNotWork,
}

/// The subject of a check, in display order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckGroup {
    /// The backends and their requirements.
    Tracing,
    /// Hardware counters.
    Counters,
    /// Cold runs.
    PageCache,
    /// Conditions that disturb measurements.
    Machine,
    /// The tools of the corpus.
    Corpus,
}

/// The packages to install.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InstallPlan {
    /// Debian packages, sorted. Empty if nothing is missing.
    pub packages: Vec<String>,
    /// The command that installs them; `None` if nothing is missing, or without apt-get.
    pub command: Option<String>,
}

/// What the programs of one group of the corpus lack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupPlan {
    pub group: String,
    /// The Debian packages.
    pub install: InstallPlan,
    /// The size of the download and the size on disk, as apt-get prints them; `None` if it does not say.
    pub sizes: Option<(String, String)>,
    /// The commands that install what no Debian package contains, each once.
    pub commands: Vec<Vec<String>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_written_as_words() {
        let json = serde_json::to_string(&[Status::Works, Status::Partly, Status::DoesNotWork]).unwrap();
        assert_eq!(json, r#"["works","partly","does not work"]"#);
    }
}
