//! How long a large page takes to open: a figure for the documentation.

use super::{documents, firstbyte, open_page_in};
use std::process::Command;

/// The samples of a program as JSON, about 57 bytes for each run.
fn measured(name: &str, runs: u64) -> String {
    let samples = |around: u64| {
        let each: Vec<String> = (0..runs).map(|n| (around + n * 7919 % (around / 5)).to_string()).collect();
        each.join(",")
    };
    let phases = [
        ("startup", 100),
        ("setup", 300),
        ("write", 100),
        ("teardown", 200),
        ("first_byte", 500),
        ("total", 700),
    ];
    let phases = phases.map(|(phase, us)| format!("\"{phase}\":{{\"samples\":[{}]}}", samples(us * 1000)));
    let times: Vec<String> = (0..runs).map(|n| format!("0.000{}", 700 + n * 7919 % 99)).collect();
    format!(
        "{{\"command\":\"./{name}\",\"name\":\"{name}\",\"mean\":0.0007,\"median\":0.0007,\"user\":0,\"system\":0,\"min\":0.0007,\
         \"max\":0.0008,\"times\":[{}],\"phases\":{{{}}}}}",
        times.join(","),
        phases.join(",")
    )
}

/// The figure in docs/report.md: `cargo test -p firstbyte-browser-tests -- --ignored --nocapture`.
#[test]
#[ignore = "measures: prints how long a page of 100 MB of samples takes to open"]
fn a_hundred_megabytes_of_samples() {
    const PROGRAMS: u64 = 20;
    let folder = tempfile::tempdir().unwrap();
    let programs: Vec<String> = (0..PROGRAMS).map(|n| measured(&format!("p{n}"), 88_000)).collect();
    let head = r#""schema":"firstbyte/1","kind":"bench","tool":{"name":"firstbyte"},"machine":null"#;
    let text = format!("{{{head},\"results\":[{}]}}", programs.join(","));
    std::fs::write(folder.path().join("large.json"), &text).unwrap();
    let spans = documents::trace("large", 60_000).to_string();
    std::fs::write(folder.path().join("trace.json"), &spans).unwrap();

    let mut command = Command::new(firstbyte());
    command.args(["report", "-o", "page.html", "large.json", "trace.json"]).current_dir(folder.path());
    assert!(command.status().unwrap().success());
    let size = std::fs::metadata(folder.path().join("page.html")).unwrap().len();
    let Some(opened) = open_page_in(folder) else { return };
    let ready = opened.value("document.documentElement.dataset.ready");
    let opened_after = ready.as_str().unwrap();
    println!(
        "{} MB of samples, a page of {} kB: open after {opened_after} ms",
        (text.len() + spans.len()) / 1_000_000,
        size / 1000
    );
    opened.assert_no_complaints();
}
