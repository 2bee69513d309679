//! The frames of `CPython`, read from the memory of a stopped thread.
//!
//! The code object of each frame is read at once, because `CPython` frees code objects, for example that of a module after
//! its import. It may then create another one at the same address, so a known one is recognised by what it points to, too.

mod layouts;
mod lines;
mod stated;

#[cfg(fuzzing)]
pub(super) use self::stated::fuzzed;
pub(super) use self::stated::stated;

use self::layouts::{Innermost, Instruction, Layout, LineTable, OWNED_BY_C, Runs};
use super::frame::{RawFrame, Stopped};
use super::interpreter::{DEEPEST, Interpreter, MAX_NAME};
use super::memory::Reader;
use crate::sampler::language::{Joint, LanguageFunction};
use crate::tracer::ptrace::place::StoppedAt;
use std::collections::HashMap;
use std::sync::Arc;

/// Each call of it executes a run of frames.
const MAIN_LOOP: &str = "_PyEval_EvalFrameDefault";

/// More of them are a damaged list.
const MAX_THREADS: usize = 4096;
const MAX_TABLE: u64 = 1 << 20;

/// `PyVarObject`: the size, and where the bytes of a `PyBytesObject` begin. `PyASCIIObject`: the length and the state.
const SIZE: u64 = 16;
const BYTES: u64 = 32;
const STATE: u64 = 32;
/// The lowest bit of `kind` in the state; `compact` and `ascii` follow.
const KIND: u32 = 2;
/// `PyObject.ob_type`.
const TYPE: u64 = 8;

/// `CPython` in the memory of a process.
#[derive(Clone, Debug)]
struct Python {
    place: Place,
    codes: Codes,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    /// The minor version: 11 of 3.11.
    minor: u8,
    /// The addresses of `_PyRuntime` and `PyCode_Type`.
    runtime: u64,
    code_type: u64,
}

/// The code of one process, as far as it is known.
#[derive(Clone, Debug, Default)]
struct Codes {
    layout: Option<Layout>,
    /// The `PyThreadState` by the thread pointer.
    threads: HashMap<u64, u64>,
    /// By its address and what it points to.
    known: HashMap<[u64; 4], Arc<Code>>,
}

/// A code object.
#[derive(Debug)]
struct Code {
    function: Arc<LanguageFunction>,
    table: Vec<u8>,
    lines: LineTable,
}

impl super::frame::Code for Code {
    fn function(&self) -> Arc<LanguageFunction> {
        Arc::clone(&self.function)
    }

    /// `offset` is in bytes.
    fn line(&self, offset: i64) -> Option<u32> {
        self.lines.line(&self.table, self.function.line, offset)
    }
}

/// Whether frames of this version can be read.
#[cfg(test)]
pub(in crate::sampler) fn is_known(minor: u8) -> bool {
    Layout::is_known(minor)
}

impl Interpreter for Python {
    fn frames(&mut self, stopped: &Stopped<'_>, memory: &mut Reader<'_>) -> Vec<RawFrame> {
        let Python { place, codes } = self;
        if codes.layout.is_none() {
            codes.layout = Layout::of(place.minor, memory, place.runtime);
        }
        let Some(layout) = codes.layout else { return Vec::new() };
        let mut walk = Walk { place, layout: &layout, memory, codes };
        let state = walk.thread_state(&stopped.place);
        state.and_then(|state| walk.innermost(state)).map_or_else(Vec::new, |frame| walk.frames(frame))
    }

    fn joint(&self) -> Joint {
        Joint::Loop(MAIN_LOOP)
    }
}

struct Walk<'w, 'm> {
    place: &'w Place,
    layout: &'w Layout,
    memory: &'w mut Reader<'m>,
    codes: &'w mut Codes,
}

impl Walk<'_, '_> {
    fn pointer(&mut self, from: u64, offset: u64) -> Option<u64> {
        self.memory.word(from.wrapping_add(offset)).filter(|pointer| *pointer != 0)
    }

    fn thread_state(&mut self, place: &StoppedAt) -> Option<u64> {
        let [next, id] = self.layout.thread;
        let is_it = |walk: &mut Self, state| walk.pointer(state, id).is_some_and(|id| place.is_pthread(id));
        if let Some(known) = self.codes.threads.get(&place.thread_pointer).copied()
            && is_it(self, known)
        {
            return Some(known);
        }

        let [next_interpreter, threads] = self.layout.interpreter;
        let mut left = MAX_THREADS;
        let mut interpreter = self.pointer(self.place.runtime, self.layout.interpreters);
        while let Some(of_interpreter) = interpreter {
            let mut state = self.pointer(of_interpreter, threads);
            while let Some(found) = state {
                if is_it(self, found) {
                    self.codes.threads.insert(place.thread_pointer, found);
                    return Some(found);
                }
                left = left.checked_sub(1)?;
                state = self.pointer(found, next);
            }
            left = left.checked_sub(1)?;
            interpreter = self.pointer(of_interpreter, next_interpreter);
        }
        None
    }

    fn innermost(&mut self, state: u64) -> Option<u64> {
        match self.layout.innermost {
            Innermost::At(offset) => self.pointer(state, offset),
            Innermost::Through(first, second) => {
                let between = self.pointer(state, first)?;
                self.pointer(between, second)
            }
        }
    }

    fn frames(&mut self, innermost: u64) -> Vec<RawFrame> {
        let mut frames: Vec<RawFrame> = Vec::new();
        let mut next = Some(innermost);
        for _ in 0..DEEPEST {
            let Some(frame) = next else { break };
            if self.is_boundary(frame) {
                frames.iter_mut().last().into_iter().for_each(|last| last.begins_run = true);
            } else if let Some(raw) = self.frame(frame) {
                frames.push(raw);
            }
            next = self.pointer(frame, self.layout.frame.previous);
        }
        if next.is_none() {
            frames.iter_mut().last().into_iter().for_each(|last| last.begins_run = true);
        }
        frames
    }

    /// Whether a frame stands only for a call of the loop.
    fn is_boundary(&mut self, frame: u64) -> bool {
        let Runs::AfterOwner(owner) = self.layout.frame.runs else { return false };
        self.memory.byte(frame.wrapping_add(owner)).is_some_and(|owner| owner >= OWNED_BY_C)
    }

    fn frame(&mut self, frame: u64) -> Option<RawFrame> {
        let (of_frame, of_code) = (self.layout.frame, self.layout.code);
        // from 3.14 on, the lowest bits are flags
        let address = self.pointer(frame, of_frame.code)? & !7;
        let code = self.code(address)?;
        let offset = match of_frame.instruction {
            Instruction::Index(at, unit) => {
                i64::from(self.memory.half(frame.wrapping_add(at))?.cast_signed()) * unit
            }
            Instruction::Pointer(at) => {
                let start = address.wrapping_add(of_code.instructions);
                self.pointer(frame, at)?.wrapping_sub(start).cast_signed()
            }
        };
        let begins_run = match of_frame.runs {
            Runs::Each => true,
            Runs::Flag(at) => self.memory.byte(frame.wrapping_add(at))? != 0,
            Runs::AfterOwner(_) => false,
        };
        Some(RawFrame { code, offset, begins_run, native: None })
    }

    fn code(&mut self, address: u64) -> Option<Arc<Code>> {
        if self.pointer(address, TYPE)? != self.place.code_type {
            return None;
        }
        let layout = self.layout.code;
        let [name, file, table] =
            [layout.name, layout.file, layout.table].map(|offset| self.pointer(address, offset));
        let key = [address, name?, file?, table?];
        if let Some(known) = self.codes.known.get(&key) {
            return Some(Arc::clone(known));
        }

        let [_, name, file, table] = key;
        let function = LanguageFunction {
            language: "Python",
            name: self.text(name)?.into(),
            file: self.text(file)?.into(),
            line: self.memory.half(address.wrapping_add(layout.first_line))?,
        };
        let length = self.memory.word(table.wrapping_add(SIZE))?;
        let table = self.memory.bytes(table.wrapping_add(BYTES), length, MAX_TABLE)?;
        let code = Arc::new(Code { function: Arc::new(function), table, lines: self.layout.lines });
        self.codes.known.insert(key, Arc::clone(&code));
        Some(code)
    }

    /// A string of Python.
    fn text(&mut self, address: u64) -> Option<String> {
        let length = self.memory.word(address.wrapping_add(SIZE))?;
        let state = self.memory.half(address.wrapping_add(STATE))? >> KIND;
        let (kind, is_compact, is_ascii) = (state & 7, state & 8 != 0, state & 16 != 0);
        if !is_compact {
            return None;
        }
        let start = address.wrapping_add(self.layout.strings[usize::from(!is_ascii)]);
        let size = length.checked_mul(u64::from(kind))?;
        let bytes = self.memory.bytes(start, size, MAX_NAME)?;
        let characters: Vec<u32> = match kind {
            1 => bytes.iter().map(|byte| u32::from(*byte)).collect(),
            2 => {
                bytes.chunks_exact(2).map(|pair| u32::from(u16::from_le_bytes([pair[0], pair[1]]))).collect()
            }
            4 => bytes.chunks_exact(4).filter_map(|it| it.try_into().ok().map(u32::from_le_bytes)).collect(),
            _ => return None,
        };
        Some(
            characters
                .into_iter()
                .map(|it| char::from_u32(it).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::Memory;
    use super::super::random::{at, named, random};
    use super::*;

    #[test]
    fn random_memory_ends_without_a_panic() {
        for seed in 0..6 {
            let source = random(seed, |random| match random.u8(0..6) {
                0 => Some(0),
                1 => Some(random.u64(..)),
                2 => Some(random.u64(0..64)),
                3 => Some(u64::MAX - random.u64(0..64)),
                4 => Some(CODE_TYPE),
                _ => None,
            });
            for minor in 8..=16 {
                let mut memory = Memory::default();
                let layout = Layout::of(if minor > 12 { 12 } else { minor }, &mut memory.reader(&source), 0);
                let place = Place { minor, runtime: 0x1000, code_type: CODE_TYPE };
                let codes = Codes { layout: layout.filter(|_| minor < 16), ..Codes::default() };
                let mut python = Python { place, codes };
                for thread in [0, 7, 0x1000, 0x2008] {
                    named(&python.frames(&at(thread), &mut memory.reader(&source)));
                    let (layout, mut reader) = (layout.unwrap(), memory.reader(&source));
                    let codes = &mut python.codes;
                    let mut walk = Walk { place: &place, layout: &layout, memory: &mut reader, codes };
                    for address in (0x1000..0x4000).step_by(344) {
                        assert!(walk.frames(address).len() <= DEEPEST);
                        walk.text(address);
                    }
                }
            }
        }
    }

    const CODE_TYPE: u64 = 0x8888;
}
