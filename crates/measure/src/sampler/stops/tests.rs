//! Programs whose functions, lines and shares are known, in each version of `CPython` that this machine has.

use super::super::{LanguageStack, TaskEvent};
use super::*;
use crate::launch::{Command, ExitStatus};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const PERIOD: Nanos = Nanos(1_000_000);

/// A module that divides its time seventy to thirty, by function and by line.
const BURN: &str = "\
def heavy(times):
    total = 0
    for i in range(7 * times):
        total += i * i
    return total

def light(times):
    total = 0
    for i in range(3 * times):
        total += i * i
    return total

def loops(times):
    total = 0
    for i in range(7 * times):
        total += i * i
    for i in range(3 * times):
        total += i * i
    return total

def down(depth):
    return down(depth - 1) if depth else loops(40000)

def produce(times):
    for _ in range(times):
        yield loops(3000)

class Worker:
    def consume(self):
        return sum(produce(10))

def work(rounds):
    for _ in range(rounds):
        heavy(2000)
        light(2000)
";

const SCRIPT: &str = "\
import os, sys, threading, burn
burn.work(120)
burn.down(200)
burn.Worker().consume()
thread = threading.Thread(target=burn.loops, args=(40000,))
thread.start()
thread.join()
child = os.fork()
if child == 0:
    burn.light(600000)
    os._exit(5)
print(os.WEXITSTATUS(os.waitpid(child, 0)[1]))
sys.exit(7)
";

/// One sampled stack.
struct Seen {
    pid: u32,
    tid: u32,
    /// File, name and line, the innermost one first.
    frames: Vec<(String, String, u32)>,
}

impl Seen {
    fn names(&self) -> Vec<&str> {
        self.frames.iter().map(|(_, name, _)| name.rsplit('.').next().unwrap()).collect()
    }
}

/// Those whose paths are in `FIRSTBYTE_PYTHONS`, separated by colons; without it, those of this machine: of pyenv and of the
/// distribution.
fn interpreters() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let versions = fs::read_dir(home.join(".pyenv/versions")).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = versions.map(|version| version.path().join("bin/python3")).collect();
    all.push(PathBuf::from("/usr/bin/python3"));
    if let Some(chosen) = std::env::var_os("FIRSTBYTE_PYTHONS") {
        all = std::env::split_paths(&chosen).collect();
    }
    let is_read = |path: &PathBuf| {
        let target = fs::canonicalize(path).unwrap_or_default();
        let minor = target.to_str().and_then(|path| path.rsplit("python3.").next()?.parse().ok());
        minor.is_some_and(super::super::frames::python::is_known)
    };
    all.retain(is_read);
    all
}

fn attached() -> Option<StopSampler> {
    let mut sampler = StopSampler::new(PERIOD, 1);
    let works = StopSampler::shortest_period().map_err(|error| error.to_string());
    if let Err(error) = works.and_then(|_| Tracer::attach(&mut sampler).map_err(|error| error.to_string())) {
        assert!(std::env::var_os("FIRSTBYTE_REQUIRE").is_none(), "{error}");
        eprintln!("skipped: {error}");
        return None;
    }
    Some(sampler)
}

fn sampled(sampler: &mut StopSampler, command: &Command) -> (Recording, Vec<Seen>) {
    let mut launcher = Launcher::new(command.clone()).unwrap();
    let recording = sampler.run(&mut launcher, &RunOptions::default()).unwrap();
    let [stream] = sampler.take().try_into().unwrap();
    let frames = |stack: &LanguageStack| {
        let frames = stack.frames.iter();
        frames
            .map(|frame| {
                let function = &frame.function;
                (function.file.to_string(), function.name.to_string(), frame.line.unwrap_or_default())
            })
            .collect()
    };
    let seen = stream.records.iter().filter_map(|record| match &record.event {
        TaskEvent::Sample(sample) => {
            let frames = sample.language.as_deref().map(frames).unwrap_or_default();
            Some(Seen { pid: record.pid, tid: record.tid, frames })
        }
        _ => None,
    });
    (recording, seen.collect())
}

/// Three and a third standard errors, and three points.
fn is_share(part: usize, rest: usize, truth: f64) -> bool {
    let all = (part + rest) as f64;
    let allowed = 3.3 * (truth * (1.0 - truth) / all.max(1.0)).sqrt() + 0.03;
    (part as f64 / all.max(1.0) - truth).abs() <= allowed
}

/// A script behind two execs, in a folder of its own.
fn written(folder: &Path, python: &Path) -> Command {
    fs::write(folder.join("burn.py"), BURN).unwrap();
    fs::write(folder.join("app.py"), SCRIPT).unwrap();
    let shim = folder.join("shim");
    let text = format!("#!/bin/sh\nexec env {} -S {}/app.py\n", python.display(), folder.display());
    fs::write(&shim, text).unwrap();
    fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)).unwrap();
    Command::new(&[shim]).unwrap()
}

fn check(python: &Path, recording: &Recording, seen: &[Seen], burn: &Path) {
    assert_eq!((recording.exit, recording.output.head.as_slice()), (ExitStatus::Code(7), &b"5\n"[..]));
    let innermost =
        |name: &str| seen.iter().filter(move |it| it.names().first() == Some(&name)).collect::<Vec<_>>();
    let context = python.display();

    let [heavy, loops] = [innermost("heavy"), innermost("loops")];
    let chain = |it: &Seen| it.names() == ["light", "work", "<module>"];
    let light = innermost("light").into_iter().filter(|it| chain(it)).count();
    assert!(heavy.len() > 20 && is_share(heavy.len(), light, 0.7), "{context}: {} to {light}", heavy.len());
    let in_loop = heavy.iter().filter(|it| [2, 3, 4].contains(&it.frames[0].2)).count();
    assert!(in_loop + 2 >= heavy.len(), "{context}: the first and the last line take no time");
    for it in &heavy {
        assert_eq!(it.names(), ["heavy", "work", "<module>"], "{context}");
        assert_eq!(Path::new(&it.frames[0].0), burn, "{context}");
        assert!(
            (1..=5).contains(&it.frames[0].2) && it.frames[1].2 == 34 && it.frames[2].2 == 2,
            "{context}: {:?}",
            it.frames
        );
    }

    let on = |lines: [u32; 2]| loops.iter().filter(|it| lines.contains(&it.frames[0].2)).count();
    let (first, second) = (on([15, 16]), on([17, 18]));
    assert!(
        first + second + 2 >= loops.len() && is_share(first, second, 0.7),
        "{context}: {first} to {second}"
    );

    let deep: Vec<&&Seen> = loops.iter().filter(|it| it.names().get(1) == Some(&"down")).collect();
    assert!(!deep.is_empty(), "{context}: no recursion");
    assert!(
        deep.iter().all(|it| it.names().iter().filter(|name| **name == "down").count() == 201),
        "{context}"
    );
    let generated = |it: &&&Seen| it.names().starts_with(&["loops", "produce", "consume", "<module>"]);
    assert!(loops.iter().filter(generated).count() > 0, "{context}: no generator");
    let in_thread =
        |it: &&&Seen| it.tid != it.pid && it.names()[1..] == ["run", "_bootstrap_inner", "_bootstrap"];
    assert!(loops.iter().filter(in_thread).count() > 0, "{context}: no thread");
    let in_child = |it: &&&Seen| it.pid != recording.root && it.names()[1..] == ["<module>"];
    let of_child: Vec<_> = seen.iter().filter(|it| it.pid != recording.root).map(Seen::names).collect();
    assert!(innermost("light").iter().filter(in_child).count() > 0, "{context}: no fork in {of_child:?}");
}

#[test]
fn functions_lines_and_shares_are_true_in_each_version() {
    let Some(mut sampler) = attached() else { return };
    let all = interpreters();
    if all.is_empty() {
        assert!(std::env::var_os("FIRSTBYTE_REQUIRE").is_none(), "no Python of a known version");
        eprintln!("skipped: no Python of a known version");
    }
    for python in all {
        let folder = tempfile::tempdir().unwrap();
        let command = written(folder.path(), &python);
        let (recording, seen) = sampled(&mut sampler, &command);
        check(&python, &recording, &seen, &folder.path().join("burn.py"));
        eprintln!("true: Python {}: {} samples", python.display(), seen.len());
    }
}

#[test]
fn a_stripped_interpreter_has_the_same_frames() {
    let Some(mut sampler) = attached() else { return };
    let python = fs::canonicalize("/usr/bin/python3").unwrap_or_default();
    let folder = tempfile::tempdir().unwrap();
    let Some(name) = python.file_name().filter(|_| interpreters().contains(&"/usr/bin/python3".into()))
    else {
        eprintln!("skipped: no Python of the distribution");
        return;
    };
    let copy = folder.path().join(name);
    let stripped = std::process::Command::new("strip").arg("-o").args([&copy, &python]).status();
    if !stripped.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no strip");
        return;
    }
    let (recording, seen) = sampled(&mut sampler, &written(folder.path(), &copy));
    check(&copy, &recording, &seen, &folder.path().join("burn.py"));
}
