//! The document and its renderings: golden texts of literal documents, and properties of random ones.
//!
//! The texts are in `tests/golden`. `INSTA_UPDATE=always cargo test report` writes them again for review.

use fastrand::Rng;
use firstbyte::bench::results::{Context, measurement, overhead};
use firstbyte::bench::{Printed, Rejected, Sample, Series, Untraced};
use firstbyte::document::Document;
use firstbyte::document::bench::{Cache, Skipped, Tool};
use firstbyte::document::read;
use firstbyte::report::formats::{csv, json, markdown};
use firstbyte::report::text::showdown as showdown_text;
use firstbyte::report::text::terminal::Terminal;
use firstbyte_measure::Counts;
use firstbyte_measure::launch::ExitStatus;
use firstbyte_measure::timeline::Phases;
use firstbyte_measure::timeline::marks::MarkSums;
use firstbyte_measure::units::{Bytes, Nanos};
use serde_json::json;
use std::path::Path;
use unicode_width::UnicodeWidthStr;

const NARROW: Terminal = Terminal { width: 80, height: 24, colour: false };
const WIDE: Terminal = Terminal { width: 160, height: 24, colour: false };

/// Lets `assert_snapshot` compare with the texts in `tests/golden`.
fn golden(name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => "../golden",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, { insta::assert_snapshot!(name, text) });
}

/// A run whose phases are these nanoseconds.
fn sample([startup, setup, write, teardown]: [u64; 4]) -> Sample {
    let phases = Phases {
        startup: Nanos(startup),
        setup: Some(Nanos(setup)),
        write: Some(Nanos(write)),
        teardown: Nanos(teardown),
    };
    Sample {
        phases: Some(phases),
        first_byte: phases.first_byte(),
        total: phases.total(),
        wall: phases.total() + Nanos(40_000),
        user: Nanos(setup / 2),
        system: Nanos(startup),
        max_rss: Some(Bytes(1_500_000)),
        major_faults: 0,
        from_disk: Bytes(0),
        context_switches: Some(3),
        exit: ExitStatus::SUCCESS,
        processes: 1,
        threads: 1,
        execs: 1,
        marks: MarkSums::default(),
    }
}

fn silent(mut sample: Sample) -> Sample {
    let phases = Phases { setup: None, write: None, ..sample.phases.take().unwrap() };
    sample.total = phases.total();
    sample.phases = Some(phases);
    sample.first_byte = None;
    sample
}

/// The run as the pipe backend sees it.
fn unobserved(mut sample: Sample) -> Sample {
    (sample.phases, sample.processes, sample.threads, sample.execs) = (None, 0, 0, 0);
    sample
}

/// Twelve runs, each a little slower than the one before.
fn series(name: &str, phases: [u64; 4]) -> Series {
    let runs = (0..12).map(|run| sample(phases.map(|ns| ns + ns * run / 200)));
    Series {
        name: name.to_owned(),
        command: format!("./{name}"),
        samples: runs.collect(),
        file_size: Some(Bytes(16_400)),
        output: Some(printed(12)),
        ..Series::default()
    }
}

fn printed(bytes: u64) -> Printed {
    Printed { bytes, least: bytes, most: bytes, checked: true }
}

fn counted(mut series: Series, [processes, threads, syscalls, page_faults]: [u64; 4]) -> Series {
    let counts = Counts { processes, threads, syscalls, page_faults, ..Counts::default() };
    series.counts = vec![counts.clone(), Counts { syscalls: syscalls + 1, ..counts.clone() }, counts];
    series
}

fn corpus() -> Vec<Series> {
    let mut floor = counted(series("elf-static", [71_000, 4_200, 2_900, 31_000]), [1, 1, 3, 1]);
    floor.untraced = floor
        .samples
        .iter()
        .enumerate()
        .map(|(n, s)| Untraced { wall: s.wall - Nanos(5_000), processor: Nanos(0), beside: n..n + 1 })
        .collect();
    let mut go = counted(series("go", [142_000, 812_000, 4_100, 61_000]), [1, 5, 121, 189]);
    go.lost_events = 3;
    go.rejected =
        vec![Rejected { run: 4, reason: "its output was `hello wor`".to_owned(), stderr: Vec::new() }];
    let mut quiet = counted(series("true", [118_000, 9_000, 1_000, 160_000]), [1, 1, 29, 70]);
    quiet.samples = quiet.samples.into_iter().map(silent).collect();
    quiet.output = Some(printed(0));
    vec![
        counted(series("node", [402_000, 37_900_000, 11_000, 4_020_000]), [1, 11, 517, 5946]),
        quiet,
        floor,
        go,
        counted(series("c-printf", [121_000, 273_000, 3_300, 52_000]), [1, 1, 33, 86]),
    ]
}

fn document(series: &[Series], caches: &[Cache]) -> Document {
    let tool = Tool {
        name: "firstbyte".to_owned(),
        version: "0.1.0".to_owned(),
        backend: Some("bpf".to_owned()),
        backend_reason: Some("the cheapest that works here".to_owned()),
        observer_overhead: series.iter().filter_map(overhead).collect(),
    };
    let machine = json!({"cpu_model": "AMD EPYC 7B13", "cores": 2, "kernel_release": "6.12.0",
        "virtualisation": "kvm", "container": "none", "governor": null});
    let mut document = Document::new(tool, machine);
    let floor = series.iter().find(|series| series.name == "elf-static");
    for cache in caches {
        let threshold = Some(Nanos(1_000_000));
        let context = Context { cache: Some(*cache), floor, threshold, ..Context::default() };
        for series in series {
            match measurement(series, &context) {
                Ok(measurement) => document.results.push(measurement),
                Err(failed) => document.failed.push(failed),
            }
        }
    }
    document
}

fn showdown() -> Document {
    let mut all = corpus();
    let rejected = (0..3).map(|run| Rejected {
        run,
        reason: "killed by SIGSEGV before it printed".to_owned(),
        stderr: Vec::new(),
    });
    all.push(Series { samples: Vec::new(), rejected: rejected.collect(), ..series("broken", [1; 4]) });
    let mut document = document(&all, &[Cache::Warm]);
    let skip = |name: &str, reason: &str, install: Option<&str>| Skipped {
        name: name.to_owned(),
        reason: reason.to_owned(),
        install: install.map(str::to_owned),
    };
    document.skipped = vec![
        skip("ruby", "`ruby` is not installed", Some("apt-get install ruby")),
        skip("hello-gas32", "this kernel runs no 32-bit programs", None),
    ];
    document
}

/// Names that try to control the terminal, to break the table, or to leave their cell.
fn hostile() -> Document {
    let names = [
        "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m",
        "two\nlines\tand a tab",
        "日本語の長い名前のプログラム、とても長い",
        "a very long name that goes on and on and on and on and on and on and on and on and on and on",
        "",
        "a|b`c<script>\u{202e}gnp.exe\u{200b}",
        "👩‍👩‍👧‍👦 family",
        "=cmd,\"quoted\"",
    ];
    let all: Vec<Series> = names.iter().map(|name| series(name, [71_000, 4_200, 2_900, 31_000])).collect();
    let mut document = document(&all, &[Cache::Cold]);
    document.skipped = vec![Skipped {
        name: names[0].to_owned(),
        reason: names[1].to_owned(),
        install: Some(names[3].replace(' ', "-")),
    }];
    document
}

fn assert_fits(text: &str, width: usize) {
    for line in text.lines() {
        assert!(line.width() <= width, "{} columns, not {width}: {line}", line.width());
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}

#[test]
fn a_showdown_at_80_columns_has_times_and_counts_in_two_tables() {
    let text = showdown_text::render(&showdown(), &NARROW);
    assert_fits(&text, 80);
    golden("showdown_80", &text);
}

#[test]
fn a_showdown_at_160_columns_is_one_table() {
    let text = showdown_text::render(&showdown(), &WIDE);
    assert_fits(&text, 160);
    golden("showdown_160", &text);
}

#[test]
fn a_showdown_in_colour_has_the_same_text_as_without() {
    let text = showdown_text::render(&showdown(), &Terminal { width: 80, height: 24, colour: true });
    let mut plain = String::new();
    let mut parts = text.split('\u{1b}');
    plain.push_str(parts.next().unwrap());
    plain.extend(parts.map(|part| part.split_once('m').unwrap().1));
    let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
    assert_eq!(trimmed.join("\n") + "\n", showdown_text::render(&showdown(), &NARROW));
    golden("showdown_80_colour", &text);
}

#[test]
fn the_pipe_backend_shows_dashes_and_says_why() {
    let mut all = corpus();
    for series in &mut all {
        series.samples = series.samples.drain(..).map(unobserved).collect();
        series.counts.clear();
    }
    let mut document = document(&all, &[Cache::Warm, Cache::Cold]);
    document.tool.backend = Some("pipe".to_owned());
    document.tool.backend_reason = Some("neither bpf nor ptrace works here".to_owned());
    document.partial = true;
    let text = showdown_text::render(&document, &NARROW);
    assert_fits(&text, 80);
    golden("pipe_80", &text);
}

#[test]
fn hostile_names_stay_in_their_cells() {
    let document = hostile();
    for (name, terminal) in [("hostile_80", NARROW), ("hostile_160", WIDE)] {
        let text = showdown_text::render(&document, &terminal);
        assert_fits(&text, terminal.width);
        golden(name, &text);
    }
    let text = markdown::render(&document);
    assert_eq!(text.lines().count(), 2 + document.results.len());
    golden("hostile_markdown", &text);
}

#[test]
fn the_head_shows_the_smallest_and_the_largest_observer_overhead() {
    let mut document = showdown();
    let known = document.tool.observer_overhead[0].clone();
    document.tool.observer_overhead = (0..9).map(|_| known.clone()).collect();
    document.tool.observer_overhead[3].name = "least".to_owned();
    document.tool.observer_overhead[3].ratio.ratio = 1.01;
    document.tool.observer_overhead[5].name = "most".to_owned();
    document.tool.observer_overhead[5].ratio.ratio = 1.05;
    let text = showdown_text::render(&document, &WIDE);
    let line = text.lines().find(|line| line.starts_with("observer")).unwrap();
    assert!(line.contains("from `least` 1.01") && line.contains("to `most` 1.05"), "{line}");
    assert!(text.contains("over 9 programs") && !text.contains("`elf-static` 1.03"), "{text}");
}

#[test]
fn hyperfines_results_are_shown_without_phases() {
    let text = r#"{"results": [{"command": "sleep 0.01", "mean": 0.0107, "stddev": 0.0001, "median": 0.0107,
        "user": 0.0, "system": 0.0, "min": 0.0106, "max": 0.0108, "times": [0.0106, 0.0107, 0.0108]}]}"#;
    let document = read::parse(text, Path::new("hyperfine.json")).unwrap();
    golden("hyperfine_80", &showdown_text::render(&document, &NARROW));
}

#[test]
fn markdown_and_csv_contain_every_result() {
    let document = showdown();
    golden("showdown_markdown", &markdown::render(&document));
    golden("showdown_csv", &csv::render(&document));
}

#[test]
fn csv_begins_with_hyperfines_columns_and_has_one_record_per_result() {
    for document in [showdown(), hostile()] {
        let text = csv::render(&document);
        assert!(text.starts_with("command,mean,stddev,median,user,system,min,max,name,cache,"), "{text}");
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let names: Vec<String> = reader.records().map(|record| record.unwrap()[8].to_owned()).collect();
        let text_in_spreadsheets =
            |label: &str| if label.starts_with('=') { format!("'{label}") } else { label.to_owned() };
        let expected: Vec<String> =
            document.results.iter().map(|result| text_in_spreadsheets(result.label())).collect();
        assert_eq!(names, expected);
    }
}

#[test]
fn the_json_is_a_superset_of_hyperfines() {
    let document = document(&[series("c", [100, 200, 30, 40])], &[Cache::Warm]);
    golden("document_json", &json::render(&document));
    let value: serde_json::Value = serde_json::from_str(&json::render(&document)).unwrap();
    let result = &value["results"][0];
    for field in ["mean", "stddev", "median", "cpu", "min", "max"] {
        assert!(result[field].is_f64(), "{field}");
    }
    for field in ["times", "memory_usage_byte", "exit_codes"] {
        assert_eq!(result[field].as_array().map(Vec::len), Some(12), "{field}");
    }
}

#[test]
fn one_run_has_no_standard_deviation_and_is_written_as_null() {
    let mut one = series("c", [100, 200, 30, 40]);
    one.samples.truncate(1);
    let document = document(&[one], &[Cache::Warm]);
    let value: serde_json::Value = serde_json::from_str(&json::render(&document)).unwrap();
    assert!(value["results"][0]["stddev"].is_null());
    assert_eq!(read::parse(&json::render(&document), Path::new("x")).unwrap(), document);
}

#[test]
fn the_phases_of_each_sample_sum_to_its_total_and_the_floor_has_the_ratio_1() {
    let document = showdown();
    let floor = document.results.iter().find(|m| m.label() == "elf-static").unwrap();
    let ratio = floor.floor_ratio.as_ref().unwrap();
    assert_eq!((ratio.ratio.low.to_string(), ratio.ratio.high.to_string()), ("1".to_owned(), "1".to_owned()));
    let total = floor.phases.total.as_ref().unwrap();
    for (run, total) in total.samples.iter().enumerate() {
        let each = floor.phases.each.iter();
        let sum: u64 = each.map(|(_, phase)| phase.as_ref().unwrap().samples[run]).sum();
        assert_eq!(sum, *total);
    }
}

#[test]
fn a_program_without_a_valid_run_is_listed_with_its_reason_and_ends_nothing() {
    let document = showdown();
    assert_eq!(document.failed.len(), 1);
    assert!(
        showdown_text::render(&document, &NARROW)
            .contains("`broken` (warm): killed by SIGSEGV before it printed")
    );
}

#[test]
fn an_empty_document_is_rendered() {
    let document = Document::new(Tool::default(), serde_json::Value::Null);
    every_rendering(&document);
}

/// Durations from zero to a century, more often near the ends.
fn duration(rng: &mut Rng) -> u64 {
    let shift = rng.u32(5..63);
    match rng.u8(..6) {
        0 => 0,
        1 => 1,
        2 => u64::MAX / 8,
        _ => rng.u64(..) >> shift,
    }
}

fn any_series(rng: &mut Rng) -> Series {
    let samples = |rng: &mut Rng| -> Vec<Sample> {
        (0..rng.usize(..9))
            .map(|_| {
                let any = sample([(); 4].map(|()| duration(rng)));
                match rng.u8(..6) {
                    0 => silent(any),
                    1 => unobserved(any),
                    2 => unobserved(silent(any)),
                    3 => Sample { max_rss: None, exit: ExitStatus::Signal(11), ..any },
                    _ => Sample { wall: Nanos(duration(rng)), ..any },
                }
            })
            .collect()
    };
    let name: String = (0..rng.usize(..40)).map(|_| rng.char(..)).collect();
    let count = Counts { syscalls: rng.u64(..), max_rss: rng.u64(..), ..Counts::default() };
    Series {
        command: name.clone(),
        samples: samples(rng),
        untraced: (0..rng.usize(..9))
            .map(|n| Untraced { wall: Nanos(duration(rng)), processor: Nanos(0), beside: n..n + 1 })
            .collect(),
        rejected: vec![
            Rejected { run: rng.u32(..), reason: name.clone(), stderr: Vec::new() };
            rng.usize(..3)
        ],
        counts: vec![count; rng.usize(..3)],
        lost_events: rng.u64(..3),
        file_size: rng.bool().then(|| Bytes(rng.u64(..))),
        output: rng.bool().then(|| printed(rng.u64(..2))),
        name,
        ..Series::default()
    }
}

fn every_rendering(document: &Document) {
    for width in [0, 1, 20, 80, 132, 160, 400] {
        for colour in [false, true] {
            let text = showdown_text::render(document, &Terminal { width, height: 24, colour });
            if width >= 132 && !colour {
                assert_fits(&text, width);
            }
        }
    }
    let table = markdown::render(document);
    let rows = table.lines().filter(|line| line.starts_with('|')).count();
    assert_eq!(rows, 2 + document.results.len());
    csv::render(document);
    let text = json::render(document);
    assert_eq!(&read::parse(&text, Path::new("any.json")).unwrap(), document, "{text}");
}

#[test]
fn every_series_that_the_types_allow_is_rendered_and_read_back_unchanged() {
    for seed in 0..60 {
        let mut rng = Rng::with_seed(seed);
        let mut all: Vec<Series> = (0..rng.usize(..5)).map(|_| any_series(&mut rng)).collect();
        if let Some(first) = all.first_mut() {
            first.name = "elf-static".to_owned();
        }
        every_rendering(&document(&all, &[Cache::Warm, Cache::Cold]));
    }
}
