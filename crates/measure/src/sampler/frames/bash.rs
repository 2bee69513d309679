//! The functions of bash, read from the memory of a stopped thread.
//!
//! bash keeps its calls in the arrays `FUNCNAME`, `BASH_SOURCE` and `BASH_LINENO`, whose first elements are the innermost
//! ones, and the line that it executes in `line_number`. The figures are those of `variables.h`, `hashlib.h`, `array.h` and
//! `command.h` for 64-bit processors.

use super::elf::Elf;
use super::frame::{Lined, RawFrame, Stopped};
use super::interpreter::{DEEPEST, Interpreter, MAX_NAME, Named, Stated};
use super::memory::Reader;
use crate::sampler::language::{Joint, LanguageFunction};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// More entries in a part of a table, or more parts, are a damaged one.
const MAX_ENTRIES: usize = 1 << 10;
const MAX_PARTS: u32 = 1 << 16;

/// `VAR_CONTEXT.table`. `HASH_TABLE`: `bucket_array`, `nbuckets`. `BUCKET_CONTENTS`: `next`, `key`, `data`.
const TABLE: u64 = 32;
const PARTS: u64 = 0;
const PART_COUNT: u64 = 8;
const NEXT: u64 = 0;
const KEY: u64 = 8;
const ENTRY: u64 = 16;
/// `SHELL_VAR`: `name`, `value`. `COMMAND.line`.
const NAME: u64 = 0;
const VALUE: u64 = 8;
const LINE: u64 = 8;
/// `ARRAY.head` in each version, whose `next` is the first element. `ARRAY_ELEMENT`: `value`, `next`.
const HEADS: [((u8, u8), u64); 4] = [((5, 0), 32), ((5, 1), 24), ((5, 2), 16), ((5, 3), 16)];
const ELEMENT: u64 = 8;
const NEXT_ELEMENT: u64 = 16;
/// `FNV_OFFSET`, `FNV_PRIME`.
const HASH: u32 = 2_166_136_261;
const PRIME: u32 = 16_777_619;

/// bash in the memory of a process.
#[derive(Clone, Debug)]
struct Bash {
    head: u64,
    /// The addresses of `global_variables`, `shell_functions` and `line_number`.
    variables: [u64; 3],
    functions: HashMap<[String; 2], Arc<Lined>>,
}

/// `None`: there is no bash in it.
pub(super) fn stated(elf: &Elf<'_>, _: &Path) -> Option<Box<dyn Stated>> {
    let variables = elf.addresses(["global_variables", "shell_functions", "line_number"])?;
    let version = elf.version_after(b"@(#)Bash version ");
    let at = |head, variables| {
        Box::new(Bash { head, variables, functions: HashMap::new() }) as Box<dyn Interpreter>
    };
    Some(Box::new(Named { name: "bash", known: &HEADS, version, variables, at }))
}

impl Interpreter for Bash {
    fn frames(&mut self, _: &Stopped<'_>, memory: &mut Reader<'_>) -> Vec<RawFrame> {
        Walk { bash: self, memory }.frames().unwrap_or_default()
    }

    fn joint(&self) -> Joint {
        Joint::Leaf
    }
}

struct Walk<'w, 'm> {
    bash: &'w mut Bash,
    memory: &'w mut Reader<'m>,
}

impl Walk<'_, '_> {
    fn word(&mut self, from: u64, offset: u64) -> Option<u64> {
        self.memory.word(from.wrapping_add(offset)).filter(|word| *word != 0)
    }

    fn frames(&mut self) -> Option<Vec<RawFrame>> {
        let [globals, _, line] = self.bash.variables;
        let table = self.word(globals, 0).and_then(|globals| self.word(globals, TABLE))?;
        let [names, files, lines] = ["FUNCNAME", "BASH_SOURCE", "BASH_LINENO"];
        let [names, files, lines] = [names, files, lines].map(|name| self.array(table, name));
        let mut line = self.memory.half(line);
        let mut frames = Vec::new();
        for ((name, file), called) in names?.into_iter().zip(files?).zip(lines?) {
            frames.push(RawFrame::on_line(self.function([name, file]), line, false));
            line = called.parse().ok();
        }
        Some(frames)
    }

    /// The elements of an array.
    fn array(&mut self, table: u64, name: &str) -> Option<Vec<String>> {
        let variable = self.variable(table, name)?;
        let place = self.bash.head;
        let head = self.word(variable, VALUE).and_then(|array| self.word(array, place))?;
        let (mut elements, mut next) = (Vec::new(), self.word(head, NEXT_ELEMENT)?);
        while next != head && elements.len() < DEEPEST {
            let text = self.word(next, ELEMENT)?;
            elements.push(self.memory.c_string(text, MAX_NAME)?);
            next = self.word(next, NEXT_ELEMENT)?;
        }
        Some(elements)
    }

    /// A variable, or a function, in a table of them.
    fn variable(&mut self, table: u64, name: &str) -> Option<u64> {
        let parts = self.memory.half(table.wrapping_add(PART_COUNT))?;
        if !parts.is_power_of_two() || parts > MAX_PARTS {
            return None;
        }
        let array = self.word(table, PARTS)?;
        let mut next = self.word(array, 8 * u64::from(hash(name) & (parts - 1)));
        for _ in 0..MAX_ENTRIES {
            let entry = next?;
            let key = self.word(entry, KEY)?;
            if self.memory.c_string(key, MAX_NAME)? == name {
                return self.word(entry, ENTRY);
            }
            next = self.word(entry, NEXT);
        }
        None
    }

    fn function(&mut self, key: [String; 2]) -> Arc<Lined> {
        if let Some(known) = self.bash.functions.get(&key) {
            return Arc::clone(known);
        }
        let [name, file] = &key;
        let function = LanguageFunction {
            language: "bash",
            // outside of functions
            name: if name == "main" { "<main>" } else { name.as_str() }.into(),
            file: file.as_str().into(),
            line: self.line(name).unwrap_or(1).max(1),
        };
        let function = Arc::new(Lined(Arc::new(function)));
        self.bash.functions.insert(key, Arc::clone(&function));
        function
    }

    /// Where a function begins.
    fn line(&mut self, name: &str) -> Option<u32> {
        let [_, functions, _] = self.bash.variables;
        let table = self.word(functions, 0)?;
        let function = self.variable(table, name)?;
        let stated = self.word(function, NAME)?;
        (self.memory.c_string(stated, MAX_NAME)? == name).then_some(())?;
        let command = self.word(function, VALUE)?;
        self.memory.half(command.wrapping_add(LINE))
    }
}

/// `hash_string` of `hashlib.c`.
fn hash(name: &str) -> u32 {
    // bytes above 127 are negative there
    name.bytes()
        .fold(HASH, |hash, byte| hash.wrapping_mul(PRIME) ^ i32::from(byte.cast_signed()).cast_unsigned())
}

/// At the variables of the fuzz target.
#[cfg(fuzzing)]
pub(super) fn fuzzed(version: u8, at: u64) -> Option<Box<dyn Interpreter>> {
    let variables = [0, 8, 16].map(|offset| at + offset);
    let (_, head) = HEADS[usize::from(version) % HEADS.len()];
    Some(Box::new(Bash { head, variables, functions: HashMap::new() }))
}

#[cfg(test)]
mod tests {
    use super::super::memory::Memory;
    use super::super::random::{at, named, random};
    use super::*;

    #[test]
    fn random_memory_ends_without_a_panic() {
        for seed in 0..40 {
            let source = random(seed, |random| match random.u8(0..8) {
                0 => Some(random.u64(..)),
                1 => Some(1 << random.u64(0..20)),
                2 => Some(u64::from_le_bytes(*b"FUNCNAME")),
                _ => None,
            });
            let mut bash = Bash { head: 16, variables: [0x1000, 0x1008, 0x1010], functions: HashMap::new() };
            let mut memory = Memory::default();
            named(&bash.frames(&at(0), &mut memory.reader(&source)));
            for address in (0x1000..0x4000).step_by(72) {
                let mut reader = memory.reader(&source);
                let mut walk = Walk { bash: &mut bash, memory: &mut reader };
                walk.variables(address);
            }
        }
    }

    impl Walk<'_, '_> {
        fn variables(&mut self, address: u64) {
            self.bash.variables = [address; 3];
            self.frames();
            self.line("FUNCNAME");
            assert!(self.array(address, "FUNCNAME").is_none_or(|all| all.len() <= DEEPEST));
        }
    }

    #[test]
    fn names_are_hashed_as_in_bash() {
        // FNV-1 of 32 bits
        assert_eq!([hash(""), hash("a"), hash("foobar")], [0x811c_9dc5, 0x050c_5d7e, 0x31f0_b262]);
    }
}
