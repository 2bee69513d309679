//! The head of a report: what measured, on which machine, in which environment, and at which overhead.

use super::terminal::Terminal;
use crate::document::Document;
use crate::document::bench::{Measurement, Overhead, Tool};
use crate::output::visible;
use crate::report::row::ratio;
use serde_json::Value;

/// For more programs than this, the head shows only the lowest and the highest observer overhead.
const MAX_OVERHEADS: usize = 4;

/// For more programs than this, the head shows only their number.
const MAX_NAMES: usize = 6;

pub(crate) fn head(document: &Document, terminal: &Terminal) -> String {
    let tool = &document.tool;
    let mut lines = vec![format!("{} {}", tool.name, tool.version).trim_end().to_owned()];
    lines.extend(machine(&document.machine).map(|machine| format!("machine   {machine}")));
    lines.extend(environment(&document.machine).map(|environment| format!("programs  {environment}")));
    lines.extend(placement(document).map(|placement| format!("place     {placement}")));
    lines.extend(backend(tool).map(|backend| format!("backend   {backend}")));
    lines.extend(observer(&tool.observer_overhead).map(|observer| format!("observer  {observer}")));
    if let Some(reason) = &document.broken {
        lines.push(format!("partial   the measuring failed: {}", reason.replace('\n', "; ")));
    } else if document.partial {
        lines.push(
            "partial   some planned runs are missing: the measuring was interrupted or has not ended"
                .to_owned(),
        );
    }
    lines.iter().map(|line| terminal.wrap(&visible(line), 10) + "\n").collect()
}

/// The facts that identify a machine, as far as the file has them.
pub(crate) fn machine(machine: &Value) -> Option<String> {
    let fact = |key: &str, before: &str, after: &str| {
        let fact = match machine.get(key)? {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        (fact != "none").then(|| format!("{before}{fact}{after}"))
    };

    let facts = [
        fact("cpu_model", "", ""),
        fact("cores", "", " cores"),
        fact("kernel_release", "Linux ", ""),
        fact("virtualisation", "guest of ", ""),
        fact("container", "in ", ""),
        fact("governor", "governor ", ""),
    ];
    let known: Vec<String> = facts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// The environment in which the programs ran, as far as the file says.
fn environment(machine: &Value) -> Option<String> {
    let origin = machine.get("environment_origin")?.as_str().filter(|origin| !origin.is_empty())?;
    let variables = machine.get("environment")?.as_object()?;
    let usual = |name: &str| ["PATH", "LANG", "TERM"].contains(&name) || name.starts_with("LC_");
    let names: Vec<&str> = variables.keys().map(String::as_str).filter(|name| !usual(name)).collect();

    let also = if names.is_empty() { String::new() } else { format!(" and {}", names.join(", ")) };
    Some(match (origin, names.is_empty()) {
        ("clean", _) => format!("in a clean environment: PATH, HOME, LANG{also}"),
        (_, true) => "in your environment".to_owned(),
        (_, false) => {
            format!(
                "in your environment; these variables may change how programs start: {}",
                names.join(", ")
            )
        }
    })
}

/// On which processors the programs ran, as far as the file says.
fn placement(document: &Document) -> Option<String> {
    let of = |m: &Measurement| m.plan.get("placement").cloned();
    let one = document.results.iter().find_map(|m| of(m)?.get("one")?.as_u64())?;
    let elsewhere = document.results.iter().filter(|m| of(m).is_some_and(|place| place == "any"));
    let names: Vec<&str> = elsewhere.map(Measurement::label).collect();
    let others = match &names[..] {
        [] => String::new(),
        names if names.len() <= MAX_NAMES => format!("; on any: {}", names.join(", ")),
        names => format!("; on any: {} programs with several threads or processes", names.len()),
    };
    Some(format!(
        "programs with one thread on processor {one}, as firstbyte{others} (--cpus all: the kernel decides)"
    ))
}

fn backend(tool: &Tool) -> Option<String> {
    let backend = tool.backend.as_ref()?;
    Some(match &tool.backend_reason {
        Some(reason) => format!("{backend}: {reason}"),
        None => backend.clone(),
    })
}

/// The overhead of each program; of many programs, the lowest and the highest.
fn observer(overheads: &[Overhead]) -> Option<String> {
    let each = |o: &Overhead| {
        let (low, high) = (ratio(o.ratio.low), ratio(o.ratio.high));
        format!("`{}` {} ({low} to {high}, {} blocks)", o.name, ratio(o.ratio.ratio), o.ratio.pairs)
    };

    let mut ordered: Vec<&Overhead> = overheads.iter().filter(|overhead| overhead.is_known()).collect();
    if ordered.is_empty() && !overheads.is_empty() {
        return Some("no ratio of traced and untraced runs: too few blocks of runs".to_owned());
    }
    ordered.sort_by(|a, b| a.ratio.ratio.total_cmp(&b.ratio.ratio));
    let shown = match ordered[..] {
        [] => return None,
        [least, .., most] if ordered.len() > MAX_OVERHEADS => {
            format!("from {} to {} over {} programs", each(least), each(most), ordered.len())
        }
        _ => overheads.iter().filter(|overhead| overhead.is_known()).map(each).collect::<Vec<_>>().join(", "),
    };
    Some(format!("traced / untraced wall time: {shown}"))
}
