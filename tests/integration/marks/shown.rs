//! What commands show of marks: parts against those of other programs, one part alone, exports, budgets.

use super::{BACKENDS, chain, traced, tracee};
use crate::bench::{firstbyte, folder};
use crate::support::skipped;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

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

/// The stacks of one part; `None`, reported as skipped, where programs are not sampled by stops.
fn stacks(part: &str, command: &[&str]) -> Option<String> {
    let place = folder();
    let words = ["trace", "-r", "6", "--no-overhead", "--mark", part, "--export-folded", "folded"];
    let pages = ["--export-speedscope", "speedscope", "--html", "page", "--export-json", "json"];
    let ran = firstbyte(place.path(), &[&words[..], &pages, command].concat());
    let text = String::from_utf8_lossy(&ran.stdout);
    if ran.status.code() == Some(4) || text.contains("functions of user code are not known") {
        skipped(&text);
        return None;
    }
    let read = |name: &str| fs::read_to_string(place.path().join(name)).unwrap();
    let document: Value = serde_json::from_str(&read("json")).unwrap();
    let ns: f64 = document["results"][0]["user_functions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["self_ns"].as_f64().unwrap())
        .sum();
    let total = document["results"][0]["total_ns"].as_f64().unwrap();
    assert!(ns > 0.0 && ns <= total, "{ns} of {total}");
    let folded = read("folded");
    for frame in
        folded.lines().filter_map(|line| line.rsplit(';').next()?.rsplit_once(' ')).map(|(name, _)| name)
    {
        let name = frame.split(' ').next().unwrap();
        assert!(read("speedscope").contains(name), "{frame}");
    }
    Some(folded)
}

#[test]
fn the_stacks_of_one_part_are_those_of_its_functions_alone() {
    let Some(tracee) = tracee() else { return };
    let python = "import os\ndef busy():\n s = 0\n for n in range(600000): s += n\n\
                  def first_part(): busy()\ndef second_part(): busy()\n\
                  first_part()\nos.access('MARK: first', 0)\nsecond_part()\nos.access('MARK: second', 0)";
    for command in [&[&*tracee, "parts"][..], &["/usr/bin/python3", "-c", python]] {
        let [Some(first), Some(second)] = ["first", "second"].map(|part| stacks(part, command)) else {
            return;
        };
        let has = |text: &str| ["first_part", "second_part"].map(|name| text.contains(name));
        assert_eq!([has(&first), has(&second)], [[true, false], [false, true]], "{first}\n{second}");
    }
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

    let text = firstbyte(
        folder().path(),
        &[&words[..4], &["--full"], &commands.each_ref().map(String::as_str)].concat(),
    );
    let text = String::from_utf8(text.stdout).unwrap();
    let row =
        |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
    assert!(row("`config`").contains("only A") && row("`all`").contains("only B"), "{text}");
    assert!(row("Marks").contains("change"), "{text}");
}
