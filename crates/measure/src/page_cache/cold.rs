//! Runs from a cold page cache, proven to be cold.
//!
//! Dropping every cache is not enough: what other programs have mapped (the C library, the loader, the shell) stays.
//! So each program runs on copies of its own files, which nobody else has mapped: they are mounted over the originals
//! in a mount namespace of our own, evicted before each run, and asked after, before the run begins.

use super::copies::{Folder, PrivateCopy};
use super::error::ColdError;
use super::evict;
use super::file_system::{FileSystem, Kind};
use super::residence::resident_pages;
use super::used_files::UsedFiles;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The files of several programs, ready to be made cold.
#[derive(Debug)]
pub struct Cold {
    folder: Folder,
    copies: Vec<PrivateCopy>,
    known: BTreeMap<PathBuf, usize>,
    programs: Vec<ColdFiles>,
}

/// The files of one program.
#[derive(Clone, Debug, Default)]
pub struct ColdFiles {
    copies: Vec<usize>,
    /// How many files are evicted before each run.
    pub evicted: usize,
    /// Their sizes, summed up, in bytes.
    pub bytes: u64,
    /// Files that cannot be evicted, because they are memory, each with its file system.
    pub in_memory: Vec<(PathBuf, &'static str)>,
    /// Files that stay as they are because the program writes to them, too.
    pub left_warm: Vec<PathBuf>,
}

impl Cold {
    /// Nothing is copied yet. [`super::namespace::enter`] must have gone before, and `cache` be a folder of the user.
    pub fn new(cache: &Path) -> Result<Cold, ColdError> {
        let folder = Folder::new(cache)?;
        Ok(Cold { folder, copies: Vec::new(), known: BTreeMap::new(), programs: Vec::new() })
    }

    /// Takes over the files of the next program, which a warm run has read.
    pub fn add(&mut self, found: &UsedFiles) -> Result<(), ColdError> {
        // whatever ran was executed from some file
        if found.read.is_empty() && found.updated.is_empty() {
            return Err(ColdError::Nothing);
        }
        let mut own = ColdFiles { left_warm: left_warm(found), ..ColdFiles::default() };
        for path in found.only_read() {
            // A file that no longer exists needs no eviction.
            let Ok(FileSystem { name, kind }) = FileSystem::of_path(path) else { continue };
            match kind {
                Kind::Memory => own.in_memory.push((path.clone(), name)),
                Kind::Disk | Kind::Opaque => self.take(path, &mut own)?,
                Kind::Kernel => {} // never in the page cache
            }
        }
        self.programs.push(own);
        Ok(())
    }

    fn take(&mut self, path: &Path, own: &mut ColdFiles) -> Result<(), ColdError> {
        let copy = self.known.get(path).copied().unwrap_or(self.copies.len());
        if copy == self.copies.len() {
            self.copies.push(self.folder.replace(path)?);
            self.known.insert(path.to_owned(), copy);
        }
        own.copies.push(copy);
        own.evicted += 1;
        own.bytes += self.copies[copy].size;
        Ok(())
    }

    /// The files of a program, by the order in which they were added.
    pub fn files(&self, program: usize) -> Option<&ColdFiles> {
        self.programs.get(program)
    }

    /// Evicts the files of a program and proves that nothing of them is resident; else the one line that says what is.
    pub fn evict(&self, program: usize) -> Result<(), String> {
        let Some(files) = self.programs.get(program) else { return Ok(()) };
        let copies = || files.copies.iter().map(|copy| &self.copies[*copy]);
        for copy in copies() {
            evict_written(&copy.file)
                .map_err(|error| format!("`{}` could not be evicted: {error}", copy.original.display()))?;
        }
        copies().try_for_each(prove)
    }
}

/// Evicts a file to which something was written, maybe, by what went before the run: dirty pages stay until they are on
/// the disk.
fn evict_written(file: &fs::File) -> io::Result<()> {
    evict(file)?;
    if resident_pages(file).is_ok_and(|pages| pages == 0) {
        return Ok(());
    }
    file.sync_data()?;
    evict(file)
}

/// Of the files that are written to, too, those that a disk holds something of.
fn left_warm(found: &UsedFiles) -> Vec<PathBuf> {
    let on_disk = |path: &Path| {
        FileSystem::of_path(path).is_ok_and(|found| matches!(found.kind, Kind::Disk | Kind::Opaque))
    };
    let holds_something = |path: &Path| fs::metadata(path).is_ok_and(|file| file.len() > 0);
    let kept = found.read_and_written().into_iter().filter(|path| holds_something(path) && on_disk(path));
    kept.cloned().collect()
}

fn prove(copy: &PrivateCopy) -> Result<(), String> {
    let path = copy.original.display();
    match resident_pages(&copy.file) {
        Ok(0) => Ok(()),
        Ok(pages) => Err(format!("`{path}` is not cold: {pages} of its pages are still in memory")),
        Err(error) => Err(format!("nobody can say whether `{path}` is cold: {error}")),
    }
}

/// Drops the page cache of the whole machine, as far as nobody has it mapped: what `echo 1 > /proc/sys/vm/drop_caches`
/// does, and what many take for a cold start.
pub fn drop_caches() -> Result<(), ColdError> {
    // SAFETY: no arguments; it writes dirty pages, which would otherwise stay.
    unsafe { libc::sync() };
    fs::write("/proc/sys/vm/drop_caches", "1\n").map_err(|cause| ColdError::Drop { cause })
}
