//! A finding about modules of interpreted languages, by the files that are read.

use super::extent::Extent;
use super::floors::floor;
use super::language_rules::statements;
use super::packages::package;
use super::{Evidence, Finding, noteworthy};
use crate::analysis::loads::{EXECUTABLE, FILE, Load, is_module};
use crate::analysis::{Step, What};
use firstbyte_measure::units::Nanos;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Fewer modules are the program itself.
const MIN_MODULES: usize = 5;

/// Programs that execute modules, by the beginnings of their names. Others read them as data.
const INTERPRETERS: [&str; 16] = [
    "R", "beam", "bun", "deno", "emacs", "guile", "lua", "node", "nvim", "perl", "php", "pypy", "python",
    "ruby", "tclsh", "vim",
];

/// Archives of code. What follows their reading is what all their code does.
const ARCHIVES: [&str; 6] = ["egg", "jar", "jmod", "jsa", "whl", "zip"];

/// The modules that the programs read, by package. The last one that a program reads has the time of all that the program does
/// until its first byte, so how long the module itself takes is not known.
pub(super) fn modules(run: &Evidence) -> Option<Finding> {
    let modules: Vec<&Load> = of_programs(run).into_iter().flat_map(but_the_last).collect();
    let cost: Nanos = modules.iter().map(|load| load.self_time).sum();
    if modules.len() < MIN_MODULES || !noteworthy(cost, run.account, floor("modules")) {
        return None;
    }

    let mut packages: BTreeMap<&str, (usize, Nanos)> = BTreeMap::new();
    for module in &modules {
        let package = packages.entry(package(module.path())).or_default();
        *package = (package.0 + 1, package.1 + module.self_time);
    }
    let mut packages: Vec<(&str, (usize, Nanos))> = packages.into_iter().collect();
    packages.sort_by_key(|(_, (_, time))| Reverse(*time));
    let shown = |(name, (count, time)): &(&str, (usize, Nanos))| format!("`{name}` {time} ({count})");
    let longest: Vec<String> = packages.iter().take(4).map(shown).collect();
    let uncertain = if several_threads_read(run, &modules) {
        " Several threads read modules, so a package's time can contain work on another one."
    } else {
        ""
    };
    let text = format!(
        "It reads {} modules, and works on each until it reads the next one. The longest packages: {}.{uncertain}{} Load \
         what is not always needed where it is used, not at the start.",
        modules.len(),
        longest.join(", "),
        statements(run)
    );
    let extent = Extent::of_files(run.account, modules.iter().map(|load| (load.path(), load.self_time)));
    Some(Finding::new("modules", cost, text).saving_all().on(extent))
}

/// Whether more than one thread of a process opened these modules. While one thread works on its module, another one may
/// open the next.
fn several_threads_read(run: &Evidence, modules: &[&Load]) -> bool {
    let paths: BTreeSet<&str> = modules.iter().map(|load| load.path()).collect();
    let opens = |step: &Step| match &*step.what {
        What::Call { file: Some(file), failed: false, .. } => step.what.opens() && paths.contains(&**file),
        _ => false,
    };
    let mut readers = BTreeSet::new();
    let reading = run.account.threads.iter().filter(|thread| thread.steps.iter().any(opens));
    reading.into_iter().any(|thread| !readers.insert(thread.pid))
}

/// The modules of each program that executes modules.
fn of_programs<'e>(run: &'e Evidence) -> Vec<Vec<&'e Load>> {
    // the programs around the load, each with its depth and its modules
    let mut around: Vec<(&Load, Vec<&Load>)> = Vec::new();
    let mut done = Vec::new();
    for load in run.loads.iter().filter(|load| load.is_file()) {
        while around.last().is_some_and(|(program, _)| program.depth >= load.depth) {
            done.extend(around.pop().map(|(_, modules)| modules));
        }
        if load.runtime == EXECUTABLE {
            around.push((load, Vec::new()));
        } else if let Some((program, modules)) = around.last_mut()
            && is_own_module(run, program, load)
        {
            modules.push(load);
        }
    }
    done.extend(around.into_iter().map(|(_, modules)| modules));
    done
}

fn but_the_last(mut modules: Vec<&Load>) -> Vec<&Load> {
    modules.pop();
    modules
}

/// `program`: the load that reads the module.
fn is_own_module(run: &Evidence, program: &Load, load: &Load) -> bool {
    let path = load.path();
    let interprets = |file: &str| {
        let name = file.rsplit('/').next().unwrap_or_default();
        INTERPRETERS.iter().any(|known| name.starts_with(known)) && is_module(path, file)
    };
    // a script is the program, and its interpreter is executed
    let mut executed = run.account.processes.iter().flat_map(|process| &process.execs);
    load.runtime == FILE
        && executed.any(|exec| *exec.path == *program.path() && interprets(&exec.executed))
        && !path.ends_with("/modules")
        && !ARCHIVES.iter().any(|suffix| load.has_suffix(suffix))
}
