//! The search for places: which instruction goes into which gap of the headers.
//!
//! It follows the file as the processor will. At each place it tries the instructions that the task still needs, those
//! that swallow decided bytes without effect, and jumps to the start of another gap. A byte can be used if it is open,
//! or if it is already decided and has the right value. Every order of instructions and every gap is tried. So if
//! nothing is found for a file size, there is no file of this kind with this size.

use super::arrangement::Arrangement;
use super::cells::Cells;
use super::instruction::{Base, CodeTask, Goals, Instruction, InstructionBytes, InstructionSet};
use std::collections::HashSet;

/// An instruction and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The file offset of its first byte.
    pub offset: usize,
    /// The length in bytes.
    pub length: usize,
    /// The instruction, for explanations.
    pub name: &'static str,
}

/// A file that contains the code of a task.
pub(super) struct Placed {
    pub(super) cells: Cells,
    pub(super) pieces: Vec<Piece>,
}

/// One search: a task in one arrangement of headers and message.
pub(super) struct Search<'a> {
    pub(super) layout: &'a Arrangement,
    pub(super) set: &'a dyn InstructionSet,
    pub(super) task: CodeTask,
    pieces: Vec<Piece>,
    /// The bytes whose values matter to the header fields, besides whether they are open.
    constrained: Vec<usize>,
    /// States that lead to nothing.
    failed: HashSet<State>,
    /// The number of places tried.
    pub(super) tried: u64,
    /// The number of places after which the search gives up.
    limit: u64,
}

/// Everything that the rest of a search depends on. Of two ways to the same state, only one has to be followed.
#[derive(PartialEq, Eq, Hash)]
struct State {
    at: usize,
    goals: Goals,
    jumped: bool,
    open: u128,
    constrained: [u8; 8],
}

impl<'a> Search<'a> {
    pub(super) fn new(
        layout: &'a Arrangement,
        set: &'a dyn InstructionSet,
        task: CodeTask,
        limit: u64,
    ) -> Search<'a> {
        let constrained = layout.constrained_bytes();
        Search { layout, set, task, pieces: Vec::new(), constrained, failed: HashSet::new(), tried: 0, limit }
    }

    /// Puts the code into the open bytes, starting at any place.
    pub(super) fn place(&mut self, cells: &Cells) -> Option<Placed> {
        let entry_field = self.layout.elf_field("e_entry");
        for entry in (0..cells.length()).step_by(self.set.alignment()) {
            let mut cells = cells.clone();
            if cells.is_free(entry) && !self.begins_gap(&cells, entry) {
                continue;
            }
            let Ok(low) = u8::try_from(entry) else { break };
            if !cells.set(entry_field.offset, low) {
                continue;
            }
            let start = self.set.start(&self.task);
            if let Some(cells) = self.walk(&cells, start, entry, true) {
                return Some(Placed { cells, pieces: std::mem::take(&mut self.pieces) });
            }
        }
        None
    }

    /// Places everything from `at` on. `jumped` says that a jump led here, so a second one would be useless.
    fn walk(&mut self, cells: &Cells, goals: Goals, at: usize, jumped: bool) -> Option<Cells> {
        if self.set.finished(goals) {
            return self.layout.finish(cells);
        }
        if self.capacity(cells) < self.set.least_units(goals) {
            return None;
        }
        let state = self.state(cells, goals, at, jumped);
        if self.tried >= self.limit || self.failed.contains(&state) {
            return None;
        }
        self.tried += 1;
        let found = self.walk_on(cells, goals, at);
        let found = if found.is_none() && !jumped { self.walk_elsewhere(cells, goals, at) } else { found };
        if found.is_none() {
            self.failed.insert(state);
        }
        found
    }

    /// The number of units of code that can still be placed. One gap counts in full, each other gap without the unit
    /// that the jump to it takes.
    fn capacity(&self, cells: &Cells) -> usize {
        let unit = self.set.alignment();
        let (mut units, mut gaps, mut unusable) = (0, 0, usize::MAX);
        for place in (0..(cells.length() + 1).saturating_sub(unit)).step_by(unit) {
            if cells.is_usable(place, unit) {
                units += 1;
                gaps += usize::from(units == 1 || unusable > self.set.passable());
                unusable = 0;
            } else {
                unusable = unusable.saturating_add(1);
            }
        }
        units + 1 - gaps.max(1)
    }

    fn state(&self, cells: &Cells, goals: Goals, at: usize, jumped: bool) -> State {
        let mut constrained = [0; 8];
        for (byte, &at) in constrained.iter_mut().zip(&self.constrained) {
            *byte = cells.or_zero(at);
        }
        State { at, goals, jumped, open: cells.open(), constrained }
    }

    fn walk_on(&mut self, cells: &Cells, goals: Goals, at: usize) -> Option<Cells> {
        let known = |i: usize| if i < cells.length() { cells.get(i) } else { None };
        for step in self.set.steps(&self.task, goals, at, &known) {
            if let Some(next) = self.put(cells, at, &step) {
                let behind = step.target.unwrap_or(at + step.length);
                if let Some(found) = self.descend(&next, &step, at, behind, step.target.is_some()) {
                    return Some(found);
                }
            }
        }
        None
    }

    /// Whether an open gap starts at this place.
    fn begins_gap(&self, cells: &Cells, at: usize) -> bool {
        let before = at.saturating_sub(self.set.alignment())..at;
        cells.is_free(at) && (at == 0 || before.into_iter().any(|i| !cells.is_free(i)))
    }

    fn walk_elsewhere(&mut self, cells: &Cells, goals: Goals, at: usize) -> Option<Cells> {
        for target in (0..cells.length()).step_by(self.set.alignment()) {
            if target == at || !self.begins_gap(cells, target) {
                continue;
            }
            let Some(bytes) = self.set.jump(at, target) else { continue };
            let step = Instruction::new(bytes.as_slice(), goals, "jump");
            if let Some(next) = self.put(cells, at, &step)
                && let Some(found) = self.descend(&next, &step, at, target, true)
            {
                return Some(found);
            }
        }
        None
    }

    fn descend(
        &mut self,
        cells: &Cells,
        step: &Instruction,
        at: usize,
        next: usize,
        jumped: bool,
    ) -> Option<Cells> {
        self.pieces.push(Piece { offset: at, length: step.length, name: step.name });
        let found = self.walk(cells, step.goals, next, jumped);
        if found.is_none() {
            self.pieces.pop();
        }
        found
    }

    /// The file with this instruction in it. `None` if the instruction cannot be at this place.
    fn put(&self, cells: &Cells, at: usize, step: &Instruction) -> Option<Cells> {
        if !fits(cells, at, &step.bytes) || at + step.length > cells.length() {
            return None;
        }
        let mut cells = cells.clone();
        let mut possible = cells.set_all(at, step.bytes.as_slice());
        if let Some((from, bytes)) = step.loads {
            possible = possible && cells.set_all(from, &bytes);
        }
        let address = self.layout.segment_field("p_vaddr").offset;
        possible = possible
            && match step.base {
                Base::Any => true,
                Base::Is64K => (2..5).all(|i| cells.set(address + i, u8::from(i == 2))),
                Base::InBytes(index) => (0..2).all(|i| cells.link(at + index + i, address + 2 + i)),
            };
        possible.then_some(cells)
    }
}

fn fits(cells: &Cells, at: usize, bytes: &InstructionBytes) -> bool {
    let bytes = bytes.as_slice();
    at + bytes.len() <= cells.length()
        && bytes.iter().enumerate().all(|(i, &byte)| cells.get(at + i).is_none_or(|known| known == byte))
}
