//! Which variants of the catalogue make sense for a start. Pure, except for a look at which programs are installed.

use super::candidate::{Candidate, DIRECT, StartFile};
use super::catalogue::{FOLDER, How, Runtime, Variant};
use super::shell_lines::ShellLine;
use super::start::{ChainEnd, Start};
use super::way::Edit;
use crate::analysis::findings::Finding;
use firstbyte_measure::launch::{KnownEnvironment, find_in_path};
use firstbyte_measure::units::Nanos;
use std::collections::BTreeSet;
use std::path::Path;

/// A variant that is not tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untried {
    pub name: String,
    pub reason: String,
}

/// The variants for a start, in the order of their ranks. Also those that are left out although they belong to it.
pub fn candidates(catalogue: &[Runtime], start: &Start) -> (Vec<Candidate>, Vec<Untried>) {
    let (mut all, mut untried) = (Vec::new(), Vec::new());
    for runtime in catalogue {
        let Some(place) = Place::of(runtime, start) else { continue };
        for variant in &runtime.variants {
            let mut found = Found { runtime, variant, start, place };
            match found.applies() {
                Ok(true) => all.extend(found.candidates()),
                Ok(false) => {}
                Err(reason) => untried.push(Untried { name: variant.name().to_owned(), reason }),
            }
        }
    }

    let mut names = BTreeSet::new();
    all.retain(|candidate| names.insert(candidate.name.clone()));
    all.sort_by_key(Candidate::rank);
    // what others use comes before them
    let is_used = all.iter().any(|candidate| candidate.base().is_some());
    if let Some(place) = all.iter().position(|candidate| is_used && candidate.name == DIRECT) {
        all[..=place].rotate_right(1);
    }
    (all, untried)
}

/// For each finding of a start the name of the variant that removes its cause, if there is one.
pub fn remedies(catalogue: &[Runtime], mut start: Start) -> Vec<Option<String>> {
    // what the end of a chain is exactly is not known yet, and not needed for a name
    let end = start.chain.last().filter(|_| start.is_chain()).cloned();
    start.end = start.end.or_else(|| Some(ChainEnd { words: vec![end?], ..ChainEnd::default() }));
    let (all, _) = candidates(catalogue, &start);
    let remedy = |finding: &Finding| {
        let suggested = all.iter().filter(|candidate| candidate.is_suggested_by(finding));
        // of several, one that is about what the finding names, and one that changes nothing else
        suggested.min_by_key(|candidate| (candidate.about().is_empty(), candidate.variant.behaviour))
    };
    start.findings.iter().map(|finding| remedy(finding).map(|candidate| candidate.name.clone())).collect()
}

/// Where the runtime takes part in the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It is the program, or is executed at the end of the chain.
    Root,
    /// A child process executes it: only variables reach it.
    Child,
}

impl Place {
    fn of(runtime: &Runtime, start: &Start) -> Option<Place> {
        if runtime.is_general() {
            return Some(Place::Root);
        }
        let of_root = start.runtime_words().and_then(<[String]>::first);
        if of_root.is_some_and(|word| runtime.executes(word)) {
            return Some(Place::Root);
        }
        let takes_part = start.programs.iter().any(|name| runtime.executes(name)) || runtime.go && start.go;
        takes_part.then_some(Place::Child)
    }
}

/// A variant of a runtime that takes part.
struct Found<'a> {
    runtime: &'a Runtime,
    variant: &'a Variant,
    start: &'a Start,
    place: Place,
}

impl Found<'_> {
    /// Whether the variant makes sense here. The error says why it is not tried although it would.
    fn applies(&self) -> Result<bool, String> {
        let Variant { since, until, before, program, .. } = self.variant;
        let is_set = |name: &String| self.start.environment.sets(name) == Some(true);
        let wanted = self.variant.if_set.is_empty() || self.variant.if_set.iter().any(is_set);
        if !wanted || self.variant.if_threads && self.start.threads == Some(false) || !self.is_reached() {
            return Ok(false);
        }
        let version = self.start.versions.get(&self.runtime.name);
        if let (Some(since), Some(version)) = (since, version)
            && version < since
        {
            return Err(format!("needs {} {since}, this is {version}", self.runtime.name));
        }
        if let (Some(until), Some(version)) = (until, version)
            && version >= until
        {
            return Err(format!("{} {until} has it no more, this is {version}", self.runtime.name));
        }
        let missing =
            before.first().into_iter().chain(program.first()).find(|word| find_in_path(word).is_none());
        missing.map_or(Ok(true), |word| Err(format!("`{word}` is not installed")))
    }

    /// Whether the change reaches the runtime.
    fn is_reached(&self) -> bool {
        let Variant { options, program, .. } = self.variant;
        (options.is_empty() && program.is_empty()) || self.place == Place::Root
    }

    fn candidates(&mut self) -> Vec<Candidate> {
        match self.variant.how {
            Some(How::Direct) => self.direct(Edit::Direct).into_iter().collect(),
            Some(How::DirectPlain) => self.direct_plain().into_iter().collect(),
            Some(How::PathFirst) => self.path_first().into_iter().collect(),
            Some(How::DirectChild) => self.direct_child().into_iter().collect(),
            Some(How::LazyImport) => self.lazy_imports(),
            Some(How::SiteHook) => self.site_hooks(),
            Some(How::ShellLine) => self.shell_lines(),
            Some(How::Build) => self.build().into_iter().collect(),
            None if !self.variant.unset.is_empty() => self.without_variables(),
            None => self.plain().into_iter().collect(),
        }
    }

    fn candidate(&self, about: Option<&str>, edits: Vec<Edit>) -> Candidate {
        let Variant { text, first, .. } = self.variant;
        let name = self.variant.name();
        let needs_words = edits.iter().any(|edit| matches!(edit, Edit::Options(_) | Edit::Program(_)));
        let behind_chain = needs_words && self.start.is_chain();
        let direct = behind_chain.then_some(Edit::Direct);
        let too =
            self.variant.unset_too.iter().filter(|name| self.start.environment.sets(name) == Some(true));
        let edits: Vec<Edit> =
            direct.into_iter().chain(edits).chain(too.map(|name| Edit::Unset(name.clone()))).collect();
        let of_first = |options: &Vec<String>| {
            let others = edits.iter().filter(|edit| !matches!(edit, Edit::Options(_))).cloned();
            others.chain([Edit::Options(options.clone())]).collect()
        };
        let mut candidate = Candidate {
            name: about.map_or(name.to_owned(), |about| format!("{name}-{about}")),
            runtime: self.runtime.name.clone(),
            is_general: self.runtime.is_general(),
            variant: self.variant.clone(),
            text: about.map_or(text.clone(), |about| format!("{text}: {about}")),
            first: (!first.is_empty()).then(|| of_first(first)),
            edits,
            finding: None,
            copies: Vec::new(),
            make: self.variant.make.clone(),
            behind_chain,
        };
        let suggesting = self.start.findings.iter().filter(|finding| candidate.is_suggested_by(finding));
        let largest = suggesting.max_by_key(|finding| finding.cost);
        candidate.finding = largest.map(|finding| (finding.rule, finding.saves.unwrap_or(finding.cost)));
        candidate
    }

    fn plain(&self) -> Option<Candidate> {
        let copies = self.start_files();
        if !self.variant.start_files.is_empty() && copies.is_empty() {
            return None;
        }
        Some(Candidate { copies, ..self.candidate(None, self.changes()?) })
    }

    /// The variables and words of the variant. `None`: it would change nothing, or a value of the user.
    fn changes(&self) -> Option<Vec<Edit>> {
        let Variant { set, options, program, before, replace, .. } = self.variant;
        let known = |name: &String| self.start.environment.value(name);
        let is_there = |(name, value): (&String, &String)| known(name).is_some_and(|known| known == &**value);
        let has_another =
            |(name, value): (&String, &String)| known(name).is_some_and(|known| known != &**value);
        if !*replace && set.iter().any(has_another) || !set.is_empty() && set.iter().all(is_there) {
            return None;
        }
        let words =
            [Edit::Options(options.clone()), Edit::Program(program.clone()), Edit::Before(before.clone())];
        let words = words.into_iter().filter(|edit| !edit.is_empty());
        let set = set.iter().map(|(name, value)| Edit::Set(name.clone(), value.clone()));
        Some(set.chain(words).collect())
    }

    /// The start-up files of the variant that there are.
    fn start_files(&self) -> Vec<StartFile> {
        let Variant { start_files, start_folder, .. } = self.variant;
        let mut set = start_folder.iter().filter(|name| self.start.environment.sets(name) == Some(true));
        let Some(folder) = set.find_map(|name| self.start.environment.value(name)) else {
            return Vec::new();
        };
        let paths = start_files.iter().map(|name| Path::new(folder).join(name)).filter(|path| path.is_file());
        paths.map(|path| StartFile { path, without: None }).collect()
    }

    /// One for each variable that is set, and for those whose files findings name.
    fn without_variables(&self) -> Vec<Candidate> {
        let is_set = |name: &&str| self.start.environment.sets(name) == Some(true);
        let listed = self.variant.unset.iter().map(String::as_str).filter(is_set);
        let of_findings = self.variant.findings.iter().any(|rule| rule == "slow-file");
        let of_files = self.start.variables_of_findings().filter(|_| of_findings).map(|(name, _)| name);
        let names: BTreeSet<String> = listed.map(str::to_owned).chain(of_files).collect();
        let one = |name: &String| self.candidate(Some(name), vec![Edit::Unset(name.clone())]);
        names.iter().map(one).collect()
    }

    fn direct(&self, edit: Edit) -> Option<Candidate> {
        let end = self.start.end.as_ref().filter(|_| self.start.is_chain())?;
        (end.words != self.start.words).then(|| self.candidate(None, vec![edit]))
    }

    fn direct_plain(&self) -> Option<Candidate> {
        let end = self.start.end.as_ref()?;
        let has_variables = !(end.set.is_empty() && end.unset.is_empty());
        self.direct(Edit::DirectPlain).filter(|_| has_variables)
    }

    fn path_first(&self) -> Option<Candidate> {
        let found = self.start.late_folder.as_ref()?;
        let KnownEnvironment::Whole(all) = &self.start.environment else { return None };
        let path = all.get(std::ffi::OsStr::new("PATH"))?.to_str()?;
        let others = path.split(':').filter(|folder| folder != found);
        let path: Vec<&str> = [found.as_str()].into_iter().chain(others).collect();
        Some(self.candidate(None, vec![Edit::Set("PATH".to_owned(), path.join(":"))]))
    }

    /// It may leave out what the program around it does besides.
    fn direct_child(&self) -> Option<Candidate> {
        let child = self.start.child.as_ref()?;
        (child.words != self.start.words).then(|| self.candidate(None, vec![Edit::DirectChild]))
    }

    fn shell_lines(&self) -> Vec<Candidate> {
        let one = |line: &ShellLine| {
            let mut copies = self.start_files();
            let copy = copies.iter_mut().find(|copy| copy.path == Path::new(&line.file))?;
            copy.without = Some(line.line);
            let name = line.file.rsplit('/').next().unwrap_or_default();
            let candidate = self.candidate(Some(&format!("{name}-{}", line.line)), self.changes()?);
            let text = format!("{}: line {} of {}", self.variant.text, line.line, line.file);
            Some(Candidate { text, copies, ..candidate })
        };
        self.start.shell_lines.iter().filter_map(one).collect()
    }

    /// Only of programs whose words behind Python are not options of Python.
    fn site_hooks(&self) -> Vec<Candidate> {
        let Some([_, program, ..]) = self.start.runtime_words() else { return Vec::new() };
        if program.starts_with('-') && !matches!(&**program, "-c" | "-m") {
            return Vec::new();
        }
        let one = |name: &String| {
            let left_out = Edit::Set("FIRSTBYTE_LEFT_OUT".to_owned(), name.clone());
            self.candidate(Some(name), self.changes()?.into_iter().chain([left_out]).collect()).into()
        };
        self.start.site_hooks.iter().filter_map(one).collect()
    }

    /// The command that compiles the program, with other options and another place for the result.
    fn build(&self) -> Option<Candidate> {
        let mut make = self.start.build.clone();
        let place = make.iter().position(|word| word == "-o").filter(|place| place + 1 < make.len())? + 1;
        let program = format!("{FOLDER}/program");
        make[place].clone_from(&program);
        make.splice(1..1, self.variant.compiler.iter().cloned());
        Some(Candidate { make, ..self.candidate(None, vec![Edit::Program(vec![program])]) })
    }

    fn lazy_imports(&self) -> Vec<Candidate> {
        let path = self.start.environment.value("PYTHONPATH").and_then(std::ffi::OsStr::to_str);
        let path = path.filter(|path| !path.is_empty()).map_or(String::new(), |path| format!(":{path}"));
        let one = |(module, _): &(String, Nanos)| {
            let set = [("PYTHONPATH", format!("{FOLDER}{path}")), ("FIRSTBYTE_LAZY_MODULE", module.clone())];
            self.candidate(Some(module), set.map(|(name, value)| Edit::Set(name.to_owned(), value)).into())
        };
        self.start.imports.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::candidate::together;
    use super::super::catalogue::{self, program_name};
    use super::*;
    use std::collections::BTreeMap;

    fn start(words: &[&str], variables: &[(&str, &str)]) -> Start {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Start {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            environment: KnownEnvironment::Whole(variables.collect()),
            chain: vec![words[0].to_owned()],
            programs: BTreeSet::from([program_name(words[0]).to_owned()]),
            threads: Some(false),
            ..Start::default()
        }
    }

    fn names(start: &Start) -> Vec<String> {
        let catalogue = catalogue::load(&[]).unwrap();
        candidates(&catalogue, start).0.into_iter().map(|candidate| candidate.name).collect()
    }

    #[test]
    fn variables_that_are_set_are_removed_one_by_one_and_those_of_findings_first() {
        let mut start = start(&["node", "app.js"], &[("NODE_OPTIONS", "--no-opt"), ("CERTS", "/ca.pem")]);
        let mut finding = Finding::default();
        finding.rule = "slow-file";
        finding.subject = "/ca.pem".to_owned();
        finding.cost = Nanos(9);
        finding.text = "The environment names this file: CERTS.".to_owned();
        start.findings = vec![finding];
        let names = names(&start);
        assert_eq!(names[0], "unset-CERTS");
        assert!(names.contains(&"unset-NODE_OPTIONS".to_owned()), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("python") || name == "direct" || name == "locale"));
        assert_eq!(names.iter().filter(|name| **name == "unset-CERTS").count(), 1);
    }

    #[test]
    fn the_files_of_a_shell_decide_what_would_leave_them_out() {
        let catalogue = catalogue::load(&[]).unwrap();
        let suggested = |words: &[&str], file: &str| {
            let mut start = start(words, &[]);
            let mut finding = Finding::default();
            finding.rule = "reported";
            finding.text = format!("By its own report: `{file}` 9 ms.");
            start.findings = vec![finding];
            remedies(&catalogue, start).remove(0)
        };
        let [zsh, bash]: [&[&str]; 2] = [&["zsh", "-ic", "exit"], &["bash", "-lic", "exit"]];
        assert_eq!(suggested(zsh, ".zshrc").as_deref(), Some("zsh-no-rc"));
        assert_eq!(suggested(zsh, "/etc/zsh/zshrc").as_deref(), Some("zsh-no-global-rc"));
        assert_eq!(suggested(bash, "/root/.bash_profile").as_deref(), Some("bash-no-profile"));
        assert_eq!(suggested(bash, "/root/.bashrc").as_deref(), Some("bash-no-rc"));
        assert_eq!(suggested(bash, "work.sh"), None);
    }

    #[test]
    fn what_changes_the_program_comes_last() {
        let names = names(&start(&["python3", "app.py"], &[]));
        let place = |wanted: &str| names.iter().position(|name| name == wanted).unwrap();
        assert!(
            place("python-no-site") > place("python-bytecode") && place("python-no-site") > place("bind-now")
        );
    }

    #[test]
    fn options_behind_a_chain_use_the_program_at_its_end() {
        let mut start = start(&["shim", "app.py"], &[]);
        start.chain = vec!["/shims/shim".to_owned(), "/opt/python3".to_owned()];
        let words = vec!["/opt/python3".to_owned(), "app.py".to_owned()];
        start.end = Some(ChainEnd { words, ..ChainEnd::default() });
        let catalogue = catalogue::load(&[]).unwrap();
        let (all, _) = candidates(&catalogue, &start);
        let of = |name: &str| all.iter().find(|candidate| candidate.name == name).unwrap();
        assert_eq!((of("python-no-site").base(), of("direct").base()), (Some("direct"), None));
        let folder = Path::new("/own");
        assert_eq!(of("python-no-site").way(&start, folder).pasted(None), "/opt/python3 -S app.py");
        let both = together(&[of("direct"), of("python-no-site")], &start, folder);
        assert_eq!(both.pasted(None), "/opt/python3 -S app.py");
        let bytecode = of("python-bytecode").way(&start, folder).pasted(None);
        assert_eq!(bytecode, "PYTHONPYCACHEPREFIX=/own/python-bytecode shim app.py");
    }

    #[test]
    fn what_others_use_comes_before_them_whatever_findings_say() {
        let mut start = start(&["shim", "app.js"], &[]);
        start.chain = vec!["/shims/shim".to_owned(), "/opt/node".to_owned()];
        let words = vec!["/opt/node".to_owned(), "app.js".to_owned()];
        start.end = Some(ChainEnd { words, ..ChainEnd::default() });
        let mut finding = Finding::default();
        finding.rule = "competing-threads";
        finding.cost = Nanos(9);
        start.findings = vec![finding];
        assert_eq!(names(&start)[0], "direct");
    }

    #[test]
    fn versions_decide_and_what_is_left_out_has_its_reason() {
        let catalogue = catalogue::load(&[]).unwrap();
        let mut start = start(&["node", "app.js"], &[]);
        let version = super::super::version::Version::found_in("v20.1.0").unwrap();
        start.versions = BTreeMap::from([("Node".to_owned(), version)]);
        let (all, untried) = candidates(&catalogue, &start);
        assert!(!all.iter().any(|candidate| candidate.name == "node-compile-cache"));
        let reason = untried.iter().find(|untried| untried.name == "node-compile-cache").unwrap();
        assert_eq!(reason.reason, "needs Node 22.1, this is 20.1.0");
    }

    #[test]
    fn two_of_a_group_conflict() {
        let catalogue = catalogue::load(&[]).unwrap();
        let (all, _) = candidates(&catalogue, &start(&["true"], &[]));
        let of = |name: &str| all.iter().find(|candidate| candidate.name == name).unwrap();
        assert!(of("huge-pages").conflicts(of("large-heap-steps")));
        assert!(!of("huge-pages").conflicts(of("bind-now")));
    }

    #[test]
    fn hooks_of_python_are_left_out_one_by_one_and_only_where_its_options_allow_it() {
        let of = |words: &[&str]| {
            let mut start = start(words, &[]);
            start.site_hooks = vec!["certifi.pth".to_owned(), "sitecustomize".to_owned()];
            let catalogue = catalogue::load(&[]).unwrap();
            let (all, _) = candidates(&catalogue, &start);
            let hooks = all.into_iter().filter(|it| it.name.starts_with("python-hook-"));
            hooks.map(|it| it.way(&start, Path::new("/own")).pasted(None)).collect::<Vec<_>>()
        };
        let certifi =
            "FIRSTBYTE_LEFT_OUT=certifi.pth python3 -S /own/python-hook-certifi.pth/without_hook.py app.py";
        assert_eq!(of(&["python3", "app.py"])[0], certifi);
        assert_eq!(of(&["python3", "-m", "app"]).len(), 2);
        assert!(of(&["python3", "-u", "app.py"]).is_empty() && of(&["python3"]).is_empty());
    }

    #[test]
    fn lines_of_start_up_files_are_left_out_of_copies() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(".zshrc"), "a\nb\n").unwrap();
        let path = |name: &str| home.path().join(name).to_string_lossy().into_owned();
        let mut start = start(&["zsh", "-ic", "exit"], &[("HOME", home.path().to_str().unwrap())]);
        let line = |file: String| ShellLine { file, line: 2, time: Nanos(9) };
        start.shell_lines = vec![line(path(".zshrc")), line("/etc/zsh/.zshrc".to_owned())];
        let catalogue = catalogue::load(&[]).unwrap();
        let (all, _) = candidates(&catalogue, &start);
        let lines: Vec<&Candidate> = all.iter().filter(|it| it.name.starts_with("zsh-line-")).collect();
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].name, "zsh-line-.zshrc-2");
        assert_eq!(lines[0].copies, [StartFile { path: path(".zshrc").into(), without: Some(2) }]);
        let compiled = all.iter().find(|it| it.name == "zsh-compiled").unwrap();
        assert_eq!(compiled.copies, [StartFile { path: path(".zshrc").into(), without: None }]);
    }

    #[test]
    fn a_program_is_compiled_to_its_own_folder() {
        let mut start = start(&["./app", "x"], &[]);
        assert!(!names(&start).iter().any(|name| name.starts_with("build-")));
        start.build = ["cc", "-O2", "-o", "app", "app.c"].map(str::to_owned).to_vec();
        let catalogue = catalogue::load(&[]).unwrap();
        let (all, _) = candidates(&catalogue, &start);
        let built = all.iter().find(|it| it.name == "build-static").unwrap();
        let words = "cc -static -O2 -o /own/build-static/program app.c";
        assert_eq!(built.make(Path::new("/own")).join(" "), words);
        assert_eq!(built.way(&start, Path::new("/own")).pasted(None), "/own/build-static/program x");
    }
}
