//! Gives monitoring what `firstbyte watch` counts: over HTTP, and in a file for the node exporter.
//!
//! One thread does all of it, beside the one that measures. That one only looks whether results are asked for, and hands
//! them over; it never waits. [`catalogue`] decides which programs have a label, [`exporter`] is the thread, [`connection`]
//! and [`request`] are its HTTP.

mod catalogue;
mod connection;
mod exporter;
#[cfg(fuzzing)]
pub mod fuzzed;
mod mailbox;
mod request;
mod server;

pub use exporter::{Exporter, PrometheusError};

use crate::document::exposition::Exposition;
use crate::output::Target;
use std::net::SocketAddr;

/// Where the counts go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrometheusPlan {
    /// Prometheus asks here.
    pub listen: Option<SocketAddr>,
    /// The file of the node exporter's textfile collector.
    pub textfile: Option<Target>,
    /// How many programs have a label of their own.
    pub programs: usize,
}

/// What the thread needs of other rooms.
#[derive(Clone, Copy, Debug)]
pub struct Callbacks {
    /// As `OpenMetrics`.
    pub open: fn(&Exposition) -> String,
    /// In the older text format, which the textfile collector reads.
    pub older: fn(&Exposition) -> String,
    /// Takes a line for the user.
    pub tell: fn(&str),
}
