//! Kills what a tracee left running, while the kernel side still follows it.

use crate::launch::LaunchError;
use crate::launch::tree::{self, Held};
use std::collections::BTreeSet;

/// The maximum number of rounds. Each round kills the children that were created during the last one.
const GENERATIONS: usize = 32;

/// How many processes are held at a time, each by a descriptor.
const BATCH: usize = 128;

/// Kills the processes that `now_alive` returns, and those that they create until they are dead: see
/// [`Family`](super::family::Family). Returns whether a process was killed.
///
/// # Errors
///
/// The first process that we may not kill.
pub(super) fn kill_survivors(now_alive: impl Fn() -> BTreeSet<u32>) -> Result<bool, LaunchError> {
    let mut lived = false;
    for _ in 0..GENERATIONS {
        let alive = now_alive();
        if alive.is_empty() {
            break;
        }
        let alive: Vec<u32> = alive.into_iter().collect();
        for some in alive.chunks(BATCH) {
            let held = hold(some);
            // A process that exited before we held it may have left its id to another one. It is on the list no longer.
            lived |= kill(&held, &now_alive())?;
        }
    }
    Ok(lived)
}

/// Holds the processes that have these ids now.
fn hold(processes: &[u32]) -> Vec<(u32, Held)> {
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
