//! The runtime of a program is recognised from evidence in its file, and a file is read as the kernel reads it.

use crate::inspect::{HELLO, compile, here};
use crate::support::skipped;
use firstbyte::inspect::headers;
use firstbyte::inspect::headers::Elf;
use firstbyte::inspect::runtime::{CLibrary, Language};
use firstbyte::inspect::{InspectError, disassembly, inspect};
use firstbyte::report::text::inspect as inspect_text;
use firstbyte_elf::packed;
use firstbyte_elf::packed::Demands;
use firstbyte_elf::{Architecture, plain};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn read(path: &Path) -> Elf {
    headers::read(&fs::read(path).unwrap()).unwrap()
}

/// The file without its section headers, as sstrip(1) leaves it.
fn without_sections(path: &Path) -> Elf {
    let mut bytes = fs::read(path).unwrap();
    bytes[40..48].fill(0);
    bytes[58..64].fill(0);
    headers::read(&bytes).unwrap()
}

fn rendered(path: &Path) -> String {
    inspect_text::render(&inspect(path, &here()).unwrap(), None)
}

#[test]
fn a_static_glibc_program_is_recognised_by_its_symbols_its_sections_its_note_or_its_text() {
    let folder = tempfile::tempdir().unwrap();
    for options in [&["-static"][..], &["-static", "-s"], &["-static-pie"], &["-static-pie", "-s"]] {
        let Some(program) = compile(folder.path(), HELLO, options) else { return };
        assert_eq!(read(&program).runtime.c_library, Some(CLibrary::Glibc), "{options:?}");
        assert_eq!(without_sections(&program).runtime.c_library, Some(CLibrary::Glibc), "{options:?}");
        assert!(rendered(&program).contains("glibc"), "{options:?}");
    }
}

fn built(tool: &str, package: &str, program: &Path, arguments: &[&str], text: &str) -> Option<PathBuf> {
    let source = program.with_extension(if tool == "go" { "go" } else { "rs" });
    fs::write(&source, text).unwrap();
    let mut command = Command::new(tool);
    command.args(arguments).arg(program).arg(&source);
    command.env("GOCACHE", program.parent().unwrap().join("cache")).env("CGO_ENABLED", "0");
    let Ok(output) = command.output() else {
        skipped(&format!("`{tool}` is missing; help: `apt-get install {package}`"));
        return None;
    };
    assert!(output.status.success(), "{output:?}");
    Some(program.to_owned())
}

#[test]
fn a_go_program_is_recognised_also_when_stripped() {
    const GO: &str = "package main\nfunc main() { println(\"hello world\") }\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hello");
    for options in [&["build", "-o"][..], &["build", "-ldflags=-s -w", "-o"]] {
        let Some(program) = built("go", "golang", &path, options, GO) else { return };
        for elf in [read(&program), without_sections(&program)] {
            assert_eq!((elf.runtime.language, elf.runtime.c_library), (Some(Language::Go), None));
        }
        let text = rendered(&program);
        assert!(text.contains("Go's runtime") && text.contains("start takes at least"), "{text}");
    }
}

#[test]
fn a_rust_program_is_recognised_with_the_c_library_below_it() {
    const RUST: &str = "fn main() { println!(\"hello world\"); }\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hello");
    for options in
        [&["-O", "-o"][..], &["-O", "-C", "target-feature=+crt-static", "-C", "strip=symbols", "-o"]]
    {
        let Some(program) = built("rustc", "rustc", &path, options, RUST) else { return };
        let runtime = read(&program).runtime;
        assert_eq!(
            (runtime.language, runtime.c_library),
            (Some(Language::Rust), Some(CLibrary::Glibc)),
            "{options:?}"
        );
    }
}

#[test]
fn musl_is_recognised_by_its_symbols_and_nothing_is_guessed_without_them() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("hello");
    let source = folder.path().join("hello.c");
    fs::write(&source, HELLO).unwrap();
    for (options, library) in [
        (&["-static"][..], Some(CLibrary::Musl)),
        (&["-static", "-s"], None),
        (&["-s"], Some(CLibrary::Musl)),
    ] {
        let mut command = Command::new("musl-gcc");
        let Ok(status) = command.args(options).arg("-o").arg(&program).arg(&source).status() else {
            return skipped("`musl-gcc` is missing; help: `apt-get install musl-tools`");
        };
        assert!(status.success(), "{options:?}");
        assert_eq!(read(&program).runtime.c_library, library, "{options:?}");
        let text = rendered(&program);
        assert_eq!(text.contains("no C library, or an unknown one"), library.is_none(), "{text}");
        assert_eq!(text.contains("its start takes at least"), library.is_none(), "{text}");
    }
}

/// On i386, the relocations in `.rel.plt` have no addends. The start code of a static program calls them.
#[test]
fn ifuncs_of_a_static_i386_program_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("ifunc.c"), folder.path().join("ifunc"));
    let text = "static int one(void) { return 1; }\nstatic void *choose(void) { return one; }\n\
                int f(void) __attribute__((ifunc(\"choose\")));\nvoid _start(void) { f(); for (;;); }\n";
    fs::write(&source, text).unwrap();
    let mut command = Command::new("cc");
    command.args(["-m32", "-static", "-nostdlib", "-fno-pie", "-no-pie", "-o"]).arg(&program).arg(&source);
    if !command.output().is_ok_and(|output| output.status.success()) {
        return skipped("`cc -m32` does not link; help: `apt-get install gcc` on x86-64");
    }
    let elf = read(&program);
    assert_eq!((elf.class, elf.relocations.irelative, elf.relocations.total()), (32, 1, 1));
    assert!(!elf.runtime.is_known(), "{:?}", elf.runtime);
}

/// The linker has already applied the relocations that `--emit-relocs` keeps. They cost nothing at start.
#[test]
fn relocations_that_are_not_loaded_are_not_counted() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compile(folder.path(), HELLO, &["-static"]) else { return };
    let plain = read(&program).relocations;
    let kept = compile(folder.path(), HELLO, &["-static", "-Wl,--emit-relocs"]).unwrap();
    assert_eq!(read(&kept).relocations, plain);
}

#[test]
fn packed_executables_are_read_as_the_kernel_reads_them() {
    for architecture in Architecture::ALL {
        for real_kernels_only in [false, true] {
            let demands = Demands { real_kernels_only, ..Demands::default() };
            let image = packed::image(architecture, b"hello world\n", 0, demands).unwrap().image;
            let elf = headers::read(&image).unwrap_or_else(|error| panic!("{architecture}: {error}"));
            assert!(elf.kind.is_executable(), "{architecture}: {:?}", elf.kind);
            let kinds: Vec<&str> = elf.segments.iter().map(|s| s.kind.as_str()).collect();
            assert_eq!(kinds, ["LOAD"], "{architecture}");
            assert_eq!(elf.size, image.len() as u64);
            assert!(elf.headers_end <= elf.size);
            let wide = architecture != Architecture::I386;
            assert_eq!(elf.class, if wide { 64 } else { 32 });
            let is_usual = image[4..7] == [if wide { 2 } else { 1 }, 1, 1] && image.len() >= 64;
            assert_eq!(elf.notes.is_empty(), is_usual, "{architecture}: {:?}", elf.notes);
            let error = disassembly::disassemble(Path::new("packed"), &image, "main").unwrap_err();
            assert!(!matches!(error, InspectError::Damaged { .. }), "{architecture}: {error}");
        }
    }
}

/// Fields that the kernel ignores may have any value. Fields that it reads may not.
#[test]
fn the_fields_that_the_kernel_checks_must_be_right() {
    let good = plain::image(Architecture::X86_64, b"x", Some(0)).unwrap();
    let changed = |at: usize, value: u8| {
        let mut image = good.clone();
        image[4..7].copy_from_slice(&[9, 9, 9]);
        image[at] = value;
        headers::read(&image)
    };
    let taken = changed(4, 9).unwrap();
    assert_eq!(
        (taken.class, taken.byte_order, taken.entry),
        (64, "little", headers::read(&good).unwrap().entry)
    );
    assert!(taken.notes[0].contains("class 9, byte order 9, version 9"), "{:?}", taken.notes);
    // e_type, e_machine, e_phoff, e_phentsize, e_phnum
    for (at, value) in [(16, 1), (18, 1), (32, 200), (54, 57), (56, 0), (57, 255)] {
        assert!(changed(at, value).is_err(), "byte {at}");
    }
}

#[test]
fn names_from_files_are_escaped_before_they_reach_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("s\u{1b}[31mcript");
    fs::write(&script, b"#!/no\xff\x1b]0;title\x07 -x\x1b[2J\n").unwrap();
    for arguments in [&["--counts-only"][..], &["--json"], &["--disassemble", "\u{1b}[2J"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
        let output = command.arg("inspect").args(arguments).arg(&script).output().unwrap();
        let all = [output.stdout, output.stderr].concat();
        assert!(!all.contains(&0x1b) && !all.contains(&7), "{}", String::from_utf8_lossy(&all));
        assert!(!all.is_empty());
        assert_eq!(output.status.success(), arguments[0] != "--disassemble");
    }
}
