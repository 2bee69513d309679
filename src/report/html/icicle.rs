//! The calls of user code, in columns for the page's script.

use super::packed::packed;
use crate::document::trace::TraceProgram;
use crate::output::visible;
use serde::Serialize;

#[derive(Serialize)]
struct CallColumns {
    /// The place of each caller; -1 for a program.
    callers: Vec<i64>,
    names: Vec<String>,
    files: Vec<String>,
    /// With what they called, in whole nanoseconds.
    times: Vec<f64>,
}

/// `None`: the user code was not sampled.
pub(crate) fn calls(traced: &TraceProgram) -> Option<String> {
    let all = &traced.user_calls;
    if all.is_empty() {
        return None;
    }
    let place = |caller: Option<usize>| caller.and_then(|caller| i64::try_from(caller).ok()).unwrap_or(-1);
    Some(packed(&CallColumns {
        // a document from elsewhere may name a caller that does not come before
        callers: all.iter().enumerate().map(|(n, call)| place(call.caller.filter(|it| *it < n))).collect(),
        names: all
            .iter()
            .map(|call| visible(call.function.as_deref().unwrap_or("without a symbol")))
            .collect(),
        files: all.iter().map(|call| visible(&call.module)).collect(),
        times: all.iter().map(|call| call.ns.round()).collect(),
    }))
}
