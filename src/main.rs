//! The `firstbyte` command: parse, run, exit.

use firstbyte::cli::Cli;
use firstbyte::report::terminal::visible;
use std::process::ExitCode;

fn main() -> ExitCode {
    match firstbyte::commands::run(Cli::of_process()) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) => {
            // what names of files and programs hold must not reach the terminal as it is
            let lines: Vec<String> = error.to_string().lines().map(visible).collect();
            eprintln!("error: {}", lines.join("\n"));
            ExitCode::from(error.exit.code())
        }
    }
}
