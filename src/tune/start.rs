//! What is known of how a program starts: from its words and its file alone, or from a traced run.

use super::catalogue::program_name;
use super::shell_lines::{ShellLine, expensive_lines, lines_of_commands};
use super::version::Version;
use crate::analysis::binaries::FileBinaries;
use crate::analysis::findings::Finding;
use crate::analysis::loads::Load;
use crate::analysis::runs::AskedRuntime;
use crate::analysis::{Account, Execution, FileSearch, Summary, TraceAnalysis};
use crate::inspect::script::first_line;
use firstbyte_measure::launch::{Command, KnownEnvironment, ResolveError, find_in_path};
use firstbyte_measure::tracer::ptrace::{FilesOfRun, LastExec};
use firstbyte_measure::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

/// A command, and what its start is known to do.
#[derive(Debug, Default)]
pub struct Start {
    pub words: Vec<String>,
    pub environment: KnownEnvironment,
    /// What the first process executes, in order. More than one: the others only find the last one, or prepare it.
    pub chain: Vec<String>,
    /// How the last one of them could be started directly; `None`: that is not known.
    pub end: Option<ChainEnd>,
    /// What the only process that prints has executed last, if that is not the first process.
    pub printing: Option<Execution>,
    /// How it could be started directly; `None`: that is not known.
    pub child: Option<ChainEnd>,
    /// The names of all executed programs, without versions.
    pub programs: BTreeSet<String>,
    /// One of them is Go's.
    pub go: bool,
    /// It has several threads; `None`: it has not been observed.
    pub threads: Option<bool>,
    /// The folder of PATH in which programs were found after others.
    pub late_folder: Option<String>,
    pub findings: Vec<Finding>,
    /// The most expensive imports, by Python's own report.
    pub imports: Vec<(String, Nanos)>,
    /// The .pth files with code that Python executed, and `sitecustomize`.
    pub site_hooks: Vec<String>,
    /// The lines of start-up files of shells that cost most.
    pub shell_lines: Vec<ShellLine>,
    /// The versions of runtimes, by their names in the catalogue.
    pub versions: BTreeMap<String, Version>,
    /// The command that compiles the program: its words.
    pub build: Vec<String>,
}

/// A program at the end of a chain of execs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainEnd {
    /// Its words. The first one is the file that is executed: the interpreter, if the program is a script.
    pub words: Vec<String>,
    /// Variables that the chain has set, and removed.
    pub set: BTreeMap<String, String>,
    pub unset: BTreeSet<String>,
}

/// Variables that shells change in every program that they start.
const OF_SHELLS: [&str; 4] = ["_", "SHLVL", "PWD", "OLDPWD"];

/// The most imports that are tried, and the least part of the total that each must have.
const IMPORTS: usize = 3;
const IMPORT_PART: u64 = 33;

impl Start {
    /// What the command and its file show, without running anything.
    pub fn seen(words: &[String]) -> Result<Start, ResolveError> {
        let command = Command::new(words)?;
        let program = command.program().to_string_lossy().into_owned();
        let mut start = Start {
            words: words.to_vec(),
            environment: KnownEnvironment::of(&command),
            chain: vec![program.clone()],
            ..Start::default()
        };
        start.follow_script(&program);
        let executed = start.end.as_ref().map_or(program, |end| end.words[0].clone());
        start.executed(&executed, &FileBinaries::default());
        Ok(start)
    }

    /// What a traced run shows. `findings`: those of the analysis.
    pub fn observed(words: &[String], analysis: &TraceAnalysis, findings: Vec<Finding>) -> Start {
        let summary = &analysis.summary;
        let account = &summary.median_run;
        let mut start = Start {
            words: words.to_vec(),
            environment: summary.environment.clone(),
            threads: Some(account.processes.iter().any(|process| process.threads > 1)),
            late_folder: late_folder(&account.searches, &summary.environment),
            findings,
            imports: imports(&summary.loads, account.total),
            site_hooks: site_hooks(account),
            shell_lines: shell_lines(summary, account.total),
            printing: printing(account),
            ..Start::default()
        };
        for exec in account.processes.iter().flat_map(|process| &process.execs) {
            start.executed(&exec.executed, &analysis.binaries);
        }
        start.chain_of(account);
        if let [path] = &start.chain[..] {
            start.follow_script(&path.clone());
        }
        start
    }

    /// Whether a look at what each process executes would show more.
    pub fn has_other_programs(&self) -> bool {
        self.is_chain() || self.printing.is_some()
    }

    /// How the programs behind others could be started.
    pub fn look_behind(&mut self, files: FilesOfRun) {
        if let ([_, .., path], Some(last)) = (&self.chain[..], files.last_exec) {
            self.end = ChainEnd::of(path, last, &self.environment);
        }
        let Some(printing) = &self.printing else { return };
        let exec = files.other_execs.into_iter().rfind(|exec| is_same(exec, printing));
        self.child = exec.and_then(|exec| ChainEnd::of(&printing.path, exec, &self.environment));
    }

    /// A program is executed behind others.
    pub fn is_chain(&self) -> bool {
        self.chain.len() > 1
    }

    /// The words that a runtime's options are added to. The first one is the runtime.
    pub fn runtime_words(&self) -> Option<&[String]> {
        match &self.end {
            Some(end) => Some(&end.words),
            None => (!self.is_chain()).then_some(&self.words[..]),
        }
    }

    fn chain_of(&mut self, account: &Account) {
        let root = account.processes.iter().find(|process| process.pid == account.root);
        let execs = root.into_iter().flat_map(|process| &process.execs);
        self.chain = execs.map(|exec| exec.path.to_string()).collect();
    }

    fn executed(&mut self, path: &str, binaries: &FileBinaries) {
        self.programs.insert(program_name(path).to_owned());
        self.go |= binaries.is_go(path);
    }

    /// The interpreter of a script, also behind `env`, which is a link of the chain.
    fn follow_script(&mut self, path: &str) {
        let Some(line) = beginning(Path::new(path)).and_then(|bytes| first_line(&bytes)) else { return };
        let script = [path.to_owned()].into_iter().chain(self.words.iter().skip(1).cloned());
        let interpreter = line.interpreter.to_string_lossy().into_owned();
        if program_name(&interpreter) != "env" {
            let words = [interpreter].into_iter().chain(line.argument).chain(script);
            self.end = Some(ChainEnd { words: words.collect(), ..ChainEnd::default() });
            return;
        }
        let mut words = line.argument.iter().flat_map(|argument| argument.split_whitespace());
        let found = words.next().and_then(find_in_path).map(|found| found.to_string_lossy().into_owned());
        if let (Some(found), None) = (found, words.next()) {
            self.chain.push(found.clone());
            let words = [found].into_iter().chain(script).collect();
            self.end = Some(ChainEnd { words, ..ChainEnd::default() });
        }
    }

    /// The variables that name the file of a finding, as far as it says so: several programs may have one for the same file.
    pub fn variables_of_findings(&self) -> impl Iterator<Item = (String, &Finding)> {
        let named = |finding: &'_ Finding| {
            let names = self.environment.variables_with(&finding.subject);
            names.into_iter().filter(|name| finding.text.contains(name)).collect::<Vec<String>>()
        };
        let files = self.findings.iter().filter(|finding| finding.rule == "slow-file");
        files.flat_map(move |finding| named(finding).into_iter().map(move |name| (name, finding)))
    }
}

impl ChainEnd {
    /// `path`: the file that the exec names. `None` if it runs in another folder, or if its words are not text.
    fn of(path: &str, last: LastExec, before: &KnownEnvironment) -> Option<ChainEnd> {
        let here = std::env::current_dir().ok()?;
        let text = |word: std::ffi::OsString| word.into_string().ok();
        let mut words = last.words.into_iter().map(text).collect::<Option<Vec<String>>>()?;
        let is_script = beginning(Path::new(path)).is_some_and(|bytes| bytes.starts_with(b"#!"));
        if !is_script {
            path.clone_into(words.first_mut()?);
        }

        let KnownEnvironment::Whole(before) = before else { return None };
        let is_own = |name: &str| !OF_SHELLS.contains(&name);
        let changed = last.environment.iter().filter(|(name, value)| before.get(*name) != Some(value));
        let changed =
            changed.map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())));
        let set = changed.collect::<Option<BTreeMap<_, _>>>()?;
        let gone = before.keys().filter(|name| !last.environment.contains_key(*name));
        let unset: BTreeSet<String> = gone.map(|name| name.to_string_lossy().into_owned()).collect();
        (last.directory == here).then(|| ChainEnd {
            words,
            set: set.into_iter().filter(|(name, _)| is_own(name)).collect(),
            unset: unset.into_iter().filter(|name| is_own(name)).collect(),
        })
    }
}

/// What the only process that prints has executed last. The first process is not meant: it is not behind any other.
fn printing(account: &Account) -> Option<Execution> {
    let printing = account.printing_processes();
    let is_it = |pid: u32| pid != account.root && printing.len() == 1 && printing.contains(&pid);
    account.processes.iter().find(|process| is_it(process.pid))?.execs.last().cloned()
}

/// Whether two runs executed the same: its file and its arguments. The first word of a script is another one.
fn is_same(seen: &LastExec, traced: &Execution) -> bool {
    let is_file = std::fs::canonicalize(&*traced.executed).is_ok_and(|file| file == seen.file);
    let arguments = traced.argv.iter().skip(1).rev();
    is_file && arguments.zip(seen.words.iter().rev()).all(|(traced, seen)| **traced == **seen)
}

/// The lines of start-up files that cost most.
fn shell_lines(summary: &Summary, total: Nanos) -> Vec<ShellLine> {
    let lines = expensive_lines(&summary.commands, total);
    let bashrc = summary.environment.value("HOME").map(|home| Path::new(home).join(".bashrc"));
    match bashrc {
        Some(file) if lines.is_empty() => {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            lines_of_commands(&summary.loads, &file.to_string_lossy(), &text, total)
        }
        _ => lines,
    }
}

/// The .pth files with code, and `sitecustomize`, that were opened.
fn site_hooks(account: &Account) -> Vec<String> {
    let opened = account.files.iter().filter(|file| file.opened > 0);
    let hooks = opened.filter_map(|file| {
        let name = file.path.rsplit('/').next()?;
        let (stem, suffix) = name.rsplit_once('.')?;
        let has_code = || {
            let text = std::fs::read_to_string(&*file.path).unwrap_or_default();
            text.lines().any(|line| line.starts_with("import ") || line.starts_with("import\t"))
        };
        if suffix == "pth" && has_code() {
            return Some(name.to_owned());
        }
        (stem.split('.').next() == Some("sitecustomize")).then(|| "sitecustomize".to_owned())
    });
    hooks.collect::<BTreeSet<String>>().into_iter().collect()
}

fn beginning(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(512).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The folder of PATH, not the first one, in which most of what was looked for along it was found.
fn late_folder(searches: &[FileSearch], environment: &KnownEnvironment) -> Option<String> {
    let path = environment.value("PATH")?.to_str()?;
    let folders: Vec<&str> = path.split(':').collect();
    let along = searches.iter().filter(|search| {
        search.folders.first().is_some_and(|first| folders.contains(&first.trim_end_matches('/')))
    });
    let longest = along.filter(|search| search.found.is_some()).max_by_key(|search| search.time)?;
    let found = longest.found.as_deref()?.trim_end_matches('/');
    folders
        .iter()
        .skip(1)
        .find(|folder| folder.trim_end_matches('/') == found)
        .map(|found| (*found).to_owned())
}

/// The imports of the program itself that take longest.
fn imports(loads: &[Load], total: Nanos) -> Vec<(String, Nanos)> {
    let python = loads.iter().filter(|load| load.runtime == AskedRuntime::Python.name() && load.depth == 0);
    let python: Vec<&Load> = python.collect();
    // what comes before it is Python's own start
    let own = python.iter().position(|load| load.unit == "site").map_or(0, |site| site + 1);
    let mut imports: Vec<(String, Nanos)> = python[own..]
        .iter()
        .filter(|load| load.total.0.saturating_mul(IMPORT_PART) >= total.0)
        .map(|load| (load.unit.clone(), load.total))
        .collect();
    imports.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    imports.truncate(IMPORTS);
    imports
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_interpreter_of_a_script_is_its_runtime_and_env_is_a_link_of_the_chain() {
        let folder = tempfile::tempdir().unwrap();
        let script = |first: &str| {
            let path = folder.path().join("script");
            std::fs::write(&path, first).unwrap();
            let mut start = Start { words: vec!["script".to_owned(), "-x".to_owned()], ..Start::default() };
            start.chain = vec![path.to_string_lossy().into_owned()];
            start.follow_script(&start.chain[0].clone());
            let words = start.end.map(|end| end.words.join(" ")).unwrap_or_default();
            (start.chain.len(), words.replace(folder.path().to_str().unwrap(), ""))
        };
        assert_eq!(script("#!/bin/sh -e\n"), (1, "/bin/sh -e /script -x".to_owned()));
        let (links, words) = script("#!/usr/bin/env sh\n");
        assert!(links == 2 && words.ends_with("/sh /script -x"), "{words}");
        assert_eq!(script("#!/usr/bin/env -S sh -e\n"), (1, String::new()), "what env does is not known");
        assert_eq!(script("no script"), (1, String::new()));
    }

    #[test]
    fn the_end_of_a_chain_has_the_variables_that_the_chain_changed() {
        let pairs = |all: &[(&str, &str)]| {
            all.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect::<BTreeMap<_, _>>()
        };
        let before = KnownEnvironment::Whole(pairs(&[("A", "1"), ("B", "2"), ("SHLVL", "1")]));
        let last = |directory: std::path::PathBuf| LastExec {
            file: "/opt/bin/python3.11".into(),
            words: vec!["python3".into(), "app.py".into()],
            environment: pairs(&[("A", "1"), ("C", "3"), ("SHLVL", "2"), ("_", "x")]),
            directory,
        };
        let end = ChainEnd::of("/opt/bin/python3", last(std::env::current_dir().unwrap()), &before).unwrap();
        assert_eq!(end.words, ["/opt/bin/python3", "app.py"]);
        assert_eq!(end.set, BTreeMap::from([("C".to_owned(), "3".to_owned())]));
        assert_eq!(end.unset, BTreeSet::from(["B".to_owned()]));
        assert_eq!(ChainEnd::of("/opt/bin/python3", last("/elsewhere".into()), &before), None);
    }

    #[test]
    fn the_most_expensive_imports_of_the_program_are_those_after_site() {
        let load = |unit: &str, time, depth| Load {
            runtime: AskedRuntime::Python.name(),
            unit: unit.to_owned(),
            file: None,
            self_time: Nanos(time),
            total: Nanos(time),
            depth,
        };
        let loads = [
            load("encodings", 900, 0),
            load("site", 900, 0),
            load("small", 1, 0),
            load("a", 100, 0),
            load("b", 300, 0),
        ];
        let names: Vec<String> = imports(&loads, Nanos(1000)).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["b", "a"]);
    }
}
