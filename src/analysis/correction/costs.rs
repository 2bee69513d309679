//! What the observation of each kind of event costs.

use crate::analysis::runs::ObservedRuns;
use crate::stats::median_of;
use firstbyte_measure::tracer::event::Call;
use firstbyte_measure::tracer::{EventCost, EventCosts, EventKind, Recording};

/// Another event costs at most this many times what a system call costs. The difference of short runs on a busy machine can be
/// anything.
const MAX_OTHER: f64 = 3.0;

/// What a tracee pays for being observed, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ObserverCosts {
    /// One system call, one page fault, and one read of its memory.
    pub each: EventCosts,
    /// One event of another kind: an exec, a fork, a switch to another thread, an exit.
    pub other: f64,
}

impl ObserverCosts {
    /// `smallest`: runs of the smallest program. What they cost beyond calls and faults is divided among the other events of
    /// a start. Without them, only calls and faults are known to cost something.
    pub fn new(each: EventCosts, smallest: Option<&ObservedRuns>) -> ObserverCosts {
        let other = smallest.and_then(|observed| {
            let extra: Vec<f64> = observed.blocks.iter().map(|block| block.traced - block.untraced).collect();
            let recording = observed.recordings.first()?;
            let rest = median_of(&extra)? - of_calls_and_faults(&each, recording);
            let most = MAX_OTHER * each.syscall.total();
            Some((rest / others(recording).max(1.0)).clamp(0.0, most.max(0.0)))
        });
        ObserverCosts { each, other: other.unwrap_or(0.0) }
    }

    /// One stop of ptrace, as the unit. A call stops at its entry and at its exit, and each of these stops begins before it is
    /// recorded and ends afterwards.
    pub(super) fn of_stops() -> ObserverCosts {
        let each = EventCosts { syscall: EventCost { around: 1.0, within: 1.0 }, ..EventCosts::default() };
        ObserverCosts { each, other: 1.0 }
    }

    /// What an event costs if everything costs `scale` times as much as calibrated. What an event takes outside of its
    /// recorded interval is no cost, and stays.
    pub(super) fn scaled(&self, scale: f64) -> PointCosts {
        let scaled = |cost: EventCost| {
            let within = if cost.within > 0.0 { cost.within * scale } else { cost.within };
            EventCost { around: (cost.total() * scale - within).max(0.0), within }
        };
        PointCosts {
            syscall: scaled(self.each.syscall),
            fault: scaled(self.each.fault),
            read: self.each.read * scale,
            other: self.other * scale,
            pace: Pace::default(),
        }
    }
}

/// What the observation costs at each point of a recording, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PointCosts {
    pub(super) syscall: EventCost,
    pub(super) fault: EventCost,
    pub(super) read: f64,
    pub(super) other: f64,
    pub(super) pace: Pace,
}

/// How a run with stops whose threads' processor times were read differs from an untraced one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pace {
    /// What stops take of a processor, as a multiple of what the cheapest calls take with their stops.
    pub(super) stops: f64,
    /// How much more of that stops take in user code than within calls.
    pub(super) tilt: f64,
    /// The part of what remains of user code before a call that is the call's: its stops took that long, not those of user code.
    pub(super) given: f64,
    /// The part of its other time on a processor that a thread needs only because the tracer used the caches, too. It is below 0
    /// if untraced runs take longer, because others use the processors.
    pub(super) slowed: f64,
    /// Which waits end with what another thread did last.
    pub(super) giving_way: GivingWay,
}

/// Waits of which no call says that a thread of the run ended them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GivingWay {
    /// All of them last as long without stops.
    #[default]
    Nothing,
    /// Somebody of the run ended them, if not their timeout.
    Waits,
    /// Their timeouts would not have expired either: the others only needed so long because of the stops.
    Timeouts,
}

/// How many reads of the tracee's memory the observation of a call takes.
pub(super) fn reads(call: &Call) -> u32 {
    let structure = call.pair.is_some() || !call.structure.is_empty();
    let stack = !call.stack.is_empty();
    let several = call.paths.len() + call.contents.len();
    u32::try_from(several).unwrap_or(0) + u32::from(structure) + u32::from(stack)
}

/// Whether the observation of this event costs something, and it is neither a call nor a fault.
pub(super) fn is_other(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::ExecEnter
            | EventKind::ExecPrepare
            | EventKind::ExecExit { .. }
            | EventKind::Image(_)
            | EventKind::Fork { .. }
            | EventKind::Exit { .. }
            | EventKind::OffCpu(_)
            | EventKind::Signalled { .. }
            | EventKind::ParentTold
    )
}

fn of_calls_and_faults(each: &EventCosts, recording: &Recording) -> f64 {
    let cost = |kind: &EventKind| match kind {
        EventKind::Call(call) => each.syscall.total() + f64::from(reads(call)) * each.read,
        EventKind::Fault(_) => each.fault.total(),
        _ => 0.0,
    };
    recording.events.iter().map(|event| cost(&event.kind)).sum()
}

fn others(recording: &Recording) -> f64 {
    recording.events.iter().filter(|event| event.pid != 0 && is_other(&event.kind)).count() as f64
}
