//! `firstbyte bisect`, in repositories with a planted commit.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

fn git(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    for (name, value) in [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_AUTHOR_NAME", "A. Author")] {
        command.env(name, value);
    }
    for name in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        command.env(name, "author@example.org");
    }
    let output = command.arg("-C").arg(folder).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A repository with this many commits. `program` has the text of `app/start` in each; the build copies it to `started`.
fn repository(commits: usize, program: impl Fn(usize) -> String) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet", "--initial-branch=main"]);
    fs::create_dir(folder.path().join("app")).unwrap();
    for number in 0..commits {
        fs::write(folder.path().join("app/start"), program(number)).unwrap();
        fs::write(folder.path().join("number"), number.to_string()).unwrap();
        git(folder.path(), &["add", "."]);
        git(folder.path(), &["commit", "--quiet", "--message", &format!("Change {number}")]);
    }
    folder
}

fn bisect(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.current_dir(folder.join("app")).arg("bisect").args(words).output().unwrap()
}

/// The build of these repositories; a program with the word BROKEN does not build.
const BUILD: &str = "! grep BROKEN start && cp start started && chmod 755 started";

#[track_caller]
fn found(output: &Output, subject: &str) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let progress = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}{progress}");
    assert!(text.contains(&format!("is the first bad commit\n{subject}\n")), "{text}{progress}");
    text
}

/// What the repository has to be after a search: as before it.
fn is_untouched(folder: &Path) {
    assert_eq!(git(folder, &["status", "--porcelain"]), "");
    assert_eq!(git(folder, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(folder, &["for-each-ref", "--format=%(refname)"]), "refs/heads/main\n");
    assert!(!folder.join("app/started").exists(), "the build is made elsewhere");
}

#[test]
fn a_file_that_a_commit_reads_is_found_among_two_hundred_commits() {
    let program = |number: usize| {
        let planted = if number >= 137 { "read line </etc/passwd\n" } else { "" };
        // commits that do not build are skipped
        let broken = if number % 10 == 5 { "BROKEN" } else { "" };
        // a file of the commit's own tree, which each tree has elsewhere
        format!("#!/bin/sh\n# {number} {broken}\nread line <\"$PWD/start\"\n{planted}echo hello\n")
    };
    let folder = repository(200, program);
    let words = ["HEAD~199", "HEAD", "--by", "files_opened", "--build", BUILD, "--", "./started"];
    let output = bisect(folder.path(), &words);

    let text = found(&output, "Change 137");
    assert!(text.contains("it brought:\n    + file    /etc/passwd\n"), "{text}");
    assert_eq!(text.matches("+ file").count(), 1, "{text}");
    let progress = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(progress.starts_with("by files opened: "), "{progress}");
    assert!(progress.lines().count() <= 20, "{progress}");
    is_untouched(folder.path());
}

#[test]
fn a_commit_that_waits_is_found_by_time_beside_one_that_opens_a_file() {
    let program = |number: usize| {
        let waits = if number >= 5 { "sleep 0.05\n" } else { "" };
        let opens = if number >= 2 { "read line </etc/passwd\n" } else { "" };
        format!("#!/bin/sh\n# {number}\n{opens}{waits}echo hello\n")
    };
    let folder = repository(8, program);
    let output = bisect(folder.path(), &["HEAD~7", "HEAD", "--by", "total", "--", "sh", "start"]);
    let text = found(&output, "Change 5");
    assert!(text.contains("  it brought:\n") && text.contains("sleep"), "{text}");
    is_untouched(folder.path());
}

#[test]
fn a_search_that_cannot_end_names_the_commits_that_remain() {
    let broken = |number: usize| if number == 1 || number == 2 { "BROKEN" } else { "" };
    let planted = |number: usize| if number >= 1 { "read line </etc/passwd\n" } else { "" };
    let program = |number| format!("#!/bin/sh\n# {number} {}\n{}", broken(number), planted(number));
    let folder = repository(4, program);
    let output =
        bisect(folder.path(), &["HEAD~3", "HEAD", "--by", "syscalls", "--build", BUILD, "--", "./started"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(4), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.contains("Change 1") && text.contains("Change 3"), "{text}");
    is_untouched(folder.path());
}

#[test]
fn what_cannot_be_searched_says_why() {
    let folder = repository(3, |number| {
        format!("#!/bin/sh\n# {number} {}\n", if number == 2 { "BROKEN" } else { "" })
    });
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for (words, status, message) in [
        (
            &["HEAD~2", "HEAD~1", "--by", "syscalls", "--", "sh", "start"][..],
            4,
            "is not certainly worse than `HEAD~2`",
        ),
        (&["HEAD~2", "no-such", "--", "sh", "start"], 2, "`no-such` is no commit"),
        (&["HEAD~2", "HEAD", "--build", BUILD, "--", "./started"], 3, "the bad commit"),
        (&["HEAD~2", "HEAD"], 2, "there is no program to start"),
    ] {
        let output = bisect(folder.path(), words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{words:?}: {said}");
        assert!(said.contains(message) && said.contains("help: "), "{words:?}: {said}");
        is_untouched(folder.path());
    }
}
