//! The head of every document: what measured, and where.

use crate::document::Document;
use crate::document::bench::Tool;
use firstbyte_measure::machine::Machine;
use firstbyte_measure::tracer::Tracer;
use firstbyte_measure::tracer::choose::Chosen;
use firstbyte_measure::tracer::phases::PhasesTracer;

/// A document without results.
pub(super) fn header(chosen: &Chosen<PhasesTracer>) -> Document {
    let tool = Tool {
        name: "firstbyte".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        backend: Some(chosen.tracer.backend().name().to_owned()),
        backend_reason: Some(chosen.reason.clone()),
        observer_overhead: Vec::new(),
    };
    Document::new(tool, serde_json::to_value(Machine::examine()).unwrap_or_default())
}
