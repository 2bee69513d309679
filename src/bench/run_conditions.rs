//! How runs are made, in the words of the document.

use crate::document::conditions::{Conditions, EndedBy};
use firstbyte_measure::launch::{CpuSet, OutputKind, Until};
use std::collections::BTreeMap;

/// Runs without a shell and without an input, which end when the program ends.
pub fn plain(output: OutputKind, cpus: Option<&CpuSet>) -> Conditions {
    Conditions {
        output: name(output),
        cpus: cpus.map(|cpus| cpus.cpus().to_vec()),
        until: None,
        input: false,
        shell: None,
        env_offset: false,
        variables: BTreeMap::new(),
    }
}

/// As `--output` spells it.
fn name(output: OutputKind) -> &'static str {
    match output {
        OutputKind::Null => "null",
        OutputKind::Pipe => "pipe",
        OutputKind::Pty => "pty",
        OutputKind::File => "file",
    }
}

pub fn ended_by(until: &Until) -> EndedBy {
    match until {
        Until::FirstByte => EndedBy::FirstByte,
        Until::Text(text) => EndedBy::Text(String::from_utf8_lossy(text).into_owned()),
    }
}
