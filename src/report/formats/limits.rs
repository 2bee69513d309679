//! What limits the figures of a document: a list below the table of each markup.

use crate::document::Document;

/// One line for each limit, after `mark`. `code` writes a name, and `plain` any other text, so that nothing in it is markup.
pub(super) fn list(
    document: &Document,
    mark: &str,
    code: fn(&str) -> String,
    plain: fn(&str) -> String,
) -> String {
    let partial = document.partial.then(|| plain("some planned runs are missing"));
    let failed = document.failed.iter();
    let failed = failed.map(|failed| format!("{} failed: {}", code(&failed.name), plain(&failed.reason)));
    let limits = document.results.iter().flat_map(|measurement| {
        let name = code(measurement.label());
        measurement.limits_to_comparison().into_iter().map(move |limit| format!("{name}: {}", plain(&limit)))
    });

    let lines: Vec<String> =
        partial.into_iter().chain(failed).chain(limits).map(|line| format!("{mark} {line}\n")).collect();
    if lines.is_empty() { String::new() } else { format!("\n{}", lines.concat()) }
}
