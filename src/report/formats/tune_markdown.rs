//! The ways to start a program as Markdown, for a pull request.

use super::markdown::line;
use super::markdown_text::{code, plain};
use crate::document::tune::{TuneDocument, TunedVariant};
use crate::report::text::tune::{figures, notes, summary};

/// The sentence, a table of the ways that help, and lists of the others.
pub(super) fn render(document: &TuneDocument) -> String {
    let head = format!("**{}**: {}\n", code(&document.command), plain(&summary(document)));
    let rows: String = document.proven().map(row).chain(together(document)).collect();
    let table = if rows.is_empty() { rows } else { format!("{HEAD}{rows}") };
    let others = document.of_no_help().map(|tuned| {
        format!("- {}: no help, {}\n", code(&tuned.name), plain(&figures(tuned.ratio.as_ref(), None, None)))
    });
    let untried =
        document.untried.iter().map(|it| format!("- {}: not tried: {}\n", code(&it.name), plain(&it.reason)));
    let lists: String = others.chain(untried).collect();
    let lists = if lists.is_empty() { lists } else { format!("\n{lists}") };
    head + &table + &lists
}

const HEAD: &str = "\n| way | ratio (99 % interval) and median | command | |\n|:---|---:|:---|:---|\n";

fn row(tuned: &TunedVariant) -> String {
    let against = tuned.against.as_ref().map_or(String::new(), |name| format!(" against {}", code(name)));
    let figures = plain(&figures(tuned.ratio.as_ref(), tuned.median_ns, tuned.total_ns)) + &against;
    line(&[code(&tuned.name), figures, code(&tuned.command), plain(&notes(tuned))])
}

fn together(document: &TuneDocument) -> Option<String> {
    let together = document.together.as_ref()?;
    let figures = plain(&figures(Some(&together.ratio), Some(together.median_ns), together.total_ns));
    let names = together.names.iter().map(|name| code(name)).collect::<Vec<_>>().join(" and ");
    Some(line(&["together".to_owned(), figures, code(&together.command), names]))
}
