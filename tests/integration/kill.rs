//! firstbyte is killed (SIGKILL) at a random moment. Nothing is left that the next run does not remove, and what was
//! finished can be read. `make kill` does it 500 times, this test suite a few times. What `watch` has started is the work
//! of the user, and is left to end by itself.

use crate::support::{skipped, write_executable};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How often it is killed.
const VARIABLE: &str = "FIRSTBYTE_KILLS";
const SHORT: usize = 22;

/// What is killed. Each writes to `out.json` or `out.html`, and works in the folder of the test.
const COMMANDS: [&[&str]; 11] = [
    &["bench", "--runs", "10", "--no-counts", "--export-json", "out.json", "./forking"],
    &["bench", "--cache", "cold", "--runs", "3", "--no-counts", "--export-json", "out.json", "cat ./forking"],
    &["trace", "--runs", "3", "--export-json", "out.json", "--", "./forking"],
    &["showdown", "--corpus", "own", "--only", "own", "--runs", "2", "--export-json", "out.json"],
    &["doctor", "--json"],
    &["report", "-o", "out.html", "kept.json"],
    &["floor", "--quick", "--only", "syscalls", "--only", "waterfall", "--export-json", "out.json"],
    &["claims", "--quick", "--only", "000-write-faster", "--export-json", "out.json"],
    &[
        "watch",
        "--textfile",
        "out.prom",
        "--trace",
        "forking",
        "--export-trace",
        "traces.json",
        "--export-json",
        "out.json",
        "--",
        "./forking",
    ],
    &["watch", "--backend", "ptrace", "--export-json", "out.json", "--", "./forking"],
    &["diff", "--quick", "--export-json", "out.json", "./forking", "true"],
];

/// The folder of one test: programs, a corpus with a program that takes time to build, and results to report.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let own = folder.path().join("own/own");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir(folder.path().join("temporary")).unwrap();
        fs::write(own.join("body.sh"), "echo 'hello world'\n").unwrap();
        let manifest = "name = \"own\"\nlanguage = \"sh\"\ndescription = \"a test\"\ntags = [\"own\"]\n\n\
                        [script]\nsource = \"body.sh\"\ninterpreter = \"/bin/sh\"\n";
        fs::write(own.join("program.toml"), manifest).unwrap();
        let script = folder.path().join("forking");
        write_executable(&script, "#!/bin/sh\necho hello\n(exit 0)\n(exit 0) &\nwait\n", 0o755);

        let place = Place { folder };
        let made = place.command(&["bench", "--runs", "3", "--export-json", "kept.json", "true"]).output();
        assert!(made.unwrap().status.success());
        place
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
        command.args(arguments).current_dir(self.path()).env("FIRSTBYTE_CACHE", self.path().join("cache"));
        command.env("TMPDIR", self.path().join("temporary")).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::piped());
        command
    }

    fn whole_run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Kills an invocation after this time. Returns false if it ended earlier.
    fn killed(&self, arguments: &[&str], after: Duration) -> bool {
        let mut child = self.command(arguments).spawn().unwrap();
        std::thread::sleep(after);
        let running = child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        child.wait().unwrap();
        running
    }

    /// The processes that work in this folder.
    fn processes(&self) -> Vec<String> {
        let here = self.path().canonicalize().unwrap();
        let works_here = |process: &PathBuf| {
            fs::read_link(process.join("cwd")).is_ok_and(|folder| folder.starts_with(&here))
        };
        let all = fs::read_dir("/proc").unwrap().flatten().map(|process| process.path());
        all.filter(works_here).map(|process| process.display().to_string()).collect()
    }

    /// What short programs that were running finish by themselves.
    fn wait_for_processes(&self, what: &str) {
        let began = Instant::now();
        while !self.processes().is_empty() {
            assert!(began.elapsed() < Duration::from_secs(60), "{what}: {:?} are left", self.processes());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn check_after_kill(&self, what: &str) {
        self.wait_for_processes(what);
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(self.path().to_str().unwrap()), "{what}: {mounts}");
        if let Ok(text) = fs::read_to_string(self.path().join("out.json")) {
            let document: serde_json::Value =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{what}: {error}: {text}"));
            assert!(document["results"].is_array(), "{what}: {document}");
        }
        if let Ok(page) = fs::read_to_string(self.path().join("out.html")) {
            assert!(page.trim_end().ends_with("</html>"), "{what}: the page is cut off");
        }
    }

    fn check_after_next_run(&self, what: &str) {
        let left = |folder: &str| {
            let entries = fs::read_dir(self.path().join(folder)).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(left("cache/cold"), Vec::<String>::new(), "{what}");
        assert_eq!(left("temporary"), Vec::<String>::new(), "{what}");
        let strange: Vec<String> = left(".").into_iter().filter(|name| name.starts_with('.')).collect();
        assert_eq!(strange, Vec::<String>::new(), "{what}");
    }
}

/// How long a command takes by itself; `None`, reported as skipped, if this machine cannot do it.
fn duration_of(place: &Place, arguments: &[&str]) -> Option<Duration> {
    let began = Instant::now();
    let output = place.whole_run(arguments);
    if output.status.code() == Some(4) {
        skipped(String::from_utf8_lossy(&output.stderr).trim());
        return None;
    }
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(began.elapsed())
}

#[test]
fn a_kill_leaves_nothing_that_the_next_run_does_not_remove() {
    let kills: usize = std::env::var(VARIABLE).map_or(SHORT, |kills| kills.parse().unwrap());
    let place = Place::new();
    let commands: Vec<(&[&str], Duration)> = COMMANDS
        .into_iter()
        .filter_map(|arguments| Some((arguments, duration_of(&place, arguments)?)))
        .collect();
    let (mut random, mut running) = (fastrand::Rng::with_seed(1), 0);

    for kill in 0..kills {
        let (arguments, duration) = commands[kill % commands.len()];
        // They build programs.
        if ["showdown", "claims"].contains(&arguments[0]) {
            let _ = fs::remove_dir_all(place.path().join("cache/corpus"));
        }
        let after = duration.mul_f64(random.f64());
        let what = format!("`{}` killed after {after:?}", arguments.join(" "));
        running += usize::from(place.killed(arguments, after));
        place.check_after_kill(&what);

        let output = place.whole_run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{what}: the next run fails: {said}");
        if arguments.contains(&"cold") {
            place.check_after_next_run(&what);
        }
    }
    // Each kind of folder is removed by the commands that need one.
    for (arguments, _) in &commands {
        assert!(place.whole_run(arguments).status.success(), "{arguments:?}");
    }
    place.check_after_next_run("all");
    println!("{kills} kills, {running} of them before the end");
}

#[test]
fn a_kill_ends_what_the_program_has_started() {
    let place = Place::new();
    let script = place.path().join("forking");
    write_executable(&script, "#!/bin/sh\nsleep 98741 &\ntouch begun\nwait\n", 0o755);
    for backend in ["auto", "ptrace", "pipe"] {
        let _ = fs::remove_file(place.path().join("begun"));
        let mut child = place.command(&["bench", "--backend", backend, "./forking"]).spawn().unwrap();
        while !place.path().join("begun").exists() {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        place.wait_for_processes(backend);
    }
}
