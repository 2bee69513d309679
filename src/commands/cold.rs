//! Cold runs, for every command that has them.

use super::CommandError;
use crate::bench::{self, Prepared};
use crate::document::bench as document;
use crate::document::bench::ColdMethod;
use firstbyte_cache::user_folder;
use firstbyte_measure::launch::ExitStatus;
use firstbyte_measure::page_cache::cold::Found;
use firstbyte_measure::page_cache::{Cold, cold, namespace};
use firstbyte_measure::tracer::ptrace;
use std::path::PathBuf;

/// What must go before everything else, threads in particular: a plain user's namespace would be refused later.
pub(super) fn enter(method: Option<ColdMethod>) -> Result<(), CommandError> {
    match method {
        Some(ColdMethod::Copies) => namespace::enter().map_err(CommandError::unable),
        Some(ColdMethod::DropCaches) => cold::drop_caches().map_err(CommandError::unable),
        None => Ok(()),
    }
}

/// From here on runs begin cold: finds each program's files and takes them over. Why some of them may be missing.
pub(super) fn cool_down(
    runner: &mut Prepared,
    method: ColdMethod,
    programs: usize,
) -> Result<Vec<Option<String>>, CommandError> {
    cool_down_expecting(runner, method, &vec![None; programs])
}

/// The same, of programs that are expected to end so; what was wrong with each one's run that looked for its files.
pub(super) fn cool_down_expecting(
    runner: &mut Prepared,
    method: ColdMethod,
    expected: &[Option<ExitStatus>],
) -> Result<Vec<Option<String>>, CommandError> {
    if method == ColdMethod::DropCaches {
        runner.make_cold(bench::ColdMethod::DropCaches);
        return Ok(vec![None; expected.len()]);
    }
    ptrace::own_proc().map_err(CommandError::unable)?;
    // All are found before any is taken over: a run must see the originals.
    let found = expected.iter().enumerate().map(|(program, end)| runner.find_files(program, *end));
    let (found, doubts): (Vec<_>, Vec<_>) = found.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    runner.make_cold(bench::ColdMethod::Copies(Box::new(copies(&found)?)));
    Ok(doubts)
}

fn copies(found: &[Found]) -> Result<Cold, CommandError> {
    let folder = user_folder().ok_or_else(|| {
        CommandError::unable("there is no folder for copies of files\nhelp: export FIRSTBYTE_CACHE=DIR")
    })?;
    let mut cold = Cold::new(&folder).map_err(CommandError::unable)?;
    found.iter().try_for_each(|files| cold.add(files)).map_err(CommandError::unable)?;
    Ok(cold)
}

/// What is known of a program's cold runs before they are made.
pub(super) fn coldness(method: ColdMethod, program: usize, runner: &Prepared) -> document::Cold {
    let files = runner.cold_files(program);
    let in_memory = files.map_or(&[][..], |files| &files.in_memory[..]);
    let left_warm = files.map_or(&[][..], |files| &files.left_warm[..]);
    let shown = |(path, file_system): &(PathBuf, &str)| format!("{} ({file_system})", path.display());
    document::Cold {
        method,
        files: files.map_or(0, |files| files.evicted),
        bytes: files.map_or(0, |files| files.bytes),
        in_memory: in_memory.iter().map(shown).collect(),
        left_warm: left_warm.iter().map(|path| path.display().to_string()).collect(),
        doubt: None,
        resident_pages: (method == ColdMethod::Copies).then_some(0),
        major_faults: Vec::new(),
        bytes_from_disk: Vec::new(),
    }
}
