//! musl's dynamic loader, which is its C library: which files it looks for, and its system calls (`ldso/dynlink.c`).

use super::glibc::loading::Loading;
use super::headers::{self, Elf, PAGE};
use super::library::{Library, THE_LOADER};
use super::surroundings::{Environment, Surroundings};
use super::view::FileKind;
use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

/// More libraries than any program has.
const MAX_LIBRARIES: usize = 10_000;
/// How many libraries need no more memory than musl asks for first.
const MAX_KNOWN_LIBRARIES: usize = 2;
/// The names that mean the C library itself.
const OWN_NAMES: [&str; 7] =
    ["libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "libutil.so", "libcrypt.so"];

struct Course<'a> {
    surroundings: &'a Surroundings<'a>,
    interpreter: &'a str,
    program: &'a Elf,
    library_path: Vec<String>,
    /// The default folders, once they were needed.
    folders: Option<Vec<String>>,
    loading: Loading,
}

/// A program or library whose own libraries are looked for.
struct Object {
    path: PathBuf,
    elf: Elf,
    /// Its own folders, and those of the objects that need it.
    folders: Vec<String>,
}

pub(super) fn load(
    path: &Path,
    program: &Elf,
    interpreter: (&str, &Elf),
    surroundings: &Surroundings<'_>,
) -> Loading {
    let is_privileged = surroundings.is_privileged(path);
    let environment = if is_privileged { Environment::default() } else { surroundings.environment.clone() };
    let library_path = environment.get("LD_LIBRARY_PATH").unwrap_or("");
    let mut course = Course {
        surroundings,
        interpreter: interpreter.0,
        program,
        library_path: split(library_path),
        folders: None,
        loading: Loading::default(),
    };
    // arch_prctl, set_tid_address; brk (2) and mmap for its first memory
    course.loading.own_calls = 5 + own_protection(interpreter.1);
    if !(program.machine_name == "x86-64" && program.class == 64) {
        course
            .loading
            .uncertain
            .push("only the calls of musl on x86-64 were compared with a trace".to_owned());
    }
    course.run(path, environment.get("LD_PRELOAD").unwrap_or(""));
    course.loading
}

fn split(list: &str) -> Vec<String> {
    list.split([':', '\n']).filter(|folder| !folder.is_empty()).map(str::to_owned).collect()
}

impl Course<'_> {
    fn run(&mut self, path: &Path, preload: &str) {
        let mut known: HashSet<String> = HashSet::new();
        let program = self.object(path, self.program.clone(), &[]);
        let protection = own_protection(&program.elf);
        let mut pending = VecDeque::new();
        for name in preload.split([' ', ':']).filter(|name| !name.is_empty()) {
            pending.extend(self.add(&program, name, Some("LD_PRELOAD"), &mut known));
        }
        pending.push_front(program);
        while let Some(object) = pending.pop_front() {
            let needed = object.elf.dynamic.as_ref().map(|d| d.needed.clone()).unwrap_or_default();
            for name in needed {
                if self.loading.libraries.len() >= MAX_LIBRARIES {
                    return;
                }
                pending.extend(self.add(&object, &name, None, &mut known));
            }
        }
        let mapped = self.loading.libraries.iter().filter(|library| library.elf.is_some()).count();
        if mapped > MAX_KNOWN_LIBRARIES {
            self.loading.uncertain.push("musl asks for more memory for many libraries".to_owned());
        }
        let names_origin =
            self.program.rpath().or_else(|| self.program.runpath()).is_some_and(|list| list.contains('$'));
        self.loading.own_calls += protection + u64::from(names_origin);
    }

    fn object(&self, path: &Path, elf: Elf, inherited: &[String]) -> Object {
        let list = elf.runpath().or_else(|| elf.rpath()).unwrap_or("");
        let real = self.surroundings.files.real_path(path).unwrap_or_else(|| path.to_owned());
        let origin = real.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
        let list = list.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
        let folders = split(&list).into_iter().chain(inherited.iter().cloned()).collect();
        Object { path: path.to_owned(), elf, folders }
    }

    /// Finds a library; `None` if it is known already, missing, or the C library.
    fn add(
        &mut self,
        by: &Object,
        name: &str,
        asked_by: Option<&'static str>,
        known: &mut HashSet<String>,
    ) -> Option<Object> {
        if !known.insert(name.to_owned()) {
            return None;
        }
        let mut library = Library {
            name: name.to_owned(),
            needed_by: by.path.clone(),
            asked_by,
            path: None,
            found_by: None,
            failed_opens: 0,
            folder_checks: 0,
            syscalls: 0,
            tried: Vec::new(),
            elf: None,
        };
        if OWN_NAMES.contains(&name)
            || Path::new(self.interpreter).file_name().is_some_and(|name_of_file| name_of_file == name)
        {
            library.path = Some(PathBuf::from(self.interpreter));
            library.found_by = Some(THE_LOADER);
            self.loading.libraries.push(library);
            return None;
        }

        for (candidate, found_by) in self.candidates(by, name) {
            if let Some(elf) = self.suitable(&candidate, &mut library) {
                (library.path, library.found_by) = (Some(candidate.clone()), Some(found_by));
                library.syscalls += mapping(&elf);
                library.elf = Some(elf.clone());
                break;
            }
        }
        let found = library.path.clone().zip(library.elf.clone());
        self.loading.libraries.push(library);
        found.map(|(path, elf)| self.object(&path, elf, &by.folders))
    }

    fn candidates(&mut self, by: &Object, name: &str) -> Vec<(PathBuf, &'static str)> {
        if name.contains('/') {
            return vec![(PathBuf::from(name), "path")];
        }
        let named = |folders: &[String], found_by| -> Vec<_> {
            folders.iter().map(|folder| (Path::new(folder).join(name), found_by)).collect()
        };
        let mut all = named(&self.library_path, "LD_LIBRARY_PATH");
        all.extend(named(&by.folders, "RUNPATH"));
        let defaults = self.default_folders(&all);
        all.extend(named(&defaults, "default folder"));
        all
    }

    /// The list is read when no other folder has the library.
    fn default_folders(&mut self, before: &[(PathBuf, &'static str)]) -> Vec<String> {
        let files = self.surroundings.files;
        let is_there = |path: &Path| files.facts(path).is_some_and(|facts| facts.kind == FileKind::Regular);
        if before.iter().any(|(path, _)| is_there(path)) {
            return Vec::new();
        }
        if let Some(known) = &self.folders {
            return known.clone();
        }
        let list = self.interpreter.replace("/lib/", "/etc/").replace(".so.1", ".path");
        let text = files.read(Path::new(&list)).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        // open; and fcntl, fstat, read, close
        self.loading.own_calls += if text.is_some() { 5 } else { 1 };
        let folders = split(text.as_deref().unwrap_or("/lib:/usr/local/lib:/usr/lib"));
        self.folders.insert(folders).clone()
    }

    /// Opens and reads a file. What is for another machine is closed again.
    fn suitable(&self, path: &Path, library: &mut Library) -> Option<Elf> {
        library.syscalls += 1;
        let files = self.surroundings.files;
        let is_file = files.facts(path).is_some_and(|facts| facts.kind == FileKind::Regular);
        let bytes = if is_file { files.read(path).ok() } else { None };
        let elf = bytes.and_then(|bytes| headers::read(&bytes).ok());
        let program = self.program;
        let elf = elf.filter(|elf| {
            (elf.class, elf.machine, elf.byte_order) == (program.class, program.machine, program.byte_order)
        });
        if elf.is_none() {
            library.failed_opens += 1;
            library.tried.push(path.to_owned());
        }
        elf
    }
}

/// fcntl, fstat, read, mappings, close, and the protection after relocation. A mapping of all is followed by one for each
/// other segment and one for zeros.
fn mapping(elf: &Elf) -> u64 {
    let loads = elf.loads().count() as u64;
    let zeroes = elf.loads().filter(|s| s.zero_pages > 0).count() as u64;
    4 + loads + zeroes + own_protection(elf)
}

fn own_protection(elf: &Elf) -> u64 {
    let is_page = |address: u64, size: u64| address / PAGE != address.saturating_add(size) / PAGE;
    u64::from(elf.segments.iter().any(|s| s.kind == "GNU_RELRO" && is_page(s.address, s.memory_size)))
}
