//! riscv64: system call number in a7, arguments in a0, a1, a2, instruction `ecall` (syscall(2)).

use super::{WRITE_FAILED, Write, near, words};

const SYS_READ: u32 = 63;
const SYS_WRITE: u32 = 64;
const SYS_EXIT: u32 = 93;
const ECALL: u32 = 0x0000_0073;
const ZERO: u32 = 0;
const A0: u32 = 10;
const A1: u32 = 11;
const A2: u32 = 12;
const A7: u32 = 17;

/// The code that writes the message and exits.
pub fn write_and_exit(write: &Write) -> Vec<u8> {
    let mut code = pc_relative(A1, write.distance_from(0)).to_vec();
    code.extend(li(A2, write.length));
    if write.loops() {
        code.extend(write_loop(if write.exit.is_some() { 3 } else { 0 }));
    } else {
        code.extend([addi(A0, ZERO, 1), addi(A7, ZERO, SYS_WRITE), ECALL]);
    }
    if let Some(status) = write.exit {
        code.extend(exit(status));
        if write.loops() {
            code.extend(exit(WRITE_FAILED));
        }
    }
    words(&code)
}

/// Writes a2 bytes from a1. If a write fails, continues `failed` instructions after its end.
fn write_loop(failed: i64) -> [u32; 7] {
    [
        addi(A0, ZERO, 1),
        addi(A7, ZERO, SYS_WRITE),
        ECALL,
        branch(GREATER_OR_EQUAL, ZERO, A0, 4 + failed),
        0x00a5_85b3, // add a1, a1, a0
        0x40a6_0633, // sub a2, a2, a0
        branch(NOT_EQUAL, A2, ZERO, -6),
    ]
}

/// Copies stdin to stdout through 64 KiB on the stack.
pub(super) fn copy() -> Vec<u8> {
    let mut code = vec![
        0x0001_02b7, // lui t0, 0x10
        0x4051_0133, // sub sp, sp, t0
        addi(A0, ZERO, 0),
        0x0001_0593, // mv a1, sp
        0x0001_0637, // lui a2, 0x10
        addi(A7, ZERO, SYS_READ),
        ECALL,
        branch(EQUAL, A0, ZERO, 11),
        branch(GREATER_OR_EQUAL, ZERO, A0, 13),
        0x0005_0613, // mv a2, a0
    ];
    code.extend(write_loop(4));
    code.push(branch(EQUAL, ZERO, ZERO, -15)); // to the read
    code.extend([exit(0), exit(WRITE_FAILED)].concat());
    words(&code)
}

/// Exits with this status.
pub(super) fn exit(status: u8) -> [u32; 3] {
    [addi(A0, ZERO, status.into()), addi(A7, ZERO, SYS_EXIT), ECALL]
}

/// `addi rd, rs, value`, with a signed value of 12 bits.
pub(crate) fn addi(rd: u32, rs: u32, value: u32) -> u32 {
    (value & 0xfff) << 20 | rs << 15 | rd << 7 | 0x13
}

/// `auipc rd, high` and `addi rd, rd, low`: the address at this distance from the `auipc`.
fn pc_relative(rd: u32, distance: i64) -> [u32; 2] {
    let distance = near(distance);
    [upper(distance) | rd << 7 | 0x17, addi(rd, rd, distance)]
}

/// `addi`, and `lui` before it if the value needs it.
fn li(rd: u32, value: u32) -> Vec<u32> {
    match upper(value) {
        0 => vec![addi(rd, ZERO, value)],
        upper => vec![upper | rd << 7 | 0x37, addi(rd, rd, value)],
    }
}

/// The upper 20 bits of a value whose lower 12 bits are added with sign extension.
fn upper(value: u32) -> u32 {
    value.wrapping_add(0x800) & 0xffff_f000
}

const EQUAL: u32 = 0;
const NOT_EQUAL: u32 = 1;
const GREATER_OR_EQUAL: u32 = 5;

/// A conditional branch over this many instructions.
fn branch(condition: u32, rs1: u32, rs2: u32, instructions: i64) -> u32 {
    let distance = near(instructions * 4);
    let bits = |high: u32, low: u32| distance >> low & ((1 << (high - low + 1)) - 1);
    bits(12, 12) << 31
        | bits(10, 5) << 25
        | bits(4, 1) << 8
        | bits(11, 11) << 7
        | rs2 << 20
        | rs1 << 15
        | condition << 12
        | 0x63
}
