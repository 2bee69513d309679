//! What a start-up spends its time on, in words: up to seven findings, each with its cost. Pure.
//!
//! A rule looks at the steps of the run whose total is the median, at what it loaded and at the sampled functions. It gives
//! a finding only if they show the cost. The same rule in the other runs says how much the cost varies.

mod code_rules;
mod fewer_calls;
mod file_rules;
mod language_rules;
mod linking_rules;
mod loading_rules;
mod module_rules;
mod process_rules;
mod processor_rules;
mod runtime_rules;

use super::libraries::LinkedFile;
use super::loads::{Load, ShellCommand};
use super::profile::Estimate;
use super::taken::is_taken;
use super::user_code::UserCode;
use crate::analysis::{Account, Role, Step, Summary, What};
use crate::stats::quantile::{quantile, sorted};
pub use firstbyte_measure::arch::cpuid::Cpuid;
use firstbyte_measure::launch::KnownEnvironment;
use firstbyte_measure::units::Nanos;

/// The largest number of findings that are given.
const MAX_FINDINGS: usize = 7;

/// Fewer runs have no interval.
const MIN_RUNS: usize = 4;

/// Something that a start-up spends time on, and its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name of the rule.
    pub rule: &'static str,
    /// What the rule found, where it can find different things in different runs.
    pub subject: String,
    /// The median share of the runs that have the finding, as a part of the run that is shown; without an interval, the cost
    /// in that run.
    pub cost: Nanos,
    /// Half of the runs' shares are between these; for samples, a 95 % interval.
    pub interval: Option<[Nanos; 2]>,
    /// The cause and what to do, in one or two sentences.
    pub text: String,
}

impl Finding {
    fn new(rule: &'static str, cost: Nanos, text: String) -> Finding {
        Finding { rule, subject: String::new(), cost, interval: None, text }
    }

    fn about(self, subject: &str) -> Finding {
        Finding { subject: subject.to_owned(), ..self }
    }

    /// With a cost by samples, and its interval.
    fn sampled(self, time: Estimate) -> Finding {
        let interval = [time.low, time.high].map(Nanos::rounded);
        Finding { cost: Nanos::rounded(time.time), interval: Some(interval), ..self }
    }

    /// The cost, its interval and its part of the total before the text.
    pub fn sentence(&self, total: Nanos) -> String {
        let percent = 100.0 * self.cost.as_f64() / total.as_f64().max(1.0);
        let interval = self.interval.map_or(String::new(), |[low, high]| format!(" ({low} to {high})"));
        // one of less than a per cent is given if others had the processor for most of the time
        let percent = if percent < 0.5 { "under 1".to_owned() } else { format!("{percent:.0}") };
        format!("{}{interval}, {percent} %: {}", self.cost, self.text)
    }
}

/// What the rules look at: one run, and what is known of all.
pub(super) struct Evidence<'e> {
    account: &'e Account,
    machine: &'e MachineFacts,
    loads: &'e [Load],
    commands: &'e [ShellCommand],
    linked: &'e [LinkedFile],
    environment: &'e KnownEnvironment,
    user_code: Option<&'e UserCode>,
    report_walls: Option<[Nanos; 2]>,
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

type Rule = fn(&Evidence) -> Option<Finding>;

const RULES: [Rule; 27] = [
    linking_rules::dynamic_linking,
    linking_rules::bind_now,
    linking_rules::unused_libraries,
    |run| loading_rules::failed_searches(run.account),
    |run| loading_rules::heavy_library(run.account),
    |run| loading_rules::new_memory(run.account),
    |run| loading_rules::trapped_instructions(run.account, run.machine),
    file_rules::slow_file,
    file_rules::programs,
    file_rules::uncompiled_python,
    file_rules::preloaded,
    runtime_rules::reported,
    runtime_rules::python_site,
    runtime_rules::site_customization,
    module_rules::modules,
    runtime_rules::java_classes,
    code_rules::user_code,
    code_rules::hottest_function,
    code_rules::garbage_collection,
    code_rules::generated_code,
    |run| process_rules::exec_chain(run.account),
    |run| process_rules::from_disk(run.account),
    |run| processor_rules::competing_threads(run.account),
    |run| process_rules::sleep(run.account),
    |run| process_rules::waits(run.account),
    |run| process_rules::after_the_first_byte(run.account),
    |run| process_rules::slow_calls(run.account),
];

/// A runtime's report that has this part of the time of the modules that were read says more of them, in per cent: what a
/// program does between two files is not always the work of the first one.
const SAYS_MORE: u64 = 60;

/// Rules that explain user code by the modules that were loaded meanwhile. They explain the same time, and so may `slow-file`.
const MODULES: &[&str] = &["reported", "modules"];
/// The others. Those of one line explain the same time.
const EXPLAIN_USER_CODE: [&[&str]; 3] = [&["java-classes"], &["generated-code"], &["dynamic-linking"]];

/// The findings, the most expensive first.
pub fn findings(summary: &Summary, machine: &MachineFacts) -> Vec<Finding> {
    let mut all = every(summary, machine);
    all.retain(|finding| noteworthy(finding.cost, &summary.median_run, 1));
    remove_said_better(&mut all, &summary.loads, running(&summary.median_run));
    all.sort_by_key(|finding| std::cmp::Reverse(finding.cost));
    causes_first(&mut all);
    why_before_when(&mut all);
    all.truncate(MAX_FINDINGS);
    all
}

/// What every rule finds: also what costs too little to be given, and what others say better.
pub fn every(summary: &Summary, machine: &MachineFacts) -> Vec<Finding> {
    let evidence = Evidence {
        account: &summary.median_run,
        machine,
        loads: &summary.loads,
        commands: &summary.commands,
        linked: &summary.linked,
        environment: &summary.environment,
        user_code: summary.user_code.as_ref(),
        report_walls: summary.report_walls,
    };
    RULES.iter().filter_map(|rule| found(*rule, &evidence, summary)).collect()
}

/// The rule whose finding is what the others leave of its time.
pub(super) const REST: &str = "user-code";

/// Rules, and those whose time they lengthen.
const CAUSES: [(&str, &str); 2] = [("uncompiled-python", "reported"), ("programs", "reported")];

/// A cause that has at least half of what it lengthens stands before it.
fn causes_first(all: &mut Vec<Finding>) {
    let index = |all: &[Finding], rule| all.iter().position(|finding| finding.rule == rule);
    for (cause, lengthened) in CAUSES {
        let (Some(cause), Some(lengthened)) = (index(all, cause), index(all, lengthened)) else { continue };
        if lengthened < cause && all[cause].cost.0 * 2 >= all[lengthened].cost.0 {
            let cause = all.remove(cause);
            all.insert(lengthened, cause);
        }
    }
}

/// `after-first-byte` says when the work is done, and not why. What has at least half of its time stands before it.
fn why_before_when(all: &mut Vec<Finding>) {
    let Some(when) = all.iter().position(|finding| finding.rule == "after-first-byte") else { return };
    let when = all.remove(when);
    let says_why = |finding: &Finding| finding.cost.0 * 2 >= when.cost.0;
    let index = all.iter().position(|finding| !says_why(finding)).unwrap_or(all.len());
    all.insert(index, when);
}

/// Removes findings of which others explain most. `running` is the part of the time in which no other thread had the
/// processor: loads have all of their time, user code none of the rest.
fn remove_said_better(all: &mut Vec<Finding>, loads: &[Load], running: f64) {
    let cost = |all: &[Finding], rules: &[&str]| {
        let costs = all.iter().filter(|finding| rules.contains(&finding.rule)).map(|finding| finding.cost.0);
        costs.max().unwrap_or_default()
    };
    let reported = cost(all, &["reported"]);
    all.retain(|finding| finding.rule != "modules" || reported * 100 < finding.cost.0 * SAYS_MORE);

    // while a module waits for a program that it starts, its own process computes nothing
    let modules = cost(all, MODULES).saturating_sub(cost(all, &["programs"]));
    let file = all.iter().find(|finding| finding.rule == "slow-file");
    let file = file.map_or(0, |it| it.cost.0.saturating_sub(file_rules::programs_of(loads, &it.subject).0));
    let loaded = Nanos::rounded(Nanos(modules.max(file)).as_f64() * running).0;
    let analysis: u64 = loaded + EXPLAIN_USER_CODE.iter().map(|rules| cost(all, rules)).sum::<u64>();
    // that a program is interpreted says less than what else is known of it
    let enough = |finding: &Finding| if finding.subject == code_rules::INTERPRETED { 4 } else { 2 };
    all.retain(|finding| finding.rule != REST || analysis * enough(finding) < finding.cost.0);
    for finding in all.iter_mut().filter(|finding| finding.rule == REST && analysis > 0) {
        finding.cost = Nanos(finding.cost.0 - analysis);
        let less = |bound: Nanos| Nanos(bound.0.saturating_sub(analysis));
        finding.interval = finding.interval.map(|bounds| bounds.map(less));
        finding.text += " Other findings explain the rest of this time.";
    }
}

/// The finding of a rule in the run that is shown, with the interval over all runs.
fn found(rule: Rule, evidence: &Evidence, summary: &Summary) -> Option<Finding> {
    let finding = rule(evidence)?;
    // what a runtime reports is from another run, which may take longer
    let finding = Finding { cost: finding.cost.min(evidence.account.total), ..finding };
    if finding.interval.is_some() || summary.others.len() + 1 < MIN_RUNS {
        return Some(finding);
    }
    let of_run = |(account, loads): &(Account, Vec<Load>)| {
        let similar = rule(&Evidence { account, loads, ..*evidence });
        similar
            .filter(|similar| similar.subject == finding.subject)
            .map(|similar| share(similar.cost, account))
    };
    let others = summary.others.iter().filter_map(of_run);
    let shares = sorted(&others.chain([share(finding.cost, evidence.account)]).collect::<Vec<f64>>())?;
    // A rule that is silent in many runs has no range of costs, and a figure that is the same for all runs none either.
    let in_most = 4 * shares.len() > 3 * summary.others.len() && shares.len() >= MIN_RUNS;
    let total = evidence.account.total.as_f64();
    let [low, median, high] =
        [0.25, 0.5, 0.75].map(|p| Nanos::rounded(total * quantile(&shares, p).unwrap_or_default()));
    if !in_most || low == high {
        return Some(finding);
    }
    // the run that is shown has the median total, and not the median of each share
    Some(Finding { cost: median, interval: Some([low, high]), ..finding })
}

/// The part of a run's total. The runs can differ by more than a finding costs: the cost in a slow run can be more than the
/// total of the run that is shown, but the share cannot.
fn share(cost: Nanos, account: &Account) -> f64 {
    cost.as_f64() / account.total.as_f64().max(1.0)
}

/// Why a finding is not given although there is evidence for it, in one or two sentences.
pub fn note(summary: &Summary, machine: &MachineFacts) -> Option<String> {
    loading_rules::unplaced(&summary.median_run, machine)
}

/// That other programs kept the program from running, in a line, if they did so for long.
pub fn busy(summary: &Summary) -> Option<String> {
    processor_rules::busy(&summary.median_run)
}

/// The sum of the own times of some steps.
fn cost<'s>(steps: impl IntoIterator<Item = &'s Step>) -> Nanos {
    steps.into_iter().map(|step| step.self_time).sum()
}

/// The role of a step's code: the code that ran, made the call or touched the page.
fn role(what: &What) -> Option<Role> {
    let code = match what {
        What::Call { code, .. } => code.as_ref(),
        What::Fault(fault) => fault.code.as_ref(),
        What::Exec { .. } | What::Death { .. } | What::Off(_) | What::User => None,
    };
    code.map(|code| code.module.role)
}

/// Whether a part is at least this percentage of the total, without the time in which others had the processor: a busy
/// machine hides no finding.
fn noteworthy(part: Nanos, account: &Account, percent: u64) -> bool {
    let taken = taken(account);
    let running = account.total.0.saturating_sub(taken.0);
    u128::from(part.0) * 100 >= u128::from(running) * u128::from(percent)
}

/// The part of the total in which no other thread had the processor.
fn running(account: &Account) -> f64 {
    1.0 - taken(account).as_f64() / account.total.as_f64().max(1.0)
}

/// The time in which other threads had the processor.
fn taken(account: &Account) -> Nanos {
    cost(account.steps.iter().filter(|step| is_taken(step)))
}

#[cfg(test)]
mod tests;
