//! By what the time of the program's own code is divided: functions, lines, files or packages.

use super::packages::is_library;
use super::{Call, Frame, Profile, SourceLine, Stack};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a part of the code is, where language frames are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    #[default]
    Function,
    /// The lines that functions execute.
    Line,
    File,
    /// Of code that is in no package: files.
    Package,
}

/// The time of a part of the program's own code, with the libraries that it calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Charged {
    /// The part; of code of a library that no own code called, and by packages, the package.
    pub frame: Frame,
    /// In nanoseconds.
    pub time: f64,
}

impl By {
    /// The parts that calls are of.
    pub(super) fn parts<'c>(self, calls: impl Iterator<Item = &'c Call>, profile: &Profile) -> Vec<Frame> {
        let mut parts: Vec<Frame> = calls.map(|call| self.part(*call, profile)).collect();
        if matches!(self, By::File | By::Package) {
            parts.dedup_by(|one, other| one.source.is_some() && one == other);
        }
        parts
    }

    /// The part that a call is of. Native code keeps its functions.
    fn part(self, call: Call, profile: &Profile) -> Frame {
        let frame = &profile.frames[call.frame];
        let Some(source) = &frame.source else { return frame.clone() };
        match self {
            By::Function => frame.clone(),
            By::Line => {
                let line = call.line.unwrap_or(source.line);
                Frame { source: Some(SourceLine { line, ..source.clone() }), ..frame.clone() }
            }
            By::File => whole(frame, &source.file, source),
            By::Package => whole(frame, &frame.module, source),
        }
    }
}

/// All of a file or package.
fn whole(frame: &Frame, file: &Arc<str>, source: &SourceLine) -> Frame {
    let source = SourceLine { language: source.language, file: Arc::clone(file), line: 0 };
    Frame { module: Arc::clone(&frame.module), function: None, source: Some(source) }
}

/// The longest time first.
pub(super) fn charged(stacks: &[(&Stack, f64)], profile: &Profile, by: By) -> Vec<Charged> {
    let mut times: BTreeMap<Frame, f64> = BTreeMap::new();
    for (stack, time) in stacks {
        let mut of_language = stack.calls.iter().filter(|call| profile.frames[call.frame].source.is_some());
        let Some(innermost) = of_language.clone().next() else { continue };
        let precedes = |call: &Call| {
            profile.frames[call.frame].source.as_ref().is_some_and(SourceLine::precedes_program)
        };
        let precedes_program = stack.calls.iter().any(precedes);
        let has_own = by != By::Package && !precedes_program;
        let is_library = |call: &&Call| is_library(&profile.frames[call.frame]);
        // what runs before the program, such as a line of a .pth file, is not its own
        let library =
            of_language.clone().find(|call| precedes_program && is_library(call)).unwrap_or(innermost);
        let own = of_language.find(|call| has_own && !is_library(call));
        let part = own.map_or_else(|| By::Package.part(*library, profile), |own| by.part(*own, profile));
        *times.entry(part).or_default() += time;
    }
    let mut all: Vec<Charged> = times.into_iter().map(|(frame, time)| Charged { frame, time }).collect();
    all.sort_by(|a, b| b.time.total_cmp(&a.time));
    all
}

#[cfg(test)]
mod tests {
    use super::super::tests::{IMPORTLIB, divided, python_stack};
    use super::*;

    #[test]
    fn time_of_libraries_counts_for_the_part_that_calls_them() {
        let main = ("<module>", "/app/cli.py", 9);
        let load = ("load", "/app/plugins.py", 42);
        let compile = ("compile", "/usr/lib/python3.11/re/__init__.py", 3);
        let stacks = [
            (python_stack(&[compile, load, main]), 60),
            (python_stack(&[("load", "/app/plugins.py", 43), main]), 30),
            (python_stack(&[IMPORTLIB, ("<module>", "<string>", 1), ("main", "<frozen site>", 5)]), 6),
            (python_stack(&[("<module>", "<string>", 1), ("main", "<frozen site>", 5)]), 4),
        ];
        let charged = |by: By| {
            let found = divided(&stacks, by);
            let part = |it: &Charged| {
                let name = it.frame.function.as_deref().map_or(String::new(), |name| format!("{name} "));
                format!("{name}{} {:.0}", it.frame.place(), it.time)
            };
            found.charged.iter().map(part).collect::<Vec<_>>()
        };
        let library = "Python's standard library";
        assert_eq!(charged(By::Function), ["load plugins.py:1 90".to_owned(), format!("{library} 10")]);
        let lines = ["load plugins.py:42 60", "load plugins.py:43 30"].map(str::to_owned);
        assert_eq!(charged(By::Line), [&lines[..], &[format!("{library} 10")]].concat());
        assert_eq!(charged(By::File), ["plugins.py 90".to_owned(), format!("{library} 10")]);
        assert_eq!(charged(By::Package), [format!("{library} 70"), "plugins.py 30".to_owned()]);
    }

    #[test]
    fn calls_within_a_part_are_one_node() {
        let stack = [("f", "/app/a.py", 2), ("g", "/app/a.py", 3), ("<module>", "/app/b.py", 4)];
        let nodes = |by: By| {
            let found = divided(&[(python_stack(&stack), 20)], by);
            let places = found.nodes[1..].iter().map(|node| node.frame.place());
            places.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(nodes(By::Function), "b.py:1 a.py:1 a.py:1");
        assert_eq!(nodes(By::Line), "b.py:4 a.py:3 a.py:2");
        assert_eq!([By::File, By::Package].map(nodes), ["b.py a.py"; 2]);
    }
}
