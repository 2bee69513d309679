//! `firstbyte claims`: what the five posts say, checked on this machine.

use super::progress::{Building, ExperimentBar};
use super::{CommandError, Exit, before_launching, export, show, terminal};
use crate::claims::passes::{self, Gathered, PassOptions, Watcher};
use crate::claims::{Claim, Needs, all, judge, row, select};
use crate::cli::claims::Plan;
use crate::document::bench::Tool;
use crate::document::claims::ClaimsDocument;
use crate::output::say;
use crate::report::formats::Exported;
use crate::report::text::claims as claims_text;
use firstbyte_measure::launch::interrupt;

use std::io::IsTerminal;

/// Measures what the claims need, judges them and prints the verdicts.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    let claims = select(&plan.only).map_err(|name| {
        CommandError::usage(format!(
            "`{name}` is not a claim or the number of a post\nhelp: firstbyte claims --list"
        ))
    })?;
    if plan.list {
        show(claims_text::list(&claims, &terminal()).as_bytes())?;
        return Ok(Exit::Done);
    }

    plan.environment.clone().choose();
    export::check_targets(&plan.exports)?;
    let document = if plan.from.is_empty() { measured(plan, &claims)? } else { read(plan)? };
    export::write_drawn(&plan.exports, &Exported::Claims(&document))?;
    if !export::takes_stdout(&plan.exports) {
        show(claims_text::render(&document, &terminal()).as_bytes())?;
    }
    Ok(if document.partial && plan.from.is_empty() { Exit::Interrupted } else { Exit::Done })
}

/// The documents of earlier runs as one.
fn read(plan: &Plan) -> Result<ClaimsDocument, CommandError> {
    let read = |path| ClaimsDocument::read(path).map_err(CommandError::usage);
    let mut documents = plan.from.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?.into_iter();
    let mut first = documents.next().unwrap_or_else(|| empty(plan));
    let all = all();
    let order: Vec<&str> = all.iter().map(|claim| claim.id).collect();
    documents.for_each(|document| first.merge(document, &order));
    Ok(first)
}

fn empty(plan: &Plan) -> ClaimsDocument {
    let machine = crate::document::this_machine();
    ClaimsDocument::new(Tool::ours(), machine, plan.quick)
}

fn measured(plan: &Plan, claims: &[Claim]) -> Result<ClaimsDocument, CommandError> {
    let needs = Needs::of(claims);
    let cold = passes::enter_cold(&needs);
    before_launching();

    let building = Building::new();
    let watcher = Watcher {
        pass: &|place, count, name| announce(plan, place, count, name),
        building: &|step| building.step(&step),
        runs: &mut ExperimentBar::new(None),
    };
    let options = PassOptions { quick: plan.quick, seed: plan.seed };
    let Gathered { evidence, backend, overhead } = passes::measure(&needs, options, cold, watcher)?;

    let mut document = ClaimsDocument { partial: interrupt::interrupted().is_some(), ..empty(plan) };
    (document.tool.backend, document.tool.observer_overhead) = (backend, overhead);
    document.results = claims.iter().map(|claim| row(claim, &judge(claim, &evidence))).collect();
    Ok(document)
}

/// Says which pass begins: all of them together take minutes.
fn announce(plan: &Plan, place: usize, count: usize, name: &str) {
    if std::io::stderr().is_terminal() || !plan.quick {
        say(format_args!("{place}/{count} {name}"));
    }
}
