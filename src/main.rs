//! The `firstbyte` command: parse, run, exit.

#[cfg(trapped_calls)]
mod trapped_calls;

use firstbyte::cli::{Cli, CliCommand};
use firstbyte::commands::Exit;
use firstbyte::output::{say, visible};
use firstbyte_measure::allocation::Allocator;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator::new(out_of_memory);

fn out_of_memory() -> ! {
    say("error: there is no more memory\nhelp: free some memory, or raise the limit (`ulimit -v` shows it)");
    std::process::exit(Exit::Unable.code().into())
}

fn main() -> ExitCode {
    let cli = Cli::of_process();
    // `lines` writes nothing but lines, and ends as any other filter does
    if !matches!(cli.command, CliCommand::Lines(_)) {
        firstbyte_measure::launch::leave_inherited_children();
        firstbyte_measure::launch::outlive_file_size_limits();
    }
    match firstbyte::commands::run(cli) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) => {
            // what names of files and programs hold must not reach the terminal as it is
            let lines: Vec<String> = error.to_string().lines().map(visible).collect();
            say(format_args!("error: {}", lines.join("\n")));
            ExitCode::from(error.exit.code())
        }
    }
}
