//! Colours on a terminal, and without them: `NO_COLOR`, `TERM=dumb`, `--style`.

use crate::support::{on_terminal, skipped};
use std::path::Path;
use std::process::Command;

/// Commands that take little time, in a folder with two files of results and budgets.
const COMMANDS: [&[&str]; 12] = [
    &["bench", "--runs", "2", "--warmup=0", "--no-counts", "true", "echo"],
    &["bench", "--runs", "1", "--warmup=0", "--metrics", "all", "true"],
    &["trace", "-r", "1", "--no-overhead", "--", "true"],
    &["trace", "-r", "1", "--no-overhead", "--full", "--", "true"],
    &["trace", "-r", "1", "--no-overhead", "--summary", "true"],
    &["diff", "-r", "1", "true", "echo"],
    &["watch", "--", "true"],
    &["compare", "old.json", "new.json"],
    &["check", "--count-runs", "1"],
    &["doctor"],
    &["bench", "--help"],
    &["bench", "--no-such-option"],
];

/// Whether a text contains an escape that changes colours or boldness (ECMA-48, SGR). Others move the cursor.
fn is_coloured(text: &str) -> bool {
    text.split("\u{1b}[")
        .skip(1)
        .any(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
}

/// What a command prints to a terminal that has colours, with these variables.
fn shown(folder: &Path, words: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.args(words).current_dir(folder);
    // CI: the parser's help has colours there, whatever the terminal is
    for inherited in ["NO_COLOR", "COLUMNS", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(inherited);
    }
    command.env("TERM", "xterm-256color").envs(variables.iter().copied());
    on_terminal(command)
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in ["old.json", "new.json"] {
        let words = ["bench", "--runs", "2", "--warmup=0", "--no-counts", "--export-json", file, "true"];
        shown(folder.path(), &words, &[]);
    }
    let budgets = "[[program]]\ncommand = \"true\"\nsyscalls = 1\n";
    std::fs::write(folder.path().join("firstbyte.toml"), budgets).unwrap();
    folder
}

#[test]
fn every_command_has_colours_on_a_terminal_and_none_with_no_color_or_a_dumb_one() {
    let folder = folder();
    for words in COMMANDS {
        let usual = shown(folder.path(), words, &[]);
        if ["trace", "diff", "watch"].contains(&words[0]) && usual.contains("error: ") {
            skipped(&usual);
            continue;
        }
        assert!(is_coloured(&usual), "{words:?}: {usual}");
        for plain in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let text = shown(folder.path(), words, &[plain]);
            assert!(!is_coloured(&text), "{words:?} with {plain:?}: {text}");
        }
    }
}

#[test]
fn an_empty_no_color_says_nothing_and_a_style_says_more_than_the_variable() {
    let folder = tempfile::tempdir().unwrap();
    let of =
        |style: &'static str| ["bench", "--runs", "1", "--warmup=0", "--no-counts", "--style", style, "true"];
    for (style, variable, coloured) in [
        ("auto", ("NO_COLOR", ""), true),
        ("auto", ("NO_COLOR", "1"), false),
        ("color", ("NO_COLOR", "1"), true),
        ("nocolor", ("NO_COLOR", ""), false),
        ("basic", ("NO_COLOR", ""), false),
    ] {
        let text = shown(folder.path(), &of(style), &[variable]);
        assert_eq!(is_coloured(&text), coloured, "--style {style} with {variable:?}: {text}");
    }
}
