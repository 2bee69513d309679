//! The readers of interpreters' frames, for `fuzz/`.

use super::frame::Stopped;
use super::interpreter::{DEEPEST, Interpreter};
use super::memory::Memory;
use super::{bash, java, node, perl, php, python, ruby, zsh};
use crate::tracer::ptrace::place::StoppedAt;

/// Where the variables of the interpreters are.
const VARIABLES: u64 = 0x1000;
/// The end of the memory.
const END: u64 = 0x10_0000;
const STACK: u64 = 0x2000;

/// Reads the frames of a thread. The first byte chooses the interpreter, the second one its version, the next ones are the
/// registers, and the others are the memory, again and again.
pub fn frames(bytes: &[u8]) {
    let Some(([which, version], rest)) = bytes.split_first_chunk::<2>() else { return };
    let Some((registers, contents)) = rest.split_first_chunk::<12>().filter(|(_, it)| !it.is_empty()) else {
        return;
    };
    let all: [fn(u8, u64) -> Option<Box<dyn Interpreter>>; 8] = [
        python::fuzzed,
        node::fuzzed,
        ruby::fuzzed,
        java::fuzzed,
        perl::fuzzed,
        php::fuzzed,
        bash::fuzzed,
        zsh::fuzzed,
    ];
    let Some(mut interpreter) = all[usize::from(*which) % all.len()](*version, VARIABLES) else { return };

    let source = |address: u64, room: &mut [u8]| {
        let mut from = usize::try_from(address).unwrap_or_default() % contents.len();
        let mut rest = &mut room[..];
        while !rest.is_empty() {
            let length = rest.len().min(contents.len() - from);
            let (part, next) = rest.split_at_mut(length);
            part.copy_from_slice(&contents[from..from + length]);
            (rest, from) = (next, 0);
        }
        if address < END { room.len() } else { 0 }
    };
    let mut stack = [0; 1024];
    source(STACK, &mut stack);
    let register = |n: usize| u64::from(u16::from_le_bytes([registers[2 * n], registers[2 * n + 1]]));
    let [ip, fp, v8_offset, v8_bytecode, php_frame, php_instruction] = [0, 1, 2, 3, 4, 5].map(register);
    let place = StoppedAt {
        ip,
        sp: STACK,
        fp,
        lr: 0,
        thread_pointer: VARIABLES,
        v8_offset,
        v8_bytecode,
        hotspot_instruction: v8_bytecode,
        php_frame,
        php_instruction,
        narrow: false,
    };

    // what is known from the first time is used again
    let mut memory = Memory::default();
    for _ in 0..2 {
        let frames = interpreter.frames(&Stopped { place, stack: &stack }, &mut memory.reader(&source));
        // the script itself may be one more
        assert!(frames.len() <= DEEPEST + 1);
        for frame in frames {
            frame.named();
        }
        memory.forget();
    }
}
