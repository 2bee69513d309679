//! Cold runs, for every command that has them.

use super::CommandError;
use crate::bench::{self, Prepared};
use crate::corpus::cache::user_folder;
use crate::page_cache::{Cold, cold, namespace};
use crate::report::document::{self, ColdMethod};
use std::path::PathBuf;

/// What must go before everything else, threads in particular: a plain user's namespace would be refused later.
pub(super) fn enter(method: Option<ColdMethod>) -> Result<(), CommandError> {
    match method {
        Some(ColdMethod::Copies) => namespace::enter().map_err(CommandError::unable),
        Some(ColdMethod::DropCaches) => cold::drop_caches().map_err(CommandError::unable),
        None => Ok(()),
    }
}

/// From here on runs begin cold: finds each program's files and takes them over.
pub(super) fn cool_down(
    runner: &mut Prepared,
    method: ColdMethod,
    programs: usize,
) -> Result<(), CommandError> {
    let method = match method {
        ColdMethod::DropCaches => bench::ColdMethod::DropCaches,
        ColdMethod::Copies => bench::ColdMethod::Copies(Box::new(copies(runner, programs)?)),
    };
    runner.make_cold(method);
    Ok(())
}

fn copies(runner: &mut Prepared, programs: usize) -> Result<Cold, CommandError> {
    // All are found before any is taken over: a run must see the originals.
    let found = (0..programs).map(|program| runner.find_files(program));
    let found = found.collect::<Result<Vec<_>, _>>()?;
    let folder = user_folder().ok_or_else(|| {
        CommandError::unable("there is no folder for copies of files\nhelp: name one with XDG_CACHE_HOME")
    })?;
    let mut cold = Cold::new(&folder).map_err(CommandError::unable)?;
    found.iter().try_for_each(|files| cold.add(files)).map_err(CommandError::unable)?;
    Ok(cold)
}

/// What is known of a program's cold runs before they are made.
pub(super) fn coldness(method: ColdMethod, program: usize, runner: &Prepared) -> document::Cold {
    let files = runner.cold_files(program);
    let in_memory = files.map_or(&[][..], |files| &files.in_memory[..]);
    let shown = |(path, file_system): &(PathBuf, &str)| format!("{} ({file_system})", path.display());
    document::Cold {
        method,
        files: files.map_or(0, |files| files.evicted),
        bytes: files.map_or(0, |files| files.bytes),
        in_memory: in_memory.iter().map(shown).collect(),
        resident_pages: (method == ColdMethod::Copies).then_some(0),
        major_faults: Vec::new(),
        bytes_from_disk: Vec::new(),
    }
}
