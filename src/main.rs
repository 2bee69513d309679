//! The `firstbyte` command: parse, run, exit.

use firstbyte::cli::Cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    match firstbyte::commands::run(Cli::of_process()) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit.code())
        }
    }
}
