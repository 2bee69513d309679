//! `firstbyte cc`: executes the compiler, or prints the requested flags or folder.

use super::{CommandError, Exit, show};
use crate::cli::cc::Args;
use firstbyte_cc::{Arguments, Driver, RuntimeError};

/// Returns only if it printed something or could not execute the compiler. Otherwise the exit status is the compiler's.
pub fn run(args: Args) -> Result<Exit, CommandError> {
    let arguments = Arguments::parse(args.arguments).map_err(CommandError::usage)?;
    let driver = Driver::new(&arguments)?;
    let Some(what) = arguments.printed else {
        return Err(driver.become_compiler(&arguments).into());
    };
    show((driver.printed(&arguments, what) + "\n").as_bytes())?;
    Ok(Exit::Done)
}

impl From<RuntimeError> for CommandError {
    fn from(error: RuntimeError) -> CommandError {
        CommandError::unable(error)
    }
}
