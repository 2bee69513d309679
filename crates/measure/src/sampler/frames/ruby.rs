//! The frames of Ruby (`CRuby`), read from the memory of a stopped thread.
//!
//! The execution context of a thread is in its thread-local memory. The exported function `rb_errinfo` loads its place from
//! the global offset table, and so do we: this works in stripped libraries, too. Before 3.0, there is one variable, with the
//! context of the thread that may execute Ruby. The figures are those of `vm_core.h`, `iseq.c` and
//! `include/ruby/internal/core/` for 64-bit processors.

use super::elf::Elf;
use super::frame::{Lined, RawFrame, Stopped};
use super::interpreter::{self, DEEPEST, Interpreter, MAX_NAME, Version, unknown, version};
use super::memory::Reader;
use crate::sampler::language::{Joint, LanguageFunction};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Each call of it executes a run of frames.
const MAIN_LOOP: &str = "rb_vm_exec";

/// How much of `rb_errinfo` is looked through, and the instruction in it: `lea rdi` of an address relative to the next one.
const FUNCTION: usize = 32;
const LOAD: [u8; 3] = [0x48, 0x8d, 0x3d];
/// A pair in the global offset table: the number of the library, and the place in its thread-local memory. From the thread
/// pointer on: the table of these memories, whose entries have two words (`dtv` of glibc and musl).
const TABLE: u64 = 8;
const ENTRY: u64 = 16;

/// `rb_execution_context_t`: `vm_stack`, `vm_stack_size`, `cfp`; before 3.0 also `thread_ptr`, and in that `thread_id`.
const STACK: u64 = 0;
const STACK_SIZE: u64 = 8;
const FRAMES: u64 = 16;
const THREAD: u64 = 56;
const THREAD_ID: u64 = 72;
/// `rb_control_frame_t`: `pc`, `iseq`, `ep`.
const INSTRUCTION: u64 = 0;
const SEQUENCE: u64 = 16;
const ENVIRONMENT: u64 = 32;
/// In the first word of an environment: `VM_FRAME_FLAG_FINISH`, `VM_FRAME_FLAG_CFRAME`.
const FINISH: u64 = 0x20;
const NATIVE: u64 = 0x80;
/// `VM_FRAME_MAGIC_MASK`, and the kind of the frame outside of all others. It bears the name of the program, and executes
/// nothing (`Init_VM` in vm.c); Ruby's own backtraces leave it out, too.
const KIND: u64 = 0x7fff_0001;
const DUMMY: u64 = 0x7999_0001;
/// `rb_iseq_t.body`; in that `iseq_encoded`, and `pathobj`, `label`, `first_lineno` of `location`.
const BODY: u64 = 16;
const ENCODED: u64 = 8;
const PATH: u64 = 64;
const LABEL: u64 = 80;
const FIRST_LINE: u64 = 88;

/// `RBasic.flags`: the type in the lowest bits, and one that says where the contents are.
const TYPE: u64 = 0x1f;
const STRING: u64 = 5;
const ARRAY: u64 = 7;
const MARK: u64 = 1 << 13;

/// What a file with Ruby in it says about it.
#[derive(Clone, Copy, Debug)]
struct Stated {
    version: Version,
    /// `None`: `rb_errinfo` has other code, as on other processors.
    context: Option<Context>,
}

/// Where the execution context is.
#[derive(Clone, Copy, Debug)]
enum Context {
    /// The address of the pair in the global offset table.
    OfEachThread(u64),
    /// The address of `ruby_current_execution_context_ptr`.
    OfOneThread(u64),
}

/// Ruby in the memory of a process.
#[derive(Clone, Debug)]
struct Ruby {
    layout: Layout,
    context: Context,
    functions: Functions,
}

/// What differs between versions.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// The size of a `rb_control_frame_t`.
    frame: u64,
    /// `insns_info` of a body, and the size of its entries.
    lines: u64,
    line: u64,
    /// Whether lines are objects, and short strings have their lengths among their flags.
    is_old: bool,
}

impl Layout {
    /// `None`: the version is not known.
    fn of(version: Version) -> Option<Layout> {
        Some(match version? {
            (2, 7) | (3, 0) => Layout { frame: 56, lines: 120, line: 8, is_old: true },
            (3, 1) => Layout { frame: 64, lines: 120, line: 12, is_old: true },
            (3, 2) => Layout { frame: 64, lines: 112, line: 12, is_old: false },
            (3, 3 | 4) => Layout { frame: 56, lines: 112, line: 12, is_old: false },
            _ => return None,
        })
    }
}

/// The functions of one process, as far as they are known: by the addresses of their body, their label and their path.
type Functions = HashMap<[u64; 3], Arc<Lined>>;

/// `None`: there is no Ruby in it.
pub(super) fn stated(elf: &Elf<'_>, _: &Path) -> Option<Box<dyn interpreter::Stated>> {
    let version = elf.at(elf.address("ruby_version")?, 5).and_then(version);
    let of_one = elf.address("ruby_current_execution_context_ptr").map(Context::OfOneThread);
    let context = of_one.or_else(|| pair(elf).map(Context::OfEachThread));
    Some(Box::new(Stated { version, context }))
}

/// The address of the pair in the global offset table.
fn pair(elf: &Elf<'_>) -> Option<u64> {
    let function = elf.address("rb_errinfo")?;
    let code = elf.at(function, FUNCTION)?;
    let at = code.windows(LOAD.len()).position(|bytes| bytes == LOAD)?;
    let end = at + LOAD.len() + 4;
    let distance = code.get(end - 4..end)?.try_into().ok().map(i32::from_le_bytes)?;
    Some(function.wrapping_add(end as u64).wrapping_add_signed(distance.into()))
}

impl Stated {
    fn ruby(&self, bias: u64) -> Result<Ruby, String> {
        let layout = Layout::of(self.version).ok_or_else(|| unknown("Ruby", self.version))?;
        let context = match self.context.ok_or("This build of Ruby")? {
            Context::OfEachThread(pair) => Context::OfEachThread(pair.wrapping_add(bias)),
            Context::OfOneThread(variable) => Context::OfOneThread(variable.wrapping_add(bias)),
        };
        Ok(Ruby { layout, context, functions: Functions::new() })
    }
}

impl interpreter::Stated for Stated {
    fn placed(&self, bias: u64) -> Result<Box<dyn Interpreter>, String> {
        Ok(Box::new(self.ruby(bias)?))
    }
}

impl Interpreter for Ruby {
    fn frames(&mut self, stopped: &Stopped<'_>, memory: &mut Reader<'_>) -> Vec<RawFrame> {
        let mut walk = Walk { layout: self.layout, memory, functions: &mut self.functions };
        let context = walk.context(self.context, stopped.place.thread_pointer);
        context.and_then(|context| walk.frames(context)).unwrap_or_default()
    }

    fn joint(&self) -> Joint {
        Joint::Loop(MAIN_LOOP)
    }
}

struct Walk<'w, 'm> {
    layout: Layout,
    memory: &'w mut Reader<'m>,
    functions: &'w mut Functions,
}

impl Walk<'_, '_> {
    fn word(&mut self, from: u64, offset: u64) -> Option<u64> {
        self.memory.word(from.wrapping_add(offset))
    }

    fn context(&mut self, place: Context, thread: u64) -> Option<u64> {
        match place {
            Context::OfEachThread(pair) => self.local_context(pair, thread),
            Context::OfOneThread(variable) => {
                let context = self.memory.word(variable).filter(|context| *context != 0)?;
                let owner = self.word(context, THREAD)?;
                (self.word(owner, THREAD_ID)? == thread).then_some(context)
            }
        }
    }

    fn local_context(&mut self, pair: u64, thread: u64) -> Option<u64> {
        let [library, place] = [0, 8].map(|at| self.word(pair, at));
        // the loader has not written it yet
        let library = library.filter(|library| *library != 0)?;
        let table = self.word(thread, TABLE)?;
        let local = self.word(table, ENTRY.wrapping_mul(library))?;
        self.word(local, place?).filter(|context| *context != 0)
    }

    fn frames(&mut self, context: u64) -> Option<Vec<RawFrame>> {
        let [stack, size, mut at] = [STACK, STACK_SIZE, FRAMES].map(|field| self.word(context, field));
        let end = stack?.wrapping_add(size?.wrapping_mul(8));
        let mut frames: Vec<RawFrame> = Vec::new();
        for _ in 0..DEEPEST {
            let Some(frame) = at.filter(|frame| *frame < end) else { break };
            let environment = self.word(frame, ENVIRONMENT)?;
            let flags = self.word(environment, 0).unwrap_or(NATIVE);
            if flags & NATIVE == 0 && flags & KIND != DUMMY {
                frames.extend(self.frame(frame));
            }
            if flags & FINISH != 0 {
                frames.iter_mut().last().into_iter().for_each(|last| last.begins_run = true);
            }
            at = frame.checked_add(self.layout.frame);
        }
        Some(frames)
    }

    fn frame(&mut self, frame: u64) -> Option<RawFrame> {
        let sequence = self.word(frame, SEQUENCE).filter(|sequence| *sequence != 0)?;
        let body = self.word(sequence, BODY)?;
        let code = self.function(body)?;
        let instruction = self.word(frame, INSTRUCTION)?;
        Some(RawFrame::on_line(code, self.line(body, instruction), false))
    }

    fn function(&mut self, body: u64) -> Option<Arc<Lined>> {
        let [label, path] = [LABEL, PATH].map(|field| self.word(body, field));
        let key = [body, label?, path?];
        if let Some(known) = self.functions.get(&key) {
            return Some(Arc::clone(known));
        }
        let [_, label, path] = key;
        let line = self.word(body, FIRST_LINE)?;
        #[expect(clippy::cast_possible_truncation, reason = "the field has 32 bits, or a small number")]
        let line = if self.layout.is_old { line >> 1 } else { line } as u32;
        let function = LanguageFunction {
            language: "Ruby",
            name: self.text(label)?.into(),
            file: self.path(path)?.into(),
            line: line.max(1),
        };
        let function = Arc::new(Lined(Arc::new(function)));
        self.functions.insert(key, Arc::clone(&function));
        Some(function)
    }

    /// The line of an instruction: `rb_iseq_line_no` and `calc_pos`.
    fn line(&mut self, body: u64, instruction: u64) -> Option<u32> {
        let encoded = self.word(body, ENCODED)?;
        // it points to the next one
        let position = (instruction.checked_sub(encoded)? / 8).saturating_sub(1);
        let lines = body.wrapping_add(self.layout.lines);
        let (entries, count) = (self.word(lines, 0)?, self.memory.half(lines.wrapping_add(16))?);
        let entry = match count {
            0 => return None,
            1 => 0,
            _ => {
                let index = self.word(lines, 24)?;
                self.rank(index, position)?.checked_sub(1).filter(|entry| *entry < u64::from(count))?
            }
        };
        self.memory.half(entries.wrapping_add(self.layout.line * entry))
    }

    /// How many entries begin at a position or before it: `succ_index_lookup`. For the first 54 positions there is a table
    /// with seven bits each; after it, blocks of 512 bits, each with the sums before it and before its words.
    fn rank(&mut self, index: u64, position: u64) -> Option<u64> {
        let Some(after) = position.checked_sub(54) else {
            return Some(self.word(index, 8 * (position / 9))? >> (7 * (position % 9)) & 0x7f);
        };
        let block = index.wrapping_add(48 + after / 512 * 80);
        let (bit, word) = (after % 64, after % 512 / 64);
        let before = u64::from(self.memory.half(block)?);
        let inside = match word {
            0 => 0,
            word => self.word(block, 8)? >> (9 * (word - 1)) & 0x1ff,
        };
        let bits = self.word(block, 16 + 8 * word)? << (63 - bit);
        Some(before + inside + u64::from(bits.count_ones()))
    }

    /// A path, or a list of the path as written and the whole one.
    fn path(&mut self, object: u64) -> Option<String> {
        let flags = self.word(object, 0)?;
        if flags & TYPE != ARRAY {
            return self.text(object);
        }
        let entries = if flags & MARK != 0 { object.wrapping_add(16) } else { self.word(object, 32)? };
        let [written, whole] = [0, 8].map(|at| self.word(entries, at));
        // there is none of code that is in no file
        self.text(whole?).or_else(|| self.text(written?))
    }

    fn text(&mut self, object: u64) -> Option<String> {
        let flags = self.word(object, 0)?;
        if !object.is_multiple_of(8) || flags & TYPE != STRING {
            return None;
        }
        let (start, length) = match (flags & MARK != 0, self.layout.is_old) {
            (true, _) => (self.word(object, 24)?, self.word(object, 16)?),
            (false, true) => (object.wrapping_add(16), flags >> 14 & 0x1f),
            (false, false) => (object.wrapping_add(24), self.word(object, 16)?),
        };
        let bytes = self.memory.bytes(start, length, MAX_NAME)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// At the variable of the fuzz target.
#[cfg(fuzzing)]
pub(super) fn fuzzed(version: u8, at: u64) -> Option<Box<dyn Interpreter>> {
    let (version, context) = match version % 4 {
        0 => ((2, 7), Context::OfOneThread(at)),
        minor => ((3, minor), Context::OfEachThread(at)),
    };
    interpreter::Stated::placed(&Stated { version: Some(version), context: Some(context) }, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::super::memory::Memory;
    use super::super::random::{at, named, random, words};
    use super::*;

    #[test]
    fn random_memory_ends_without_a_panic() {
        for seed in 0..4 {
            let source = random(seed, |random| match random.u8(0..6) {
                0 => Some(random.u64(..)),
                1 => Some(random.u64(0..64)),
                2 => Some(STRING | random.u64(0..8) << 13),
                3 => Some(ARRAY | random.u64(0..2) << 13),
                _ => None,
            });
            let [of_one, of_each] = [Context::OfOneThread(0x1000), Context::OfEachThread(0x1000)];
            for (version, context) in [((2, 7), of_one), ((3, 1), of_each), ((3, 3), of_each)] {
                let stated = Stated { version: Some(version), context: Some(context) };
                let mut ruby = stated.ruby(0).unwrap();
                let mut memory = Memory::default();
                for thread in [0, 7, 0x1000, 0x2008] {
                    memory.forget();
                    named(&ruby.frames(&at(thread), &mut memory.reader(&source)));
                }
                let mut reader = memory.reader(&source);
                let functions = &mut ruby.functions;
                let mut walk = Walk { layout: ruby.layout, memory: &mut reader, functions };
                for address in (0x1000..0x4000).step_by(2040) {
                    assert!(walk.frames(address).is_none_or(|frames| frames.len() <= DEEPEST));
                    walk.path(address);
                    walk.line(address, address + 8 * seed);
                }
            }
        }
    }

    #[test]
    fn the_outermost_frame_is_no_function() {
        const METHOD: u64 = 0x1111_0001;
        const EVAL: u64 = 0x7777_0001;
        let (context, stack, frame, sequence, body, text) = (0x1000, 0x2000, 64, 0x3000, 0x4000, 0x5000);
        let mut known = vec![(context + STACK, stack), (context + STACK_SIZE, 4 * frame / 8)];
        known.extend([(context + FRAMES, stack), (sequence + BODY, body)]);
        known.extend([(body + LABEL, text), (body + PATH, text), (text + 16, u64::from(b'f'))]);
        known.push((text, STRING | 1 << 14));
        for (index, flags) in (0..).zip([METHOD, NATIVE | 0x5555_0001, EVAL | FINISH, DUMMY | FINISH]) {
            let (at, environment) = (stack + index * frame, 0x6000 + index * 8);
            known.extend([(at + SEQUENCE, sequence), (at + ENVIRONMENT, environment), (environment, flags)]);
        }
        let (source, mut memory, mut functions) = (words(known), Memory::default(), Functions::new());
        let layout = Layout::of(Some((3, 1))).unwrap();
        let mut walk = Walk { layout, memory: &mut memory.reader(&source), functions: &mut functions };
        let frames = walk.frames(context).unwrap();
        let frames: Vec<_> = frames.iter().map(RawFrame::named).collect();
        let frames: Vec<_> = frames.iter().map(|it| (&*it.function.name, it.begins_run)).collect();
        assert_eq!(frames, [("f", false), ("f", true)], "a method, and `<main>`");
    }

    #[test]
    fn an_unknown_version_is_named_and_not_read() {
        let refused = |version, context| Stated { version, context }.ruby(0).unwrap_err();
        let unknown = |version| refused(version, Some(Context::OfEachThread(0)));
        assert_eq!([Some((2, 6)), Some((3, 9)), None].map(unknown), ["Ruby 2.6", "Ruby 3.9", "Ruby"]);
        assert_eq!(refused(Some((3, 1)), None), "This build of Ruby");
    }
}
