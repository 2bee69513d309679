//! A finding about what runs before `main`: constructors, static objects, the init functions of packages.

use super::extent::Extent;
use super::floors::floor;
use super::{Evidence, Finding, noteworthy, role};
use crate::analysis::profile::Node;
use crate::analysis::user_code::is_loader;
use crate::analysis::{Account, Role, Step};
use firstbyte_measure::units::Nanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Functions that call initialisers: of glibc's ld.so and libc, of older programs, and of Go.
const CALLERS: [&str; 6] = [
    "call_init",
    "_dl_init",
    "__libc_start_main",
    "__libc_csu_init",
    "runtime.doInit",
    "__static_initialization_and_destruction_0",
];
/// What libc calls besides them.
const NO_INITIALISERS: [&str; 5] =
    ["main", "__libc_start_call_main", "exit", "_dl_relocate_static_pie", "__libc_init_first"];

/// Initialisers by file, each file with the function that takes the longest.
pub(super) fn initialisers(run: &Evidence) -> Option<Finding> {
    let nodes = &run.user_code?.divided.nodes;
    let mut files: BTreeMap<&str, (f64, f64, &str)> = BTreeMap::new();
    for node in (0..nodes.len()).filter(|index| is_initialiser(nodes, *index)).map(|index| &nodes[index]) {
        let file = files.entry(node.frame.file()).or_default();
        file.0 += node.time;
        if node.time > file.1 {
            (file.1, file.2) = (node.time, node.frame.function.as_deref().unwrap_or_default());
        }
    }
    let user = Nanos::rounded(files.values().map(|(time, ..)| time).sum());
    let extent = before_main(run.account, user);
    let cost = extent.total().max(user);
    if files.is_empty() || !noteworthy(cost, run.account, floor("initialisers")) {
        return None;
    }

    let mut files: Vec<(&str, (f64, f64, &str))> = files.into_iter().collect();
    files.sort_by_key(|(_, (time, ..))| Reverse(Nanos::rounded(*time)));
    let shown = |(file, (time, _, function)): &(&str, (f64, f64, &str))| {
        let function = if function.is_empty() { String::new() } else { format!(" (`{function}`)") };
        format!("`{file}` {}{function}", Nanos::rounded(*time))
    };
    let longest: Vec<String> = files.iter().take(3).map(shown).collect();
    let named = |variable: &&&str| {
        let value = run.environment.value(variable);
        value.is_some_and(|value| value.to_string_lossy().contains(files[0].0))
    };
    let advice = match ["LD_PRELOAD", "LD_AUDIT"].iter().find(named) {
        Some(variable) => format!("`{variable}` loads `{}`: unset it where it is not needed.", files[0].0),
        None => "Initialise at the first use what is not needed at each start.".to_owned(),
    };
    let text = format!("Initialisers run before `main`, by samples: {}. {advice}", longest.join(", "));
    Some(Finding::new("initialisers", cost, text).about(files[0].0).saving_all().on(extent))
}

/// The path from the end of linking on, until this much user code has run: with page faults and system calls.
fn before_main(account: &Account, user: Nanos) -> Extent {
    let is_of = |step: &Step, wanted: Role| role(&step.what) == Some(wanted);
    let own =
        account.steps.iter().position(|step| is_of(step, Role::Executable)).unwrap_or(account.steps.len());
    let linked = account.steps[..own].iter().rposition(|step| is_of(step, Role::Loader));
    Extent::of_first_user_code(&account.steps[linked.map_or(0, |linked| linked + 1)..], user)
}

/// Whether a function is one that is called before `main`, and not by another one.
fn is_initialiser(nodes: &[Node], index: usize) -> bool {
    let calls = |caller: usize| CALLERS.iter().any(|known| name(nodes, caller).starts_with(known));
    let is_one = |index: usize| {
        let known = NO_INITIALISERS.contains(&name(nodes, index)) || calls(index);
        let caller =
            nodes[index].caller.filter(|caller| calls(*caller) && is_not_main(nodes, index, *caller));
        caller.is_some() && !known && !is_loader(&nodes[index].frame.module)
    };
    let mut above = std::iter::successors(nodes[index].caller, |caller| nodes[*caller].caller);
    is_one(index) && !above.any(is_one)
}

fn name(nodes: &[Node], index: usize) -> &str {
    nodes[index].frame.function.as_deref().unwrap_or_default()
}

/// The name of glibc's file since version 2.34, which has no version in it.
const LIBC: &str = "libc.so.6";

/// What starts C calls `main`, too. Since version 2.34 a function of glibc stands between them, which has no name if the library
/// is stripped. Before, `main` has no name in a stripped program, or that of the function with which it ends: so this is certain
/// only if `main` is known besides, or if the C library is in the program, because then both have their symbols.
fn is_not_main(nodes: &[Node], index: usize, caller: usize) -> bool {
    if !name(nodes, caller).starts_with("__libc_start_main") {
        return true;
    }
    let file = |index: usize| nodes[index].frame.file();
    if file(caller) == LIBC {
        return file(index) != LIBC;
    }
    let mut beside = (0..nodes.len()).filter(|index| nodes[*index].caller == Some(caller));
    let is_main = |index: usize| ["main", "__libc_start_call_main"].contains(&name(nodes, index));
    !name(nodes, index).is_empty() && (file(index) == file(caller) || beside.any(is_main))
}
