//! x86-64: system call number in rax, arguments in rdi, rsi, rdx, instruction `syscall` (syscall(2)).

use super::{WRITE_FAILED, Write, near};

const SYS_WRITE: u32 = 1;
const SYS_EXIT: u32 = 60;
const SYSCALL: [u8; 2] = [0x0f, 0x05];

/// The code that writes the message and exits.
pub fn write_and_exit(write: &Write) -> Vec<u8> {
    let mut code = Vec::new();
    code.extend(lea_rsi(write.distance_from(7)));
    code.extend(mov(EDX, write.length));
    if write.loops() {
        let failed = write.exit.map_or(0, |status| exit(status).len());
        code.extend(write_loop(failed));
    } else {
        code.extend([mov(EDI, 1), mov(EAX, SYS_WRITE)].concat());
        code.extend(SYSCALL);
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
const EDX: u8 = 0xba;
const EDI: u8 = 0xbf;

fn mov(register: u8, value: u32) -> Vec<u8> {
    [&[register][..], &value.to_le_bytes()].concat()
}

fn lea_rsi(distance: i64) -> Vec<u8> {
    [&[0x48, 0x8d, 0x35][..], &near(distance).to_le_bytes()].concat()
}

/// Exits with this status.
pub(super) fn exit(status: u8) -> Vec<u8> {
    [mov(EDI, status.into()), mov(EAX, SYS_EXIT), SYSCALL.to_vec()].concat()
}

/// Copies stdin to stdout through 64 KiB on the stack.
pub(super) fn copy() -> Vec<u8> {
    let mut code = vec![0x48, 0x81, 0xec, 0, 0, 1, 0]; // sub rsp, 0x10000
    let read = code.len();
    code.extend([0x31, 0xff]); // xor edi, edi
    code.extend([0x48, 0x89, 0xe6]); // mov rsi, rsp
    code.extend(mov(EDX, 0x1_0000));
    code.extend([0x31, 0xc0]); // xor eax, eax: read
    code.extend(SYSCALL);
    code.extend([0x48, 0x85, 0xc0]); // test rax, rax
    let write = write_loop(2 + exit(0).len());
    let done = 2 + 3 + low(write.len()) + 2;
    code.extend([0x74, done]); // jz to the exit
    code.extend([0x78, done - 2 + low(exit(0).len())]); // js to the failure
    code.extend([0x48, 0x89, 0xc2]); // mov rdx, rax
    code.extend(write);
    code.extend([0xeb, low(code.len() + 2 - read).wrapping_neg()]); // jmp to the read
    code.extend([exit(0), exit(WRITE_FAILED)].concat());
    code
}

/// Writes rdx bytes from rsi. If a write fails, continues `failed` bytes after its end.
fn write_loop(failed: usize) -> Vec<u8> {
    let mut code = [mov(EDI, 1), mov(EAX, SYS_WRITE), SYSCALL.to_vec()].concat();
    code.extend([0x48, 0x85, 0xc0]); // test rax, rax
    code.extend([0x7e, 8 + low(failed)]); // jle
    code.extend([0x48, 0x01, 0xc6]); // add rsi, rax
    code.extend([0x48, 0x29, 0xc2]); // sub rdx, rax
    let length = low(code.len() + 2);
    code.extend([0x75, length.wrapping_neg()]); // jnz to the start
    code
}

#[expect(clippy::cast_possible_truncation, reason = "a distance within this code: below 128")]
fn low(distance: usize) -> u8 {
    distance as u8
}
