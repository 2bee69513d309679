//! The claims of "C Runtime Overhead".

use super::claim::Claim;
use super::limit_check::LimitCheck;
use super::post::Post;
use super::quantity::{CountKind, Expression, RunState, TimedPart, count, time, warm};
use firstbyte_measure::timeline::Phase;

const EMPTY: &str = "empty-c";
const STATIC: &str = "empty-c-static";
const STUB: &str = "empty-asm-i386";

const STOPPED: &str = "`int main() { return 0; }` compiled by gcc, and the post's stub of one 32-bit system \
                       call; total with a ptrace stop at the entry and the return of each call, as under \
                       strace, but without its output";
const FREE: &str = "interleaved warm runs of `int main() { return 0; }` and of the post's stub, without \
                    strace";

const LEVEL0: &str = "level0";
const LEVEL0_GLIBC: &str = "level0-glibc";
const LEVEL0_UNBUFFERED: &str = "level0-unbuffered";

const LEVEL0_HOW: &str = "our own solution of Level 0, the same source compiled by `firstbyte cc` and by gcc \
                          against glibc, with the dictionary of the contest and a text of about 1400 bytes on \
                          stdin; our dictionary is exact, the post's solution has a Bloom filter in a 20 kB \
                          binary; interleaved warm runs";

pub(super) fn claims() -> Vec<Claim> {
    vec![
        empty_9_ms(),
        tenfold_strace(),
        tenfold(),
        static_helps_little(),
        five_ms_before_stdin(),
        no_libc_helps_most(),
        musl(),
        five_calls(),
        buffers(),
        a_tenth(),
    ]
}

fn total(program: &'static str) -> Expression {
    warm(program, TimedPart::Total)
}

fn stopped(program: &'static str) -> Expression {
    time(program, TimedPart::Total, RunState::Stopped)
}

fn empty_9_ms() -> Claim {
    Claim {
        id: "004-empty-9-ms",
        post: Post::CRuntimeOverhead,
        text: "the empty program took as long as 9.4ms to execute on my machine, without processing any data",
        figure: "9.4 ms under strace -tt, in a virtual machine",
        how: STOPPED,
        rule: "with stops, the empty program takes, to the nearest power of ten, 9.4 ms",
        checks: vec![
            LimitCheck::new("under stops", stopped(EMPTY)).in_the_order_of(9.4e6),
            LimitCheck::new("without", total(EMPTY)),
        ],
        holds: "it does, and most of the time is that of the stops",
        fails: "this machine is faster; the second value, without stops, shows how much of the first is \
                the stops",
    }
}

fn tenfold_strace() -> Claim {
    Claim {
        id: "004-tenfold-strace",
        post: Post::CRuntimeOverhead,
        text: "This was entirely linker and C runtime overhead: 9.4 ms against 0.5 ms for the assembly stub",
        figure: "19 times",
        how: STOPPED,
        rule: "with stops, the empty program takes at least ten times as long as the stub",
        checks: vec![LimitCheck::new("empty C over stub", stopped(EMPTY) / stopped(STUB)).at_least(10.0)],
        holds: "with stops, each of the loader's 30 system calls counts, and the stub has two",
        fails: "even with stops, the C library costs less than that here",
    }
}

fn tenfold() -> Claim {
    Claim {
        id: "004-tenfold",
        post: Post::CRuntimeOverhead,
        text: "the C runtime is nearly all of the time of an empty program",
        figure: "under strace, 19 times as long as the stub",
        how: FREE,
        rule: "without strace, the empty program takes at least ten times as long as the stub",
        checks: vec![
            LimitCheck::new("empty C", total(EMPTY)),
            LimitCheck::new("stub", total(STUB)),
            LimitCheck::new("empty C over stub", total(EMPTY) / total(STUB)).at_least(10.0),
        ],
        holds: "also without strace",
        fails: "without strace, the multiple is smaller; creating the process, which both need, is a \
                larger part than the post's figures show",
    }
}

fn static_helps_little() -> Claim {
    Claim {
        id: "004-static-helps-little",
        post: Post::CRuntimeOverhead,
        text: "statically compile the program ... I was down to about 8ms",
        figure: "from 9 to 8 ms, under strace: 11 % less",
        how: "the empty program, dynamic and static, interleaved warm runs, without strace; the post \
              did this with its solution",
        rule: "static linking saves at most 20 % of the total of the dynamic program",
        checks: vec![
            LimitCheck::new("static over dynamic", total(STATIC) / total(EMPTY)).within(0.8, 1.0),
            LimitCheck::new("the same under stops", stopped(STATIC) / stopped(EMPTY)),
        ],
        holds: "the work of the dynamic loader is a small part",
        fails: "static linking saves more than that; the loader maps files and takes page faults, which \
                strace does not count",
    }
}

fn five_ms_before_stdin() -> Claim {
    Claim {
        id: "004-five-ms-before-stdin",
        post: Post::CRuntimeOverhead,
        text: "at least 5ms spent in libc before my program even read from standard input (static)",
        figure: "of 8 ms, under strace: at least 5 ms, or 63 %",
        how: "the empty program, statically linked: from the return of execve until it begins to exit, \
              which is the time in libc, with a ptrace stop at each system call, as under strace",
        rule: "the time in libc is at least 63 % of the total",
        checks: vec![
            LimitCheck::new("in libc", time(STATIC, Phase::Setup, RunState::Stopped)),
            LimitCheck::new("total", stopped(STATIC)),
            LimitCheck::new("share", time(STATIC, Phase::Setup, RunState::Stopped) / stopped(STATIC))
                .at_least(0.63)
                .part(),
            LimitCheck::new("share without stops", warm(STATIC, Phase::Setup) / total(STATIC)).part(),
        ],
        holds: "with stops, the system calls of libc's start are most of what a static program does",
        fails: "the share is smaller here; the post's milliseconds are those of a virtual machine of its \
                time",
    }
}

fn no_libc_helps_most() -> Claim {
    Claim {
        id: "004-no-libc-helps-most",
        post: Post::CRuntimeOverhead,
        text: "rip out pieces of libc: the assembly stub runs in about 0.5ms",
        figure: "under strace: dynamic 9.4, static 8 (its solution), none 0.5 ms",
        how: FREE,
        rule: "going from static to none saves more than going from dynamic to static",
        checks: vec![
            LimitCheck::new("dynamic", total(EMPTY)),
            LimitCheck::new("static", total(STATIC)),
            LimitCheck::new("none", total(STUB)),
            LimitCheck::new(
                "second saving over first",
                (total(STATIC) - total(STUB)) / (total(EMPTY) - total(STATIC)),
            )
            .at_least(1.0),
        ],
        holds: "glibc's own start, static or not, is the larger part",
        fails: "the loader, which static linking removes, is the larger part here",
    }
}

fn musl() -> Claim {
    Claim {
        id: "004-musl",
        post: Post::CRuntimeOverhead,
        text: "it might be worth your time to profile and try one of the alternative libc implementations (like musl libc)",
        figure: "",
        how: "hello world compiled by gcc, dynamic and static, and with musl, static; interleaved warm \
              runs",
        rule: "musl takes at most half the time of the dynamic program, and less than static glibc",
        checks: vec![
            LimitCheck::new("musl over dynamic glibc", total("c-musl") / total("c-printf")).at_most(0.5),
            LimitCheck::new("musl over static glibc", total("c-musl") / total("c-static")).at_most(1.0),
        ],
        holds: "musl has almost nothing to do before main",
        fails: "musl saves less than that here",
    }
}

fn five_calls() -> Claim {
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

fn buffers() -> Claim {
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

fn a_tenth() -> Claim {
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
