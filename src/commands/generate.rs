//! `firstbyte completions` and `firstbyte man`.

use super::{CommandError, Exit, show};
use crate::cli::generate::{self, CompletionsArgs, ManArgs};

/// Prints a completion script.
pub fn completions(args: &CompletionsArgs) -> Result<Exit, CommandError> {
    show(&generate::completions(args))?;
    Ok(Exit::Done)
}

/// Prints the manual page, or writes all of them.
pub fn man(args: &ManArgs) -> Result<Exit, CommandError> {
    match &args.output {
        None => show(&generate::man_page().map_err(CommandError::unable)?)?,
        Some(folder) => generate::man_pages(folder).map_err(|error| {
            CommandError::usage(format!(
                "`{}` could not be written to: {error}\nhelp: name a folder that you may write to",
                folder.display()
            ))
        })?,
    }
    Ok(Exit::Done)
}
