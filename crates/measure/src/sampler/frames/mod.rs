//! The frames of interpreters: functions, files and lines in the program's own language, read from memory.
//!
//! The memory is that of a stopped thread ([`super::stops`]), or what the kernel copied of it (`copies`).
//!
//! | file | what it does |
//! |---|---|
//! | `interpreter` | what each reader of frames has to do |
//! | `languages` | the interpreters that are known |
//! | `python`, `node`, `ruby`, `java`, `perl`, `php`, `bash`, `zsh` | each reads the frames of one interpreter |
//! | `memory` | what the readers ask: pages of a stopped program, or known parts |
//! | `images` | finds the interpreter among a program's mappings |
//! | `elf` | reads the interpreter's file |
//! | `frame` | a frame that was read, and its names |

mod bash;
mod elf;
pub(super) mod frame;
#[cfg(fuzzing)]
pub(super) mod fuzzed;
pub(super) mod images;
pub(super) mod interpreter;
mod java;
mod languages;
pub(super) mod memory;
mod node;
mod perl;
mod php;
pub(super) mod python;
#[cfg(test)]
mod random;
mod ruby;
mod zsh;

pub use self::languages::has_readable_frames;
