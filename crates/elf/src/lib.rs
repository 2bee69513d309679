#![doc = include_str!("../README.md")]
//!
//! The crate returns bytes and has no other effect. [`plain`] and [`packed`] are the two layouts.
//!
//! The kernel's part is `load_elf_binary` in `fs/binfmt_elf.c`: what it reads, what it checks and what it ignores.

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
