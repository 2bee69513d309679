//! Finds out which runtime starts a program, from its traces in the file: notes, section names, symbols, texts.
//!
//! Nothing is guessed. Without evidence, the runtime is unknown, and its start is not counted.

use super::file_kind::ElfKind;
use super::texts::contains;
use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};
use serde::Serialize;
use std::path::Path;

/// How many bytes of a file are searched for texts.
const SEARCHED: usize = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CLibrary {
    Glibc,
    Musl,
}

/// A language whose runtime does work of its own before main.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// With its own scheduler, heap and signal handling; mostly without a C library.
    Go,
    /// The standard library, on top of a C library.
    Rust,
}

/// The runtime of a program, and the evidence for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Runtime {
    /// `None`: there is no C library, or none that left a trace.
    pub c_library: Option<CLibrary>,
    /// The language, if it has a runtime.
    pub language: Option<Language>,
    /// One entry for each finding.
    pub evidence: Vec<String>,
}

impl Runtime {
    /// Whether there is evidence for what starts the program.
    pub fn is_known(&self) -> bool {
        self.c_library.is_some() || self.language == Some(Language::Go)
    }

    pub fn describe(&self) -> &'static str {
        match (self.language, self.c_library) {
            (Some(Language::Go), None) => "Go",
            (Some(Language::Go), Some(CLibrary::Glibc)) => "Go, on glibc",
            (Some(Language::Go), Some(CLibrary::Musl)) => "Go, on musl",
            (Some(Language::Rust), Some(CLibrary::Glibc)) => "Rust's std, on glibc",
            (Some(Language::Rust), Some(CLibrary::Musl)) => "Rust's std, on musl",
            (Some(Language::Rust), None) => "Rust's std, on an unknown C library",
            (None, Some(CLibrary::Glibc)) => "glibc",
            (None, Some(CLibrary::Musl)) => "musl",
            (None, None) => "no C library, or an unknown one",
        }
    }

    /// A program may have its C library only because another library needs it.
    pub(super) fn note_glibc(&mut self, needed_by: &Path) {
        self.note_library(CLibrary::Glibc, format!("`{}` needs `libc.so.6`", needed_by.display()));
    }

    fn note_library(&mut self, library: CLibrary, evidence: String) {
        if self.c_library.is_none() {
            self.c_library = Some(library);
            self.evidence.push(evidence);
        }
    }

    fn note_language(&mut self, language: Language, evidence: String) {
        if self.language.is_none() {
            self.language = Some(language);
            self.evidence.push(evidence);
        }
    }
}

/// Identifies the runtime of an executable. It is unknown for other files.
pub(super) fn identify<H: FileHeader<Endian = Endianness>>(
    kind: ElfKind,
    (interpreter, needed): (Option<&str>, &[String]),
    programs: &[H::ProgramHeader],
    sections: &SectionTable<'_, H>,
    endian: Endianness,
    bytes: &[u8],
) -> Runtime {
    let mut runtime = Runtime::default();
    if !kind.is_executable() {
        return runtime;
    }

    // a dynamic program is started by its loader, whatever its start files are
    let is_static = interpreter.is_none();
    if let Some(name) = interpreter {
        by_needed(name, needed, &mut runtime);
    }

    by_notes::<H>(programs, endian, bytes, is_static, &mut runtime);
    by_sections::<H>(sections, endian, bytes, is_static, &mut runtime);
    by_symbols::<H>(sections, endian, bytes, is_static, &mut runtime);
    if is_static && runtime.evidence.is_empty() {
        by_texts(bytes, &mut runtime);
    }
    runtime
}

fn by_needed(interpreter: &str, needed: &[String], runtime: &mut Runtime) {
    for name in needed {
        if let Some(library) = c_library(name, interpreter) {
            runtime.note_library(library, format!("it needs `{name}`"));
        }
    }
}

/// The C library with this name.
fn c_library(name: &str, interpreter: &str) -> Option<CLibrary> {
    match name {
        "libc.so.6" | "libc.so.6.1" => Some(CLibrary::Glibc),
        "libc.so" if is_musl(interpreter) => Some(CLibrary::Musl),
        name if name.starts_with("libc.musl-") => Some(CLibrary::Musl),
        _ => None,
    }
}

/// Whether this loader is that of musl.
pub(super) fn is_musl(interpreter: &str) -> bool {
    interpreter.rsplit('/').next().is_some_and(|file| file.starts_with("ld-musl"))
}

/// `NT_GNU_ABI_TAG` in crt1.o of glibc (`csu/abi-note.c`). Its first word is 0 for Linux.
const ABI_TAG: u32 = 1;
/// `ELF_NOTE_GOBUILDID_TAG` of the Go linker.
const GO_BUILD_ID: u32 = 4;

fn by_notes<H: FileHeader<Endian = Endianness>>(
    programs: &[H::ProgramHeader],
    endian: Endianness,
    bytes: &[u8],
    is_static: bool,
    runtime: &mut Runtime,
) {
    for program in programs {
        let Ok(Some(mut notes)) = program.notes(endian, bytes) else { continue };
        while let Ok(Some(note)) = notes.next() {
            let is_linux = note.desc().starts_with(&[0; 4]);
            match (note.name(), note.n_type(endian)) {
                (b"GNU", ABI_TAG) if is_linux && is_static => {
                    runtime.note_library(CLibrary::Glibc, "the note of glibc's ABI".to_owned());
                }
                (b"Go", GO_BUILD_ID) => {
                    runtime.note_language(Language::Go, "the note of Go's build".to_owned());
                }
                _ => {}
            }
        }
    }
}

fn by_sections<H: FileHeader<Endian = Endianness>>(
    sections: &SectionTable<'_, H>,
    endian: Endianness,
    bytes: &[u8],
    is_static: bool,
    runtime: &mut Runtime,
) {
    for section in sections.iter() {
        let Ok(name) = sections.section_name(endian, section) else { continue };
        let found = || format!("the section `{}`", String::from_utf8_lossy(name));
        match name {
            b".gopclntab" | b".go.buildinfo" | b".note.go.buildid" => {
                runtime.note_language(Language::Go, found());
            }
            b"__libc_freeres_fn" | b"__libc_IO_vtables" | b"__libc_atexit" if is_static => {
                runtime.note_library(CLibrary::Glibc, found());
            }
            b".comment" if section.data(endian, bytes).is_ok_and(|text| contains(text, b"rustc version")) => {
                runtime.note_language(Language::Rust, "rustc's name in `.comment`".to_owned());
            }
            _ => {}
        }
    }
}

fn by_symbols<H: FileHeader<Endian = Endianness>>(
    sections: &SectionTable<'_, H>,
    endian: Endianness,
    bytes: &[u8],
    is_static: bool,
    runtime: &mut Runtime,
) {
    let Ok(symbols) = sections.symbols(endian, bytes, elf::SHT_SYMTAB) else { return };

    for symbol in symbols.iter() {
        let Ok(name) = symbol.name(endian, symbols.strings()) else { continue };
        let found = || format!("the symbol `{}`", String::from_utf8_lossy(name));
        match name {
            b"__libc_setup_tls" | b"_IO_2_1_stdout_" if is_static => {
                runtime.note_library(CLibrary::Glibc, found());
            }
            b"__init_libc" if is_static => runtime.note_library(CLibrary::Musl, found()),
            b"runtime.rt0_go" | b"runtime.rt0_go.abi0" => runtime.note_language(Language::Go, found()),
            // the mangled name contains a hash of the crate
            name if contains(name, b"3std2rt") && contains(name, b"lang_start") => {
                runtime.note_language(Language::Rust, found());
            }
            _ => {}
        }
    }
}

/// A file without sections and notes may still have a text: the name of glibc's environment variable, or the mark of Go's build.
fn by_texts(bytes: &[u8], runtime: &mut Runtime) {
    let searched = &bytes[..bytes.len().min(SEARCHED)];
    if contains(searched, b"\0GLIBC_TUNABLES\0") {
        runtime.note_library(CLibrary::Glibc, "the text `GLIBC_TUNABLES`".to_owned());
    }
    if contains(searched, b"\xff Go buildinf:") {
        runtime.note_language(Language::Go, "the mark of Go's build".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_needs_decides_and_not_its_loader() {
        let known = |interpreter: &str, name: &str| {
            let mut runtime = Runtime::default();
            by_needed(interpreter, &[name.to_owned()], &mut runtime);
            runtime.c_library
        };
        let glibc = "/lib64/ld-linux-x86-64.so.2";
        assert_eq!(known(glibc, "libc.so.6"), Some(CLibrary::Glibc));
        assert_eq!((known(glibc, "libm.so.6"), known(glibc, "libc.so")), (None, None));
        assert_eq!(known("/lib/ld-musl-x86_64.so.1", "libc.so"), Some(CLibrary::Musl));
        assert_eq!(known("/lib/ld-musl-aarch64.so.1", "libc.musl-aarch64.so.1"), Some(CLibrary::Musl));
    }
}
