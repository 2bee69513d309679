//! Counts are exact, or minima that no run falls below. strace and perf say what happens.

use crate::inspect::{HELLO, compile, here};
use crate::support::{skipped, write_executable};
use firstbyte::inspect::prediction::Prediction;
use firstbyte::inspect::{Environment, Inspection, Surroundings, inspect};
use firstbyte_elf::packed::Demands;
use firstbyte_elf::{Architecture, packed, plain};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The environment of the runs and of the predictions.
const VARIABLES: [(&str, &str); 3] =
    [("PATH", "/usr/bin:/bin"), ("HOME", "/sys/nonexistent"), ("LANG", "C.UTF-8")];

fn inspected(path: &Path) -> Inspection {
    let environment =
        VARIABLES.iter().fold(Environment::default(), |all, (name, value)| all.with(name, value));
    inspect(path, &Surroundings { environment, ..here() }).unwrap()
}

fn predicted(path: &Path) -> Prediction {
    inspected(path).prediction.unwrap()
}

/// Runs a command with these variables and nothing else, with a pipe as stdout.
fn run(words: &[&str], program: &Path, arguments: &[&str]) -> Option<std::process::Output> {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(program).args(arguments).env_clear().envs(VARIABLES).stdin(Stdio::null());
    let output = command.output();
    if output.is_err() {
        skipped(&format!("`{}` is missing; help: `apt-get install strace linux-perf`", words[0]));
    }
    output.ok()
}

/// The system calls of one run.
fn traced(program: &Path, arguments: &[&str]) -> Option<u64> {
    let trace = tempfile::NamedTempFile::new().unwrap();
    let file = trace.path().to_str().unwrap();
    run(&["strace", "-f", "-qq", "-e", "signal=none", "-o", file], program, arguments)?;
    let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
    let is_call = |line: &&str| !line.contains(" resumed>") && !line.contains("+++");
    Some(text.lines().filter(is_call).count() as u64)
}

/// The page faults of some runs, sorted.
fn faults(program: &Path, arguments: &[&str]) -> Option<Vec<u64>> {
    let count = || {
        let shown = run(&["perf", "stat", "-x,", "-e", "page-faults"], program, arguments)?.stderr;
        let text = String::from_utf8_lossy(&shown).into_owned();
        let line = text.lines().find(|line| line.contains("page-faults"));
        let count = line.and_then(|line| line.split(',').next()?.parse().ok());
        if count.is_none() {
            skipped("`perf stat` does not count page faults here; help: as root, or `perf_event_paranoid`");
        }
        count
    };
    let mut counts: Vec<u64> = (0..41).map_while(|_| count()).collect();
    if counts.is_empty() {
        return None;
    }
    counts.sort_unstable();
    Some(counts)
}

#[track_caller]
fn is_exact(program: &Path) {
    let prediction = predicted(program);
    if prediction.minimum_because.iter().any(|cause| cause.contains("not compared with a trace")) {
        return skipped("the calls of this C library are not known");
    }
    assert_eq!(prediction.minimum_because, Vec::<String>::new(), "{}", program.display());
    let Some(calls) = traced(program, &[]) else { return };
    assert_eq!(prediction.syscalls, calls, "{}: {prediction:#?}", program.display());
    let Some(faults) = faults(program, &[]) else { return };
    let mean = faults.iter().sum::<u64>() as f64 / faults.len() as f64;
    eprintln!("{}: {} faults predicted, {mean:.2} counted", program.display(), prediction.page_faults);
    let off = (prediction.page_faults as f64 - mean).abs();
    // The prediction is a whole number. A mean of few runs is off by a little, too.
    assert!(off <= (mean / 10.0).max(0.75), "{prediction:#?}\n{faults:?}");
}

#[track_caller]
fn is_not_exceeded(program: &Path, arguments: &[&str]) {
    let prediction = predicted(program);
    let Some(calls) = traced(program, arguments) else { return };
    assert!(prediction.syscalls <= calls, "{}: {calls} {prediction:#?}", program.display());
    let Some(faults) = faults(program, arguments) else { return };
    assert!(prediction.page_faults <= faults[0], "{}: {faults:?} {prediction:#?}", program.display());
}

/// Their code decides: no write is added to a program that has none, and no exit to one that dies.
#[test]
fn programs_of_a_few_instructions_are_counted_exactly() {
    if !cfg!(target_arch = "x86_64") {
        return skipped("the programs are for x86-64");
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tiny");
    for architecture in [Architecture::X86_64, Architecture::I386] {
        for exit in [Some(0), None] {
            write_executable(&program, plain::image(architecture, b"hello world\n", exit).unwrap(), 0o755);
            is_exact(&program);
        }
        let packed = packed::image(architecture, b"hello world\n", 0, Demands::default()).unwrap();
        write_executable(&program, packed.image, 0o755);
        is_exact(&program);
        write_executable(&program, plain::image(architecture, b"", Some(3)).unwrap(), 0o755);
        is_exact(&program);
        assert_eq!(predicted(&program).syscalls, 2);
    }
}

#[test]
fn c_programs_that_print_a_line_are_counted_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let write = "#include <unistd.h>\nint main(void) { return write(1, \"hello\\n\", 6) != 6; }\n";
    let twice = "#include <stdio.h>\nint main(void) { puts(\"one\"); puts(\"two\"); return 0; }\n";
    let exits = "#include <unistd.h>\nint main(void) { _exit(3); }\n";
    let loops =
        "#include <unistd.h>\nint main(void) { for (int i = 0; i < 7; i++) write(1, \"x\", 1); return 0; }\n";
    let memory = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { char *p = malloc(100); \
                  if (!p) return 1; free(p); puts(\"x\"); return 0; }\n";
    for source in [HELLO, write, twice, exits, loops, memory] {
        for options in [&["-O2"][..], &["-O2", "-static"], &["-O2", "-static-pie"], &["-O0", "-Wl,-z,now"]] {
            let Some(program) = compile(folder.path(), source, options) else { return };
            is_exact(&program);
        }
    }
}

#[test]
fn programs_of_musl_are_counted_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("hello.c"), folder.path().join("hello"));
    fs::write(&source, HELLO).unwrap();
    for options in [&["-static"][..], &[]] {
        let mut command = Command::new("musl-gcc");
        let Ok(status) = command.args(options).arg("-o").args([&program, &source]).status() else {
            return skipped("`musl-gcc` is missing; help: `apt-get install musl-tools`");
        };
        assert!(status.success());
        is_exact(&program);
    }
}

/// A program that may do anything does at least what is counted.
#[test]
fn minima_are_not_exceeded() {
    let folder = tempfile::tempdir().unwrap();
    let unknown = "#include <stdlib.h>\nint main(int n, char **a) { if (n > 1) system(a[1]); abort(); }\n";
    let either = "#include <unistd.h>\nint main(int n, char **a) { if (n < 9) return 1; write(1, *a, 1); return 0; }\n";
    for source in [unknown, either] {
        for options in [&["-O2"][..], &["-O2", "-static"]] {
            let Some(program) = compile(folder.path(), source, options) else { return };
            assert!(predicted(&program).is_minimum(), "{source}");
            is_not_exceeded(&program, &[]);
        }
    }
}

#[test]
fn programs_of_this_machine_do_at_least_what_is_predicted() {
    let programs: [(&str, &[&str]); 12] = [
        ("true", &[]),
        ("ls", &["/"]),
        ("cat", &["/dev/null"]),
        ("env", &[]),
        ("id", &[]),
        ("date", &[]),
        ("dash", &["-c", ":"]),
        ("bash", &["-c", ":"]),
        ("sed", &["--version"]),
        ("grep", &["--version"]),
        ("perl", &["-e", "1"]),
        ("gcc", &["--version"]),
    ];
    for (name, arguments) in programs {
        let path = Path::new("/usr/bin").join(name);
        if path.exists() {
            is_not_exceeded(&path, arguments);
        }
    }
}

/// `env` starts the program that its arguments name, with the environment that they make.
#[test]
fn a_script_is_followed_through_env_to_its_interpreter() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    for (line, starts) in [
        ("/usr/bin/env dash", "dash"),
        ("/usr/bin/env -S dash -e", "dash"),
        ("/usr/bin/env -S -i A=b PATH=/nonexistent:/usr/bin:/bin dash", "dash"),
        ("/usr/bin/nice -n3 dash", "-n3 dash"),
    ] {
        write_executable(&script, format!("#!{line}\n:\n"), 0o755);
        let inspection = inspected(&script);
        if starts.starts_with('-') {
            // the kernel makes one argument of the rest of the line, so `nice` has no command
            assert_eq!(inspection.program.as_deref(), Some(Path::new("/usr/bin/nice")));
            continue;
        }
        assert_eq!(inspection.launchers[0].starts, starts);
        assert!(inspection.program.as_ref().unwrap().ends_with(starts), "{:?}", inspection.program);
        let alone = predicted(Path::new("/usr/bin/env")).syscalls;
        let prediction = inspection.prediction.unwrap();
        assert!(prediction.syscalls > 2 * alone - 10, "{prediction:#?}");
        is_not_exceeded(&script, &[]);
    }
}

/// What `env` removes does not reach the loader of the program that it executes.
#[test]
fn a_script_changes_the_environment_of_its_interpreter() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    let environment =
        Environment::default().with("LD_LIBRARY_PATH", "/nowhere").with("PATH", "/usr/bin:/bin");
    let calls = |line: &str| {
        write_executable(&script, format!("#!{line}\n:\n"), 0o755);
        let surroundings = Surroundings { environment: environment.clone(), ..here() };
        inspect(&script, &surroundings).unwrap().libraries.iter().map(|l| l.failed_opens).sum::<u64>()
    };
    assert!(calls("/usr/bin/env dash") > 0);
    assert_eq!(calls("/usr/bin/env -S -u LD_LIBRARY_PATH dash"), 0);
    let surroundings = Surroundings { environment: environment.clone(), ..here() };
    write_executable(&script, "#!/usr/bin/env no such program\n", 0o755);
    let inspection = inspect(&script, &surroundings).unwrap();
    assert!(
        inspection.problems[0].contains("finds no program `no such program`"),
        "{:?}",
        inspection.problems
    );
}

#[test]
fn a_bare_name_is_looked_for_along_path() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
        command.args(["inspect", "--counts-only", name]).current_dir(folder.path());
        command.env("PATH", "/nowhere:/usr/bin:/bin").env_remove("LD_LIBRARY_PATH").output().unwrap()
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(text(&run("env").stdout).starts_with("/usr/bin/env\n"));
    let missing = run("no-such-program");
    assert!(text(&missing.stderr).contains("neither a file here nor a program in PATH"), "{missing:?}");
    // a file of this folder comes first
    let image = plain::image(Architecture::X86_64, b"x", Some(0)).unwrap();
    write_executable(&folder.path().join("env"), image, 0o755);
    assert!(text(&run("env").stdout).starts_with("env\n"));
}
