//! `firstbyte inspect`: which file, and what of it.

use std::path::PathBuf;

/// Tells what an executable will cost, without running it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// An executable, a library, a script
    #[arg(value_name = "FILE", required_unless_present = "calls")]
    pub file: Option<PathBuf>,
    /// Show a function's instructions, and whom it calls
    #[arg(long, value_name = "SYMBOL", requires = "file")]
    pub disassemble: Option<String>,
    /// Compile C source in several ways, and show side by side whom main calls
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["file", "disassemble"])]
    pub calls: Option<PathBuf>,
    /// The compiler for `--calls`
    #[arg(long, value_name = "COMMAND", default_value = "cc")]
    pub compiler: PathBuf,
    /// Measure this machine's units again, instead of taking those kept in the cache folder
    #[arg(long, requires = "file", conflicts_with = "disassemble")]
    pub recalibrate: bool,
    /// Count only: measure nothing, and estimate no time
    #[arg(long, conflicts_with_all = ["recalibrate", "calls", "disassemble"])]
    pub counts_only: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
