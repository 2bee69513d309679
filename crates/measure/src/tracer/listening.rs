//! The call that made a socket listen, for runs that end when something listens on a port.

use super::event::{Call, Event, EventKind};
use super::recording::Recording;
use crate::arch::{CallFacts, call_names};
use crate::launch::until::Sign;
use crate::units::Nanos;

/// The calls of listen(2) that may have succeeded until then, in the order in which they returned.
pub fn calls(events: &[Event], at: Nanos) -> impl DoubleEndedIterator<Item = &Event> {
    events.iter().filter(move |event| {
        listen(event)
            .is_some_and(|call| (call.value().is_some() || call.result.is_none()) && call.entered <= at)
    })
}

/// The last one for a descriptor of a socket, whose holders are processes with the number of their descriptor. A process that
/// only inherited the socket did not make it listen, even if its parent has closed it.
pub fn call<'e>(events: &'e [Event], at: Nanos, holders: &[(u32, i32)]) -> Option<&'e Event> {
    let is_same = |event: &Event, number: i32| {
        listen(event).is_some_and(|call| u64::try_from(number) == Ok(call.arguments[0] & 0xffff_ffff))
    };
    let by_holder =
        |event: &&Event| holders.iter().any(|(pid, number)| *pid == event.pid && is_same(event, *number));
    let inherited = |event: &&Event| holders.iter().any(|(_, number)| is_same(event, *number));
    calls(events, at).rfind(by_holder).or_else(|| calls(events, at).rfind(inherited))
}

fn listen(event: &Event) -> Option<&Call> {
    let EventKind::Call(call) = &event.kind else { return None };
    CallFacts::of(call_names::name(call.call).as_ref())
        .filter(|facts| facts.name == "listen")
        .map(|_| &**call)
}

impl Recording {
    /// Ends the run when that call returned: we saw the socket only when we looked the next time. Call it before the events
    /// are sorted.
    pub(crate) fn end_at_listen(&mut self) {
        let found = self.events.iter().enumerate().find_map(|(index, event)| match &event.kind {
            EventKind::Reached { sign: Some(Sign::Socket { holders }) } => {
                Some((index, call(&self.events, event.at, holders)?.at.min(event.at)))
            }
            _ => None,
        });

        if let Some((index, at)) = found {
            self.events[index].at = at;
        }
    }
}
