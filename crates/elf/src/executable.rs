//! An executable that we wrote, with where everything in it is.

use super::packed::{self, Demands, Piece};
use super::{Architecture, ElfError, code, header, plain};

/// What an executable is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Write a message to stdout, then exit with a status or, without one, crash.
    Message {
        /// What to write.
        text: Vec<u8>,
        /// The exit status.
        exit: Option<u8>,
    },
    /// Run that machine code.
    Code(Vec<u8>),
    /// Copy stdin to stdout.
    Copy,
}

/// How it is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// See [`plain`].
    Plain,
    /// See [`packed`].
    Packed(Demands),
}

/// An executable that we wrote, with where everything in it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    /// For which architecture.
    pub architecture: Architecture,
    /// The file.
    pub image: Vec<u8>,
    /// File offset of the program header.
    pub program_header: usize,
    /// The instructions, or code in one piece.
    pub pieces: Vec<Piece>,
    /// File offset and length of the message.
    pub message: (usize, usize),
}

/// Writes it.
///
/// # Errors
/// Each [`ElfError`] but those of names and escapes.
pub fn write(architecture: Architecture, purpose: &Purpose, style: Style) -> Result<Executable, ElfError> {
    match (style, purpose) {
        (Style::Plain, Purpose::Message { text, exit }) => {
            let image = plain::image(architecture, text, *exit)?;
            Ok(plainly(architecture, image, text.len()))
        }
        (Style::Plain, _) => {
            Ok(plainly(architecture, plain::wrap(architecture, &flat(architecture, purpose))?, 0))
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

/// What was placed in one piece is code, but for the message at its end.
fn packed_message(architecture: Architecture, packed: packed::Packed, message: usize) -> Executable {
    let (offset, length) = packed.message;
    let mut pieces = packed.pieces;
    if length > message {
        pieces.push(Piece { offset, length: length - message, name: "the code" });
    }
    let message = (offset + length - message, message);
    Executable { architecture, image: packed.image, program_header: packed.program_header, pieces, message }
}
