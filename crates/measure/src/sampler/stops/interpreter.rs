//! The interpreters whose frames can be read: in a file, and in the memory of a process.

use super::elf::Elf;
use super::frame::{RawFrame, Stopped};
use super::memory::Reader;
use super::node::{self, Node};
use super::python::{self, Python};
use super::ruby::{self, Ruby};
use crate::sampler::language::Joint;
use std::path::Path;

/// What a file with an interpreter in it says about it.
#[derive(Debug)]
pub(super) enum Stated {
    Python(python::Stated),
    Node(node::Stated),
    Ruby(ruby::Stated),
}

/// An interpreter in the memory of a process.
#[derive(Clone, Debug)]
pub(super) enum Interpreter {
    Python(Python),
    Node(Node),
    Ruby(Ruby),
}

/// What is known of one process.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    python: python::Codes,
    node: node::Functions,
    ruby: ruby::Functions,
}

/// How the names of files begin that interpreters other than `CPython` are in.
const BEGINNINGS: [&str; 4] = ["node", "libnode", "ruby", "libruby"];

/// Whether an interpreter may be in a file, by the file's name. A renamed one is not found: most files are not read.
pub(super) fn may_be_in(name: &str) -> bool {
    name.contains("python") || BEGINNINGS.iter().any(|known| name.starts_with(known))
}

impl Stated {
    pub(super) fn of(elf: &Elf<'_>, path: &Path) -> Option<Stated> {
        let python = || python::Stated::of(elf, path).map(Stated::Python);
        let node = || node::Stated::of(elf).map(Stated::Node);
        let ruby = || ruby::Stated::of(elf).map(Stated::Ruby);
        match path.file_name()?.to_str()? {
            name if name.contains("python") => python(),
            name if name.contains("ruby") => ruby(),
            _ => node(),
        }
    }

    /// In the memory of a process: `bias` is what was added to the addresses that the file states. The error: the name of
    /// an unknown version.
    pub(super) fn placed(&self, bias: u64) -> Result<Interpreter, String> {
        match self {
            Stated::Python(stated) => stated.placed(bias).map(Interpreter::Python),
            Stated::Node(stated) => stated.placed().map(Interpreter::Node),
            Stated::Ruby(stated) => stated.placed(bias).map(Interpreter::Ruby),
        }
    }
}

impl Interpreter {
    /// The frames of a stopped thread, the innermost one first.
    pub(super) fn frames(
        &self,
        stopped: &Stopped<'_>,
        memory: &mut Reader<'_>,
        known: &mut Known,
    ) -> Vec<RawFrame> {
        match self {
            Interpreter::Python(python) => {
                python.frames(memory, &mut known.python, stopped.place.thread_pointer)
            }
            Interpreter::Node(node) => node.frames(stopped, memory, &mut known.node),
            Interpreter::Ruby(ruby) => ruby.frames(memory, &mut known.ruby, stopped.place.thread_pointer),
        }
    }

    /// Where its frames belong among the native ones.
    pub(super) fn joint(&self) -> Joint {
        match self {
            Interpreter::Python(_) => Joint::Loop(python::MAIN_LOOP),
            Interpreter::Node(_) => Joint::FramePointers,
            Interpreter::Ruby(_) => Joint::Loop(ruby::MAIN_LOOP),
        }
    }
}
