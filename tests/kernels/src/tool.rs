//! Runs firstbyte as a user would, and checks what is required of every answer.

use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// The user who runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    Root,
    /// A user without privileges.
    Other,
}

impl User {
    /// The user's part in the name of a row.
    pub(crate) fn mark(self) -> &'static str {
        if self == User::Root { "" } else { ", another user" }
    }

    pub(crate) fn home(self) -> &'static str {
        if self == User::Root { "/root" } else { "/home/user" }
    }
}

/// The id of the other user and group.
pub(crate) const OTHER: u32 = 1000;
/// Emulated machines are slow.
const LIMIT: Duration = Duration::from_secs(400);

pub(crate) struct Answer {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The answer of `firstbyte ARGUMENTS`, which must not contain a verifier's log.
pub(crate) fn firstbyte(user: User, arguments: &[&str]) -> Result<Answer, String> {
    let answer = run(user, "/bin/firstbyte", arguments)?;
    for text in [&answer.stdout, &answer.stderr] {
        if let Some(line) = text.lines().find(|line| is_of_verifier(line)) {
            return Err(format!("the verifier's log was printed: {line}"));
        }
    }
    Ok(answer)
}

fn is_of_verifier(line: &str) -> bool {
    ["R1=ctx", "R0_w=", "R1_w=", "insns (limit", "fp0", "reg type unsupported"]
        .iter()
        .any(|mark| line.contains(mark))
}

pub(crate) fn run(user: User, program: &str, arguments: &[&str]) -> Result<Answer, String> {
    let [out, err] = ["out", "err"].map(|name| format!("/tmp/answer-{name}"));
    let create = |path: &str| File::create(path).map_err(|error| format!("{path}: {error}"));
    let mut command = command(user, program);
    command.args(arguments).stdin(std::process::Stdio::null()).stdout(create(&out)?).stderr(create(&err)?);
    let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
    let status = ended(&mut child).ok_or_else(|| format!("{} did not end", arguments.join(" ")))?;
    let text = |path: &str| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let (stdout, stderr) = (text(&out).unwrap_or_default(), text(&err).unwrap_or_default());
    Ok(Answer { status: status.code(), stdout, stderr })
}

/// The program, without arguments, as this user starts it at home.
pub(crate) fn command(user: User, program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir(user.home());
    command.envs([("PATH", "/bin"), ("HOME", user.home()), ("LANG", "C.UTF-8"), ("COLUMNS", "200")]);
    if user == User::Other {
        command.uid(OTHER).gid(OTHER);
    }
    command
}

fn ended(child: &mut Child) -> Option<ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < LIMIT {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    child.wait().ok();
    None
}

/// On an emulated processor, which is slow, many threads of Linux 7.x are preempted in our programs, and the kernel skips some
/// events (`skipped.rs` of the tracers). What ran says that they are lost, so it is repeated.
pub(crate) const RUNS: u32 = 4;

/// The JSON document that a command prints. Its exit status must be 0.
pub(crate) fn document(user: User, arguments: &[&str]) -> Result<Value, String> {
    let mut document = document_of_run(user, arguments)?;
    for _ in 1..RUNS {
        if skips_programs() && has_lost(&document) {
            document = document_of_run(user, arguments)?;
        }
    }
    Ok(document)
}

fn document_of_run(user: User, arguments: &[&str]) -> Result<Value, String> {
    let answer = firstbyte(user, arguments)?;
    if answer.status != Some(0) {
        let status = answer.status.map_or("a signal".to_owned(), |status| format!("status {status}"));
        return Err(format!("{status}: {}", answer.stderr));
    }
    serde_json::from_str(&answer.stdout).map_err(|error| format!("no JSON: {error}"))
}

/// Since Linux 7.0.
fn skips_programs() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.split('.').next().and_then(|first| first.parse().ok()).is_some_and(|first: u32| first >= 7)
}

fn has_lost(document: &Value) -> bool {
    let results = document["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    results.iter().chain([document]).any(|part| part["lost_events"].as_u64() > Some(0))
}

/// `Err` with both values if they differ.
pub(crate) fn same<T: PartialEq + std::fmt::Debug + ?Sized>(
    what: &str,
    found: &T,
    wanted: &T,
) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{what}: {found:?}, not {wanted:?}")) }
}
