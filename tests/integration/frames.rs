//! Functions, files and lines of interpreted programs in `firstbyte trace`.

use super::support::{as_nobody, of_nobody, skipped, write_executable};
use super::trace::{result, traced};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const PYTHON: &str = "/usr/bin/python3";

const BURN: &str = "\
def heavy(times):
    total = 0
    for i in range(7 * times):
        total += i * i
    return total

def light(times):
    total = 0
    for i in range(3 * times):
        total += i * i
    return total

def work(rounds):
    for _ in range(rounds):
        heavy(2000)
        light(2000)
";

/// The paths in an environment variable, separated by colons.
pub(crate) fn chosen(variable: &str) -> Option<Vec<PathBuf>> {
    Some(std::env::split_paths(&std::env::var_os(variable)?).collect())
}

/// A function of a language. Names of the interpreter's own start are not unique.
pub(crate) fn row<'r>(result: &'r Value, language: &str, name: &str) -> &'r Value {
    let all = result["user_functions"].as_array().unwrap();
    let found = all.iter().find(|it| it["function"] == name && it["language"] == language);
    found.unwrap_or_else(|| panic!("no `{name}` in {all:#?}"))
}

/// Three and a third standard errors, and three points.
#[track_caller]
pub(crate) fn assert_share(part: f64, rest: f64, samples: f64, context: &str) {
    let share = part / (part + rest);
    let allowed = 3.3 * (0.21 / samples).sqrt() + 0.03;
    assert!((share - 0.7).abs() <= allowed, "{context}: {share} of {samples} samples");
}

/// `None`: this machine cannot stop programs for samples.
pub(crate) fn sampled(words: &[&str]) -> Option<Value> {
    let result = result(words).filter(|result| !result["sampling"].is_null());
    if result.is_none() {
        skipped("this machine does not trace or sample");
    }
    result
}

#[test]
fn functions_of_python_have_their_file_and_their_lines() {
    if !Path::new(PYTHON).exists() || !cfg!(target_arch = "x86_64") {
        return skipped("no Python of the distribution whose frames are read here");
    }
    let folder = tempfile::tempdir().unwrap();
    let [burn, app, shim] = ["burn.py", "app.py", "shim"].map(|name| folder.path().join(name));
    fs::write(&burn, BURN).unwrap();
    fs::write(&app, "import burn\nburn.work(100)\nprint('done')\n").unwrap();
    write_executable(&shim, format!("#!/bin/sh\nexec env {PYTHON} -S {}\n", app.display()), 0o755);
    let exported = folder.path().join("stacks");
    let words = ["-r", "6", "--export-folded", exported.to_str().unwrap(), "--", shim.to_str().unwrap()];
    let Some(result) = sampled(&words) else { return };

    let [heavy, light, work] = ["heavy", "light", "work"].map(|name| row(&result, "Python", name));
    let of_heavy = heavy["total_ns"].as_f64().unwrap();
    assert_eq!(
        (&heavy["file"], &heavy["module"]),
        (&burn.to_str().unwrap().into(), &burn.to_str().unwrap().into())
    );
    assert_eq!([heavy, light, work].map(|it| it["line"].as_u64().unwrap()), [1, 7, 13]);
    let lines = heavy["lines"].as_array().unwrap();
    // the first instruction of a function has the line of its definition
    assert!(lines.iter().all(|line| [1, 2, 3, 4].contains(&line["line"].as_u64().unwrap())), "{lines:?}");
    let by_line: f64 = lines.iter().map(|line| line["ns"].as_f64().unwrap()).sum();
    assert!((by_line - of_heavy).abs() < 1e-6 * of_heavy, "{by_line} of {of_heavy}");

    let stacks = fs::read_to_string(&exported).unwrap();
    let chain = ";<module> (app.py:1);work (burn.py:13);heavy (burn.py:1)";
    assert!(stacks.lines().any(|line| line.contains(chain)), "{stacks}");
    assert!(!stacks.contains("work (burn.py:13);_Py"), "the interpreter's functions are left out: {stacks}");
    let findings = result["findings"].as_array().unwrap();
    let own =
        findings.iter().find(|it| it["rule"] == "user-code").unwrap()["text"].as_str().unwrap().to_owned();
    assert!(own.contains("`heavy` (burn.py:1) "), "{own}");
    assert!(own.contains(", called by `work` (burn.py:13)"), "{own}");
    assert!(result["exit_codes"].as_array().unwrap().iter().all(|code| *code == 0));
}

/// What a program spends where changes with what else runs, so this is a test for a machine that does nothing else.
#[test]
#[ignore = "needs the processors: `make test` runs it after the others, alone"]
fn functions_of_python_have_their_share() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("burn.py"), BURN).unwrap();
    let app = folder.path().join("app.py");
    fs::write(&app, "import burn\nburn.work(100)\nprint('done')\n").unwrap();
    let words = ["-r", "6", "--", PYTHON, "-S", app.to_str().unwrap()];
    let Some(result) = sampled(&words) else { return };

    let [heavy, light] = ["heavy", "light"].map(|name| row(&result, "Python", name));
    let [of_heavy, of_light] = [heavy, light].map(|it| it["total_ns"].as_f64().unwrap());
    let samples = heavy["samples"].as_f64().unwrap() + light["samples"].as_f64().unwrap();
    assert_share(of_heavy, of_light, samples, "functions");
}

#[test]
fn time_is_charged_to_lines_that_call_libraries_and_import_modules() {
    if !Path::new(PYTHON).exists() || !cfg!(target_arch = "x86_64") {
        return skipped("no Python of the distribution whose frames are read here");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("slow.py"), "total = 0\nfor i in range(1500000):\n    total += i % 7\n").unwrap();
    fs::write(path("wrap.py"), "# imports\nimport slow\n").unwrap();
    let decode = "def decode():\n    for _ in range(40000):\n        json.loads(text)\n";
    let app = format!("import json\n\nimport wrap\ntext = '[1, 2]'\n{decode}decode()\n");
    fs::write(path("app.py"), app).unwrap();
    let exported = path("stacks");
    let app = path("app.py");
    let words =
        ["--by", "line", "-r", "6", "--export-folded", exported.to_str().unwrap(), "--", PYTHON, "-S"];
    let Some(result) = sampled(&[&words[..], &[app.to_str().unwrap()]].concat()) else { return };

    let imports = result["imports"].as_array().unwrap();
    let of = |name: &str, line: u32| {
        let file = Value::from(path(name).to_str().unwrap());
        let found = imports.iter().find(|it| it["file"] == file && it["line"] == line);
        found.unwrap_or_else(|| panic!("no {name}:{line} in {imports:#?}"))
    };
    let (outer, inner) = (of("app.py", 3), of("wrap.py", 2));
    let time = |it: &Value, name: &str| it[name].as_f64().unwrap();
    assert_eq!(inner["modules"][0]["file"], path("slow.py").to_str().unwrap());
    assert!(
        time(inner, "self_ns") <= time(outer, "total_ns") && time(outer, "self_ns") < time(inner, "self_ns")
    );

    let stacks = fs::read_to_string(&exported).unwrap();
    let chain = ";<module> (app.py:8);decode (app.py:7);loads (";
    assert!(stacks.lines().any(|line| line.contains(chain)), "{stacks}");
    let findings = result["findings"].as_array().unwrap();
    let of_modules = findings.iter().find(|it| it["rule"] == "reported" || it["rule"] == "modules");
    let text = of_modules.unwrap()["text"].as_str().unwrap();
    assert!(text.contains("The program imports the most at `wrap.py:2` "), "{findings:#?}");
    let shown = traced(&["--quick", "--by", "file", "--", PYTHON, "-S", app.to_str().unwrap()]);
    let (_, table) = shown.as_deref().unwrap().split_once("\nOwn code by file").unwrap();
    assert!(table.lines().nth(1).unwrap().starts_with("slow.py "), "{table}");
}

/// What pip writes for a function of a package.
const ENTRY_POINT: &str = "\
# -*- coding: utf-8 -*-
import re
import sys
from tool.cli import compute
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(compute())
";

/// A virtual environment with a tool, a package that it needs, and a line that is executed at each start.
fn write_environment(folder: &Path) -> Option<PathBuf> {
    let python = fs::canonicalize(PYTHON).ok()?;
    let packages = folder.join("lib").join(python.file_name()?).join("site-packages");
    let spin = "    total = 0\n    for i in range(800000):\n        total += i * i\n";
    for name in ["tool", "dep"] {
        fs::create_dir_all(packages.join(name)).unwrap();
    }
    for (name, text) in [
        ("tool/__init__.py", String::new()),
        ("tool/__main__.py", "from tool.cli import compute\ncompute()\n".to_owned()),
        ("tool/cli.py", format!("import dep\n\ndef compute():\n{spin}    dep.burn()\n")),
        ("dep/__init__.py", format!("def burn():\n{spin}")),
        ("slow.pth", "import sys; sum(i * i for i in range(800000))\n".to_owned()),
    ] {
        fs::write(packages.join(name), text).unwrap();
    }
    fs::create_dir(folder.join("bin")).unwrap();
    fs::write(folder.join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    let own = folder.join("bin/python");
    std::os::unix::fs::symlink(&python, &own).unwrap();
    write_executable(&folder.join("bin/tool"), format!("#!{}\n{ENTRY_POINT}", own.display()), 0o755);
    Some(packages)
}

#[test]
fn the_package_that_is_started_is_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let Some(packages) = write_environment(folder.path()).filter(|_| cfg!(target_arch = "x86_64")) else {
        return skipped("no Python of the distribution whose frames are read here");
    };
    let [python, tool] = ["python", "tool"].map(|name| folder.path().join("bin").join(name));
    let [python, tool] = [&python, &tool].map(|path| path.to_str().unwrap());
    for started in [&[python, "-m", "tool"][..], &[tool]] {
        let Some(result) = sampled(&[&["-r", "6", "--"], started].concat()) else { return };
        let module = |name: &str| row(&result, "Python", name)["module"].as_str().unwrap().to_owned();
        let expected = ["tool/cli.py", "dep"].map(|name| packages.join(name).to_str().unwrap().to_owned());
        assert_eq!(["compute", "burn"].map(module), expected, "{started:?}");
    }

    let shown = traced(&["--quick", "--by", "package", "--", tool]).unwrap();
    let (_, table) = shown.split_once("\nCode by package").unwrap();
    assert!(table.contains("cli.py") && !table.contains("<string>"), "{table}");
}

#[test]
fn an_interpreter_that_the_dynamic_loader_starts_is_read() {
    let loader = "/lib64/ld-linux-x86-64.so.2";
    if [PYTHON, loader].iter().any(|path| !Path::new(path).exists()) {
        return skipped("no Python of the distribution, or another loader");
    }
    let program = "def work():\n    return sum(i * i for i in range(1000000))\nwork()";
    if let Some(result) = sampled(&["-r", "3", "--", loader, PYTHON, "-S", "-c", program]) {
        assert_eq!(row(&result, "Python", "work")["line"], 1);
    }
}

/// It would see the signals that stop it.
#[test]
fn a_program_that_waits_for_all_signals_is_not_stopped() {
    if !Path::new(PYTHON).exists() {
        return skipped("no Python of the distribution");
    }
    let program = "import signal\n\
                   signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n\
                   sum(range(3000000))\n\
                   assert signal.sigtimedwait(range(1, 65), 0) is None and not signal.sigpending()\n";
    let words = ["--no-overhead", "-r", "2", "--full", "--", PYTHON, "-S", "-c", program];
    let shown = traced(&words).unwrap_or_default();
    if shown.is_empty() || shown.contains("The functions of user code are not known") {
        return skipped("this machine does not sample");
    }
    let text = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("it asks for pending signals, and might see those that stop it."), "{text}");
}

#[test]
fn an_ordinary_user_gets_functions_of_python_too() {
    if !Path::new(PYTHON).exists() || !cfg!(target_arch = "x86_64") {
        return skipped("no Python of the distribution whose frames are read here");
    }
    let Some(folder) = of_nobody() else { return };
    fs::write(folder.path().join("burn.py"), format!("{BURN}\nwork(100)\n")).unwrap();
    let words = [
        "./firstbyte",
        "trace",
        "--no-overhead",
        "-r",
        "3",
        "--export-json",
        "-",
        "--",
        PYTHON,
        "-S",
        "burn.py",
    ];
    let output = as_nobody(folder.path(), &words).output().unwrap();
    let result =
        serde_json::from_slice::<Value>(&output.stdout).map(|document| document["results"][0].clone());
    match result.ok().filter(|result| !result["sampling"].is_null()) {
        Some(result) => assert_eq!(row(&result, "Python", "heavy")["line"], 1),
        None => skipped("that user may not sample"),
    }
}
