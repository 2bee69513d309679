//! The frames of Perl, read from the memory of a stopped thread.
//!
//! Calls are on the context stacks of the interpreter (`PERL_CONTEXT` of `cop.h`), and the statement that was running is
//! `PL_curcop`. An interpreter belongs to a thread, in the thread-local memory for which Perl has a key. A build without
//! threads has variables instead. Each call of a function of `PL_runops` executes a run of frames; while Perl compiles the
//! program, its outermost frame has none, and belongs to the run inside.

mod layouts;

use self::layouts::Layout;
use super::elf::Elf;
use super::frame::{Lined, RawFrame, Stopped};
use super::interpreter::{self, DEEPEST, Interpreter, MAX_NAME, unknown};
use super::memory::Reader;
use crate::sampler::language::{Joint, LanguageFunction};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Each call of `Perl_runops_standard` or `Perl_runops_debug` executes a run of frames.
const MAIN_LOOP: &str = "Perl_runops_";

/// More of them are a damaged list.
const MAX_STACKS: usize = 256;
/// The number of operations after which a function has begun its first statement.
const MAX_OPERATIONS: usize = 8;

/// From the thread pointer of glibc to the first 32 values of keys (`struct pthread.specific_1stblock`): pairs of a sequence
/// number and a value.
const SPECIFIC: u64 = 0x310;
const FIRST_KEYS: u32 = 32;

/// `PERL_SI`: `si_cxstack`, `si_prev`, `si_cxix`.
const CONTEXTS: u64 = 8;
const OUTER_STACK: u64 = 16;
const LAST_CONTEXT: u64 = 32;
/// `PERL_CONTEXT`: `blku_type`, `blku_u16`, `blku_oldcop`, `retop`.
const OPERATION: u64 = 2;
const CALLER: u64 = 16;
const RETURN: u64 = 48;
/// The lowest bits of `blku_type`: `CXt_SUB`, `CXt_EVAL`.
const KIND: u8 = 0xf;
const SUB: u8 = 9;
const EVAL: u8 = 11;
/// The operation is in `blku_u16` above these bits: `CxOLD_OP_TYPE`.
const OPERATION_SHIFT: u32 = 7;
/// `OP`: `op_next`, the bits of `op_type`. `COP`: `cop_line`, `cop_file` or `cop_filegv`.
const NEXT: u64 = 0;
const TYPE: u64 = 32;
const TYPE_BITS: u16 = 0x1ff;
const LINE: u64 = 36;
const FILE: u64 = 48;
/// `SV`: `sv_any`, `sv_flags`, `sv_u`.
const BODY: u64 = 0;
const FLAGS: u64 = 12;
const CONTENTS: u64 = 16;
/// In its flags: the type, and whether a hash has names. `SVt_PVGV`, `SVt_PVHV`, `SVt_PVCV`.
const SV_TYPE: u32 = 0xff;
const GLOB: u32 = 9;
const HASH: u32 = 12;
const FUNCTION: u32 = 13;
const HAS_NAMES: u32 = 0x200_0000;
/// `XPVCV`: `xcv_stash`, `xcv_start_u`, `xcv_gv_u`, `xcv_file`, `xcv_flags`; in those `CVf_NAMED`.
const STASH: u64 = 32;
const START: u64 = 40;
const NAME: u64 = 56;
const CODE_FILE: u64 = 64;
const CODE_FLAGS: u64 = 92;
const IS_NAMED: u32 = 0x8000;
/// `XPVGV`: the name, and the package.
const GLOB_NAME: u64 = 32;
const GLOB_STASH: u64 = 40;
/// `XPVHV.xhv_max`; `xpvhv_aux`: `xhv_name_count`.
const HASH_MAX: u64 = 24;
const NAME_COUNT: u64 = 28;
/// `HEK`: `hek_len`, `hek_key`.
const KEY_LENGTH: u64 = 4;
const KEY: u64 = 8;
/// `PERL_PHASE_START`.
const PHASE_START: u32 = 1;

/// What a file with Perl in it says about it.
#[derive(Clone, Copy, Debug)]
struct Stated {
    minor: u8,
    variables: Variables,
}

/// Where the interpreter is.
#[derive(Clone, Copy, Debug)]
enum Variables {
    /// The address of `PL_thr_key`.
    OfThreads(u64),
    /// The addresses of `PL_curcop`, `PL_curstackinfo`, `PL_compiling` and `PL_phase`.
    Global([u64; 4]),
}

/// Perl in the memory of a process.
#[derive(Clone, Debug)]
struct Perl {
    layout: Layout,
    variables: Variables,
    functions: HashMap<[u64; 4], Function>,
    units: HashMap<(&'static str, Arc<str>), Arc<Lined>>,
}

/// A function, and its first statement.
#[derive(Clone, Debug)]
struct Function {
    code: Arc<Lined>,
    first: u64,
}

/// `None`: there is no Perl in it.
pub(super) fn stated(elf: &Elf<'_>, _: &Path) -> Option<Box<dyn interpreter::Stated>> {
    let minor = *elf.at(elf.address("PL_version")?, 1)?.first()?;
    let global = || {
        let names = ["PL_curcop", "PL_curstackinfo", "PL_compiling", "PL_phase"];
        let [statement, stack, compiling, phase] = names.map(|name| elf.address(name));
        Some(Variables::Global([statement?, stack?, compiling?, phase?]))
    };
    let variables = elf.address("PL_thr_key").map(Variables::OfThreads).or_else(global)?;
    Some(Box::new(Stated { minor, variables }))
}

impl Stated {
    fn perl(&self, bias: u64) -> Result<Perl, String> {
        let layout = Layout::of(self.minor).ok_or_else(|| unknown("Perl", Some((5, self.minor))))?;
        let variables = match self.variables {
            Variables::OfThreads(key) => Variables::OfThreads(key.wrapping_add(bias)),
            Variables::Global(all) => Variables::Global(all.map(|address| address.wrapping_add(bias))),
        };
        Ok(Perl { layout, variables, functions: HashMap::new(), units: HashMap::new() })
    }
}

impl interpreter::Stated for Stated {
    fn placed(&self, bias: u64) -> Result<Box<dyn Interpreter>, String> {
        Ok(Box::new(self.perl(bias)?))
    }
}

impl Interpreter for Perl {
    fn frames(&mut self, stopped: &Stopped<'_>, memory: &mut Reader<'_>) -> Vec<RawFrame> {
        let Some(variables) = self.variables(memory, stopped.place.thread_pointer) else { return Vec::new() };
        let [statement, stack, compiling, phase] = variables;
        let (statement, stack) = (memory.word(statement), memory.word(stack));
        let is_compiled = memory.half(phase).is_some_and(|phase| phase > PHASE_START);
        let mut walk = Walk { perl: self, memory, compiling, frames: Vec::new() };
        let at = statement.filter(|it| *it != 0).and_then(|statement| walk.place(statement));
        let frames = at.zip(stack).and_then(|(at, stack)| walk.frames(at, stack));
        frames.map(|frames| if is_compiled { frames } else { joined(frames) }).unwrap_or_default()
    }

    fn joint(&self) -> Joint {
        Joint::Loop(MAIN_LOOP)
    }
}

/// The outermost frame without a run of its own.
fn joined(mut frames: Vec<RawFrame>) -> Vec<RawFrame> {
    if let [.., before, _] = frames.as_mut_slice() {
        before.begins_run = false;
    }
    frames
}

impl Perl {
    /// The addresses of the variables of a thread.
    fn variables(&self, memory: &mut Reader<'_>, thread: u64) -> Option<[u64; 4]> {
        match self.variables {
            Variables::Global(all) => Some(all),
            Variables::OfThreads(key) => {
                let key = memory.half(key).filter(|key| *key < FIRST_KEYS)?;
                let interpreter = memory.word(thread.wrapping_add(SPECIFIC + 16 * u64::from(key) + 8))?;
                (interpreter != 0).then(|| self.layout.interpreter.map(|at| interpreter.wrapping_add(at)))
            }
        }
    }
}

/// A statement, and where it is in the source.
#[derive(Clone, Debug)]
struct Place {
    statement: u64,
    file: Arc<str>,
    line: u32,
}

struct Walk<'w, 'm> {
    perl: &'w mut Perl,
    memory: &'w mut Reader<'m>,
    /// The statement that is compiled: it is the same one for all files.
    compiling: u64,
    frames: Vec<RawFrame>,
}

impl Walk<'_, '_> {
    fn word(&mut self, from: u64, offset: u64) -> Option<u64> {
        self.memory.word(from.wrapping_add(offset))
    }

    /// From the innermost statement outwards.
    fn frames(mut self, mut at: Place, innermost: u64) -> Option<Vec<RawFrame>> {
        let mut next = Some(innermost).filter(|stack| *stack != 0);
        for _ in 0..MAX_STACKS {
            let Some(stack) = next else { break };
            let contexts = self.word(stack, CONTEXTS)?;
            let [size, _] = self.perl.layout.context;
            let last = self.memory.half(stack.wrapping_add(LAST_CONTEXT))?.cast_signed();
            for index in (0..=last).rev() {
                if self.frames.len() >= DEEPEST {
                    return Some(self.frames);
                }
                let context = contexts.wrapping_add(size * u64::from(index.cast_unsigned()));
                at = self.context(context, at)?;
            }
            next = self.word(stack, OUTER_STACK).filter(|stack| *stack != 0);
        }
        let main = self.unit("<main>", &at.file);
        self.frames.push(RawFrame::on_line(main, Some(at.line), true));
        Some(self.frames)
    }

    /// Adds what a context stands for; returns its caller's place.
    fn context(&mut self, context: u64, at: Place) -> Option<Place> {
        let kind = self.memory.byte(context)? & KIND;
        if kind != SUB && kind != EVAL {
            return Some(at);
        }
        let caller = self.word(context, CALLER)?;
        let began = caller != at.statement;
        if kind == SUB {
            let [_, code] = self.perl.layout.context;
            let code = self.word(context, code)?;
            let function = self.function(code)?;
            // before its first statement, the current one is the caller's
            let line = (began || at.statement == function.first).then_some(at.line);
            let begins_run = self.word(context, RETURN)? == 0;
            self.frames.push(RawFrame::on_line(function.code, line, begins_run));
        } else if let Some(name) = self.unit_name(context).filter(|_| began) {
            let unit = self.unit(name, &at.file);
            self.frames.push(RawFrame::on_line(unit, Some(at.line), false));
        } else {
            return Some(at);
        }
        // what is compiled is what the function that runs now belongs to
        if caller == self.compiling { Some(Place { statement: caller, ..at }) } else { self.place(caller) }
    }

    /// Code that belongs to no function; `None`: it belongs to the function outside.
    fn unit_name(&mut self, context: u64) -> Option<&'static str> {
        let operation = self.memory.quarter(context.wrapping_add(OPERATION))? >> OPERATION_SHIFT;
        let known = self.perl.layout.operations;
        match operation {
            it if it == known.require => Some("<require>"),
            it if it == known.eval => Some("<eval>"),
            _ => None,
        }
    }

    fn unit(&mut self, name: &'static str, file: &Arc<str>) -> Arc<Lined> {
        let new = || {
            let (name, file) = (name.into(), Arc::clone(file));
            Arc::new(Lined(Arc::new(LanguageFunction { language: "Perl", name, file, line: 1 })))
        };
        Arc::clone(self.perl.units.entry((name, Arc::clone(file))).or_insert_with(new))
    }

    fn place(&mut self, statement: u64) -> Option<Place> {
        let line = self.memory.half(statement.wrapping_add(LINE))?;
        let file = self.word(statement, FILE)?;
        let file = match self.perl.variables {
            Variables::OfThreads(_) => self.memory.c_string(file, MAX_NAME)?,
            Variables::Global(_) => {
                let name = self.glob(file)?.0;
                name.strip_prefix("_<").unwrap_or(&name).to_owned()
            }
        };
        Some(Place { statement, file: file.into(), line })
    }

    fn function(&mut self, code: u64) -> Option<Function> {
        let body = self.object(code, FUNCTION)?;
        let [name, start, file] = [NAME, START, CODE_FILE].map(|field| self.word(body, field));
        let key = [code, name?, start?, file?];
        if let Some(known) = self.perl.functions.get(&key) {
            return Some(known.clone());
        }
        let [_, name, start, file] = key;
        let (first, line) = self.first_statement(start)?;
        let is_named = self.memory.half(body.wrapping_add(CODE_FLAGS))? & IS_NAMED != 0;
        let (name, package) =
            if is_named { (self.key(name)?, self.word(body, STASH)?) } else { self.glob(name)? };
        let package = self.package(package).filter(|package| package != "main");
        let function = LanguageFunction {
            language: "Perl",
            name: package.map_or(name.clone(), |package| format!("{package}::{name}")).into(),
            file: self.memory.c_string(file, MAX_NAME)?.into(),
            line,
        };
        let function = Function { code: Arc::new(Lined(Arc::new(function))), first };
        self.perl.functions.insert(key, function.clone());
        Some(function)
    }

    /// The first statement from an operation on, and its line.
    fn first_statement(&mut self, mut operation: u64) -> Option<(u64, u32)> {
        let next_state = self.perl.layout.operations.next_state;
        for _ in 0..MAX_OPERATIONS {
            let kind = self.memory.quarter(operation.wrapping_add(TYPE))? & TYPE_BITS;
            // that of a debugger is the next one
            if kind == next_state || kind == next_state + 1 {
                return Some((operation, self.memory.half(operation.wrapping_add(LINE))?));
            }
            operation = self.word(operation, NEXT)?;
        }
        None
    }

    /// The body of an object of this type.
    fn object(&mut self, object: u64, kind: u32) -> Option<u64> {
        let flags = self.memory.half(object.wrapping_add(FLAGS))?;
        (flags & SV_TYPE == kind).then(|| self.word(object, BODY)).flatten()
    }

    /// The name of a glob, and its package.
    fn glob(&mut self, glob: u64) -> Option<(String, u64)> {
        let body = self.object(glob, GLOB)?;
        let (name, package) = (self.word(body, GLOB_NAME)?, self.word(body, GLOB_STASH)?);
        Some((self.key(name)?, package))
    }

    fn package(&mut self, stash: u64) -> Option<String> {
        let body = self.object(stash, HASH)?;
        (self.memory.half(stash.wrapping_add(FLAGS))? & HAS_NAMES != 0).then_some(())?;
        let names = if let Some(inside) = self.perl.layout.hash_names {
            body.wrapping_add(inside)
        } else {
            let (array, most) = (self.word(stash, CONTENTS)?, self.word(body, HASH_MAX)?);
            array.wrapping_add(most.wrapping_add(1).wrapping_mul(8))
        };
        let name = self.word(names, 0)?;
        let count = self.memory.half(names.wrapping_add(NAME_COUNT))?.cast_signed();
        // with more than one, it is a list, whose first entry may be empty
        let name = match count {
            0 => name,
            1.. => self.word(name, 0)?,
            _ => self.word(name, 8)?,
        };
        self.key(name)
    }

    fn key(&mut self, key: u64) -> Option<String> {
        let length = self.memory.half(key.wrapping_add(KEY_LENGTH))?;
        let bytes = self.memory.bytes(key.wrapping_add(KEY), length.into(), MAX_NAME)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// At the variables of the fuzz target.
#[cfg(fuzzing)]
pub(super) fn fuzzed(version: u8, at: u64) -> Option<Box<dyn Interpreter>> {
    let variables = match version % 2 {
        0 => Variables::OfThreads(at),
        _ => Variables::Global([at, at + 8, at + 16, at + 24]),
    };
    interpreter::Stated::placed(&Stated { minor: 30 + version / 2 % 7 * 2, variables }, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::super::memory::Memory;
    use super::super::random::{at, named, random};
    use super::*;

    #[test]
    fn random_memory_ends_without_a_panic() {
        for seed in 0..8 {
            let source = random(seed, |random| match random.u8(0..8) {
                0 => Some(random.u64(..)),
                1 => Some(random.u64(0..64)),
                2 => Some(u64::from(FUNCTION | HAS_NAMES) << 32),
                3 => Some(u64::from(*random.choice(&[GLOB, HASH | HAS_NAMES]).unwrap_or(&0)) << 32),
                4 => Some(u64::from(*random.choice(&[SUB, EVAL]).unwrap_or(&0)) | random.u64(0..9) << 23),
                _ => None,
            });
            for variables in
                [Variables::OfThreads(0x1000), Variables::Global([0x1000, 0x1008, 0x1010, 0x1018])]
            {
                let minor = if seed % 2 == 0 { 32 } else { 36 };
                let mut perl = Stated { minor, variables }.perl(0).unwrap();
                let mut memory = Memory::default();
                for thread in [0, 0x1000, 0x2008] {
                    named(&perl.frames(&at(thread), &mut memory.reader(&source)));
                }
                for address in (0x1000..0x4000).step_by(8) {
                    let mut reader = memory.reader(&source);
                    let (perl, frames) = (&mut perl, Vec::new());
                    let mut walk = Walk { perl, memory: &mut reader, compiling: 0x1008, frames };
                    walk.function(address);
                    walk.package(address);
                    let from = Place { statement: 8, file: "f".into(), line: 1 };
                    assert!(walk.frames(from, address).is_none_or(|frames| frames.len() <= DEEPEST + 1));
                }
            }
        }
    }

    #[test]
    fn an_unknown_version_is_named_and_not_read() {
        let stated = Stated { minor: 99, variables: Variables::OfThreads(0) };
        assert_eq!(stated.perl(0).unwrap_err(), "Perl 5.99");
    }
}
