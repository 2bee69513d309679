//! What the evidence of a trace says: up to five findings, each with what it cost. Pure.
//!
//! A rule looks at the steps of the run whose total is the median, and speaks only where the cost is there to see.

mod loading;
mod processes;
mod runtime;

use crate::account::{Account, Role, Step, Summary, What};
pub use firstbyte_measure::arch::cpuid::Cpuid;
use firstbyte_measure::units::Nanos;

/// The most findings that are given.
const MOST: usize = 5;

/// Something that a start-up spends time on, and what that costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which rule found it.
    pub rule: &'static str,
    /// What it cost in the run that is shown.
    pub cost: Nanos,
    /// One or two sentences.
    pub text: String,
}

/// What rules need to know of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine {
    /// What is known of the program's CPUID instructions; `None`: nothing, or there is no such instruction.
    pub cpuid: Option<Cpuid>,
}

/// Below this a CPUID instruction does not trap: a processor that executes it itself takes about 100 ns at most.
pub const TRAP: Nanos = Nanos(300);

type Rule = fn(&Account, &Machine) -> Option<Finding>;

const RULES: [Rule; 8] = [
    loading::dynamic_linking,
    loading::failed_searches,
    loading::heavy_library,
    loading::trapped_instructions,
    runtime::python_modules,
    processes::exec_chain,
    processes::from_disk,
    processes::preempted,
];

/// The findings, the costliest first.
pub fn findings(summary: &Summary, machine: &Machine) -> Vec<Finding> {
    let account = &summary.reference;
    let mut all: Vec<Finding> = RULES.iter().filter_map(|rule| rule(account, machine)).collect();
    all.sort_by_key(|finding| std::cmp::Reverse(finding.cost));
    all.truncate(MOST);
    all
}

/// What keeps a finding from being given although there is evidence for it: a sentence or two.
pub fn reservation(summary: &Summary, machine: &Machine) -> Option<String> {
    loading::unplaced(&summary.reference, machine)
}

/// The own times of some steps.
fn cost<'s>(steps: impl IntoIterator<Item = &'s Step>) -> Nanos {
    steps.into_iter().map(|step| step.own).sum()
}

/// Whose code a step of a thread is: its own, or that which made the call or touched the page.
fn role(what: &What) -> Option<Role> {
    let code = match what {
        What::User(code) => Some(code),
        What::Call { code, .. } => code.as_ref(),
        What::Fault(fault) => fault.code.as_ref(),
        What::Exec { .. } | What::Off(_) => None,
    };
    code.map(|code| code.module.role)
}

/// Whether a part is at least this percentage of the total.
fn noteworthy(part: Nanos, account: &Account, percent: u64) -> bool {
    u128::from(part.0) * 100 >= u128::from(account.total.0) * u128::from(percent)
}

#[cfg(test)]
mod tests;
