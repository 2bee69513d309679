//! What `strace` and `perf` themselves report about a program, in runs of their own.

use super::session::Session;
use crate::claims::quantity::{PerfBuffer, Quantity, ReportingTool};
use crate::claims::{Lack, Reading};
use crate::corpus::debian::install_command;
use crate::corpus::{Built, Program};
use firstbyte_measure::launch::{Environment, find_in_path, interrupt};
use firstbyte_measure::own_folder::OwnFolder;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// The events of Startup Showdown.
const EVENTS: &str = "syscalls:sys_exit_execve,syscalls:sys_enter_write";

/// Runs each program under each tool, the tools in turn.
pub(super) fn reported(session: &mut Session) -> Result<(), Lack> {
    let folder = OwnFolder::temporary().map_err(Lack::of)?;
    let file = folder.path().join("out");
    let programs: BTreeSet<&str> = session.needs.quantities().filter_map(program).collect();
    let rounds = if session.options.quick { 5 } else { 40 };

    for name in programs {
        let Some(built) = session.named(&BTreeSet::from([name])).first().map(|(_, built)| built.clone())
        else {
            continue;
        };
        let mut times = ReportingTool::ALL.map(|_| Ok(Vec::new()));
        for _ in 0..rounds {
            for (tool, times) in ReportingTool::ALL.iter().zip(&mut times) {
                add(times, || run(*tool, &built, &file));
            }
            if interrupt::interrupted().is_some() {
                break;
            }
        }
        for (tool, times) in ReportingTool::ALL.into_iter().zip(times) {
            keep(session, Quantity::Reported { tool, program: name }, times);
        }
    }
    Ok(())
}

/// The lines that `strace -f -ttt` prints.
pub(super) fn trace_lines(session: &mut Session) -> Result<(), Lack> {
    each_program(session, |quantity, (_, built), file| match quantity {
        Quantity::TraceLines(_) => Some(strace(built, file).map(|text| text.lines().count() as f64)),
        _ => None,
    })
}

/// The part of the writes that `perf record` loses.
pub(super) fn lost_by_perf(session: &mut Session) -> Result<(), Lack> {
    each_program(session, |quantity, (program, built), file| match quantity {
        Quantity::LostByPerf { buffer, .. } => Some(lost(program, built, buffer, file)),
        _ => None,
    })
}

/// Measures the quantities for which `measure` has an answer, some times each. It takes the program and a file that a tool
/// may write.
fn each_program(
    session: &mut Session,
    measure: impl Fn(Quantity, &(Program, Built), &Path) -> Option<Result<f64, Lack>>,
) -> Result<(), Lack> {
    let folder = OwnFolder::temporary().map_err(Lack::of)?;
    let file = folder.path().join("out");
    let runs = if session.options.quick { 3 } else { 9 };

    for quantity in session.needs.quantities() {
        let (Quantity::TraceLines(name) | Quantity::LostByPerf { program: name, .. }) = quantity else {
            continue;
        };
        let found = session.named(&BTreeSet::from([name])).first().copied().cloned();
        let Some(found) = found else { continue };
        let once = |_| interrupt::interrupted().is_none().then(|| measure(quantity, &found, &file)).flatten();
        let results: Vec<Result<f64, Lack>> = (0..runs).map_while(once).collect();
        if !results.is_empty() {
            keep(session, quantity, results.into_iter().collect());
        }
    }
    Ok(())
}

fn program(quantity: Quantity) -> Option<&'static str> {
    match quantity {
        Quantity::Reported { program, .. } => Some(program),
        _ => None,
    }
}

/// After a failure there are no further runs.
fn add(times: &mut Result<Vec<f64>, Lack>, run: impl FnOnce() -> Result<f64, Lack>) {
    let Ok(known) = times else { return };
    match run() {
        Ok(time) => known.push(time),
        Err(lack) => *times = Err(lack),
    }
}

fn keep(session: &mut Session, quantity: Quantity, times: Result<Vec<f64>, Lack>) {
    match times.map(Reading::of) {
        Ok(Some(reading)) => session.evidence.insert(quantity, reading),
        Ok(None) => session.evidence.lack(quantity, Lack::because("no run was made".to_owned())),
        Err(lack) => session.evidence.lack(quantity, lack),
    }
}

/// The nanoseconds from execve to the first write, as the tool reports them.
fn run(tool: ReportingTool, built: &Built, file: &Path) -> Result<f64, Lack> {
    let text = match tool {
        ReportingTool::Strace => strace(built, file)?,
        ReportingTool::Perf => {
            perf_record(built, PerfBuffer::Default, file, Stdio::piped())?;
            output(command(tool)?.args(["script", "--ns", "-F", "time,event", "-i"]).arg(file))?
        }
    };
    let between = between(&text);
    between.ok_or_else(|| Lack::because(format!("`{}` did not report execve and a write", tool.name())))
}

/// The tool, or the command that installs it.
fn command(tool: ReportingTool) -> Result<Command, Lack> {
    if find_in_path(tool.name()).is_none() {
        let reason = format!("`{}` is not in PATH", tool.name());
        return Err(Lack { reason, install: install_command(&[tool.package().to_owned()]) });
    }
    Ok(Command::new(tool.name()))
}

/// What `strace -f -ttt` prints about a run.
fn strace(built: &Built, file: &Path) -> Result<String, Lack> {
    let options = [OsStr::new("-f"), OsStr::new("-ttt"), OsStr::new("-o"), file.as_os_str()];
    let mut strace = command(ReportingTool::Strace)?;
    output(strace.args(options).args(&built.argv).current_dir(&built.directory))?;
    std::fs::read_to_string(file).map_err(Lack::of)
}

/// Records the post's events of a run.
fn perf_record(built: &Built, buffer: PerfBuffer, file: &Path, stdout: Stdio) -> Result<(), Lack> {
    let pages: &[&str] = match buffer {
        PerfBuffer::Default => &[],
        PerfBuffer::OnePage => &["-m", "1"],
    };
    let mut perf = command(ReportingTool::Perf)?;
    perf.args(["record", "-q", "--no-buildid", "--no-buildid-cache", "-e", EVENTS])
        .args(pages)
        .arg("-o")
        .arg(file)
        .arg("--")
        .args(&built.argv);
    output(perf.current_dir(&built.directory).stdout(stdout)).map(drop)
}

/// The part of the writes that is not in perf's file. The program makes one for each line. What perf itself says about
/// lost events is not complete: a loss after which no other event was kept is not in its file either.
fn lost(program: &Program, built: &Built, buffer: PerfBuffer, file: &Path) -> Result<f64, Lack> {
    perf_record(built, buffer, file, Stdio::null())?; // a reader would slow the program down
    let text = output(command(ReportingTool::Perf)?.args(["script", "-F", "event", "-i"]).arg(file))?;
    let kept = text.lines().filter(|line| line.contains("sys_enter_write")).count();
    Ok(1.0 - kept as f64 / f64::from(program.manifest.expected.times))
}

/// The stdout of a command that succeeds, in the environment of the programs.
fn output(command: &mut Command) -> Result<String, Lack> {
    command.env_clear().envs(Environment::of_programs().variables()).stdin(Stdio::null());
    let done = command.output().map_err(Lack::of)?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        let name = command.get_program().to_string_lossy().into_owned();
        return Err(Lack::because(format!("`{name}` failed: {}", cause(&said))));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// The line that says why a tool failed: perf begins it with `Error:` and goes on with hints. Else the last line.
fn cause(said: &str) -> &str {
    let named = said.lines().find_map(|line| line.strip_prefix("Error:"));
    named.or(said.lines().last()).unwrap_or_default().trim()
}

/// Nanoseconds from the first line about execve to the first line about a write: `1234.567890 execve(…` with a process
/// number in front, or `1234.567890123: syscalls:sys_exit_execve:`.
fn between(text: &str) -> Option<f64> {
    let line = |what: [&str; 2]| text.lines().find(|line| what.iter().any(|what| line.contains(what)));
    let began = time(line([" execve(", "sys_exit_execve"])?)?;
    let wrote = time(line([" write(1", "sys_enter_write"])?)?;
    Some((wrote - began) * 1e9)
}

/// The first word with a fraction: seconds.
fn time(line: &str) -> Option<f64> {
    line.split_whitespace()
        .find(|word| word.contains('.'))
        .and_then(|word| word.trim_end_matches(':').parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_a_failure_is_the_line_that_names_it() {
        let perf = "event syntax error: 'x'\n\nError:\tNo permissions to read /sys/x\nHint:\tTry this\n  -e <event>\n";
        assert_eq!(cause(perf), "No permissions to read /sys/x");
        assert_eq!(cause("strace: exec: no such file\n"), "strace: exec: no such file");
        assert_eq!(cause(""), "");
    }

    #[test]
    fn the_time_is_read_from_what_both_tools_print() {
        let strace = "77 100.000100 execve(\"./test\", [\"./test\"], 0x7 /* 35 vars */) = 0\n\
                      77 100.000400 brk(NULL) = 0x5\n77 100.001100 write(1, \"hello world\\n\", 12) = 12\n";
        assert!((between(strace).unwrap() - 1_000_000.0).abs() < 1000.0);
        let perf =
            " 17337.078161000: syscalls:sys_exit_execve: \n 17337.079007500: syscalls:sys_enter_write: \n";
        assert!((between(perf).unwrap() - 846_500.0).abs() < 1000.0);
        assert_eq!(between("nothing of the kind"), None);
    }
}
