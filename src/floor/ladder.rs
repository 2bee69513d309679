//! The programs of the ladder: hello world, from the smallest executable to a dynamic C program.

use super::FloorError;
use super::processes::Rung;
use crate::corpus::{Built, Corpus, PrepareOptions, Program, build_cache, prepare_all};
use crate::document::floor::{Group, Missing};
use firstbyte_elf::packed::Demands;
use firstbyte_elf::{Architecture, packed};
use firstbyte_measure::launch::interrupt;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The programs of the corpus that are rungs, from the floor upwards, with their names on the ladder.
const RUNGS: [(&str, &str); 6] = [
    ("floor-elf", "plain ELF"),
    ("asm-x86_64", "assembler"),
    ("c-nolibc", "C without libc"),
    ("c-musl", "static musl"),
    ("c-static", "static glibc"),
    ("c-printf", "dynamic C"),
];

/// Our own runtime, and its place: above the C program that uses no runtime.
const RUNTIME: (&str, usize) = ("our runtime", 4);

/// The smallest executable, and its place: above the plain one, because it is smaller, not faster.
const PACKED: (&str, usize) = ("packed ELF", 1);

/// The source that is compiled against our runtime.
const HELLO: &str = "#include <stdio.h>\n\nint main() {\n  printf(\"hello world\\n\");\n  return 0;\n}\n";

/// The rungs that this machine can build, and why the others are missing. `folder`: for the files of programs that the
/// corpus does not have.
pub fn ladder(folder: &Path) -> Result<(Vec<Rung>, Vec<Missing>), FloorError> {
    let (mut rungs, mut missing) = of_corpus()?;
    for ((name, index), rung) in [(PACKED, packed_rung(folder)), (RUNTIME, runtime_rung(folder))] {
        match rung {
            Ok(rung) => rungs.insert(index.min(rungs.len()), rung),
            Err(reason) => missing.push(lack(name, reason)),
        }
    }
    Ok((rungs, missing))
}

fn of_corpus() -> Result<(Vec<Rung>, Vec<Missing>), FloorError> {
    let corpus = Corpus::load(None).map_err(FloorError::unable)?;
    let named: Vec<(&str, &Program)> =
        RUNGS.iter().filter_map(|(name, label)| Some((*label, corpus.find(name)?))).collect();
    let programs: Vec<&Program> = named.iter().map(|(_, program)| *program).collect();
    let cache = build_cache().map_err(FloorError::unable)?;

    let interrupted = || interrupt::interrupted().is_some();
    let results = prepare_all(&programs, &cache, PrepareOptions::new(&interrupted), &|_| {});
    if interrupted() {
        return Err(FloorError::Interrupted);
    }

    let (mut rungs, mut missing) = (Vec::new(), Vec::new());
    for ((label, _), result) in named.iter().zip(results) {
        match result {
            Ok(built) => rungs.push(rung(label, &built)),
            Err(skipped) => missing.push(lack(label, skipped.reason)),
        }
    }
    Ok((rungs, missing))
}

fn lack(name: &str, reason: String) -> Missing {
    Missing { group: Group::Processes, name: format!("vfork+exec, {name}"), reason }
}

fn rung(label: &str, built: &Built) -> Rung {
    Rung { name: label.to_owned(), executable: built.executable.clone(), argv: built.argv.clone() }
}

/// The rung of a file that we wrote.
pub(super) fn own_rung(name: &str, executable: PathBuf) -> Rung {
    Rung { name: name.to_owned(), executable, argv: vec!["./test".into()] }
}

/// hello world in the smallest file that the kernel accepts. The error is one lower-case line.
fn packed_rung(folder: &Path) -> Result<Rung, String> {
    let architecture = Architecture::host().ok_or("firstbyte writes no executables for this architecture")?;
    let demands = Demands { real_kernels_only: false, large_mappings: false, exhaustive: false };
    let packed =
        packed::image(architecture, b"hello world\n", 0, demands).map_err(|error| error.to_string())?;
    let path = folder.join("packed");
    write_program(&path, &packed.image).map_err(|error| error.to_string())?;
    Ok(own_rung(PACKED.0, path))
}

fn write_program(path: &Path, image: &[u8]) -> io::Result<()> {
    fs::write(path, image)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// hello world, compiled by `firstbyte cc`. The error is one lower-case line.
fn runtime_rung(folder: &Path) -> Result<Rung, String> {
    let (source, program) = (folder.join("hello.c"), folder.join("runtime"));
    fs::write(&source, HELLO).map_err(|error| error.to_string())?;
    let ourselves = std::env::current_exe().map_err(|error| error.to_string())?;
    let compiled = Command::new(ourselves)
        .args(["cc".as_ref(), source.as_os_str(), "-o".as_ref(), program.as_os_str()])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;

    match Command::new(&program).stdin(Stdio::null()).output() {
        Ok(output) if output.stdout == b"hello world\n" && output.status.success() => {
            Ok(own_rung(RUNTIME.0, program))
        }
        Ok(_) => Err("a program compiled by `firstbyte cc` printed the wrong text".to_owned()),
        Err(_) => {
            let messages = String::from_utf8_lossy(&compiled.stderr);
            let first = messages.lines().next().unwrap_or_default();
            Err(format!("`firstbyte cc` cannot compile here: {first}"))
        }
    }
}
