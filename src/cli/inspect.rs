//! Arguments of `firstbyte inspect`.

use super::options::JsonArgs;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  firstbyte inspect /bin/ls
  firstbyte inspect ./app --disassemble main
  firstbyte inspect --calls hello.c --compiler clang";

/// Predict what an executable's start-up costs, without running it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Executable, library or script to inspect, or the name of a program in PATH
    #[arg(value_name = "FILE", required_unless_present = "calls")]
    pub file: Option<PathBuf>,
    /// Show the instructions of the function SYMBOL, and which functions it calls
    #[arg(long, value_name = "SYMBOL", requires = "file")]
    pub disassemble: Option<String>,
    /// Compile C source in several ways, and show side by side which functions main calls
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["file", "disassemble"])]
    pub calls: Option<PathBuf>,
    /// Compiler for --calls
    #[arg(long, value_name = "COMMAND", default_value = "cc")]
    pub compiler: PathBuf,
    /// Measure this machine's unit costs again instead of using the cached ones
    #[arg(long, requires = "file", conflicts_with = "disassemble")]
    pub recalibrate: bool,
    /// Only count: measure nothing on this machine, and estimate no time
    #[arg(long, conflicts_with_all = ["recalibrate", "calls", "disassemble"])]
    pub counts_only: bool,
    #[command(flatten)]
    json: JsonArgs,
}

impl Args {
    pub fn json(&self) -> bool {
        self.json.json
    }
}
