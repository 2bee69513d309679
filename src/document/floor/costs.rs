//! The costs that estimates are made of.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Median, in nanoseconds.
    pub ns: f64,
    /// Relative spread of the measurements: 1.4826 MAD / median.
    pub spread: f64,
}

/// The costs of one machine. A cost that could not be measured is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Calibration {
    /// A system call that does nothing (getppid).
    pub null_syscall: Option<Cost>,
    /// vfork, exec, exit and wait of the plain ELF. No program starts faster.
    pub exec: Option<Cost>,
    /// The first touch of a page of zeroed memory.
    pub anonymous_fault: Option<Cost>,
    /// The first touch of a page of a file in the page cache, with only that page mapped.
    pub file_fault: Option<Cost>,
    /// The same, with the 64 KiB around it mapped by the same fault.
    pub file_fault_around: Option<Cost>,
    /// The first write to a page of a private file mapping.
    pub copied_fault: Option<Cost>,
    /// The first touch of a page that must be read from the disk.
    pub major_fault: Option<Cost>,
    /// A shared library with one function, mapped and linked, including its page faults.
    pub library: Option<Cost>,
    /// A relative relocation in a page that is already mapped.
    pub relative_relocation: Option<Cost>,
    /// The extra cost of a relocation that looks up its symbol, over a relative one.
    pub symbolic_relocation: Option<Cost>,
}

impl Calibration {
    /// Takes each cost from `self`, the newer calibration, unless it is far less steady than the one in `other`: a
    /// machine changes.
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

    /// Whether a start-up can be estimated: its exec, system calls and page faults.
    pub fn suffices(&self) -> bool {
        [self.null_syscall, self.exec, self.file_fault].iter().all(Option::is_some)
    }
}
