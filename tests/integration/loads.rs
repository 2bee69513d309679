//! What `firstbyte trace` says of the files that a start-up loads, checked with programs that know it.

use super::support::skipped;
use super::trace::{compiled, result, traced};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn number(load: &Value, name: &str) -> u64 {
    load[name].as_u64().unwrap()
}

/// Without a tracer there is no result. The loads that the system calls show sum to the total.
fn loads(words: &[&str]) -> Option<Vec<Value>> {
    let options = ["-r", "1", "--no-samples", "--"];
    let Some(result) = result(&[&options, words].concat()) else {
        skipped("this machine does not trace");
        return None;
    };
    let loads = result["loads"].as_array().unwrap().clone();
    let sum: u64 = loads.iter().map(|load| number(load, "self_ns")).sum();
    assert_eq!(result["total_ns"], sum, "{loads:?}");
    assert_nested(&loads);
    Some(loads)
}

/// Each load's time contains those that follow it one level deeper.
fn assert_nested(loads: &[Value]) {
    for (place, load) in loads.iter().enumerate() {
        let inside =
            loads[place + 1..].iter().take_while(|other| other["depth"].as_u64() > load["depth"].as_u64());
        let sum: u64 = inside.map(|other| number(other, "self_ns")).sum();
        assert_eq!(number(load, "total_ns"), number(load, "self_ns") + sum, "{load}");
    }
}

fn load<'l>(loads: &'l [Value], unit: &str) -> &'l Value {
    loads.iter().find(|load| load["unit"] == unit).unwrap_or_else(|| panic!("no {unit} in {loads:?}"))
}

/// Reads a file in two parts, and works for 20 ms between them; then it works for 20 ms with what it has read, before it
/// reads on and finds the end.
const READER: &str = r#"
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
static void work(void)
{
	struct timespec now, start;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < 20000000);
}
int main(int count, char **words)
{
	char bytes[4];
	int file = open(words[1], O_RDONLY);
	if (read(file, bytes, 4) != 4)
		return 1;
	work();
	if (read(file, bytes, 4) != 4)
		return 1;
	work();
	if (read(file, bytes, 4) != 0)
		return 1;
	close(file);
	return write(1, "x\n", 2) != 2;
}
"#;

#[test]
fn a_file_owns_the_time_until_it_has_been_read_and_a_module_the_time_until_the_next_load() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), READER, &[]) else { return skipped("no C compiler") };
    let program = program.to_str().unwrap();
    for (name, code) in [("settings.conf", false), ("module.py", true)] {
        let file = folder.path().join(name);
        fs::write(&file, "12345678").unwrap();
        let Some(loads) = loads(&[program, file.to_str().unwrap()]) else { return };
        let (file, own) = (load(&loads, name), load(&loads, "tracee"));
        assert_eq!((&file["runtime"], &own["runtime"]), (&"file".into(), &"exec".into()));
        let (file, own) = (number(file, "self_ns"), number(own, "self_ns"));
        let (least, rest) = if code { (40_000_000, 0) } else { (20_000_000, 20_000_000) };
        assert!(file >= least && own >= rest, "{name}: {file} and {own}");
    }
}

#[test]
fn a_script_has_the_time_of_the_programs_that_it_starts() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rc"), "x=$(sleep 0.3; echo 1)\n").unwrap();
    let script = format!(". {}; echo $x", folder.path().join("rc").display());
    let Some(loads) = loads(&["/bin/sh", "-c", &script]) else { return };
    let (rc, sleep) = (load(&loads, "rc"), load(&loads, "sleep"));
    assert!(number(rc, "total_ns") >= 300_000_000, "{rc}");
    let inside = number(rc, "total_ns") - number(rc, "self_ns");
    assert!(number(sleep, "total_ns") >= 300_000_000 && inside >= 300_000_000, "{loads:?}");
    assert!(number(sleep, "depth") > number(rc, "depth"));
}

fn library(folder: &Path, name: &str, needs: &str) -> Option<()> {
    let source = folder.join(format!("{name}.c"));
    let call = if needs.is_empty() { String::new() } else { format!("int {needs}(void);") };
    let value = if needs.is_empty() { "1".to_owned() } else { format!("{needs}()") };
    fs::write(&source, format!("{call} int {name}(void) {{ return {value}; }}")).ok()?;
    let mut build = Command::new("cc");
    build.args(["-shared", "-fPIC", "-o"]).arg(folder.join(format!("lib{name}.so"))).arg(&source);
    build.arg("-L").arg(folder).arg(format!("-Wl,-rpath,{}", folder.display()));
    if !needs.is_empty() {
        build.arg(format!("-l{needs}"));
    }
    build.output().ok()?.status.success().then_some(())
}

#[test]
fn a_library_stands_under_the_one_that_needs_it() {
    let folder = tempfile::tempdir().unwrap();
    let built = library(folder.path(), "inner", "").and_then(|()| library(folder.path(), "outer", "inner"));
    let path = format!("-Wl,-rpath,{}", folder.path().display());
    let source = "#include <unistd.h>\nint outer(void); int main(void) { return write(1, \"x\\n\", 2) - outer() != 1; }";
    let flags = ["-L", folder.path().to_str().unwrap(), &path, "-louter"];
    let program = built.and_then(|()| compiled(folder.path(), source, &flags));
    let Some(program) = program else { return skipped("no C compiler") };
    let Some(loads) = loads(&[program.to_str().unwrap()]) else { return };
    let [program, outer, inner] = ["tracee", "libouter.so", "libinner.so"].map(|unit| load(&loads, unit));
    let depths = [program, outer, inner].map(|load| number(load, "depth"));
    assert_eq!(depths, [0, 1, 2], "{loads:?}");
    assert!(inner["runtime"] == "library" && number(inner, "self_ns") > 0);
}

#[test]
fn the_text_lists_what_was_loaded() {
    let words = ["-r", "1", "--full", "--no-overhead", "--no-samples", "--", "/bin/sh", "-c", "echo 1"];
    let Some(text) = traced(&words) else { return skipped("this machine does not trace") };
    assert!(
        text.contains("What was loaded, and how long each load took") && text.contains("exec     /bin/sh"),
        "{text}"
    );
}

/// What a runtime reports; `None` without the runtime or a tracer.
fn reported(runtime: &str, words: &[&str]) -> Option<Vec<Value>> {
    reported_with(runtime, &["-r", "2", "--no-samples", "--"], words)
}

fn reported_with(runtime: &str, options: &[&str], words: &[&str]) -> Option<Vec<Value>> {
    if Command::new(words[0]).arg("--version").output().is_err()
        && Command::new(words[0]).arg("version").output().is_err()
    {
        skipped(&format!("no {}", words[0]));
        return None;
    }
    let Some(result) = result(&[options, words].concat()) else {
        skipped("this machine does not trace");
        return None;
    };
    let loads = result["loads"].as_array().unwrap().clone();
    let loads: Vec<Value> = loads.into_iter().filter(|load| load["runtime"] == runtime).collect();
    assert!(!loads.is_empty(), "{runtime} reports nothing");
    Some(loads)
}

#[test]
fn python_reports_its_imports_with_those_inside() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("outer_module.py"), "import inner_module\n").unwrap();
    fs::write(folder.path().join("inner_module.py"), "import time\ntime.sleep(0.02)\n").unwrap();
    let program = format!("import sys; sys.path[:0] = [{:?}]; import outer_module; print(1)", folder.path());
    let Some(loads) = reported("Python", &["python3", "-c", &program]) else { return };
    let (outer, inner) = (load(&loads, "outer_module"), load(&loads, "inner_module"));
    assert!(number(inner, "self_ns") >= 20_000_000, "{inner}");
    assert!(number(outer, "total_ns") >= 20_000_000 && number(outer, "self_ns") < number(outer, "total_ns"));
    assert_eq!(number(inner, "depth"), number(outer, "depth") + 1);
}

#[test]
fn hooks_report_the_modules_of_node_ruby_and_perl() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let wait = "const end = process.hrtime.bigint() + 20000000n; while (process.hrtime.bigint() < end);";
    fs::write(path.join("inner.js"), wait).unwrap();
    fs::write(path.join("outer.js"), "require('./inner.js');").unwrap();
    fs::write(path.join("inner.rb"), "sleep 0.02").unwrap();
    fs::write(path.join("outer.rb"), "require_relative 'inner'").unwrap();
    fs::write(path.join("Inner.pm"), "package Inner; select(undef, undef, undef, 0.02); 1;").unwrap();
    fs::write(path.join("Outer.pm"), "package Outer; use Inner; 1;").unwrap();
    let path = path.display();
    let [node, ruby, perl] = [
        format!("require('{path}/outer.js'); console.log(1)"),
        format!("require '{path}/outer'; puts 1"),
        format!("use lib '{path}'; require Outer; print 1"),
    ];
    for (runtime, words, name) in [
        ("Node", ["node", "-e", &node], "outer.js"),
        ("Ruby", ["ruby", "-e", &ruby], "outer"),
        ("Perl", ["perl", "-e", &perl], "Outer.pm"),
    ] {
        let Some(loads) = reported(runtime, &words) else { continue };
        let outer = loads.iter().find(|load| load["unit"].as_str().unwrap().ends_with(name));
        let outer = outer.unwrap_or_else(|| panic!("{runtime}: {loads:?}"));
        assert!(number(outer, "total_ns") >= 20_000_000, "{outer}");
        let inner = loads.iter().find(|load| load["unit"].as_str().unwrap().to_lowercase().contains("inner"));
        let inner = inner.unwrap_or_else(|| panic!("{runtime}: {loads:?}"));
        assert_eq!(number(inner, "depth"), number(outer, "depth") + 1, "{runtime}");
    }
}

#[test]
fn each_thread_of_node_and_ruby_has_a_tree_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for name in ["left", "right"] {
        let outer = format!("require_relative '{name}_inner'\nsleep 0.02");
        fs::write(path.join(format!("{name}.rb")), outer).unwrap();
        fs::write(path.join(format!("{name}_inner.rb")), "sleep 0.03").unwrap();
        fs::write(path.join(format!("{name}.js")), format!("require('./{name}_inner')")).unwrap();
        fs::write(path.join(format!("{name}_inner.js")), "").unwrap();
    }
    let path = path.display();
    let [node, ruby] = [
        format!(
            "for (const n of ['left', 'right']) new (require('worker_threads').Worker)('{path}/' + n + '.js')"
        ),
        format!("%w[left right].map {{ |n| Thread.new {{ require '{path}/' + n }} }}.each(&:join); puts 1"),
    ];
    for (runtime, words) in [("Node", ["node", "-e", &node]), ("Ruby", ["ruby", "-e", &ruby])] {
        let Some(loads) = reported(runtime, &words) else { continue };
        let depth = |name: &str| {
            let is_it = |unit: &str| unit.trim_start_matches("./").rsplit('/').next() == Some(name);
            let found = loads.iter().find(|load| is_it(load["unit"].as_str().unwrap()));
            found.map(|load| number(load, "depth"))
        };
        if runtime == "Ruby" {
            assert_eq!(["left", "right"].map(depth), [Some(0); 2], "{loads:?}");
        }
        let inner = ["left_inner", "right_inner"].map(depth);
        assert_eq!(inner, [Some(u64::from(runtime == "Ruby")); 2], "{runtime}: {loads:?}");
    }
}

/// What a program loads does not disappear in the module that ends it.
#[test]
fn what_has_been_loaded_before_is_no_load() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    write("b.js", "require('./c')");
    write("c.js", "require('fs')");
    let node = write(
        "many.js",
        "for (let n = 0; n < 1000; n++) { require('fs'); require('./b'); require('./c') } \
         for (let n = 0; n < 3; n++) { require('./again'); delete require.cache[require.resolve('./again')] }",
    );
    write("again.js", "");
    let ruby = write("many.rb", "1000.times { require 'json' }");
    write("B.pm", "package B; 1");
    let perl = write("many.pl", "require B for 1 .. 1000;");
    let lib = format!("-I{}", folder.path().display());

    let once = [
        ("Node", vec!["node", &node], vec!["fs", "./b", "./c", "./again"]),
        ("Ruby", vec!["ruby", &ruby], vec!["json"]),
        ("Perl", vec!["perl", &lib, &perl], vec!["B.pm"]),
    ];
    for (runtime, words, units) in once {
        let Some(loads) = reported(runtime, &words) else { continue };
        for unit in units {
            let count = if unit == "./again" { 3 } else { 1 };
            assert_eq!(loads.iter().filter(|load| load["unit"] == unit).count(), count, "{unit}: {loads:?}");
        }
    }
}

#[test]
fn a_module_that_exits_is_a_part_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("main.js"), "require('./inner.js'); process.exit(0)").unwrap();
    fs::write(path.join("inner.js"), "").unwrap();
    fs::write(path.join("main.rb"), "require_relative 'inner'; exit 0").unwrap();
    fs::write(path.join("inner.rb"), "").unwrap();
    fs::write(path.join("Main.pm"), "use Inner; exit 0;").unwrap();
    fs::write(path.join("Inner.pm"), "1;").unwrap();
    let path = path.display();
    let [node, ruby, perl] = [
        format!("require('{path}/main.js')"),
        format!("require '{path}/main'"),
        format!("use lib '{path}'; require Main"),
    ];
    for (runtime, words) in
        [("Node", ["node", "-e", &node]), ("Ruby", ["ruby", "-e", &ruby]), ("Perl", ["perl", "-e", &perl])]
    {
        let Some(loads) = reported(runtime, &words) else { continue };
        let depth = |name: &str| {
            let named = |load: &&Value| load["unit"].as_str().unwrap().to_lowercase().contains(name);
            loads.iter().find(named).map(|load| number(load, "depth"))
        };
        assert_eq!((depth("main"), depth("inner")), (None, Some(0)), "{runtime}: {loads:?}");
    }
}

#[test]
fn ruby_reports_what_is_loaded_at_its_first_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    fs::write(folder.path().join("lazy.rb"), "module Lazy; sleep 0.02; end").unwrap();
    let program = format!("autoload :Lazy, '{path}/lazy'; Lazy; Kernel.load '{path}/lazy.rb'; puts 1");
    let Some(loads) = reported("Ruby", &["ruby", "-e", &program]) else { return };
    let lazy = loads.iter().filter(|load| load["unit"].as_str().unwrap().contains("/lazy"));
    let times: Vec<u64> = lazy.map(|load| number(load, "total_ns")).collect();
    assert!(times.len() == 2 && times.iter().all(|time| *time >= 20_000_000), "{loads:?}");
}

#[test]
fn bash_reports_its_commands_and_zsh_its_files_and_functions() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap();
    fs::write(folder.path().join("rc"), "slow() { sleep 0.03; }\nslow\n").unwrap();
    fs::copy(folder.path().join("rc"), folder.path().join(".zshrc")).unwrap();
    let script = format!("source {home}/rc; echo $(id -u)");
    if let Some(loads) = reported("bash", &["bash", "-c", &script]) {
        assert!(number(load(&loads, "sleep 0.03"), "self_ns") >= 30_000_000, "{loads:?}");
        assert!(loads.iter().any(|load| load["unit"] == "id -u"), "{loads:?}");
    }
    let own = format!("ZDOTDIR={home}");
    let options = ["--env", &own, "-r", "2", "--no-samples", "--"];
    if let Some(loads) = reported_with("zsh", &options, &["zsh", "-ic", "echo $ZDOTDIR"]) {
        let (file, function) = (load(&loads, ".zshrc"), load(&loads, "slow"));
        assert!(number(file, "total_ns") >= 30_000_000 && number(function, "self_ns") >= 30_000_000);
        assert_eq!((number(file, "depth"), number(function, "depth")), (0, 1));
    }
}

/// The finding of the programs that a shell starts; `None` if this machine cannot trace it.
fn started(options: &[&str], words: &[&str]) -> Option<String> {
    let options = [options, &["-r", "2", "--no-samples", "--"], words].concat();
    let result = result(&options)?;
    let findings = result["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["rule"] == "programs");
    Some(finding.unwrap_or_else(|| panic!("{findings:?}"))["text"].as_str().unwrap().to_owned())
}

#[test]
fn a_program_that_a_shell_starts_is_charged_to_the_line_that_starts_it() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("plug");
    fs::write(&plugin, "# waits\nwait_a_while() {\n  x=$(sleep 0.3)\n}\nwait_a_while\nsleep 0\n:\n").unwrap();
    let place = format!(", mostly from {}:3", plugin.display());
    let source = format!("source {}\n", plugin.display());
    for (shell, file) in [("bash", "script"), ("zsh", ".zshrc")] {
        fs::write(folder.path().join(file), &source).unwrap();
        if Command::new(shell).args(["-c", ":"]).output().is_err() {
            skipped(&format!("no {shell}"));
            continue;
        }
        let script = folder.path().join(file).display().to_string();
        let own = format!("ZDOTDIR={}", folder.path().display());
        let text = match shell {
            "bash" => started(&[], &["bash", &script]),
            _ => started(&["--env", &own], &["zsh", "-ic", "true"]),
        };
        let Some(text) = text else { return skipped("this machine does not trace") };
        assert!(text.contains("`sleep` ") && text.contains(&place), "{shell}: {text}");
    }
}

#[test]
fn java_and_go_report_their_start() {
    if let Some(loads) = reported("Java", &["java", "-version"]) {
        assert!(number(load(&loads, "Create VM"), "total_ns") > 0);
    }
    if let Some(loads) = reported("Go", &["go", "version"]) {
        assert!(loads.iter().any(|load| load["unit"] == "os"), "{loads:?}");
    }
}

#[test]
fn a_report_of_a_run_that_prints_something_else_does_not_count() {
    let words = ["-r", "2", "--full", "--no-overhead", "--no-samples", "--", "python3", "-c"];
    let prints = "import os; print(os.environ.get('PYTHONPROFILEIMPORTTIME'))";
    let Some(text) = traced(&[&words[..], &[prints]].concat()) else {
        return skipped("this machine does not trace");
    };
    let flat = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(flat.contains("does not count: its output was not that of an untouched run"), "{text}");
    assert!(!text.contains("Python itself reports"), "{text}");
}

/// Writes a file, and then reads what it has written, as linkers do.
const WRITER: &str = r#"
#include <fcntl.h>
#include <unistd.h>
int main(int count, char **words)
{
	char bytes[4];
	int file = open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (write(file, "text", 4) != 4 || pread(file, bytes, 4, 0) != 4)
		return 1;
	return write(1, "x\n", 2) != 2;
}
"#;

#[test]
fn a_file_that_the_program_writes_is_no_load() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), WRITER, &[]) else { return skipped("no C compiler") };
    let output = folder.path().join("output");
    let Some(loads) = loads(&[program.to_str().unwrap(), output.to_str().unwrap()]) else { return };
    assert!(loads.iter().all(|load| load["unit"] != "output"), "{loads:?}");
}

/// The findings about a command; `None` without a tracer.
fn findings(options: &[&str], words: &[&str]) -> Option<Vec<Value>> {
    let Some(result) = result(&[options, &["--"], words].concat()) else {
        skipped("this machine does not trace");
        return None;
    };
    Some(result["findings"].as_array().unwrap().clone())
}

/// A library with two megabytes of code around its function, and a table of 200,000 pointers.
const LARGE: &str = r#"
__asm__(".text\n.skip 1048576, 0x90\n");
int NAME(void) { return 1; }
__asm__(".text\n.skip 1048576, 0x90\n");
static const char byte;
const void *TABLE[200000] = { [0 ... 199999] = &byte };
"#;

const LINKED: &str = r#"
#include <unistd.h>
int used(void);
int idle(void);
int main(int count, char **words)
{
	(void)words;
	return write(1, "x\n", 2) != 2 || (count > 9 ? idle() : used()) != 1;
}
"#;

fn large_library(folder: &Path, name: &str) -> Option<()> {
    let source = folder.join("large.c");
    fs::write(&source, LARGE).ok()?;
    let mut build = Command::new("cc");
    build.args(["-shared", "-fPIC", "-fno-toplevel-reorder", "-Wl,-z,separate-code", "-o"]);
    build.arg(folder.join(format!("lib{name}.so"))).arg(&source);
    build.arg(format!("-DNAME={name}")).arg(format!("-DTABLE={name}_table"));
    build.output().ok()?.status.success().then_some(())
}

#[test]
fn a_library_that_never_runs_is_unused_and_its_relocations_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let built = ["used", "idle"].map(|name| large_library(folder.path(), name));
    let path = format!("-Wl,-rpath,{}", folder.path().display());
    let flags = ["-L", folder.path().to_str().unwrap(), &path, "-Wl,-z,separate-code", "-lused", "-lidle"];
    let program =
        built.iter().all(Option::is_some).then(|| compiled(folder.path(), LINKED, &flags)).flatten();
    let Some(program) = program else { return skipped("no C compiler") };
    let Some(findings) = findings(&["-r", "2", "--no-samples"], &[program.to_str().unwrap()]) else { return };
    let text = |rule: &str| {
        let found = findings.iter().find(|finding| finding["rule"] == rule);
        found.unwrap_or_else(|| panic!("no {rule} in {findings:?}"))["text"].as_str().unwrap()
    };
    let unused = text("unused-libraries");
    assert!(unused.contains("`libidle.so`") && !unused.contains("`libused.so`"), "{unused}");
    let words: Vec<&str> = text("dynamic-linking").split_whitespace().collect();
    let place = words.iter().position(|word| *word == "relocations,").expect("they are counted");
    let count: u64 = words[place - 1].parse().unwrap();
    assert!((400_000..420_000).contains(&count), "two tables, and those of the C library: {count}");
}

/// A library with as many functions, in assembly because that is quick to translate, and a program that calls each of them
/// only if it gets ten arguments.
fn lazily_bound(folder: &Path, functions: usize) -> Option<PathBuf> {
    let all = |one: fn(usize) -> String| (0..functions).map(one).collect::<String>();
    let source = folder.join("many.s");
    fs::write(
        &source,
        all(|number| format!(".globl f{number}\n.type f{number}, %function\nf{number}: ret\n")),
    )
    .ok()?;
    let mut build = Command::new("cc");
    build.args(["-shared", "-fPIC", "-o"]).arg(folder.join("libmany.so")).arg(&source);
    build.output().ok()?.status.success().then_some(())?;

    let declared = all(|number| format!("int f{number}(void);\n"));
    let called = all(|number| format!("\tsum += f{number}();\n"));
    let program = format!(
        "#include <unistd.h>\n{declared}int main(int count, char **words)\n{{\n\tint sum = 0;\n\t(void)words;\n\
         \tif (count < 10)\n\t\treturn write(1, \"x\\n\", 2) != 2;\n{called}\treturn sum;\n}}\n"
    );
    let path = format!("-Wl,-rpath,{}", folder.display());
    compiled(folder, &program, &["-L", folder.to_str()?, &path, "-O0", "-Wl,-z,lazy", "-lmany"])
}

#[test]
fn functions_that_a_variable_binds_early_have_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = lazily_bound(folder.path(), 20_000) else { return skipped("no C compiler") };
    // beside other load there are few samples of a run
    let options = ["-r", "100", "--env", "LD_BIND_NOW=1"];
    let Some(found) = findings(&options, &[program.to_str().unwrap()]) else { return };
    let bound = found.iter().find(|finding| finding["rule"] == "bind-now");
    let text = bound.unwrap_or_else(|| panic!("{found:?}"))["text"].as_str().unwrap();
    let (_, words) = text.split_once("`LD_BIND_NOW` makes ld.so look up ").expect(text);
    let count: u64 = words.split(' ').next().unwrap().parse().unwrap();
    assert!((20_000..20_100).contains(&count), "those of the library, and some of the C library's: {text}");
}

/// What `import` and `-M` bring in is reported as well.
#[test]
fn modules_of_import_and_of_the_command_line_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // long beside the period of Node's profiler
    let wait = "const end = process.hrtime.bigint() + 300000000n; while (process.hrtime.bigint() < end);";
    fs::write(path.join("inner.mjs"), format!("function work() {{ {wait} }}\nwork();\nexport {{}};"))
        .unwrap();
    fs::write(path.join("outer.mjs"), "import './inner.mjs'; console.log(1);").unwrap();
    fs::write(path.join("Slow.pm"), "package Slow; select(undef, undef, undef, 0.02); 1;").unwrap();
    let (program, include) = (path.join("outer.mjs"), format!("-I{}", path.display()));
    if let Some(loads) = reported("Node", &["node", program.to_str().unwrap()]) {
        let inner = loads.iter().find(|load| load["unit"].as_str().unwrap().contains("inner.mjs"));
        let inner = inner.unwrap_or_else(|| panic!("{loads:?}"));
        assert!(number(inner, "total_ns") >= 100_000_000, "{inner}");
    }
    if let Some(loads) = reported("Perl", &["perl", &include, "-MSlow", "-e", "print 1"]) {
        let slow = load(&loads, "Slow.pm");
        assert!(number(slow, "total_ns") >= 20_000_000, "{slow}");
    }
}

#[test]
fn certificates_that_a_variable_names_have_a_finding() {
    const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
    let has_node = Command::new("node").arg("--version").output().is_ok();
    if !Path::new(CERTIFICATES).exists() || !has_node {
        return skipped("no Node, or no certificates");
    }
    let own = format!("NODE_EXTRA_CA_CERTS={CERTIFICATES}");
    let Some(findings) = findings(&["-r", "2", "--env", &own], &["node", "-e", "console.log(1)"]) else {
        return;
    };
    let found = findings.iter().find(|finding| finding["rule"] == "slow-file");
    let text = found.unwrap_or_else(|| panic!("{findings:?}"))["text"].as_str().unwrap();
    assert!(text.contains(CERTIFICATES) && text.contains("NODE_EXTRA_CA_CERTS"), "{text}");
}
