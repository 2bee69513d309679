//! Registers and memory whose values may be unknown.

use super::flags::Flags;
use super::words::mask;
use iced_x86::Register;
use std::collections::BTreeMap;

/// What is known about a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Value {
    #[default]
    Unknown,
    Number(u64),
    /// The address of a library's function, by its number in the image.
    Function(u32),
    /// The address of memory that nothing else has an address of.
    Fresh,
    /// An address on the stack: how far it is from where the stack pointer was at first.
    Stack(i64),
}

impl Value {
    pub(super) fn number(self) -> Option<u64> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Whether it is other than zero, if that is known.
    pub(super) fn is_set(self) -> Option<bool> {
        match self {
            Value::Unknown => None,
            Value::Number(number) => Some(number != 0),
            Value::Fresh | Value::Function(_) | Value::Stack(_) => Some(true),
        }
    }

    /// The lowest bytes of a number.
    pub(super) fn low(self, size: u64) -> Value {
        match self {
            Value::Number(number) => Value::Number(number & mask(size)),
            other if size >= 4 => other,
            _ => Value::Unknown,
        }
    }
}

/// Where a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Address(u64),
    Stack(i64),
    /// In memory whose content is not followed.
    Fresh,
    Unknown,
}

#[derive(Clone, Debug)]
pub(super) struct State {
    registers: [Value; 16],
    pub(super) flags: Flags,
    /// What was stored: the place, its size and its value.
    stored: BTreeMap<Place, (u64, Value)>,
    /// Whether something was stored at an unknown place.
    is_spoiled: bool,
}

/// The largest word that is stored.
const MAX_WORD_BYTES: i64 = 8;

impl State {
    /// `value`: that of all registers except the stack pointer.
    pub(super) fn new(value: Value) -> State {
        let mut state = State {
            registers: [value; 16],
            flags: Flags::default(),
            stored: BTreeMap::new(),
            is_spoiled: false,
        };
        state.set(Register::RSP, Value::Stack(0));
        state
    }

    /// A register, or a part of it.
    pub(super) fn get(&self, register: Register) -> Value {
        let Some(number) = general(register) else { return Value::Unknown };
        if is_high_byte(register) {
            return Value::Unknown;
        }
        self.registers[number].low(register.size() as u64)
    }

    /// Writing 32 bits clears the upper half; writing less keeps the rest.
    pub(super) fn set(&mut self, register: Register, value: Value) {
        let Some(number) = general(register) else { return };
        let size = register.size() as u64;
        self.registers[number] = match (size, self.registers[number], value) {
            (8 | 4, _, value) => value.low(size),
            (_, Value::Number(old), Value::Number(new)) if !is_high_byte(register) => {
                Value::Number(old & !mask(size) | new & mask(size))
            }
            _ => Value::Unknown,
        };
    }

    /// A word that was stored. `Err`: nothing was, so it is as it was at the start.
    pub(super) fn load(&self, place: Place, size: u64) -> Result<Value, ()> {
        if matches!(place, Place::Unknown | Place::Fresh) {
            return Ok(Value::Unknown);
        }
        if let Some((stored, value)) = self.stored.get(&place)
            && *stored >= size
        {
            return Ok(value.low(size));
        }
        let overlaps = self.overlapping(place, size).next().is_some();
        if overlaps || self.is_spoiled || matches!(place, Place::Stack(_)) {
            Ok(Value::Unknown)
        } else {
            Err(())
        }
    }

    pub(super) fn store(&mut self, place: Place, size: u64, value: Value) {
        match place {
            Place::Unknown => return self.spoil(),
            Place::Fresh => return,
            Place::Address(_) | Place::Stack(_) => {}
        }
        let overlapping: Vec<Place> = self.overlapping(place, size).collect();
        for old in overlapping {
            self.stored.remove(&old);
        }
        let value = if size <= MAX_WORD_BYTES.unsigned_abs() { value.low(size) } else { Value::Unknown };
        self.stored.insert(place, (size, value));
    }

    fn overlapping(&self, place: Place, size: u64) -> impl Iterator<Item = Place> + '_ {
        let size = i64::try_from(size).unwrap_or(i64::MAX).min(64);
        let (from, to) = match place {
            Place::Address(at) => (
                Place::Address(at.saturating_sub(63)),
                Place::Address(at.saturating_add(size.unsigned_abs())),
            ),
            Place::Stack(at) => (Place::Stack(at.saturating_sub(63)), Place::Stack(at.saturating_add(size))),
            Place::Fresh | Place::Unknown => (Place::Unknown, Place::Unknown),
        };
        let reaches = move |(old, (length, _)): &(&Place, &(u64, Value))| match (**old, place) {
            (Place::Address(old), Place::Address(at)) => old.saturating_add(*length) > at,
            (Place::Stack(old), Place::Stack(at)) => old.saturating_add_unsigned(*length) > at,
            _ => false,
        };
        self.stored.range(from..to).filter(reaches).map(|(place, _)| *place)
    }

    /// Nothing in memory is known any more, except on the stack, where a correct program stores only what it means to.
    pub(super) fn spoil(&mut self) {
        self.stored.retain(|place, _| matches!(place, Place::Stack(_)));
        self.is_spoiled = true;
    }

    /// What a function of the C ABI may change.
    pub(super) fn after_call(&mut self) {
        use Register::{R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI};
        for register in [RAX, RCX, RDX, RSI, RDI, R8, R9, R10, R11] {
            self.set(register, Value::Unknown);
        }
        self.flags = Flags::default();
    }
}

fn general(register: Register) -> Option<usize> {
    let full = register.full_register();
    full.is_gpr64().then(|| full.number()).filter(|number| *number < 16)
}

fn is_high_byte(register: Register) -> bool {
    matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_registers_change_as_the_processor_changes_them() {
        let mut state = State::new(Value::Unknown);
        state.set(Register::RAX, Value::Number(0x1122_3344_5566_7788));
        state.set(Register::AL, Value::Number(0x99));
        assert_eq!(state.get(Register::RAX), Value::Number(0x1122_3344_5566_7799));
        state.set(Register::EAX, Value::Number(1));
        assert_eq!((state.get(Register::RAX), state.get(Register::AH)), (Value::Number(1), Value::Unknown));
        state.set(Register::BL, Value::Number(1));
        assert_eq!(state.get(Register::RBX), Value::Unknown);
    }

    #[test]
    fn memory_is_known_as_long_as_nothing_was_stored_at_an_unknown_place() {
        let mut state = State::new(Value::Unknown);
        assert_eq!(state.load(Place::Address(8), 8), Err(()));
        state.store(Place::Address(8), 8, Value::Number(7));
        assert_eq!(state.load(Place::Address(8), 4), Ok(Value::Number(7)));
        assert_eq!(
            (state.load(Place::Address(12), 8), state.load(Place::Address(16), 8)),
            (Ok(Value::Unknown), Err(()))
        );
        state.store(Place::Stack(-8), 8, Value::Stack(3));
        assert_eq!(
            (state.load(Place::Stack(-8), 8), state.load(Place::Stack(0), 8)),
            (Ok(Value::Stack(3)), Ok(Value::Unknown))
        );
        state.store(Place::Unknown, 1, Value::Unknown);
        assert_eq!(state.load(Place::Address(16), 8), Ok(Value::Unknown));
    }
}
