//! What can be measured, and the expressions of it that checks look at.

use crate::document::claims::ClaimUnit;
use firstbyte_measure::timeline::Phase;
use std::ops::{Add, Div, Mul, Sub};

/// One thing that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// The time of a part of a program's runs.
    Time { program: &'static str, span: TimedPart, state: RunState },
    /// User code of a program and of the children that it waited for, in runs in which every entry into the kernel was seen.
    UserTime(&'static str),
    /// What a program does, counted.
    Count { program: &'static str, counted: CountKind },
    /// Wall time of traced runs of a program over that of untraced ones.
    Overhead(&'static str),
    /// Events that the tracer lost in all timed runs.
    LostEvents,
    /// Size of a program's file in bytes.
    FileSize(&'static str),
    /// Whether a program imports this function: 1 or 0.
    Imports { program: &'static str, symbol: &'static str },
    /// A figure of `firstbyte floor`, by its name.
    Floor(&'static str),
    /// The time in which a design prints `count` lines into a pipe.
    Lines { design: &'static str, count: u64 },
    /// Whether a design's output is right: 1 or 0.
    Right(&'static str),
    /// Size in bytes of the smallest executable that we write for this architecture and text.
    Packed {
        /// As `firstbyte elf` calls it.
        architecture: &'static str,
        text: &'static str,
    },
    /// The time of one print by the language's own clock. The program prints a hundred times.
    Print {
        program: &'static str,
        /// 1 or 100.
        print: u32,
    },
    /// The lines that `strace -f -ttt` prints about a program.
    TraceLines(&'static str),
    /// The part of a program's writes that `perf record` loses, from 0 to 1.
    LostByPerf { program: &'static str, buffer: PerfBuffer },
    /// The part of the unknown words nearly in the dictionary that a solution of Level 0 takes for known, from 0 to 1.
    TakenForKnown(&'static str),
    /// From execve to the first write, as a tool reports it in runs of its own.
    Reported { tool: ReportingTool, program: &'static str },
    /// How many processors programs may run on.
    Processors,
    /// The time to a program's first byte with all processors over that with one.
    AllProcessors(&'static str),
}

/// A tool whose reports are compared with ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReportingTool {
    /// From the entry of execve.
    Strace,
    /// `perf record` with the events of Startup Showdown, from the return of execve.
    Perf,
}

impl ReportingTool {
    pub const ALL: [ReportingTool; 2] = [ReportingTool::Strace, ReportingTool::Perf];

    /// As it is called.
    pub fn name(self) -> &'static str {
        match self {
            ReportingTool::Strace => "strace",
            ReportingTool::Perf => "perf",
        }
    }

    /// Its Debian package.
    pub fn package(self) -> &'static str {
        match self {
            ReportingTool::Strace => "strace",
            ReportingTool::Perf => "linux-perf",
        }
    }
}

/// The buffer from which `perf record` reads its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PerfBuffer {
    /// As perf chooses it.
    Default,
    /// One page for each processor, the smallest.
    OnePage,
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimedPart {
    Phase(Phase),
    /// startup + setup + write.
    FirstByte,
    /// All phases.
    Total,
}

impl From<Phase> for TimedPart {
    fn from(phase: Phase) -> TimedPart {
        TimedPart::Phase(phase)
    }
}

/// The conditions under which runs are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunState {
    /// All files are in memory.
    Warm,
    /// The program stops at every system call, as under strace.
    Stopped,
    /// After `drop_caches`, as in Startup Showdown.
    Dropped,
    /// Not one page of the program's files is in memory.
    Cold,
}

/// What is counted in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CountKind {
    Syscalls,
    /// The first process included.
    Processes,
    /// The threads of all processes.
    Threads,
}

/// Interleaved runs: the values of one round belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairedRounds {
    /// Programs under one condition.
    Runs(RunState),
    /// Programs whose user time and system time are measured apart.
    Divided,
    /// Designs that print this number of lines.
    Lines(u64),
}

impl Quantity {
    pub fn unit(self) -> ClaimUnit {
        match self {
            Quantity::Time { .. }
            | Quantity::UserTime(_)
            | Quantity::Floor(_)
            | Quantity::Lines { .. }
            | Quantity::Print { .. }
            | Quantity::Reported { .. } => ClaimUnit::Ns,
            Quantity::Overhead(_) | Quantity::AllProcessors(_) => ClaimUnit::Times,
            Quantity::Count { .. }
            | Quantity::LostEvents
            | Quantity::Processors
            | Quantity::TraceLines(_) => ClaimUnit::Count,
            Quantity::LostByPerf { .. } | Quantity::TakenForKnown(_) => ClaimUnit::Part,
            Quantity::FileSize(_) | Quantity::Packed { .. } => ClaimUnit::Bytes,
            Quantity::Imports { .. } | Quantity::Right(_) => ClaimUnit::Yes,
        }
    }

    /// The rounds in which the quantity was measured, if it has one value for each round.
    pub fn rounds(self) -> Option<PairedRounds> {
        match self {
            Quantity::Time { state, .. } => Some(PairedRounds::Runs(state)),
            Quantity::UserTime(_) => Some(PairedRounds::Divided),
            Quantity::Lines { count, .. } => Some(PairedRounds::Lines(count)),
            _ => None,
        }
    }
}

/// What a check looks at: quantities, and values computed from them.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    Of(Quantity),
    Constant(f64),
    Both(Operator, Box<Expression>, Box<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Operator {
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Operator::Add => a + b,
            Operator::Subtract => a - b,
            Operator::Multiply => a * b,
            Operator::Divide => a / b,
        }
    }
}

impl Expression {
    pub fn unit(&self) -> ClaimUnit {
        match self {
            Expression::Of(quantity) => quantity.unit(),
            Expression::Constant(_) => ClaimUnit::Count,
            Expression::Both(Operator::Divide, a, b) if a.unit() == b.unit() => ClaimUnit::Times,
            Expression::Both(_, a, _) => a.unit(),
        }
    }

    pub fn quantities(&self) -> Vec<Quantity> {
        match self {
            Expression::Of(quantity) => vec![*quantity],
            Expression::Constant(_) => Vec::new(),
            Expression::Both(_, a, b) => [a.quantities(), b.quantities()].concat(),
        }
    }
}

impl From<Quantity> for Expression {
    fn from(quantity: Quantity) -> Expression {
        Expression::Of(quantity)
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $operator:ident) => {
        impl $trait for Expression {
            type Output = Expression;
            fn $method(self, other: Expression) -> Expression {
                Expression::Both(Operator::$operator, Box::new(self), Box::new(other))
            }
        }
    };
}
operator!(Add, add, Add);
operator!(Sub, sub, Subtract);
operator!(Mul, mul, Multiply);
operator!(Div, div, Divide);

/// The time of a part of a program's warm runs.
pub fn warm(program: &'static str, span: impl Into<TimedPart>) -> Expression {
    time(program, span, RunState::Warm)
}

/// The same under other conditions.
pub fn time(program: &'static str, span: impl Into<TimedPart>, state: RunState) -> Expression {
    Quantity::Time { program, span: span.into(), state }.into()
}

/// The time of a program's user code.
pub fn user(program: &'static str) -> Expression {
    Quantity::UserTime(program).into()
}

/// What a program does, counted.
pub fn count(program: &'static str, counted: CountKind) -> Expression {
    Quantity::Count { program, counted }.into()
}

pub fn floor(figure: &'static str) -> Expression {
    Quantity::Floor(figure).into()
}

/// One print of a program that times its prints.
pub fn print(program: &'static str, print: u32) -> Expression {
    Quantity::Print { program, print }.into()
}

/// The time in which a design prints `count` lines.
pub fn lines(design: &'static str, count: u64) -> Expression {
    Quantity::Lines { design, count }.into()
}
