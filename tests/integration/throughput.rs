//! `firstbyte throughput`: the programs of Response to Response, and which of them are timed.

use crate::support::skipped;
use firstbyte::corpus::{BuildCache, SkipCause, prepare};
use firstbyte::throughput::design::{Design, programs};
use firstbyte::throughput::design_run::{RunError, time, verify};
use firstbyte::throughput::sink::{Sink, SinkFolders};
use firstbyte::throughput::sweep::Sweep;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

const FIRSTBYTE: &str = env!("CARGO_BIN_EXE_firstbyte");
const LIMIT: Duration = Duration::from_secs(60);

fn folders() -> SinkFolders {
    let memory = Path::new("/dev/shm");
    let memory = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    SinkFolders { memory, disk: std::env::temp_dir() }
}

fn script(text: &str) -> Design {
    let argv = ["sh", "-c", text, "sh"].map(OsString::from).to_vec();
    let (name, description) = ("script".to_owned(), String::new());
    Design { name, description, literal: false, argv, directory: PathBuf::from("/") }
}

#[test]
fn our_writer_is_correct_with_every_sink() {
    let ours = Design::ours(FIRSTBYTE.as_ref());
    for sink in Sink::ALL {
        verify(&ours, sink, 60_001, &folders(), LIMIT).unwrap();
        assert!(time(&ours, sink, 60_001, &folders(), LIMIT).unwrap().0 > 0, "{}", sink.name());
    }
    time(&Design::wc_alone(), Sink::Wc, 1000, &folders(), LIMIT).unwrap();
}

#[test]
fn every_program_builds_and_the_corrected_ones_print_the_same_lines() {
    let folder = tempfile::tempdir().unwrap();
    let cache = BuildCache::at(folder.path(), "corpus").unwrap();
    let all = programs().unwrap();
    assert_eq!(all.iter().filter(|program| program.has_tag("post")).count(), 10);
    for program in &all {
        let built = match prepare(program, &cache, &|| false) {
            Ok(built) => built,
            Err(skip) => {
                assert!(matches!(skip.cause, SkipCause::ToolMissing | SkipCause::Unfit), "{skip:?}");
                skipped(&format!("{}: {}", skip.name, skip.reason));
                continue;
            }
        };
        let design = Design::of_program(program, &built);
        assert_eq!(design.literal, program.has_tag("literal"));
        let right_by_luck = ["asm-v1-literal", "go-v1-literal"].contains(&program.name());
        if !design.literal || right_by_luck {
            for (count, sink) in
                [(1, Sink::PipeRead), (10_007, Sink::PipeRead), (5000, Sink::Pty), (10_007, Sink::File)]
            {
                let verdict = verify(&design, sink, count, &folders(), LIMIT);
                assert!(verdict.is_ok(), "{} {count} {}: {verdict:?}", design.name, sink.name());
            }
        } else {
            assert!(verify(&design, Sink::PipeRead, 1000, &folders(), LIMIT).is_err(), "{}", design.name);
        }
        if !design.literal {
            assert!(verify(&design, Sink::PipeRead, 0, &folders(), LIMIT).is_ok(), "{}", design.name);
        }
    }
}

#[test]
fn wrong_output_is_detected() {
    let run = |text: &str, sink| verify(&script(text), sink, 3, &folders(), LIMIT);
    for sink in [Sink::PipeRead, Sink::Tmpfs, Sink::File, Sink::Pty] {
        let few = run("echo hello world", sink);
        assert!(matches!(few, Err(RunError::Count { got: 12, wanted: 36 })), "{few:?}");
        let other = run("for i in 1 2 3; do echo jello world; done", sink);
        assert!(matches!(other, Err(RunError::Bytes)), "{other:?}");
        let failed = run("exit 3", sink).unwrap_err();
        assert_eq!(failed.to_string(), "it ended with exit status 3");
        assert!(run("yes 'hello world' | head -n 3", sink).is_ok());
    }
    let lines = time(&script("echo"), Sink::Wc, 3, &folders(), LIMIT);
    assert!(matches!(lines, Err(RunError::Count { .. })), "{lines:?}");
}

#[test]
fn lost_bytes_are_detected_in_timed_runs_too() {
    for sink in Sink::ALL.into_iter().filter(|sink| *sink != Sink::Null) {
        let few = time(&script("echo hello world"), sink, 3, &folders(), LIMIT);
        assert!(matches!(few, Err(RunError::Count { .. })), "{}: {few:?}", sink.name());
        let whole = time(&script("yes 'hello world' | head -n 3"), sink, 3, &folders(), LIMIT);
        assert!(whole.is_ok(), "{}: {whole:?}", sink.name());
    }
}

#[test]
fn a_design_that_loses_bytes_only_with_many_lines_is_not_timed_with_many() {
    let sweep = Sweep {
        counts: vec![20, 5],
        sinks: vec![Sink::Null, Sink::Wc],
        designs: vec![script("n=$1; [ $n -gt 10 ] && n=10; yes 'hello world' | head -n $n")],
        runs: 2,
        enough: LIMIT,
        limit: LIMIT,
        folders: folders(),
        seed: 1,
    };
    let mut ran = 0;
    let swept = sweep.run(&mut |runs| ran += runs);
    assert_eq!(ran, sweep.planned());
    assert_eq!(
        swept.cells.iter().map(|cell| (cell.count, cell.times.len())).collect::<Vec<_>>(),
        [(5, 2); 2]
    );
    assert_eq!(swept.wrong.iter().map(|wrong| wrong.count).collect::<Vec<_>>(), [20; 2]);
    assert_eq!(swept.wrong[0].reason, "120 of 240 bytes arrived");
}

#[test]
fn a_file_says_which_file_system_it_is_on() {
    let (memory, disk) = (PathBuf::from("/proc"), PathBuf::from("/dev/shm"));
    let swapped = SinkFolders { memory, disk };
    let said = Sink::File.description(&swapped);
    if !said.contains("on tmpfs") {
        return skipped("/dev/shm is not a tmpfs");
    }
    let warnings = swapped.warnings(&Sink::ALL);
    assert_eq!(warnings.len(), 4, "{warnings:?}");
    assert!(warnings.iter().all(|warning| warning.contains("; help: give a folder on ")), "{warnings:?}");
    assert!(!Sink::Tmpfs.description(&swapped).contains("tmpfs"));
    let right = SinkFolders { memory: swapped.disk, disk: swapped.memory };
    assert_eq!(right.warnings(&Sink::ALL), [""; 0]);
}

#[test]
fn a_program_that_does_not_end_is_killed_with_all_its_children() {
    let limit = Duration::from_millis(100);
    for sink in [Sink::PipeRead, Sink::Null, Sink::Wc] {
        let verdict = time(&script("sleep 1000 & sleep 1000; :"), sink, 3, &folders(), limit);
        assert!(matches!(verdict, Err(RunError::TimedOut(_))), "{verdict:?}");
    }
}

fn throughput(arguments: &[&str]) -> Output {
    Command::new(FIRSTBYTE).arg("throughput").args(arguments).output().unwrap()
}

#[test]
fn a_sweep_is_exported_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (json, csv, markdown, svg) = (path("a.json"), path("a.csv"), path("a.md"), path("a.svg"));
    let exports = [
        "--export-json",
        &json,
        "--export-csv",
        &csv,
        "--export-markdown",
        &markdown,
        "--export-svg",
        &svg,
        "--log",
    ];
    let only = "firstbyte lines,yes-head,c-write,asm-v2-literal";
    let sinks = "null,pipe-read,pipe-splice,file,tmpfs";
    let fixed = ["--n", "1000,30000", "--runs", "2", "--only", only, "--sink", sinks];
    let output = throughput(&[&fixed[..], &exports[..]].concat());
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("firstbyte lines") && text.contains("pipe-splice ("), "{text}");

    let document: Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(document["schema"], "firstbyte/1");
    for row in document["results"].as_array().unwrap() {
        assert_eq!(row["times_ns"].as_array().unwrap().len(), 2, "{row}");
        assert_eq!(row["bytes"], row["lines"].as_u64().unwrap() * 12);
        assert_eq!(row["bytes_per_second"].is_null(), row["sink"] == "null", "no rate without a reader");
        assert_ne!(row["design"], "asm-v2-literal", "a wrong program is not timed");
    }
    let ours = |row: &&Value| row["design"] == "firstbyte lines";
    assert_eq!(document["results"].as_array().unwrap().iter().filter(ours).count(), 10);
    if document["skipped"].as_array().unwrap().is_empty() {
        assert_eq!(document["wrong"].as_array().unwrap().len(), 5, "the literal program, once per sink");
        assert!(text.contains("not timed: asm-v2-literal"), "{text}");
    } else {
        skipped("a design cannot be built here");
    }
    assert!(std::fs::read_to_string(csv).unwrap().starts_with("sink,design,lines,bytes,runs,median,min"));
    assert!(std::fs::read_to_string(markdown).unwrap().contains("| `firstbyte lines` |"));
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("million lines") && svg.contains("firstbyte lines"));
}

/// A picture whose name ends in `.png`, with the older name of the option.
fn png_chart(file: &Path) -> Output {
    let fixed = ["--n", "1000,2000", "--runs", "1", "--only", "firstbyte lines", "--sink", "null", "--chart"];
    throughput(&[&fixed[..], &[file.to_str().unwrap()]].concat())
}

#[cfg(feature = "png")]
#[test]
fn a_chart_whose_name_ends_in_png_is_a_png() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.PNG");
    let output = png_chart(&file);
    assert!(output.status.success(), "{output:?}");
    assert!(std::fs::read(file).unwrap().starts_with(b"\x89PNG\r\n"));
}

#[cfg(not(feature = "png"))]
#[test]
fn without_its_feature_a_png_is_refused_before_the_first_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.PNG");
    let output = png_chart(&file);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{said}");
    assert!(said.contains("a.PNG` cannot be drawn: "), "{said}");
    assert!(
        said.contains("\nhelp: --export-svg ")
            && said.contains("a.svg, or in firstbyte's source folder: cargo install "),
        "{said}"
    );
    assert!(said.contains("--features png") && !file.exists(), "{said}");
}

#[test]
fn a_chart_of_nothing_is_an_error_and_writes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (svg, json) = (folder.path().join("a.svg"), folder.path().join("a.json"));
    let output = Command::new(FIRSTBYTE)
        .args([
            "throughput",
            "--n",
            "999999999999,1000000000000",
            "--timeout",
            "10ms",
            "--runs",
            "1",
            "--sink",
            "null",
        ])
        .args(["--only", "firstbyte lines,yes-head", "--export-json"])
        .args([json.as_os_str(), "--export-svg".as_ref(), svg.as_os_str()])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("no chart to draw: nothing was timed\nhelp: "), "{said}");
    assert!(!svg.exists() && json.exists());
    assert!(String::from_utf8(output.stdout).unwrap().contains("not timed: firstbyte lines"));
}

#[test]
fn unknown_names_are_refused_before_the_first_run() {
    for (arguments, message) in [
        (&["--only", "no-such"][..], "no design `no-such`"),
        (&["--sink", "tape"][..], "tape"),
        (&["--n", "0"][..], "`0` is not a whole number from 1"),
        (
            &["--n", "5", "--export-svg", "x.svg"][..],
            "there is only one number\nhelp: give several, as in --n 5,10",
        ),
        (&["--export-json", "/no/such/folder/x"][..], "cannot write `/no/such/folder/x`"),
    ] {
        let output = throughput(arguments);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}");
        assert!(String::from_utf8(output.stderr).unwrap().contains(message), "{arguments:?}");
    }
    let output = throughput(&["--sink", "file", "--directory", "/no/such/folder"]);
    assert_eq!(output.status.code(), Some(4));
}
