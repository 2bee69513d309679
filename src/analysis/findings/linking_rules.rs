//! Findings about the work of the dynamic loader.

use super::{Evidence, Finding, cost, loading_rules, noteworthy, role};
use crate::analysis::libraries::LinkedFile;
use crate::analysis::loads::{LIBRARY, Load};
use crate::analysis::{Role, Step, What};
use firstbyte_measure::units::Nanos;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The work of ld.so: its own code, and its calls and page faults. Its CPUID instructions do not count, because a static
/// program executes them, too.
pub(super) fn dynamic_linking(run: &Evidence) -> Option<Finding> {
    let (account, machine) = (run.account, run.machine);
    let by_loader = |step: &&Step| role(&step.what) == Some(Role::Loader);
    let steps: Vec<&Step> = account.steps.iter().filter(by_loader).collect();
    if steps.is_empty() {
        return None;
    }

    let traps =
        loading_rules::trapped_instructions(account, machine).map_or(Nanos(0), |finding| finding.cost);
    // the loader's user code, too, executes the instructions that trap
    let user = machine.loader.map_or(Nanos(0), |user| Nanos(user.0.saturating_sub(traps.0)));
    let cost = cost(steps.iter().copied()) + user;
    if !noteworthy(cost, account, 10) {
        return None;
    }

    let faults = steps.iter().filter(|step| matches!(step.what, What::Fault(_))).count();
    let calls = steps.iter().filter(|step| matches!(step.what, What::Call { .. })).count();
    let faults = account.page_faults().map_or(String::new(), |_| format!("{faults} page faults, "));
    let code = if machine.loader.is_some() { format!(", {user} of its code") } else { String::new() };
    let text = format!(
        "Dynamic linking ({faults}{calls} system calls of ld.so{code}{}{}). A statically linked program does none of it; a \
         program with fewer libraries does less.",
        relocations(run).unwrap_or_default(),
        longest_libraries(run.loads)
    );
    Some(Finding::new("dynamic-linking", cost, text))
}

/// `; libx.so 1.2 ms, liby.so 0.3 ms`: those that take the longest, with their relocation.
fn longest_libraries(loads: &[Load]) -> String {
    let mut libraries: BTreeMap<&str, Nanos> = BTreeMap::new();
    for load in loads.iter().filter(|load| load.runtime == LIBRARY) {
        let time = libraries.entry(&load.unit).or_default();
        *time = *time + load.self_time;
    }
    let mut libraries: Vec<(&str, Nanos)> = libraries.into_iter().collect();
    libraries.sort_by_key(|(_, time)| Reverse(*time));
    let longest: Vec<String> =
        libraries.iter().take(3).map(|(name, time)| format!("`{name}` {time}")).collect();
    if longest.is_empty() { String::new() } else { format!("; the longest: {}", longest.join(", ")) }
}

/// `, 438608 relocations, 210000 of them by a symbol's name`: as the files say.
fn relocations(run: &Evidence) -> Option<String> {
    let always = binds_all(run)?;
    let sum =
        |of: &dyn Fn(&LinkedFile) -> u64| -> u64 { run.linked.iter().map(|it| it.programs * of(it)).sum() };
    let (all, lookups) =
        (sum(&|file| file.linking.at_start(always)), sum(&|file| file.linking.lookups(always)));
    (all > 0).then(|| format!(", {all} relocations, {lookups} of them by a symbol's name"))
}

/// Whether the environment makes the loader look up all functions at the start; `None`: it is not known.
fn binds_all(run: &Evidence) -> Option<bool> {
    run.environment.sets("LD_BIND_NOW")
}

/// Functions that are looked up at the start only because a variable says so. The time of a lookup is the loader's own code by
/// the number of lookups.
pub(super) fn bind_now(run: &Evidence) -> Option<Finding> {
    let code = run.machine.loader.filter(|_| binds_all(run) == Some(true))?;
    let lookups =
        |always| -> u64 { run.linked.iter().map(|it| it.programs * it.linking.lookups(always)).sum() };
    let (all, needed) = (lookups(true), lookups(false));
    let early = all - needed;
    let cost = Nanos::rounded(code.as_f64() * early as f64 / all.max(1) as f64);
    let text = format!(
        "`LD_BIND_NOW` makes ld.so look up {early} functions at the start that would else be looked up when they are called \
         for the first time, besides {needed} other symbols. Unset it where it is not needed."
    );
    (early > 0).then(|| Finding::new("bind-now", cost, text))
}

/// Libraries that are linked, and none of whose code runs.
pub(super) fn unused_libraries(run: &Evidence) -> Option<Finding> {
    let functions = run.user_code.iter().flat_map(|code| &code.divided.functions);
    let sampled: BTreeSet<&str> = functions.map(|function| &*function.frame.module).collect();
    let idle =
        |path: &str| run.linked.iter().any(|it| it.is_idle && *it.path == *path && !sampled.contains(path));
    let mut unused: Vec<&Load> =
        run.loads.iter().filter(|load| load.runtime == LIBRARY && idle(load.path())).collect();
    unused.sort_by_key(|load| Reverse(load.self_time));
    let cost: Nanos = unused.iter().map(|load| load.self_time).sum();
    if !noteworthy(cost, run.account, 2) {
        return None;
    }

    let longest: Vec<String> =
        unused.iter().take(4).map(|load| format!("`{}` {}", load.unit, load.self_time)).collect();
    let observed = if run.user_code.is_some() { "page faults and samples" } else { "page faults" };
    let text = format!(
        "ld.so maps and relocates {} large {} of which no code runs besides {} initialisation, as far as {observed} show: {}. \
         If the program does not refer to them, link with `--as-needed`; else open them when they are used (dlopen).",
        unused.len(),
        if unused.len() == 1 { "library" } else { "libraries" },
        if unused.len() == 1 { "its" } else { "their" },
        longest.join(", ")
    );
    Some(Finding::new("unused-libraries", cost, text))
}
