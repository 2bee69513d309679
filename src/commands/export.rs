//! Where results go: every format to its target.

use super::CommandError;
use crate::cli::common::Format;
use crate::report::{Document, Target, asciidoc, bencher, benchmark_action, csv, json, markdown};

/// Refuses targets that cannot be written: before the first run.
pub(super) fn check(exports: &[(Format, Target)]) -> Result<(), CommandError> {
    exports.iter().try_for_each(|(_, target)| target.check()).map_err(CommandError::usage)
}

/// Writes the exports; those to stdout only at the end. One that fails does not keep the others from being written.
pub(super) fn write(
    exports: &[(Format, Target)],
    document: &Document,
    last: bool,
) -> Result<(), CommandError> {
    let due = exports.iter().filter(|(_, target)| last || !target.is_stdout());
    let write = |(format, target): &(Format, Target)| target.write(&rendered(*format, document));
    let failed = due.map(write).filter_map(Result::err).collect::<Vec<_>>();
    failed.into_iter().next().map_or(Ok(()), |error| Err(CommandError::unable(error)))
}

/// Whether stdout is taken by an export, so that nothing else belongs there.
pub(super) fn takes_stdout(exports: &[(Format, Target)]) -> bool {
    exports.iter().any(|(_, target)| target.is_stdout())
}

fn rendered(format: Format, document: &Document) -> String {
    match format {
        Format::Json => json::render(document),
        Format::Csv => csv::render(document),
        Format::Markdown => markdown::render(document),
        Format::AsciiDoc => asciidoc::render(document),
        Format::Bencher => bencher::render(document),
        Format::BenchmarkAction => benchmark_action::render(document),
    }
}
