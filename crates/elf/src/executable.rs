//! Executables, with the positions of their parts.

use super::packed::{self, Demands, Piece};
use super::{Architecture, ElfError, code, header, plain};

/// What an executable does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Prints a message to stdout and exits. Without an exit status it crashes after the message.
    Message {
        /// The message.
        text: Vec<u8>,
        /// The exit status.
        exit: Option<u8>,
    },
    /// Runs this machine code.
    Code(Vec<u8>),
    /// Copies stdin to stdout.
    Copy,
}

/// The layout of an executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The layout of [`plain`].
    Plain {
        /// The alignment that the program header states, in bytes. `None` is the largest page size of the
        /// architecture's kernels.
        align: Option<u64>,
    },
    /// The layout of [`packed`].
    Packed(Demands),
}

/// An executable, with the positions of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    /// The architecture on which it runs.
    pub architecture: Architecture,
    /// The contents of the file.
    pub image: Vec<u8>,
    /// The file offset of the program header.
    pub program_header: usize,
    /// The instructions, or the code as one piece.
    pub pieces: Vec<Piece>,
    /// The file offset and the length of the message.
    pub message: (usize, usize),
}

/// Makes an executable.
///
/// # Errors
/// Every [`ElfError`] except those of names and escapes.
pub fn write(architecture: Architecture, purpose: &Purpose, style: Style) -> Result<Executable, ElfError> {
    match (style, purpose) {
        (Style::Plain { align }, _) => {
            let (mut image, message) = match purpose {
                Purpose::Message { text, exit } => (plain::image(architecture, text, *exit)?, text.len()),
                _ => (plain::wrap(architecture, &flat(architecture, purpose))?, 0),
            };
            align.map_or(Ok(()), |bytes| plain::set_alignment(architecture, &mut image, bytes))?;
            Ok(plainly(architecture, image, message))
        }
        (Style::Packed(_), Purpose::Message { exit: None, .. }) => Err(ElfError::PackedExits),
        (Style::Packed(demands), Purpose::Message { text, exit: Some(status) }) => {
            Ok(packed_message(architecture, packed::image(architecture, text, *status, demands)?, text.len()))
        }
        (Style::Packed(demands), _) => {
            let packed = packed::wrap(architecture, &flat(architecture, purpose), demands)?;
            Ok(packed_message(architecture, packed, 0))
        }
    }
}

fn flat(architecture: Architecture, purpose: &Purpose) -> Vec<u8> {
    match purpose {
        Purpose::Code(code) => code.clone(),
        Purpose::Copy => code::copy(architecture),
        Purpose::Message { text, .. } => text.clone(),
    }
}

fn plainly(architecture: Architecture, image: Vec<u8>, message: usize) -> Executable {
    let program_header = header::size(header::elf_header(architecture.class()));
    let offset = plain::headers_size(architecture);
    let piece = Piece { offset, length: image.len() - message - offset, name: "the code" };
    let message = (image.len() - message, message);
    Executable { architecture, image, program_header, pieces: vec![piece], message }
}

/// The search places code and message as one piece; the part before the message is the code.
fn packed_message(architecture: Architecture, packed: packed::Packed, message: usize) -> Executable {
    let (offset, length) = packed.message;
    let mut pieces = packed.pieces;
    if length > message {
        pieces.push(Piece { offset, length: length - message, name: "the code" });
    }
    let message = (offset + length - message, message);
    Executable { architecture, image: packed.image, program_header: packed.program_header, pieces, message }
}
