//! Ends a run before its program ends: at a text in its output, at its first byte, or when it listens on a port.

use super::port::{PortWatch, pause_after};
use crate::clock;
use crate::units::Nanos;
use std::sync::Arc;
use std::time::Duration;

/// What ends a run before its program does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// The first byte of stdout.
    FirstByte,
    /// This text in stdout or stderr.
    Text(Arc<[u8]>),
    /// Something listens on this TCP port.
    Port(u16),
}

/// What a run waits for, and whether it has come.
#[derive(Debug)]
pub(super) enum Awaited {
    /// Something in the output.
    Output {
        /// In stdout.
        stdout: OutputSearch,
        /// In stderr; `None` if only stdout counts.
        stderr: Option<OutputSearch>,
    },
    /// Something that listens.
    Port(PortWatch),
}

impl Awaited {
    /// `terminal`: stdout is a terminal, which adds a carriage return before each newline (ONLCR in termios(3)) unless the
    /// program has switched that off.
    pub(super) fn new(until: Until, terminal: bool) -> Awaited {
        match until {
            Until::FirstByte => Awaited::Output { stdout: OutputSearch::new(Vec::new()), stderr: None },
            Until::Text(text) => {
                let returned = (terminal && text.contains(&b'\n')).then(|| returned(&text));
                let in_stdout = returned.into_iter().chain([Arc::clone(&text)]).collect();
                Awaited::Output {
                    stdout: OutputSearch::new(in_stdout),
                    stderr: Some(OutputSearch::new(vec![text])),
                }
            }
            Until::Port(port) => Awaited::Port(PortWatch::new(port)),
        }
    }

    /// When it came.
    pub(super) fn found(&self) -> Option<Nanos> {
        match self {
            Awaited::Output { stdout, stderr } => {
                let found = [stdout.found(), stderr.as_ref().and_then(OutputSearch::found)];
                found.into_iter().flatten().min()
            }
            Awaited::Port(watch) => watch.found(),
        }
    }

    /// Takes the next piece of stdout, which is never empty.
    pub(super) fn take_stdout(&mut self, piece: &[u8]) {
        if let Awaited::Output { stdout, .. } = self {
            stdout.take(piece);
        }
    }

    /// Takes the next piece of stderr, which is never empty.
    pub(super) fn take_stderr(&mut self, piece: &[u8]) {
        if let Awaited::Output { stderr: Some(stderr), .. } = self {
            stderr.take(piece);
        }
    }

    /// Looks for what no output shows.
    pub(super) fn look(&mut self) {
        if let Awaited::Port(watch) = self {
            watch.look();
        }
    }

    /// The longest pause before the next look; `None` if output ends the pause.
    pub(super) fn pause_after(&self, elapsed: Duration) -> Option<Duration> {
        matches!(self, Awaited::Port(_)).then(|| pause_after(elapsed))
    }
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
    fn new(texts: Vec<Arc<[u8]>>) -> OutputSearch {
        OutputSearch { texts, tail: Vec::new(), found: None }
    }

    /// When it was found.
    fn found(&self) -> Option<Nanos> {
        self.found
    }

    /// Takes the next piece of output, which is never empty.
    fn take(&mut self, piece: &[u8]) {
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
        let mut awaited = Awaited::new(Until::Text(wanted.as_bytes().into()), terminal);
        pieces.iter().position(|piece| {
            awaited.take_stdout(piece.as_bytes());
            awaited.found().is_some()
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
    fn any_byte_of_stdout_is_the_first_byte() {
        let mut awaited = Awaited::new(Until::FirstByte, true);
        awaited.take_stderr(b"x");
        assert_eq!(awaited.found(), None);
        awaited.take_stdout(b"\n");
        assert!(awaited.found().is_some());
    }

    #[test]
    fn a_text_counts_in_stdout_and_in_stderr_but_not_across_both() {
        let mut awaited = Awaited::new(Until::Text(b"ready"[..].into()), false);
        awaited.take_stdout(b"rea");
        awaited.take_stderr(b"dy");
        assert_eq!(awaited.found(), None);
        awaited.take_stderr(b" ready");
        assert!(awaited.found().is_some());
    }
}
