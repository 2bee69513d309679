//! Findings about language runtimes.

use super::{Finding, MachineFacts};
use crate::account::{Account, Step, What};
use firstbyte_measure::units::Nanos;

/// The compiled modules that Python reads before its first byte of output, if there are at least five.
pub(super) fn python_modules(account: &Account, _: &MachineFacts) -> Option<Finding> {
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
    let of_site = if site.0 > 0 { format!(", {site} of it for site and its imports") } else { String::new() };
    let text = format!(
        "Python imports {} modules from .pyc files before its first byte, which takes {cost}{of_site}. `python -I -S` \
         starts without site. Fewer imports at the top of modules save more.",
        loads.len()
    );
    Some(Finding { rule: "python-modules", cost, text })
}

/// A successful open of a compiled module.
fn load(step: &Step) -> Option<(&Step, &str)> {
    match &step.what {
        What::Call { file: Some(path), failed: false, .. } if step.what.opens() && path.ends_with(".pyc") => {
            Some((step, path))
        }
        _ => None,
    }
}

/// When the thread goes on after its last import: at the next open of another file, or at the end of the last open.
fn after_last(account: &Account, last: &Step) -> Nanos {
    let later = account.main().steps.iter().filter(|step| step.start > last.start);
    let mut opens = later.filter(|step| {
        let other =
            |what: &What| matches!(what, What::Call { file: Some(path), .. } if !path.ends_with(".pyc"));
        step.what.opens() && other(&step.what)
    });
    opens.next().map_or(last.start + last.elapsed, |step| step.start)
}

/// The time from the open of site's own module to the end of the imports.
fn site(loads: &[(&Step, &str)], until: Nanos) -> Nanos {
    let own =
        loads.iter().find(|(_, path)| path.rsplit('/').next().is_some_and(|name| name.starts_with("site.")));
    own.map_or(Nanos(0), |(step, _)| Nanos(until.0.saturating_sub(step.start.0)))
}
