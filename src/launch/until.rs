//! The moment at which a run is ended though its program goes on: a text in its output, or the first byte.

use super::clock;
use crate::units::Nanos;
use std::sync::Arc;

/// What ends a run before its program does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// Its first byte of output.
    FirstByte,
    /// This text in its output.
    Text(Arc<[u8]>),
}

/// Looks for it in output that comes in pieces.
#[derive(Debug)]
pub(super) struct Search {
    wanted: Until,
    /// The end of what has come, in which the text may have begun.
    tail: Vec<u8>,
    found: Option<Nanos>,
}

impl Search {
    pub(super) fn new(wanted: Until) -> Search {
        Search { wanted, tail: Vec::new(), found: None }
    }

    /// When it was found.
    pub(super) fn found(&self) -> Option<Nanos> {
        self.found
    }

    /// Takes the next piece of output, which is never empty.
    pub(super) fn take(&mut self, piece: &[u8]) {
        if self.found.is_none() && self.is_complete_with(piece) {
            self.found = Some(clock::now());
        }
    }

    fn is_complete_with(&mut self, piece: &[u8]) -> bool {
        let Until::Text(text) = &self.wanted else { return true };
        self.tail.extend_from_slice(piece);
        let complete = text.is_empty() || self.tail.windows(text.len()).any(|window| window == &**text);
        let kept = text.len().saturating_sub(1);
        self.tail.drain(..self.tail.len().saturating_sub(kept));
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(wanted: &str, pieces: &[&str]) -> Option<usize> {
        let mut search = Search::new(Until::Text(wanted.as_bytes().into()));
        pieces.iter().position(|piece| {
            search.take(piece.as_bytes());
            search.found().is_some()
        })
    }

    #[test]
    fn a_text_is_found_wherever_the_pieces_divide_it() {
        assert_eq!(found("ready", &["ready"]), Some(0));
        assert_eq!(found("ready", &["not re", "ad", "y yet"]), Some(2));
        assert_eq!(found("ready", &["r", "e", "a", "d", "y"]), Some(4));
        assert_eq!(found("aab", &["aa", "ab"]), Some(1));
        assert_eq!(found("ready", &["read", " y"]), None);
        assert_eq!(found("x", &["abc", "x"]), Some(1));
    }

    #[test]
    fn the_first_byte_is_any_byte() {
        let mut search = Search::new(Until::FirstByte);
        assert_eq!(search.found(), None);
        search.take(b"\n");
        assert!(search.found().is_some());
    }
}
