//! Findings about language runtimes.

use super::extent::Extent;
use super::language_rules::statements;
use super::{Evidence, Finding, noteworthy, packages};
use crate::analysis::Step;
use crate::analysis::loads::{ARCHIVE, FILE, JAVA_CLASSES, Load};
use crate::analysis::runs::AskedRuntime;
use firstbyte_measure::units::Nanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;

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
    let (runtime, cost, loads) = if language.1.0.saturating_mul(2) >= shell.1.0 { language } else { shell };
    let mut longest = of_packages(runtime, outermost(&loads));
    let is_shell = matches!(runtime, Bash | Zsh);
    // a line of a shell that takes as little as its report says nothing
    longest.retain(|it| !is_shell || noteworthy(sum(it), run.account, 2));
    let shown: Vec<String> = longest.iter().take(4).map(|it| shown_all(runtime, it, &loads)).collect();
    if shown.is_empty() {
        return None;
    }
    let (shown, statements) = (shown.join("; "), if is_shell { String::new() } else { statements(run) });
    let saves = saving(runtime, &outermost(&loads));
    let advice = if saves.is_some_and(|saves| !noteworthy(saves, run.account, 1)) {
        format!("{} itself loads these before the program begins.", runtime.name())
    } else {
        advice(runtime).to_owned()
    };
    let text = format!("By {}'s own report: {shown}.{statements} {advice}", runtime.name());
    let Some(saves) = saves else {
        return Some(Finding::new("reported", cost, text));
    };
    let (cost, saves) = (cost + ending_of(run, cost), saves + ending_of(run, saves));
    Some(Finding::new("reported", cost, text).saving(saves))
}

/// What a runtime does at its end, after all calls for files, is for what it has loaded: a part of it for a part of its start.
fn ending_of(run: &Evidence, part: Nanos) -> Nanos {
    let steps = &run.account.steps;
    let works_on_files = |step: &Step| {
        step.what.call_facts().is_some_and(|call| call.opens() || call.reads() || call.writes())
    };
    let last = steps.iter().rposition(works_on_files).map_or(steps.len(), |last| last + 1);
    let undisturbed =
        |steps: &[Step]| Extent::of(steps).without(&Extent::taken_by_others(run.account)).total().as_f64();
    let (before, after) = (undisturbed(&steps[..last]), undisturbed(&steps[last..]));
    Nanos::rounded(after * (part.as_f64() / before.max(1.0)).min(1.0))
}

/// What leaving these loads out saves, without those that a runtime needs for itself.
fn saving(runtime: AskedRuntime, outermost: &[&Load]) -> Option<Nanos> {
    match runtime {
        AskedRuntime::Python => {
            // Python's own come first, and `site` is the last of them; `-S` leaves it out
            let site = outermost.iter().position(|load| load.unit == "site");
            let is_own =
                |load: &&&Load| OF_START.contains(&&*load.unit) || load.unit.starts_with("encodings");
            let own = site.map_or_else(|| outermost.iter().take_while(is_own).count(), |site| site + 1);
            Some(sum(&outermost[own..]))
        }
        AskedRuntime::Node | AskedRuntime::Ruby | AskedRuntime::Perl => Some(sum(outermost)),
        _ => None,
    }
}

fn advice(runtime: AskedRuntime) -> &'static str {
    match runtime {
        AskedRuntime::Python | AskedRuntime::Node | AskedRuntime::Ruby | AskedRuntime::Perl => {
            "Load what is not always needed where it is used, not at the start."
        }
        AskedRuntime::Java => {
            "A class-data archive of the application (-XX:SharedArchiveFile) saves the time of its classes."
        }
        AskedRuntime::Go => "These packages are initialised at every start, used or not.",
        AskedRuntime::Bash | AskedRuntime::Zsh => {
            "Leave out what is not needed at every start, or do it when it is used for the first time."
        }
    }
}

/// Unless less than this part of it is in what it loads.
const MOSTLY_LOADS: f64 = 2.0 / 3.0;

/// The loads that are not inside others. If one of them is the program itself, those directly inside it.
fn outermost<'l>(loads: &[&'l Load]) -> Vec<&'l Load> {
    let all: Vec<&Load> = loads.iter().copied().filter(|load| load.depth == 0).collect();
    let total = sum(&all).as_f64();
    let program = all
        .iter()
        .find(|load| load.total.as_f64() >= NEARLY_ALL * total && load.runtime != AskedRuntime::Java.name());
    let mostly_loads =
        |program: &Load, inside: &[&Load]| sum(inside).as_f64() >= MOSTLY_LOADS * program.total.as_f64();
    match program.map(|program| (program, inside(program, loads))) {
        Some((program, inside)) if inside.len() > 1 && mostly_loads(program, &inside) => inside,
        _ => all,
    }
}

/// A package has fewer loads, or one of them has half of its time: then each of them stands for itself.
const MIN_OF_PACKAGE: usize = 3;

/// The loads that stand together, the longest first. A program that imports lazily loads the many modules of a package one
/// by one, and none of them takes long.
fn of_packages(runtime: AskedRuntime, loads: Vec<&Load>) -> Vec<Vec<&Load>> {
    let mut packages: BTreeMap<&str, Vec<&Load>> = BTreeMap::new();
    for load in loads {
        packages.entry(package(runtime, load)).or_default().push(load);
    }

    let mut together: Vec<Vec<&Load>> = Vec::new();
    for mut package in packages.into_values() {
        package.sort_by_key(|load| Reverse(load.total));
        if package.len() < MIN_OF_PACKAGE || package[0].total.0.saturating_mul(2) >= sum(&package).0 {
            together.extend(package.into_iter().map(|load| vec![load]));
        } else {
            together.push(package);
        }
    }
    together.sort_by_key(|loads| Reverse(sum(loads)));
    together
}

/// The name of the package of a load; that of the load itself for runtimes without packages.
fn package(runtime: AskedRuntime, load: &Load) -> &str {
    match runtime {
        AskedRuntime::Python => load.unit.split('.').next().unwrap_or_default(),
        AskedRuntime::Node | AskedRuntime::Ruby | AskedRuntime::Perl if load.path().starts_with('/') => {
            packages::package(load.path())
        }
        // a line of a file
        AskedRuntime::Bash => load.path(),
        _ => &load.unit,
    }
}

/// One load, or the loads of a package: `mercurial 31 ms (40 modules, the longest: mercurial.ui 4 ms)`.
fn shown_all(runtime: AskedRuntime, together: &[&Load], loads: &[&Load]) -> String {
    let [first, second, ..] = together else {
        return together.first().map_or(String::new(), |load| shown(load, loads));
    };
    let each = |load: &Load| format!("`{}` {}", load.unit, load.total);
    format!(
        "`{}` {} ({} modules, the longest: {}, {})",
        package(runtime, first),
        sum(together),
        together.len(),
        each(first),
        each(second)
    )
}

/// The loads directly inside another one.
fn inside<'l>(around: &Load, loads: &[&'l Load]) -> Vec<&'l Load> {
    let index = loads.iter().position(|load| std::ptr::eq(*load, around));
    let after = loads.iter().skip(index.map_or(loads.len(), |index| index + 1));
    after
        .copied()
        .take_while(|load| load.depth > around.depth)
        .filter(|load| load.depth == around.depth + 1)
        .collect()
}

/// `pandas 471 ms (of it numpy 183 ms, pandas.core 150 ms)`. A load that has nearly all the time of the one around it
/// explains no more than that one, so those inside it are named.
fn shown(load: &Load, loads: &[&Load]) -> String {
    let mut around = load;
    let parts = loop {
        let mut parts = inside(around, loads);
        parts.sort_by_key(|load| Reverse(load.total));
        match parts.first() {
            Some(&first) if first.total.as_f64() >= NEARLY_ALL * around.total.as_f64() => around = first,
            _ => break parts,
        }
    };
    let large = parts.iter().filter(|part| part.total.0.saturating_mul(10) >= load.total.0).take(3);
    let large: Vec<String> = large.map(|part| format!("`{}` {}", part.unit, part.total)).collect();
    let within = if std::ptr::eq(around, load) { String::new() } else { format!(", in `{}`", around.unit) };
    let of_it = match (large.is_empty(), within.is_empty()) {
        (true, true) => String::new(),
        (true, false) => format!(" (nearly all of it{within})"),
        (false, true) => format!(" (of it {})", large.join(", ")),
        (false, false) => format!(" (of it{within}: {})", large.join(", ")),
    };
    format!("`{}`{} {}{of_it}", load.unit, place(load), load.total)
}

/// The file and the line of a command of bash, where it is in a file.
fn place(load: &Load) -> String {
    let place = load.file.as_ref().filter(|_| load.runtime == AskedRuntime::Bash.name());
    place.map_or(String::new(), |place| format!(" ({place})"))
}

fn sum(loads: &[&Load]) -> Nanos {
    loads.iter().map(|load| load.total).sum()
}

/// Modules that Python imports before `site`, besides `encodings`.
const OF_START: [&str; 9] = [
    "_frozen_importlib_external",
    "_codecs",
    "_io",
    "_signal",
    "_thread",
    "_weakref",
    "abc",
    "io",
    "zipimport",
];

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
    let cost: Nanos = caused.iter().map(|(load, _)| load.total).sum();
    let longest: Vec<String> = caused
        .iter()
        .take(3)
        .map(|(load, file)| format!("`{}` {} (by {file})", load.unit, load.total))
        .collect();
    if longest.is_empty() {
        return None;
    }
    let text = format!(
        "Before the program begins, Python's `site` imports {}, because a line of a .pth file says so. Uninstall what \
         installed that file, or use a virtual environment without it.",
        longest.join(", ")
    );
    Some(Finding::new("python-site", cost, text).saving_all())
}

/// `sitecustomize` and `usercustomize`, which `site` imports at each start if they exist.
pub(super) fn site_customization(run: &Evidence) -> Option<Finding> {
    let is_one = |load: &&Load| matches!(&*load.unit, "sitecustomize" | "usercustomize");
    let reported = run.loads.iter().filter(|load| load.runtime == AskedRuntime::Python.name());
    let longest = reported.filter(is_one).max_by_key(|load| load.total)?;
    let file = run
        .loads
        .iter()
        .find(|load| load.runtime == FILE && load.unit.split('.').next() == Some(&longest.unit));
    let file = file.map_or(String::new(), |file| format!(" (`{}`)", file.path()));
    let text = format!(
        "Python imports `{}`{file} at each start, before any program. Move what it does to the programs that need it.",
        longest.unit
    );
    Some(Finding::new("site-customization", longest.total, text).saving_all())
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
    let parsed: Vec<&Load> = classes.filter(|load| !load.path().starts_with(ARCHIVE)).collect();
    let cost: Nanos = parsed.iter().map(|load| load.self_time).sum();
    let text = format!(
        "Java finds, parses and verifies {} classes that are in no class-data archive. An archive saves this time: \
         `java -XX:ArchiveClassesAtExit=app.jsa …` makes one, and `java -XX:SharedArchiveFile=app.jsa …` uses it.",
        parsed.len()
    );
    (parsed.len() >= 20).then(|| Finding::new("java-classes", cost, text).saving_all())
}
