//! Every step of one run, as strace prints system calls.

use super::style;
use crate::analysis::attribution::kind;
use crate::analysis::{Step, Summary};
use crate::output::visible;
use crate::report::text::phase_bars;
use crate::report::text::terminal::{Terminal, truncated_paths};
use firstbyte_measure::timeline::{Phase, Phases};
use firstbyte_measure::units::Nanos;
use std::fmt::Write;

/// Every step of every thread of the run that is shown, in the order of their beginnings.
pub fn timeline(summary: &Summary, terminal: &Terminal) -> String {
    let account = &summary.median_run;
    let mut all: Vec<(u32, &Step)> = Vec::new();
    for thread in &account.threads {
        all.extend(thread.steps.iter().map(|step| (thread.tid, step)));
    }
    all.sort_by_key(|(tid, step)| (step.start, *tid != account.root));

    let several = account.threads.len() > 1;
    let head = if several { "       tid" } else { "" };
    let width = terminal.width.saturating_sub(if several { 34 } else { 24 }).max(20);
    let mut text = terminal.bold(&format!("  {:>10}{:>10}{head}  step", "at", "own time")) + "\n";
    for (tid, step) in all {
        let mark = phase_bars::cells(phase_at(&account.phases, step.start), 1, terminal);
        let tid = if several { format!("{tid:>10}") } else { String::new() };
        let title = visible(&step.what.title());
        // files and pipes get the whole line
        let title = if terminal.colour { truncated_paths(&title, width) } else { title };
        let title = terminal.paint(style(kind(&step.what)), &title);
        let (at, self_time) = (step.start.to_string(), step.self_time.to_string());
        let _ = writeln!(text, "{mark} {at:>10}{self_time:>10}{tid}  {title}");
    }
    text
}

/// The phase of an instant; after all phases, the last one.
fn phase_at(phases: &Phases, at: Nanos) -> Phase {
    let mut end = Nanos(0);
    let contains = |phase: &Phase| {
        end = end + phases.get(*phase).unwrap_or_default();
        at < end
    };
    Phase::ALL.into_iter().find(contains).unwrap_or(Phase::Teardown)
}
