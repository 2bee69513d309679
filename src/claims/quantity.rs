//! What can be known of a machine: the atoms of which checks are made.

use crate::document::claims::ClaimUnit;
use std::ops::{Add, Div, Mul, Sub};

/// One thing that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// How long a program's runs take.
    Time {
        /// The program.
        program: &'static str,
        /// Which part of a run.
        span: Span,
        /// Under which conditions.
        state: State,
    },
    /// What a program does.
    Count {
        /// The program.
        program: &'static str,
        /// What is counted.
        counted: Counted,
    },
    /// Wall time of traced runs of a program over that of untraced ones.
    Overhead(&'static str),
    /// Events that the tracer lost in all timed runs.
    LostEvents,
    /// Size of a program's file, bytes.
    FileSize(&'static str),
    /// Whether a program's dynamic symbols name this function among those that it needs: 1 or 0.
    Imports {
        /// The program.
        program: &'static str,
        /// The function.
        symbol: &'static str,
    },
    /// A figure of `firstbyte floor`, by its name.
    Floor(&'static str),
    /// Time in which a design prints so many lines into a pipe.
    Lines {
        /// The design.
        design: &'static str,
        /// How many lines.
        count: u64,
    },
    /// Whether a design's output is right: 1 or 0.
    Right(&'static str),
    /// Size of the smallest executable that we write for this architecture and text, bytes.
    Packed {
        /// The architecture, as `firstbyte elf` calls it.
        architecture: &'static str,
        /// What it prints.
        text: &'static str,
    },
    /// Time of one print by the language's own clock, of a program that prints a hundred times.
    Print {
        /// The program.
        program: &'static str,
        /// Which print: 1 or 100.
        print: u32,
    },
    /// How many processors programs may run on.
    Processors,
    /// Time to a program's first byte with all processors over that with one.
    AllProcessors(&'static str),
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Span {
    /// The first `execve`.
    Startup,
    /// From there to the first write.
    Setup,
    /// That write.
    Write,
    /// From there to the exit.
    Teardown,
    /// startup + setup + write.
    FirstByte,
    /// All of it.
    Total,
}

/// Under which conditions runs are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Files in memory.
    Warm,
    /// Every system call stops, as under strace.
    Stopped,
    /// After `drop_caches`, as seed 001 has it.
    Dropped,
    /// Not one page of the program's files is in memory.
    Cold,
}

/// What is counted of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counted {
    /// System calls.
    Syscalls,
    /// Processes, the first included.
    Processes,
    /// Threads of all processes.
    Threads,
}

/// Runs that were made in turn: their values belong together one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// Of programs under one condition.
    Runs(State),
    /// Of designs that print so many lines.
    Lines(u64),
}

impl Quantity {
    /// How its values are shown.
    pub fn unit(self) -> ClaimUnit {
        match self {
            Quantity::Time { .. } | Quantity::Floor(_) | Quantity::Lines { .. } | Quantity::Print { .. } => {
                ClaimUnit::Ns
            }
            Quantity::Overhead(_) | Quantity::AllProcessors(_) => ClaimUnit::Times,
            Quantity::Count { .. } | Quantity::LostEvents | Quantity::Processors => ClaimUnit::Count,
            Quantity::FileSize(_) | Quantity::Packed { .. } => ClaimUnit::Bytes,
            Quantity::Imports { .. } | Quantity::Right(_) => ClaimUnit::Yes,
        }
    }

    /// The rounds in which it was measured, where its values are one a round.
    pub fn rounds(self) -> Option<Rounds> {
        match self {
            Quantity::Time { state, .. } => Some(Rounds::Runs(state)),
            Quantity::Lines { count, .. } => Some(Rounds::Lines(count)),
            _ => None,
        }
    }
}

/// What a check looks at: quantities, and what is computed of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A quantity as it is.
    Of(Quantity),
    /// A constant.
    Constant(f64),
    /// Two, combined.
    Both(Operator, Box<Expression>, Box<Expression>),
}

/// What combines two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Their sum.
    Add,
    /// The first less the second.
    Subtract,
    /// Their product.
    Multiply,
    /// The first over the second.
    Divide,
}

impl Operator {
    /// Of two numbers.
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
    /// How its values are shown.
    pub fn unit(&self) -> ClaimUnit {
        match self {
            Expression::Of(quantity) => quantity.unit(),
            Expression::Constant(_) => ClaimUnit::Count,
            Expression::Both(Operator::Divide, a, b) if a.unit() == b.unit() => ClaimUnit::Times,
            Expression::Both(_, a, _) => a.unit(),
        }
    }

    /// Every quantity in it.
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

/// A part of a program's warm runs.
pub fn warm(program: &'static str, span: Span) -> Expression {
    Quantity::Time { program, span, state: State::Warm }.into()
}

/// A part of its runs under other conditions.
pub fn time(program: &'static str, span: Span, state: State) -> Expression {
    Quantity::Time { program, span, state }.into()
}

/// What a program does.
pub fn count(program: &'static str, counted: Counted) -> Expression {
    Quantity::Count { program, counted }.into()
}

/// A figure of the floor.
pub fn floor(figure: &'static str) -> Expression {
    Quantity::Floor(figure).into()
}

/// One print of a program that times its own.
pub fn print(program: &'static str, print: u32) -> Expression {
    Quantity::Print { program, print }.into()
}

/// A design's time.
pub fn lines(design: &'static str, count: u64) -> Expression {
    Quantity::Lines { design, count }.into()
}
