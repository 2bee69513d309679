//! The layers of the code, checked by reading its sources: which room may use which, and no circles between files.

mod source;

use self::source::{Names, Source, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Every room, from the top, and the rooms that it may use. A room is a module of `src/` or one of our crates.
const ROOMS: [(&str, &str); 29] = [
    ("main", "cli commands output measure"),
    ("trapped_calls", ""),
    ("c_library", ""),
    (
        "commands",
        "cli report bisect budget tune comparison claims floor throughput watch prometheus tracing analysis doctor corpus bench document inspect output measure cc elf",
    ),
    (
        "cli",
        "report bisect budget tune claims floor throughput watch prometheus tracing analysis corpus bench document output measure elf",
    ),
    ("report", "bisect comparison claims analysis document inspect stats output measure elf"),
    ("bisect", "bench document stats measure"),
    ("budget", "document inspect measure"),
    ("tune", "tracing analysis bench document inspect output stats measure"),
    ("comparison", "document output stats"),
    ("claims", "floor throughput analysis corpus bench document inspect stats measure cc elf"),
    ("floor", "corpus bench document inspect stats measure elf cache"),
    ("throughput", "corpus bench document measure"),
    ("watch", "document stats measure"),
    ("prometheus", "document output"),
    ("tracing", "analysis bench document measure"),
    ("analysis", "bench document inspect stats measure"),
    ("doctor", "corpus document measure"),
    ("corpus", "bench document measure elf cache"),
    ("bench", "document stats output measure elf cache"),
    ("document", "inspect stats output measure elf"),
    ("inspect", ""),
    ("output", ""),
    ("stats", ""),
    ("lib", ""),
    ("cc", "elf cache"),
    ("measure", "cache"),
    ("elf", ""),
    ("cache", ""),
];

/// The rooms that may have `unsafe` code. `output` has one attribute: it looks at stdout before `main`.
const UNSAFE: [&str; 4] = ["measure", "floor", "throughput", "output"];

/// The rooms that start no program and observe none.
const STARTS_NOTHING: [&str; 9] =
    ["report", "prometheus", "budget", "comparison", "analysis", "document", "stats", "output", "elf"];

/// The names that start or observe a program. The rest of `launch` and `tracer` is vocabulary.
const STARTING: [&str; 9] = [
    "Launcher",
    "Foreground",
    "PipeTracer",
    "PtracePhases",
    "BpfPhases",
    "choose_phases",
    "choose_full",
    "attach_watcher",
    "attach",
];

#[test]
fn every_room_is_in_the_table() {
    let table: BTreeSet<&str> = ROOMS.iter().map(|(room, _)| *room).collect();
    let packages = packages();
    let all =
        packages.iter().flat_map(|package| package.sources.iter().map(|source| package.room(&source.module)));
    assert_eq!(all.collect::<BTreeSet<&str>>(), table);
}

#[test]
fn a_room_uses_exactly_the_rooms_that_the_table_lists() {
    let allowed: BTreeMap<&str, Vec<&str>> =
        ROOMS.iter().map(|(room, below)| (*room, below.split_whitespace().collect())).collect();
    let mut unused: BTreeSet<(String, &str)> = allowed
        .iter()
        .flat_map(|(room, below)| below.iter().map(|used| ((*room).to_owned(), *used)))
        .collect();
    let mut wrong = Vec::new();
    for package in packages() {
        for source in &package.sources {
            let room = package.room(&source.module);
            for path in &source.paths {
                let Some(used) = package.used(path) else { continue };
                unused.retain(|(user, below)| (user.as_str(), *below) != (room, used));
                if used != room && !allowed[room].contains(&used) {
                    let (file, path) = (source.file.display(), path.join("::"));
                    wrong
                        .push(format!("{room} may not use {used}, see CONTRIBUTING.md ({file} uses {path})"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(unused.is_empty(), "the table lists rooms that are not used: {unused:?}");
}

#[test]
fn a_room_stands_below_those_that_use_it() {
    let index = |room: &str| ROOMS.iter().position(|(own, _)| *own == room);
    for (room, below) in ROOMS {
        for used in below.split_whitespace() {
            assert!(index(room) < index(used), "{used} must be listed below {room}, which uses it");
        }
    }
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for package in packages() {
        for circle in package.circles() {
            let files: Vec<String> =
                circle.iter().map(|index| package.sources[*index].file.display().to_string()).collect();
            circles.push(format!("these files use each other, see CONTRIBUTING.md: {}", files.join(", ")));
        }
    }
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

#[test]
fn unsafe_code_stays_in_the_rooms_that_need_it() {
    for package in packages() {
        for source in package.sources.iter().filter(|source| source.words.contains("unsafe")) {
            let room = package.room(&source.module);
            assert!(UNSAFE.contains(&room), "{room} may not have `unsafe` code: {}", source.file.display());
        }
    }
}

#[test]
fn what_computes_and_renders_starts_no_program() {
    for package in packages() {
        for source in &package.sources {
            let room = package.room(&source.module);
            let is_pure = STARTS_NOTHING.contains(&room)
                || source.module.first().is_some_and(|module| room == "measure" && module == "timeline");
            let starting = STARTING.iter().find(|word| source.words.contains(**word));
            assert!(!is_pure || starting.is_none(), "{room} uses {starting:?}: {}", source.file.display());
        }
    }
}

#[test]
fn only_the_command_line_knows_clap() {
    for package in packages() {
        for source in package.sources.iter().filter(|source| source.words.contains("clap")) {
            assert_eq!(package.room(&source.module), "cli", "{} uses clap", source.file.display());
        }
    }
}

/// Those of `std` panic if nobody reads the output, or the disk is full.
#[test]
fn nothing_is_printed_by_macros() {
    for package in packages() {
        for source in &package.sources {
            let printing = ["print!", "println!", "eprint!", "eprintln!"];
            let found = printing.iter().find(|word| source.words.contains(**word));
            assert!(found.is_none(), "use `output::say` instead of {found:?}: {}", source.file.display());
        }
    }
}

/// The sources of one package.
struct Package {
    /// The room, if the whole package is one; `None` if its modules are the rooms.
    room: Option<&'static str>,
    sources: Vec<Source>,
    /// The index of each module in the sources.
    modules: BTreeMap<Names, usize>,
}

fn packages() -> Vec<Package> {
    let crates = ["elf", "cc", "cache", "measure"];
    let folders = crates.map(|name| (Some(name), format!("crates/{name}/src")));
    [(None, "src".to_owned())]
        .into_iter()
        .chain(folders)
        .map(|(room, folder)| Package::read(room, &folder))
        .collect()
}

impl Package {
    fn read(room: Option<&'static str>, folder: &str) -> Package {
        let sources = sources(Path::new(env!("CARGO_MANIFEST_DIR")), folder);
        let modules =
            sources.iter().enumerate().map(|(index, source)| (source.module.clone(), index)).collect();
        Package { room, sources, modules }
    }

    fn room<'a>(&self, module: &'a [String]) -> &'a str {
        self.room.or(module.first().map(String::as_str)).unwrap_or("lib")
    }

    /// The room that a path leads to; `None` if it is not one of ours.
    fn used<'a>(&self, path: &'a [String]) -> Option<&'a str> {
        if let Some(package) = path[0].strip_prefix("firstbyte_") {
            return Some(package);
        }
        let module = path.get(1..2)?;
        self.modules.contains_key(module).then(|| self.room(module))
    }

    /// The file that a path leads to, following re-exports.
    fn file(&self, path: &[String]) -> Option<usize> {
        let mut path = path.to_vec();
        // A name that is re-exported more often than this is not followed.
        for _ in 0..8 {
            let below = path.strip_prefix(&["crate".to_owned()])?;
            let known =
                (0..=below.len()).rev().find(|length| self.modules.contains_key(&below[..*length]))?;
            let file = self.modules[&below[..known]];
            match self.sources[file].origin(&path) {
                Some(origin) if origin != path => path = origin,
                _ => return Some(file),
            }
        }
        None
    }

    /// The files that each file uses. A module and the modules inside it do not count.
    fn arrows(&self) -> Vec<BTreeSet<usize>> {
        let related =
            |a: &Source, b: &Source| a.module.starts_with(&b.module) || b.module.starts_with(&a.module);
        let used = |source: &Source| {
            let files = source.paths.iter().filter_map(|path| self.file(path));
            files.filter(|file| !related(source, &self.sources[*file])).collect()
        };
        self.sources.iter().map(used).collect()
    }

    /// The groups of files in which each file leads to all others.
    fn circles(&self) -> BTreeSet<Vec<usize>> {
        let arrows = self.arrows();
        let all: Vec<BTreeSet<usize>> = (0..arrows.len()).map(|file| reached(&arrows, file)).collect();
        let circle = |file: usize| -> Vec<usize> {
            all[file].iter().copied().filter(|other| all[*other].contains(&file)).collect()
        };
        (0..arrows.len()).map(circle).filter(|circle| !circle.is_empty()).collect()
    }
}

/// All files that a file leads to, directly or through others.
fn reached(arrows: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![from];
    while let Some(file) = pending.pop() {
        pending.extend(arrows[file].iter().filter(|next| reached.insert(**next)));
    }
    reached
}
