//! The options that write results to files: one for each format that draws the command's document.

use super::options::JsonArgs;
use crate::document::Kind;
use crate::output::Target;
use crate::report::formats::{Format, FormatEntry};
use clap::{Arg, ArgGroup, ArgMatches, Command, FromArgMatches};
use std::path::Path;

/// The heading of these options in every help text.
pub(super) const HEADING: &str = "Export options (`-` as FILE is stdout)";

/// The group of the options that draw pictures.
pub(super) const PICTURES: &str = "pictures";

/// The export options of a command. `KIND` is the place of its document's kind in [`Kind::ALL`].
#[derive(Clone, Debug)]
pub(super) struct ExportArgs<const KIND: usize> {
    targets: Vec<(Format, Target)>,
}

impl<const KIND: usize> ExportArgs<KIND> {
    /// Each requested format and its target, in the order of the table of formats.
    pub(super) fn targets(self) -> Vec<(Format, Target)> {
        self.targets
    }

    /// For a command whose `--json` prints the same document: it is short for `--export-json -`.
    pub(super) fn targets_with(self, json: &JsonArgs) -> Vec<(Format, Target)> {
        let printed = json.json.then_some((Format::Json, Target::Stdout));
        printed.into_iter().chain(self.targets).collect()
    }
}

impl<const KIND: usize> FromArgMatches for ExportArgs<KIND> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let requested = |entry: &FormatEntry| {
            let file = matches.get_one::<String>(entry.option)?;
            Some((drawn(entry.format, file), Target::parse(file)))
        };
        Ok(ExportArgs { targets: Format::of(Kind::ALL[KIND]).filter_map(requested).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<const KIND: usize> clap::Args for ExportArgs<KIND> {
    fn augment_args(command: Command) -> Command {
        let entries = || Format::of(Kind::ALL[KIND]);
        let pictures = entries().filter(|entry| entry.format.is_picture()).map(|entry| entry.option);
        let group = ArgGroup::new(PICTURES).multiple(true).args(pictures);
        command.args(entries().map(argument)).group(group)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn argument(entry: &FormatEntry) -> Arg {
    let argument = Arg::new(entry.option).long(entry.option).value_name("FILE");
    let argument = argument.help(entry.help).help_heading(HEADING);
    // an older name of the option
    if entry.format == Format::Svg { argument.alias("chart") } else { argument }
}

/// A picture is a PNG where the name of its file says so.
fn drawn(format: Format, file: &str) -> Format {
    let extension = Path::new(file).extension();
    let is_png = extension.is_some_and(|extension| extension.eq_ignore_ascii_case("png"));
    if format == Format::Svg && is_png { Format::Png } else { format }
}
