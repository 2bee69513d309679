//! The ptrace backend: phases behind a seccomp filter, and the counting pass.

use crate::support::{copy_executable, skipped, wait_until, with_default_signal, write_executable};
use crate::tracees::{self, CASES, HELLO, PIPE_CASES, check_table, launcher, options};
use firstbyte_measure::Counts;
use firstbyte_measure::launch::wait::Killed;
use firstbyte_measure::launch::{Command, ExitStatus, LaunchError, Launcher, OutputKind, Watch};
use firstbyte_measure::tracer::ptrace::{PtraceFull, PtracePhases, count};
use firstbyte_measure::tracer::{Abi, EventKind, Recording, RunOptions, Syscall, Tracer};
use std::path::Path;
use std::time::Duration;

fn run(launcher: &mut Launcher, options: &RunOptions) -> Recording {
    PtracePhases::new().run(launcher, options).unwrap()
}

fn writer(arguments: &[&str]) -> Option<Launcher> {
    launcher("writer.c", arguments)
}

#[test]
fn every_tracee_is_seen_correctly_through_a_pipe() {
    check_table(&mut PtracePhases::new(), CASES, OutputKind::Pipe);
    check_table(&mut PtracePhases::new(), PIPE_CASES, OutputKind::Pipe);
}

#[test]
fn every_tracee_is_seen_correctly_on_a_terminal() {
    // A daemon in another session loses the terminal together with its leader, and may die of that.
    let stay: Vec<_> = CASES.iter().copied().filter(|case| case.arguments != ["daemon"]).collect();
    check_table(&mut PtracePhases::new(), &stay, OutputKind::Pty);
}

#[test]
fn every_tracee_is_seen_correctly_with_a_file() {
    check_table(&mut PtracePhases::new(), CASES, OutputKind::File);
}

#[test]
fn every_tracee_is_seen_correctly_with_the_null_device() {
    check_table(&mut PtracePhases::new(), CASES, OutputKind::Null);
}

/// The counting pass is also a tracer and must see the same events.
struct Counter;

impl Tracer for Counter {
    fn backend(&self) -> firstbyte_measure::tracer::Backend {
        firstbyte_measure::tracer::Backend::Ptrace
    }

    fn run(&mut self, launcher: &mut Launcher, options: &RunOptions) -> Result<Recording, LaunchError> {
        count(launcher, options).map(|(_, recording)| recording)
    }
}

#[test]
fn the_counting_pass_sees_the_same_events() {
    check_table(&mut Counter, CASES, OutputKind::Pipe);
    check_table(&mut Counter, PIPE_CASES, OutputKind::Pipe);
}

#[test]
fn a_32_bit_call_gets_its_name_from_the_32_bit_table() {
    for (source, abi, number) in
        [("int80.S", Abi::Compat, 4), ("mixed_calls.S", Abi::Compat, 4), ("three_calls.S", Abi::Native, 1)]
    {
        let Some(mut launcher) = launcher(source, &[]) else { continue };
        let recording = run(&mut launcher, &options(OutputKind::Pipe));
        let call = Syscall { abi, number };
        assert!(recording.events.iter().any(|e| e.kind == EventKind::OutputEnter { call }), "{source}");
    }
}

#[test]
fn a_chain_of_execs_names_each_program() {
    let Ok(command) = Command::new(&["env", "env", "true"]) else { return skipped("there is no env") };
    let mut launcher = Launcher::new(command).unwrap();
    let recording = run(&mut launcher, &options(OutputKind::Pipe));
    let names: Vec<String> = recording
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ExecCommit { path } => Some(path.rsplit('/').next().unwrap().to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["env", "env", "true"]);
    assert_eq!(count(&mut launcher, &options(OutputKind::Pipe)).unwrap().0.execs, 3);
}

#[test]
fn a_tracee_that_fails_to_trace_continues() {
    let Some(mut launcher) = writer(&["traceme"]) else { return };
    let recording = run(&mut launcher, &options(OutputKind::Pipe));
    assert_eq!(recording.exit, ExitStatus::SUCCESS);
    assert_eq!(recording.output.head, HELLO);
}

#[test]
fn a_tracee_that_stops_itself_is_killed_and_reported() {
    let Some(mut launcher) = writer(&["stop"]) else { return };
    let recording = run(&mut launcher, &RunOptions::default());
    assert_eq!(recording.killed, Some(Killed::Stopped(libc::SIGSTOP)));
    assert_eq!(recording.exit, ExitStatus::Signal(libc::SIGKILL));
}

#[test]
fn a_tracee_that_hangs_is_killed_with_its_whole_tree() {
    let limit = RunOptions { timeout: Some(Duration::from_millis(200)), ..RunOptions::default() };
    for how in ["hang", "hang-tree"] {
        let Some(mut launcher) = writer(&[how]) else { return };
        for recording in [run(&mut launcher, &limit), count(&mut launcher, &limit).unwrap().1] {
            assert_eq!(recording.killed, Some(Killed::TimedOut));
            assert_eq!(recording.exit, ExitStatus::Signal(libc::SIGKILL));
            assert_gone(&recording);
        }
    }
}

/// Whether a thread is being created at that moment is chance, so there are many runs of each kind.
#[test]
fn a_tracee_that_exits_while_it_creates_a_thread_is_followed_to_its_end() {
    for (killed, exit) in [("0", ExitStatus::SUCCESS), ("1", ExitStatus::Signal(libc::SIGKILL))] {
        let Some(mut launcher) = writer(&["exit-amid-threads", killed]) else { return };
        let options = options(OutputKind::Pipe);
        for _ in 0..20 {
            let phases = run(&mut launcher, &options);
            let counted = count(&mut launcher, &options).unwrap().1;
            let whole = PtraceFull::default().run(&mut launcher, &options).unwrap();
            for recording in [phases, counted, whole] {
                assert_eq!((recording.killed, recording.exit), (None, exit));
                assert_gone(&recording);
            }
        }
    }
}

#[test]
fn a_daemon_does_not_outlive_the_run() {
    let Some(mut launcher) = writer(&["daemon"]) else { return };
    let recording = run(&mut launcher, &options(OutputKind::Pipe));
    assert!(recording.left_behind);
    assert_gone(&recording);
}

/// No process of a recording is still running. A zombie may wait for its reaper.
fn assert_gone(recording: &Recording) {
    let children = recording.events.iter().filter_map(|event| match event.kind {
        EventKind::Fork { child_pid, .. } => Some(child_pid),
        _ => None,
    });
    for pid in children.chain([recording.root]) {
        assert!(is_gone(pid), "{pid}");
    }
}

fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap().split_whitespace().next().unwrap_or("gone");
    ["gone", "Z", "X"].contains(&state)
}

/// The descriptors of a program that may be executed but not read are hidden from us, so descriptor 1 is assumed.
#[test]
fn a_program_that_may_not_be_read_is_still_traced() {
    let Some(program) = tracees::built("three_calls.S") else { return };
    let closed = program.with_extension("closed");
    // SAFETY: no arguments, no effects.
    if unsafe { libc::geteuid() } == 0 {
        // In one step: the same test of another user may be running it.
        let draft = program.with_extension("draft");
        copy_executable(&program, &draft, 0o711);
        std::fs::rename(draft, &closed).unwrap();
    } else if !closed.exists() {
        return skipped("only root can create a program that we may not read");
    }
    let mut launcher = Launcher::new(Command::new(&[&closed]).unwrap()).unwrap();
    for output in [OutputKind::Pipe, OutputKind::Null] {
        let recording = run(&mut launcher, &options(output));
        assert_eq!(tracees::last_output(&recording), (1, 12), "{output:?}");
    }
    let (counts, _) = count(&mut launcher, &options(OutputKind::Pipe)).unwrap();
    assert_eq!((counts.syscalls, counts.writes), (3, 1));
}

#[test]
fn a_failed_exec_is_an_error_that_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    write_executable(&script, "#!/nonexistent/interpreter\n", 0o755);
    let mut launcher = Launcher::new(Command::new(&[&script]).unwrap()).unwrap();
    let counted = count(&mut launcher, &RunOptions::default()).map(|(_, recording)| recording);
    for answer in [PtracePhases::new().run(&mut launcher, &RunOptions::default()), counted] {
        assert!(matches!(answer, Err(LaunchError::MissingInterpreter { .. })), "{answer:?}");
    }
    launcher.set_cpus(&"1023".parse().unwrap());
    let answer = PtracePhases::new().run(&mut launcher, &RunOptions::default());
    assert!(matches!(answer, Err(LaunchError::Step { step: "sched_setaffinity", .. })), "{answer:?}");
}

#[test]
fn a_program_can_be_traced_while_other_threads_have_children_of_their_own() {
    let Some(mut launcher) = writer(&["fork"]) else { return };
    let mut other = std::process::Command::new("sleep").arg("0").spawn().unwrap();
    let recording = run(&mut launcher, &options(OutputKind::Pipe));
    assert_eq!(recording.exit, ExitStatus::SUCCESS);
    assert!(other.wait().unwrap().success(), "its status was not taken away");
}

fn counts(source: &str, arguments: &[&str]) -> Option<Counts> {
    let mut launcher = launcher(source, arguments)?;
    let (counts, recording) = count(&mut launcher, &options(OutputKind::Pipe)).unwrap();
    assert_eq!(recording.exit, ExitStatus::SUCCESS, "{source} {arguments:?}");
    Some(counts)
}

#[test]
fn a_program_of_three_system_calls_is_counted_as_such() {
    for source in ["three_calls.S", "int80.S", "mixed_calls.S"] {
        let Some(found) = counts(source, &[]) else { continue };
        assert_eq!((found.syscalls, found.writes, found.execs), (3, 1, 1), "{source}");
        assert_eq!((found.processes, found.threads), (1, 1), "{source}");
        assert_eq!((found.files_opened, found.failed_opens, found.bytes_read), (0, 0, 0), "{source}");
        assert!(found.max_rss > 0, "{source}");
    }
}

/// The counts of two runs of a program that knows its counts differ as their arguments do.
fn difference(arguments: [u64; 7]) -> Option<(Counts, Counts)> {
    let words = arguments.map(|n| n.to_string());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Some((counts("counted.c", &["0"; 7])?, counts("counted.c", &words)?))
}

#[test]
fn opens_failed_opens_and_bytes_read_are_counted_exactly() {
    let Some((none, some)) = difference([5, 3, 1000, 0, 0, 0, 0]) else { return };
    assert_eq!(some.files_opened - none.files_opened, 5);
    assert_eq!(some.failed_opens - none.failed_opens, 3);
    assert_eq!(some.bytes_read - none.bytes_read, 1000);
    assert_eq!(some.syscalls - none.syscalls, 5 * 2 + 3);
}

/// Switches address randomisation off for the tracees of this thread, so the number of faults is the same in every run.
fn no_randomness() {
    // SAFETY: concerns only this thread and the processes that it will create.
    unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
}

#[test]
fn touched_pages_are_counted_exactly() {
    no_randomness();
    let Some(none) = counts("pages.S", &["0"]) else { return };
    for digit in ["1", "2", "9"] {
        let some = counts("pages.S", &[digit]).unwrap();
        assert_eq!(some.page_faults - none.page_faults, 30 * digit.parse::<u64>().unwrap());
        assert_eq!(some.syscalls, none.syscalls);
    }
}

#[test]
fn threads_and_children_are_counted_exactly() {
    let Some((none, some)) = difference([0, 0, 0, 4, 3, 2, 1]) else { return };
    assert_eq!(some.threads - none.threads, 4 + 3 + 2 + 1);
    assert_eq!(some.processes - none.processes, 3 + 2 + 1);
    assert_eq!(some.execs - none.execs, 1);
}

#[test]
fn tasks_that_die_while_others_are_created_are_counted_once_each() {
    for (arguments, processes, threads) in [
        (["fleeting-threads", "200"], 1, 201),
        (["fleeting-children", "200"], 201, 201),
        (["forking-threads", "50"], 201, 205),
    ] {
        for _ in 0..3 {
            let Some(found) = counts("writer.c", &arguments) else { return };
            assert_eq!((found.processes, found.threads), (processes, threads), "{arguments:?}");
        }
    }
}

#[test]
fn a_program_that_fills_its_pipe_is_read_while_it_writes_from_the_second_run_on() {
    let Some(mut launcher) = writer(&["bulk", "1"]) else { return };
    assert_eq!(launcher.watch(), Watch::Exit);
    for _ in 0..2 {
        let recording = run(&mut launcher, &options(OutputKind::Pipe));
        assert_eq!((recording.exit, recording.output.bytes), (ExitStatus::SUCCESS, Some(1 << 20)));
        assert_eq!(launcher.watch(), Watch::Arrival);
    }
    let Some(mut launcher) = writer(&["write"]) else { return };
    run(&mut launcher, &options(OutputKind::Pipe));
    assert_eq!(launcher.watch(), Watch::Exit, "one line does not fill a pipe");
}

#[test]
fn the_number_of_system_calls_equals_that_of_strace() {
    if std::process::Command::new("strace").arg("-V").output().is_err() {
        return skipped("there is no strace");
    }
    for arguments in [&["write"][..], &["spawn"], &["fork"], &["exec"]] {
        let Some(found) = counts("writer.c", arguments) else { return };
        let Some(lines) = strace_lines(&tracees::built("writer.c").unwrap(), arguments) else { return };
        assert_eq!(found.syscalls, lines, "{arguments:?}");
    }
}

/// The number of system calls that `strace -f` reports.
fn strace_lines(program: &Path, arguments: &[&str]) -> Option<u64> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut strace = std::process::Command::new("strace");
    let answer =
        strace.args(["-f", "-qq", "-e", "signal=none", "-o"]).arg(log.path()).arg(program).args(arguments);
    if !answer.output().unwrap().status.success() {
        skipped("strace does not work here");
        return None;
    }
    let text = std::fs::read_to_string(log.path()).unwrap();
    let calls = text.lines().filter(|line| !line.contains("+++") && !line.contains("resumed>"));
    Some(calls.count() as u64)
}

#[test]
fn the_number_of_page_faults_equals_that_of_perf() {
    no_randomness();
    let plain: [(&str, &[&str]); 5] = [
        ("three_calls.S", &[]),
        ("writer.c", &["write"]),
        ("writer.c", &["exec"]),
        ("writer.c", &["fork"]),
        ("writer.c", &["spawn"]),
    ];
    for (source, arguments) in plain {
        let Some(program) = tracees::built(source) else { continue };
        let Some(faults) = perf_faults(&program, arguments) else { return };
        let mut launcher = launcher(source, arguments).unwrap();
        // A few bytes of environment more or less can be one page of stack more or less.
        for (name, value) in perf_environment() {
            launcher.set_variable(&name, value.as_ref());
        }
        let mut counted = || count(&mut launcher, &options(OutputKind::Pipe)).unwrap().0.page_faults;
        let fewest = (0..RUNS_OF_FAULTS).map(|_| counted()).min().unwrap();
        assert_eq!(fewest, faults, "{source} {arguments:?}");
    }
}

/// The environment that perf gives to its programs: it adds variables and extends PATH.
fn perf_environment() -> Vec<(String, String)> {
    let output = std::process::Command::new("perf").args(["stat", "-o", "/dev/null", "env", "-0"]).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let variable =
        |entry: &str| entry.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    text.split('\0').filter_map(variable).collect()
}

/// The first run may have to read the program's file, and on a busy machine a run now and then takes a fault more than the
/// others. So the smallest counts are compared.
const RUNS_OF_FAULTS: u32 = 5;

/// The smallest count of `perf stat`.
fn perf_faults(program: &Path, arguments: &[&str]) -> Option<u64> {
    let counts: Option<Vec<u64>> =
        (0..RUNS_OF_FAULTS).map(|_| perf_faults_once(program, arguments)).collect();
    counts?.into_iter().min()
}

fn perf_faults_once(program: &Path, arguments: &[&str]) -> Option<u64> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut perf = std::process::Command::new("perf");
    perf.args(["stat", "-e", "page-faults", "-x", ",", "-o"]).arg(log.path()).arg(program).args(arguments);
    let ran = perf.output().is_ok_and(|output| output.status.success());
    let text = std::fs::read_to_string(log.path()).unwrap();

    // Users who may not see faults in the kernel get `page-faults:u`.
    let line = text.lines().find(|line| line.contains(",page-faults,"));
    let counted = line.filter(|_| ran).and_then(|line| line.split(',').next()?.parse().ok());
    if counted.is_none() {
        skipped("perf cannot count page faults here");
    }
    counted
}

/// Set for the process that will be ended from outside.
const TO_BE_ENDED: &str = "FIRSTBYTE_TEST_TO_BE_ENDED";

/// Not a test: [`ended_by`] starts it.
#[test]
fn a_run_that_is_ended_from_outside() {
    if std::env::var_os(TO_BE_ENDED).is_none() {
        return;
    }
    firstbyte_measure::launch::interrupt::catch_signals();
    let mut launcher = writer(&["hang-tree"]).unwrap();
    let answer = PtracePhases::new().run(&mut launcher, &RunOptions::default());
    assert!(matches!(answer, Err(LaunchError::Interrupted)), "{answer:?}");
}

/// Sends a signal to a process that traces a hanging tree. Returns how it ended and what it had started.
fn ended_by(signal: i32) -> Option<(std::process::ExitStatus, Vec<u32>)> {
    tracees::built("writer.c")?;
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "ptrace::a_run_that_is_ended_from_outside"]).env(TO_BE_ENDED, "1");
    let mut tracing =
        with_default_signal(libc::SIGINT, command.stdout(std::process::Stdio::null())).spawn().unwrap();
    let started = loop {
        let found = descendants(tracing.id());
        if found.len() == 2 {
            break found;
        }
        assert!(tracing.try_wait().unwrap().is_none(), "it ended too early");
        std::thread::sleep(Duration::from_millis(5));
    };
    // SAFETY: a signal to our own child.
    unsafe { libc::kill(tracing.id().cast_signed(), signal) };
    Some((tracing.wait().unwrap(), started))
}

fn descendants(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<u32> = lists
        .flat_map(|list| list.split_whitespace().map(|id| id.parse().unwrap()).collect::<Vec<_>>())
        .collect();
    let further: Vec<u32> = children.iter().flat_map(|child| descendants(*child)).collect();
    [children, further].concat()
}

#[test]
fn an_interrupted_run_says_so_and_leaves_no_process() {
    let Some((status, started)) = ended_by(libc::SIGINT) else { return };
    assert!(status.success());
    assert!(started.iter().all(|pid| is_gone(*pid)));
}

#[test]
fn killing_a_tracer_kills_its_tracees() {
    let Some((_, started)) = ended_by(libc::SIGKILL) else { return };
    // The kernel kills them without waiting for their end.
    wait_until("the tracees are gone", || started.iter().all(|pid| is_gone(*pid)));
}

/// Set for the process that will make itself untraceable.
const UNTRACEABLE: &str = "FIRSTBYTE_TEST_UNTRACEABLE";

/// A binary with capabilities (`setcap`) may not be traced, and neither may a process that shares its memory, so its
/// tracees must get a copy. The mark applies to a whole process, so the test starts one.
#[test]
fn a_tracer_that_may_not_be_traced_can_trace() {
    let name = "ptrace::a_tracer_that_may_not_be_traced_can_trace";
    if std::env::var_os(UNTRACEABLE).is_none() {
        tracees::built("writer.c");
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let output = again.args(["--exact", name]).env(UNTRACEABLE, "1").output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && shown.contains("1 passed"), "{shown}");
        return;
    }
    // SAFETY: marks our own process.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
    for arguments in [&["write"][..], &["fork"]] {
        let Some(mut launcher) = writer(arguments) else { return };
        for output in [OutputKind::Pipe, OutputKind::Null] {
            assert_eq!(tracees::last_output(&run(&mut launcher, &options(output))), (1, 12));
        }
        let (counts, _) = count(&mut launcher, &options(OutputKind::Pipe)).unwrap();
        assert_eq!(counts.writes, 1);
    }
    let mut missing = Launcher::new(Command::new(&["true"]).unwrap()).unwrap();
    missing.set_cpus(&"1023".parse().unwrap());
    let answer = PtracePhases::new().run(&mut missing, &RunOptions::default());
    assert!(matches!(answer, Err(LaunchError::Step { step: "sched_setaffinity", .. })), "{answer:?}");
}

/// Runs the same tests as a user without privileges.
#[test]
fn a_user_without_privileges_sees_the_same() {
    // SAFETY: no arguments, no effects.
    if unsafe { libc::geteuid() } != 0 {
        return; // we already are that user
    }
    for source in ["writer.c", "counted.c", "three_calls.S", "mixed_calls.S", "int80.S", "pages.S"] {
        tracees::built(source);
    }
    let mut again = std::process::Command::new("setpriv");
    again.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    again.arg(std::env::current_exe().unwrap()).args(["ptrace::", "--test-threads=2"]);
    again.env_remove("FIRSTBYTE_REQUIRE"); // perf may not be allowed for that user
    match again.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) if output.status.code() == Some(126) => skipped("that user has no access to the folder"),
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stdout)),
        Err(error) => skipped(&format!("there is no setpriv: {error}")),
    }
}
