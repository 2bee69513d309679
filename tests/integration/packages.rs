//! The packages of other languages: made from a stage whose executable starts the one that is tested, installed as their
//! users do, and used.

use crate::support::{skipped, write_executable};
use std::path::Path;
use std::process::{Command, Output};
use std::{fs, io};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const VERSION: &str = env!("CARGO_PKG_VERSION");
const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command, which must succeed.
#[track_caller]
fn done(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// The packages that a script of `packaging/` makes, in a folder `out`.
fn packaged(script: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let [stage, out] = ["stage", "out"].map(|name| folder.path().join(name));
    fs::create_dir(&stage).unwrap();
    fs::create_dir(&out).unwrap();
    let start = format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_firstbyte"));
    write_executable(&stage.join("firstbyte"), start, 0o755);
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(Path::new(ROOT).join(name), stage.join(name)).unwrap();
    }

    let packaging = Path::new(ROOT).join("packaging");
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    done(Command::new(packaging.join("third-party")).arg(target).arg(&stage));
    done(Command::new(packaging.join(script)).arg(&stage).args([VERSION, ARCHITECTURE]).arg(&out));
    folder
}

/// The crates of this repository that a manifest names.
fn used_crates(manifest: &Path) -> Vec<String> {
    let text = fs::read_to_string(manifest).unwrap();
    let lines = text.lines().filter(|line| line.contains("path = \"") && line.starts_with("firstbyte-"));
    lines.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn every_crate_is_published_with_its_licences_after_those_that_it_uses() {
    let said = done(Command::new(Path::new(ROOT).join("packaging/publish")).arg("--dry"));
    let mut published: Vec<&str> =
        said.lines().filter_map(|line| line.strip_prefix("cargo publish --locked --package ")).collect();
    for (place, name) in published.iter().enumerate() {
        let folder = name.strip_prefix("firstbyte-").map_or(".".to_owned(), |name| format!("crates/{name}"));
        let folder = Path::new(ROOT).join(folder);
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            assert!(folder.join(licence).exists(), "{name} would be published without {licence}");
        }
        let used = used_crates(&folder.join("Cargo.toml"));
        assert!(used.iter().all(|used| published[..place].contains(&used.as_str())), "{name}: {used:?}");
    }

    let crates = fs::read_dir(Path::new(ROOT).join("crates")).unwrap();
    let mut all: Vec<String> =
        crates.map(|entry| format!("firstbyte-{}", entry.unwrap().file_name().display())).collect();
    all.push("firstbyte".to_owned());
    all.sort_unstable();
    published.sort_unstable();
    assert_eq!(published, all);
}

/// A Python with pip and pytest that can make environments.
fn python() -> Option<&'static str> {
    let works = |python: &&str| {
        let tried = Command::new(python).args(["-c", "import ensurepip, pytest, venv"]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    let found = ["python3", "/usr/bin/python3"].into_iter().find(works);
    if found.is_none() {
        skipped("no Python has venv, pip and pytest; help: apt-get install python3-venv python3-pytest");
    }
    found
}

/// A fresh environment with the wheel, and its Python.
fn installed_wheel(python: &str) -> (tempfile::TempDir, String) {
    let folder = packaged("wheel");
    let environment = folder.path().join("environment");
    done(Command::new(python).args(["-m", "venv", "--system-site-packages"]).arg(&environment));
    let python = environment.join("bin/python").to_string_lossy().into_owned();
    let wheels = fs::read_dir(folder.path().join("out")).unwrap();
    let wheels: Vec<_> = wheels.map(|entry| entry.unwrap().path()).collect();
    done(Command::new(&python).args(["-m", "pip", "install", "--no-index", "--no-deps"]).args(wheels));
    (folder, python)
}

#[test]
fn the_wheel_installs_the_command_the_module_and_the_documents() {
    let Some(python) = python() else { return };
    let (folder, python) = installed_wheel(python);
    let version = format!("firstbyte {VERSION}\n");
    assert_eq!(done(Command::new(folder.path().join("environment/bin/firstbyte")).arg("--version")), version);
    assert_eq!(done(Command::new(&python).args(["-m", "firstbyte", "--version"])), version);

    let documents = folder.path().join("documents");
    fs::create_dir(&documents).unwrap();
    written(&documents);
    let read =
        done(Command::new(&python).arg(Path::new(ROOT).join("tests/packages/documents.py")).arg(&documents));
    let mut kinds: Vec<&str> = read.lines().collect();
    kinds.sort_unstable();
    assert_eq!(
        kinds,
        [
            "bench",
            "check",
            "claims",
            "compare",
            "diff",
            "doctor",
            "elf",
            "floor",
            "throughput",
            "trace",
            "watch"
        ]
    );

    let module = "import firstbyte\n\
        result = firstbyte.bench(['/bin/true', ['/bin/echo', 'a b']], runs=2, no_overhead=True, no_counts=True)\n\
        print([program.command for program in result.results])\n\
        try: firstbyte.trace('no-such-program')\n\
        except firstbyte.Error as error: print(error.status, error.document)\n";
    let said = done(Command::new(&python).args(["-c", module]));
    assert_eq!(said, "['/bin/true', \"/bin/echo 'a b'\"]\n3 None\n");
    done(Command::new(&python).args(["-m", "pip", "uninstall", "--yes", "firstbyte"]));
    assert!(!folder.path().join("environment/bin/firstbyte").exists());
}

/// A document of each kind, each in its file: from commands where that is quick, else from `results/`.
fn written(folder: &Path) {
    let run = |name: &str, words: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_firstbyte")).args(words).current_dir(folder).output().unwrap();
        // 1: doctor found something, or a budget was missed
        assert!(matches!(output.status.code(), Some(0 | 1)), "{words:?}: {}", text(&output.stderr));
        fs::write(folder.join(name), output.stdout).unwrap();
    };
    let budgets = folder.join("firstbyte.toml");
    fs::write(&budgets, "[[program]]\ncommand = '/bin/true'\nprocesses = 1\nsyscalls = 1\n").unwrap();

    run("bench.json", &["bench", "--json", "--runs", "8", "/bin/true", "/bin/false", "-i"]);
    run("compare.json", &["compare", "--json", "bench.json", "bench.json"]);
    run("check.json", &["check", "--json", "--count-runs", "2"]);
    run("trace.json", &["trace", "--json", "--quick", "/bin/true"]);
    run("diff.json", &["diff", "--json", "--quick", "/bin/true", "/bin/false", "-i"]);
    run("doctor.json", &["doctor", "--json"]);
    run("elf.json", &["elf", "--json", "--message", "x"]);
    run("watch.json", &["watch", "--json", "/bin/true"]);
    let results = fs::read_dir(Path::new(ROOT).join("results")).unwrap().map(|entry| entry.unwrap().path());
    let mut results: Vec<_> = results.filter(|path| path.is_dir()).collect();
    results.sort();
    for name in ["claims.json", "floor.json", "throughput.json"] {
        let latest = results.iter().rev().map(|folder| folder.join(name)).find(|file| file.exists());
        fs::copy(latest.unwrap(), folder.join(name)).unwrap();
    }
}

/// pytest in a project with this program.
fn pytest(python: &str, project: &Path, program: &str, options: &[&str]) -> Output {
    fs::write(project.join("tool.py"), program).unwrap();
    let mut command = Command::new(python);
    // no other plugin of the machine
    command.env("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1").current_dir(project);
    command.args(["-m", "pytest", "-p", "firstbyte.pytest_plugin", "-p", "no:cacheprovider", "--color=no"]);
    command.args(options).output().unwrap()
}

#[test]
fn the_fixture_of_pytest_says_what_came() {
    let Some(python) = python() else { return };
    let (folder, python) = installed_wheel(python);
    let project = folder.path().join("project");
    fs::create_dir(&project).unwrap();
    fs::copy(Path::new(ROOT).join("tests/packages/test_tool.py"), project.join("test_tool.py")).unwrap();

    let before = pytest(&python, &project, "print(1)\n", &[]);
    let said = text(&before.stdout);
    assert!(said.contains("2 passed") && said.contains("1 failed"), "only a time needs a baseline: {said}");
    assert!(said.contains("the budget `1000x` needs a baseline"), "{said}");
    let updated = pytest(&python, &project, "print(1)\n", &["--startup-update"]);
    assert!(updated.status.success(), "{}", text(&updated.stdout));
    assert!(project.join("startup/test_tool.test_plain.json").exists());
    let same = pytest(&python, &project, "print(1)\n", &["-k", "test_plain"]);
    assert!(same.status.success(), "{}", text(&same.stdout));

    let after = pytest(&python, &project, "import colorsys\nprint(1)\n", &["-k", "not test_time"]);
    let said = text(&after.stdout);
    assert_eq!(after.status.code(), Some(1), "{said}");
    assert!(said.contains("what came since the baseline:\n  module  colorsys  /"), "{said}");
    assert!(said.contains("  files opened") && said.contains("  imports colorsys: /"), "{said}");
    assert!(said.contains("help: pytest --startup-update accepts it"), "{said}");
}

#[test]
fn the_npm_package_starts_the_executable_of_its_platform() {
    let version = Command::new("npm").arg("--version").output();
    if version.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return skipped("npm is missing; help: apt-get install npm");
    }
    let folder = packaged("npm-packages");
    let project = folder.path().join("project");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("package.json"), "{\"private\": true}").unwrap();
    let platform = if ARCHITECTURE == "arm64" { "firstbyte-linux-arm64" } else { "firstbyte-linux-x64" };
    let packages = ["firstbyte", platform].map(|name| format!("../out/{name}-{VERSION}.tgz"));
    let npm = |words: &[&str]| {
        let mut command = Command::new("npm");
        command.current_dir(&project).args(words).args(["--offline", "--no-audit", "--no-fund"]);
        command
    };
    done(npm(&["install"]).args(&packages));

    let start = |words: &[&str]| {
        let mut command = Command::new("npx");
        command.current_dir(&project).args(["--offline", "firstbyte"]).args(words);
        command.output().unwrap()
    };
    assert_eq!(text(&start(&["--version"]).stdout), format!("firstbyte {VERSION}\n"));
    let missing = start(&["bench", "no-such-program"]);
    assert_eq!(missing.status.code(), Some(3), "{}", text(&missing.stderr));
    let traced = start(&["trace", "--json", "--quick", "--", "node", "-e", "0"]);
    assert!(text(&traced.stdout).contains("\"kind\": \"trace\""), "{}", text(&traced.stderr));

    fs::remove_dir_all(project.join("node_modules").join(platform)).unwrap();
    let without = start(&["--version"]);
    assert_eq!(without.status.code(), Some(4));
    assert!(text(&without.stderr).contains(&format!("`{platform}` is missing")), "{}", text(&without.stderr));
    done(&mut npm(&["uninstall", "firstbyte", platform]));
    assert!(!project.join("node_modules/.bin/firstbyte").exists());
}
