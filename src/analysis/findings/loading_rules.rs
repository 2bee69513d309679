//! Findings about the files of a program and about its first instructions.

use super::extent::Extent;
use super::floors::floor;
use super::{Cpuid, Finding, MachineFacts, TRAP, cost, noteworthy};
use crate::analysis::{Account, Region, Step, What};
use firstbyte_measure::units::Nanos;
use std::collections::BTreeMap;

/// A library, other than the C library, with at least a fifth of the page faults on the critical path.
pub(super) fn heavy_library(account: &Account) -> Option<Finding> {
    let faults = account.steps.iter().filter_map(|step| match &*step.what {
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
            *entry = (entry.0 + 1, entry.1 + step.self_time);
        }
    }

    let (name, (count, cost)) = libraries.into_iter().max_by_key(|(_, (count, _))| *count)?;
    if count * 5 < all || count < 10 || !noteworthy(cost, account, 1) {
        return None;
    }

    let text = format!(
        "`{name}` has {} % of the page faults on the critical path ({count} of {all}). They alone take this long.",
        count * 100 / all
    );
    let is_of_it = |step: &&Step| match &*step.what {
        What::Fault(fault) => fault.region.file().is_some_and(|path| path.rsplit('/').next() == Some(name)),
        _ => false,
    };
    let extent = Extent::of(account.steps.iter().filter(is_of_it));
    Some(Finding::new("heavy-library", cost, text).on(extent))
}

/// Memory without a file that is touched for the first time.
pub(super) fn new_memory(account: &Account) -> Option<Finding> {
    let is_new = |step: &&Step| match &*step.what {
        What::Fault(fault) => {
            !fault.major && matches!(fault.region, Region::Anonymous | Region::Heap | Region::Stack)
        }
        _ => false,
    };
    let faults: Vec<&Step> = account.steps.iter().filter(is_new).collect();
    let cost = cost(faults.iter().copied());
    let text = format!(
        "{} page faults in memory without a file (heap, stack, mmap): the kernel finds and clears a page at the first touch, \
         or copies it after a fork. A program that touches less memory, or uses the same again, takes fewer.",
        faults.len()
    );
    let huge = in_huge_blocks(&faults);
    let finding = |text| Finding::new("new-memory", cost, text).on(Extent::of(faults.iter().copied()));
    if huge.0 * 2 < cost.0 {
        return noteworthy(cost, account, floor("new-memory")).then(|| finding(text));
    }
    let text = format!(
        "{text} Most of it is touched in blocks of 2 MiB: `madvise(…, MADV_HUGEPAGE)` makes one fault of each."
    );
    let saves = Nanos::rounded(huge.as_f64() * HUGE_SAVES);
    noteworthy(cost, account, floor("new-memory")).then(|| finding(text).saving(saves))
}

/// The bytes of a huge page of x86-64, and of arm64 with pages of 4 KiB.
const HUGE: u64 = 2 << 20;
/// A block in which this many bytes are touched, a page each, is one that a huge page would spare the faults of.
const MOSTLY: u64 = HUGE / 4096 * 3 / 4;
/// Clearing the pages takes its time in any case: programs that touch 200 MB and 300 MB took 0.2 times as long with huge pages, and
/// nine tenths of their time were the faults.
const HUGE_SAVES: f64 = 0.9;

/// The time of the faults in whole blocks of the size of a huge page.
fn in_huge_blocks(faults: &[&Step]) -> Nanos {
    let block = |step: &&Step| match &*step.what {
        What::Fault(fault) if fault.region == Region::Anonymous => Some(fault.page / HUGE),
        _ => None,
    };
    let mut blocks: BTreeMap<u64, (u64, Nanos)> = BTreeMap::new();
    for (block, step) in faults.iter().filter_map(|step| Some((block(step)?, step))) {
        let entry = blocks.entry(block).or_default();
        *entry = (entry.0 + 1, entry.1 + step.self_time);
    }
    blocks.values().filter(|(count, _)| *count >= MOSTLY).map(|(_, time)| *time).sum()
}

/// Fewer CPUID instructions give no finding.
const MIN_CPUIDS: u64 = 10;

/// Virtual machines intercept CPUID. glibc executes dozens of them when it starts, and no system call or page fault shows
/// them. Their number was counted, and the cost of one was measured. The finding is given if the user code that contains them
/// lasts long enough: the code of ld.so, or of a static program, before anything is opened or written. Page faults and other
/// interruptions divide that code into several steps.
pub(super) fn trapped_instructions(account: &Account, machine: &MachineFacts) -> Option<Finding> {
    let (Cpuid { each, executed }, cost) = trapping(account, machine)?;
    let steps = &account.main().steps;
    let begin = steps.iter().position(|step| matches!(*step.what, What::Call { .. } | What::User))?;
    let early = steps.iter().enumerate().skip(begin).take_while(|(_, step)| !opens_or_writes(&step.what));
    let code = early.filter(|(_, step)| *step.what == What::User);
    let all: Nanos = code.clone().map(|(_, step)| step.self_time).sum();
    if all < Nanos(cost.0 / 2) {
        return None; // there is not enough time for them in this run; `unplaced` says so
    }

    let extent = Extent::of(code.clone().map(|(_, step)| step)).part(cost);
    let (index, longest) = code.max_by_key(|(_, step)| step.self_time)?;
    let neighbour = |at: Option<usize>| at.and_then(|at| steps.get(at)).map(|step| step.what.title());
    let before = neighbour(index.checked_sub(1)).unwrap_or_default();
    let after = neighbour(Some(index + 1)).unwrap_or_default();
    let cost = cost.min(all);
    let mostly = if longest.self_time >= Nanos(cost.0 / 2) { "mostly" } else { "some of it" };

    let text = format!(
        "{executed} CPUID instructions (counted) trap on this virtual machine, {each} each. Together they take about \
         {cost}, {mostly} between `{before}` and `{after}`, which lasts {}. glibc executes them at every start to choose \
         its string functions.",
        longest.self_time
    );
    Some(Finding::new("cpuid", cost, text).on(extent))
}

/// The CPUID instructions that trap, and their cost together, if they are enough for a finding.
fn trapping(account: &Account, machine: &MachineFacts) -> Option<(Cpuid, Nanos)> {
    let cpuid = machine.cpuid.filter(|cpuid| cpuid.each >= TRAP && cpuid.executed >= MIN_CPUIDS)?;
    let cost = Nanos(cpuid.each.0.saturating_mul(cpuid.executed));
    noteworthy(cost, account, 1).then_some((cpuid, cost))
}

/// Why CPUID instructions that were counted give no finding: the run that is shown has no room for them.
pub(super) fn unplaced(account: &Account, machine: &MachineFacts) -> Option<String> {
    let (Cpuid { each, executed }, cost) = trapping(account, machine)?;
    trapped_instructions(account, machine).is_none().then(|| {
        format!(
            "{executed} CPUID instructions were counted. At {each} each, as measured afterwards, they would take {cost}, \
             more than twice the time of the user code that contains them. So no finding gives their cost."
        )
    })
}

fn opens_or_writes(what: &What) -> bool {
    what.call_facts().is_some_and(|call| call.opens() || call.writes())
}
