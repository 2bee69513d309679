//! Follows the code of a program, or of the constructors and destructors of a library.

use super::cursor::Cursor;
use super::execute::{self, Next};
use super::functions::{self, Effect};
use super::image::Image;
use super::kernel::Table;
use super::state::{State, Value};
use iced_x86::Register;
use std::collections::BTreeSet;

/// How many instructions are followed in all, and how many ways.
const MAX_INSTRUCTIONS: u32 = 10_000;
const MAX_WAYS: usize = 64;
/// A pipe takes this many bytes at once or none (`PIPE_BUF`).
const ATOMIC_BYTES: u64 = 4096;
/// What malloc adds to each block, and how much memory it takes first, at least.
const BLOCK_BYTES: u64 = 32;
const FIRST_MEMORY_BYTES: u64 = 100_000;
/// A function that calls itself does not fill our memory.
const MAX_CALL_DEPTH: usize = 1000;

/// What the code was found to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::inspect) struct Reached {
    /// The fewest system calls of any way through the code.
    pub(in crate::inspect) least: u64,
    /// The most; `None`: not all of it was followed.
    pub(in crate::inspect) most: Option<u64>,
    /// The pages that every way touches, and whether it writes to them.
    pub(in crate::inspect) pages: BTreeSet<(u64, bool)>,
    /// Whether every way prints through the C library.
    pub(in crate::inspect) prints: bool,
}

/// How the C library prints and allocates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::inspect) struct Habits {
    /// The calls before the first text is printed.
    pub(in crate::inspect) first_print: u64,
    /// The calls for the first memory; `None`: they are unknown.
    pub(in crate::inspect) first_memory: Option<u64>,
    /// How many bytes of text it keeps, and whether only the calls for one text are known.
    pub(in crate::inspect) buffer: u64,
    pub(in crate::inspect) once: bool,
}

/// One way through the code.
#[derive(Clone, Debug)]
struct Way {
    cursor: Cursor,
    /// Where the calls return to.
    returns_to: Vec<u64>,
    /// What runs when the current function returns at last.
    then: Vec<Then>,
    calls: u64,
    /// How many bytes the C library was given to print, and whether that is all that is known.
    printed: Option<(u64, bool)>,
    /// How many bytes were allocated, if any were.
    allocated: Option<u64>,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Runs(u64),
    /// exit(3), after the destructors.
    Ends,
}

/// How a way ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The process has ended, or all functions have returned.
    Done,
    /// More may happen.
    Open,
    /// This way is not taken.
    Impossible,
}

/// Follows a program from its entry point. `is_loaded`: a dynamic loader runs before it; otherwise the kernel has cleared all
/// registers.
pub(in crate::inspect) fn program(image: &Image<'_>, habits: Habits, is_loaded: bool) -> Reached {
    let registers = if is_loaded { Value::Unknown } else { Value::Number(0) };
    follow(image, habits, Way::new(image.entry, State::new(registers), Vec::new()))
}

/// Follows the functions of a library that run before and after the program.
pub(in crate::inspect) fn library(image: &Image<'_>) -> Reached {
    let all = image.constructors.iter().chain(&image.destructors).rev();
    let mut then: Vec<Then> = all.map(|at| Then::Runs(*at)).collect();
    match then.pop() {
        Some(Then::Runs(first)) => {
            follow(image, Habits::default(), Way::new(first, State::new(Value::Unknown), then))
        }
        _ => Reached { most: Some(0), ..Reached::default() },
    }
}

impl Way {
    fn new(at: u64, state: State, then: Vec<Then>) -> Way {
        Way {
            cursor: Cursor::new(at, state),
            returns_to: Vec::new(),
            then,
            calls: 0,
            printed: None,
            allocated: None,
        }
    }
}

fn follow(image: &Image<'_>, habits: Habits, first: Way) -> Reached {
    let mut ways = vec![first];
    let mut ended: Vec<(Way, End)> = Vec::new();
    let mut budget = MAX_INSTRUCTIONS;
    while let Some(mut way) = ways.pop() {
        let end = loop {
            if budget == 0 || ways.len() + ended.len() > MAX_WAYS {
                break End::Open;
            }
            budget -= 1;
            let next = execute::step(image, &mut way.cursor);
            if let Next::Both(other) = next {
                let mut taken = way.clone();
                taken.cursor.at = other;
                ways.push(taken);
            } else if let Some(end) = way.goes_on(image, habits, next) {
                break end;
            }
        };
        if end != End::Impossible {
            ended.push((way, end));
        }
    }
    summary(&ended)
}

fn summary(ended: &[(Way, End)]) -> Reached {
    let calls = || ended.iter().map(|(way, _)| way.calls);
    let is_complete = !ended.is_empty() && ended.iter().all(|(_, end)| *end == End::Done);
    let common = |all: BTreeSet<(u64, bool)>, (way, _): &(Way, End)| &all & &way.cursor.pages;
    let first = ended.first().map(|(way, _)| way.cursor.pages.clone()).unwrap_or_default();
    Reached {
        least: calls().min().unwrap_or(0),
        most: if is_complete { calls().max() } else { None },
        pages: ended.iter().fold(first, common),
        prints: !ended.is_empty() && ended.iter().all(|(way, _)| way.printed.is_some()),
    }
}

impl Way {
    /// `None`: it goes on.
    fn goes_on(&mut self, image: &Image<'_>, habits: Habits, next: Next) -> Option<End> {
        match next {
            Next::Instruction | Next::Both(_) => None,
            Next::Jump(to) => self.enters(image, habits, to),
            Next::Call(to) => {
                self.returns_to.push(self.cursor.at);
                if self.returns_to.len() > MAX_CALL_DEPTH {
                    Some(End::Open)
                } else {
                    self.enters(image, habits, to)
                }
            }
            Next::Return(to) => self.returns(to.number()),
            Next::SystemCall(table, number) => self.system_call(table, number),
            Next::Fault => Some(End::Done),
            Next::Unknown => Some(End::Open),
        }
    }

    fn enters(&mut self, image: &Image<'_>, habits: Habits, to: Value) -> Option<End> {
        let name = match to {
            Value::Function(number) => Some(image.name(number)),
            Value::Number(address) => image.function_at(address),
            _ => None,
        };
        match (name, to) {
            (Some(name), _) => match functions::effect(name) {
                Some(effect) => self.library_function(image, habits, effect),
                None => Some(End::Open),
            },
            (None, Value::Number(address)) if image.is_mapped(address) => {
                self.cursor.at = address;
                None
            }
            (None, Value::Number(_)) => Some(End::Done),
            _ => Some(End::Open),
        }
    }

    fn library_function(&mut self, image: &Image<'_>, habits: Habits, effect: Effect) -> Option<End> {
        match effect {
            Effect::Nothing => {}
            Effect::Calls(count) => self.calls += count,
            Effect::Prints { argument, adds_newline } => {
                if !self.prints(image, habits, argument, adds_newline) {
                    return Some(End::Open);
                }
            }
            Effect::Allocates => {
                let size = execute::argument(image, &self.cursor.state, 0).number();
                if !size.is_some_and(|size| self.allocates(habits, size)) {
                    return Some(End::Open);
                }
            }
            Effect::StartsMain => return self.starts_main(image),
            Effect::Exits => return self.exits(image),
            Effect::EndsAtOnce => {
                self.calls += 1;
                return Some(End::Done);
            }
            Effect::Fails => return Some(End::Impossible),
        }
        self.cursor.state.after_call();
        self.cursor
            .state
            .set(Register::RAX, if effect == Effect::Allocates { Value::Fresh } else { Value::Unknown });
        let to = execute::pop(image, &mut self.cursor.state);
        self.returns(to.number())
    }

    /// The program's constructors, then main.
    fn starts_main(&mut self, image: &Image<'_>) -> Option<End> {
        let Some(main) = execute::argument(image, &self.cursor.state, 0).number() else {
            return Some(End::Open);
        };
        self.then = vec![Then::Ends];
        self.then.extend(image.destructors.iter().rev().map(|at| Then::Runs(*at)));
        self.then.push(Then::Runs(main));
        self.then.extend(image.constructors.iter().rev().map(|at| Then::Runs(*at)));
        self.returns_to.clear();
        self.returns(None)
    }

    fn exits(&mut self, image: &Image<'_>) -> Option<End> {
        self.then = vec![Then::Ends];
        self.then.extend(image.destructors.iter().rev().map(|at| Then::Runs(*at)));
        self.returns_to.clear();
        self.returns(None)
    }

    /// A function returns to this address, or to where it was called from.
    fn returns(&mut self, to: Option<u64>) -> Option<End> {
        if let Some(from) = self.returns_to.pop() {
            self.cursor.at = to.unwrap_or(from);
            return None;
        }
        match self.then.pop() {
            Some(Then::Runs(address)) => {
                self.cursor.state.after_call();
                self.cursor.state.set(Register::RSP, Value::Stack(0));
                self.cursor.at = address;
                None
            }
            Some(Then::Ends) => {
                self.calls += 1 + u64::from(self.printed.is_some());
                Some(if matches!(self.printed, Some((_, false))) { End::Open } else { End::Done })
            }
            None => Some(End::Done),
        }
    }

    /// Whether what is printed is known well enough to go on.
    fn prints(&mut self, image: &Image<'_>, habits: Habits, argument: usize, adds_newline: bool) -> bool {
        let text = execute::argument(image, &self.cursor.state, argument).number().and_then(|at| {
            self.cursor.touch(at, false);
            image.text(at)
        });
        let is_plain = |text: &Vec<u8>| adds_newline || !text.contains(&b'%');
        let length = text.filter(is_plain).map(|text| text.len() as u64 + u64::from(adds_newline));
        if length == Some(0) {
            return true;
        }
        if habits.once && self.printed.is_some() {
            return false;
        }
        if self.printed.is_none() {
            self.calls += habits.first_print;
            // glibc allocates its buffer
            if habits.first_memory.is_some() && !self.allocates(habits, habits.buffer) {
                return false;
            }
        }
        let before = self.printed.map_or(0, |(bytes, _)| bytes);
        let all = length.map(|length| before + length).filter(|all| *all < habits.buffer);
        self.printed = Some((all.unwrap_or(before), all.is_some()));
        all.is_some()
    }

    /// Whether the calls for more memory are known. The first is enough for a while.
    fn allocates(&mut self, habits: Habits, size: u64) -> bool {
        let Some(first) = habits.first_memory else { return false };
        if self.allocated.is_none() {
            self.calls += first;
        }
        let all = self.allocated.unwrap_or(0).saturating_add(size).saturating_add(BLOCK_BYTES);
        self.allocated = Some(all);
        all <= FIRST_MEMORY_BYTES
    }

    fn system_call(&mut self, table: &Table, number: Option<u64>) -> Option<End> {
        self.calls += 1;
        let result = match number {
            None => return Some(End::Open),
            Some(number) if table.exits.contains(&number) => return Some(End::Done),
            Some(number) if table.replaces.contains(&number) => return Some(End::Open),
            Some(number) if number == table.write => self.written(table),
            Some(_) => {
                self.cursor.state.spoil(); // it may store something
                Value::Unknown
            }
        };
        for register in table.changes {
            self.cursor.state.set(register, Value::Unknown);
        }
        self.cursor.state.set(table.changes[0], result);
        None
    }

    /// The kernel reads what is written. A short text is written as a whole.
    fn written(&mut self, table: &Table) -> Value {
        let [address, length] = table.arguments.map(|register| self.cursor.state.get(register));
        if let (Some(address), Some(length)) = (address.number(), length.number()) {
            self.cursor.touch(address, false);
            self.cursor.touch(address.wrapping_add(length.saturating_sub(1)), false);
        }
        if length.number().is_some_and(|length| length <= ATOMIC_BYTES) { length } else { Value::Unknown }
    }
}
