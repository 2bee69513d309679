//! What the post says about its solution of Level 0, and about those of others.

use super::{stopped, total};
use crate::claims::claim::Claim;
use crate::claims::limit_check::LimitCheck;
use crate::claims::post::Post;
use crate::claims::quantity::{CountKind, Expression, Quantity, count, user};

const LEVEL0: &str = "level0";
const LEVEL0_GLIBC: &str = "level0-glibc";
const LEVEL0_UNBUFFERED: &str = "level0-unbuffered";

const LEVEL0_HOW: &str = "our own solution of Level 0, the same source compiled by `firstbyte cc` and by gcc \
                          against glibc, with the dictionary of the contest and a text of about 1400 bytes on \
                          stdin; our dictionary is exact, the post's solution has a Bloom filter in a 20 kB \
                          binary; interleaved warm runs";

/// The post's solution as it was when it took 9 ms: a Bloom filter in a program that is linked with glibc.
const SOLUTION: &str = "level0-bloom-glibc";
const NOTHING: &str = "level0-empty";

pub(super) fn as_long_as_nothing() -> Claim {
    Claim {
        id: "004-as-long-as-nothing",
        post: Post::CRuntimeOverhead,
        text: "My Level 0 solution also clocked in at 9ms ... There was nothing left to optimize",
        figure: "9 ms, and 9.4 ms for the empty program, under strace -tt",
        how: "a solution of Level 0 with a Bloom filter, and `int main() { return 0; }`, both compiled by gcc against \
              glibc, with a text of about 1400 bytes on stdin, which the empty program does not read; interleaved \
              runs with a ptrace stop at each system call, as under strace; without limits, also without stops",
        rule: "with stops, the ratio of the two is closer to 1 than to a half or 2",
        checks: vec![
            LimitCheck::new("solution, with stops", stopped(SOLUTION)),
            LimitCheck::new("empty, with stops", stopped(NOTHING)),
            LimitCheck::new("ratio", stopped(SOLUTION) / stopped(NOTHING)).about(1.0),
            LimitCheck::new("ratio without stops", total(SOLUTION) / total(NOTHING)),
        ],
        holds: "starting a program that is linked with glibc takes nearly all of the time, with or without the work",
        fails: "the solution takes noticeably longer than an empty program, or less time",
    }
}

pub(super) fn set_instead_of_array() -> Claim {
    Claim {
        id: "004-set-instead-of-array",
        post: Post::CRuntimeOverhead,
        text: "To beat the minimum required time and pass the level, you could simply convert the array of words into an O(1) \
               hash table (Set.new)",
        figure: "",
        how: "the change that the post prints, in a Ruby script that solves Level 0: `File.read(path).split` of the \
              contest's dictionary, as an Array and as a Set, with a text of about 1400 bytes on stdin; user time, which \
              the contest scored, with that of Ruby's own start, as the tracer of every system call sees it; \
              interleaved warm runs; without limits, also with ten times the text; the post does not say what the \
              required time was",
        rule: "the Set takes less user time",
        checks: vec![
            LimitCheck::new("Array", user("level0-array")),
            LimitCheck::new("Set", user("level0-set")),
            LimitCheck::new("Array over Set", user("level0-array") / user("level0-set")).at_least(1.0),
            LimitCheck::new(
                "with ten times the text",
                user("level0-array-longer") / user("level0-set-longer"),
            ),
        ],
        holds: "the Array is searched from its start for each word of the text",
        fails: "the text is so short that filling the Set costs as much as searching the Array for each of its words",
    }
}

pub(super) fn embedded() -> Claim {
    Claim {
        id: "004-embedded",
        post: Post::CRuntimeOverhead,
        text: "The word list was 2.4MB, so I got a huge speed boost just by not having to read it from disk",
        figure: "",
        how: "Level 0 in C against glibc: with the table in the program, and with a hash table that is filled from the \
              contest's dictionary (web2, 2.4 MB) at each start; interleaved warm runs, so the file is read from \
              memory and not from a disk",
        rule: "reading takes at least ten times as long",
        checks: vec![
            LimitCheck::new("embedded", total("level0-embedded")),
            LimitCheck::new("read", total("level0-read")),
            LimitCheck::new("read over embedded", total("level0-read") / total("level0-embedded"))
                .at_least(10.0),
        ],
        holds: "even from memory, each start copies, hashes and stores more than 200,000 words",
        fails: "reading the list costs less than that here",
    }
}

/// In a binary without a C library, so that most of its 20 kB are the filter.
const BLOOM: &str = "level0-bloom";
const PERFECT: &str = "level0-perfect";

fn taken(solution: &'static str) -> Expression {
    Quantity::TakenForKnown(solution).into()
}

pub(super) fn bloom_in_20_kb() -> Claim {
    Claim {
        id: "004-bloom-in-20-kb",
        post: Post::CRuntimeOverhead,
        text: "managed to get a working solution in C down to a 20kB binary with the bloom filter embedded",
        figure: "20 kB, for a word list of 2.4 MB",
        how: "our solution of Level 0 without the C library, with a Bloom filter of 17,500 bytes and one hash; 19,000 \
              words that differ in one letter from a word of the contest's dictionary, and how many of them it takes \
              for known; the post does not give this rate",
        rule: "the program has at most 20 kB (20,480 bytes), and takes at most 1 % of the unknown words for known",
        checks: vec![
            LimitCheck::new("size", Quantity::FileSize(BLOOM).into()).at_most(20_480.0),
            LimitCheck::new("taken for known", taken(BLOOM)).at_most(0.01),
            LimitCheck::new("by a perfect hash with 32 bits a word", taken(PERFECT)),
            LimitCheck::new("its size", Quantity::FileSize(PERFECT).into()),
        ],
        holds: "a filter of this size suffices",
        fails: "20 kB are less than a bit for each word, so most unknown words pass; it can only work where the text has \
                hardly any",
    }
}

pub(super) fn bloom_or_perfect() -> Claim {
    Claim {
        id: "004-bloom-or-perfect",
        post: Post::CRuntimeOverhead,
        text: "After asking around, I believe all of the top scoring solutions used either a bloom filter or a perfect hash \
               function",
        figure: "",
        how: "who used what cannot be measured, but whether either is the better choice: our solution of Level 0 \
              without the C library, with a Bloom filter of 17,500 bytes, with a perfect hash that keeps 32 bits of \
              each word (1.2 MB), and with our exact automaton (0.5 MB); interleaved warm runs",
        rule: "the ratio of perfect hash to Bloom filter is closer to 1 than to a half or 2",
        checks: vec![
            LimitCheck::new("Bloom filter", total(BLOOM)),
            LimitCheck::new("perfect hash", total(PERFECT)),
            LimitCheck::new("automaton", total(LEVEL0)),
            LimitCheck::new("perfect hash over Bloom filter", total(PERFECT) / total(BLOOM)).about(1.0),
        ],
        holds: "with either, most of the time is that of creating the process",
        fails: "the larger table costs more page faults than a small filter, which is wrong more often",
    }
}

pub(super) fn five_calls() -> Claim {
    Claim {
        id: "004-five-calls",
        post: Post::CRuntimeOverhead,
        text: "It also only performs five total syscalls",
        figure: "execve, read, read, write, _exit",
        how: LEVEL0_HOW,
        rule: "there are five, execve and exit included",
        checks: vec![
            LimitCheck::new("without libc", count(LEVEL0, CountKind::Syscalls)).exactly(5.0),
            LimitCheck::new("glibc", count(LEVEL0_GLIBC, CountKind::Syscalls)),
        ],
        holds: "it asks the kernel for the input, the output and the end, and nothing else",
        fails: "our solution makes another number of calls",
    }
}

pub(super) fn buffers() -> Claim {
    Claim {
        id: "004-buffers",
        post: Post::CRuntimeOverhead,
        text: "My initial times were very bad (around 40ms), but after implementing optimistic buffered IO ... about 1ms",
        figure: "40 and 1 ms, under strace: 40 times as long without the buffer",
        how: "our own solution of Level 0 without the C library, as above, and the same source compiled so \
              that each system call reads or writes one byte; interleaved warm runs, without strace, \
              under which each of the many calls would cost far more",
        rule: "without the buffers the program takes at least ten times as long",
        checks: vec![
            LimitCheck::new("with buffers", total(LEVEL0)),
            LimitCheck::new("without", total(LEVEL0_UNBUFFERED)),
            LimitCheck::new("without over with", total(LEVEL0_UNBUFFERED) / total(LEVEL0)).at_least(10.0),
            LimitCheck::new("system calls without", count(LEVEL0_UNBUFFERED, CountKind::Syscalls)),
        ],
        holds: "a system call for each byte costs more than everything else that the program does",
        fails: "without strace, a system call for each byte costs less than that; under strace each call \
                costs many times as much",
    }
}

pub(super) fn a_tenth() -> Claim {
    Claim {
        id: "004-a-tenth",
        post: Post::CRuntimeOverhead,
        text: "That's about 1ms... which is near 1/10 the runtime of the glibc version",
        figure: "1 of 9 to 10 ms, under strace",
        how: LEVEL0_HOW,
        rule: "without strace, the ratio is, to the nearest power of ten, a tenth (between 0.03 and \
               0.32)",
        checks: vec![
            LimitCheck::new("without libc", total(LEVEL0)),
            LimitCheck::new("glibc", total(LEVEL0_GLIBC)),
            LimitCheck::new("without libc over glibc", total(LEVEL0) / total(LEVEL0_GLIBC))
                .in_the_order_of(0.1),
        ],
        holds: "this is true without strace as well",
        fails: "it is not a tenth; both create a process and touch the dictionary, which takes a larger \
                part here",
    }
}
