//! The command from the outside: exit statuses, messages, and what is left behind.

use crate::support::{copy_executable, skipped, wait_until, with_default_signal};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A user with their own cache folder, programs and results.
struct User {
    home: TempDir,
}

impl User {
    fn new() -> User {
        User { home: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
        command.args(arguments).env("FIRSTBYTE_CACHE", self.path("cache")).env("COLUMNS", "80");
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }

    /// Adds a program of the user, a shell script.
    fn script(&self, name: &str, script: &str) {
        self.program(name, script, "");
    }

    fn program(&self, name: &str, script: &str, more: &str) {
        let folder = self.path("own").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("body.sh"), script).unwrap();
        let manifest = format!(
            "name = \"{name}\"\nlanguage = \"sh\"\ndescription = \"a test\"\ntags = [\"own\"]\n{more}\n\
             [script]\nsource = \"body.sh\"\ninterpreter = \"/bin/sh\"\n"
        );
        fs::write(folder.join("program.toml"), manifest).unwrap();
    }

    /// A showdown of one of the user's programs and the floor.
    fn showdown(&self, name: &str, more: &[&str]) -> Ran {
        let own = self.path("own");
        let mut arguments = vec!["showdown", "--runs", "2", "--no-overhead", "--only", name, "--corpus"];
        arguments.push(own.to_str().unwrap());
        arguments.extend(more);
        self.run(&arguments)
    }
}

#[derive(Debug)]
struct Ran {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Whether no process remains whose command line contains this word. The processes that firstbyte starts beside itself end
/// an instant after it, and have its command line.
fn nothing_runs(word: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    while somebody_runs(word) {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

fn somebody_runs(word: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(word))
}

#[test]
fn a_wrong_command_line_is_exit_status_2() {
    let user = User::new();
    for arguments in [&["frobnicate"][..], &["showdown", "--runs", "0"], &["showdown", "--cpus", "x"], &[]] {
        assert_eq!(user.run(arguments).status, Some(2), "{arguments:?}");
    }
    let unknown = user.run(&["showdown", "--only", "klingon"]);
    assert_eq!(unknown.status, Some(2));
    assert!(unknown.stderr.starts_with("error: ") && unknown.stderr.contains("`klingon`"), "{unknown:?}");
    assert!(unknown.stderr.contains("\nhelp: "), "{unknown:?}");
}

#[test]
fn a_misspelt_command_gets_a_suggestion_also_behind_help() {
    for words in [&["traec"][..], &["help", "traec"]] {
        let ran = User::new().run(words);
        assert_eq!(ran.status, Some(2));
        assert!(ran.stderr.contains("a similar subcommand exists: 'trace'"), "{}", ran.stderr);
    }
}

#[test]
fn an_export_that_cannot_be_written_is_refused_before_the_first_run() {
    let user = User::new();
    let ran = user.run(&["showdown", "--export-json", "/no/such/folder/x.json"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("`/no/such/folder/x.json`") && ran.stderr.contains("help:"), "{ran:?}");
    assert!(!user.path("cache").exists(), "nothing was built");
}

#[test]
fn the_programs_are_listed_without_running_any() {
    let user = User::new();
    let ran = user.run(&["showdown", "--list"]);
    assert_eq!(ran.status, Some(0));
    assert!(ran.stdout.contains("c-printf") && ran.stdout.contains("floor-elf"));
    assert!(!user.path("cache").exists());
}

#[test]
fn a_showdown_of_only_the_floor_makes_a_table_and_a_document() {
    let user = User::new();
    let json = user.path("out.json");
    let ran = user.run(&[
        "showdown",
        "--runs",
        "3",
        "--only",
        "floor-elf",
        "--export-json",
        json.to_str().unwrap(),
    ]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("floor-elf"), "{ran:?}");
    let document: serde_json::Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(document["schema"], "firstbyte/1");
    assert_eq!(document["partial"], false);
    assert_eq!(document["results"][0]["times"].as_array().unwrap().len(), 3);
    assert_eq!(document["results"][0]["exit_codes"], serde_json::json!([0, 0, 0]));
    let phases = &document["results"][0]["phases"];
    if document["tool"]["backend"] != "pipe" {
        let sample = |phase: &str, n: usize| phases[phase]["samples"][n].as_u64().unwrap();
        for n in 0..3 {
            let parts: u64 = ["startup", "setup", "write", "teardown"].iter().map(|p| sample(p, n)).sum();
            assert_eq!(parts, sample("total", n), "the phases sum to the total exactly");
        }
    }
}

#[test]
fn an_export_to_stdout_is_not_mixed_with_other_output() {
    let user = User::new();
    let json = user.run(&["showdown", "--runs", "1", "--only", "floor-elf", "--export-json", "-"]);
    assert!(serde_json::from_str::<serde_json::Value>(&json.stdout).is_ok(), "{json:?}");
    let csv = user.run(&["showdown", "--runs", "1", "--only", "floor-elf", "--export-csv", "-"]);
    assert!(csv.stdout.starts_with("command,mean,stddev,median,user,system,min,max"), "{csv:?}");
}

#[test]
fn a_wrong_program_has_a_row_with_the_reason_and_the_others_are_measured() {
    let user = User::new();
    user.script("says-other", "echo goodbye\n");
    user.script("says-nothing", ":\n");
    user.script("fails", "echo hello world; exit 3\n");
    user.script("dies", "echo hello world; kill -SEGV $$\n");
    user.script("talkative", "echo hello world; echo hello world\n");
    for (name, clue) in [
        ("says-other", "goodbye"),
        ("says-nothing", "nothing"),
        ("fails", "status 3"),
        ("dies", "SIGSEGV"),
        ("talkative", "instead of"),
    ] {
        let ran = user.showdown(name, &[]);
        assert_eq!(ran.status, Some(3), "{name}: {ran:?}");
        assert!(ran.stdout.contains(name) && ran.stdout.contains(clue), "{name}: {ran:?}");
        assert!(ran.stdout.contains("floor-elf"), "the rest is measured: {ran:?}");
    }
}

#[test]
fn a_program_that_fails_after_its_verification_is_rejected_in_every_run() {
    let user = User::new();
    let mark = user.path("mark");
    let script =
        format!("if [ -e {0} ]; then echo broken; else : > {0}; echo hello world; fi\n", mark.display());
    user.script("turns-bad", &script);
    let json = user.path("out.json");
    let ran = user.showdown("turns-bad", &["--export-json", json.to_str().unwrap()]);
    assert_eq!(ran.status, Some(3), "{ran:?}");
    let document: serde_json::Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(document["failed"][0]["name"], "turns-bad");
    assert!(document["failed"][0]["reason"].as_str().unwrap().contains("broken"), "{document:#}");
}

#[test]
fn a_hanging_program_is_killed_with_its_children() {
    let user = User::new();
    let mark = user.path("mark");
    let script = format!(
        "if [ -e {0} ]; then sleep 98761 & sleep 98762; else : > {0}; echo hello world; fi\n",
        mark.display()
    );
    user.script("hangs", &script);
    let ran = user.showdown("hangs", &["--timeout", "2s"]);
    assert_eq!(ran.status, Some(3), "{ran:?}");
    assert!(ran.stdout.contains("did not end in time"), "{ran:?}");
    assert!(nothing_runs("98761") && nothing_runs("98762"));
}

#[test]
fn the_verification_respects_the_time_limit_and_distinguishes_a_stop_from_a_hang() {
    let user = User::new();
    user.script("sleeps", "sleep 98769\n");
    user.script("stops", "kill -STOP $$\n");
    // The test ends, so the limit works: 98769 s are more than a day.
    let ran = user.showdown("sleeps", &["--timeout", "300ms"]);
    assert!(ran.status == Some(3) && ran.stdout.contains("did not end within 0.3 s"), "{ran:?}");
    let ran = user.showdown("stops", &[]);
    assert!(ran.status == Some(3) && ran.stdout.contains("stopped itself (SIGSTOP)"), "{ran:?}");
    assert!(nothing_runs("98769"));
}

#[test]
fn a_subfolder_without_a_manifest_is_a_skipped_row_and_an_empty_corpus_an_error() {
    let user = User::new();
    user.script("right", "echo hello world\n");
    fs::create_dir(user.path("own/notes")).unwrap();
    for asked in ["right", "notes"] {
        let ran = user.showdown(asked, &[]);
        assert_eq!(ran.status, Some(0), "{ran:?}");
        assert_eq!(ran.stdout.contains("has no `program.toml`"), asked == "notes", "{ran:?}");
    }
    fs::remove_dir_all(user.path("own/right")).unwrap();
    let ran = user.showdown("right", &[]);
    assert!(ran.status == Some(2) && ran.stderr.contains("contains no program"), "{ran:?}");
}

#[test]
fn a_program_expected_to_die_of_a_signal_has_a_note() {
    let user = User::new();
    user.program("dies", "echo hello world; kill -SEGV $$\n", "[expected]\nexit = \"SIGSEGV\"\n");
    let ran = user.showdown("dies", &[]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("`dies` (warm): every run failed (killed by SIGSEGV)"), "{ran:?}");
}

#[test]
fn a_trace_of_a_program_that_stops_itself_says_so() {
    let ran = User::new().run(&["trace", "--", "sh", "-c", "kill -STOP $$"]);
    assert_eq!(ran.status, Some(3), "{ran:?}");
    assert!(
        ran.stderr.contains("it stopped itself (SIGSTOP)") && !ran.stderr.contains("more time"),
        "{ran:?}"
    );
}

#[test]
fn a_daemon_that_keeps_stdout_open_delays_nothing_and_is_gone_afterwards() {
    let user = User::new();
    user.script("daemon", "setsid sleep 98763 & echo hello world\n");
    // The daemon would outlive any test. This one ends, so nothing waits for it.
    let ran = user.showdown("daemon", &[]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(nothing_runs("98763"));
}

#[test]
fn a_daemon_in_another_session_is_gone_after_every_kind_of_run() {
    let user = User::new();
    user.script("daemon", "setsid sleep 98765 & sleep 0.05; echo hello world\n");
    let own = user.path("own");
    for backend in ["pipe", "auto"] {
        let ran = user.run(&[
            "showdown",
            "--runs",
            "1",
            "--only",
            "daemon",
            "--backend",
            backend,
            "--corpus",
            own.to_str().unwrap(),
        ]);
        assert_eq!(ran.status, Some(0), "{ran:?}");
        assert!(nothing_runs("98765"), "{backend}");
    }
}

#[test]
fn without_its_folder_the_export_is_lost_but_not_the_table() {
    let user = User::new();
    let folder = user.path("results");
    user.script("remover", &format!("rm -rf {}; echo hello world\n", folder.display()));
    assert_eq!(user.showdown("remover", &[]).status, Some(0), "built and verified");
    fs::create_dir(&folder).unwrap();
    let ran = user.showdown("remover", &["--export-json", folder.join("x.json").to_str().unwrap()]);
    assert_eq!(ran.status, Some(4), "{ran:?}");
    assert!(ran.stderr.contains("x.json") && ran.stdout.contains("remover"), "{ran:?}");
}

/// Runs the command through a starter that changes what is inherited; `None`, reported as skipped, if that fails.
fn started_by(starter: &[&str], user: &User, arguments: &[&str]) -> Option<Ran> {
    let mut command = Command::new(starter[0]);
    command.args(&starter[1..]).arg(env!("CARGO_BIN_EXE_firstbyte")).args(arguments);
    command.env("FIRSTBYTE_CACHE", user.path("cache")).env("COLUMNS", "80").stdin(Stdio::null());
    let ran = command.output().ok().map(Ran::from);
    let refused = ran.as_ref().is_none_or(|ran| ran.stderr.contains(&format!("{}: ", starter[0])));
    if refused {
        skipped(&format!("{} does not work: {ran:?}", starter[0]));
        return None;
    }
    ran
}

#[test]
fn signals_that_a_parent_ignores_or_blocks_change_nothing() {
    let user = User::new();
    let floor = ["showdown", "--runs", "1", "--only", "floor-elf"];
    let ignoring = started_by(&["env", "--ignore-signal=CHLD"], &user, &floor);
    assert!(ignoring.as_ref().is_none_or(|ran| ran.status == Some(0)), "{ignoring:?}");
    let mark = user.path("mark");
    let hangs =
        format!("if [ -e {0} ]; then sleep 98768; else : > {0}; echo hello world; fi\n", mark.display());
    user.script("hangs", &hangs);
    let own = user.path("own");
    let mut hanging = vec!["showdown", "--runs", "1", "--only", "hangs", "--timeout", "2s", "--corpus"];
    hanging.push(own.to_str().unwrap());
    let blocking = started_by(&["env", "--block-signal"], &user, &hanging);
    assert!(blocking.as_ref().is_none_or(|ran| ran.stdout.contains("did not end in time")), "{blocking:?}");
}

#[test]
fn with_its_own_process_ids_auto_chooses_the_backend_that_it_chooses_outside() {
    let user = User::new();
    let floor = ["showdown", "--runs", "1", "--only", "floor-elf", "--backend"];
    let (with_bpf, with_auto) = ([&floor[..], &["bpf"]].concat(), [&floor[..], &["auto"]].concat());
    let outside = user.run(&with_bpf).status;
    let container = ["unshare", "--pid", "--fork", "--mount-proc"];
    let inside = |words: &[&str]| started_by(&container, &user, words);
    let (Some(bpf), Some(auto)) = (inside(&with_bpf), inside(&with_auto)) else { return };
    assert_eq!(bpf.status, outside, "{bpf:?}");
    assert_eq!(auto.status, Some(0), "{auto:?}");
    assert_eq!(auto.stdout.contains("bpf: sees every phase"), outside == Some(0), "{auto:?}");
}

#[test]
fn a_process_left_by_a_hook_is_not_killed_as_an_orphan() {
    let user = User::new();
    let pid = user.path("pid");
    let server = format!("[ -e {0} ] || {{ sleep 98766 & echo $! > {0}; }}", pid.display());
    let client = format!("sh -c 'setsid sleep 98767 & sleep 0.05; kill -0 $(cat {})'", pid.display());
    let ran = user.run(&["bench", "--runs", "2", "--prepare", &server, &client]);
    let running = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    let ended = rustix::process::kill_process(
        rustix::process::Pid::from_raw(running).unwrap(),
        rustix::process::Signal::KILL,
    );
    assert_eq!((ran.status, ended), (Some(0), Ok(())), "{ran:?}");
    assert!(nothing_runs("98767"));
}

#[test]
fn an_interruption_keeps_finished_rounds_and_leaves_nothing_behind() {
    let user = User::new();
    let ran = user.path("ran");
    user.script("slow", &format!("echo hello world; echo x >> {}; sleep 0.02\n", ran.display()));
    let json = user.path("out.json");
    let own = user.path("own");
    let mut command = user.command(&["showdown", "--runs", "100000", "--no-overhead", "--only", "slow"]);
    command.arg("--corpus").arg(&own).arg("--export-json").arg(&json);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = with_default_signal(libc::SIGINT, &mut command).spawn().unwrap();
    // By then it is verified and warmed up, and some rounds are finished.
    wait_until("60 runs", || fs::metadata(&ran).is_ok_and(|ran| ran.len() >= 2 * 60));
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.status, Some(130), "{ran:?}");
    let document: serde_json::Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(document["partial"], true);
    assert!(!document["results"][0]["times"].as_array().unwrap().is_empty());
    assert!(nothing_runs(user.path("cache").to_str().unwrap()));
    let left: Vec<_> = fs::read_dir(user.home.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(
        left.iter().all(|name| ["cache", "own", "out.json", "ran"].iter().any(|known| name == known)),
        "{left:?}"
    );
}

#[test]
fn the_pipe_backend_needs_no_privileges_and_says_what_it_cannot_see() {
    let user = User::new();
    let ran = user.run(&["showdown", "--runs", "2", "--only", "floor-elf", "--backend", "pipe"]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("pipe"), "{ran:?}");
}

#[test]
fn without_privileges_it_falls_back_and_says_in_one_line_what_is_lost() {
    let user = User::new();
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
    ]);
    let binary = user.path("firstbyte");
    copy_executable(env!("CARGO_BIN_EXE_firstbyte").as_ref(), &binary, 0o755);
    open_to_all(user.home.path());
    command.arg(&binary).args(["showdown", "--runs", "2", "--only", "floor-elf"]);
    command.env("FIRSTBYTE_CACHE", user.path("cache")).env("COLUMNS", "80");
    let Ok(output) = command.output() else { return skipped("there is no `setpriv`") };
    let ran = Ran::from(output);
    if ran.stderr.contains("setpriv:") {
        return skipped("privileges cannot be dropped here");
    }
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("ptrace"), "{ran:?}");
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("bpf does not work here"), "{ran:?}");
    // without them in the bounding set, root would not help
    assert!(words.contains("it needs CAP_BPF and CAP_PERFMON, which this container lacks"), "{ran:?}");
    assert!(words.contains("--cap-add BPF --cap-add PERFMON"), "{ran:?}");
}

fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
}

#[test]
fn completions_and_manual_pages_are_generated() {
    let user = User::new();
    for shell in ["bash", "zsh", "fish"] {
        let ran = user.run(&["completions", shell]);
        assert_eq!(ran.status, Some(0));
        assert!(ran.stdout.contains("showdown"), "{shell}");
    }
    let page = user.run(&["man"]);
    assert!(page.stdout.contains(".TH firstbyte"), "{page:?}");
    let pages = user.path("not/yet/there");
    assert_eq!(user.run(&["man", "--output", pages.to_str().unwrap()]).status, Some(0));
    assert!(pages.join("firstbyte-showdown.1").exists());
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let user = User::new();
    let script = format!("{} showdown --list | head -n 1", env!("CARGO_BIN_EXE_firstbyte"));
    let output = Command::new("bash").args(["-o", "pipefail", "-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    drop(user);
}

/// Nothing panics, and the exit status is the same as if somebody had read the messages.
#[test]
fn messages_that_nobody_can_read_change_nothing() {
    let user = User::new();
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let gone = || std::io::pipe().unwrap().1;
    let table: [(&[&str], i32); 7] = [
        (&["frobnicate"], 2),
        (&["bench", "--prepeare", "x", "true"], 2),
        (&["bench", "no-such-program"], 3),
        (&["report", "missing.json"], 2),
        (&["watch", "--", "no-such-program"], 3),
        (&["watch", "--backend", "ptrace", "--", "true"], 0),
        (&["bench", "--runs", "2", "--backend", "pipe", "true"], 0),
    ];
    for (arguments, status) in table {
        for stderr in [Stdio::from(full()), Stdio::from(gone())] {
            let mut command = user.command(arguments);
            let ended = command.stderr(stderr).stdout(Stdio::null()).status().unwrap();
            assert_eq!(ended.code(), Some(status), "{arguments:?}");
        }
    }

    for option in ["--version", "--help"] {
        let status = |stdout: Stdio| user.command(&[option]).stdout(stdout).status().unwrap().code();
        assert_eq!((status(full().into()), status(gone().into())), (Some(4), Some(0)), "{option}");
    }
}
