//! What programs leave to libraries and to their runtimes, by kind, and for which function of their own code.

use super::imports::is_top_level;
use super::packages::{is_library, library_names};
use super::{Call, Frame, Profile, SourceLine, Stack};
use std::collections::BTreeMap;

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    GarbageCollection,
    /// By V8: Python compiles modules.
    Compilation,
    PythonModules,
    RegularExpressions,
    Json,
    Yaml,
    Templates,
}

/// Functions that collect garbage, as their runtimes name them. They serve no function in particular.
pub const COLLECTORS: [&str; 6] = [
    "gc_collect_main",
    "gc_collect_region",
    "gc_start",
    "runtime.gcStart",
    "GC_collect_or_expand",
    "v8::internal::Heap::CollectGarbage",
];

/// Native functions, by the beginnings of their names.
const NATIVE: [(Kind, &[&str]); 4] = [
    (Kind::GarbageCollection, &COLLECTORS),
    (
        Kind::Compilation,
        &["v8::internal::Compiler::", "v8::internal::interpreter::", "v8::internal::parsing::"],
    ),
    (Kind::RegularExpressions, &["v8::internal::RegExp"]),
    (Kind::Json, &["v8::internal::JsonParser", "v8::internal::JsonStringify"]),
];

/// Packages and modules of the standard libraries, by their language.
const LIBRARIES: [(Kind, &str, &[&str]); 12] = [
    (Kind::RegularExpressions, "Python", &["re", "regex", "sre_compile", "sre_parse"]),
    (Kind::Json, "Python", &["json", "simplejson"]),
    (Kind::Json, "Ruby", &["json"]),
    (Kind::Json, "Perl", &["JSON"]),
    (Kind::Yaml, "Python", &["yaml", "ruamel"]),
    (Kind::Yaml, "Ruby", &["psych"]),
    (Kind::Yaml, "JavaScript", &["js-yaml", "yaml"]),
    (Kind::Yaml, "Perl", &["YAML"]),
    (Kind::Templates, "Python", &["chameleon", "chevron", "genshi", "jinja2", "mako", "pystache"]),
    (Kind::Templates, "Ruby", &["erb", "erubi", "haml", "liquid", "mustache", "slim"]),
    (Kind::Templates, "JavaScript", &["ejs", "eta", "handlebars", "liquidjs", "mustache", "nunjucks", "pug"]),
    (Kind::Templates, "PHP", &["smarty", "twig"]),
];

/// The function of Python's imports that compiles a module; before 3.11, names are not qualified.
const COMPILES_MODULE: [&str; 2] = ["SourceLoader.source_to_code", "source_to_code"];

/// Work in one sample, by the numbers of its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub kind: Kind,
    /// The outermost function that does it.
    pub function: usize,
    /// The innermost function of the program's own code around it.
    pub caller: Option<usize>,
}

/// The kind of a native function's work.
pub(super) fn of_native(name: &str) -> Option<Kind> {
    let is = |(_, names): &&(Kind, &[&str])| names.iter().any(|known| name.starts_with(known));
    NATIVE.iter().find(is).map(|(kind, _)| *kind)
}

fn of_frame(frame: &Frame) -> Option<Kind> {
    let name = frame.function.as_deref().unwrap_or_default();
    let Some(SourceLine { language, .. }) = &frame.source else { return of_native(name) };
    if *language == "Python" && is_library(frame) && COMPILES_MODULE.contains(&name) {
        return Some(Kind::PythonModules);
    }
    let names = library_names(frame);
    let is = |(_, of, known): &&(Kind, &str, &[&str])| {
        of == language && names.iter().any(|name| known.contains(name))
    };
    LIBRARIES.iter().find(is).map(|(kind, ..)| *kind)
}

/// Garbage collection, and the outermost work of another kind. A library that is just being imported does not do its work yet.
pub(super) fn found(stack: &Stack, profile: &Profile) -> Vec<Found> {
    let calls: Vec<Call> = stack.shown().copied().collect();
    let frames: Vec<&Frame> = calls.iter().map(|call| &profile.frames[call.frame]).collect();
    let mut outermost = BTreeMap::<Kind, usize>::new();
    for (at, frame) in frames.iter().enumerate() {
        if let Some(kind) = of_frame(frame) {
            outermost.insert(kind, at);
        }
    }
    outermost.retain(|_, at| !is_import(frames[*at]));

    let precedes = |frame: &&Frame| frame.source.as_ref().is_some_and(SourceLine::precedes_program);
    let is_before_program = frames.iter().any(precedes);
    let is_own = |frame: &Frame| frame.source.is_some() && !is_library(frame);
    let caller = |at: usize| (at + 1..frames.len()).find(|at| !is_before_program && is_own(frames[*at]));
    let is_collection = |kind: &Kind| *kind == Kind::GarbageCollection;
    let other = outermost.iter().filter(|(kind, _)| !is_collection(kind)).max_by_key(|(_, at)| **at);
    let collection = outermost.iter().filter(|(kind, _)| is_collection(kind));
    let found = |(kind, at): (&Kind, &usize)| Found {
        kind: *kind,
        function: calls[*at].frame,
        caller: caller(*at).map(|at| calls[at].frame),
    };
    collection.chain(other).map(found).collect()
}

fn is_import(frame: &Frame) -> bool {
    frame.source.is_some() && frame.function.as_deref().is_some_and(is_top_level)
}

#[cfg(test)]
mod tests {
    use super::super::By;
    use super::super::tests::{IMPORTLIB, divided, python_stack};
    use super::super::{Running, Work};
    use super::*;

    const MAIN: (&str, &str, u32) = ("<module>", "/app/cli.py", 3);
    const COMPILE: (&str, &str, u32) = ("compile", "/usr/lib/python3.11/re/__init__.py", 9);

    fn shown(stacks: &[(Vec<Running>, u64)]) -> Vec<(Kind, u32, Option<String>)> {
        let name = |frame: &Frame| frame.function.as_deref().unwrap_or_default().to_owned();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 100")]
        let shown = |work: &Work| (work.kind, work.time.time.round() as u32, work.caller.as_ref().map(name));
        divided(stacks, By::Package).works.iter().map(shown).collect()
    }

    fn native(name: &str) -> Vec<Running> {
        vec![Frame::native("/bin/python3", Some(name.into())).into()]
    }

    #[test]
    fn work_is_for_the_innermost_own_function_that_most_samples_have() {
        let load = |compile: &[(&str, &str, u32)]| {
            python_stack(&[compile, &[COMPILE, ("load", "/app/rules.py", 12), MAIN]].concat())
        };
        let parse = ("parse", "/usr/lib/python3.11/re/_parser.py", 9);
        let other = python_stack(&[COMPILE, ("other", "/app/rules.py", 1), MAIN]);
        let most = [(load(&[]), 50), (load(&[parse]), 20), (other.clone(), 20), (python_stack(&[MAIN]), 10)];
        assert_eq!(shown(&most), [(Kind::RegularExpressions, 90, Some("load".to_owned()))]);
        let disagree = [(load(&[]), 55), (other, 45)];
        assert_eq!(shown(&disagree), [(Kind::RegularExpressions, 100, None)]);
        assert_eq!(shown(&[(load(&[]), 4), (python_stack(&[MAIN]), 16)])[0].2, None, "too few samples");
    }

    #[test]
    fn a_library_that_is_imported_does_not_do_its_work_yet() {
        let module = ("<module>", "/v/lib/python3.11/site-packages/jinja2/lexer.py", 3);
        let import = [IMPORTLIB, MAIN];
        let compiles = ("source_to_code", "<frozen importlib._bootstrap_external>", 3);
        let stacks = [
            (python_stack(&[&[COMPILE, module], &import[..]].concat()), 30),
            (python_stack(&[&[module], &import[..]].concat()), 30),
            (python_stack(&[&[compiles], &import[..]].concat()), 40),
        ];
        let of_main = Some("<module>".to_owned());
        let expected = [(Kind::PythonModules, 40, of_main.clone()), (Kind::RegularExpressions, 30, of_main)];
        assert_eq!(shown(&stacks), expected);
    }

    #[test]
    fn a_sample_counts_for_its_outermost_work_and_for_garbage_collection() {
        let render = ("render", "/v/lib/python3.11/site-packages/jinja2/environment.py", 9);
        let of_template = python_stack(&[("loads", "/usr/lib/python3.11/json/__init__.py", 2), render, MAIN]);
        let own = python_stack(&[("f", "/app/json/re.py", 2), MAIN]);
        let before = python_stack(&[COMPILE, MAIN, ("main", "<frozen site>", 5)]);
        let stacks = [([native("gc_collect_main"), of_template].concat(), 50), (own, 30), (before, 20)];
        let of_main = Some("<module>".to_owned());
        let expected = [
            (Kind::GarbageCollection, 50, of_main.clone()),
            (Kind::RegularExpressions, 20, None),
            (Kind::Templates, 50, of_main),
        ];
        assert_eq!(shown(&stacks), expected);
    }
}
