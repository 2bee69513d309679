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
    (30, layout([224, 240, 1952, 2508], [96, 64], [195, 342, 345], None)),
    (32, layout([224, 240, 1952, 2532], [104, 72], [195, 342, 345], None)),
    (34, layout([208, 224, 1936, 2512], [104, 72], [195, 342, 345], None)),
    (36, layout([208, 224, 1936, 2512], [104, 72], [195, 342, 345], Some(32))),
    (38, layout([208, 224, 1720, 2336], [104, 72], [198, 345, 348], Some(32))),
    (40, layout([208, 224, 1720, 2216], [104, 72], [198, 345, 348], Some(32))),
    (42, layout([208, 224, 1720, 2216], [104, 72], [202, 349, 352], Some(32))),
];

const fn layout(
    interpreter: [u64; 4],
    context: [u64; 2],
    [next_state, require, eval]: [u16; 3],
    hash_names: Option<u64>,
) -> Layout {
    Layout { interpreter, context, operations: Operations { next_state, require, eval }, hash_names }
}

impl Layout {
    /// The layout of 5.`minor`; `None`: it is not known.
    pub(super) fn of(minor: u8) -> Option<Layout> {
        VERSIONS.iter().find(|(known, _)| *known == minor).map(|(_, layout)| *layout)
    }
}
