//! The stacks of user code for speedscope (`https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources`): one
//! weighted sample for each stack, in nanoseconds.

use super::stacks::stacks;
use crate::document::trace::{TraceCall, TraceDocument, TraceProgram};
use serde_json::{Value, json};
use std::collections::HashMap;

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

pub fn render(document: &TraceDocument) -> String {
    let mut frames = Frames::default();
    let profiles: Vec<Value> = document.results.iter().map(|result| profile(result, &mut frames)).collect();
    json!({
        "$schema": SCHEMA,
        "exporter": format!("{}@{}", document.tool.name, document.tool.version),
        "shared": {"frames": frames.all},
        "profiles": profiles,
    })
    .to_string()
}

/// The functions of all profiles.
#[derive(Default)]
struct Frames {
    all: Vec<Value>,
    numbers: HashMap<String, usize>,
}

impl Frames {
    fn number(&mut self, call: &TraceCall) -> usize {
        let name = call.name().unwrap_or_else(|| format!("[{}]", call.module));
        let source = &call.source;
        let file = source.file.clone().unwrap_or_else(|| call.module.clone());
        let frame = json!({"name": name, "file": file, "line": source.line});
        *self.numbers.entry(frame.to_string()).or_insert_with(|| {
            self.all.push(frame);
            self.all.len() - 1
        })
    }
}

fn profile(result: &TraceProgram, frames: &mut Frames) -> Value {
    let stacks = stacks(&result.user_calls, |call| frames.number(call));
    let (samples, weights): (Vec<_>, Vec<_>) =
        stacks.into_iter().map(|(stack, time)| (stack, time.round())).unzip();
    let end: f64 = weights.iter().sum();
    json!({
        "type": "sampled",
        "name": result.command,
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": end,
        "samples": samples,
        "weights": weights,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stack_is_a_sample_with_its_own_time() {
        let json = r#"{"schema": "firstbyte/1", "tool": {"name": "firstbyte", "version": "0"}, "results": [{"command": "p",
            "total_ns": 10, "spans": [], "user_calls": [
            {"caller": null, "module": "p", "function": "main", "ns": 10},
            {"caller": 0, "module": "a.py", "function": "f", "language": "Python", "file": "/a.py", "line": 3, "ns": 7},
            {"caller": 1, "module": "libx.so", "ns": 2}]}]}"#;
        let document: TraceDocument = serde_json::from_str(json).unwrap();
        let written: Value = serde_json::from_str(&render(&document)).unwrap();
        let profile = &written["profiles"][0];
        assert_eq!(profile["samples"], json!([[0], [0, 1], [0, 1, 2]]));
        assert_eq!((&profile["weights"], &profile["endValue"]), (&json!([3.0, 5.0, 2.0]), &json!(10.0)));
        let frames = &written["shared"]["frames"];
        assert_eq!(frames[1], json!({"name": "f", "file": "/a.py", "line": 3}));
        assert_eq!(frames[2], json!({"name": "[libx.so]", "file": "libx.so", "line": null}));
    }
}
