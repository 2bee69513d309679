//! `firstbyte diff`: two summaries, and what lies between them.

use super::trace::{Explained, Replayed, explain, explain_in_turn, prepared, replayed, split};
use super::{CommandError, Exit, export, show, terminal};
use crate::account::Summary;
use crate::account::diff_document::diff_document;
use crate::account::difference::{Compared, Side};
use crate::cli::diff::Plan;
use crate::report::formats::Exported;
use crate::report::text::diff as diff_text;
use crate::stats::{self, Comparison};
use firstbyte_measure::launch::Command;
use firstbyte_measure::machine::Machine;
use firstbyte_measure::tracer::full::FullTracer;
use firstbyte_measure::tracer::replay;
use std::collections::BTreeMap;
use std::path::Path;

/// What is to be compared.
enum Source {
    Recorded(Box<Measured>),
    Command(Command),
}

/// One side's runs.
struct Measured {
    summary: Summary,
    /// The round and the total of each run, nanoseconds.
    totals: Vec<(u32, f64)>,
    notes: Vec<String>,
    exit: Exit,
}

/// Compares two commands, two recordings, or one of each.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    export::check_targets(&plan.exports)?;
    let mut recorded = plan.sides.iter().map(Path::new).filter(|path| replay::is_recording(path));
    recorded.try_for_each(|path| export::spare(export::targets(&plan.exports), path))?;
    // what is wrong with the second is told before the first is run
    let sources = [source(&plan.sides[0])?, source(&plan.sides[1])?];
    let (measured, in_turn) = measure(sources, plan)?;
    let compared = Compared {
        sides: [0, 1].map(|side| Side {
            name: &plan.sides[side],
            summary: &measured[side].summary,
            notes: measured[side].notes.clone(),
        }),
        comparison: comparison(&measured, in_turn, plan.runs.seed),
        in_turn,
    };
    if !plan.exports.is_empty() {
        let machine = serde_json::to_value(Machine::examine()).unwrap_or_default();
        let document = diff_document(&compared, machine);
        export::write_drawn(&plan.exports, &Exported::Diff(&document))?;
    }
    if !export::takes_stdout(&plan.exports) {
        show(diff_text::render(&compared, &terminal()).as_bytes())?;
    }
    let failed = measured.iter().map(|side| side.exit).find(|exit| *exit != Exit::Done);
    Ok(failed.unwrap_or(Exit::Done))
}

fn source(text: &str) -> Result<Source, CommandError> {
    let path = Path::new(text);
    if !replay::is_recording(path) {
        return split(text).map(Source::Command);
    }
    let Replayed { summary, notes, .. } = replayed(path)?;
    let totals = vec![(0, summary.total.median)];
    // as with a replay: what failed then does not fail now
    Ok(Source::Recorded(Box::new(Measured { summary, totals, notes, exit: Exit::Done })))
}

/// Both sides, and whether they took turns.
fn measure(sources: [Source; 2], plan: &Plan) -> Result<([Measured; 2], bool), CommandError> {
    match sources {
        [Source::Recorded(a), Source::Recorded(b)] => Ok(([*a, *b], false)),
        [Source::Recorded(a), Source::Command(b)] => Ok(([*a, alone(b, plan)?], false)),
        [Source::Command(a), Source::Recorded(b)] => Ok(([alone(a, plan)?, *b], false)),
        [Source::Command(a), Source::Command(b)] => {
            let explained = explain_in_turn([a, b], &plan.runs, &mut tracer(plan)?)?;
            Ok((explained.map(Measured::from), true))
        }
    }
}

fn alone(command: Command, plan: &Plan) -> Result<Measured, CommandError> {
    explain(command, &plan.runs, &mut tracer(plan)?).map(Measured::from)
}

fn tracer(plan: &Plan) -> Result<FullTracer, CommandError> {
    prepared(&plan.runs).map(|(tracer, _)| tracer)
}

impl From<Explained> for Measured {
    fn from(explained: Explained) -> Measured {
        let (notes, exit) = (explained.reservations(), explained.exit());
        Measured { summary: explained.summary, totals: explained.totals, notes, exit }
    }
}

/// The totals of B over those of A: round by round where both took turns.
fn comparison(sides: &[Measured; 2], in_turn: bool, seed: u64) -> Option<Comparison> {
    let [a, b] = sides.each_ref().map(|side| &side.totals);
    if in_turn {
        let of_a: BTreeMap<u32, f64> = a.iter().copied().collect();
        let both = b.iter().filter_map(|(round, total)| Some((*of_a.get(round)?, *total)));
        let (old, new): (Vec<f64>, Vec<f64>) = both.unzip();
        return stats::judge(&old, &new, seed);
    }
    let values = |side: &[(u32, f64)]| side.iter().map(|(_, total)| *total).collect::<Vec<f64>>();
    stats::judge_unpaired(&values(a), &values(b), seed)
}
