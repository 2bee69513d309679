//! Findings about what programs leave to libraries and to their runtimes, with the function that it is for.

use super::extent::Extent;
use super::fewer_calls::returned;
use super::floors::floor;
use super::language_rules::named;
use super::{Evidence, Finding, noteworthy};
use crate::analysis::profile::{Kind, Work};
use crate::analysis::{Account, What};
use firstbyte_measure::arch::CallFacts;
use firstbyte_measure::units::Nanos;
use std::collections::BTreeMap;

/// What is said about work of one kind.
pub(super) struct Rule {
    kind: Kind,
    pub(super) name: &'static str,
    what: &'static str,
    advice: &'static str,
    /// Suffixes of files that are worked on.
    suffixes: &'static [&'static str],
}

pub(super) const COMPILATION: Rule = Rule {
    kind: Kind::Compilation,
    name: "compilation",
    what: "The program's code is compiled",
    advice: "Load what is not always needed where it is used. From Node.js 22.1 on, `NODE_COMPILE_CACHE` names a folder that \
             keeps compiled modules.",
    suffixes: &["js", "cjs", "mjs"],
};

pub(super) const REGULAR_EXPRESSIONS: Rule = Rule {
    kind: Kind::RegularExpressions,
    name: "regular-expressions",
    what: "Regular expressions are compiled or executed",
    advice: "Compile those that are not always needed where they are used.",
    suffixes: &[],
};

pub(super) const JSON: Rule = Rule {
    kind: Kind::Json,
    name: "json",
    what: "JSON is read or written",
    advice: "Read only what is always needed at the start.",
    suffixes: &["json"],
};

pub(super) const YAML: Rule = Rule {
    kind: Kind::Yaml,
    name: "yaml",
    what: "YAML is read or written",
    advice: "Read only what is always needed at the start; JSON is read faster.",
    suffixes: &["yaml", "yml"],
};

pub(super) const TEMPLATES: Rule = Rule {
    kind: Kind::Templates,
    name: "templates",
    what: "Templates are compiled or filled in",
    advice: "Keep compiled templates, and fill in those that are needed later when they are needed.",
    suffixes: &[],
};

/// Work of one kind.
pub(super) fn work(run: &Evidence, rule: &Rule) -> Option<Finding> {
    let work = of_kind(run, rule.kind)?;
    let cost = Nanos::rounded(work.time.time);
    if !noteworthy(cost, run.account, floor(rule.name)) {
        return None;
    }
    let function = work.function.as_ref().map_or(String::new(), |name| format!("mostly in `{name}`, "));
    let caller = for_caller(run, rule.kind, "called by");
    let file = large_file(run.account, rule.suffixes);
    let text =
        format!("{} ({function}by samples with all that it calls){caller}.{file} {}", rule.what, rule.advice);
    let extent = Extent::of_user_code(run.account, |_| true).part(cost);
    Some(Finding::new(rule.name, Nanos(0), text).sampled(work.time).on(extent))
}

/// A smaller file needs little work, in bytes.
const LARGE: u64 = 100_000;

/// The file that has four fifths of the bytes that are read from files with these suffixes, in a sentence; nothing if it is small.
fn large_file(account: &Account, suffixes: &[&str]) -> String {
    let mut files: BTreeMap<&str, u64> = BTreeMap::new();
    for step in &account.steps {
        let What::Call { file: Some(path), failed: false, .. } = &*step.what else { continue };
        let is_one = path.rsplit_once('.').is_some_and(|(_, suffix)| suffixes.contains(&suffix));
        if is_one && step.what.call_facts().is_some_and(CallFacts::reads) {
            *files.entry(path).or_default() += returned(step).unwrap_or_default();
        }
    }
    let all: u64 = files.values().sum();
    match files.into_iter().max_by_key(|(_, bytes)| *bytes) {
        Some((path, bytes)) if bytes >= LARGE && bytes * 5 >= all * 4 => {
            format!(" Of the files of this kind that it reads, `{path}` has nearly all bytes ({bytes}).")
        }
        _ => String::new(),
    }
}

/// The function of the program's own code for which work of a kind was done, after a comma; nothing where samples do not
/// agree on one.
pub(super) fn for_caller(run: &Evidence, kind: Kind, verb: &str) -> String {
    let shown = |work: &Work| {
        let mostly = if work.only { "" } else { "mostly " };
        work.caller.as_ref().map(|caller| format!(", {mostly}{verb} {}", named(caller)))
    };
    of_kind(run, kind).and_then(shown).unwrap_or_default()
}

fn of_kind<'e>(run: &Evidence<'e>, kind: Kind) -> Option<&'e Work> {
    run.user_code?.divided.works.iter().find(|work| work.kind == kind)
}
