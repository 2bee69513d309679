//! Prepares programs: builds each and verifies it.

use super::build::{CHECK_TIMEOUT, build, interruption};
use super::execute::{ExecuteError, Interrupted, Limits};
use super::{Built, Program, SkipCause, SkippedProgram, verify};
use firstbyte_cache::BuildCache;
use firstbyte_measure::machine::available_processors;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

#[derive(Clone, Copy)]
pub struct PrepareOptions<'a> {
    /// Programs to prepare at the same time.
    pub jobs: usize,
    /// Time limit of the run that verifies.
    pub timeout: Duration,
    pub interrupted: Interrupted<'a>,
}

impl<'a> PrepareOptions<'a> {
    /// As many jobs as processors.
    pub fn new(interrupted: Interrupted<'a>) -> PrepareOptions<'a> {
        PrepareOptions { jobs: available_processors(), timeout: CHECK_TIMEOUT, interrupted }
    }
}

/// A report from a preparation.
#[derive(Debug)]
pub enum PrepareStep<'a> {
    /// This many programs will be prepared.
    Planned(usize),
    /// Work on this program has begun.
    Started(&'a str),
    /// It is ready, or it is skipped.
    Finished(&'a Result<Built, SkippedProgram>),
}

/// Builds and verifies programs, `jobs` at a time. The results are in the order of `programs`.
pub fn prepare_all(
    programs: &[&Program],
    cache: &BuildCache,
    options: PrepareOptions,
    progress: &(dyn Fn(PrepareStep) + Sync),
) -> Vec<Result<Built, SkippedProgram>> {
    progress(PrepareStep::Planned(programs.len()));
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        while let Some((index, program)) = take(programs, &next) {
            progress(PrepareStep::Started(program.name()));
            let result = prepare_with(program, cache, options);
            progress(PrepareStep::Finished(&result));
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };

    std::thread::scope(|scope| {
        // this thread works, too: there may be no other
        for _ in 1..options.jobs.min(programs.len()) {
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });

    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

fn take<'a>(programs: &[&'a Program], next: &AtomicUsize) -> Option<(usize, &'a Program)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    programs.get(index).map(|program| (index, *program))
}

/// Builds a program and verifies it. If a build from the cache is wrong, it is built again once.
pub fn prepare(
    program: &Program,
    cache: &BuildCache,
    interrupted: Interrupted,
) -> Result<Built, SkippedProgram> {
    prepare_with(program, cache, PrepareOptions::new(interrupted))
}

fn prepare_with(
    program: &Program,
    cache: &BuildCache,
    options: PrepareOptions,
) -> Result<Built, SkippedProgram> {
    let interrupted = options.interrupted;
    let limits = Limits { timeout: options.timeout, output: 0, interrupted };

    let mut built = build(program, cache, interrupted)?;
    let mut verdict = verify::verify(&built, &program.manifest, limits);
    if verdict.is_err() && built.cached {
        discard(&built);
        built = build(program, cache, interrupted)?;
        verdict = verify::verify(&built, &program.manifest, limits);
    }

    match verdict {
        Ok(()) => Ok(built),
        Err(verify::VerifyError::Execute(ExecuteError::Interrupted)) => Err(interruption(program)),
        Err(error) if is_foreign(&built) => {
            let reason = format!("this kernel may not execute files of its kind: {error}");
            Err(SkippedProgram::new(program.name(), SkipCause::Unfit, reason))
        }
        Err(error) => Err(SkippedProgram::new(program.name(), SkipCause::Wrong, error.to_string())),
    }
}

/// For example a 32-bit program on a kernel without IA32 emulation: the build is right, but this machine cannot run it.
/// The error does not say so, because `execvp(3)` passes a file that the kernel refuses to the shell.
fn is_foreign(built: &Built) -> bool {
    let kinds = (elf_kind(&built.executable), elf_kind(Path::new("/proc/self/exe")));
    matches!(kinds, (Some(its), Some(ours)) if its != ours)
}

/// The `EI_CLASS` and `e_machine` of an ELF file (`elf(5)`).
fn elf_kind(path: &Path) -> Option<(u8, [u8; 2])> {
    let mut header = [0; 20];
    File::open(path).ok()?.read_exact(&mut header).ok()?;
    header.starts_with(b"\x7fELF").then_some((header[4], [header[18], header[19]]))
}

/// The next look-up must not find it, whatever is wrong with it.
fn discard(built: &Built) {
    let _ = fs::remove_dir_all(&built.directory);
}
