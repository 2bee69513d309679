//! What executables on disk say: where their segments are mapped, and which function is at which offset.

use super::debug_files::{DebugFolders, MAX_FILE_BYTES, hexadecimal};
use super::signed_returns::{Section, unsigned};
use super::symbols::Symbols;
use crate::inspect::headers::{self, Linking};
use firstbyte_measure::regular_file;
use firstbyte_measure::tracer::module::Module;
pub use firstbyte_measure::tracer::module::{LoadSegment, MemoryLayout};
use memchr::memmem;
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Architecture, Object, ObjectSection};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// A source of layouts and function names. Tests and recordings of other machines have sources of their own.
pub trait Binaries {
    /// The layout of a file, if it is an ELF file that can be read.
    fn layout(&self, path: &str) -> Option<Rc<MemoryLayout>>;
    /// The function at a file offset.
    fn function(&self, path: &str, offset: u64) -> Option<Arc<str>>;
}

/// Knows no executables.
#[derive(Clone, Copy, Debug)]
pub struct NoBinaries;

impl Binaries for NoBinaries {
    fn layout(&self, _path: &str) -> Option<Rc<MemoryLayout>> {
        None
    }
    fn function(&self, _path: &str, _offset: u64) -> Option<Arc<str>> {
        None
    }
}

/// Reads the files of this machine, each one once.
#[derive(Default)]
pub struct FileBinaries {
    read: RefCell<HashMap<String, Rc<Binary>>>,
    reach: Reach,
    debug: DebugFolders,
}

/// Which paths mean the same file for the program as for us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// All: it was started in our folder.
    #[default]
    All,
    /// Those that do not depend on the folder.
    Absolute,
    /// None: it sees other files.
    Nothing,
}

#[derive(Default)]
struct Binary {
    layout: Option<Rc<MemoryLayout>>,
    module: Option<Module>,
    symbols: Symbols,
    frames: Option<Rc<CallFrames>>,
    needed: Option<Rc<[String]>>,
    linking: Linking,
    is_go: bool,
    returns: Option<Rc<[u64]>>,
}

/// The sections that say how to find the caller of each function.
#[derive(Clone, Debug, Default)]
pub struct CallFrames {
    pub eh_frame: Option<SectionBytes>,
    pub eh_frame_hdr: Option<SectionBytes>,
    pub debug_frame: Option<SectionBytes>,
    pub text: Option<Range<u64>>,
    pub got: Option<Range<u64>>,
}

/// A section's addresses and its bytes.
pub type SectionBytes = (Range<u64>, Rc<[u8]>);

impl fmt::Debug for FileBinaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.read.borrow().len();
        let fields = (&self.reach, &self.debug);
        f.debug_struct("FileBinaries").field("read", &files).field("within", &fields).finish()
    }
}

impl FileBinaries {
    /// Files that cannot be reached have no layouts and no functions.
    pub fn within(reach: Reach) -> FileBinaries {
        FileBinaries { reach, ..FileBinaries::default() }
    }

    /// Looks for debug files elsewhere than this machine keeps them.
    pub fn with_debug_folders(debug: DebugFolders) -> FileBinaries {
        FileBinaries { debug, ..FileBinaries::default() }
    }

    fn binary(&self, path: &str) -> Rc<Binary> {
        let is_reached = match self.reach {
            Reach::All => true,
            Reach::Absolute => path.starts_with('/'),
            Reach::Nothing => false,
        };
        if !is_reached {
            return Rc::default();
        }
        if let Some(known) = self.read.borrow().get(path) {
            return Rc::clone(known);
        }
        let binary = Rc::new(read(path, &self.debug).unwrap_or_default());
        self.read.borrow_mut().insert(path.to_owned(), Rc::clone(&binary));
        binary
    }

    /// The identity of a file, if it is an ELF file that can be read.
    pub fn module(&self, path: &str) -> Option<Module> {
        self.binary(path).module.clone()
    }

    /// How to unwind the code of a file.
    pub fn call_frames(&self, path: &str) -> Option<Rc<CallFrames>> {
        self.binary(path).frames.clone()
    }

    /// The names of the libraries that a file needs.
    pub fn needed(&self, path: &str) -> Rc<[String]> {
        self.binary(path).needed.clone().unwrap_or_default()
    }

    /// What the dynamic loader does with a file.
    pub fn linking(&self, path: &str) -> Linking {
        self.binary(path).linking
    }

    /// Whether the Go toolchain linked a file.
    pub fn is_go(&self, path: &str) -> bool {
        self.binary(path).is_go
    }

    /// The file offsets at which system calls return, sorted.
    pub fn returns(&self, path: &str) -> Rc<[u64]> {
        self.binary(path).returns.clone().unwrap_or_default()
    }

    /// All ELF files that were asked for, sorted by path.
    pub fn modules(&self) -> Vec<Module> {
        let read = self.read.borrow();
        let mut all: Vec<Module> = read.values().filter_map(|binary| binary.module.clone()).collect();
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all
    }
}

impl Binaries for FileBinaries {
    fn layout(&self, path: &str) -> Option<Rc<MemoryLayout>> {
        self.binary(path).layout.clone()
    }

    fn function(&self, path: &str, offset: u64) -> Option<Arc<str>> {
        let binary = self.binary(path);
        let layout = binary.layout.as_ref()?;
        let within = |s: &&LoadSegment| (s.offset..s.offset.saturating_add(s.file_size)).contains(&offset);
        let segment = layout.segments.iter().find(within)?;
        let address = segment.address.wrapping_add(offset - segment.offset);
        binary.symbols.at(address)
    }
}

fn read(path: &str, debug: &DebugFolders) -> Option<Binary> {
    let (bytes, facts) = regular_file::read(Path::new(path), MAX_FILE_BYTES).ok()?;
    let Parsed { layout, symbols, build_id, frames, needed, is_go, returns } =
        parsed(&bytes, Path::new(path), debug)?;
    let module = Module {
        path: path.to_owned(),
        size: facts.len(),
        modified: facts.mtime().saturating_mul(1_000_000_000).saturating_add(facts.mtime_nsec()),
        build_id,
        layout: layout.clone(),
    };
    Some(Binary {
        layout: Some(Rc::new(layout)),
        module: Some(module),
        symbols,
        frames: Some(Rc::new(frames)),
        needed: Some(needed.into()),
        linking: headers::linking(&bytes).unwrap_or_default(),
        is_go,
        returns: Some(returns.into()),
    })
}

pub(super) struct Parsed {
    pub(super) layout: MemoryLayout,
    pub(super) symbols: Symbols,
    build_id: Option<String>,
    pub(super) frames: CallFrames,
    needed: Vec<String>,
    is_go: bool,
    returns: Vec<u64>,
}

pub(super) fn parsed(bytes: &[u8], path: &Path, debug: &DebugFolders) -> Option<Parsed> {
    let file = object::File::parse(bytes).ok()?;
    let (layout, needed) = match &file {
        object::File::Elf64(elf) => (layout(elf.elf_header(), bytes)?, needed(elf.elf_header(), bytes)),
        object::File::Elf32(elf) => (layout(elf.elf_header(), bytes)?, needed(elf.elf_header(), bytes)),
        _ => return None,
    };
    let needed = needed.unwrap_or_default();
    let build_id = file.build_id().ok().flatten().map(hexadecimal);
    let symbols = Symbols::of(&file, path, debug);
    let is_go = file.section_by_name(".go.buildinfo").is_some();
    let returns = returns(bytes, &layout, file.architecture());
    Some(Parsed { layout, symbols, build_id, frames: call_frames(&file), needed, is_go, returns })
}

/// Where an instruction for a system call ends, as file offsets.
fn returns(bytes: &[u8], layout: &MemoryLayout, architecture: Architecture) -> Vec<u64> {
    let instruction: &[u8] = match architecture {
        Architecture::X86_64 => &[0x0f, 0x05],
        Architecture::Aarch64 => &[0x01, 0x00, 0x00, 0xd4],
        _ => return Vec::new(),
    };
    let code = layout.segments.iter().filter(|segment| segment.executable);
    let mut returns: Vec<u64> = code
        .filter_map(|segment| {
            let from = usize::try_from(segment.offset).ok()?;
            let to = from.saturating_add(usize::try_from(segment.file_size).ok()?).min(bytes.len());
            let found = memmem::find_iter(bytes.get(from..to)?, instruction);
            Some(found.map(move |at| (from + at + instruction.len()) as u64))
        })
        .flatten()
        .collect();
    returns.sort_unstable();
    returns
}

/// The names in its dynamic section (`DT_NEEDED`).
fn needed<H: FileHeader>(header: &H, bytes: &[u8]) -> Option<Vec<String>> {
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, bytes).ok()?;
    let (entries, strings) = sections.dynamic(endian, bytes).ok()??;
    let strings = sections.strings(endian, bytes, strings).ok()?;
    let needed = entries.iter().filter(|entry| entry.tag32(endian) == Some(object::elf::DT_NEEDED));
    let name =
        |entry: &H::Dyn| Some(String::from_utf8_lossy(entry.string(endian, strings).ok()?).into_owned());
    Some(needed.filter_map(name).collect())
}

fn call_frames(file: &object::File<'_>) -> CallFrames {
    let range = |name: &str| {
        let section = file.section_by_name(name)?;
        Some(section.address()..section.address().saturating_add(section.size()))
    };
    let data = |name: &str| file.section_by_name(name)?.data().ok();
    let bytes = |name: &str| Some((range(name)?, data(name)?.into()));
    let rules = |name: &str, section: Section| -> Option<SectionBytes> {
        let (range, data) = (range(name)?, data(name)?);
        let is_signed = file.architecture() == Architecture::Aarch64;
        Some((range, if is_signed { unsigned(data, section).into() } else { data.into() }))
    };
    CallFrames {
        eh_frame: rules(".eh_frame", Section::EhFrame),
        eh_frame_hdr: bytes(".eh_frame_hdr"),
        debug_frame: rules(".debug_frame", Section::DebugFrame),
        text: range(".text"),
        got: range(".got"),
    }
}

fn layout<H: FileHeader>(header: &H, bytes: &[u8]) -> Option<MemoryLayout> {
    let endian = header.endian().ok()?;
    let headers = header.program_headers(endian, bytes).ok()?;
    let mut layout = MemoryLayout { entry: header.e_entry(endian).into(), ..MemoryLayout::default() };

    for program in headers {
        if let Ok(Some(name)) = program.interpreter(endian, bytes) {
            layout.interpreter = Some(String::from_utf8_lossy(name).into_owned());
        }
        if program.p_type(endian) == object::elf::PT_LOAD {
            layout.segments.push(LoadSegment {
                address: program.p_vaddr(endian).into(),
                offset: program.p_offset(endian).into(),
                file_size: program.p_filesz(endian).into(),
                memory_size: program.p_memsz(endian).into(),
                executable: program.p_flags(endian) & object::elf::PF_X != 0,
            });
        }
    }
    Some(layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_binary_has_an_entry_point_in_a_segment_and_named_functions() {
        let binaries = FileBinaries::default();
        let this_binary = std::env::current_exe().unwrap();
        let layout = binaries.layout(this_binary.to_str().unwrap()).unwrap();
        let holds = |s: &&LoadSegment| (s.address..s.address + s.memory_size).contains(&layout.entry);
        let segment = layout.segments.iter().find(holds).unwrap();
        assert!(segment.executable);
        let offset = layout.entry - segment.address + segment.offset;
        assert_eq!(binaries.function(this_binary.to_str().unwrap(), offset).as_deref(), Some("_start"));
    }

    #[test]
    fn calls_return_behind_their_instruction() {
        let code = [0x90, 0x0f, 0x05, 0x0f, 0x05, 0x01, 0x00, 0x00, 0xd4, 0x0f];
        let segment = |offset, file_size, executable| {
            let (address, memory_size) = (offset, file_size);
            LoadSegment { address, offset, file_size, memory_size, executable }
        };
        let of = |segments: &[LoadSegment], architecture| {
            let layout = MemoryLayout { segments: segments.to_vec(), ..MemoryLayout::default() };
            returns(&code, &layout, architecture)
        };
        let all = [segment(0, 10, true)];
        assert_eq!(of(&all, Architecture::X86_64), [3, 5]);
        assert_eq!(of(&all, Architecture::Aarch64), [9]);
        assert!(of(&all, Architecture::I386).is_empty(), "its calls are in the vdso");
        assert_eq!(of(&[segment(3, 99, true), segment(0, 3, true)], Architecture::X86_64), [3, 5]);
        assert!(of(&[segment(0, 10, false), segment(99, 10, true)], Architecture::X86_64).is_empty());
    }

    #[test]
    fn a_file_that_is_not_an_executable_has_no_layout() {
        let binaries = FileBinaries::default();
        assert_eq!(binaries.layout("/etc/passwd"), None);
        assert_eq!(binaries.layout("/no/such/file"), None);
        assert_eq!(binaries.function("/etc/passwd", 0), None);
    }
}
