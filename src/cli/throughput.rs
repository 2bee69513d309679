//! Arguments and plan of `firstbyte throughput`.

use super::export::{ExportArgs, HEADING, PICTURES};
use super::options::{JsonArgs, SeedArgs, TimeoutArgs};
use super::values::{count, duration, split, whole};
use crate::document::Kind;
use crate::output::Target;
use crate::report::formats::Format;
use crate::throughput::design::{Design, OURS};
use crate::throughput::measured_designs::ThroughputPlan;
use crate::throughput::post;
use crate::throughput::sink::Sink;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
The designs are those of the post Response to Response, others in common use,
and `firstbyte lines`.

Examples:
  firstbyte throughput
  firstbyte throughput --post
  firstbyte throughput --n 17.5M --sink wc,file --only go-v2
  firstbyte throughput --n 1M --only go-v2 --command 'mine=./lines {N}'
  firstbyte throughput --export-svg chart.svg --log";

/// Compare ways to print many lines, such as `firstbyte lines`
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("timeout", |timeout| timeout.default_value("2m")),
    mut_arg("export-svg", |svg| svg.help(CHART)),
    mut_arg("export-png", |png| png.help("Draw the same chart as a PNG picture")),
)]
pub struct Args {
    /// Print this many lines: a comma-separated list, such as 1M,17.5M
    #[arg(long = "n", value_name = "LIST", value_delimiter = ',', default_values_t = post::COUNTS,
        value_parser = count)]
    counts: Vec<u64>,
    /// Print to these targets (a comma-separated list)
    #[arg(long = "sink", value_name = "LIST", value_delimiter = ',', default_value = "null,pipe-read",
        default_value_if("post", "true", "null"), value_parser = clap::builder::PossibleValuesParser::new(Sink::ALL.map(Sink::name)))]
    sinks: Vec<String>,
    /// Measure only these designs, and the baseline (can be repeated; --list shows all)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Measure your own program, too: a name, and a command in which {N} stands for the number of lines (can be repeated)
    #[arg(long = "command", value_name = "NAME=COMMAND", value_parser = own)]
    own: Vec<(String, Vec<String>)>,
    /// Repeat the table of Response to Response: its four programs as published, with its figures beside ours
    #[arg(long, conflicts_with = "only")]
    post: bool,
    /// List the designs and exit
    #[arg(long)]
    list: bool,
    /// Run each design N times for each target and number of lines
    #[arg(short, long, value_name = "N", default_value_t = 5, value_parser = whole::<u32>(1..=100_000))]
    runs: u32,
    /// Stop repeating a design once its runs have taken DURATION for one target and number of lines
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration)]
    enough: Duration,
    #[command(flatten)]
    timeout: TimeoutArgs,
    /// Create files in DIR [default: the temporary folder]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Create files in memory in DIR, a folder on tmpfs
    #[arg(long, value_name = "DIR", default_value = "/dev/shm")]
    memory: PathBuf,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    exports: ExportArgs<{ Kind::Throughput as usize }>,
    /// Draw pictures with logarithmic axes
    #[arg(long, requires = PICTURES, help_heading = HEADING)]
    log: bool,
}

const CHART: &str = "Draw a chart of time against lines as an SVG picture (as PNG if FILE ends in .png)";

#[derive(Debug)]
pub struct Plan {
    pub measuring: ThroughputPlan,
    pub list: bool,
    pub exports: Vec<(Format, Target)>,
    /// The axes of pictures are logarithmic.
    pub log: bool,
}

/// `NAME=COMMAND`.
fn own(text: &str) -> Result<(String, Vec<String>), String> {
    const HELP: &str = "help: write it like --command 'mine=./lines {n}'";
    let (name, command) = text
        .split_once('=')
        .filter(|(name, _)| !name.trim().is_empty())
        .ok_or_else(|| format!("`{text}` has no name\n{HELP}"))?;
    // the library that prints the help takes a lower-case one for the end of a line
    let words = split(&command.replace("{N}", Design::COUNT))?;
    if !words.iter().any(|word| word.contains(Design::COUNT)) {
        return Err(format!("`{command}` does not say where the number of lines belongs\n{HELP}"));
    }
    Ok((name.trim().to_owned(), words))
}

impl Args {
    /// The designs that are wanted besides the baseline. Who repeats the post's table wants no others than ours.
    fn only(&self) -> Vec<String> {
        let post = post::designs().chain([OURS]).filter(|_| self.post);
        self.only.iter().cloned().chain(post.map(str::to_owned)).collect()
    }

    pub fn plan(self) -> Plan {
        let only = self.only();
        let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let own = self.own.iter().map(|(name, words)| Design::of_command(name, words.clone(), &here));
        let mut counts = self.counts;
        counts.sort_unstable();
        counts.dedup();
        let wanted = |sink: &Sink| self.sinks.iter().any(|name| name == sink.name());
        let measuring = ThroughputPlan {
            counts,
            sinks: Sink::ALL.into_iter().filter(wanted).collect(),
            only,
            own: own.collect(),
            post: self.post,
            runs: self.runs,
            enough: self.enough,
            timeout: self.timeout.timeout,
            directory: self.directory.unwrap_or_else(std::env::temp_dir),
            memory: self.memory,
            seed: self.seed.seed,
        };
        Plan { measuring, list: self.list, exports: self.exports.targets_with(&self.json), log: self.log }
    }
}
