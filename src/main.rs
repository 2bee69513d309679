//! The `firstbyte` command: parse, run, exit.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::SUCCESS
}
