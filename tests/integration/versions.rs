//! `showdown --versions`, with interpreters of our own in a home folder of our own.

use crate::support::write_executable;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

/// Where version managers put an interpreter, and what it says when it is asked for its version.
const INSTALLED: [(&str, &str); 5] = [
    (".pyenv/versions/3.99.1/bin/python", "Python 3.99.1"),
    (".local/share/uv/python/cpython-3.99.1-linux/bin/python", "Python 3.99.1"),
    (".nvm/versions/node/v99.0.1/bin/node", "v99.0.1"),
    (".rbenv/versions/9.9.9/bin/ruby", "ruby 9.9.9p1 (2099-01-01)"),
    (".sdkman/candidates/java/99/bin/java", "openjdk version \"99.0.2\" 2099-01-01"),
];
/// The programs with them.
const NAMES: [&str; 5] = [
    "java-99.0.2-sdkman",
    "node-99.0.1-nvm",
    "python-3.99.1-pyenv",
    "python-3.99.1-uv",
    "ruby-9.9.9p1-rbenv",
];

/// The interpreters, one of them twice, a Python that does not work, and a Java without a compiler.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_executable(&path, format!("#!/bin/sh\n{text}\n"), 0o755);
    };
    for (path, version) in INSTALLED {
        write(path, &format!("case $1 in *-version) echo '{version}' ;; *) echo hello world ;; esac"));
    }
    write(
        ".sdkman/candidates/java/99/bin/javac",
        "case $1 in -version) echo 99 ;; *) : >Hello.class ;; esac",
    );
    write(".sdkman/candidates/java/98/bin/java", "echo 'openjdk version \"98\"'");
    write(".pyenv/versions/broken/bin/python", "exit 1");
    symlink("3.99.1", home.path().join(".pyenv/versions/latest")).unwrap();
    home
}

fn showdown(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.arg("showdown").args(arguments).env_clear();
    command.env("HOME", home).env("PATH", "/usr/bin:/bin").output().unwrap()
}

/// Those that are not of this machine.
fn ours<'t>(names: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let origins = ["-pyenv", "-uv", "-nvm", "-rbenv", "-sdkman"];
    let mut ours: Vec<&str> =
        names.filter(|name| origins.iter().any(|origin| name.ends_with(origin))).collect();
    ours.sort_unstable();
    ours
}

#[test]
fn the_versions_of_version_managers_are_found_each_once() {
    let home = home();
    let names = |arguments: &[&str]| {
        let output = showdown(home.path(), &[&["--list"], arguments].concat());
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let names = text.lines().filter_map(|line| line.split(' ').next());
        names.filter(|name| !name.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };

    let python = names(&["--language", "python", "--versions"]);
    let found = ours(python.iter().map(String::as_str));
    assert_eq!(found, ["python-3.99.1-pyenv", "python-3.99.1-uv", "python-pyenv"]);
    assert!(python.iter().all(|name| name == "floor-elf" || name.starts_with("python-")), "{python:?}");
    let without = names(&["--language", "python"]);
    assert!(
        without.iter().any(|name| name == "python") && ours(without.iter().map(String::as_str)).is_empty()
    );
}

#[test]
fn versions_are_measured_in_one_table_and_what_does_not_work_is_skipped() {
    let home = home();
    let words = "--only python,node,ruby,java --versions --runs 1 --warmup 0 --no-overhead --no-counts --backend pipe --export-json -";
    let output = showdown(home.path(), &words.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |key: &str| document[key].as_array().unwrap().iter();
    assert_eq!(ours(of("results").map(|result| result["name"].as_str().unwrap())), NAMES);

    let skipped = ["java-98-sdkman", "python-pyenv"].map(|name| {
        let skipped = of("skipped").find(|skipped| skipped["name"] == name);
        (skipped.unwrap()["reason"].as_str().unwrap(), skipped.unwrap()["install"].is_null())
    });
    assert!(
        skipped[0].0.ends_with("98/bin/javac` does not work: it does not report its version"),
        "{skipped:?}"
    );
    assert!(
        skipped[1].0.ends_with("broken/bin/python` does not work: it does not report its version"),
        "{skipped:?}"
    );
    assert!(skipped.iter().all(|(_, nothing_to_install)| *nothing_to_install), "{skipped:?}");
}

#[test]
fn programs_without_versions_are_an_error_that_names_those_with_versions() {
    let home = tempfile::tempdir().unwrap();
    let output = showdown(home.path(), &["--versions", "--only", "bash"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.ends_with("help: firstbyte showdown --versions --only java,node,python,ruby\n"), "{error}");
}
