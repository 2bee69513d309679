//! How much may still be kept.

/// What a program costs, besides its path: mostly its three histograms.
pub(super) const PROGRAM: u64 = 8192;

/// What an execution costs in a timeline.
pub(super) const RUN: u64 = 200;

/// What a command line costs, besides its text.
pub(super) const COMMAND_LINE: u64 = 192;

/// What a mark of a program costs, besides its name: mostly its histogram.
pub(super) const MARK: u64 = 2600;

/// What a step towards the critical path costs, besides its programs.
pub(super) const STEP: u64 = 80;

/// What a node of the tree of processes costs.
pub(super) const NODE: u64 = 192;

/// An estimate of the memory that is left for what grows with the watch.
#[derive(Debug)]
pub(super) struct Memory {
    left: u64,
}

impl Memory {
    pub(super) fn new(bytes: u64) -> Memory {
        Memory { left: bytes }
    }

    /// Whether so much is left.
    pub(super) fn has(&self, each: u64, text: &str) -> bool {
        each + text.len() as u64 <= self.left
    }

    /// Reserves memory; `false` if there is not enough left.
    pub(super) fn take(&mut self, each: u64, text: &str) -> bool {
        let fits = self.has(each, text);
        if fits {
            self.left -= each + text.len() as u64;
        }
        fits
    }

    /// Takes away one part in this many.
    pub(super) fn split_off(&mut self, parts: u64) -> Memory {
        let split = self.left / parts;
        self.left -= split;
        Memory::new(split)
    }

    /// Gives back what was taken.
    pub(super) fn give(&mut self, bytes: u64) {
        self.left += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_takes_nothing() {
        let mut memory = Memory::new(10);
        assert!(!memory.take(8, "abc"));
        assert!(memory.take(8, "ab"));
        assert!(!memory.take(0, "a"));
        memory.give(9);
        assert_eq!((memory.split_off(4).left, memory.left), (2, 7));
    }
}
