//! The functions of zsh, read from the memory of a stopped thread.
//!
//! zsh has a list of the calls of functions, of sourced files and of `eval` (`struct funcstack` of `zsh.h`), and the line that
//! it executes in `lineno`. Lines of functions and of `eval` are counted from where they begin.

use super::elf::Elf;
use super::frame::{Lined, RawFrame, Stopped};
use super::interpreter::{DEEPEST, Interpreter, MAX_NAME, Named, Stated};
use super::memory::Reader;
use crate::sampler::language::{Joint, LanguageFunction};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// `struct funcstack`: `prev`, `name`, `filename`, `caller`, `flineno`, `lineno`, `tp`.
const OUTER: u64 = 0;
const NAME: u64 = 8;
const FILE: u64 = 16;
const CALLER: u64 = 24;
const FIRST_LINE: u64 = 32;
const CALLED_ON: u64 = 40;
const KIND: u64 = 48;
/// `FS_SOURCE`, `FS_FUNC`, `FS_EVAL`.
const SOURCE: u32 = 0;
const FUNCTION: u32 = 1;
const EVAL: u32 = 2;

/// zsh in the memory of a process.
#[derive(Clone, Debug)]
struct Zsh {
    /// The addresses of `funcstack`, `lineno` and `scriptname`.
    variables: [u64; 3],
    functions: HashMap<(String, String, u32), Arc<Lined>>,
}

/// `None`: there is no zsh in it.
pub(super) fn stated(elf: &Elf<'_>, _: &Path) -> Option<Box<dyn Stated>> {
    let variables = elf.addresses(["funcstack", "lineno", "scriptname"])?;
    let version = elf.version_after(b"/zsh/"); // the folder of its modules
    let at = |(), variables| Box::new(Zsh { variables, functions: HashMap::new() }) as Box<dyn Interpreter>;
    Some(Box::new(Named { name: "zsh", known: &[((5, 8), ()), ((5, 9), ())], version, variables, at }))
}

impl Interpreter for Zsh {
    fn frames(&mut self, _: &Stopped<'_>, memory: &mut Reader<'_>) -> Vec<RawFrame> {
        self.calls(memory).unwrap_or_default()
    }

    fn joint(&self) -> Joint {
        Joint::Leaf
    }
}

impl Zsh {
    fn calls(&mut self, memory: &mut Reader<'_>) -> Option<Vec<RawFrame>> {
        let [calls, line, script] = self.variables;
        let (mut line, mut next) = (memory.word(line)?, memory.word(calls)?);
        // in a function, that variable has the function's name
        let mut script = text(memory, script);
        let mut frames = Vec::new();
        while next != 0 && frames.len() < DEEPEST {
            let (call, field) = (next, |at: u64| next.wrapping_add(at));
            let kind = memory.half(field(KIND))?;
            let first_line = memory.word(field(FIRST_LINE))?;
            let [name, file] = [NAME, FILE].map(|at| text(memory, call.wrapping_add(at)));
            let (name, before) = match kind {
                SOURCE => ("<source>".to_owned(), 0),
                FUNCTION => (name?, first_line),
                EVAL => (name?, first_line.wrapping_sub(1)),
                _ => return None,
            };
            let begins = u32::try_from(first_line).ok().filter(|line| *line > 0).unwrap_or(1);
            let code = self.function(name, file?, begins);
            frames.push(RawFrame::on_line(code, u32::try_from(before.wrapping_add(line)).ok(), false));
            line = memory.word(field(CALLED_ON))?;
            script = text(memory, field(CALLER));
            next = memory.word(field(OUTER))?;
        }
        if let Some(script) = script {
            let code = self.function("<main>".to_owned(), script, 1);
            frames.push(RawFrame::on_line(code, u32::try_from(line).ok(), false));
        }
        Some(frames)
    }

    fn function(&mut self, name: String, file: String, line: u32) -> Arc<Lined> {
        let new = |key: &(String, String, u32)| {
            let (name, file) = (key.0.as_str().into(), key.1.as_str().into());
            Arc::new(Lined(Arc::new(LanguageFunction { language: "zsh", name, file, line })))
        };
        Arc::clone(self.functions.entry((name, file, line)).or_insert_with_key(new))
    }
}

/// The text to which the pointer at an address points.
fn text(memory: &mut Reader<'_>, address: u64) -> Option<String> {
    let start = memory.word(address).filter(|start| *start != 0)?;
    memory.c_string(start, MAX_NAME)
}

/// At the variables of the fuzz target.
#[cfg(fuzzing)]
pub(super) fn fuzzed(_: u8, at: u64) -> Option<Box<dyn Interpreter>> {
    let variables = [0, 8, 16].map(|offset| at + offset);
    Some(Box::new(Zsh { variables, functions: HashMap::new() }))
}

#[cfg(test)]
mod tests {
    use super::super::memory::Memory;
    use super::super::random::{at, named, random};
    use super::*;

    #[test]
    fn random_memory_ends_without_a_panic() {
        for seed in 0..200 {
            let source = random(seed, |random| match random.u8(0..6) {
                0 => Some(random.u64(..)),
                1 => Some(random.u64(0..4)),
                _ => None,
            });
            let mut memory = Memory::default();
            for address in (0x1000..0x2000).step_by(8) {
                let mut zsh = Zsh { variables: [address; 3], functions: HashMap::new() };
                let frames = zsh.frames(&at(0), &mut memory.reader(&source));
                assert!(frames.len() <= DEEPEST + 1);
                named(&frames);
            }
        }
    }
}
