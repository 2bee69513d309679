//! The minimal acyclic automaton of a sorted word list (J. Daciuk et al., "Incremental Construction of Minimal Acyclic
//! Finite-State Automata", Computational Linguistics 26, 2000). Words end on edges, not in states.

use std::collections::HashMap;

/// The number of a state.
pub type StateId = usize;

/// The only state without edges.
pub const SINK: StateId = 0;

/// The step from a state to the next, by one letter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    pub letter: u8,
    /// Whether a word ends with this letter.
    pub ends_word: bool,
    pub target: StateId,
}

/// All states, and the one to start with.
pub struct Automaton {
    pub states: Vec<Vec<Edge>>,
    pub root: StateId,
}

#[derive(Default)]
struct Builder {
    states: Vec<Vec<Edge>>,
    known: HashMap<Vec<Edge>, StateId>,
    /// The states along the last word, which are not yet complete. The last edge of each leads to the next.
    path: Vec<Vec<Edge>>,
}

impl Builder {
    fn number_of(&mut self, state: Vec<Edge>) -> StateId {
        if let Some(&number) = self.known.get(&state) {
            return number;
        }
        let number = self.states.len();
        self.states.push(state.clone());
        self.known.insert(state, number);
        number
    }

    /// States after the first `depth` letters are complete.
    fn close(&mut self, depth: usize) {
        while self.path.len() > depth + 1 {
            let state = self.path.pop().expect("longer than depth");
            let number = self.number_of(state);
            let edge = self.path.last_mut().and_then(|parent| parent.last_mut());
            edge.expect("the parent's last edge leads here").target = number;
        }
    }

    fn add(&mut self, word: &[u8], shared: usize) {
        self.close(shared);
        for (index, &letter) in word.iter().enumerate().skip(shared) {
            let ends_word = index + 1 == word.len();
            self.path.last_mut().expect("the root").push(Edge { letter, ends_word, target: SINK });
            self.path.push(Vec::new());
        }
    }
}

/// The words must be sorted, without duplicates and without the empty word.
pub fn minimal(words: &[Vec<u8>]) -> Automaton {
    let mut builder = Builder { path: vec![Vec::new()], ..Builder::default() };
    builder.number_of(Vec::new());
    let mut before: &[u8] = &[];
    for word in words {
        let shared = before.iter().zip(word).take_while(|(a, b)| a == b).count();
        builder.add(word, shared);
        before = word;
    }
    builder.close(0);
    let root = builder.path.pop().expect("the root");
    builder.states.push(root);
    Automaton { root: builder.states.len() - 1, states: builder.states }
}
