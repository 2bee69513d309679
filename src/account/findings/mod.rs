//! What a start-up spends its time on, in words: up to five findings, each with its cost. Pure.
//!
//! A rule looks at the steps of the run whose total is the median. It gives a finding only if the steps show the cost.

mod loading_rules;
mod process_rules;
mod runtime_rules;

use crate::account::{Account, Role, Step, Summary, What};
pub use firstbyte_measure::arch::cpuid::Cpuid;
use firstbyte_measure::units::Nanos;

/// The largest number of findings that are given.
const MOST: usize = 5;

/// Something that a start-up spends time on, and its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name of the rule.
    pub rule: &'static str,
    /// The cost in the run that is shown.
    pub cost: Nanos,
    /// One or two sentences.
    pub text: String,
}

/// The facts about the machine that the rules need.
#[derive(Clone, Copy, Debug, Default)]
pub struct MachineFacts {
    /// The program's CPUID instructions; `None`: they were not counted, or this processor has no such instruction.
    pub cpuid: Option<Cpuid>,
    /// User code of the dynamic loader on the path; `None`: it was not sampled.
    pub loader: Option<Nanos>,
}

/// A CPUID instruction that takes less does not trap: a processor that executes it itself takes at most about 100 ns.
pub const TRAP: Nanos = Nanos(300);

type Rule = fn(&Account, &MachineFacts) -> Option<Finding>;

const RULES: [Rule; 8] = [
    loading_rules::dynamic_linking,
    loading_rules::failed_searches,
    loading_rules::heavy_library,
    loading_rules::trapped_instructions,
    runtime_rules::python_modules,
    process_rules::exec_chain,
    process_rules::from_disk,
    process_rules::preempted,
];

/// The findings, the most expensive first.
pub fn findings(summary: &Summary, machine: &MachineFacts) -> Vec<Finding> {
    let account = &summary.median_run;
    let mut all: Vec<Finding> = RULES.iter().filter_map(|rule| rule(account, machine)).collect();
    all.sort_by_key(|finding| std::cmp::Reverse(finding.cost));
    all.truncate(MOST);
    all
}

/// Why a finding is not given although there is evidence for it, in one or two sentences.
pub fn reservation(summary: &Summary, machine: &MachineFacts) -> Option<String> {
    loading_rules::unplaced(&summary.median_run, machine)
}

/// The sum of the own times of some steps.
fn cost<'s>(steps: impl IntoIterator<Item = &'s Step>) -> Nanos {
    steps.into_iter().map(|step| step.own).sum()
}

/// The role of a step's code: the code that ran, made the call or touched the page.
fn role(what: &What) -> Option<Role> {
    let code = match what {
        What::Call { code, .. } => code.as_ref(),
        What::Fault(fault) => fault.code.as_ref(),
        What::Exec { .. } | What::Off(_) | What::User => None,
    };
    code.map(|code| code.module.role)
}

/// Whether a part is at least this percentage of the total.
fn noteworthy(part: Nanos, account: &Account, percent: u64) -> bool {
    u128::from(part.0) * 100 >= u128::from(account.total.0) * u128::from(percent)
}

#[cfg(test)]
mod tests;
