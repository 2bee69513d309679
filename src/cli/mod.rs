//! The command line: clap arguments in, validated plans out.
//!
//! Each command has one file or folder with its arguments and its plan. clap's types stay in this folder.

pub mod bench;
pub mod bisect;
pub mod cc;
pub mod check;
pub mod claims;
pub mod compare;
pub mod diff;
pub mod doctor;
pub mod elf;
mod environment;
pub mod export;
pub mod floor;
pub mod generate;
mod hyperfine;
pub mod inspect;
pub mod lines;
mod options;
mod own_options;
mod program;
mod region;
pub mod report;
mod running;
mod shell;
mod shell_syntax;
pub mod showdown;
pub mod style;
pub mod throughput;
pub mod trace;
pub mod tune;
mod values;
pub mod watch;

use crate::output::{ExportError, Target, say};
use clap::builder::styling::{AnsiColor, Styles};
use clap::error::ErrorKind as ClapError;
use clap::{Parser, Subcommand};
use std::io::ErrorKind;

/// The colours of help on a terminal: those of hyperfine.
const HELP_COLOURS: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Account for every microsecond between a program's execve and its first byte of output, and until its exit
#[derive(Debug, Parser)]
#[command(name = "firstbyte", version, max_term_width = 100, propagate_version = true, styles = HELP_COLOURS)]
pub struct Cli {
    #[command(subcommand)]
    pub command: CliCommand,
}

impl Cli {
    /// The arguments of this process. Invalid ones end it with a message and status 2.
    pub fn of_process() -> Cli {
        if asks_for_version(std::env::args_os().skip(1)) {
            show_version();
        }
        match lines::Args::plain(std::env::args_os().skip(1)) {
            Some(args) => Cli { command: CliCommand::Lines(args) },
            None => Cli::try_parse().unwrap_or_else(|error| refuse(&error)),
        }
    }
}

/// Prints the version and ends the process.
fn show_version() -> ! {
    let failed = |error: ExportError| error.cause.kind() != ErrorKind::BrokenPipe;
    std::process::exit(i32::from(Target::Stdout.write(VERSION).is_err_and(failed)) * 4);
}

/// Ends the process as clap does, with our own message where it knows better.
fn refuse(error: &clap::Error) -> ! {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    if let Some(message) = hyperfine::remedy(error).or_else(|| own_options::remedy(error, &words)) {
        say(format_args!("error: {message}"));
        std::process::exit(2);
    }

    // clap names the command, too, as if it were a program of its own
    if error.kind() == ClapError::DisplayVersion {
        show_version();
    }
    if !error.use_stderr() {
        let failed = |cause: std::io::Error| cause.kind() != ErrorKind::BrokenPipe;
        std::process::exit(i32::from(error.print().is_err_and(failed)) * 4);
    }
    match without_help(&words).filter(|_| error.kind() == ClapError::InvalidSubcommand) {
        Some(suggesting) => suggesting.exit(),
        None => error.exit(),
    }
}

/// `firstbyte help benhc` gets the suggestion that `firstbyte benhc` gets, which clap does not make.
fn without_help(words: &[String]) -> Option<clap::Error> {
    let (help, rest) = words.split_first()?;
    let command = rest.first().filter(|_| help == "help")?;
    Cli::try_parse_from(["firstbyte", command])
        .err()
        .filter(|error| error.kind() == ClapError::InvalidSubcommand)
}

/// The output of `--version`, without defining all commands, which takes longer than a whole C program.
const VERSION: &str = concat!("firstbyte ", env!("CARGO_PKG_VERSION"), "\n");

fn asks_for_version(mut words: impl Iterator<Item = std::ffi::OsString>) -> bool {
    words.next().is_some_and(|word| word == "--version" || word == "-V") && words.next().is_none()
}

// What most people do first comes first in the help. The doc comment of each `Args` describes its command.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    Trace(Box<trace::Args>),
    Bench(Box<bench::Args>),
    Check(Box<check::Args>),
    Compare(compare::Args),
    Diff(Box<diff::Args>),
    Bisect(Box<bisect::Args>),
    Tune(Box<tune::Args>),
    Watch(Box<watch::Args>),
    Report(report::Args),
    Doctor(doctor::Args),
    Showdown(Box<showdown::Args>),
    Claims(claims::Args),
    Floor(Box<floor::Args>),
    Throughput(Box<throughput::Args>),
    Lines(lines::Args),
    Elf(elf::Args),
    Inspect(inspect::Args),
    Cc(cc::Args),
    Completions(generate::CompletionsArgs),
    Man(generate::ManArgs),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_of_all_commands_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_version_is_the_one_of_the_definitions() {
        use clap::CommandFactory;
        assert_eq!(Cli::command().render_version(), VERSION);
    }

    #[test]
    fn only_a_lone_version_option_is_answered_early() {
        let asks = |words: &[&str]| asks_for_version(words.iter().map(Into::into));
        assert!(asks(&["--version"]) && asks(&["-V"]));
        assert!(!asks(&[]) && !asks(&["--version", "x"]) && !asks(&["bench", "--version"]));
    }
}
