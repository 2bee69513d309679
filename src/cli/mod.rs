//! The command line: clap arguments in, validated plans out.
//!
//! One file a command: its clap arguments, and the plan that they amount to. No clap type leaves this folder.

pub mod bench;
pub mod cc;
pub mod check;
pub mod claims;
pub mod common;
pub mod compare;
pub mod diff;
pub mod doctor;
pub mod elf;
pub mod floor;
pub mod generate;
pub mod inspect;
pub mod lines;
mod parameters;
pub mod report;
pub mod showdown;
pub mod throughput;
pub mod trace;

use crate::output::stdout_was_closed;
use clap::{Parser, Subcommand};

/// Accounts for every microsecond between execve and a program's first byte of output, and until it has exited.
#[derive(Debug, Parser)]
#[command(name = "firstbyte", version, max_term_width = 100, propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// The arguments of this process; wrong ones end it with a message and status 2.
    pub fn of_process() -> Cli {
        if asks_for_version(std::env::args_os().skip(1)) {
            print!("{VERSION}");
            std::process::exit(i32::from(stdout_was_closed()) * 4);
        }
        match lines::Args::plain(std::env::args_os().skip(1)) {
            Some(args) => Cli { command: Command::Lines(args) },
            None => Cli::parse(),
        }
    }
}

/// What `--version` prints: known without the definitions of a dozen commands, whose making takes longer than a C
/// program.
const VERSION: &str = concat!("firstbyte ", env!("CARGO_PKG_VERSION"), "\n");

fn asks_for_version(mut words: impl Iterator<Item = std::ffi::OsString>) -> bool {
    words.next().is_some_and(|word| word == "--version" || word == "-V") && words.next().is_none()
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Builds, verifies and measures hello world in many languages, and prints the table
    Showdown(Box<showdown::Args>),
    /// Says what this machine charges: system calls, processes, shell builtins; and the waterfall
    Floor(Box<floor::Args>),
    /// Measures any commands, interleaved: phases, first byte, statistics, verdicts
    Bench(Box<bench::Args>),
    /// Explains one program's start-up: every system call, page fault, file, process, and the time between
    Trace(Box<trace::Args>),
    /// Budgets from firstbyte.toml: met or missed, for continuous integration
    Check(Box<check::Args>),
    /// Two files of results: faster, slower or can't tell, and which counts changed
    Compare(compare::Args),
    /// Compares two start-ups: what came, what went, and what each cost
    Diff(Box<diff::Args>),
    /// One HTML page of result files, with charts and timelines
    Report(report::Args),
    /// Says what this machine can and cannot do, why, and what would mend it
    Doctor(doctor::Args),
    /// Prints many lines by each design of seed 002 and by ours, and compares
    Throughput(Box<throughput::Args>),
    /// Prints N lines of one text as fast as the machine can
    Lines(lines::Args),
    /// Writes the smallest executables, without any toolchain
    Elf(elf::Args),
    /// Tells what an executable will cost, without running it
    Inspect(inspect::Args),
    /// Re-runs what five published posts say about starting programs, and judges each statement here
    Claims(claims::Args),
    /// Compiles C against the freestanding runtime
    Cc(cc::Args),
    /// Prints the completion script of a shell
    Completions(generate::CompletionsArgs),
    /// Prints the manual page
    Man(generate::ManArgs),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn no_two_arguments_of_a_command_get_in_each_others_way() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_version_is_the_one_that_the_definitions_would_print() {
        use clap::CommandFactory;
        assert_eq!(Cli::command().render_version(), VERSION);
    }

    #[test]
    fn only_a_lone_question_for_the_version_is_answered_early() {
        let asks = |words: &[&str]| asks_for_version(words.iter().map(Into::into));
        assert!(asks(&["--version"]) && asks(&["-V"]));
        assert!(!asks(&[]) && !asks(&["--version", "x"]) && !asks(&["bench", "--version"]));
    }
}
