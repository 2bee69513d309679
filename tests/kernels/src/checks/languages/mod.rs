//! Functions, files and lines of interpreted programs in `firstbyte trace`, on disks that have interpreters
//! (`tests/kernels/languages`).
//!
//! Emulated programs are slow, so there are only a few hundred samples. Shares may deviate as much as so few samples do.

mod programs;

use self::programs::{NODE, NODE_INTERPRETED, PYTHON};
use super::{Check, check, right, skipped};
use crate::report::Checked;
use crate::tool::{self, User, same};
use crate::truth::{BASH, PHP, Truth, ZSH};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

/// What texts in its files become, so that it takes less time.
type Shorter = &'static [(&'static str, &'static str)];

/// The name of a row, and its program.
const ALL: [(&str, Truth, Shorter); 6] = [
    ("Python", PYTHON, &[]),
    ("Node.js", NODE, &[]),
    ("Node.js, interpreted", NODE_INTERPRETED, &[]),
    ("PHP", PHP, &[("0000", "000")]),
    ("bash", BASH, SHORT_SHELL),
    ("zsh", ZSH, SHORT_SHELL),
];
const SHORT_SHELL: Shorter = &[("work 40", "work 8"), ("2000", "300"), ("1500", "300")];

/// Perl is not read on arm64, and this is what notes call it.
const PERL: [&str; 2] = ["/usr/bin/perl", "-e 'for ($i = 0; $i < 1e6; $i++) {} print \"1\\n\"'"];
const CALLED: &str = "Perl on this processor";

/// Without interpreters, no rows.
pub(super) fn list(user: User) -> Vec<Check> {
    if !ALL.iter().any(|(_, truth, _)| Path::new(truth.interpreter).exists()) {
        return Vec::new();
    }
    let backends: &[&'static str] = if user == User::Root { &["bpf", "ptrace"] } else { &["ptrace"] };
    let mut list = Vec::new();
    for backend in backends {
        let mut add = |name: &str, run: Box<dyn Fn() -> Checked>| {
            list.push(check(backend, format!("languages: {name}{}", user.mark()), run));
        };
        for (name, truth, shorter) in ALL {
            add(name, Box::new(move || judged(Tracing { user, backend }, &truth, shorter)));
        }
        if cfg!(target_arch = "aarch64") {
            add("Perl", Box::new(move || unread(Tracing { user, backend })));
        }
    }
    list
}

#[derive(Clone, Copy)]
struct Tracing {
    user: User,
    backend: &'static str,
}

struct Traced {
    result: Value,
    /// One in each line.
    stacks: String,
    /// What is printed, in one line.
    text: String,
}

impl Tracing {
    fn folder(self) -> String {
        format!("{}/program", self.user.home())
    }

    /// The program's folder, with a script that executes a command.
    fn write(self, files: &[(&str, &str)], shorter: Shorter, command: &str) -> Result<String, String> {
        let folder = self.folder();
        let failed = |error: std::io::Error| format!("{folder}: {error}");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(failed)?;
        if self.user == User::Other {
            chown(&folder, Some(tool::OTHER), Some(tool::OTHER)).map_err(failed)?;
        }
        let shim = format!("{folder}/shim");
        let script = format!("#!/bin/sh\nexec env {command} >>FOLDER/outputs\n").replace("FOLDER", &folder);
        for (name, text) in files.iter().copied().chain([("shim", script.as_str())]) {
            let text = shorter.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
            fs::write(format!("{folder}/{name}"), text).map_err(failed)?;
        }
        fs::set_permissions(&shim, PermissionsExt::from_mode(0o755)).map_err(failed)?;
        Ok(shim)
    }

    fn traced(self, files: &[(&str, &str)], shorter: Shorter, command: &str) -> Result<Traced, String> {
        let shim = self.write(files, shorter, command)?;
        if self.user == User::Other {
            // Debian's default forbids ordinary users all events
            fs::write("/proc/sys/kernel/perf_event_paranoid", "2").map_err(|error| error.to_string())?;
        }
        same("status without firstbyte", &tool::run(self.user, &shim, &[])?.status, &Some(0))?;

        let [outputs, stacks, json] =
            ["outputs", "stacks", "json"].map(|name| format!("{}/{name}", self.folder()));
        let alone = read(&outputs)?;
        let words = ["trace", "--runs", "2", "--full", "--no-overhead", "--backend", self.backend];
        let exports = ["--export-json", &json, "--export-folded", &stacks, "--", &shim];
        let answer = tool::firstbyte(self.user, &[&words[..], &exports].concat())?;
        same("status", &answer.status, &Some(0)).map_err(|wrong| format!("{wrong}: {}", answer.stderr))?;
        let document: Value =
            serde_json::from_str(&read(&json)?).map_err(|error| format!("no JSON: {error}"))?;
        same("backend", &document["tool"]["backend"], &Value::from(self.backend))?;
        let result = document["results"][0].clone();
        let codes = result["exit_codes"].as_array().ok_or("no statuses")?;
        same("all statuses are 0", &codes.iter().all(|code| *code == 0), &true)?;
        let all = read(&outputs)?;
        let is_same = all.len() > alone.len() && alone.repeat(all.len() / alone.len().max(1)) == all;
        same("each run has printed the same", &is_same, &true)?;
        let text = answer.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Traced { result, stacks: read(&stacks)?, text })
    }
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}

/// The names, files, lines, callers and shares of a program.
fn judged(how: Tracing, truth: &Truth, shorter: Shorter) -> Checked {
    if !Path::new(truth.interpreter).exists() {
        return skipped(format!("there is no {}", truth.interpreter));
    }
    let command = format!("{} {} {}", truth.interpreter, truth.options, truth.program);
    let traced = how.traced(truth.files, shorter, &command)?;
    match note(&traced.text) {
        Some(note) if note.ends_with(" is not known yet: functions") => return skipped(note),
        note => same("note", &note, &None)?,
    }
    let share = judge_functions(&traced.result, truth)?;
    let lines =
        if truth.loop_lines[0] == [0, 0] { String::new() } else { judge_lines(&traced.result, truth)? };
    judge_stacks(&traced.stacks, truth)?;
    right(format!("{} samples, {share}{lines}", traced.result["sampling"]["samples"]))
}

/// That functions are not read.
fn note(text: &str) -> Option<&str> {
    let end = text
        .find(" of the interpreter are shown instead")
        .or(text.find(" of its interpreter are shown instead"))?;
    let start = text[..end].rfind(". ").map_or(0, |at| at + 2);
    Some(&text[start..end])
}

fn row<'r>(result: &'r Value, truth: &Truth, name: &str) -> Result<&'r Value, String> {
    let all = result["user_functions"].as_array().ok_or("no functions")?;
    let mut found = all.iter().filter(|it| it["function"] == name && it["language"] == truth.language);
    found.next().ok_or_else(|| {
        let names = all.iter().filter_map(|it| it["function"].as_str()).take(12);
        format!("no `{name}` of {}, but {}", truth.language, names.collect::<Vec<_>>().join(", "))
    })
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_default()
}

fn judge_functions(result: &Value, truth: &Truth) -> Result<String, String> {
    let [work, light, loops] = [truth.work, truth.light, truth.loops].map(|name| row(result, truth, name));
    let (work, light, loops) = (work?, light?, loops?);
    let defined = [work, light, loops].map(|it| it["line"].as_u64().unwrap_or_default());
    same("lines of definitions", &defined, &truth.defined)?;
    let file = Path::new(light["file"].as_str().unwrap_or_default()).file_name();
    same("file", &file, &Some(truth.files[0].0.as_ref()))?;
    same("own code", &light["module"], &light["file"])?;
    let rest = number(light, "total_ns");
    judge_share("heavy", [number(work, "total_ns") - rest, rest], number(work, "samples"))
}

fn judge_lines(result: &Value, truth: &Truth) -> Result<String, String> {
    let loops = row(result, truth, truth.loops)?;
    let lines = loops["lines"].as_array().ok_or("no lines")?;
    let on = |wanted: [u64; 2]| -> f64 {
        let on = lines.iter().filter(|it| it["line"].as_u64().is_some_and(|line| wanted.contains(&line)));
        on.map(|it| number(it, "ns")).sum()
    };
    let both = truth.loop_lines.map(on);
    let part = both.iter().sum::<f64>() / number(loops, "self_ns").max(1.0);
    if part < 0.95 {
        return Err(format!("{part:.2} of `{}` is in its loops: {lines:?}", truth.loops));
    }
    Ok(format!(", lines: {}", judge_share("first loop", both, number(loops, "samples"))?))
}

/// Seven of ten, within three and a third standard errors and three points.
fn judge_share(what: &str, [part, rest]: [f64; 2], samples: f64) -> Result<String, String> {
    let share = part / (part + rest);
    let found = format!("{what} {share:.3} of {samples} samples");
    let allowed = 3.3 * (0.21 / samples).sqrt() + 0.03;
    if (share - 0.7).abs() <= allowed { Ok(found) } else { Err(found) }
}

fn judge_stacks(stacks: &str, truth: &Truth) -> Result<(), String> {
    let [outer, repeated, inner] = truth.recursion;
    let deep = outer.to_owned() + &repeated.repeat(201) + inner;
    let wanted = truth.stacks.iter().copied().chain([deep.as_str()]);
    let missing: Vec<&str> = wanted.filter(|wanted| !stacks.contains(wanted)).collect();
    let Some(missing) = missing.first() else { return Ok(()) };
    let innermost = missing.rsplit(';').next().unwrap_or_default();
    let mut like: Vec<&str> = stacks.lines().filter(|line| line.contains(innermost)).collect();
    like.sort_by_key(|line| line.len());
    Err(format!("no stack {missing}, but {}", like[..like.len().min(4)].join("; ")))
}

/// A program whose functions are not read has a note, and functions of its interpreter.
fn unread(how: Tracing) -> Checked {
    let [interpreter, script] = PERL;
    if !Path::new(interpreter).exists() {
        return skipped(format!("there is no {interpreter}"));
    }
    let traced = how.traced(&[], &[], &format!("{interpreter} {script}"))?;
    let wanted = format!("{CALLED} is not known yet: functions");
    same("note", &note(&traced.text), &Some(wanted.as_str()))?;
    let functions = traced.result["user_functions"].as_array().ok_or("no functions")?;
    same("without a language", &functions.iter().all(|it| it["language"].is_null()), &true)?;
    right(format!("{} samples", traced.result["sampling"]["samples"]))
}
