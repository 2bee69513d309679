//! "A response to response to hello world".

use super::check::Check;
use super::claim::Claim;
use super::post::Post;
use super::quantity::{Expression, Quantity, lines};

/// The seed's smallest number of lines.
const MILLION: u64 = 1_000_000;
/// Its third: single writes of more take too long to repeat.
const MILLIONS: u64 = 5_000_000;
/// Its last.
const MOST: u64 = 17_500_000;

const HOW: &str = "the seed's programs, mended so that all print the same 12 bytes a line, into a pipe that is read; runs in \
                   turn, from before the process is created until its reader has had the last byte; the post's were single runs \
                   on macOS, to what is not said";

pub(super) fn claims() -> Vec<Claim> {
    [comparisons(), table(), correctness()].concat()
}

fn ratio(name: &str, over: &'static str, under: &'static str, count: u64) -> Check {
    let millions = count as f64 / MILLION as f64;
    Check::new(format!("{name}, {millions}M"), lines(over, count) / lines(under, count))
}

fn comparisons() -> Vec<Claim> {
    vec![
        Claim {
            id: "002-buffered-assembly-faster",
            post: Post::ResponseToResponse,
            text: "the optimized Assembly version is faster than optimized Go version",
            figure: "5M: 0.113 against 0.171 s",
            how: HOW,
            rule: "assembly takes less time for 1M and for 5M lines",
            checks: [MILLION, MILLIONS]
                .map(|count| ratio("assembly over Go", "asm-v2", "go-v2", count).at_most(1.0))
                .to_vec(),
            holds: "one write of everything beats a write for every 4 KiB",
            fails: "the assembly fills memory a byte at a time and pays a page fault for every 4 KiB of it",
        },
        Claim {
            id: "002-unbuffered-same",
            post: Post::ResponseToResponse,
            text: "one write a line: Go and assembly take the same time",
            figure: "5M: 4.201 against 4.203 s; from 2.5M on they differ by at most 12 %",
            how: HOW,
            rule: "assembly lies within 12 % of Go",
            checks: [MILLION, MILLIONS]
                .map(|count| ratio("assembly over Go", "asm-v1", "go-v1", count).within(0.88, 1.12))
                .to_vec(),
            holds: "the system call is nearly all of it",
            fails: "a system call costs less here than on the seed's machine, so what Go does around each write counts",
        },
    ]
}

fn table() -> Vec<Claim> {
    vec![
        Claim {
            id: "002-buffering-go",
            post: Post::ResponseToResponse,
            text: "this is way more performant than making an IO syscall every iteration (Go v1 over Go v2)",
            figure: "5M: 4.201 / 0.171 = 25 times",
            how: HOW,
            rule: "the ratio is, to the nearest power of ten, 25's: between 8 and 79",
            checks: vec![
                ratio("Go v1 over Go v2", "go-v1", "go-v2", MILLIONS).in_the_order_of(4.201 / 0.171),
            ],
            holds: "system calls are what a line costs",
            fails: "buffering gains less or more than there",
        },
        Claim {
            id: "002-buffering-assembly",
            post: Post::ResponseToResponse,
            text: "ASM v1 over ASM v2",
            figure: "5M: 4.203 / 0.113 = 37 times",
            how: HOW,
            rule: "the ratio lies between 12 and 118",
            checks: vec![
                ratio("ASM v1 over ASM v2", "asm-v1", "asm-v2", MILLIONS).in_the_order_of(4.203 / 0.113),
            ],
            holds: "system calls are what a line costs",
            fails: "buffering gains less here: the buffer of all lines costs a page fault for every 4 KiB",
        },
        Claim {
            id: "002-table-buffered",
            post: Post::ResponseToResponse,
            text: "Go v2 over ASM v2",
            figure: "5M: 0.171 / 0.113 = 1.51 times; 17.5M: 0.575 / 0.347 = 1.66 times",
            how: HOW,
            rule: "each ratio is nearer to the post's than to half or twice of it",
            checks: vec![
                ratio("Go over assembly", "go-v2", "asm-v2", MILLIONS).about(0.171 / 0.113),
                ratio("Go over assembly", "go-v2", "asm-v2", MOST).about(0.575 / 0.347),
            ],
            holds: "the ratio carries over",
            fails: "the ratio does not carry over: page faults, which the assembly pays and Go does not, cost otherwise here",
        },
        Claim {
            id: "002-a-line",
            post: Post::ResponseToResponse,
            text: "a line by its own write (ASM v1)",
            figure: "14.625 s / 17.5M = 836 ns",
            how: HOW,
            rule: "nearer to 836 ns than to half or twice of it",
            checks: vec![
                Check::new(
                    "a line",
                    (lines("asm-v1", MILLIONS) - lines("asm-v1", MILLION))
                        / Expression::Constant((MILLIONS - MILLION) as f64),
                )
                .about(836.0),
            ],
            holds: "a write of a line costs what it cost there",
            fails: "it is another system, another kernel, and perhaps another target: the seed does not say what it printed to",
        },
        Claim {
            id: "002-linear",
            post: Post::ResponseToResponse,
            text: "the times grow with N (5M over 1M lines)",
            figure: "ASM v1 5.0, ASM v2 3.8 times; Go v2 at 1M, 0.51 s, is more than at 7.5M: 0.051 with a digit lost?",
            how: HOW,
            rule: "each ratio is nearer to 5 than to 2.5 or 10",
            checks: ["asm-v1", "asm-v2", "go-v1", "go-v2"]
                .map(|design| Check::new(design, lines(design, MILLIONS) / lines(design, MILLION)).about(5.0))
                .to_vec(),
            holds: "each line costs the same; so the seed's 0.51 s for Go v2 at 1M is no figure of that program",
            fails: "the start of the process, or memory, is a part of the time that does not grow with N",
        },
    ]
}

fn correctness() -> Vec<Claim> {
    let right = |name: &str, design| Check::new(name, Quantity::Right(design).into()).exactly(1.0);
    vec![
        Claim {
            id: "002-same-output",
            post: Post::ResponseToResponse,
            text: "code in Assembly that does exactly the same as what the optimized Go version does",
            figure: "",
            how: "the programs as the seed prints them (in GNU syntax, for Linux), 1M lines into a pipe, every byte compared with \
                  1M times `hello world` and a newline",
            rule: "both print the right bytes",
            checks: vec![right("Go v2 right", "go-v2-literal"), right("ASM v2 right", "asm-v2-literal")],
            holds: "both print the right bytes",
            fails: "Go v2 prints no newlines; ASM v2 prints another text and, except to a terminal, loses its end, because it leaves by \
                    the raw exit call with lines in stdio's buffer",
        },
        Claim {
            id: "002-first-versions-right",
            post: Post::ResponseToResponse,
            text: "the original versions print N lines",
            figure: "",
            how: "as above",
            rule: "both print the right bytes",
            checks: vec![right("Go v1 right", "go-v1-literal"), right("ASM v1 right", "asm-v1-literal")],
            holds: "as long as nothing interrupts a write, both do",
            fails: "at least one of them prints something else",
        },
    ]
}
