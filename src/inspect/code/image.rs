//! The memory of a program or library at its start: the segments of its file, and the words that the loader fills.

use super::functions;
use super::state::Value;
use crate::inspect::headers::{Elf, PAGE};
use object::{Object, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SymbolKind};
use std::collections::HashMap;

pub(in crate::inspect) struct Image<'d> {
    bytes: &'d [u8],
    /// Address, size in memory, file offset, size in the file.
    segments: Vec<[u64; 4]>,
    pub(super) bits: u32,
    /// Words that the loader fills, by their address.
    slots: HashMap<u64, Value>,
    /// The numbers of the functions at these addresses.
    named: HashMap<u64, u32>,
    names: Vec<String>,
    pub(in crate::inspect) entry: u64,
    pub(super) constructors: Vec<u64>,
    pub(super) destructors: Vec<u64>,
}

/// The longest list of constructors that is read.
const MAX_FUNCTIONS: u64 = 1000;

impl<'d> Image<'d> {
    /// `None`: the code is for a machine whose instructions are not followed.
    pub(in crate::inspect) fn new(elf: &Elf, bytes: &'d [u8]) -> Option<Image<'d>> {
        let bits = match (elf.machine_name, elf.class) {
            ("x86-64", 64) => 64,
            ("i386", 32) => 32,
            _ => return None,
        };
        let segments = elf.loads().map(|s| [s.address, s.memory_size, s.offset, s.file_size]).collect();
        let mut image = Image {
            bytes,
            segments,
            bits,
            slots: HashMap::new(),
            named: HashMap::new(),
            names: Vec::new(),
            entry: elf.entry,
            constructors: Vec::new(),
            destructors: Vec::new(),
        };
        if let Ok(file) = object::File::parse(bytes) {
            image.read_names(&file);
            image.read_slots(&file);
        }
        image.read_start_functions(elf);
        Some(image)
    }

    /// Functions that are known by their names.
    fn read_names(&mut self, file: &object::File<'_>) {
        let symbols = file.symbols().chain(file.dynamic_symbols());
        for symbol in symbols.filter(|s| s.is_definition() && s.kind() == SymbolKind::Text) {
            if let Ok(name) = symbol.name()
                && functions::is_described(name)
            {
                let number = self.number(name);
                self.named.insert(symbol.address(), number);
            }
        }
    }

    fn read_slots(&mut self, file: &object::File<'_>) {
        let Some(relocations) = file.dynamic_relocations() else { return };
        let table = file.dynamic_symbol_table();
        for (slot, relocation) in relocations {
            let addend = relocation.addend().cast_unsigned();
            let value = match relocation.target() {
                RelocationTarget::Symbol(index) => {
                    let symbol = table.as_ref().and_then(|table| table.symbol_by_index(index).ok());
                    symbol.map_or(Value::Unknown, |symbol| self.filled(&symbol, addend))
                }
                RelocationTarget::Absolute if is_relative(relocation.flags()) && addend != 0 => {
                    Value::Number(addend)
                }
                RelocationTarget::Absolute if is_relative(relocation.flags()) => continue, // the addend is in place
                _ => Value::Unknown,
            };
            self.slots.insert(slot, value);
        }
    }

    /// Nothing defines those functions that a C program refers to in case that a tool is linked in.
    fn filled<'s>(&mut self, symbol: &impl ObjectSymbol<'s>, addend: u64) -> Value {
        match symbol.name() {
            Ok(name) if symbol.is_undefined() && functions::is_absent(name) => Value::Number(0),
            Ok(name) if symbol.is_undefined() => Value::Function(self.number(name)),
            Ok(_) if symbol.is_definition() && symbol.kind() == SymbolKind::Text => {
                Value::Number(symbol.address().wrapping_add(addend))
            }
            _ => Value::Unknown,
        }
    }

    fn number(&mut self, name: &str) -> u32 {
        let known = self.names.iter().position(|known| known == name);
        let number = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    pub(super) fn name(&self, number: u32) -> &str {
        usize::try_from(number).ok().and_then(|number| self.names.get(number)).map_or("", String::as_str)
    }

    /// The name of the described function that begins here.
    pub(super) fn function_at(&self, address: u64) -> Option<&str> {
        self.named.get(&address).map(|number| self.name(*number))
    }

    /// `DT_PREINIT_ARRAY`, `DT_INIT`, `DT_INIT_ARRAY`, and at exit `DT_FINI_ARRAY` and `DT_FINI`.
    fn read_start_functions(&mut self, elf: &Elf) {
        use object::elf as tags;
        let Some(dynamic) = &elf.dynamic else { return self.read_sections() };
        let value = |tag: u32| dynamic.values.get(&u64::from(tag)).copied();
        let array = |at: u32, size: u32| value(at).zip(value(size));
        let preinit = self.array(array(tags::DT_PREINIT_ARRAY, tags::DT_PREINIT_ARRAYSZ));
        let init = self.array(array(tags::DT_INIT_ARRAY, tags::DT_INIT_ARRAYSZ));
        self.constructors = preinit.into_iter().chain(value(tags::DT_INIT)).chain(init).collect();
        let fini = self.array(array(tags::DT_FINI_ARRAY, tags::DT_FINI_ARRAYSZ));
        self.destructors = fini.into_iter().rev().chain(value(tags::DT_FINI)).collect();
    }

    /// A static executable has no dynamic section. Its start files refer to sections.
    fn read_sections(&mut self) {
        use object::ObjectSection;
        let Ok(file) = object::File::parse(self.bytes) else { return };
        let section = |name: &str| file.section_by_name(name).map(|s| (s.address(), s.size()));
        let start = |name: &str| section(name).map(|(address, _)| address);
        let preinit = self.array(section(".preinit_array"));
        let init = self.array(section(".init_array"));
        self.constructors = preinit.into_iter().chain(start(".init")).chain(init).collect();
        let fini = self.array(section(".fini_array"));
        self.destructors = fini.into_iter().rev().chain(start(".fini")).collect();
    }

    fn array(&self, place: Option<(u64, u64)>) -> Vec<u64> {
        let Some((at, size)) = place else { return Vec::new() };
        let word = u64::from(self.bits / 8);
        let count = (size / word).min(MAX_FUNCTIONS);
        (0..count).filter_map(|n| self.load(at.wrapping_add(n * word), word).number()).collect()
    }

    /// A word as the program finds it.
    pub(super) fn load(&self, address: u64, size: u64) -> Value {
        if let Some(value) = self.slots.get(&address) {
            return if size == u64::from(self.bits / 8) { *value } else { Value::Unknown };
        }
        let mut number = 0;
        for at in (0..size).rev() {
            match self.byte(address.wrapping_add(at)) {
                Some(byte) => number = number << 8 | u64::from(byte),
                None => return Value::Unknown,
            }
        }
        Value::Number(number)
    }

    /// The library function whose address the loader stores there.
    pub(super) fn function_in(&self, address: u64) -> Value {
        self.slots
            .get(&address)
            .copied()
            .filter(|value| matches!(value, Value::Function(_)))
            .unwrap_or_default()
    }

    /// A byte of memory. Behind the file's part of a segment are zeros, or what follows in its last page.
    pub(super) fn byte(&self, address: u64) -> Option<u8> {
        let segment = self.segments.iter().find(|s| is_within(address, s))?;
        let [start, memory, offset, in_file] = *segment;
        let within = address.wrapping_sub(start);
        let is_zeroed = address >= start && within >= in_file && memory > in_file;
        let at = usize::try_from(offset.wrapping_add(within)).ok()?;
        Some(if is_zeroed { 0 } else { self.bytes.get(at).copied().unwrap_or(0) })
    }

    /// Whether something is mapped there.
    pub(super) fn is_mapped(&self, address: u64) -> bool {
        self.segments.iter().any(|segment| is_within(address, segment))
    }

    /// The bytes of an instruction, which has at most 15.
    pub(super) fn code(&self, address: u64) -> Vec<u8> {
        (0..15).map_while(|at| self.byte(address.wrapping_add(at))).collect()
    }

    /// The length of a text that ends with a zero; `None` if it does not end.
    pub(super) fn text(&self, address: u64) -> Option<Vec<u8>> {
        let bytes: Vec<u8> = (0..MAX_TEXT_BYTES)
            .map_while(|at| self.byte(address.wrapping_add(at)))
            .take_while(|b| *b != 0)
            .collect();
        (self.byte(address.wrapping_add(bytes.len() as u64)) == Some(0)).then_some(bytes)
    }
}

const MAX_TEXT_BYTES: u64 = 4096;

/// Mappings begin and end at pages.
fn is_within(address: u64, [start, memory, ..]: &[u64; 4]) -> bool {
    let end = start.saturating_add(*memory).div_ceil(PAGE).saturating_mul(PAGE);
    (start / PAGE * PAGE..end).contains(&address)
}

fn is_relative(flags: object::RelocationFlags) -> bool {
    matches!(flags, object::RelocationFlags::Elf { r_type: object::elf::R_X86_64_RELATIVE })
}
