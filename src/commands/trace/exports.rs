//! What a trace is written as.

use super::Explained;
use crate::cli::export::Format;
use crate::commands::{CommandError, export, report};
use crate::document::bench::Ratio;
use crate::document::trace as trace_json;
use crate::document::trace::Frame;
use crate::report::formats::{firefox, perfetto};
use crate::report::text::trace::Context;
use firstbyte_measure::machine::Machine;
use firstbyte_measure::tracer::replay;

pub(super) fn rendered(
    format: Format,
    explained: &Explained,
    context: &Context,
) -> Result<String, CommandError> {
    let account = &explained.summary.reference;
    Ok(match format {
        Format::Json => trace_json::render(&explained.summary, &frame(explained, context)),
        Format::Perfetto => perfetto::render(&context.command, account),
        Format::Firefox => firefox::render(&context.command, account),
        Format::Html => {
            report::page("this run", &trace_json::document(&explained.summary, &frame(explained, context)))?
        }
        Format::Recording => explained
            .shown()
            .map(|run| replay::save(run, &explained.modules, explained.cpuid))
            .unwrap_or_default(),
        other => return Err(export::not_offered(other)),
    })
}

fn frame(explained: &Explained, context: &Context) -> Frame {
    Frame {
        command: context.command.clone(),
        backend: [explained.backend.clone(), explained.reason.clone()],
        machine: serde_json::to_value(Machine::examine()).unwrap_or_default(),
        partial: explained.observed.interrupted,
        walls: [explained.observed.traced.clone(), explained.observed.untraced.clone()],
        overhead: explained.overhead().map(Ratio::from),
        exit_codes: explained.observed.recordings.iter().map(|run| run.exit.code()).collect(),
        usages: explained.observed.recordings.iter().map(|run| run.usage).collect(),
        corrected_total: context.corrected_total,
        findings: explained.findings.iter().map(|f| (f.cost.0, f.text.clone())).collect(),
    }
}
