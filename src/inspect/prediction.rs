//! Predicts the number of system calls and page faults of a program's start, without running it.
//!
//! The calls of a loader follow from its source and from the files that it finds ([`super::glibc`], [`super::musl`]). Those of
//! the program follow from its code, as far as it can be followed ([`super::code`]). If all of it can, the number of calls is
//! exact, and the page faults are an estimate, which depends on random addresses. Otherwise both are minima.

use super::code::image::Image;
use super::code::walk::{self, Reached};
use super::faults::{AROUND, Faults};
use super::library::{Library, THE_LOADER};
use super::runtime::{CLibrary, Language};
use super::stack;
use super::start_files::{self, StaticStart};
use super::started::Started;
use super::touched;
use serde::Serialize;
use std::path::PathBuf;

/// The cost of a start, from execve to exit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Prediction {
    pub parts: Vec<Part>,
    /// The sum of all parts.
    pub syscalls: u64,
    /// The sum of all parts.
    pub page_faults: u64,
    /// Why there may be more: one line each. Without any, the number of system calls is exact, and that of page faults is
    /// an estimate.
    pub minimum_because: Vec<String>,
    /// Whether code of glibc starts the program, also its loader alone. It executes CPUID to learn what the processor can do.
    pub starts_glibc: bool,
}

/// One part of a start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    pub name: String,
    pub syscalls: u64,
    pub page_faults: u64,
}

impl Prediction {
    /// Whether the counts are minima.
    pub fn is_minimum(&self) -> bool {
        !self.minimum_because.is_empty()
    }

    /// The start of a program that then executes another one, after some attempts that fail.
    pub(super) fn before_exec(mut self, failed: u64) -> Prediction {
        self.syscalls += failed;
        self
    }

    /// With the starts of the programs that were executed before this one in the same process.
    pub(super) fn after(mut self, launched: &[(PathBuf, Prediction)], is_script: bool) -> Prediction {
        if is_script {
            self.unsure("what the script makes its interpreter do is not counted");
        }
        for (at, (path, prediction)) in launched.iter().enumerate() {
            let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
            let name = format!("`{file}`, with its attempts to execute");
            self.parts.insert(
                at,
                Part { name, syscalls: prediction.syscalls, page_faults: prediction.page_faults },
            );
            self.syscalls = self.syscalls.saturating_add(prediction.syscalls);
            self.page_faults = self.page_faults.saturating_add(prediction.page_faults);
        }
        self
    }

    fn unsure(&mut self, cause: &str) {
        if !self.minimum_because.iter().any(|known| known == cause) {
            self.minimum_because.push(cause.to_owned());
        }
    }
}

/// The parts of a prediction, before it is known which of the page faults count.
struct Parts {
    all: Vec<(String, u64, Faults)>,
    minimum_because: Vec<String>,
}

impl Parts {
    fn add(&mut self, name: &str, syscalls: u64, faults: Faults) {
        self.all.push((name.to_owned(), syscalls, faults));
    }

    fn unsure(&mut self, cause: &str) {
        if !self.minimum_because.iter().any(|known| known == cause) {
            self.minimum_because.push(cause.to_owned());
        }
    }
}

pub(super) fn predict(started: &Started<'_>) -> Prediction {
    let runtime = &started.elf.runtime;
    let mut parts = Parts { all: Vec::new(), minimum_because: started.loading.uncertain.clone() };
    parts.add("the kernel: execve, stack", 1, stack::faults(started.path, started.elf, started.environment));
    let start = start_files::of(started);
    let code = followed(started, &start, &mut parts);
    if let Some(interpreter) = started.interpreter {
        let faults = touched::loader(interpreter, started.loading);
        parts.add("the dynamic loader", started.loading.own_calls, faults);
        add_libraries(started, code.prints, &mut parts);
    }
    if started.interpreter.is_none() && runtime.c_library.is_some() {
        parts.add("the C library's start", start.calls, start.faults);
        start.uncertain.iter().for_each(|cause| parts.unsure(cause));
    }
    if runtime.language == Some(Language::Go) {
        parts.add("Go's runtime", start_files::GO_CALLS, Faults::exactly(start_files::GO_FAULTS));
        parts.unsure("Go's runtime does more, and how much depends on the processors");
    }
    parts.add("the program", code.least, touched::program(started, &code));
    finished(parts, started)
}

fn finished(parts: Parts, started: &Started<'_>) -> Prediction {
    let Parts { all, minimum_because } = parts;
    let is_minimum = !minimum_because.is_empty();
    // rounded so that the parts sum to the whole
    let (mut all_sixteenths, mut before) = (0_u64, 0);
    let mut chosen = |faults: Faults| {
        all_sixteenths = all_sixteenths.saturating_add(faults.sixteenths());
        let rounded = all_sixteenths.saturating_add(AROUND / 2) / AROUND;
        let mean = rounded - before;
        before = rounded;
        if is_minimum { faults.least } else { mean }
    };
    let part = |(name, syscalls, faults)| Part { name, syscalls, page_faults: chosen(faults) };
    let parts: Vec<Part> = all.into_iter().map(part).collect();
    let sum = |counts: fn(&Part) -> u64| parts.iter().map(counts).fold(0, u64::saturating_add);
    Prediction {
        syscalls: sum(|part| part.syscalls),
        page_faults: sum(|part| part.page_faults),
        starts_glibc: match started.interpreter {
            Some(interpreter) => !super::runtime::is_musl(&interpreter.path),
            None => started.elf.runtime.c_library == Some(CLibrary::Glibc),
        },
        parts,
        minimum_because,
    }
}

/// What the program's own code does.
fn followed(started: &Started<'_>, start: &StaticStart, parts: &mut Parts) -> Reached {
    let Some(image) = Image::new(started.elf, started.bytes) else {
        parts.unsure("the instructions of this machine are not followed");
        return Reached::default();
    };
    let reached = walk::program(&image, start.habits, started.interpreter.is_some());
    if reached.most != Some(reached.least) {
        parts.unsure("the program's own work is counted only as far as its code could be followed");
    }
    reached
}

fn add_libraries(started: &Started<'_>, prints: bool, parts: &mut Parts) {
    let are_there = |library: &&Library| library.found_by != Some(THE_LOADER);
    for library in started.loading.libraries.iter().filter(are_there) {
        let bytes = library.path.as_ref().and_then(|path| started.files.read(path).ok());
        let (Some(elf), Some(bytes)) = (&library.elf, bytes) else {
            parts.add(&library.name, library.syscalls, Faults::default());
            continue;
        };
        let reached = Image::new(elf, &bytes).map(|image| walk::library(&image)).unwrap_or_default();
        let is_c_library = elf.soname() == Some("libc.so.6");
        if !is_c_library && reached.most != Some(0) {
            parts.unsure(&format!("`{}` does something when it is loaded", library.name));
        }
        let calls = library.syscalls + if is_c_library { 0 } else { reached.least };
        parts.add(&library.name, calls, touched::library(elf, &bytes, &reached, prints));
    }
}
