//! Where `CPython` keeps what a reader of its frames needs, by version.
//!
//! The figures are `offsetof` of the structures in `Include/internal` (`pycore_runtime.h`, `pycore_interp.h`,
//! `pycore_frame.h`) and `Include/cpython` (`pystate.h`, `code.h`, `unicodeobject.h`), for 64-bit processors. From 3.13 on,
//! `_PyRuntime` begins with `_Py_DebugOffsets`, which has them; only their order is not the same in all versions.

use super::super::memory::Reader;

/// Offsets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// `_PyRuntime.interpreters.head`.
    pub(super) interpreters: u64,
    /// `PyInterpreterState`: `next`, and the head of its threads.
    pub(super) interpreter: [u64; 2],
    /// `PyThreadState`: `next`, `thread_id`.
    pub(super) thread: [u64; 2],
    /// From a `PyThreadState` to its innermost frame.
    pub(super) innermost: Innermost,
    pub(super) frame: FrameLayout,
    pub(super) code: CodeLayout,
    pub(super) strings: Strings,
    pub(super) lines: LineTable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Innermost {
    /// The pointer is at this place.
    At(u64),
    /// The pointer at the first place points to a structure with the pointer at the second one.
    Through(u64, u64),
}

/// `PyFrameObject` or `_PyInterpreterFrame`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameLayout {
    pub(super) code: u64,
    pub(super) previous: u64,
    pub(super) instruction: Instruction,
    pub(super) runs: Runs,
}

/// Which instruction a frame executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instruction {
    /// An `int` at this place counts units of so many bytes from the beginning of the code.
    Index(u64, i64),
    /// A pointer at this place.
    Pointer(u64),
}

/// Which frames were entered by a call of the interpreter's loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// Each one.
    Each,
    /// Those with a flag at this place.
    Flag(u64),
    /// Those whose caller is a frame with an owner of [`OWNED_BY_C`] or more at this place, which has no code.
    AfterOwner(u64),
}

/// `FRAME_OWNED_BY_CSTACK`, from 3.14 on `FRAME_OWNED_BY_INTERPRETER`.
pub(super) const OWNED_BY_C: u8 = 3;

/// `PyCodeObject`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodeLayout {
    pub(super) file: u64,
    /// The qualified name where there is one.
    pub(super) name: u64,
    pub(super) first_line: u64,
    pub(super) table: u64,
    /// The instructions, if they are in the object.
    pub(super) instructions: u64,
}

/// The sizes of `PyASCIIObject` and `PyCompactUnicodeObject`, after which the characters follow.
pub(super) type Strings = [u64; 2];

/// How a code object says to which lines its instructions belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineTable {
    /// `co_lnotab` (`Objects/lnotab_notes.txt`).
    Differences,
    /// `co_linetable` of 3.10 (PEP 626).
    Ranges,
    /// `co_linetable` from 3.11 on (PEP 657, `Objects/locations.md`).
    Locations,
}

const OLD_STRINGS: Strings = [48, 72];
const NEW_STRINGS: Strings = [40, 56];

const V3_8: Layout = Layout {
    interpreters: 32,
    interpreter: [0, 8],
    thread: [8, 176],
    innermost: Innermost::At(24),
    frame: FrameLayout { code: 32, previous: 24, instruction: Instruction::Index(104, 1), runs: Runs::Each },
    code: CodeLayout { file: 104, name: 112, first_line: 40, table: 120, instructions: 0 },
    strings: OLD_STRINGS,
    lines: LineTable::Differences,
};

const V3_10: Layout = Layout {
    frame: FrameLayout { code: 32, previous: 24, instruction: Instruction::Index(96, 2), runs: Runs::Each },
    lines: LineTable::Ranges,
    ..V3_8
};

const V3_11: Layout = Layout {
    interpreters: 40,
    interpreter: [0, 16],
    thread: [8, 152],
    innermost: Innermost::Through(56, 8),
    frame: FrameLayout {
        code: 32,
        previous: 48,
        instruction: Instruction::Pointer(56),
        runs: Runs::Flag(68),
    },
    code: CodeLayout { file: 112, name: 128, first_line: 72, table: 136, instructions: 184 },
    strings: OLD_STRINGS,
    lines: LineTable::Locations,
};

const V3_12: Layout = Layout {
    interpreters: 40,
    interpreter: [0, 72],
    thread: [8, 136],
    innermost: Innermost::Through(56, 0),
    frame: FrameLayout {
        code: 0,
        previous: 8,
        instruction: Instruction::Pointer(56),
        runs: Runs::AfterOwner(70),
    },
    code: CodeLayout { file: 112, name: 128, first_line: 68, table: 136, instructions: 192 },
    strings: NEW_STRINGS,
    lines: LineTable::Locations,
};

/// The order in `_Py_DebugOffsets`: how many fields the parts for the interpreter, the thread, exceptions and frames have,
/// and which field of the thread is `thread_id`.
struct Order {
    fields: [u64; 4],
    thread_id: u64,
}

fn order(minor: u8) -> Option<Order> {
    Some(match minor {
        13 => Order { fields: [13, 9, 0, 6], thread_id: 5 },
        14 => Order { fields: [16, 9, 0, 8], thread_id: 5 },
        15 => Order { fields: [16, 16, 1, 8], thread_id: 8 },
        _ => return None,
    })
}

/// At the beginning of `_PyRuntime`.
const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");

impl Layout {
    /// The layout of 3.`minor`; `None`: it is not known, or the program has not prepared it yet.
    pub(super) fn of(minor: u8, memory: &mut Reader<'_>, runtime: u64) -> Option<Layout> {
        match minor {
            8 | 9 => Some(V3_8),
            10 => Some(V3_10),
            11 => Some(V3_11),
            12 => Some(V3_12),
            _ => Layout::described(&order(minor)?, memory, runtime),
        }
    }

    /// Whether 3.`minor` is known.
    pub(super) fn is_known(minor: u8) -> bool {
        (8..=12).contains(&minor) || order(minor).is_some()
    }

    fn described(order: &Order, memory: &mut Reader<'_>, runtime: u64) -> Option<Layout> {
        let mut field = |n: u64| memory.word(runtime.wrapping_add(8 * n));
        // a free-threaded build has other structures
        if field(0)? != COOKIE || field(2)? != 0 {
            return None;
        }
        let [of_interpreter, of_thread, of_exceptions, of_frame] = order.fields;
        let interpreter = 6;
        let thread = interpreter + of_interpreter;
        let frame = thread + of_thread + of_exceptions;
        let code = frame + of_frame;
        Some(Layout {
            interpreters: field(5)?,
            interpreter: [field(interpreter + 2)?, field(interpreter + 3)?],
            thread: [field(thread + 2)?, field(thread + order.thread_id)?],
            innermost: Innermost::At(field(thread + 4)?),
            frame: FrameLayout {
                previous: field(frame + 1)?,
                code: field(frame + 2)?,
                instruction: Instruction::Pointer(field(frame + 3)?),
                runs: Runs::AfterOwner(field(frame + 5)?),
            },
            code: CodeLayout {
                file: field(code + 1)?,
                name: field(code + 3)?,
                table: field(code + 4)?,
                first_line: field(code + 5)?,
                instructions: field(code + 9)?,
            },
            strings: NEW_STRINGS,
            lines: LineTable::Locations,
        })
    }
}
