//! Findings about folders that are searched in vain.

use super::code_rules::is_python;
use super::extent::{Extent, Processes};
use super::{Evidence, Finding, cost, noteworthy, role};
use crate::analysis::{Account, Execution, FileSearch, Role, Step, What};
use firstbyte_measure::arch::CallFacts;
use firstbyte_measure::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Files that were looked for and not found: at least three failed calls.
pub(super) fn failed_searches(run: &Evidence) -> Option<Finding> {
    let account = run.account;
    let failed = |step: &&Step| {
        matches!(&*step.what, What::Call { failed: true, file: Some(_), text, .. } if is_missing(text))
            && step.what.call_facts().is_some_and(CallFacts::looks_up)
            && !step.what.is_mark()
    };
    let steps: Vec<&Step> = account.steps.iter().filter(failed).collect();
    let cost = cost(steps.iter().copied());
    if steps.len() < 3 || !noteworthy(cost, account, 1) {
        return None;
    }

    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for step in &steps {
        if let What::Call { file: Some(path), .. } = &*step.what {
            *names.entry(path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()).or_default() += 1;
        }
    }

    let (name, times) = names.into_iter().max_by_key(|(_, times)| *times)?;
    let by_loader = steps.iter().filter(|step| role(&step.what) == Some(Role::Loader)).count();
    let searching =
        if by_loader * 2 > steps.len() { "most of them for libraries" } else { "in all processes" };
    let most = if times > 1 { format!(", most often of `{name}`, {times} times") } else { String::new() };
    let (advice, saves) = first_folder(run, &steps);
    let text =
        format!("{} lookups of files that do not exist failed ({searching}){most}. {advice}", steps.len());
    let text = text.trim_end().to_owned();
    let finding = Finding::new("failed-searches", cost, text).on(Extent::of(steps));
    Some(match saves {
        Some(saves) => finding.saving(saves),
        None => finding,
    })
}

/// Searches that end in the same folder.
#[derive(Default)]
struct EndingIn<'s> {
    misses: u64,
    /// The folders of the longest of them.
    most: u64,
    first: &'s str,
    folders: BTreeSet<&'s str>,
    looks_for: Option<Locale>,
}

/// What a search for files of a locale looks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Locale {
    /// `LC_CTYPE` and so on. The folder has the name of the locale.
    Category,
    /// Translated texts of a program, by language and country.
    Texts,
}

impl Locale {
    fn of(search: &FileSearch) -> Option<Locale> {
        let name = search.names.first()?;
        let category = name.starts_with("LC_").then_some(Locale::Category);
        category
            .or_else(|| Path::new(name).extension().is_some_and(|end| end == "mo").then_some(Locale::Texts))
    }
}

/// What to put first in a search path or what else to do, and what that saves; `None`: no folder has what is looked for.
fn first_folder(run: &Evidence, failed: &[&Step]) -> (String, Option<Nanos>) {
    let mut folders: BTreeMap<&str, EndingIn> = BTreeMap::new();
    let searches = &run.account.searches;
    for search in searches {
        if let (Some(found), Some(first)) = (&search.found, search.folders.first()) {
            let entry = folders.entry(found).or_default();
            entry.misses += search.misses;
            entry.most = entry.most.max(search.folders.len() as u64);
            entry.first = if entry.first.is_empty() { first } else { entry.first };
            entry.folders.extend(search.folders.iter().map(|folder| without_hardware(folder)));
            entry.looks_for = Locale::of(search);
        }
    }
    let Some((found, ending)) = folders.iter().max_by_key(|(_, ending)| ending.misses) else {
        return (nowhere(searches), None);
    };

    // what is found elsewhere is still looked for in the same folders, which are then new to the one who searches
    let others = searches.iter().filter(|search| search.found.as_deref() != Some(found));
    let begins_alike = |first: &String| without_hardware(first) == without_hardware(ending.first);
    let is_shared = others.into_iter().any(|search| search.folders.first().is_some_and(begins_alike));
    let spared = ending.misses.saturating_sub(if is_shared { ending.most } else { 0 });
    let saves = cost(failed.iter().copied()).0 * spared.min(failed.len() as u64) / failed.len().max(1) as u64;
    match ending.looks_for {
        // a country's texts come before those of its language, whatever is set
        Some(Locale::Texts) => return (String::new(), None),
        Some(Locale::Category) => return (other_spelling(run, found, ending), Some(Nanos(saves))),
        None => {}
    }
    let folders: Vec<&str> = ending.folders.iter().copied().collect();
    let variable = run.environment.variable_with_folders(&folders);
    let variable = variable.map_or(String::new(), |name| format!(", which `{name}` sets"));

    let advice = format!(
        "`{found}` has what {} of them look for elsewhere: put it before `{}` in the search path{variable}.",
        ending.misses,
        without_hardware(ending.first)
    );
    (advice, Some(Nanos(saves)))
}

/// The C library looks for a locale in a folder of the name that is set, and then in one of its own spelling.
fn other_spelling(run: &Evidence, found: &str, ending: &EndingIn) -> String {
    let [own, set] = [found, ending.first].map(|folder| folder.rsplit('/').next().unwrap_or_default());
    let variable = run.environment.variable_with_folders(&[set]);
    let variable = variable.filter(|name| name == "LANG" || name.starts_with("LC_"));
    format!(
        "`{found}` has what {} of them look for in `{}`: with `{}={own}` they are not made.",
        ending.misses,
        ending.first,
        variable.as_deref().unwrap_or("LC_ALL")
    )
}

/// What to do about the longest of searches that find nothing.
fn nowhere(searches: &[FileSearch]) -> String {
    let longest = searches.iter().max_by_key(|search| search.misses);
    match longest.filter(|search| Locale::of(search) == Some(Locale::Category)) {
        Some(search) => {
            let name = search.folders.first().and_then(|folder| folder.rsplit('/').next());
            format!(
                "The locale `{}` is not installed: `locale-gen` or `localedef` makes it, and `LC_ALL=C` needs none.",
                name.unwrap_or_default()
            )
        }
        None => "No folder has these files: look for them only where they can be.".to_owned(),
    }
}

/// The folder of a search path in which ld.so looks for libraries for this processor.
fn without_hardware(folder: &str) -> &str {
    folder.split("/glibc-hwcaps/").next().unwrap_or_default()
}

/// Whether a failed call failed because the file does not exist. `readlink` of a file that is no link fails, too.
fn is_missing(text: &str) -> bool {
    !text.contains(" = -1 ") || text.ends_with("ENOENT") || text.ends_with("ENOTDIR")
}

/// Fewer folders are no search path that somebody has made longer.
const MANY: usize = 10;

/// Folders of `sys.path` that Python lists and asks for again at each import, and of which it uses no file. No lookup fails there.
pub(super) fn searched_folders(run: &Evidence) -> Option<Finding> {
    let account = run.account;
    let mut executed = account.processes.iter().flat_map(|process| &process.execs);
    if !executed.any(|exec| is_python(&exec.executed)) {
        return None;
    }
    let unused = unused_folders(account);
    if unused.len() < MANY {
        return None;
    }

    let extent = Extent::of(searching(account, &unused));
    let cost = extent.total();
    let folders: Vec<&str> = unused.iter().copied().collect();
    let variable = run.environment.variable_with_folders(&folders);
    let variable = variable.map_or(String::new(), |name| format!(" `{name}` names them."));
    let text = format!(
        "Python searches {} folders, such as `{}`, for what it imports, and uses no file of them.{variable} Leave them out of \
         the search path, or put them behind the folders that have what is imported.",
        folders.len(),
        folders[0]
    );
    noteworthy(cost, account, 1).then(|| Finding::new("searched-folders", cost, text).saving_all().on(extent))
}

/// The folders that Python's importers list, without those of which a file is used. An importer asks at least twice whether a
/// path is a folder before it lists that; other code lists folders, too.
fn unused_folders(account: &Account) -> BTreeSet<&str> {
    let (mut asked, mut listed) = (BTreeMap::<&str, usize>::new(), BTreeSet::<&str>::new());
    let mut others: Vec<&str> = Vec::new();
    let executions = account.executions();
    let runs_python =
        |pid, at| executions.at(pid, at).is_some_and(|exec: &Execution| is_python(&exec.executed));

    for thread in &account.threads {
        for step in &thread.steps {
            let What::Call { name, text, file: Some(path), failed: false, .. } = &*step.what else {
                continue;
            };
            if &**name == "getdents64" {
                let is_import = asked.get(&**path).is_some_and(|count| *count >= 2);
                if is_import && runs_python(thread.pid, step.start) {
                    listed.insert(path);
                }
            } else if text.contains("AT_FDCWD") && !step.what.opens() {
                *asked.entry(path).or_default() += 1;
            }
            others.push(path);
        }
    }

    let used = others.iter().filter(|path| !listed.contains(**path)).flat_map(|path| folders_around(path));
    let used: BTreeSet<&str> = used.collect();
    listed.difference(&used).copied().collect()
}

fn folders_around(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end])
}

/// The steps from a call about one of these folders to the next one, where no call about another file lies between them.
fn searching<'a>(account: &'a Account, folders: &BTreeSet<&str>) -> Vec<&'a Step> {
    let processes = Processes::of(account);
    let mut found: Vec<&Step> = Vec::new();
    let (mut since, mut last) = (None, None);
    for (index, step) in account.steps.iter().enumerate() {
        let What::Call { file: Some(path), .. } = &*step.what else { continue };
        let pid = processes.at(step.start);
        if !folders.contains(&**path) {
            since = None;
            continue;
        }
        let begin = since.filter(|_| last == Some(pid)).map_or(index, |before: usize| before + 1);
        found.extend(&account.steps[begin..=index]);
        (since, last) = (Some(index), Some(pid));
    }
    found
}
