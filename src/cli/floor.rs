//! `firstbyte floor`: its arguments, and the plan that they amount to.

use super::common::duration;
use crate::document::floor::Group;
use crate::floor::Effort;
use crate::output::Target;
use firstbyte_measure::launch::CpuSet;
use std::ffi::OsString;
use std::time::Duration;

/// Says what this machine charges: system calls, processes, page faults, shell builtins; and the waterfall.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// These groups (may be repeated)
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    only: Vec<GroupArg>,
    /// Some fifteen seconds in all, instead of about two minutes
    #[arg(long)]
    quick: bool,
    /// The processor that everything runs on, and, if there is a second one in the list, the readers' (default: the
    /// last one)
    #[arg(long, value_name = "LIST", value_parser = super::common::cpus)]
    cpus: Option<CpuSet>,
    /// Kill the command after this long
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1m")]
    timeout: Duration,
    /// Run the command (without one: Go, Java and Node) with 1, 2, 4 … processors instead, by affinity and by the
    /// runtime's own variable
    #[arg(long, conflicts_with = "only")]
    cpus_sweep: bool,
    /// Seed of the random order
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Draw every histogram of single calls
    #[arg(long)]
    histograms: bool,
    /// Print the document as JSON
    #[arg(long)]
    json: bool,
    /// Write the document as JSON (`-`: stdout)
    #[arg(long, value_name = "FILE")]
    export_json: Option<String>,
    /// Write the figures as Markdown tables (`-`: stdout)
    #[arg(long, value_name = "FILE")]
    export_markdown: Option<String>,
    /// Write the waterfall as an SVG picture (`-`: stdout)
    #[arg(long, value_name = "FILE")]
    export_svg: Option<String>,
    /// Write the waterfall as a PNG picture (`-`: stdout)
    #[arg(long, value_name = "FILE")]
    export_png: Option<String>,
    /// Write the document as one self-contained HTML page (`-`: stdout)
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
    /// How far this command stands above the floor, and which layers hold the difference
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum GroupArg {
    Syscalls,
    Processes,
    Faults,
    Shells,
    #[value(alias = "print")]
    Prints,
    Waterfall,
}

/// What the floor command is to do.
#[derive(Debug)]
pub struct Plan {
    /// The groups, in the order in which they are shown.
    pub groups: Vec<Group>,
    /// How much time is spent.
    pub effort: Effort,
    /// Where everything runs.
    pub cpus: Option<CpuSet>,
    /// When the command is killed.
    pub timeout: Duration,
    /// The seed of the order.
    pub seed: u64,
    /// Draw the histograms.
    pub histograms: bool,
    /// Where results go.
    pub exports: Vec<(Form, Target)>,
    /// Sweep over processors instead of measuring the floor.
    pub sweep: bool,
    /// The command to set above the floor; empty: none.
    pub command: Vec<OsString>,
}

/// A form in which the floor is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `--json`, `--export-json`
    Json,
    /// `--export-markdown`
    Markdown,
    /// `--export-svg`
    Svg,
    /// `--export-png`
    Png,
    /// `--html`
    Html,
}

impl Args {
    /// The plan.
    pub fn plan(self) -> Plan {
        let asked = [
            (Form::Json, self.json.then(|| "-".to_owned())),
            (Form::Json, self.export_json),
            (Form::Markdown, self.export_markdown),
            (Form::Svg, self.export_svg),
            (Form::Png, self.export_png),
            (Form::Html, self.html),
        ];
        let all = |group: &Group| {
            // a command asks for its own waterfall, not for everything
            let wanted = self.only.iter().any(|only| only.group() == *group);
            wanted || (self.only.is_empty() && (self.command.is_empty() || *group == Group::Waterfall))
        };
        Plan {
            groups: Group::ALL.into_iter().filter(all).collect(),
            effort: if self.quick { Effort::Quick } else { Effort::Full },
            cpus: self.cpus,
            timeout: self.timeout,
            seed: self.seed,
            histograms: self.histograms,
            exports: asked
                .into_iter()
                .filter_map(|(form, target)| Some((form, Target::parse(&target?))))
                .collect(),
            sweep: self.cpus_sweep,
            command: self.command,
        }
    }
}

impl GroupArg {
    fn group(self) -> Group {
        match self {
            GroupArg::Syscalls => Group::Syscalls,
            GroupArg::Processes => Group::Processes,
            GroupArg::Faults => Group::Faults,
            GroupArg::Shells => Group::Shells,
            GroupArg::Prints => Group::Prints,
            GroupArg::Waterfall => Group::Waterfall,
        }
    }
}
