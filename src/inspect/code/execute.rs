//! Executes one x86 instruction with values that may be unknown.

use super::cursor::Cursor;
use super::flags::Flags;
use super::image::Image;
use super::kernel::{INTERRUPT, SYSCALL, Table};
use super::state::{Place, State, Value};
use super::words::mask;
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

/// What follows an instruction.
#[derive(Clone, Copy)]
pub(super) enum Next {
    Instruction,
    Jump(Value),
    /// The return address is on the stack.
    Call(Value),
    Return(Value),
    /// Either the next instruction or this address.
    Both(u64),
    /// The number, if it is known.
    SystemCall(&'static Table, Option<u64>),
    /// The processor refuses the instruction, so the process dies.
    Fault,
    Unknown,
}

pub(super) fn step(image: &Image<'_>, way: &mut Cursor) -> Next {
    let code = image.code(way.at);
    let instruction = Decoder::with_ip(image.bits, &code, way.at, DecoderOptions::NONE).decode();
    if code.is_empty() || instruction.is_invalid() || instruction.is_privileged() {
        return Next::Fault;
    }
    way.touch(way.at, false);
    way.touch(instruction.next_ip().wrapping_sub(1), false);
    way.at = instruction.next_ip();
    if !touch_memory(image, way, &instruction) {
        return Next::Fault;
    }

    let state = &mut way.state;
    match instruction.flow_control() {
        FlowControl::Next => {
            compute(image, state, &instruction);
            Next::Instruction
        }
        FlowControl::UnconditionalBranch => Next::Jump(Value::Number(instruction.near_branch_target())),
        FlowControl::IndirectBranch => Next::Jump(read(image, state, &instruction, 0)),
        FlowControl::ConditionalBranch => condition(state, &instruction),
        FlowControl::Call if instruction.mnemonic() == Mnemonic::Syscall => {
            Next::SystemCall(&SYSCALL, state.get(Register::RAX).number())
        }
        FlowControl::Call | FlowControl::IndirectCall => call(image, state, &instruction),
        FlowControl::Return => Next::Return(pop(image, state)),
        FlowControl::Interrupt
            if instruction.code() == Code::Int_imm8 && instruction.immediate8() == 0x80 =>
        {
            Next::SystemCall(&INTERRUPT, state.get(Register::EAX).number())
        }
        FlowControl::Interrupt | FlowControl::Exception => Next::Fault,
        FlowControl::XbeginXabortXend => Next::Unknown,
    }
}

fn condition(state: &State, instruction: &Instruction) -> Next {
    let target = instruction.near_branch_target();
    let holds = match instruction.mnemonic() {
        Mnemonic::Jrcxz => state.get(Register::RCX).is_set().map(|is_set| !is_set),
        Mnemonic::Jecxz => state.get(Register::ECX).is_set().map(|is_set| !is_set),
        _ => state.flags.holds(instruction.condition_code()),
    };
    match holds {
        Some(true) => Next::Jump(Value::Number(target)),
        Some(false) => Next::Instruction,
        None => Next::Both(target),
    }
}

fn call(image: &Image<'_>, state: &mut State, instruction: &Instruction) -> Next {
    let to = match instruction.flow_control() {
        FlowControl::Call => Value::Number(instruction.near_branch_target()),
        _ => read(image, state, instruction, 0),
    };
    push(image, state, Value::Number(instruction.next_ip()));
    Next::Call(to)
}

fn word(image: &Image<'_>) -> u64 {
    u64::from(image.bits / 8)
}

fn stack(image: &Image<'_>) -> Register {
    if image.bits == 64 { Register::RSP } else { Register::ESP }
}

fn push(image: &Image<'_>, state: &mut State, value: Value) {
    let top = plus(state.get(stack(image)), word(image).wrapping_neg());
    state.set(stack(image), top);
    state.store(place(top), word(image), value);
}

pub(super) fn pop(image: &Image<'_>, state: &mut State) -> Value {
    let top = state.get(stack(image));
    state.set(stack(image), plus(top, word(image)));
    load(image, state, place(top), word(image))
}

/// An argument of a function of the C ABI, before its first instruction.
pub(super) fn argument(image: &Image<'_>, state: &State, number: usize) -> Value {
    if image.bits == 64 {
        return state.get([Register::RDI, Register::RSI][number.min(1)]);
    }
    let at = plus(state.get(Register::ESP), 4 * (number as u64 + 1));
    load(image, state, place(at), 4)
}

fn plus(value: Value, more: u64) -> Value {
    match value {
        Value::Number(number) => Value::Number(number.wrapping_add(more)),
        Value::Stack(at) => Value::Stack(at.wrapping_add(more.cast_signed())),
        Value::Fresh => Value::Fresh,
        _ => Value::Unknown,
    }
}

fn place(value: Value) -> Place {
    match value {
        Value::Number(address) => Place::Address(address),
        Value::Stack(at) => Place::Stack(at),
        Value::Fresh => Place::Fresh,
        _ => Place::Unknown,
    }
}

fn load(image: &Image<'_>, state: &State, place: Place, size: u64) -> Value {
    match (state.load(place, size), place) {
        // the table of functions stays as the loader fills it
        (Ok(Value::Unknown), Place::Address(address)) if size == word(image) => image.function_in(address),
        (Ok(value), _) => value,
        (Err(()), Place::Address(address)) if size <= 8 => image.load(address, size),
        _ => Value::Unknown,
    }
}

/// The address of a memory operand.
fn address(image: &Image<'_>, state: &State, instruction: &Instruction) -> Value {
    if matches!(instruction.segment_prefix(), Register::FS | Register::GS) {
        return Value::Unknown;
    }
    if instruction.is_ip_rel_memory_operand() {
        return Value::Number(instruction.ip_rel_memory_address());
    }
    let register = |register: Register| match register {
        Register::None => Value::Number(0),
        other => state.get(other),
    };
    let base = register(instruction.memory_base());
    let index = match register(instruction.memory_index()) {
        Value::Number(number) => number.wrapping_mul(u64::from(instruction.memory_index_scale())),
        _ => return Value::Unknown,
    };
    plus(base, index.wrapping_add(instruction.memory_displacement64())).low(word(image))
}

/// Notes the pages of a memory operand. `false`: nothing is mapped there.
fn touch_memory(image: &Image<'_>, way: &mut Cursor, instruction: &Instruction) -> bool {
    let has_memory = (0..instruction.op_count()).any(|n| instruction.op_kind(n) == OpKind::Memory);
    if !has_memory || matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop) {
        return true;
    }
    let Value::Number(address) = address(image, &way.state, instruction) else { return true };
    way.touch(address, writes_memory(instruction));
    image.is_mapped(address)
}

/// Whether the first operand is memory that the instruction writes to. Those are the instructions of compilers that only
/// read it.
fn writes_memory(instruction: &Instruction) -> bool {
    use Mnemonic::{Bt, Call, Cmp, Div, Fild, Fld, Fldcw, Idiv, Imul, Jmp, Ldmxcsr, Mul, Push, Test};
    let only_reads = [Bt, Call, Cmp, Div, Fild, Fld, Fldcw, Idiv, Imul, Jmp, Ldmxcsr, Mul, Push, Test];
    instruction.op_kind(0) == OpKind::Memory && !only_reads.contains(&instruction.mnemonic())
}

/// An operand. A branch target is one, too.
fn read(image: &Image<'_>, state: &State, instruction: &Instruction, operand: u32) -> Value {
    match instruction.op_kind(operand) {
        OpKind::Register => state.get(instruction.op_register(operand)),
        OpKind::Memory => {
            let size = instruction.memory_size().size() as u64;
            let place = place(address(image, state, instruction));
            if (1..=8).contains(&size) { load(image, state, place, size) } else { Value::Unknown }
        }
        OpKind::Immediate8
        | OpKind::Immediate16
        | OpKind::Immediate32
        | OpKind::Immediate64
        | OpKind::Immediate8to16
        | OpKind::Immediate8to32
        | OpKind::Immediate8to64
        | OpKind::Immediate32to64 => Value::Number(instruction.immediate(operand)),
        _ => Value::Unknown,
    }
}

fn write(image: &Image<'_>, state: &mut State, instruction: &Instruction, value: Value) {
    match instruction.op_kind(0) {
        OpKind::Register => state.set(instruction.op_register(0), value),
        OpKind::Memory => {
            let size = instruction.memory_size().size() as u64;
            state.store(place(address(image, state, instruction)), size, value);
        }
        _ => {}
    }
}

/// The size of the first operand, in bytes.
fn size(instruction: &Instruction) -> u64 {
    match instruction.op_kind(0) {
        OpKind::Register => instruction.op_register(0).size() as u64,
        _ => instruction.memory_size().size() as u64,
    }
    .clamp(1, 8)
}

fn compute(image: &Image<'_>, state: &mut State, instruction: &Instruction) {
    let operand = |state: &State, number| read(image, state, instruction, number);
    match instruction.mnemonic() {
        Mnemonic::Nop | Mnemonic::Endbr64 | Mnemonic::Endbr32 => {}
        Mnemonic::Mov | Mnemonic::Movzx => {
            let value = operand(state, 1);
            write(image, state, instruction, value);
        }
        Mnemonic::Movsx | Mnemonic::Movsxd => {
            let value = match (operand(state, 1), source_size(instruction)) {
                (Value::Number(number), from) => Value::Number(extended(number, from)),
                _ => Value::Unknown,
            };
            write(image, state, instruction, value);
        }
        Mnemonic::Lea => {
            let value = address(image, state, instruction);
            write(image, state, instruction, value);
        }
        Mnemonic::Push => {
            let value = operand(state, 0);
            push(image, state, value);
        }
        Mnemonic::Pop => {
            let value = pop(image, state);
            write(image, state, instruction, value);
        }
        Mnemonic::Leave => {
            let (base, top) = if image.bits == 64 {
                (Register::RBP, Register::RSP)
            } else {
                (Register::EBP, Register::ESP)
            };
            let frame = state.get(base);
            state.set(top, frame);
            let value = pop(image, state);
            state.set(base, value);
        }
        Mnemonic::Xchg => {
            let (first, second) = (operand(state, 0), operand(state, 1));
            write(image, state, instruction, second);
            if instruction.op_kind(1) == OpKind::Register {
                state.set(instruction.op_register(1), first);
            }
        }
        Mnemonic::Cmp | Mnemonic::Test => {
            let (left, right) = (operand(state, 0), operand(state, 1));
            state.flags = compared(instruction, left, right);
        }
        Mnemonic::Cdqe => extend(state, Register::RAX, Register::EAX, 4),
        Mnemonic::Cwde => extend(state, Register::EAX, Register::AX, 2),
        _ => arithmetic(image, state, instruction),
    }
}

fn extend(state: &mut State, to: Register, from: Register, size: u64) {
    let value =
        state.get(from).number().map_or(Value::Unknown, |number| Value::Number(extended(number, size)));
    state.set(to, value);
}

fn source_size(instruction: &Instruction) -> u64 {
    match instruction.op_kind(1) {
        OpKind::Register => instruction.op_register(1).size() as u64,
        _ => instruction.memory_size().size() as u64,
    }
    .clamp(1, 8)
}

/// With its sign in all higher bits.
fn extended(number: u64, size: u64) -> u64 {
    let shift = 64 - 8 * size.clamp(1, 8);
    ((number << shift).cast_signed() >> shift).cast_unsigned()
}

fn compared(instruction: &Instruction, left: Value, right: Value) -> Flags {
    let size = size(instruction);
    let is_test = instruction.mnemonic() == Mnemonic::Test;
    match (left, right) {
        (Value::Number(left), Value::Number(right)) if is_test => Flags::logical(left & right, size),
        (Value::Number(left), Value::Number(right)) => Flags::difference(left, right, size),
        (left, right) if is_test && left == right => Flags::zero(left.is_set().map(|is_set| !is_set)),
        (Value::Fresh | Value::Function(_) | Value::Stack(_), Value::Number(0)) if !is_test => {
            Flags::zero(Some(false))
        }
        _ => Flags::default(),
    }
}

/// Instructions that compute a result from two numbers. All others make what they write unknown.
fn arithmetic(image: &Image<'_>, state: &mut State, instruction: &Instruction) {
    let size = size(instruction);
    let left = read(image, state, instruction, 0);
    let right =
        if instruction.op_count() > 1 { read(image, state, instruction, 1) } else { Value::Number(1) };
    let clears = matches!(instruction.mnemonic(), Mnemonic::Xor | Mnemonic::Sub)
        && instruction.op_kind(1) == OpKind::Register
        && instruction.op_register(0) == instruction.op_register(1);
    if clears {
        state.flags = Flags::difference(0, 0, size);
        return write(image, state, instruction, Value::Number(0));
    }
    if instruction.op_count() > 2 {
        return forget(image, state, instruction);
    }

    let result = match (left, right) {
        (Value::Number(left), Value::Number(right)) => computed(instruction.mnemonic(), left, right, size),
        (pointer, Value::Number(right)) => moved(instruction.mnemonic(), pointer, right),
        _ => None,
    };
    match result {
        Some((value, flags)) => {
            let carry = state.flags.carry;
            state.flags = flags;
            if matches!(instruction.mnemonic(), Mnemonic::Inc | Mnemonic::Dec) {
                state.flags.carry = carry;
            }
            write(image, state, instruction, value);
        }
        None => forget(image, state, instruction),
    }
}

fn computed(mnemonic: Mnemonic, left: u64, right: u64, size: u64) -> Option<(Value, Flags)> {
    let bits = 8 * size;
    let count = right & if size == 8 { 63 } else { 31 };
    let shifted = |result: u64| {
        let Flags { zero, sign, .. } = Flags::logical(result, size);
        Some((Value::Number(result & mask(size)), Flags { zero, sign, ..Flags::default() }))
    };
    let logical = |result: u64| Some((Value::Number(result & mask(size)), Flags::logical(result, size)));
    match mnemonic {
        Mnemonic::Add | Mnemonic::Inc => {
            Some((Value::Number(left.wrapping_add(right) & mask(size)), Flags::sum(left, right, size)))
        }
        Mnemonic::Sub | Mnemonic::Dec => {
            Some((Value::Number(left.wrapping_sub(right) & mask(size)), Flags::difference(left, right, size)))
        }
        Mnemonic::Xor => logical(left ^ right),
        Mnemonic::And => logical(left & right),
        Mnemonic::Or => logical(left | right),
        Mnemonic::Shl if (1..bits).contains(&count) => shifted(left << count),
        Mnemonic::Shr if (1..bits).contains(&count) => shifted((left & mask(size)) >> count),
        Mnemonic::Sar if (1..bits).contains(&count) => {
            shifted((extended(left, size).cast_signed() >> count).cast_unsigned())
        }
        _ => None,
    }
}

/// An address on the stack that is moved or aligned.
fn moved(mnemonic: Mnemonic, pointer: Value, by: u64) -> Option<(Value, Flags)> {
    let Value::Stack(at) = pointer else { return None };
    match mnemonic {
        Mnemonic::Add => Some((plus(pointer, by), Flags::default())),
        Mnemonic::Sub => Some((plus(pointer, by.wrapping_neg()), Flags::default())),
        // the stack pointer is a multiple of 16 at the entry point
        Mnemonic::And if by.cast_signed() <= -1 && by.cast_signed() >= -16 => {
            Some((Value::Stack(at & by.cast_signed()), Flags::default()))
        }
        _ => None,
    }
}

/// What the instruction writes is unknown: its operands and, unless it is one of those that write nothing else, the
/// registers that instructions write without naming them.
fn forget(image: &Image<'_>, state: &mut State, instruction: &Instruction) {
    use Register::{RAX, RBX, RCX, RDI, RDX, RSI, RSP};
    if writes_memory(instruction) {
        let place = place(address(image, state, instruction));
        state.store(place, instruction.memory_size().size() as u64, Value::Unknown);
    } else if instruction.is_string_instruction() {
        state.spoil();
    }

    let operands = (0..instruction.op_count()).filter(|n| instruction.op_kind(*n) == OpKind::Register);
    let registers: Vec<Register> = operands.map(|n| instruction.op_register(n)).collect();
    for register in &registers {
        state.set(*register, Value::Unknown);
    }
    let is_vector = registers.iter().any(|register| register.is_vector_register());
    let others = match () {
        () if names_all_it_writes(instruction) => &[][..],
        () if is_vector => &[RCX], // pcmpestri
        () => &[RAX, RBX, RCX, RDX, RSI, RDI],
    };
    for register in others {
        state.set(*register, Value::Unknown);
    }
    if instruction.stack_pointer_increment() != 0 {
        state.set(RSP, Value::Unknown);
    }
    if instruction.rflags_modified() != 0 {
        state.flags = Flags::default();
    }
}

fn names_all_it_writes(instruction: &Instruction) -> bool {
    use Mnemonic::{
        Adc, Bsf, Bsr, Bswap, Bt, Btc, Btr, Bts, Lzcnt, Neg, Not, Popcnt, Rcl, Rcr, Rol, Ror, Sbb, Tzcnt,
    };
    use Mnemonic::{Add, And, Dec, Imul, Inc, Or, Sar, Shl, Shld, Shr, Shrd, Sub, Xadd, Xor};
    let known = [
        Adc, Add, And, Bsf, Bsr, Bswap, Bt, Btc, Btr, Bts, Dec, Inc, Lzcnt, Neg, Not, Or, Popcnt, Rcl, Rcr,
        Rol, Ror, Sar, Sbb, Shl, Shld, Shr, Shrd, Sub, Tzcnt, Xadd, Xor,
    ];
    known.contains(&instruction.mnemonic())
        || instruction.condition_code() != iced_x86::ConditionCode::None // setcc, cmovcc
        || (instruction.mnemonic() == Imul && instruction.op_count() > 1)
}
