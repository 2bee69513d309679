//! What a trace is written as.

use super::Explained;
use crate::account::document::{Frame, trace_document};
use crate::commands::{CommandError, export};
use crate::document::bench::Ratio;
use crate::output::Target;
use crate::report::formats::{Exported, ExportedTrace, Format};
use crate::report::text::trace::Context;
use firstbyte_measure::machine::Machine;

pub(super) fn write(
    exports: &[(Format, Target)],
    explained: &Explained,
    context: &Context,
) -> Result<(), CommandError> {
    if exports.is_empty() {
        return Ok(());
    }
    let document = trace_document(&explained.summary, &frame(explained, context));
    let trace = ExportedTrace {
        document: &document,
        command: &context.command,
        account: &explained.summary.reference,
        run: explained.shown(),
        modules: &explained.modules,
        cpuid: explained.cpuid,
    };
    export::write_drawn(exports, &Exported::Trace(trace)).map(drop)
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
