//! Brings what is missing from Debian's packages.
//!
//! The list of packages lives in the corpus' `program.toml` files, and in `tests/packages.toml` for what the build
//! and the tests need besides.

use crate::corpus::execute::{Destination, Finished, Limits, execute};
use crate::corpus::{Corpus, debian, toolchain};
use firstbyte_measure::launch::find_in_path;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

const TESTS: &str = include_str!("../../tests/packages.toml");

/// Enough for a JDK over a slow line.
const LIMITS: Limits =
    Limits { timeout: Duration::from_secs(1800), output: 64 << 20, interrupted: &|| false };

/// What would be installed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InstallPlan {
    /// Debian packages, sorted. Empty: nothing is missing.
    pub packages: Vec<String>,
    /// The command that installs them; `None`: nothing is missing, or there is no apt-get.
    pub command: Option<String>,
}

/// Why nothing was installed. Each message ends in its `help:` line.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// There is no apt-get.
    #[error("cannot install {}: there is no `apt-get` here\nhelp: install the tools of these Debian packages by other means", .0.join(", "))]
    NoApt(Vec<String>),
    /// We are not root.
    #[error("cannot install packages without root\nhelp: {0}")]
    NotRoot(String),
    /// apt-get failed.
    #[error("`{command}` failed: {cause}\nhelp: run it to see all that it prints: {command}")]
    Failed {
        /// What was run.
        command: String,
        /// How it ended, and its last line.
        cause: String,
    },
}

impl InstallPlan {
    /// What the corpus lacks.
    pub fn for_corpus(corpus: &Corpus) -> InstallPlan {
        InstallPlan::of(missing_in(corpus))
    }

    /// What the corpus, the build and the tests lack.
    pub fn for_tests(corpus: &Corpus) -> InstallPlan {
        let mut packages = missing_in(corpus);
        packages.extend(test_packages().into_keys().filter(|name| is_missing(name)));
        InstallPlan::of(packages)
    }

    fn of(packages: BTreeSet<String>) -> InstallPlan {
        let packages: Vec<String> = packages.into_iter().collect();
        InstallPlan { command: debian::install_command(&packages), packages }
    }

    /// Installs. `announce` is told each command before it runs. As root only, and only where there is apt-get.
    pub fn run(&self, announce: &mut dyn FnMut(&str)) -> Result<(), InstallError> {
        if self.packages.is_empty() {
            return Ok(());
        }
        let command = self.command.as_ref().ok_or_else(|| InstallError::NoApt(self.packages.clone()))?;
        if !rustix::process::geteuid().is_root() {
            return Err(InstallError::NotRoot(command.clone()));
        }
        let install = debian::install_argv(&self.packages);
        if package_lists_are_there() && apt(&install, announce).is_ok() {
            return Ok(());
        }
        // There are no lists, or they are too old to find what they name.
        apt(&["apt-get", "update"].map(str::to_owned), announce)?;
        apt(&install, announce)
    }
}

/// The packages that `tests/packages.toml` names, each with what needs it.
pub fn test_packages() -> BTreeMap<String, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Listed {
        build: BTreeMap<String, String>,
        packages: BTreeMap<String, String>,
        #[serde(rename = "proofs")]
        _proofs: BTreeMap<String, String>,
    }
    // It is part of this binary, and a test reads it.
    toml::from_str::<Listed>(TESTS)
        .map(|listed| listed.build.into_iter().chain(listed.packages).collect())
        .unwrap_or_default()
}

fn missing_in(corpus: &Corpus) -> BTreeSet<String> {
    let mut packages = BTreeSet::new();
    for program in corpus.programs().iter().filter(|program| program.manifest.fits(std::env::consts::ARCH)) {
        if let Err(missing) = toolchain::find_all(&program.manifest) {
            packages.extend(missing.into_iter().flat_map(|tool| tool.packages));
        }
        let others = program.manifest.packages.iter();
        packages.extend(others.filter(|name| debian::is_installed(name) == Some(false)).cloned());
    }
    // A tool may be missing although its package is there, of which installing it again would not bring it.
    packages.into_iter().filter(|name| debian::is_installed(name) != Some(true)).collect()
}

fn is_missing(package: &str) -> bool {
    debian::is_installed(package) != Some(true) && find_in_path(package).is_none()
}

fn package_lists_are_there() -> bool {
    let Ok(lists) = std::fs::read_dir("/var/lib/apt/lists") else { return false };
    lists.flatten().any(|entry| entry.file_name().to_string_lossy().contains("_Packages"))
}

/// apt-get asks nothing: its stdin is empty, and debconf takes its defaults.
fn apt(command: &[String], announce: &mut dyn FnMut(&str)) -> Result<(), InstallError> {
    let shown = command.join(" ");
    announce(&shown);
    let silent = ["env", "DEBIAN_FRONTEND=noninteractive"].map(str::to_owned);
    let argv: Vec<OsString> = silent.iter().chain(command).map(OsString::from).collect();
    let failed = |cause: String| InstallError::Failed { command: shown.clone(), cause };
    let Finished { exit, output } = execute(&argv, Path::new("/"), Destination::Both, LIMITS)
        .map_err(|error| failed(error.to_string()))?;
    toolchain::forget();
    if exit.success() {
        return Ok(());
    }
    let output = String::from_utf8_lossy(&output);
    let last = output.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    Err(failed(format!("{exit}: {}", last.trim())))
}
