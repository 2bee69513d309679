//! The GitHub action: its own steps, run here with the variables that a runner would set.

use crate::support::write_executable;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// One step of `action.yml`.
fn step(name: &str, job: &Path, variables: &[(&str, &str)]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/action").join(name);
    let path = format!("{0}/tools:{0}/firstbyte/bin:/usr/bin:/bin", job.display());
    Command::new(script)
        .current_dir(job)
        .env("PATH", path)
        .env("RUNNER_TEMP", job)
        .env("GITHUB_PATH", job.join("path"))
        .env("GITHUB_OUTPUT", job.join("output"))
        .env("GITHUB_STEP_SUMMARY", job.join("summary.md"))
        .env("GITHUB_REPOSITORY", "someone/something")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

/// A job with firstbyte installed and this file of budgets.
fn job(budgets: &str) -> tempfile::TempDir {
    let job = tempfile::tempdir().unwrap();
    fs::write(job.path().join("firstbyte.toml"), budgets).unwrap();
    let output = step("install", job.path(), &[("BINARY", env!("CARGO_BIN_EXE_firstbyte"))]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(read(job.path(), "path"), format!("{}/firstbyte/bin\n", job.path().display()));
    job
}

fn read(job: &Path, file: &str) -> String {
    fs::read_to_string(job.join(file)).unwrap()
}

#[test]
fn kept_budgets_are_in_the_summary_and_the_status_is_an_output() {
    let job = job("[[program]]\ncommand = 'true'\nprocesses = 1\n");
    let output = step("check", job.path(), &[("ARGUMENTS", "--count-runs 2")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary = read(job.path(), "summary.md");
    assert!(summary.starts_with("### Start-up is within its budgets\n\n``````````text\n"), "{summary}");
    assert!(summary.contains("1 budget") && summary.ends_with("``````````\n"), "{summary}");
    assert!(read(job.path(), "output").starts_with("status=0\n"));
}

#[test]
fn a_missed_budget_fails_only_after_the_comment() {
    let job = job("[[program]]\nname = '``````````'\ncommand = 'true'\nsyscalls = 1\n");
    let output = step("check", job.path(), &[("ARGUMENTS", "--count-runs 2")]);
    assert!(output.status.success());
    let summary = read(job.path(), "summary.md");
    assert!(summary.starts_with("### Start-up misses a budget\n"), "{summary}");
    assert_eq!(summary.matches("``````````").count(), 2, "a name may not end the block: {summary}");
    assert!(read(job.path(), "output").starts_with("status=1\n"));
}

/// Runs git in a folder.
fn git(folder: &Path, words: &[&str]) {
    let identity = ["-c", "user.name=me", "-c", "user.email=me@example.org"];
    let done = Command::new("git").current_dir(folder).args(identity).args(words).status();
    assert!(done.unwrap().success(), "{words:?}");
}

#[test]
fn a_pull_request_is_compared_with_its_merge_base() {
    let job = job("");
    let checkout = job.path().join("checkout");
    fs::create_dir(&checkout).unwrap();
    let commit = |program: &str| {
        fs::write(checkout.join("source"), program).unwrap();
        git(&checkout, &["add", "source"]);
        git(&checkout, &["commit", "--quiet", "--message", "A change"]);
    };
    git(&checkout, &["init", "--quiet", "--initial-branch=main"]);
    commit("#!/bin/sh\n:\n");
    git(&checkout, &["checkout", "--quiet", "-b", "change"]);
    commit("#!/bin/sh\nsleep 0.2\n");
    git(&checkout, &["checkout", "--quiet", "main"]);
    commit("#!/bin/sh\nexit 1\n");
    git(&checkout, &["checkout", "--quiet", "change"]);

    let build = "install -m 755 source built";
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/action/compare");
    let path = format!("{}/firstbyte/bin:/usr/bin:/bin", job.path().display());
    let mut compare = Command::new(script);
    compare.current_dir(&checkout).env("PATH", path).env("RUNNER_TEMP", job.path());
    compare
        .env("GITHUB_OUTPUT", job.path().join("output"))
        .env("GITHUB_STEP_SUMMARY", job.path().join("summary.md"));
    compare.envs([("COMMAND", "./built"), ("BUILD", build), ("LIMIT", "5%"), ("BASE", "main")]);
    let output = compare.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let summary = read(job.path(), "summary.md");
    assert!(summary.starts_with("### The start is slower\n"), "{summary}");
    assert!(summary.contains("base ") && summary.contains('█'), "both versions, with bars: {summary}");
    assert!(read(job.path(), "output").starts_with("slower=1\n"));
    assert!(!job.path().join("firstbyte/base").exists());
}

#[test]
fn only_the_pull_request_that_was_checked_gets_the_comment_of_a_fork() {
    let job = tempfile::tempdir().unwrap();
    for folder in ["tools", "firstbyte"] {
        fs::create_dir(job.path().join(folder)).unwrap();
    }
    fs::write(job.path().join("firstbyte/number"), "7\n").unwrap();
    fs::write(job.path().join("report.md"), "``````````\n@everyone\n").unwrap();
    let gh = "#!/bin/sh\ncase $* in *pulls/7*) echo abc ;; *--jq*) ;; *) echo \"$@\" >>calls ;; esac\n";
    write_executable(&job.path().join("tools/gh"), gh, 0o755);

    let comment = |head| step("comment-fork", job.path(), &[("REPORT", "report.md"), ("HEAD", head)]);
    assert_eq!(comment("def").status.code(), Some(1));
    assert!(!job.path().join("calls").exists());
    let output = comment("abc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(read(job.path(), "calls").contains("issues/7/comments"));
    assert_eq!(read(job.path(), "firstbyte/fenced.md").matches("``````````").count(), 2);
}

#[test]
fn a_second_comment_replaces_the_first() {
    let job = tempfile::tempdir().unwrap();
    let tools = job.path().join("tools");
    fs::create_dir(&tools).unwrap();
    fs::create_dir(job.path().join("firstbyte")).unwrap();
    fs::write(job.path().join("report.md"), "### fine\n").unwrap();
    let gh = tools.join("gh");
    // It lists the comment with number 7 once one was written.
    let script = "#!/bin/sh\ncase $* in *--jq*) [ ! -e calls ] || echo 7 ;; *) echo \"$@\" >>calls ;; esac\n";
    write_executable(&gh, script, 0o755);

    for _ in 0..2 {
        let output = step("comment", job.path(), &[("REPORT", "report.md"), ("NUMBER", "3")]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let calls = read(job.path(), "calls");
    let calls: Vec<&str> = calls.lines().collect();
    assert!(
        calls[0].starts_with("api --method POST repos/someone/something/issues/3/comments "),
        "{calls:?}"
    );
    assert!(
        calls[1].starts_with("api --method PATCH repos/someone/something/issues/comments/7 "),
        "{calls:?}"
    );
    assert_eq!(read(job.path(), "firstbyte/comment.md"), "<!-- firstbyte check -->\n### fine\n");
}

#[test]
fn a_token_that_may_not_comment_fails_nothing() {
    let job = tempfile::tempdir().unwrap();
    let tools = job.path().join("tools");
    fs::create_dir(&tools).unwrap();
    fs::create_dir(job.path().join("firstbyte")).unwrap();
    fs::write(job.path().join("report.md"), "### fine\n").unwrap();
    write_executable(&tools.join("gh"), "#!/bin/sh\necho 'HTTP 403' >&2\nexit 1\n", 0o755);

    let output = step("comment", job.path(), &[("REPORT", "report.md"), ("NUMBER", "3")]);
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with("::warning::the comment could not be written."), "{said}");
}
