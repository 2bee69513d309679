//! How the runs of a program were made. Times of two files can be compared only if this is the same in both.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The `plan` of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conditions {
    /// What stdout was: `null`, `pipe`, `pty`, `file` or `inherit`.
    pub output: &'static str,
    /// The processors that it was bound to, ascending; `null` if to none.
    pub cpus: Option<Vec<usize>>,
    /// Where it ran.
    pub placement: PlacedOn,
    /// What ended a run before the program's own end; `null` if nothing did.
    pub until: Option<EndedBy>,
    /// Its stdin was a file; otherwise it was empty.
    pub input: bool,
    /// The shell that ran it; `null` if none did.
    pub shell: Option<String>,
    /// The size of its environment changed from run to run.
    pub env_offset: bool,
    /// Variables that were set for it alone, with their values or hashes of them.
    pub variables: BTreeMap<String, String>,
}

/// On which processors a program ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlacedOn {
    /// On those that the user chose, together with its launcher.
    Given,
    /// On this one, together with its launcher.
    One(usize),
    /// Wherever the kernel put it.
    #[default]
    Any,
}

/// What ended a run before the program's own end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// Its first byte of output.
    FirstByte,
    /// This text appeared in its output.
    Text(String),
    /// Something listened on this TCP port.
    Port(u16),
    /// A process said that it is ready.
    Ready,
    /// The program made this mark.
    Mark(String),
}

impl Conditions {
    /// The document contains JSON, because a file may come from a version that knows other conditions.
    pub fn to_value(&self) -> Value {
        json!(self)
    }
}
