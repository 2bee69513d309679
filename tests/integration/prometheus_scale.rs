//! What a fleet costs Prometheus: series and bytes, counted, and printed for docs/prometheus.md.

use crate::prometheus_page::Page;
use crate::prometheus_real::{Prometheus, are_here, patiently};
use firstbyte::document::exposition::{Exposition, OTHER, ProgramFigures};
use firstbyte::report::formats::openmetrics::{Dialect, render};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// Series of each program, and of a machine: its three counters of `other`, lost events, errors and information.
const PER_PROGRAM: usize = 31;
const PER_MACHINE: usize = 6;

/// The page of a machine that has been watched for this many minutes, whose programs all have values in all buckets.
fn exposition(machine: u64, programs: u64, minutes: u64) -> Exposition {
    let labels =
        (0..programs).map(|program| (format!("program-{program:04}"), figures(machine, program, minutes)));
    Exposition {
        version: "0.1.0",
        scope: "all processes of the machine".to_owned(),
        programs: labels.chain([(OTHER.to_owned(), ProgramFigures::default())]).collect(),
        lost_events: 0,
        unwritten: 0,
    }
}

fn figures(machine: u64, program: u64, minutes: u64) -> ProgramFigures {
    let mut random = fastrand::Rng::with_seed(machine << 32 | program << 16);
    let mut figures = ProgramFigures::default();
    for _ in 0..=minutes {
        figures.execs += random.u64(..100);
        figures.failed += random.u64(..3);
        figures.cpu_ns += random.u64(..1_000_000_000);
        for buckets in [&mut figures.startup, &mut figures.first_output, &mut figures.lifetime] {
            let place = random.usize(..buckets.counts.len());
            buckets.counts[place] += random.u64(1..30);
            buckets.sum += random.u64(..100_000_000);
        }
    }
    figures.startup.counts[0] += 1;
    figures.first_output.counts[0] += 1;
    figures.lifetime.counts[0] += 1;
    figures
}

#[test]
fn a_program_has_31_series() {
    for programs in [0, 20] {
        let page = Page::parse(&render(&exposition(1, programs, 10), Dialect::OpenMetrics));
        assert_eq!(page.samples.len() as u64, programs * PER_PROGRAM as u64 + PER_MACHINE as u64);
    }
}

#[test]
#[ignore = "make prometheus"]
fn prometheus_real_pages_and_blocks_have_these_sizes() {
    println!("programs\tseries\tbytes\tcompressed");
    for programs in [0, 20, 100, 1000] {
        let text = render(&exposition(1, programs, 60), Dialect::OpenMetrics);
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        let series = Page::parse(&text).samples.len();
        println!("{programs}\t{series}\t{}\t{}", text.len(), packed.finish().unwrap().len());
    }
    if are_here(&["promtool"]) {
        block();
    }
}

/// Two hours of one machine with 100 programs, a sample each minute, as Prometheus keeps them on disk.
fn block() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("samples.txt");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 7200 * 7200 - 14_400;
    let pages: Vec<String> =
        (0..120).map(|minute| render(&exposition(1, 100, minute), Dialect::OpenMetrics)).collect();
    let samples = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    };
    let all: Vec<Vec<String>> = pages.iter().map(|page| samples(page)).collect();
    // without types: families may then be in any order
    let mut text = String::new();
    for series in 0..all[0].len() {
        for (minute, page) in (0..).zip(&all) {
            writeln!(text, "{} {}", page[series], now + minute * 60).unwrap();
        }
    }
    fs::write(&file, text + "# EOF\n").unwrap();
    let data = folder.path().join("data");
    let made = Command::new("promtool")
        .args(["tsdb", "create-blocks-from", "openmetrics"])
        .args([&file, &data])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let count = all.len() * all[0].len();
    let bytes = size(&data);
    println!(
        "block: {count} samples of {} series, {bytes} bytes, {:.2} each",
        all[0].len(),
        bytes as f64 / count as f64
    );
}

fn size(folder: &std::path::Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(
            |entry| if entry.path().is_dir() { size(&entry.path()) } else { entry.metadata().unwrap().len() },
        )
        .sum()
}

/// Answers for all machines: `/m/17` is the page of machine 17.
fn fleet(listener: TcpListener, programs: u64) {
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap_or(0);
            let text = String::from_utf8_lossy(&request[..length]).into_owned();
            let path = text.split(' ').nth(1).unwrap_or_default();
            let machine = path.strip_prefix("/m/").and_then(|number| number.parse().ok()).unwrap_or(0);
            let minutes = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() % 100_000 / 2;
            let body = render(&exposition(machine, programs, minutes % 300), Dialect::OpenMetrics);
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0\r\nConnection: close";
            let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        }
    });
}

/// A hundred machines with 100 programs each.
#[test]
#[ignore = "make prometheus"]
fn prometheus_real_prometheus_with_a_hundred_machines() {
    const MACHINES: usize = 100;
    const PROGRAMS: usize = 100;
    if !are_here(&["prometheus"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let empty_folder = tempfile::tempdir().unwrap();
    let empty = Prometheus::with_jobs(empty_folder.path(), "", "").memory();

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    fleet(listener, PROGRAMS as u64);
    let machine = |n| {
        format!(
            "  - {{targets: ['{address}'], labels: {{__metrics_path__: /m/{n}, instance: machine{n}}}}}\n"
        )
    };
    let jobs = format!(
        "- job_name: firstbyte\n  scrape_interval: 10s\n  static_configs:\n{}",
        (0..MACHINES).map(machine).collect::<Vec<_>>().concat()
    );
    let prometheus = Prometheus::with_jobs(folder.path(), "", &jobs);
    let expected = (MACHINES * (PROGRAMS * PER_PROGRAM + PER_MACHINE)) as f64;
    patiently("all machines are scraped", || {
        let scraped = prometheus.query("sum(scrape_samples_scraped{job='firstbyte'})");
        scraped.first().filter(|scraped| (**scraped - expected).abs() < 0.5).map(|_| ())
    });
    patiently("three times", || {
        let least = prometheus.query("min(count_over_time(up{job='firstbyte'}[5m]))");
        least.first().filter(|count| **count >= 3.0).map(|_| ())
    });
    let series = prometheus.figure("prometheus_tsdb_head_series");
    // five more for each target, which Prometheus makes itself
    let own = 5.0 * MACHINES as f64;
    assert!((series - expected - own).abs() < 0.5, "{series}");
    let memory = prometheus.memory();
    println!(
        "{MACHINES} machines, {PROGRAMS} programs: {series} series, {memory} bytes of memory (empty: {empty}), {:.0} for each series",
        (memory - empty) / series
    );
}
