//! Every byte of an executable, explained: what `firstbyte elf --json` writes, and what a page reads.

use super::Kind;
use super::bench::{SCHEMA, ToolVersion};
use firstbyte_elf::Executable;
use firstbyte_elf::explain::{ExplainedBytes, FieldUse, explain};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One executable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElfDocument {
    pub schema: String,
    /// [`Kind::Elf`].
    #[serde(default = "ElfDocument::kind")]
    pub kind: Kind,
    pub tool: ToolVersion,
    #[serde(default)]
    pub machine: Value,
    /// For which processors.
    pub architecture: String,
    /// In bytes.
    pub size: usize,
    /// Bytes that belong together.
    pub results: Vec<ElfRow>,
}

/// Bytes that belong to the same fields and to the same instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElfRow {
    /// File offset of the first byte.
    pub offset: usize,
    pub bytes: Vec<u8>,
    /// The header fields that they are.
    #[serde(default)]
    pub fields: Vec<ElfField>,
    /// What was put there.
    #[serde(default)]
    pub content: Option<String>,
}

/// A header field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElfField {
    /// Its name in elf.h.
    pub name: String,
    /// What the kernel does with it.
    #[serde(default)]
    pub kernel: String,
}

impl ElfDocument {
    fn kind() -> Kind {
        Kind::Elf
    }

    /// Explains an executable that was written on this machine.
    pub fn of(executable: &Executable, machine: Value) -> ElfDocument {
        ElfDocument {
            schema: SCHEMA.to_owned(),
            kind: Kind::Elf,
            tool: ToolVersion::ours(),
            machine,
            architecture: executable.architecture.name().to_owned(),
            size: executable.image.len(),
            results: explain(executable).into_iter().map(ElfRow::from).collect(),
        }
    }
}

impl From<ExplainedBytes> for ElfRow {
    fn from(row: ExplainedBytes) -> ElfRow {
        let field =
            |field: &FieldUse| ElfField { name: field.name.to_owned(), kernel: field.kernel.to_owned() };
        ElfRow {
            offset: row.offset,
            bytes: row.bytes,
            fields: row.fields.iter().map(field).collect(),
            content: row.content.map(str::to_owned),
        }
    }
}
