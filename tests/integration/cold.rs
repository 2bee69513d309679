//! Cold runs: they are proven to be cold, and nothing outside changes.

use crate::support::{
    as_nobody, copy_executable, of_nobody, skipped, wait_until, with_default_signal, write_executable,
};
use firstbyte_measure::page_cache::resident_pages;
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A folder on the file system of the project.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn cold(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.args(["bench", "--cache", "cold", "--no-counts"]).args(arguments);
    command.current_dir(folder).env("FIRSTBYTE_CACHE", folder.join("cache")).stdin(Stdio::null());
    command
}

/// The exported document; `None`, reported as skipped, if this machine allows no mount namespace or has no suitable disk.
pub(crate) fn measured(folder: &Path, arguments: &[&str]) -> Option<Value> {
    let output =
        cold(folder, &[&["--runs", "3", "--export-json", "-"], arguments].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(4) {
        skipped(said.trim());
        return None;
    }
    Some(serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}")))
}

fn copies_left(folder: &Path) -> usize {
    fs::read_dir(folder.join("cache/cold")).map_or(0, Iterator::count)
}

/// The C library that this program has mapped.
fn own_libc() -> Option<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| line.contains("libc.so"))?;
    line.split_whitespace().last().map(PathBuf::from)
}

#[test]
fn every_run_of_a_dynamic_program_starts_with_no_resident_page_and_waits_for_the_disk() {
    let folder = folder();
    let Some(document) = measured(folder.path(), &["echo hi"]) else { return };
    let result = &document["results"][0];
    assert_eq!((&result["cache"], &result["cold"]["resident_pages"]), (&"cold".into(), &0.into()));
    let numbers = |name: &str| -> Vec<u64> {
        result["cold"][name].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect()
    };
    assert_eq!(numbers("major_faults").len(), 3);
    assert!(numbers("major_faults").iter().all(|faults| *faults > 0), "{result}");
    assert!(numbers("bytes_from_disk").iter().all(|bytes| *bytes > 0), "{result}");
    assert!(result["cold"]["files"].as_u64().unwrap() >= 2, "the program, its loader, its library");
}

#[test]
fn warm_and_cold_are_side_by_side_with_what_was_in_memory_before() {
    let folder = folder();
    let words = ["--cache", "warm,cold", "--runs", "3", "--no-counts", "--no-overhead", "echo hi"];
    let run = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
        command.current_dir(folder.path()).env("FIRSTBYTE_CACHE", folder.path().join("cache"));
        command.arg("bench").args(words).args(more).output().unwrap()
    };
    let ran = run(&["--export-json", "-"]);
    if ran.status.code() == Some(4) {
        return skipped("cold runs do not work here");
    }

    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    for result in document["results"].as_array().unwrap() {
        let resident = result["resident"].as_array().unwrap();
        let part = |role: &str| resident.iter().find(|part| part["role"] == role).unwrap();
        for role in ["executable", "loader", "libc"] {
            let [pages, in_memory] = ["pages", "resident"].map(|name| part(role)[name].as_u64().unwrap());
            assert!(pages > 0 && in_memory <= pages, "{result}");
            assert_eq!(in_memory > 0, result["cache"] == "warm", "{role}: {result}");
        }
    }

    let text = String::from_utf8(run(&[]).stdout).unwrap();
    assert!(text.contains("in memory   executable 0 of ") && text.contains("no_cache"), "{text}");
    let row = text.lines().skip_while(|line| !line.contains("no_cache")).nth(2).unwrap_or_default();
    assert!(row.starts_with("echo hi "), "{text}");
}

#[test]
fn nothing_outside_is_changed() {
    let folder = folder();
    let Some(_) = measured(folder.path(), &["echo hi"]) else { return };
    assert_eq!(copies_left(folder.path()), 0);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains("/cache/cold/"), "{mounts}");
    if let Some(libc) = own_libc() {
        assert!(resident_pages(&File::open(libc).unwrap()).unwrap() > 0, "other programs still use it");
    }
}

#[test]
fn scripts_absolute_paths_and_later_processes_are_cold_too() {
    let folder = folder();
    let text = folder.path().join("text");
    fs::write(&text, "content\n").unwrap();
    let script = folder.path().join("script");
    write_executable(&script, format!("#!/usr/bin/env sh\ncat {}\n", text.display()), 0o755);
    let Some(document) = measured(folder.path(), &["./script"]) else { return };
    let result = &document["results"][0];
    assert_eq!(result["output"]["bytes"], 8);
    // The script, the text, env, sh, cat, the loader and the library.
    assert!(result["cold"]["files"].as_u64().unwrap() >= 7, "{}", result["cold"]);
}

#[test]
fn a_written_file_keeps_its_contents_and_is_reported() {
    let folder = folder();
    fs::write(folder.path().join("journal"), "old\n").unwrap();
    fs::write(folder.path().join("log"), "old\n").unwrap();
    fs::write(folder.path().join("table"), "old\n").unwrap();
    let script =
        "sh -c 'echo new <> journal >&0; echo new >> log; cat table; echo made > fresh; echo new > table'";
    let Some(document) = measured(folder.path(), &[script]) else { return };
    let left: Vec<&str> = document["results"][0]["cold"]["left_warm"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| path.as_str().unwrap().rsplit('/').next().unwrap())
        .collect();
    assert_eq!(left, ["journal", "log", "table"], "files that are only written are not read");
    for name in ["journal", "table", "log"] {
        assert!(fs::read_to_string(folder.path().join(name)).unwrap().contains("new"), "{name}");
    }
    // The existing line, two runs that look for files, at least three measured runs.
    assert!(fs::read_to_string(folder.path().join("log")).unwrap().lines().count() >= 1 + 2 + 3);
    let text = cold(folder.path(), &["--runs", "1", script]).output().unwrap().stdout;
    let words = String::from_utf8(text).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("left warm, because the runs write to it, replace it or remove it: "), "{words}");
}

#[test]
fn a_file_that_a_program_replaces_is_left_alone_and_reported() {
    let folder = folder();
    fs::write(folder.path().join("state"), "old\n").unwrap();
    let script = "sh -c 'cat state; cp state fresh; mv fresh state'";
    let Some(document) = measured(folder.path(), &[script]) else { return };
    let left = &document["results"][0]["cold"]["left_warm"];
    assert!(left.as_array().unwrap().len() == 1 && left[0].as_str().unwrap().ends_with("/state"), "{left}");
    assert_eq!(fs::read_to_string(folder.path().join("state")).unwrap(), "old\n");
}

#[test]
fn a_file_written_before_each_run_is_cold_when_the_run_starts() {
    let folder = folder();
    fs::write(folder.path().join("source"), vec![b'x'; 1 << 20]).unwrap();
    fs::write(folder.path().join("made"), "").unwrap();
    let made = ["--prepare", "cat source > made", "wc -c made"];
    let Some(document) = measured(folder.path(), &made) else { return };
    let result = &document["results"][0];
    assert_eq!(result["rejected"], serde_json::json!([]), "{result}");
    let from_disk = result["cold"]["bytes_from_disk"].as_array().unwrap();
    assert!(from_disk.len() == 3 && from_disk.iter().all(|bytes| bytes.as_u64().unwrap() >= 1 << 20));
}

#[test]
fn the_input_is_cold_too() {
    let folder = folder();
    let input = folder.path().join("input");
    fs::write(&input, vec![b'x'; 1 << 20]).unwrap();
    let without = measured(folder.path(), &["wc -c"]);
    let Some(document) = measured(folder.path(), &["--input", "input", "wc -c"]) else { return };
    let count = |document: &Value, name: &str| document["results"][0]["cold"][name].as_u64().unwrap();
    assert_eq!(count(&document, "files"), count(&without.unwrap(), "files") + 1);
    let from_disk = document["results"][0]["cold"]["bytes_from_disk"].as_array().unwrap().clone();
    assert!(from_disk.iter().all(|bytes| bytes.as_u64().unwrap() >= 1 << 20), "{from_disk:?}");
}

#[test]
fn files_that_several_programs_use_are_counted_for_each() {
    let Some(document) = measured(folder().path(), &["echo hi", "echo ho"]) else { return };
    let [first, second] = [0, 1].map(|place| &document["results"][place]["cold"]);
    assert_eq!((&first["files"], &first["bytes"]), (&second["files"], &second["bytes"]));
    assert!(second["bytes"].as_u64().unwrap() > 1000, "{second}");
}

#[test]
fn a_failed_search_for_files_is_reported() {
    let folder = folder();
    let shy = "sh -c 'grep -q \"^TracerPid:.0$\" /proc/self/status || exit 3'";
    let Some(document) = measured(folder.path(), &["--backend", "pipe", shy]) else { return };
    let doubt = &document["results"][0]["cold"]["doubt"];
    assert_eq!(doubt, "it ended with exit status 3 instead of exit status 0");
}

#[test]
fn files_in_memory_are_reported() {
    let folder = folder();
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return skipped("no /dev/shm here") };
    let program = memory.path().join("echo");
    copy_executable("/bin/echo".as_ref(), &program, 0o755);
    let Some(document) = measured(folder.path(), &[&format!("{} hi", program.display())]) else { return };
    let named = &document["results"][0]["cold"]["in_memory"];
    assert_eq!(named[0], format!("{} (tmpfs)", program.display()));
}

#[test]
fn a_cache_folder_in_memory_is_refused() {
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return skipped("no /dev/shm here") };
    let output = cold(memory.path(), &["true"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("help: "), "{said}");
}

/// An invocation in the middle of its cold runs; `None`, reported as skipped, if cold runs do not work.
fn measuring(folder: &Path) -> Option<Child> {
    let mut command = cold(folder, &["--runs", "100000", "sh -c 'echo x >> ran; : 98770'"]);
    let mut running = with_default_signal(libc::SIGINT, command.stdout(Stdio::null())).spawn().unwrap();
    loop {
        if running.try_wait().unwrap().is_some() {
            skipped("cold runs do not work here");
            return None;
        }
        if fs::metadata(folder.join("ran")).is_ok_and(|ran| ran.len() > 20) {
            return Some(running);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn an_interruption_leaves_no_copy_no_mount_and_no_process() {
    let folder = folder();
    let Some(mut running) = measuring(folder.path()) else { return };
    let pid = rustix::process::Pid::from_child(&running);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(130));
    assert_eq!(copies_left(folder.path()), 0);
    assert!(!fs::read_to_string("/proc/self/mountinfo").unwrap().contains("/cache/cold/"));
    let ours = folder.path().to_str().unwrap();
    let works_here = |process: &fs::DirEntry| {
        let here = fs::read_link(process.path().join("cwd"));
        here.is_ok_and(|folder| folder.to_string_lossy().starts_with(ours))
    };
    wait_until("its processes are gone", || {
        !fs::read_dir("/proc").unwrap().flatten().any(|process| works_here(&process))
    });
}

#[test]
fn the_next_invocation_removes_what_a_killed_one_leaves() {
    let folder = folder();
    let Some(mut killed) = measuring(folder.path()) else { return };
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(copies_left(folder.path()), 1);
    assert!(!fs::read_to_string("/proc/self/mountinfo").unwrap().contains("/cache/cold/"));
    measured(folder.path(), &["true"]).unwrap();
    assert_eq!(copies_left(folder.path()), 0);
}

#[test]
fn simultaneous_invocations_do_not_disturb_each_other() {
    let folder = folder();
    if measured(folder.path(), &["true"]).is_none() {
        return;
    }
    for _ in 0..5 {
        let start = || cold(folder.path(), &["--backend", "pipe", "--runs", "1", "true"]).output().unwrap();
        let outputs = std::thread::scope(|scope| {
            let running: Vec<_> = (0..6).map(|_| scope.spawn(start)).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        for output in outputs {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    assert_eq!(copies_left(folder.path()), 0);
}

#[test]
fn a_showdown_can_be_cold_too() {
    let folder = folder();
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.args(["showdown", "--only", "floor-elf", "--cache", "cold", "--runs", "2", "--no-counts"]);
    command.args(["--export-json", "-"]).env("FIRSTBYTE_CACHE", folder.path().join("cache"));
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(4) {
        return skipped(said.trim());
    }
    let document: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    let floor = &document["results"][0];
    assert_eq!((&floor["name"], &floor["cache"]), (&"floor-elf".into(), &"cold".into()));
    assert_eq!(
        (&floor["cold"]["files"], &floor["cold"]["resident_pages"]),
        (&1.into(), &0.into()),
        "{floor}"
    );
    assert_eq!(copies_left(folder.path()), 0);
}

/// Measures a cold hello world of an interpreter, which must use at least `fewest` files. Skipped without the interpreter.
fn interpreted(interpreter: &str, command: &str, fewest: u64, prepare: impl FnOnce(&Path)) {
    if firstbyte_measure::launch::find_in_path(interpreter).is_none() {
        return skipped(&format!("`{interpreter}` is not installed"));
    }
    let folder = folder();
    prepare(folder.path());
    let Some(document) = measured(folder.path(), &[command]) else { return };
    let result = &document["results"][0];
    let cold = &result["cold"];
    assert_eq!((&cold["method"], &cold["resident_pages"]), (&"copies".into(), &0.into()));
    assert!(cold["doubt"].is_null(), "{cold}");
    assert!(cold["files"].as_u64().unwrap() >= fewest, "{cold}");
    assert_eq!(result["output"]["bytes"], 6, "hello and a newline");
    for name in ["major_faults", "bytes_from_disk"] {
        let each: Vec<u64> =
            cold[name].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect();
        assert!(each.len() == 3 && each.iter().all(|count| *count > 0), "{name}: {cold}");
    }
    assert_eq!(copies_left(folder.path()), 0);
}

#[test]
fn python_is_cold_with_its_modules() {
    interpreted("python3", "python3 -c 'print(\"hello\")'", 10, |_| ());
}

#[test]
fn ruby_is_cold_with_its_gems() {
    interpreted("ruby", "ruby -e 'puts :hello'", 10, |_| ());
}

#[test]
fn node_is_cold_with_its_libraries() {
    interpreted("node", "node -e 'console.log(\"hello\")'", 5, |_| ());
}

#[test]
fn java_is_cold_with_its_modules_and_classes() {
    if firstbyte_measure::launch::find_in_path("javac").is_none() {
        return skipped("`javac` is not installed");
    }
    let source = "class Hello { public static void main(String[] a) { System.out.println(\"hello\"); } }";
    interpreted("java", "java Hello", 15, |folder| {
        fs::write(folder.join("Hello.java"), source).unwrap();
        let compiled = Command::new("javac").arg("Hello.java").current_dir(folder).status();
        assert!(compiled.unwrap().success());
    });
}

const AS_NOBODY: [&str; 9] =
    ["./firstbyte", "bench", "--cache", "cold", "--runs", "3", "--export-json", "-", "echo hi"];

fn is_refused(output: &std::process::Output, cause: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    let [line, help] = lines[..] else { panic!("{said}") };
    assert!(line.contains(&format!("cannot create a mount namespace: {cause}")), "{said}");
    assert!(help.starts_with("help: run as root, or allow it: sudo sysctl "), "{said}");
}

#[test]
fn a_user_without_privileges_has_cold_runs_if_the_kernel_allows_user_namespaces() {
    let Some(folder) = of_nobody() else { return };
    let granted = as_nobody(folder.path(), &["unshare", "--user", "--mount", "true"]).output().unwrap();
    let output = as_nobody(folder.path(), &AS_NOBODY).output().unwrap();
    if !granted.status.success() {
        return is_refused(&output, "");
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let result = &document["results"][0];
    assert_eq!(result["cold"]["resident_pages"], 0, "{result}");
    assert!(result["cold"]["files"].as_u64().unwrap() >= 2, "{result}");
    let faults = result["cold"]["major_faults"].as_array().unwrap();
    assert!(faults.len() == 3 && faults.iter().all(|count| count.as_u64().unwrap() > 0), "{result}");
    assert_eq!(result["exit_codes"], serde_json::json!([0, 0, 0]));
    assert_eq!(copies_left(folder.path()), 0);
}

#[test]
fn without_namespaces_the_message_names_the_fix() {
    let folder = folder();
    // A namespace that allows no further ones. Its limits are its own and end with it.
    let none = "cd /proc/sys/user && echo 0 > max_user_namespaces && echo 0 > max_mnt_namespaces \
                && cd \"$OLDPWD\" && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "/bin/sh", "-c", none, "sh"]);
    command.arg(env!("CARGO_BIN_EXE_firstbyte")).args(&AS_NOBODY[1..]);
    command.current_dir(folder.path()).env("FIRSTBYTE_CACHE", folder.path().join("cache"));
    let Ok(output) = command.output() else { return skipped("there is no `unshare`") };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("unshare:") || said.contains("sh:") {
        return skipped(said.trim());
    }
    is_refused(&output, "No space left on device");
}

/// The words of `stat` about a script and about its interpreter's library, seen by a cold run.
#[test]
fn a_cold_program_sees_the_owner_mode_and_times_of_its_original_files() {
    if !rustix::process::geteuid().is_root() {
        return skipped("only root can give files to others");
    }
    let folder = folder();
    let file = folder.path().join("theirs");
    fs::write(&file, "content\n").unwrap();
    std::os::unix::fs::chown(&file, Some(1234), Some(1235)).unwrap();
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o6755)).unwrap();
    let script = "sh -c 'cat theirs >/dev/null; stat --format=\"%u %g %a %Y %s\" theirs >> seen'";
    let Some(_) = measured(folder.path(), &[script]) else { return };
    let seen = fs::read_to_string(folder.path().join("seen")).unwrap();
    // two runs look for files; then they are copies
    assert!(seen.lines().count() >= 5 && seen.starts_with("1234 1235 6755 "), "{seen}");
    assert!(seen.lines().all(|line| Some(line) == seen.lines().next()), "{seen}");
}

#[test]
fn a_set_user_id_program_is_refused_to_a_user_without_privileges() {
    let Some(folder) = of_nobody() else { return };
    let granted = as_nobody(folder.path(), &["unshare", "--user", "--mount", "true"]).output().unwrap();
    if !granted.status.success() {
        return skipped("the kernel grants no user namespace");
    }
    let program = folder.path().join("rooted");
    copy_executable("/bin/true".as_ref(), &program, 0o4755);
    let words = ["./firstbyte", "bench", "--cache", "cold", "--runs", "1", "./rooted"];
    let output = as_nobody(folder.path(), &words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("it is set-user-id") && said.contains("\nhelp: run as root"), "{said}");
}

/// Every second run reads another file. Both are found.
#[test]
fn files_that_only_every_second_run_opens_are_cold_too() {
    let folder = folder();
    for name in ["first", "second", "turn"] {
        fs::write(folder.path().join(name), "1\n").unwrap();
    }
    let other = "read n < turn; if [ $n = 1 ]; then echo 2 > turn; read x < first; \
                 else echo 1 > turn; read x < second; fi";
    let none = "read n < turn; echo 1 > turn";
    let programs = [none, other].map(|script| format!("sh -c '{script}'"));
    let Some(document) = measured(folder.path(), &[&programs[0], &programs[1]]) else { return };
    let files = |program: usize| document["results"][program]["cold"]["files"].as_u64().unwrap();
    assert_eq!(files(1), files(0) + 2, "{document}");
}

/// A copy of the second one without its hole would fill the disk.
#[test]
fn a_name_as_long_as_possible_and_a_file_larger_than_the_disk_can_be_cold() {
    let folder = folder();
    let name = "n".repeat(255);
    let size = 1_u64 << 40;
    fs::write(folder.path().join(&name), "content\n").unwrap();
    let Ok(()) = File::create(folder.path().join("sparse")).unwrap().set_len(size) else {
        return skipped("this file system has no files of 1 TiB");
    };
    let command = format!("sh -c 'cat {name}; head -c 8 sparse'");
    let Some(document) = measured(folder.path(), &[&command]) else { return };
    let result = &document["results"][0];
    assert_eq!((&result["output"]["bytes"], &result["cold"]["resident_pages"]), (&16.into(), &0.into()));
    assert!(result["cold"]["bytes"].as_u64().unwrap() > size, "{}", result["cold"]);
    assert_eq!(copies_left(folder.path()), 0);
}
