//! `firstbyte tune`, with programs whose costs are known by construction.

use crate::support::{as_nobody, of_nobody, skipped, wait_until, with_default_signal, write_executable};
use firstbyte_measure::launch::find_in_path;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A command in this folder, with a small and known environment. What it writes for itself goes to `tmp`.
fn firstbyte(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    fs::create_dir_all(folder.join("tmp")).unwrap();
    command.current_dir(folder.join("work")).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("TMPDIR", folder.join("tmp")).arg("tune").args(words).stdin(Stdio::null());
    command
}

fn tune(folder: &Path, words: &[&str]) -> Output {
    firstbyte(folder, words).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The results of a command that succeeds. It leaves nothing behind.
#[track_caller]
fn document(folder: &Path, words: &[&str]) -> Value {
    let words: Vec<&str> = ["--json", "--budget", "40s"].iter().chain(words).copied().collect();
    let output = firstbyte(folder, &words).env("BUSY", "1").output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(fs::read_dir(folder.join("tmp")).unwrap().count(), 0, "temporary files remain");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The names of the ways with this verdict.
fn with_verdict(document: &Value, verdict: &str) -> Vec<String> {
    let all = document["results"].as_array().unwrap().iter().filter(|tuned| tuned["verdict"] == verdict);
    all.map(|tuned| tuned["name"].as_str().unwrap().to_owned()).collect()
}

fn reason(document: &Value, name: &str) -> String {
    let all = document["untried"].as_array().unwrap();
    all.iter().find(|it| it["name"] == name).unwrap()["reason"].as_str().unwrap().to_owned()
}

/// A folder with a script that does `work` and prints a line, and a file of variants for any program.
fn folder(work: &str, variants: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("work")).unwrap();
    write_executable(&folder.path().join("work/program"), format!("#!/bin/sh\n{work}\necho done\n"), 0o755);
    fs::create_dir_all(folder.path().join("own")).unwrap();
    fs::write(folder.path().join("own/own.toml"), format!("runtime = \"own\"\n{variants}")).unwrap();
    folder
}

/// A variant that sets or removes something.
fn variant(name: &str, change: &str) -> String {
    format!("[[variant]]\nname = \"{name}\"\ntext = \"a test\"\n{change}\n")
}

#[test]
fn a_shim_is_bypassed_and_the_way_to_do_it_is_printed() {
    let folder = folder("", "");
    write_executable(
        &folder.path().join("work/shim"),
        "#!/bin/sh\nexport SHIMMED=1\nsleep 0.03\nexec ./program \"$@\"\n",
        0o755,
    );
    let found = document(folder.path(), &["--only", "direct", "./shim", "an argument"]);
    assert_eq!(with_verdict(&found, "faster"), ["direct"]);
    let direct = &found["results"][0];
    assert_eq!(direct["command"], "SHIMMED=1 /bin/sh ./program 'an argument'");
    assert_eq!((&direct["finding"], &direct["confirmed"]), (&Value::from("exec-chain"), &Value::from(true)));
    assert!(direct["ratio"]["high"].as_f64().unwrap() < 1.0);
}

#[test]
fn a_variable_that_makes_the_program_busy_is_found_and_one_that_makes_it_slow_is_no_help() {
    let variants =
        variant("unset", "unset = [\"BUSY\", \"OTHER\"]") + &variant("slow", "set = { SLOW = \"1\" }");
    let work = "[ -z \"$BUSY\" ] || sleep 0.03\n[ -z \"$SLOW\" ] || sleep 0.03";
    let folder = folder(work, &variants);
    let own = folder.path().join("own");
    let words = ["--catalogue", own.to_str().unwrap(), "--only", "unset,slow", "./program"];
    let found = document(folder.path(), &words);
    assert_eq!(with_verdict(&found, "faster"), ["unset-BUSY"]);
    assert_eq!(with_verdict(&found, "slower"), ["slow"]);
    assert_eq!(found["results"][0]["command"], "env -u BUSY ./program");
    assert_eq!((&found["together"], &found["kind"]), (&Value::Null, &Value::from("tune")));
    assert!(found["executions"].as_u64().unwrap() > 30);
}

#[test]
fn the_first_byte_counts_and_of_what_prints_nothing_the_total() {
    let variants = variant("unset", "unset = [\"BUSY\"]");
    let folder = folder("", &variants);
    let own = folder.path().join("own");
    let of = |program: &str, more: &[&str]| {
        let path = folder.path().join("work/program");
        write_executable(&path, format!("#!/bin/sh\n{program}\n"), 0o755);
        let words = ["--catalogue", own.to_str().unwrap(), "--only", "unset", "./program"];
        document(folder.path(), &[more, &words].concat())
    };
    let late = "echo done\n[ -z \"$BUSY\" ] || sleep 0.03";
    let found = of(late, &[]);
    assert_eq!((&found["by"], with_verdict(&found, "faster")), (&Value::from("first_byte"), Vec::new()));
    assert!(found["plain_total_ns"].as_f64() > found["plain_ns"].as_f64());
    let found = of(late, &["--for", "total"]);
    assert_eq!((&found["by"], with_verdict(&found, "faster")), (&"total".into(), vec!["unset-BUSY".into()]));
    let found = of("[ -z \"$BUSY\" ] || sleep 0.03", &[]);
    assert_eq!((&found["by"], &found["silent"]), (&Value::from("total"), &Value::from(true)));
    assert_eq!(with_verdict(&found, "faster"), ["unset-BUSY"]);
}

#[test]
fn the_budget_bounds_all_runs_and_what_is_not_tried_within_it_is_named() {
    let variants: String =
        (0..30).map(|n| variant(&format!("v{n}"), &format!("set = {{ V{n} = \"1\" }}"))).collect();
    let folder = folder("sleep 0.1", &variants);
    let own = folder.path().join("own");
    let tried = |budget: &str| {
        let words = ["--json", "--budget", budget, "--catalogue", own.to_str().unwrap(), "./program"];
        let output = tune(folder.path(), &words);
        assert!(output.status.success(), "{}", text(&output));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    for (budget, runs) in [("100ms", 2), ("4s", 40)] {
        let found = tried(budget);
        // each run takes 100 ms at least
        assert!(found["executions"].as_u64().unwrap() <= runs, "{budget}: {found}");
        let count = ["results", "untried"].map(|list| found[list].as_array().unwrap().len());
        assert!(count.iter().sum::<usize>() >= 30, "{found}");
        assert!(reason(&found, "v29").contains("no time is left (--budget)"), "{found}");
    }
}

#[test]
fn what_prints_something_else_or_fails_is_refused() {
    let unmade = "make = [\"sh\", \"-c\", \"echo gone >&2; exit 3\"]\nset = { A = \"1\" }";
    let variants = variant("loud", "set = { LOUD = \"1\" }")
        + &variant("failing", "set = { FAIL = \"1\" }")
        + &variant("unmade", unmade);
    let work = "[ -z \"$LOUD\" ] || echo loud\n[ -z \"$FAIL\" ] || { echo why >&2; exit 7; }\nsleep 0.01";
    let folder = folder(work, &variants);
    let own = folder.path().join("own");
    let words = ["--catalogue", own.to_str().unwrap(), "--only", "loud,failing,unmade", "./program"];
    let found = document(folder.path(), &words);
    assert_eq!(found["results"], Value::Array(Vec::new()));
    let loud = "it prints something else to stdout, in line 1: `loud` instead of `done`";
    assert_eq!(reason(&found, "loud"), loud);
    let failing = reason(&found, "failing");
    assert!(failing.contains("exit status 7") && failing.ends_with(": why"), "{failing}");
    assert_eq!(reason(&found, "unmade"), "`sh`: it ended with exit status 3 instead of exit status 0: gone");
}

#[test]
fn two_that_help_only_together_are_found_and_what_does_nothing_is_left_out() {
    let variants =
        ["a", "b", "c"].map(|name| variant(name, &format!("set = {{ {} = \"1\" }}", name.to_uppercase())));
    let folder = folder("[ \"$A$B\" = 11 ] || sleep 0.03", &variants.concat());
    let own = folder.path().join("own");
    let words = ["--catalogue", own.to_str().unwrap(), "--only", "a,b,c", "./program"];
    let found = document(folder.path(), &words);
    assert!(with_verdict(&found, "faster").is_empty(), "{found}");
    let mut names: Vec<&str> =
        found["together"]["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(found["together"]["command"], "A=1 B=1 ./program");
}

#[test]
fn a_program_that_prints_its_pid_stops_it_until_the_difference_is_accepted() {
    let folder = folder("echo \"pid $$\"", &variant("a", "set = { A = \"1\" }"));
    let own = folder.path().join("own");
    let own = own.to_str().unwrap();
    let refused = tune(folder.path(), &["--catalogue", own, "--only", "a", "./program"]);
    let message = text(&refused);
    assert_eq!(refused.status.code(), Some(4), "{message}");
    assert!(message.contains("in line 1: `pid ") && message.contains("help: --yes"), "{message}");

    let accepted = ["--accept", "pid [0-9]+", "--catalogue", own, "--only", "a", "./program"];
    let found = document(folder.path(), &accepted);
    let only_exit = "only the exit statuses are compared";
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
    assert!(!found["warnings"].to_string().contains(only_exit), "{found}");
    let found = document(folder.path(), &["--yes", "--catalogue", own, "--only", "a", "./program"]);
    assert!(found["warnings"].to_string().contains(only_exit), "{found}");
}

#[test]
fn a_command_that_changes_files_stops_it() {
    let folder = folder("date >>written", "");
    let refused = tune(folder.path(), &["./program"]);
    let message = text(&refused);
    assert_eq!(refused.status.code(), Some(4), "{message}");
    assert!(
        message.contains("it changes files in the working directory: ") && message.contains("/written"),
        "{message}"
    );
    assert_eq!(fs::read_to_string(folder.path().join("work/written")).unwrap().lines().count(), 2);
}

#[test]
fn a_list_runs_nothing_and_names_what_would_be_tried() {
    let folder = folder("date >>written", &variant("mine", "options = [\"-x\"]\nbehaviour = true"));
    let own = folder.path().join("own");
    let words = ["--list", "--catalogue", own.to_str().unwrap(), "./program"];
    let output = firstbyte(folder.path(), &words).env("LD_BIND_NOW", "1").output().unwrap();
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    for line in [
        "unset-LD_BIND_NOW\n",
        "  env -u LD_BIND_NOW ./program\n",
        "mine (changes what it does)\n",
        "  /bin/sh -x ./program\n",
    ] {
        assert!(text.contains(line), "{line:?}: {text}");
    }
    assert!(!folder.path().join("work/written").exists());
}

#[test]
fn what_a_way_writes_is_kept_only_for_those_who_ask() {
    let cache = "set = { CACHE = \"{folder}\" }\nwrites = \"a cache\"\nundo = \"remove the folder\"";
    let work = "[ -e \"$CACHE/done\" ] || sleep 0.03\n[ -z \"$CACHE\" ] || : >\"$CACHE/done\"";
    let folder = folder(work, &variant("cache", cache));
    let own = folder.path().join("own");
    let words = ["--catalogue", own.to_str().unwrap(), "--only", "cache", "./program"];
    let found = document(folder.path(), &words);
    assert_eq!(with_verdict(&found, "faster"), ["cache"]);
    assert_eq!(found["results"][0]["command"], "CACHE=DIR/cache ./program");

    let kept = folder.path().join("kept");
    let words = [&["--keep", kept.to_str().unwrap()], &words[..]].concat();
    let found = document(folder.path(), &words);
    let command = format!("CACHE={}/cache ./program", kept.display());
    assert_eq!(found["results"][0]["command"], command.as_str());
    assert!(kept.join("cache/done").exists());
    let again = tune(folder.path(), &words);
    assert_eq!(again.status.code(), Some(2), "{}", text(&again));
    assert!(text(&again).contains("it is not empty"));
}

#[test]
fn what_cannot_be_tuned_says_why() {
    let folder = folder("", "[[variant]]\nname = \"x\"\ntext = \"t\"\nunknown = 1");
    let own = folder.path().join("own");
    for (words, status, message) in [
        (
            &["--catalogue", own.to_str().unwrap(), "./program"][..],
            2,
            "own.toml` line 5: unknown field `unknown`",
        ),
        (&["--only", "nothing", "./program"], 2, "no way named `nothing` applies to this command"),
        (&["--accept", "(", "./program"], 2, "`(` is not a regular expression"),
        (&[], 2, "there is no program to start"),
        (&["./missing"], 3, "`./missing` does not exist"),
        (&["sh", "-c", "exit 5"], 3, "it ended with exit status 5"),
        (&["--for", "first-byte", "true"], 2, "`true` prints nothing to stdout, so it has no first byte"),
    ] {
        let output = tune(folder.path(), words);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {said}");
        assert!(said.contains(message) && said.contains("help: "), "{words:?}: {said}");
        assert_eq!(fs::read_dir(folder.path().join("tmp")).unwrap().count(), 0);
    }
}

#[test]
fn an_interruption_shows_what_is_proven() {
    let folder =
        folder("echo x >>\"$RUNS\"\n[ -z \"$BUSY\" ] || sleep 0.03", &variant("unset", "unset = [\"BUSY\"]"));
    let (own, runs) = (folder.path().join("own"), folder.path().join("runs"));
    let words =
        ["--budget", "10m", "--catalogue", own.to_str().unwrap(), "--only", "unset-BUSY", "./program"];
    let mut command = firstbyte(folder.path(), &words);
    command.env("BUSY", "1").env("RUNS", &runs).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = with_default_signal(libc::SIGINT, &mut command).spawn().unwrap();
    wait_until("it measures", || fs::read_to_string(&runs).is_ok_and(|text| text.lines().count() >= 160));
    let pid = i32::try_from(child.id()).unwrap();
    // SAFETY: a signal to our own child.
    unsafe { libc::kill(pid, libc::SIGINT) };
    let output = child.wait_with_output().unwrap();
    let text = text(&output);
    assert_eq!(output.status.code(), Some(130), "{text}");
    let sentence = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(sentence.contains("Interrupted: what is proven until then."), "{text}");
    assert!(text.contains("env -u BUSY ./program"), "{text}");
    assert_eq!(fs::read_dir(folder.path().join("tmp")).unwrap().count(), 0);
}

#[test]
fn the_ways_that_an_interruption_cuts_off_are_named() {
    let variants =
        variant("halting", "set = { HALT = \"1\" }") + &variant("later", "set = { LATER = \"1\" }");
    let folder = folder("[ -z \"$HALT\" ] || { kill -INT $PPID; sleep 60; }", &variants);
    let own = folder.path().join("own");
    let words = ["--json", "--catalogue", own.to_str().unwrap(), "--only", "halting,later", "./program"];
    let mut command = firstbyte(folder.path(), &words);
    let output = with_default_signal(libc::SIGINT, &mut command).output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    for name in ["halting", "later"] {
        assert_eq!(reason(&found, name), "interrupted before it was measured");
    }
}

#[test]
fn an_ordinary_user_tunes_too() {
    let Some(folder) = of_nobody() else { return };
    let program = folder.path().join("program");
    write_executable(&program, "#!/bin/sh\n[ -z \"$LD_BIND_NOW\" ] || sleep 0.03\necho done\n", 0o755);
    let words = ["./firstbyte", "tune", "--json", "--budget", "20s", "--only", "unset", "./program"];
    let mut command = as_nobody(folder.path(), &words);
    // cargo's own one really costs something
    let output = command.env("LD_BIND_NOW", "1").env_remove("LD_LIBRARY_PATH").output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(with_verdict(&found, "faster"), ["unset-LD_BIND_NOW"]);
}

#[test]
fn the_child_that_prints_is_started_without_the_program_around_it() {
    let folder = folder("", "");
    let shim = "#!/bin/sh\nsleep 0.03\n: $(uname)\nprintf ''\n./program \"$@\"\nexit $?\n";
    write_executable(&folder.path().join("work/shim"), shim, 0o755);
    let found = document(folder.path(), &["--only", "direct-child", "./shim", "an argument"]);
    assert_eq!(with_verdict(&found, "faster"), ["direct-child"]);
    let child = &found["results"][0];
    assert_eq!(child["command"], "/bin/sh ./program 'an argument'");
    assert_eq!(child["behaviour"], true);
    write_executable(&folder.path().join("work/shim"), "#!/bin/sh\necho begin\n./program\n", 0o755);
    let refused = tune(folder.path(), &["--only", "direct-child", "./shim"]);
    assert!(text(&refused).contains("no way named `direct-child` applies"), "two programs print");
}

/// The ways that are proven for a shell with this start-up file.
fn of_shell(file: &str, only: &str, words: &[&str]) -> Option<Value> {
    if find_in_path(words[0]).is_none() {
        skipped(&format!("there is no {}", words[0]));
        return None;
    }
    let folder = folder("", "");
    fs::write(folder.path().join("work").join(file), "x=1\nsleep 0.05\ny=1\n").unwrap();
    let words: Vec<&str> = ["--json", "--only", only, "--"].iter().chain(words).copied().collect();
    let output = firstbyte(folder.path(), &words).env("HOME", folder.path().join("work")).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn the_line_of_a_start_up_file_that_costs_most_is_left_out() {
    for (shell, file) in [("zsh", ".zshrc"), ("bash", ".bashrc")] {
        let words = [shell, "-ic", "echo done"];
        let Some(found) = of_shell(file, &format!("{shell}-line,zsh-compiled"), &words) else { continue };
        assert_eq!(with_verdict(&found, "faster"), [format!("{shell}-line-{file}-2")], "{found}");
        let text = found["results"][0]["text"].as_str().unwrap();
        assert!(text.contains("line 2 of ") && text.ends_with(file), "{text}");
        let count = if shell == "zsh" { 2 } else { 1 };
        assert_eq!(found["results"].as_array().unwrap().len(), count, "zsh-compiled is tried: {found}");
    }
}

#[test]
fn a_hook_of_python_is_left_out_and_everything_else_is_the_same() {
    let python = "/usr/bin/python3";
    let folder = folder("", "");
    let mut site = Command::new(python);
    site.args(["-c", "import site; print(site.USER_SITE)"]).env("PYTHONUSERBASE", "base");
    let Ok(site) = site.env_remove("PYTHONNOUSERSITE").output() else {
        return skipped("there is no /usr/bin/python3");
    };
    let site = folder.path().join("work").join(String::from_utf8(site.stdout).unwrap().trim());
    fs::create_dir_all(&site).unwrap();
    fs::write(site.join("slow.pth"), "import time; time.sleep(0.05)\n").unwrap();
    fs::write(site.join("other.pth"), "import sys; sys.other = 1\n").unwrap();
    let program = "import sys; print(sys.other, sys.argv, sys.path[0], __name__, __file__)";
    fs::write(folder.path().join("work/app.py"), program).unwrap();
    let base = folder.path().join("work/base");
    let words = ["--json", "--only", "python-hook", "--", python, "app.py", "x"];
    let output = firstbyte(folder.path(), &words).env("PYTHONUSERBASE", base).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
    assert_eq!(with_verdict(&found, "faster"), ["python-hook-slow.pth"], "{found}");
    assert!(reason(&found, "python-hook-other.pth").contains("no attribute 'other'"), "{found}");
}

#[test]
fn the_helpers_of_every_ruby_are_left_out_without_a_warning() {
    if find_in_path("ruby").is_none() {
        return skipped("there is no ruby");
    }
    let words = ["--json", "--budget", "20s", "--only", "ruby-no-helpers", "--", "ruby", "-e", "puts 1"];
    let output = tune(folder("", "").path(), &words);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
    assert_eq!(found["results"][0]["name"], "ruby-no-helpers", "{found}");
}

#[test]
fn a_program_is_compiled_with_other_options() {
    if find_in_path("cc").is_none() {
        return skipped("there is no cc");
    }
    let fast = variant("fast", "how = \"build\"\ncompiler = [\"-DFAST\"]\nwrites = \"a program\"");
    let folder = folder("", &fast);
    let source = "#include <unistd.h>\n#ifndef FAST\n#define FAST usleep(30000);\n#else\n#undef FAST\n#define FAST\n#endif\n\
                  int main(void) { FAST return write(1, \"done\", 4) != 4; }\n";
    fs::write(folder.path().join("work/app.c"), source).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-o", "app", "app.c"]).current_dir(folder.path().join("work"));
    assert!(compiler.status().unwrap().success());
    let own = folder.path().join("own");
    let build = ["--catalogue", own.to_str().unwrap(), "--build", "cc -o app app.c"];
    let found = document(folder.path(), &[&build[..], &["--only", "fast,build-bind-now", "./app"]].concat());
    assert_eq!(with_verdict(&found, "faster"), ["fast"], "{found}");
    assert_eq!(found["results"][0]["command"], "DIR/fast/program");
    let wrong = tune(folder.path(), &["--build", "cc app.c", "./app"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong).contains("has no `-o FILE`"), "{}", text(&wrong));
}

#[test]
fn findings_of_trace_end_with_the_command_that_tries_what_removes_their_cause() {
    let folder = folder("", "");
    write_executable(&folder.path().join("work/shim"), "#!/bin/sh\nsleep 0.03\nexec ./program\n", 0o755);
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.current_dir(folder.path().join("work")).args(["trace", "--json", "--runs", "3", "./shim"]);
    let output = command.output().unwrap();
    let traced: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = traced["results"][0]["findings"].as_array().unwrap();
    let of_chain = findings.iter().find(|finding| finding["rule"] == "exec-chain").unwrap();
    assert_eq!(of_chain["tune"], "firstbyte tune --only direct ./shim");
}
