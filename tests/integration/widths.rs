//! Every text in terminals of 60 to 200 columns: no line is longer, and nothing is cut without a sign.

use crate::support::skipped;
use firstbyte::budget::{self, budget_file};
use firstbyte::document::{claims::ClaimsDocument, floor::Floor, read, throughput::ThroughputDocument};
use firstbyte::report::text::terminal::Terminal;
use firstbyte::report::text::{bench, check as check_text, claims, floor, showdown, throughput};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use unicode_width::UnicodeWidthStr;

const WIDTHS: [usize; 6] = [60, 72, 80, 100, 132, 200];

/// Wide enough for every line.
const ENDLESS: usize = 100_000;

/// How many findings fit is another question.
const HIGH: &str = "1000";

/// A longer word may go on in the next line.
const MAX_WORD_CHARS: usize = 40;

/// What is wrong with a text for `width` columns: longer lines, and words that are not those of the same text in a terminal
/// without an end.
fn flaws(what: &str, text: &str, width: usize, whole: &str) -> Vec<String> {
    let words: HashSet<&str> = whole.split_whitespace().collect();
    let long: Vec<&&str> = words.iter().filter(|word| word.width() > MAX_WORD_CHARS).collect();
    let is_bar = |word: &str| !word.contains(|c: char| c.is_ascii());
    let is_whole = |word: &str| {
        is_bar(word)
            || word.contains('…')
            || words.contains(word)
            || long.iter().any(|long| long.contains(word))
    };
    let mut flaws = Vec::new();
    for line in text.lines() {
        if line.width() > width {
            flaws.push(format!("{what}: more than {width} columns: {line}"));
        }
        let cut = line.split_whitespace().filter(|word| !is_whole(word));
        flaws.extend(
            cut.map(|word| format!("{what} at {width} columns: `{word}` is a part of a word: {line}")),
        );
    }
    flaws
}

/// Fails if a text for terminals of all widths has flaws.
fn assert_fits(what: &str, in_terminal: impl Fn(usize) -> String) {
    let whole = in_terminal(ENDLESS);
    let flaws: Vec<String> =
        WIDTHS.iter().flat_map(|width| flaws(what, &in_terminal(*width), *width, &whole)).collect();
    assert!(flaws.is_empty(), "{}", flaws.join("\n"));
}

/// A rendering of a document.
fn assert_fits_all(what: &str, render: impl Fn(&Terminal) -> String) {
    assert_fits(what, |width| render(&Terminal { width, ..Terminal::default() }));
}

/// The text of a recorded experiment, the latest one.
fn recorded(file: &str) -> (String, PathBuf) {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    let folders = fs::read_dir(results).unwrap().map(|folder| folder.unwrap().path().join(file));
    let latest = folders.filter(|path| path.exists()).max().unwrap();
    (fs::read_to_string(&latest).unwrap(), latest)
}

#[test]
fn recorded_programs_fit_every_terminal() {
    for file in ["showdown.json", "showdown-cold.json"] {
        let (text, path) = recorded(file);
        let document = read::parse(&text, &path).unwrap();
        assert_fits_all(file, |terminal| showdown::render(&document, terminal));
        assert_fits_all(file, |terminal| bench::render(&document, terminal));
    }
}

#[test]
fn recorded_costs_claims_and_writers_fit_every_terminal() {
    for file in ["floor.json", "floor-cores.json"] {
        let floor: Floor = serde_json::from_str(&recorded(file).0).unwrap();
        for histograms in [false, true] {
            assert_fits_all(file, |terminal| floor::render(&floor, histograms, terminal));
        }
    }
    let judged: ClaimsDocument = serde_json::from_str(&recorded("claims.json").0).unwrap();
    assert_fits_all("claims", |terminal| claims::render(&judged, terminal));
    for file in ["throughput.json", "throughput-ladder.json"] {
        let measured: ThroughputDocument = serde_json::from_str(&recorded(file).0).unwrap();
        assert_fits_all(file, |terminal| throughput::render(&measured, terminal));
    }
}

#[test]
fn budgets_that_are_met_missed_and_unknown_fit_every_terminal() {
    let (text, path) = recorded("showdown.json");
    let mut document = read::parse(&text, &path).unwrap();
    let budgets = "command = 'x'\ntotal = '1us'\nfirst_byte = '2s'\nsyscalls = 3\npage_faults = 1000000\nrss = '1KiB'\n";
    let names: Vec<String> = document.results.iter().map(|m| m.label().to_owned()).take(5).collect();
    let table = |name: &String| format!("[[program]]\nname = '{name}'\n{budgets}\n");
    let file = names.iter().map(table).collect::<Vec<String>>().concat();
    document.results[0].counts = serde_json::from_str("{}").unwrap();
    let programs = budget_file::parse(&file, Path::new("firstbyte.toml")).unwrap().programs;
    let checked = budget::check(&programs, &document, Vec::new());
    assert_eq!(checked.results.len(), 5);
    assert_fits_all("check", |terminal| check_text::render(&checked, terminal));
}

/// What a command prints in a terminal of this width; `None` if this machine cannot do it.
fn printed(folder: &Path, words: &[&str], width: usize) -> Option<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.args(words).current_dir(folder).env("LINES", HIGH).env("COLUMNS", width.to_string());
    let output = command.output().unwrap();
    if output.status.code() == Some(4) {
        skipped(&String::from_utf8_lossy(&output.stderr));
        return None;
    }
    // the stdout of a command that is watched is its own
    let text = if words[0] == "watch" { output.stderr } else { output.stdout };
    assert!(text.len() > 40, "{words:?}: {}", String::from_utf8_lossy(&text));
    Some(String::from_utf8(text).unwrap())
}

/// A command that prints the same each time.
fn assert_prints(folder: &Path, words: &[&str]) {
    assert_fits(&words.join(" "), |width| printed(folder, words, width).unwrap());
}

#[test]
fn recordings_and_their_difference_fit_every_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let long = "/no/such/folder/of-a-rather-long-name/and-another-one/file";
    let script = format!("for n in 1 2 3; do ls / | head -n 1; done; cat {long}; exec ls -l /");
    for (file, words) in [("old.rec", &["true"][..]), ("new.rec", &["sh", "-c", &script])] {
        let record = ["trace", "-r", "1", "--no-overhead", "--record", file, "--"];
        if printed(folder.path(), &[&record[..], words].concat(), 80).is_none() {
            return;
        }
    }
    assert_prints(folder.path(), &["diff", "old.rec", "new.rec"]);
    assert_prints(folder.path(), &["trace", "--replay", "new.rec"]);
    assert_prints(folder.path(), &["trace", "--replay", "new.rec", "--full"]);
}

#[test]
fn comparisons_and_watched_programs_fit_every_terminal() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["old.json", "new.json"] {
        let bench = ["bench", "--runs", "5", "--warmup=0", "--export-json", file, "true"];
        printed(folder.path(), &[&bench[..], &["ls /no/such/folder || true", "-S"]].concat(), 80);
    }
    assert_prints(folder.path(), &["compare", "old.json", "new.json"]);

    let script = "ls / >/dev/null; env true; sh -c 'exit 3'; /no/such/program-of-a-very-long-name; true";
    for file in ["before.json", "after.json"] {
        let watch = ["watch", "--export-json", file, "--", "sh", "-c", script];
        if printed(folder.path(), &watch, 80).is_none() {
            return;
        }
    }
    assert_prints(folder.path(), &["compare", "before.json", "after.json"]);
    for width in WIDTHS {
        let text = printed(folder.path(), &["watch", "--", "sh", "-c", script], width).unwrap();
        assert!(text.lines().all(|line| line.width() <= width), "{width}: {text}");
    }
}

#[test]
fn the_table_of_several_starts_fits_every_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let table =
        ["trace", "-r", "1", "--no-overhead", "--summary", "true", "ls /no/such/folder/of-a-long-name"];
    for width in WIDTHS {
        let Some(text) = printed(folder.path(), &table, width) else { return };
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.lines().all(|line| line.width() <= width), "{width}: {text}");
        let names: Vec<&str> = text.lines().skip(1).map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(names[0], "true");
        assert!(text.contains("ls /no/such/folder/of-a-long-name") || text.contains('…'), "{text}");
    }
}
