//! The marks of all programs of a watch, in its document, on the screen and for Prometheus.

use crate::bench::folder;
use crate::prometheus::{firstbyte, works};
use crate::prometheus_page::Page;
use serde_json::Value;
use std::fs;

/// Five executions of a program that makes 70 names, and one of another program. A fork of it marks as well.
const LOOP: &str = "i=0; while [ $i -lt 5 ]; do dash many; i=$((i+1)); done; dash few; true";
const MANY: &str = "i=0; while [ $i -lt 70 ]; do [ -e \"MARK: $i\" ]; i=$((i+1)); done
[ -e 'MARK+: span' ]; [ -e 'MARK-: 69' ]; (sleep 0.01; [ -e 'MARK: 0' ]); [ -e /dev/null ]\n";
const FEW: &str = "[ -e 'MARK+: a \"quoted\" one' ]; sleep 0.01; [ -e 'MARK-: a \"quoted\" one' ]\n";

#[test]
fn each_program_has_a_histogram_for_each_of_its_marks() {
    if !works() {
        return;
    }
    let place = folder();
    fs::write(place.path().join("many"), MANY).unwrap();
    fs::write(place.path().join("few"), FEW).unwrap();
    let (page, json) = (place.path().join("m.prom"), place.path().join("m.json"));
    let [page_name, json_name] = [&page, &json].map(|path| path.to_str().unwrap());
    let options = ["--marks", "--textfile", page_name, "--export-json", json_name];
    let run = |more: &[&str]| {
        let mut command = firstbyte(&[&options, more].concat(), &["bash", "-c", LOOP]);
        let ran = command.current_dir(place.path()).output().unwrap();
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
        (Page::parse(&fs::read_to_string(&page).unwrap()), String::from_utf8(ran.stderr).unwrap())
    };

    let (exposed, shown) = run(&[]);
    let count = |mark: &str| {
        let labels = [("program", "dash"), ("mark", mark)];
        exposed.value("firstbyte_mark_seconds_count", &labels).map(str::to_owned)
    };
    assert_eq!(count("0").as_deref(), Some("10"), "the fork's mark is one of its program");
    assert_eq!(count("62").as_deref(), Some("5"));
    assert_eq!(count("(other marks)").as_deref(), Some("31"), "six names of five runs, and the span");
    assert_eq!(count("span"), None, "nobody ends it");
    assert!(exposed.value("firstbyte_mark_seconds_sum", &[("program", "dash"), ("mark", "0")]).is_some());
    assert_eq!(exposed.value("firstbyte_lost_events_total", &[]), Some("0"));
    assert!(shown.contains("dash: `0` "), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");

    let document: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let dash = document["results"].as_array().unwrap().iter().find(|row| row["program"] == "dash").unwrap();
    assert_eq!(dash["marks"].as_object().unwrap().len(), 65);
    assert!(dash["marks"]["0"]["max"].as_u64().unwrap() >= 10_000_000, "{dash}");

    let (few, _) = run(&["--max-labels", "0"]);
    assert!(few.samples.iter().all(|sample| !sample.name.contains("mark_seconds")), "`other` has none");
}

#[test]
fn without_the_option_no_marks_are_seen() {
    if !works() {
        return;
    }
    let place = folder();
    let page = place.path().join("m.prom");
    let words = ["sh", "-c", "[ -e 'MARK: x' ]; true"];
    let ran = firstbyte(&["--textfile", page.to_str().unwrap()], &words).output().unwrap();
    assert_eq!(ran.status.code(), Some(0));
    assert!(!fs::read_to_string(&page).unwrap().contains("mark_seconds"));
    let refused = firstbyte(&["--marks", "--backend", "ptrace"], &["true"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("does not see marks") && said.contains("help: leave out `--marks`"), "{said}");
}
