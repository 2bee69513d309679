//! The packed layout: the smallest file that Linux runs. The headers overlap, and code and message are in header fields
//! that the kernel ignores.
//!
//! A search finds the layout. [`arrangement`] says what the kernel requires of each field. Each instruction set says which
//! instructions the task can use. [`search`] tries file sizes from the smallest possible upwards, with all places of
//! the program header and of the message, and all ways through the gaps.

mod aarch64;
mod arrangement;
mod cells;
mod i386;
mod instruction;
mod known;
mod riscv64;
mod search;
mod x86;
mod x86_64;

pub use arrangement::Demands;
pub use search::Piece;

use super::code;
use super::header;
use super::{Architecture, ElfError, plain};
use arrangement::Arrangement;
use cells::{Cells, WINDOW};
use instruction::{CodeTask, InstructionSet};
use search::{Placed, Search};

/// A packed executable, with the positions of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The contents of the file.
    pub image: Vec<u8>,
    /// The file offset of the program header.
    pub program_header: usize,
    /// The file offset and the length of the message, or of the flat code with its message.
    pub message: (usize, usize),
    /// The instructions in the headers, in the order in which they run.
    pub pieces: Vec<Piece>,
    /// The number of placements that the search tried.
    pub tried: u64,
}

/// The smallest executable that writes `message` to stdout and exits with `status`. For a message of more than
/// `PIPE_BUF` bytes, the code keeps its loop (see [`code`]) and is placed as one piece.
///
/// # Errors
/// [`ElfError::TooLong`].
pub fn image(
    architecture: Architecture,
    message: &[u8],
    status: u8,
    demands: Demands,
) -> Result<Packed, ElfError> {
    let fallback = plain::image(architecture, message, Some(status))?;
    if message.len() > code::PIPE_BUF {
        let flat = |at: usize| plain::code_and_message(architecture, BASE + at as u64, message, Some(status));
        return Ok(smallest(architecture, demands, &Content::Flat(&flat), fallback));
    }
    Ok(smallest(architecture, demands, &Content::Message { message, status }, fallback))
}

/// The smallest executable that runs flat machine code from its first byte.
///
/// # Errors
/// [`ElfError::EmptyCode`] and [`ElfError::TooLong`].
pub fn wrap(architecture: Architecture, code: &[u8], demands: Demands) -> Result<Packed, ElfError> {
    let fallback = plain::wrap(architecture, code)?;
    Ok(smallest(architecture, demands, &Content::Flat(&|_| code.to_vec()), fallback))
}

/// The address of the file in memory, for code that depends on it: as low as `vm.mmap_min_addr` allows.
const BASE: u64 = 0x1_0000;

/// The number of places after which the search tries the next file size, unless it is exhaustive: first for the size at
/// which the best file is expected, then for larger ones.
const LIMITS: (u64, u64) = (600_000, 4_000);

/// The content that goes into the file.
enum Content<'a> {
    /// A message, and code that the search places.
    Message { message: &'a [u8], status: u8 },
    /// Code and message as one piece, which depends on its file offset.
    Flat(&'a dyn Fn(usize) -> Vec<u8>),
}

impl Content<'_> {
    fn at(&self, offset: usize) -> Vec<u8> {
        match self {
            Content::Message { message, .. } => message.to_vec(),
            Content::Flat(bytes) => bytes(offset),
        }
    }
}

fn smallest(architecture: Architecture, demands: Demands, content: &Content, fallback: Vec<u8>) -> Packed {
    let mut tried = 0;
    let length = content.at(0).len();
    let exhaustive = demands.exhaustive || matches!(content, Content::Flat(_));
    let first = if exhaustive { length } else { length + known::overhead(architecture, demands) };
    for file_size in first..fallback.len() {
        let known = |layout: &Arrangement| exhaustive || known::is_good(layout);
        let limit = if file_size == first { LIMITS.0 } else { LIMITS.1 };
        let limit = if demands.exhaustive { u64::MAX } else { tried + limit };
        for layout in layouts(architecture, demands, file_size).filter(known) {
            if let Some(packed) = in_layout(&layout, content, &mut tried, limit) {
                return packed;
            }
        }
    }
    let program_header = header::size(header::elf_header(architecture.class()));
    let message = (fallback.len() - length, length);
    Packed { image: fallback, program_header, message, pieces: Vec::new(), tried }
}

/// Every place of the program header in a file of this size, loaded at a fixed address or anywhere.
fn layouts(
    architecture: Architecture,
    demands: Demands,
    file_size: usize,
) -> impl Iterator<Item = Arrangement> {
    let class = architecture.class();
    let program_header_size = header::size(header::program_header(class));
    let last = header::size(header::elf_header(class)).min(file_size.saturating_sub(program_header_size));
    let layout = move |program_header, anywhere| Arrangement {
        architecture,
        demands,
        program_header,
        anywhere,
        file_size,
    };
    (1..=last).flat_map(move |at| [layout(at, false), layout(at, true)])
}

fn in_layout(layout: &Arrangement, content: &Content, tried: &mut u64, limit: u64) -> Option<Packed> {
    let cells = layout.cells()?;
    layout.finish(&cells)?;
    let length = content.at(0).len();
    let last = if length == 0 { 0 } else { layout.file_size - length };

    (0..=last.min(WINDOW)).rev().find_map(|at| {
        let bytes = content.at(at);
        if is_longer_than_needed(layout, at + length) {
            return None;
        }
        let mut cells = cells.clone();
        let visible = bytes.len().min(cells.length().saturating_sub(at));
        if !cells.set_all(at, &bytes[..visible]) {
            return None;
        }
        layout.finish(&cells)?;

        let placed = match *content {
            Content::Message { status, .. } => {
                let task = CodeTask { message: at, length, status, anywhere: layout.anywhere };
                place_code(layout, &cells, task, tried, limit)
            }
            Content::Flat(_) => enter_at(layout, cells, at),
        }?;
        Some(packed(layout, placed, at, &bytes, *tried))
    })
}

/// The last byte must belong to the message, the program header or an instruction. Otherwise a shorter file is enough.
fn is_longer_than_needed(layout: &Arrangement, message_end: usize) -> bool {
    let segment_end = layout.segment_field("p_align");
    let needed = message_end.max(segment_end.offset + segment_end.size);
    layout.file_size > needed
        && !layout.file_size.is_multiple_of(instruction_set(layout.architecture).alignment())
}

fn place_code(
    layout: &Arrangement,
    cells: &Cells,
    task: CodeTask,
    tried: &mut u64,
    limit: u64,
) -> Option<Placed> {
    let limit = limit.saturating_sub(*tried);
    let mut search = Search::new(layout, instruction_set(layout.architecture), task, limit);
    let placed = search.place(cells);
    *tried += search.tried;
    placed
}

/// The file whose entry point is the start of the content.
fn enter_at(layout: &Arrangement, mut cells: Cells, at: usize) -> Option<Placed> {
    let aligned = at.is_multiple_of(instruction_set(layout.architecture).alignment());
    let address = layout.segment_field("p_vaddr");
    let upper = &BASE.to_le_bytes()[2..address.size];
    let entered = cells.set(layout.elf_field("e_entry").offset, u8::try_from(at).ok()?)
        && cells.set_all(address.offset + 2, upper);
    let cells = if aligned && entered { layout.finish(&cells) } else { None };
    cells.map(|cells| Placed { cells, pieces: Vec::new() })
}

fn packed(layout: &Arrangement, placed: Placed, at: usize, content: &[u8], tried: u64) -> Packed {
    let mut image = placed.cells.bytes();
    image.resize(layout.file_size, 0);
    image[at..at + content.len()].copy_from_slice(content);
    let message = (at, content.len());
    Packed { image, program_header: layout.program_header, message, pieces: placed.pieces, tried }
}

fn instruction_set(architecture: Architecture) -> &'static dyn InstructionSet {
    match architecture {
        Architecture::X86_64 => &x86_64::X86_64,
        Architecture::I386 => &i386::I386,
        Architecture::Aarch64 => &aarch64::Aarch64,
        Architecture::Riscv64 => &riscv64::Riscv64,
    }
}
