//! The formats in which results are written to files: one enum and one table for all commands.
//!
//! To add a format, add a variant and its row in [`Format::row`], and name it in the [`Offer`] of each command that
//! writes it.

use crate::output::Target;
use clap::{Arg, ArgMatches, Command, FromArgMatches};
use std::marker::PhantomData;

/// A format in which results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Csv,
    Markdown,
    AsciiDoc,
    /// Bencher Metric Format.
    Bencher,
    /// `customSmallerIsBetter` of github-action-benchmark.
    BenchmarkAction,
    Svg,
    Png,
    /// Chrome's trace events, which ui.perfetto.dev opens.
    Perfetto,
    /// A profile of profiler.firefox.com.
    Firefox,
    Html,
    /// Our own events as JSON Lines.
    Recording,
}

impl Format {
    /// The option that asks for the format, and its help.
    fn row(self) -> (&'static str, &'static str) {
        match self {
            Format::Json => ("export-json", "Write the results as JSON"),
            Format::Csv => ("export-csv", "Write the results as CSV"),
            Format::Markdown => ("export-markdown", "Write the results as Markdown tables"),
            Format::AsciiDoc => ("export-asciidoc", "Write the results as an AsciiDoc table"),
            Format::Bencher => ("export-bencher", "Write the results in Bencher Metric Format"),
            Format::BenchmarkAction => {
                ("export-benchmark-action", "Write the results for github-action-benchmark")
            }
            Format::Svg => ("export-svg", "Draw the waterfall as an SVG picture"),
            Format::Png => ("export-png", "Draw the waterfall as a PNG picture"),
            Format::Perfetto => ("export-perfetto", "Write a timeline for ui.perfetto.dev"),
            Format::Firefox => ("export-firefox", "Write a profile for profiler.firefox.com"),
            Format::Html => ("html", "Write the results as one self-contained HTML page"),
            Format::Recording => {
                ("record", "Write the events of the displayed run, for --replay and firstbyte diff")
            }
        }
    }

    /// The long option, without its dashes; also its id in clap.
    pub fn option(self) -> &'static str {
        self.row().0
    }

    fn argument(self) -> Arg {
        let (option, help) = self.row();
        Arg::new(option).long(option).value_name("FILE").help(help).help_heading(HEADING)
    }
}

/// For `mut_arg`: gives `--export-json` the short name `--json`. Without a FILE it prints JSON to stdout, as `--json` does
/// in the commands that have no `--export-json`.
pub(super) fn json_or_file(json: Arg) -> Arg {
    json.visible_alias("json")
        .num_args(0..=1)
        .default_missing_value("-")
        .help("Write the results as JSON (to stdout if FILE is left out)")
}

/// The heading of these options in every help text.
pub(super) const HEADING: &str = "Export options (`-` as FILE is stdout)";

/// The formats that a command offers, in the order of its help.
pub(super) trait Offer {
    const FORMATS: &'static [Format];
}

/// The offer of the commands that compare programs.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfMeasurements;

impl Offer for OfMeasurements {
    const FORMATS: &'static [Format] = &[
        Format::Json,
        Format::Csv,
        Format::Markdown,
        Format::AsciiDoc,
        Format::Bencher,
        Format::BenchmarkAction,
        Format::Html,
    ];
}

/// The export options of a command.
#[derive(Clone, Debug)]
pub(super) struct ExportArgs<O> {
    targets: Vec<(Format, Target)>,
    offer: PhantomData<O>,
}

impl<O: Offer> ExportArgs<O> {
    /// Each requested format and its target, in the order of the offer.
    pub(super) fn targets(self) -> Vec<(Format, Target)> {
        self.targets
    }
}

impl<O: Offer> FromArgMatches for ExportArgs<O> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let requested = |format: &Format| {
            let file = matches.get_one::<String>(format.option())?;
            Some((*format, Target::parse(file)))
        };
        Ok(ExportArgs { targets: O::FORMATS.iter().filter_map(requested).collect(), offer: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<O: Offer> clap::Args for ExportArgs<O> {
    fn augment_args(command: Command) -> Command {
        O::FORMATS.iter().fold(command, |command, format| command.arg(format.argument()))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
