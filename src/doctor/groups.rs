//! What the groups of the corpus lack on this machine, and how large it is.

use super::install::{missing_in, plan};
use crate::corpus::execute::{Destination, Limits, execute};
use crate::corpus::{Corpus, CorpusError, Program, debian, toolchain};
use crate::document::doctor::GroupPlan;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// The name of the programs without a group.
const CORE: &str = "core";

/// What these groups lack, or all groups if none is named. Groups that lack nothing are left out.
pub fn plans(corpus: &Corpus, wanted: &[String]) -> Result<Vec<GroupPlan>, CorpusError> {
    let known: BTreeSet<&str> = corpus.programs().iter().map(group_of).collect();
    if let Some(name) = wanted.iter().find(|name| !known.contains(name.as_str())) {
        let groups: Vec<&str> = known.into_iter().collect();
        return Err(CorpusError::NoGroup { name: name.clone(), groups: groups.join(", ") });
    }
    let wanted =
        known.into_iter().filter(|group| wanted.is_empty() || wanted.iter().any(|name| name == group));
    let plans = wanted.map(|group| plan_for(corpus, group));
    Ok(plans.filter(|plan| !plan.install.packages.is_empty() || !plan.commands.is_empty()).collect())
}

fn group_of(program: &Program) -> &str {
    program.manifest.group.as_deref().unwrap_or(CORE)
}

fn plan_for(corpus: &Corpus, group: &str) -> GroupPlan {
    let programs = || corpus.programs().iter().filter(|program| group_of(program) == group);
    let missing = programs().filter_map(|program| toolchain::find_all(&program.manifest).err()).flatten();
    let commands: BTreeSet<Vec<String>> =
        missing.map(|tool| tool.install).filter(|argv| !argv.is_empty()).collect();

    let install = plan(missing_in(programs()));
    let sizes = sizes(&install.packages);
    GroupPlan { group: group.to_owned(), install, sizes, commands: commands.into_iter().collect() }
}

/// Asks apt-get, which installs nothing because it assumes that the answer is no.
fn sizes(packages: &[String]) -> Option<(String, String)> {
    if packages.is_empty() {
        return None;
    }
    let limits = Limits { timeout: Duration::from_secs(60), output: 1 << 20, interrupted: &|| false };
    let english = ["env", "LC_ALL=C"].map(str::to_owned);
    let argv = english.into_iter().chain(debian::install_argv(packages)).filter(|word| word != "-y");
    let argv: Vec<_> = argv.chain(["--assume-no".to_owned()]).map(Into::into).collect();
    let answer = execute(&argv, Path::new("/"), Destination::Both, limits).ok()?;
    sizes_in(&String::from_utf8_lossy(&answer.output))
}

fn sizes_in(answer: &str) -> Option<(String, String)> {
    let between = |from: &str, to: &str| Some(answer.split_once(from)?.1.split_once(to)?.0.to_owned());
    let download = between("Need to get ", " of archives")?;
    let disk = between("After this operation, ", " of additional disk space")?;
    Some((download, disk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_are_those_that_apt_get_prints() {
        let answer = "Need to get 32.5 MB of archives.\nAfter this operation, 141 MB of additional disk space will be used.\n\
                      Do you want to continue? [Y/n] N\nAbort.\n";
        assert_eq!(sizes_in(answer), Some(("32.5 MB".to_owned(), "141 MB".to_owned())));
        assert_eq!(sizes_in("E: Unable to locate package x\n"), None);
    }
}
