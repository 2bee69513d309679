//! The frames of PHP, read from the memory of a stopped thread.
//!
//! `executor_globals` has the innermost frame. A function that the interpreter's main loop executes has its frame and its
//! instruction in two registers, and stores the instruction only before it calls something. The figures are those of
//! `zend_globals.h`, `zend_compile.h`, `zend_string.h` and `zend.h` for 64-bit processors, of a build without threads.

use super::elf::Elf;
use super::frame::{Lined, RawFrame, Stopped};
use super::interpreter::{self, DEEPEST, Interpreter, MAX_NAME, Version, unknown};
use super::memory::Reader;
use crate::sampler::language::{Joint, LanguageFunction};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Each call of it executes a run of frames.
const MAIN_LOOP: &str = "execute_ex";

/// `zend_execute_data`: `opline`, `func`, `This.u1.type_info`, `prev_execute_data`; `ZEND_CALL_TOP`.
const INSTRUCTION: u64 = 0;
const FUNCTION: u64 = 24;
const FLAGS: u64 = 40;
const CALLER: u64 = 48;
const IS_TOP: u32 = 1 << 17;
/// `zend_op.lineno`.
const LINE: u64 = 24;
/// `zend_op_array`: `type`, `function_name`, `scope`; behind the name of its file its first and last line.
const KIND: u64 = 0;
const NAME: u64 = 8;
const SCOPE: u64 = 16;
const FIRST_LINE: u64 = 8;
const LAST_LINE: u64 = 12;
/// `ZEND_USER_FUNCTION`, `ZEND_EVAL_CODE`.
const USER: u8 = 2;
const EVAL: u8 = 4;
/// `zend_class_entry.name`. `zend_string`: `len`, `val`.
const CLASS_NAME: u64 = 8;
const LENGTH: u64 = 16;
const TEXT: u64 = 24;

/// What differs between versions.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// `executor_globals.current_execute_data`.
    innermost: u64,
    /// `zend_op_array.filename`.
    file: u64,
}

/// `scripts/php-layout` prints the figures of a version.
const VERSIONS: [((u8, u8), Layout); 5] = [
    ((8, 1), Layout { innermost: 488, file: 144 }),
    ((8, 2), Layout { innermost: 488, file: 152 }),
    ((8, 3), Layout { innermost: 488, file: 144 }),
    ((8, 4), Layout { innermost: 488, file: 168 }),
    ((8, 5), Layout { innermost: 512, file: 168 }),
];

impl Layout {
    fn of(version: Version) -> Option<Layout> {
        VERSIONS.iter().find(|(known, _)| Some(*known) == version).map(|(_, layout)| *layout)
    }
}

/// What a file with PHP in it says about it.
#[derive(Clone, Copy, Debug)]
struct Stated {
    version: Version,
    /// The address of `executor_globals`.
    globals: u64,
}

/// PHP in the memory of a process.
#[derive(Clone, Debug)]
struct Php {
    layout: Layout,
    globals: u64,
    /// By the addresses of the function, its name and its file.
    functions: HashMap<[u64; 3], Function>,
}

/// A function, and its lines.
#[derive(Clone, Debug)]
struct Function {
    code: Arc<Lined>,
    lines: [u32; 2],
    is_named: bool,
}

/// `None`: there is no PHP in it.
pub(super) fn stated(elf: &Elf<'_>, _: &Path) -> Option<Box<dyn interpreter::Stated>> {
    let globals = elf.address("executor_globals")?;
    Some(Box::new(Stated { version: elf.version_after(b"X-Powered-By: PHP/"), globals }))
}

impl Stated {
    fn php(&self, bias: u64) -> Result<Php, String> {
        let layout = Layout::of(self.version).ok_or_else(|| unknown("PHP", self.version))?;
        Ok(Php { layout, globals: self.globals.wrapping_add(bias), functions: HashMap::new() })
    }
}

impl interpreter::Stated for Stated {
    fn placed(&self, bias: u64) -> Result<Box<dyn Interpreter>, String> {
        Ok(Box::new(self.php(bias)?))
    }
}

impl Interpreter for Php {
    fn frames(&mut self, stopped: &Stopped<'_>, memory: &mut Reader<'_>) -> Vec<RawFrame> {
        let (frame, instruction) = (stopped.place.php_frame, stopped.place.php_instruction);
        let mut walk = Walk { php: self, memory };
        let innermost = walk.word(walk.php.globals, walk.php.layout.innermost);
        innermost.map_or_else(Vec::new, |innermost| walk.frames(innermost, [frame, instruction]))
    }

    fn joint(&self) -> Joint {
        Joint::Loop(MAIN_LOOP)
    }
}

struct Walk<'w, 'm> {
    php: &'w mut Php,
    memory: &'w mut Reader<'m>,
}

impl Walk<'_, '_> {
    fn word(&mut self, from: u64, offset: u64) -> Option<u64> {
        self.memory.word(from.wrapping_add(offset)).filter(|word| *word != 0)
    }

    /// `running`: the registers for the frame and the instruction, if the main loop executes that frame.
    fn frames(&mut self, innermost: u64, running: [u64; 2]) -> Vec<RawFrame> {
        let (mut frames, mut next) = (Vec::new(), Some(innermost));
        for _ in 0..DEEPEST {
            let Some(frame) = next else { break };
            frames.extend(self.frame(frame, running));
            if self.memory.half(frame.wrapping_add(FLAGS)).is_some_and(|flags| flags & IS_TOP != 0) {
                frames.iter_mut().last().into_iter().for_each(|last: &mut RawFrame| last.begins_run = true);
            }
            next = self.word(frame, CALLER);
        }
        frames
    }

    /// `None`: the frame belongs to a function of native code.
    fn frame(&mut self, frame: u64, [in_register, instruction]: [u64; 2]) -> Option<RawFrame> {
        let address = self.word(frame, FUNCTION)?;
        let is_main = self.word(frame, CALLER).is_none();
        let function = self.function(address, is_main)?;
        let stored = self.word(frame, INSTRUCTION);
        let running = Some(instruction).filter(|_| in_register == frame);
        let line = [running, stored].into_iter().flatten().find_map(|instruction| {
            let line = self.memory.half(instruction.wrapping_add(LINE))?;
            let [first, last] = function.lines;
            (!function.is_named || (first..=last).contains(&line)).then_some(line)
        });
        Some(RawFrame::on_line(function.code, line, false))
    }

    /// `is_main`: nothing called it.
    fn function(&mut self, address: u64, is_main: bool) -> Option<Function> {
        let kind = self.memory.byte(address.wrapping_add(KIND))?;
        if kind != USER && kind != EVAL {
            return None;
        }
        let file = address.wrapping_add(self.php.layout.file);
        let name = self.memory.word(address.wrapping_add(NAME))?;
        let key = [address, name, self.word(file, 0)?];
        if let Some(known) = self.php.functions.get(&key) {
            return Some(known.clone());
        }
        let [first, last] = [FIRST_LINE, LAST_LINE].map(|at| self.memory.half(file.wrapping_add(at)));
        let lines = [first?, last?];
        let of_file = if is_main { "<main>" } else { "<include>" };
        let language_name = if name == 0 { of_file.to_owned() } else { self.name(address, name)? };
        let function = LanguageFunction {
            language: "PHP",
            name: language_name.into(),
            file: self.text(key[2])?.into(),
            line: if name == 0 { 1 } else { lines[0].max(1) },
        };
        let code = Arc::new(Lined(Arc::new(function)));
        let function = Function { code, lines, is_named: name != 0 };
        self.php.functions.insert(key, function.clone());
        Some(function)
    }

    /// `Class::method`. From 8.4 on, the name of a closure has its file and its line, which a frame has anyway.
    fn name(&mut self, function: u64, name: u64) -> Option<String> {
        let mut name = self.text(name)?;
        if name.starts_with("{closure:") {
            name.replace_range("{closure".len().., "}");
        }
        let class = self.word(function, SCOPE).and_then(|scope| self.word(scope, CLASS_NAME));
        let class = class.and_then(|class| self.text(class));
        Some(class.map_or(name.clone(), |class| format!("{class}::{name}")))
    }

    fn text(&mut self, string: u64) -> Option<String> {
        let length = self.word(string, LENGTH)?;
        let bytes = self.memory.bytes(string.wrapping_add(TEXT), length, MAX_NAME)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// With the variables of the fuzz target.
#[cfg(fuzzing)]
pub(super) fn fuzzed(_: u8, at: u64) -> Option<Box<dyn Interpreter>> {
    let stated = Stated { version: Some((8, 2)), globals: at };
    interpreter::Stated::placed(&stated, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::super::memory::Memory;
    use super::super::random::{named, near, random};
    use super::*;
    use crate::tracer::ptrace::place::StoppedAt;

    #[test]
    fn random_memory_ends_without_a_panic() {
        for seed in 0..40 {
            let source = random(seed, |random| match random.u8(0..6) {
                0 => Some(random.u64(..)),
                1 => Some(random.u64(0..64)),
                2 => Some(random.u64(..) & !0xff | u64::from(USER)),
                _ => None,
            });
            let mut memory = Memory::default();
            let mut php = Stated { version: Some((8, 2)), globals: 0x1000 }.php(0).unwrap();
            let mut random = fastrand::Rng::with_seed(seed);
            for _ in 0..200 {
                php.globals = near(&mut random) - php.layout.innermost;
                let [php_frame, php_instruction] = [0; 2].map(|_: u64| near(&mut random));
                let place = StoppedAt { php_frame, php_instruction, ..StoppedAt::default() };
                let frames = php.frames(&Stopped { place, stack: &[] }, &mut memory.reader(&source));
                assert!(frames.len() <= DEEPEST);
                named(&frames);
            }
        }
    }

    #[test]
    fn an_unknown_version_is_named_and_not_read() {
        let error = |version| Stated { version, globals: 0 }.php(0).unwrap_err();
        assert_eq!([Some((7, 4)), None].map(error), ["PHP 7.4", "PHP"]);
    }
}
