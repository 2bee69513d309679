//! Makes the page cache cold before each run.

use super::accepted::Accepted;
use super::error::ExperimentError;
use super::prepared::{Cooling, Prepared};
use crate::document::bench as document;
use crate::document::bench::ColdMethod;
use firstbyte_cache::user_folder;
use firstbyte_measure::launch::{LaunchError, interrupt};
use firstbyte_measure::page_cache::{Cold, UsedFiles, cold, namespace};
use firstbyte_measure::tracer::ptrace;
use std::path::PathBuf;

/// Prepares this process for cold runs. Must be called before anything else, in particular before threads exist, because
/// the kernel then refuses a namespace to an unprivileged user.
pub fn enter(method: ColdMethod) -> Result<(), ExperimentError> {
    match method {
        ColdMethod::Copies => namespace::enter().map_err(ExperimentError::machine),
        ColdMethod::DropCaches => cold::drop_caches().map_err(ExperimentError::machine),
    }
}

/// From here on runs begin cold. Returns what is known about each program's cold runs before they are made. `accepted`:
/// how each program must end.
pub(super) fn begin(
    runner: &mut Prepared,
    method: ColdMethod,
    accepted: &[Accepted],
) -> Result<Vec<document::ColdRuns>, ExperimentError> {
    let doubts = match method {
        ColdMethod::DropCaches => {
            runner.make_cold(Cooling::DropCaches);
            vec![None; accepted.len()]
        }
        ColdMethod::Copies => copy_files(runner, accepted)?,
    };

    let cold = |(program, doubt)| document::ColdRuns { doubt, ..of_program(method, program, runner) };
    Ok(doubts.into_iter().enumerate().map(cold).collect())
}

/// Finds each program's files and replaces them by copies. Returns why some of the files may be missing.
fn copy_files(runner: &mut Prepared, accepted: &[Accepted]) -> Result<Vec<Option<String>>, ExperimentError> {
    ptrace::own_proc().map_err(ExperimentError::machine)?;
    // All files are found before any is replaced, because these runs must see the originals.
    let found = accepted.iter().enumerate().map(|(program, end)| runner.find_files(program, *end));
    let (found, doubts): (Vec<_>, Vec<_>) = found.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    runner.make_cold(Cooling::Copies(Box::new(copies(&found)?)));
    runner.keep_files(found);
    Ok(doubts)
}

fn copies(found: &[UsedFiles]) -> Result<Cold, ExperimentError> {
    let folder = user_folder().ok_or_else(|| {
        ExperimentError::machine("there is no folder for copies of files\nhelp: export FIRSTBYTE_CACHE=DIR")
    })?;
    let mut cold = Cold::new(&folder).map_err(ExperimentError::machine)?;
    match found.iter().try_for_each(|files| cold.add(files)) {
        Err(_) if interrupt::interrupted().is_some() => Err(ExperimentError::Run(LaunchError::Interrupted)),
        copied => copied.map(|()| cold).map_err(ExperimentError::machine),
    }
}

fn of_program(method: ColdMethod, program: usize, runner: &Prepared) -> document::ColdRuns {
    let files = runner.cold_files(program);
    let in_memory = files.map_or(&[][..], |files| &files.in_memory[..]);
    let left_warm = files.map_or(&[][..], |files| &files.left_warm[..]);
    let shown = |(path, file_system): &(PathBuf, &str)| format!("{} ({file_system})", path.display());

    document::ColdRuns {
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
