//! `firstbyte tune`: other ways to start a program, tried and measured.

use super::progress::{ExperimentBar, TraceBars};
use super::{CommandError, Exit, before_launching, export, show, terminal};
use crate::bench::{Progress, cold_runs};
use crate::cli::tune::Plan;
use crate::document::bench::ColdMethod;
use crate::output::say;
use crate::report::formats::Exported;
use crate::report::text::tune as text;
use crate::tracing::{Stage, TraceProgress};
use crate::tune::catalogue::{self, Runtime};
use crate::tune::selection::selected;
use crate::tune::{Start, TuneProgress, candidates, tune};
use std::io::{BufRead, IsTerminal};
use std::time::Duration;

/// Tries the ways, and prints those that help.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    let catalogue = catalogue::load(&plan.catalogues).map_err(CommandError::usage)?;
    plan.tuning.each_run.environment.clone().choose();
    if plan.list {
        return list(plan, &catalogue);
    }
    export::check(&plan.exports)?;
    let mut inputs = plan.tuning.each_run.input.iter();
    inputs.try_for_each(|file| export::refuse_overwrite(export::targets(&plan.exports), file))?;
    if plan.tuning.cold {
        cold_runs::enter(ColdMethod::Copies)?;
    }
    before_launching();

    let document = tune(&plan.tuning, &catalogue, &mut Terminal)?;
    let exported = export::write(&plan.exports, &Exported::Tune(&document), true);
    if !export::takes_stdout(&plan.exports) {
        show(text::render(&document, plan.tuning.all, &terminal()).as_bytes())?;
    }
    exported?;
    Ok(if document.partial { Exit::Interrupted } else { Exit::Done })
}

/// What would be tried, without running anything.
fn list(plan: &Plan, catalogue: &[Runtime]) -> Result<Exit, CommandError> {
    let seen = Start::seen(&plan.tuning.words).map_err(CommandError::program)?;
    let start = Start { build: plan.tuning.build.clone(), ..seen };
    let (all, untried) = candidates(catalogue, &start);
    let (all, untried) = selected(&plan.tuning, all, untried)?;
    let folder = plan.tuning.keep.clone().unwrap_or_else(|| "DIR".into());
    let ways = all.iter().map(|candidate| text::ListedWay {
        name: &candidate.name,
        why: &candidate.text,
        command: candidate.way(&start, &folder).pasted(None),
        behaviour: candidate.variant.behaviour,
    });
    show(text::list(ways, &untried, &terminal()).as_bytes())?;
    Ok(Exit::Done)
}

/// The bars of the experiment, and its question, on stderr.
struct Terminal;

impl TraceProgress for Terminal {
    fn begin(&mut self, stage: Stage) -> Box<dyn Progress> {
        TraceBars.begin(stage)
    }
}

impl TuneProgress for Terminal {
    fn trying(&mut self, ways: usize, budget: Duration) {
        say(format_args!("{}", text::beginning(ways, budget)));
    }

    fn measuring(&mut self) -> Box<dyn Progress> {
        Box::new(ExperimentBar::new(None))
    }

    /// Elsewhere than on a terminal the answer is no.
    fn agrees(&mut self, reasons: &str) -> bool {
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return false;
        }
        say(format_args!("{}", text::question(reasons)));
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
    }
}
