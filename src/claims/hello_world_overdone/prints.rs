//! What the post says about one print: of C and of Ruby, by printf, puts and write.

use super::{C, total};
use crate::claims::claim::Claim;
use crate::claims::limit_check::LimitCheck;
use crate::claims::post::Post;
use crate::claims::quantity::{Quantity, print as timed};

/// Programs that print a hundred times, and time the first print and the last.
const TIMED_PUTS: &str = "timed-c-puts";
const TIMED_RUBY: &str = "timed-ruby";
pub(super) fn first() -> Claim {
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

pub(super) fn ruby_faster() -> Claim {
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

pub(super) fn write_as_puts() -> Claim {
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

pub(super) fn printf_is_puts() -> Claim {
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

pub(super) fn printf_slower_than_puts() -> Claim {
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

fn imports(which: &str, program: &'static str, symbol: &'static str, value: f64) -> LimitCheck {
    let needs = Quantity::Imports { program, symbol };
    LimitCheck::new(format!("{which} needs {symbol}"), needs.into()).exactly(value)
}
