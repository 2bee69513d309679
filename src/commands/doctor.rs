//! `firstbyte doctor`.

use super::{CommandError, Exit, show, terminal};
use crate::cli::doctor::Args;
use crate::corpus::Corpus;
use crate::doctor;
use crate::doctor::groups;
use crate::doctor::install::{self, InstallError};
use crate::document::doctor::{DoctorReport, GroupPlan};
use crate::output::say;
use crate::report::text::doctor as doctor_text;
use firstbyte_measure::launch::interrupt;
use std::io::IsTerminal;

/// Examines this machine, or installs missing packages.
pub fn run(args: &Args) -> Result<Exit, CommandError> {
    let corpus = Corpus::load(None).map_err(CommandError::usage)?;
    if args.install && (args.all || !args.group.is_empty()) {
        return install_groups(&corpus, args);
    }
    if args.install {
        return install(&corpus, args.tests);
    }
    let report = doctor::examine(&corpus, &doctor::try_bpf);
    let text = if args.json() { json(&report)? } else { doctor_text::render(&report, &terminal()) };
    show(text.as_bytes())?;
    Ok(Exit::Done)
}

fn json(report: &DoctorReport) -> Result<String, CommandError> {
    serde_json::to_string_pretty(report).map(|text| text + "\n").map_err(CommandError::unable)
}

/// Without root it prints the command. That is not a failure: other work continues with the installed packages.
fn install(corpus: &Corpus, tests: bool) -> Result<Exit, CommandError> {
    let plan = if tests { install::plan_for_tests(corpus) } else { install::plan_for_corpus(corpus) };
    if plan.packages.is_empty() {
        show(b"nothing is missing\n")?;
        return Ok(Exit::Done);
    }
    interrupt::catch_signals();
    let mut announce = |line: &str| say(line);
    match install::install(&plan, &mut announce) {
        Ok(()) => Ok(Exit::Done),
        Err(error @ InstallError::NotRoot(_)) => {
            say(error);
            Ok(Exit::Done)
        }
        Err(error) => Err(not_installed(error)),
    }
}

fn not_installed(error: InstallError) -> CommandError {
    match error {
        InstallError::Interrupted { .. } => CommandError::interrupted(error),
        _ => CommandError::unable(error),
    }
}

/// Shows what all groups lack, asks once, and installs group by group, so that one that fails does not stop the others.
fn install_groups(corpus: &Corpus, args: &Args) -> Result<Exit, CommandError> {
    let mut announce = |line: &str| say(line);
    interrupt::catch_signals();
    install::update_lists(&mut announce).map_err(not_installed)?;
    let plans = groups::plans(corpus, &args.group).map_err(CommandError::usage)?;
    if plans.is_empty() {
        show(b"nothing is missing\n")?;
        return Ok(Exit::Done);
    }

    let is_root = rustix::process::geteuid().is_root();
    show(doctor_text::groups(&plans, !is_root, &terminal()).as_bytes())?;
    if !is_root || !(args.yes || interrupt::while_nothing_runs(is_agreed)?) {
        return Ok(Exit::Done);
    }
    let mut failures = Vec::new();
    for plan in &plans {
        failures.extend(install_group(plan, &mut announce)?);
    }
    if failures.is_empty() { Ok(Exit::Done) } else { Err(CommandError::unable(failures.join("\n"))) }
}

/// Returns what could not be installed, and why. Only an interruption ends the installation.
fn install_group(plan: &GroupPlan, announce: &mut dyn FnMut(&str)) -> Result<Vec<String>, CommandError> {
    let mut failures = Vec::new();
    let mut note = |answer: Result<(), InstallError>| match answer {
        Err(error @ InstallError::Interrupted { .. }) => Err(CommandError::interrupted(error)),
        Err(error) => {
            failures.push(error.to_string());
            Ok(())
        }
        Ok(()) => Ok(()),
    };
    note(install::install(&plan.install, announce))?;
    for command in &plan.commands {
        note(install::install_otherwise(command, announce))?;
    }
    Ok(failures)
}

fn is_agreed() -> Result<bool, CommandError> {
    if !std::io::stdin().is_terminal() {
        let help = "help: firstbyte doctor --install --all --yes";
        return Err(CommandError::usage(format!(
            "cannot ask whether to install this: stdin is not a terminal\n{help}"
        )));
    }
    say("install all of this? [y/N]");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(CommandError::unable)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
