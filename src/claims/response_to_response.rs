//! The claims of "A response to response to hello world".

use super::claim::Claim;
use super::limit_check::LimitCheck;
use super::post::Post;
use super::quantity::{Expression, Quantity, lines};

/// The smallest number of lines in the post.
const MILLION: u64 = 1_000_000;
/// The third number: with one write for each line, more lines take too long to repeat.
const MILLIONS: u64 = 5_000_000;
/// The largest number.
const MAX_LINES: u64 = 17_500_000;

const HOW: &str = "the post's programs, repaired so that all print the same 12 bytes for each line, into a \
                   pipe that is read; interleaved runs, from before the process is created until its reader \
                   has the last byte; the post does not say how often it ran them or where their output \
                   went, and its assembly is for macOS";

pub(super) fn claims() -> Vec<Claim> {
    vec![
        buffered_assembly_faster(),
        unbuffered_same(),
        buffering_go(),
        buffering_assembly(),
        table_buffered(),
        a_line(),
        linear(),
        same_output(),
        first_versions_right(),
    ]
}

fn ratio(name: &str, over: &'static str, under: &'static str, count: u64) -> LimitCheck {
    let millions = count as f64 / MILLION as f64;
    LimitCheck::new(format!("{name}, {millions}M"), lines(over, count) / lines(under, count))
}

fn buffered_assembly_faster() -> Claim {
    Claim {
        id: "002-buffered-assembly-faster",
        post: Post::ResponseToResponse,
        text: "the optimized Assembly version is faster than optimized Go version",
        figure: "5M lines: 0.113 and 0.171 s",
        how: HOW,
        rule: "assembly takes less time than Go for 1M and for 5M lines",
        checks: [MILLION, MILLIONS]
            .map(|count| ratio("assembly over Go", "asm-v2", "go-v2", count).at_most(1.0))
            .to_vec(),
        holds: "one write of everything takes less time than a write for every 4 KiB",
        fails: "the assembly program fills memory byte by byte, with a page fault for every 4 KiB",
    }
}

fn unbuffered_same() -> Claim {
    Claim {
        id: "002-unbuffered-same",
        post: Post::ResponseToResponse,
        text: "one write for each line: Go v1 and ASM v1 take the same time (in the table, from 2.5M \
               lines on)",
        figure: "ASM v1 over Go v1: 1M lines 0.837 / 1.395 = 0.60, 5M lines 4.203 / 4.201 = 1.00; from \
                 2.5M on they differ by at most 12 %",
        how: HOW,
        rule: "each ratio is closer to the post's than to half or twice the post's",
        checks: [(MILLION, 0.837 / 1.395), (MILLIONS, 4.203 / 4.201)]
            .map(|(count, figure)| ratio("assembly over Go", "asm-v1", "go-v1", count).about(figure))
            .to_vec(),
        holds: "as in the post, assembly is ahead for 1M lines, and the two are about even for 5M lines",
        fails: "at least one ratio is different; what Go does around each write counts for more, or for \
                less, than on the machine of the post",
    }
}

fn buffering_go() -> Claim {
    Claim {
        id: "002-buffering-go",
        post: Post::ResponseToResponse,
        text: "this is way more performant than making an IO syscall every iteration (Go v1 over Go v2)",
        figure: "5M lines: 4.201 / 0.171 = 25 times",
        how: HOW,
        rule: "the ratio is, to the nearest power of ten, the post's (between 8 and 79)",
        checks: vec![ratio("Go v1 over Go v2", "go-v1", "go-v2", MILLIONS).in_the_order_of(4.201 / 0.171)],
        holds: "the time of a line is the time of its system call",
        fails: "buffering saves more or less than in the post",
    }
}

fn buffering_assembly() -> Claim {
    Claim {
        id: "002-buffering-assembly",
        post: Post::ResponseToResponse,
        text: "ASM v1 over ASM v2",
        figure: "5M lines: 4.203 / 0.113 = 37 times",
        how: HOW,
        rule: "the ratio is, to the nearest power of ten, the post's (between 12 and 118)",
        checks: vec![
            ratio("ASM v1 over ASM v2", "asm-v1", "asm-v2", MILLIONS).in_the_order_of(4.203 / 0.113),
        ],
        holds: "the time of a line is the time of its system call",
        fails: "buffering saves less here; the buffer of all lines costs a page fault for every 4 KiB",
    }
}

fn table_buffered() -> Claim {
    Claim {
        id: "002-table-buffered",
        post: Post::ResponseToResponse,
        text: "Go v2 over ASM v2",
        figure: "5M lines: 0.171 / 0.113 = 1.51 times; 17.5M lines: 0.575 / 0.347 = 1.66 times",
        how: HOW,
        rule: "each ratio is closer to the post's than to half or twice the post's",
        checks: vec![
            ratio("Go over assembly", "go-v2", "asm-v2", MILLIONS).about(0.171 / 0.113),
            ratio("Go over assembly", "go-v2", "asm-v2", MAX_LINES).about(0.575 / 0.347),
        ],
        holds: "the ratios are those of the post",
        fails: "the ratios are not those of the post; the page faults of the assembly program \
                cost more or less here",
    }
}

fn a_line() -> Claim {
    Claim {
        id: "002-a-line",
        post: Post::ResponseToResponse,
        text: "the time of a line that has its own write (ASM v1)",
        figure: "14.625 s / 17.5M = 836 ns",
        how: HOW,
        rule: "closer to 836 ns than to half or twice that",
        checks: vec![
            LimitCheck::new(
                "a line",
                (lines("asm-v1", MILLIONS) - lines("asm-v1", MILLION))
                    / Expression::Constant((MILLIONS - MILLION) as f64),
            )
            .about(836.0),
        ],
        holds: "a write of one line takes as long as in the post",
        fails: "this is another system with another kernel, and perhaps another target; the post does \
                not say where its output went",
    }
}

fn linear() -> Claim {
    Claim {
        id: "002-linear",
        post: Post::ResponseToResponse,
        text: "the times grow with N (5M lines over 1M lines)",
        figure: "Go v1 3.0, ASM v1 5.0, ASM v2 3.8 times; Go v2 takes 0.51 s for 1M lines, more than \
                 for 15M: perhaps 0.051",
        how: HOW,
        rule: "each ratio is closer to 5 than to 2.5 or 10",
        checks: ["asm-v1", "asm-v2", "go-v1", "go-v2"]
            .map(|design| {
                LimitCheck::new(design, lines(design, MILLIONS) / lines(design, MILLION)).about(5.0)
            })
            .to_vec(),
        holds: "each line takes the same time, so the post's 0.51 s for 1M lines is not the time of Go \
                v2",
        fails: "the start of the process, or memory, takes a part of the time that does not grow with N",
    }
}

fn right(name: &str, design: &'static str) -> LimitCheck {
    LimitCheck::new(name, Quantity::Right(design).into()).exactly(1.0)
}

fn same_output() -> Claim {
    Claim {
        id: "002-same-output",
        post: Post::ResponseToResponse,
        text: "code in Assembly that does exactly the same as what the optimized Go version does",
        figure: "",
        how: "the programs as the post prints them (in GNU syntax, for Linux), 1M lines into a pipe, \
              every byte compared with 1M times `hello world` and a newline",
        rule: "both print the right bytes",
        checks: vec![right("Go v2 right", "go-v2-literal"), right("ASM v2 right", "asm-v2-literal")],
        holds: "both print the right bytes",
        fails: "Go v2 prints no newlines; ASM v2 prints another text and, except on a terminal, loses \
                the end, because it leaves by the raw exit call with lines in stdio's buffer",
    }
}

fn first_versions_right() -> Claim {
    Claim {
        id: "002-first-versions-right",
        post: Post::ResponseToResponse,
        text: "the original versions print N lines",
        figure: "",
        how: "as for 002-same-output",
        rule: "both print the right bytes",
        checks: vec![right("Go v1 right", "go-v1-literal"), right("ASM v1 right", "asm-v1-literal")],
        holds: "as long as nothing interrupts a write, both do",
        fails: "at least one of them prints something else",
    }
}
