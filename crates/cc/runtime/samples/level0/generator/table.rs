//! The bytes of the table. A state is the sequence of its edges. An edge is one byte, and a pointer if it needs one:
//!
//! | bits 7-5 | the edge | pointer |
//! |---|---|---|
//! | 0 | leads on, more edges follow | yes |
//! | 1 | the same, and a word ends here | yes |
//! | 2 | leads on, last edge | yes |
//! | 3 | the same, and a word ends here | yes |
//! | 4 | last edge, to the state that follows | no |
//! | 5 | the same, and a word ends here | no |
//! | 6 | a word ends here and none continues, more edges follow | no |
//! | 7 | the same, last edge | no |
//!
//! Bits 4-0 are the letter's code: 0-30 for the most frequent letters, 31 for all others, which follow as a byte.
//! The first byte of a pointer determines its kind, with the limits HOT <= NEAR <= FAR <= LOW <= 256:
//!
//! | first byte p | bytes | leads to |
//! |---|---|---|
//! | below HOT | 1 | the p-th most popular state, through a list of addresses |
//! | HOT to NEAR - 1 | 1 | p - HOT bytes after the pointer |
//! | NEAR to FAR - 1 | 2 | (p - NEAR) * 256 + second bytes after it |
//! | FAR to LOW - 1 | 2 | address (p - FAR) * 256 + second |
//! | LOW and above | 3 | address (p - LOW) * 65536 + the other two |

use crate::automaton::{Automaton, Edge, SINK, StateId};
use crate::layout::{self, Placed};
use std::fmt::Write;

const HOT: usize = 96;
const NEAR: usize = 160;
const FAR: usize = 184;
const LOW: usize = 246;

pub const OTHER: u8 = 31;

/// The table, with everything that is needed to read it.
pub struct Table {
    pub bytes: Vec<u8>,
    hot: Vec<usize>,
    root: usize,
    alphabet: Vec<u8>,
    longest: usize,
}

/// The letters that have their own codes, the most frequent first.
pub fn alphabet(words: &[Vec<u8>]) -> Vec<u8> {
    let mut counts = [0usize; 256];
    words.iter().flatten().for_each(|&letter| counts[usize::from(letter)] += 1);
    let mut letters: Vec<u8> = (0..=255).filter(|&letter| counts[usize::from(letter)] > 0).collect();
    letters.sort_by_key(|&letter| std::cmp::Reverse(counts[usize::from(letter)]));
    letters.truncate(usize::from(OTHER));
    letters
}

/// The code of every byte.
fn codes(alphabet: &[u8]) -> [u8; 256] {
    let mut codes = [OTHER; 256];
    for (code, &letter) in alphabet.iter().enumerate() {
        codes[usize::from(letter)] = code as u8;
    }
    codes
}

/// An edge, read from the table.
struct Read {
    kind: u8,
    code: u8,
    letter: u8,
    leads_to: Option<usize>,
}

struct Encoder<'a> {
    order: &'a [Placed],
    codes: [u8; 256],
    /// The rank among the most popular states, for the first HOT of them.
    hot: Vec<Option<usize>>,
    address: Vec<usize>,
}

pub fn encode(automaton: &Automaton, alphabet: &[u8]) -> Table {
    let order = layout::plan(automaton);
    let mut encoder =
        Encoder { order: &order, codes: codes(alphabet), hot: hot(automaton), address: vec![0; automaton.states.len()] };
    let bytes = encoder.settle();
    let mut hot = vec![0; HOT];
    for (state, rank) in encoder.hot.iter().enumerate().filter_map(|(s, r)| r.map(|r| (s, r))) {
        hot[rank] = encoder.address[state];
    }
    let root = encoder.address[automaton.root];
    let mut table = Table { bytes, hot, root, alphabet: alphabet.to_vec(), longest: 0 };
    table.longest = table.words().iter().map(Vec::len).max().unwrap_or(0);
    table
}

fn hot(automaton: &Automaton) -> Vec<Option<usize>> {
    let mut degrees = vec![0u32; automaton.states.len()];
    automaton.states.iter().flatten().for_each(|edge| degrees[edge.target] += 1);
    let mut states: Vec<StateId> = (1..degrees.len()).collect();
    states.sort_by_key(|&state| std::cmp::Reverse(degrees[state]));
    let mut ranks = vec![None; degrees.len()];
    for (rank, &state) in states.iter().take(HOT).enumerate() {
        ranks[state] = Some(rank);
    }
    ranks
}

impl Encoder<'_> {
    /// Encodes all states again and again until nothing changes, because shorter pointers bring states closer, which
    /// shortens pointers. The length of a pointer depends on the addresses of the previous round. A round that ends with
    /// the addresses with which it started is correct. (Web2 takes about 60 rounds.)
    fn settle(&mut self) -> Vec<u8> {
        for _ in 0..1000 {
            let mut bytes = Vec::new();
            let before = self.address.clone();
            for placed in self.order {
                self.address[placed.state] = bytes.len();
                self.state(placed, &before, &mut bytes);
            }
            if self.address == before {
                return bytes;
            }
        }
        panic!("the addresses do not settle");
    }

    fn state(&self, placed: &Placed, address: &[usize], bytes: &mut Vec<u8>) {
        let last = placed.edges.len() - 1;
        for (index, edge) in placed.edges.iter().enumerate() {
            let follows = placed.next_follows && index == last;
            let code = self.codes[usize::from(edge.letter)];
            bytes.push(kind(edge, index == last, follows) << 5 | code);
            if code == OTHER {
                bytes.push(edge.letter);
            }
            if edge.target != SINK && !follows {
                self.pointer(edge.target, address, bytes);
            }
        }
    }

    fn pointer(&self, target: StateId, address: &[usize], bytes: &mut Vec<u8>) {
        let to = address[target];
        let behind = |length: usize| to.checked_sub(bytes.len() + length);
        if let Some(rank) = self.hot[target] {
            bytes.push(rank as u8);
        } else if let Some(distance) = behind(1).filter(|d| *d < NEAR - HOT) {
            bytes.push((HOT + distance) as u8);
        } else if let Some(distance) = behind(2).filter(|d| *d < (FAR - NEAR) * 256) {
            bytes.extend([(NEAR + distance / 256) as u8, distance as u8]);
        } else if to < (LOW - FAR) * 256 {
            bytes.extend([(FAR + to / 256) as u8, to as u8]);
        } else {
            assert!(to < (256 - LOW) << 16, "the word list is too long for three bytes of address");
            bytes.extend([(LOW + (to >> 16)) as u8, (to >> 8) as u8, to as u8]);
        }
    }
}

fn kind(edge: &Edge, last: bool, follows: bool) -> u8 {
    match (edge.target == SINK, follows) {
        (true, _) => 6 | u8::from(last),
        (_, true) => 4 | u8::from(edge.ends_word),
        _ => u8::from(last) << 1 | u8::from(edge.ends_word),
    }
}

impl Table {
    /// Every word in the bytes, sorted. They are read as the C program reads them.
    pub fn words(&self) -> Vec<Vec<u8>> {
        let mut words = Vec::new();
        self.collect(self.root, &mut Vec::new(), &mut words);
        words.sort();
        words
    }

    fn collect(&self, at: usize, prefix: &mut Vec<u8>, words: &mut Vec<Vec<u8>>) {
        for edge in self.edges(at) {
            prefix.push(edge.letter);
            if edge.kind & 1 == 1 || edge.kind >= 6 {
                words.push(prefix.clone());
            }
            if let Some(state) = edge.leads_to {
                self.collect(state, prefix, words);
            }
            prefix.pop();
        }
    }

    /// The edges of the state at this place.
    fn edges(&self, mut at: usize) -> Vec<Read> {
        let mut edges: Vec<Read> = Vec::new();
        while edges.last().is_none_or(|edge| edge.kind < 2 || edge.kind == 6) {
            let (kind, code) = (self.bytes[at] >> 5, self.bytes[at] & 31);
            at += 1;
            let letter = if code == OTHER { self.bytes[at] } else { self.alphabet[usize::from(code)] };
            at += usize::from(code == OTHER);
            let (leads_to, length) = match kind {
                0..=3 => (Some(self.follow(at).0), self.follow(at).1),
                4 | 5 => (Some(at), 0),
                _ => (None, 0),
            };
            at += length;
            edges.push(Read { kind, code, letter, leads_to });
        }
        edges
    }

    /// Where the first two letters of a word lead, indexed by their codes (32 * first + second): (place + 1) << 3 | kind,
    /// or 0 if no longer word starts with them. States near the root have many edges, so this saves every look-up a
    /// search among about twenty edges.
    fn ways(&self) -> Vec<usize> {
        let mut ways = vec![0; 32 * 32];
        for first in self.edges(self.root) {
            for second in first.leads_to.map_or_else(Vec::new, |state| self.edges(state)) {
                if let (Some(place), true) = (second.leads_to, first.code != OTHER && second.code != OTHER) {
                    ways[usize::from(first.code) * 32 + usize::from(second.code)] = (place + 1) << 3 | usize::from(second.kind);
                }
            }
        }
        ways
    }

    /// The target of the pointer at this place, and its length.
    fn follow(&self, at: usize) -> (usize, usize) {
        let byte = |index: usize| usize::from(self.bytes[at + index]);
        match byte(0) {
            p if p < HOT => (self.hot[p], 1),
            p if p < NEAR => (at + 1 + p - HOT, 1),
            p if p < FAR => (at + 2 + (p - NEAR) * 256 + byte(1), 2),
            p if p < LOW => ((p - FAR) * 256 + byte(1), 2),
            p => ((p - LOW) << 16 | byte(1) << 8 | byte(2), 3),
        }
    }

    /// The table as a C header. Capitals have the codes of their lower-case letters.
    pub fn header(&self) -> String {
        let small = codes(&self.alphabet);
        let codes = (0..=255u8).map(|letter| small[usize::from(letter.to_ascii_lowercase())]);
        let mut text = String::from("/* Written by generate; see generator/table.rs for the format. */\n");
        let constants = [("ROOT", self.root), ("LONGEST", self.longest), ("HOT", HOT), ("NEAR", NEAR), ("FAR", FAR), ("LOW", LOW)];
        for (name, value) in constants {
            writeln!(text, "#define {name} {value}").expect("writing to a string never fails");
        }
        array(&mut text, "unsigned char codes", codes.map(usize::from));
        array(&mut text, "unsigned hot", self.hot.iter().copied());
        array(&mut text, "unsigned ways", self.ways().into_iter());
        array(&mut text, "unsigned char edges", self.bytes.iter().map(|&byte| usize::from(byte)));
        text
    }
}

/// A constant array with many values on each line.
pub fn array(text: &mut String, declaration: &str, values: impl Iterator<Item = usize>) {
    let values: Vec<String> = values.map(|value| value.to_string()).collect();
    writeln!(text, "static const {declaration}[] = {{").expect("writing to a string never fails");
    for line in values.chunks(32) {
        writeln!(text, "{},", line.join(",")).expect("writing to a string never fails");
    }
    text.push_str("};\n");
}
