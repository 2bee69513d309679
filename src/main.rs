//! The `firstbyte` command: parse, run, exit.

use clap::Parser;
use firstbyte::cli::Cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    match firstbyte::commands::run(Cli::parse()) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit.code())
        }
    }
}
