//! `firstbyte doctor`: it succeeds, and reports each thing that does not work in one line.

use super::{Check, check, right};
use crate::report::Checked;
use crate::tool::{User, document, firstbyte};
use serde_json::Value;

pub(super) fn list(user: User) -> Vec<Check> {
    vec![check("-", format!("doctor{}", user.mark()), move || doctor(user))]
}

fn doctor(user: User) -> Checked {
    let shown = firstbyte(user, &["doctor"])?;
    if shown.status != Some(0) {
        return Err(format!("status {:?}: {}", shown.status, shown.stderr));
    }
    let document = document(user, &["doctor", "--json"])?;
    let rows = document["results"].as_array().ok_or("no results")?;
    let tracing: Vec<_> = rows.iter().filter(|row| row["group"] == "tracing").collect();
    if let Some(long) = tracing.iter().find(|row| is_long(&row["why"]) || is_long(&row["detail"])) {
        return Err(format!("more than one line: {long}"));
    }
    right(tracing.iter().map(|row| said(row)).collect::<Vec<_>>().join(", "))
}

/// Longer than one line of reasonable length.
fn is_long(text: &Value) -> bool {
    text.as_str().is_some_and(|text| text.contains('\n') || text.len() > 250)
}

fn said(row: &Value) -> String {
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let why = if row["why"].is_string() { format!(" ({})", text("why")) } else { String::new() };
    format!("{} {}{why}", text("name"), text("status"))
}
