//! The stacks of user code, for the formats that list them.

use crate::document::trace::TraceCall;

/// Each stack with its own time in nanoseconds, the outermost call first. `frame` is called once for each call.
pub(super) fn stacks<F: Clone>(
    calls: &[TraceCall],
    mut frame: impl FnMut(&TraceCall) -> F,
) -> Vec<(Vec<F>, f64)> {
    let mut stacks: Vec<(Vec<F>, f64)> = Vec::with_capacity(calls.len());
    for (call, time) in calls.iter().zip(own_times(calls)) {
        let outer = call.caller.and_then(|caller| stacks.get(caller));
        let mut stack = outer.map(|(stack, _)| stack.clone()).unwrap_or_default();
        stack.push(frame(call));
        stacks.push((stack, time));
    }
    stacks.retain(|(_, time)| *time >= 1.0);
    stacks
}

/// The times of calls without what they called.
fn own_times(calls: &[TraceCall]) -> Vec<f64> {
    let mut own: Vec<f64> = calls.iter().map(|call| call.ns).collect();
    for call in calls {
        if let Some(own) = call.caller.and_then(|caller| own.get_mut(caller)) {
            *own -= call.ns;
        }
    }
    own
}
