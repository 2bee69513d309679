//! The claims of "Startup Showdown 1 - Hello".

use super::claim::Claim;
use super::limit_check::{LimitCheck, ascending};
use super::post::Post;
use super::quantity::{Expression, PerfBuffer, Quantity, ReportingTool, RunState, TimedPart, time, warm};
use firstbyte_measure::timeline::Phase;

/// The post's programs in the order of its warm medians, each with its median in 100 µs: warm, and in the mode `no_cache`.
const TABLE: [(&str, &str, f64, f64); 9] = [
    ("c", "c-printf", 5.0, 5.0),
    ("dash", "dash", 6.0, 6.0),
    ("rust", "rust", 8.0, 11.0),
    ("cpp", "cpp-iostream", 14.0, 15.0),
    ("bash", "bash", 14.0, 33.0),
    ("zsh", "zsh", 18.0, 24.0),
    ("golang", "go", 27.0, 43.0),
    ("python", "python", 151.0, 183.0),
    ("node", "node-sea", 358.0, 834.0),
];

const SETUP: &str = "the phase setup, which is what the post times (from the return of execve to the entry \
                     of the first write), of interleaved warm runs; the post ran each program under perf \
                     record, and rounds to 100 µs";
const COLD: &str = "the phase setup after drop_caches, as in the post; and truly cold: with private copies \
                    of all files that the program reads, evicted and proven absent from memory before each \
                    run";

pub(super) fn claims() -> Vec<Claim> {
    vec![
        order_warm(),
        ratios_warm(),
        order_no_cache(),
        ratios_no_cache(),
        dash_almost_c(),
        go_slow(),
        go_cores(),
        all_but_python_in_a_frame(),
        no_cache_dash(),
        no_cache_libc(),
        c_fast_by_resident_libc(),
        footnote_1(),
        footnote_2(),
        footnote_3(),
    ]
}

fn setup(program: &'static str) -> Expression {
    warm(program, Phase::Setup)
}

fn named() -> Vec<(&'static str, Expression)> {
    TABLE.iter().map(|(name, program, ..)| (*name, setup(program))).collect()
}

/// The range of a ratio of two figures that are rounded to 100 µs, widened by the factor that [`Check::about`] allows.
fn rounded(over: f64, under: f64) -> (f64, f64) {
    let (least, most) = ((over - 0.5) / (under + 0.5), (over + 0.5) / (under - 0.5));
    (least / std::f64::consts::SQRT_2, most * std::f64::consts::SQRT_2)
}

fn ratios(state: RunState) -> Vec<LimitCheck> {
    let figure = |(_, _, warm, no_cache): &(&str, &str, f64, f64)| match state {
        RunState::Dropped => *no_cache,
        _ => *warm,
    };
    let ratio = |row: &(&str, &'static str, f64, f64)| {
        let (low, high) = rounded(figure(row), figure(&TABLE[0]));
        let ratio = time(row.1, Phase::Setup, state) / time("c-printf", Phase::Setup, state);
        LimitCheck::new(format!("{} over c", row.0), ratio).within(low, high)
    };
    TABLE[1..].iter().map(ratio).collect()
}

fn order_warm() -> Claim {
    Claim {
        id: "001-order-warm",
        post: Post::StartupShowdown,
        text: "base: c, dash, rust, cpp, bash, zsh, golang, python, node",
        figure: "medians 0.5, 0.6, 0.8, 1.4, 1.4, 1.8, 2.7, 15.1, 35.8 ms",
        how: SETUP,
        rule: "each takes at least as long as the one before",
        checks: ascending(&named()),
        holds: "the order is that of the post",
        fails: "the order is not that of the post; which of Go, C++, bash and zsh is first depends on \
                the machine and on versions",
    }
}

fn ratios_warm() -> Claim {
    Claim {
        id: "001-ratios-warm",
        post: Post::StartupShowdown,
        text: "base: how many times as long as C each takes",
        figure: "dash 1.2, rust 1.6, cpp 2.8, bash 2.8, zsh 3.6, golang 5.4, python 30, node 72",
        how: SETUP,
        rule: "each ratio is closer to the post's (with its rounding) than to half or twice the post's",
        checks: ratios(RunState::Warm),
        holds: "the ratios are those of the post",
        fails: "some ratios are not those of the post; they depend on versions, on the number of \
                processors and, for interpreters, on the modules that are installed",
    }
}

fn order_no_cache() -> Claim {
    Claim {
        id: "001-order-no-cache",
        post: Post::StartupShowdown,
        text: "no_cache: c, dash, rust, cpp, zsh, bash, golang, python, node",
        figure: "medians 0.5, 0.6, 1.1, 1.5, 2.4, 3.3, 4.3, 18.3, 83.4 ms",
        how: "the phase setup of interleaved runs, each after drop_caches, as in the post",
        rule: "each takes at least as long as the one before",
        checks: ascending(
            &["c-printf", "dash", "rust", "cpp-iostream", "zsh", "bash", "go", "python", "node-sea"]
                .map(|program| (program, time(program, Phase::Setup, RunState::Dropped))),
        ),
        holds: "the order is that of the post",
        fails: "after drop_caches, the order depends on which files other programs keep in memory, and \
                on the disk",
    }
}

fn ratios_no_cache() -> Claim {
    Claim {
        id: "001-ratios-no-cache",
        post: Post::StartupShowdown,
        text: "no_cache: how many times as long as C each takes",
        figure: "dash 1.2, rust 2.2, cpp 3.0, zsh 4.8, bash 6.6, golang 8.6, python 37, node 167",
        how: "the phase setup of interleaved runs, each after drop_caches, as in the post",
        rule: "each ratio is closer to the post's (with its rounding) than to half or twice the post's",
        checks: ratios(RunState::Dropped),
        holds: "the ratios are those of the post",
        fails: "some ratios are not those of the post; they depend on what stays in memory on each \
                machine, and on its disk",
    }
}

fn over(program: &'static str, other: &'static str) -> Expression {
    setup(program) / setup(other)
}

fn dash_almost_c() -> Claim {
    Claim {
        id: "001-dash-almost-c",
        post: Post::StartupShowdown,
        text: "dash is almost as fast as C ... it can parse & complete the script before most compiled programs",
        figure: "0.6 and 0.5 ms, rounded: 1 to 1.44 times as long",
        how: SETUP,
        rule: "dash takes at most 1.44 times as long as C, and less time than C++, Rust and Go",
        checks: vec![
            LimitCheck::new("dash over C", over("dash", "c-printf")).at_most(0.65 / 0.45),
            LimitCheck::new("C++ over dash", over("cpp-iostream", "dash")).at_least(1.0),
            LimitCheck::new("Rust over dash", over("rust", "dash")).at_least(1.0),
            LimitCheck::new("Go over dash", over("go", "dash")).at_least(1.0),
        ],
        holds: "dash is a small, dynamically linked C program; as in C, nearly all of its setup is the \
                dynamic loader's",
        fails: "dash takes longer than that, or one of the compiled programs is faster",
    }
}

fn go_slow() -> Claim {
    Claim {
        id: "001-go-slow",
        post: Post::StartupShowdown,
        text: "Go takes longer than I expected (in the table, longer than C++, bash and zsh)",
        figure: "2.7 ms; C++ 1.4, bash 1.4, zsh 1.8 ms",
        how: SETUP,
        rule: "Go takes longer than each of the three",
        checks: [("C++", "cpp-iostream"), ("bash", "bash"), ("zsh", "zsh")]
            .map(|(name, program)| {
                LimitCheck::new(format!("Go over {name}"), over("go", program)).at_least(1.0)
            })
            .to_vec(),
        holds: "its runtime starts threads and sets up its heap before main",
        fails: "Go's runtime starts sooner than at least one of them, with this number of processors \
                and this version",
    }
}

fn go_cores() -> Claim {
    Claim {
        id: "001-go-cores",
        post: Post::StartupShowdown,
        text: "Go: I was surprised by how long it took on the server in particular. Related to core \
               count, maybe?",
        figure: "2.7 ms in a virtual machine with 10 threads",
        how: "interleaved runs on all processors and on one; on a machine with many processors, \
              firstbyte floor --cpus-sweep -- PROGRAM shows more",
        rule: "with all processors, the first byte comes at least 5 % later than with one",
        checks: vec![
            LimitCheck::new("processors", Quantity::Processors.into()),
            LimitCheck::new("go, all processors over one", go_by_cores()).at_least(1.05),
        ],
        holds: "with more processors, the first byte of Go comes later",
        fails: "on the few processors of this machine, Go loses little or nothing by using all of them",
    }
}

fn all_but_python_in_a_frame() -> Claim {
    Claim {
        id: "001-all-but-python-in-a-frame",
        post: Post::StartupShowdown,
        text: "All of these are very fast ... Python is the only one that would have trouble starting a new process every \
               frame",
        figure: "a frame takes 16.66 ms; but in the post's own table, node takes 35.8 ms",
        how: "startup, setup and write of interleaved warm runs: the time to the first byte",
        rule: "Python's first byte comes after more than 16.66 ms, every other one sooner",
        checks: TABLE
            .map(|(name, program, ..)| {
                let check = LimitCheck::new(name, warm(program, TimedPart::FirstByte));
                let frame = 1e9 / 60.0;
                if name == "python" { check.at_least(frame) } else { check.at_most(frame) }
            })
            .to_vec(),
        holds: "only Python takes longer than a frame",
        fails: "another one takes longer than a frame, too, or Python takes less; in the post's own \
                table, node takes longer as well",
    }
}

fn go_by_cores() -> Expression {
    Expression::from(Quantity::AllProcessors("go"))
}

fn over_warm(program: &'static str, state: RunState) -> Expression {
    time(program, Phase::Setup, state) / setup(program)
}

fn no_cache_dash() -> Claim {
    Claim {
        id: "001-no-cache-dash",
        post: Post::StartupShowdown,
        text: "no_cache doesn't mean anything for dash: the dash program itself will still be in memory",
        figure: "0.6 ms in both modes",
        how: COLD,
        rule: "drop_caches slows dash down by less than the post's rounding can show (1.18 times), and \
               truly cold it takes at least twice as long",
        checks: vec![
            LimitCheck::new("after drop_caches over warm", over_warm("dash", RunState::Dropped))
                .at_most(0.65 / 0.55),
            LimitCheck::new("truly cold over warm", over_warm("dash", RunState::Cold)).at_least(2.0),
        ],
        holds: "drop_caches leaves the pages that something has mapped, and the shell that runs it has \
                dash mapped or has just read it again",
        fails: "drop_caches did slow dash down here; not everything that dash reads was kept in memory \
                by something else",
    }
}

fn no_cache_libc() -> Claim {
    Claim {
        id: "001-no-cache-libc",
        post: Post::StartupShowdown,
        text: "no_cache matters less for libc programs: libc is paid for in part by the test fixture",
        figure: "no_cache over base: c 1.0, cpp 1.07, but golang, without libc, 1.6",
        how: COLD,
        rule: "drop_caches slows C down by less than Go, and a truly cold start slows C down at least \
               twice as much as drop_caches",
        checks: vec![
            LimitCheck::new("C after drop_caches", over_warm("c-printf", RunState::Dropped)),
            LimitCheck::new("Go after drop_caches", over_warm("go", RunState::Dropped)),
            LimitCheck::new("C truly cold", over_warm("c-printf", RunState::Cold)),
            LimitCheck::new("Go truly cold", over_warm("go", RunState::Cold)),
            LimitCheck::new(
                "Go's loss over C's",
                over_warm("go", RunState::Dropped) / over_warm("c-printf", RunState::Dropped),
            )
            .at_least(1.0),
            LimitCheck::new(
                "C truly cold over C after drop_caches",
                time("c-printf", Phase::Setup, RunState::Cold)
                    / time("c-printf", Phase::Setup, RunState::Dropped),
            )
            .at_least(2.0),
        ],
        holds: "the C library and the loader stay in memory because everything else uses them; without \
                them, a start takes much longer",
        fails: "drop_caches did not slow C down by less than Go, or a truly cold start did not take C \
                twice as long",
    }
}

fn c_fast_by_resident_libc() -> Claim {
    Claim {
        id: "001-c-fast-by-resident-libc",
        post: Post::StartupShowdown,
        text: "C is fast ... how much of that is because libc is already in memory?",
        figure: "a question; 0.5 ms warm",
        how: COLD,
        rule: "truly cold, C takes at least twice as long",
        checks: vec![
            LimitCheck::new("warm", setup("c-printf")),
            LimitCheck::new("truly cold", time("c-printf", Phase::Setup, RunState::Cold)),
            LimitCheck::new("truly cold over warm", over_warm("c-printf", RunState::Cold)).at_least(2.0),
        ],
        holds: "most of it; if the loader and the C library have to come from disk, a C program waits \
                for them",
        fails: "little of it; this disk reads them fast",
    }
}

/// The time of C that a tool reports.
fn reported(tool: ReportingTool) -> Expression {
    Quantity::Reported { tool, program: "c-printf" }.into()
}

fn footnote_1() -> Claim {
    Claim {
        id: "001-footnote-1",
        post: Post::StartupShowdown,
        text: "It would be better still to time the entry to (2), when the system call enters. I think this is possible",
        figure: "",
        how: "the phase startup: from the entry of execve, seen by a raw tracepoint on sys_enter, to \
              its return",
        rule: "it is measured for each program, and is more than 0",
        checks: TABLE
            .map(|(name, program, ..)| LimitCheck::new(name, warm(program, Phase::Startup)).at_least(1.0))
            .to_vec(),
        holds: "it is possible, and worth it; the values are the time that the post could not see",
        fails: "the backend in use does not see the entry of execve",
    }
}

/// Makes 50,000 writes.
const MANY: &str = "many-writes";

fn lost_by_perf(program: &'static str, buffer: PerfBuffer) -> Expression {
    Quantity::LostByPerf { program, buffer }.into()
}

fn footnote_2() -> Claim {
    Claim {
        id: "001-footnote-2",
        post: Post::StartupShowdown,
        text: "I'm not sure what happens if the system is generating events faster than perf can process. ... it's not an \
               immediate problem",
        figure: "",
        how: "real `perf record` with the post's events: the part of the writes that is not in its file; C's one \
              write with perf's own buffer, as in the post, and 50,000 writes in a row with a buffer of one page; \
              and the events that our own tracer lost in all timed runs",
        rule: "perf loses nothing of C's runs, and some of the 50,000 writes",
        checks: vec![
            LimitCheck::new("lost of C", lost_by_perf("c-printf", PerfBuffer::Default)).exactly(0.0),
            LimitCheck::new("lost of 50,000, one page", lost_by_perf(MANY, PerfBuffer::OnePage))
                .at_least(1.0 / 50_000.0),
            LimitCheck::new("lost of 50,000, perf's own buffer", lost_by_perf(MANY, PerfBuffer::Default)),
            LimitCheck::new("lost by our tracer", Quantity::LostEvents.into()),
            LimitCheck::new("C", warm("c-printf", TimedPart::Total)),
        ],
        holds: "two events for each run cannot overrun a buffer; where events come faster than perf reads them, it \
                loses those for which there is no room",
        fails: "perf lost events of the post's own runs, or it kept up with 50,000 writes",
    }
}

fn footnote_3() -> Claim {
    let perf = reported(ReportingTool::Perf) / setup("c-printf");
    let from_entry = warm("c-printf", Phase::Startup) + setup("c-printf");
    let strace = reported(ReportingTool::Strace) / from_entry;

    Claim {
        id: "001-footnote-3",
        post: Post::StartupShowdown,
        text: "the times reported by perf should be truer to the underlying program; though in practice, I haven't done this \
               measurement",
        figure: "",
        how: "for C: the wall time of runs observed by eBPF tracepoints over that of unobserved ones, \
              interleaved; the total with a ptrace stop at each system call over the total without; and \
              the times that real perf record (with the post's events) and real strace report, from \
              execve to the first write, over those of runs that neither observes",
        rule: "our tracepoints cost at most 10 %, and strace's report exceeds the unobserved time by a larger \
               factor than perf's does",
        checks: vec![
            LimitCheck::new("tracepoints over nothing", Quantity::Overhead("c-printf").into()).at_most(1.1),
            LimitCheck::new(
                "ptrace stops over tracepoints",
                time("c-printf", TimedPart::Total, RunState::Stopped) / warm("c-printf", TimedPart::Total),
            ),
            LimitCheck::new("perf record's report over ours", perf.clone()),
            LimitCheck::new("strace's report over ours", strace.clone()),
            LimitCheck::new("strace's error over perf's", strace / perf).at_least(1.0),
        ],
        holds: "tracepoints cost a few per cent; a stop at each system call costs more than most calls",
        fails: "tracepoints cost more than that, or the two tools are equally far from the unobserved time",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rounded_ratio_allows_for_its_rounding() {
        let (low, high) = rounded(6.0, 5.0);
        assert!(low < 5.5 / 5.5 && high > 6.5 / 4.5);
    }
}
