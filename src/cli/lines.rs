//! `firstbyte lines`: how many, and of what.

use crate::throughput::lines::MOST_LINES;
use std::ffi::OsString;

/// How many lines, and of what.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many lines: 0 to 2^63
    #[arg(value_name = "N", value_parser = clap::value_parser!(u64).range(..=MOST_LINES))]
    pub count: u64,
    /// What stands on each
    #[arg(value_name = "TEXT", default_value = "hello world")]
    pub text: OsString,
    /// Turn a terminal's output processing off meanwhile: its slowest part; restored at the end
    #[arg(long)]
    pub raw_tty: bool,
}
