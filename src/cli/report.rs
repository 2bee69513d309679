//! Arguments and plan of `firstbyte report`.

use crate::output::Target;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  firstbyte report showdown.json
  firstbyte report bench.json trace.json -o page.html --plots charts";

/// Make one HTML page with tables and charts from result files
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// JSON files that showdown, bench, check, trace, diff, floor, throughput, elf, claims or hyperfine wrote
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the page to FILE (`-` for stdout) [default: report.html; with --plots: no page]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Write each chart into DIR, as SVG (with the feature `png` also as PNG)
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The documents, in the order in which the page shows them.
    pub files: Vec<PathBuf>,
    /// `None` if only charts are wanted.
    pub page: Option<Target>,
    pub plots: Option<PathBuf>,
}

impl Args {
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
    fn the_page_is_written_unless_only_charts_are_wanted() {
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
