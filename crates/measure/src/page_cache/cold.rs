//! Runs from a cold page cache, proven to be cold.
//!
//! Dropping the caches is not enough: files that other programs have mapped (the C library, the loader, the shell)
//! stay resident. So each program runs on copies of its own files, which nobody else has mapped. The copies are
//! mounted over the originals in a mount namespace of our own. Before each run they are evicted, and the kernel is
//! asked whether any of their pages are still resident.

use super::copies::{Folder, PrivateCopy};
use super::error::ColdError;
use super::evict;
use super::file_system::{FileLocation, FileSystem};
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
    covered: bool,
}

/// The files of one program, and what can be done about each.
#[derive(Clone, Debug, Default)]
pub struct ColdFiles {
    copies: Vec<usize>,
    /// How many files are evicted before each run.
    pub evicted: usize,
    /// The sum of their sizes, in bytes.
    pub bytes: u64,
    /// Files that cannot be evicted because they are in memory, each with its file system.
    pub in_memory: Vec<(PathBuf, &'static str)>,
    /// Files that stay as they are because the program also writes to them.
    pub left_warm: Vec<PathBuf>,
}

impl Cold {
    /// Copies nothing yet. Call [`super::namespace::enter`] before; `cache` must be a folder of the user.
    pub fn new(cache: &Path) -> Result<Cold, ColdError> {
        let folder = Folder::new(cache)?;
        Ok(Cold { folder, copies: Vec::new(), known: BTreeMap::new(), programs: Vec::new(), covered: true })
    }

    /// Copies the files of the next program, which a warm run has used.
    pub fn add(&mut self, found: &UsedFiles) -> Result<(), ColdError> {
        // Every program is executed from some file.
        if found.read.is_empty() && found.updated.is_empty() {
            return Err(ColdError::Nothing);
        }
        let mut files = ColdFiles { left_warm: left_warm(found), ..ColdFiles::default() };
        for path in found.only_read() {
            let Ok(FileSystem { name, kind }) = FileSystem::of_path(path) else {
                // It is made before each run and removed afterwards.
                files.left_warm.extend(path.parent().is_some_and(is_on_disk).then(|| path.clone()));
                continue;
            };
            match kind {
                FileLocation::Memory => files.in_memory.push((path.clone(), name)),
                FileLocation::Disk | FileLocation::Opaque => self.take(path, &mut files)?,
                FileLocation::Kernel => {} // never in the page cache
            }
        }
        self.programs.push(files);
        Ok(())
    }

    fn take(&mut self, path: &Path, files: &mut ColdFiles) -> Result<(), ColdError> {
        let copy = self.known.get(path).copied().unwrap_or(self.copies.len());
        if copy == self.copies.len() {
            self.copies.push(self.folder.replace(path)?);
            self.known.insert(path.to_owned(), copy);
        }
        files.copies.push(copy);
        files.evicted += 1;
        files.bytes += self.copies[copy].size;
        Ok(())
    }

    /// Makes the originals visible, so that a command between two runs can change or replace them.
    pub fn uncover(&mut self) -> io::Result<()> {
        self.covered = false;
        self.copies.iter_mut().try_for_each(PrivateCopy::unmount)
    }

    /// Mounts the copies over their originals again, if [`Cold::uncover`] was called. Originals that have changed are
    /// copied again.
    pub fn cover(&mut self) -> Result<(), ColdError> {
        if self.covered {
            return Ok(());
        }
        self.copies.iter_mut().try_for_each(|copy| self.folder.replace_again(copy))?;
        self.covered = true;
        Ok(())
    }

    /// The files of a program, numbered in the order in which they were added.
    pub fn files(&self, program: usize) -> Option<&ColdFiles> {
        self.programs.get(program)
    }

    /// Evicts the files of a program and proves that none of their pages are resident. The error is one line that
    /// names the file.
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

impl Drop for Cold {
    /// The commands of `--cleanup` see the originals.
    fn drop(&mut self) {
        let _ = self.uncover();
    }
}

/// Evicts a file that a command before the run may have written to. Dirty pages stay until they are on the disk.
fn evict_written(file: &fs::File) -> io::Result<()> {
    evict(file)?;
    if resident_pages(file).is_ok_and(|pages| pages == 0) {
        return Ok(());
    }
    file.sync_data()?;
    evict(file)
}

/// The files that are also written to, and that have content on a disk.
fn left_warm(found: &UsedFiles) -> Vec<PathBuf> {
    let holds_something = |path: &Path| fs::metadata(path).is_ok_and(|file| file.len() > 0);
    let kept = found.read_and_written().into_iter().filter(|path| holds_something(path) && is_on_disk(path));
    kept.cloned().collect()
}

fn is_on_disk(path: &Path) -> bool {
    FileSystem::of_path(path)
        .is_ok_and(|found| matches!(found.kind, FileLocation::Disk | FileLocation::Opaque))
}

fn prove(copy: &PrivateCopy) -> Result<(), String> {
    let path = copy.original.display();
    match resident_pages(&copy.file) {
        Ok(0) => Ok(()),
        Ok(pages) => Err(format!("`{path}` is not cold: {pages} of its pages are still in memory")),
        Err(error) => Err(format!("it is unknown whether `{path}` is cold: {error}")),
    }
}

/// Drops the page cache of the whole machine, except pages that a process has mapped, as `echo 1 >
/// /proc/sys/vm/drop_caches` does. Many take this for a cold start.
pub fn drop_caches() -> Result<(), ColdError> {
    // SAFETY: no arguments. It writes dirty pages, which would otherwise stay.
    unsafe { libc::sync() };
    fs::write("/proc/sys/vm/drop_caches", "1\n").map_err(|cause| ColdError::Drop { cause })
}
