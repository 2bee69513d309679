//! The freestanding runtime: the same C sources, built against glibc and against the runtime, must behave the same. Also
//! its counts of system calls, page faults and bytes.

use crate::support::skipped;
use firstbyte_cc::{Arguments, Compiler, Driver};
use firstbyte_elf::Architecture;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const ORACLES: [&str; 12] = [
    "printf", "double", "strtol", "ctype", "stdlib", "string", "stdio", "streams", "unix", "start", "err",
    "math",
];
const FILTERS: [(&str, &[&str]); 7] = [
    ("cat", &[]),
    ("wc", &[]),
    ("tr", &["a-y", "B-Z"]),
    ("tr", &["-d", "aeiou\\n"]),
    ("head", &["-n", "700"]),
    ("base64", &[]),
    ("json", &[]),
];

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/cc/runtime")
}

/// One cache for all tests on this machine, with names from the content.
pub(crate) fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("runtime-cache")
}

/// A driver for this architecture; `None`, reported as skipped, if there is none.
fn driver(architecture: Architecture) -> Option<Driver> {
    match Compiler::find(architecture) {
        Ok(compiler) => Some(Driver::of_folder(&folder(), &cache(), compiler).unwrap()),
        Err(error) => {
            skipped(&error.to_string());
            None
        }
    }
}

pub(crate) fn native() -> Option<Driver> {
    driver(Architecture::host()?)
}

/// Compiles against the runtime. Panics with the compiler's messages if that fails.
pub(crate) fn ours(driver: &Driver, arguments: &[&str], source: &Path, program: &Path) {
    let mut all: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    all.extend([source.into(), "-o".into(), program.into()]);
    succeed(&mut driver.command(&Arguments::parse(all).unwrap()));
}

/// Compiles against glibc.
pub(crate) fn glibc(compiler: &[&str], arguments: &[&str], source: &Path, program: &Path) {
    let mut command = Command::new(compiler[0]);
    command.args(&compiler[1..]).args(arguments).arg(source).arg("-o").arg(program).arg("-lm");
    succeed(&mut command);
}

pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

pub(crate) fn there(program: &str, package: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        skipped(&format!("`{program}` is missing; help: apt-get install {package}"));
    }
    found
}

pub(crate) fn fed(program: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(input).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    Command::new(program).args(arguments).stdin(file).output().unwrap()
}

/// Names of the system calls, beginning with execve.
pub(crate) fn system_calls(program: &Path, input: &[u8]) -> Option<Vec<String>> {
    if !there("strace", "strace") {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let (log, text) = (folder.path().join("log"), folder.path().join("text"));
    fs::write(&text, input).unwrap();
    let mut command = Command::new("strace");
    command.arg("-o").arg(&log).arg(program).stdin(File::open(text).unwrap()).stdout(Stdio::null());
    succeed(&mut command);
    let lines = fs::read_to_string(log).unwrap();
    Some(lines.lines().filter_map(|line| line.split_once('(')).map(|(name, _)| name.to_owned()).collect())
}

/// The median of many runs; `None`, reported as skipped, if it cannot be measured.
pub(crate) fn page_faults(program: &Path, input: &[u8]) -> Option<u64> {
    let folder = tempfile::tempdir().unwrap();
    let (counter, text) = (folder.path().join("faults"), folder.path().join("text"));
    glibc(&["cc"], &["-O1"], &self::folder().join("tests/faults.c"), &counter);
    fs::write(&text, input).unwrap();
    let output =
        Command::new(&counter).arg("301").arg(program).stdin(File::open(text).unwrap()).output().unwrap();
    if output.status.code() == Some(4) {
        skipped("perf_event_open is not permitted; help: sysctl kernel.perf_event_paranoid=1");
        return None;
    }
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap().trim().parse().unwrap())
}

fn hello(driver: &Driver, place: &TempDir) -> PathBuf {
    let source = folder().join("samples/hello.c");
    let program = place.path().join("hello");
    ours(driver, &[], &source, &program);
    program
}

#[test]
fn hello_with_printf_is_three_system_calls_in_two_thousand_bytes() {
    let Some(driver) = native() else { return };
    let place = tempfile::tempdir().unwrap();
    let program = hello(&driver, &place);
    assert_eq!(fed(&program, &[], b"").stdout, b"hello world\n");
    let size = fs::metadata(&program).unwrap().len();
    assert!(size <= 2048 || !cfg!(target_arch = "x86_64"), "{size} bytes");
    if let Some(calls) = system_calls(&program, b"") {
        assert_eq!(calls, ["execve", "write", "exit_group"]);
    }
}

#[test]
fn hello_with_printf_takes_three_page_faults() {
    let Some(driver) = native() else { return };
    let place = tempfile::tempdir().unwrap();
    if let Some(faults) = page_faults(&hello(&driver, &place), b"") {
        assert!(faults <= 3, "{faults}");
    }
}

#[test]
fn a_filter_of_a_small_text_is_five_system_calls() {
    let Some(driver) = native() else { return };
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("cat");
    ours(&driver, &["-O2"], &folder().join("samples/filters/cat.c"), &program);
    if let Some(calls) = system_calls(&program, &[b'x'; 1398]) {
        assert_eq!(calls, ["execve", "read", "write", "read", "exit_group"]);
    }
    if let Some(faults) = page_faults(&program, &[b'x'; 1398]) {
        assert!(faults <= 3, "{faults}");
    }
}

/// Output and exit status of one oracle program in an empty folder.
fn oracle_says(runner: Option<&str>, program: &Path) -> (String, Option<i32>) {
    let place = tempfile::tempdir().unwrap();
    let mut command = runner.map_or_else(|| Command::new(program), Command::new);
    if runner.is_some() {
        command.arg(program);
    }
    let command = command.arg(place.path()).env_clear().env("ORACLE", "yes").current_dir(place.path());
    let output = command.stderr(Stdio::inherit()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).replace(&*place.path().to_string_lossy(), "PLACE");
    (text, output.status.code())
}

fn compare_with_glibc(driver: &Driver, oracle: &[&str], runner: Option<&str>, names: &[&str]) {
    for name in names {
        let place = tempfile::tempdir().unwrap();
        // The same path for both, because some programs print it.
        let program = place.path().join("program");
        let source = folder().join("tests/oracle").join(format!("{name}.c"));
        let common = ["-D_GNU_SOURCE", "-O1", "-w"];
        let wide = ["-D_FILE_OFFSET_BITS=64", "-D_TIME_BITS=64", "-fno-builtin"];
        glibc(oracle, &[common, wide].concat(), &source, &program);
        let expected = oracle_says(runner, &program);
        ours(driver, &common, &source, &program);
        let found = oracle_says(runner, &program);
        let lines = expected.0.lines().zip(found.0.lines());
        let difference = lines.enumerate().find(|(_, (theirs, ours))| theirs != ours);
        assert!(expected == found, "{name}: {difference:?}, {:?} and {:?}", expected.1, found.1);
    }
}

#[test]
fn programs_print_the_same_with_the_runtime_as_with_glibc() {
    let Some(driver) = native() else { return };
    compare_with_glibc(&driver, &["cc"], None, &ORACLES);
}

#[test]
fn programs_built_by_clang_print_the_same_with_the_runtime_as_with_glibc() {
    let Some(architecture) = Architecture::host() else { return };
    if !there("clang", "clang") {
        return;
    }
    let compiler = Compiler::chosen("clang", architecture).unwrap();
    let driver = Driver::of_folder(&folder(), &cache(), compiler).unwrap();
    compare_with_glibc(&driver, &["clang"], None, &ORACLES);
}

/// Only native runs try hundreds of thousands of random bit patterns. Emulation runs the programs that differ by
/// architecture.
fn compare_on(architecture: Architecture, oracle: &[&str], runner: Option<&str>) {
    let package = format!("gcc-{}", oracle[0].trim_end_matches("-gcc"));
    if !there(oracle[0], &package) || !runner.is_none_or(|name| there(name, "qemu-user")) {
        return;
    }
    let Some(driver) = driver(architecture) else { return };
    let static_oracle = [oracle, &["-static"]].concat();
    compare_with_glibc(
        &driver,
        &static_oracle,
        runner,
        &[
            "printf", "strtol", "ctype", "stdlib", "string", "stdio", "streams", "unix", "start", "err",
            "math",
        ],
    );
}

#[test]
fn programs_print_the_same_on_i386_as_with_glibc() {
    let runner = (!cfg!(target_arch = "x86_64")).then_some("qemu-i386");
    compare_on(Architecture::I386, &["i686-linux-gnu-gcc"], runner);
}

#[test]
fn programs_print_the_same_on_aarch64_as_with_glibc() {
    compare_on(Architecture::Aarch64, &["aarch64-linux-gnu-gcc"], Some("qemu-aarch64"));
}

#[test]
fn programs_print_the_same_on_riscv64_as_with_glibc() {
    compare_on(Architecture::Riscv64, &["riscv64-linux-gnu-gcc"], Some("qemu-riscv64"));
}

#[test]
fn the_sanitizer_finds_no_undefined_behaviour_in_the_runtime() {
    let Some(architecture) = Architecture::host() else { return };
    let command = "gcc -fsanitize=undefined -fsanitize-undefined-trap-on-error";
    if !there("gcc", "gcc") {
        return;
    }
    let compiler = Compiler::chosen(command, architecture).unwrap();
    let driver = Driver::of_folder(&folder(), &cache(), compiler).unwrap();
    compare_with_glibc(&driver, &["gcc"], None, &ORACLES);
}

#[test]
fn string_functions_agree_with_glibc_and_read_no_byte_too_far() {
    let Some(driver) = native() else { return };
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    let archive = driver.runtime.join("libfirstbyte.a");
    succeed(Command::new("ar").arg("x").arg(archive).current_dir(at));
    let objects = folder().join("src/string").read_dir().unwrap().map(|entry| {
        Path::new(&entry.unwrap().file_name()).with_extension("o").file_name().unwrap().to_owned()
    });
    // strdup needs malloc, strerror needs snprintf, and word.h is not a function.
    let left_out = ["strdup.o", "strerror.o", "word.o"];
    let objects: Vec<OsString> = objects.filter(|name| !left_out.iter().any(|left| name == left)).collect();
    succeed(Command::new("ld").args(["-r", "-o", "ours.o"]).args(objects).current_dir(at));
    succeed(Command::new("objcopy").args(["--prefix-symbols=fb_", "ours.o"]).current_dir(at));
    let ours = at.join("ours.o");
    let program = at.join("fuzz");
    let arguments = ["-O1", "-w", "-fno-builtin", ours.to_str().unwrap()];
    glibc(&["cc"], &arguments, &folder().join("tests/string_fuzz.c"), &program);
    succeed(&mut Command::new(program));
}

/// Lengths at and around the size of every buffer: the first page, the stream, the pipe.
pub(crate) fn lengths() -> Vec<usize> {
    let edges = [0usize, 1792, 2024, 4096, 16384, 65536, 65536 + 1792, 131_072];
    edges
        .iter()
        .flat_map(|&edge| edge.saturating_sub(2)..=edge + 2)
        .chain([3, 76, 77, 1398, 200_000])
        .collect()
}

fn text(length: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
        b"abcdefghijklmnopqrstuvwxyz \n\t\x00\xff"[state as usize / 65536 % 31]
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn filters_behave_the_same_with_the_runtime_as_with_glibc_at_every_length() {
    let Some(driver) = native() else { return };
    let place = tempfile::tempdir().unwrap();
    for (name, arguments) in FILTERS {
        let source = folder().join("samples/filters").join(format!("{name}.c"));
        let (mine, theirs) = (place.path().join("mine"), place.path().join("theirs"));
        ours(&driver, &["-O2", "-Wall", "-Wextra", "-Werror", "-std=c99", "-pedantic"], &source, &mine);
        glibc(&["cc"], &["-O2"], &source, &theirs);
        for length in lengths() {
            let input = if name == "json" { json(length) } else { text(length) };
            let (found, expected) = (fed(&mine, arguments, &input), fed(&theirs, arguments, &input));
            assert!(found == expected, "{name} {arguments:?}: {length} bytes");
        }
    }
}

/// A value of about this length. Half of the values are cut off.
fn json(length: usize) -> Vec<u8> {
    let element = r#"{"name": "caf\u00e9", "numbers": [1, -2.5e10, true, null], "none": {}}, "#;
    let mut text = format!("[{}", element.repeat(length / element.len()));
    text.push_str(if length.is_multiple_of(2) { "0]" } else { "" });
    text.into_bytes()
}

fn disturbed(driver: &Driver, place: &TempDir) -> PathBuf {
    let program = place.path().join("disturbed");
    ours(driver, &["-O1"], &folder().join("tests/disturbed.c"), &program);
    program
}

fn hundred_thousand_lines() -> Vec<u8> {
    (0..100_000).flat_map(|i| format!("line {i}\n").into_bytes()).collect()
}

#[test]
fn nothing_is_lost_when_writes_are_short_or_interrupted() {
    let Some(driver) = native() else { return };
    let place = tempfile::tempdir().unwrap();
    let program = disturbed(&driver, &place);
    for case in ["lines", "interrupted"] {
        assert!(fed(&program, &[case], b"").stdout == hundred_thousand_lines(), "{case}");
    }
}

#[test]
fn a_non_blocking_stdout_loses_nothing() {
    use rustix::fs::{OFlags, fcntl_setfl};
    let Some(driver) = native() else { return };
    let place = tempfile::tempdir().unwrap();
    let (mut reader, writer) = std::io::pipe().unwrap();
    fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
    let mut child = Command::new(disturbed(&driver, &place)).arg("blocked").stdout(writer).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(50));
    let mut output = Vec::new();
    std::io::Read::read_to_end(&mut reader, &mut output).unwrap();
    assert!(output == hundred_thousand_lines());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_full_disk_and_a_broken_pipe_are_reported() {
    let Some(driver) = native() else { return };
    let place = tempfile::tempdir().unwrap();
    let program = disturbed(&driver, &place);
    let full = File::options().write(true).open("/dev/full").unwrap();
    assert_eq!(Command::new(&program).arg("lines").stdout(full).status().unwrap().code(), Some(1));
    assert_eq!(Command::new(&program).arg("closed").status().unwrap().code(), Some(1));
    for complaint in ["complaint", "waiting"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let status = Command::new(&program).arg(complaint).stderr(full).status().unwrap();
        assert_eq!(status.code(), Some(1), "{complaint}");
        let output = fed(&program, &[complaint], b"");
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"a complaint\n".as_slice()));
    }
    crate::lines::until_nobody_reads(|| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let broken = Command::new(&program).arg("broken").stdout(writer).stderr(Stdio::piped()).output();
        String::from_utf8_lossy(&broken.unwrap().stderr) == "14 -1 Broken pipe 1\n"
    });
}

#[test]
fn a_missing_feature_is_a_compiler_error_that_says_why() {
    let Some(driver) = native() else { return };
    let place = tempfile::tempdir().unwrap();
    let cases = [
        ("#include <pthread.h>\nint main(void) { return 0; }", "no threads"),
        ("#include <locale.h>\nint main(void) { return 0; }", "no locales"),
        ("#include <wchar.h>\nint main(void) { return 0; }", "no wide characters"),
        ("#include <dlfcn.h>\nint main(void) { return 0; }", "no dynamic loading"),
        ("#include <stdio.h>\nint main(void) { int x; return scanf(\"%d\", &x); }", "no scanf"),
        ("_Thread_local int x; int main(int c, char **v) { x = c; return x + !v; }", "no threads"),
        ("#include <stdio.h>\nint main(void) { return printf(\"%Lf\", 1.0L); }", "no long double"),
    ];
    for (source, reason) in cases {
        let file = place.path().join("missing.c");
        fs::write(&file, source).unwrap();
        let arguments = [file.into_os_string(), "-o".into(), place.path().join("missing").into_os_string()];
        let output = driver.command(&Arguments::parse(arguments).unwrap()).output().unwrap();
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && messages.contains(reason), "{source}: {messages}");
    }
}

#[test]
fn a_small_project_builds_with_its_makefile() {
    if !there("make", "make") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    for entry in folder().join("samples/filters").read_dir().unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, place.path().join(path.file_name().unwrap())).unwrap();
    }
    let compiler = format!("CC={} cc", env!("CARGO_BIN_EXE_firstbyte"));
    let mut make = Command::new("make");
    succeed(make.arg(compiler).current_dir(place.path()).env("FIRSTBYTE_CACHE", cache()));
    assert_eq!(fed(&place.path().join("cat"), &[], b"made").stdout, b"made");
}
