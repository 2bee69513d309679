//! The instructions of x86-64 for the search. Registers are zero at the start, so most values need one byte.

use super::instruction::{CodeTask, EXITED, Goals, Instruction, InstructionBytes, InstructionSet, WRITTEN};
use super::x86::{self, REX};

pub(super) struct X86_64;

const RAX: Goals = 1;
const RDI: Goals = 2;
const RSI: Goals = 4;
const RDX: Goals = 8;
const READY: Goals = RAX | RDI | RSI | RDX;

impl InstructionSet for X86_64 {
    fn alignment(&self) -> usize {
        1
    }

    fn passable(&self) -> usize {
        usize::MAX // they are swallowed or harmless
    }

    fn start(&self, task: &CodeTask) -> Goals {
        let status = if task.status == 0 { RDI } else { 0 };
        if task.length == 0 { WRITTEN | status } else { 0 }
    }

    fn steps(
        &self,
        task: &CodeTask,
        goals: Goals,
        at: usize,
        known: &dyn Fn(usize) -> Option<u8>,
    ) -> Vec<Instruction> {
        let needed = if goals & WRITTEN == 0 { READY } else { RAX | RDI };
        let mut steps = if goals & needed == needed {
            vec![system_call(task, goals)]
        } else if goals & WRITTEN == 0 {
            write_steps(task, goals, at)
        } else {
            exit_steps(task, goals)
        };
        steps.extend(x86::fillers(goals, at, known));

        if goals & REX != 0 {
            // The prefix 46 extends the register in a ModRM byte. It is harmless only for instructions without one.
            steps.retain(|step| bears_rex(step.bytes.as_slice()));
            for step in &mut steps {
                step.goals &= !REX;
            }
        }

        let magic = Instruction::new(b"ELF", goals | REX, "three REX prefixes");
        steps.extend((at == 1 && goals == self.start(task)).then_some(magic));
        steps.extend((goals == self.start(task)).then(|| x86::magic_jump(at, goals)).flatten());
        steps
    }

    fn least_units(&self, _: Goals) -> usize {
        0 // Any decided byte may be an instruction.
    }

    fn jump(&self, from: usize, to: usize) -> Option<InstructionBytes> {
        x86::jump(from, to)
    }
}

fn bears_rex(bytes: &[u8]) -> bool {
    matches!(
        bytes[0],
        0xb0 | 0xb2 | 0xb8..=0xbf | 0x04 | 0x0c | 0x34 | 0x3c | 0x3d | 0xa8 | 0xa9 | 0xff | 0x6a
    )
}

fn system_call(task: &CodeTask, goals: Goals) -> Instruction {
    let status_is_there = if task.status == 1 { RDI } else { 0 };
    let done = if goals & WRITTEN == 0 { WRITTEN | status_is_there } else { EXITED };
    Instruction::new(&[0x0f, 0x05], done, "syscall")
}

fn write_steps(task: &CodeTask, goals: Goals, at: usize) -> Vec<Instruction> {
    let mut steps = Vec::new();
    if goals & RAX == 0 {
        let done = goals | RAX;
        steps.push(Instruction::new(&[0xb0, 1], done, "mov al, 1"));
        steps.push(Instruction::new(&[0x05, 1, 0, 0, 0], done, "add eax, 1"));
    }

    if goals & RDI == 0 {
        let done = goals | RDI;
        steps.push(Instruction::new(&[0xff, 0xc7], done, "inc edi"));
        steps.push(Instruction::new(&[0xbf, 1, 0, 0, 0], done, "mov edi, 1"));
        if goals & RAX != 0 {
            steps.push(Instruction::new(&[0x89, 0xc7], done, "mov edi, eax"));
        }
    }

    if goals & RSI == 0 {
        steps.push(message(task, goals, at));
    }

    if goals & RDX == 0 {
        steps.extend(x86::length(task, goals | RDX));
    }
    steps
}

fn message(task: &CodeTask, goals: Goals, at: usize) -> Instruction {
    let distance = task.message.cast_signed() - at.cast_signed() - 7;
    let distance = i32::try_from(distance).unwrap_or(0).to_le_bytes();
    Instruction::new(&[&[0x48, 0x8d, 0x35][..], &distance].concat(), goals | RSI, "lea rsi, [message]")
}

/// After the write, rax is the number of bytes written, and rdi is still 1.
fn exit_steps(task: &CodeTask, goals: Goals) -> Vec<Instruction> {
    let mut steps = Vec::new();
    if goals & RAX == 0 {
        let done = goals | RAX;
        if task.length < 1 << 8 {
            steps.push(Instruction::new(&[0xb0, 60], done, "mov al, 60 (exit)"));
        }
        steps.push(Instruction::new(&[0x6a, 60, 0x58], done, "push 60; pop rax (exit)"));
        steps.push(Instruction::new(&[0xb8, 60, 0, 0, 0], done, "mov eax, 60 (exit)"));
    }

    if goals & RDI == 0 {
        let done = goals | RDI;
        steps.extend(match task.status {
            0 => vec![
                Instruction::new(&[0x31, 0xff], done, "xor edi, edi"),
                Instruction::new(&[0xff, 0xcf], done, "dec edi"),
            ],
            2 if task.length > 0 => vec![Instruction::new(&[0xff, 0xc7], done, "inc edi")],
            _ => Vec::new(),
        });
        steps.push(Instruction::new(&[0x40, 0xb7, task.status], done, "mov dil, status"));
        steps.push(Instruction::new(&[0xbf, task.status, 0, 0, 0], done, "mov edi, status"));
    }
    steps
}
