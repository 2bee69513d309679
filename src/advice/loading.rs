//! Findings about getting a program into memory.

use super::{Finding, Machine, cost, noteworthy, role};
use crate::trace::{Account, Region, Role, Step, What};
use crate::units::Nanos;
use std::collections::BTreeMap;

/// What ld.so does: its own code, and the calls and page faults that it makes.
pub(super) fn dynamic_linking(account: &Account, _: &Machine) -> Option<Finding> {
    let by_loader = |step: &&Step| role(&step.what) == Some(Role::Loader);
    let steps: Vec<&Step> = account.main().steps.iter().filter(by_loader).collect();
    let cost = cost(steps.iter().copied());
    if !noteworthy(cost, account, 10) {
        return None;
    }
    let faults = steps.iter().filter(|step| matches!(step.what, What::Fault(_))).count();
    let calls = steps.iter().filter(|step| matches!(step.what, What::Call { .. })).count();
    let text = format!(
        "Dynamic linking: {cost} of {} ({faults} page faults, {calls} system calls of ld.so). A statically linked \
         program has none of it; fewer libraries have less.",
        account.total
    );
    Some(Finding { rule: "dynamic-linking", cost, text })
}

/// Files that were looked for along a path of folders: at least three failures.
pub(super) fn failed_searches(account: &Account, _: &Machine) -> Option<Finding> {
    let failed = |step: &&Step| {
        matches!(&step.what, What::Call { failed: true, file: Some(_), name, .. }
            if matches!(&**name, "open" | "openat" | "openat2" | "stat" | "lstat" | "newfstatat" | "access" | "readlink"))
    };
    let steps: Vec<&Step> = account.threads.iter().flat_map(|t| &t.steps).filter(failed).collect();
    let cost = cost(steps.iter().copied());
    if steps.len() < 3 || !noteworthy(cost, account, 1) {
        return None;
    }
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for step in &steps {
        if let What::Call { file: Some(path), .. } = &step.what {
            *names.entry(path.rsplit('/').next().unwrap_or_default()).or_default() += 1;
        }
    }
    let (name, times) = names.into_iter().max_by_key(|(_, times)| *times)?;
    let by_loader = steps.iter().filter(|step| role(&step.what) == Some(Role::Loader)).count();
    let searching =
        if by_loader * 2 > steps.len() { "on the library search path" } else { "in all processes" };
    let text = format!(
        "{} files were looked for in vain {searching}: {cost}. Most often `{name}`, {times} times.",
        steps.len()
    );
    Some(Finding { rule: "failed-searches", cost, text })
}

/// One library, neither libc nor the program itself, that at least a fifth of the page faults are about.
pub(super) fn heavy_library(account: &Account, _: &Machine) -> Option<Finding> {
    let faults = account.main().steps.iter().filter_map(|step| match &step.what {
        What::Fault(fault) => Some((step, fault)),
        _ => None,
    });
    let executables: Vec<&str> =
        account.processes.iter().flat_map(|p| &p.execs).map(|exec| &*exec.executed).collect();
    let (mut all, mut libraries) = (0_u64, BTreeMap::<&str, (u64, Nanos)>::new());
    for (step, fault) in faults {
        all += 1;
        let (Region::File(path) | Region::Bss(path)) = &fault.region else { continue };
        let name = path.rsplit('/').next().unwrap_or_default();
        let library = name.contains(".so") && !name.starts_with("libc.") && !name.starts_with("ld-");
        if library && !executables.contains(&&**path) {
            let entry = libraries.entry(name).or_default();
            *entry = (entry.0 + 1, entry.1 + step.own);
        }
    }
    let (name, (count, cost)) = libraries.into_iter().max_by_key(|(_, (count, _))| *count)?;
    if count * 5 < all || count < 10 || !noteworthy(cost, account, 1) {
        return None;
    }
    let text = format!(
        "`{name}`: {} % of the main thread's page faults ({count} of {all}), {cost} for them alone.",
        count * 100 / all
    );
    Some(Finding { rule: "heavy-library", cost, text })
}

/// Below this a CPUID instruction does not trap: a processor that executes it itself takes about 100 ns at most.
const TRAP: Nanos = Nanos(300);
/// A stretch of user code must be worth so many of them.
const FEWEST: u64 = 10;

/// Virtual machines intercept CPUID. glibc executes dozens at its start, in one stretch of code without a system call
/// or page fault: the longest of ld.so, or of a static program, before anything is opened or written.
pub(super) fn trapped_instructions(account: &Account, machine: &Machine) -> Option<Finding> {
    let each = machine.cpuid.filter(|cost| *cost >= TRAP)?;
    let steps = &account.main().steps;
    let begin = steps.iter().rposition(|step| matches!(step.what, What::Exec { .. }))? + 1;
    let early = steps[begin..].iter().enumerate().take_while(|(_, step)| !opens_or_writes(&step.what));
    let place = |step: &Step| matches!(role(&step.what), Some(Role::Loader | Role::Executable));
    let code = early.filter(|(_, step)| matches!(step.what, What::User(_)) && place(step));
    let (index, longest) = code.max_by_key(|(_, step)| step.own)?;
    let traps = longest.own.0 / each.0;
    if traps < FEWEST || !noteworthy(longest.own, account, 1) {
        return None;
    }
    let neighbour = |at: Option<usize>| at.and_then(|at| steps.get(at)).map(|step| step.what.title());
    let before = neighbour((begin + index).checked_sub(1)).unwrap_or_default();
    let after = neighbour(Some(begin + index + 1)).unwrap_or_default();
    let text = format!(
        "CPUID: {} of user code without an event, as long as about {traps} CPUID instructions take on this virtual \
         machine ({each} each, since they trap), between `{before}` and `{after}`. glibc executes them at every \
         start to choose its string functions.",
        longest.own
    );
    Some(Finding { rule: "cpuid", cost: longest.own, text })
}

fn opens_or_writes(what: &What) -> bool {
    matches!(what, What::Call { name, .. } if matches!(&**name, "openat" | "open" | "write" | "writev"))
}
