//! The units that estimates are made of: measured on this machine once, then read from the cache folder.

use super::CommandError;
use crate::document::floor::Calibration;
use crate::floor::{Effort, FloorError, Pinned, Rung, Survey, calibration};
use firstbyte_elf::{Architecture, plain};
use firstbyte_measure::launch::LaunchError;
use firstbyte_measure::machine::Machine;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Units, and where they come from.
pub(super) struct Units {
    pub(super) costs: Calibration,
    /// One line.
    pub(super) source: String,
}

/// This machine's: those that are kept, else (or if `again`) measured now. Where that is not possible the line says why,
/// and there are none.
pub(super) fn of(machine: &Machine, again: bool) -> Result<Units, CommandError> {
    let kept = calibration::load(machine).filter(Calibration::suffices);
    if let (Some(costs), Some(place), false) = (kept, calibration::place(machine), again) {
        let source = format!("measured before, kept in {} (--recalibrate: anew)", place.display());
        return Ok(Units { costs, source });
    }
    eprintln!("measuring what this machine charges: once, a few seconds");
    super::before_launching();
    match measured() {
        Ok(costs) => Ok(Units { costs, source: keep(&costs, machine, again) }),
        Err(FloorError::Interrupted) => Err(LaunchError::Interrupted.into()),
        Err(error) => {
            Ok(Units { costs: Calibration::default(), source: format!("not measured: {}", error.line()) })
        }
    }
}

/// Stores them, and says where, or why not.
fn keep(costs: &Calibration, machine: &Machine, again: bool) -> String {
    if let (Some(place), true) = (calibration::place(machine), again) {
        // else the steadier of old and new would stay; that nothing is there is no error
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
    let resource = |cause| FloorError::Resource { what: "a temporary folder", cause };
    let folder = tempfile::Builder::new().prefix("firstbyte-units-").tempdir().map_err(resource)?;
    let rung = |path| Rung { name: "plain ELF".to_owned(), executable: path, argv: vec!["./test".into()] };
    let rungs: Vec<Rung> = plain_elf(folder.path()).map(rung).into_iter().collect();
    let pinned = Pinned::to(None)?;
    let survey =
        Survey { rungs: &rungs, folder: folder.path(), other: pinned.other, effort: Effort::Quick, seed: 1 };
    Ok(calibration::of(&survey.units()?.figures))
}

/// The floor of all programs, as a file in that folder; `None` where we write no executables for the processor.
pub(super) fn plain_elf(folder: &Path) -> Option<PathBuf> {
    let image = plain::image(Architecture::host()?, b"hello world\n", Some(0)).ok()?;
    let path = folder.join("plain");
    fs::write(&path, image).ok()?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).ok()?;
    Some(path)
}
