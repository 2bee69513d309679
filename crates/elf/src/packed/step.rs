//! One instruction, as the search sees it.

/// The bytes of an instruction: 8 at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bytes {
    bytes: [u8; 8],
    length: usize,
}

impl Bytes {
    /// Those bytes; more than 8 are cut off.
    pub(super) fn new(from: &[u8]) -> Bytes {
        let length = from.len().min(8);
        let mut bytes = [0; 8];
        bytes[..length].copy_from_slice(&from[..length]);
        Bytes { bytes, length }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// What has been done: a set of goals, each architecture's own.
pub(super) type Goals = u16;

/// An instruction that may stand at some place, and what it achieves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) bytes: Bytes,
    /// Its whole length; of what lies beyond `bytes` it takes any value.
    pub(super) length: usize,
    /// The goals reached once it has run.
    pub(super) goals: Goals,
    /// What to call it in an explanation.
    pub(super) name: &'static str,
    /// Where it goes on; `None`: behind itself.
    pub(super) target: Option<usize>,
    /// Bytes that must lie elsewhere in the file, for it to load.
    pub(super) loads: Option<(usize, [u8; 8])>,
    /// What it demands of the address that the file is mapped at.
    pub(super) base: Base,
}

/// What an instruction demands of the address that the file is mapped at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// Nothing.
    Any,
    /// It must be 64 KiB.
    Is64K,
    /// Its bytes 2 and 3 are the instruction's own, from this one on.
    InBytes(usize),
}

impl Step {
    pub(super) fn new(bytes: &[u8], goals: Goals, name: &'static str) -> Step {
        Step {
            bytes: Bytes::new(bytes),
            length: bytes.len(),
            goals,
            name,
            target: None,
            loads: None,
            base: Base::Any,
        }
    }
}

/// What the code has to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// File offset of the message.
    pub(super) message: usize,
    /// Its length in bytes.
    pub(super) length: usize,
    /// The exit status.
    pub(super) status: u8,
    /// The file is loaded at an address that only the kernel knows.
    pub(super) anywhere: bool,
}

/// An instruction set: what may come next.
pub(super) trait InstructionSet {
    /// Instructions begin at multiples of this many bytes.
    fn alignment(&self) -> usize;

    /// All goals, for this task.
    fn finished(&self, goals: Goals) -> bool;

    /// What may stand at `at`, in this state. `known` tells which bytes of the file are decided.
    fn steps(&self, task: &Task, goals: Goals, at: usize, known: &dyn Fn(usize) -> Option<u8>) -> Vec<Step>;

    /// How many decided units the processor may run through without a jump.
    fn passable(&self) -> usize;

    /// How many units of `alignment` the rest takes at least; those that are decided as zero are not counted.
    fn least_units(&self, goals: Goals) -> usize;

    /// The shortest jump.
    fn jump(&self, from: usize, to: usize) -> Option<Bytes>;

    /// The goals that hold at the start.
    fn start(&self, task: &Task) -> Goals;
}
