//! How runs are made, in the words of the document.

use super::placement::Placement;
use crate::document::conditions::{Conditions, EndedBy, PlacedOn};
use firstbyte_measure::launch::{OutputKind, Until};
use std::collections::BTreeMap;

/// Runs without a shell and without an input, which end when the program ends.
pub fn plain(output: OutputKind, placement: &Placement) -> Conditions {
    Conditions {
        output: name(output),
        cpus: placement.given().map(|cpus| cpus.cpus().to_vec()),
        placement: PlacedOn::Any,
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
        OutputKind::Inherit => "inherit",
    }
}

pub fn ended_by(until: &Until) -> EndedBy {
    match until {
        Until::FirstByte => EndedBy::FirstByte,
        Until::Text(text) => EndedBy::Text(String::from_utf8_lossy(text).into_owned()),
        Until::Port(port) => EndedBy::Port(*port),
        Until::Ready => EndedBy::Ready,
        Until::Mark(name) => EndedBy::Mark(name.to_string()),
    }
}
