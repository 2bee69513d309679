//! "C Runtime Overhead".

use super::check::Check;
use super::claim::Claim;
use super::post::Post;
use super::quantity::{Counted, Expression, Span, State, count, time, warm};

const EMPTY: &str = "empty-c";
const STATIC: &str = "empty-c-static";
const STUB: &str = "empty-asm-i386";

const STOPPED: &str = "`int main() { return 0; }` by gcc, and the post's stub of one 32-bit system call; total with a ptrace stop \
                       at the entry and return of each call, as under strace, but without its printing";
const FREE: &str = "the same programs, warm runs in turn, without strace";

pub(super) fn claims() -> Vec<Claim> {
    [empty(), linking(), level()].concat()
}

fn total(program: &'static str) -> Expression {
    warm(program, Span::Total)
}

fn stopped(program: &'static str) -> Expression {
    time(program, Span::Total, State::Stopped)
}

fn empty() -> Vec<Claim> {
    vec![
        Claim {
            id: "004-empty-9-ms",
            post: Post::CRuntimeOverhead,
            text: "the empty program took as long as 9.4ms to execute on my machine, without processing any data",
            figure: "9.4 ms under strace -tt, in a virtual machine of 2014",
            how: STOPPED,
            rule: "the empty program takes, under stops, to the nearest power of ten, 9.4 ms",
            checks: vec![
                Check::new("under stops", stopped(EMPTY)).in_the_order_of(9.4e6),
                Check::new("without", total(EMPTY)),
            ],
            holds: "so it does, and it is strace that makes it so",
            fails: "this machine is faster, and most of those 9.4 ms were strace: without it an empty C program takes this long",
        },
        Claim {
            id: "004-tenfold-strace",
            post: Post::CRuntimeOverhead,
            text: "This was entirely linker and C runtime overhead: 9.4 ms against 0.5 ms for the assembly stub",
            figure: "19 times",
            how: STOPPED,
            rule: "at least ten times",
            checks: vec![Check::new("empty C over stub", stopped(EMPTY) / stopped(STUB)).at_least(10.0)],
            holds: "under stops each of the loader's 30 system calls counts, and the stub has two",
            fails: "even under stops the C library costs less than tenfold here",
        },
        Claim {
            id: "004-tenfold",
            post: Post::CRuntimeOverhead,
            text: "the C runtime makes an empty program about ten times slower",
            figure: "19 times, under strace",
            how: FREE,
            rule: "at least ten times, without strace",
            checks: vec![
                Check::new("empty C", total(EMPTY)),
                Check::new("stub", total(STUB)),
                Check::new("empty C over stub", total(EMPTY) / total(STUB)).at_least(10.0),
            ],
            holds: "also without strace",
            fails: "without strace it is a smaller multiple: creating the process at all, which both pay, is a larger part than \
                    the post's figures show",
        },
    ]
}

fn linking() -> Vec<Claim> {
    vec![
        Claim {
            id: "004-static-helps-little",
            post: Post::CRuntimeOverhead,
            text: "statically compile ... I was down to about 8ms",
            figure: "9 to 8 ms: 11 % less",
            how: FREE,
            rule: "static linking saves at most 20 % of the dynamic program's total",
            checks: vec![
                Check::new("static over dynamic", total(STATIC) / total(EMPTY)).within(0.8, 1.0),
                Check::new("the same under stops", stopped(STATIC) / stopped(EMPTY)),
            ],
            holds: "what the loader does is a small part",
            fails: "it saves more than that: the loader maps files and takes page faults, which strace does not count",
        },
        Claim {
            id: "004-no-libc-helps-most",
            post: Post::CRuntimeOverhead,
            text: "rip out libc: the assembly stub runs in about 0.5ms",
            figure: "dynamic 9.4, static 8, none 0.5 ms",
            how: FREE,
            rule: "from static to none saves more than from dynamic to static",
            checks: vec![
                Check::new("dynamic", total(EMPTY)),
                Check::new("static", total(STATIC)),
                Check::new("none", total(STUB)),
                Check::new(
                    "second saving over first",
                    (total(STATIC) - total(STUB)) / (total(EMPTY) - total(STATIC)),
                )
                .at_least(1.0),
            ],
            holds: "glibc's own start, static or not, is the larger part",
            fails: "the loader, which static linking leaves out, is the larger part here",
        },
        Claim {
            id: "004-musl",
            post: Post::CRuntimeOverhead,
            text: "it might be worth your time to profile and try one of the alternative libc implementations (like musl libc)",
            figure: "",
            how: "hello world by gcc, dynamic and static, and by musl, static; warm runs in turn",
            rule: "musl takes at most half as long as the dynamic program, and less than static glibc",
            checks: vec![
                Check::new("musl over dynamic glibc", total("c-musl") / total("c-printf")).at_most(0.5),
                Check::new("musl over static glibc", total("c-musl") / total("c-static")).at_most(1.0),
            ],
            holds: "musl has nearly nothing to do before main",
            fails: "musl gains less than that here",
        },
    ]
}

fn level() -> Vec<Claim> {
    const OURS: &str = "level0";
    const GLIBC: &str = "level0-glibc";
    const HOW: &str = "a solution of Level 0 of our own, the same source compiled by `firstbyte cc` and by gcc against glibc, \
                       with the contest's dictionary (exact, where the post's Bloom filter of 20 kB is not) and a text of about \
                       1400 bytes on stdin; warm runs in turn";
    vec![
        Claim {
            id: "004-five-calls",
            post: Post::CRuntimeOverhead,
            text: "It also only performs five total syscalls",
            figure: "execve, read, read, write, _exit",
            how: HOW,
            rule: "five, execve and exit included",
            checks: vec![
                Check::new("without libc", count(OURS, Counted::Syscalls)).exactly(5.0),
                Check::new("glibc", count(GLIBC, Counted::Syscalls)),
            ],
            holds: "nothing is asked of the kernel but the input, the output and the end",
            fails: "our solution makes another number of calls",
        },
        Claim {
            id: "004-a-tenth",
            post: Post::CRuntimeOverhead,
            text: "That's about 1ms... which is near 1/10 the runtime of the glibc version",
            figure: "1 of 9 to 10 ms, under strace",
            how: HOW,
            rule: "to the nearest power of ten a tenth, without strace: between 0.03 and 0.32",
            checks: vec![
                Check::new("without libc", total(OURS)),
                Check::new("glibc", total(GLIBC)),
                Check::new("without libc over glibc", total(OURS) / total(GLIBC)).in_the_order_of(0.1),
            ],
            holds: "so it is, without strace as well",
            fails: "it is more than a third: creating the process and touching the dictionary is what both pay",
        },
    ]
}
