//! The methods of Java, and the lines of their bytecode.

use super::super::frame::Code;
use super::super::memory::Reader;
use super::tables::{MethodLayout, SourceName};
use crate::sampler::language::LanguageFunction;
use std::collections::HashMap;
use std::sync::Arc;

/// The longest names and tables, bytes.
const MAX_NAME: u64 = 1 << 12;
const MAX_TABLE: u64 = 1 << 20;
/// The lowest bit of `ConstMethod::_flags`.
const HAS_LINES: u16 = 1;

/// The methods of one process, as far as they are known: by the addresses of the method, its constant part, its constants
/// and its class.
pub(super) type Methods = HashMap<[u64; 4], Arc<Method>>;

/// A method, as far as it was copied.
#[derive(Debug)]
pub(super) struct Method {
    function: Arc<LanguageFunction>,
    /// Where its bytecode is.
    pub(super) code: u64,
    pub(super) code_size: u64,
    lines: LineTable,
}

impl Code for Method {
    fn function(&self) -> Arc<LanguageFunction> {
        Arc::clone(&self.function)
    }

    /// `offset` is in the bytecode.
    fn line(&self, offset: i64) -> Option<u32> {
        self.lines
            .pairs()
            .take_while(|(at, _)| *at <= offset)
            .last()
            .and_then(|(_, line)| u32::try_from(line).ok())
    }
}

/// How numbers are written: `UNSIGNED5` of `src/hotspot/share/utilities/unsigned5.hpp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    /// From version 20 on, no byte is zero.
    pub(super) without_zeros: bool,
}

/// `CompressedLineNumberReadStream`.
#[derive(Debug)]
struct LineTable {
    bytes: Vec<u8>,
    numbers: Numbers,
}

impl LineTable {
    /// Offsets in the bytecode, and the lines that begin there.
    fn pairs(&self) -> impl Iterator<Item = (i64, i64)> {
        let (mut bytes, mut at, mut line) = (self.bytes.iter(), 0_i64, 0_i64);
        std::iter::from_fn(move || {
            let (further, lines) = match *bytes.next()? {
                0 => return None,
                0xff => (self.numbers.signed(&mut bytes)?, self.numbers.signed(&mut bytes)?),
                both => (i64::from(both >> 3), i64::from(both & 7)),
            };
            at = at.wrapping_add(further);
            line = line.wrapping_add(lines);
            Some((at, line))
        })
    }
}

impl Numbers {
    pub(super) fn unsigned(self, bytes: &mut std::slice::Iter<'_, u8>) -> Option<u32> {
        let lowest = u8::from(self.without_zeros);
        let low_codes = 192 - lowest;
        let mut sum = 0_u32;
        for n in 0..5 {
            let byte = bytes.next()?.checked_sub(lowest)?;
            sum = sum.wrapping_add(u32::from(byte) << (6 * n));
            if byte < low_codes {
                break;
            }
        }
        Some(sum)
    }

    fn signed(self, bytes: &mut std::slice::Iter<'_, u8>) -> Option<i64> {
        let value = self.unsigned(bytes)?;
        Some(i64::from(value >> 1) ^ -i64::from(value & 1))
    }
}

/// Reads methods.
pub(super) struct MethodReader<'r, 'm> {
    pub(super) layout: &'r MethodLayout,
    pub(super) numbers: Numbers,
    pub(super) memory: &'r mut Reader<'m>,
}

impl MethodReader<'_, '_> {
    fn word(&mut self, from: u64, offset: u64) -> Option<u64> {
        self.memory.word(from.wrapping_add(offset)).filter(|word| *word != 0)
    }

    /// `None`: there is no method at this address.
    pub(super) fn method(&mut self, address: u64, known: &mut Methods) -> Option<Arc<Method>> {
        let layout = self.layout;
        let constant = self.word(address, layout.constant)?;
        let constants = self.word(constant, layout.constants)?;
        let class = self.word(constants, layout.holder)?;
        let key = [address, constant, constants, class];
        if let Some(method) = known.get(&key) {
            return Some(Arc::clone(method));
        }
        let method = Arc::new(self.read(constant, constants, class)?);
        known.insert(key, Arc::clone(&method));
        Some(method)
    }

    fn read(&mut self, constant: u64, constants: u64, class: u64) -> Option<Method> {
        let layout = self.layout;
        let source = match layout.source {
            SourceName::OfConstants(at) => constants.wrapping_add(at),
            SourceName::OfClass(at) => class.wrapping_add(at),
        };
        let source = self.constant(constants, source);
        let class = self.word(class, layout.class_name)?;
        let class = self.symbol(class)?;
        // a hidden class has a number, which is another one in each run
        let class = class.split_once("+0x").map_or(&*class, |(class, _)| class);
        let name = self.constant(constants, constant.wrapping_add(layout.name))?;
        let code_size = self.memory.quarter(constant.wrapping_add(layout.code_size))?.into();
        let code = constant.wrapping_add(layout.code);
        let lines = self.lines(constant, code.wrapping_add(code_size)).unwrap_or_default();
        let lines = LineTable { bytes: lines, numbers: self.numbers };

        let (package, class) = class.rsplit_once('/').unwrap_or(("", class));
        let file = match source {
            Some(source) if package.is_empty() => source,
            Some(source) => format!("{package}/{source}"),
            None => format!("{package}/{class}"),
        };
        let first = lines.pairs().map(|(_, line)| line).min().and_then(|line| u32::try_from(line).ok());
        let function = LanguageFunction {
            language: "Java",
            name: format!("{class}.{name}").into(),
            file: file.into(),
            line: first.unwrap_or(1).max(1),
        };
        Some(Method { function: Arc::new(function), code, code_size, lines })
    }

    /// The text among the constants whose number is at `at`.
    fn constant(&mut self, constants: u64, at: u64) -> Option<String> {
        let index = self.memory.quarter(at).filter(|index| *index != 0)?;
        let count = self.memory.half(constants.wrapping_add(self.layout.length))?;
        (u32::from(index) < count).then_some(())?;
        let entries = constants.wrapping_add(self.layout.entries);
        let symbol = self.word(entries, 8 * u64::from(index))?;
        self.symbol(symbol)
    }

    fn symbol(&mut self, symbol: u64) -> Option<String> {
        let [length, body] = self.layout.symbol;
        let length = self.memory.quarter(symbol.wrapping_add(length))?;
        let bytes = self.memory.bytes(symbol.wrapping_add(body), length.into(), MAX_NAME)?;
        // names that no class can have are other memory
        String::from_utf8(bytes).ok().filter(|name| !name.is_empty() && !name.contains(char::is_control))
    }

    /// The table of lines is behind the bytecode.
    fn lines(&mut self, constant: u64, start: u64) -> Option<Vec<u8>> {
        let flags = self.memory.quarter(constant.wrapping_add(self.layout.flags))?;
        let words = self.memory.half(constant.wrapping_add(self.layout.size))?;
        let end = constant.wrapping_add(8 * u64::from(words));
        (flags & HAS_LINES != 0).then_some(())?;
        self.memory.bytes(start, end.checked_sub(start)?, MAX_TABLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Numbers = Numbers { without_zeros: false };
    const NEW: Numbers = Numbers { without_zeros: true };

    #[test]
    fn numbers_are_written_without_zeros_in_later_versions() {
        assert_eq!(OLD.unsigned(&mut [5].iter()), Some(5));
        assert_eq!(NEW.unsigned(&mut [6].iter()), Some(5));
        // 192 + 64 * 1
        assert_eq!(OLD.unsigned(&mut [192, 1].iter()), Some(256));
        assert_eq!(NEW.unsigned(&mut [192, 2].iter()), Some(255));
        assert_eq!(NEW.unsigned(&mut [0].iter()), None);
        assert_eq!([4, 3].map(|byte| OLD.signed(&mut [byte].iter())), [Some(2), Some(-2)]);
    }

    #[test]
    fn a_line_begins_at_an_offset_and_lasts_until_the_next_one() {
        // at 0 line 3; 5 further two lines later; by the long form 10 further and one line back
        let table = LineTable { bytes: vec![3, 5 << 3 | 2, 0xff, 20, 1, 0], numbers: OLD };
        assert_eq!(table.pairs().collect::<Vec<_>>(), [(0, 3), (5, 5), (15, 4)]);
    }

    #[test]
    fn damaged_tables_end() {
        for byte in [0, 1, 0x7f, 0xff] {
            for numbers in [OLD, NEW] {
                let table = LineTable { bytes: vec![byte; 40], numbers };
                assert!(table.pairs().count() <= 40);
            }
        }
    }
}
