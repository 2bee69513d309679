//! Work that interpreted programs leave to libraries and runtimes, and the functions that it is for.

use super::frames::sampled;
use super::support::skipped;
use serde_json::Value;
use std::fs;
use std::path::Path;

const PYTHON: &str = "\
import json
import re

def load_rules():
    for i in range(400):
        re.compile('(a|b)%d+[a-z]{2,5}(?P<x>c)|d%d' % (i, i))

def read(text):
    for _ in range(20):
        json.loads(text)

def read_too(text):
    for _ in range(20):
        json.loads(text)

def read_again(text):
    for _ in range(20):
        json.loads(text)

load_rules()
text = str(list(range(50000)))
for f in read, read_too, read_again:
    f(text)
";

const NODE: &str = "\
// each does one kind of work
function readAll(text) {
  let n = 0;
  for (let i = 0; i < 30; i++) n += JSON.parse(text).length;
  return n;
}
function loadRules(n) {
  for (let i = 0; i < 5000; i++) n += new RegExp(`(a|b)${i}+[a-z]{2,5}(?<x>\\\\d+)|c${i}`).test('ccc') ? 1 : 0;
  return n;
}
const build = (kept) => {
  for (let i = 0; i < 2000000; i++) kept.push({ i });
  return kept.length;
};
readAll(JSON.stringify(Array.from({ length: 10000 }, (_, i) => ({ i, s: 'x'.repeat(20) }))));
loadRules(0);
build([]);
";

const RUBY: &str = "\
require 'erb'
require 'json'

def read_all(text)
  60.times { JSON.parse(text) }
end

def render
  400.times { ERB.new(\"<% 5.times do |i| %>row <%= i %></b>\\n<% end %>\" * 4).result }
end

read_all(JSON.generate([{ 'a' => [1, 2, 3], 'b' => 'x' * 20 }] * 2000))
render
";

/// The texts of the findings of a program; `None`: this machine does not have its interpreter, or does not sample it.
fn found(interpreter: &[&str], name: &str, program: &str) -> Option<impl Fn(&str) -> String> {
    if !Path::new(interpreter[0]).exists() || !cfg!(target_arch = "x86_64") {
        skipped(&format!("no {} whose frames are read here", interpreter[0]));
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, program).unwrap();
    let options = ["-r", "6", "--env-remove", "NODE_EXTRA_CA_CERTS", "--"];
    let result = sampled(&[&options[..], interpreter, &[file.to_str().unwrap()]].concat())?;
    let findings = result["findings"].as_array().unwrap().clone();
    Some(move |rule: &str| {
        let text = |it: &Value| it["text"].as_str().unwrap().to_owned();
        let found = findings.iter().find(|it| it["rule"] == rule);
        found.map_or_else(|| panic!("{rule}: {findings:#?}"), text)
    })
}

#[track_caller]
fn assert_names(text: &str, caller: &str) {
    assert!(text.contains(caller), "{text}");
}

#[test]
fn libraries_of_python_work_for_the_functions_that_call_them() {
    let Some(found) = found(&["/usr/bin/python3", "-S"], "app.py", PYTHON) else { return };
    assert_names(&found("regular-expressions"), "called by `load_rules` (app.py:4).");
    let json = found("json");
    assert!(json.contains("`loads`") && !json.contains("called by"), "its callers do not agree: {json}");
}

#[test]
fn work_of_v8_is_for_the_function_that_is_executed() {
    let Some(found) = found(&["/usr/bin/node", "--single-threaded-gc"], "app.js", NODE) else { return };
    assert_names(&found("json"), "called by `readAll` (app.js:2).");
    assert_names(&found("regular-expressions"), "called by `loadRules` (app.js:7).");
    assert_names(&found("garbage-collection"), "mostly during `build` (app.js:11))");
}

#[test]
fn libraries_of_ruby_work_for_the_methods_that_call_them() {
    let Some(found) = found(&["/usr/bin/ruby"], "app.rb", RUBY) else { return };
    assert_names(&found("json"), "called by `block in read_all` (app.rb:5).");
    assert_names(&found("templates"), "called by `block in render` (app.rb:9).");
}
