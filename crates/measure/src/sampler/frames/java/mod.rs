//! The frames of Java in `HotSpot`, read from the memory of a stopped thread.
//!
//! The interpreter and the compilers of `HotSpot` generate code, which has no unwinding rules. `HotSpot` knows the size of a
//! frame of compiled code, and the interpreter's frames have their method below the frame pointer
//! (`src/hotspot/cpu/x86/frame_x86.hpp`). Where native code was called, the thread has the innermost frame of Java
//! (`JavaFrameAnchor`), and so has each call from native code to Java (`JavaCallWrapper`).

#[cfg(any(test, fuzzing))]
mod example;
mod heaps;
mod methods;
mod scopes;
mod tables;

use self::heaps::Blob;
use self::methods::{Method, MethodReader, Methods, Numbers};
use self::scopes::{Scope, ScopeReader};
use self::tables::{Places, Tables, ThreadList};
use super::elf::Elf;
use super::frame::{RawFrame, Stopped};
use super::interpreter::{self, DEEPEST, Interpreter};
use super::memory::Reader;
use crate::sampler::language::Joint;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The versions that were tried.
const VERSIONS: [u8; 5] = [11, 17, 21, 25, 26];

/// More threads are a damaged list.
const MAX_THREADS: u32 = 1 << 14;
/// More frames are not larger than this, bytes.
const MAX_FRAME: u64 = 1 << 20;

/// From the frame pointer of the interpreter: the stack pointer of the caller, the method, the instruction.
const SENDER: i64 = -8;
const METHOD: i64 = -24;
const INSTRUCTION: i64 = -64;
/// From the frame pointer of the stub that calls Java: the `JavaCallWrapper`.
const WRAPPER: i64 = -48;
/// An offset that no instruction has.
const NOWHERE: i64 = -1;

/// What a file with `HotSpot` in it says about it.
#[derive(Debug)]
struct Stated {
    major: Option<u8>,
    places: Places,
    /// The same in all processes.
    tables: Arc<OnceLock<Tables>>,
}

/// `HotSpot` in the memory of a process.
#[derive(Clone, Debug)]
struct Java {
    numbers: Numbers,
    places: Places,
    tables: Arc<OnceLock<Tables>>,
    bias: u64,
    methods: Methods,
    /// The `JavaThread` by the thread pointer.
    threads: HashMap<u64, u64>,
}

/// `None`: there is no `HotSpot` in it.
pub(super) fn stated(elf: &Elf<'_>, _: &Path) -> Option<Box<dyn interpreter::Stated>> {
    let address = |name: &str| elf.address(&format!("gHotSpotVM{name}"));
    let places = Places {
        structs: [address("Structs")?, address("StructEntryArrayStride")?],
        types: [address("Types")?, address("TypeEntryArrayStride")?],
    };
    let major = elf.version_after(b"64-Bit Server VM (").map(|(major, _)| major);
    Some(Box::new(Stated { major, places, tables: Arc::default() }))
}

impl interpreter::Stated for Stated {
    fn placed(&self, bias: u64) -> Result<Box<dyn Interpreter>, String> {
        let Some(major) = self.major else { return Err("This build of Java".to_owned()) };
        if !VERSIONS.contains(&major) {
            return Err(format!("OpenJDK {major}"));
        }
        Ok(Box::new(Java {
            numbers: Numbers { without_zeros: major >= 20 },
            places: self.places,
            tables: Arc::clone(&self.tables),
            bias,
            methods: Methods::new(),
            threads: HashMap::new(),
        }))
    }
}

impl Interpreter for Java {
    fn frames(&mut self, stopped: &Stopped<'_>, memory: &mut Reader<'_>) -> Vec<RawFrame> {
        let shared = Arc::clone(&self.tables);
        if shared.get().is_none()
            && let Some(tables) = Tables::of(self.places, self.bias, memory)
        {
            // another thread may have been faster
            let _ = shared.set(tables);
        }
        let Some(tables) = shared.get() else { return Vec::new() };
        let mut walk = Walk { java: self, tables, memory };
        let place = &stopped.place;
        if walk.blob(place.ip).is_some() {
            return walk
                .frames(At { ip: place.ip, sp: place.sp, fp: place.fp }, Some(place.hotspot_instruction));
        }
        let thread = walk.thread(place.thread_pointer);
        let caller = thread.and_then(|thread| walk.anchored(thread.wrapping_add(tables.thread.anchor)));
        caller.map_or_else(Vec::new, |caller| walk.frames(caller, None))
    }

    fn joint(&self) -> Joint {
        Joint::Leaf
    }
}

/// A frame, and the code that it executes.
#[derive(Clone, Copy, Debug)]
struct At {
    ip: u64,
    sp: u64,
    fp: u64,
}

struct Walk<'w, 'm> {
    java: &'w mut Java,
    tables: &'w Tables,
    memory: &'w mut Reader<'m>,
}

impl Walk<'_, '_> {
    fn below(&mut self, from: u64, offset: i64) -> Option<u64> {
        self.memory.word(from.wrapping_add_signed(offset))
    }

    fn word(&mut self, from: u64, offset: u64) -> Option<u64> {
        self.memory.word(from.wrapping_add(offset)).filter(|word| *word != 0)
    }

    fn blob(&mut self, ip: u64) -> Option<Blob> {
        Blob::at(ip, self.tables, self.java.bias, self.memory)
    }

    /// The thread with this thread pointer.
    fn thread(&mut self, pointer: u64) -> Option<u64> {
        let layout = &self.tables.thread;
        let is_it = |walk: &mut Self, thread: u64| {
            let of_system = walk.word(thread, layout.os_thread);
            of_system.and_then(|it| walk.word(it, layout.pthread)) == Some(pointer)
        };
        if let Some(known) = self.java.threads.get(&pointer).copied()
            && is_it(self, known)
        {
            return Some(known);
        }

        let thread = self.threads()?.into_iter().find(|thread| is_it(self, *thread))?;
        self.java.threads.insert(pointer, thread);
        Some(thread)
    }

    fn threads(&mut self) -> Option<Vec<u64>> {
        let list = self.word(self.tables.threads, self.java.bias)?;
        Some(match self.tables.thread.list {
            ThreadList::Array([length, threads]) => {
                let count = self.memory.half(list.wrapping_add(length))?.min(MAX_THREADS);
                let threads = self.word(list, threads)?;
                (0..count).filter_map(|n| self.word(threads, 8 * u64::from(n))).collect()
            }
            ThreadList::Chain(next) => {
                let all = std::iter::successors(Some(list), |thread| self.word(*thread, next));
                all.take(MAX_THREADS as usize).collect()
            }
        })
    }

    /// The frame of Java that called native code.
    fn anchored(&mut self, anchor: u64) -> Option<At> {
        let [sp, ip, fp] = self.tables.thread.of_anchor;
        let sp = self.word(anchor, sp)?;
        let ip = self.word(anchor, ip).or_else(|| self.below(sp, -8))?;
        let fp = self.memory.word(anchor.wrapping_add(fp))?;
        Some(At { ip, sp, fp })
    }

    /// From a frame outwards. `instruction`: the thread executes this one, and has the place in the bytecode in that
    /// register if the interpreter runs.
    fn frames(&mut self, innermost: At, mut instruction: Option<u64>) -> Vec<RawFrame> {
        let (mut frames, mut next) = (Vec::new(), Some(innermost));
        let call_stub = self.word(self.tables.call_stub, self.java.bias);
        for _ in 0..DEEPEST {
            let Some(at) = next else { break };
            let Some(blob) = self.blob(at.ip) else { break };
            let register = instruction.take();
            next = if Some(at.ip) == call_stub {
                let wrapper = self.below(at.fp, WRAPPER);
                wrapper.and_then(|it| self.anchored(it.wrapping_add(self.tables.thread.wrapper_anchor)))
            } else if blob.name == "Interpreter" {
                frames.extend(self.interpreted(at, register));
                self.interpreted_caller(at)
            } else {
                frames.extend(self.compiled(&blob, at.ip));
                self.caller(&blob, at, register.is_some())
            };
            next = next.filter(|outer| outer.sp > at.sp);
        }
        frames
    }

    fn method(&mut self, address: u64) -> Option<Arc<Method>> {
        let Java { methods, numbers, .. } = &mut *self.java;
        let (layout, numbers) = (&self.tables.of_method, *numbers);
        MethodReader { layout, numbers, memory: self.memory }.method(address, methods)
    }

    fn interpreted(&mut self, at: At, register: Option<u64>) -> Option<RawFrame> {
        let address = self.below(at.fp, METHOD)?;
        let code = self.method(address)?;
        let stored = self.below(at.fp, INSTRUCTION);
        let mut places = register.into_iter().chain(stored).filter_map(|at| at.checked_sub(code.code));
        let offset = places.find(|offset| *offset < code.code_size);
        let offset = offset.and_then(|offset| i64::try_from(offset).ok()).unwrap_or(NOWHERE);
        Some(RawFrame { code, offset, begins_run: false, native: None })
    }

    fn interpreted_caller(&mut self, at: At) -> Option<At> {
        let (sp, ip, fp) = (self.below(at.fp, SENDER)?, self.below(at.fp, 8)?, self.below(at.fp, 0)?);
        Some(At { ip, sp, fp })
    }

    /// A method, inside of it those that it has inlined.
    fn compiled(&mut self, blob: &Blob, ip: u64) -> Vec<RawFrame> {
        if blob.name != "nmethod" && blob.name != "native nmethod" {
            return Vec::new();
        }
        let Some(method) = self.word(blob.address, self.tables.method) else { return Vec::new() };
        let (numbers, memory) = (self.java.numbers, &mut *self.memory);
        let layout = self.tables.scopes.as_ref();
        let scopes = layout.and_then(|layout| ScopeReader { layout, numbers, memory }.scopes(blob, ip));
        let scopes =
            scopes.filter(|scopes| scopes.last().is_some_and(|outermost| outermost.method == method));
        let scopes = scopes.unwrap_or_else(|| vec![Scope { method, offset: None }]);
        let frame = |scope: Scope| {
            let code = self.method(scope.method)?;
            Some(RawFrame { code, offset: scope.offset.unwrap_or(NOWHERE), begins_run: false, native: None })
        };
        scopes.into_iter().filter_map(frame).collect()
    }

    fn caller(&mut self, blob: &Blob, at: At, is_innermost: bool) -> Option<At> {
        if blob.frame > 0 && blob.frame < MAX_FRAME && !(is_innermost && at.ip < blob.complete) {
            let sp = at.sp.wrapping_add(blob.frame);
            return Some(At { ip: self.below(sp, -8)?, sp, fp: self.below(sp, -16)? });
        }
        // the frame does not exist yet, or there is none
        let ip = self.below(at.sp, 0)?;
        if is_innermost && self.blob(ip).is_some() {
            return Some(At { ip, sp: at.sp.wrapping_add(8), fp: at.fp });
        }
        let sp = at.fp.wrapping_add(16);
        Some(At { ip: self.below(at.fp, 8)?, sp, fp: self.below(at.fp, 0)? })
    }
}

/// Of versions before and after 20, with the tables of `OpenJDK` 17 or those that the memory has.
#[cfg(fuzzing)]
pub(super) fn fuzzed(version: u8, _: u64) -> Option<Box<dyn Interpreter>> {
    let tables = if version % 4 < 2 { OnceLock::new() } else { OnceLock::from(example::tables()) };
    let major = Some(VERSIONS[usize::from(version) % VERSIONS.len()]);
    interpreter::Stated::placed(&Stated { major, places: example::PLACES, tables: Arc::new(tables) }, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::super::interpreter::Stated as _;
    use super::super::memory::Memory;
    use super::super::random::{named, near, random};
    use super::example::{PLACES, tables};
    use super::*;
    use crate::tracer::ptrace::place::StoppedAt;

    #[test]
    fn random_memory_ends_without_a_panic() {
        for seed in 0..40 {
            let source = random(seed, |random| match random.u8(0..8) {
                0 => Some(random.u64(..)),
                1 => Some(random.u64(0..8)),
                2 => Some(u64::from_le_bytes(*b"nmethod\0")),
                3 => Some(0x0007_0003_0001_0002),
                _ => None,
            });
            let mut memory = Memory::default();
            let mut random = fastrand::Rng::with_seed(seed);
            for tables in [Arc::default(), Arc::new(OnceLock::from(tables()))] {
                let (numbers, bias) = (Numbers { without_zeros: seed % 2 == 0 }, 0);
                let (methods, threads) = (Methods::new(), HashMap::new());
                let mut java = Java { numbers, places: PLACES, tables, bias, methods, threads };
                for _ in 0..40 {
                    let [ip, sp, fp, hotspot_instruction] = [0; 4].map(|_: u64| near(&mut random));
                    let place = StoppedAt {
                        ip,
                        sp,
                        fp,
                        hotspot_instruction,
                        thread_pointer: ip,
                        ..StoppedAt::default()
                    };
                    let mut reader = memory.reader(&source);
                    named(&java.frames(&Stopped { place, stack: &[] }, &mut reader));
                    if let Some(tables) = Arc::clone(&java.tables).get() {
                        let mut walk = Walk { java: &mut java, tables, memory: &mut reader };
                        walk.method(ip);
                        assert!(walk.frames(At { ip, sp, fp }, Some(hotspot_instruction)).len() <= DEEPEST);
                    }
                }
            }
        }
    }

    #[test]
    fn an_unknown_version_is_named_and_not_read() {
        let stated = |major| Stated { major, places: PLACES, tables: Arc::default() }.placed(0).unwrap_err();
        assert_eq!([Some(8), None].map(stated), ["OpenJDK 8", "This build of Java"]);
    }
}
