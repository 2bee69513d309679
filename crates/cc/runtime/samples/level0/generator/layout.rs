//! The order of the states in the table, and which edges need no pointer.
//!
//! States that many edges share come first, the most popular at the front. Pointers to them are short, and nearly every
//! look-up ends there, so their pages are always warm. The rest follows as a tree: the first child of a state comes
//! directly after it, without a pointer, and the other children after the tree of that child. A walk down the tree goes
//! forward through few pages.

use crate::automaton::{Automaton, Edge, SINK, StateId};

/// A state that at most this many edges share is placed with one of its parents.
const FEW: u32 = 3;

/// A state at its place in the table.
pub struct Placed {
    pub state: StateId,
    /// In the order in which they are searched. If `next_follows`, the last one leads to the state after this one.
    pub edges: Vec<Edge>,
    pub next_follows: bool,
}

struct Planner<'a> {
    automaton: &'a Automaton,
    in_degree: Vec<u32>,
    placed: Vec<bool>,
    /// About how many states are placed together with a state.
    weight: Vec<u32>,
    order: Vec<Placed>,
}

/// The order of all states except the sink.
pub fn plan(automaton: &Automaton) -> Vec<Placed> {
    let count = automaton.states.len();
    let mut planner = Planner {
        automaton,
        in_degree: in_degrees(automaton),
        placed: vec![false; count],
        weight: vec![1; count],
        order: Vec::with_capacity(count),
    };
    planner.weigh();
    for state in planner.popular() {
        planner.place(state);
    }
    planner.place(automaton.root);
    planner.order
}

fn in_degrees(automaton: &Automaton) -> Vec<u32> {
    let mut degrees = vec![0; automaton.states.len()];
    for edge in automaton.states.iter().flatten() {
        degrees[edge.target] += 1;
    }
    degrees
}

impl Planner<'_> {
    fn is_popular(&self, state: StateId) -> bool {
        self.in_degree[state] > FEW
    }

    /// The most popular states first.
    fn popular(&self) -> Vec<StateId> {
        let mut states: Vec<StateId> = (1..self.placed.len()).filter(|&s| self.is_popular(s)).collect();
        states.sort_by_key(|&state| std::cmp::Reverse(self.in_degree[state]));
        states
    }

    /// Children have lower numbers than their parents, because they were complete first.
    fn weigh(&mut self) {
        for state in 1..self.placed.len() {
            let edges = &self.automaton.states[state];
            let children = edges.iter().filter(|e| !self.is_popular(e.target)).map(|e| self.weight[e.target]);
            self.weight[state] = (edges.len() as u32).saturating_add(children.sum());
        }
    }

    /// Places a state and its tree. The lightest child that has no place yet comes directly after the state, so that the
    /// distance to the next child is short.
    fn place(&mut self, first: StateId) {
        let mut pending = vec![first];
        while let Some(state) = pending.pop() {
            if state == SINK || std::mem::replace(&mut self.placed[state], true) {
                continue;
            }

            let mut edges = self.automaton.states[state].clone();
            edges.sort_by_key(|edge| std::cmp::Reverse(self.weight[edge.target]));
            let mut own: Vec<StateId> = edges.iter().map(|e| e.target).filter(|&t| self.belongs_here(t)).collect();
            own.dedup();

            let next = own.last().copied();
            if let Some(next) = next {
                let at = edges.iter().rposition(|edge| edge.target == next).expect("one of the edges");
                let edge = edges.remove(at);
                edges.push(edge);
            }
            pending.extend(own);
            self.order.push(Placed { state, edges, next_follows: next.is_some() });
        }
    }

    fn belongs_here(&self, state: StateId) -> bool {
        state != SINK && !self.placed[state] && !self.is_popular(state)
    }
}
