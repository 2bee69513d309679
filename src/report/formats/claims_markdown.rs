//! Verdicts on claims, as a page of Markdown.

use super::markdown_text::with_code;
use crate::claims::Post;
use crate::document::claims::{ClaimRow, ClaimVerdict, ClaimsDocument};
use crate::report::text::claims::summary;
use firstbyte_measure::machine::Machine;
use std::fmt::Write;

/// The machine, a table of all verdicts, and then each claim.
pub fn render(document: &ClaimsDocument) -> String {
    let mut text = "# What the posts say, checked here\n\n".to_owned();
    text += "Written by `firstbyte claims --from FILE --export-markdown FILE` from a recorded run. Do not edit.\n\n";
    let _ = writeln!(text, "{}{}\n\n{}\n", machine(document), observer(document), summary(document));
    text += "Each value has its 99 % bootstrap interval, which covers less with fewer than 8 runs (95 % for the cost of \
             observing). A claim holds if the whole interval of each value is within its limits. It does not hold if the \
             whole interval of one value is outside. Otherwise it cannot be tested. The limits follow from the figures: \
             \"closer to the post's than to half or twice the post's\" means within a factor of 1.41, \"to the nearest power \
             of ten\" within a factor of 3.16.\n\n";
    text += "The line below a claim's name is what the post says, in its words or in ours. It is not a quotation.\n\n";

    text += "| claim | verdict |\n|:---|:---|\n";
    for row in &document.results {
        let _ = writeln!(text, "| [{}](#{}) | {} |", row.id, row.id, mark(row.verdict));
    }

    for post in Post::ALL {
        let rows = document.of_post(post.number());
        if !rows.is_empty() {
            let _ = writeln!(text, "\n## {}: {}\n\nPublished {}.", post.number(), title(post), post.credit());
            text.extend(rows.into_iter().map(claim));
        }
    }
    text
}

/// Linked to the post itself where its address is known.
fn title(post: Post) -> String {
    let title = post.title();
    post.address().map_or(title.to_owned(), |address| format!("[{title}]({address})"))
}

fn machine(document: &ClaimsDocument) -> String {
    let machine = serde_json::from_value::<Machine>(document.machine.clone()).ok();
    let facts = machine.map(|machine| {
        let processor = machine.cpu_model.unwrap_or_else(|| "an unknown processor".to_owned());
        let cores = machine.cores.map_or(String::new(), |cores| format!(", {cores} processors"));
        let virtualisation = machine.virtualisation.map_or(String::new(), |kind| format!(", {kind}"));
        let kernel = machine.kernel_release.unwrap_or_else(|| "unknown".to_owned());
        format!("Measured on: {processor}{cores}{virtualisation}, Linux {kernel}")
    });
    let backend =
        document.tool.backend.as_ref().map_or(String::new(), |name| format!(", by the `{name}` backend"));
    let version = &document.tool.version;
    format!(
        "{}{backend}, firstbyte {version}.",
        facts.unwrap_or_else(|| "Measured on an unknown machine".to_owned())
    )
}

/// The observer overhead: the highest, and that of C.
fn observer(document: &ClaimsDocument) -> String {
    let mut costs = document.tool.observer_overhead.clone();
    costs.sort_by(|a, b| b.ratio.ratio.total_cmp(&a.ratio.ratio));
    let (Some(most), Some(c)) = (costs.first(), costs.iter().find(|cost| cost.name == "c-printf")) else {
        return String::new();
    };
    format!(
        " Observed runs took at most {:.3} times as long as unobserved ones (`{}`); for C, {:.3} times.",
        most.ratio.ratio, most.name, c.ratio.ratio
    )
}

fn mark(verdict: ClaimVerdict) -> &'static str {
    match verdict {
        ClaimVerdict::Holds => "holds",
        ClaimVerdict::DoesNotHold => "**does not hold here**",
        ClaimVerdict::CannotBeTested => "*cannot be tested here*",
    }
}

fn claim(row: &ClaimRow) -> String {
    let mut text = format!("\n### {}\n\n{}\n\n", row.id, with_code(&row.claim));
    let install = row.install.as_ref().map(|install| format!("`{install}`"));
    let lines = [
        ("The post", Some(with_code(&row.figure))),
        ("Here", Some(with_code(&row.measured))),
        ("How", Some(format!("{}.", with_code(&row.how)))),
        ("Holds if", Some(format!("{}.", with_code(&row.rule)))),
        ("Verdict", Some(format!("{}: {}.", mark(row.verdict), with_code(&row.why)))),
        ("Would help", install),
    ];
    for (name, said) in lines {
        if let Some(said) = said.filter(|said| !said.is_empty()) {
            let _ = writeln!(text, "- {name}: {said}");
        }
    }
    text
}
