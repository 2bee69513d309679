//! Kills what a tracee left running, while the kernel side still follows it.

use crate::launch::LaunchError;
use crate::launch::tree::{self, Held};
use crate::tracer::{Event, EventKind};
use std::collections::BTreeSet;

/// The maximum number of rounds. Each round kills the children that were created during the last one.
const GENERATIONS: usize = 32;

/// Kills the processes `alive`, and those that they create until they are dead. `now_alive` looks again at what the
/// kernel side has recorded. Returns whether a process was killed.
///
/// # Errors
///
/// The first process that we may not kill.
pub(super) fn kill_survivors(
    mut alive: BTreeSet<u32>,
    mut now_alive: impl FnMut() -> BTreeSet<u32>,
) -> Result<bool, LaunchError> {
    let mut lived = false;
    for _ in 0..GENERATIONS {
        if alive.is_empty() {
            break;
        }
        let held = hold(&alive);
        // A process that exited before we held it may have left its id to another one. Its exit is recorded by now.
        lived |= kill(&held, &now_alive())?;
        alive = now_alive();
    }
    Ok(lived)
}

/// The processes that were created and have not exited.
pub(super) fn living(events: &[Event]) -> BTreeSet<u32> {
    let mut alive = BTreeSet::new();
    for event in events {
        match event.kind {
            EventKind::Fork { child_pid, .. } if child_pid != event.pid => alive.insert(child_pid),
            EventKind::Exit { group_dead: true, .. } => alive.remove(&event.pid),
            _ => false,
        };
    }
    alive
}

/// Holds the processes that have these ids now.
fn hold(processes: &BTreeSet<u32>) -> Vec<(u32, Held)> {
    processes.iter().filter_map(|pid| Some((*pid, tree::hold(pid.cast_signed())?))).collect()
}

/// Kills the processes that are held and still alive. Returns whether there was one. The error is about the first
/// process that we may not kill.
fn kill(held: &[(u32, Held)], alive: &BTreeSet<u32>) -> Result<bool, LaunchError> {
    let still = held.iter().filter(|(pid, _)| alive.contains(pid));
    let (mut lived, mut resists) = (false, None);
    for (pid, process) in still {
        match process.kill() {
            Ok(one) => lived |= one,
            Err(cause) => resists = resists.or(Some((*pid, cause))),
        }
    }
    resists.map_or(Ok(lived), |(pid, cause)| Err(LaunchError::unkillable(pid.cast_signed(), cause)))
}
