//! Findings about language runtimes.

use super::{Evidence, Finding};
use crate::account::loads::{FILE, JAVA_CLASSES, Load};
use crate::bench::runtimes::AskedRuntime;
use firstbyte_measure::units::Nanos;
use std::cmp::Reverse;

/// A module that contains this part of all loads is the program itself: what it loads is of interest.
const NEARLY_ALL: f64 = 0.9;

/// The longest loads that a runtime reports: of the runtime whose loads take the longest.
pub(super) fn reported(run: &Evidence) -> Option<Finding> {
    use AskedRuntime::{Bash, Go, Java, Node, Perl, Python, Ruby, Zsh};
    let of_runtime = |runtime: AskedRuntime| {
        let loads: Vec<&Load> = run.loads.iter().filter(|load| load.runtime == runtime.name()).collect();
        (runtime, sum(&outermost(&loads)), loads)
    };
    let languages = [Python, Node, Java, Go, Ruby, Perl].map(of_runtime);
    let (shells, languages) = ([Bash, Zsh].map(of_runtime), languages.into_iter());
    let (shell, language) =
        (shells.into_iter().max_by_key(|it| it.1)?, languages.max_by_key(|(_, cost, _)| *cost)?);
    // a line of a shell that executes another program takes as long as this one, which says more of itself
    let (runtime, cost, loads) = if language.1.0 * 2 >= shell.1.0 { language } else { shell };
    let mut longest = outermost(&loads);
    longest.sort_by_key(|load| Reverse(load.total));
    let shown: Vec<String> = longest.iter().take(4).map(|load| shown(run, load, &loads)).collect();
    if shown.is_empty() {
        return None;
    }
    let text = format!("By {}'s own report: {}. {}", runtime.name(), shown.join("; "), advice(runtime));
    Some(Finding::new("reported", run.scaled(cost), text))
}

fn advice(runtime: AskedRuntime) -> &'static str {
    match runtime {
        AskedRuntime::Python | AskedRuntime::Node | AskedRuntime::Ruby | AskedRuntime::Perl => {
            "Load what is not always needed where it is used, not at the start."
        }
        AskedRuntime::Java => {
            "A class-data archive of the application (-XX:SharedArchiveFile) saves most of its classes' time."
        }
        AskedRuntime::Go => "These packages are initialised at every start, used or not.",
        AskedRuntime::Bash | AskedRuntime::Zsh => {
            "Leave out what is not needed at every start, or do it when it is used for the first time."
        }
    }
}

/// The loads that are not inside others. If one of them is the program itself, those directly inside it.
fn outermost<'l>(loads: &[&'l Load]) -> Vec<&'l Load> {
    let all: Vec<&Load> = loads.iter().copied().filter(|load| load.depth == 0).collect();
    let total = sum(&all).as_f64();
    let program = all
        .iter()
        .find(|load| load.total.as_f64() >= NEARLY_ALL * total && load.runtime != AskedRuntime::Java.name());
    match program.map(|program| inside(program, loads)) {
        Some(inside) if inside.len() > 1 => inside,
        _ => all,
    }
}

/// The loads directly inside another one.
fn inside<'l>(around: &Load, loads: &[&'l Load]) -> Vec<&'l Load> {
    let place = loads.iter().position(|load| std::ptr::eq(*load, around));
    let after = loads.iter().skip(place.map_or(loads.len(), |place| place + 1));
    after
        .copied()
        .take_while(|load| load.depth > around.depth)
        .filter(|load| load.depth == around.depth + 1)
        .collect()
}

/// `pandas 471 ms (of it numpy 183 ms, pandas.core 150 ms)`. A load that has nearly all the time of the one around it
/// explains no more than that one, so those inside it are named.
fn shown(run: &Evidence, load: &Load, loads: &[&Load]) -> String {
    let mut around = load;
    let parts = loop {
        let mut parts = inside(around, loads);
        parts.sort_by_key(|load| Reverse(load.total));
        match parts.first() {
            Some(&first) if first.total.as_f64() >= NEARLY_ALL * around.total.as_f64() => around = first,
            _ => break parts,
        }
    };
    let large = parts.iter().filter(|part| part.total.0 * 10 >= load.total.0).take(3);
    let large: Vec<String> =
        large.map(|part| format!("`{}` {}", part.unit, run.scaled(part.total))).collect();
    let place = if std::ptr::eq(around, load) { String::new() } else { format!(", in `{}`", around.unit) };
    let of_it = match (large.is_empty(), place.is_empty()) {
        (true, true) => String::new(),
        (true, false) => format!(" (nearly all of it{place})"),
        (false, true) => format!(" (of it {})", large.join(", ")),
        (false, false) => format!(" (of it{place}: {})", large.join(", ")),
    };
    format!("`{}` {}{of_it}", load.unit, run.scaled(load.total))
}

fn sum(loads: &[&Load]) -> Nanos {
    Nanos(loads.iter().map(|load| load.total.0).sum())
}

/// Modules that `site` imports by itself.
const OF_SITE: [&str; 15] = [
    "_bootlocale",
    "_collections_abc",
    "_distutils_hack",
    "_sitebuiltins",
    "_stat",
    "abc",
    "codecs",
    "encodings",
    "genericpath",
    "io",
    "os",
    "posixpath",
    "stat",
    "sitecustomize",
    "usercustomize",
];

/// What `site` imports besides its own modules, because a line of a `.pth` file of the interpreter makes it do so. An import
/// counts if the file of its module was read after that file and before the next one.
pub(super) fn python_site(run: &Evidence) -> Option<Finding> {
    let loads: Vec<&Load> =
        run.loads.iter().filter(|load| load.runtime == AskedRuntime::Python.name()).collect();
    let site = loads.iter().find(|load| load.unit == "site" && load.depth == 0)?;
    let foreign = inside(site, &loads).into_iter().filter(|load| !OF_SITE.contains(&&*load.unit));
    let by_file = |import| Some((import, path_file_before(run.loads, import)?));
    let mut caused: Vec<(&Load, &str)> = foreign.filter_map(by_file).collect();
    caused.sort_by_key(|(load, _)| Reverse(load.total));
    let cost = Nanos(caused.iter().map(|(load, _)| load.total.0).sum());
    let longest: Vec<String> = caused
        .iter()
        .take(3)
        .map(|(load, file)| format!("`{}` {} (by {file})", load.unit, run.scaled(load.total)))
        .collect();
    if longest.is_empty() {
        return None;
    }
    let text = format!(
        "Before the program begins, Python's `site` imports {}, because a line of a .pth file says so. Uninstall what \
         installed that file, or use a virtual environment without it.",
        longest.join(", ")
    );
    Some(Finding::new("python-site", run.scaled(cost), text))
}

/// The `.pth` file in a folder of packages after which the file of a module was read, before any other such file.
fn path_file_before<'l>(loads: &'l [Load], import: &Load) -> Option<&'l str> {
    let name = import.unit.split('.').next()?;
    let (package, file) = (format!("/{name}/"), format!("/{name}."));
    let mut last = None;
    for load in loads.iter().filter(|load| load.runtime == FILE) {
        let path = load.file.as_deref().unwrap_or_default();
        if is_path_file(path) {
            last = Some(path);
        } else if last.is_some() && (path.contains(&package) || path.contains(&file)) {
            return last;
        }
    }
    None
}

/// `site` reads those in these folders (<https://docs.python.org/3/library/site.html>).
fn is_path_file(path: &str) -> bool {
    let of_packages = |folder: &str| folder.ends_with("/site-packages") || folder.ends_with("/dist-packages");
    path.rsplit_once('/').is_some_and(|(folder, name)| {
        of_packages(folder) && name.rsplit_once('.').is_some_and(|(_, suffix)| suffix == "pth")
    })
}

/// Classes that do not come from a class-data archive are parsed and verified at each start.
pub(super) fn java_classes(run: &Evidence) -> Option<Finding> {
    let classes = run.loads.iter().filter(|load| load.runtime == JAVA_CLASSES);
    let parsed: Vec<&Load> = classes
        .filter(|load| !load.file.as_deref().unwrap_or_default().starts_with("shared objects"))
        .collect();
    let cost = Nanos(parsed.iter().map(|load| load.own.0).sum());
    let text = format!(
        "Java loads {} classes that are in no class-data archive, and works on each until it loads the next one. An archive \
         saves a part of this time: `java -XX:ArchiveClassesAtExit=app.jsa …` makes one, and \
         `java -XX:SharedArchiveFile=app.jsa …` uses it.",
        parsed.len()
    );
    (parsed.len() >= 20).then(|| Finding::new("java-classes", run.scaled(cost), text))
}
