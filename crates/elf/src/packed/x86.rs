//! Instructions of both x86 instruction sets: short jumps, the length of the message, and instructions that have no effect
//! except to swallow bytes that a header field has fixed.

use super::instruction::{CodeTask, Goals, Instruction, InstructionBytes};

/// A comparison has been executed, so the carry flag may be set.
pub(super) const CARRY: Goals = 1 << 15;
/// REX prefixes apply to the next instruction.
pub(super) const REX: Goals = 1 << 14;

/// A segment prefix, which has no effect on these instructions.
const CS: u8 = 0x2e;

/// `jmp` with a distance of one byte.
pub(super) fn jump(from: usize, to: usize) -> Option<InstructionBytes> {
    let distance = to.cast_signed() - from.cast_signed() - 2;
    i8::try_from(distance).ok().map(|d| InstructionBytes::new(&[0xeb, d.cast_unsigned()]))
}

/// All flags are clear at the start, so `7f 45`, the first two bytes of the magic, is a jump that is taken (jg).
pub(super) fn magic_jump(at: usize, goals: Goals) -> Option<Instruction> {
    let step = Instruction { target: Some(2 + 0x45), ..Instruction::new(&[0x7f, 0x45], goals, "jg, taken") };
    (at == 0).then_some(step)
}

/// The ways to load the length of the message into edx, which is zero at the start.
pub(super) fn length(task: &CodeTask, done: Goals) -> Vec<Instruction> {
    let bytes = u32::try_from(task.length).unwrap_or(u32::MAX).to_le_bytes();
    let mut steps = vec![Instruction::new(&[&[0xba][..], &bytes].concat(), done, "mov edx, length")];
    if task.length < 1 << 16 {
        steps.push(Instruction::new(&[0x66, 0xba, bytes[0], bytes[1]], done, "mov dx, length"));
    }
    if task.length < 1 << 8 {
        steps.push(Instruction::new(&[0xb2, bytes[0]], done, "mov dl, length"));
    } else if bytes[0] == 0 && task.length < 1 << 16 {
        steps.push(Instruction::new(&[0xb6, bytes[1]], done, "mov dh, length / 256"));
    }
    steps
}

/// Instructions that swallow decided bytes and change no register.
pub(super) fn fillers(goals: Goals, at: usize, known: &dyn Fn(usize) -> Option<u8>) -> Vec<Instruction> {
    let mut steps = Vec::new();
    if (1..=4).any(|i| known(at + i).is_some()) {
        steps.extend(comparisons(goals, at, known));
    }
    if known(at).is_none_or(|byte| byte == CS) {
        steps.push(Instruction::new(&[CS], goals, "cs: (a prefix without effect)"));
    }
    if let (Some(opcode), Some(0)) = (known(at), known(at + 1)) {
        steps.extend(without_effect(opcode, goals));
    }
    steps
}

/// `cmp eax, imm32` and `cmp al, imm8`, with any immediate.
fn comparisons(goals: Goals, at: usize, known: &dyn Fn(usize) -> Option<u8>) -> Vec<Instruction> {
    let swallow =
        |opcode, length, name| Instruction { length, ..Instruction::new(&[opcode], goals | CARRY, name) };
    let mut steps = vec![swallow(0x3d, 5, "cmp eax, (swallowed)")];
    if known(at + 1).is_some() {
        steps.push(swallow(0x3c, 2, "cmp al, (swallowed)"));
    }
    steps
}

/// Two decided bytes that are an operation on al with 0, such as `14 00` (adc al, 0).
fn without_effect(opcode: u8, goals: Goals) -> Option<Instruction> {
    let needs_clear_carry = matches!(opcode, 0x14 | 0x1c);
    let harmless = matches!(opcode, 0x04 | 0x0c | 0x14 | 0x1c | 0x2c | 0x34);
    let possible = harmless && !(needs_clear_carry && goals & CARRY != 0);
    possible.then(|| Instruction::new(&[opcode, 0], goals, "an operation of al with 0"))
}
