//! aarch64: system call number in x8, arguments in x0, x1, x2, instruction `svc 0` (syscall(2)).

use super::{WRITE_FAILED, Write, near, words};

const SYS_READ: u32 = 63;
const SYS_WRITE: u32 = 64;
const SYS_EXIT: u32 = 93;
const SVC: u32 = 0xd400_0001;

/// The code that writes the message and exits.
pub fn write_and_exit(write: &Write) -> Vec<u8> {
    if write.loops() { write_in_a_loop(write) } else { write_once(write) }
}

fn write_once(write: &Write) -> Vec<u8> {
    let mut code = vec![movz(0, 1), adr(1, write.distance_from(4))];
    code.extend(mov(2, write.length));
    code.extend([movz(8, SYS_WRITE), SVC]);
    code.extend(write.exit.map(exit).into_iter().flatten());
    words(&code)
}

fn write_in_a_loop(write: &Write) -> Vec<u8> {
    let mut code = vec![adr(1, write.distance_from(0))];
    code.extend(mov(2, write.length));
    code.extend(write_loop(if write.exit.is_some() { 3 } else { 0 }));
    if let Some(status) = write.exit {
        code.extend(exit(status));
        code.extend(exit(WRITE_FAILED));
    }
    words(&code)
}

/// Writes x2 bytes from x1. If a write fails, continues `failed` instructions after its end.
fn write_loop(failed: i64) -> [u32; 8] {
    [
        movz(0, 1),
        movz(8, SYS_WRITE),
        SVC,
        CMP_X0_0,
        branch_if(LESS_OR_EQUAL, 4 + failed),
        0x8b00_0021, // add x1, x1, x0
        0xeb00_0042, // subs x2, x2, x0
        branch_if(NOT_EQUAL, -7),
    ]
}

/// Copies stdin to stdout through 64 KiB on the stack.
pub(super) fn copy() -> Vec<u8> {
    let mut code = vec![
        0xd140_43ff, // sub sp, sp, 0x10000
        movz(0, 0),
        0x9100_03e1, // mov x1, sp
        0xd2a0_0022, // mov x2, 0x10000
        movz(8, SYS_READ),
        SVC,
        CMP_X0_0,
        branch_if(EQUAL, 12),
        branch_if(LESS_OR_EQUAL, 14),
        0xaa00_03e2, // mov x2, x0
    ];
    code.extend(write_loop(4));
    code.push(0x1400_0000 | near(-17) & 0x3ff_ffff); // b to the read
    code.extend([exit(0), exit(WRITE_FAILED)].concat());
    words(&code)
}

/// Exits with this status.
pub(super) fn exit(status: u8) -> [u32; 3] {
    [movz(0, status.into()), movz(8, SYS_EXIT), SVC]
}

/// `movz xN, #value`, 16 bits.
pub(crate) fn movz(register: u32, value: u32) -> u32 {
    0xd280_0000 | (value & 0xffff) << 5 | register
}

/// `movz`, and `movk xN, #high, lsl 16` if the value needs it.
fn mov(register: u32, value: u32) -> Vec<u32> {
    let high = value >> 16;
    let movk = 0xf2a0_0000 | high << 5 | register;
    if high == 0 { vec![movz(register, value)] } else { vec![movz(register, value), movk] }
}

/// `adr xN, .+distance`, within ±1 MiB.
pub(crate) fn adr(register: u32, distance: i64) -> u32 {
    let distance = near(distance);
    0x1000_0000 | (distance & 3) << 29 | (distance >> 2 & 0x7_ffff) << 5 | register
}

const CMP_X0_0: u32 = 0xf100_001f;
const EQUAL: u32 = 0;
const NOT_EQUAL: u32 = 1;
const LESS_OR_EQUAL: u32 = 13;

/// `b.cond .+4*instructions`.
fn branch_if(condition: u32, instructions: i64) -> u32 {
    0x5400_0000 | (near(instructions) & 0x7_ffff) << 5 | condition
}
