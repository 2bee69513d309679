//! The instructions of i386 for the search. Registers are zero at the start, and increments have one byte.

use super::instruction::{
    Base, CodeTask, EXITED, Goals, Instruction, InstructionBytes, InstructionSet, WRITTEN,
};
use super::x86;

pub(super) struct I386;

const EAX: Goals = 1;
const EBX: Goals = 2;
const ECX: Goals = 4;
const EDX: Goals = 8;
/// eax and ebx have been exchanged after the write.
const EXCHANGED: Goals = 64;
/// An address within the file has been pushed.
const PUSHED: Goals = 128;
/// ecx is an address within the file.
const ECX_NEAR: Goals = 256;
/// esi is 1, the number of exit, for later.
const PREPARED: Goals = 512;
/// Decided bytes have counted esi up or down, so its value cannot be used.
const ESI_SPOILED: Goals = 1024;
const READY: Goals = EAX | EBX | ECX | EDX;

impl InstructionSet for I386 {
    fn alignment(&self) -> usize {
        1
    }

    fn passable(&self) -> usize {
        usize::MAX // they are swallowed or harmless
    }

    fn start(&self, task: &CodeTask) -> Goals {
        let status = if task.status == 0 { EBX } else { 0 };
        if task.length == 0 { WRITTEN | status } else { 0 }
    }

    fn steps(
        &self,
        task: &CodeTask,
        goals: Goals,
        at: usize,
        known: &dyn Fn(usize) -> Option<u8>,
    ) -> Vec<Instruction> {
        let needed = if goals & WRITTEN == 0 { READY } else { EAX | EBX };
        let mut steps = if goals & needed == needed {
            vec![system_call(task, goals)]
        } else if goals & WRITTEN == 0 {
            write_steps(task, goals, at, known)
        } else {
            exit_steps(task, goals)
        };

        steps.extend(x86::fillers(goals, at, known));
        steps.extend(spare_increment(goals, at, known));
        steps.extend((goals == self.start(task)).then(|| x86::magic_jump(at, goals)).flatten());
        steps
    }

    /// One byte for each value, because its other bytes may be decided, and two for each system call.
    fn least_units(&self, goals: Goals) -> usize {
        let missing = |wanted: Goals| (wanted & !goals).count_ones() as usize;
        let exit = missing(EAX) + missing(EBX) + 2;
        if goals & WRITTEN != 0 { exit } else { missing(READY) + 2 + 4 }
    }

    fn jump(&self, from: usize, to: usize) -> Option<InstructionBytes> {
        x86::jump(from, to)
    }
}

/// A decided byte that counts esp, ebp, esi or edi up or down, if the register is not needed any more.
fn spare_increment(goals: Goals, at: usize, known: &dyn Fn(usize) -> Option<u8>) -> Option<Instruction> {
    let byte = known(at)?;
    let spare = matches!(byte, 0x44..=0x47 | 0x4c..=0x4f) && goals & PUSHED == 0;
    let counts_esi = matches!(byte, 0x46 | 0x4e);
    let goals = if counts_esi { goals & !PREPARED | ESI_SPOILED } else { goals };
    spare.then(|| Instruction::new(&[byte], goals, "counts a register that is not needed"))
}

fn system_call(task: &CodeTask, goals: Goals) -> Instruction {
    let status_is_there = if task.status == 1 { EBX } else { 0 };
    let esi = goals & (PREPARED | ESI_SPOILED);
    let done = if goals & WRITTEN == 0 { WRITTEN | esi | status_is_there } else { EXITED };
    Instruction::new(&[0xcd, 0x80], done, "int 0x80")
}

fn write_steps(
    task: &CodeTask,
    goals: Goals,
    at: usize,
    known: &dyn Fn(usize) -> Option<u8>,
) -> Vec<Instruction> {
    let mut steps = Vec::new();
    if goals & EAX == 0 {
        steps.extend(number_of_write(goals | EAX));
    }

    if goals & (PREPARED | ESI_SPOILED) == 0 {
        steps.push(Instruction::new(&[0x46], goals | PREPARED, "inc esi (exit, for later)"));
    }

    if goals & EBX == 0 {
        let done = goals | EBX;
        steps.push(Instruction::new(&[0x43], done, "inc ebx"));
        steps.push(Instruction::new(&[0xbb, 1, 0, 0, 0], done, "mov ebx, 1"));
    }

    if goals & ECX == 0 {
        steps.extend(if task.anywhere {
            found_address(task, goals, at, known)
        } else {
            fixed_address(task, goals).into_iter().collect()
        });
    }

    if goals & EDX == 0 {
        steps.extend(x86::length(task, goals | EDX));
    }
    steps
}

fn number_of_write(done: Goals) -> [Instruction; 2] {
    [
        Instruction::new(&[0xb0, 4], done, "mov al, 4 (write)"),
        Instruction::new(&[0x35, 4, 0, 0, 0], done, "xor eax, 4 (write)"),
    ]
}

fn fixed_address(task: &CodeTask, goals: Goals) -> Option<Instruction> {
    let low = u8::try_from(task.message).ok()?;
    let step = Instruction::new(&[0xb9, low, 0], goals | ECX, "mov ecx, message");
    Some(Instruction { base: Base::InBytes(3), length: 5, ..step })
}

/// For a file at an unknown address. A call pushes an address within the file, of which only the low byte is wrong.
fn found_address(
    task: &CodeTask,
    goals: Goals,
    at: usize,
    known: &dyn Fn(usize) -> Option<u8>,
) -> Vec<Instruction> {
    let Ok(low) = u8::try_from(task.message) else { return Vec::new() };
    if goals & ECX_NEAR != 0 {
        return vec![Instruction::new(&[0xb1, low], goals & !ECX_NEAR | ECX, "mov cl, message")];
    }
    if goals & PUSHED != 0 {
        let popped = goals & !PUSHED | ECX_NEAR;
        return vec![Instruction::new(&[0x59], popped, "pop ecx")];
    }

    let begins_gap = |to: usize| known(to).is_none() && (to == 0 || known(to - 1).is_some());
    let targets = (0..128).filter(|&to| to != at && begins_gap(to));
    let call = |to: usize| {
        let distance = i32::try_from(to.cast_signed() - at.cast_signed() - 5).unwrap_or(0).to_le_bytes();
        let step =
            Instruction::new(&[&[0xe8][..], &distance].concat(), goals | PUSHED, "call: pushes an address");
        Instruction { target: Some(to), ..step }
    };
    targets.map(call).collect()
}

/// After the write, eax is the number of bytes written, and ebx is still 1. If they are exchanged, eax is the number of
/// exit.
fn exit_steps(task: &CodeTask, goals: Goals) -> Vec<Instruction> {
    let mut steps = Vec::new();
    if goals & EAX == 0 {
        let done = goals | EAX;
        if task.length < 1 << 8 {
            steps.push(Instruction::new(&[0xb0, 1], done, "mov al, 1 (exit)"));
        }
        if goals & PREPARED != 0 {
            steps.push(Instruction::new(&[0x96], done, "xchg eax, esi (exit)"));
        }
        if task.length > 0 && goals & EBX == 0 {
            steps.push(Instruction::new(&[0x93], done | EXCHANGED, "xchg eax, ebx (exit)"));
        }
        steps.push(Instruction::new(&[0x6a, 1, 0x58], done, "push 1; pop eax (exit)"));
        steps.push(Instruction::new(&[0xb8, 1, 0, 0, 0], done, "mov eax, 1 (exit)"));
    }

    if goals & EBX == 0 {
        let done = goals | EBX;
        if task.length > 0 && goals & EXCHANGED == 0 {
            match task.status {
                0 => steps.push(Instruction::new(&[0x4b], done, "dec ebx")),
                2 => steps.push(Instruction::new(&[0x43], done, "inc ebx")),
                _ => {}
            }
        }
        steps.push(Instruction::new(&[0xb3, task.status], done, "mov bl, status"));
        steps.push(Instruction::new(&[0xbb, task.status, 0, 0, 0], done, "mov ebx, status"));
    }
    steps
}
