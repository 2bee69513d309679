//! Marks: phases that programs name themselves, on each backend that sees them, and in each language that is installed.

use crate::bench::{exported, firstbyte, folder};
use crate::support::skipped;
use crate::tracees::built;
use firstbyte_measure::launch::find_in_path;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

const BACKENDS: [&str; 2] = ["bpf", "ptrace"];
const NAP: u64 = 5_000_000;

fn tracee() -> Option<String> {
    built("marks.c").map(|path| path.display().to_string())
}

/// The result of a traced run; `None`, reported as skipped, where the backend does not work.
fn traced(backend: &str, command: &[&str], more: &[&str]) -> Option<Value> {
    let words = ["trace", "-r", "1", "--no-samples", "--no-overhead", "--no-runtimes", "--ignore-failure"];
    let export = ["--backend", backend, "--export-json", "-"];
    let ran = firstbyte(folder().path(), &[&words, &export[..], more, command].concat());
    if ran.status.code() == Some(4) {
        skipped(&format!("{backend}: {}", String::from_utf8_lossy(&ran.stderr)));
        return None;
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{said}"));
    Some(document["results"][0].clone())
}

/// The result of a bench; `None`, reported as skipped, where the backend does not work.
fn benched(backend: &str, command: &str, more: &[&str]) -> Option<Value> {
    let words = ["bench", "--runs", "4", "--warmup", "1", "--no-counts", "--no-overhead", "--ignore-failure"];
    let export = ["--backend", backend, "--export-json", "-"];
    let ran = firstbyte(folder().path(), &[&words, &export[..], more, &[command]].concat());
    if ran.status.code() == Some(4) {
        skipped(&format!("{backend}: {}", String::from_utf8_lossy(&ran.stderr)));
        return None;
    }
    Some(serde_json::from_slice(&ran.stdout).unwrap())
}

/// Name, kind, beginning and end of the parts of the run that is shown, in the order of their beginnings.
fn places(result: &Value) -> Vec<(String, String, u64, u64)> {
    let mut all = Vec::new();
    for (name, span) in result["marks"].as_object().into_iter().flatten() {
        for place in span["places"].as_array().into_iter().flatten() {
            let at = |end: &str| place[end].as_u64().unwrap();
            all.push((name.clone(), span["kind"].as_str().unwrap().to_owned(), at("from_ns"), at("to_ns")));
        }
    }
    all.sort_by_key(|(_, _, from, to)| (*from, *to));
    all
}

fn chain(result: &Value) -> Vec<(String, u64, u64)> {
    let all = places(result).into_iter().filter(|(_, kind, ..)| kind == "mark");
    all.map(|(name, _, from, to)| (name, from, to)).collect()
}

fn samples(span: &Value) -> Vec<u64> {
    span["samples"].as_array().unwrap().iter().map(|ns| ns.as_u64().unwrap()).collect()
}

/// What the parts between plain marks take, run by run.
fn chain_sums(result: &Value) -> Vec<u64> {
    let mut sums = Vec::new();
    for (_, span) in result["marks"].as_object().unwrap().iter().filter(|(_, span)| span["kind"] == "mark") {
        let times = samples(span);
        sums.resize(times.len(), 0);
        sums.iter_mut().zip(times).for_each(|(sum, ns)| *sum += ns);
    }
    sums
}

const PLAIN: [&str; 5] = ["config", "from a thread", "from a child", "after the output", "(rest)"];

#[test]
fn plain_marks_of_threads_and_children_partition_a_traced_run() {
    let Some(tracee) = tracee() else { return };
    for backend in BACKENDS {
        let Some(result) = traced(backend, &[&tracee, "plain"], &[]) else { continue };
        let chain = chain(&result);
        let names: Vec<&str> = chain.iter().map(|(name, ..)| &**name).collect();
        assert_eq!(names, PLAIN, "{backend}");
        assert!(chain.windows(2).all(|two| two[0].2 == two[1].1), "{chain:?}");
        assert_eq!((chain[0].1, chain[4].2), (0, result["total_ns"].as_u64().unwrap()), "{backend}");
        assert!(chain[1].2 - chain[1].1 >= NAP && chain[3].2 - chain[3].1 >= NAP, "{backend}: {chain:?}");
        let marks = &result["marks"];
        assert_eq!(marks["from a child"]["from"], "from a thread");
        assert!(marks["config"]["from"].is_null() && marks["(rest)"]["to"].is_null());
        assert!(
            result["files"].as_array().unwrap().iter().all(|file| !file["path"].to_string().contains("MARK"))
        );
    }
}

#[test]
fn bench_has_the_marks_of_each_run_and_they_sum_to_its_total() {
    let Some(tracee) = tracee() else { return };
    for backend in BACKENDS {
        let Some(document) = benched(backend, &format!("{tracee} plain"), &[]) else { continue };
        let result = &document["results"][0];
        let marks = result["marks"].as_object().unwrap();
        let mut names: Vec<&str> = PLAIN.to_vec();
        names.push("thread");
        names.sort_unstable();
        assert_eq!(marks.keys().collect::<Vec<_>>(), names, "{backend}");
        assert_eq!(chain_sums(result), samples(&result["phases"]["total"]), "{backend}");
        let thread = samples(&marks["thread"]);
        assert!(thread.len() == 4 && thread.iter().all(|ns| *ns >= NAP), "{backend}: {thread:?}");
        assert_eq!((&marks["thread"]["kind"], &marks["thread"]["count"]), (&"span".into(), &1.into()));
    }
}

#[test]
fn spans_nest_and_one_that_is_killed_says_that_it_has_no_end() {
    let Some(tracee) = tracee() else { return };
    for backend in BACKENDS {
        let Some(result) = traced(backend, &[&tracee, "nested"], &[]) else { continue };
        let all: BTreeMap<String, (u64, u64)> =
            places(&result).into_iter().map(|(name, _, from, to)| (name, (from, to))).collect();
        let ([outer, part, child], open) = (["all", "part", "child"].map(|name| all[name]), all["open"]);
        assert!(outer.0 <= part.0 && part.1 <= child.0 && child.1 <= outer.1, "{backend}: {all:?}");
        assert!(part.1 - part.0 >= NAP && child.1 - child.0 >= NAP, "{backend}: {all:?}");
        assert_eq!(open.1, result["total_ns"].as_u64().unwrap());
        let unended = |name: &str| result["marks"][name]["unended"] == true;
        assert_eq!(["all", "part", "child", "open"].map(unended), [false, false, true, true], "{backend}");
        assert_eq!(result["marks"].as_object().unwrap().len(), 4, "one that has not begun is none");

        let Some(document) = benched(backend, &format!("{tracee} nested"), &[]) else { continue };
        let marks = document["results"][0]["marks"].as_object().unwrap().clone();
        assert_eq!(marks.keys().collect::<Vec<_>>(), ["all", "child", "open", "part"], "{backend}");
        let warnings = document["warnings"].to_string();
        assert!(warnings.contains("1 of its marks end a span that has not begun"), "{warnings}");
    }
}

#[test]
fn a_program_that_is_killed_has_the_marks_that_it_made() {
    let Some(tracee) = tracee() else { return };
    for backend in BACKENDS {
        let Some(result) = traced(backend, &[&tracee, "killed"], &[]) else { continue };
        let chain = chain(&result);
        assert_eq!(chain.iter().map(|(name, ..)| &**name).collect::<Vec<_>>(), ["before", "(rest)"]);
        assert_eq!(chain[1].2, result["total_ns"].as_u64().unwrap(), "{backend}");
        assert_eq!(result["marks"]["unfinished"]["unended"], true, "{backend}");
    }
}

#[test]
fn only_lookups_that_fail_are_marks() {
    let Some(tracee) = tracee() else { return };
    let of = |result: &Value| {
        let chain = result["marks"].as_object().unwrap();
        let mut names: Vec<String> = chain.keys().cloned().collect();
        names.retain(|name| name != "statx"); // the call has another number elsewhere
        names
    };
    for backend in BACKENDS {
        let Some(result) = traced(backend, &[&tracee, "lookups"], &[]) else { continue };
        assert_eq!(of(&result), ["(rest)", "faccessat", "open"], "{backend}");
        let Some(document) = benched(backend, &format!("{tracee} lookups"), &[]) else { continue };
        assert_eq!(of(&document["results"][0]), ["(rest)", "faccessat", "open"], "{backend}");
    }
}

#[test]
fn names_are_data_and_the_same_on_each_backend_and_in_each_mode() {
    let Some(tracee) = tracee() else { return };
    let mut seen = Vec::new();
    for backend in BACKENDS {
        let Some(result) = traced(backend, &[&tracee, "hostile"], &[]) else { continue };
        seen.push(result["marks"].as_object().unwrap().keys().cloned().collect::<Vec<_>>());
        let Some(document) = benched(backend, &format!("{tracee} hostile"), &[]) else { continue };
        seen.push(document["results"][0]["marks"].as_object().unwrap().keys().cloned().collect());
    }
    let Some(first) = seen.first() else { return };
    assert!(seen.iter().all(|names| names == first), "{seen:?}");
    let mut expected = vec![
        "\u{fffd}\u{fffd}\u{fffd}".to_owned(),
        "two\nlines\u{1b}[31m".to_owned(),
        "\u{202e}<b>&amp;</b>".to_owned(),
        format!("{}…", "x".repeat(200)),
        format!("{}…", "€".repeat(66)),
        "(rest)".to_owned(),
    ];
    expected.sort();
    assert_eq!(*first, expected);
}

#[test]
fn no_name_of_a_mark_is_more_than_text_wherever_it_is_shown() {
    let Some(tracee) = tracee() else { return };
    let place = folder();
    let command = format!("{tracee} hostile");
    let bench = ["bench", "--runs", "4", "--no-counts", "--no-overhead"];
    let formats = ["--export-markdown", "m", "--export-csv", "c", "--html", "h", "--export-orgmode", "o"];
    let ran = firstbyte(place.path(), &[&bench[..], &formats, &[&command]].concat());
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut texts = vec![("bench", shown(&ran.stdout))];
    for file in ["m", "h", "o"] {
        texts.push((file, fs::read_to_string(place.path().join(file)).unwrap()));
    }
    let trace = ["trace", "-r", "1", "--no-samples", "--no-overhead"];
    for more in [&[][..], &["--full"], &["--timeline"]] {
        let ran = firstbyte(place.path(), &[&trace, more, &[&tracee, "hostile"]].concat());
        texts.push(("trace", shown(&ran.stdout)));
    }
    for (what, text) in &texts {
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{what}: {text}");
    }
    assert!(!texts[2].1.contains("<b>&amp;"), "the page has it as text");
    let csv = fs::read_to_string(place.path().join("c")).unwrap();
    assert!(csv.lines().count() > 1);
}

#[test]
fn more_names_than_64_are_counted_together_and_a_million_marks_are_no_problem() {
    let Some(tracee) = tracee() else { return };
    for backend in BACKENDS {
        let Some(document) = benched(backend, &format!("{tracee} many 70 70"), &[]) else { continue };
        let result = &document["results"][0];
        assert_eq!(result["marks"].as_object().unwrap().len(), 66, "64 names, the others, the rest");
        assert_eq!(result["marks"]["(other marks)"]["count"], 6, "{backend}");
        assert_eq!(chain_sums(result), samples(&result["phases"]["total"]), "{backend}");
        assert!(document["warnings"].to_string().contains("come after the first 64 names"));
    }
    let (document, status) = exported(
        folder().path(),
        &["--runs", "1", "--marks", "--no-counts", &format!("{tracee} many 1000000 3")],
    );
    let result = &document["results"][0];
    let Some(marks) = result["marks"].as_object() else {
        // bpf may lose some of them, and then says so
        let reasons = document["failed"].to_string();
        assert!(status != Some(0) && reasons.contains("lost"), "{document}");
        return;
    };
    assert_eq!(
        ["0", "1", "2"].map(|name| marks[name]["count"].as_u64().unwrap()),
        [333_334, 333_333, 333_333]
    );
    assert_eq!(chain_sums(result), samples(&result["phases"]["total"]));
}

#[test]
fn only_where_the_first_run_has_marks_are_they_looked_for_unless_asked() {
    let Some(tracee) = tracee() else { return };
    let place = folder();
    // the first run makes none
    let script = format!("sh -c 'if [ -e ran ]; then exec {tracee} plain; fi; touch ran; echo'");
    for (backend, more, has_marks) in [
        ("bpf", &[][..], false),
        ("bpf", &["--marks"], true),
        ("ptrace", &[], false),
        ("ptrace", &["--marks"], true),
    ] {
        let _ = fs::remove_file(place.path().join("ran"));
        let words = ["bench", "--runs", "3", "--warmup", "1", "--no-counts", "--no-overhead"];
        let export = ["--backend", backend, "--export-json", "-"];
        let ran = firstbyte(place.path(), &[&words, &export[..], more, &[&script]].concat());
        if ran.status.code() == Some(4) {
            skipped(backend);
            continue;
        }
        let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(document["results"][0].get("marks").is_some(), has_marks, "{backend} {more:?}");
    }
}

#[test]
fn the_pipe_backend_says_why_there_are_none() {
    let Some(document) = benched("pipe", "true", &["--marks"]) else { return };
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("the pipe backend attaches nothing"), "{warnings}");
    assert!(document["results"][0].get("marks").is_none());
}

#[test]
fn each_mark_is_compared_with_the_same_one_of_the_reference() {
    let place = folder();
    let script = |name: &str, nap: &str| {
        let text = format!("[ -e 'MARK: read' ]; sleep {nap}; [ -e 'MARK: <done>' ]; echo hi\n");
        fs::write(place.path().join(name), text).unwrap();
        format!("sh {name}")
    };
    let (fast, slow) = (script("fast", "0"), script("slow", "0.02"));
    let words = [
        "bench",
        "--runs",
        "9",
        "--no-counts",
        "--no-overhead",
        "--export-json",
        "j",
        "--export-markdown",
        "-",
    ];
    let ran = firstbyte(place.path(), &[&words[..], &[&fast, &slow]].concat());
    let document: Value = serde_json::from_slice(&fs::read(place.path().join("j")).unwrap()).unwrap();
    if document["tool"]["backend"] == "pipe" {
        return skipped("no backend sees system calls");
    }
    let relative = &document["results"][1]["marks"]["<done>"]["relative"];
    assert_eq!((&relative["verdict"], &relative["pairs"]), (&"slower".into(), &9.into()), "{document}");
    assert_eq!(relative["reference"], "sh fast");
    let markdown = String::from_utf8(ran.stdout).unwrap();
    assert!(markdown.contains("read (median)") && markdown.contains("slower"), "{markdown}");
    assert!(!markdown.contains("<done>"), "{markdown}");

    let text =
        firstbyte(place.path(), &["bench", "--runs", "3", "--no-counts", "--no-overhead", &fast, &slow]);
    let text = String::from_utf8(text.stdout).unwrap();
    let (_, bars) = text.split_once("Marks, medians\n").unwrap();
    let drawn = |line: &str| line.matches('█').count();
    let of_done: Vec<usize> = bars.lines().filter(|line| line.starts_with("`<done>`")).map(drawn).collect();
    assert!(matches!(of_done[..], [short, long] if short < long), "{text}");
}

#[test]
fn trace_explains_one_part_alone_and_its_account_is_exact() {
    let Some(tracee) = tracee() else { return };
    for backend in BACKENDS {
        let Some(whole) = traced(backend, &[&tracee, "plain"], &[]) else { continue };
        assert!(whole.get("within").is_none());
        let Some(part) = traced(backend, &[&tracee, "plain"], &["--mark", "after the output"]) else {
            continue;
        };
        let place = &part["marks"]["after the output"]["places"][0];
        let length = place["to_ns"].as_u64().unwrap() - place["from_ns"].as_u64().unwrap();
        assert_eq!((part["total_ns"].as_u64(), &part["within"]), (Some(length), &"after the output".into()));
        let sum = |list: &str, ns: &str| -> u64 {
            part[list].as_array().unwrap().iter().map(|share| share[ns].as_u64().unwrap()).sum()
        };
        assert_eq!(sum("attribution", "ns"), length, "{backend}");
        let phases: u64 = part["run_phases"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        assert_eq!(phases, length, "{backend}");
        assert!(part["run_phases"]["startup"] == 0, "{part}");
        let inside = |path: &Value| {
            let [from, to] = ["from_ns", "to_ns"].map(|end| path[end].as_u64().unwrap());
            from >= place["from_ns"].as_u64().unwrap() && to <= place["to_ns"].as_u64().unwrap()
        };
        assert!(part["critical_path"].as_array().unwrap().iter().all(inside), "{part}");
    }
    let ran = firstbyte(folder().path(), &["trace", "-r", "1", "--mark", "nothing", &tracee, "plain"]);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(said.contains("no part of the run is named `nothing`") && said.contains("`config`"), "{said}");
}

#[test]
fn exports_have_the_marks() {
    let Some(tracee) = tracee() else { return };
    let place = folder();
    let words = ["trace", "-r", "1", "--no-samples", "--no-overhead", "--record", "r"];
    let exports = ["--export-perfetto", "p", "--export-firefox", "f", "--html", "h"];
    let ran = firstbyte(place.path(), &[&words[..], &exports, &[&tracee, "plain"]].concat());
    if ran.status.code() == Some(4) {
        return skipped("no backend sees every system call");
    }
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(text.contains("Marks: `config` "), "{text}");
    let read = |file: &str| fs::read_to_string(place.path().join(file)).unwrap();

    let perfetto: Value = serde_json::from_str(&read("p")).unwrap();
    let events = perfetto["traceEvents"].as_array().unwrap();
    let marks: Vec<&Value> = events.iter().filter(|event| event["cat"] == "mark").collect();
    let phases = |of: &str| marks.iter().filter(|event| event["ph"] == of).count();
    assert_eq!([phases("X"), phases("b"), phases("e")], [5, 1, 1]);
    assert!(read("f").contains("after the output") && read("h").contains("from a child"));

    let ran =
        firstbyte(place.path(), &["trace", "--replay", "r", "--mark", "from a child", "--export-json", "-"]);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let result = &document["results"][0];
    assert_eq!((&result["within"], chain(result).len()), (&"from a child".into(), 5));
}

#[test]
fn budgets_by_mark_are_met_missed_or_not_measured() {
    let Some(tracee) = tracee() else { return };
    let place = folder();
    let budget = format!(
        "[[program]]\nname = \"it\"\ncommand = \"{tracee} plain\"\n\
         marks = {{ config = \"10s\", \"from a thread\" = \"1ns\", absent = \"1s\" }}\n"
    );
    fs::write(place.path().join("firstbyte.toml"), budget).unwrap();
    let ran = firstbyte(place.path(), &["check", "--json"]);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let outcomes: BTreeMap<&str, &str> = document["results"][0]["budgets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|budget| (budget["what"].as_str().unwrap(), budget["outcome"].as_str().unwrap()))
        .collect();
    if outcomes.values().all(|outcome| *outcome == "unknown") {
        return skipped("no backend sees system calls");
    }
    let expected = [("marks.absent", "unknown"), ("marks.config", "met"), ("marks.from a thread", "missed")];
    assert_eq!(outcomes, BTreeMap::from(expected));
    let text = String::from_utf8(firstbyte(place.path(), &["check"]).stdout).unwrap();
    assert!(text.contains("mark from a thread"), "{text}");
}

#[test]
fn diff_compares_start_ups_by_mark() {
    let Some(tracee) = tracee() else { return };
    let words = ["diff", "-r", "3", "--no-samples", "--export-json", "-"];
    let commands = [format!("{tracee} plain"), format!("{tracee} nested")];
    let ran = firstbyte(folder().path(), &[&words[..], &commands.each_ref().map(String::as_str)].concat());
    if ran.status.code() == Some(4) {
        return skipped("no backend sees every system call");
    }
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let marks = document["difference"]["marks"].as_array().unwrap();
    let change = |name: &str| marks.iter().find(|change| change["name"] == name).unwrap().clone();
    assert!(change("config")["after"].is_null() && change("all")["before"].is_null(), "{document}");
}

/// The last one runs the program, those before it build it.
type Commands = &'static [&'static [&'static str]];

/// How the line of docs/marks.md runs in each language: the tool, the file's name, its text with `LINE`, the commands. `{}` is
/// the folder of the file. Only those that are installed are tried.
const LANGUAGES: [(&str, &str, &str, &str, Commands); 19] = [
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
            command.args(&words[1..]).current_dir(place.path()).env("GOCACHE", place.path().join("go"));
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
