//! What called what, or started what, in columns for the page's script.

use super::block::PageBlock;
use super::packed::packed;
use crate::document::trace::TraceProgram;
use crate::document::watch::{WatchDocument, WatchNode};
use crate::output::visible;
use serde::Serialize;

#[derive(Serialize)]
struct Columns {
    texts: Texts,
    /// The place of each caller; -1 for a root.
    callers: Vec<i64>,
    names: Vec<String>,
    files: Vec<String>,
    /// With what they called, in whole nanoseconds.
    times: Vec<f64>,
}

/// What the chart and its controls are called.
#[derive(Serialize)]
struct Texts {
    chart: &'static str,
    search: &'static str,
    all: &'static str,
}

/// User code by caller and function; `None`: it was not sampled.
pub(crate) fn calls(traced: &TraceProgram) -> Option<PageBlock> {
    let all = &traced.user_calls;
    let texts =
        Texts { chart: "User code by caller and function", search: "Search functions", all: "all user code" };
    block(&Columns {
        texts,
        callers: callers(all.iter().map(|call| call.caller)),
        names: all
            .iter()
            .map(|call| visible(&call.name().unwrap_or_else(|| "without a symbol".to_owned())))
            .collect(),
        files: all
            .iter()
            .map(|call| visible(&call.source.place().unwrap_or_else(|| call.module.clone())))
            .collect(),
        times: all.iter().map(|call| call.ns.round()).collect(),
    })
}

/// CPU time by program and the program that started it.
pub(crate) fn processes(document: &WatchDocument) -> Option<PageBlock> {
    let WatchDocument { tree, results, .. } = document;
    let program = |node: &WatchNode| results.get(node.program);
    let texts = Texts {
        chart: "CPU time by program, each below the one that started it",
        search: "Search programs",
        all: "all programs",
    };
    block(&Columns {
        texts,
        callers: callers(tree.iter().map(|node| node.above)),
        names: tree
            .iter()
            .map(|node| {
                let name = program(node).map_or("", |program| program.program.as_str());
                format!("{} × {}", visible(name), node.execs)
            })
            .collect(),
        files: tree
            .iter()
            .map(|node| program(node).map_or_else(String::new, |program| visible(&program.path)))
            .collect(),
        times: with_those_below(tree),
    })
}

fn block(columns: &Columns) -> Option<PageBlock> {
    let title = columns.texts.chart;
    (!columns.times.is_empty()).then(|| PageBlock::Icicle { title, columns: packed(columns) })
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
