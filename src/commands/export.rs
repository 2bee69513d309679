//! Writes results: each format to its target.

use super::CommandError;
use crate::document::INSTALL;
use crate::output::Target;
use crate::output::visible_path;
use crate::report::formats::{Exported, Format};
use crate::report::pictures::png;
use firstbyte_measure::launch::interrupt;
use std::path::Path;

/// A format, and where it goes.
pub(super) type Export = (Format, Target);

/// Refuses targets that cannot be written, before the first run. This includes a closed stdout, on which the results are
/// printed.
pub(super) fn check(exports: &[Export]) -> Result<(), CommandError> {
    check_targets(exports)?;
    Target::Stdout.check().map_err(CommandError::unable)
}

/// The same without stdout.
pub(super) fn check_targets(exports: &[Export]) -> Result<(), CommandError> {
    exports.iter().try_for_each(check_format)?;
    Target::check_all(targets(exports)).map_err(CommandError::usage)
}

fn check_format((format, target): &Export) -> Result<(), CommandError> {
    if *format != Format::Png || png::AVAILABLE {
        return Ok(());
    }
    let file = target.path();
    Err(CommandError::usage(format!(
        "`{}` cannot be drawn: this firstbyte is built without PNG\n\
         help: --export-svg {}, or in firstbyte's source folder: {INSTALL} --features png",
        visible_path(file),
        visible_path(&file.with_extension("svg"))
    )))
}

/// Refuses exports that would replace a file that is read.
pub(super) fn refuse_overwrite<'a>(
    exports: impl IntoIterator<Item = &'a Target>,
    path: &Path,
) -> Result<(), CommandError> {
    if !exports.into_iter().any(|target| target.replaces(path)) {
        return Ok(());
    }
    Err(CommandError::usage(format!(
        "`{}` is used by this command, and an export would replace it\nhelp: give the export its own file",
        visible_path(path)
    )))
}

/// Where exports go.
pub(super) fn targets(exports: &[Export]) -> impl Iterator<Item = &Target> {
    exports.iter().map(|(_, target)| target)
}

/// Writes the exports. Those that can be written only once are written at the end. If one fails, the others are still
/// written.
pub(super) fn write(exports: &[Export], exported: &Exported, last: bool) -> Result<(), CommandError> {
    let (streams, files): (Vec<_>, Vec<_>) = exports.iter().partition(|(_, target)| target.is_stream());
    let due = files.into_iter().chain(streams.into_iter().filter(|_| last));
    let failed = due.map(|export| put(export, exported)).filter_map(Result::err).collect::<Vec<_>>();
    failed.into_iter().next().map_or(Ok(()), Err)
}

/// Writes the exports; `false` if the document has nothing to draw for a format.
pub(super) fn write_drawn(exports: &[Export], exported: &Exported) -> Result<bool, CommandError> {
    let drawn = exports.iter().map(|export| put(export, exported)).collect::<Result<Vec<bool>, _>>()?;
    Ok(!drawn.contains(&false))
}

/// Writes one export; `false` if there is nothing to draw. A pipe may wait for its reader, so from then on signals end
/// this process. Nothing is left to save.
fn put((format, target): &Export, exported: &Exported) -> Result<bool, CommandError> {
    let Some(bytes) = exported.render(*format).map_err(CommandError::unable)? else { return Ok(false) };
    if target.is_stream() {
        interrupt::let_signals_end_us();
    }
    target.write_bytes(&bytes).map_err(CommandError::unable)?;
    Ok(true)
}

/// Whether an export takes stdout, so that nothing else belongs there.
pub(super) fn takes_stdout(exports: &[Export]) -> bool {
    exports.iter().any(|(_, target)| target.is_stdout())
}
