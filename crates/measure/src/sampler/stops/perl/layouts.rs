//! Where Perl keeps what a reader of its frames needs, by version.
//!
//! `scripts/perl-layout` prints the figures, from the headers of a Perl (`intrpvar.h`, `cop.h`, `cv.h`, `gv.h`, `hv.h`, `op.h`).
//! The others are the same in all these versions, for 64-bit processors.

/// Offsets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Those of a build with threads, in `PerlInterpreter`: `Icurcop`, `Icurstackinfo`, `Icompiling`, `Iphase`. In other builds
    /// they are variables.
    pub(super) interpreter: [u64; 4],
    /// `PERL_CONTEXT`: its size, and `cv`.
    pub(super) context: [u64; 2],
    /// The numbers of the operations `nextstate`, `require` and `entereval`.
    pub(super) operations: Operations,
    /// `xhv_aux` in the body of a hash; `None`: it is behind its array.
    pub(super) hash_names: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operations {
    pub(super) next_state: u16,
    pub(super) require: u16,
    pub(super) eval: u16,
}

/// The minor versions of Perl 5 that are known.
const VERSIONS: [(u8, Layout); 7] = [
    (
        30,
        Layout {
            interpreter: [224, 240, 1952, 2508],
            context: [96, 64],
            operations: Operations { next_state: 195, require: 342, eval: 345 },
            hash_names: None,
        },
    ),
    (
        32,
        Layout {
            interpreter: [224, 240, 1952, 2532],
            context: [104, 72],
            operations: Operations { next_state: 195, require: 342, eval: 345 },
            hash_names: None,
        },
    ),
    (
        34,
        Layout {
            interpreter: [208, 224, 1936, 2512],
            context: [104, 72],
            operations: Operations { next_state: 195, require: 342, eval: 345 },
            hash_names: None,
        },
    ),
    (
        36,
        Layout {
            interpreter: [208, 224, 1936, 2512],
            context: [104, 72],
            operations: Operations { next_state: 195, require: 342, eval: 345 },
            hash_names: Some(32),
        },
    ),
    (
        38,
        Layout {
            interpreter: [208, 224, 1720, 2336],
            context: [104, 72],
            operations: Operations { next_state: 198, require: 345, eval: 348 },
            hash_names: Some(32),
        },
    ),
    (
        40,
        Layout {
            interpreter: [208, 224, 1720, 2216],
            context: [104, 72],
            operations: Operations { next_state: 198, require: 345, eval: 348 },
            hash_names: Some(32),
        },
    ),
    (
        42,
        Layout {
            interpreter: [208, 224, 1720, 2216],
            context: [104, 72],
            operations: Operations { next_state: 202, require: 349, eval: 352 },
            hash_names: Some(32),
        },
    ),
];

impl Layout {
    /// The layout of 5.`minor`; `None`: it is not known.
    pub(super) fn of(minor: u8) -> Option<Layout> {
        VERSIONS.iter().find(|(known, _)| *known == minor).map(|(_, layout)| *layout)
    }
}
