//! Which of the ways the user wants.

use super::error::TuneError;
use super::plan::TunePlan;
use super::{Candidate, Untried};
use crate::document::tune::UntriedVariant;
use crate::output::visible;

/// The ways that the user wants, and those of them that are not tried.
pub fn selected(
    plan: &TunePlan,
    all: Vec<Candidate>,
    untried: Vec<Untried>,
) -> Result<(Vec<Candidate>, Vec<UntriedVariant>), TuneError> {
    let is_known =
        |name: &&String| all.iter().any(|it| it.is_named(name)) || untried.iter().any(|it| it.name == **name);
    let unknown: Vec<&String> = plan.only.iter().filter(|name| !is_known(name)).collect();
    if let Some(first) = unknown.first().filter(|_| unknown.len() == plan.only.len()) {
        let command = visible(&shell_words::join(&plan.words));
        return Err(TuneError::Request(format!(
            "no way named `{}` applies to this command\nhelp: firstbyte tune --list {command}",
            visible(first)
        )));
    }
    let reason = "no such way applies to this command";
    let missing =
        unknown.into_iter().map(|name| UntriedVariant { name: name.clone(), reason: reason.to_owned() });
    let named = |names: &[String], candidate: &Candidate| names.iter().any(|name| candidate.is_named(name));
    let wanted = |candidate: &Candidate| {
        (plan.only.is_empty() || named(&plan.only, candidate)) && !named(&plan.skip, candidate)
    };
    let bases: Vec<&str> = all.iter().filter(|it| wanted(it)).filter_map(Candidate::base).collect();
    let is_base = |candidate: &Candidate| bases.contains(&candidate.name.as_str());
    let kept: Vec<bool> = all.iter().map(|candidate| wanted(candidate) || is_base(candidate)).collect();
    let all = all.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(candidate, _)| candidate).collect();
    let is_wanted =
        |name: &String| (plan.only.is_empty() || plan.only.contains(name)) && !plan.skip.contains(name);
    let untried = untried.into_iter().filter(|it| is_wanted(&it.name));
    let untried = untried.map(|Untried { name, reason }| UntriedVariant { name, reason });
    Ok((all, untried.chain(missing).collect()))
}
