//! `firstbyte throughput`: the programs of Response to Response, and which of them are timed.

use crate::support::skipped;
use firstbyte::corpus::{BuildCache, SkipCause, prepare};
use firstbyte::throughput::design::{Design, programs};
use firstbyte::throughput::design_run::{Printed, RunError, time, verify};
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
    let argv = ["sh", "-c", text, "sh", Design::COUNT].map(OsString::from).to_vec();
    let (name, description) = ("script".to_owned(), String::new());
    Design { name, description, literal: false, may_differ: false, argv, directory: PathBuf::from("/") }
}

#[test]
fn our_writer_is_correct_with_every_sink() {
    let ours = Design::ours(FIRSTBYTE.as_ref());
    for sink in Sink::ALL {
        verify(&ours, sink, 60_001, &folders(), LIMIT).unwrap();
        assert!(
            time(&ours, sink, 60_001, Printed::wanted(60_001), &folders(), LIMIT).unwrap().0 > 0,
            "{}",
            sink.name()
        );
    }
    time(&Design::wc_alone(), Sink::Wc, 1000, Printed::wanted(1000), &folders(), LIMIT).unwrap();
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
            let printed = verify(&design, Sink::PipeRead, 1000, &folders(), LIMIT).unwrap();
            assert!(!printed.right, "{}: {printed:?}", design.name);
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
    let lines = time(&script("echo"), Sink::Wc, 3, Printed::wanted(3), &folders(), LIMIT);
    assert!(matches!(lines, Err(RunError::Lines { got: 1, wanted: 3 })), "{lines:?}");
}

#[test]
fn lost_bytes_are_detected_in_timed_runs_too() {
    for sink in Sink::ALL.into_iter().filter(|sink| *sink != Sink::Null) {
        let wanted = Printed::wanted(3);
        let few = time(&script("echo hello world"), sink, 3, wanted, &folders(), LIMIT);
        let found = matches!(few, Err(RunError::Count { .. } | RunError::Lines { .. }));
        assert!(found, "{}: {few:?}", sink.name());
        let whole = time(&script("yes 'hello world' | head -n 3"), sink, 3, wanted, &folders(), LIMIT);
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

/// As the post's programs do that print no newline, or another text.
#[test]
fn a_program_that_prints_other_bytes_is_timed_with_its_own() {
    let own = |text| Design { may_differ: true, ..script(text) };
    for sink in Sink::ALL {
        let other = own("printf 'a\\nb'");
        let printed = verify(&other, sink, 3, &folders(), LIMIT).unwrap();
        assert_eq!(printed, Printed { bytes: 3, lines: 1, right: false }, "{}", sink.name());
        assert!(time(&other, sink, 3, printed, &folders(), LIMIT).is_ok(), "{}", sink.name());
    }

    let counter = tempfile::NamedTempFile::new().unwrap();
    let grows = format!("echo >>{0}; cat {0}", counter.path().display());
    let designs = vec![own("printf x"), own(&grows), own("exit 3"), own("yes 'hello world' | head -n $1")];
    let (counts, sinks) = (vec![3, 5], vec![Sink::PipeRead]);
    let sweep =
        Sweep { counts, sinks, designs, runs: 2, enough: LIMIT, limit: LIMIT, folders: folders(), seed: 1 };
    let swept = sweep.run(&mut |_| ());
    let timed: Vec<_> =
        swept.cells.iter().map(|cell| (cell.design, cell.count, cell.printed.right)).collect();
    assert_eq!(timed, [(0, 3, false), (3, 3, true), (0, 5, false), (3, 5, true)]);
    let wrong: Vec<_> = swept.wrong.iter().map(|wrong| (wrong.design, wrong.count, wrong.timed)).collect();
    assert_eq!(wrong, [(0, 3, true), (1, 3, false), (2, 3, false), (0, 5, true), (1, 5, false)]);
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
        let script = script("sleep 1000 & sleep 1000; :");
        let verdict = time(&script, sink, 3, Printed::wanted(3), &folders(), limit);
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
        let right = row["design"] != "asm-v2-literal";
        assert_eq!(row["right"], right, "{row}");
        assert_eq!(row["bytes"] == row["lines"].as_u64().unwrap() * 12, right, "{row}");
        assert_eq!(row["bytes_per_second"].is_null(), row["sink"] == "null", "no rate without a reader");
    }
    let ours = |row: &&Value| row["design"] == "firstbyte lines";
    assert_eq!(document["results"].as_array().unwrap().iter().filter(ours).count(), 10);
    if document["skipped"].as_array().unwrap().is_empty() {
        let wrong = document["wrong"].as_array().unwrap();
        assert_eq!(wrong.len(), 10, "the literal program, for each sink and number of lines");
        assert!(wrong.iter().all(|wrong| wrong["timed"] == true), "{wrong:?}");
        assert!(text.contains("other bytes: asm-v2-literal") && text.contains("asm-v2-literal* "), "{text}");
    } else {
        skipped("a design cannot be built here");
    }
    assert!(
        std::fs::read_to_string(csv).unwrap().starts_with("sink,design,lines,bytes,right,runs,median,min")
    );
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
fn the_table_of_the_post_and_a_program_of_the_user_are_measured() {
    let fixed = ["--post", "--n", "1M", "--runs", "1", "--export-json", "-"];
    let mine = "mine=sh -c 'yes hello world | head -n $1' sh {n}";
    let output = throughput(&[&fixed[..], &["--command", mine]].concat());
    assert!(output.status.success(), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let published = document["published"].as_array().unwrap();
    assert_eq!(published.len(), 4, "one of eight numbers of lines, four programs");
    assert_eq!((&published[0]["column"], &published[0]["seconds"]), (&"Go v1".into(), &1.395.into()));
    let rows = document["results"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["sink"] == "null"), "{rows:?}");
    let timed = |design: &str| rows.iter().filter(|row| row["design"] == design).count();
    assert_eq!((timed("mine"), timed("firstbyte lines"), timed("c-write")), (1, 1, 0));
}

#[test]
fn unknown_names_are_refused_before_the_first_run() {
    for (arguments, message) in [
        (&["--only", "no-such"][..], "no design `no-such`"),
        (&["--sink", "tape"][..], "tape"),
        (&["--command", "x=./x"][..], "`./x` does not say where the number of lines belongs\nhelp: "),
        (&["--command", "./x {n}"][..], "`./x {n}` has no name\nhelp: "),
        (&["--command", "perl=./x {n}"][..], "two designs are called `perl`\nhelp: "),
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
