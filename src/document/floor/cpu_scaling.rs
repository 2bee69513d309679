//! Start-up against the number of processors.

use serde::{Deserialize, Serialize};

/// One program, run with more and more processors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuScaling {
    /// The program.
    pub name: String,
    /// One point for each limit, fewer processors first.
    pub points: Vec<Point>,
}

/// The result for one limit on the processors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The number of processors.
    pub cpus: usize,
    /// `affinity`, or the environment variable that limited the program.
    pub how: String,
    /// Median time to the first byte in nanoseconds. For a program that prints nothing: to the end.
    pub first_byte: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Median of the whole run, in nanoseconds.
    pub total: f64,
    /// Median number of threads in the whole process tree; absent if the backend does not see them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Each run's time to the first byte, in nanoseconds.
    pub samples: Vec<f64>,
}
