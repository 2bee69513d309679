//! What each statement that imports modules brought, by samples.

use super::packages::is_library;
use super::{Call, Frame, Profile, SourceLine, Stack};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one statement imported.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The file of the statement, and its line where that is known.
    pub file: Arc<str>,
    pub line: Option<u32>,
    /// The program's own code has it.
    pub own: bool,
    /// With the search for the modules, and all that they do and import in turn, in nanoseconds.
    pub time: f64,
    /// Of it, what no other statement of the program's own code imported further inside; 0 in code of libraries.
    pub self_time: f64,
    /// The modules that it brought itself, the longest time first.
    pub modules: Vec<Imported>,
}

/// A module that was imported.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    pub file: Arc<str>,
    /// Its top level, with all that this calls and imports, in nanoseconds.
    pub time: f64,
    /// The top level alone.
    pub self_time: f64,
}

impl Import {
    /// Where a reader finds it: `cli.py:3`.
    pub fn place(&self) -> String {
        let file = self.file.rsplit('/').next().unwrap_or_default();
        self.line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"))
    }
}

/// How runtimes name the top level of a file that their own code imports, and of one that the program's code imports without
/// any code of the runtime in between.
const IMPORTED: &str = "<module>";
const REQUIRED: [&str; 3] = ["<top (required)>", "<require>", "<include>"];
/// Files whose code imports others.
const IMPORTERS: [&str; 3] = ["<frozen importlib", "node:internal/modules/", "/kernel_require.rb"];
/// What starts the program is no import of it.
const STARTERS: [&str; 2] = ["<frozen ", "node:internal/"];

/// A language frame of a stack.
struct Running<'p> {
    frame: &'p Frame,
    source: &'p SourceLine,
    line: Option<u32>,
}

impl Running<'_> {
    fn is_importer(&self) -> bool {
        IMPORTERS.iter().any(|known| self.source.file.contains(known))
    }

    fn is_starter(&self) -> bool {
        STARTERS.iter().any(|known| self.source.file.starts_with(known))
    }

    /// Whether it is the top level of a file. `directly`: nothing of the runtime called it.
    fn is_top_level(&self, directly: bool) -> bool {
        let name = self.frame.function.as_deref().unwrap_or_default();
        is_top_level(name) && !(directly && name == IMPORTED)
    }
}

/// Whether a function is named as the top level of a file that is imported.
pub(super) fn is_top_level(name: &str) -> bool {
    REQUIRED.contains(&name) || name == IMPORTED
}

/// Times in the making: of a statement, and of the modules that it brought, with those of their top levels alone.
#[derive(Default)]
struct Growing<'p> {
    own: bool,
    time: f64,
    self_time: f64,
    modules: BTreeMap<&'p Arc<str>, (f64, f64)>,
}

/// The longest time first.
pub(super) fn imports(stacks: &[(&Stack, f64)], profile: &Profile) -> Vec<Import> {
    let mut all = BTreeMap::<(&Arc<str>, Option<u32>), Growing<'_>>::new();
    for (stack, time) in stacks {
        let frames = of_language(stack, profile);
        let precede = frames.iter().any(|frame| frame.source.precedes_program());
        let (mut seen, mut innermost_own) = (Vec::new(), None);
        for (at, module) in statements(&frames) {
            let outer = &frames[at];
            let statement = (&outer.source.file, outer.line);
            // a statement further out contains this time already
            if seen.contains(&statement) {
                continue;
            }
            seen.push(statement);

            let growing = all.entry(statement).or_default();
            growing.time += time;
            growing.own = !is_library(outer.frame) && !precede;
            if growing.own {
                innermost_own = Some(statement);
            }
            if let Some(module) = module {
                let (total, itself) = growing.modules.entry(&frames[module].source.file).or_default();
                *total += time;
                *itself += if module == 0 { *time } else { 0.0 };
            }
        }
        if let Some(growing) = innermost_own.and_then(|statement| all.get_mut(&statement)) {
            growing.self_time += time;
        }
    }
    let mut all: Vec<Import> =
        all.into_iter().map(|(statement, growing)| import(statement, growing)).collect();
    all.sort_by(|a, b| b.time.total_cmp(&a.time));
    all
}

/// The language frames, the innermost one first.
fn of_language<'p>(stack: &Stack, profile: &'p Profile) -> Vec<Running<'p>> {
    let running = |call: &Call| {
        let frame = &profile.frames[call.frame];
        Some(Running { frame, source: frame.source.as_ref()?, line: call.line })
    };
    stack.calls.iter().filter_map(running).collect()
}

/// The places of the frames that import, each with that of the top level that it imports: the outermost one first. `None`: the
/// module is still searched for, or compiled.
fn statements(frames: &[Running<'_>]) -> Vec<(usize, Option<usize>)> {
    let statement = |outer: usize| {
        let inner = frames[..outer].iter().rposition(|frame| !frame.is_importer());
        let directly = inner.is_some_and(|inner| inner + 1 == outer);
        let module = inner.filter(|inner| frames[*inner].is_top_level(directly));
        let imports = module.is_some() || outer > 0 && frames[outer - 1].is_importer();
        imports.then_some((outer, module))
    };
    let callers =
        (0..frames.len()).rev().filter(|at| !frames[*at].is_importer() && !frames[*at].is_starter());
    callers.filter_map(statement).collect()
}

fn import((file, line): (&Arc<str>, Option<u32>), mut growing: Growing<'_>) -> Import {
    let module = |(file, (time, self_time)): (&Arc<str>, (f64, f64))| Imported {
        file: Arc::clone(file),
        time,
        self_time,
    };
    let mut modules: Vec<Imported> = std::mem::take(&mut growing.modules).into_iter().map(module).collect();
    modules.sort_by(|a, b| b.time.total_cmp(&a.time));
    let Growing { own, time, self_time, .. } = growing;
    Import { file: Arc::clone(file), line, own, time, self_time, modules }
}

#[cfg(test)]
mod tests {
    use super::super::By;
    use super::super::tests::{IMPORTLIB, divided, python_stack, stack};
    use super::*;

    fn shown(imports: &[Import]) -> Vec<String> {
        let module = |it: &Imported| format!(" {} {:.0} {:.0}", it.file, it.time, it.self_time);
        let import = |it: &Import| {
            let modules: String = it.modules.iter().map(module).collect();
            format!(
                "{} {} {:.0} {:.0}{modules}",
                it.place(),
                if it.own { "own" } else { "library" },
                it.time,
                it.self_time
            )
        };
        imports.iter().map(import).collect()
    }

    #[test]
    fn an_import_has_its_statement_and_all_that_it_brought() {
        let main = ("<module>", "/app/cli.py", 3);
        let outer = ("<module>", "/v/lib/python3.11/site-packages/a/__init__.py", 7);
        let inner = ("<module>", "/v/lib/python3.11/site-packages/b.py", 1);
        let of_b = ("f", "/v/lib/python3.11/site-packages/b.py", 5);
        let main_of_site = ("main", "<frozen site>", 9);
        let stacks = [
            (python_stack(&[outer, IMPORTLIB, main]), 30),
            (python_stack(&[of_b, inner, IMPORTLIB, outer, IMPORTLIB, main]), 40),
            (python_stack(&[IMPORTLIB, main]), 10),
            (python_stack(&[main, ("run", "<frozen runpy>", 88)]), 15),
            (python_stack(&[inner, IMPORTLIB, ("<module>", "<string>", 1), main_of_site]), 5),
        ];
        let packages = "/v/lib/python3.11/site-packages";
        let expected = [
            format!("cli.py:3 own 80 80 {packages}/a/__init__.py 70 30"),
            format!("__init__.py:7 library 40 0 {packages}/b.py 40 0"),
            format!("<string>:1 library 5 0 {packages}/b.py 5 5"),
        ];
        assert_eq!(shown(&divided(&stacks, By::Function).imports), expected);
    }

    #[test]
    fn a_statement_has_itself_what_no_other_own_one_imports() {
        let main = ("<module>", "/app/cli.py", 3);
        let core = ("<module>", "/app/core.py", 7);
        let json = ("<module>", "/usr/lib/python3.11/json/__init__.py", 106);
        let stacks = [
            (python_stack(&[core, IMPORTLIB, main]), 40),
            (python_stack(&[json, IMPORTLIB, core, IMPORTLIB, main]), 60),
        ];
        let expected = [
            "cli.py:3 own 100 40 /app/core.py 100 40",
            "core.py:7 own 60 60 /usr/lib/python3.11/json/__init__.py 60 60",
        ];
        assert_eq!(shown(&divided(&stacks, By::Function).imports), expected);
    }

    #[test]
    fn other_runtimes_import_by_their_own_code_or_directly() {
        let required = ("<top (required)>", "/app/b.rb", 1);
        let by_gems = ("require", "<internal:/r/rubygems/core_ext/kernel_require.rb>", 136);
        let main = ("<main>", "/app/a.rb", 2);
        let ruby = [(stack("Ruby", &[required, main]), 60), (stack("Ruby", &[required, by_gems, main]), 40)];
        assert_eq!(shown(&divided(&ruby, By::Function).imports), ["a.rb:2 own 100 100 /app/b.rb 100 100"]);

        let loader = ("Module._load", "node:internal/modules/cjs/loader", 1);
        let [module, app] = ["b", "a"].map(|name| ("<module>", format!("/app/{name}.js"), 4));
        let [module, app] = [&module, &app].map(|(name, file, line)| (*name, file.as_str(), *line));
        let start = ("<module>", "node:internal/main/run_main_module", 36);
        let node = [(stack("JavaScript", &[module, loader, app, loader, start]), 20)];
        assert_eq!(shown(&divided(&node, By::Function).imports), ["a.js:4 own 100 100 /app/b.js 100 100"]);
    }
}
