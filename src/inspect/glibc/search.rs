//! Finds one library where glibc's loader finds it (`_dl_map_object`), and counts its calls.

use super::calls;
use super::folders::{self, Folders, Known, PathList};
use super::loader::Loader;
use super::memory::{Block, Memory};
use crate::inspect::dynamic::Dynamic;
use crate::inspect::headers::{self, Elf};
use crate::inspect::ld_cache::LdCache;
use crate::inspect::view::{FileKind, FileView};
use std::path::{Path, PathBuf};

/// The program or a library, as the loader remembers it.
#[derive(Clone, Debug)]
pub(super) struct Object {
    /// Its path, as it was found. That of the program is unknown to the loader, so it is empty.
    pub(super) path: String,
    /// The names under which it is known.
    pub(super) names: Vec<String>,
    pub(super) elf: Elf,
    /// `None`: not asked for yet, or none of the paths of the program.
    pub(super) identity: Option<(u64, u64)>,
    /// The object that asked for it.
    pub(super) needed_by: Option<usize>,
    pub(super) rpath: Lookup,
    pub(super) runpath: Lookup,
}

/// A list of folders, which is read when it is needed.
#[derive(Clone, Debug, Default)]
pub(super) enum Lookup {
    #[default]
    Unread,
    Nowhere,
    Folders(PathList),
}

/// What opening one file gave.
enum Opened {
    Suitable(Box<Elf>),
    /// It is not there, or it is for another machine.
    Unsuitable,
    /// The loader gives up.
    Damaged(String),
}

/// Where a library was found.
pub(super) struct Found {
    pub(super) path: String,
    pub(super) by: &'static str,
    pub(super) elf: Box<Elf>,
}

/// The calls of one search.
#[derive(Clone, Debug, Default)]
pub(super) struct Tries {
    /// The files that could not be opened, and the folders that were looked at because of that, in order.
    pub(super) paths: Vec<PathBuf>,
    pub(super) failed_opens: u64,
    pub(super) folder_checks: u64,
    /// All calls, up to the one that verified the file.
    pub(super) calls: u64,
}

/// The state of the loader.
pub(super) struct Search<'a> {
    pub(super) files: &'a dyn FileView,
    pub(super) loader: &'a Loader,
    /// The program, and what was loaded, in order.
    pub(super) objects: Vec<Object>,
    pub(super) memory: Memory,
    pub(super) default_folders: PathList,
    pub(super) folders: Folders,
    /// The folders of `LD_LIBRARY_PATH`.
    pub(super) library_path: PathList,
    pub(super) cache: Cache,
    /// The path of the program without symbolic links.
    pub(super) real_program: PathBuf,
    /// Whether the loader asked for the program's path, which takes a readlink.
    pub(super) knows_origin: bool,
    pub(super) problem: Option<String>,
}

/// `ld.so.cache` is read when the first library needs it.
#[derive(Clone, Debug, Default)]
pub(super) enum Cache {
    #[default]
    Unread,
    Missing,
    Read(LdCache),
}

impl Search<'_> {
    /// The file for a name that an object needs; `None` if there is none.
    pub(super) fn find(&mut self, name: &str, by: usize, tries: &mut Tries) -> Option<Found> {
        if name.contains('/') {
            let (path, _) = self.expanded(by, name);
            return self.open(&path, "path", tries);
        }
        if self.objects[by].elf.runpath().is_none() {
            let found = self.in_rpaths(name, by, tries);
            if found.is_some() || self.problem.is_some() {
                return found;
            }
        }

        let library_path = self.library_path.clone();
        let found = self.in_folders(name, &library_path, "LD_LIBRARY_PATH", tries).0;
        if found.is_some() || self.problem.is_some() {
            return found;
        }
        if let Some(list) = self.runpath(by) {
            let (found, exists) = self.in_folders(name, &list, "RUNPATH", tries);
            if !exists {
                self.objects[by].runpath = Lookup::Nowhere;
            }
            if found.is_some() || self.problem.is_some() {
                return found;
            }
        }

        let has_defaults =
            !self.objects[by].elf.dynamic.as_ref().is_some_and(Dynamic::avoids_default_folders);
        let cached = self.in_cache(name, has_defaults, tries);
        if cached.is_some() || self.problem.is_some() || !has_defaults {
            return cached;
        }
        let defaults = self.default_folders.clone();
        self.in_folders(name, &defaults, "default folder", tries).0
    }

    /// In the RPATH of the object, of the object that needs it, and so on, and in that of the program.
    fn in_rpaths(&mut self, name: &str, by: usize, tries: &mut Tries) -> Option<Found> {
        let mut next = Some(by);
        let mut was_program = false;
        while let Some(object) = next.or_else(|| (!was_program).then_some(0)) {
            was_program |= object == 0;
            next = self.objects[object].needed_by.filter(|_| next.is_some());
            let Some(list) = self.rpath(object) else { continue };
            let (found, exists) = self.in_folders(name, &list, "RPATH", tries);
            if !exists {
                self.objects[object].rpath = Lookup::Nowhere;
            }
            if found.is_some() || self.problem.is_some() {
                return found;
            }
        }
        None
    }

    pub(super) fn rpath(&mut self, object: usize) -> Option<PathList> {
        if matches!(self.objects[object].rpath, Lookup::Unread) {
            let text = self.objects[object].elf.rpath().map(str::to_owned);
            self.objects[object].rpath = self.decomposed(object, text);
        }
        match &self.objects[object].rpath {
            Lookup::Folders(list) => Some(list.clone()),
            _ => None,
        }
    }

    pub(super) fn runpath(&mut self, object: usize) -> Option<PathList> {
        if matches!(self.objects[object].runpath, Lookup::Unread) {
            let text = self.objects[object].elf.runpath().map(str::to_owned);
            self.objects[object].runpath = self.decomposed(object, text);
        }
        match &self.objects[object].runpath {
            Lookup::Folders(list) => Some(list.clone()),
            _ => None,
        }
    }

    /// The folders of an RPATH or RUNPATH (`decompose_rpath`).
    fn decomposed(&mut self, object: usize, text: Option<String>) -> Lookup {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return Lookup::Nowhere };
        let copy = self.memory.text(text.len());
        let names: Vec<&str> = text.split(':').collect();
        self.memory.allocate((names.len() as u64 + 1) * 8);
        let owner = self.objects[object].path.clone();
        let list = self.read_list(&names, Some(&owner), object);
        self.memory.free(Some(copy));
        if list.is_empty() { Lookup::Nowhere } else { Lookup::Folders(list) }
    }

    pub(super) fn read_list(&mut self, names: &[&str], owner: Option<&str>, object: usize) -> PathList {
        let mut folders = std::mem::take(&mut self.folders);
        let mut memory = self.memory;
        let list = folders.list(names, owner, &mut memory, |name, memory| self.expand(object, name, memory));
        (self.folders, self.memory) = (folders, memory);
        list
    }

    fn expanded(&mut self, object: usize, text: &str) -> (String, Block) {
        let mut memory = self.memory;
        let expanded = self.expand(object, text, &mut memory);
        self.memory = memory;
        expanded
    }

    /// Replaces the tokens in a name (`expand_dynamic_string_token`).
    fn expand(&mut self, object: usize, text: &str, memory: &mut Memory) -> (String, Block) {
        let tokens = folders::tokens(text);
        if tokens == 0 {
            return (text.to_owned(), memory.text(text.len()));
        }
        let is_program = object == 0;
        let path =
            if is_program { self.real_program.clone() } else { PathBuf::from(&self.objects[object].path) };
        let origin = path.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
        if is_program && !self.knows_origin {
            self.knows_origin = true;
            memory.text(origin.len());
        }
        let longest =
            [origin.len(), self.loader.platform.len(), self.loader.lib.len()].into_iter().max().unwrap_or(0);
        let size = text.len() as u64 + tokens * (longest as u64).saturating_sub(4);
        let copy = memory.allocate(size + 1);
        (folders::substituted(text, Some(&origin), self.loader.platform, &self.loader.lib), copy)
    }

    /// Tries each folder with each of its subfolders (`open_path`). Also says whether any of them exists.
    fn in_folders(
        &mut self,
        name: &str,
        list: &PathList,
        found_by: &'static str,
        tries: &mut Tries,
    ) -> (Option<Found>, bool) {
        let mut exists = list.is_empty();
        for &number in list {
            for at in 0..self.loader.subfolders.len() {
                let folder = self.folders.get_mut(number);
                let known = folder.known[at];
                if known == Known::Missing {
                    continue;
                }
                let folder_name = format!("{}{}", folder.name, self.loader.subfolders[at]);
                let found = self.open(&format!("{folder_name}{name}"), found_by, tries);
                if let Some(found) = &found {
                    self.memory.text(found.path.len());
                    self.folders.get_mut(number).known[at] = Known::Exists;
                }
                if found.is_some() || self.problem.is_some() {
                    return (found, true);
                }
                if known == Known::Nothing {
                    let is_there = self.is_folder(&folder_name, tries);
                    self.folders.get_mut(number).known[at] =
                        if is_there { Known::Exists } else { Known::Missing };
                }
                exists |= self.folders.get_mut(number).known[at] == Known::Exists;
            }
        }
        (None, exists)
    }

    fn is_folder(&self, name: &str, tries: &mut Tries) -> bool {
        tries.folder_checks += 1;
        tries.calls += 1;
        tries.paths.push(PathBuf::from(name));
        self.files.facts(Path::new(name)).is_some_and(|facts| facts.kind == FileKind::Folder)
    }

    fn in_cache(&mut self, name: &str, has_defaults: bool, tries: &mut Tries) -> Option<Found> {
        if matches!(self.cache, Cache::Unread) {
            self.cache = match self.files.read(&self.loader.cache) {
                Ok(bytes) => Cache::Read(LdCache::parse(&bytes)),
                Err(_) => Cache::Missing,
            };
        }
        let Cache::Read(cache) = &self.cache else { return None };
        let path = cache.lookup(name, self.loader.cache_flags, &self.loader.subfolders)?.to_owned();
        let path = path.to_string_lossy().into_owned();
        let copy = self.memory.text(path.len());
        let is_default = self.loader.folders.iter().any(|folder| path.starts_with(folder.as_str()));
        let found = if has_defaults || !is_default { self.open(&path, "cache", tries) } else { None };
        if found.is_none() {
            self.memory.free(Some(copy));
        }
        found
    }

    fn open(&mut self, path: &str, found_by: &'static str, tries: &mut Tries) -> Option<Found> {
        match self.opened(Path::new(path), tries) {
            Opened::Suitable(elf) => return Some(Found { path: path.to_owned(), by: found_by, elf }),
            Opened::Unsuitable => {
                tries.failed_opens += 1;
                tries.paths.push(PathBuf::from(path));
            }
            Opened::Damaged(problem) => self.problem = Some(problem),
        }
        None
    }

    /// Opens and verifies a file (`open_verify`).
    fn opened(&self, path: &Path, tries: &mut Tries) -> Opened {
        tries.calls += 1;
        let Some(facts) = self.files.facts(path) else { return Opened::Unsuitable };
        let damaged =
            |cause| Opened::Damaged(format!("`{}`, where the loader stops, {cause}", path.display()));
        if facts.kind != FileKind::Regular {
            return damaged("is no regular file".to_owned());
        }
        let Ok(bytes) = self.files.read(path) else { return Opened::Unsuitable };
        let elf = match headers::read(&bytes) {
            Ok(elf) => elf,
            Err(cause) => return damaged(format!("is no library: {cause}")),
        };
        let program = &self.objects[0].elf;
        if (elf.class, elf.machine, elf.byte_order) != (program.class, program.machine, program.byte_order) {
            tries.calls += 2; // read, close
            return Opened::Unsuitable;
        }
        tries.calls += calls::to_verify(&elf, self.loader.version) - 1;
        Opened::Suitable(Box::new(elf))
    }

    /// The object that is known under a name.
    pub(super) fn known(&mut self, name: &str) -> Option<usize> {
        let has_name =
            |object: &Object| object.path == name || object.names.iter().any(|known| known == name);
        if let Some(found) = self.objects.iter().position(has_name) {
            return Some(found);
        }
        let named = |object: &Object| object.elf.soname() == Some(name);
        let found = self.objects.iter().position(named)?;
        self.memory.allocate(24 + name.len() as u64 + 1);
        self.objects[found].names.push(name.to_owned());
        Some(found)
    }
}
