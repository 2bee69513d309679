//! Finds searches: the same name tried in one folder after another, until it is found or given up. Most failed calls of a
//! start-up belong to one: ld.so looks for a library, a shell or `execvp` goes through PATH, an interpreter through its own
//! path.

use super::model::{FileSearch, ThreadAccount};
use super::step::{Code, ExecStage, Role, Step, What};
use firstbyte_measure::arch::Does;
use firstbyte_measure::units::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All searches of some threads, the most expensive first.
pub(super) fn of_threads(threads: &[ThreadAccount]) -> Vec<FileSearch> {
    let mut alike: BTreeMap<(Vec<String>, Option<String>, String), FileSearch> = BTreeMap::new();
    for search in threads.iter().flat_map(|thread| of_steps(&thread.steps)) {
        let key = (search.folders.clone(), search.found.clone(), search.by.clone());
        match alike.get_mut(&key) {
            Some(known) => join(known, search),
            None => drop(alike.insert(key, search)),
        }
    }
    let mut all: Vec<FileSearch> = alike.into_values().collect();
    all.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.names.cmp(&b.names)));
    all
}

fn join(known: &mut FileSearch, other: FileSearch) {
    known.misses += other.misses;
    known.time = Nanos(known.time.0.saturating_add(other.time.0));
    known
        .names
        .extend(other.names.into_iter().filter(|name| !known.names.contains(name)).collect::<Vec<_>>());
}

fn of_steps(steps: &[Step]) -> Vec<FileSearch> {
    let mut reader = Reader::default();
    for step in steps {
        reader.read(step);
    }
    reader.close();
    reader.done
}

/// A step that asked for a path.
struct Lookup<'s> {
    path: &'s Arc<str>,
    failed: bool,
    by: Option<&'s Code>,
    is_exec: bool,
    time: Nanos,
}

/// A search in progress.
struct Open {
    key: String,
    /// The paths that do not exist.
    missed: Vec<Arc<str>>,
    by: String,
    time: Nanos,
    /// A path that exists and has another name. It may be the folder that is searched next.
    aside: Option<(Arc<str>, Nanos)>,
}

#[derive(Default)]
struct Reader {
    open: Option<Open>,
    done: Vec<FileSearch>,
}

impl Reader {
    fn read(&mut self, step: &Step) {
        let Some(lookup) = lookup(step) else { return };
        if let Some(open) = &mut self.open {
            if open.goes_on_with(&lookup) {
                return;
            }
            if !lookup.failed && open.has_found(&lookup) {
                return self.found(lookup.path);
            }
            self.close();
        }
        if lookup.failed {
            self.open = Some(Open::at(&lookup));
        }
    }

    fn found(&mut self, path: &Arc<str>) {
        if let Some(open) = self.open.take() {
            let search = FileSearch { found: Some(split(path).0.to_owned()), ..open.finish() };
            self.done.push(search);
        }
    }

    /// Ends a search without success. A single path that does not exist is not a search.
    fn close(&mut self) {
        if let Some(open) = self.open.take()
            && open.missed.iter().any(|path| *path != open.missed[0])
        {
            self.done.push(open.finish());
        }
    }
}

impl Open {
    fn at(lookup: &Lookup) -> Open {
        Open {
            key: key(split(lookup.path).1).to_owned(),
            missed: vec![Arc::clone(lookup.path)],
            by: searcher(lookup),
            time: lookup.time,
            aside: None,
        }
    }

    /// Takes one more miss, or a folder that was asked for on the way. `false`: the lookup is not part of this search.
    fn goes_on_with(&mut self, lookup: &Lookup) -> bool {
        let same = key(split(lookup.path).1) == self.key;
        let on_the_way = self.missed.last().is_some_and(|last| contains(lookup.path, last));
        if same && lookup.failed && self.leads_to(lookup.path) {
            self.missed.push(Arc::clone(lookup.path));
            let aside = self.aside.take().map_or(Nanos(0), |(_, time)| time);
            self.add(Nanos(aside.0.saturating_add(lookup.time.0)));
        } else if !same && !lookup.failed && !on_the_way && self.aside.is_none() {
            self.aside = Some((Arc::clone(lookup.path), lookup.time));
        } else if !same && on_the_way {
            self.add(lookup.time);
        } else {
            return false;
        }
        true
    }

    fn add(&mut self, time: Nanos) {
        self.time = Nanos(self.time.0.saturating_add(time.0));
    }

    fn has_found(&self, lookup: &Lookup) -> bool {
        let same = key(split(lookup.path).1) == self.key;
        same && self.leads_to(lookup.path) && !self.missed.contains(lookup.path)
    }

    fn leads_to(&self, path: &str) -> bool {
        self.aside.as_ref().is_none_or(|(aside, _)| contains(aside, path))
    }

    fn finish(self) -> FileSearch {
        let first = split(&self.missed[0]).1.to_owned();
        let alike = self.missed.iter().all(|path| split(path).1 == first);
        let mut folders: Vec<String> = Vec::new();
        for path in &self.missed {
            let folder = split(path).0;
            if !folders.iter().any(|known| known == folder) {
                folders.push(folder.to_owned());
            }
        }
        FileSearch {
            names: vec![if alike { first } else { format!("{}.*", self.key) }],
            by: self.by,
            misses: self.missed.len() as u64,
            folders,
            found: None,
            time: self.time,
        }
    }
}

fn lookup(step: &Step) -> Option<Lookup<'_>> {
    match &*step.what {
        _ if step.what.is_mark() => None,
        // ld.so reads its cache between two groups of folders: that is not one of the places where it looks
        What::Call { file: Some(path), .. } if &**path == "/etc/ld.so.cache" => None,
        What::Call { file: Some(path), failed, code, .. } if path.contains('/') => {
            let facts = step.what.call_facts().filter(|call| call.looks_up())?;
            let is_exec = facts.does == Does::Executes;
            Some(Lookup { path, failed: *failed, by: code.as_ref(), is_exec, time: step.self_time })
        }
        What::Exec { stage: ExecStage::Open, path } => {
            Some(Lookup { path, failed: false, by: None, is_exec: true, time: step.self_time })
        }
        _ => None,
    }
}

fn searcher(lookup: &Lookup) -> String {
    match lookup.by {
        _ if lookup.is_exec => "PATH".to_owned(),
        Some(code) if code.module.role != Role::Unknown => code.module.name(),
        _ => "unknown".to_owned(),
    }
}

/// The folder and the name of a path.
fn split(path: &str) -> (&str, &str) {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some(parts) => parts,
        None => (".", path),
    }
}

/// Whether `path` is below `folder`.
fn contains(folder: &str, path: &str) -> bool {
    path.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
}

/// Suffixes that interpreters try one after another.
const SUFFIXES: [&str; 12] =
    ["so", "py", "pyc", "rb", "js", "json", "node", "mjs", "cjs", "pm", "pmc", "bundle"];

/// The part of a name that stays the same while suffixes are tried.
fn key(name: &str) -> &str {
    let suffix = name.rsplit_once('.').map(|(_, suffix)| suffix);
    if !suffix.is_some_and(|suffix| SUFFIXES.contains(&suffix)) {
        return name;
    }
    let stem = name.find('.').filter(|at| *at > 0);
    stem.map_or(name, |at| &name[..at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::step::CodeOrigin;

    fn step(call: &str, path: &str, failed: bool) -> Step {
        let code = Some(Code { module: CodeOrigin::without_file(Role::Loader), function: None });
        let what =
            What::Call { name: call.into(), text: String::new(), file: Some(path.into()), failed, code };
        Step { start: Nanos(0), elapsed: Nanos(10), self_time: Nanos(10), what: what.into() }
    }

    fn told(steps: &[(&str, &str, bool)]) -> Vec<String> {
        let steps: Vec<Step> = steps.iter().map(|(call, path, failed)| step(call, path, *failed)).collect();
        let shown = |s: &FileSearch| {
            let found = s.found.as_deref().unwrap_or("nowhere");
            format!(
                "{} by {}: {} in {}, {found}, {}",
                s.names.join("+"),
                s.by,
                s.misses,
                s.folders.join(":"),
                s.time.0
            )
        };
        let thread = ThreadAccount { pid: 1, tid: 1, steps, ..ThreadAccount::default() };
        of_threads(&[thread]).iter().map(shown).collect()
    }

    #[test]
    fn a_name_in_folder_after_folder_is_one_search() {
        let ld_so = [
            ("openat", "/etc/ld.so.preload", true),
            ("openat", "/etc/ld.so.cache", false),
            ("openat", "/a/glibc-hwcaps/v3/libx.so.1", true),
            ("newfstatat", "/a/glibc-hwcaps/v3/", true),
            ("openat", "/a/libx.so.1", true),
            ("newfstatat", "/a/", false),
            ("openat", "/b/libx.so.1", true),
            ("openat", "/etc/ld.so.cache", false),
            ("openat", "/c/libx.so.1", false),
            ("openat", "/d/other", true),
        ];
        assert_eq!(told(&ld_so), ["libx.so.1 by ld.so: 3 in /a/glibc-hwcaps/v3:/a:/b, /c, 50"]);
    }

    #[test]
    fn what_is_never_found_is_a_search_and_what_was_tried_once_is_none() {
        let steps = [("stat", "/a/x", true), ("stat", "/b/x", true), ("stat", "/b/y", true)];
        assert_eq!(told(&steps), ["x by ld.so: 2 in /a:/b, nowhere, 20"]);
        assert_eq!(told(&[("access", "/a/x", true), ("access", "/a/x", true)]), [""; 0]);
        assert_eq!(
            told(&[("openat", "/a/x", true), ("openat", "/a/x", false)]),
            [""; 0],
            "it was made meanwhile"
        );
    }

    #[test]
    fn folders_are_searched_for_too() {
        let steps = [("openat", "/a/hooks/", true), ("openat", "/b/hooks/", true), ("openat", "/c/x", true)];
        assert_eq!(told(&steps), ["hooks by ld.so: 2 in /a:/b, nowhere, 20"]);
    }

    #[test]
    fn execs_go_through_path() {
        let exec = What::Exec { stage: ExecStage::Open, path: "/bin/tool".into() };
        let mut steps = vec![step("execve", "/sbin/tool", true), step("execve", "/usr/bin/tool", true)];
        steps.push(Step { what: exec.into(), ..steps[0].clone() });
        let searches = of_steps(&steps);
        assert_eq!((&*searches[0].by, searches[0].found.as_deref()), ("PATH", Some("/bin")));
        assert_eq!((searches.len(), searches[0].folders.len(), searches[0].time), (1, 2, Nanos(20)));
    }

    #[test]
    fn suffixes_are_tried_in_folders_that_are_asked_for_first() {
        let python = [
            ("newfstatat", "/p", false),
            ("newfstatat", "/p/mod.abi3.so", true),
            ("newfstatat", "/p/mod.py", true),
            ("newfstatat", "/q", false),
            ("newfstatat", "/q/mod.abi3.so", true),
            ("newfstatat", "/q/mod.py", false),
            ("openat", "/q/mod.py", false),
        ];
        assert_eq!(told(&python), ["mod.* by ld.so: 3 in /p:/q, /q, 40"]);
    }

    #[test]
    fn searches_through_the_same_folders_are_told_together() {
        let locale = |name: &str| [format!("/l/C.UTF-8/{name}"), format!("/l/C.utf8/{name}")];
        let paths: Vec<[String; 2]> = ["LC_TIME", "LC_NAME", "LC_TIME"].map(locale).into();
        let steps: Vec<(&str, &str, bool)> = paths
            .iter()
            .flat_map(|[miss, found]| [("openat", &**miss, true), ("openat", &**found, false)])
            .collect();
        assert_eq!(told(&steps), ["LC_TIME+LC_NAME by ld.so: 3 in /l/C.UTF-8, /l/C.utf8, 30"]);
    }

    #[test]
    fn any_order_of_lookups_is_read() {
        let mut random = fastrand::Rng::with_seed(3);
        let paths = ["/", "/a", "/a/", "//", "/a/x", "/b/x", "/b/.x.so", "x/", "a/x.py", "/a/x.so", "/é/x"];
        for _ in 0..2000 {
            let steps: Vec<(&str, &str, bool)> =
                (0..12).map(|_| ("openat", paths[random.usize(..paths.len())], random.bool())).collect();
            let failed = steps.iter().filter(|(.., failed)| *failed).count() as u64;
            let threads = [ThreadAccount {
                pid: 1,
                tid: 1,
                steps: steps.iter().map(|(call, path, failed)| step(call, path, *failed)).collect(),
                ..ThreadAccount::default()
            }];
            let searches = of_threads(&threads);
            assert!(searches.iter().map(|search| search.misses).sum::<u64>() <= failed, "{steps:?}");
            assert!(searches.iter().all(|search| !search.folders.is_empty() && search.misses > 0));
        }
    }
}
