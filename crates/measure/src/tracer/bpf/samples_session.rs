//! `samples_session.h` in Rust: what the program on samples and we share. The tests compare the two files.

/// How many interpreters, and how many kinds of objects in one.
pub(crate) const IMAGES: usize = 4;
pub(crate) const KINDS: usize = 16;
pub(crate) const EDGES: usize = 4;
const REGISTERS: usize = 34;

/// A pointer in an object.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Edge {
    pub(crate) at: u16,
    /// The kind of the object to which it leads.
    pub(crate) to: u8,
    /// Followed only the first time that this object is seen with these contents.
    pub(crate) rare: u8,
}

/// A kind of objects, and what is copied of them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kind {
    pub(crate) bytes: u16,
    pub(crate) edges: u8,
    pub(crate) is_string: u8,
    pub(crate) is_once: u8,
    pub(crate) words_to: u8,
    pub(crate) words_from: u16,
    pub(crate) count_at: u16,
    pub(crate) unit: u16,
    pub(crate) most: u32,
    pub(crate) many: u32,
    pub(crate) edge: [Edge; EDGES],
}

/// An interpreter, by its executable file.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Image {
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) tag_mask: u64,
    pub(crate) tag: u64,
    pub(crate) bytecode: i64,
    pub(crate) type_at: u32,
    pub(crate) length_at: u32,
    pub(crate) representation: u16,
    pub(crate) one_byte: u16,
    pub(crate) function: u16,
    pub(crate) of_bytecode: u16,
    pub(crate) kind: [Kind; KINDS],
}

/// The state of all runs.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SamplesSession {
    pub(super) ours: u32,
    pub(super) namespace: u32,
    pub(super) run: u32,
    pub(super) forgotten: u32,
    pub(super) lost: u64,
    pub(super) nanos: u64,
    pub(super) samples: u64,
    pub(super) image: [Image; IMAGES],
}

/// The head of a sample.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) at: u64,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) image: u32,
    pub(super) cut: u32,
    pub(super) stack: u32,
    pub(super) bytes: u32,
    pub(super) registers: [u64; REGISTERS],
}

/// The head of a piece of memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) address: u64,
    pub(super) bytes: u32,
    pub(super) padding: u32,
}

#[cfg(test)]
mod tests {
    use super::super::c_header::{assert_same_constants, assert_same_layout};
    use super::*;

    #[test]
    fn the_layouts_match_samples_session_h() {
        assert_same_constants!(IMAGES, KINDS, EDGES, REGISTERS);
        assert_same_layout!(Edge, "edge", [at, to, rare]);
        assert_same_layout!(
            Kind,
            "kind",
            [bytes, edges, is_string, is_once, words_to, words_from, count_at, unit, most, many, edge]
        );
        assert_same_layout!(
            Image,
            "image",
            [
                inode,
                size,
                tag_mask,
                tag,
                bytecode,
                type_at,
                length_at,
                representation,
                one_byte,
                function,
                of_bytecode,
                kind
            ]
        );
        assert_same_layout!(
            SamplesSession,
            "samples_session",
            [ours, namespace, run, forgotten, lost, nanos, samples, image]
        );
        assert_same_layout!(Sample, "sample", [at, pid, tid, image, cut, stack, bytes, registers]);
        assert_same_layout!(Piece, "piece", [address, bytes, padding]);
    }
}
