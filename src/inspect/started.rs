//! A program and all that is known about it before it starts.

use super::glibc::loading::Loading;
use super::headers::Elf;
use super::library::Interpreter;
use super::view::FileView;

/// A program that is about to start.
pub(super) struct Started<'a> {
    pub(super) elf: &'a Elf,
    pub(super) bytes: &'a [u8],
    pub(super) interpreter: Option<&'a Interpreter>,
    pub(super) loading: &'a Loading,
    pub(super) files: &'a dyn FileView,
}
