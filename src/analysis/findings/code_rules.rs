//! Findings about user code, by its samples.

use super::extent::Extent;
use super::floors::floor;
use super::language_rules::own_functions;
use super::work_rules::for_caller;
use super::{Evidence, Finding, REST, loading_rules, noteworthy};
use crate::analysis::Account;
use crate::analysis::loads::{EXECUTABLE, Load};
use crate::analysis::profile::{COLLECTORS, ENTRIES, Function, GENERATED, Kind, Node};
use crate::analysis::symbols::V8_BUILTIN;
use crate::analysis::user_code::is_loader;
use firstbyte_measure::units::Nanos;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The function whose own code takes the longest.
pub(super) fn hottest_function(run: &Evidence) -> Option<Finding> {
    let functions = &run.user_code?.divided.functions;
    let function = functions.iter().find(|function| function.frame.function.is_some())?;
    let name = function.frame.function.as_deref()?;
    // what collects garbage has a finding of its own
    let says_nothing = executes_cpuid(run, name) || interprets(name) || collects(name);
    if !noteworthy(Nanos::rounded(function.self_time.time), run.account, floor("hottest-function"))
        || says_nothing
    {
        return None;
    }
    let of = if functions.first().is_some_and(|first| first.frame.function.is_none()) {
        "the user code that has names"
    } else {
        "all user code"
    };
    let text = format!(
        "The function `{name}` of `{}` takes the most time of {of}, by samples{}. `--export-folded` shows who calls it.",
        function.frame.place(),
        lines(function)
    );
    let extent = Extent::of_user_code(run.account, |_| true).part(Nanos::rounded(function.self_time.time));
    Some(Finding::new("hottest-function", Nanos(0), text).about(name).sampled(function.self_time).on(extent))
}

/// The line that has most of the function's time, where that is known.
fn lines(function: &Function) -> String {
    let all: f64 = function.lines.iter().map(|line| line.time).sum();
    let most = function.lines.iter().max_by(|a, b| a.time.total_cmp(&b.time));
    let most = most.filter(|line| line.time >= MAX_SHARE * all);
    most.map_or(String::new(), |line| format!(", most of it on line {}", line.line))
}

/// Functions in which an interpreter executes its programs, whatever these do.
const INTERPRETING: [&str; 6] = [
    "_PyEval_EvalFrameDefault",
    V8_BUILTIN,
    "Perl_runops_standard",
    "execute_ex",
    "luaV_execute",
    "vm_exec_core",
];

fn interprets(function: &str) -> bool {
    INTERPRETING.iter().any(|known| function.starts_with(known))
}

/// What they do.
pub(super) const INTERPRETED: &str = "the program that it interprets";

/// glibc's functions that ask the processor what it can do.
const OF_CPUID: [&str; 7] = [
    "dl_init_cacheinfo",
    "get_common",
    "handle_amd",
    "handle_intel",
    "init_cpu_features",
    "intel_check_word",
    "update_active",
];

/// Whether the finding about CPUID instructions has this function's time.
fn executes_cpuid(run: &Evidence, function: &str) -> bool {
    OF_CPUID.iter().any(|known| function.starts_with(known))
        && loading_rules::trapped_instructions(run.account, run.machine).is_some()
}

/// A function that has this part of the program's time explains little: what it calls is named.
const MAX_SHARE: f64 = 0.5;
/// Unless what it calls has less than this part of its own time.
const DIVIDED: f64 = 0.6;
/// Functions that only call what an event asks for.
const DISPATCHERS: [&str; 2] = ["uv__io_poll", "uv__async_io"];

/// Of the functions that call a program the only one that may also be the program.
const MAIN: &str = "main";

/// Whether a function only calls the program, its thread or what an event asks for. One without a name says no more.
fn is_entry(function: &str) -> bool {
    // compilers mark the parts of a function that they divide
    let whole = function.split(".part.").next().unwrap_or_default();
    ENTRIES.contains(&whole) || DISPATCHERS.contains(&whole)
}

/// Smaller parts are not named.
const NAMED: f64 = 0.05;

/// All user code of a run, if it has so much that a finding would be about it.
pub(super) fn much_user_code(account: &Account) -> Option<Nanos> {
    let user = Extent::of_user_code(account, |_| true).total();
    noteworthy(user, account, floor(REST)).then_some(user)
}

/// What the program with the most user code works on: the functions among which the tree of its calls divides its time. The
/// cost becomes smaller by what other findings explain.
pub(super) fn user_code(run: &Evidence) -> Option<Finding> {
    let nodes = &run.user_code?.divided.nodes;
    let roots = nodes.iter().enumerate().filter(|(_, node)| node.caller.is_none());
    let (root, program) = roots.max_by(|(_, a), (_, b)| a.time.total_cmp(&b.time))?;
    let cost = Nanos::rounded(program.time);
    if !noteworthy(cost, run.account, floor(REST)) {
        return None;
    }

    let name = program.frame.file();
    let extent = Extent::of_program(run.account, name, cost);
    if let Some((longest, functions)) = own_functions(nodes, root) {
        let text = format!(
            "The program's own code: `{name}` computes {cost}, by samples with all that it calls: {functions}. \
             `--export-folded` shows all functions."
        );
        return Some(Finding::new("user-code", cost, text).about(&longest).on(extent));
    }

    let parts = parts(nodes, root);
    let native = native_part(nodes, root);
    let of_it = native.as_ref().map_or(String::new(), |(name, time)| format!(" (of it `{name}` {time})"));
    let shown_part = |(name, time): &(String, Nanos)| {
        format!("{name} {time}{}", if name == INTERPRETED { &of_it } else { "" })
    };
    let shown: Vec<String> = parts.iter().take(4).map(shown_part).collect();
    let divided = if shown.is_empty() {
        "; most of its functions have no names".to_owned()
    } else {
        format!(": {}", shown.join(", "))
    };
    let unnamed = unnamed_part(run, cost).unwrap_or_default();
    let text = format!(
        "The program's own code: `{name}` computes {cost}, by samples with all that it calls{divided}.{unnamed} \
         `--export-folded` shows all functions."
    );
    let mostly = match (parts.first(), &native) {
        (Some((part, _)), Some((native, _))) if part == INTERPRETED => native,
        (part, _) => part.map_or(name, |(part, _)| part.as_str()),
    };
    Some(Finding::new("user-code", cost, text).about(mostly).on(extent))
}

/// Says which file's code takes at least a quarter of the time, but has no names.
fn unnamed_part(run: &Evidence, cost: Nanos) -> Option<String> {
    let functions = &run.user_code?.divided.functions;
    let nameless = functions.iter().filter(|function| function.frame.function.is_none());
    let most = nameless.max_by(|a, b| a.self_time.time.total_cmp(&b.self_time.time))?;
    let (file, time) = (most.frame.file(), Nanos::rounded(most.self_time.time));
    let text =
        format!(" Functions of `{file}` without names take {time}: its debug symbols would name them.");
    (time.0 * 4 >= cost.0 && &*most.frame.module != GENERATED).then_some(text)
}

/// The functions that divide the time of a program, each with what it calls; the longest first.
fn parts(nodes: &[Node], root: usize) -> Vec<(String, Nanos)> {
    let all = nodes[root].time;
    let mut called: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (index, node) in nodes.iter().enumerate().filter(|(_, node)| node.time >= NAMED * all) {
        node.caller.into_iter().for_each(|caller| called[caller].push(index));
    }

    let (mut open, mut times) = (vec![root], BTreeMap::<String, f64>::new());
    while let Some(index) = open.pop() {
        let (time, name) = (nodes[index].time, nodes[index].frame.function.as_deref());
        let inside: f64 = called[index].iter().map(|inner| nodes[*inner].time).sum();
        let interprets = name.is_some_and(interprets);
        let is_entry = nodes[index].frame.source.is_none() && name.is_none_or(is_entry);
        // other findings have the loader's time, but not that of the initialisers that it calls
        let is_loader = is_loader(&nodes[index].frame.module);
        if index == root
            || is_loader
            || is_entry && inside > 0.0
            || time >= MAX_SHARE * all && inside >= DIVIDED * time && !interprets
        {
            open.extend(&called[index]);
            let itself = name.filter(|_| is_entry && !is_loader && time - inside >= MAX_SHARE * all);
            if let Some(name) = itself {
                *times.entry(format!("`{name}` itself")).or_default() += time - inside;
            }
        } else if let Some(name) = name.filter(|name| !is_entry || *name == MAIN) {
            let place = nodes[index].frame.source.as_ref().map(|_| nodes[index].frame.place());
            let place = place.map_or(String::new(), |place| format!(" ({place})"));
            let shown = if interprets { INTERPRETED.to_owned() } else { format!("`{name}`{place}") };
            *times.entry(shown).or_default() += time;
        }
    }

    let mut parts: Vec<(String, Nanos)> =
        times.into_iter().map(|(name, time)| (name, Nanos::rounded(time))).collect();
    parts.sort_by_key(|(_, time)| Reverse(*time));
    parts
}

/// A native function that an interpreted program calls is named if it has this part of all.
const NATIVE: f64 = 0.25;

/// The native function that takes the longest, with all that it calls, of those that the interpreted program calls: a parser
/// of JSON, for example. Functions in the interpreter's own file, and those that call it again, belong to it.
fn native_part(nodes: &[Node], root: usize) -> Option<(String, Nanos)> {
    let name = |index: usize| nodes[index].frame.function.as_deref();
    let callers = |index: usize| std::iter::successors(nodes[index].caller, |caller| nodes[*caller].caller);
    let is_interpreter = |index: usize| name(index).is_some_and(interprets);
    let is_inside = |index: &usize| {
        let interpreter = callers(*index).find(|caller| is_interpreter(*caller));
        interpreter.is_some_and(|caller| nodes[caller].frame.module != nodes[*index].frame.module)
            && callers(*index).last() == Some(root)
    };
    let interpreters = (0..nodes.len()).filter(|index| is_interpreter(*index));
    let call_it: BTreeSet<&str> = interpreters.flat_map(callers).filter_map(name).collect();

    let mut times: BTreeMap<&str, (f64, Reverse<usize>)> = BTreeMap::new();
    for index in (0..nodes.len()).filter(is_inside) {
        let Some(function) =
            name(index).filter(|name_of_it| !call_it.contains(name_of_it) && !interprets(name_of_it))
        else {
            continue;
        };
        if callers(index).all(|caller| name(caller) != Some(function)) {
            times.entry(function).or_insert((0.0, Reverse(index))).0 += nodes[index].time;
        }
    }
    let (name, (time, _)) =
        times.into_iter().max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))?;
    (time >= NATIVE * nodes[root].time).then(|| (name.to_owned(), Nanos::rounded(time)))
}

fn collects(function: &str) -> bool {
    COLLECTORS.iter().any(|known| function.starts_with(known))
}

/// Garbage collection while the program starts or ends.
pub(super) fn garbage_collection(run: &Evidence) -> Option<Finding> {
    let is_collector = |function: &&Function| function.frame.function.as_deref().is_some_and(collects);
    let function = run
        .user_code?
        .divided
        .functions
        .iter()
        .filter(is_collector)
        .max_by(|a, b| a.total.time.total_cmp(&b.total.time))?;
    let name = function.frame.function.as_deref().unwrap_or_default();
    let caused = for_caller(run, Kind::GarbageCollection, "during");
    let collected = format!("Garbage collection (`{name}` and what it calls, by samples{caused})");
    let extent = Extent::of_user_code(run.account, |_| true).part(Nanos::rounded(function.total.time));
    let finding =
        |text| Finding::new("garbage-collection", Nanos(0), text).sampled(function.total).on(extent);
    if !is_python(&function.frame.module) {
        let text = format!(
            "{collected}. Nothing that starts up is garbage: a larger first heap is collected later."
        );
        return Some(finding(text));
    }

    let exit = Nanos::rounded(below(&run.user_code?.divided.nodes, name, &FINALIZING));
    let at_exit = if exit == Nanos(0) { String::new() } else { format!(", {exit} of it while Python ends") };
    let text = format!(
        "{collected}{at_exit}. Nothing that starts up is garbage: `gc.disable()` before the imports and `gc.freeze()` \
         after them spare all of it; `gc.disable()` alone leaves the collections at the end, which `os._exit()` skips."
    );
    let freed = Nanos::rounded(freeing(&run.user_code?.divided.nodes, name));
    let finding = finding(text);
    let saves = Nanos(finding.cost.0.saturating_sub(freed.0));
    Some(finding.saving(saves))
}

/// The time in which a collector frees what it has found: without it, something else would.
fn freeing(nodes: &[Node], collector: &str) -> f64 {
    let name = |index: usize| nodes[index].frame.function.as_deref().unwrap_or_default();
    let above = |index: usize| std::iter::successors(nodes[index].caller, |caller| nodes[*caller].caller);
    let frees = |index: usize| {
        let name = name(index);
        name == "_Py_Dealloc"
            || name == "delete_garbage"
            || name.ends_with("_dealloc")
            || name.ends_with("_clear")
    };
    let outermost = |index: &usize| {
        frees(*index)
            && above(*index).take_while(|caller| name(*caller) != collector).all(|it| !frees(it))
            && above(*index).any(|caller| name(caller) == collector)
    };
    (0..nodes.len()).filter(outermost).map(|index| nodes[index].time).sum()
}

pub(super) fn is_python(module: &str) -> bool {
    let file = module.rsplit('/').next().unwrap_or_default();
    file.starts_with("python") || file.starts_with("libpython")
}

/// Functions in which Python ends.
const FINALIZING: [&str; 4] = ["Py_FinalizeEx", "Py_RunMain.cold", "finalize_modules", "_PyGC_CollectNoFail"];

/// The time of a function, with all that it calls, where one of these functions calls it.
fn below(nodes: &[Node], function: &str, callers: &[&str]) -> f64 {
    let name = |index: usize| nodes[index].frame.function.as_deref();
    let above = |index: usize| std::iter::successors(nodes[index].caller, |caller| nodes[*caller].caller);
    let outermost = |index: &usize| {
        name(*index) == Some(function)
            && above(*index).all(|caller| name(caller) != Some(function))
            && above(*index).any(|caller| name(caller).is_some_and(|name| callers.contains(&name)))
    };
    (0..nodes.len()).filter(outermost).map(|index| nodes[index].time).sum()
}

/// Code that the programs generate while they run. Files contain the interpreters of most languages, but not that of Java.
pub(super) fn generated_code(run: &Evidence) -> Option<Finding> {
    let module = run.user_code?.divided.modules.iter().find(|module| &*module.module == GENERATED)?;
    if !noteworthy(Nanos::rounded(module.self_time.time), run.account, floor("generated-code")) {
        return None;
    }
    let is_java = |load: &&Load| load.runtime == EXECUTABLE && load.unit.starts_with("java");
    let text = if run.loads.iter().any(|load| is_java(&load)) {
        "Java executes bytecode: its interpreter, which is generated at the start, and the code that it compiles just in \
         time take this long, by samples. `-XX:TieredStopAtLevel=1` compiles sooner and less; code that was compiled ahead \
         of time needs neither."
    } else {
        "Code that is generated while the program runs, as by a just-in-time compiler, takes this long, by samples. It is \
         generated again at every start."
    };
    let extent = Extent::of_user_code(run.account, |_| true).part(Nanos::rounded(module.self_time.time));
    Some(Finding::new("generated-code", Nanos(0), text.to_owned()).sampled(module.self_time).on(extent))
}
