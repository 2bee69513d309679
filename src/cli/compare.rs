//! `firstbyte compare`: its arguments, and the plan that they amount to.

use super::common::percent;
use std::path::PathBuf;

/// Compares two files of results.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The results before, as --export-json or hyperfine wrote them
    old: PathBuf,
    /// The results after
    new: PathBuf,
    /// Exit with status 1 if a program is surely slower by more than this
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_if_slower: Option<f64>,
    /// Compare also what was measured on different machines, by different backends or with different options
    #[arg(long)]
    force: bool,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
}

/// What is to be compared.
#[derive(Debug)]
pub struct Plan {
    /// The file before.
    pub old: PathBuf,
    /// The file after.
    pub new: PathBuf,
    /// How much slower, as a part, is too slow.
    pub fail_if_slower: Option<f64>,
    /// Whatever the machines.
    pub force: bool,
    /// As JSON rather than as text.
    pub json: bool,
}

impl Args {
    /// The plan.
    pub fn plan(self) -> Plan {
        let Args { old, new, fail_if_slower, force, json } = self;
        Plan { old, new, fail_if_slower, force, json }
    }
}
