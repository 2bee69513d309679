//! The instructions of aarch64 for the search. Each has four bytes. One can load two registers from header fields.

use super::instruction::{CodeTask, EXITED, Goals, Instruction, InstructionBytes, InstructionSet, WRITTEN};
use crate::code::aarch64::{adr, movz};

pub(super) struct Aarch64;

const X0: Goals = 1;
const X1: Goals = 2;
const X2: Goals = 4;
const X8: Goals = 8;
const READY: Goals = X0 | X1 | X2 | X8;

/// The goal of a register, the number of the register, and the value that it needs.
type Wanted = (Goals, u32, u32);

fn wanted(task: &CodeTask, goals: Goals) -> Vec<Wanted> {
    let all: &[Wanted] = if goals & WRITTEN == 0 {
        &[(X0, 0, 1), (X2, 2, u32::try_from(task.length).unwrap_or(u32::MAX)), (X8, 8, 64)]
    } else {
        &[(X0, 0, task.status.into()), (X8, 8, 93)]
    };
    all.iter().copied().filter(|(goal, ..)| goals & goal == 0).collect()
}

impl InstructionSet for Aarch64 {
    fn alignment(&self) -> usize {
        4
    }

    fn passable(&self) -> usize {
        0
    }

    fn start(&self, task: &CodeTask) -> Goals {
        if task.length == 0 { X1 | WRITTEN } else { 0 }
    }

    fn steps(
        &self,
        task: &CodeTask,
        goals: Goals,
        at: usize,
        known: &dyn Fn(usize) -> Option<u8>,
    ) -> Vec<Instruction> {
        let needed = if goals & WRITTEN == 0 { READY } else { X0 | X8 };
        if goals & needed == needed {
            return vec![system_call(goals)];
        }

        let mut steps = Vec::new();
        if goals & X1 == 0 {
            let distance = task.message.cast_signed() - at.cast_signed();
            steps.push(step(adr(1, distance as i64), goals | X1, "adr x1, message"));
        } else if task.length > 0 {
            steps.extend(pair_loads(task, goals, known));
        }

        for (goal, register, value) in wanted(task, goals) {
            if value <= 0xffff {
                steps.push(step(movz(register, value), goals | goal, MOV[register as usize]));
            }
        }
        steps
    }

    /// One load may set two of the registers.
    fn least_units(&self, goals: Goals) -> usize {
        let missing = |wanted: Goals| (wanted & !goals).count_ones() as usize;
        let exit = 1 + missing(X0 | X8).div_ceil(2);
        if goals & WRITTEN != 0 { exit } else { missing(X1) + missing(X0 | X2 | X8).div_ceil(2) + 3 }
    }

    fn jump(&self, from: usize, to: usize) -> Option<InstructionBytes> {
        let distance = (to.cast_signed() - from.cast_signed()) / 4;
        let distance = i32::try_from(distance).ok()?.cast_unsigned();
        Some(InstructionBytes::new(&(0x1400_0000 | distance & 0x3ff_ffff).to_le_bytes()))
    }
}

const MOV: [&str; 9] =
    ["mov x0, fd or status", "", "mov x2, length", "", "", "", "", "", "mov x8, system call"];

fn step(word: u32, goals: Goals, name: &'static str) -> Instruction {
    Instruction::new(&word.to_le_bytes(), goals, name)
}

fn system_call(goals: Goals) -> Instruction {
    let done = if goals & WRITTEN == 0 { X1 | WRITTEN } else { EXITED };
    step(0xd400_0001, done, "svc 0")
}

/// `ldp wA, wB, [x1, #distance]` from bytes of the headers that have the needed values or can have them.
fn pair_loads(task: &CodeTask, goals: Goals, known: &dyn Fn(usize) -> Option<u8>) -> Vec<Instruction> {
    let wanted = wanted(task, goals);
    let mut steps = Vec::new();
    for &first in &wanted {
        for &second in wanted.iter().filter(|w| **w != first) {
            steps.extend(pair_load(task, goals, first, second, known));
        }
    }
    steps
}

fn pair_load(
    task: &CodeTask,
    goals: Goals,
    first: Wanted,
    second: Wanted,
    known: &dyn Fn(usize) -> Option<u8>,
) -> Vec<Instruction> {
    let mut loads = [0; 8];
    loads[..4].copy_from_slice(&first.2.to_le_bytes());
    loads[4..].copy_from_slice(&second.2.to_le_bytes());

    let possible = |from: &usize| {
        let fits = |i: usize| known(from + i).is_none_or(|byte| byte == loads[i]);
        let decided = (0..8).filter(|&i| known(from + i).is_some()).count();
        decided >= 2 && (0..8).all(fits)
    };
    let nearest = task.message.saturating_sub(256);
    let sources = (nearest..task.message).filter(|from| (task.message - from).is_multiple_of(4));

    let load = |from: usize| {
        let distance = (from.cast_signed() - task.message.cast_signed()) / 4;
        let scaled = u32::try_from(distance & 0x7f).unwrap_or(0);
        let word = 0x2940_0000 | scaled << 15 | second.1 << 10 | 1 << 5 | first.1;
        Instruction {
            loads: Some((from, loads)),
            ..step(word, goals | first.0 | second.0, "ldp from the headers")
        }
    };
    sources.filter(possible).map(load).collect()
}
