//! Finds the libraries that a program needs, each at the path where its dynamic loader will find it.

use super::glibc::loader::Loader;
use super::glibc::loading::{self, Loading, Start};
use super::headers::Elf;
use super::library::Interpreter;
use super::processor::Processor;
use super::surroundings::Surroundings;
use super::{musl, runtime};
use std::path::Path;

/// Loads the libraries of a program, as its loader does.
pub(super) fn load(
    path: &Path,
    program: &Elf,
    interpreter: Option<&Interpreter>,
    surroundings: &Surroundings<'_>,
) -> Loading {
    let usual = Interpreter { path: usual_loader(program), elf: None, bytes: Vec::new() };
    let interpreter = interpreter.unwrap_or(&usual);
    if runtime::is_musl(&interpreter.path) {
        let elf = interpreter.elf.as_ref().unwrap_or(program);
        return musl::load(path, program, (&interpreter.path, elf), surroundings);
    }

    let real = surroundings.files.real_path(Path::new(&interpreter.path)).unwrap_or_default();
    let text = surroundings.files.read(Path::new("/proc/cpuinfo")).unwrap_or_default();
    let processor = Processor::parse(&String::from_utf8_lossy(&text));
    let elf = interpreter.elf.as_ref().unwrap_or(program);
    let loader = Loader::read(&real, elf, &interpreter.bytes, &processor);
    let start = Start { program: (path, program), interpreter: (&interpreter.path, elf), loader: &loader };
    loading::load(&start, surroundings)
}

/// Where glibc's loader is, for a library that names none.
fn usual_loader(elf: &Elf) -> String {
    match (elf.machine_name, elf.class) {
        ("x86-64", 64) => "/lib64/ld-linux-x86-64.so.2",
        ("aarch64", _) => "/lib/ld-linux-aarch64.so.1",
        ("riscv", 64) => "/lib/ld-linux-riscv64-lp64d.so.1",
        _ => "/lib/ld-linux.so.2",
    }
    .to_owned()
}
