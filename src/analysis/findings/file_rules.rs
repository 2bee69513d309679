//! Findings about files and programs that a start-up brings in.

use super::extent::{Extent, Processes};
use super::floors::floor;
use super::work_rules::for_caller;
use super::wrapped::chain;
use super::{Evidence, Finding, noteworthy};
use crate::analysis::loads::{EXECUTABLE, FILE, LIBRARY, Load, is_code, is_module};
use crate::analysis::profile::{Estimate, Function, Kind};
use crate::analysis::runs::AskedRuntime;
use crate::analysis::{Account, ProcessAccount, Step, What};
use firstbyte_measure::units::Nanos;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A load that is nearly everything, such as the script itself, explains nothing.
const NEARLY_ALL: f64 = 0.98;

/// What the loader does with it is part of dynamic linking.
const LOADER_CACHE: &str = "/etc/ld.so.cache";

/// A settings file, a script or a file with certificates that takes long, with the programs that it starts.
pub(super) fn slow_file(run: &Evidence) -> Option<Finding> {
    let nearly_all = NEARLY_ALL * run.account.total.as_f64();
    let files = run.loads.iter().filter(|load| load.runtime == FILE && load.total.as_f64() < nearly_all);
    let executed =
        || run.account.processes.iter().flat_map(|process| &process.execs).map(|exec| &exec.executed);
    let is_of_modules = |path: &str| executed().any(|program| is_module(path, program));
    let load = files
        .filter(|load| !load.has_suffix("pth") && !is_of_kernel(run, load))
        .filter(|load| load.path() != LOADER_CACHE && !is_program(run, load))
        .filter(|load| !is_of_modules(load.path()) && !load.has_suffix("so"))
        .filter(|load| !variables_with(load.path(), run).is_empty() || !is_last_script(run, load))
        .max_by_key(|load| load.total)?;
    if !noteworthy(load.total, run.account, floor("slow-file")) {
        return None;
    }

    let path = load.path();
    let programs = Nanos(load.total.0 - load.self_time.0);
    let nested =
        if programs.0 > 0 { format!(", {programs} of it in what it starts or reads") } else { String::new() };
    let variables = variables_with(path, run);
    // A shell reads a file at once and then executes it. What it reports itself says which command takes the time.
    let shells = [AskedRuntime::Bash, AskedRuntime::Zsh].map(AskedRuntime::name);
    if variables.is_empty() && run.loads.iter().any(|load| shells.contains(&load.runtime)) {
        return None;
    }
    let text = if variables.is_empty() {
        format!(
            "The start-up reads `{path}` and works on it{nested}. Shorten it, or read it only when it is needed."
        )
    } else {
        format!(
            "The start-up reads `{path}` and works on it{nested}. The environment names this file: {}. Unset the variable \
             where the program does not need the file.",
            variables.join(", ")
        )
    };
    let read = Finding::new("slow-file", load.total, text).about(path);
    let sampled = variables.iter().filter_map(|variable| reader(run, variable));
    let sampled = sampled.max_by_key(|time| Nanos::rounded(time.time));
    let read = match sampled.filter(|time| Nanos::rounded(time.time) > read.cost) {
        Some(time) => read.sampled(time).saving(Nanos::rounded(time.time)),
        // what follows the reading of code is what the code does; what follows that of data may be anything
        None if is_code_of_program(run, path) => read.saving_all(),
        None => read,
    };
    let extent = Extent::of_files(run.account, [(path, read.cost)]);
    Some(read.on(extent))
}

fn is_code_of_program(run: &Evidence, path: &str) -> bool {
    let mut executions = run.account.processes.iter().flat_map(|process| &process.execs);
    executions.any(|exec| is_code(path, &exec.executed, None))
}

/// How long the program waits, while it works on a file, for the programs that it starts.
pub(super) fn programs_of(loads: &[Load], path: &str) -> Nanos {
    let of_file = |load: &&Load| load.runtime == FILE && load.path() == path;
    let longest = loads.iter().filter(of_file).max_by_key(|load| load.total);
    let index = longest.and_then(|longest| loads.iter().position(|load| std::ptr::eq(load, longest)));
    index.map_or(Nanos(0), |index| {
        let inside: Vec<&Load> = loads[index..].iter().filter(|load| load.is_file()).collect();
        Nanos(inside[0].total.0.saturating_sub(without_programs(&inside).0))
    })
}

/// Functions that do all that a variable asks for, and not only what lies between the reads of its file.
const READERS: [(&str, &str); 1] = [("NODE_EXTRA_CA_CERTS", "node::crypto::UseExtraCaCerts")];

/// The time of the function that reads the file of a variable, with all that it calls.
fn reader(run: &Evidence, variable: &str) -> Option<Estimate> {
    let (_, reader) = READERS.into_iter().find(|(name, _)| *name == variable)?;
    let functions = &run.user_code?.divided.functions;
    let is_reader = |function: &&Function| function.frame.function.as_deref() == Some(reader);
    functions.iter().find(is_reader).map(|function| function.total)
}

/// Whether a file is a script that is executed as a program: it does not slow the start-up down, it is what starts up.
fn is_program(run: &Evidence, load: &Load) -> bool {
    let mut executions = run.account.processes.iter().flat_map(|process| &process.execs);
    executions.any(|exec| &*exec.path == load.path())
}

/// The last script that a program reads has the time of all that the program does until its first byte, so how long the
/// script itself takes is not known. The time of the others ends where the next one begins.
fn is_last_script(run: &Evidence, load: &Load) -> bool {
    let mut executions = run.account.processes.iter().flat_map(|process| &process.execs);
    let is_script = executions.any(|exec| is_code(load.path(), &exec.executed, Some(&exec.path)));

    let index = run.loads.iter().position(|other| std::ptr::eq(other, load)).unwrap_or_default();
    let beside = run.loads[index + 1..].iter().take_while(|other| other.depth >= load.depth);
    is_script && !beside.into_iter().any(|other| other.depth == load.depth && other.runtime == FILE)
}

/// A file whose content the kernel makes, unless its own calls take the time: there is nothing in it to work on.
fn is_of_kernel(run: &Evidence, load: &Load) -> bool {
    let path = load.path();
    let calls = run.account.files.iter().find(|file| &*file.path == path).map_or(Nanos(0), |file| file.time);
    (path.starts_with("/proc/") || path.starts_with("/sys/")) && calls.0 * 2 < load.total.0
}

/// The variables of the programs' environment that name a file.
fn variables_with(path: &str, run: &Evidence) -> Vec<String> {
    let names = run.environment.variables_with(path);
    // several runtimes have a variable for the same file: that of a program which takes part is meant
    let executables = || run.loads.iter().filter(|load| load.runtime == EXECUTABLE);
    let meant = |name: &&String| executables().any(|program| name.starts_with(&program.unit.to_uppercase()));
    let chosen: Vec<String> = names.iter().filter(meant).cloned().collect();
    if chosen.is_empty() { names } else { chosen }
}

/// A program that was started, and how often.
#[derive(Clone, Debug, Default)]
struct Started<'l> {
    count: usize,
    total: Nanos,
    /// What the programs of this name start, each without what that starts in turn.
    nested: BTreeMap<&'l str, Nanos>,
}

/// The programs that the program starts, by name, with the processes that are created for them. What a wrapper starts to do
/// the work is the program itself.
pub(super) fn programs(run: &Evidence) -> Option<Finding> {
    let chain = chain(run.account);
    let programs = started(run.loads, &chain);
    let forks = Forks::of(run.account, &chain);
    let executed: Nanos = programs.values().map(|program| program.total).sum();
    let (cost, count) =
        (executed + forks.time, programs.values().map(|program| program.count).sum::<usize>());
    if !noteworthy(cost, run.account, floor("programs")) {
        return None;
    }

    let mut programs: Vec<(&str, Started)> = programs.into_iter().collect();
    programs.sort_by_key(|(_, program)| Reverse(program.total));
    let shown = |(name, program): &(&str, Started)| program.shown(name) + &place(run, name);
    let mut longest: Vec<String> = programs.iter().take(4).map(shown).collect();
    if forks.time.0 * 10 >= cost.0 {
        longest.push(forks.shown());
    }
    let what = match count {
        0 => "processes that do the program's own work".to_owned(),
        1 => "1 program that it starts".to_owned(),
        count => format!("{count} programs that it starts"),
    };
    let text = format!(
        "It waits for {what}: {}. Each one that is not started saves a fork, an exec and a start-up.",
        longest.join(", ")
    );
    let is_other = |pid| chain.iter().all(|process| process.pid != pid);
    let extent = Extent::between(run.account, [Nanos(0), Nanos(u64::MAX)], is_other).and(&forks.extent);
    Some(Finding::new("programs", cost, text).saving_all().on(extent))
}

/// What it takes to create processes: the calls, and what the new processes do before they execute a program, if ever.
struct Forks {
    count: usize,
    time: Nanos,
    extent: Extent,
}

impl Forks {
    fn of(account: &Account, chain: &[&ProcessAccount]) -> Forks {
        let (processes, executions) = (Processes::of(account), account.executions());
        let mut children = BTreeSet::new();
        let mut is_of_fork = |step: &&Step| {
            let pid = processes.at(step.start);
            if chain.iter().any(|process| process.pid == pid) {
                return creates_process(&step.what, chain);
            }
            let Some(own) = executions.at(pid, step.start) else { return false };
            let of_chain = |process: &&ProcessAccount| executions.at(process.pid, step.start);
            let is_copy = chain.iter().filter_map(of_chain).any(|exec| std::ptr::eq(own, exec));
            if is_copy {
                children.insert(pid);
            }
            is_copy
        };
        let extent = Extent::of(account.steps.iter().filter(|step| is_of_fork(step)));
        Forks { count: children.len(), time: extent.total(), extent }
    }

    fn shown(&self) -> String {
        let processes =
            if self.count == 1 { "1 process".to_owned() } else { format!("{} processes", self.count) };
        format!("creating {processes} and their work before an exec {}", self.time)
    }
}

/// Whether a call creates a process that does not lead to the program itself.
fn creates_process(what: &What, chain: &[&ProcessAccount]) -> bool {
    let What::Call { name, text, .. } = what else { return false };
    let creates = matches!(&**name, "fork" | "vfork")
        || matches!(&**name, "clone" | "clone3") && !text.contains("CLONE_THREAD");
    creates && !chain.iter().any(|process| text.ends_with(&format!(" = {}", process.pid)))
}

/// The line of a shell's file that starts a program, by the shell's own report: `, from plug.zsh:3`.
fn place(run: &Evidence, program: &str) -> String {
    let of_program = || run.commands.iter().filter(|command| command.program == program);
    let mut places: BTreeMap<&str, Nanos> = BTreeMap::new();
    for command in of_program() {
        let time = places.entry(&command.place).or_default();
        *time = *time + command.time.unwrap_or_default();
    }
    let longest = places.iter().max_by_key(|(_, time)| **time);
    let Some((longest, _)) = longest else { return String::new() };
    match places.len() {
        1 => format!(", from {longest}"),
        count if of_program().any(|command| command.time.is_none()) => format!(", from {count} lines"),
        _ => format!(", mostly from {longest}"),
    }
}

/// How long the programs work that the first program starts.
pub(super) fn executed(loads: &[Load]) -> Nanos {
    started(loads, &[]).values().map(|program| program.total).sum()
}

/// The programs that the processes of a chain start, each with those that it starts in turn.
fn started<'l>(loads: &'l [Load], chain: &[&ProcessAccount]) -> BTreeMap<&'l str, Started<'l>> {
    let loads: Vec<&Load> = loads.iter().filter(|load| load.is_file()).collect();
    let leading = leading(&loads, chain);
    let mut programs: BTreeMap<&str, Started> = BTreeMap::new();
    let mut outside: Option<(u32, &str)> = None;
    for (index, load) in loads.iter().enumerate() {
        outside = outside.filter(|(depth, _)| load.depth > *depth);
        if load.runtime != EXECUTABLE || load.depth == 0 || leading.contains(&index) {
            continue;
        }
        let time = without_programs(&loads[index..]);
        if let Some((_, name)) = outside {
            let nested = programs.entry(name).or_default().nested.entry(&load.unit).or_default();
            *nested = *nested + time;
        } else {
            outside = Some((load.depth, &load.unit));
            let program = programs.entry(&load.unit).or_default();
            (program.count, program.total) = (program.count + 1, program.total + load.total);
        }
    }
    programs
}

/// The places of the loads that lead to the program itself: each is the longest one of its file within the one before.
fn leading(loads: &[&Load], chain: &[&ProcessAccount]) -> BTreeSet<usize> {
    let mut places = BTreeSet::new();
    let mut inside = 0..loads.len();
    for exec in chain.iter().skip(1).filter_map(|process| process.execs.last()) {
        let is_one = |index: &usize| {
            let load = loads[*index];
            load.runtime == EXECUTABLE && load.depth > 0 && load.path() == &*exec.path
        };
        let Some(place) = inside.clone().filter(is_one).max_by_key(|index| loads[*index].total) else {
            break;
        };
        let deeper = loads[place + 1..].iter().take_while(|load| load.depth > loads[place].depth).count();
        places.insert(place);
        inside = place + 1..place + 1 + deeper;
    }
    places
}

/// The time of the first of these loads, without that of the programs that it starts.
fn without_programs(loads: &[&Load]) -> Nanos {
    let mut rest = loads[0].total.0;
    let mut inside: Option<u32> = None;
    for load in loads[1..].iter().take_while(|load| load.depth > loads[0].depth) {
        inside = inside.filter(|depth| load.depth > *depth);
        if load.runtime == EXECUTABLE && inside.is_none() {
            inside = Some(load.depth);
            rest = rest.saturating_sub(load.total.0);
        }
    }
    Nanos(rest)
}

impl Started<'_> {
    /// `cc 150 ms (2 times, of it cc1 62 ms, ld 40 ms)`.
    fn shown(&self, name: &str) -> String {
        let times = (self.count > 1).then(|| format!("{} times", self.count));
        let mut nested: Vec<(&&str, &Nanos)> = self.nested.iter().collect();
        nested.sort_by_key(|(_, time)| Reverse(**time));
        let large = nested.iter().filter(|(_, time)| time.0 * 5 >= self.total.0).take(2);
        let large: Vec<String> = large.map(|(name, time)| format!("`{name}` {time}")).collect();
        let of_it = (!large.is_empty()).then(|| format!("of it {}", large.join(", ")));
        let more: Vec<String> = times.into_iter().chain(of_it).collect();
        let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join(", ")) };
        format!("`{name}` {}{more}", self.total)
    }
}

/// Python modules without a compiled file are compiled at each start. Those that Python itself reports as imported count:
/// other programs, and Python's own tools, read sources as data.
pub(super) fn uncompiled_python(run: &Evidence) -> Option<Finding> {
    let files = || run.loads.iter().filter(|load| load.runtime == FILE);
    let is_compiled = |load: &&Load| {
        let stem = load.unit.trim_end_matches(".py");
        files().any(|other| {
            other.unit.strip_prefix(stem).is_some_and(|rest| rest.starts_with('.') && other.has_suffix("pyc"))
        })
    };
    let is_imported = |load: &&Load| {
        let stem = load.unit.trim_end_matches(".py");
        let reported = run.loads.iter().filter(|other| other.runtime == AskedRuntime::Python.name());
        reported.into_iter().any(|other| other.unit.rsplit('.').next() == Some(stem))
    };
    let sources: Vec<&Load> =
        files().filter(|load| load.has_suffix("py") && !is_compiled(load)).filter(is_imported).collect();
    if sources.len() < 3 {
        return None;
    }

    let cost: Nanos = sources.iter().map(|load| load.self_time).sum();
    let folder =
        sources[0].file.as_deref().and_then(|path| path.rsplit_once('/')).map_or(".", |(folder, _)| folder);
    let text = format!(
        "Python compiles {} modules{}, because they have no .pyc files. `python3 -m compileall {folder}` writes them, where \
         PYTHONDONTWRITEBYTECODE is set or the folder cannot be written.",
        sources.len(),
        for_caller(run, Kind::PythonModules, "imported by")
    );
    let extent = Extent::of_files(run.account, sources.iter().map(|load| (load.path(), load.self_time)));
    Some(Finding::new("uncompiled-python", cost, text).saving_all().on(extent))
}

/// Variables that make programs load files, and the programs.
const LOADING: [(&str, &str); 9] = [
    ("LD_PRELOAD", "every program"),
    ("LD_AUDIT", "every program"),
    ("JAVA_TOOL_OPTIONS", "every Java program"),
    ("JDK_JAVA_OPTIONS", "every Java program"),
    ("_JAVA_OPTIONS", "every Java program"),
    ("NODE_OPTIONS", "every Node program"),
    ("RUBYOPT", "every Ruby program"),
    ("PERL5OPT", "every Perl program"),
    ("BASH_ENV", "every script of bash"),
];

/// Files that the environment makes programs load before their own.
pub(super) fn preloaded(run: &Evidence) -> Option<Finding> {
    let finding = |(name, programs): (&str, &str)| {
        let value = run.environment.value(name)?.to_string_lossy();
        let loads: Vec<&Load> = run.loads.iter().filter(|load| is_named_in(&value, load)).collect();
        let cost: Nanos = loads.iter().map(|load| load.total).sum();
        let mut names: Vec<String> = loads.iter().map(|load| format!("`{}`", load.path())).collect();
        names.dedup();
        let text =
            format!("`{name}` makes {programs} load {}. Unset it where it is not needed.", names.join(", "));
        let extent = Extent::of_files(run.account, loads.iter().map(|load| (load.path(), load.total)));
        (!loads.is_empty()).then(|| Finding::new("preloaded", cost, text).about(name).saving_all().on(extent))
    };
    LOADING.into_iter().filter_map(finding).max_by_key(|finding| finding.cost)
}

/// Whether the value of a variable names the file: alone, in a list, or as part of an option (`-javaagent:/a/b.jar=c`).
fn is_named_in(value: &str, load: &Load) -> bool {
    let mut words = value.split([':', ' ', '=', ',']);
    let is_named = |word: &str| {
        load.path() == word || load.path().strip_suffix(word).is_some_and(|folder| folder.ends_with('/'))
    };
    matches!(load.runtime, FILE | LIBRARY) && words.any(|word| !word.is_empty() && is_named(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_that_a_variable_names_are_found_in_lists_and_options() {
        let named = |runtime, path: &str, value: &str| {
            let load = Load {
                runtime,
                unit: path.rsplit('/').next().unwrap_or_default().to_owned(),
                file: Some(path.into()),
                self_time: Nanos(1),
                total: Nanos(1),
                depth: 1,
            };
            is_named_in(value, &load)
        };
        assert!(named(LIBRARY, "/lib/liba.so", "/lib/libb.so:/lib/liba.so"));
        assert!(named(LIBRARY, "/lib/liba.so", "liba.so"));
        assert!(named(FILE, "/opt/agent.jar", "-Xmx1g -javaagent:/opt/agent.jar=trace"));
        assert!(!named(FILE, "/opt/agent.jar", "-Dname=gent.jar"));
        assert!(!named(LIBRARY, "/lib/liba.so", ""));
        assert!(!named(EXECUTABLE, "/bin/a", "/bin/a"));
    }
}
