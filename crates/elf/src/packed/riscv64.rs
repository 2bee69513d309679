//! The instructions of riscv64 for the search, with compressed ones (the C extension, which every Linux distribution
//! requires).

use super::instruction::{
    Base, CodeTask, EXITED, Goals, Instruction, InstructionBytes, InstructionSet, WRITTEN,
};
use crate::code::riscv64::addi;

pub(super) struct Riscv64;

const A0: Goals = 1;
const A1_PAGE: Goals = 2;
const A1: Goals = 4;
const A2: Goals = 8;
const A7: Goals = 16;
/// a7 still contains the number of write.
const A7_IS_WRITE: Goals = 128;
const A2_PAGE: Goals = 256;
const READY: Goals = A0 | A1 | A2 | A7;

impl InstructionSet for Riscv64 {
    fn alignment(&self) -> usize {
        2
    }

    fn passable(&self) -> usize {
        1 // the upper half of ecall
    }

    fn start(&self, task: &CodeTask) -> Goals {
        if task.length == 0 { WRITTEN } else { 0 }
    }

    fn steps(
        &self,
        task: &CodeTask,
        goals: Goals,
        at: usize,
        _: &dyn Fn(usize) -> Option<u8>,
    ) -> Vec<Instruction> {
        let needed = if goals & WRITTEN == 0 { READY } else { A0 | A7 };
        if goals & needed == needed {
            return vec![system_call(goals)];
        }
        if goals & WRITTEN != 0 { exit_steps(task, goals) } else { write_steps(task, goals, at) }
    }

    /// `ecall` counts as one unit, because its upper half is zero.
    fn least_units(&self, goals: Goals) -> usize {
        let missing = |wanted: Goals, units: usize| if goals & wanted == 0 { units } else { 0 };
        let exit = missing(A0, 1) + missing(A7, 1) + 1;
        let address = if goals & A1 == 0 { 1 + missing(A1_PAGE, 1) } else { 0 };
        let write = missing(A0, 1) + missing(A7, 2) + address + missing(A2, 1) + 1;
        if goals & WRITTEN != 0 { exit } else { write + 3 }
    }

    fn jump(&self, from: usize, to: usize) -> Option<InstructionBytes> {
        let distance = i32::try_from(to.cast_signed() - from.cast_signed()).ok()?;
        let d = distance.cast_unsigned();
        let bit = |from: u32, to: u32| (d >> from & 1) << to;
        // c.j: the bits of the distance in the order of the RISC-V manual, table 16.5
        let word = 0xa001
            | bit(11, 12)
            | bit(4, 11)
            | bit(9, 10)
            | bit(8, 9)
            | bit(10, 8)
            | bit(6, 7)
            | bit(7, 6)
            | bit(3, 5)
            | bit(2, 4)
            | bit(1, 3)
            | bit(5, 2);
        (-2048..2048).contains(&distance).then(|| InstructionBytes::new(&word.to_le_bytes()[..2]))
    }
}

fn system_call(goals: Goals) -> Instruction {
    let done = if goals & WRITTEN == 0 { WRITTEN | A7_IS_WRITE } else { EXITED };
    Instruction::new(&0x73_u32.to_le_bytes(), done, "ecall")
}

fn write_steps(task: &CodeTask, goals: Goals, at: usize) -> Vec<Instruction> {
    let mut steps = Vec::new();
    if goals & A0 == 0 {
        steps.push(short(c_li(10, 1), goals | A0, "c.li a0, 1"));
    }
    if goals & A7 == 0 {
        steps.push(long(addi(17, 0, 64), goals | A7, "li a7, write"));
    }
    if goals & A1 == 0 {
        steps.extend(address(task, goals, at));
    }
    if goals & A2 == 0 {
        steps.extend(length(task, goals));
    }
    steps
}

/// Either `auipc`, directly followed by the rest, or `c.lui` for a file that is mapped at 64 KiB, with the rest
/// anywhere.
fn address(task: &CodeTask, goals: Goals, at: usize) -> Vec<Instruction> {
    let done = goals | A1;
    if goals & A1_PAGE != 0 {
        return add(11, task.message.cast_signed(), done, "addi a1, message");
    }
    let distance = task.message.cast_signed() - at.cast_signed();
    let rest = add(11, distance, done, "auipc a1, 0; addi a1, message");
    let fused = rest.into_iter().map(|step| {
        let bytes = [&AUIPC_A1.to_le_bytes()[..], step.bytes.as_slice()].concat();
        Instruction::new(&bytes, step.goals, step.name)
    });
    let base = Instruction { base: Base::Is64K, ..short(C_LUI_A1_64K, goals | A1_PAGE, "c.lui a1, 0x10") };
    fused.chain((!task.anywhere).then_some(base)).collect()
}

const C_LUI_A1_64K: u32 = 0x65c1;
const AUIPC_A1: u32 = 0x0000_0597;

fn length(task: &CodeTask, goals: Goals) -> Vec<Instruction> {
    let length = u32::try_from(task.length).unwrap_or(u32::MAX);
    match length {
        0..32 => vec![short(c_li(12, length), goals | A2, "c.li a2, length")],
        32..2048 => vec![long(addi(12, 0, length), goals | A2, "li a2, length")],
        _ if goals & A2_PAGE == 0 => {
            let upper = length.wrapping_add(0x800) & 0xffff_f000;
            vec![long(upper | 12 << 7 | 0x37, goals | A2_PAGE, "lui a2, length")]
        }
        _ => vec![long(addi(12, 12, length), goals | A2, "addi a2, length")],
    }
}

fn exit_steps(task: &CodeTask, goals: Goals) -> Vec<Instruction> {
    let mut steps = Vec::new();
    let status = task.status.cast_signed();
    if goals & A0 == 0 && (-32..32).contains(&status) {
        let value = i32::from(status).cast_unsigned();
        steps.push(short(c_li(10, value), goals | A0, "c.li a0, status"));
    } else if goals & A0 == 0 {
        steps.push(long(addi(10, 0, task.status.into()), goals | A0, "li a0, status"));
    }
    if goals & A7 == 0 && goals & A7_IS_WRITE != 0 {
        steps.push(short(c_addi(17, 93 - 64), goals | A7, "c.addi a7, exit - write"));
    } else if goals & A7 == 0 {
        steps.push(long(addi(17, 0, 93), goals | A7, "li a7, exit"));
    }
    steps
}

fn add(register: u32, value: isize, goals: Goals, name: &'static str) -> Vec<Instruction> {
    let Ok(value) = i32::try_from(value) else { return Vec::new() };
    match value {
        -32..32 if value != 0 => vec![short(c_addi(register, value.cast_unsigned()), goals, name)],
        -2048..2048 => vec![long(addi(register, register, value.cast_unsigned()), goals, name)],
        _ => Vec::new(),
    }
}

fn c_li(register: u32, value: u32) -> u32 {
    0x4001 | (value >> 5 & 1) << 12 | register << 7 | (value & 31) << 2
}

fn c_addi(register: u32, value: u32) -> u32 {
    0x0001 | (value >> 5 & 1) << 12 | register << 7 | (value & 31) << 2
}

fn short(word: u32, goals: Goals, name: &'static str) -> Instruction {
    Instruction::new(&word.to_le_bytes()[..2], goals, name)
}

fn long(word: u32, goals: Goals, name: &'static str) -> Instruction {
    Instruction::new(&word.to_le_bytes(), goals, name)
}
