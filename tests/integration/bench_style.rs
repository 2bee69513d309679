//! `firstbyte bench --style`: hyperfine's names for how the output looks.

use crate::bench::{firstbyte, folder};

fn styled(style: &str) -> String {
    let words = ["bench", "--style", style, "--runs", "1", "--warmup=0", "--no-counts", "echo hi"];
    let ran = firstbyte(folder().path(), &words);
    assert!(ran.status.success() && ran.stderr.is_empty(), "{style}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn every_style_has_the_same_text_in_colours_or_without() {
    for (style, coloured) in
        [("auto", false), ("basic", false), ("nocolor", false), ("full", true), ("color", true)]
    {
        let text = styled(style);
        assert!(text.contains("total"), "{style}: {text}");
        assert_eq!(text.contains('\u{1b}'), coloured, "{style}: {text}");
    }
}

#[test]
fn without_a_style_only_exports_and_errors_are_written() {
    assert_eq!(styled("none"), "");

    let folder = folder();
    let quiet = ["bench", "--style", "none", "--runs", "1", "--warmup=0", "--no-counts"];
    let exported = firstbyte(folder.path(), &[&quiet[..], &["--export-csv", "-", "echo hi"]].concat());
    assert!(String::from_utf8_lossy(&exported.stdout).starts_with("command,"));
    let failed = firstbyte(folder.path(), &[&quiet[..], &["false"]].concat());
    assert_eq!((failed.status.code(), failed.stdout.len()), (Some(3), 0));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("error: `false`: it ended with exit status 1"));
}

#[test]
fn a_time_at_least_and_a_number_of_runs_exclude_each_other() {
    let words = ["bench", "--min-benchmarking-time", "2", "--runs", "3", "true"];
    assert_eq!(firstbyte(folder().path(), &words).status.code(), Some(2));
}

#[test]
fn the_gate_of_bench_compares_with_the_reference() {
    let gate = |more: &[&str]| {
        let words = ["bench", "--runs", "10", "--no-counts", "--fail-if-slower", "5%"];
        firstbyte(folder().path(), &[&words[..], more].concat())
    };
    let slower = gate(&["true", "sleep 0.02"]);
    let text = String::from_utf8_lossy(&slower.stdout);
    assert_eq!(slower.status.code(), Some(1), "{text}");
    assert!(text.contains("Too slow\n  `sleep 0.02`: certainly slower by more than 5 %"), "{text}");

    let quiet = gate(&["--style", "none", "true", "sleep 0.02"]);
    let said = String::from_utf8_lossy(&quiet.stderr);
    assert!(quiet.status.code() == Some(1) && said.contains("`sleep 0.02`: certainly slower"), "{said}");

    let faster = gate(&["--reference", "sleep 0.02", "true"]);
    assert_eq!(faster.status.code(), Some(0), "{faster:?}");
    let alone = gate(&["true"]);
    let said = String::from_utf8_lossy(&alone.stderr);
    assert!(
        alone.status.code() == Some(2) && said.contains("help: firstbyte bench --fail-if-slower"),
        "{said}"
    );
}
