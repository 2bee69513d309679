//! Builds the tracees, whose behaviour is known, and compares the recordings of a tracer with the table.

#[path = "../tracees/table.rs"]
mod table;

use crate::support::skipped;
use firstbyte_measure::launch::{Command, Launcher, OutputKind};
use firstbyte_measure::tracer::Tracer;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
pub(crate) use table::{CASES, Case, HELLO, PIPE_CASES, faults_of, last_output, options};

/// The executable of a source in `tests/tracees/`; `None`, reported as skipped, if it cannot be built or run.
pub(crate) fn built(source: &str) -> Option<PathBuf> {
    static BUILDING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tracees").join(source);
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(source.replace('.', "_"));
    if !is_newer(&to, &from) {
        build(&from, &to)?;
    }
    Some(to)
}

fn is_newer(one: &Path, other: &Path) -> bool {
    let modified = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
    modified(one) > modified(other)
}

fn build(from: &Path, to: &Path) -> Option<()> {
    let name = from.file_name().unwrap().to_str().unwrap();
    let assembly: &[&str] = if name == "int80.S" {
        &["-nostdlib", "-static", "-m32"]
    } else {
        &["-nostdlib", "-static", "-no-pie"]
    };
    let is_assembly = from.extension().is_some_and(|extension| extension == "S");
    if is_assembly && !cfg!(target_arch = "x86_64") {
        skipped(&format!("{name} is for x86-64"));
        return None;
    }
    let options = if is_assembly { assembly } else { &["-O1", "-pthread"] };
    // Built under another name, because another test cannot run an executable that is being written.
    let draft = to.with_extension(format!("{}", std::process::id()));
    let answer = std::process::Command::new("cc").args(options).arg(from).arg("-o").arg(&draft).output();
    match answer {
        Err(error) => {
            skipped(&format!("no C compiler: {error}"));
            return None;
        }
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
    }
    std::fs::rename(draft, to).unwrap();
    Some(())
}

/// A command that launches a tracee with its arguments.
pub(crate) fn launcher(source: &str, arguments: &[&str]) -> Option<Launcher> {
    let mut words = vec![built(source)?.into_os_string()];
    words.extend(arguments.iter().map(Into::into));
    Some(Launcher::new(Command::new(&words).unwrap()).unwrap())
}

/// Runs every case of the table with one backend and one kind of stdout. Collects the differences from the table.
pub(crate) fn check_table(tracer: &mut dyn Tracer, cases: &[Case], output: OutputKind) {
    let mut wrong = Vec::new();
    for case in cases {
        let Some(mut launcher) = launcher(case.source, case.arguments) else { continue };
        match tracer.run(&mut launcher, &options(output)) {
            Ok(recording) => wrong.extend(
                faults_of(case, output, &recording)
                    .into_iter()
                    .map(|fault| format!("{} {:?} to {output:?}: {fault}", case.source, case.arguments)),
            ),
            Err(error) => wrong.push(format!("{} {:?}: {error}", case.source, case.arguments)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
