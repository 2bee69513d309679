//! Findings about language runtimes.

use super::{Finding, Machine};
use crate::account::{Account, Step, What};
use firstbyte_measure::units::Nanos;

/// Compiled modules that Python reads before its first byte of output: at least five.
pub(super) fn python_modules(account: &Account, _: &Machine) -> Option<Finding> {
    let end = account.phases.first_byte().unwrap_or(account.total);
    let loads: Vec<(&Step, &str)> =
        account.threads.iter().flat_map(|thread| &thread.steps).filter_map(load).collect();
    let loads: Vec<(&Step, &str)> = loads.into_iter().filter(|(step, _)| step.start < end).collect();
    let (first, last) = (loads.first()?.0, loads.last()?.0);
    if loads.len() < 5 {
        return None;
    }
    let until = after_last(account, last).min(end);
    let cost = Nanos(until.0.saturating_sub(first.start.0));
    let site = site(&loads, until);
    let of_site =
        if site.0 > 0 { format!(", of which site and what it imports {site}") } else { String::new() };
    let text = format!(
        "Python imports {} modules from .pyc files before its first byte: {cost}{of_site}. `python -I -S` does \
         without site; fewer imports at the top of modules save the rest.",
        loads.len()
    );
    Some(Finding { rule: "python-modules", cost, text })
}

/// A successful open of a compiled module.
fn load(step: &Step) -> Option<(&Step, &str)> {
    match &step.what {
        What::Call { name, file: Some(path), failed: false, .. }
            if matches!(&**name, "openat" | "open") && path.ends_with(".pyc") =>
        {
            Some((step, path))
        }
        _ => None,
    }
}

/// When the thread does something new after its last load: the next open of any file, else its own end.
fn after_last(account: &Account, last: &Step) -> Nanos {
    let later = account.main().steps.iter().filter(|step| step.start > last.start);
    let mut opens = later.filter(|step| {
        matches!(&step.what, What::Call { name, file: Some(path), .. }
            if matches!(&**name, "openat" | "open") && !path.ends_with(".pyc"))
    });
    opens.next().map_or(last.start + last.elapsed, |step| step.start)
}

/// From the open of site's own module to the end of the imports.
fn site(loads: &[(&Step, &str)], until: Nanos) -> Nanos {
    let own =
        loads.iter().find(|(_, path)| path.rsplit('/').next().is_some_and(|name| name.starts_with("site.")));
    own.map_or(Nanos(0), |(step, _)| Nanos(until.0.saturating_sub(step.start.0)))
}
