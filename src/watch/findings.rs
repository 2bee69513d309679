//! What is worth looking at: repeated commands, shims, searches along PATH, failed execs, subshells.

use super::program::{CommandLine, Program, Shim};
use super::tally::Tally;
use crate::document::watch::WatchFinding;
use firstbyte_measure::units::Nanos;
use std::io;

/// The largest number of findings of one rule.
const MAX_FINDINGS: usize = 5;

/// What happened less often is not worth a finding.
const OFTEN: u64 = 10;

type Rule = fn(&Program) -> Vec<WatchFinding>;

const RULES: [Rule; 5] = [repeated_commands, shims, path_search, failed_execs, forks];

/// The findings, those with the highest cost first, then those that happened most often.
pub(super) fn findings(tally: &Tally) -> Vec<WatchFinding> {
    let of_rule = |rule: &Rule| {
        // those of all others together say nothing about any of them
        let programs = tally.programs.listed_ones();
        let mut found: Vec<WatchFinding> = programs.flat_map(rule).collect();
        rank(&mut found);
        found.truncate(MAX_FINDINGS);
        found
    };
    let mut all: Vec<WatchFinding> = RULES.iter().flat_map(of_rule).collect();
    rank(&mut all);
    all
}

fn rank(findings: &mut [WatchFinding]) {
    findings.sort_by(|a, b| {
        (b.cost_ns, b.count).cmp(&(a.cost_ns, a.count)).then_with(|| a.subject.cmp(&b.subject))
    });
}

fn repeated_commands(program: &Program) -> Vec<WatchFinding> {
    let often = program.commands.iter().filter(|(_, line)| line.execs >= OFTEN);
    often.map(|(command, line)| repeated_command(command, *line)).collect()
}

fn repeated_command(command: &str, CommandLine { execs, lifetime_ns }: CommandLine) -> WatchFinding {
    WatchFinding {
        rule: "repeated_command".to_owned(),
        subject: command.to_owned(),
        count: execs,
        cost_ns: lifetime_ns,
        text: format!("{execs} execs of `{command}`, {} each on average", Nanos(lifetime_ns / execs)),
    }
}

fn shims(program: &Program) -> Vec<WatchFinding> {
    program.shims.iter().map(|(path, shim)| shim_of(program, path, *shim)).collect()
}

fn shim_of(program: &Program, path: &str, Shim { execs, processes, delay_ns }: Shim) -> WatchFinding {
    let started = match processes {
        0 => String::new(),
        _ => format!(" and starts {}", per(processes, execs)),
    };
    WatchFinding {
        rule: "shim".to_owned(),
        subject: path.to_owned(),
        count: execs,
        cost_ns: delay_ns,
        text: format!(
            "shim: `{path}` takes {}{started} before it executes `{}`, in {}",
            Nanos(delay_ns / execs.max(1)),
            program.path,
            counted(execs, "start", "starts")
        ),
    }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The mean number of processes, with one decimal place if it is not a whole number.
fn per(processes: u64, execs: u64) -> String {
    let execs = execs.max(1);
    if processes.is_multiple_of(execs) {
        counted(processes / execs, "process", "processes")
    } else {
        format!("{:.1} processes", processes as f64 / execs as f64)
    }
}

fn path_search(program: &Program) -> Vec<WatchFinding> {
    let Program { path, searches, failed, failed_ns, errno: None, .. } = program else { return Vec::new() };
    if *failed == 0 {
        return Vec::new();
    }
    vec![WatchFinding {
        rule: "path_search".to_owned(),
        subject: path.clone(),
        count: *failed,
        cost_ns: *failed_ns,
        text: format!(
            "{} along PATH before `{path}` was found, in {}; they took {}",
            counted(*failed, "failed exec", "failed execs"),
            counted(*searches, "search", "searches"),
            Nanos(*failed_ns)
        ),
    }]
}

fn failed_execs(program: &Program) -> Vec<WatchFinding> {
    let Program { path, failed, failed_ns, errno: Some(errno), .. } = program else { return Vec::new() };
    vec![WatchFinding {
        rule: "failed_exec".to_owned(),
        subject: path.clone(),
        count: *failed,
        cost_ns: *failed_ns,
        text: format!(
            "{} of `{path}`, which took {}: {}",
            counted(*failed, "failed exec", "failed execs"),
            Nanos(*failed_ns),
            io::Error::from_raw_os_error(*errno)
        ),
    }]
}

fn forks(program: &Program) -> Vec<WatchFinding> {
    let Program { path, forks, forks_ns, .. } = program;
    if *forks < OFTEN {
        return Vec::new();
    }
    vec![WatchFinding {
        rule: "forks".to_owned(),
        subject: path.clone(),
        count: *forks,
        cost_ns: *forks_ns,
        text: format!(
            "`{path}` forked {forks} processes that executed no program, such as subshells; they lived {} each on average",
            Nanos(forks_ns / forks)
        ),
    }]
}
