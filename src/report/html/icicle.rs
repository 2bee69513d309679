//! What called what, or started what, in columns for the page's script.

use super::block::PageBlock;
use super::packed::packed;
use crate::document::trace::{TraceCall, TraceProgram, TraceSource};
use crate::document::watch::{WatchDocument, WatchNode};
use crate::output::visible;
use serde::Serialize;

#[derive(Serialize)]
struct Columns {
    texts: Texts,
    tree: Tree,
    /// The same with more; `null`: there is no more.
    whole: Option<Tree>,
}

/// Every column has an entry for each node.
#[derive(Serialize)]
struct Tree {
    /// The place of each caller; -1 for a root.
    callers: Vec<i64>,
    names: Vec<String>,
    files: Vec<String>,
    /// What the colours stand for.
    groups: Vec<String>,
    /// The source line, where it is known.
    sources: Vec<String>,
    /// With what they called, in whole nanoseconds.
    times: Vec<f64>,
}

/// What the chart and its controls are called.
#[derive(Serialize)]
struct Texts {
    chart: &'static str,
    search: &'static str,
    all: &'static str,
    whole: &'static str,
}

/// User code by caller and function; `None`: it was not sampled.
pub(crate) fn calls(traced: &TraceProgram) -> Option<PageBlock> {
    let texts = Texts {
        chart: "User code by caller and function",
        search: "Search functions",
        all: "all user code",
        whole: "with the interpreter's own functions",
    };
    let whole = (!traced.all_calls.is_empty()).then(|| of_calls(traced, &traced.all_calls));
    block(&Columns { texts, tree: of_calls(traced, &traced.user_calls), whole })
}

fn of_calls(traced: &TraceProgram, all: &[TraceCall]) -> Tree {
    let each = |text: &dyn Fn(&TraceCall) -> String| all.iter().map(|call| visible(&text(call))).collect();
    let file = |call: &TraceCall| call.source.place().unwrap_or_else(|| call.module.clone());
    let has_languages = all.iter().any(|call| call.source.language.is_some());
    let group = |call: &TraceCall| match &call.source.language {
        Some(language) => language.clone(),
        None if has_languages => "native code".to_owned(),
        None => file(call),
    };
    let source = |call: &TraceCall| {
        let TraceSource { file: Some(file), line: Some(line), .. } = &call.source else {
            return String::new();
        };
        traced.source_lines.get(file).and_then(|lines| lines.get(line)).cloned().unwrap_or_default()
    };
    Tree {
        callers: callers(all.iter().map(|call| call.caller)),
        names: each(&|call| call.name().unwrap_or_else(|| "without a symbol".to_owned())),
        files: each(&file),
        groups: each(&group),
        sources: each(&source),
        times: all.iter().map(|call| call.ns.round()).collect(),
    }
}

/// CPU time by program and the program that started it.
pub(crate) fn processes(document: &WatchDocument) -> Option<PageBlock> {
    let WatchDocument { tree, results, .. } = document;
    let program = |node: &WatchNode| results.get(node.program);
    let texts = Texts {
        chart: "CPU time by program, each below the one that started it",
        search: "Search programs",
        all: "all programs",
        whole: "",
    };
    let name = |node: &WatchNode| {
        let name = program(node).map_or("", |program| program.program.as_str());
        format!("{} × {}", visible(name), node.execs)
    };
    let file = |node: &WatchNode| program(node).map_or_else(String::new, |program| visible(&program.path));
    let files: Vec<String> = tree.iter().map(file).collect();
    let tree = Tree {
        callers: callers(tree.iter().map(|node| node.above)),
        names: tree.iter().map(name).collect(),
        groups: files.clone(),
        sources: vec![String::new(); files.len()],
        files,
        times: with_those_below(tree),
    };
    block(&Columns { texts, tree, whole: None })
}

fn block(columns: &Columns) -> Option<PageBlock> {
    let title = columns.texts.chart;
    (!columns.tree.times.is_empty()).then(|| PageBlock::Icicle { title, columns: packed(columns) })
}

/// A document from elsewhere may name a caller that does not come before.
fn callers(all: impl Iterator<Item = Option<usize>>) -> Vec<i64> {
    let place = |caller: Option<usize>| caller.and_then(|caller| i64::try_from(caller).ok()).unwrap_or(-1);
    all.enumerate().map(|(n, caller)| place(caller.filter(|it| *it < n))).collect()
}

fn with_those_below(tree: &[WatchNode]) -> Vec<f64> {
    let mut times: Vec<u64> = tree.iter().map(|node| node.cpu_ns).collect();
    for (n, node) in tree.iter().enumerate().rev() {
        if let Some(above) = node.above.filter(|above| *above < n) {
            times[above] = times[above].saturating_add(times[n]);
        }
    }
    times.into_iter().map(|time| time as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_as_wide_as_all_that_it_started() {
        let node = |above, cpu_ns| WatchNode { above, program: 0, execs: 1, startup_ns: 0, cpu_ns };
        let tree =
            [node(None, 1), node(Some(0), 10), node(Some(1), 100), node(Some(7), 5), node(Some(0), 1000)];
        assert_eq!(with_those_below(&tree), [1111.0, 110.0, 100.0, 5.0, 1000.0]);
        assert_eq!(callers(tree.iter().map(|node| node.above)), [-1, 0, 1, -1, 0]);
    }
}
