//! A library that a program needs, and the loader that looks for it.

use super::headers::Elf;
use super::view;
use serde::Serialize;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Library {
    pub name: String,
    /// The first object that needs the library.
    #[serde(serialize_with = "view::lossy")]
    pub needed_by: PathBuf,
    /// What else asks for it: `LD_PRELOAD`, `LD_AUDIT`, `/etc/ld.so.preload`.
    pub asked_by: Option<&'static str>,
    /// `None`: the library is missing, and the program will not start.
    #[serde(serialize_with = "view::lossy_option")]
    pub path: Option<PathBuf>,
    /// How it was found: `RUNPATH`, `cache`, …
    pub found_by: Option<&'static str>,
    /// How many places do not have the library.
    pub failed_opens: u64,
    /// How often the loader looked whether a folder exists, because the library was not in it.
    pub folder_checks: u64,
    /// All system calls for it, from the search to the protection of its memory.
    pub syscalls: u64,
    /// The files and folders that were tried without result, in order.
    #[serde(skip)]
    pub tried: Vec<PathBuf>,
    #[serde(skip)]
    pub elf: Option<Elf>,
}

/// How the loader itself is found, if a library needs it by name.
pub(super) const THE_LOADER: &str = "interpreter";

/// The dynamic loader of a program: its path, its headers and its bytes.
pub(super) struct Interpreter {
    pub(super) path: String,
    pub(super) elf: Option<Elf>,
    pub(super) bytes: Vec<u8>,
}
