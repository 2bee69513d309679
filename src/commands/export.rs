//! Where results go: every format to its target.

use super::{CommandError, report};
use crate::cli::export::Format;
use crate::document::Document;
use crate::output::Target;
use crate::output::visible;
use crate::report::formats::{asciidoc, bencher, benchmark_action, csv, json, markdown};
use firstbyte_measure::launch::interrupt;
use std::path::Path;

/// Refuses targets that cannot be written: before the first run. Also a stdout that is closed, where what is shown goes.
pub(super) fn check(exports: &[(Format, Target)]) -> Result<(), CommandError> {
    check_targets(exports.iter().map(|(_, target)| target))?;
    Target::Stdout.check().map_err(CommandError::unable)
}

/// The same, of exports of any form.
pub(super) fn check_targets<'t>(targets: impl Iterator<Item = &'t Target>) -> Result<(), CommandError> {
    Target::check_all(targets).map_err(CommandError::usage)
}

/// Refuses exports that would replace a file that is read.
pub(super) fn spare<'a>(
    exports: impl IntoIterator<Item = &'a Target>,
    path: &Path,
) -> Result<(), CommandError> {
    if !exports.into_iter().any(|target| target.replaces(path)) {
        return Ok(());
    }
    Err(CommandError::usage(format!(
        "`{}` is read, and an export would replace it\nhelp: give the export a file of its own",
        visible(&path.to_string_lossy())
    )))
}

/// Where exports go.
pub(super) fn targets<F>(exports: &[(F, Target)]) -> impl Iterator<Item = &Target> {
    exports.iter().map(|(_, target)| target)
}

/// Writes the exports; those that can be written once only at the end. One that fails does not keep the others from
/// being written.
pub(super) fn write(
    exports: &[(Format, Target)],
    document: &Document,
    last: bool,
) -> Result<(), CommandError> {
    let (streams, files): (Vec<_>, Vec<_>) = exports.iter().partition(|(_, target)| target.is_stream());
    let due = files.into_iter().chain(streams.into_iter().filter(|_| last));
    let write = |(format, target): &(Format, Target)| put(target, rendered(*format, document)?.as_bytes());
    let failed = due.map(write).filter_map(Result::err).collect::<Vec<_>>();
    failed.into_iter().next().map_or(Ok(()), Err)
}

/// Writes one export. A pipe may keep us waiting for its reader: from then on a signal ends us, there is nothing left to
/// be saved from it.
pub(super) fn put(target: &Target, bytes: &[u8]) -> Result<(), CommandError> {
    if target.is_stream() {
        interrupt::let_signals_end_us();
    }
    target.write_bytes(bytes).map_err(CommandError::unable)
}

/// Whether stdout is taken by an export, so that nothing else belongs there.
pub(super) fn takes_stdout(exports: &[(Format, Target)]) -> bool {
    exports.iter().any(|(_, target)| target.is_stdout())
}

/// The command does not write this format. Its arguments do not allow it, either.
pub(super) fn not_offered(format: Format) -> CommandError {
    CommandError::usage(format!("this command has no option `--{}`\nhelp: firstbyte help", format.option()))
}

fn rendered(format: Format, document: &Document) -> Result<String, CommandError> {
    Ok(match format {
        Format::Json => json::render(document),
        Format::Csv => csv::render(document),
        Format::Markdown => markdown::render(document),
        Format::AsciiDoc => asciidoc::render(document),
        Format::Bencher => bencher::render(document),
        Format::BenchmarkAction => benchmark_action::render(document),
        Format::Html => report::page("this run", document)?,
        other => return Err(not_offered(other)),
    })
}
