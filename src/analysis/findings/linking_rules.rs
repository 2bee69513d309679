//! Findings about the work of the dynamic loader.

use super::extent::Extent;
use super::floors::floor;
use super::{Evidence, Finding, cost, loading_rules, noteworthy, role};
use crate::analysis::libraries::LinkedFile;
use crate::analysis::loads::{LIBRARY, Load};
use crate::analysis::user_code::is_loader;
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

    let traps = loading_rules::trapped_instructions(account, machine)
        .map_or((Nanos(0), Extent::default()), |finding| (finding.cost, finding.extent));
    // the loader's user code, too, executes the instructions that trap
    let user = machine.loader.map_or(Nanos(0), |user| Nanos(user.0.saturating_sub(traps.0.0)));
    let unmapping = unmapping(run);
    let cost = cost(steps.iter().copied()) + user + unmapping.total();
    if !noteworthy(cost, account, floor("dynamic-linking")) {
        return None;
    }

    let faults = steps.iter().filter(|step| matches!(*step.what, What::Fault(_))).count();
    let calls = steps.iter().filter(|step| matches!(*step.what, What::Call { .. })).count();
    let faults = account.page_faults().map_or(String::new(), |_| format!("{faults} page faults, "));
    let code = if machine.loader.is_some() { format!(", {user} of its code") } else { String::new() };
    let end = match unmapping.total() {
        Nanos(0) => String::new(),
        time => format!(", {time} to unmap libraries at the exit"),
    };
    let own = own_relocation(run, &steps, user);
    let saves = Nanos(cost.0.saturating_sub(own.0)).max(own);
    let advice = if own == saves {
        format!(
            "{own} of it are the program's own relocations, which static linking keeps as long as the program can be \
             loaded anywhere: `-no-pie` needs none of them."
        )
    } else {
        "A statically linked program does none of it; a program with fewer libraries does less.".to_owned()
    };
    let text = format!(
        "Dynamic linking ({faults}{calls} system calls of ld.so{code}{end}{}{}). {advice}",
        relocations(run).unwrap_or_default(),
        longest_libraries(run.loads, own),
    );
    let before = Extent::of_user_code(account, |_| true).without(&traps.1);
    let extent = Extent::of(steps.iter().copied()).and(&before.part(user)).and(&unmapping);
    let error = machine.loader_error;
    Some(Finding { error, ..Finding::new("dynamic-linking", cost, text) }.saving(saves).on(extent))
}

/// The part of the exits in which the kernel unmaps libraries: that which their pages have in all page faults.
fn unmapping(run: &Evidence) -> Extent {
    let faults = run.account.steps.iter().filter_map(|step| match &*step.what {
        What::Fault(fault) => Some(fault.region.file().is_some_and(|path| path.contains(".so"))),
        _ => None,
    });
    let (all, libraries) =
        faults.fold((0, 0), |(all, libraries), of_library| (all + 1, libraries + u64::from(of_library)));
    let exits = |step: &&Step| matches!(&*step.what, What::Call { name, .. } if name.starts_with("exit"));
    let extent = Extent::of(run.account.steps.iter().filter(exits));
    let part = u128::from(extent.total().0) * u128::from(libraries) / u128::from(all.max(1_u64));
    extent.part(Nanos(u64::try_from(part).unwrap_or_default()))
}

/// A symbol that is looked up by its name takes as long as this many relocations that only add the address of the file.
const LOOKUP: u64 = 60;
/// And a library as long as this many, before any relocation.
const LIBRARY_ALONE: u64 = 5_000;

/// The time for those relocations of programs that only add the program's own address: page faults of ld.so in the program,
/// and a part of its code by their number.
fn own_relocation(run: &Evidence, steps: &[&Step], code: Nanos) -> Nanos {
    let executed: BTreeSet<&str> =
        run.account.processes.iter().flat_map(|process| &process.execs).map(|exec| &*exec.executed).collect();
    let is_own = |step: &&&Step| match &*step.what {
        What::Fault(fault) => {
            fault.write != Some(false) && fault.region.file().is_some_and(|path| executed.contains(&**path))
        }
        _ => false,
    };
    let always = binds_all(run).unwrap_or_default();
    let relative = |it: &LinkedFile| it.programs * (it.linking.at_start(always) - it.linking.lookups(always));
    let all: u64 = run
        .linked
        .iter()
        .map(|it| relative(it) + it.programs * (LOOKUP * it.linking.lookups(always) + LIBRARY_ALONE))
        .sum();
    let own: u64 = run.linked.iter().filter(|it| executed.contains(&*it.path)).map(relative).sum();
    if own < LIBRARY_ALONE {
        return Nanos(0);
    }
    let code = Nanos::rounded(code.as_f64() * own as f64 / all.max(1) as f64);
    cost(steps.iter().filter(is_own).copied()) + code
}

/// `; libx.so 1.2 ms, liby.so 0.3 ms`: those that take the longest, with their relocation.
fn longest_libraries(loads: &[Load], own: Nanos) -> String {
    let mut libraries: BTreeMap<&str, Nanos> = BTreeMap::new();
    if own > Nanos(0) {
        libraries.insert("the program itself", own);
    }
    for load in loads.iter().filter(|load| load.runtime == LIBRARY) {
        let time = libraries.entry(&load.unit).or_default();
        *time = *time + load.self_time;
    }
    let mut libraries: Vec<(&str, Nanos)> = libraries.into_iter().collect();
    libraries.sort_by_key(|(_, time)| Reverse(*time));
    let longest: Vec<String> =
        libraries.iter().take(3).map(|(name, time)| shown_library(name, *time)).collect();
    if longest.is_empty() { String::new() } else { format!("; the longest: {}", longest.join(", ")) }
}

fn shown_library(name: &str, time: Nanos) -> String {
    if name.contains(' ') { format!("{name} {time}") } else { format!("`{name}` {time}") }
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

/// Functions that are looked up at the start only because a variable or the program says so. The time of a lookup is that of
/// the loader's functions that look symbols up, by the number of lookups.
pub(super) fn bind_now(run: &Evidence) -> Option<Finding> {
    let code = run.machine.loader?;
    let by_variable = binds_all(run)?;
    let executed: BTreeSet<&str> =
        run.account.processes.iter().flat_map(|process| &process.execs).map(|exec| &*exec.executed).collect();
    let lookups = |it: &LinkedFile| it.programs * it.linking.lookups(by_variable);
    // what the program itself asks for does not hold for its libraries
    let early = |it: &LinkedFile| {
        let is_early = by_variable && !it.linking.bind_now
            || !by_variable && it.linking.bind_now && executed.contains(&*it.path);
        if is_early { it.programs * it.linking.relocations.jump_slot } else { 0 }
    };
    let (all, early) =
        (run.linked.iter().map(lookups).sum::<u64>(), run.linked.iter().map(early).sum::<u64>());
    let looking_up = lookup_time(run).unwrap_or(code).min(code);
    let cost = Nanos::rounded(looking_up.as_f64() * early as f64 / all.max(1) as f64);
    let (who, advice) = if by_variable {
        ("`LD_BIND_NOW` makes", "Unset it where it is not needed.")
    } else {
        ("The program is linked with `-z now`, which makes", "`-z lazy` looks up only those that are called.")
    };
    let text = format!(
        "{who} ld.so look up {early} functions at the start that would otherwise be looked up when they are called for the first \
         time, besides {} other symbols. {advice}",
        all.saturating_sub(early)
    );
    let extent = Extent::of_user_code(run.account, |_| true).part(cost);
    (early > 0).then(|| Finding::new("bind-now", cost, text).saving_all().on(extent))
}

/// The loader's functions that look a symbol up (`elf/dl-lookup.c` of glibc).
const LOOKING_UP: [&str; 6] = [
    "_dl_lookup_symbol_x",
    "do_lookup_x",
    "do_lookup_unique",
    "check_match",
    "strcmp",
    "_dl_check_map_versions",
];

/// The time of the loader's lookups by samples; `None`: its functions have no names.
fn lookup_time(run: &Evidence) -> Option<Nanos> {
    let functions =
        run.user_code?.divided.functions.iter().filter(|function| is_loader(&function.frame.module));
    let looks_up = |name: &str| LOOKING_UP.iter().any(|known| name.starts_with(known));
    let named = functions.filter(|function| function.frame.function.as_deref().is_some_and(looks_up));
    let time: f64 = named.map(|function| function.self_time.time).sum();
    (time > 0.0).then(|| Nanos::rounded(time))
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
    if !noteworthy(cost, run.account, floor("unused-libraries")) {
        return None;
    }

    let longest: Vec<String> =
        unused.iter().take(4).map(|load| format!("`{}` {}", load.unit, load.self_time)).collect();
    let observed = if run.user_code.is_some() { "page faults and samples" } else { "page faults" };
    let text = format!(
        "ld.so maps and relocates {} large {} of which no code runs besides {} initialisation, as far as {observed} show: {}. \
         If the program does not refer to them, link with `--as-needed`; otherwise open them with dlopen when they are first used.",
        unused.len(),
        if unused.len() == 1 { "library" } else { "libraries" },
        if unused.len() == 1 { "its" } else { "their" },
        longest.join(", ")
    );
    let extent = Extent::of_files(run.account, unused.iter().map(|load| (load.path(), load.self_time)));
    Some(Finding::new("unused-libraries", cost, text).saving_all().on(extent))
}
