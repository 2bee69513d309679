//! The claims of "Hello World, Utterly Overdone".

use super::claim::Claim;
use super::limit_check::{LimitCheck, ascending};
use super::post::Post;
use super::quantity::print as timed;
use super::quantity::{CountKind, Expression, Quantity, RunState, TimedPart, count, time, warm};
use firstbyte_measure::timeline::Phase;

const C: &str = "c-printf";
const WRITE: &str = "c-write";
const GAS32: &str = "asm-i386-int80";
/// Programs that print a hundred times, and time the first print and the last.
const TIMED_PUTS: &str = "timed-c-puts";
const TIMED_RUBY: &str = "timed-ruby";
/// The four languages of the post.
const FOUR: [(&str, &str); 4] = [("C", C), ("Java", "java"), ("Ruby", "ruby"), ("JavaScript", "node")];

const TOTALS: &str = "interleaved warm runs without strace, from the entry of execve to the exit; medians \
                      of the ratios of runs in the same round";
const COUNTS: &str = "system calls of all threads, counted by ptrace from execve to exit; strace -f prints \
                      a line for each, two where calls of several threads overlap, and one for each exit \
                      and signal";

pub(super) fn claims() -> Vec<Claim> {
    vec![
        hundredfold(),
        slowest_javascript(),
        shares(),
        trace_lines(),
        less_work(),
        lines_correlate(),
        node_user_space(),
        processes(),
        first_print(),
        ruby_prints_faster(),
        write_as_puts(),
        printf_is_puts(),
        printf_slower_than_puts(),
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
        how: COUNTS,
        rule: "each count is closer to the post's than to half or twice the post's",
        checks: of_four([29.0, 3079.0, 3154.0, 517.0], |language, program, lines| {
            LimitCheck::new(language, calls(program)).about(lines)
        }),
        holds: "today's versions make about as many system calls as those of 2017",
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
        how: COUNTS,
        rule: "each of the three makes, to the nearest power of ten, 100 times as many system calls as C",
        checks: FOUR[1..]
            .iter()
            .map(|(language, program)| {
                LimitCheck::new(format!("{language} over C"), calls(program) / calls(C))
                    .in_the_order_of(100.0)
            })
            .collect(),
        holds: "counted in system calls, C does about a hundredth of the work",
        fails: "counted in system calls, at least one of the others does not do 100 times as much; most \
                of their time is user code and page faults, which strace does not show",
    }
}

fn lines_correlate() -> Claim {
    Claim {
        id: "000-lines-correlate",
        post: Post::HelloWorldOverdone,
        text: "The line lengths for C, Java, and Ruby correlate well to their execution times. JS is the odd outlier",
        figure: "microseconds for each line: C 25, Java 18, Ruby 15, JavaScript 120",
        how: "median total divided by the number of system calls",
        rule: "of C, Java and Ruby, the largest is at most 3.2 times the smallest; JavaScript exceeds \
               the largest",
        checks: vec![
            LimitCheck::new("C", total(C) / calls(C)),
            LimitCheck::new("Java", total("java") / calls("java")),
            LimitCheck::new("Ruby", total("ruby") / calls("ruby")),
            LimitCheck::new("JavaScript", total("node") / calls("node")),
            LimitCheck::new("Java over C", spread("java", C)).within(0.316, 3.162),
            LimitCheck::new("Ruby over C", spread("ruby", C)).within(0.316, 3.162),
            LimitCheck::new("Java over Ruby", spread("java", "ruby")).within(0.316, 3.162),
            LimitCheck::new("JavaScript over Java", spread("node", "java")).at_least(1.0),
            LimitCheck::new("JavaScript over Ruby", spread("node", "ruby")).at_least(1.0),
        ],
        holds: "time and the number of calls go together, except in JavaScript, whose time is user code",
        fails: "the number of calls does not predict the time, which is spent in user code and page \
                faults; the four have very different shares of these",
    }
}

fn node_user_space() -> Claim {
    Claim {
        id: "000-node-user-space",
        post: Post::HelloWorldOverdone,
        text: "Node.js spends a lot more time in user space than Ruby MRI & Java",
        figure: "",
        how: "CPU time in user space of interleaved warm runs without strace, of all threads, as the \
              kernel accounts it; each of the three takes several clock ticks",
        rule: "Node.js takes at least 1.5 times as much as each of the others",
        checks: vec![
            LimitCheck::new("JavaScript", warm("node", TimedPart::User)),
            LimitCheck::new("Ruby", warm("ruby", TimedPart::User)),
            LimitCheck::new("Java", warm("java", TimedPart::User)),
            LimitCheck::new(
                "JavaScript over Ruby",
                warm("node", TimedPart::User) / warm("ruby", TimedPart::User),
            )
            .at_least(1.5),
            LimitCheck::new(
                "JavaScript over Java",
                warm("node", TimedPart::User) / warm("java", TimedPart::User),
            )
            .at_least(1.5),
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

/// The time for each call of one program over that of the other.
fn spread(program: &'static str, other: &'static str) -> Expression {
    (total(program) / calls(program)) / (total(other) / calls(other))
}

fn first_print() -> Claim {
    Claim {
        id: "000-first-print",
        post: Post::HelloWorldOverdone,
        text: "Ruby is an order of magnitude faster to print than C (the first print of C, and one of \
               Ruby after its marker)",
        figure: "C 42 µs, Ruby 6 µs: 7 times",
        how: "as in the post: C's first print, and a print of Ruby that is not its first; by each \
              language's monotonic clock, whose cost is subtracted (for C, the post read the CPU-time \
              clock, which is a system call)",
        rule: "the ratio is, to the nearest power of ten, the post's (between 2.2 and 22)",
        checks: vec![
            LimitCheck::new("C, first", timed(TIMED_PUTS, 1)),
            LimitCheck::new("Ruby, hundredth", timed(TIMED_RUBY, 100)),
            LimitCheck::new("C over Ruby", timed(TIMED_PUTS, 1) / timed(TIMED_RUBY, 100))
                .in_the_order_of(7.0),
        ],
        holds: "the first print of C sets up stdio; Ruby did its own set-up before its marker",
        fails: "this ratio is different here",
    }
}

fn ruby_prints_faster() -> Claim {
    Claim {
        id: "000-ruby-prints-faster",
        post: Post::HelloWorldOverdone,
        text: "How is it that Ruby puts results in a direct call to write, but the equivalent C is nearly 10x slower?",
        figure: "42 and 6 µs",
        how: "the same for both: the hundredth print, by each language's monotonic clock, whose cost is \
              subtracted",
        rule: "C takes, to the nearest power of ten, ten times as long",
        checks: vec![
            LimitCheck::new("C, hundredth", timed(TIMED_PUTS, 100)),
            LimitCheck::new("Ruby, hundredth", timed(TIMED_RUBY, 100)),
            LimitCheck::new("Ruby, first", timed(TIMED_RUBY, 1)),
            LimitCheck::new("C over Ruby, hundredth", timed(TIMED_PUTS, 100) / timed(TIMED_RUBY, 100))
                .in_the_order_of(10.0),
            LimitCheck::new("C over Ruby, first", timed(TIMED_PUTS, 1) / timed(TIMED_RUBY, 1)),
        ],
        holds: "also after both have set up what they print with",
        fails: "after both have set up what they print with, C is not ten times slower; the post \
                compares a first print with a later one",
    }
}

fn write_as_puts() -> Claim {
    Claim {
        id: "000-write-as-puts",
        post: Post::HelloWorldOverdone,
        text: "with write(2) I see the same 6μs time that Ruby Kernel#puts reported",
        figure: "6 µs",
        how: "C's first write(2), and a print of Ruby that is not its first, each by its language's \
              monotonic clock, whose cost is subtracted",
        rule: "the ratio is closer to 1 than to a half or 2",
        checks: vec![
            LimitCheck::new("C, first write", timed("timed-c-write", 1)),
            LimitCheck::new("write over puts", timed("timed-c-write", 1) / timed(TIMED_RUBY, 100)).about(1.0),
        ],
        holds: "both take little more than the system call",
        fails: "write(2) in C and puts in Ruby do not take the same time here",
    }
}

fn printf_is_puts() -> Claim {
    Claim {
        id: "000-printf-is-puts",
        post: Post::HelloWorldOverdone,
        text: "gcc turns printf into puts; -fno-builtin keeps printf",
        figure: "",
        how: "the functions that the output of `gcc hello.c` and of `gcc -fno-builtin hello.c` imports",
        rule: "the first imports puts and not printf, the second printf and not puts",
        checks: vec![
            imports("plain", C, "puts", 1.0),
            imports("plain", C, "printf", 0.0),
            imports("-fno-builtin", "c-printf-real", "printf", 1.0),
            imports("-fno-builtin", "c-printf-real", "puts", 0.0),
        ],
        holds: "gcc replaces a printf of a constant line by puts, even without -O",
        fails: "this gcc does not do that",
    }
}

fn printf_slower_than_puts() -> Claim {
    Claim {
        id: "000-printf-slower-than-puts",
        post: Post::HelloWorldOverdone,
        text: "the unopt'd compiled hello.c version (printf) is in fact marginally slower than C puts",
        figure: "",
        how: "the time of a print by each program's own clock, first and hundredth, as firstbyte floor \
              measures it; and, without limits, the totals of the two programs",
        rule: "the first print by printf takes longer than that by puts, and at most 1.5 times as long",
        checks: vec![
            LimitCheck::new("first print by printf", timed("timed-c-printf", 1)),
            LimitCheck::new("first print by puts", timed("timed-c-puts", 1)),
            LimitCheck::new(
                "printf over puts, first print",
                timed("timed-c-printf", 1) / timed("timed-c-puts", 1),
            )
            .within(1.0, 1.5),
            LimitCheck::new(
                "printf over puts, hundredth print",
                timed("timed-c-printf", 100) / timed("timed-c-puts", 100),
            ),
            LimitCheck::new("printf over puts, total", total("c-printf-real") / total(C)),
        ],
        holds: "printf parses its format, which costs a little",
        fails: "the difference between the two programs is not what the post says",
    }
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

fn imports(which: &str, program: &'static str, symbol: &'static str, value: f64) -> LimitCheck {
    let needs = Quantity::Imports { program, symbol };
    LimitCheck::new(format!("{which} needs {symbol}"), needs.into()).exactly(value)
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
