//! The costs that estimates are made of: measured once on this machine, then read from the cache folder.

use super::ladder::own_rung;
use super::{Effort, FloorError, Pinned, Survey, calibration};
use crate::bench::smallest;
use crate::document::floor::Calibration;
use firstbyte_measure::machine::Machine;
use firstbyte_measure::own_folder::OwnFolder;
use std::fs;

pub struct UnitCosts {
    pub costs: Calibration,
    /// Where they come from: one line.
    pub source: String,
}

/// The costs that are kept for this machine, if they suffice for an estimate.
pub fn kept(machine: &Machine) -> Option<UnitCosts> {
    let costs = calibration::load(machine).filter(Calibration::suffices)?;
    let place = calibration::place(machine)?;
    let source = format!("measured before, kept in {} (--recalibrate: measure again)", place.display());
    Some(UnitCosts { costs, source })
}

/// Measures the costs, which takes a few seconds, and keeps them. `replace`: the costs that are kept already are dropped.
/// If the costs cannot be measured, there are none, and the source says why.
///
/// # Errors
/// Only if the user interrupts it.
pub fn measure(machine: &Machine, replace: bool) -> Result<UnitCosts, FloorError> {
    match measured() {
        Ok(costs) => Ok(UnitCosts { costs, source: keep(&costs, machine, replace) }),
        Err(FloorError::Interrupted) => Err(FloorError::Interrupted),
        Err(error) => {
            Ok(UnitCosts { costs: Calibration::default(), source: format!("not measured: {}", error.line()) })
        }
    }
}

/// Stores the costs and says where, or why not.
fn keep(costs: &Calibration, machine: &Machine, replace: bool) -> String {
    if let (Some(place), true) = (calibration::place(machine), replace) {
        // Otherwise the steadier of old and new would stay. A missing file is no error.
        let _ = fs::remove_file(place);
    }
    match calibration::store(*costs, machine) {
        Ok(Some(place)) => format!("measured just now, kept in {}", place.display()),
        Ok(None) => {
            "measured just now, not kept: no cache folder (help: export FIRSTBYTE_CACHE=DIR)".to_owned()
        }
        Err(error) => format!("measured just now, not kept: {error} (help: export FIRSTBYTE_CACHE=DIR)"),
    }
}

fn measured() -> Result<Calibration, FloorError> {
    let folder = OwnFolder::temporary()?;
    let rungs: Vec<_> =
        smallest::in_folder(folder.path()).map(|path| own_rung("plain ELF", path)).into_iter().collect();
    let pinned = Pinned::to(None)?;
    let survey =
        Survey { rungs: &rungs, folder: folder.path(), other: pinned.other, effort: Effort::Quick, seed: 1 };
    Ok(calibration::of(&survey.units()?.figures))
}
