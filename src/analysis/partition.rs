//! Gives every nanosecond of a thread to exactly one of the intervals that cover it, the innermost.

use firstbyte_measure::units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter;

/// A piece of time that a step covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeInterval {
    /// The start.
    pub from: Nanos,
    /// The end, exclusive.
    pub to: Nanos,
    /// A deeper interval takes the time of those around it.
    pub depth: u8,
}

/// A piece of time with its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimePiece {
    /// The start.
    pub from: Nanos,
    /// The end, exclusive.
    pub to: Nanos,
    /// The index of the interval that owns it; `None`: no interval covers it.
    pub owner: Option<usize>,
}

/// Cuts the time from `from` to `to` into pieces, in order, without gaps or overlaps. The deepest of the intervals that cover
/// an instant owns it; among equally deep ones, the one that began last. The lengths of the pieces always sum to `to - from`.
pub fn partition(from: Nanos, to: Nanos, intervals: &[TimeInterval]) -> impl Iterator<Item = TimePiece> {
    let mut order: Vec<usize> =
        (0..intervals.len()).filter(|i| intervals[*i].to > from && intervals[*i].from < to).collect();
    order.sort_by_key(|i| intervals[*i].from);
    let mut coming = order.into_iter().peekable();
    let mut active: BinaryHeap<(u8, Nanos, Reverse<Nanos>, usize)> = BinaryHeap::new();
    let mut now = from;
    let single = move || {
        if now >= to {
            return None;
        }
        while let Some(next) = coming.next_if(|i| intervals[*i].from <= now) {
            let interval = intervals[next];
            active.push((interval.depth, interval.from, Reverse(interval.to), next));
        }
        while active.peek().is_some_and(|(.., end, _)| end.0 <= now) {
            active.pop();
        }
        let begins = coming.peek().map_or(to, |i| intervals[*i].from);
        let ends = active.peek().map_or(to, |(.., end, _)| end.0);
        let until = begins.min(ends).min(to);
        let piece = TimePiece { from: now, to: until, owner: active.peek().map(|(.., i)| *i) };
        now = until;
        Some(piece)
    };
    joined(iter::from_fn(single))
}

/// The same pieces, those one after another that have the same owner as one.
fn joined(pieces: impl Iterator<Item = TimePiece>) -> impl Iterator<Item = TimePiece> {
    let mut pieces = pieces.peekable();
    iter::from_fn(move || {
        let mut piece = pieces.next()?;
        while let Some(more) = pieces.next_if(|more| more.owner == piece.owner) {
            piece.to = more.to;
        }
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(from: u64, to: u64, depth: u8) -> TimeInterval {
        TimeInterval { from: Nanos(from), to: Nanos(to), depth }
    }

    fn shown(pieces: impl Iterator<Item = TimePiece>) -> Vec<(u64, u64, Option<usize>)> {
        pieces.map(|p| (p.from.0, p.to.0, p.owner)).collect()
    }

    #[test]
    fn the_innermost_owns_the_time() {
        let all = [interval(10, 50, 1), interval(20, 30, 2), interval(22, 25, 3), interval(60, 70, 1)];
        assert_eq!(
            shown(partition(Nanos(0), Nanos(65), &all)),
            [
                (0, 10, None),
                (10, 20, Some(0)),
                (20, 22, Some(1)),
                (22, 25, Some(2)),
                (25, 30, Some(1)),
                (30, 50, Some(0)),
                (50, 60, None),
                (60, 65, Some(3))
            ]
        );
    }

    #[test]
    fn an_empty_or_inverted_interval_owns_nothing() {
        let all = [interval(5, 5, 1), interval(8, 3, 2)];
        assert_eq!(shown(partition(Nanos(0), Nanos(10), &all)), [(0, 10, None)]);
        assert_eq!(partition(Nanos(5), Nanos(5), &all).count(), 0);
        assert_eq!(partition(Nanos(5), Nanos(4), &all).count(), 0);
    }

    /// The pieces are in order, without gaps or overlaps; their sum is exact; each is inside its owner.
    #[test]
    fn random_intervals_partition_exactly() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..2000 {
            let (from, to) = (random.u64(0..20), random.u64(0..60));
            let count = random.usize(0..12);
            let all: Vec<TimeInterval> =
                (0..count).map(|_| interval(random.u64(0..60), random.u64(0..60), random.u8(0..4))).collect();

            let pieces: Vec<TimePiece> = partition(Nanos(from), Nanos(to), &all).collect();
            let sum: u64 = pieces.iter().map(|p| p.to.0 - p.from.0).sum();
            assert_eq!(sum, to.saturating_sub(from));

            let mut now = Nanos(from);
            for piece in &pieces {
                assert!(piece.from == now && piece.to > now);
                now = piece.to;
                if let Some(owner) = piece.owner {
                    assert!(all[owner].from <= piece.from && piece.to <= all[owner].to);
                }
                let covering = all.iter().filter(|i| i.from <= piece.from && piece.from < i.to);
                assert_eq!(covering.map(|i| i.depth).max(), piece.owner.map(|o| all[o].depth));
            }
        }
    }
}
