//! What a page fault, a library, a relocation cost on this machine: measured once, kept in the user's cache folder, read
//! by whoever estimates costs without measuring them.
//!
//! The file is named after the facts that the costs depend on, so that another kernel, processor or mitigation has
//! another one.

use super::figure::Figure;
use super::{faults, loader};
use firstbyte_cache::user_folder;
use firstbyte_measure::machine::Machine;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Nanoseconds each: the median.
    pub ns: f64,
    /// How far the measurements lay apart: 1.4826 MAD / median.
    pub spread: f64,
}

/// The costs of one machine. What could not be measured is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Calibration {
    /// A system call that does nothing (getppid).
    pub null_syscall: Option<Cost>,
    /// vfork, exec, exit and wait of the plain ELF: what no program comes below.
    pub exec: Option<Cost>,
    /// The first touch of a page of zeroed memory.
    pub anonymous_fault: Option<Cost>,
    /// The first touch of a page of a file in the page cache, that page alone mapped.
    pub file_fault: Option<Cost>,
    /// The same, 64 KiB around mapped with it.
    pub file_fault_around: Option<Cost>,
    /// The first write to a page of a private file mapping.
    pub copied_fault: Option<Cost>,
    /// The first touch of a page that must be read from the disk.
    pub major_fault: Option<Cost>,
    /// A shared library with one function, mapped and linked, its page faults included.
    pub library: Option<Cost>,
    /// A relative relocation in a page that is there.
    pub relative_relocation: Option<Cost>,
    /// What a relocation that looks up its symbol costs over a relative one.
    pub symbolic_relocation: Option<Cost>,
}

impl Calibration {
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

    /// Of each cost our own, the newer one, unless it is far less steady than the other: a machine changes.
    #[must_use]
    pub fn merged(self, other: Calibration) -> Calibration {
        let steadier = |one: Option<Cost>, other: Option<Cost>| match (one, other) {
            (Some(one), Some(other)) => Some(if 2.0 * other.spread < one.spread { other } else { one }),
            (one, other) => one.or(other),
        };
        Calibration {
            null_syscall: steadier(self.null_syscall, other.null_syscall),
            exec: steadier(self.exec, other.exec),
            anonymous_fault: steadier(self.anonymous_fault, other.anonymous_fault),
            file_fault: steadier(self.file_fault, other.file_fault),
            file_fault_around: steadier(self.file_fault_around, other.file_fault_around),
            copied_fault: steadier(self.copied_fault, other.copied_fault),
            major_fault: steadier(self.major_fault, other.major_fault),
            library: steadier(self.library, other.library),
            relative_relocation: steadier(self.relative_relocation, other.relative_relocation),
            symbolic_relocation: steadier(self.symbolic_relocation, other.symbolic_relocation),
        }
    }

    /// What is kept for this machine; `None` when nothing is, or it cannot be read.
    pub fn load(machine: &Machine) -> Option<Calibration> {
        Calibration::read(&Calibration::place(machine)?)
    }

    /// Where it is kept for this machine; `None` without a cache folder.
    pub fn place(machine: &Machine) -> Option<PathBuf> {
        Some(path(&user_folder()?, machine))
    }

    /// Whether a start can be estimated: its exec, system calls and page faults.
    pub fn suffices(&self) -> bool {
        [self.null_syscall, self.exec, self.file_fault].iter().all(Option::is_some)
    }

    fn read(path: &Path) -> Option<Calibration> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Keeps it for this machine, the steadier of old and new costs; returns the file. Without a cache folder nothing
    /// is kept.
    pub fn store(&self, machine: &Machine) -> io::Result<Option<PathBuf>> {
        Calibration::place(machine).map(|path| self.write(&path)).transpose()
    }

    fn write(&self, path: &Path) -> io::Result<PathBuf> {
        let merged = self.merged(Calibration::read(path).unwrap_or_default());
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut file, &merged)?;
        // by renaming: whoever reads meanwhile reads the old one
        file.persist(path)?;
        Ok(path.to_owned())
    }
}

/// `calibration/<key>.json` below the cache folder.
fn path(folder: &Path, machine: &Machine) -> PathBuf {
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
    fn what_is_kept_is_the_steadier_of_both_and_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::examine();
        let file = path(folder.path(), &machine);
        assert_eq!(Calibration::read(&file), None);
        with(500.0, 0.02).write(&file).unwrap();
        with(900.0, 0.30).write(&file).unwrap();
        assert_eq!(Calibration::read(&file), Some(with(500.0, 0.02)));
        with(510.5, 0.01).write(&file).unwrap();
        assert_eq!(Calibration::read(&file), Some(with(510.5, 0.01)));
        with(480.0, 0.015).write(&file).unwrap();
        assert_eq!(
            Calibration::read(&file),
            Some(with(480.0, 0.015)),
            "the newer one, where both are steady"
        );
        fs::write(&file, "no JSON").unwrap();
        assert_eq!(Calibration::read(&file), None);
    }

    #[test]
    fn another_kernel_has_another_file_and_the_load_of_the_moment_has_not() {
        let machine = Machine::examine();
        let later = Machine { load_average: Some([9.0, 9.0, 9.0]), ..machine.clone() };
        assert_eq!(key(&machine), key(&later));
        let other = Machine { kernel_release: Some("0.0.1".to_owned()), ..machine.clone() };
        assert_ne!(key(&machine), key(&other));
    }
}
