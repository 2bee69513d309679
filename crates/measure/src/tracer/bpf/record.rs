//! The records that the kernel side writes: their kinds, and their layouts from `run.h`, `phases_session.h` and
//! `full_session.h`.
//!
//! The tests compare each kind and each layout with the headers: a change on one side alone fails.

use super::shared_run::{CALL_COMPAT, PATH_ROOM};
use crate::arch::{Abi, Structure, Syscall};
use crate::tracer::EventKind;
use crate::tracer::event::WantedContents;
use crate::units::Nanos;

/// `CALLER_WORDS`: how much of the user's stack is saved with a call.
pub(super) const CALLER_WORDS: usize = 8;
/// `AUXV_WORDS`: how much of the auxiliary vector is saved.
pub(super) const AUXV_WORDS: usize = 48;
/// `ARGV_ROOM`: how many bytes of the argument vector are saved.
pub(super) const ARGV_ROOM: usize = 256;
/// `REST_ROOM`: how much of a long path a further record has.
pub(super) const REST_ROOM: usize = 1920;
/// `CONTENT_ROOM`: how much of a buffer a record has.
pub(super) const CONTENT_ROOM: usize = 32;
/// `LARGE_CONTENT_ROOM`: how much of a buffer a large record has.
pub(super) const LARGE_CONTENT_ROOM: usize = WantedContents::MOST_BYTES as usize;

/// What a record means: `RECORD_…` of `phases_session.h` and `FULL_…` of `full_session.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum RecordKind {
    /// A thread entered `execve` or `execveat`.
    ExecEnter = 1,
    /// The tracepoint `sched_prepare_exec`.
    ExecPrepare = 2,
    /// Phases mode: the tracepoint `sched_process_exec`. Except for the first exec, a path follows.
    ExecCommit = 3,
    /// `execve` returned; `value` is its result.
    ExecExit = 4,
    /// Phases mode: the first successful write of output was entered; `code` is the call.
    OutputEnter = 5,
    /// Phases mode: it returned; `code` is the call, `value` its result.
    OutputExit = 6,
    /// A process or thread was created; `code` is the child's process id, the lower half of `value` its thread id, and the
    /// upper half its id in our namespace.
    Fork = 7,
    /// A thread exited; `code`: it was the last one of its process, `value`: its exit code.
    Exit = 8,
    /// Full mode: the parent of a dead process has its SIGCHLD.
    ParentTold = 9,
    /// Phases mode: a lookup failed whose path, which follows, begins as a mark does.
    Mark = 10,
    /// Full mode: a system call without paths.
    Syscall = 16,
    /// Full mode: a system call with one path.
    SyscallPath = 17,
    /// Full mode: a system call with two paths.
    SyscallPaths = 18,
    /// Full mode: a system call that its thread will never return from.
    Unfinished = 19,
    /// Full mode: a page fault.
    Fault = 20,
    /// Full mode: a thread runs again.
    OffCpu = 21,
    /// Full mode: an exec has built its new image.
    Image = 22,
    /// Full mode: the thread's last fault was a major one.
    FaultWasMajor = 23,
    /// Full mode: more of a path of the thread's last call.
    PathRest = 24,
    /// Full mode: a write of output by `io_uring`.
    UringOutput = 25,
    /// Full mode: what a structure among the arguments of the thread's last call contains.
    Structure = 26,
    /// Full mode: the same for a large structure.
    LargeStructure = 27,
    /// Full mode: a signal was sent to the thread, or to its process; `code` is its number.
    Signalled = 28,
    /// Full mode: what a buffer among the arguments of the thread's last call contains.
    Content = 29,
    /// Full mode: the same, with more room.
    LargeContent = 30,
}

impl RecordKind {
    /// Every kind.
    pub(super) const ALL: [RecordKind; 25] = [
        RecordKind::ExecEnter,
        RecordKind::ExecPrepare,
        RecordKind::ExecCommit,
        RecordKind::ExecExit,
        RecordKind::OutputEnter,
        RecordKind::OutputExit,
        RecordKind::Fork,
        RecordKind::Exit,
        RecordKind::ParentTold,
        RecordKind::Mark,
        RecordKind::Syscall,
        RecordKind::SyscallPath,
        RecordKind::SyscallPaths,
        RecordKind::Unfinished,
        RecordKind::Fault,
        RecordKind::OffCpu,
        RecordKind::Image,
        RecordKind::FaultWasMajor,
        RecordKind::PathRest,
        RecordKind::UringOutput,
        RecordKind::Structure,
        RecordKind::LargeStructure,
        RecordKind::Signalled,
        RecordKind::Content,
        RecordKind::LargeContent,
    ];

    /// The kind of a number; `None` if there is no such kind.
    pub(super) fn of(number: u32) -> Option<RecordKind> {
        RecordKind::ALL.into_iter().find(|kind| *kind as u32 == number)
    }

    /// How many bytes a record of this kind has in the log of the full mode; `None` for the phases mode's own kinds.
    pub(super) fn size_in_full(self) -> Option<usize> {
        Some(match self {
            RecordKind::ExecEnter
            | RecordKind::ExecPrepare
            | RecordKind::ExecExit
            | RecordKind::Fork
            | RecordKind::Exit
            | RecordKind::ParentTold
            | RecordKind::Signalled
            | RecordKind::Unfinished
            | RecordKind::FaultWasMajor => size_of::<Record>(),
            RecordKind::Syscall => size_of::<SyscallRecord>(),
            RecordKind::SyscallPath => size_of::<SyscallRecord>() + PATH_ROOM,
            RecordKind::SyscallPaths => size_of::<SyscallRecord>() + 2 * PATH_ROOM,
            RecordKind::Fault => size_of::<FaultRecord>(),
            RecordKind::OffCpu => size_of::<OffCpuRecord>(),
            RecordKind::Image => size_of::<ImageRecord>(),
            RecordKind::PathRest => size_of::<PathRestRecord>(),
            RecordKind::UringOutput => size_of::<OutputRecord>(),
            RecordKind::Structure => size_of::<StructureRecord>(),
            RecordKind::LargeStructure => size_of::<LargeStructureRecord>(),
            RecordKind::Content => size_of::<ContentRecord>(),
            RecordKind::LargeContent => size_of::<LargeContentRecord>(),
            RecordKind::ExecCommit | RecordKind::OutputEnter | RecordKind::OutputExit | RecordKind::Mark => {
                return None;
            }
        })
    }
}

/// `struct record`: the beginning of every record. What `code` and `value` mean depends on the kind.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) at: u64,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) kind: u32,
    pub(super) code: u32,
    pub(super) value: i64,
}

/// `struct record_syscall`: a call that returned. Its paths follow.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct SyscallRecord {
    pub(super) record: Record,
    pub(super) entered: u64,
    pub(super) ip: u64,
    pub(super) arguments: [u64; 6],
    pub(super) stack: [u64; CALLER_WORDS],
}

/// `struct record_path_rest`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct PathRestRecord {
    pub(super) record: Record,
    pub(super) rest: [u8; REST_ROOM],
}

/// `struct record_structure`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct StructureRecord {
    pub(super) record: Record,
    pub(super) bytes: [u8; Structure::USUAL_ROOM],
}

/// `struct record_large_structure`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct LargeStructureRecord {
    pub(super) record: Record,
    pub(super) bytes: [u8; Structure::LARGE_ROOM],
}

/// `struct record_content`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ContentRecord {
    pub(super) record: Record,
    pub(super) bytes: [u8; CONTENT_ROOM],
}

/// `struct record_large_content`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct LargeContentRecord {
    pub(super) record: Record,
    pub(super) bytes: [u8; LARGE_CONTENT_ROOM],
}

/// `struct record_fault`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct FaultRecord {
    pub(super) record: Record,
    pub(super) entered: u64,
    pub(super) ip: u64,
}

/// `struct record_off_cpu`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct OffCpuRecord {
    pub(super) record: Record,
    pub(super) left: u64,
    pub(super) woken: u64,
}

/// `struct record_output`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct OutputRecord {
    pub(super) record: Record,
    pub(super) entered: u64,
}

/// `struct record_image`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ImageRecord {
    pub(super) record: Record,
    pub(super) start_code: u64,
    pub(super) end_code: u64,
    pub(super) start_data: u64,
    pub(super) end_data: u64,
    pub(super) start_brk: u64,
    pub(super) start_stack: u64,
    pub(super) auxv: [u64; AUXV_WORDS],
    pub(super) path: [u8; PATH_ROOM],
    pub(super) interpreter: [u8; PATH_ROOM],
    pub(super) argv: [u8; ARGV_ROOM],
}

/// A type that any bytes are a value of.
///
/// # Safety
///
/// The type is `repr(C)` and consists of integers without padding.
pub(super) unsafe trait Plain: Copy {}

// SAFETY: `repr(C)`, integers only, and the tests compare offsets and sizes with the headers, which have no padding.
unsafe impl Plain for Record {}
// SAFETY: as above.
unsafe impl Plain for SyscallRecord {}
// SAFETY: as above.
unsafe impl Plain for PathRestRecord {}
// SAFETY: as above.
unsafe impl Plain for StructureRecord {}
// SAFETY: as above.
unsafe impl Plain for LargeStructureRecord {}
// SAFETY: as above.
unsafe impl Plain for ContentRecord {}
// SAFETY: as above.
unsafe impl Plain for LargeContentRecord {}
// SAFETY: as above.
unsafe impl Plain for FaultRecord {}
// SAFETY: as above.
unsafe impl Plain for OffCpuRecord {}
// SAFETY: as above.
unsafe impl Plain for OutputRecord {}
// SAFETY: as above.
unsafe impl Plain for ImageRecord {}

/// The record at the beginning of `bytes`; `None` if there are too few.
pub(super) fn read<T: Plain>(bytes: &[u8]) -> Option<T> {
    let bytes = bytes.get(..size_of::<T>())?;
    // SAFETY: there are as many bytes as the type has, and any bytes are a value of it.
    Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

/// A record's beginning, once its kind is known to us.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) at: Nanos,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) kind: RecordKind,
    pub(super) code: u32,
    pub(super) value: i64,
}

impl Head {
    /// The head of a record; `None` if there are too few bytes or the kind is unknown.
    pub(super) fn of(bytes: &[u8]) -> Option<Head> {
        let Record { at, pid, tid, kind, code, value } = read(bytes)?;
        Some(Head { at: Nanos(at), pid, tid, kind: RecordKind::of(kind)?, code, value })
    }

    /// The event of a record that both modes write; `None` for another kind.
    pub(super) fn common(&self) -> Option<EventKind> {
        Some(match self.kind {
            RecordKind::ExecEnter => EventKind::ExecEnter,
            RecordKind::ExecPrepare => EventKind::ExecPrepare,
            RecordKind::ExecExit => EventKind::ExecExit { result: self.value },
            RecordKind::Fork => {
                let [_, child_tid] = halves(self.value);
                EventKind::Fork { child_pid: self.code, child_tid }
            }
            RecordKind::Exit => {
                EventKind::Exit { group_dead: self.code != 0, status: i32::try_from(self.value).ok()? }
            }
            _ => return None,
        })
    }
}

/// The upper and the lower half of a record's value.
pub(super) fn halves(value: i64) -> [u32; 2] {
    [value >> 32, value].map(|half| u32::try_from(half & 0xffff_ffff).unwrap_or_default())
}

/// The system call that `code` of a record names, whose lower bits are the number.
pub(super) fn syscall(code: u32, number: u32) -> Syscall {
    let abi = if code & CALL_COMPAT == 0 { Abi::Native } else { Abi::Compat };
    Syscall { abi, number: code & number }
}

#[cfg(test)]
mod tests {
    use super::super::c_header::{Headers, assert_same_constants, assert_same_layout};
    use super::*;

    /// `ExecEnter` as C writes it: `EXEC_ENTER`.
    fn in_c(kind: RecordKind) -> String {
        let mut name = String::new();
        for (n, letter) in format!("{kind:?}").char_indices() {
            if n > 0 && letter.is_uppercase() {
                name.push('_');
            }
            name.push(letter.to_ascii_uppercase());
        }
        name
    }

    fn enumerators(of: &str, prefix: &str) -> Vec<(String, u32)> {
        let all = Headers::read().enumerators(of).into_iter();
        all.map(|(name, value)| (name.strip_prefix(prefix).expect("the common prefix").to_owned(), value))
            .collect()
    }

    #[test]
    fn the_record_kinds_are_those_of_the_c_headers() {
        let here: Vec<_> = RecordKind::ALL.map(|kind| (in_c(kind), kind as u32)).to_vec();
        let [phases, full] =
            [enumerators("record_kind", "RECORD_"), enumerators("full_record_kind", "FULL_")];

        for kind in phases.iter().chain(&full) {
            assert!(here.contains(kind), "{kind:?} is missing in Rust, or has another number");
        }
        for kind in &here {
            assert!(phases.contains(kind) || full.contains(kind), "{kind:?} is missing in the headers");
        }
    }

    #[test]
    fn the_full_mode_has_a_size_for_each_of_its_kinds_and_for_no_other() {
        let full = enumerators("full_record_kind", "FULL_");
        for kind in RecordKind::ALL {
            let is_full = full.iter().any(|(name, _)| *name == in_c(kind));
            assert_eq!(kind.size_in_full().is_some(), is_full, "{kind:?}");
        }
    }

    #[test]
    fn layouts_match_the_headers() {
        assert_same_constants!(
            CALLER_WORDS,
            AUXV_WORDS,
            ARGV_ROOM,
            REST_ROOM,
            CONTENT_ROOM,
            LARGE_CONTENT_ROOM
        );
        assert_same_layout!(Record, "record", [at, pid, tid, kind, code, value]);
        assert_same_layout!(SyscallRecord, "record_syscall", [record, entered, ip, arguments, stack]);
        assert_same_layout!(PathRestRecord, "record_path_rest", [record, rest]);
        assert_same_layout!(StructureRecord, "record_structure", [record, bytes]);
        assert_same_layout!(LargeStructureRecord, "record_large_structure", [record, bytes]);
        assert_same_layout!(ContentRecord, "record_content", [record, bytes]);
        assert_same_layout!(LargeContentRecord, "record_large_content", [record, bytes]);
        assert_same_layout!(FaultRecord, "record_fault", [record, entered, ip]);
        assert_same_layout!(OffCpuRecord, "record_off_cpu", [record, left, woken]);
        assert_same_layout!(OutputRecord, "record_output", [record, entered]);

        assert_same_layout!(
            ImageRecord,
            "record_image",
            [
                record,
                start_code,
                end_code,
                start_data,
                end_data,
                start_brk,
                start_stack,
                auxv,
                path,
                interpreter,
                argv
            ]
        );
    }

    #[test]
    fn paths_directly_follow_their_record() {
        let offsets = |name| Headers::read().layout(name).members.into_iter().map(|(_, at)| at).collect();
        let call = size_of::<SyscallRecord>();
        let of: [Vec<usize>; 3] =
            ["record_with_path", "record_syscall_path", "record_syscall_paths"].map(offsets);
        assert_eq!(of, [vec![0, size_of::<Record>()], vec![0, call], vec![0, call, call + PATH_ROOM]]);
    }
}
