//! A region of a run: between two writes whose texts the program prints.

use super::{Timeline, TimelineError};
use crate::arch::IO_URING_BASE;
use crate::tracer::{EventKind, Recording};
use crate::units::Nanos;
use std::sync::Arc;

/// Texts in a program's stdout. At least one of them is there, and none is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// It begins when the write returns that completes this text; `None`: with the program's first `execve`.
    pub from: Option<Arc<[u8]>>,
    /// It ends when the write returns that completes this text, after the other; `None`: with the program's exit.
    pub to: Option<Arc<[u8]>>,
}

/// Why a run has no such region.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegionError {
    /// It does not print a text, or not in this order.
    #[error("it does not print `{0}`")]
    NotPrinted(String),
    /// A program that prints to a pipe often keeps its output until the end.
    #[error("one write has both texts (help: --output pty, or a program that flushes its output)")]
    OneWrite,
    /// The writes were not seen, such as those of `io_uring`.
    #[error("its writes were not seen")]
    Unseen,
    /// The recording is damaged.
    #[error(transparent)]
    Timeline(#[from] TimelineError),
}

impl Region {
    /// What the output is searched for, in this order.
    pub fn texts(&self) -> Vec<Arc<[u8]>> {
        self.from.iter().chain(&self.to).cloned().collect()
    }

    /// How long it lasts in a run in which every system call was seen.
    ///
    /// # Errors
    ///
    /// The run has no such region.
    pub fn of(&self, recording: &Recording) -> Result<Nanos, RegionError> {
        let timeline = Timeline::of(recording)?;
        let begun = recording
            .events
            .iter()
            .find(|event| event.pid == recording.root && event.kind == EventKind::ExecEnter)
            .ok_or(RegionError::Unseen)?
            .at;

        let returns = self.returns(recording)?;
        if let [first, second] = returns[..]
            && first == second
        {
            return Err(RegionError::OneWrite);
        }
        let from = if self.from.is_some() { returns[0] } else { begun };
        let to = if self.to.is_some() { returns[returns.len() - 1] } else { begun + timeline.total };
        Ok(Nanos(to.0.saturating_sub(from.0)))
    }

    /// When the write returned that completes each text.
    fn returns(&self, recording: &Recording) -> Result<Vec<Nanos>, RegionError> {
        let places = &recording.output.places;
        if let Some(missing) = self.texts().get(places.len()) {
            return Err(RegionError::NotPrinted(String::from_utf8_lossy(missing).escape_debug().to_string()));
        }
        let writes = writes(recording);
        let mut sum = 0_u64;
        let ends: Vec<(u64, Nanos)> = writes
            .into_iter()
            .map(|(at, bytes)| {
                sum = sum.saturating_add(bytes);
                (sum, at)
            })
            .collect();
        let of = |place: &u64| ends.iter().find(|(end, _)| end >= place).map(|(_, at)| *at);
        places.iter().map(|place| of(place).ok_or(RegionError::Unseen)).collect()
    }
}

/// When each write to our stdout returned, and how many bytes it wrote, in order.
fn writes(recording: &Recording) -> Vec<(Nanos, u64)> {
    let whole = recording.events.iter().filter_map(|event| match &event.kind {
        EventKind::Call(call) if call.prints() && call.call.number < IO_URING_BASE => {
            Some((event.at, call.value().filter(|bytes| *bytes > 0)?))
        }
        _ => None,
    });
    let whole: Vec<(Nanos, u64)> = whole.collect();
    if !whole.is_empty() {
        return whole;
    }
    let ends = recording.events.iter().filter_map(|event| match event.kind {
        EventKind::OutputExit { result: bytes @ 1.., .. } => Some((event.at, bytes.unsigned_abs())),
        _ => None,
    });
    ends.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Abi, Syscall, native_number};

    use crate::tracer::event::Call;
    use crate::tracer::{Backend, Event, Output};

    fn event(at: u64, kind: EventKind) -> Event {
        Event { at: Nanos(at), pid: 1, tid: 1, kind }
    }

    fn write(at: u64, bytes: i64) -> Event {
        let call = Call {
            call: Syscall { abi: Abi::Native, number: native_number("write").unwrap() },
            entered: Nanos(at - 5),
            result: Some(bytes),
            arguments: [1, 0, 0, 0, 0, 0],
            output: true,
            ..Call::default()
        };
        event(at, EventKind::Call(Box::new(call)))
    }

    /// A run from 100 to 1000 that writes 4 bytes by 200, none by 300, and 6 by 400.
    fn recording(places: &[u64]) -> Recording {
        let events = vec![
            event(90, EventKind::Spawn),
            event(100, EventKind::ExecEnter),
            event(150, EventKind::ExecExit { result: 0 }),
            write(200, 4),
            write(300, -11),
            write(400, 6),
            event(1000, EventKind::Exit { group_dead: true, status: 0 }),
            event(1100, EventKind::Reaped { status: 0 }),
        ];
        Recording {
            events,
            output: Output { places: places.to_vec(), ..Output::default() },
            ..Recording::empty(Backend::Bpf, 1)
        }
    }

    fn region(from: Option<&str>, to: Option<&str>, places: &[u64]) -> Result<u64, RegionError> {
        let text = |text: Option<&str>| text.map(|text| Arc::from(text.as_bytes()));
        Region { from: text(from), to: text(to) }.of(&recording(places)).map(|time| time.0)
    }

    #[test]
    fn a_region_is_between_the_returns_of_the_writes_that_complete_its_texts() {
        assert_eq!(region(Some("a"), Some("b"), &[4, 5]), Ok(200));
        assert_eq!(region(None, Some("b"), &[3]), Ok(100), "from the first execve");
        assert_eq!(region(Some("a"), None, &[10]), Ok(600), "to the exit");
    }

    #[test]
    fn a_run_without_the_region_says_why() {
        assert_eq!(region(Some("a"), Some("b"), &[4]), Err(RegionError::NotPrinted("b".to_owned())));
        assert_eq!(region(Some("a"), Some("b"), &[]), Err(RegionError::NotPrinted("a".to_owned())));
        assert_eq!(region(Some("a"), Some("b"), &[1, 4]), Err(RegionError::OneWrite));
        assert_eq!(region(Some("a"), None, &[11]), Err(RegionError::Unseen));
    }
}
