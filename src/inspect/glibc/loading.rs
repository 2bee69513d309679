//! The whole course of glibc's loader (`dl_main` in `elf/rtld.c`), from its first call to the program's entry.

use super::calls;
use super::folders::{Folders, PathList};
use super::loader::Loader;
use super::memory::Memory;
use super::search::{Cache, Found, Lookup, Object, Search, Tries};
use super::version::Sizes;
use crate::inspect::headers::Elf;
use crate::inspect::library::{Library, THE_LOADER};
use crate::inspect::surroundings::{Environment, Surroundings};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// More libraries than any program has.
const MAX_LIBRARIES: usize = 10_000;
const PRELOAD_FILE: &str = "/etc/ld.so.preload";

/// What the loader does before it enters a program.
#[derive(Clone, Debug, Default)]
pub(in crate::inspect) struct Loading {
    /// In the order in which symbols are looked up.
    pub(in crate::inspect) libraries: Vec<Library>,
    /// The loader's calls that are not for one library, with those of the C library's first function.
    pub(in crate::inspect) own_calls: u64,
    /// Why the calls are only a minimum.
    pub(in crate::inspect) uncertain: Vec<String>,
    /// Why the program does not start.
    pub(in crate::inspect) problems: Vec<String>,
    /// How many pages of memory it allocates and fills.
    pub(in crate::inspect) memory_pages: u64,
    /// Whether it maps `ld.so.cache`.
    pub(in crate::inspect) reads_cache: bool,
    /// The C library's calls for its first memory: brk (2), and getrandom since 2.34.
    pub(in crate::inspect) memory_calls: u64,
}

/// The program that is loaded, and the file of the loader.
pub(in crate::inspect) struct Start<'a> {
    pub(in crate::inspect) program: (&'a Path, &'a Elf),
    pub(in crate::inspect) interpreter: (&'a str, &'a Elf),
    pub(in crate::inspect) loader: &'a Loader,
}

pub(in crate::inspect) fn load(start: &Start<'_>, surroundings: &Surroundings<'_>) -> Loading {
    let is_privileged = surroundings.is_privileged(start.program.0);
    let environment = if is_privileged { Environment::default() } else { surroundings.environment.clone() };
    let mut course = Course::new(start, surroundings, &environment);
    if is_privileged {
        course.unsure("the kernel starts it with other rights, so the loader checks more");
    }
    if !start.loader.is_known() {
        course.unsure("the calls of this version of the loader were not compared with a trace");
    }
    for name in UNKNOWN_EFFECTS.iter().filter(|name| environment.has(name)) {
        course.unsure(&format!("`{name}` is set"));
    }

    course.audit(environment.get("LD_AUDIT").unwrap_or(""));
    course.preload(environment.get("LD_PRELOAD").unwrap_or(""));
    course.preload_file(surroundings);
    course.needed();
    course.finish()
}

/// Variables that make the loader do more than this model knows.
const UNKNOWN_EFFECTS: [&str; 7] = [
    "LD_DEBUG",
    "LD_PROFILE",
    "LD_SHOW_AUXV",
    "LD_TRACE_LOADED_OBJECTS",
    "LD_PREFER_MAP_32BIT_EXEC",
    "LD_HWCAP_MASK",
    "GLIBC_TUNABLES",
];

/// The loader at work.
struct Course<'a> {
    search: Search<'a>,
    sizes: Sizes,
    libraries: Vec<Library>,
    /// The objects whose libraries are not loaded yet, in the order in which symbols are looked up.
    pending: VecDeque<usize>,
    own_calls: u64,
    /// Libraries that were mapped more than once, for audit modules.
    audit_calls: u64,
    uncertain: Vec<String>,
    problems: Vec<String>,
}

/// The numbers of the program and of the loader among the objects.
const PROGRAM: usize = 0;
const LOADER: usize = 1;

impl<'a> Course<'a> {
    fn new(start: &Start<'a>, surroundings: &Surroundings<'a>, environment: &Environment) -> Course<'a> {
        let (loader, sizes) = (start.loader, start.loader.version.sizes());
        let (path, elf) = start.program;
        let real_program = surroundings.files.real_path(path).unwrap_or_else(|| path.to_owned());
        let program = Object {
            path: String::new(),
            names: vec![String::new()],
            elf: elf.clone(),
            identity: None,
            needed_by: None,
            rpath: Lookup::Unread,
            runpath: Lookup::Unread,
        };
        let interpreter_names = [Some(start.interpreter.0), start.interpreter.1.soname()];
        let interpreter = Object {
            path: start.interpreter.0.to_owned(),
            names: interpreter_names.into_iter().flatten().map(str::to_owned).collect(),
            elf: start.interpreter.1.clone(),
            identity: surroundings.files.facts(Path::new(start.interpreter.0)).map(|facts| facts.identity),
            ..program.clone()
        };

        let mut search = Search {
            files: surroundings.files,
            loader,
            objects: vec![program, interpreter],
            memory: Memory::new(loader.spare),
            folders: Folders::new(loader.subfolders.len()),
            default_folders: PathList::new(),
            library_path: PathList::new(),
            cache: Cache::Unread,
            real_program,
            knows_origin: false,
            problem: None,
        };
        allocate_maps(&mut search.memory, sizes);
        init_paths(&mut search, environment.get("LD_LIBRARY_PATH").unwrap_or(""));
        Course {
            search,
            sizes,
            libraries: Vec::new(),
            pending: VecDeque::from([PROGRAM]),
            own_calls: 0,
            audit_calls: 0,
            uncertain: Vec::new(),
            problems: Vec::new(),
        }
    }

    fn unsure(&mut self, cause: &str) {
        if !self.uncertain.iter().any(|known| known == cause) {
            self.uncertain.push(cause.to_owned());
        }
    }

    /// An audit module is loaded with libraries of its own, which are other copies of those of the program.
    fn audit(&mut self, list: &str) {
        let dynamic = self.search.objects[PROGRAM].elf.dynamic.as_ref();
        let audit = dynamic.map(|d| d.audit.join(":")).unwrap_or_default();
        for name in list
            .split(':')
            .chain(audit.split(':'))
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
        {
            self.unsure("it is loaded with an audit module");
            let objects = self.search.objects.clone();
            self.search.objects.truncate(LOADER + 1);
            let before = self.libraries.len();
            if let Some(module) = self.load(&name, PROGRAM, Some("LD_AUDIT")) {
                self.load_needed_of(VecDeque::from([module]), Some("LD_AUDIT"));
            }
            self.audit_calls += (self.libraries.len() - before) as u64;
            self.search.objects = objects;
            self.search.problem = None;
        }
    }

    fn preload(&mut self, list: &str) {
        for name in list.split([' ', ':']).filter(|name| !name.is_empty()) {
            self.preload_one(name, "LD_PRELOAD");
        }
    }

    /// access(2) says whether there is such a file. Then it is opened, mapped, closed and unmapped.
    fn preload_file(&mut self, surroundings: &Surroundings<'_>) {
        self.own_calls += 1;
        let Ok(bytes) = surroundings.files.read(Path::new(PRELOAD_FILE)) else { return };
        self.own_calls += if bytes.is_empty() { 3 } else { 5 };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or(""));
        for name in lines.flat_map(|line| line.split([' ', '\t', ':'])).filter(|name| !name.is_empty()) {
            self.preload_one(name, PRELOAD_FILE);
        }
    }

    fn preload_one(&mut self, name: &str, asked_by: &'static str) {
        if let Some(found) = self.load(name, PROGRAM, Some(asked_by)) {
            if !self.pending.contains(&found) {
                self.pending.push_back(found);
            }
        } else {
            // it writes a message and goes on
            self.own_calls += 1;
            self.search.problem = None;
        }
    }

    fn needed(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.load_needed_of(pending, None);
    }

    /// Loads what these objects need, breadth first.
    fn load_needed_of(&mut self, mut pending: VecDeque<usize>, asked_by: Option<&'static str>) {
        let mut listed: Vec<usize> = pending.iter().copied().collect();
        while let Some(by) = pending.pop_front() {
            let dynamic = self.search.objects[by].elf.dynamic.clone().unwrap_or_default();
            if dynamic.has_filter() {
                self.unsure("a library of it is a filter for another one");
            }
            let mut needed = 1;
            for name in dynamic.needed {
                if self.libraries.len() >= MAX_LIBRARIES {
                    return;
                }
                let Some(found) = self.load(&name, by, asked_by) else { continue };
                needed += 1;
                if !listed.contains(&found) {
                    listed.push(found);
                    pending.push_back(found);
                }
            }
            if by > LOADER {
                self.search.memory.allocate((2 * needed + 1) * 8);
            }
        }
        if asked_by.is_none() {
            self.search.memory.allocate((2 * listed.len() as u64 + 1) * 8);
        }
    }

    /// Loads a library, unless it is there already. `None`: there is none.
    fn load(&mut self, name: &str, by: usize, asked_by: Option<&'static str>) -> Option<usize> {
        if let Some(known) = self.search.known(name) {
            self.list_loader(known, name, by);
            return Some(known);
        }
        let mut tries = Tries::default();
        let found = self.search.find(name, by, &mut tries);
        if let Some(problem) = self.search.problem.take() {
            self.problems.push(problem);
            return None;
        }
        let Some(found) = found else {
            self.libraries.push(self.library(name, by, asked_by, None, tries));
            return None;
        };

        let identity = self.search.files.facts(Path::new(&found.path)).map(|facts| facts.identity);
        if let Some(same) =
            self.search.objects.iter().position(|o| o.identity.is_some() && o.identity == identity)
        {
            // it is closed again, and has one more name
            self.own_calls += tries.calls + 2;
            self.search.objects[same].names.push(name.to_owned());
            return Some(same);
        }
        Some(self.add(name, by, asked_by, found, identity, tries))
    }

    /// The loader is there already when a library needs it by name.
    fn list_loader(&mut self, known: usize, name: &str, by: usize) {
        let found_by = Some(THE_LOADER);
        if known != LOADER || self.libraries.iter().any(|library| library.found_by == found_by) {
            return;
        }
        let library = self.library(name, by, None, None, Tries::default());
        let loader = &self.search.objects[LOADER];
        let (path, elf) = (Some(PathBuf::from(&loader.path)), Some(loader.elf.clone()));
        self.libraries.push(Library { path, found_by, elf, ..library });
    }

    fn add(
        &mut self,
        name: &str,
        by: usize,
        asked_by: Option<&'static str>,
        found: Found,
        identity: Option<(u64, u64)>,
        tries: Tries,
    ) -> usize {
        let mapping = calls::to_map(&found.elf);
        if !mapping.is_exact {
            self.unsure("the loader changes more of the memory of a library than this model knows");
        }
        if !found.path.starts_with('/') {
            self.own_calls += 1; // getcwd
        }
        let origin = if found.path.starts_with('/') { 1 } else { 129 };
        self.search.memory.allocate(self.sizes.link_map + 32 + name.len() as u64 + 1);
        self.search.memory.allocate(found.path.len() as u64 + origin);
        let (elf, path) = ((*found.elf).clone(), found.path.clone());
        let mut library = self.library(name, by, asked_by, Some(found), tries);
        library.syscalls += mapping.count;
        self.libraries.push(library);
        self.search.objects.push(Object {
            path,
            names: vec![name.to_owned()],
            elf,
            identity,
            needed_by: Some(by),
            rpath: Lookup::Unread,
            runpath: Lookup::Unread,
        });
        self.search.objects.len() - 1
    }

    fn library(
        &self,
        name: &str,
        by: usize,
        asked_by: Option<&'static str>,
        found: Option<Found>,
        tries: Tries,
    ) -> Library {
        let owner = &self.search.objects[by].path;
        let needed_by = if by == PROGRAM { self.search.real_program.clone() } else { PathBuf::from(owner) };
        Library {
            name: name.to_owned(),
            needed_by,
            asked_by,
            path: found.as_ref().map(|found| PathBuf::from(&found.path)),
            found_by: found.as_ref().map(|found| found.by),
            failed_opens: tries.failed_opens,
            folder_checks: tries.folder_checks,
            syscalls: tries.calls,
            tried: tries.paths,
            elf: found.map(|found| *found.elf),
        }
    }

    fn finish(mut self) -> Loading {
        self.allocate_tables();
        let version = self.search.loader.version;
        let has_libc = self.search.objects.iter().any(|object| object.elf.soname() == Some("libc.so.6"));
        let is_named = |object: &Object| {
            object.elf.dynamic.as_ref().is_some_and(|d| {
                let names = &self.search.objects[LOADER].names;
                d.needed.iter().any(|name| names.contains(name))
            })
        };
        let is_needed = self.search.objects.iter().any(is_named);
        let loader = &self.search.objects[LOADER].elf;
        let protections = calls::protection(&self.search.objects[PROGRAM].elf)
            + if is_needed || version.minor >= 40 { calls::protection(loader) } else { 0 };

        let cache = match self.search.cache {
            Cache::Unread => 0,
            Cache::Missing => 1,
            Cache::Read(_) => 5,
        };
        let thread = 1 + if version.minor >= 34 { 2 } else { 0 } + u64::from(version.minor >= 35);
        // other versions may need a little less memory than the one that they resemble
        let requests = self.search.memory.requests.saturating_sub(u64::from(!version.is_known));
        // brk, the memory, the program's path, the stack's limit
        self.own_calls += 1
            + u64::from(self.search.loader.asks_for_shadow_stack)
            + requests
            + cache
            + thread
            + protections
            + u64::from(self.search.knows_origin)
            + u64::from(version.minor >= 34 && has_libc);
        Loading {
            libraries: self.libraries,
            own_calls: self.own_calls,
            uncertain: self.uncertain,
            problems: self.problems,
            memory_pages: self.search.memory.pages,
            reads_cache: matches!(self.search.cache, Cache::Read(_)),
            memory_calls: 2 + u64::from(version.minor >= 34),
        }
    }

    /// The tables of versions, the thread's memory, and the table of all objects.
    fn allocate_tables(&mut self) {
        let Course { search, sizes, .. } = self;
        let (sizes, memory) = (*sizes, &mut search.memory);
        for (number, object) in search.objects.iter().enumerate() {
            if object.elf.versions > 0 && number != LOADER {
                memory.allocate((object.elf.versions + 1) * 24);
            }
            if number == PROGRAM {
                memory.allocate(3 * 24); // the vDSO
            }
        }
        memory.allocate((search.objects[LOADER].elf.versions + 1) * 24);

        let blocks: Vec<(u64, u64, u64)> =
            search.objects.iter().filter_map(|object| object.elf.thread_local()).collect();
        memory.allocate(16 + (blocks.len() as u64 + 1 + 62) * 16);
        let (size, align) = static_tls(&blocks, sizes);
        memory.allocate(size + align + 8);
        memory.allocate((blocks.len() as u64 + 14 + 2) * 16);
        if search.loader.version.has_object_table() {
            // all but the program, and the vDSO
            memory.allocate(search.objects.len() as u64 * 32);
        }
    }
}

/// The maps of the program and of the vDSO. They have room for as many audit modules as there may be.
fn allocate_maps(memory: &mut Memory, sizes: Sizes) {
    memory.allocate(sizes.link_map + 16 * 16 + 32 + 1);
    memory.allocate(sizes.link_map + 16 * sizes.vdso_audits + 32 + 1);
}

/// `_dl_init_paths`: the names of the subfolders, the default folders, those of the program, and `LD_LIBRARY_PATH`.
fn init_paths(search: &mut Search<'_>, library_path: &str) {
    let Loader { subfolders, folders, version, .. } = search.loader;
    let count = subfolders.len() as u64;
    let named = subfolders.iter().filter(|name| name.starts_with("glibc-hwcaps/")).count() as u64;
    if version.minor >= 33 {
        search.memory.allocate(named * 16);
    }
    search.memory.allocate(count * 16 + texts(subfolders));
    search.memory.allocate((folders.len() as u64 + 1) * 8);
    search.memory.allocate(folders.len() as u64 * ((79 + 4 * count) / 40) * 40);
    search.default_folders = folders.iter().map(|folder| search.folders.add(folder.clone())).collect();
    search.runpath(PROGRAM);
    search.rpath(PROGRAM);
    if !library_path.is_empty() {
        let list: Vec<&str> = library_path.split([':', ';']).collect();
        search.memory.allocate((list.len() as u64 + 1) * 8);
        search.library_path = search.read_list(&list, None, PROGRAM);
    }
}

/// How many bytes the names of the subfolders take. The loader stores those of a power set so that they overlap.
fn texts(subfolders: &[String]) -> u64 {
    let is_named = |name: &&String| name.starts_with("glibc-hwcaps/");
    let named: usize = subfolders.iter().filter(is_named).map(String::len).sum();
    let legacy: Vec<&String> = subfolders.iter().filter(|name| !is_named(name)).collect();
    let count = legacy.len().trailing_zeros();
    if count == 0 {
        return named as u64;
    }
    let single = |bit: u32| legacy[legacy.len() - 1 - (1 << bit)].len() as u64;
    let ends = single(0) + single(count - 1);
    let inner: u64 = (1..count.saturating_sub(1)).map(single).sum();
    let overlapping = match count {
        1 => single(0),
        2 => ends,
        _ => (2 * ends + inner) << (count - 3),
    };
    named as u64 + overlapping
}

/// The size and alignment of the static thread-local memory (`_dl_determine_tlsoffset`), from the size, the alignment and
/// the address of each block.
fn static_tls(blocks: &[(u64, u64, u64)], sizes: Sizes) -> (u64, u64) {
    let (mut offset, mut max_align) = (0_u64, 64_u64);
    for &(size, align, address) in blocks {
        let (size, align) = (size.min(1 << 32), align.clamp(1, 1 << 20));
        let first = address.wrapping_neg() % align;
        max_align = max_align.max(align);
        offset = (offset + size).saturating_sub(first).next_multiple_of(align) + first;
    }
    if sizes.tls_extra > 0 {
        offset = offset.next_multiple_of(32) + sizes.tls_extra;
    }
    let end = offset + sizes.tls_surplus;
    (end.next_multiple_of(max_align) + sizes.pthread, max_align)
}
