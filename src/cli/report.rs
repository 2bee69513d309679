//! `firstbyte report`.

use crate::output::Target;
use std::path::PathBuf;

/// One self-contained HTML page of result files: tables, distributions, timelines, waterfalls, charts.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// JSON files: of showdown, bench, trace, floor, throughput, elf, claims, or hyperfine's
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where the page goes (`-`: stdout; default: report.html, or nowhere with --plots)
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Write each chart into this folder, as SVG and as PNG
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

/// What is read, and where the page and the charts go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The documents, in their order on the page.
    pub files: Vec<PathBuf>,
    /// Where the page goes; `None`: only charts are wanted.
    pub page: Option<Target>,
    /// The folder of the charts.
    pub plots: Option<PathBuf>,
}

impl Args {
    /// The plan that these arguments amount to.
    pub fn plan(self) -> Plan {
        let page = match (&self.output, &self.plots) {
            (Some(output), _) => Some(output.as_str()),
            (None, Some(_)) => None,
            (None, None) => Some("report.html"),
        };
        Plan { files: self.files, page: page.map(Target::parse), plots: self.plots }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_written_unless_only_charts_are_asked_for() {
        let plan = |output: Option<&str>, plots: Option<&str>| {
            let args =
                Args { files: vec![], output: output.map(str::to_owned), plots: plots.map(PathBuf::from) };
            args.plan().page
        };
        assert_eq!(plan(None, None), Some(Target::parse("report.html")));
        assert_eq!(plan(None, Some("plots")), None);
        assert_eq!(plan(Some("-"), Some("plots")), Some(Target::Stdout));
    }
}
