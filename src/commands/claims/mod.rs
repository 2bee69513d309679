//! `firstbyte claims`: what is needed is measured once, each claim is judged by it.

mod level0;
mod passes;
mod runs;

use super::{CommandError, Exit, before_launching, export, show, terminal};
use crate::bench::cold;
use crate::claims::quantity::{Quantity, State};
use crate::claims::{Claim, Evidence, Lack, Needs, gather, judge, row, select};
use crate::cli::claims::Plan;
use crate::document::bench::{ColdMethod, Tool};
use crate::document::claims::ClaimsDocument;
use crate::report::formats::Exported;
use crate::report::text::claims as claims_text;
use firstbyte_measure::launch::interrupt;
use firstbyte_measure::machine::Machine;
use runs::Session;
use std::io::IsTerminal;

/// Measures what the claims need, judges them, and prints the verdicts.
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
    export::check_targets(&plan.exports)?;
    let document = if plan.from.is_empty() { measured(plan, &claims)? } else { read(plan)? };
    deliver(plan, &document)?;
    Ok(if document.partial && plan.from.is_empty() { Exit::Interrupted } else { Exit::Done })
}

fn read(plan: &Plan) -> Result<ClaimsDocument, CommandError> {
    let read = |path| ClaimsDocument::read(path).map_err(CommandError::usage);
    let mut documents = plan.from.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?.into_iter();
    let mut first = documents.next().unwrap_or_else(|| empty(plan));
    let all = crate::claims::all();
    let order: Vec<&str> = all.iter().map(|claim| claim.id).collect();
    documents.for_each(|document| first.merge(document, &order));
    Ok(first)
}

fn empty(plan: &Plan) -> ClaimsDocument {
    ClaimsDocument::new(
        Tool::ours(),
        serde_json::to_value(Machine::examine()).unwrap_or_default(),
        plan.quick,
    )
}

fn deliver(plan: &Plan, document: &ClaimsDocument) -> Result<(), CommandError> {
    export::write_drawn(&plan.exports, &Exported::Claims(document))?;
    if export::takes_stdout(&plan.exports) {
        return Ok(());
    }
    show(claims_text::render(document, &terminal()).as_bytes())
}

/// Every pass that a claim needs. What fails is lacking, and told with the claims that needed it.
fn measured(plan: &Plan, claims: &[Claim]) -> Result<ClaimsDocument, CommandError> {
    let needs = Needs::of(claims);
    let cold = enter_cold(&needs);
    before_launching();
    let session = Session::new(plan, &needs, cold)?;
    let mut evidence = Evidence::default();
    gather::skipped(&mut evidence, &needs, &session.skipped);
    let due: Vec<&Pass> = PASSES.iter().filter(|pass| needs.quantities().any(pass.serves)).collect();
    for (place, pass) in due.iter().enumerate() {
        say(plan, place + 1, due.len(), pass.name);
        if let Err(error) = (pass.run)(&session, &mut evidence) {
            lacking(&mut evidence, &needs, pass, &error);
        }
        if interrupt::interrupted().is_some() {
            break;
        }
    }
    let mut document = ClaimsDocument { partial: interrupt::interrupted().is_some(), ..empty(plan) };
    (document.tool.backend, document.tool.observer_overhead) = session.observer.take();
    document.results = claims.iter().map(|claim| row(claim, &judge(claim, &evidence))).collect();
    Ok(document)
}

/// Which pass is on: minutes pass.
fn say(plan: &Plan, place: usize, count: usize, name: &str) {
    if std::io::stderr().is_terminal() || !plan.quick {
        eprintln!("{place}/{count} {name}");
    }
}

fn enter_cold(needs: &Needs) -> Result<(), String> {
    if needs.programs(State::Cold).is_empty() {
        return Ok(());
    }
    cold::enter(ColdMethod::Copies).map_err(|error| error.to_string())
}

fn lacking(evidence: &mut Evidence, needs: &Needs, pass: &Pass, error: &CommandError) {
    let message = error.to_string();
    let (reason, help) = message.split_once("\nhelp: ").unwrap_or((&message, ""));
    let lack = Lack {
        reason: reason.lines().next().unwrap_or_default().to_owned(),
        install: Some(help.to_owned()).filter(|help| !help.is_empty()),
    };
    needs
        .quantities()
        .filter(|quantity| (pass.serves)(*quantity))
        .for_each(|q| evidence.lack(q, lack.clone()));
}

/// Something that is measured once, for all claims.
struct Pass {
    name: &'static str,
    serves: fn(Quantity) -> bool,
    run: fn(&Session, &mut Evidence) -> Result<(), CommandError>,
}

/// In their order: what makes the page cache cold comes last.
const PASSES: [Pass; 10] = [
    Pass { name: "files", serves: passes::is_of_files, run: passes::files },
    Pass { name: "warm runs", serves: runs::is_warm, run: runs::warm },
    Pass {
        name: "runs that stop at each system call",
        serves: |q| is_in(q, State::Stopped),
        run: runs::stopped,
    },
    Pass { name: "level 0", serves: runs::is_of_level0, run: level0::measure },
    Pass { name: "processors", serves: |q| matches!(q, Quantity::AllProcessors(_)), run: runs::processors },
    Pass { name: "floor", serves: |q| matches!(q, Quantity::Floor(_)), run: passes::floor },
    Pass { name: "prints", serves: |q| matches!(q, Quantity::Print { .. }), run: passes::timed_prints },
    Pass { name: "lines", serves: passes::is_of_lines, run: passes::lines },
    Pass { name: "runs after drop_caches", serves: |q| is_in(q, State::Dropped), run: runs::dropped },
    Pass { name: "cold runs", serves: |q| is_in(q, State::Cold), run: runs::cold },
];

fn is_in(quantity: Quantity, state: State) -> bool {
    matches!(quantity, Quantity::Time { state: own, .. } if own == state)
}
