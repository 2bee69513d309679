//! The claims of "C Runtime Overhead".

mod level0;

use super::claim::Claim;
use super::limit_check::LimitCheck;
use super::post::Post;
use super::quantity::{Expression, RunState, TimedPart, time, user, warm};
use firstbyte_measure::timeline::Phase;

const EMPTY: &str = "empty-c";
const STATIC: &str = "empty-c-static";
const STUB: &str = "empty-asm-i386";

const STOPPED: &str = "`int main() { return 0; }` compiled by gcc, and the post's stub of one 32-bit system \
                       call; total with a ptrace stop at the entry and the return of each call, as under \
                       strace, but without its output";
const FREE: &str = "interleaved warm runs of `int main() { return 0; }` and of the post's stub, without \
                    strace";

pub(super) fn claims() -> Vec<Claim> {
    vec![
        empty_9_ms(),
        tenfold_strace(),
        tenfold(),
        static_helps_little(),
        five_ms_before_stdin(),
        no_libc_helps_most(),
        musl(),
        dietlibc(),
        level0::as_long_as_nothing(),
        level0::set_instead_of_array(),
        level0::embedded(),
        level0::bloom_in_20_kb(),
        level0::bloom_or_perfect(),
        level0::five_calls(),
        level0::buffers(),
        level0::a_tenth(),
        sleep_not_scored(),
        daemon_not_scored(),
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

fn dietlibc() -> Claim {
    Claim {
        id: "004-dietlibc",
        post: Post::CRuntimeOverhead,
        text: "it might be worth your time to profile and try one of the alternative libc implementations (like ... diet libc)",
        figure: "",
        how: "hello world compiled by gcc, dynamic and static, and with dietlibc, static; interleaved warm \
              runs",
        rule: "dietlibc takes at most half the time of the dynamic program, and less than static glibc",
        checks: vec![
            LimitCheck::new("dietlibc over dynamic glibc", total("c-dietlibc") / total("c-printf"))
                .at_most(0.5),
            LimitCheck::new("dietlibc over static glibc", total("c-dietlibc") / total("c-static"))
                .at_most(1.0),
        ],
        holds: "dietlibc has almost nothing to do before main",
        fails: "dietlibc saves less than that here",
    }
}

const SCORED: &str = "what the contest scored: the user code of a program and of the children that it waited for, as the \
                      tracer of every system call sees it; interleaved warm runs of a program that computes for 20 ms \
                      and prints";

fn sleep_not_scored() -> Claim {
    let (plain, sleeping) = ("burn-c", "burn-sleep-c");
    Claim {
        id: "004-sleep-not-scored",
        post: Post::CRuntimeOverhead,
        text: "You could sleep(1) without affecting your measured runtime",
        figure: "",
        how: SCORED,
        rule: "the program that also sleeps takes at least 10 ms longer, and its user time is within 10 % of the other's",
        checks: vec![
            LimitCheck::new("user time with the sleep", user(sleeping)),
            LimitCheck::new("user time over that without", user(sleeping) / user(plain)).within(0.9, 1.1),
            LimitCheck::new("longer", total(sleeping) - total(plain)).at_least(10e6),
        ],
        holds: "a process that sleeps does not run, so nothing is accounted to it",
        fails: "a sleep of 20 ms changes the user time here, or does not take 20 ms",
    }
}

fn daemon_not_scored() -> Claim {
    let (plain, daemon) = ("burn-c", "burn-daemon-c");
    Claim {
        id: "004-daemon-not-scored",
        post: Post::CRuntimeOverhead,
        text: "daemonizing a process which wouldn't count toward my runtime score and sleeping until it finished output",
        figure: "not tried in the contest, where some of the required system calls were disallowed",
        how: SCORED,
        rule: "a program whose daemon does the same work takes at least as long, and its user time is at most a tenth",
        checks: vec![
            LimitCheck::new("user time with the work in a daemon", user(daemon)),
            LimitCheck::new("user time over that without", user(daemon) / user(plain)).at_most(0.1),
            LimitCheck::new("total over that without", total(daemon) / total(plain)).at_least(1.0),
        ],
        holds: "the kernel adds the time of a child to its parent when the parent waits for it, and nobody waits for a \
                daemon but init",
        fails: "the daemon's time is counted here, or the program did not wait for it",
    }
}
