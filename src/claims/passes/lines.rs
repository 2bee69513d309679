//! The designs of Response to Response, as `firstbyte throughput` measures them.

use super::session::Session;
use crate::claims::gather::{self, SINK};
use crate::claims::quantity::Quantity;
use crate::claims::{Lack, Needs};
use crate::throughput::measured_designs::{ThroughputPlan, measure};
use crate::throughput::sink::Sink;
use firstbyte_measure::launch::interrupt;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

/// Without a claim about a number of lines, the output of this many is compared.
const LINES: u64 = 1_000_000;

/// Whether printing lines gives it.
pub(super) fn is_of_lines(quantity: Quantity) -> bool {
    matches!(quantity, Quantity::Lines { .. } | Quantity::Right(_))
}

pub(super) fn lines(session: &mut Session) -> Result<(), Lack> {
    let mut documents = Vec::new();
    for plan in plans(session) {
        let document = measure(plan, session.watcher.building, session.watcher.runs);
        documents.push(document.map_err(Lack::of)?);
        if interrupt::interrupted().is_some() {
            break;
        }
    }
    gather::lines(&mut session.evidence, session.needs, &documents);
    Ok(())
}

/// One plan for each number of lines, in ascending order, with the designs that claims ask about. Designs whose output is
/// only compared print the smallest number.
fn plans(session: &Session) -> Vec<ThroughputPlan> {
    let needs: &Needs = session.needs;
    let mut plans: Vec<_> =
        needs.line_counts().into_iter().map(|count| (count, needs.designs(count))).collect();
    if plans.is_empty() {
        plans.push((LINES, BTreeSet::new()));
    }
    plans[0].1.extend(needs.compared());
    plans.into_iter().map(|(count, designs)| plan(session, count, &designs)).collect()
}

fn plan(session: &Session, count: u64, designs: &BTreeSet<&str>) -> ThroughputPlan {
    ThroughputPlan {
        counts: vec![count],
        sinks: Sink::ALL.into_iter().filter(|sink| sink.name() == SINK).collect(),
        only: designs.iter().map(|design| (*design).to_owned()).collect(),
        own: Vec::new(),
        post: false,
        runs: match session.options.quick {
            true if count > LINES => 2, // the fewest that have a spread: some designs take seconds
            true => 3,
            false => 9,
        },
        enough: Duration::from_secs(60),
        timeout: Duration::from_secs(120),
        directory: std::env::temp_dir(),
        memory: PathBuf::from("/dev/shm"),
        seed: session.options.seed,
    }
}
