//! Findings about user code, by its samples.

use super::{Evidence, Finding, nanos, noteworthy};
use crate::account::profile::{Estimate, Function};
use firstbyte_measure::units::Nanos;

/// The function whose own code takes the longest.
pub(super) fn hottest_function(run: &Evidence) -> Option<Finding> {
    let functions = &run.user_code?.divided.functions;
    let function = functions.iter().find(|function| function.frame.function.is_some())?;
    let name = function.frame.function.as_deref()?;
    if !noteworthy(nanos(function.own.time), run.account, 10) {
        return None;
    }
    let of = if functions.first().is_some_and(|first| first.frame.function.is_none()) {
        "the user code that has names"
    } else {
        "all user code"
    };
    let text = format!(
        "The function `{name}` of `{}` takes the most time of {of}, by samples. `--export-folded` shows who calls it.",
        function.frame.file()
    );
    Some(finding("hottest-function", function.own, text).about(name))
}

/// Functions that collect garbage, as their runtimes name them.
const COLLECTORS: [&str; 4] = ["gc_collect_main", "gc_start", "runtime.gcStart", "GC_collect_or_expand"];

/// Garbage collection while the program starts or ends.
pub(super) fn garbage_collection(run: &Evidence) -> Option<Finding> {
    let collects = |function: &&Function| {
        function
            .frame
            .function
            .as_deref()
            .is_some_and(|name| COLLECTORS.iter().any(|known| name.starts_with(known)))
    };
    let function = run
        .user_code?
        .divided
        .functions
        .iter()
        .filter(collects)
        .max_by(|a, b| a.total.time.total_cmp(&b.total.time))?;
    let text = format!(
        "Garbage collection (`{}` and what it calls, by samples). Nothing that starts up is garbage: `gc.disable()` or \
         `gc.freeze()` in Python, a larger first heap elsewhere.",
        function.frame.function.as_deref().unwrap_or_default()
    );
    Some(finding("garbage-collection", function.total, text))
}

fn finding(rule: &'static str, time: Estimate, text: String) -> Finding {
    let interval: [Nanos; 2] = [time.time - time.error, time.time + time.error].map(nanos);
    Finding { interval: Some(interval), ..Finding::new(rule, nanos(time.time), text) }
}
