//! The toolchains of the corpus: asks each tool for its version.

use crate::corpus::tool::ToolSpec;
use crate::corpus::toolchain::{self, FoundTool, MissingTool};
use crate::corpus::{Corpus, Program, debian};
use crate::document::doctor::{Check, CheckGroup, Status};
use firstbyte_measure::launch::find_in_path;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// A check for each tool, then for each package without a tool, each sorted by name.
pub(super) fn checks(corpus: &Corpus) -> Vec<Check> {
    let tools = by_tool(corpus);
    let asked = std::thread::scope(|scope| {
        // A tool takes 1 to 300 ms to answer, so all are asked at once.
        let thread = |spec| std::thread::Builder::new().spawn_scoped(scope, move || toolchain::find(spec));
        let asking: Vec<_> = tools.values().map(|(spec, _)| (*spec, thread(*spec))).collect();
        // without more threads, one after the other
        let answers = asking.into_iter().map(|(spec, asked)| match asked {
            Ok(thread) => thread.join().ok(),
            Err(_) => Some(toolchain::find(spec)),
        });
        answers.collect::<Vec<_>>()
    });
    let found =
        tools.values().zip(asked).filter_map(|((_, programs), answer)| Some(judge(answer?, programs)));
    found.chain(packages(corpus)).collect()
}

/// Each tool once, with the programs that need it. A specification that resolves shims is preferred.
fn by_tool(corpus: &Corpus) -> BTreeMap<&str, (&ToolSpec, Vec<&str>)> {
    let mut tools: BTreeMap<&str, (&ToolSpec, Vec<&str>)> = BTreeMap::new();
    for program in corpus.programs().iter().filter(|program| is_checked(program)) {
        for spec in &program.manifest.toolchain {
            let (chosen, programs) = tools.entry(&spec.tool).or_insert((spec, Vec::new()));
            programs.push(program.name());
            if chosen.locate.is_empty() {
                *chosen = spec;
            }
        }
    }
    tools
}

fn is_checked(program: &Program) -> bool {
    program.is_core() && program.manifest.fits(std::env::consts::ARCH)
}

fn judge(answer: Result<FoundTool, MissingTool>, programs: &[&str]) -> Check {
    match answer {
        Ok(tool) => present(&tool),
        Err(missing) => {
            let why = format!("{}; skipped: {}", missing.reason, programs.join(", "));
            let fix = debian::install_command(&missing.packages);
            Check::works(CheckGroup::Corpus, &missing.tool, "missing").hindered(Status::DoesNotWork, why, fix)
        }
    }
}

fn present(tool: &FoundTool) -> Check {
    let place = tool.path.display();
    let detail =
        tool.version.as_ref().map_or_else(|| place.to_string(), |version| format!("{version} ({place})"));
    let check = Check::works(CheckGroup::Corpus, &tool.tool, detail);
    match shim(tool) {
        Some(script) => Check {
            why: Some(format!(
                "the first `{}` in PATH is the script `{}`, which the corpus does not use",
                tool.tool,
                script.display()
            )),
            ..check
        },
        None => check,
    }
}

/// The script that a version manager has put in front of the tool.
fn shim(tool: &FoundTool) -> Option<PathBuf> {
    let first = find_in_path(&tool.tool)?;
    let is_script = fs::read(&first).is_ok_and(|contents| contents.starts_with(b"#!"));
    (is_script && first != tool.path).then_some(first)
}

fn packages(corpus: &Corpus) -> impl Iterator<Item = Check> {
    let mut needed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for program in corpus.programs().iter().filter(|program| is_checked(program)) {
        for package in &program.manifest.packages {
            needed.entry(package).or_default().push(program.name());
        }
    }
    needed.into_iter().filter_map(|(package, programs)| {
        let installed = debian::is_installed(package)?;
        Some(package_check(package, installed, &programs))
    })
}

fn package_check(package: &str, installed: bool, programs: &[&str]) -> Check {
    if installed {
        return Check::works(CheckGroup::Corpus, package, "installed");
    }
    let why = format!("the builds of {} may fail", programs.join(", "));
    let fix = debian::install_command(&[package.to_owned()]);
    Check::works(CheckGroup::Corpus, package, "missing").hindered(Status::DoesNotWork, why, fix)
}
