//! How long user code of each task ran on the path.

use super::critical_path::piece_steps;
use super::executions::Executions;
use super::model::{Account, PathPiece};
use super::profile::{Task, UserTime};
use super::step::What;
use super::step_times::StepTimes;
use firstbyte_measure::units::Nanos;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

/// Exact times by task, in the order of the tasks.
pub(super) fn user_times(account: &Account) -> Vec<UserTime> {
    let mut all: BTreeMap<Task, f64> = BTreeMap::new();
    let (times, executions) = (StepTimes::of(&account.threads), account.executions());
    let mut real_paths = RealPaths::default();
    for piece in &account.path {
        for step in piece_steps(&times, piece) {
            if *step.what == What::User {
                let task = task(&executions, &mut real_paths, piece, step.start);
                *all.entry(task).or_default() += step.self_time.as_f64();
            }
        }
    }
    all.into_iter().map(|(task, time)| UserTime { task, time }).collect()
}

/// User code of all threads, in nanoseconds.
pub fn all_user_time(account: &Account) -> f64 {
    let steps = account.threads.iter().flat_map(|thread| &thread.steps);
    steps.filter(|step| *step.what == What::User).map(|step| step.self_time.as_f64()).sum()
}

fn task(executions: &Executions, paths: &mut RealPaths, piece: &PathPiece, at: Nanos) -> Task {
    let exec = executions.at(piece.pid, at);
    let program = exec.map_or_else(|| "".into(), |exec| paths.of(&exec.executed));
    Task { program, thread: executions.thread_order(piece) }
}

/// Files as the kernel names them in its own records: without symbolic links.
#[derive(Default)]
struct RealPaths(HashMap<Arc<str>, Arc<str>>);

impl RealPaths {
    fn of(&mut self, executed: &Arc<str>) -> Arc<str> {
        let resolved = || {
            let path = std::fs::canonicalize(Path::new(&**executed));
            path.map_or_else(|_| Arc::clone(executed), |path| path.to_string_lossy().into())
        };
        Arc::clone(self.0.entry(Arc::clone(executed)).or_insert_with(resolved))
    }
}
