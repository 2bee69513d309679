//! What a start-up spends its time on, in words: up to seven findings, each with its cost. Pure.
//!
//! A rule looks at the steps of the run whose total is the median, at what it loaded and at the sampled functions. It gives
//! a finding only if they show the cost. The same rule looks at the other runs, and the finding of the run in which it costs
//! the median is the one that is given: one run alone is off by as much as the runs vary.

mod arrangement;
mod code_rules;
mod connection_rules;
mod environment_rules;
mod extent;
mod fewer_calls;
mod file_rules;
mod floors;
mod initialiser_rules;
mod language_rules;
mod linking_rules;
mod loading_rules;
mod lock_rules;
mod module_rules;
mod packages;
mod peers;
mod process_rules;
mod processor_rules;
mod runtime_rules;
mod search_rules;
mod typical;
mod work_rules;
mod wrapped;

use super::libraries::LinkedFile;
use super::loads::{Load, ShellCommand};
use super::profile::Estimate;
use super::runs::RunTimes;
use super::user_code::UserCode;
use crate::analysis::{Account, Reason, Role, Step, Summary, What};
use crate::document::named_span::NamedSpan;
use extent::Extent;
pub use firstbyte_measure::arch::cpuid::Cpuid;
use firstbyte_measure::launch::KnownEnvironment;
use firstbyte_measure::units::Nanos;
pub(super) use floors::floor;

use std::collections::BTreeMap;

/// The largest number of findings that are given.
const MAX_FINDINGS: usize = 7;

/// Something that a start-up spends time on, what it costs, and what can be saved of that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// The name of the rule.
    pub rule: &'static str,
    /// What the rule found, where it can find different things in different runs.
    pub subject: String,
    /// What the cause takes on the path, without the observer: the median of the runs.
    pub cost: Nanos,
    /// What following the advice would save of it; `None`: that is not known, or too little to promise.
    pub saves: Option<Nanos>,
    /// The 95 % interval of the cost; `None`: there are too few runs.
    pub interval: Option<[Nanos; 2]>,
    /// The cause and what to do, in one or two sentences.
    pub text: String,
    /// The place of the finding of which this one is a part.
    pub within: Option<usize>,
    /// How far off the part of the cost is that samples of all runs give.
    error: Nanos,
    /// Which part of the path it is about.
    extent: Extent,
}

impl Finding {
    pub(super) fn new(rule: &'static str, cost: Nanos, text: String) -> Finding {
        Finding { rule, cost, text, ..Finding::default() }
    }

    /// The steps of the path that it is about.
    fn on(self, extent: Extent) -> Finding {
        Finding { extent, ..self }
    }

    /// What following its advice saves. That is never more than the cause costs.
    fn saving(self, saves: Nanos) -> Finding {
        Finding { saves: Some(saves.min(self.cost)), ..self }
    }

    /// Following its advice saves all that the cause costs.
    fn saving_all(self) -> Finding {
        Finding { saves: Some(self.cost), ..self }
    }

    pub(super) fn about(self, subject: &str) -> Finding {
        Finding { subject: subject.to_owned(), ..self }
    }

    /// If it is not known which part of the path it is about, the same part of each step.
    fn placed(self, account: &Account) -> Finding {
        if self.extent.total() > Nanos(0) {
            return self;
        }
        let extent = Extent::of(&account.steps).without(&Extent::taken_by_others(account)).part(self.cost);
        self.on(extent)
    }

    /// With other times. `change` keeps their order, so that the cost stays within its interval.
    fn changed(self, change: impl Fn(Nanos) -> Nanos) -> Finding {
        let interval = self.interval.map(|bounds| bounds.map(&change));
        Finding { cost: change(self.cost), saves: self.saves.map(&change), interval, ..self }
    }

    fn shorter_by(self, time: Nanos) -> Finding {
        self.changed(|own| Nanos(own.0.saturating_sub(time.0)))
    }

    /// Leaves this time to other findings.
    fn leave(&mut self, explained: Nanos) {
        *self = std::mem::take(self).shorter_by(explained);
        self.text += " Other findings explain the rest of this time.";
    }

    /// Without the time in which other programs had the processor.
    fn undisturbed(self, taken: &Extent) -> Finding {
        let disturbed = self.extent.shared(taken);
        let extent = self.extent.clone().without(taken);
        Finding { extent, ..self.shorter_by(disturbed) }
    }

    /// Says in which part of the run it lies, if the program has named one that has nearly all of it: the shortest one.
    fn name_span(&mut self, spans: &[NamedSpan]) {
        let most = self.extent.total().0 * 9 / 10;
        let has_it = |span: &&NamedSpan| {
            let covers = |at: Nanos| {
                let after = span.places.partition_point(|place| place.from_ns <= at.0);
                span.places[..after].last().is_some_and(|place| at.0 < place.to_ns)
            };
            most > 0 && self.extent.begun(covers).0 >= most
        };
        let shortest = spans.iter().filter(has_it).min_by(|a, b| a.times.median.total_cmp(&b.times.median));
        if let Some(span) = shortest {
            self.text = format!("{} It lies in {}.", self.text, span.title());
        }
    }

    /// With a cost by samples, and its interval.
    fn sampled(self, time: Estimate) -> Finding {
        let interval = [time.low, time.high].map(Nanos::rounded);
        Finding { cost: Nanos::rounded(time.time), interval: Some(interval), ..self }
    }

    /// The interval of the figure that comes first: of the saving, if that is known, which is the same part of all costs.
    pub fn figure_interval(&self) -> Option<[Nanos; 2]> {
        let saved = self.saves.map_or(1.0, |saves| saves.as_f64() / self.cost.as_f64().max(1.0));
        self.interval.map(|bounds| bounds.map(|bound| Nanos::rounded(bound.as_f64() * saved)))
    }

    /// What it saves and costs, the interval and its part of the total before the text.
    pub fn sentence(&self, total: Nanos) -> String {
        let range = self.figure_interval().map(|[low, high]| format!("{low} to {high}"));
        let in_brackets = |parts: [Option<String>; 2]| {
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
        };
        let (figure, figures) = match self.saves {
            None => (self.cost, format!("{}{}", self.cost, in_brackets([None, range]))),
            Some(saves) => {
                let of = (saves < self.cost).then(|| format!("of {}", self.cost));
                (saves, format!("saves about {saves}{}", in_brackets([of, range])))
            }
        };
        let percent = 100.0 * figure.as_f64() / total.as_f64().max(1.0);
        // one of less than a per cent is given if others had the processor for most of the time
        let percent = if percent < 0.5 { "under 1".to_owned() } else { format!("{percent:.0}") };
        format!("{figures}, {percent} %: {}", self.text)
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
}

/// The facts about the machine that the rules need.
#[derive(Clone, Copy, Debug, Default)]
pub struct MachineFacts {
    /// The program's CPUID instructions; `None`: they were not counted, or this processor has no such instruction.
    pub cpuid: Option<Cpuid>,
    /// User code of the dynamic loader on the path; `None`: it was not sampled.
    pub loader: Option<Nanos>,
    /// How far that may be off.
    pub loader_error: Nanos,
}

/// A CPUID instruction that takes less does not trap: a processor that executes it itself takes at most about 100 ns.
pub const TRAP: Nanos = Nanos(300);

type Rule = fn(&Evidence) -> Option<Finding>;

const RULES: [Rule; 37] = [
    linking_rules::dynamic_linking,
    linking_rules::bind_now,
    linking_rules::unused_libraries,
    search_rules::failed_searches,
    search_rules::searched_folders,
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
    initialiser_rules::initialisers,
    code_rules::user_code,
    code_rules::hottest_function,
    code_rules::garbage_collection,
    code_rules::generated_code,
    |run| work_rules::work(run, &work_rules::COMPILATION),
    |run| work_rules::work(run, &work_rules::REGULAR_EXPRESSIONS),
    |run| work_rules::work(run, &work_rules::JSON),
    |run| work_rules::work(run, &work_rules::YAML),
    |run| work_rules::work(run, &work_rules::TEMPLATES),
    |run| process_rules::exec_chain(run.account),
    |run| process_rules::from_disk(run.account),
    |run| processor_rules::competing_threads(run.account),
    |run| process_rules::sleep(run.account),
    |run| process_rules::waits(run.account),
    |run| lock_rules::locks(run.account),
    |run| connection_rules::failed_connections(run.account),
    environment_rules::large_environment,
    |run| process_rules::after_the_first_byte(run.account),
    |run| process_rules::slow_calls(run.account),
];

/// A runtime's report that has this part of the time of the modules that were read says more of them, in per cent: what a
/// program does between two files is not always the work of the first one.
const SAYS_MORE: u64 = 60;

/// Rules that explain user code by the modules that were loaded meanwhile. They explain the same time, and so may `slow-file`.
const MODULES: &[&str] = &["reported", "modules"];
/// The others. Those of one line explain the same time.
const EXPLAIN_USER_CODE: [&[&str]; 4] =
    [&["java-classes"], &["generated-code"], &["dynamic-linking"], &["initialisers"]];

/// The findings, those that save the most first. Each is followed by those within it.
pub fn findings(summary: &Summary, machine: &MachineFacts) -> Vec<Finding> {
    let run = &summary.median_run;
    let mut all = of_all_rules(summary, machine, false);
    all.retain(|finding| noteworthy(finding.cost, run, 1));
    for finding in &mut all {
        finding.saves = finding.saves.filter(|saves| noteworthy(*saves, run, 1));
    }
    remove_said_better(&mut all, &summary.loads, running(run));
    leave_the_rest(&mut all, run);
    let mut all = arrangement::arranged(all, run.total, MAX_FINDINGS);
    for finding in &mut all {
        if summary.within.is_none() {
            finding.name_span(&summary.marks);
        }
        // it can be as large as the path, and nobody needs it any more
        finding.extent = Extent::default();
    }
    all
}

/// What every rule finds: also what costs too little to be given, what others say better, and what the run that is shown lacks.
pub fn every(summary: &Summary, machine: &MachineFacts) -> Vec<Finding> {
    of_all_rules(summary, machine, true)
}

/// `anywhere`: also what the run that is shown lacks.
fn of_all_rules(summary: &Summary, machine: &MachineFacts, anywhere: bool) -> Vec<Finding> {
    let loads = of_run_shown(summary);
    let evidence = Evidence {
        account: &summary.median_run,
        machine,
        loads: &loads,
        commands: &summary.commands,
        linked: &summary.linked,
        environment: &summary.environment,
        user_code: summary.user_code.as_ref(),
    };
    let of_others = |account: &Account| Extent::taken_by_others(account);
    let taken = Taken {
        shown: of_others(&summary.median_run),
        others: summary.others.iter().map(|(account, _)| of_others(account)).collect(),
    };
    // what a runtime reports is from another run, which may take longer
    let running = Nanos(evidence.account.total.0.saturating_sub(taken.shown.total().0));
    let found = |rule: &Rule| typical::typical(*rule, &evidence, summary, &taken, anywhere);
    let within = |found: Finding| found.changed(|time| time.min(running)).placed(evidence.account);
    RULES.iter().filter_map(found).map(within).collect()
}

/// What other programs took of the run that is shown, and of the other runs.
struct Taken {
    shown: Extent,
    others: Vec<Extent>,
}

/// A run that has the processor for less of its time waits for something.
const BUSY: f64 = 0.9;

/// The loads in the run that is shown. What runtimes report is of another run: if that one took longer, as it does where
/// reporting takes long, so did its loads. Waits do not become longer, and no report tells them apart: if the other run
/// waited, its times stay as they were reported. If they are more than all of the run that is shown, other programs made it
/// wait. What a load takes longer than that run computed in all is its own wait, as far as the run that is shown waits as long.
fn of_run_shown(summary: &Summary) -> Vec<Load> {
    let shown = &summary.median_run;
    let less_taken = |time: Nanos| Nanos(time.0.saturating_sub(taken(shown).0));
    let is_wait = |step: &&Step| matches!(*step.what, What::Off(Reason::For(_)));
    let waits = cost(shown.steps.iter().filter(is_wait));
    let computed = |run: &RunTimes| run.processor.as_f64() >= BUSY * run.wall.as_f64();
    let [here, there, waits, computed] = match summary.reporting_run {
        Some(run) if computed(&run) => [less_taken(shown.wall), run.wall, Nanos(0), run.wall],
        run => {
            let processor = run.map_or(Nanos(u64::MAX), |run| run.processor);
            [less_taken(shown.total), most_reported(&summary.loads), waits, processor]
        }
    };

    let rest = |all: Nanos| Nanos(all.0.saturating_sub(waits.0)).as_f64();
    let factor = (rest(here) / rest(there).max(1.0)).min(1.0);
    let scaled = |time: Nanos| {
        let waited = Nanos(time.0.saturating_sub(computed.0)).min(waits);
        waited + Nanos::rounded((time - waited).as_f64() * factor)
    };
    let of_run = |load: &Load| {
        let [self_time, total] =
            [load.self_time, load.total].map(|time| if load.is_file() { time } else { scaled(time) });
        Load { self_time, total, ..load.clone() }
    };
    summary.loads.iter().map(of_run).collect()
}

/// The time that the runtime which reports the most reports.
fn most_reported(loads: &[Load]) -> Nanos {
    let mut times: BTreeMap<&str, Nanos> = BTreeMap::new();
    for load in loads.iter().filter(|load| !load.is_file() && load.depth == 0) {
        let time = times.entry(load.runtime).or_default();
        *time = *time + load.total;
    }
    times.into_values().max().unwrap_or_default()
}

/// The rule whose finding is what the others leave of its time.
pub(super) const REST: &str = "user-code";

/// The rule that says when a program works, and not why: it has what other findings leave.
pub(super) const WHEN: &str = "after-first-byte";

/// Rules that say more of the same user code, or when it runs.
const PARTS_OF_REST: &[&str] = &[
    WHEN,
    "hottest-function",
    "garbage-collection",
    "generated-code",
    work_rules::COMPILATION.name,
    work_rules::REGULAR_EXPRESSIONS.name,
    work_rules::JSON.name,
    work_rules::YAML.name,
    work_rules::TEMPLATES.name,
];

/// Takes from the rules that have the rest of the time what the others explain.
fn leave_the_rest(all: &mut Vec<Finding>, run: &Account) {
    for (rule, kept) in [(REST, PARTS_OF_REST), (WHEN, &[])] {
        let others = all.iter().filter(|finding| finding.rule != rule && !kept.contains(&finding.rule));
        let explained = others.fold(Extent::default(), |sum, finding| sum.plus(&finding.extent));
        for finding in all.iter_mut().filter(|finding| finding.rule == rule) {
            let before = finding.extent.total();
            finding.extent = std::mem::take(&mut finding.extent).without(&explained);
            let less = Nanos(before.0 - finding.extent.total().0);
            if rule == WHEN && less > Nanos(0) {
                finding.leave(less);
            }
            finding.extent = std::mem::take(&mut finding.extent).part(finding.cost);
        }
    }
    all.retain(|finding| finding.rule != WHEN || noteworthy(finding.cost, run, floor(WHEN)));
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
    let modules = cost(all, MODULES).saturating_sub(file_rules::executed(loads).0);
    let file = all.iter().find(|finding| finding.rule == "slow-file");
    let file = file.map_or(0, |it| it.cost.0.saturating_sub(file_rules::programs_of(loads, &it.subject).0));
    let loaded = Nanos::rounded(Nanos(modules.max(file)).as_f64() * running).0;
    let analysis: u64 = loaded + EXPLAIN_USER_CODE.iter().map(|rules| cost(all, rules)).sum::<u64>();
    // that a program is interpreted says less than what else is known of it
    let enough = |finding: &Finding| if finding.subject == code_rules::INTERPRETED { 4 } else { 2 };
    all.retain(|finding| finding.rule != REST || analysis * enough(finding) < finding.cost.0);
    for finding in all.iter_mut().filter(|finding| finding.rule == REST && analysis > 0) {
        finding.leave(Nanos(analysis));
    }
}

/// Why a finding is not given although there is evidence for it, in one or two sentences.
pub fn note(summary: &Summary, machine: &MachineFacts) -> Option<String> {
    loading_rules::unplaced(&summary.median_run, machine)
}

/// The time of user code, if it is much. Without samples, no finding says what it does.
pub fn user_code_alone(account: &Account) -> Option<Nanos> {
    code_rules::much_user_code(account)
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
    let taken = account.taken();
    taken.ours.time + taken.others.time
}

#[cfg(test)]
mod tests;
