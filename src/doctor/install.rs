//! Installs missing Debian packages.
//!
//! The packages are listed in the `program.toml` files of the corpus, and in `tests/packages.toml` for what the build and
//! the tests need besides.

use super::apt::{self, Failure, Interruption};
use crate::corpus::{Corpus, Program, debian, toolchain};
use crate::document::doctor::InstallPlan;
use firstbyte_measure::launch::find_in_path;
use std::collections::{BTreeMap, BTreeSet};

const UPDATE: [&str; 2] = ["apt-get", "update"];

const TESTS: &str = include_str!("../../tests/packages.toml");

/// Why nothing was installed. Each message ends with a `help:` line.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("cannot install {}: there is no `apt-get`\nhelp: install the tools in these Debian packages another way", .0.join(", "))]
    NoApt(Vec<String>),
    #[error("cannot install packages without root\nhelp: {0}")]
    NotRoot(String),
    #[error("`{command}` was interrupted\nhelp: run it again; it continues where it stopped")]
    Interrupted { command: String },
    #[error("`{command}` failed: {cause}\nhelp: run it to see its whole output: {command}")]
    Failed {
        command: String,
        /// The exit status and the last line of the output.
        cause: String,
    },
}

/// What the corpus lacks.
pub fn plan_for_corpus(corpus: &Corpus) -> InstallPlan {
    plan(missing_in(core(corpus)))
}

/// What the corpus, the build and the tests lack.
pub fn plan_for_tests(corpus: &Corpus) -> InstallPlan {
    let mut packages = missing_in(core(corpus));
    packages.extend(test_packages().into_keys().filter(|name| is_missing(name)));
    plan(packages)
}

fn core(corpus: &Corpus) -> impl Iterator<Item = &Program> {
    corpus.programs().iter().filter(|program| program.is_core())
}

pub(super) fn plan(packages: BTreeSet<String>) -> InstallPlan {
    let packages: Vec<String> = packages.into_iter().collect();
    InstallPlan { command: debian::install_command(&packages), packages }
}

/// Installs the packages, only as root and only with apt-get. Calls `announce` with each command before it runs.
///
/// Everything is downloaded first, and an interruption ends that. What comes then is not interrupted.
pub fn install(plan: &InstallPlan, announce: &mut dyn FnMut(&str)) -> Result<(), InstallError> {
    if plan.packages.is_empty() {
        return Ok(());
    }
    let command = plan.command.as_ref().ok_or_else(|| InstallError::NoApt(plan.packages.clone()))?;
    if !rustix::process::geteuid().is_root() {
        return Err(InstallError::NotRoot(command.clone()));
    }

    let install = debian::install_argv(&plan.packages);
    download(&install, announce)?;
    run(&install, Interruption::Waits, announce)
}

/// Runs a command that installs what no Debian package contains. Calls `announce` with it first.
pub fn install_otherwise(command: &[String], announce: &mut dyn FnMut(&str)) -> Result<(), InstallError> {
    run(command, Interruption::EndsIt, announce)
}

/// Updates the lists of packages if there are none, because without them nothing has a size.
pub fn update_lists(announce: &mut dyn FnMut(&str)) -> Result<(), InstallError> {
    if has_package_lists() || !rustix::process::geteuid().is_root() || find_in_path("apt-get").is_none() {
        return Ok(());
    }
    run(&UPDATE.map(str::to_owned), Interruption::EndsIt, announce)
}

/// Downloads the packages. If the package lists are missing or too old, updates them first.
fn download(install: &[String], announce: &mut dyn FnMut(&str)) -> Result<(), InstallError> {
    let download = [install, &["--download-only".to_owned()]].concat();
    if has_package_lists() {
        match run(&download, Interruption::EndsIt, announce) {
            Err(InstallError::Failed { .. }) => {}
            answer => return answer,
        }
    }
    run(&UPDATE.map(str::to_owned), Interruption::EndsIt, announce)?;
    run(&download, Interruption::EndsIt, announce)
}

/// The packages in `tests/packages.toml` that `make test` needs, each with the reason for it.
pub fn test_packages() -> BTreeMap<String, String> {
    // The file is part of this binary, and a test reads it.
    let mut sections: BTreeMap<String, BTreeMap<String, String>> = toml::from_str(TESTS).unwrap_or_default();

    ["build", "packages"].iter().filter_map(|section| sections.remove(*section)).flatten().collect()
}

/// The packages that programs for this architecture lack.
pub(super) fn missing_in<'c>(programs: impl Iterator<Item = &'c Program>) -> BTreeSet<String> {
    let mut packages = BTreeSet::new();
    for program in programs.filter(|program| program.manifest.fits(std::env::consts::ARCH)) {
        if let Err(missing) = toolchain::find_all(&program.manifest) {
            packages.extend(missing.into_iter().flat_map(|tool| tool.packages));
        }
        let others = program.manifest.packages.iter();
        packages.extend(others.filter(|name| debian::is_installed(name) == Some(false)).cloned());
    }
    // A tool may be missing although its package is installed. Installing the package again would not help.
    packages.into_iter().filter(|name| debian::is_installed(name) != Some(true)).collect()
}

fn is_missing(package: &str) -> bool {
    debian::is_installed(package) != Some(true) && find_in_path(package).is_none()
}

fn has_package_lists() -> bool {
    let Ok(lists) = std::fs::read_dir("/var/lib/apt/lists") else { return false };
    lists.flatten().any(|entry| entry.file_name().to_string_lossy().contains("_Packages"))
}

fn run(
    command: &[String],
    interruption: Interruption,
    announce: &mut dyn FnMut(&str),
) -> Result<(), InstallError> {
    let shown = command.join(" ");
    announce(&format!("running: {shown}"));
    apt::run(command, interruption, announce).map_err(|failure| match failure {
        Failure::Interrupted => InstallError::Interrupted { command: shown },
        Failure::Failed(cause) => InstallError::Failed { command: shown, cause },
    })
}
