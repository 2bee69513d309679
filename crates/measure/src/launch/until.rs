//! Ends a run before its program ends: at a text in its output, or at its first byte.

use crate::clock;
use crate::units::Nanos;
use std::sync::Arc;

/// What ends a run before its program does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// The first byte of output.
    FirstByte,
    /// This text in the output.
    Text(Arc<[u8]>),
}

/// Searches output that arrives in pieces.
#[derive(Debug)]
pub(super) struct OutputSearch {
    /// Any of these ends the run; if there are none, any output does.
    texts: Vec<Arc<[u8]>>,
    /// The end of the output so far, where the text may have begun.
    tail: Vec<u8>,
    found: Option<Nanos>,
}

impl OutputSearch {
    /// `terminal`: the output comes from a terminal, which adds a carriage return before each newline (ONLCR in
    /// termios(3)) unless the program has switched that off.
    pub(super) fn new(wanted: Until, terminal: bool) -> OutputSearch {
        let texts = match wanted {
            Until::FirstByte => Vec::new(),
            Until::Text(text) if terminal && text.contains(&b'\n') => vec![returned(&text), text],
            Until::Text(text) => vec![text],
        };
        OutputSearch { texts, tail: Vec::new(), found: None }
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
        let Some(longest) = self.texts.iter().map(|text| text.len()).max() else { return true };
        self.tail.extend_from_slice(piece);
        let holds = |text: &Arc<[u8]>| {
            text.is_empty() || self.tail.windows(text.len()).any(|window| window == &**text)
        };
        let complete = self.texts.iter().any(holds);
        let kept = longest.saturating_sub(1);
        self.tail.drain(..self.tail.len().saturating_sub(kept));
        complete
    }
}

/// A text as a terminal writes it.
fn returned(text: &[u8]) -> Arc<[u8]> {
    text.iter()
        .flat_map(|byte| if *byte == b'\n' { &b"\r\n"[..] } else { std::slice::from_ref(byte) })
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(wanted: &str, pieces: &[&str]) -> Option<usize> {
        found_in(wanted, pieces, false)
    }

    fn found_in(wanted: &str, pieces: &[&str], terminal: bool) -> Option<usize> {
        let mut search = OutputSearch::new(Until::Text(wanted.as_bytes().into()), terminal);
        pieces.iter().position(|piece| {
            search.take(piece.as_bytes());
            search.found().is_some()
        })
    }

    #[test]
    fn a_text_is_found_however_the_output_is_divided() {
        assert_eq!(found("ready", &["ready"]), Some(0));
        assert_eq!(found("ready", &["not re", "ad", "y yet"]), Some(2));
        assert_eq!(found("ready", &["r", "e", "a", "d", "y"]), Some(4));
        assert_eq!(found("aab", &["aa", "ab"]), Some(1));
        assert_eq!(found("ready", &["read", " y"]), None);
        assert_eq!(found("x", &["abc", "x"]), Some(1));
    }

    #[test]
    fn a_text_of_several_lines_is_found_with_and_without_carriage_returns() {
        assert_eq!(found_in("one\ntwo", &["one\r", "\ntwo\r\n"], true), Some(1));
        assert_eq!(found_in("one\ntwo\n", &["one\r\ntwo\r", "\n"], true), Some(1));
        assert_eq!(found_in("one\ntwo", &["one\n", "two\n"], true), Some(1), "ONLCR may be off");
        assert_eq!(found_in("one\ntwo", &["one\r\ntwo"], false), None, "a pipe adds nothing");
        assert_eq!(found_in("50 %\r", &["50 %\r"], true), Some(0));
    }

    #[test]
    fn any_byte_is_the_first_byte() {
        let mut search = OutputSearch::new(Until::FirstByte, true);
        assert_eq!(search.found(), None);
        search.take(b"\n");
        assert!(search.found().is_some());
    }
}
