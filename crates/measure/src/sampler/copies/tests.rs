//! A program of Node.js whose functions, lines and shares are known.

use super::super::{FrameSampler, LanguageStack, TaskEvent};
use super::*;
use crate::launch::{Command, ExitStatus};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A file in which two functions, and two lines of a third one, take 70 and 30 % of the time. It starts itself as a child,
/// and a thread that does the same.
const SCRIPT: &str = "\
const { spawnSync } = require('child_process');
const { Worker, isMainThread } = require('worker_threads');
function burn(rounds) {
  let sum = 0;
  for (let i = 0; i < rounds; i++) sum = (sum + i) % 1000;
  return sum;
}
function heavy() {
  return burn(70000);
}
function light() {
  return burn(30000);
}
function both() {
  burn(70000);
  burn(30000);
}
function work(rounds) {
  for (let i = 0; i < rounds; i++) { heavy(); light(); both(); }
}
work(40);
if (isMainThread && process.argv[2] === 'parent') {
  console.log(spawnSync(process.execPath, [...process.execArgv, __filename, 'child']).status);
  new Worker(__filename).on('exit', code => process.exit(code + 7));
} else if (isMainThread) process.exit(5);
";

/// So that V8 keeps `burn` a function of its own, and has lines.
const INTERPRETED: [&str; 2] = ["--no-opt", "--no-sparkplug"];

struct Seen {
    pid: u32,
    tid: u32,
    /// Name and line, the innermost one first.
    frames: Vec<(String, u32)>,
}

impl Seen {
    fn is_in(&self, function: &str) -> bool {
        self.frames.iter().any(|(name, _)| name == function)
    }

    fn line_of(&self, function: &str) -> Option<u32> {
        self.frames.iter().find(|(name, _)| name == function).map(|(_, line)| *line)
    }
}

fn sampler() -> Option<CopySampler> {
    let node = Path::new("/usr/bin/node");
    let sampler = CopySampler::new(1, &[node.to_owned()]);
    if sampler.is_none() {
        // an old kernel and an ordinary user have none
        let may_lack = std::env::var_os("FIRSTBYTE_REQUIRE").is_none() || !node.exists();
        assert!(may_lack || !rustix::process::geteuid().is_root(), "nothing is copied");
        eprintln!("skipped: nothing is copied, or there is no /usr/bin/node");
    }
    sampler
}

fn seen(streams: &[Stream]) -> Vec<Seen> {
    let named = |stack: &LanguageStack| {
        let frame = |frame: &super::super::LanguageFrame| {
            (frame.function.name.to_string(), frame.line.unwrap_or_default())
        };
        stack.frames.iter().map(frame).collect()
    };
    let records = streams.iter().flat_map(|stream| &stream.records);
    let seen = records.filter_map(|record| match &record.event {
        TaskEvent::Sample(sample) => {
            let frames = sample.language.as_deref().map(named).unwrap_or_default();
            Some(Seen { pid: record.pid, tid: record.tid, frames })
        }
        _ => None,
    });
    seen.collect()
}

#[test]
fn as_much_of_the_stack_is_copied_as_at_stops() {
    let header = include_str!("../../tracer/bpf/samples_session.h");
    assert!(header.contains(&format!("#define SAMPLED_STACK ({} << 10)\n", STACK >> 10)));
}

/// Within four standard deviations of 70 %.
fn assert_share(heavy: usize, all: usize) {
    let (share, of) = (heavy as f64 / all as f64, all as f64);
    assert!(all > 100 && (share - 0.7).abs() < 4.0 * (0.21 / of).sqrt(), "{heavy} of {all}");
}

#[test]
fn functions_lines_threads_and_children_are_those_of_the_program() {
    let Some(mut sampler) = sampler() else { return };
    sampler.use_period(Nanos(300_000), Nanos(2_000_000));
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("burn.js");
    fs::write(&script, SCRIPT).unwrap();
    let script = script.to_str().unwrap();
    let words = [&["/usr/bin/node"][..], &INTERPRETED, &[script, "parent"]].concat();

    Tracer::attach(&mut sampler).unwrap();
    let mut launcher = Launcher::new(Command::new(&words).unwrap()).unwrap();
    let recording = sampler.run(&mut launcher, &RunOptions::default()).unwrap();
    Tracer::detach(&mut sampler).unwrap();
    let output = recording.output.head.as_slice();
    assert_eq!((recording.exit, output), (ExitStatus::Code(7), &b"5\n"[..]), "as without samples");

    // one of them would be too many in a run of a hundred samples
    assert_eq!(sampler.seen.missing, 0);
    let all = seen(&sampler.take().expect("all frames can be read"));
    let count = |is: &dyn Fn(&&Seen) -> bool| all.iter().filter(|sample| is(sample)).count();
    let [heavy, light] = ["heavy", "light"].map(|name| count(&|sample| sample.is_in(name)));
    assert_share(heavy, heavy + light);
    let [first, second] = [15, 16].map(|line| count(&|sample| sample.line_of("both") == Some(line)));
    assert_share(first, first + second);
    let others = count(&|sample| sample.is_in("both")) - first - second;
    assert!(100 * others <= first + second, "{others} in no loop: where it begins and ends");
    let is_called = |sample: &&Seen| {
        let mut names =
            sample.frames.iter().map(|(name, _)| name.as_str()).skip_while(|name| *name != "heavy");
        sample.is_in("heavy") && names.nth(1) != Some("work")
    };
    assert_eq!(count(&is_called), 0, "`work` calls `heavy`");

    let mut tasks: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for sample in all.iter().filter(|sample| sample.is_in("work")) {
        *tasks.entry((sample.pid, sample.tid)).or_default() += 1;
    }
    assert_eq!(tasks.len(), 3, "the program, its child and its thread: {tasks:?}");
}

#[test]
fn expensive_copies_make_the_period_longer_up_to_a_limit() {
    let Some(mut sampler) = sampler() else { return };
    let longest = Nanos(5_000_000);
    sampler.use_period(Nanos(100_000), longest);
    sampler.learn((Nanos(2_000_000), 1000));
    assert!(sampler.period > Nanos(100_000) && sampler.period <= longest, "{:?}", sampler.period);
    sampler.learn((Nanos(1_000_000_000), 1000));
    assert_eq!(sampler.period, longest);
}

#[test]
fn where_no_interpreter_ran_nothing_is_said() {
    let Some(mut sampler) = sampler() else { return };
    sampler.use_period(Nanos(100_000), Nanos(2_000_000));
    Tracer::attach(&mut sampler).unwrap();
    let mut launcher = Launcher::new(Command::new(&["/bin/sh", "-c", "exit 3"]).unwrap()).unwrap();
    sampler.run(&mut launcher, &RunOptions::default()).unwrap();
    assert!(sampler.take().is_none());
    assert!(CopySampler::new(1, &["/bin/sh".into()]).is_none() && CopySampler::new(1, &[]).is_none());
}
