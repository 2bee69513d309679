//! `firstbyte trace` of programs whose behaviour is known.

use super::support::{skipped, wait_until};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use unicode_width::UnicodeWidthStr;

/// Exit status, stdout and stderr of the command.
pub(crate) fn firstbyte(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_firstbyte")).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The output of `firstbyte trace`; `None` if this machine cannot trace.
pub(crate) fn traced(arguments: &[&str]) -> Option<String> {
    let all: Vec<&str> = std::iter::once("trace").chain(arguments.iter().copied()).collect();
    let (status, text, errors) = firstbyte(&all);
    if status == Some(4) {
        return None;
    }
    assert_eq!(status, Some(0), "{errors}");
    Some(text)
}

/// The only result in a trace's JSON.
pub(crate) fn result(arguments: &[&str]) -> Option<Value> {
    let all: Vec<&str> =
        ["--no-overhead", "--export-json", "-"].into_iter().chain(arguments.iter().copied()).collect();
    let document: Value = serde_json::from_str(&traced(&all)?).unwrap();
    assert_eq!(document["schema"], "firstbyte/1");
    if arguments.contains(&"bpf") || !arguments.contains(&"--backend") {
        // ptrace sees neither faults nor switches, so tests that need them are skipped.
        (document["tool"]["backend"] == "bpf").then(|| document["results"][0].clone())
    } else {
        Some(document["results"][0].clone())
    }
}

/// The main thread's spans and its attribution both sum to the total, to the nanosecond.
fn assert_sums(result: &Value) {
    let total = result["total_ns"].as_u64().unwrap();
    let root = &result["processes"][0]["pid"];
    let spans = result["spans"].as_array().unwrap();
    let own = spans.iter().filter(|span| span["tid"] == *root);
    assert_eq!(own.map(|span| span["duration_ns"].as_u64().unwrap()).sum::<u64>(), total);
    let attribution = result["attribution"].as_array().unwrap();
    assert_eq!(attribution.iter().map(|share| share["ns"].as_u64().unwrap()).sum::<u64>(), total);
    assert_eq!(result["lost_events"], 0);
}

pub(crate) fn spans<'r>(result: &'r Value, wanted: impl Fn(&Value) -> bool + 'r) -> Vec<&'r Value> {
    result["spans"].as_array().unwrap().iter().filter(|span| wanted(span)).collect()
}

/// The end of a span, including the spans within it.
fn end_of(span: &Value) -> u64 {
    span["start_ns"].as_u64().unwrap() + span["elapsed_ns"].as_u64().unwrap()
}

/// Compiles a C source; `None` without a compiler.
pub(crate) fn compiled(folder: &Path, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let (file, program) = (folder.join("tracee.c"), folder.join("tracee"));
    std::fs::write(&file, source).unwrap();
    let built = Command::new("cc").arg(&file).args(["-O1", "-o"]).arg(&program).args(flags).output().ok()?;
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(program)
}

/// Writes to `argv[2]` pages of a private mapping of `argv[1]`, opens 3 existing and 4 missing files, starts 2 threads
/// and sleeps 20 ms.
const GROUND_TRUTH: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static void *nothing(void *argument) { return argument; }
int main(int count, char **words)
{
	int pages = atoi(words[2]), file = open(words[1], O_RDONLY);
	char *map = mmap(0, pages * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	for (int n = 0; n < pages; n++)
		map[n * 4096L] = 1;
	char name[64];
	for (int n = 0; n < 3; n++)
		open("/etc/passwd", O_RDONLY);
	for (int n = 0; n < 4; n++) {
		snprintf(name, sizeof name, "/no/such/place/missing-%d", n);
		open(name, O_RDONLY);
	}
	pthread_t threads[2];
	for (int n = 0; n < 2; n++)
		pthread_create(&threads[n], 0, nothing, 0);
	for (int n = 0; n < 2; n++)
		pthread_join(threads[n], 0);
	struct timespec twenty = { 0, 20000000 };
	nanosleep(&twenty, 0);
	puts("done");
	return 0;
}
"#;

/// Starts and joins 200 threads and 20 processes that exit immediately.
const MANY: &str = r"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static void *nothing(void *argument) { return argument; }
int main(void)
{
	pthread_t threads[200];
	for (int n = 0; n < 200; n++)
		pthread_create(&threads[n], 0, nothing, 0);
	for (int n = 0; n < 200; n++)
		pthread_join(threads[n], 0);
	for (int n = 0; n < 20; n++)
		if (fork() == 0)
			_exit(0);
	while (wait(0) > 0)
		;
	return 0;
}
";

#[test]
fn each_of_many_threads_and_children_is_reported_once_and_nothing_after_its_end_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), MANY, &["-pthread"]) else {
        return skipped("no C compiler");
    };
    let Some(result) = result(&["-r", "1", "--", program.to_str().unwrap()]) else {
        return skipped("the bpf backend does not work here");
    };
    assert_sums(&result);
    let counts = &result["counts"];
    assert_eq!((counts["threads"].as_u64(), counts["processes"].as_u64()), (Some(221), Some(21)));
    let ends = spans(&result, |span| span["name"] == "exit_group").len();
    assert_eq!(ends, 21, "one for the tracee and one for each child");
}

#[test]
fn known_faults_files_threads_and_sleeps_are_reported_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), GROUND_TRUTH, &["-pthread"]) else {
        return skipped("no C compiler");
    };
    let touched = folder.path().join("touched");
    std::fs::write(&touched, vec![0_u8; 40 * 4096]).unwrap();
    let touched = touched.to_str().unwrap();
    let Some(result) = result(&["-r", "3", "--", program.to_str().unwrap(), touched, "37"]) else {
        return skipped("the bpf backend does not work here");
    };
    assert_sums(&result);
    let faults = spans(&result, |span| span["kind"] == "fault" && span["file"] == touched);
    assert_eq!(faults.len(), 37);
    let opens = |path: &str| {
        let files = result["files"].as_array().unwrap();
        let of_path = files.iter().filter(|file| file["path"].as_str().unwrap().starts_with(path));
        of_path.fold((0, 0), |(opened, failed), file| {
            (opened + file["opened"].as_u64().unwrap(), failed + file["failed"].as_u64().unwrap())
        })
    };
    assert_eq!(opens("/etc/passwd"), (3, 0));
    assert_eq!(opens("/no/such/place/missing-"), (0, 4));
    assert_eq!((&result["counts"]["threads"], &result["counts"]["processes"]), (&3.into(), &1.into()));
    let call = spans(&result, |span| span["name"].as_str().unwrap().ends_with("nanosleep"))[0];
    assert!(call["elapsed_ns"].as_u64().unwrap() >= 20_000_000, "{call}");
    let sleep = spans(&result, |span| span["kind"] == "waiting" && span["name"] == "sleep");
    let woken = spans(&result, |span| span["name"] == "a turn on a processor");
    // It leaves the processor after it has entered the call, and its timer expires before its next turn.
    let end = |span: &Value| span["start_ns"].as_u64().unwrap() + span["duration_ns"].as_u64().unwrap();
    let turn = woken.iter().find(|turn| turn["start_ns"] == end(sleep[0])).unwrap();
    let within =
        |span: &Value| call["start_ns"].as_u64() <= span["start_ns"].as_u64() && end(span) <= end_of(call);
    assert!(sleep.len() == 1 && within(sleep[0]) && within(turn), "{call} {sleep:?} {turn}");
    assert!(end(turn) >= call["start_ns"].as_u64().unwrap() + 20_000_000, "{turn}");
}

#[test]
fn a_chain_of_execs_is_reported_with_its_cost() {
    // Many runs, so that the one in the middle did not wait long for a processor.
    let Some(result) = result(&["-r", "11", "--", "env", "env", "true"]) else {
        return skipped("the bpf backend does not work here");
    };
    assert_sums(&result);
    let execs = result["processes"][0]["execs"].as_array().unwrap();
    assert_eq!(execs.len(), 3);
    assert!(execs[2]["path"].as_str().unwrap().ends_with("/true"));
    let findings = result["findings"].as_array().unwrap();
    assert!(
        findings.iter().any(|finding| finding["text"].as_str().unwrap().contains("behind 2 other execs ("))
    );
}

#[test]
fn the_faults_of_the_kernel_in_an_exec_belong_to_the_new_image() {
    let Some(result) = result(&["-r", "1", "--", "env", "env", "true"]) else {
        return skipped("the bpf backend does not work here");
    };
    assert_sums(&result);
    let faults = spans(&result, |span| span["kind"] == "fault");
    let text = |fault: &Value| fault["detail"].as_str().unwrap().to_owned();
    let nowhere = faults.iter().filter(|fault| text(fault).contains("fault (write) 0x"));
    assert_eq!(nowhere.count(), 0, "each has a file or a kind of memory");
    for exec in result["processes"][0]["execs"].as_array().unwrap() {
        let begin = exec["start_ns"].as_u64().unwrap();
        let end = begin + exec["duration_ns"].as_u64().unwrap();
        let within = |fault: &&&Value| (begin..end).contains(&fault["start_ns"].as_u64().unwrap());
        let touched: Vec<String> = faults.iter().filter(within).map(|fault| text(fault)).collect();
        let own = |text: &String| {
            text.contains(exec["executed"].as_str().unwrap())
                || text.contains("/ld-")
                || text.contains("stack")
        };
        assert!(touched.iter().all(own), "{exec} {touched:?}");
    }
}

#[test]
fn children_form_a_tree_and_a_wait_for_one_is_a_wait_for_a_child() {
    let Some(result) = result(&["-r", "2", "--", "sh", "-c", "sleep 0.5; true; echo done"]) else {
        return skipped("the bpf backend does not work here");
    };
    assert_sums(&result);
    let processes = result["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 2, "sh runs `true` and `echo` itself");
    assert_eq!(processes[1]["parent"], processes[0]["pid"]);
    let waits = spans(&result, |span| span["name"] == "a child's exit" && span["tid"] == processes[0]["pid"]);
    assert!(waits.iter().map(|span| span["duration_ns"].as_u64().unwrap()).max() > Some(20_000_000));
}

#[test]
fn ten_thousand_calls_lose_nothing() {
    let arguments = ["-r", "1", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=6000"];
    let Some(result) = result(&arguments) else { return skipped("the bpf backend does not work here") };
    assert_sums(&result);
    assert!(result["counts"]["syscalls"].as_u64() >= Some(12_000));
    assert_eq!(spans(&result, |span| span["name"] == "read" && span["file"] == "/dev/zero").len(), 6000);
}

#[test]
fn a_forced_loss_of_events_is_reported() {
    let arguments = ["trace", "-r", "1", "--no-overhead", "--backend", "bpf", "--ring-bytes", "4096", "--"];
    let program = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=60000"];
    let (status, text, errors) = firstbyte(&[&arguments[..], &program[..]].concat());
    if status == Some(4) {
        return skipped("the bpf backend does not work here");
    }
    let printed = format!("{text}{errors}");
    assert!(printed.contains("events were lost") && printed.contains("--ring-bytes"), "{printed}");
}

#[test]
fn calls_of_a_32_bit_program_get_their_names_from_the_32_bit_table() {
    let folder = tempfile::tempdir().unwrap();
    let source = ".globl _start\n_start: movl $4,%eax\nmovl $1,%ebx\nmovl $m,%ecx\nmovl $3,%edx\nint $0x80\n\
                  movl $1,%eax\nxorl %ebx,%ebx\nint $0x80\n.data\nm: .ascii \"hi\\n\"\n";
    let (file, object, program) =
        (folder.path().join("a.s"), folder.path().join("a.o"), folder.path().join("a"));
    std::fs::write(&file, source).unwrap();
    let run = |name: &str, arguments: &[&Path]| {
        let flags = if name == "as" { vec!["--32"] } else { vec!["-m", "elf_i386"] };
        Command::new(name).args(flags).args(arguments).status().is_ok_and(|status| status.success())
    };
    if !(run("as", &[&file, Path::new("-o"), &object]) && run("ld", &[&object, Path::new("-o"), &program])) {
        return skipped("no i386 assembler");
    }
    let Some(result) = result(&["-r", "2", "--", program.to_str().unwrap()]) else {
        return skipped("the bpf backend does not work here");
    };
    assert_sums(&result);
    let calls = spans(&result, |span| span["kind"] == "syscall");
    let names: Vec<&str> = calls.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["write", "exit"]);
    assert_eq!(calls[0]["file"], "stdout");
    let faults = spans(&result, |span| span["kind"] == "fault" && span["file"] == program.to_str().unwrap());
    assert!(!faults.is_empty(), "its auxiliary vector has 4-byte words");
    // Other findings may depend on what else the machine does, such as waiting for a processor.
    let findings = result["findings"].to_string();
    assert!(!findings.contains("ynamic linking") && !findings.contains("failed"), "{findings}");
}

#[test]
fn faults_of_user_code_of_a_dynamic_program_are_named_by_its_module() {
    let Some(result) = result(&["-r", "3", "--", "cat", "/dev/null"]) else {
        return skipped("the bpf backend does not work here");
    };
    assert_sums(&result);
    let faults = spans(&result, |span| span["kind"] == "fault");
    let by_loader = faults.iter().filter(|span| span["detail"].as_str().unwrap().contains(", by ld.so"));
    assert!(by_loader.count() > 3, "{faults:?}");
    assert!(result["phases"]["write"].is_null(), "it prints nothing");
}

#[test]
fn ptrace_sees_the_same_calls_without_privileges() {
    let names = |backend: &str| -> Option<Vec<String>> {
        let result = result(&["-r", "1", "--backend", backend, "--", "cat", "/dev/null"])?;
        let root = result["processes"][0]["pid"].clone();
        let calls = spans(&result, |span| span["kind"] == "syscall" && span["tid"] == root);
        assert_sums(&result);
        Some(calls.iter().map(|span| span["name"].as_str().unwrap().to_owned()).collect())
    };
    let Some(by_ptrace) = names("ptrace") else { return skipped("ptrace does not work here") };
    assert!(by_ptrace.contains(&"openat".to_owned()) && by_ptrace.last().unwrap() == "exit_group");
    match names("bpf") {
        Some(by_bpf) => assert_eq!(by_ptrace, by_bpf),
        None => skipped("the bpf backend does not work here"),
    }
}

#[test]
fn a_replayed_recording_gives_the_same_account() {
    let folder = tempfile::tempdir().unwrap();
    let (file, json) = (folder.path().join("a.rec"), folder.path().join("a.json"));
    let (file, json) = (file.to_str().unwrap(), json.to_str().unwrap());
    let made = ["-r", "1", "--no-overhead", "--record", file, "--export-json", json, "--", "echo", "hi"];
    if traced(&made).is_none() {
        return skipped("no backend sees every system call");
    }
    let first: Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    let again: Value =
        serde_json::from_str(&traced(&["--replay", file, "--export-json", "-"]).unwrap()).unwrap();
    let hyperfines =
        ["mean", "median", "stddev", "min", "max", "times", "cpu", "user", "system", "exit_codes"];
    let ours = ["spans", "attribution", "files", "searches", "processes", "total_ns", "counts", "findings"];
    for part in hyperfines.into_iter().chain(ours) {
        assert_eq!(first["results"][0][part], again["results"][0][part], "{part}");
    }
}

#[test]
fn processor_time_is_the_time_that_the_kernel_charged() {
    let folder = tempfile::tempdir().unwrap();
    let source = "#include <time.h>\nint main(void) { while (clock() < 30000) ; return 0; }";
    let Some(program) = compiled(folder.path(), source, &[]) else { return skipped("no C compiler") };
    let Some(result) = result(&["-r", "2", "--backend", "ptrace", "--", program.to_str().unwrap()]) else {
        return skipped("ptrace does not work here");
    };
    assert!(result["cpu"].as_f64().unwrap() >= 0.03, "it ends once it was charged this much: {result}");
    assert!(
        result["user"].is_null() && result["system"].is_null(),
        "ticks are too few, ptrace sees no parts"
    );
    assert_eq!(result["exit_codes"], serde_json::json!([0, 0]));
    assert!(result["stddev"].is_f64(), "two runs have a deviation");
}

#[test]
fn a_damaged_recording_is_an_error_with_the_line_number() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.rec");
    for (text, expected) in [("", "line 1"), ("{}\n", "line 1"), ("\u{0}\u{1}", "line 1")] {
        std::fs::write(&file, text).unwrap();
        let (status, _, errors) = firstbyte(&["trace", "--replay", file.to_str().unwrap()]);
        assert_eq!(status, Some(2));
        assert!(errors.contains(expected) && errors.contains("help:"), "{errors}");
    }
}

#[test]
fn the_timeline_and_the_table_stay_within_the_terminal() {
    let Some(text) = traced(&["-r", "2", "--full", "--no-overhead", "--", "cat", "/dev/null"]) else {
        return skipped("no backend sees every system call");
    };
    assert!(text.contains("Longest single steps"), "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let table = traced(&["-r", "2", "--no-overhead", "--summary", "true", "echo hi"]).unwrap();
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let timeline = traced(&["-r", "1", "--no-overhead", "--timeline", "--", "cat", "/dev/null"]).unwrap();
    assert!(timeline.contains("openat(AT_FDCWD, \"/dev/null\", O_RDONLY) = 3"), "{timeline}");
    let long = format!("/no/such/{}", "folder-of-a-long-name/".repeat(9));
    let (_, timeline, _) =
        firstbyte(&["trace", "-r", "1", "--no-overhead", "--timeline", "--", "cat", &long]);
    assert!(timeline.contains(&format!("openat(AT_FDCWD, \"{long}\", O_RDONLY) = -1 ENOENT")), "{timeline}");
}

/// The output of `firstbyte trace` of a few processes, in a terminal of this width; `None` if this machine cannot trace.
fn shown_in(columns: usize, more: &[&str]) -> Option<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    let script =
        "for n in 1 2 3; do ls / | head -n 1; done; ls /no/such/folder/of-a-rather-long-name; exec true";
    command.args(["trace", "-r", "8", "--no-overhead", "--no-samples", "--no-runtimes"]).args(more);
    command.args(["--", "sh", "-c", script]).env("COLUMNS", columns.to_string());
    let output = command.output().unwrap();
    (output.status.code() != Some(4)).then(|| String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_first_screen_fits_a_terminal_of_any_width_and_full_has_the_rest() {
    for columns in [60, 80, 120, 200] {
        let Some(first) = shown_in(columns, &[]) else {
            return skipped("no backend sees every system call");
        };
        assert!(first.lines().count() <= 24, "{first}");
        let order = ["8 runs: ", "startup", "Critical path: ", "Largest costs", "\n--full: "];
        let places = order.map(|part| first.find(part).unwrap_or_else(|| panic!("{part}: {first}")));
        assert!(places.is_sorted(), "{first}");

        let full = shown_in(columns, &["--full"]).unwrap();
        for part in ["Where the time went", "Longest single steps", "Files: ", "Observed by "] {
            assert!(full.contains(part) && !first.contains(part), "{part}: {full}");
        }
        for line in first.lines().chain(full.lines()) {
            assert!(line.width() <= columns, "more than {columns}: {line}");
        }
    }
}

#[test]
fn the_exports_for_viewers_are_json_and_contain_every_step() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (perfetto, firefox, json) = (path("p"), path("f"), path("j"));
    let arguments =
        ["-r", "1", "--no-overhead", "--export-perfetto", &perfetto, "--export-firefox", &firefox];
    if traced(&[&arguments[..], &["--export-json", &json, "--", "true"]].concat()).is_none() {
        return skipped("no backend sees every system call");
    }
    let read =
        |path: &str| -> Value { serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap() };
    let steps = read(&json)["results"][0]["spans"].as_array().unwrap().len();
    let events = read(&perfetto)["traceEvents"].as_array().unwrap().clone();
    let slices = events.iter().filter(|event| event["ph"] == "X" && event["cat"] != "phase").count();
    assert_eq!(slices, steps);
    let firefox = read(&firefox);
    assert_eq!(firefox["threads"][0]["markers"]["length"], steps);
    let samples = &firefox["threads"][0]["samples"];
    let weights: f64 = samples["weight"].as_array().unwrap().iter().map(|ms| ms.as_f64().unwrap()).sum();
    let total = read(&json)["results"][0]["total_ns"].as_f64().unwrap() / 1e6;
    // each is rounded down to 10 ns
    assert!(weights <= total && weights + steps as f64 * 1e-5 >= total, "{weights} ms of {total} ms");
    assert_eq!(samples["weightType"], "tracing-ms");
}

/// Opens `wanted` in the folders `argv[1]/a` to `argv[1]/d`, and executes `true` with a PATH whose first folders lack it.
const SEARCHING: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words)
{
	char path[4096];
	for (char folder = 'a'; folder <= 'd'; folder++) {
		snprintf(path, sizeof path, "%s/%c/wanted", words[1], folder);
		if (open(path, O_RDONLY) >= 0)
			break;
	}
	open("/no/such/place/alone", O_RDONLY);
	setenv("PATH", "/no/such/place:/no/other/place:/usr/bin", 1);
	execlp("true", "true", (char *) 0);
	return 1;
}
"#;

#[test]
fn a_search_is_reported_with_the_folders_that_lack_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), SEARCHING, &[]) else { return skipped("no C compiler") };
    let place = folder.path().to_str().unwrap();
    std::fs::create_dir(folder.path().join("d")).unwrap();
    std::fs::write(folder.path().join("d/wanted"), "").unwrap();
    for backend in ["bpf", "ptrace"] {
        let arguments = ["-r", "1", "--backend", backend, "--", program.to_str().unwrap(), place];
        let Some(result) = result(&arguments) else { return skipped("a backend does not work here") };
        let searches = result["searches"].as_array().unwrap();
        let named =
            |name: &str| searches.iter().find(|search| search["names"] == serde_json::json!([name])).unwrap();
        let wanted = named("wanted");
        let folders = ["a", "b", "c"].map(|letter| format!("{place}/{letter}"));
        assert_eq!(
            (&wanted["misses"], &wanted["folders"]),
            (&3.into(), &serde_json::json!(folders)),
            "{wanted}"
        );
        assert_eq!(wanted["found"], format!("{place}/d"));
        let run = named("true");
        assert_eq!(
            (&run["misses"], &run["found"], &run["by"]),
            (&2.into(), &"/usr/bin".into(), &"PATH".into())
        );
        assert!(searches.iter().all(|search| search["names"] != serde_json::json!(["alone"])));
    }
    // Without LD_LIBRARY_PATH the loader searches nothing, so these two are the whole list, whatever they cost.
    let words = ["-r", "1", "--full", "--no-overhead", "--clean-env", "--", program.to_str().unwrap(), place];
    let text = traced(&words).unwrap();
    let text = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(
        text.contains("2 true: not in /no/such/place, /no/other/place; found in /usr/bin (PATH)"),
        "{text}"
    );
}

#[test]
fn processes_that_a_program_leaves_behind_are_killed_after_its_trace() {
    for backend in ["bpf", "ptrace"] {
        let script = "setsid sleep 98731 & (setsid sleep 98731 &) ; echo hi";
        let arguments = ["-r", "2", "--no-overhead", "--backend", backend, "--", "sh", "-c", script];
        if traced(&arguments).is_none() {
            return skipped("a backend does not work here");
        }
        wait_until("they are gone", || {
            let processes = std::fs::read_dir("/proc").unwrap().flatten();
            let mut words =
                processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
            !words.any(|words| words == b"sleep\x0098731\0")
        });
    }
}

/// The sum of the shares of the kinds. The parts of a kind are indented.
fn percents(text: &str) -> f64 {
    let table = text.lines().skip_while(|line| !line.starts_with("Where the ")).skip(1);
    let kinds = table.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with(' '));
    kinds.filter_map(|line| line.split_whitespace().rev().nth(1)?.parse::<f64>().ok()).sum()
}

#[test]
fn the_kinds_add_up_to_the_total_however_different_the_runs_are() {
    let folder = tempfile::tempdir().unwrap();
    let counter = folder.path().join("counter");
    let script = format!(
        "printf x >> {0}; case $(( $(wc -c < {0}) % 3 )) in 0) sleep 0.2;; 1) i=0; while [ $i -lt 99999 ]; do \
         i=$((i+1)); done;; esac",
        counter.display()
    );
    let run = |runs: &str| {
        let _ = std::fs::remove_file(&counter);
        traced(&["-r", runs, "--full", "--no-overhead", "--backend", "ptrace", "--", "sh", "-c", &script])
    };
    let (Some(one), Some(several)) = (run("1"), run("6")) else {
        return skipped("programs cannot be traced here");
    };
    for text in [one, several] {
        let sum = percents(&text);
        assert!(
            (99.0..101.0).contains(&sum),
            "the kinds add up to the total, but for rounding: {sum} in {text}"
        );
    }
}
