//! Arguments and plan of `firstbyte compare`.

use super::options::JsonArgs;
use super::values::percent;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  firstbyte compare old.json new.json
  firstbyte compare old.json new.json --fail-if-slower 5%";

/// Compare two result files: which programs became faster or slower
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Results before the change, written by --export-json or by hyperfine
    old: PathBuf,
    /// Results after the change
    new: PathBuf,
    /// Exit with status 1 if a program is slower by more than PERCENT, with 99 % confidence
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_if_slower: Option<f64>,
    /// Let a program pass --fail-if-slower although its runs failed
    #[arg(short, long, requires = "fail_if_slower")]
    ignore_failure: bool,
    /// Compare results even if they were made on different machines, with different backends or with different options
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    json: JsonArgs,
}

#[derive(Debug)]
pub struct Plan {
    pub old: PathBuf,
    pub new: PathBuf,
    /// The gate, as a fraction: 0.05 for 5 %.
    pub fail_if_slower: Option<f64>,
    /// Failed runs pass the gate.
    pub ignore_failure: bool,
    pub force: bool,
    pub json: bool,
}

impl Args {
    pub fn plan(self) -> Plan {
        let Args { old, new, fail_if_slower, ignore_failure, force, json } = self;
        Plan { old, new, fail_if_slower, ignore_failure, force, json: json.json }
    }
}
