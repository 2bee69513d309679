//! Where texts are in the output of a run.

use std::sync::Arc;

/// Looks for texts, each after the end of the one before.
#[derive(Debug)]
pub(super) struct PlaceSearch {
    texts: Vec<Arc<[u8]>>,
    /// The end of the output so far, where the next text may have begun.
    tail: Vec<u8>,
    /// How much came before it.
    before: u64,
    found: Vec<u64>,
}

impl PlaceSearch {
    /// No text may be empty.
    pub(super) fn new(texts: Vec<Arc<[u8]>>) -> PlaceSearch {
        PlaceSearch { texts, tail: Vec::new(), before: 0, found: Vec::new() }
    }

    /// Takes the next piece of output.
    pub(super) fn take(&mut self, piece: &[u8]) {
        self.tail.extend_from_slice(piece);
        while let Some(text) = self.texts.get(self.found.len()) {
            let length = text.len().max(1);
            let Some(at) = self.tail.windows(length).position(|window| window == &**text) else {
                return self.forget(self.tail.len().saturating_sub(length - 1));
            };
            self.forget(at + length);
            self.found.push(self.before);
        }
        self.tail.clear();
    }

    fn forget(&mut self, bytes: usize) {
        self.tail.drain(..bytes);
        self.before += bytes as u64;
    }

    /// How many bytes there were up to the end of each text that was found.
    pub(super) fn found(self) -> Vec<u64> {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_looked_for_after_the_one_before_however_the_output_is_divided() {
        let found = |texts: &[&str], pieces: &[&str]| {
            let mut search = PlaceSearch::new(texts.iter().map(|text| text.as_bytes().into()).collect());
            for piece in pieces {
                search.take(piece.as_bytes());
            }
            search.found()
        };
        assert_eq!(found(&["one", "two"], &["one two"]), [3, 7]);
        assert_eq!(found(&["one", "two"], &["o", "ne\nt", "w", "o!"]), [3, 7]);
        assert_eq!(found(&["two", "one"], &["one two"]), [7], "in this order");
        assert_eq!(found(&["aa", "aa"], &["aaaa"]), [2, 4]);
        assert_eq!(found(&["x"], &["abc"]), [0_u64; 0]);
    }
}
