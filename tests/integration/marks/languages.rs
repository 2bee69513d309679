//! The line of docs/marks.md for each language makes one mark.

use super::go_cache;
use crate::bench::{firstbyte, folder};
use crate::support::skipped;
use firstbyte_measure::launch::find_in_path;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The last one runs the program, those before it build it.
type Commands = &'static [&'static [&'static str]];

/// How the line of docs/marks.md runs in each language: the tool, the file's name, its text with `LINE`, the commands. `{}` is
/// the folder of the file. Only those that are installed are tried.
const LANGUAGES: [(&str, &str, &str, &str, Commands); 39] = [
    (
        "C",
        "cc",
        "m.c",
        "#include <unistd.h>\nint main(void) { LINE }",
        &[&["cc", "-w", "m.c", "-o", "m"], &["./m"]],
    ),
    (
        "C++",
        "g++",
        "m.cpp",
        "#include <filesystem>\nint main() { LINE }",
        &[&["g++", "-w", "-std=c++17", "m.cpp", "-o", "m"], &["./m"]],
    ),
    ("Rust", "rustc", "m.rs", "fn main() { LINE }", &[&["rustc", "-Awarnings", "m.rs"], &["./m"]]),
    (
        "Go",
        "go",
        "m.go",
        "package main\nimport \"os\"\nfunc main() { LINE }",
        &[&["go", "build", "-o", "m", "m.go"], &["./m"]],
    ),
    (
        "Java",
        "javac",
        "M.java",
        "class M { public static void main(String[] a) { LINE } }",
        &[&["javac", "M.java"], &["java", "-cp", ".", "M"]],
    ),
    ("Python", "python3", "m.py", "import os\nLINE", &[&["python3", "m.py"]]),
    ("JavaScript (Node)", "node", "m.js", "const fs = require('fs'); LINE", &[&["node", "m.js"]]),
    ("Ruby", "ruby", "m.rb", "LINE", &[&["ruby", "m.rb"]]),
    ("Perl", "perl", "m.pl", "LINE", &[&["perl", "m.pl"]]),
    ("PHP", "php", "m.php", "<?php LINE", &[&["php", "m.php"]]),
    ("Lua", "lua", "m.lua", "LINE", &[&["lua", "m.lua"]]),
    ("bash", "bash", "m.sh", "LINE", &[&["bash", "m.sh"]]),
    ("sh", "dash", "m.sh", "LINE", &[&["dash", "m.sh"]]),
    ("zsh", "zsh", "m.sh", "LINE", &[&["zsh", "m.sh"]]),
    ("Tcl", "tclsh", "m.tcl", "LINE", &[&["tclsh", "m.tcl"]]),
    ("awk", "awk", "m.awk", "BEGIN { LINE }", &[&["awk", "-f", "m.awk"]]),
    ("make", "make", "Makefile", "LINE\nall:\n\t@:\n", &[&["make"]]),
    ("m4", "m4", "m.m4", "LINE", &[&["m4", "m.m4"]]),
    ("sed", "sed", "m.sed", "LINE\n", &[&["sed", "-n", "-f", "m.sed", "/etc/hostname"]]),
    ("OCaml", "ocaml", "m.ml", "let () = LINE", &[&["ocaml", "m.ml"]]),
    (
        "Haskell",
        "ghc",
        "m.hs",
        "import qualified System.Directory\nmain = LINE >>= \\_ -> return ()\n",
        &[&["ghc", "-v0", "m.hs"], &["./m"]],
    ),
    ("R", "Rscript", "m.R", "LINE\n", &[&["Rscript", "m.R"]]),
    (
        "Nim",
        "nim",
        "m.nim",
        "import os\nLINE\n",
        &[&["nim", "c", "--hints:off", "--nimcache:c", "m.nim"], &["./m"]],
    ),
    ("D", "gdc", "m.d", "import std.file;\nvoid main() { LINE }", &[&["gdc", "m.d", "-o", "m"], &["./m"]]),
    (
        "Ada",
        "gnatmake",
        "m.adb",
        "with Ada.Directories;\nprocedure M is\nFound : Boolean;\nbegin\nLINE\nend M;\n",
        &[&["gnatmake", "-q", "m.adb"], &["./m"]],
    ),
    ("Pascal", "fpc", "m.pas", "uses SysUtils;\nbegin LINE end.\n", &[&["fpc", "-v0", "m.pas"], &["./m"]]),
    (
        "Fortran",
        "gfortran",
        "m.f90",
        "program m\ninteger :: access, found\nLINE\nend program\n",
        &[&["gfortran", "m.f90", "-o", "m"], &["./m"]],
    ),
    (
        "COBOL",
        "cobc",
        "m.cob",
        "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. m.\n       DATA DIVISION.\n\
         \x20      WORKING-STORAGE SECTION.\n       01 D PIC X(64).\n       PROCEDURE DIVISION.\n\
         \x20          LINE\n           STOP RUN.\n",
        &[&["cobc", "-x", "m.cob", "-o", "m"], &["./m"]],
    ),
    (
        "Vala",
        "valac",
        "m.vala",
        "int main() { LINE return 0; }\n",
        &[&["valac", "m.vala", "-o", "m"], &["./m"]],
    ),
    ("Erlang", "escript", "m.erl", "#!/usr/bin/env escript\nmain(_) -> LINE.\n", &[&["escript", "m.erl"]]),
    ("Elixir", "elixir", "m.exs", "LINE\n", &[&["elixir", "m.exs"]]),
    ("Scheme (Guile)", "guile", "m.scm", "LINE\n", &[&["guile", "--no-auto-compile", "m.scm"]]),
    ("Prolog (SWI)", "swipl", "m.pl", ":- LINE.\n", &[&["swipl", "-g", "halt", "m.pl"]]),
    ("Forth (Gforth)", "gforth", "m.fs", "LINE\nbye\n", &[&["gforth", "m.fs"]]),
    ("JavaScript (Bun)", "bun", "m.js", "const fs = require('fs'); LINE", &[&["bun", "m.js"]]),
    ("JavaScript (Deno)", "deno", "m.ts", "LINE\n", &[&["deno", "run", "-A", "m.ts"]]),
    ("fish", "fish", "m.fish", "LINE\n", &[&["fish", "--no-config", "m.fish"]]),
    ("ksh", "ksh", "m.ksh", "LINE\n", &[&["ksh", "m.ksh"]]),
    ("tcsh", "tcsh", "m.tcsh", "LINE\n", &[&["tcsh", "-f", "m.tcsh"]]),
];

/// The lines of the table in docs/marks.md.
fn documented() -> BTreeMap<String, String> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/marks.md")).unwrap();
    let rows = page.lines().filter_map(|line| {
        let (language, rest) = line.strip_prefix("| ")?.split_once(" | ")?;
        let line = rest.split_once("` |")?.0.trim_matches('`');
        Some((language.to_owned(), line.to_owned()))
    });
    rows.collect()
}

#[test]
fn the_line_of_each_language_makes_one_mark() {
    let documented = documented();
    assert!(documented.len() >= 20, "{documented:?}");
    for (language, tool, file, text, commands) in LANGUAGES {
        let line = &documented[language];
        if find_in_path(tool).is_none() {
            skipped(&format!("{language}: there is no {tool}"));
            continue;
        }
        let place = folder();
        fs::write(place.path().join(file), text.replace("LINE", line)).unwrap();
        let (run, before) = commands.split_last().unwrap();
        for words in before {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).current_dir(place.path()).env("GOCACHE", go_cache());
            let built = command.output().unwrap();
            assert!(built.status.success(), "{language}: {}", String::from_utf8_lossy(&built.stderr));
        }
        let words =
            ["trace", "-r", "1", "--no-samples", "--no-overhead", "--no-runtimes", "--export-json", "-"];
        let ran = firstbyte(place.path(), &[&words[..], run].concat());
        if ran.status.code() == Some(4) {
            return skipped("no backend sees every system call");
        }
        let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
        let mark = &document["results"][0]["marks"]["plugins loaded"];
        assert_eq!(
            (&mark["kind"], &mark["count"]),
            (&"mark".into(), &1.into()),
            "{language}: {document:.400}"
        );
    }
}
