//! How long user code of each task ran on the path.

use super::critical_path::piece_steps;
use super::model::{Account, Execution, PathPiece};
use super::profile::{Task, UserTime};
use super::step::What;
use firstbyte_measure::units::Nanos;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Exact times by task, in the order of the tasks.
pub(super) fn user_times(account: &Account) -> Vec<UserTime> {
    let mut all: BTreeMap<Task, f64> = BTreeMap::new();
    for piece in &account.path {
        for step in piece_steps(&account.threads[piece.thread], piece) {
            if step.what == What::User {
                *all.entry(task(account, piece, step.start)).or_default() += step.self_time.as_f64();
            }
        }
    }
    all.into_iter().map(|(task, time)| UserTime { task, time }).collect()
}

/// User code of all threads, in nanoseconds.
pub fn all_user_time(account: &Account) -> f64 {
    let steps = account.threads.iter().flat_map(|thread| &thread.steps);
    steps.filter(|step| step.what == What::User).map(|step| step.self_time.as_f64()).sum()
}

fn task(account: &Account, piece: &PathPiece, at: Nanos) -> Task {
    let program = account.execution(piece.pid, at).map_or_else(|| "".into(), real_path);
    Task { program, thread: account.thread_order(piece) }
}

/// The file as the kernel names it in its own records: without symbolic links.
fn real_path(exec: &Execution) -> Arc<str> {
    let path = std::fs::canonicalize(Path::new(&*exec.executed));
    path.map_or_else(|_| Arc::clone(&exec.executed), |path| path.to_string_lossy().into())
}
