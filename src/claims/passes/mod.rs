//! The passes: everything that the claims need is measured here, once for all claims.

mod file_facts;
mod floor;
mod level0;
mod lines;
mod runs;
mod session;
mod solutions;
mod tools;

use self::session::Session;
use super::gather;
use super::quantity::{Quantity, RunState};
use super::{ClaimEvidence, Lack, Needs};
use crate::bench::{ExperimentError, Progress, cold_runs};
use crate::corpus::PrepareStep;
use crate::document::bench::{ColdMethod, Overhead};
use firstbyte_measure::launch::interrupt;

/// How to measure.
#[derive(Clone, Copy, Debug)]
pub struct PassOptions {
    /// Few runs of everything.
    pub quick: bool,
    /// Seed of the random orders.
    pub seed: u64,
}

/// Hears of the progress.
pub struct Watcher<'w> {
    /// A pass begins: its place from 1, the number of passes, its name.
    pub pass: &'w dyn Fn(usize, usize, &str),
    /// The programs are built.
    pub building: &'w (dyn Fn(PrepareStep) + Sync),
    /// The runs of each experiment.
    pub runs: &'w mut dyn Progress,
}

/// What was measured.
#[derive(Debug)]
pub struct Gathered {
    pub evidence: ClaimEvidence,
    /// What observed the warm runs.
    pub backend: Option<String>,
    /// Its cost.
    pub overhead: Vec<Overhead>,
}

/// Something that is measured once, for all claims.
struct Pass {
    name: &'static str,
    serves: fn(Quantity) -> bool,
    run: fn(&mut Session) -> Result<(), Lack>,
}

/// In their order. The passes that make the page cache cold come last.
const PASSES: [Pass; 14] = [
    Pass { name: "files", serves: file_facts::is_of_files, run: file_facts::files },
    Pass { name: "warm runs", serves: runs::is_warm, run: runs::warm },
    Pass {
        name: "runs that stop at each system call",
        serves: |q| is_in(q, RunState::Stopped) && !runs::is_of_level0(q),
        run: runs::stopped,
    },
    Pass {
        name: "user time",
        serves: |q| matches!(q, Quantity::UserTime(_)) && !runs::is_of_level0(q),
        run: runs::divided,
    },
    Pass { name: "level 0", serves: runs::is_of_level0, run: level0::level0 },
    Pass { name: "processors", serves: |q| matches!(q, Quantity::AllProcessors(_)), run: runs::processors },
    Pass {
        name: "strace and perf",
        serves: |q| matches!(q, Quantity::Reported { .. }),
        run: tools::reported,
    },
    Pass {
        name: "lines of strace",
        serves: |q| matches!(q, Quantity::TraceLines(_)),
        run: tools::trace_lines,
    },
    Pass {
        name: "events that perf loses",
        serves: |q| matches!(q, Quantity::LostByPerf { .. }),
        run: tools::lost_by_perf,
    },
    Pass { name: "floor", serves: |q| matches!(q, Quantity::Floor(_)), run: floor::floor },
    Pass { name: "prints", serves: |q| matches!(q, Quantity::Print { .. }), run: floor::timed_prints },
    Pass { name: "lines", serves: lines::is_of_lines, run: lines::lines },
    Pass { name: "runs after drop_caches", serves: |q| is_in(q, RunState::Dropped), run: runs::dropped },
    Pass { name: "cold runs", serves: |q| is_in(q, RunState::Cold), run: runs::cold },
];

fn is_in(quantity: Quantity, state: RunState) -> bool {
    matches!(quantity, Quantity::Time { state: stated, .. } if stated == state)
}

/// Prepares this process for cold runs, if a claim needs them. Must be called before anything else, see [`cold::enter`].
/// The error says why there will be none.
pub fn enter_cold(needs: &Needs) -> Result<(), String> {
    if needs.programs(RunState::Cold).is_empty() {
        return Ok(());
    }
    cold_runs::enter(ColdMethod::Copies).map_err(|error| error.to_string())
}

/// Makes every pass that a claim needs. What a pass could not measure is lacking, with the reason. `cold`: from
/// [`enter_cold`].
pub fn measure<'m>(
    needs: &'m Needs,
    options: PassOptions,
    cold: Result<(), String>,
    watcher: Watcher<'m>,
) -> Result<Gathered, ExperimentError> {
    let announce = watcher.pass;
    let mut session = Session::begin(needs, options, cold, watcher)?;
    gather::skipped(&mut session.evidence, needs, &session.skipped);

    let due: Vec<&Pass> = PASSES.iter().filter(|pass| needs.quantities().any(pass.serves)).collect();
    for (index, pass) in due.iter().enumerate() {
        announce(index + 1, due.len(), pass.name);
        if let Err(lack) = (pass.run)(&mut session) {
            let served = needs.quantities().filter(|quantity| (pass.serves)(*quantity));
            served.for_each(|quantity| session.evidence.lack(quantity, lack.clone()));
        }
        if interrupt::interrupted().is_some() {
            break;
        }
    }

    let Session { evidence, backend, overhead, .. } = session;
    Ok(Gathered { evidence, backend, overhead })
}
