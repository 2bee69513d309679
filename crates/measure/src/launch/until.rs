//! Ends a run before its program ends: at a text in its output, at its first byte, when it listens on a port, at a mark, or when it says that it is
//! ready.

use super::diagnosis::LaunchError;
use super::notify::ReadySocket;
use super::port::{PortWatch, pause_after};
use crate::clock;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The shortest and the longest pause between two checks for a mark. The tracer has noted the time of the mark, so a late check
/// only lets the program run on.
const MARK_PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];
/// The program runs on for at most this part of the time so far.
const MARK_PART: u32 = 10;

/// What ends a run before its program does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// The first byte of stdout.
    FirstByte,
    /// This text in stdout or stderr.
    Text(Arc<[u8]>),
    /// Something listens on this TCP port.
    Port(u16),
    /// A process says that it is ready (`READY=1` of `sd_notify(3)`).
    Ready,
    /// The program makes a mark of this name that does not begin a span. Only tracers see it.
    Mark(Arc<str>),
}

/// What showed that the moment had come that ends a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// Stdout up to its end.
    Stdout {
        /// The number of bytes, without the carriage returns that a terminal adds.
        bytes: u64,
    },
    /// Stderr up to its end.
    Stderr {
        /// The number of bytes.
        bytes: u64,
    },
    /// A socket that listens.
    Socket {
        /// The processes that had it open, each with the number of its descriptor.
        holders: Vec<(u32, i32)>,
    },
    /// A message.
    Ready {
        /// Its sender; 0 if that is not known.
        pid: u32,
    },
    /// A mark.
    Mark,
}

/// When the mark that ends a run was made. The tracer writes it, and the code that waits for the run reads it.
#[derive(Clone, Debug, Default)]
pub(crate) struct MarkSeen(Arc<AtomicU64>);

impl MarkSeen {
    /// The first one counts.
    pub(crate) fn note(&self, at: Nanos) {
        // ORDERING: a lone number that publishes nothing else.
        let _ = self.0.compare_exchange(0, at.0, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn found(&self) -> Option<Nanos> {
        // ORDERING: as above.
        Some(Nanos(self.0.load(Ordering::Relaxed))).filter(|at| at.0 != 0)
    }
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
    /// A message.
    Ready(ReadySocket),
    /// A mark.
    Mark(MarkSeen),
}

impl Awaited {
    /// `terminal`: stdout is a terminal, which adds a carriage return before each newline (ONLCR in termios(3)) unless the
    /// program has switched that off.
    pub(super) fn new(until: Until, terminal: bool) -> Result<Awaited, LaunchError> {
        Ok(match until {
            Until::FirstByte => {
                Awaited::Output { stdout: OutputSearch::new(Vec::new(), terminal), stderr: None }
            }
            Until::Text(text) => {
                let returned = (terminal && text.contains(&b'\n')).then(|| returned(&text));
                let in_stdout = returned.into_iter().chain([Arc::clone(&text)]).collect();
                Awaited::Output {
                    stdout: OutputSearch::new(in_stdout, terminal),
                    stderr: Some(OutputSearch::new(vec![text], false)),
                }
            }
            Until::Port(port) => Awaited::Port(PortWatch::new(port)),
            Until::Ready => Awaited::Ready(ReadySocket::open()?),
            Until::Mark(_) => Awaited::Mark(MarkSeen::default()),
        })
    }

    /// When it came.
    pub(super) fn found(&self) -> Option<Nanos> {
        match self {
            Awaited::Output { stdout, stderr } => {
                let found = [stdout.found(), stderr.as_ref().and_then(OutputSearch::found)];
                found.into_iter().flatten().min()
            }
            Awaited::Port(watch) => watch.found(),
            Awaited::Ready(socket) => socket.found().map(|(at, _)| at),
            Awaited::Mark(seen) => seen.found(),
        }
    }

    /// What showed it.
    pub(super) fn sign(&self) -> Option<Sign> {
        match self {
            Awaited::Output { stdout, stderr } => {
                let in_stdout = stdout.found.map(|(at, bytes)| (at, Sign::Stdout { bytes }));
                let in_stderr = stderr.as_ref().and_then(|stderr| stderr.found);
                let in_stderr = in_stderr.map(|(at, bytes)| (at, Sign::Stderr { bytes }));
                in_stdout.into_iter().chain(in_stderr).min_by_key(|(at, _)| *at).map(|(_, sign)| sign)
            }
            Awaited::Port(watch) => watch.found().map(|_| Sign::Socket { holders: watch.holders().to_vec() }),
            Awaited::Ready(socket) => socket.found().map(|(_, pid)| Sign::Ready { pid }),
            Awaited::Mark(seen) => seen.found().map(|_| Sign::Mark),
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
        match self {
            Awaited::Port(watch) => watch.look(),
            Awaited::Ready(socket) => socket.look(),
            Awaited::Output { .. } | Awaited::Mark(_) => {}
        }
    }

    /// The longest pause before the next look; `None` if what is awaited ends the pause.
    pub(super) fn pause_after(&self, elapsed: Duration) -> Option<Duration> {
        match self {
            Awaited::Output { .. } | Awaited::Ready(_) => None,
            Awaited::Port(_) => Some(pause_after(elapsed)),
            Awaited::Mark(_) => {
                let [least, most] = MARK_PAUSES;
                Some((elapsed / MARK_PART).clamp(least, most))
            }
        }
    }
}

/// Searches output that arrives in pieces.
#[derive(Debug)]
pub(super) struct OutputSearch {
    /// Any of these ends the run; if there are none, any output does.
    texts: Vec<Arc<[u8]>>,
    /// The end of the output so far, where the text may have begun.
    tail: Vec<u8>,
    /// How much has arrived.
    taken: u64,
    /// A terminal's carriage returns do not count.
    returns: bool,
    /// When it was found, and how much had arrived up to its end.
    found: Option<(Nanos, u64)>,
}

impl OutputSearch {
    fn new(texts: Vec<Arc<[u8]>>, returns: bool) -> OutputSearch {
        OutputSearch { texts, tail: Vec::new(), taken: 0, returns, found: None }
    }

    /// When it was found.
    fn found(&self) -> Option<Nanos> {
        self.found.map(|(at, _)| at)
    }

    /// Takes the next piece of output, which is never empty.
    fn take(&mut self, piece: &[u8]) {
        if self.found.is_some() {
            return;
        }
        let later = self.complete_with(piece);
        self.taken += self.counted(piece);
        self.found = later.map(|later| (clock::now(), self.taken - later));
    }

    /// Whether a piece completes a text, and how much of it comes later.
    fn complete_with(&mut self, piece: &[u8]) -> Option<u64> {
        let Some(longest) = self.texts.iter().map(|text| text.len()).max() else {
            return Some(self.counted(&piece[1..]));
        };
        self.tail.extend_from_slice(piece);
        let end = |text: &Arc<[u8]>| match text.len() {
            0 => Some(0),
            length => Some(length + self.tail.windows(length).position(|window| window == &**text)?),
        };
        let end = self.texts.iter().filter_map(end).min();
        let later = end.map(|end| self.counted(&self.tail[end..]));
        let kept = longest.saturating_sub(1);
        self.tail.drain(..self.tail.len().saturating_sub(kept));
        later
    }

    fn counted(&self, bytes: &[u8]) -> u64 {
        bytes.iter().filter(|byte| !self.returns || **byte != b'\r').count() as u64
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
        let mut awaited = Awaited::new(Until::Text(wanted.as_bytes().into()), terminal).unwrap();
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
    fn the_sign_is_how_much_had_arrived_up_to_the_end_of_the_text() {
        let sign = |pieces: &[&str], terminal| {
            let mut awaited = Awaited::new(Until::Text(b"ready"[..].into()), terminal).unwrap();
            for piece in pieces {
                awaited.take_stdout(piece.as_bytes());
            }
            awaited.sign()
        };
        assert_eq!(sign(&["not ready yet"], false), Some(Sign::Stdout { bytes: 9 }));
        assert_eq!(sign(&["abc\nre", "ady\n", "more"], false), Some(Sign::Stdout { bytes: 9 }));
        assert_eq!(sign(&["abc\r\nre", "ady\r\n"], true), Some(Sign::Stdout { bytes: 9 }));
        assert_eq!(sign(&["read"], false), None);
        let mut first = Awaited::new(Until::FirstByte, false).unwrap();
        first.take_stdout(b"xyz");
        assert_eq!(first.sign(), Some(Sign::Stdout { bytes: 1 }));
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
        let mut awaited = Awaited::new(Until::FirstByte, true).unwrap();
        awaited.take_stderr(b"x");
        assert_eq!(awaited.found(), None);
        awaited.take_stdout(b"\n");
        assert!(awaited.found().is_some());
    }

    #[test]
    fn a_text_counts_in_stdout_and_in_stderr_but_not_across_both() {
        let mut awaited = Awaited::new(Until::Text(b"ready"[..].into()), false).unwrap();
        awaited.take_stdout(b"rea");
        awaited.take_stderr(b"dy");
        assert_eq!(awaited.found(), None);
        awaited.take_stderr(b" ready");
        assert!(awaited.found().is_some());
    }
}
