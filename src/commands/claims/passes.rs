//! The passes that run no hello: files, the floor, lines.

use super::super::{CommandError, throughput as throughput_command};
use super::runs::Session;
use crate::claims::gather::{self, SINK};
use crate::claims::quantity::Quantity;
use crate::claims::{Evidence, Lack, Reading};
use crate::cli::throughput::Plan as LinesPlan;
use crate::document::floor::Group;
use crate::floor::{Effort, Pinned, Survey, allowed_cpus, ladder, prints};
use crate::inspect::needs_symbol;
use crate::throughput::sink::Sink;
use firstbyte_elf::packed;
use firstbyte_elf::packed::Demands;
use firstbyte_elf::{Architecture, ElfError};
use firstbyte_measure::launch::interrupt;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Whether it is known from files alone.
pub(super) fn is_of_files(quantity: Quantity) -> bool {
    matches!(quantity, Quantity::Packed { .. } | Quantity::Imports { .. } | Quantity::Processors)
}

/// What files say, and how small they can be.
pub(super) fn files(session: &Session, evidence: &mut Evidence) -> Result<(), CommandError> {
    for quantity in session.needs.quantities() {
        let known = match quantity {
            Quantity::Packed { architecture, text } => {
                smallest(architecture, text).map_err(|e| e.to_string())
            }
            Quantity::Imports { program, symbol } => match imports(session, program, symbol) {
                Some(known) => known,
                None => continue, // skipped, and told so
            },
            Quantity::Processors => Ok(allowed_cpus()?.len() as f64),
            _ => continue,
        };
        match known {
            Ok(value) => evidence.insert(quantity, Reading::exact(value)),
            Err(reason) => evidence.lack(quantity, Lack::because(reason)),
        }
    }
    Ok(())
}

fn smallest(architecture: &str, text: &str) -> Result<f64, ElfError> {
    let architecture: Architecture = architecture.parse()?;
    let demands = Demands { real_kernels_only: false, large_mappings: false, exhaustive: false };
    Ok(packed::image(architecture, text.as_bytes(), 0, demands)?.image.len() as f64)
}

fn imports(session: &Session, program: &str, symbol: &str) -> Option<Result<f64, String>> {
    let built = session.built().find(|built| built.program == program)?;
    let bytes = fs::read(&built.artifact).map_err(|error| error.to_string());
    Some(bytes.and_then(|bytes| needs_symbol(&bytes, symbol)).map(|needed| f64::from(u8::from(needed))))
}

/// The floor's figures, as `firstbyte floor` measures them.
pub(super) fn floor(session: &Session, evidence: &mut Evidence) -> Result<(), CommandError> {
    let folder =
        tempfile::Builder::new().prefix("firstbyte-claims-").tempdir().map_err(CommandError::unable)?;
    let (rungs, _) = ladder(folder.path())?;
    let pinned = Pinned::to(None)?;
    let effort = if session.plan.quick { Effort::Quick } else { Effort::Full };
    let (other, seed) = (pinned.other, session.plan.seed);
    let survey = Survey { rungs: &rungs, folder: folder.path(), other, effort, seed };
    for group in session.needs.groups() {
        let part = match group {
            Group::Processes => survey.processes()?,
            Group::Shells => survey.shells(&["bash"])?,
            _ => survey.syscalls()?,
        };
        gather::floor(evidence, session.needs, &part.figures, &part.missing);
        if interrupt::interrupted().is_some() {
            break;
        }
    }
    Ok(())
}

/// First and hundredth prints, as `firstbyte floor --only prints` measures them.
pub(super) fn timed_prints(session: &Session, evidence: &mut Evidence) -> Result<(), CommandError> {
    let effort = if session.plan.quick { Effort::Quick } else { Effort::Full };
    let (prints, missing) = prints::measure(effort, session.plan.seed)?;
    gather::prints(evidence, session.needs, &prints, &missing);
    Ok(())
}

/// Whether it comes of printing lines.
pub(super) fn is_of_lines(quantity: Quantity) -> bool {
    matches!(quantity, Quantity::Lines { .. } | Quantity::Right(_))
}

/// The seed's programs, as `firstbyte throughput` measures them.
pub(super) fn lines(session: &Session, evidence: &mut Evidence) -> Result<(), CommandError> {
    let mut documents = Vec::new();
    for plan in lines_plans(session) {
        documents.push(throughput_command::measured(plan)?);
        if interrupt::interrupted().is_some() {
            break;
        }
    }
    gather::lines(evidence, session.needs, &documents);
    Ok(())
}

/// One for each number of lines, from the smallest up, with the designs that it is asked of; and what is only compared
/// prints the smallest.
fn lines_plans(session: &Session) -> Vec<LinesPlan> {
    let needs = session.needs;
    let mut plans: Vec<_> =
        needs.line_counts().into_iter().map(|count| (count, needs.designs(count))).collect();
    if plans.is_empty() {
        plans.push((1_000_000, BTreeSet::new()));
    }
    if session.plan.quick {
        plans.truncate(1);
    }
    plans[0].1.extend(needs.compared());
    plans.into_iter().map(|(count, designs)| lines_plan(session, count, &designs)).collect()
}

fn lines_plan(session: &Session, count: u64, designs: &BTreeSet<&str>) -> LinesPlan {
    LinesPlan {
        counts: vec![count],
        sinks: Sink::ALL.into_iter().filter(|sink| sink.name() == SINK).collect(),
        only: designs.iter().map(|design| (*design).to_owned()).collect(),
        list: false,
        runs: if session.plan.quick { 3 } else { 9 },
        enough: Duration::from_secs(60),
        timeout: Duration::from_secs(120),
        directory: std::env::temp_dir(),
        memory: PathBuf::from("/dev/shm"),
        seed: session.plan.seed,
        exports: Vec::new(),
        log: false,
    }
}
