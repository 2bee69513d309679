//! Finds out which runtime starts a program, from its traces in the file: notes, section names, symbols, texts.
//!
//! Nothing is guessed. Without evidence, the runtime is unknown, and its start is not counted.

use super::file_kind::ElfKind;
use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};
use serde::Serialize;

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
            (None, None) => "unknown runtime",
        }
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
    interpreter: Option<&str>,
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
        by_loader(name, &mut runtime);
    }

    by_notes::<H>(programs, endian, bytes, is_static, &mut runtime);
    by_sections::<H>(sections, endian, bytes, is_static, &mut runtime);
    by_symbols::<H>(sections, endian, bytes, is_static, &mut runtime);
    if is_static && runtime.evidence.is_empty() {
        by_texts(bytes, &mut runtime);
    }
    runtime
}

fn by_loader(name: &str, runtime: &mut Runtime) {
    let file = name.rsplit('/').next().unwrap_or(name);
    let evidence = || format!("its dynamic loader `{name}`");
    if file.starts_with("ld-musl") {
        runtime.note_library(CLibrary::Musl, evidence());
    } else if ["ld-linux", "ld64.so", "ld.so.", "ld-2."].iter().any(|known| file.starts_with(known)) {
        runtime.note_library(CLibrary::Glibc, evidence());
    }
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

/// Looks for the first byte alone, because files are large.
fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|b| Some(b) == wanted.first()) {
        if rest[at..].starts_with(wanted) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loader_is_recognised_by_its_name() {
        let known = |name: &str| {
            let mut runtime = Runtime::default();
            by_loader(name, &mut runtime);
            runtime.c_library
        };
        assert_eq!(known("/lib64/ld-linux-x86-64.so.2"), Some(CLibrary::Glibc));
        assert_eq!(known("/lib/ld.so.1"), Some(CLibrary::Glibc));
        assert_eq!(known("/lib/ld-musl-x86_64.so.1"), Some(CLibrary::Musl));
        assert_eq!(known("/system/bin/linker64"), None);
        assert_eq!(known("/lib/ld-uClibc.so.0"), None);
    }

    #[test]
    fn a_text_is_found_wherever_it_is() {
        assert!(contains(b"aab", b"ab") && contains(b"ab", b"ab") && !contains(b"a", b"ab"));
    }
}
