//! One function per figure. Each prints its table and returns its raw data.

use firstbyte::corpus::{Corpus, build_cache, prepare};
use firstbyte::floor::Pinned;
use firstbyte::stats::{Bootstrap, Statistics};
use firstbyte_elf::{Architecture, plain};
use firstbyte_measure::launch::{Command, Launcher};
use firstbyte_measure::timeline::Timeline;
use firstbyte_measure::tracer::BackendChoice;
use firstbyte_measure::tracer::phases::choose_phases;
use firstbyte_measure::tracer::pipe::PipeTracer;
use firstbyte_measure::tracer::{RunOptions, Tracer};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command as Shell;
use std::time::{Duration, Instant};

type Part = (&'static str, fn() -> Value);

pub(crate) const ALL: &[Part] =
    &[("overhead", overhead), ("harness", harness), ("rate", rate), ("startup", startup), ("truth", truth)];

/// A folder for the programs of a bench. It is removed when dropped.
struct Workshop(tempfile::TempDir);

impl Workshop {
    fn new() -> Workshop {
        Workshop(tempfile::tempdir().expect("a temporary folder"))
    }

    fn elf(&self) -> PathBuf {
        let path = self.0.path().join("static-elf");
        let host = Architecture::host().expect("an architecture that we write for");
        std::fs::write(&path, plain::image(host, b"hello world\n", Some(0)).expect("a hello"))
            .expect("a file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
        path
    }

    fn compile(&self, source: &str, name: &str, flags: &[&str]) -> PathBuf {
        let path = self.0.path().join(name);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(source);
        let status = Shell::new("cc").arg(source).args(flags).arg("-o").arg(&path).status().expect("cc");
        assert!(status.success(), "cc failed");
        path
    }
}

fn launcher(words: &[&str]) -> Launcher {
    Launcher::new(Command::new(words).expect("a program that exists")).expect("a launcher")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// Keeps this process and the programs that it runs on one processor. Whether a single-threaded program starts on the
/// other processor, which must then be woken, is chance and can cost as much as everything else.
fn pinned() -> Pinned {
    Pinned::to(None).expect("a processor")
}

/// Observer overhead of the phases mode: traced over untraced wall time.
///
/// Measures in many short blocks, because a shared machine's speed changes every second. A block has as many traced as
/// untraced runs, and the order alternates between blocks. Each block gives one ratio of medians, and the interval is that
/// of these ratios.
fn overhead() -> Value {
    let workshop = Workshop::new();
    let mut rows = Vec::new();
    println!(
        "{:<12} {:>8}  {:<17} {:>10} {:>10}  limit",
        "overhead", "ratio", "interval", "traced", "untraced"
    );
    for (name, blocks, runs, limit, alone) in [
        ("static-elf", 60, 60, 1.05, true),
        ("c-printf", 60, 20, 1.03, true),
        ("go", 60, 10, 1.04, false),
        ("node", 60, 2, 1.02, false),
    ] {
        let _pinned = alone.then(pinned);
        let Some(command) = overhead_command(name, &workshop) else { continue };
        let mut launcher = Launcher::new(command).expect("a launcher");
        let sides = in_turn(&mut launcher, blocks, runs);
        let medians = |side: usize| sides.iter().map(|block| median(&block[side])).collect::<Vec<f64>>();
        let paired =
            firstbyte::stats::paired(&medians(1), &medians(0), Bootstrap::default()).expect("blocks");
        let all = |side: usize| sides.iter().flat_map(|block| block[side].clone()).collect::<Vec<u64>>();
        let (traced, untraced) = (all(0), all(1));
        println!(
            "{name:<12} {:>8.3}  {:.3} to {:.3}    {:>7.1} us {:>7.1} us  {limit}",
            paired.ratio,
            paired.interval.low,
            paired.interval.high,
            median(&traced) / 1e3,
            median(&untraced) / 1e3
        );
        rows.push(json!({"name": name, "ratio": paired.ratio, "low": paired.interval.low,
            "high": paired.interval.high, "ratio_of_medians": median(&traced) / median(&untraced), "limit": limit,
            "runs_of_a_block": runs, "traced_ns": traced, "untraced_ns": untraced}));
    }
    Value::Array(rows)
}

/// The static ELF, or a program of the corpus; `None`, reported as skipped, if it cannot be built.
fn overhead_command(name: &str, workshop: &Workshop) -> Option<Command> {
    if name == "static-elf" {
        return Some(Command::new(&[text(&workshop.elf())]).expect("a command"));
    }
    let corpus = Corpus::load(None).expect("the corpus");
    let cache = build_cache().expect("a cache folder");
    let program = corpus.find(name).expect("a program of the corpus");
    match prepare(program, &cache, &|| false) {
        Ok(built) => Some(Command::in_directory(&built.argv, Some(&built.directory)).expect("a command")),
        Err(skipped) => {
            println!("{name:<12} skipped: {}", skipped.reason);
            None
        }
    }
}

/// Wall times of each block, traced and untraced. The runs directly after attaching and detaching are discarded: 16, or as
/// many as take 20 ms.
fn in_turn(launcher: &mut Launcher, blocks: usize, runs: usize) -> Vec<[Vec<u64>; 2]> {
    let mut tracer = choose_phases(BackendChoice::Bpf).expect("the bpf backend").tracer;
    let one = walls(launcher, &mut PipeTracer::blind(), 3)[2];
    let settling = usize::try_from(20_000_000 / one.max(1)).unwrap_or(1).clamp(1, 16);
    let mut side = |traced: bool| {
        if traced {
            tracer.attach().expect("attaching");
            let mut taken = walls(launcher, &mut *tracer, settling + runs);
            tracer.detach().expect("detaching");
            taken.split_off(settling)
        } else {
            walls(launcher, &mut PipeTracer::blind(), settling + runs).split_off(settling)
        }
    };
    let block = |place: usize| {
        if place.is_multiple_of(2) {
            let with = side(true);
            [with, side(false)]
        } else {
            let without = side(false);
            [side(true), without]
        }
    };
    (0..blocks).map(block).collect()
}

/// Our untraced run of the static ELF against a bare loop in C that does the same, in alternating blocks.
fn harness() -> Value {
    let workshop = Workshop::new();
    let elf = workshop.elf();
    let bare = workshop.compile("benches/core/bare_loop.c", "bare_loop", &["-O2"]);
    let mut launcher = launcher(&[text(&elf)]);
    let _pinned = pinned();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..40 {
        ours.extend(walls(&mut launcher, &mut PipeTracer::blind(), 120).split_off(20));
        let output = Shell::new(&bare).arg("120").arg(&elf).output().expect("the bare loop");
        let lines = String::from_utf8(output.stdout).expect("text");
        theirs.extend(lines.lines().skip(20).map(|line| line.parse::<u64>().expect("a number")));
    }
    let (own, bare) = (median(&ours), median(&theirs));
    println!(
        "harness      {:>8.3}  ours {:.1} us, bare loop {:.1} us  limit 1.10",
        own / bare,
        own / 1e3,
        bare / 1e3
    );
    json!({"ratio_of_medians": own / bare, "limit": 1.10, "ours_ns": ours, "bare_ns": theirs})
}

fn walls(launcher: &mut Launcher, tracer: &mut dyn Tracer, runs: usize) -> Vec<u64> {
    let wall = |_| {
        let recording = tracer.run(launcher, &RunOptions::default()).expect("a run");
        Timeline::of(&recording).expect("a timeline").wall.0
    };
    (0..runs).map(wall).collect()
}

/// Phase-resolved runs per second, against hyperfine's runs and against a loop of perf record.
fn rate() -> Value {
    let workshop = Workshop::new();
    let elf = workshop.elf();
    let mut launcher = launcher(&[text(&elf)]);
    let mut tracer = choose_phases(BackendChoice::Bpf).expect("the bpf backend").tracer;
    let (mut ours, mut hyperfine) = (Vec::new(), Vec::new());
    tracer.attach().expect("attaching");
    walls(&mut launcher, &mut *tracer, 100);
    tracer.detach().expect("detaching");
    for _ in 0..8 {
        tracer.attach().expect("attaching");
        walls(&mut launcher, &mut *tracer, 50);
        let began = Instant::now();
        let phases = walls(&mut launcher, &mut *tracer, 2000).len();
        ours.push(phases as f64 / began.elapsed().as_secs_f64());
        tracer.detach().expect("detaching");
        if let Some(rate) = per_second(
            Shell::new("hyperfine")
                .args(["-N", "--style", "none", "--warmup", "50", "--runs", "2000"])
                .arg(&elf),
            2050,
        ) {
            hyperfine.push(rate);
        }
    }
    let perf = per_second(
        Shell::new("perf")
            .args(["record", "-q", "-o", "/dev/null"])
            .args(["--event", "syscalls:sys_exit_execve,syscalls:sys_enter_write", "--"])
            .arg(&elf),
        1,
    );
    let own = median_of(&ours);
    println!("rate         {own:>8.0} phase-resolved runs a second");
    if !hyperfine.is_empty() {
        let theirs = median_of(&hyperfine);
        println!(
            "             {:>8.2}  x hyperfine -N ({theirs:.0} a second, no phases)  at least 1.3",
            own / theirs
        );
    }
    match perf {
        Some(perf) => {
            println!("             {:>8.0}  x perf record ({perf:.2} a second)  at least 2000", own / perf);
        }
        None => println!("             perf record does not work here"),
    }
    json!({"ours_per_second": ours, "hyperfine_per_second": hyperfine, "perf_record_per_second": perf})
}

fn per_second(command: &mut Shell, runs: u32) -> Option<f64> {
    let began = Instant::now();
    let output = command.output().ok()?;
    let rate = f64::from(runs) / began.elapsed().as_secs_f64();
    output.status.success().then_some(rate)
}

/// firstbyte of the same build: cargo writes both executables to one folder.
fn firstbyte() -> PathBuf {
    let own = std::env::current_exe().expect("our own path").with_file_name("firstbyte");
    assert!(own.exists(), "{} is missing; cargo build --release", own.display());
    own
}

/// `firstbyte --version` against the dynamic C printf program: first bytes with the same tracer, alternating.
fn startup() -> Value {
    let workshop = Workshop::new();
    let c = workshop.compile("corpus/c-printf/hello.c", "c-printf", &[]);
    let own = firstbyte();
    let mut launchers = [launcher(&[text(&own), "--version"]), launcher(&[text(&c)])];
    let mut tracer = choose_phases(BackendChoice::Bpf).expect("the bpf backend").tracer;
    tracer.attach().expect("attaching");
    let mut first_bytes = [Vec::new(), Vec::new()];
    for round in 0..1020 {
        for turn in [round % 2, 1 - round % 2] {
            let recording = tracer.run(&mut launchers[turn], &RunOptions::default()).expect("a run");
            let first = Timeline::of(&recording).expect("a timeline").first_byte.expect("output");
            if round >= 20 {
                first_bytes[turn].push(first.0);
            }
        }
    }
    let (own, c) = (median(&first_bytes[0]), median(&first_bytes[1]));
    println!(
        "startup      {:>8.3}  firstbyte --version {:.1} us, c-printf {:.1} us  limit 1.3",
        own / c,
        own / 1e3,
        c / 1e3
    );
    json!({"ratio_of_medians": own / c, "limit": 1.3, "firstbyte_ns": first_bytes[0], "c_printf_ns": first_bytes[1]})
}

/// Known delays before the first write: setup with the delay minus setup without it. The program prints how long a sleep
/// really lasted.
fn truth() -> Value {
    let workshop = Workshop::new();
    let spin = workshop.compile("benches/core/spin.c", "spin", &["-O2", "-static"]);
    let ticks = ticks_per_microsecond();
    let mut rows = Vec::new();
    for (kind, ns) in [
        ("spin", 20_000_u64),
        ("spin", 200_000),
        ("spin", 2_000_000),
        ("spin", 20_000_000),
        ("sleep", 2_000_000),
    ] {
        let words = |ns: u64| [text(&spin).to_owned(), kind.to_owned(), ns.to_string(), ticks.to_string()];
        let mut launchers = [words(0), words(ns)]
            .map(|w| Launcher::new(Command::new(&w).expect("a command")).expect("a launcher"));
        let mut tracer = choose_phases(BackendChoice::Bpf).expect("the bpf backend").tracer;
        tracer.attach().expect("attaching");
        let mut setups = [Vec::new(), Vec::new()];
        for round in 0..420 {
            for turn in [round % 2, 1 - round % 2] {
                let recording = tracer.run(&mut launchers[turn], &RunOptions::default()).expect("a run");
                let phases = Timeline::of(&recording).expect("a timeline").phases.expect("phases");
                if round >= 20 {
                    let slept = printed_delay(&recording.output.head).unwrap_or(0);
                    setups[turn].push(phases.setup.expect("output").0 - slept);
                }
            }
        }
        // for a sleep, the error is the part that the program did not measure itself
        let asked = if kind == "sleep" { 0.0 } else { ns as f64 };
        let error = median(&setups[1]) - median(&setups[0]) - asked;
        let seen = ns as f64 + error;
        println!(
            "truth        {kind} {:>8.1} us: seen {:>9.2} us, off by {:>7.2} us ({:.2} %)  limit 1 % or 5 us",
            ns as f64 / 1e3,
            seen / 1e3,
            error / 1e3,
            100.0 * error / ns as f64
        );
        rows.push(json!({"kind": kind, "delay_ns": ns, "seen_ns": seen, "without_ns": setups[0], "with_ns": setups[1]}));
    }
    Value::Array(rows)
}

/// The duration of the sleep that the program printed, in nanoseconds.
fn printed_delay(output: &[u8]) -> Option<u64> {
    std::str::from_utf8(output).ok()?.trim().parse().ok()
}

/// The time-stamp counter's rate against `CLOCK_MONOTONIC`, over a quarter of a second.
fn ticks_per_microsecond() -> f64 {
    // SAFETY: reads a counter that every x86-64 processor has.
    let counter = || unsafe { std::arch::x86_64::_rdtsc() };
    let (began, first) = (Instant::now(), counter());
    std::thread::sleep(Duration::from_millis(250));
    let (elapsed, last) = (began.elapsed(), counter());
    (last - first) as f64 / elapsed.as_secs_f64() / 1e6
}

fn median(values: &[u64]) -> f64 {
    median_of(&values.iter().map(|v| *v as f64).collect::<Vec<_>>())
}

fn median_of(values: &[f64]) -> f64 {
    Statistics::of(values).expect("values").median
}
