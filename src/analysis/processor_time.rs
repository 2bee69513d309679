//! Whose processor time a run took, and how much of it was user code.

use super::binaries::NoBinaries;
use super::correction::Correction;
use super::model::{Account, ThreadAccount};
use super::step::What;
use super::summary::Summary;
use crate::bench::ProcessorTime;
use crate::document::processor_time::DIVIDED_BY_TICKS;
use crate::stats::mean_of;
use firstbyte_measure::launch::Usage;
use firstbyte_measure::tracer::{EventCosts, Recording};
use firstbyte_measure::units::Nanos;
use std::collections::HashSet;
use std::iter;

/// The processor time of a run in which every system call, page fault and switch was seen, without what that cost; `None` if
/// it has no account.
pub fn of_recording(recording: &Recording, costs: Option<EventCosts>) -> Option<ProcessorTime> {
    let explained = |recording: &Recording| Account::of(recording, &NoBinaries);
    let account = match costs {
        Some(each) => Correction::calibrated(each).applied(0, &mut recording.clone(), explained),
        None => explained(recording),
    };
    account.ok().map(|account| of_account(&account))
}

fn of_account(account: &Account) -> ProcessorTime {
    let scored = scored(account);
    let of_scored = || account.threads.iter().filter(|thread| scored.contains(&thread.pid));
    ProcessorTime {
        user: of_scored().map(user).sum(),
        scored: of_scored().map(on_processor).sum(),
        burnt: account.threads.iter().map(on_processor).sum(),
    }
}

/// Mean processor time as the kernel charges it, in seconds, and of it the user and the system time: user code as the tracer saw it. A tracer that stops the
/// program does not see it; then the kernel's parts count if there are enough ticks.
pub(super) fn of_runs(summary: &Summary, usages: &[Usage]) -> [Option<f64>; 3] {
    let charged = |of: fn(&Usage) -> Nanos| {
        mean_of(&usages.iter().map(|usage| of(usage).as_f64() / 1e9).collect::<Vec<f64>>())
    };
    let Some(all) = charged(|usage| usage.user + usage.system) else { return [None; 3] };

    let by_ticks = charged(|usage| usage.user).filter(|_| all >= DIVIDED_BY_TICKS);
    let accounts = iter::once(&summary.median_run).chain(summary.others.iter().map(|(account, _)| account));
    let traced: Vec<f64> = accounts.map(|account| of_account(account).user.as_f64() / 1e9).collect();
    let user = if summary.stopped { by_ticks } else { mean_of(&traced).map(|user| user.min(all)) };
    [Some(all), user, user.map(|user| all - user)]
}

/// The processes whose time the kernel adds up for the tracee's parent: the tracee, and those for which a process among
/// them waited (`wait_task_zombie` in `kernel/exit.c`).
fn scored(account: &Account) -> HashSet<u32> {
    let mut scored = HashSet::from([account.root]);
    // a child began after its parent
    for process in &account.processes {
        if process.waited_for && scored.contains(&process.parent) {
            scored.insert(process.pid);
        }
    }
    scored
}

fn user(thread: &ThreadAccount) -> Nanos {
    thread.steps.iter().filter(|step| *step.what == What::User).map(|step| step.self_time).sum()
}

fn on_processor(thread: &ThreadAccount) -> Nanos {
    let on = thread.steps.iter().filter(|step| !matches!(*step.what, What::Off(_)));
    on.map(|step| step.self_time).sum()
}
