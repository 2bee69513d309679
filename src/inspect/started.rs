//! A program and all that is known about it before it starts.

use super::glibc::loading::Loading;
use super::headers::Elf;
use super::library::Interpreter;
use super::surroundings::Environment;
use super::view::FileView;
use std::path::Path;

/// A program that is about to start.
pub(super) struct Started<'a> {
    pub(super) path: &'a Path,
    pub(super) elf: &'a Elf,
    pub(super) bytes: &'a [u8],
    pub(super) interpreter: Option<&'a Interpreter>,
    pub(super) loading: &'a Loading,
    pub(super) files: &'a dyn FileView,
    pub(super) environment: &'a Environment,
}
