//! `firstbyte doctor`: it succeeds, and reports each thing that does not work in one line.

use super::{Check, check, right, skipped, tracee};
use crate::report::Checked;
use crate::tool::{User, document, firstbyte};
use firstbyte_measure::tracer::bpf::{BpfFull, LARGE_RING};
use serde_json::Value;

pub(super) fn list(user: User) -> Vec<Check> {
    let mut list = vec![check("-", format!("doctor{}", user.mark()), move || doctor(user))];
    if user == User::Root {
        list.push(check("bpf", "doctor and the header name what the kernel lacks", lacks));
    }
    list
}

/// The remarks of the loaded programs stand in doctor's row and in the header of a trace.
fn lacks() -> Checked {
    let Some(path) = tracee("writer_c") else { return skipped("the tracee was not built") };
    let loaded = BpfFull::load(LARGE_RING).and_then(|mut bpf| bpf.attach().map(|()| bpf.remarks()));
    let remarks = loaded.map_err(|error| error.to_string())?;
    let doctor = firstbyte(User::Root, &["doctor"])?.stdout;
    let words = ["trace", "--runs", "2", "--full", "--no-overhead", "--no-samples", "--", &path, "write"];
    let header = firstbyte(User::Root, &words)?.stdout;
    for (name, text) in [("doctor", doctor), ("the header", header)] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(missing) = remarks.iter().find(|remark| !text.contains(**remark)) {
            return Err(format!("{name} does not say `{missing}`: {text}"));
        }
    }
    right(if remarks.is_empty() { "nothing".to_owned() } else { remarks.join(", ") })
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
        return Err(format!("the line about {} is too long", long["name"]));
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
