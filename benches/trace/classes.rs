//! Traces every class of program and checks that the account is complete.

use firstbyte::corpus::{Corpus, build_cache, prepare};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A C program, its compiler and flags.
struct Compiled {
    name: &'static str,
    compiler: &'static str,
    flags: &'static [&'static str],
    file: &'static str,
    source: &'static str,
}

const HELLO: &str = "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n";
const SILENT: &str = "int main(void) { return 0; }\n";
const CALLS: &str = "#include <unistd.h>\nint main(void) { for (int n = 0; n < 12000; n++) getppid(); }\n";
const THREADS: &str = "#include <pthread.h>\nstatic void *f(void *a) { return a; }\nint main(void) {\
\n\tpthread_t t[200];\n\tfor (int n = 0; n < 200; n++) pthread_create(t + n, 0, f, 0);\
\n\tfor (int n = 0; n < 200; n++) pthread_join(t[n], 0);\n}\n";
const DAEMON: &str =
    "#include <unistd.h>\nint main(void) { if (!fork()) { setsid(); pause(); } write(1, \"x\\n\", 2); }\n";
const DELETED: &str =
    "#include <stdio.h>\n#include <unistd.h>\nint main(int c, char **v) { unlink(v[0]); puts(\"x\"); }\n";
const GO: &str = "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"hello\") }\n";
const RUST: &str = "fn main() { println!(\"hello\"); }\n";
const CPP: &str = "#include <iostream>\nint main() { std::cout << \"hello\\n\"; }\n";

const PROGRAMS: [Compiled; 11] = [
    Compiled { name: "C, dynamic", compiler: "cc", flags: &["-O2", "-o"], file: "c.c", source: HELLO },
    Compiled {
        name: "C, static",
        compiler: "cc",
        flags: &["-O2", "-static", "-o"],
        file: "s.c",
        source: HELLO,
    },
    Compiled { name: "C++", compiler: "c++", flags: &["-O2", "-o"], file: "cpp.cc", source: CPP },
    Compiled { name: "Rust", compiler: "rustc", flags: &["-O", "-o"], file: "r.rs", source: RUST },
    Compiled { name: "Go", compiler: "go", flags: &["build", "-o"], file: "g.go", source: GO },
    Compiled {
        name: "i386",
        compiler: "i686-linux-gnu-gcc",
        flags: &["-static", "-o"],
        file: "i.c",
        source: HELLO,
    },
    Compiled { name: "prints nothing", compiler: "cc", flags: &["-o"], file: "n.c", source: SILENT },
    Compiled { name: "12,000 calls", compiler: "cc", flags: &["-o"], file: "k.c", source: CALLS },
    Compiled {
        name: "200 threads",
        compiler: "cc",
        flags: &["-pthread", "-o"],
        file: "t.c",
        source: THREADS,
    },
    Compiled { name: "leaves a daemon", compiler: "cc", flags: &["-o"], file: "d.c", source: DAEMON },
    Compiled { name: "deletes itself", compiler: "cc", flags: &["-o"], file: "u.c", source: DELETED },
];

const COMMANDS: [(&str, &[&str]); 10] = [
    ("Python", &["python3", "-c", "print('hello')"]),
    ("Ruby", &["ruby", "-e", "puts 'hello'"]),
    ("Node", &["node", "-e", "console.log('hello')"]),
    ("Java", &["java", "-version"]),
    ("sh", &["sh", "-c", "echo hello"]),
    ("bash", &["bash", "-c", "echo hello; /bin/true"]),
    ("exec chain", &["env", "env", "sh", "-c", "exec env echo hello"]),
    ("pipeline", &["sh", "-c", "ls /usr/bin | sort | tail -1"]),
    ("stops itself", &["sh", "-c", "(sleep 0.02; kill -CONT $$) & kill -STOP $$; echo hello"]),
    ("fails", &["sh", "-c", "echo hello; exit 3"]),
];

/// Prints one row for each class and backend.
pub(super) fn print(folder: &Path) {
    println!(
        "{:<17}{:<8}{:>11}{:>10}{:>6}{:>9}{:>7}{:>6}",
        "class", "backend", "total us", "spans", "procs", "threads", "exact", "lost"
    );
    let compiled = PROGRAMS.iter().map(|program| (program.name, built(program, folder)));
    let commands = COMMANDS.iter().map(|(name, words)| (*name, found(words)));
    for (name, words) in compiled.chain(commands).chain([("make -j2", project(folder)), ("Node SEA", sea())])
    {
        let Some(words) = words else {
            println!("{name:<17}skipped: it cannot be built or run here");
            continue;
        };
        for backend in ["bpf", "ptrace"] {
            row(name, backend, &words);
        }
    }
}

fn quiet(command: &mut Command) -> bool {
    let done = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

fn built(program: &Compiled, folder: &Path) -> Option<Vec<String>> {
    let source = folder.join(program.file);
    let target = source.with_extension("run");
    fs::write(&source, program.source).ok()?;
    let mut command = Command::new(program.compiler);
    command.args(program.flags).arg(&target).arg(&source);
    quiet(&mut command).then(|| vec![target.to_string_lossy().into_owned()]).map(|run| fresh(program, run))
}

/// A program that deletes itself runs as a fresh copy each time.
fn fresh(program: &Compiled, run: Vec<String>) -> Vec<String> {
    if program.name != "deletes itself" {
        return run;
    }
    words(&["sh", "-c", &format!("cp {0} {0}.copy && exec {0}.copy", run[0])])
}

fn found(all: &[&str]) -> Option<Vec<String>> {
    let has =
        Command::new("sh").args(["-c", &format!("command -v {}", all[0])]).output().ok()?.status.success();
    has.then(|| words(all))
}

/// A project of forty C files, whose make starts hundreds of processes.
fn project(folder: &Path) -> Option<Vec<String>> {
    let place = folder.join("project");
    fs::create_dir_all(&place).ok()?;
    for n in 0..40 {
        fs::write(place.join(format!("f{n}.c")), format!("int f{n}(void) {{ return {n}; }}\n")).ok()?;
    }
    let rules = "all: $(patsubst %.c,%.o,$(wildcard *.c))\n%.o: %.c FORCE\n\t@cc -c $< -o $@\nFORCE:\n";
    fs::write(place.join("Makefile"), rules).ok()?;
    let place = place.to_string_lossy();
    quiet(Command::new("make").args(["-C", &place, "-j2"])).then(|| words(&["make", "-C", &place, "-j2"]))
}

/// Node's single executable application, built as in the corpus.
fn sea() -> Option<Vec<String>> {
    let (corpus, cache) = (Corpus::load(None).ok()?, build_cache().ok()?);
    let built = prepare(corpus.find("node-sea")?, &cache, &|| false).ok()?;
    Some(vec![built.artifact.to_string_lossy().into_owned()])
}

fn row(name: &str, backend: &str, words: &[String]) {
    let Some(result) = traced(backend, words) else {
        return println!("{name:<17}{backend:<8}not traced");
    };
    let sum = |list: &str, part: &dyn Fn(&Value) -> bool, field: &str| -> u64 {
        let all = result[list].as_array().map(Vec::as_slice).unwrap_or_default();
        all.iter().filter(|entry| part(entry)).filter_map(|entry| entry[field].as_u64()).sum()
    };
    let total = result["total_ns"].as_u64().unwrap_or_default();
    let root = &result["processes"][0]["pid"];
    let of_main = sum("spans", &|span| span["tid"] == *root, "duration_ns");
    println!(
        "{name:<17}{backend:<8}{:>11.0}{:>10}{:>6}{:>9}{:>7}{:>6}",
        total as f64 / 1e3,
        result["spans"].as_array().map_or(0, Vec::len),
        result["counts"]["processes"].as_u64().unwrap_or_default(),
        result["counts"]["threads"].as_u64().unwrap_or_default(),
        if of_main == total { "yes" } else { "NO" },
        result["lost_events"].as_u64().unwrap_or_default()
    );
}

/// The result of a single run. A program that fails also has one.
fn traced(backend: &str, words: &[String]) -> Option<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.args(["trace", "-r", "1", "--no-overhead", "--backend", backend, "--export-json", "-", "--"]);
    let output = command.args(words).output().ok()?;
    let document: Value = serde_json::from_slice(&output.stdout).ok()?;
    Some(document["results"][0].clone())
}
