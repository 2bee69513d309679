//! Finds the libraries that a program needs, each at the path where the dynamic loader will find it (ld.so(8)).
//!
//! For a name without a slash, glibc looks in this order: the `RPATH` of the object that needs the library and of the objects
//! that needed that object, unless it has a `RUNPATH`; `LD_LIBRARY_PATH`; its own `RUNPATH`; the cache; the default folders.
//! musl has no cache, and one list of folders. Both skip libraries of another class or machine.

use super::headers::{self, Elf};
use super::ld_cache::LdCache;
use super::view::{self, FileView};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// More libraries than any program has.
const MAX_LIBRARIES: usize = 10_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Library {
    pub name: String,
    /// The first object that needs the library.
    #[serde(serialize_with = "view::lossy")]
    pub needed_by: PathBuf,
    /// `None`: the library is missing, and the program will not start.
    #[serde(serialize_with = "view::lossy_option")]
    pub path: Option<PathBuf>,
    /// How it was found: `RUNPATH`, `cache`, …
    pub found_by: Option<&'static str>,
    /// How many places do not have the library.
    pub failed_opens: u64,
    #[serde(skip)]
    pub elf: Option<Elf>,
}

/// The files, and what else the search depends on.
pub struct LibrarySearch<'a> {
    pub files: &'a dyn FileView,
    /// `LD_LIBRARY_PATH`.
    pub library_path: Option<String>,
    /// `/etc/ld.so.cache`.
    pub cache: LdCache,
}

/// A program or library whose own libraries are looked for.
struct Object {
    path: PathBuf,
    elf: Elf,
    /// The `RPATH`s that also apply to its libraries, its own first. Each has the path of its owner.
    rpaths: Vec<(PathBuf, String)>,
}

impl LibrarySearch<'_> {
    /// All libraries of a program in the order in which they are searched for symbols, which is breadth first.
    pub fn closure(&self, path: &Path, program: &Elf) -> Vec<Library> {
        let mut found: Vec<Library> = Vec::new();
        let mut known: HashSet<String> = HashSet::new();
        let mut pending = std::collections::VecDeque::from([object(path, program.clone(), &[])]);

        while let Some(object) = pending.pop_front() {
            let needed = object.elf.dynamic.as_ref().map(|d| d.needed.clone()).unwrap_or_default();
            for name in needed {
                if found.len() >= MAX_LIBRARIES || !known.insert(name.clone()) {
                    continue;
                }
                let library = self.find(&object, &name, program);
                if let (Some(path), Some(elf)) = (&library.path, &library.elf) {
                    known.extend(elf.dynamic.as_ref().and_then(|d| d.soname.clone()));
                    pending.push_back(self::object(path, elf.clone(), &object.rpaths));
                }
                found.push(library);
            }
        }
        found
    }

    fn find(&self, object: &Object, name: &str, program: &Elf) -> Library {
        let mut failed_opens = 0;
        for (candidate, found_by) in self.candidates(object, name, program) {
            if let Some(elf) = self.suitable(&candidate, program) {
                let needed_by = object.path.clone();
                return Library {
                    name: name.to_owned(),
                    needed_by,
                    path: Some(candidate),
                    found_by: Some(found_by),
                    failed_opens,
                    elf: Some(elf),
                };
            }
            failed_opens += 1;
        }

        Library {
            name: name.to_owned(),
            needed_by: object.path.clone(),
            path: None,
            found_by: None,
            failed_opens,
            elf: None,
        }
    }

    fn suitable(&self, path: &Path, program: &Elf) -> Option<Elf> {
        if !self.files.is_file(path) {
            return None;
        }
        let elf = headers::read(&self.files.read(path).ok()?).ok()?;
        ((elf.class, elf.machine, elf.byte_order) == (program.class, program.machine, program.byte_order))
            .then_some(elf)
    }

    fn candidates(&self, object: &Object, name: &str, program: &Elf) -> Vec<(PathBuf, &'static str)> {
        if name.contains('/') {
            return vec![(PathBuf::from(name), "path")];
        }

        let interpreter = program.interpreter.clone().unwrap_or_default();
        if interpreter.contains("ld-musl") {
            return self.musl_candidates(object, name, &interpreter);
        }
        if Path::new(&interpreter).file_name().is_some_and(|file| file == name) {
            return vec![(PathBuf::from(interpreter), "interpreter")]; // it is mapped already
        }

        let runpath = object.elf.dynamic.as_ref().and_then(|d| d.runpath.clone());
        let mut places = Vec::new();
        if runpath.is_none() {
            places.extend(rpaths(object, program));
        }
        places.extend(self.environment(object, program));
        places.extend(expand(runpath.as_deref(), &object.path, program).map(|f| (f, "RUNPATH")));

        let mut candidates: Vec<_> = places.into_iter().map(|(folder, by)| (folder.join(name), by)).collect();
        candidates.extend(self.cache.lookup(name).iter().map(|path| (path.clone(), "cache")));
        candidates.extend(
            default_folders(program).into_iter().map(|f| (PathBuf::from(f).join(name), "default folder")),
        );
        candidates
    }

    /// musl's C library is its loader. It searches as in `ldso/dynlink.c`.
    fn musl_candidates(
        &self,
        object: &Object,
        name: &str,
        interpreter: &str,
    ) -> Vec<(PathBuf, &'static str)> {
        if matches!(
            name,
            "libc.so" | "libm.so" | "libpthread.so" | "libdl.so" | "librt.so" | "libutil.so" | "libcrypt.so"
        ) {
            return vec![(PathBuf::from(interpreter), "interpreter")];
        }

        let mut places: Vec<_> = self.environment(object, &object.elf).collect();
        let dynamic = object.elf.dynamic.as_ref();
        let own = dynamic.and_then(|d| d.runpath.as_deref().or(d.rpath.as_deref()));
        places.extend(expand(own, &object.path, &object.elf).map(|f| (f, "RUNPATH")));

        let list = interpreter.replace("/lib/", "/etc/").replace(".so.1", ".path");
        let list = self.files.read(Path::new(&list)).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let list = list.unwrap_or_else(|| "/lib:/usr/local/lib:/usr/lib".to_owned());
        places.extend(
            list.split([':', '\n']).filter(|f| !f.is_empty()).map(|f| (PathBuf::from(f), "default folder")),
        );
        places.into_iter().map(|(folder, by)| (folder.join(name), by)).collect()
    }

    fn environment(&self, object: &Object, program: &Elf) -> impl Iterator<Item = (PathBuf, &'static str)> {
        let folders: Vec<_> = expand(self.library_path.as_deref(), &object.path, program).collect();
        folders.into_iter().map(|folder| (folder, "LD_LIBRARY_PATH"))
    }
}

fn object(path: &Path, elf: Elf, inherited: &[(PathBuf, String)]) -> Object {
    let dynamic = elf.dynamic.as_ref();
    let own = dynamic.filter(|d| d.runpath.is_none()).and_then(|d| d.rpath.clone());
    let rpaths =
        own.map(|rpath| (path.to_owned(), rpath)).into_iter().chain(inherited.iter().cloned()).collect();
    Object { path: path.to_owned(), elf, rpaths }
}

fn rpaths(object: &Object, program: &Elf) -> Vec<(PathBuf, &'static str)> {
    let folders = object.rpaths.iter().flat_map(|(owner, rpath)| expand(Some(rpath), owner, program));
    folders.map(|folder| (folder, "RPATH")).collect()
}

/// The folders of a list. `$ORIGIN` is the folder of its owner; `$LIB` and `$PLATFORM` are those of glibc.
fn expand(list: Option<&str>, owner: &Path, program: &Elf) -> impl Iterator<Item = PathBuf> {
    let origin = owner.parent().unwrap_or(Path::new("/")).display().to_string();
    let tokens: HashMap<&str, String> = HashMap::from([
        ("ORIGIN", origin),
        ("LIB", library_folder(program).to_owned()),
        ("PLATFORM", program.machine_name.replace('-', "_")),
    ]);
    let folders = list.unwrap_or("").split(':').filter(|folder| !folder.is_empty()).map(|folder| {
        tokens.iter().fold(folder.to_owned(), |text, (token, value)| {
            text.replace(&format!("${{{token}}}"), value).replace(&format!("${token}"), value)
        })
    });
    folders.map(PathBuf::from).collect::<Vec<_>>().into_iter()
}

/// Debian's folder for the libraries of a machine, below `/` and `/usr`.
fn library_folder(program: &Elf) -> &'static str {
    match (program.machine_name, program.class) {
        ("x86-64", _) => "lib/x86_64-linux-gnu",
        ("i386", _) => "lib/i386-linux-gnu",
        ("aarch64", _) => "lib/aarch64-linux-gnu",
        ("riscv", 64) => "lib/riscv64-linux-gnu",
        (_, 64) => "lib64",
        _ => "lib",
    }
}

fn default_folders(program: &Elf) -> Vec<String> {
    let own = library_folder(program);
    let wide = if program.class == 64 { "lib64" } else { "lib" };
    let folders = [own, wide, "lib"].into_iter().flat_map(|f| [format!("/{f}"), format!("/usr/{f}")]);
    let mut seen = HashSet::new();
    folders.filter(|folder| seen.insert(folder.clone())).collect()
}
