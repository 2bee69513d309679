//! i386: system call number in eax, arguments in ebx, ecx, edx, instruction `int 0x80` (syscall(2)).

use super::{WRITE_FAILED, Write};

const SYS_EXIT: u32 = 1;
const SYS_READ: u32 = 3;
const SYS_WRITE: u32 = 4;
const INT_80: [u8; 2] = [0xcd, 0x80];

/// The code that writes the message and exits.
pub fn write_and_exit(write: &Write) -> Vec<u8> {
    let mut code = Vec::new();
    code.extend(mov(ECX, address(write.message_address)));
    code.extend(mov(EDX, write.length));
    if write.loops() {
        let failed = write.exit.map_or(0, |status| exit(status).len());
        code.extend(write_loop(failed));
    } else {
        code.extend([mov(EBX, 1), mov(EAX, SYS_WRITE)].concat());
        code.extend(INT_80);
    }
    if let Some(status) = write.exit {
        code.extend(exit(status));
        if write.loops() {
            code.extend(exit(WRITE_FAILED));
        }
    }
    code
}

const EAX: u8 = 0xb8;
const ECX: u8 = 0xb9;
const EDX: u8 = 0xba;
const EBX: u8 = 0xbb;

fn mov(register: u8, value: u32) -> Vec<u8> {
    [&[register][..], &value.to_le_bytes()].concat()
}

#[expect(clippy::cast_possible_truncation, reason = "an i386 address has 32 bits")]
fn address(address: u64) -> u32 {
    address as u32
}

/// Exits with this status.
pub(super) fn exit(status: u8) -> Vec<u8> {
    [mov(EBX, status.into()), mov(EAX, SYS_EXIT), INT_80.to_vec()].concat()
}

/// Copies stdin to stdout through 64 KiB on the stack.
pub(super) fn copy() -> Vec<u8> {
    let mut code = vec![0x81, 0xec, 0, 0, 1, 0]; // sub esp, 0x10000
    let read = code.len();
    code.extend([0x31, 0xdb]); // xor ebx, ebx
    code.extend([0x89, 0xe1]); // mov ecx, esp
    code.extend([mov(EDX, 0x1_0000), mov(EAX, SYS_READ)].concat());
    code.extend(INT_80);
    code.extend([0x85, 0xc0]); // test eax, eax
    let write = write_loop(2 + exit(0).len());
    let done = 2 + 2 + low(write.len()) + 2;
    code.extend([0x74, done]); // jz to the exit
    code.extend([0x78, done - 2 + low(exit(0).len())]); // js to the failure
    code.extend([0x89, 0xc2]); // mov edx, eax
    code.extend(write);
    code.extend([0xeb, low(code.len() + 2 - read).wrapping_neg()]); // jmp to the read
    code.extend([exit(0), exit(WRITE_FAILED)].concat());
    code
}

/// Writes edx bytes from ecx. If a write fails, continues `failed` bytes after its end.
fn write_loop(failed: usize) -> Vec<u8> {
    let mut code = [mov(EBX, 1), mov(EAX, SYS_WRITE), INT_80.to_vec()].concat();
    code.extend([0x85, 0xc0]); // test eax, eax
    code.extend([0x7e, 6 + low(failed)]); // jle
    code.extend([0x01, 0xc1]); // add ecx, eax
    code.extend([0x29, 0xc2]); // sub edx, eax
    let length = low(code.len() + 2);
    code.extend([0x75, length.wrapping_neg()]); // jnz to the start
    code
}

#[expect(clippy::cast_possible_truncation, reason = "a distance within this code: below 128")]
fn low(distance: usize) -> u8 {
    distance as u8
}
