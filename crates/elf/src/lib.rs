//! Writes executables without any toolchain: the floor of every comparison. Pure: bytes out.
//!
//! Two layouts: [`plain`] is an ELF header, one program header, the code and the message, one after the other,
//! and is the fastest to start; [`packed`] hides code and message in header fields, and is the smallest.
//!
//! Linux alone is meant: what its loader reads, checks and ignores is `load_elf_binary` in `fs/binfmt_elf.c`.

pub mod architecture;
pub mod code;
pub mod error;
pub mod escape;
pub mod executable;
pub mod explain;
pub mod header;
pub mod packed;
pub mod plain;

pub use architecture::Architecture;
pub use error::ElfError;
pub use executable::{Executable, Purpose, Style, write};
