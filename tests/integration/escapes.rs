//! Programs that hide their processes, refuse to end, or do what no program should do: nothing of them remains, and
//! firstbyte ends with a result or with an error.

use crate::support::{as_nobody, copy_executable, of_nobody, skipped, with_default_signal};
use crate::tracees::built;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The last one needs privileges.
const BACKENDS: [&str; 3] = ["pipe", "ptrace", "bpf"];

/// Ways of `hostile.c` that leave processes behind, which ignore every signal.
const LEAVING: [&str; 6] = [
    "leaves-untraced",
    "leaves-sibling",
    "leaves-silent",
    "leaves-namespace",
    "leaves-reaper",
    "leaves-chain",
];

/// Ways that never end by themselves.
const ENDLESS: [&str; 2] = ["many", "stays"];

/// Ways that end, whatever becomes of their output.
const ODD: [&str; 9] = [
    "no-resources",
    "odd-names",
    "no-words",
    "odd-stdout",
    "removed-folder",
    "new-root",
    "hangs-up",
    "traces",
    "traces-parent",
];

struct Place {
    folder: tempfile::TempDir,
    /// Another user than the one of the test.
    nobody: bool,
}

impl Place {
    fn new(nobody: bool) -> Option<Place> {
        let tracee = built("hostile.c")?;
        let folder =
            if nobody { of_nobody()? } else { tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
        copy_executable(&tracee, &folder.path().join("hostile"), 0o755);
        Some(Place { folder, nobody })
    }

    fn backends(&self) -> &'static [&'static str] {
        if self.nobody { &BACKENDS[..2] } else { &BACKENDS }
    }

    /// All backends, with each of these ways.
    fn backends_with(&self, ways: &'static [&str]) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.backends().iter().flat_map(move |backend| ways.iter().map(move |way| (*backend, *way)))
    }

    fn run(&self, words: &[&str]) -> Output {
        let folder = self.folder.path();
        let mut command = if self.nobody {
            as_nobody(folder, &[&["./firstbyte"], words].concat())
        } else {
            let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
            command.args(words).current_dir(folder).env("FIRSTBYTE_CACHE", folder.join("cache"));
            command
        };
        command.stdin(Stdio::null()).output().unwrap()
    }

    /// `None`, reported as skipped, if the backend does not work here.
    fn bench(&self, backend: &str, options: &[&str], way: &str) -> Option<Output> {
        let program = format!("./hostile {way}");
        let always = ["bench", "--backend", backend, "--runs", "2", "--warmup", "0", "--no-counts"];
        let output = self.run(&[&always[..], options, &[&program]].concat());
        self.judged(output, &format!("{backend}, {way}"))
    }

    fn judged(&self, output: Output, what: &str) -> Option<Output> {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() == Some(4) && said.contains("does not work here") {
            skipped(said.trim());
            return None;
        }
        assert_eq!(self.processes(), Vec::<PathBuf>::new(), "{what}: {said}");
        assert!(output.status.signal().is_none() && !said.contains("panicked"), "{what}: {said}");
        for text in [&output.stdout, &output.stderr] {
            let control = String::from_utf8_lossy(text).chars().find(|c| c.is_control() && *c != '\n');
            assert_eq!(control, None, "{what}: {text:?}");
        }
        Some(output)
    }

    /// The processes that execute the tracee, even if its file is gone.
    fn processes(&self) -> Vec<PathBuf> {
        let tracee = self.folder.path().canonicalize().unwrap().join("hostile").display().to_string();
        let is_ours = |process: &PathBuf| {
            fs::read_link(process.join("exe"))
                .is_ok_and(|program| program.to_string_lossy().starts_with(&tracee))
        };
        fs::read_dir("/proc").unwrap().flatten().map(|process| process.path()).filter(is_ours).collect()
    }
}

/// As ourselves, and as a user without privileges.
fn for_both_users(check: impl Fn(&Place)) {
    for nobody in [false, true] {
        Place::new(nobody).iter().for_each(&check);
    }
}

#[test]
fn processes_that_hide_are_killed_after_each_run() {
    for_both_users(|place| {
        for (backend, way) in place.backends_with(&LEAVING) {
            let Some(output) = place.bench(backend, &[], way) else { continue };
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{backend}, {way}: {said}");
        }
    });
}

/// Set for the process that will adopt what firstbyte leaves.
const ADOPTER: &str = "FIRSTBYTE_TEST_ADOPTER";

/// Not a test: [`the_dead_are_reaped_before_firstbyte_ends`] starts it with the name of a backend.
#[test]
fn an_adopter() {
    let Ok(backend) = std::env::var(ADOPTER) else { return };
    // SAFETY: a flag of our own process.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    // With so many, some are often still dying when the last event of the run has been seen.
    let program =
        "sh -c 'for i in $(seq 8); do (for j in $(seq 80); do sleep 100 & done; wait) & done; wait'";
    let arguments =
        ["bench", "--runs", "1", "--warmup", "0", "--timeout", "1s", "--backend", &backend, program];
    let output = Command::new(env!("CARGO_BIN_EXE_firstbyte")).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");

    let children = fs::read_to_string("/proc/thread-self/children").unwrap();
    let name = |pid: &str| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    // The guard ends a moment after firstbyte.
    let left: Vec<String> =
        children.split_whitespace().map(name).filter(|name| !name.starts_with("firstbyte-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_dead_are_reaped_before_firstbyte_ends() {
    for backend in BACKENDS {
        let mut adopter = Command::new(std::env::current_exe().unwrap());
        adopter.args(["--exact", "escapes::an_adopter", "--test-threads", "1"]).env(ADOPTER, backend);
        let output = adopter.output().unwrap();
        assert!(output.status.success(), "{backend}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn programs_that_ignore_every_signal_are_killed_at_the_end_of_their_time() {
    for_both_users(|place| {
        for (backend, way) in place.backends_with(&ENDLESS) {
            let options = ["--timeout", "300ms", "--no-overhead"];
            let Some(output) = place.bench(backend, &options, way) else { continue };
            assert_eq!(output.status.code(), Some(3), "{backend}, {way}: {output:?}");
        }
    });
}

#[test]
fn odd_programs_are_measured_as_others_are() {
    for_both_users(|place| {
        for (backend, way) in place.backends_with(&ODD) {
            let Some(output) = place.bench(backend, &["--ignore-failure"], way) else { continue };
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{backend}, {way}: {said}");
        }
    });
}

/// What the next program would inherit: no stack, no descriptors, no address space (the numbers of `getrlimit(2)`).
const TAKEN: [(&str, &str); 3] = [("3", "the stack"), ("7", "open files"), ("9", "address space")];

#[test]
fn a_program_that_lowers_our_limits_changes_no_later_run() {
    for_both_users(|place| {
        for backend in place.backends() {
            for (number, _) in TAKEN {
                let hostile = format!("./hostile takes-{number}");
                let words = ["bench", "--backend", backend, "--runs", "3", "--no-counts", &hostile, "true"];
                let Some(output) = place.judged(place.run(&words), backend) else { break };
                let said = String::from_utf8_lossy(&output.stdout);
                assert_eq!(output.status.code(), Some(0), "{backend}, {number}: {said}");
            }
        }
    });
}

#[test]
fn a_limit_that_we_may_not_raise_again_is_named_and_blamed_on_no_other_program() {
    let Some(place) = Place::new(true) else { return };
    for backend in place.backends() {
        for (number, name) in TAKEN {
            let hostile = format!("./hostile takes-all-{number}");
            let words = ["bench", "--backend", backend, "--runs", "3", "--no-counts", &hostile, "true"];
            let output = place.judged(place.run(&words), backend).unwrap();
            let shown = format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            let words: Vec<&str> = shown.split_whitespace().collect();
            assert_eq!(output.status.code(), Some(4), "{backend}, {number}: {shown}");
            assert!(words.join(" ").contains(&format!("own limit on {name}")), "{backend}: {shown}");
        }
    }
}

#[test]
fn a_program_that_removes_itself_cannot_be_started_again() {
    for backend in ["pipe", "ptrace"] {
        let Some(place) = Place::new(false) else { return };
        let Some(output) = place.bench(backend, &[], "removes-itself") else { continue };
        assert_eq!(output.status.code(), Some(3), "{backend}: {output:?}");
    }
}

/// A process that has made us its tracer waits for us when it stops (`PTRACE_TRACEME`).
#[test]
fn a_program_that_waits_for_its_tracer_has_stopped_itself() {
    for_both_users(|place| {
        for backend in place.backends() {
            let Some(output) = place.bench(backend, &[], "traces-and-stops") else { continue };
            let shown = String::from_utf8_lossy(&output.stdout);
            let words: Vec<&str> = shown.split_whitespace().collect();
            let expected = "it stopped itself (SIGSTOP) and was killed";
            assert!(words.join(" ").contains(expected), "{backend}: {shown}");
        }
    });
}

#[test]
fn traces_of_such_programs_show_no_odd_bytes_and_leave_nothing() {
    let Some(place) = Place::new(false) else { return };
    for backend in ["ptrace", "bpf"] {
        for way in LEAVING.into_iter().chain(ODD) {
            let words = ["trace", "--backend", backend, "--quick", "--ignore-failure", "--timeline", "--"];
            let output = place.run(&[&words[..], &["./hostile", way]].concat());
            let Some(output) = place.judged(output, &format!("trace, {backend}, {way}")) else { break };
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{backend}, {way}: {said}");
        }
    }
}

/// What a program writes to its stderr is shown where it failed: C0 and C1 controls, among them the sequences that set a
/// clipboard (OSC 52) and a link (OSC 8), and characters that turn the direction of text.
#[test]
fn a_failing_programs_stderr_gives_our_terminal_no_orders() {
    let Some(place) = Place::new(false) else { return };
    let text = r"printf 'a\033]52;c;eA==\007\033]8;;http://x\033\\\302\2331m\233d\b\342\200\256' >&2; exit 1";
    let program = format!("sh -c \"{text}\"");
    for words in [
        &["bench", "--backend", "pipe", "--runs", "1", "--no-counts"][..],
        &["bench", "--backend", "pipe", "--runs", "1", "--no-counts", "--export-markdown=-"],
        &["diff", "--backend", "ptrace", "--quick", "true"],
    ] {
        let output = place.judged(place.run(&[words, &[&program]].concat()), "stderr").unwrap();
        let shown = [output.stdout, output.stderr].concat();
        assert!(!shown.contains(&0x9b) && !String::from_utf8_lossy(&shown).contains('\u{202e}'), "{words:?}");
    }
}

/// The linker's note about debug information is part of the program, so it must not lead to other files.
#[test]
fn a_debug_link_to_a_device_is_not_followed() {
    let Some(place) = Place::new(false) else { return };
    let folder = place.folder.path();
    fs::write(folder.join("link"), b"/dev/zero\0\0\0\0\0\0\0").unwrap();
    let words = ["--strip-all", "--add-section", ".gnu_debuglink=link", "hostile"];
    let changed = Command::new("objcopy").args(words).current_dir(folder).status();
    if !changed.is_ok_and(|status| status.success()) {
        return skipped("`objcopy` is missing; help: `apt-get install binutils`");
    }

    let output = place.run(&["trace", "--backend", "ptrace", "--quick", "--", "./hostile", "no-words"]);
    let output = place.judged(output, "a debug link").unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn without_processes_and_threads_the_error_says_so() {
    let Some(folder) = of_nobody() else { return };
    let limited = |arguments: &[&str]| {
        let words = [&["prlimit", "--nproc=0", "./firstbyte"], arguments].concat();
        let output = as_nobody(folder.path(), &words).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (backend, missing) in [("pipe", "a process"), ("ptrace", "a thread")] {
        let (status, said) = limited(&["bench", "--backend", backend, "--runs", "1", "true"]);
        assert_eq!(status, Some(4), "{backend}: {said}");
        assert!(said.contains(&format!("cannot get {missing}: ")), "{backend}: {said}");
        assert!(said.contains("\nhelp: "), "{backend}: {said}");
    }
    for arguments in [&["doctor"][..], &["trace", "true"], &["showdown", "--runs", "1"]] {
        let (status, said) = limited(arguments);
        assert!(matches!(status, Some(0..=4)) && !said.contains("panicked"), "{arguments:?}: {said}");
    }
}

/// Opening a named pipe waits for its writer.
#[test]
fn an_input_that_nobody_writes_can_be_interrupted() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.path().join("fifo")).status().unwrap().success());
    for words in
        [&["bench", "--backend", "pipe", "--input", "fifo", "cat"][..], &["trace", "--input", "fifo", "cat"]]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
        command.args(words).current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = with_default_signal(libc::SIGTERM, &mut command).spawn().unwrap();
        while !catches(&child, libc::SIGTERM) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let pid = rustix::process::Pid::from_child(&child);
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{words:?} does not end");
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
            std::thread::sleep(Duration::from_millis(100));
        };
        assert_eq!(status.code(), Some(130), "{words:?}");
    }
}

/// Whether a process handles a signal (`SigCgt` in proc(5)).
fn catches(child: &std::process::Child, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t")).unwrap();
    u64::from_str_radix(caught, 16).unwrap() & (1 << (signal - 1)) != 0
}
