//! One instruction, as the search sees it.

/// The bytes of an instruction, at most 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InstructionBytes {
    bytes: [u8; 8],
    length: usize,
}

impl InstructionBytes {
    /// Bytes after the eighth are cut off.
    pub(super) fn new(from: &[u8]) -> InstructionBytes {
        let length = from.len().min(8);
        let mut bytes = [0; 8];
        bytes[..length].copy_from_slice(&from[..length]);
        InstructionBytes { bytes, length }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The set of goals that have been reached. Each architecture has its own goals, from the lowest bit on. These two are
/// common to all.
pub(super) type Goals = u16;
/// The message has been written.
pub(super) const WRITTEN: Goals = 1 << 13;
/// The program has ended, which is the last goal.
pub(super) const EXITED: Goals = 1 << 12;

/// An instruction that could be at some place, and what it achieves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    pub(super) bytes: InstructionBytes,
    /// Its whole length. The bytes after `bytes` can have any value.
    pub(super) length: usize,
    /// The goals that have been reached once it has run.
    pub(super) goals: Goals,
    /// Its name in explanations.
    pub(super) name: &'static str,
    /// The place of the next instruction. `None` if it directly follows.
    pub(super) target: Option<usize>,
    /// Bytes elsewhere in the file that it loads, with their file offset.
    pub(super) loads: Option<(usize, [u8; 8])>,
    /// What it requires of the file's address in memory.
    pub(super) base: Base,
}

/// What an instruction requires of the file's address in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// Nothing.
    Any,
    /// The address must be 64 KiB.
    Is64K,
    /// Bytes 2 and 3 of the address equal the instruction's bytes from this index on.
    InBytes(usize),
}

impl Instruction {
    pub(super) fn new(bytes: &[u8], goals: Goals, name: &'static str) -> Instruction {
        Instruction {
            bytes: InstructionBytes::new(bytes),
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
pub(super) struct CodeTask {
    /// File offset of the message.
    pub(super) message: usize,
    /// Its length in bytes.
    pub(super) length: usize,
    /// The exit status.
    pub(super) status: u8,
    /// The kernel chooses the file's address in memory.
    pub(super) anywhere: bool,
}

/// An instruction set: which instructions can come next.
pub(super) trait InstructionSet {
    /// Instructions start at multiples of this many bytes.
    fn alignment(&self) -> usize;

    /// Whether these are all goals of a task.
    fn finished(&self, goals: Goals) -> bool {
        goals & EXITED != 0
    }

    /// The instructions that can be at `at` in this state. `known` returns the decided bytes of the file.
    fn steps(
        &self,
        task: &CodeTask,
        goals: Goals,
        at: usize,
        known: &dyn Fn(usize) -> Option<u8>,
    ) -> Vec<Instruction>;

    /// The number of decided units that the processor can run through without a jump.
    fn passable(&self) -> usize;

    /// The least number of units of `alignment` for the rest of the task, without units that are decided as zero.
    fn least_units(&self, goals: Goals) -> usize;

    /// The shortest jump between two places. `None` if they are too far apart.
    fn jump(&self, from: usize, to: usize) -> Option<InstructionBytes>;

    /// The goals that hold at the start.
    fn start(&self, task: &CodeTask) -> Goals;
}
