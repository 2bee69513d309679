//! `firstbyte check`: budgets that are kept, missed or invalid.

use crate::bench::firstbyte;
use crate::support::skipped;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

fn checked(folder: &Path, options: &[&str]) -> (Option<i32>, String, String) {
    let output = firstbyte(folder, &[&["check"], options].concat());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn with(budgets: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("firstbyte.toml"), budgets).unwrap();
    folder
}

#[test]
fn the_budgets_written_by_init_are_kept_and_a_smaller_count_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let (status, _, said) = checked(folder.path(), &["--init", "sh -c 'echo hi'"]);
    assert_eq!(status, Some(0), "{said}");
    let file = folder.path().join("firstbyte.toml");
    let written = fs::read_to_string(&file).unwrap();
    let Some(line) = written.lines().find(|line| line.starts_with("files_opened = ")) else {
        return skipped("counting does not work here");
    };
    // Times are not checked: a machine that runs tests is not quiet.
    let counts: Vec<&str> = written
        .lines()
        .filter(|line| !line.starts_with("total") && !line.starts_with("first_byte"))
        .collect();
    fs::write(&file, counts.join("\n")).unwrap();
    let (status, text, _) = checked(folder.path(), &[]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.ends_with("none missed\n"), "{text}");
    fs::write(&file, counts.join("\n").replace(line, "files_opened = 0")).unwrap();
    let (status, text, _) = checked(folder.path(), &["--json"]);
    let json: Value = serde_json::from_str(&text).unwrap();
    let missed = json["results"][0]["budgets"].as_array().unwrap().iter().find(|b| b["outcome"] == "missed");
    assert_eq!((status, &missed.unwrap()["what"]), (Some(1), &"files_opened".into()));
}

#[test]
fn an_existing_file_is_not_replaced_without_force() {
    let folder = with("kept");
    let (status, _, said) = checked(folder.path(), &["--init", "true"]);
    assert_eq!(status, Some(2));
    assert!(said.contains("--force"), "{said}");
    assert_eq!(fs::read_to_string(folder.path().join("firstbyte.toml")).unwrap(), "kept");
}

#[test]
fn an_invalid_file_is_reported_with_line_and_column() {
    let folder = with("[[program]]\ncommand = 'true'\nsyscals = 3\n");
    let (status, _, said) = checked(folder.path(), &[]);
    assert_eq!(status, Some(2));
    assert!(said.starts_with("error: `firstbyte.toml` line 3, column 1: unknown field `syscals`"), "{said}");
    let (status, _, said) = checked(tempfile::tempdir().unwrap().path(), &[]);
    assert_eq!(status, Some(2));
    assert!(said.contains("cannot read `firstbyte.toml`") && said.contains("--init"), "{said}");
}

#[test]
fn a_failing_program_is_neither_kept_nor_missed() {
    let folder = with("[[program]]\ncommand = 'false'\nsyscalls = 1000\n");
    let (status, text, _) = checked(folder.path(), &[]);
    assert_eq!(status, Some(3), "{text}");
    assert!(text.contains("failed: it ended with exit status 1"), "{text}");
}

#[test]
fn a_single_program_can_be_checked() {
    let folder = with(
        "[[program]]\ncommand = 'true'\nprocesses = 1\n[[program]]\nname = 'never'\ncommand = 'false'\nprocesses = 1\n",
    );
    assert_eq!(checked(folder.path(), &["--only", "true"]).0, Some(0));
    let (status, _, said) = checked(folder.path(), &["--only", "other"]);
    assert_eq!(status, Some(2));
    assert!(said.contains("use one of these with --only: `true`, `never`"), "{said}");
}

#[test]
fn a_command_given_twice_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let output = firstbyte(folder.path(), &["check", "--init", "true", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`true` is given twice"));
    assert!(!folder.path().join("firstbyte.toml").exists());
}

#[test]
fn a_program_that_fails_in_counting_runs_keeps_no_budget_of_counts() {
    let shy = r#"sh -c 'grep -q "^TracerPid:.0$" /proc/self/status || exit 3; echo hi'"#;
    let folder = with(&format!("[[program]]\nname = 'shy'\ncommand = {shy:?}\nsyscalls = 100000\n"));
    let (status, text, _) = checked(folder.path(), &["--backend", "pipe"]);
    assert_eq!(status, Some(4), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("no counts: in a counting run, "), "{text}");
    let (status, text, said) =
        checked(folder.path(), &["--init", "--force", "--backend", "pipe", "--count-runs", "1", shy]);
    assert_eq!(status, Some(0), "{said}");
    assert!(text.contains("has budgets only for times: in a counting run, "), "{text}");
}

#[test]
fn an_export_does_not_replace_a_file_that_is_read() {
    let budgets = "[[program]]\ncommand = 'true'\nsyscalls = 100\n";
    let folder = with(budgets);
    std::os::unix::fs::symlink("firstbyte.toml", folder.path().join("link")).unwrap();
    for place in ["firstbyte.toml", "./firstbyte.toml", "link"] {
        for init in [&[][..], &["--init", "--force", "true"]] {
            let (status, _, said) = checked(folder.path(), &[init, &["--export-json", place]].concat());
            assert_eq!(status, Some(2), "{said}");
            assert!(
                said.contains("`firstbyte.toml` is used by this command") && said.contains("\nhelp: "),
                "{said}"
            );
        }
    }
    assert_eq!(fs::read_to_string(folder.path().join("firstbyte.toml")).unwrap(), budgets);
    let output =
        firstbyte(folder.path(), &["bench", "--input", "firstbyte.toml", "--export-csv", "link", "cat"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(folder.path().join("firstbyte.toml")).unwrap(), budgets);
}

#[test]
fn a_file_without_budgets_is_reported_with_a_help_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("firstbyte.toml")).unwrap();
    std::os::unix::fs::symlink("loop", folder.path().join("loop")).unwrap();
    for file in ["firstbyte.toml", "loop", "/dev/null", "/dev/zero", "missing", "missing/file"] {
        let (status, _, said) = checked(folder.path(), &["--file", file]);
        assert_eq!(status, Some(2), "{file}: {said}");
        assert!(said.contains(&format!("`{file}`")) && said.contains("\nhelp: "), "{said}");
    }
    for file in ["firstbyte.toml", "loop", "missing/file", "/proc/none"] {
        let (status, _, said) = checked(folder.path(), &["--init", "--force", "--file", file, "true"]);
        assert_eq!(status, Some(2), "{file}: {said}");
        assert!(said.contains(&format!("`{file}`")) && said.contains("\nhelp: "), "{said}");
    }
}

#[test]
fn init_can_write_to_stdout() {
    let folder = tempfile::tempdir().unwrap();
    let (status, text, said) =
        checked(folder.path(), &["--init", "--count-runs", "1", "--file", "-", "true"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(firstbyte::budget::budget_file::parse(&text, Path::new("-")).is_ok(), "{text}");
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().filter(|e| e.as_ref().unwrap().file_name() == "-").count(),
        0
    );
}

#[test]
fn a_misspelt_program_fails_and_the_others_are_checked() {
    let folder = with(
        "[[program]]\ncommand = 'true'\ntotal = '10s'\n\n[[program]]\ncommand = 'no-such-program'\ntotal = '10s'\n",
    );
    let (status, text, said) = checked(folder.path(), &[]);
    assert_eq!(status, Some(3), "{text}{said}");
    assert!(text.contains("failed: `no-such-program`"), "{text}");
    assert!(text.ends_with("none missed; 1 program failed\n"), "{text}");
}

/// The variables of the file are those of the programs, so another shell's `TZ` changes nothing; where it does, a count is
/// missed, and the result begins with the variable and names the file that came.
#[test]
fn the_environment_is_that_of_the_file_and_what_differs_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let fb = |zone: &str, options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
        command.arg("check").args(options).current_dir(folder.path()).env_remove("LC_ALL").env("TZ", zone);
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let zone = folder.path().join("zone");
    fs::write(&zone, "TZif").unwrap();
    let other = format!(":{}", zone.display());
    let (status, text, said) = fb("UTC0", &["--init", "--count-runs", "2", "date"]);
    assert_eq!(status, Some(0), "{text}{said}");
    let written = fs::read_to_string(folder.path().join("firstbyte.toml")).unwrap();
    assert!(written.contains("\nTZ = \"UTC0\"\n") && written.contains("sha256 = "), "{written}");
    if !written.contains("files_opened = ") || !folder.path().join("firstbyte.recordings/date.jsonl").exists()
    {
        return skipped(&format!("counting or tracing does not work here: {text}"));
    }
    let times = ["total", "first_byte", "rss", "page_faults"];
    let counts: Vec<&str> =
        written.lines().filter(|line| !times.iter().any(|t| line.starts_with(t))).collect();
    fs::write(folder.path().join("firstbyte.toml"), counts.join("\n")).unwrap();

    let (status, text, _) = fb(&other, &[]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.starts_with("date\n"), "{text}");
    let (status, text, _) = fb(&other, &["--inherit-env"]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = format!("not as when the budgets were written: TZ was `UTC0` and is `{other}` date ");
    assert_eq!(status, Some(1), "{text}");
    assert!(words.starts_with(&first), "{text}");
    assert!(text.contains("new since the budgets were written:\n    + file    "), "{text}");
    assert!(
        text.contains("/zone\n") && words.contains("firstbyte diff firstbyte.recordings/date.jsonl date"),
        "{text}"
    );
    let (_, text, _) = fb(&other, &["--inherit-env", "--json"]);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["differing"][0]["name"], "TZ");
    let came = json["results"][0]["came"].as_array().unwrap();
    assert!(came.iter().any(|change| change["kind"] == "file" && change["before"].is_null()), "{text}");
}

/// Another PATH does not measure another executable; another content of the same one is the first line.
#[test]
fn the_executable_is_that_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let script = |place: &str, text: &str| {
        let path = folder.path().join(place).join("tool");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    script("one", "echo one");
    script("two", "exit 3");
    let fb = |first: &str, options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
        let path = format!("{}:/usr/bin:/bin", folder.path().join(first).display());
        let output = command.arg("check").args(options).current_dir(folder.path()).env("PATH", path);
        let output = output.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(fb("one", &["--init", "--count-runs", "1", "--backend", "pipe", "tool"]).0, Some(0));
    let file = folder.path().join("firstbyte.toml");
    let written = fs::read_to_string(&file).unwrap();
    let is_kept = |line: &&str| {
        !["pro", "thr", "sys", "page", "fi", "fa", "by", "rss"].iter().any(|s| line.starts_with(s))
    };
    let kept: Vec<&str> = written.lines().filter(is_kept).collect();
    fs::write(&file, kept.join("\n").replace("total = ", "# ") + "\ntotal = \"60s\"\n").unwrap();

    let (status, text) = fb("two", &["--backend", "pipe"]);
    assert_eq!((status, text.starts_with("tool\n")), (Some(0), true), "{text}");
    script("one", "echo other");
    let (_, text) = fb("two", &["--backend", "pipe"]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.starts_with("not as when the budgets were written: the executable of `tool` was `/"),
        "{text}"
    );
}

#[test]
fn the_exports_show_budgets_and_verdicts() {
    let folder = with("[[program]]\nname = 'a|b'\ncommand = 'true'\nsyscalls = 1\nprocesses = 1\n");
    let words =
        ["--count-runs", "1", "--html", "page.html", "--export-markdown", "-", "--export-json", "x.json"];
    let (status, text, said) = checked(folder.path(), &words);
    if said.contains("not measured") || text.contains("not measured here") {
        return skipped("counting does not work here");
    }
    assert_eq!(status, Some(1), "{text}{said}");
    assert!(text.starts_with("**2 budgets, 1 missed**\n"), "{text}");
    assert!(text.contains("| `a\\|b` | syscalls | 1 | ") && text.contains(" | missed |\n"), "{text}");
    assert!(text.contains("| `a\\|b` | processes | 1 | 1 | 0 (+0 %) | met |\n"), "{text}");
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    let first = page.find("<section id=\"summary\"").unwrap();
    assert!(
        page[first..].contains("2 budgets, 1 missed.") && page.contains("<section id=\"budgets\""),
        "{page}"
    );
    assert!(page.contains("<span class=\"mark fails\">missed</span>") && page.contains("id=\"programs\""));
    let json: Value = serde_json::from_slice(&fs::read(folder.path().join("x.json")).unwrap()).unwrap();
    assert_eq!(json["kind"], "bench", "the measurements, as before");
}
