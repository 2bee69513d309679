//! What a page fault, a library and a relocation cost on this machine: measured once, kept in the user's cache folder,
//! and read by everything that estimates costs without measuring them.
//!
//! The file is named after the facts that the costs depend on, so each kernel, processor and set of mitigations has a
//! file of its own.

use super::{faults, loader};
use crate::document::floor::{Calibration, Cost, Figure};
use firstbyte_cache::user_folder;
use firstbyte_measure::machine::Machine;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The costs among these figures.
pub fn of(figures: &[Figure]) -> Calibration {
    let cost = |name: &str| {
        let figure = figures.iter().find(|figure| figure.name == name)?;
        Some(Cost { ns: figure.median, spread: figure.spread })
    };

    Calibration {
        null_syscall: cost("getppid"),
        exec: cost("vfork+exec, plain ELF"),
        anonymous_fault: cost(faults::ANONYMOUS),
        file_fault: cost(faults::FILE),
        file_fault_around: cost(faults::FILE_AROUND),
        copied_fault: cost(faults::COPIED),
        major_fault: cost(faults::MAJOR),
        library: cost(loader::LIBRARY),
        relative_relocation: cost(loader::RELATIVE),
        symbolic_relocation: cost(loader::SYMBOLIC),
    }
}

/// The costs kept for this machine; `None` if there are none, or they cannot be read.
pub fn load(machine: &Machine) -> Option<Calibration> {
    read(&path(machine)?)
}

/// The file for this machine; `None` without a cache folder.
pub fn path(machine: &Machine) -> Option<PathBuf> {
    Some(path_in(&user_folder()?, machine))
}

/// Keeps the costs for this machine and returns the file. Of an old and a new cost the steadier one stays. Without a
/// cache folder nothing is kept.
pub fn store(costs: Calibration, machine: &Machine) -> io::Result<Option<PathBuf>> {
    path(machine).map(|path| write(costs, &path)).transpose()
}

fn read(path: &Path) -> Option<Calibration> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn write(costs: Calibration, path: &Path) -> io::Result<PathBuf> {
    let merged = costs.merged(read(path).unwrap_or_default());
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;

    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&mut file, &merged)?;
    // By renaming: a process that reads meanwhile reads the old file.
    file.persist(path)?;
    Ok(path.to_owned())
}

/// `calibration/<key>.json` below the cache folder.
fn path_in(folder: &Path, machine: &Machine) -> PathBuf {
    folder.join("calibration").join(key(machine) + ".json")
}

/// A hash of the facts that the costs depend on.
fn key(machine: &Machine) -> String {
    let facts = format!(
        "{:?}",
        (
            &machine.cpu_model,
            &machine.architecture,
            &machine.kernel_release,
            &machine.page_size,
            &machine.mitigations,
            &machine.virtualisation,
            &machine.transparent_huge_pages,
        )
    );
    let digest = Sha256::digest(facts.as_bytes());
    digest.iter().take(8).fold(String::new(), |mut key, byte| {
        let _ = write!(key, "{byte:02x}");
        key
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(ns: f64, spread: f64) -> Calibration {
        Calibration { anonymous_fault: Some(Cost { ns, spread }), ..Calibration::default() }
    }

    #[test]
    fn the_steadier_of_two_costs_is_kept_and_read_back_exactly() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::examine();
        let file = path_in(folder.path(), &machine);
        assert_eq!(read(&file), None);
        write(with(500.0, 0.02), &file).unwrap();
        write(with(900.0, 0.30), &file).unwrap();
        assert_eq!(read(&file), Some(with(500.0, 0.02)));
        write(with(510.5, 0.01), &file).unwrap();
        assert_eq!(read(&file), Some(with(510.5, 0.01)));
        write(with(480.0, 0.015), &file).unwrap();
        assert_eq!(read(&file), Some(with(480.0, 0.015)), "the newer one if both are steady");
        fs::write(&file, "not JSON").unwrap();
        assert_eq!(read(&file), None);
    }

    #[test]
    fn another_kernel_has_another_file_and_another_load_average_has_not() {
        let machine = Machine::examine();
        let later = Machine { load_average: Some([9.0, 9.0, 9.0]), ..machine.clone() };
        assert_eq!(key(&machine), key(&later));
        let other = Machine { kernel_release: Some("0.0.1".to_owned()), ..machine.clone() };
        assert_ne!(key(&machine), key(&other));
    }
}
