//! `firstbyte claims`: its arguments, and the plan that they amount to.

use crate::output::Target;
use std::path::PathBuf;

/// Re-runs what five published posts say about starting programs, and judges each statement on this machine.
///
/// Run by root, it empties the whole page cache now and then, as one of the posts does.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The claims of this seed (000 to 004), or this claim (may be repeated; `--list` shows all)
    #[arg(long, value_name = "SEED|ID", value_delimiter = ',')]
    only: Vec<String>,
    /// Few runs of everything: about a minute instead of about seven
    #[arg(long)]
    quick: bool,
    /// List the claims and stop
    #[arg(long)]
    list: bool,
    /// Measure nothing: take the verdicts of this file, which --json has written (may be repeated: later ones replace
    /// earlier ones)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "quick", "list"])]
    from: Vec<PathBuf>,
    /// Seed of the random order of runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Write the verdicts as JSON (`-`: stdout)
    #[arg(long = "json", visible_alias = "export-json", value_name = "FILE")]
    json: Option<String>,
    /// Write the verdicts as a page of Markdown (`-`: stdout)
    #[arg(long = "export-markdown", value_name = "FILE")]
    markdown: Option<String>,
}

/// What `firstbyte claims` is to do.
#[derive(Debug)]
pub struct Plan {
    /// Seeds' numbers and ids; empty: all.
    pub only: Vec<String>,
    /// Few runs.
    pub quick: bool,
    /// Only list them.
    pub list: bool,
    /// Files of verdicts; empty: measure.
    pub from: Vec<PathBuf>,
    /// The seed of the order.
    pub seed: u64,
    /// Where verdicts go.
    pub exports: Vec<(Form, Target)>,
}

/// A form in which verdicts are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON.
    Json,
    /// Markdown.
    Markdown,
}

impl Args {
    /// The plan.
    pub fn plan(self) -> Plan {
        let asked = [(Form::Json, self.json), (Form::Markdown, self.markdown)];
        Plan {
            only: self.only,
            quick: self.quick,
            list: self.list,
            from: self.from,
            seed: self.seed,
            exports: asked.into_iter().filter_map(|(form, to)| Some((form, Target::parse(&to?)))).collect(),
        }
    }
}
