//! Where the time of the program's own code went: functions, lines, calls and imports, by samples.

use super::bench::Ratio;
use serde::{Deserialize, Serialize};

/// A function of user code. Times are estimates by samples, nanoseconds; errors are half of a 95 % interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceFunction {
    /// The path of its file. In the program's own language: its package, or its source file.
    pub module: String,
    /// `null`: the file has no symbol for it.
    pub function: Option<String>,
    pub self_ns: f64,
    #[serde(default)]
    pub self_error_ns: f64,
    /// With what it called.
    pub total_ns: f64,
    #[serde(default)]
    pub total_error_ns: f64,
    /// Samples that have it in their stack.
    pub samples: u64,
    /// Of a function of the program's own language; left out for native code.
    #[serde(flatten)]
    pub source: TraceSource,
    /// The lines of it that took the longest, at most ten, in their order: while no other function of its language ran
    /// inside, with the native code that they called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<TraceLine>,
}

/// Where a function is defined, in the program's own language.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSource {
    /// `Python`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The source file, as the interpreter names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// From 1 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl TraceSource {
    /// `plugins.py:41`.
    pub(crate) fn place(&self) -> Option<String> {
        let file = self.file.as_deref()?.rsplit('/').next()?;
        Some(self.line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")))
    }
}

/// The time of a line, nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceLine {
    pub line: u32,
    pub ns: f64,
}

/// A function as one caller called it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceCall {
    /// The place of the caller in this list; `null` for a program.
    pub caller: Option<usize>,
    /// The name of the file.
    pub module: String,
    #[serde(default)]
    pub function: Option<String>,
    /// With what it called.
    pub ns: f64,
    #[serde(flatten)]
    pub source: TraceSource,
}

impl TraceCall {
    /// The function; else the file or package that it is all of; `None`: native code without a symbol.
    pub(crate) fn name(&self) -> Option<String> {
        self.function.clone().or_else(|| self.source.place())
    }
}

/// A statement that imports modules. Times are estimates by samples, nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceImport {
    /// The file that has the statement.
    pub file: String,
    #[serde(default)]
    pub line: Option<u32>,
    /// With the search for the modules, and all that they do and import in turn.
    pub total_ns: f64,
    /// Of it, what no other statement of the program's own code imported further inside; 0 in code of libraries.
    pub self_ns: f64,
    /// The modules that it brought itself, the longest time first.
    #[serde(default)]
    pub modules: Vec<TraceImported>,
}

/// A module that a statement imported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceImported {
    pub file: String,
    /// Its top level, with all that this calls and imports.
    pub total_ns: f64,
    /// The top level alone.
    pub self_ns: f64,
}

/// The sampled runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceSampling {
    pub runs: usize,
    pub samples: u64,
    /// Samples that could not be kept.
    #[serde(default)]
    pub lost: u64,
    /// The processor time between two samples of a thread.
    pub period_ns: u64,
    /// User code on the path, exactly.
    pub user_ns: f64,
    /// That of programs with too few samples.
    #[serde(default)]
    pub unsampled_ns: f64,
    /// Sampled runs against untraced ones, from launch to reaping.
    #[serde(default)]
    pub overhead: Option<Ratio>,
}
