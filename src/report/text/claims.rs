//! Verdicts on claims, for a terminal.

use super::terminal::Terminal;
use crate::claims::{Claim, Post};
use crate::document::claims::{ClaimRow, ClaimVerdict, ClaimsDocument};
use crate::output::visible;
use crate::report::words::count_of;
use anstyle::{AnsiColor, Style};

/// The column where the text of a line begins.
const INDENT: usize = 10;

/// Post by post; the number of each verdict is at the end.
pub fn render(document: &ClaimsDocument, terminal: &Terminal) -> String {
    let mut text = String::new();
    for post in Post::ALL {
        let rows = document.of_post(post.number());
        if rows.is_empty() {
            continue;
        }
        text += &terminal.bold(&format!("{} {}", post.number(), post.title()));
        text += "\n";
        text += &terminal.wrap(&format!("Published {}.", post.credit()), 0);
        text += "\n\n";
        for row in rows {
            text += &claim(row, terminal);
        }
    }
    text + &terminal.wrap(&summary(document), 2) + "\n"
}

/// The number of each verdict.
pub(crate) fn summary(document: &ClaimsDocument) -> String {
    let claims = count_of(document.results.len(), "claim", "claims");
    let hold = count_of(document.count(ClaimVerdict::Holds), "holds", "hold");
    let missed = count_of(document.count(ClaimVerdict::DoesNotHold), "does not hold", "do not hold");
    let untested = document.count(ClaimVerdict::CannotBeTested);

    let extent = match (document.partial, document.quick) {
        (true, _) => " Interrupted: not everything was measured.",
        (false, true) => " With --quick, each figure has few runs.",
        _ => "",
    };
    format!("{claims}: {hold}, {missed} here, {untested} cannot be tested here.{extent}")
}

fn claim(row: &ClaimRow, terminal: &Terminal) -> String {
    let verdict = terminal.paint(style(row.verdict), row.verdict.name());
    let mut text = format!("{} {verdict}\n", terminal.bold(&row.id));
    let how = format!("{}; holds if {}", row.how, row.rule);
    let lines = [
        ("claim", &row.claim),
        ("there", &row.figure),
        ("here", &row.measured),
        ("how", &how),
        ("why", &row.why),
    ];
    for (name, said) in lines.into_iter().filter(|(_, said)| !said.is_empty()) {
        text += &line(name, said, terminal);
    }
    if let Some(install) = &row.install {
        text += &line("help", install, terminal);
    }
    text + "\n"
}

fn line(name: &str, said: &str, terminal: &Terminal) -> String {
    terminal.wrap(&format!("  {name:<width$}{}", visible(said), width = INDENT - 2), INDENT) + "\n"
}

fn style(verdict: ClaimVerdict) -> Style {
    let colour = match verdict {
        ClaimVerdict::Holds => AnsiColor::Green,
        ClaimVerdict::DoesNotHold => AnsiColor::Red,
        ClaimVerdict::CannotBeTested => AnsiColor::Yellow,
    };
    colour.on_default()
}

/// The claims, a line each.
pub fn list(claims: &[Claim], terminal: &Terminal) -> String {
    let line = |claim: &Claim| terminal.wrap(&format!("{:<32}{}", claim.id, claim.text), 32) + "\n";
    claims.iter().map(line).collect()
}
