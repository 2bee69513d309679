//! Many runs in one process: nothing grows. `make soak` makes a million of them, and this test suite a few.

use crate::support::skipped;
use crate::tracees::options;
use firstbyte_measure::launch::{Command, Launcher, OutputKind};
use firstbyte_measure::tracer::phases::choose_phases;
use firstbyte_measure::tracer::{BackendChoice, RunOptions, Tracer};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

/// How many runs of a static ELF file; a tenth as many of a script that forks.
const VARIABLE: &str = "FIRSTBYTE_SOAK_RUNS";
const SHORT: u64 = 2_000;

/// Only the backend of this name.
const ONLY: &str = "FIRSTBYTE_SOAK_BACKEND";

/// For each run. Long, because such a test may be paused to let others run; a run that hangs reaches it, too.
const LIMIT: Duration = Duration::from_secs(3600);

/// Set in the process that makes the runs.
const ALONE: &str = "FIRSTBYTE_SOAK_ALONE";

/// Runs before the first count: afterwards buffers have their final size.
const SETTLING: u64 = 200;

/// How much more memory counts as flat: the allocator keeps some of what was given back.
const SLACK_KIB: u64 = 1024;

/// What could grow. Memory is not part of it.
#[derive(Debug, PartialEq, Eq)]
struct State {
    /// How many descriptors of each kind, such as `anon_inode:bpf-prog`.
    descriptors: BTreeMap<String, usize>,
    /// Without the attendant of the waiting thread, which the first run starts and which stays.
    threads: usize,
    /// Children, zombies included.
    children: usize,
    mounts: usize,
    /// In the folder of temporary files.
    files: usize,
}

impl State {
    fn now() -> State {
        let count = |folder: &str| fs::read_dir(folder).map_or(0, Iterator::count);
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let mut descriptors = BTreeMap::new();
        for descriptor in fs::read_dir("/proc/self/fd").unwrap().flatten() {
            let target = fs::read_link(descriptor.path()).unwrap_or_default().display().to_string();
            let kind = target.split(":[").next().unwrap_or_default().to_owned();
            *descriptors.entry(kind).or_default() += 1;
        }
        State {
            descriptors,
            threads: threads(),
            children: read("/proc/thread-self/children").split_whitespace().count(),
            mounts: read("/proc/self/mountinfo").lines().count(),
            files: count(std::env::temp_dir().to_str().unwrap()),
        }
    }
}

impl State {
    /// The kernel removes a thread from the list an instant after it can be joined.
    fn after_ended_threads(threads: usize) -> State {
        for _ in 0..1000 {
            if State::now().threads <= threads {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        State::now()
    }
}

fn threads() -> usize {
    let all = fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = all.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    names.filter(|name| name != "attendant\n").count()
}

/// Without the pages of files, which the kernel takes away and brings back.
fn memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let field = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    field("RssAnon:") + field("RssShmem:")
}

fn is_flat(tracer: &mut dyn Tracer, words: &[&str], runs: u64) {
    let mut launcher = Launcher::new(Command::new(words).unwrap()).unwrap();
    let options = RunOptions { timeout: Some(LIMIT), ..options(OutputKind::Pipe) };
    let mut run = |count: u64| {
        for _ in 0..count {
            let recording = tracer.run(&mut launcher, &options).unwrap();
            assert_eq!((recording.exit.success(), recording.lost), (true, 0), "{words:?}");
        }
    };

    run(SETTLING);
    let (before, memory) = (State::now(), memory_kib());
    run(runs);
    let (after, grown) = (State::now(), memory_kib().saturating_sub(memory));
    println!("{runs} runs of `{}`: {memory} KiB, {grown} KiB more; {after:?}", words.join(" "));
    assert_eq!(after, before, "{words:?}");
    assert!(grown <= SLACK_KIB, "{words:?}: {grown} KiB more after {runs} runs");
}

/// In a process of its own: other tests would open files meanwhile.
fn soak() {
    let runs = std::env::var(VARIABLE).map_or(SHORT, |runs| runs.parse().unwrap());
    firstbyte_measure::launch::tree::adopt_orphans();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let hello = folder.path().join("hello");
    let elf = [env!("CARGO_BIN_EXE_firstbyte"), "elf", "--message", "hello", "-o", hello.to_str().unwrap()];
    assert!(std::process::Command::new(elf[0]).args(&elf[1..]).output().unwrap().status.success());

    // the attendant of this thread is started by the first run, and stays
    let mut pipe = choose_phases(BackendChoice::Pipe).unwrap().tracer;
    is_flat(&mut *pipe, &[hello.to_str().unwrap()], 1);
    drop(pipe);

    let begun = State::now();
    let only = std::env::var(ONLY).unwrap_or_default();
    let wanted =
        |backend: &BackendChoice| only.is_empty() || format!("{backend:?}").eq_ignore_ascii_case(&only);
    let backends = [BackendChoice::Pipe, BackendChoice::Ptrace, BackendChoice::Bpf];
    for backend in backends.into_iter().filter(wanted) {
        let mut tracer = match choose_phases(backend) {
            Ok(chosen) => chosen.tracer,
            Err(error) => {
                skipped(&error.to_string());
                continue;
            }
        };
        println!("{backend:?}");
        is_flat(&mut *tracer, &["sh", "-c", "(exit 0); (exit 0) & wait; echo hello"], runs / 10);
        is_flat(&mut *tracer, &[hello.to_str().unwrap()], runs);
        drop(tracer);
        assert_eq!(State::after_ended_threads(begun.threads), begun, "{backend:?}");
    }
}

#[test]
fn nothing_grows_over_many_runs() {
    if std::env::var_os(ALONE).is_some() {
        return soak();
    }

    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let output = alone(folder.path());
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{printed}");
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains("1 passed"), "{printed}");
}

fn alone(temporary: &Path) -> std::process::Output {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "soak::nothing_grows_over_many_runs", "--nocapture"]);
    command.env(ALONE, "1").env("TMPDIR", temporary);
    // Other tests mount file systems meanwhile. Users who may not have a namespace of their own may not mount either.
    // SAFETY: the child makes only two system calls, with valid arguments.
    unsafe {
        command.pre_exec(|| {
            if libc::unshare(libc::CLONE_NEWNS) == 0 {
                let none = std::ptr::null();
                libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast());
            }
            Ok(())
        });
    }
    command.stdin(std::process::Stdio::null()).output().unwrap()
}
