//! The claims of "Hello World, Utterly Overdone".

mod prints;

use super::claim::Claim;
use super::limit_check::{LimitCheck, ascending};
use super::post::Post;
use super::quantity::{CountKind, Expression, Quantity, RunState, TimedPart, count, time, user, warm};
use firstbyte_measure::timeline::Phase;

const C: &str = "c-printf";
const WRITE: &str = "c-write";
const GAS32: &str = "asm-i386-int80";
/// The four languages of the post.
const FOUR: [(&str, &str); 4] = [("C", C), ("Java", "java"), ("Ruby", "ruby"), ("JavaScript", "node")];

const TOTALS: &str = "interleaved warm runs without strace, from the entry of execve to the exit; medians \
                      of the ratios of runs in the same round";
const LINES: &str = "the lines of `strace -f -ttt`, as the post counted them: one for each system call of each \
                     thread, two where calls of several threads overlap, and one for each exit and signal";

pub(super) fn claims() -> Vec<Claim> {
    vec![
        hundredfold(),
        twice(),
        slowest_javascript(),
        shares(),
        trace_lines(),
        less_work(),
        lines_correlate(),
        node_user_space(),
        processes(),
        prints::first(),
        prints::ruby_faster(),
        prints::write_as_puts(),
        prints::printf_is_puts(),
        prints::printf_slower_than_puts(),
        write_fewer_calls(),
        three_hellos_strace(),
        write_faster(),
        write_still_setup(),
        percent_66(),
        execve_constant(),
    ]
}

fn total(program: &'static str) -> Expression {
    warm(program, TimedPart::Total)
}

fn calls(program: &'static str) -> Expression {
    count(program, CountKind::Syscalls)
}

fn trace_lines_of(program: &'static str) -> Expression {
    Quantity::TraceLines(program).into()
}

fn of_four(figures: [f64; 4], check: fn(&str, &'static str, f64) -> LimitCheck) -> Vec<LimitCheck> {
    FOUR.iter().zip(figures).map(|((language, program), figure)| check(language, program, figure)).collect()
}

fn hundredfold() -> Claim {
    Claim {
        id: "000-hundredfold",
        post: Post::HelloWorldOverdone,
        text: "C might be ~100x faster than the others",
        figure: "0.73 ms; Java 54.23, Ruby 47.89, JavaScript 62.00 ms: 74, 66, 85 times",
        how: TOTALS,
        rule: "each of the three takes, to the nearest power of ten, 100 times as long as C",
        checks: FOUR[1..]
            .iter()
            .map(|(language, program)| {
                LimitCheck::new(format!("{language} over C"), total(program) / total(C))
                    .in_the_order_of(100.0)
            })
            .collect(),
        holds: "each of the three starts a runtime that reads, maps and executes about 100 times as \
                much as C does",
        fails: "at least one of the three is not about 100 times as slow as C on this machine",
    }
}

fn twice() -> Claim {
    Claim {
        id: "000-twice",
        post: Post::HelloWorldOverdone,
        text: "If I print HW twice, then each program wouldn't be twice as slow",
        figure: "",
        how: "the four programs, and the same with a second print, into a pipe, where stdio of C writes both \
              lines at once; interleaved warm runs; medians of the ratios of runs in the same round",
        rule: "each program that prints twice takes less than 1.41 times as long as the one that prints once, \
               that is, closer to once than to twice",
        checks: FOUR
            .iter()
            .zip(["twice-c", "twice-java", "twice-ruby", "twice-node"])
            .map(|((language, program), two)| {
                LimitCheck::new(format!("{language}, two prints over one"), total(two) / total(program))
                    .at_most(std::f64::consts::SQRT_2)
            })
            .collect(),
        holds: "nearly all of the time is that of starting and ending, which happens once",
        fails: "a second print is a large part of the time of at least one of them",
    }
}

fn slowest_javascript() -> Claim {
    Claim {
        id: "000-slowest-javascript",
        post: Post::HelloWorldOverdone,
        text: "C is fastest, then Ruby, Java, Javascript",
        figure: "0.73, 47.89, 54.23, 62.00 ms",
        how: TOTALS,
        rule: "each takes at least as long as the one before",
        checks: ascending(&[
            ("C", total(C)),
            ("Ruby", total("ruby")),
            ("Java", total("java")),
            ("JavaScript", total("node")),
        ]),
        holds: "the order is that of the post",
        fails: "C is fastest; the order of the others depends on their versions and on what they load \
                by default",
    }
}

fn shares() -> Claim {
    Claim {
        id: "000-shares",
        post: Post::HelloWorldOverdone,
        text: "% runtime setup, % teardown",
        figure: "setup 87, 96, 99, 96 %; teardown 3, 3, < 1, 3 % (C, Java, Ruby, JavaScript)",
        how: "phases of interleaved warm runs without strace, each phase divided by the total of its \
              run; the post took the shares from strace -ttt, under which each system call of setup \
              takes many times as long",
        rule: "each share is within 5 points of the post's",
        checks: [
            of_four([0.87, 0.96, 0.99, 0.96], |language, program, share| {
                LimitCheck::new(format!("{language} setup"), warm(program, Phase::Setup) / total(program))
                    .within(share - 0.05, share + 0.05)
                    .part()
            }),
            of_four([0.03, 0.03, 0.01, 0.03], |language, program, share| {
                LimitCheck::new(
                    format!("{language} teardown"),
                    warm(program, Phase::Teardown) / total(program),
                )
                .within(0.0, share + 0.05)
                .part()
            }),
        ]
        .concat(),
        holds: "setup is nearly everything, with or without strace",
        fails: "without strace, setup is a smaller part, and execve and the exit, which happen once, \
                are larger ones; strace makes each system call of setup take many times as long",
    }
}

fn trace_lines() -> Claim {
    Claim {
        id: "000-trace-lines",
        post: Post::HelloWorldOverdone,
        text: "Line length of strace: 29 C, 3079 Java, 3154 Ruby, 517 Javascript",
        figure: "29, 3079, 3154, 517",
        how: LINES,
        rule: "each count is closer to the post's than to half or twice the post's",
        checks: of_four([29.0, 3079.0, 3154.0, 517.0], |language, program, lines| {
            LimitCheck::new(language, trace_lines_of(program)).about(lines)
        }),
        holds: "today's versions print about as many lines as those of 2017",
        fails: "the counts depend on versions; the post had Ruby 2.3.3, glibc 2.24, and the Java and \
                Node of 2017, which did other things at their start than today's versions do",
    }
}

fn less_work() -> Claim {
    Claim {
        id: "000-less-work",
        post: Post::HelloWorldOverdone,
        text: "C might be ~100x faster than the others because it's doing ~100x less work",
        figure: "3079 / 29 = 106, 3154 / 29 = 109, 517 / 29 = 18 lines of strace",
        how: LINES,
        rule: "each of the three has, to the nearest power of ten, 100 times as many lines as C",
        checks: FOUR[1..]
            .iter()
            .map(|(language, program)| {
                let ratio = trace_lines_of(program) / trace_lines_of(C);
                LimitCheck::new(format!("{language} over C"), ratio).in_the_order_of(100.0)
            })
            .collect(),
        holds: "counted in lines of strace, C does about a hundredth of the work",
        fails: "counted in lines of strace, at least one of the others does not do 100 times as much; most \
                of their time is user code and page faults, which strace does not show",
    }
}

fn lines_correlate() -> Claim {
    Claim {
        id: "000-lines-correlate",
        post: Post::HelloWorldOverdone,
        text: "The line lengths for C, Java, and Ruby correlate well to their execution times. JS is the odd outlier",
        figure: "microseconds for each line: C 25, Java 18, Ruby 15, JavaScript 120",
        how: "median total, without strace, divided by the number of lines of `strace -f -ttt`",
        rule: "of C, Java and Ruby, the largest is at most 3.2 times the smallest; JavaScript exceeds \
               the largest",
        checks: vec![
            LimitCheck::new("C", by_line(C)),
            LimitCheck::new("Java", by_line("java")),
            LimitCheck::new("Ruby", by_line("ruby")),
            LimitCheck::new("JavaScript", by_line("node")),
            LimitCheck::new("Java over C", spread("java", C)).within(0.316, 3.162),
            LimitCheck::new("Ruby over C", spread("ruby", C)).within(0.316, 3.162),
            LimitCheck::new("Java over Ruby", spread("java", "ruby")).within(0.316, 3.162),
            LimitCheck::new("JavaScript over Java", spread("node", "java")).at_least(1.0),
            LimitCheck::new("JavaScript over Ruby", spread("node", "ruby")).at_least(1.0),
        ],
        holds: "time and the number of lines go together, except in JavaScript, whose time is user code",
        fails: "the number of lines does not predict the time, which is spent in user code and page \
                faults; the four have very different shares of these",
    }
}

fn node_user_space() -> Claim {
    Claim {
        id: "000-node-user-space",
        post: Post::HelloWorldOverdone,
        text: "Node.js spends a lot more time in user space than Ruby MRI & Java",
        figure: "",
        how: "user code of all threads, as the tracer of every system call sees it; interleaved warm runs, \
              without strace",
        rule: "Node.js takes at least 1.5 times as much as each of the others",
        checks: vec![
            LimitCheck::new("JavaScript", user("node")),
            LimitCheck::new("Ruby", user("ruby")),
            LimitCheck::new("Java", user("java")),
            LimitCheck::new("JavaScript over Ruby", user("node") / user("ruby")).at_least(1.5),
            LimitCheck::new("JavaScript over Java", user("node") / user("java")).at_least(1.5),
        ],
        holds: "V8 compiles and runs the JavaScript of Node's own start",
        fails: "today's versions divide their time differently: Java's start uses several threads, whose \
                user time is counted here and is not in a trace of one thread",
    }
}

fn processes() -> Claim {
    Claim {
        id: "000-processes",
        post: Post::HelloWorldOverdone,
        text: "Java starts 15(!) additional child processes to bring up the JVM",
        figure: "processes: C 1, Java 16, Ruby 3, JavaScript 7",
        how: "processes and threads of the tree, counted by ptrace; strace -f shows a pid for each \
              thread",
        rule: "each number of processes is the post's",
        checks: [
            of_four([1.0, 16.0, 3.0, 7.0], |language, program, processes| {
                LimitCheck::new(format!("{language} processes"), count(program, CountKind::Processes))
                    .exactly(processes)
            }),
            of_four([0.0; 4], |language, program, _| {
                LimitCheck::new(format!("{language} threads"), count(program, CountKind::Threads))
            }),
        ]
        .concat(),
        holds: "they are processes",
        fails: "strace -f shows threads, each with its own pid; each of the four is one process",
    }
}

/// The time for each line of strace.
fn by_line(program: &'static str) -> Expression {
    total(program) / trace_lines_of(program)
}

/// The time for each line of one program over that of the other.
fn spread(program: &'static str, other: &'static str) -> Expression {
    by_line(program) / by_line(other)
}

fn write_fewer_calls() -> Claim {
    Claim {
        id: "000-write-fewer-calls",
        post: Post::HelloWorldOverdone,
        text: "write(2) instead of printf: no more call to fstat",
        figure: "in the traces, one fstat and three brk fewer",
        how: "system calls counted by ptrace",
        rule: "the program that calls write makes 1 to 6 system calls fewer",
        checks: vec![
            LimitCheck::new("printf", calls(C)),
            LimitCheck::new("write", calls(WRITE)),
            LimitCheck::new("difference", calls(C) - calls(WRITE)).within(1.0, 6.0),
        ],
        holds: "at the first print, stdio asks what stdout is and allocates its buffer; write(2) needs \
                neither",
        fails: "this C library's stdio starts differently",
    }
}

fn stopped(program: &'static str) -> Expression {
    time(program, TimedPart::Total, RunState::Stopped)
}

fn without_execve(program: &'static str) -> Expression {
    warm(program, TimedPart::Total) - warm(program, Phase::Startup)
}

fn three_hellos_strace() -> Claim {
    Claim {
        id: "000-three-hellos-strace",
        post: Post::HelloWorldOverdone,
        text: "hello, hello_write, hello_gas32 under strace",
        figure: "739, 623, 446 µs: ratios 1.19 and 1.66",
        how: "total with a ptrace stop at the entry and the return of each system call, as under \
              strace, but without its output",
        rule: "each ratio is closer to the post's than to half or twice the post's",
        checks: vec![
            LimitCheck::new("hello", stopped(C)),
            LimitCheck::new("hello_write", stopped(WRITE)),
            LimitCheck::new("hello_gas32", stopped(GAS32)),
            LimitCheck::new("hello over hello_write", stopped(C) / stopped(WRITE)).about(739.0 / 623.0),
            LimitCheck::new("hello over hello_gas32", stopped(C) / stopped(GAS32)).about(739.0 / 446.0),
        ],
        holds: "under a tracer that stops each call, the ratios are those of the post",
        fails: "the program without a C library is further ahead than in the post, where 300 of its 446 \
                µs were execve",
    }
}

fn write_faster() -> Claim {
    Claim {
        id: "000-write-faster",
        post: Post::HelloWorldOverdone,
        text: "hello_write is faster than hello, hello_gas32 faster than hello_write",
        figure: "739 > 623 > 446 µs",
        how: TOTALS,
        rule: "each is faster than the one before",
        checks: ascending(&[
            ("hello_gas32", total(GAS32)),
            ("hello_write", total(WRITE)),
            ("hello", total(C)),
        ]),
        holds: "also without strace; each has less to do than the next",
        fails: "without strace, the order is different",
    }
}

fn write_still_setup() -> Claim {
    Claim {
        id: "000-write-still-setup",
        post: Post::HelloWorldOverdone,
        text: "the strace for hello_write is still 85% setup",
        figure: "85 %",
        how: "setup over total of the program that calls write, with a ptrace stop at each system call, as \
              under strace; without limits, also of runs without stops",
        rule: "with stops, the share is within 5 points of the post's",
        checks: vec![
            LimitCheck::new("with stops", time(WRITE, Phase::Setup, RunState::Stopped) / stopped(WRITE))
                .within(0.80, 0.90)
                .part(),
            LimitCheck::new("without", warm(WRITE, Phase::Setup) / total(WRITE)).part(),
        ],
        holds: "the set-up of the C library does not depend on how the program prints",
        fails: "the share is another one here; without strace, execve and the exit are larger parts",
    }
}

fn percent_66() -> Claim {
    Claim {
        id: "000-66-percent",
        post: Post::HelloWorldOverdone,
        text: "Subtracting time for execve, then hello_gas32 is roughly 66% faster than hello.c",
        figure: "(739 - 300) µs against (446 - 300) µs: 67 % less",
        how: "1 - (total - startup) of hello_gas32 / (total - startup) of hello, interleaved warm runs; \
              startup is measured for each, not assumed to be 300 µs",
        rule: "the saving is within 5 points of 66 %",
        checks: vec![
            LimitCheck::new("saved", Expression::Constant(1.0) - without_execve(GAS32) / without_execve(C))
                .within(0.61, 0.71)
                .part(),
        ],
        holds: "two thirds of the time after execve are the C library's",
        fails: "without strace, the saving is different; nearly all of the time after execve is the C \
                library's",
    }
}

fn execve_constant() -> Claim {
    Claim {
        id: "000-execve-constant",
        post: Post::HelloWorldOverdone,
        text: "execve takes roughly 300 μs, which is a constant for all programs",
        figure: "300 µs",
        how: "the phase startup (from the entry of execve to its return) of interleaved warm runs",
        rule: "Java's, Ruby's, JavaScript's and the 32-bit assembly program's are within 10 % of C's",
        checks: [("Java", "java"), ("Ruby", "ruby"), ("JavaScript", "node"), ("hello_gas32", GAS32)]
            .map(|(name, program)| {
                let ratio = warm(program, Phase::Startup) / warm(C, Phase::Startup);
                LimitCheck::new(format!("{name} over C"), ratio).within(0.9, 1.1)
            })
            .into_iter()
            .chain([LimitCheck::new("C", warm(C, Phase::Startup))])
            .collect(),
        holds: "the kernel does the same for all of them",
        fails: "it depends on the file; for a static executable, the kernel maps no dynamic loader, and \
                execve returns sooner",
    }
}
