//! The options that several commands share, each defined once.
//!
//! A command whose default or meaning differs changes that one property with `mut_arg`, in its own file.

use super::values::{cpus, duration, place, whole};
use crate::bench::{Destination, Placement};
use crate::document::bench::ColdMethod;
use clap::ArgAction;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use firstbyte_measure::launch::{CpuSet, OutputKind};
use firstbyte_measure::tracer::BackendChoice;
use std::time::Duration;

const HEADING: &str = "Measuring options";

/// How runs are made and observed.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct MeasuringArgs {
    /// Observe runs with BACKEND; `auto` uses the best one that works
    #[arg(long, value_name = "BACKEND", default_value = "auto", help_heading = HEADING)]
    backend: BackendArg,
    /// Connect the programs' stdout to KIND
    #[arg(long, value_name = "KIND", default_value = "pipe", action = ArgAction::Set, help_heading = HEADING,
        value_parser = PossibleValuesParser::new(OUTPUTS).map(|kind| Destination::from(kind_of(&kind))))]
    output: Vec<Destination>,
    /// Run firstbyte and the programs together on these processors, such as 0 or 0-3; with `all`, wherever the kernel puts
    /// them [default: programs with one thread on the last processor, others on any]
    #[arg(long, value_name = "LIST", value_parser = place, help_heading = HEADING)]
    cpus: Option<Placement>,
    #[command(flatten)]
    timeout: TimeoutArgs,
    #[command(flatten)]
    seed: SeedArgs,
}

#[derive(Clone, Debug, clap::Args)]
pub(super) struct CpusArgs {
    /// Run the programs only on these processors, such as 0 or 0-3 [default: any]
    #[arg(long, value_name = "LIST", value_parser = cpus, help_heading = HEADING)]
    pub(super) cpus: Option<CpuSet>,
}

#[derive(Clone, Debug, clap::Args)]
pub(super) struct TimeoutArgs {
    /// Kill a run after DURATION, such as 500ms or 2m; a number without a unit is in seconds
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10m", help_heading = HEADING)]
    pub(super) timeout: Duration,
}

#[derive(Clone, Debug, clap::Args)]
pub(super) struct SeedArgs {
    /// Seed of the random order of runs
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=u64::MAX), default_value_t = 1, help_heading = HEADING)]
    pub(super) seed: u64,
}

/// The state of the page cache before each run.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct CacheArgs {
    /// Start each run with the program's files in memory (warm) or on disk only (cold); warm,cold measures both
    #[arg(long, value_name = "STATE", default_value = "warm", value_delimiter = ',', help_heading = HEADING)]
    cache: Vec<CacheArg>,
    /// With --cache cold: use copies of the program's files that are proven not to be in memory (copies), or drop the
    /// page cache of the whole machine except for files in use (drop-caches, as root)
    #[arg(long, value_name = "METHOD", default_value = "copies", requires = "cache", help_heading = HEADING)]
    cold_method: ColdMethodArg,
}

/// For commands whose results are printed as text unless this asks for JSON.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct JsonArgs {
    /// Print the results as JSON instead of text
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum BackendArg {
    Auto,
    Bpf,
    Ptrace,
    Pipe,
}

/// Kinds of stdout that firstbyte makes for a run.
const OUTPUTS: [&str; 4] = ["null", "pipe", "pty", "file"];

fn kind_of(name: &str) -> OutputKind {
    match name {
        "null" => OutputKind::Null,
        "pty" => OutputKind::Pty,
        "file" => OutputKind::File,
        _ => OutputKind::Pipe,
    }
}

/// A value of `--output` of `bench`: also `inherit` and files of the user.
pub(super) fn output(text: &str) -> Result<Destination, String> {
    match text {
        "inherit" => Ok(OutputKind::Inherit.into()),
        kind if OUTPUTS.contains(&kind) => Ok(kind_of(kind).into()),
        path if path.contains('/') => Ok(Destination { kind: OutputKind::File, file: Some(path.into()) }),
        other => Err(format!(
            "`{other}` is not a kind of output\nhelp: use null, pipe, pty, file or inherit, or a path with a slash, as in --output ./{other}"
        )),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum CacheArg {
    Warm,
    Cold,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ColdMethodArg {
    Copies,
    DropCaches,
}

impl From<BackendArg> for BackendChoice {
    fn from(argument: BackendArg) -> BackendChoice {
        match argument {
            BackendArg::Auto => BackendChoice::Auto,
            BackendArg::Bpf => BackendChoice::Bpf,
            BackendArg::Ptrace => BackendChoice::Ptrace,
            BackendArg::Pipe => BackendChoice::Pipe,
        }
    }
}

impl MeasuringArgs {
    pub(super) fn backend(&self) -> BackendChoice {
        self.backend.into()
    }

    /// Where the output of all programs goes.
    pub(super) fn output(&self) -> Destination {
        self.output.first().cloned().unwrap_or_default()
    }

    /// Where the output of each program goes, if the command takes several.
    pub(super) fn outputs(&self) -> &[Destination] {
        &self.output
    }

    pub(super) fn placement(&self) -> Placement {
        self.cpus.clone().unwrap_or(Placement::Steady)
    }

    pub(super) fn timeout(&self) -> Duration {
        self.timeout.timeout
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed.seed
    }
}

impl CacheArgs {
    /// The states in which everything is measured, warm first: how the page cache is made cold, `None` if it stays warm.
    pub(super) fn states(&self) -> Vec<Option<ColdMethod>> {
        let method = match self.cold_method {
            ColdMethodArg::Copies => ColdMethod::Copies,
            ColdMethodArg::DropCaches => ColdMethod::DropCaches,
        };
        let warm = self.cache.contains(&CacheArg::Warm).then_some(None);
        let cold = self.cache.contains(&CacheArg::Cold).then_some(Some(method));
        warm.into_iter().chain(cold).collect()
    }
}
