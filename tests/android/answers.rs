//! firstbyte as an app of Android, as in Termux: under the filter that kills for a call that it does not list. Every command
//! answers, and says what is missing; none dies by SIGSYS. Included by the integration tests and by the checks on emulated
//! kernels.

#[path = "filter.rs"]
mod filter;

use std::process::{Command, Stdio};

/// The first writes the program that the others measure.
const ANSWERED: [&str; 14] = [
    "elf --message hello -o hello",
    "doctor",
    "inspect ./hello",
    "lines 3",
    "throughput --n 100 --runs 1 --only go-v2",
    "bench --runs 2 --warmup 0 ./hello --export-json bench.json",
    "bench --runs 2 --warmup 0 --backend ptrace ./hello",
    "bench --runs 2 --warmup 0 --backend pipe ./hello",
    "trace --runs 1 --backend ptrace ./hello",
    "diff --runs 1 --backend ptrace ./hello ./hello",
    "watch --backend ptrace -- ./hello",
    "floor --quick --only syscalls",
    "showdown --only floor-elf --runs 2",
    "report --output page.html bench.json",
];

/// What the filter forbids, and what the answer says.
const REFUSED: [(&str, &str); 1] = [(
    "bench --runs 2 --warmup 0 --cache cold ./hello",
    "\nhelp: measure with a warm page cache: a seccomp filter",
)];

/// The commands that do not answer as they should, and what they did. `firstbyte` makes the command without arguments; all
/// run in the same folder.
pub(crate) fn faults(firstbyte: impl Fn() -> Command) -> Vec<String> {
    let answered = ANSWERED.map(|arguments| (arguments, 0, "")).into_iter();
    let refused = REFUSED.map(|(arguments, reason)| (arguments, 4, reason));
    answered
        .chain(refused)
        .filter_map(|(arguments, status, said)| {
            let mut command = firstbyte();
            command.args(arguments.split(' ')).stdin(Stdio::null());
            fault(&mut command, status, said).map(|fault| format!("{arguments}: {fault}"))
        })
        .collect()
}

fn fault(command: &mut Command, status: i32, said: &str) -> Option<String> {
    let answer = match filter::as_app(command).output() {
        Ok(answer) => answer,
        Err(error) => return Some(error.to_string()),
    };
    let text = String::from_utf8_lossy(&answer.stderr);
    let is_right = answer.status.code() == Some(status) && text.contains(said);
    (!is_right).then(|| format!("{}: {text}", answer.status))
}
