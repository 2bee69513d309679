//! A seccomp filter refuses one system call, as those of containers do: every command ends, and the cause that it names is
//! the cause.
//!
//! The calls are those that firstbyte makes, without those that Rust's and the C library's own start needs (such as mmap,
//! poll, `rt_sigaction` and futex), and without getpid and uname, which no filter refuses.

use crate::support::skipped;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// By name, for messages.
macro_rules! calls {
    ($($name:ident)*) => { [$((stringify!($name), libc::$name)),*] };
}

const CALLS: [(&str, libc::c_long); 40] = calls!(
    SYS_pidfd_open SYS_pidfd_send_signal SYS_ppoll SYS_kill SYS_tgkill SYS_clone SYS_clone3 SYS_wait4 SYS_waitid
    SYS_prlimit64 SYS_sched_setaffinity SYS_sched_getaffinity SYS_setpgid SYS_ioctl SYS_pipe2 SYS_socketpair SYS_ptrace
    SYS_process_vm_readv SYS_prctl SYS_bpf SYS_perf_event_open SYS_fcntl SYS_statx SYS_newfstatat SYS_getdents64
    SYS_getrandom SYS_close_range SYS_timer_create SYS_getrusage SYS_fadvise64 SYS_sysinfo SYS_dup3 SYS_recvfrom
    SYS_sendto SYS_rt_sigprocmask SYS_sigaltstack SYS_madvise SYS_clock_nanosleep SYS_memfd_create SYS_flock
);

/// Fits any of them: what a program has to do with it is for its own part.
const FALSE_CAUSES: [&str; 5] =
    ["raise the limit", "has not died", "keeps running", "verifier", "type information"];

/// Installs a filter that refuses one call. The number of a call means another one to 32-bit programs, which are none here.
fn refusing(command: &mut Command, call: libc::c_long, errno: i32) -> &mut Command {
    let code = |code: u32, k: u32, (yes, no)| libc::sock_filter {
        code: code.try_into().unwrap(),
        jt: yes,
        jf: no,
        k,
    };
    let (load, compare, end) = (
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        libc::BPF_RET | libc::BPF_K,
    );
    let program = [
        code(load, 0, (0, 0)),
        code(compare, u32::try_from(call).unwrap(), (0, 1)),
        code(end, libc::SECCOMP_RET_ERRNO | errno.unsigned_abs(), (0, 0)),
        code(end, libc::SECCOMP_RET_ALLOW, (0, 0)),
    ];
    // SAFETY: the child calls only prctl(2), with a program that it has a copy of.
    unsafe {
        command.pre_exec(move || {
            let filter = libc::sock_fprog { len: 4, filter: program.as_ptr().cast_mut() };
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            match libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        })
    }
}

/// Its output, once it has ended. One that hangs is killed, and is a failure.
fn ended(mut child: Child, what: &str) -> Output {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{what}: it does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn whichever_call_a_filter_refuses_every_command_ends_and_names_the_cause() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let elf = ["elf", "--message", "hello", "-o", "hello"];
    let made = Command::new(env!("CARGO_BIN_EXE_firstbyte")).args(elf).current_dir(folder.path()).status();
    if !made.unwrap().success() {
        return skipped("we write no executables for this machine");
    }
    let bench = "bench --runs 1 --warmup 0 --no-overhead --no-counts ./hello --backend";
    for command in [
        &format!("{bench} pipe"),
        &format!("{bench} ptrace"),
        "watch --backend ptrace -- ./hello",
        "watch -- ./hello",
    ] {
        for (name, call) in CALLS {
            for errno in [libc::EPERM, libc::ENOSYS] {
                check(folder.path(), command, (name, call), errno);
            }
        }
    }
}

fn check(folder: &Path, command: &str, (name, call): (&str, libc::c_long), errno: i32) {
    let what = format!("`{command}` without {name} ({errno})");
    let mut started = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    started.args(command.split(' ')).current_dir(folder).env("FIRSTBYTE_CACHE", folder.join("cache"));
    started.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = ended(refusing(&mut started, call, errno).spawn().unwrap(), &what);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), None, "{what}: {said}");

    let cause = std::io::Error::from_raw_os_error(errno).to_string();
    let names_it = said.contains(&cause) || said.contains("seccomp");
    let status = output.status.code();
    assert!(status == Some(0) || status == Some(4) && names_it, "{what}: {status:?}, {said}");
    for wrong in FALSE_CAUSES {
        assert!(!said.contains(wrong), "{what}: {said}");
    }
}

#[test]
fn too_few_descriptors_are_no_old_kernel() {
    for most in 3..=24 {
        for arguments in ["bench --backend bpf --runs 1 --no-counts true", "watch --backend bpf -- true"] {
            let script = format!("ulimit -n {most}; exec \"$0\" {arguments}");
            let output =
                Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_firstbyte")]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            for wrong in ["verifier", "type information", "BTF", "CONFIG"] {
                assert!(!said.contains(wrong), "{most}: {arguments}: {said}");
            }
            let is_named = said.contains("Too many open files") || said.contains("does not work here");
            assert!(output.status.success() || is_named, "{most}: {arguments}: {said}");
        }
    }
}
