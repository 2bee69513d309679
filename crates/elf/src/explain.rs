//! Describes every byte of an executable: its header fields, how the kernel uses them, and the contents.

use super::executable::Executable;
use super::header::{self, Field};
use serde::Serialize;

/// Bytes that belong to the same fields and to the same instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedBytes {
    /// The file offset of the first byte.
    pub offset: usize,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The header fields that they belong to: of the ELF header, the program header, both or none.
    pub fields: Vec<FieldUse>,
    /// The contents besides the fields: an instruction, or the message.
    pub content: Option<&'static str>,
}

/// A header field, and how the kernel uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FieldUse {
    /// Its name in elf.h.
    pub name: &'static str,
    /// How the kernel uses it.
    pub kernel: &'static str,
}

/// The rows of the whole file, in order.
pub fn explain(executable: &Executable) -> Vec<ExplainedBytes> {
    let mut rows: Vec<ExplainedBytes> = Vec::new();
    for (offset, &byte) in executable.image.iter().enumerate() {
        let fields = fields_at(executable, offset);
        let content = content_at(executable, offset);
        let begins = begins_piece(executable, offset);
        match rows.last_mut() {
            Some(row) if !begins && row.fields == fields && row.content == content => row.bytes.push(byte),
            _ => rows.push(ExplainedBytes { offset, bytes: vec![byte], fields, content }),
        }
    }
    rows
}

fn fields_at(executable: &Executable, offset: usize) -> Vec<FieldUse> {
    let class = executable.architecture.class();
    let headers =
        [(header::elf_header(class), 0), (header::program_header(class), executable.program_header)];
    let covers = |field: &&Field, base: usize| {
        offset >= base && (field.offset..field.offset + field.size).contains(&(offset - base))
    };
    let found = headers.iter().filter_map(|(fields, base)| fields.iter().find(|f| covers(f, *base)));
    found.map(|field| FieldUse { name: field.name, kernel: field.kernel }).collect()
}

fn content_at(executable: &Executable, offset: usize) -> Option<&'static str> {
    let (message, length) = executable.message;
    if (message..message + length).contains(&offset) {
        return Some("the message");
    }
    let piece = executable.pieces.iter().rev().find(|p| (p.offset..p.offset + p.length).contains(&offset));
    piece.map(|piece| piece.name)
}

fn begins_piece(executable: &Executable, offset: usize) -> bool {
    executable.pieces.iter().any(|piece| piece.offset == offset)
}
