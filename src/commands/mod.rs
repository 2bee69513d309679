//! One file for each command, which only connects the other rooms, and what several of them share: `export`,
//! `outcome`, `per_cache_state`, `progress`, `recorded_runs`.

pub mod bench;
mod bench_experiment;
pub mod bisect;
pub mod cc;
pub mod check;
pub mod claims;
pub mod compare;
pub mod diff;
pub mod doctor;
pub mod elf;
mod export;
pub mod floor;
pub mod generate;
pub mod inspect;
pub mod lines;
mod live_table;
mod outcome;
mod per_cache_state;
mod progress;
mod recorded_runs;
pub mod report;
pub mod showdown;
pub mod throughput;
pub mod trace;
pub mod tune;
pub mod watch;

pub use outcome::{CommandError, Exit};

use crate::cli::{Cli, CliCommand};
use crate::output::Target;
use crate::report::text::terminal::Terminal;
use firstbyte_measure::launch::{interrupt, kill_guard, tree};
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;

/// Runs one command. Its result is the exit status of the process.
pub fn run(cli: Cli) -> Result<Exit, CommandError> {
    // `lines` has no children, and its start must be as fast as possible
    if !matches!(cli.command, CliCommand::Lines(_)) {
        tree::hear_of_exits();
    }

    match cli.command {
        CliCommand::Showdown(args) => showdown::run(&args.plan()),
        CliCommand::Floor(args) => floor::run(&args.plan()),
        CliCommand::Bench(args) => bench::run(&args.plan().map_err(CommandError::usage)?),
        CliCommand::Trace(args) => trace::run(&args.plan().map_err(CommandError::usage)?),
        CliCommand::Check(args) => check::run(&args.plan()),
        CliCommand::Claims(args) => claims::run(&args.plan()),
        CliCommand::Compare(args) => compare::run(&args.plan()),
        CliCommand::Diff(args) => diff::run(&args.plan().map_err(CommandError::usage)?),
        CliCommand::Bisect(args) => bisect::run(&args.plan().map_err(CommandError::usage)?),
        CliCommand::Tune(args) => tune::run(&args.plan().map_err(CommandError::usage)?),
        CliCommand::Report(args) => report::run(&args.plan()),
        CliCommand::Doctor(args) => doctor::run(&args),
        CliCommand::Throughput(args) => throughput::run(args.plan()),
        CliCommand::Watch(args) => watch::run(&args.plan().map_err(CommandError::usage)?),
        CliCommand::Lines(args) => lines::run(&args),
        CliCommand::Elf(args) => elf::run(args.plan().map_err(CommandError::usage)?),
        CliCommand::Inspect(args) => inspect::run(&args),
        CliCommand::Cc(args) => cc::run(args),
        CliCommand::Completions(args) => generate::completions(&args),
        CliCommand::Man(args) => generate::man(&args),
    }
}

/// The preparation of a command that launches programs: remembers interruptions, adopts orphans, switches off core files.
fn before_launching() {
    interrupt::catch_signals();
    kill_guard::start();
    tree::adopt_orphans();
    tree::leave_no_cores();
}

/// Prints a result to stdout. A reader that goes away (`| head`) is not an error.
fn show(text: &[u8]) -> Result<(), CommandError> {
    // Output to it would be lost without an error.
    Target::Stdout.check().map_err(CommandError::unable)?;
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(CommandError::unable(format!(
            "`stdout` could not be written: {error}\nhelp: check the disk, or redirect to another place"
        ))),
        _ => Ok(()),
    }
}

/// The terminal behind stdout, or the defaults for a file.
fn terminal() -> Terminal {
    terminal_behind(&std::io::stdout())
}

/// The terminal behind a stream, or the defaults for a file.
fn terminal_behind(stream: &(impl IsTerminal + AsFd)) -> Terminal {
    let of_shell = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let size = rustix::termios::tcgetwinsize(stream).ok();
    let width = of_shell("COLUMNS").or(size.map(|size| usize::from(size.ws_col))).filter(|width| *width > 0);
    let height = of_shell("LINES").or(size.map(|size| usize::from(size.ws_row))).filter(|height| *height > 0);
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
        || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    let colour = stream.is_terminal() && !plain;
    let usual = Terminal::default();
    Terminal { width: width.unwrap_or(usual.width), height: height.unwrap_or(usual.height), colour }
}
