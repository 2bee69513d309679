//! Findings about processes and about the machine.

use super::{Finding, MachineFacts, cost, noteworthy};
use crate::account::{Account, Reason, Step, What};

/// The tracee executes other programs before the program itself.
pub(super) fn exec_chain(account: &Account, _: &MachineFacts) -> Option<Finding> {
    let root = account.processes.iter().find(|process| process.pid == account.root)?;
    let (last, before) = root.execs.split_last()?;
    if before.is_empty() {
        return None;
    }

    let names: Vec<&str> = before.iter().map(|exec| &*exec.path).collect();
    let others = account.processes.iter().filter(|p| p.pid != root.pid && p.start < last.start).count();
    let also = match others {
        0 => String::new(),
        1 => " and 1 other process".to_owned(),
        n => format!(" and {n} other processes"),
    };

    let cost = last.start;
    let text = format!(
        "`{}` is executed only after {cost}, behind {} ({}){also}. Calling it directly saves that time.",
        last.path,
        if before.len() == 1 { "1 other exec".to_owned() } else { format!("{} other execs", before.len()) },
        names.join(", ")
    );
    Some(Finding { rule: "exec-chain", cost, text })
}

/// Pages that had to be read from disk.
pub(super) fn from_disk(account: &Account, _: &MachineFacts) -> Option<Finding> {
    let from_disk = |step: &&Step| {
        matches!(&step.what, What::Fault(fault) if fault.major) || step.what == What::Off(Reason::PageRead)
    };
    let steps: Vec<&Step> = account.steps.iter().filter(from_disk).collect();
    let cost = cost(steps.iter().copied());
    if !noteworthy(cost, account, 2) {
        return None;
    }
    let text = format!(
        "{} page faults were major. Reading their pages from disk took {cost}. A second run finds them in the page cache.",
        account.counts.major_faults
    );
    Some(Finding { rule: "from-disk", cost, text })
}

/// Other programs had the processor for a part of the time.
pub(super) fn preempted(account: &Account, _: &MachineFacts) -> Option<Finding> {
    let taken = |step: &&Step| step.what == What::Off(Reason::Preempted);
    let steps: Vec<&Step> = account.steps.iter().filter(taken).collect();
    let cost = cost(steps.iter().copied());
    if !noteworthy(cost, account, 10) {
        return None;
    }
    let text = format!(
        "Other threads had the processor {} times, for {cost} of {}. Measure on a quieter machine, or with --cpus.",
        steps.len(),
        account.total
    );
    Some(Finding { rule: "preempted", cost, text })
}
