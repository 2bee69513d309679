//! What a start-up loads: the files that it opens and then reads or maps, and how long each takes.
//!
//! A load owns the time of the critical path from its open until the next load begins, because a program opens a module
//! or a configuration when it is about to use it. `follow` walks along the path and keeps for every process the load to
//! which the time belongs; `tree` finds which load brought in another one. The own times sum to the total exactly.

mod follow;
mod process;
mod reported;
mod shells;
mod tree;
mod units;

use super::binaries::FileBinaries;
use super::model::Account;
use crate::analysis::runs::AskedRuntime;
use firstbyte_measure::units::Nanos;
use std::sync::Arc;

/// How a file comes into a start-up, as documents spell it.
pub const EXECUTABLE: &str = "exec";
/// By the dynamic loader.
pub const LIBRARY: &str = "library";
/// By the program's own opening and reading.
pub const FILE: &str = "file";

pub use self::reported::{ARCHIVE, JAVA_CLASSES, JAVA_OWN_CLASSES};
pub(super) use self::reported::{interpreters, misread, mixes_threads, runtimes};
pub use self::shells::ShellCommand;
pub(super) use self::units::{is_code, is_module};

/// Something that a start-up brings in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// [`EXECUTABLE`], [`LIBRARY`] or [`FILE`]; else the language runtime that reports the load.
    pub runtime: &'static str,
    /// A module, a function or the name of a file.
    pub unit: String,
    /// Where it comes from, if that is known.
    pub file: Option<Arc<str>>,
    /// Without the loads that it brought in.
    pub self_time: Nanos,
    /// With them.
    pub total: Nanos,
    /// How many loads are around it. Those that it brought in follow it.
    pub depth: u32,
}

/// The loads on the path of one run, by what its system calls show.
pub fn of_path(account: &Account, binaries: &FileBinaries) -> Vec<Load> {
    tree::arranged(follow::rows(account), |path| binaries.needed(path))
}

impl Load {
    /// The path of the file; if it is not known, the unit's name.
    pub fn path(&self) -> &str {
        self.file.as_deref().unwrap_or(&self.unit)
    }

    /// Whether the name of the unit has this suffix, without its dot.
    pub fn has_suffix(&self, suffix: &str) -> bool {
        self.unit.rsplit_once('.').is_some_and(|(_, self_time)| self_time == suffix)
    }

    /// The load is a file that the system calls show. Otherwise a runtime reports it.
    pub fn is_file(&self) -> bool {
        matches!(self.runtime, EXECUTABLE | LIBRARY | FILE)
    }
}

/// The loads that a language runtime reports.
pub(super) fn reported(runtime: AskedRuntime, text: &str) -> Vec<Load> {
    reported::loads(runtime, text)
}

/// The commands in the files of a shell, by its report.
pub(super) fn commands(runtime: AskedRuntime, text: &str) -> Vec<ShellCommand> {
    match runtime {
        AskedRuntime::Bash => shells::bash_commands(text),
        AskedRuntime::Zsh => shells::zsh_commands(text),
        _ => Vec::new(),
    }
}

/// A number with the decimal point or comma of the user's locale.
fn decimal(number: &str) -> Option<f64> {
    number.replace(',', ".").parse().ok()
}
