//! `firstbyte lines`.

use super::{CommandError, Exit};
use crate::cli::lines::Args;
use crate::output::stdout_was_closed;
use crate::throughput::lines::{Lines, RawTerminal, TerminalError, WriteError, end_by_broken_pipe};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

/// Writes the lines to stdout. If its reader goes away, this process ends silently by SIGPIPE, as `yes` does.
pub fn run(args: &Args) -> Result<Exit, CommandError> {
    if stdout_was_closed() {
        return Err(CommandError::unable(
            "`stdout` is closed\nhelp: give it a target, as in `firstbyte lines 1000 >FILE`",
        ));
    }
    match write(args).map_err(CommandError::unable)? {
        Err(WriteError { cause: Errno::PIPE, .. }) => end_by_broken_pipe(),
        Err(error) => Err(CommandError::unable(message(&error))),
        Ok(()) => Ok(Exit::Done),
    }
}

/// If the mode of a terminal was changed, it is restored when this returns.
fn write(args: &Args) -> Result<Result<(), WriteError>, TerminalError> {
    let stdout = std::io::stdout();
    let text = args.text.as_bytes();
    if !args.raw_tty {
        return Ok(Lines::new(text, args.count).write_to(stdout.as_fd()));
    }
    let terminal = RawTerminal::new(stdout.as_fd())?;
    Ok(Lines::new(&terminal.text(text), args.count).write_to(stdout.as_fd()))
}

fn message(error: &WriteError) -> String {
    let WriteError { written, total, cause } = error;
    let help = match *cause {
        Errno::NOSPC | Errno::DQUOT => "free some space (`df .` shows it), or redirect to another place",
        Errno::FBIG => "raise the limit with `ulimit -f unlimited`",
        _ => "redirect it to a file, or pipe it, as in `firstbyte lines 1000 | cat`",
    };
    let cause = std::io::Error::from(*cause);
    format!("`stdout` took {written} of {total} bytes: {cause}\nhelp: {help}")
}
