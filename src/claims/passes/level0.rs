//! Level 0 of C Runtime Overhead, solved by the sample of our runtime, with and without a C library.

use super::runs::COUNTING_RUNS;
use super::session::Session;
use crate::bench::{Accepted, ExperimentEntry, ExperimentError, Placement, RunHooks, Series, Tracee};
use crate::claims::quantity::RunState;
use crate::claims::{Lack, gather};
use crate::corpus::debian::install_command;
use firstbyte_cc::sources::LEVEL0;
use firstbyte_measure::launch;
use firstbyte_measure::launch::{Launcher, OutputKind, find_in_path};
use firstbyte_measure::own_folder::OwnFolder;
use firstbyte_measure::tracer::RunOptions;
use firstbyte_measure::units::Bytes;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The contest's dictionary, from Debian's `miscfiles`.
const DICTIONARY: &str = "/usr/share/dict/web2";

/// The input has words of the dictionary and others, and as many bytes as the contest's first test.
const LENGTH: usize = 1398;

/// Runs the programs, interleaved, with the same text on stdin.
pub(super) fn level0(session: &mut Session) -> Result<(), Lack> {
    let folder = OwnFolder::temporary().map_err(Lack::of)?;
    let programs = match built(folder.path()) {
        Ok(programs) => programs,
        Err(lack) => {
            gather::level0_lacking(&mut session.evidence, session.needs, &lack);
            return Ok(());
        }
    };

    let text = folder.path().join("text");
    fs::write(&text, self::text().map_err(Lack::of)?).map_err(Lack::of)?;
    let entries = programs.iter().map(|(name, path)| entry(name, path, &text));
    let entries = entries.collect::<Result<_, _>>().map_err(Lack::of)?;
    let mut experiment = session.experiment(entries, session.runs(20, 200));
    experiment.counting.runs = COUNTING_RUNS;
    let series = session.traced(experiment)?;
    gather::runs(&mut session.evidence, session.needs, RunState::Warm, &series);
    Ok(())
}

/// The programs, by their names in the claims.
fn built(folder: &Path) -> Result<Vec<(&'static str, PathBuf)>, Lack> {
    for (tool, package) in [("rustc", "rustc"), ("gcc", "gcc")] {
        if find_in_path(tool).is_none() {
            return Err(missing(&format!("`{tool}` is not in PATH"), package));
        }
    }
    if !Path::new(DICTIONARY).exists() {
        return Err(missing(&format!("the contest's dictionary `{DICTIONARY}` does not exist"), "miscfiles"));
    }
    let failed = |error: io::Error| Lack::because(format!("level 0 could not be built: {error}"));
    compile(folder).map_err(failed)
}

fn missing(reason: &str, package: &str) -> Lack {
    Lack { reason: reason.to_owned(), install: install_command(&[package.to_owned()]) }
}

fn compile(folder: &Path) -> io::Result<Vec<(&'static str, PathBuf)>> {
    LEVEL0.extract(folder)?;
    run(folder, "rustc", &["--edition", "2024", "-O", "-o", "generate", "generator/main.rs"], None)?;
    run(folder, "./generate", &["exact", DICTIONARY], Some("exact.h"))?;
    let ourselves = std::env::current_exe()?;
    let compilers: [(&str, &Path, &[&str]); 3] = [
        ("level0", &ourselves, &["cc"]),
        ("level0-unbuffered", &ourselves, &["cc", "-DUNBUFFERED"]),
        ("level0-glibc", Path::new("gcc"), &[]),
    ];
    let options = ["-O2", "-DTABLE=\"exact.h\"", "-I.", "level0.c", "-o"];
    compilers
        .into_iter()
        .map(|(name, compiler, first)| {
            run(folder, compiler, &[first, &options, &[name]].concat(), None)?;
            Ok((name, folder.join(name)))
        })
        .collect()
}

/// Runs a step of the build, with its output in a file.
fn run(folder: &Path, program: impl AsRef<Path>, arguments: &[&str], output: Option<&str>) -> io::Result<()> {
    let program = program.as_ref();
    let stdout = match output {
        Some(name) => File::create(folder.join(name))?.into(),
        None => Stdio::null(),
    };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(stdout);
    let ended = command.stderr(Stdio::piped()).output()?;
    if ended.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&ended.stderr);
    let last = messages.lines().last().unwrap_or_default().to_owned();
    Err(io::Error::other(format!("`{}`: {}: {last}", program.display(), ended.status)))
}

/// Some words of the dictionary, with a word that is not in it after each third.
fn text() -> io::Result<Vec<u8>> {
    let words = fs::read(DICTIONARY)?;
    let chosen = words.split(|byte| *byte == b'\n').step_by(997).enumerate();
    let mut text: Vec<u8> = Vec::new();
    for (number, word) in chosen {
        text.extend_from_slice(word);
        text.extend_from_slice(if number % 3 == 2 { b" nowordatall\n" } else { b" " });
    }
    text.truncate(LENGTH - 1);
    text.push(b'\n');
    Ok(text)
}

fn entry(name: &str, path: &Path, text: &Path) -> Result<ExperimentEntry, ExperimentError> {
    let command = launch::Command::new(&[path])?;
    let options = RunOptions {
        output: OutputKind::Pipe,
        timeout: Some(Duration::from_secs(20)),
        ..RunOptions::default()
    };
    Ok(ExperimentEntry {
        series: Series {
            name: name.to_owned(),
            command: name.to_owned(),
            accepted: Accepted::SUCCESS,
            file_size: fs::metadata(path).ok().map(|file| Bytes(file.len())),
            ..Series::default()
        },
        tracee: Tracee { launcher: Launcher::new(command)?, options, placement: Placement::Steady },
        hooks: RunHooks { input: Some(text.to_owned()), ..RunHooks::default() },
        reread: None,
    })
}
