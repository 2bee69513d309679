//! The GitHub action: its own steps, run here with the variables that a runner would set.

use crate::support::write_executable;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// One step of `action.yml`.
fn step(name: &str, job: &Path, variables: &[(&str, &str)]) -> Output {
    let script = Path::new(ROOT).join("packaging/action").join(name);
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

/// A job whose `gh` downloads a release, and finds its attestation unless there is a file `forged`.
fn job_with_release() -> tempfile::TempDir {
    let job = tempfile::tempdir().unwrap();
    let gh = "#!/bin/sh\necho \"$*\" >>calls\n[ $1 = release ] || exec test ! -e forged\n\
              mkdir -p firstbyte/download\ncp release/* firstbyte/download\n";
    fs::create_dir(job.path().join("tools")).unwrap();
    write_executable(&job.path().join("tools/gh"), gh, 0o755);
    let pack = "name=firstbyte-0.1.0-$(uname -m)-unknown-linux-gnu\nmkdir release $name\n\
                printf '#!/bin/sh\\necho firstbyte 0.1.0\\n' >$name/firstbyte\nchmod 755 $name/firstbyte\n\
                tar -czf release/$name.tar.gz $name\ncd release\nsha256sum *.tar.gz >SHA256SUMS\n";
    assert!(Command::new("sh").args(["-ec", pack]).current_dir(&job).status().unwrap().success());
    job
}

/// Installs the release. Gives the arguments of `gh`, or nothing if it was refused.
fn installed(job: &Path, variables: &[(&str, &str)]) -> Option<String> {
    let output = step("install", job, &[variables, &[("REPOSITORY", "someone/firstbyte")]].concat());
    assert_eq!(output.status.success(), job.join("firstbyte/bin/firstbyte").exists());
    output.status.success().then(|| read(job, "calls"))
}

#[test]
fn the_release_of_the_tag_is_installed() {
    for (variables, first) in [
        (&[("VERSION", ""), ("REF", "v0.1.0")][..], "release download v0.1.0 --repo someone/firstbyte "),
        (&[("VERSION", ""), ("REF", "main")], "release download --repo "),
        (&[("VERSION", "latest"), ("REF", "v0.1.0")], "release download --repo "),
        (&[("VERSION", "0.2.0"), ("REF", "v0.1.0")], "release download v0.2.0 --repo "),
    ] {
        let job = job_with_release();
        let calls = installed(job.path(), variables).unwrap();
        assert!(calls.starts_with(first), "{calls}");
        assert!(calls.contains("\nattestation verify ") && calls.ends_with(" --repo someone/firstbyte\n"));
    }
}

#[test]
fn a_release_that_was_changed_or_built_elsewhere_is_refused() {
    let job = job_with_release();
    fs::write(job.path().join("forged"), "").unwrap();
    assert_eq!(installed(job.path(), &[("VERSION", "latest")]), None);

    let job = job_with_release();
    let file = format!("release/firstbyte-0.1.0-{}-unknown-linux-gnu.tar.gz", std::env::consts::ARCH);
    let mut changed = fs::read(job.path().join(&file)).unwrap();
    changed.push(0);
    fs::write(job.path().join(&file), changed).unwrap();
    assert_eq!(installed(job.path(), &[("VERSION", "latest")]), None);
    assert!(!read(job.path(), "calls").contains("attestation"));
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

/// What the workflow at the top of docs/ci.md gives the action, each an input that the action has.
fn inputs_of_the_first_example() -> BTreeMap<String, String> {
    let [page, action] = ["docs/ci.md", "action.yml"].map(|file| read(Path::new(ROOT), file));
    let example = page.split("```").nth(1).unwrap();
    assert!(example.contains(concat!("uses: OWNER/firstbyte@v", env!("CARGO_PKG_VERSION"))), "{example}");

    let lines = example.split("with:\n").nth(1).unwrap().lines();
    let inputs = lines.map(|line| line.split(" #").next().unwrap().trim().split_once(": ").unwrap());
    let inputs: BTreeMap<_, _> = inputs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    for name in inputs.keys() {
        assert!(action.contains(&format!("\n  {name}:\n    description: ")), "`{name}` is no input");
    }
    inputs
}

#[test]
fn a_pull_request_is_compared_with_its_merge_base_by_the_first_example() {
    let job = job("");
    let checkout = job.path().join("checkout");
    fs::create_dir(&checkout).unwrap();
    fs::write(checkout.join("Makefile"), "hello: source\n\tinstall -m 755 source hello\n").unwrap();
    let commit = |program: &str| {
        fs::write(checkout.join("source"), program).unwrap();
        git(&checkout, &["add", "Makefile", "source"]);
        git(&checkout, &["commit", "--quiet", "--message", "A change"]);
    };
    git(&checkout, &["init", "--quiet", "--initial-branch=main"]);
    commit("#!/bin/sh\n:\n");
    git(&checkout, &["checkout", "--quiet", "-b", "change"]);
    commit("#!/bin/sh\nsleep 0.2\n");
    git(&checkout, &["checkout", "--quiet", "main"]);
    commit("#!/bin/sh\nexit 1\n");
    git(&checkout, &["checkout", "--quiet", "change"]);

    let script = Path::new(ROOT).join("packaging/action/compare");
    let path = format!("{}/firstbyte/bin:/usr/bin:/bin", job.path().display());
    let mut compare = Command::new(script);
    compare.current_dir(&checkout).env("PATH", path).env("RUNNER_TEMP", job.path());
    compare
        .env("GITHUB_OUTPUT", job.path().join("output"))
        .env("GITHUB_STEP_SUMMARY", job.path().join("summary.md"));
    let inputs = inputs_of_the_first_example();
    for (variable, input) in [("COMMAND", "command"), ("BUILD", "build"), ("LIMIT", "fail-if-slower")] {
        compare.env(variable, &inputs[input]);
    }
    let output = compare.env("BASE", "main").output().unwrap();
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
