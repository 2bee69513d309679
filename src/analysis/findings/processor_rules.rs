//! Findings about who had the processor while the program could have run.

use super::extent::Extent;
use super::floors::floor;
use super::process_rules::times;
use super::{Finding, noteworthy};
use crate::analysis::Account;
use crate::analysis::model::{AllTaken, Taken};
use crate::analysis::taken::is_taken;

/// That the machine was busy, in a line. It says nothing of the program, so it is no finding.
pub(super) fn busy(account: &Account) -> Option<String> {
    let Taken { time, times: count } = account.taken().others;
    let total = account.total.as_f64().max(1.0);
    noteworthy(time, account, 10).then(|| {
        format!(
            "Other programs had the processor {} for {time}, {:.0} % of the total; the other percentages leave this out. \
             help: measure on a quieter machine, or with --cpus",
            times(count),
            100.0 * time.as_f64() / total
        )
    })
}

/// The program's own threads had the processor while the one that matters could have run.
pub(super) fn competing_threads(account: &Account) -> Option<Finding> {
    let AllTaken { ours: Taken { time, times: count }, other_processes, .. } = *account.taken();
    let (who, remedy) = if other_processes {
        ("processes", "fewer processes at the same time")
    } else {
        ("threads", "fewer threads (a runtime has some for its compiler and its garbage collector)")
    };
    let text = format!(
        "The program's own {who} took or kept the processor {} while the one that the others wait for could run. They \
         compete: {remedy}, or more processors, make this shorter.",
        times(count)
    );
    // what other programs took of these steps is taken off every finding
    let extent = Extent::of(account.steps.iter().filter(|step| is_taken(step)));
    let cost = extent.total();
    noteworthy(time, account, floor("competing-threads"))
        .then(|| Finding::new("competing-threads", cost, text).on(extent))
}
