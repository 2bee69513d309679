//! The user's own functions, in the program's own language: each has the time of the libraries that it calls.

use super::packages::package;
use super::{Evidence, noteworthy};
use crate::analysis::profile::{Frame, Import, Imported, Node, SourceLine, is_library};
use firstbyte_measure::units::Nanos;
use std::collections::BTreeMap;

/// Smaller parts of the program's time are not named.
const NAMED: f64 = 0.05;
/// The most functions that are named.
const FUNCTIONS: usize = 3;
/// What a function calls is named if it has this part of its time.
const MOSTLY: f64 = 0.3;
/// The most statements that are named.
const STATEMENTS: usize = 3;

/// One function of the user, without the other ones that it calls.
#[derive(Default)]
struct Own<'n> {
    time: f64,
    /// By the user's function that called it.
    callers: BTreeMap<&'n Frame, f64>,
    /// By the library function that it called.
    callees: BTreeMap<String, f64>,
}

/// The functions of the user in the tree of calls below a root: the name of the longest one, and a clause for each;
/// `None`: they have little of its time.
pub(super) fn own_functions(nodes: &[Node], root: usize) -> Option<(String, String)> {
    let all = nodes[root].time;
    let mut functions: Vec<(&Frame, Own<'_>)> = own(nodes, root).into_iter().collect();
    functions.retain(|(_, own)| own.time >= NAMED * all);
    functions.sort_by(|a, b| b.1.time.total_cmp(&a.1.time));
    functions.truncate(FUNCTIONS);

    let (longest, _) = functions.first()?;
    let clauses: Vec<String> = functions.iter().map(|(frame, own)| clause(frame, own)).collect();
    let name = longest.function.as_deref().map_or_else(|| longest.place(), str::to_owned);
    Some((name, clauses.join("; ")))
}

fn own(nodes: &[Node], root: usize) -> BTreeMap<&Frame, Own<'_>> {
    let mut itself: Vec<f64> = nodes.iter().map(|node| node.time).collect();
    for node in nodes {
        node.caller.into_iter().for_each(|caller| itself[caller] -= node.time);
    }

    let mut all = BTreeMap::<&Frame, Own<'_>>::new();
    for (index, time) in itself.into_iter().enumerate() {
        let stack: Vec<usize> = std::iter::successors(Some(index), |inner| nodes[*inner].caller).collect();
        let frames: Vec<&Frame> = stack.iter().map(|index| &nodes[*index].frame).collect();
        let Some(at) = frames.iter().position(|frame| is_own(frame)) else { continue };
        if stack.last() != Some(&root) || frames.iter().any(|frame| precedes_program(frame)) {
            continue;
        }

        let function = all.entry(frames[at]).or_default();
        function.time += time;
        let above = frames[at + 1..].iter().find(|frame| is_own(frame) && **frame != frames[at]);
        if let Some(above) = above {
            *function.callers.entry(above).or_default() += time;
        }
        if let Some(below) = at.checked_sub(1) {
            *function.callees.entry(called(frames[below])).or_default() += time;
        }
    }
    all
}

/// Whether a function belongs to the program itself, not to a library.
fn is_own(frame: &Frame) -> bool {
    frame.source.is_some() && !is_library(frame)
}

fn precedes_program(frame: &Frame) -> bool {
    frame.source.as_ref().is_some_and(SourceLine::precedes_program)
}

/// How a library function is called that a user's function calls.
fn called(frame: &Frame) -> String {
    if frame.source.as_ref().is_some_and(|source| source.file.starts_with("<frozen importlib")) {
        return "imports".to_owned();
    }
    format!("`{}`", frame.function.as_deref().map_or_else(|| frame.place(), str::to_owned))
}

/// The statements of the program's own code that import the most, a sentence; nothing where they are not known.
pub(super) fn statements(run: &Evidence) -> String {
    let imports = run.user_code.iter().flat_map(|code| &code.divided.imports);
    let mut imports: Vec<&Import> =
        imports.filter(|it| noteworthy(Nanos::rounded(it.self_time), run.account, 1)).collect();
    imports.sort_by(|a, b| b.self_time.total_cmp(&a.self_time));
    let shown = |it: &&Import| {
        let modules: Vec<String> =
            it.modules.iter().take(2).map(|it| format!("`{}`", imported(it))).collect();
        let modules = if modules.is_empty() { String::new() } else { format!(" ({})", modules.join(", ")) };
        format!("`{}` {}{modules}", it.place(), Nanos::rounded(it.self_time))
    };
    let shown: Vec<String> = imports.iter().take(STATEMENTS).map(shown).collect();
    if shown.is_empty() {
        return String::new();
    }
    format!(" The program imports the most at {}, by samples of user code.", shown.join(", "))
}

/// The package of a module; of one in no package, its file.
fn imported(module: &Imported) -> &str {
    let name = package(&module.file);
    if name.contains('/') { module.file.rsplit('/').next().unwrap_or_default() } else { name }
}

/// `load_plugins` (plugins.py:41)
pub(super) fn named(frame: &Frame) -> String {
    match &frame.function {
        Some(function) => format!("`{function}` ({})", frame.place()),
        None => format!("`{}`", frame.place()),
    }
}

fn clause(frame: &Frame, own: &Own<'_>) -> String {
    let above = own.callers.iter().max_by(|a, b| a.1.total_cmp(b.1));
    let above = above.map_or(String::new(), |(caller, _)| format!(", called by {}", named(caller)));
    let mostly = own.callees.iter().max_by(|a, b| a.1.total_cmp(b.1));
    let mostly = mostly.filter(|(_, time)| **time >= MOSTLY * own.time);
    let mostly =
        mostly.map_or(String::new(), |(callee, time)| format!(": of it {callee} {}", Nanos::rounded(*time)));
    format!("{} {}{above}{mostly}", named(frame), Nanos::rounded(own.time))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(caller: Option<usize>, name: &str, file: &str, line: u32, time: f64) -> Node {
        let source = SourceLine { language: "Python", file: file.into(), line };
        let module = if file.contains("/lib/") || file.starts_with("<frozen ") {
            "Python's standard library"
        } else {
            file
        };
        let frame = Frame { module: module.into(), function: Some(name.into()), source: Some(source) };
        Node { caller, frame, time: time * 1e6 }
    }

    fn program(time: f64) -> Node {
        Node { caller: None, frame: Frame::native("/bin/python3", Some("python3".into())), time: time * 1e6 }
    }

    #[test]
    fn libraries_are_charged_to_the_function_that_calls_them() {
        let nodes = [
            program(300.0),
            node(Some(0), "<module>", "/app/cli.py", 1, 300.0),
            node(Some(1), "main", "/app/cli.py", 9, 250.0),
            node(Some(2), "load_plugins", "/app/plugins.py", 41, 210.0),
            node(Some(3), "compile", "/lib/python3.11/re/__init__.py", 7, 160.0),
            node(Some(4), "parse", "/lib/python3.11/re/_parser.py", 8, 100.0),
            node(Some(1), "_find_and_load", "<frozen importlib._bootstrap>", 1, 50.0),
        ];
        let (longest, text) = own_functions(&nodes, 0).unwrap();
        assert_eq!(longest, "load_plugins");
        assert_eq!(
            text,
            "`load_plugins` (plugins.py:41) 210 ms, called by `main` (cli.py:9): of it `compile` 160 ms; \
             `<module>` (cli.py:1) 50.0 ms: of it imports 50.0 ms; `main` (cli.py:9) 40.0 ms, called by `<module>` (cli.py:1)"
        );
    }

    #[test]
    fn what_comes_before_the_program_is_not_the_programs() {
        let nodes = [
            program(300.0),
            node(Some(0), "main", "<frozen site>", 584, 300.0),
            node(Some(1), "<module>", "<string>", 1, 300.0),
        ];
        assert_eq!(own_functions(&nodes, 0), None);
        assert_eq!(own_functions(&nodes[..1], 0), None);
    }
}
