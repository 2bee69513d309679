//! How the runs of a program were made: what must be alike in two files for their times to be compared.

use crate::document::bench::Measurement;
use serde::Serialize;
use serde_json::{Value, json};

/// `plan` of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conditions {
    /// What stdout was: `null`, `pipe`, `pty`, `file`.
    pub output: &'static str,
    /// The processors that it was bound to, ascending; `null`: to none.
    pub cpus: Option<Vec<usize>>,
    /// What ended a run before the program's own end; `null`: nothing.
    pub until: Option<EndedBy>,
    /// Its stdin was a file rather than nothing.
    pub input: bool,
    /// The shell that ran it; `null`: none did.
    pub shell: Option<String>,
    /// The size of its environment differed from run to run.
    pub env_offset: bool,
}

/// What ended a run before the program's own end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// Its first byte of output.
    FirstByte,
    /// This text in its output.
    Text(String),
}

impl Conditions {
    /// As the document has them: like the machine as JSON, because a file may come from a version that knows others.
    pub fn to_value(&self) -> Value {
        json!(self)
    }
}

/// Their names. What a later version adds may be of no consequence for the times.
const NAMES: [&str; 6] = ["output", "cpus", "until", "input", "shell", "env_offset"];

/// Each condition that both results tell of, by its name; the method of cold runs is one.
pub(super) fn both(old: &Measurement, new: &Measurement) -> Vec<(&'static str, Value, Value)> {
    let known = NAMES.iter().filter_map(|name| {
        let (old, new) = (old.plan.get(*name)?, new.plan.get(*name)?);
        Some((*name, old.clone(), new.clone()))
    });
    let cold = old.cold.as_ref().zip(new.cold.as_ref());
    let method = cold.map(|(old, new)| ("cold_method", json!(old.method), json!(new.method)));
    known.chain(method).collect()
}
