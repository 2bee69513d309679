//! The frames of V8 in Node.js, read from the memory of a stopped thread.
//!
//! A function of JavaScript has a native frame: at the frame pointer are the caller's frame pointer and the return address,
//! below them the context, the function, and of an interpreted one its bytecode and the place in it
//! (`src/execution/frame-constants.h` of V8). So every place of the stack that looks like such a frame is read. Old ones
//! are among them, and native code is between them: which ones count is found out when the native stack is unwound.
//!
//! V8 moves its objects, and another one may then be at the address of the first. So what is known is recognised by what it
//! points to, too, and every object is checked by its type.

#[cfg(feature = "bpf")]
mod copied;
mod layout;
mod objects;
mod scope;
mod text;

use self::layout::Layout;
use self::objects::{Heap, SOURCE, is_pointer, small};
use self::text::{Positions, Source};
use super::elf::Elf;
use super::frame::{self, RawFrame, RawNative, Stopped};
use super::interpreter::{self, Interpreter};
use super::memory::Reader;
use crate::sampler::language::{Joint, LanguageFunction};
#[cfg(feature = "bpf")]
use crate::tracer::bpf::samples_session::Image;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The first and the last version of V8 that was tried: those of Node.js 16 and 26.
const VERSIONS: std::ops::RangeInclusive<u32> = 9..=14;

/// What every Node.js exports, also one that is stripped: a function of its Node-API.
const EXPORTED: &str = "napi_create_function";

/// What a file with V8 in it says about it.
#[derive(Debug)]
struct Stated {
    version: (u32, u32),
    /// `None`: it does not say where its objects have their fields.
    layout: Option<Arc<Layout>>,
}

/// V8 in the memory of a process.
#[derive(Clone, Debug)]
struct Node {
    layout: Arc<Layout>,
    functions: Functions,
}

/// The functions of one process, as far as they are known.
#[derive(Clone, Debug, Default)]
struct Functions {
    /// By addresses: of the function's description, its name, its script, its bytecode and the table of positions.
    /// Also whether something of it was not among the known parts of memory.
    known: HashMap<[u64; 5], (Option<Arc<Function>>, bool)>,
    /// How often such ones were met.
    unread: u64,
    /// By the addresses of the script and its source.
    sources: HashMap<[u64; 2], Arc<Source>>,
}

/// A function, as far as it was copied.
#[derive(Debug)]
struct Function {
    name: String,
    file: String,
    source: Arc<Source>,
    /// Where it begins in the source.
    start: u32,
    positions: Positions,
    named: OnceLock<Arc<LanguageFunction>>,
}

/// `None`: there is no V8 in it.
pub(super) fn stated(elf: &Elf<'_>, _: &Path) -> Option<Box<dyn interpreter::Stated>> {
    let [major, minor] = ["major", "minor"].map(|part| {
        let symbol = format!("_ZN2v88internal7Version6{part}_E");
        elf.address(&symbol).and_then(|at| elf.word(at)).unwrap_or_default()
    });
    let version = (major, minor);
    let layout = Layout::of(elf, version).map(Arc::new);
    let is_node = layout.is_some() || elf.address(EXPORTED).is_some();
    is_node.then(|| Box::new(Stated { version, layout }) as Box<dyn interpreter::Stated>)
}

impl interpreter::Stated for Stated {
    fn placed(&self, _: u64) -> Result<Box<dyn Interpreter>, String> {
        let (major, minor) = self.version;
        match &self.layout {
            Some(layout) if VERSIONS.contains(&major) => {
                Ok(Box::new(Node { layout: Arc::clone(layout), functions: Functions::default() }))
            }
            Some(_) if major > 0 => Err(format!("V8 {major}.{minor}")),
            // stripped libraries do not say it
            _ => Err("This build of V8".to_owned()),
        }
    }

    #[cfg(feature = "bpf")]
    fn copied(&self) -> Option<Image> {
        let layout = self.layout.as_deref().filter(|_| VERSIONS.contains(&self.version.0));
        layout.map(copied::image)
    }
}

impl frame::Code for Function {
    fn function(&self) -> Arc<LanguageFunction> {
        let named = || LanguageFunction {
            language: "JavaScript",
            name: self.name.as_str().into(),
            file: self.file.as_str().into(),
            line: self.source.line(self.start).unwrap_or_default(),
        };
        Arc::clone(self.named.get_or_init(|| Arc::new(named())))
    }

    /// `offset` is in the bytecode.
    fn line(&self, offset: i64) -> Option<u32> {
        self.positions.at(offset).and_then(|position| self.source.line(position))
    }
}

/// Where a frame of a function has what belongs to it, in bytes below the frame pointer.
const CONTEXT: usize = 8;
const FUNCTION: usize = 16;
/// An offset that no instruction has. The entry of a function has -1.
const NOWHERE: i64 = i64::MIN;

impl Interpreter for Node {
    /// What may be frames.
    fn frames(&mut self, stopped: &Stopped<'_>, memory: &mut Reader<'_>) -> Vec<RawFrame> {
        let (sp, stack) = (stopped.place.sp, stopped.stack);
        let end = sp.saturating_add(stack.len() as u64);
        let word = |at: usize| stack.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
        let heap = Heap { layout: &self.layout, memory };
        let mut walk = Walk { heap, stopped, functions: &mut self.functions };

        let at_frame = |at: &usize| {
            let pointer = sp.wrapping_add(*at as u64);
            let (caller, context, function) = (word(*at), word(*at - CONTEXT), word(*at - FUNCTION));
            caller.is_some_and(|caller| caller > pointer && caller < end && caller % 8 == 0)
                && context.is_some_and(is_pointer)
                && function.is_some_and(is_pointer)
        };
        let places = (FUNCTION..stack.len()).step_by(8).filter(at_frame);
        places.filter_map(|at| walk.frame(sp.wrapping_add(at as u64), word(at - FUNCTION)?)).collect()
    }

    fn joint(&self) -> Joint {
        Joint::FramePointers
    }

    fn unread(&self) -> u64 {
        self.functions.unread
    }
}

struct Walk<'w, 'm> {
    heap: Heap<'w, 'm>,
    stopped: &'w Stopped<'w>,
    functions: &'w mut Functions,
}

impl Walk<'_, '_> {
    fn frame(&mut self, pointer: u64, function: u64) -> Option<RawFrame> {
        let layout = self.heap.layout;
        if self.heap.kind(function)? != layout.types.function {
            return None;
        }
        let shared = self.heap.object(function, layout.shared, layout.types.shared)?;
        let bytecode = self.bytecode(pointer);
        let code = self.function(shared, bytecode)?;

        let offset = bytecode.and_then(|_| self.offset(pointer));
        // code that was compiled without optimisation has the bytecode, but no offset: registers have old ones
        let interpreted = bytecode.filter(|_| offset.is_some());
        let offset_in_registers = interpreted.and_then(|it| self.offset_in_registers(pointer, it));
        let native = Some(RawNative { pointer, offset_in_registers });
        Some(RawFrame { code, offset: offset.unwrap_or(NOWHERE), begins_run: false, native })
    }

    /// The bytecode of the function; `None`: the frame executes optimised code.
    fn bytecode(&mut self, pointer: u64) -> Option<u64> {
        let layout = self.heap.layout;
        let bytecode = self.heap.memory.word(pointer.wrapping_add_signed(layout.frame.bytecode))?;
        (self.heap.kind(bytecode)? == layout.types.bytecode).then_some(bytecode)
    }

    /// The instruction that the interpreter stored: the one that calls something.
    fn offset(&mut self, pointer: u64) -> Option<i64> {
        let layout = self.heap.layout;
        let offset = self.heap.memory.word(pointer.wrapping_add_signed(layout.frame.offset))?;
        Some(i64::from(small(offset)?) - layout.first_bytecode)
    }

    /// The instruction by the registers, if they are of this frame. Compiled builtins may keep anything in them, but only an
    /// offset of this bytecode is taken.
    fn offset_in_registers(&mut self, pointer: u64, bytecode: u64) -> Option<i64> {
        let place = &self.stopped.place;
        let is_running = place.fp == pointer && place.v8_bytecode == bytecode;
        let offset = i64::try_from(place.v8_offset).ok().filter(|_| is_running)?;
        let offset = offset.checked_sub(self.heap.layout.first_bytecode)?;
        let length = i64::from(self.heap.array_length(bytecode)?);
        (0..length).contains(&offset).then_some(offset)
    }

    fn function(&mut self, shared: u64, bytecode: Option<u64>) -> Option<Arc<Function>> {
        let layout = self.heap.layout;
        let name = self.heap.field(shared, layout.name_or_scope)?;
        let script = self.heap.object(shared, layout.script, layout.types.script)?;
        let positions = bytecode.and_then(|bytecode| self.heap.field(bytecode, layout.positions));
        let key = [shared, name, script, bytecode.unwrap_or_default(), positions.unwrap_or_default()];
        let (function, is_unread) = if let Some(known) = self.functions.known.get(&key) {
            known.clone()
        } else {
            let before = self.heap.memory.unknown();
            let function = self.described(name, script, bytecode).map(Arc::new);
            let described = (function, self.heap.memory.unknown() > before);
            self.functions.known.insert(key, described.clone());
            described
        };
        self.functions.unread += u64::from(is_unread);
        function
    }

    fn described(&mut self, scope: u64, script: u64, bytecode: Option<u64>) -> Option<Function> {
        let source = self.source(script)?;
        let layout = self.heap.layout;
        let file = self.heap.field(script, layout.script_name)?;
        // a script without a name has another object there
        let file = self.heap.name(file).unwrap_or_else(|| "<anonymous>".to_owned());
        let scope = self.heap.scope(scope, source.text.length())?;
        let table = bytecode.and_then(|bytecode| self.heap.table(bytecode, layout.positions));
        let positions = Positions { table: table.unwrap_or_default(), marks: layout.marks };
        let (name, start, named) = (scope.name, scope.start, OnceLock::new());
        Some(Function { name, file: path(&file), source, start, positions, named })
    }

    fn source(&mut self, script: u64) -> Option<Arc<Source>> {
        let source = self.heap.field(script, self.heap.layout.script_source)?;
        if let Some(known) = self.functions.sources.get(&[script, source]) {
            return Some(Arc::clone(known));
        }
        let text = Arc::new(Source::new(self.heap.text(source, SOURCE)?));
        self.functions.sources.insert([script, source], Arc::clone(&text));
        Some(text)
    }
}

/// A module of ECMAScript has a URL. A byte of a path that is no letter of it is `%` with two digits.
fn path(name: &str) -> String {
    let Some(encoded) = name.strip_prefix("file://") else { return name.to_owned() };
    let (mut bytes, mut rest) = (Vec::new(), encoded.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%');
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Of Node.js 20, with what differs in later versions.
#[cfg(fuzzing)]
pub(super) fn fuzzed(version: u8, _: u64) -> Option<Box<dyn Interpreter>> {
    let mut layout = layout::example::layout();
    layout.has_early_positions = version % 2 == 0;
    Some(Box::new(Node { layout: Arc::new(layout), functions: Functions::default() }))
}

#[cfg(test)]
mod tests {
    use super::super::memory::Memory;
    use super::super::random::{named, near, random};
    use super::*;
    use crate::tracer::ptrace::place::StoppedAt;

    /// The entry of a function has a position, too.
    #[test]
    fn a_frame_without_an_offset_has_no_line() {
        let table = vec![2, 0x6c, 7, 0x40];
        let positions = Positions { table, marks: text::Marks::Bits };
        assert_eq!((positions.at(-1), positions.at(NOWHERE)), (Some(26), None));
    }

    #[test]
    fn a_url_is_a_path() {
        let of = |name: &str| path(name);
        assert_eq!(of("file:///a%20b/%C3%A4.mjs"), "/a b/\u{e4}.mjs");
        assert_eq!(
            (of("/a%20b.js"), of("file:///a%2"), of("node:fs")),
            ("/a%20b.js".into(), "/a%2".into(), "node:fs".into())
        );
    }

    /// Words are pointers, small integers, or parts of objects' types.
    #[test]
    fn random_memory_ends_without_a_panic() {
        for seed in 0..40 {
            let mut layout = layout::example::layout();
            layout.has_early_positions = seed % 2 == 0;
            let types = &layout.types;
            let objects = [types.function, types.shared, types.scope, types.script, types.bytecode];
            let types = [&objects[..], &[types.bytes[0], 0, 8, 9, 10, 13]].concat();
            let source = random(seed, |random| {
                Some(match random.u8(0..7) {
                    0 => random.u64(..),
                    1 => random.u64(0..64) << 32,
                    // the type is in the upper half of its word
                    2 | 3 => u64::from(*random.choice(&types).unwrap_or(&0)) << 32,
                    _ => near(random) + 1,
                })
            });
            let mut stack = vec![0; 4096];
            source(0x2000, &mut stack);
            for (n, word) in stack.chunks_exact_mut(8).enumerate().filter(|(n, _)| n % 3 == 0) {
                word.copy_from_slice(&(0x2000 + 8 * n as u64 + 8).to_le_bytes());
            }
            let place = StoppedAt {
                sp: 0x2000,
                fp: 0x2030,
                v8_offset: 60,
                v8_bytecode: 0x3001,
                ..StoppedAt::default()
            };
            let mut memory = Memory::default();
            let mut node = Node { layout: Arc::new(layout), functions: Functions::default() };
            for length in [4096, 4095, 17, 8, 0] {
                let stopped = Stopped { place, stack: &stack[..length] };
                let frames = node.frames(&stopped, &mut memory.reader(&source));
                assert!(frames.len() <= length / 8);
                named(&frames);
            }
            let mut reader = memory.reader(&source);
            let mut heap = Heap { layout: &node.layout, memory: &mut reader };
            for object in (0x1001..0x4000).step_by(344) {
                heap.text(object, SOURCE);
                heap.scope(object, 1 << 20);
            }
        }
    }
}
