//! Functions, files and lines of Node.js in `firstbyte trace`.

use super::frames::{assert_share, chosen, row, sampled};
use super::support::{as_nobody, of_nobody, skipped, write_executable};
use object::Object;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Without inlining: the time of an inlined function counts for its caller.
const BURN: &str = "\
'use strict'; require('v8').setFlagsFromString('--max-inlined-bytecode-size=0 --max-inlined-bytecode-size-cumulative=0 --max-inlined-bytecode-size-small=0');
const spin = (times) => {
  let total = 0;
  for (let i = 0; i < times; i++) total += i % 7;
  return total;
};

function heavy(times) {
  return spin(7 * times);
}

class Light {
  light(times) {
    return spin(3 * times);
  }
}

function loops(times) {
  let total = 0;
  for (let i = 0; i < 7 * times; i++)
    total += i % 7;
  for (let i = 0; i < 3 * times; i++)
    total += i % 7;
  return total;
}

const down = (depth) => depth ? down(depth - 1) : loops(100000);

function* produce(times) {
  for (let i = 0; i < times; i++) yield loops(10000);
}

exports.consume = async () => {
  await null;
  return [...produce(10)];
};
exports.work = (rounds) => {
  for (let i = 0; i < rounds; i++) {
    heavy(60000);
    new Light().light(60000);
  }
};
exports.heavy = heavy;
exports.loops = loops;
exports.down = down;
";

/// In a package.
const PREPARE: &str = "\
exports.prepare = function prepare(times) {
  let total = 0;
  for (let i = 0; i < times; i++) total += JSON.stringify({ i }).length;
  return total;
};
";

/// With compiled code, with another process and another thread.
const APP: &str = "\
const { Worker, isMainThread } = require('worker_threads');
const burn = require('./burn.js');
if (!isMainThread) {
  burn.loops(5000000);
} else if (process.argv[2]) {
  burn.heavy(5000000);
} else {
  [1].forEach(function each() { burn.work(60); });
  require('dep').prepare(100000);
  new Worker(__filename).on('exit', () => {
    require('child_process').spawnSync(process.execPath, [__filename, 'child']);
    console.log('done');
  });
}
";

/// So much compiled code that its shares are certain.
const LONG: &str = "require('./burn.js').work(400);\n";

/// For code that is interpreted.
const INTERPRETED: &str = "\
import burn from './burn.js';
burn.loops(1000000);
burn.down(200);
await burn.consume();
console.log('done');
";

/// Those whose paths are in `FIRSTBYTE_NODES`, separated by colons; without it, those of this machine.
fn interpreters() -> Vec<PathBuf> {
    let own = || ["/usr/bin/node", "/usr/local/bin/node"].map(PathBuf::from).to_vec();
    let mut all = chosen("FIRSTBYTE_NODES").unwrap_or_else(own);
    all.retain(|path| path.exists() && cfg!(target_arch = "x86_64"));
    if all.is_empty() {
        skipped("no Node.js whose frames are read here");
    }
    all
}

fn write_program(folder: &Path) {
    fs::create_dir_all(folder.join("node_modules/dep")).unwrap();
    for (name, text) in [
        ("burn.js", BURN),
        ("app.js", APP),
        ("long.js", LONG),
        ("interpreted.mjs", INTERPRETED),
        ("node_modules/dep/index.js", PREPARE),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
}

/// What is traced, and the stacks, one in each line.
fn traced(node: &Path, folder: &Path, arguments: &str) -> Option<(Value, String)> {
    let (shim, exported) = (folder.join("shim"), folder.join("stacks"));
    write_executable(&shim, format!("#!/bin/sh\nexec env {} {arguments}\n", node.display()), 0o755);
    let words = ["-r", "6", "--export-folded", exported.to_str().unwrap(), "--", shim.to_str().unwrap()];
    let result = sampled(&words)?;
    assert!(result["exit_codes"].as_array().unwrap().iter().all(|code| *code == 0));
    Some((result, fs::read_to_string(&exported).unwrap()))
}

/// The folder of the program, what is traced of its compiled code, and the stacks.
fn compiled_code(node: &Path, app: &str) -> Option<(TempDir, Value, String)> {
    let folder = tempfile::tempdir().unwrap();
    write_program(folder.path());
    let app = folder.path().join(app);
    let (result, stacks) = traced(node, folder.path(), app.to_str().unwrap())?;
    Some((folder, result, stacks))
}

fn is_stripped(node: &Path) -> bool {
    let bytes = fs::read(node).unwrap();
    object::File::parse(&*bytes).unwrap().symbol_table().is_none()
}

fn total(row: &Value) -> f64 {
    row["total_ns"].as_f64().unwrap()
}

#[test]
fn functions_of_node_have_their_file_and_their_package() {
    for node in interpreters() {
        let Some((folder, result, stacks)) = compiled_code(&node, "app.js") else { return };
        let context = node.to_str().unwrap();

        let of = |name: &str| row(&result, "JavaScript", name);
        let [work, light, prepare] = ["exports.work", "light", "prepare"].map(of);
        assert_eq!([work, light, prepare].map(|it| it["line"].as_u64().unwrap()), [37, 13, 1], "{context}");
        let burn = folder.path().join("burn.js");
        assert_eq!([&light["file"], &light["module"]], [burn.to_str().unwrap(); 2], "{context}");
        let package = folder.path().join("node_modules/dep");
        assert_eq!(prepare["module"], package.to_str().unwrap(), "{context}");
        assert_eq!(of("executeUserEntryPoint")["module"], "Node.js's standard library", "{context}");

        let chain = ";<module> (app.js:1);each (app.js:8);exports.work (burn.js:37);light (burn.js:13);spin (burn.js:2) ";
        assert!(stacks.contains(chain), "{context}: {stacks}");
        assert!(stacks.contains(";<module> (app.js:1);loops (burn.js:18)"), "{context}: a thread\n{stacks}");
        assert!(stacks.contains(";<module> (app.js:1);heavy (burn.js:8)"), "{context}: a process\n{stacks}");
        assert!(
            !stacks.contains("(burn.js:37);Builtins_"),
            "{context}: the interpreter is left out\n{stacks}"
        );
        // in some stripped builds, V8's own functions have no names
        let has_names = stacks.contains(";v8::internal::") || !is_stripped(&node);
        let in_json = stacks.contains("prepare (index.js:1);v8::internal::JsonStringify");
        assert!(in_json || !has_names, "{context}\n{stacks}");
        eprintln!("true: JavaScript {context}: {} samples", result["sampling"]["samples"]);
    }
}

#[test]
#[ignore = "needs the processors: `make test` runs it after the others, alone"]
fn functions_of_node_have_their_share() {
    for node in interpreters() {
        let Some((_, result, _)) = compiled_code(&node, "long.js") else { return };
        let [work, light] = ["exports.work", "light"].map(|name| row(&result, "JavaScript", name));
        let samples = work["samples"].as_f64().unwrap();
        assert_share(total(work) - total(light), total(light), samples, node.to_str().unwrap());
    }
    assert_lines_and_callers(true);
}

#[test]
fn lines_and_callers_are_those_that_node_interpreted() {
    assert_lines_and_callers(false);
}

#[test]
fn lines_and_callers_are_known_without_the_names_of_builtins() {
    // the other test has those that are stripped already
    let Some(node) = interpreters().pop().filter(|node| !is_stripped(node)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let stripped = folder.path().join("node");
    let status = Command::new("strip").arg("-o").arg(&stripped).arg(&node).status();
    assert!(status.unwrap().success());
    assert_lines_and_callers_of(&stripped, false);
}

fn assert_lines_and_callers(is_alone: bool) {
    for node in interpreters() {
        assert_lines_and_callers_of(&node, is_alone);
    }
}

/// Compiled code does not keep its lines. `is_alone`: on a machine that does nothing else, lines have their share too.
fn assert_lines_and_callers_of(node: &Path, is_alone: bool) {
    let folder = tempfile::tempdir().unwrap();
    write_program(folder.path());
    let script = folder.path().join("interpreted.mjs");
    let arguments = format!("--jitless {}", script.display());
    let Some((result, stacks)) = traced(node, folder.path(), &arguments) else { return };
    let context = node.to_str().unwrap();

    assert_lines(row(&result, "JavaScript", "loops"), is_alone, context);
    let down = " (interpreted.mjs:1)".to_owned() + &";down (burn.js:27)".repeat(201) + ";loops (burn.js:18)";
    assert!(stacks.contains(&down), "{context}: no recursion");
    let generated = ";exports.consume (burn.js:33);produce (burn.js:29);loops (burn.js:18)";
    assert!(stacks.contains(generated), "{context}: no generator\n{stacks}");
}

/// The lines of the two loops.
fn assert_lines(loops: &Value, is_alone: bool, context: &str) {
    let lines = loops["lines"].as_array().unwrap();
    let on = |wanted: [u64; 2]| -> f64 {
        let on = lines.iter().filter(|it| wanted.contains(&it["line"].as_u64().unwrap()));
        on.map(|it| it["ns"].as_f64().unwrap()).sum()
    };
    let (first, second) = (on([20, 21]), on([22, 23]));
    if is_alone {
        assert_share(first, second, loops["samples"].as_f64().unwrap(), context);
    }
    assert!(first + second > 0.95 * loops["self_ns"].as_f64().unwrap(), "{context}: {lines:?}");
}

#[test]
fn an_ordinary_user_gets_functions_of_node_too() {
    let Some(node) = interpreters().pop() else { return };
    let Some(folder) = of_nobody() else { return };
    write_program(folder.path());
    let words = ["./firstbyte", "trace", "--no-overhead", "-r", "6", "--export-json", "-", "--"];
    let words = [&words[..], &[node.to_str().unwrap(), "app.js"]].concat();
    let output = as_nobody(folder.path(), &words).output().unwrap();
    let result =
        serde_json::from_slice::<Value>(&output.stdout).map(|document| document["results"][0].clone());
    match result.ok().filter(|result| !result["sampling"].is_null()) {
        Some(result) => {
            let lines = ["heavy", "light"].map(|name| row(&result, "JavaScript", name)["line"].clone());
            assert_eq!(lines, [8, 13]);
        }
        None => skipped("that user may not sample"),
    }
}

#[test]
fn a_package_that_is_linked_is_the_users_own() {
    for node in interpreters() {
        let folder = tempfile::tempdir().unwrap();
        write_program(folder.path());
        let linked = folder.path().join("packages/linked");
        fs::create_dir_all(&linked).unwrap();
        fs::write(linked.join("index.js"), PREPARE.replace("prepare", "develop")).unwrap();
        std::os::unix::fs::symlink(&linked, folder.path().join("node_modules/linked")).unwrap();
        let app = folder.path().join("linked.js");
        let program = "require('linked').develop(300000);\nrequire('dep').prepare(300000);\n";
        fs::write(&app, program).unwrap();
        let Some((result, _)) = traced(&node, folder.path(), app.to_str().unwrap()) else { return };
        let module = |name: &str| row(&result, "JavaScript", name)["module"].as_str().unwrap().to_owned();
        let expected = [linked.join("index.js"), folder.path().join("node_modules/dep")];
        assert_eq!(
            ["develop", "prepare"].map(module),
            expected.map(|path| path.to_str().unwrap().to_owned())
        );
    }
}
