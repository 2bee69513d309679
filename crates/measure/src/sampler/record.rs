//! The records of the ring, as far as they matter: `perf_event_open(2)`, "MMAP layout".

use super::language::LanguageStack;
use super::registers::Registers;
use crate::units::Nanos;

/// An event of a task, as the kernel reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// By `CLOCK_MONOTONIC`.
    pub at: Nanos,
    /// The process to which it happened.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// What happened.
    pub event: TaskEvent,
}

/// What happened to a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEvent {
    /// Executable memory was mapped.
    Mapped(Mapping),
    /// The task executes another program: none of the process' mappings are left.
    Exec,
    /// The process of the record was created, or a thread in it.
    Fork {
        /// The process that created it: the same one for a thread.
        parent: u32,
        /// The new thread.
        thread: u32,
    },
    /// User code was interrupted.
    Sample(StackSample),
}

/// Executable memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Its first address.
    pub from: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The file offset of its first byte.
    pub offset: u64,
    /// The file; `[vdso]`, `//anon` and similar where there is none.
    pub path: String,
}

/// Where user code was, and by which calls it came there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackSample {
    /// The user registers.
    pub registers: Registers,
    /// It is a 32-bit program: its stack cannot be unwound.
    pub narrow: bool,
    /// What lies above the stack pointer, as far as there was room.
    pub stack: Box<[u8]>,
    /// The same in the program's own language, where its frames were read.
    pub language: Option<Box<LanguageStack>>,
}

const MMAP2: u32 = 10;
const COMM: u32 = 3;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const LOST: u32 = 2;
/// `PERF_RECORD_MISC_COMM_EXEC`: the name changed because of an exec.
const BY_EXEC: u16 = 1 << 13;
/// `PERF_SAMPLE_REGS_ABI_32`.
const NARROW: u64 = 1;
/// After every record but a sample: process, thread and time (`sample_id_all`).
const TRAILER: usize = 16;
/// Of a mapping, before its path: addresses, then device, inode and its generation or a build id, protection, flags.
const BEFORE_PATH: usize = 8 + 3 * 8 + 24 + 8;

/// What a record of the ring says.
pub(super) enum Read {
    Record(Record),
    Lost(u64),
    /// Something that does not matter.
    Other,
}

/// Reads one record. `body` is what follows its header.
pub(super) fn read(kind: u32, misc: u16, body: &[u8]) -> Read {
    let record = match kind {
        SAMPLE => sample(body),
        MMAP2 => mapped(body).and_then(|event| with_trailer(body, event)),
        COMM if misc & BY_EXEC != 0 => with_trailer(body, TaskEvent::Exec),
        FORK => fork(body),
        LOST => return u64_at(body, 8).map_or(Read::Other, Read::Lost),
        _ => None,
    };
    record.map_or(Read::Other, Read::Record)
}

/// Whether this record is a sample of that process.
pub(super) fn is_sample_of(process: u32, kind: u32, body: &[u8]) -> bool {
    kind == SAMPLE && u32_at(body, 8) == Some(process)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at.checked_add(8)?)?.try_into().ok().map(u64::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

fn with_trailer(body: &[u8], event: TaskEvent) -> Option<Record> {
    let trailer = body.len().checked_sub(TRAILER)?;
    let (pid, tid) = (u32_at(body, 0)?, u32_at(body, 4)?);
    Some(Record { at: Nanos(u64_at(body, trailer + 8)?), pid, tid, event })
}

fn mapped(body: &[u8]) -> Option<TaskEvent> {
    let path = body.get(BEFORE_PATH..body.len().checked_sub(TRAILER)?)?;
    let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
    Some(TaskEvent::Mapped(Mapping {
        from: u64_at(body, 8)?,
        length: u64_at(body, 16)?,
        offset: u64_at(body, 24)?,
        path: String::from_utf8_lossy(&path[..end]).into_owned(),
    }))
}

/// Process, parent, thread and its parent, time.
fn fork(body: &[u8]) -> Option<Record> {
    let [pid, parent, tid, by] = [0, 4, 8, 12].map(|at| u32_at(body, at));
    let event = TaskEvent::Fork { parent: parent?, thread: tid? };
    Some(Record { at: Nanos(u64_at(body, 16)?), pid: pid?, tid: by?, event })
}

/// Address, process and thread, time, registers, stack.
fn sample(body: &[u8]) -> Option<Record> {
    let (pid, tid, at) = (u32_at(body, 8)?, u32_at(body, 12)?, Nanos(u64_at(body, 16)?));
    let abi = u64_at(body, 24)?;
    let count = if abi == 0 { 0 } else { Registers::count() };
    let values = (0..count).filter_map(|n| u64_at(body, 32 + 8 * n));
    let mut registers = Registers::from_values(values);
    registers.ip = u64_at(body, 0)?;

    let stack_at = 32 + 8 * count;
    let room = usize::try_from(u64_at(body, stack_at)?).ok()?;
    let stack = match room {
        0 => &[],
        room => {
            let copied = usize::try_from(u64_at(body, room.checked_add(stack_at + 8)?)?).ok()?.min(room);
            body.get(stack_at + 8..stack_at + 8 + copied)?
        }
    };
    let event = TaskEvent::Sample(StackSample {
        registers,
        narrow: abi == NARROW,
        stack: stack.into(),
        language: None,
    });
    Some(Record { at, pid, tid, event })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn pair(low: u32, high: u32) -> u64 {
        u64::from_ne_bytes([low.to_ne_bytes(), high.to_ne_bytes()].concat().try_into().unwrap())
    }

    fn only(read: Read) -> Record {
        match read {
            Read::Record(record) => record,
            _ => panic!("not a record"),
        }
    }

    #[test]
    fn a_sample_has_registers_and_as_much_stack_as_was_copied() {
        let mut words = vec![0x40, pair(3, 4), 99, 2];
        words.extend((0..Registers::count() as u64).map(|n| 10 + n));
        words.extend([16, 0x1111, 0x2222, 8]);
        let record = only(read(SAMPLE, 0, &bytes(&words)));
        assert_eq!((record.at, record.pid, record.tid), (Nanos(99), 3, 4));
        let TaskEvent::Sample(sample) = record.event else { panic!() };
        assert_eq!(sample.registers.ip, 0x40);
        assert_eq!(*sample.stack, bytes(&[0x1111]));
        assert!(!sample.narrow);
        assert!(is_sample_of(3, SAMPLE, &bytes(&words)));
        assert!(!is_sample_of(4, SAMPLE, &bytes(&words)) && !is_sample_of(3, MMAP2, &bytes(&words)));
    }

    #[test]
    fn a_mapping_has_its_file_and_its_place() {
        let mut body = bytes(&[pair(3, 4), 0x1000, 0x2000, 0x3000, 0, 0, 0, 0]);
        body.extend(*b"/bin/sh\0");
        body.extend(bytes(&[pair(3, 4), 77]));
        let record = only(read(MMAP2, 0, &body));
        assert_eq!(record.at, Nanos(77));
        let path = "/bin/sh".to_owned();
        assert_eq!(
            record.event,
            TaskEvent::Mapped(Mapping { from: 0x1000, length: 0x2000, offset: 0x3000, path })
        );
    }

    #[test]
    fn a_change_of_name_is_an_exec_only_if_the_kernel_says_so() {
        let body = bytes(&[pair(3, 3), u64::from_ne_bytes(*b"sh\0\0\0\0\0\0"), pair(3, 3), 5]);
        assert_eq!(only(read(COMM, BY_EXEC, &body)).event, TaskEvent::Exec);
        assert!(matches!(read(COMM, 0, &body), Read::Other));
    }

    #[test]
    fn a_damaged_record_is_ignored() {
        for length in 0..64 {
            for kind in [SAMPLE, MMAP2, COMM, FORK, LOST] {
                let _ = read(kind, BY_EXEC, &vec![0xff; length]);
            }
        }
        assert!(matches!(read(LOST, 0, &bytes(&[1, 42])), Read::Lost(42)));
        let endless = [vec![0, 0, 0, 2], vec![0; Registers::count()], vec![u64::MAX; 2]].concat();
        assert!(matches!(read(SAMPLE, 0, &bytes(&endless)), Read::Other), "a stack without end");
    }
}
