//! The stacks of user code for flame-graph tools: one line for each, `outer;inner TIME`, in nanoseconds.

use super::stacks::stacks;
use crate::document::trace::{TraceCall, TraceDocument};
use std::fmt::Write;

pub fn render(document: &TraceDocument) -> String {
    let mut text = String::new();
    for result in &document.results {
        for (stack, time) in stacks(&result.user_calls, label) {
            let _ = writeln!(text, "{} {time:.0}", stack.join(";"));
        }
    }
    text
}

/// The format separates by semicolons and line ends.
fn label(call: &TraceCall) -> String {
    let label = match (&call.function, call.source.place()) {
        (Some(name), Some(place)) => format!("{name} ({place})"),
        (Some(name), None) => name.clone(),
        (None, Some(place)) => place,
        (None, None) => format!("[{}]", call.module),
    };
    label.replace(';', ":").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stack_has_its_own_time() {
        let json = r#"{"schema": "firstbyte/1", "tool": {"name": "firstbyte", "version": "0"}, "results": [{"command": "p",
            "total_ns": 11, "spans": [], "user_calls": [
            {"caller": null, "module": "p", "function": "p", "ns": 11},
            {"caller": 0, "module": "p", "function": "main", "ns": 11},
            {"caller": 1, "module": "p", "function": "a;b", "ns": 7},
            {"caller": 1, "module": "a.py", "function": "f", "language": "Python", "file": "/a.py", "line": 3, "ns": 1},
            {"caller": 1, "module": "rich", "language": "Python", "file": "/site-packages/rich", "ns": 1},
            {"caller": 1, "module": "libx.so", "ns": 1}]}]}"#;
        let document: TraceDocument = serde_json::from_str(json).unwrap();
        assert_eq!(
            render(&document),
            "p;main 1\np;main;a:b 7\np;main;f (a.py:3) 1\np;main;rich 1\np;main;[libx.so] 1\n"
        );
    }
}
