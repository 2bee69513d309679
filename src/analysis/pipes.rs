//! Who ended a read from a pipe, where the backend sees no wake-ups (ptrace). A shell's `$(…)` is such a read.
//!
//! A read from an empty pipe ends with the next write to it, or when the last end for writing is closed.

use super::descriptors::{Descriptors, PipeId};
use super::model::Wake;
use firstbyte_measure::arch::{Argument, CallFacts, Use};
use firstbyte_measure::tracer::Event;
use firstbyte_measure::tracer::event::Call;
use firstbyte_measure::units::Nanos;
use std::collections::BTreeMap;

/// What a thread did with a pipe, and when.
#[derive(Clone, Copy, Debug)]
struct PipeUse {
    from: Nanos,
    to: Nanos,
    by: [u32; 2],
    /// Bytes that were read or written.
    bytes: u64,
}

/// What was done with one pipe.
#[derive(Clone, Debug, Default)]
struct Pipe {
    reads: Vec<PipeUse>,
    writes: Vec<PipeUse>,
    /// After these, a process could no longer write to it.
    closes: Vec<PipeUse>,
}

/// What was done with the pipes of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct PipeUses(BTreeMap<PipeId, Pipe>);

impl PipeUses {
    /// Notes that a call reads from a pipe or writes to one.
    pub(super) fn call(&mut self, event: &Event, call: &Call, facts: &CallFacts, descriptors: &Descriptors) {
        let Some(bytes) = call.value() else { return };
        let (times, by) = ([call.entered, event.at], [event.pid, event.tid]);
        for used in [Use::Reads, Use::Writes] {
            let Some(at) = facts.position(Argument::Descriptor(used)) else { continue };
            #[allow(clippy::cast_possible_truncation)] // a C int is in the low half of its register
            let end = descriptors.pipe(call.arguments[usize::from(at)] as i32);
            match (used, end) {
                (_, None) => {}
                (Use::Reads, Some(end)) => self.read(end.pipe, times, by, bytes),
                (_, Some(end)) => self.written(end.pipe, times, by, bytes),
            }
        }
    }

    fn read(&mut self, pipe: PipeId, [from, to]: [Nanos; 2], by: [u32; 2], bytes: u64) {
        self.0.entry(pipe).or_default().reads.push(PipeUse { from, to, by, bytes });
    }

    fn written(&mut self, pipe: PipeId, [from, to]: [Nanos; 2], by: [u32; 2], bytes: u64) {
        self.0.entry(pipe).or_default().writes.push(PipeUse { from, to, by, bytes });
    }

    pub(super) fn closed(&mut self, pipe: PipeId, [from, to]: [Nanos; 2], by: [u32; 2]) {
        self.0.entry(pipe).or_default().closes.push(PipeUse { from, to, by, bytes: 0 });
    }

    /// The ends of reads that waited, each with its thread.
    pub(super) fn wakes(&mut self) -> Vec<(u32, Wake)> {
        self.0.values_mut().flat_map(Pipe::wakes).collect()
    }
}

impl Pipe {
    fn wakes(&mut self) -> Vec<(u32, Wake)> {
        for uses in [&mut self.reads, &mut self.writes] {
            uses.sort_by_key(|used| used.to);
        }
        self.closes.sort_by_key(|close| close.from);
        let [read, written] = [&self.reads, &self.writes].map(|uses| sums(uses));
        let end_of = |(index, reading): (usize, &PipeUse)| {
            let before = self.writes.partition_point(|write| write.to <= reading.from);
            let has_content =
                written[before] > read[self.reads[..index].partition_point(|it| it.to <= reading.from)];
            let ended = match reading.bytes {
                0 => self.last_close(reading),
                _ if has_content => None,
                _ => self.writes[before..].iter().find(|write| reading.may_end_with(write)),
            }?;
            let woken = ended.from.max(reading.from);
            Some((reading.by[1], Wake { from: reading.from, woken, waker: ended.by }))
        };
        self.reads.iter().enumerate().filter_map(end_of).collect()
    }

    /// The last close by another thread that began before a read ended, if the read waited for it.
    fn last_close(&self, reading: &PipeUse) -> Option<&PipeUse> {
        let before = &self.closes[..self.closes.partition_point(|close| close.from < reading.to)];
        let of_others = before.iter().rev().find(|close| close.by[1] != reading.by[1]);
        of_others.filter(|close| reading.may_end_with(close))
    }
}

impl PipeUse {
    /// Whether another thread did this while it waited.
    fn may_end_with(&self, other: &PipeUse) -> bool {
        other.by[1] != self.by[1] && other.from < self.to && other.to > self.from
    }
}

/// The bytes of the first ones, from none to all.
fn sums(uses: &[PipeUse]) -> Vec<u64> {
    let mut sum = 0;
    let next = uses.iter().map(|used| {
        sum += used.bytes;
        sum
    });
    std::iter::once(0).chain(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: PipeId = Nanos(1);
    const READER: [u32; 2] = [1, 1];
    const WRITER: [u32; 2] = [2, 2];

    fn times(from: u64, to: u64) -> [Nanos; 2] {
        [Nanos(from), Nanos(to)]
    }

    fn shown(uses: &mut PipeUses) -> Vec<(u64, u64, u32)> {
        uses.wakes().iter().map(|(_, wake)| (wake.from.0, wake.woken.0, wake.waker[1])).collect()
    }

    #[test]
    fn a_read_ends_with_the_first_write_and_the_end_of_the_file_with_the_last_close() {
        let mut uses = PipeUses::default();
        uses.read(PIPE, times(10, 60), READER, 5);
        uses.read(PIPE, times(61, 99), READER, 0);
        uses.written(Nanos(2), times(20, 30), [7, 7], 5);
        uses.written(PIPE, times(40, 50), WRITER, 5);
        uses.closed(PIPE, times(12, 13), READER);
        uses.closed(PIPE, times(62, 63), [3, 3]);
        uses.closed(PIPE, times(80, 80), WRITER);
        assert_eq!(shown(&mut uses), [(10, 40, 2), (61, 80, 2)]);
    }

    #[test]
    fn a_read_that_finds_something_waits_for_nobody() {
        let mut uses = PipeUses::default();
        uses.written(PIPE, times(1, 5), WRITER, 8);
        uses.read(PIPE, times(10, 20), READER, 4);
        uses.written(PIPE, times(12, 15), WRITER, 8);
        assert!(shown(&mut uses).is_empty());
        uses.read(PIPE, times(30, 40), READER, 12);
        uses.written(PIPE, times(35, 45), WRITER, 1);
        assert!(shown(&mut uses).is_empty());
        uses.read(PIPE, times(50, 60), READER, 1);
        uses.read(PIPE, times(70, 80), READER, 1);
        uses.written(PIPE, times(65, 75), WRITER, 1);
        assert_eq!(shown(&mut uses), [(70, 70, 2)], "the write was under way");
    }
}
