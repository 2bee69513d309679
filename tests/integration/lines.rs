//! `firstbyte lines`: the bytes of `yes TEXT | head -n N`, written to every kind of stdout.

use crate::support::skipped;
use firstbyte::throughput::lines::Lines;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Output, Stdio};
use std::thread;

pub(crate) const FIRSTBYTE: &str = env!("CARGO_BIN_EXE_firstbyte");

fn firstbyte(count: u64, text: &str) -> Command {
    let mut command = Command::new(FIRSTBYTE);
    command.arg("lines").arg(count.to_string()).arg(text).stdin(Stdio::null());
    command
}

pub(crate) fn expected(count: u64, text: &str) -> Vec<u8> {
    let lines = format!("{text}\n");
    let all = lines.split_inclusive('\n').cycle().take(usize::try_from(count).unwrap());
    all.collect::<String>().into_bytes()
}

fn hash(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// Closed on exec, so the processes of other tests do not keep its ends open.
fn pipe() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    pipe_with(PipeFlags::CLOEXEC)
}

/// Compares hashes, because a difference of a megabyte must not be printed.
#[track_caller]
pub(crate) fn assert_same(got: &[u8], wanted: &[u8], what: &str) {
    assert_eq!((got.len(), hash(got)), (wanted.len(), hash(wanted)), "{what}");
}

/// Runs it with this stdout, which no other process has open.
pub(crate) fn run_into(mut command: Command, stdout: OwnedFd) -> Output {
    let child = command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    drop(command);
    child.wait_with_output().unwrap()
}

fn read_all(reader: OwnedFd, chunk: usize) -> Vec<u8> {
    let (mut reader, mut bytes, mut buffer) = (File::from(reader), Vec::new(), vec![0; chunk]);
    while let Ok(count @ 1..) = reader.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..count]);
    }
    bytes
}

/// Writes to a pipe whose reader takes `chunk` bytes at a time.
fn through_pipe(command: Command, chunk: usize) -> Vec<u8> {
    let (reader, writer) = pipe().unwrap();
    let reading = thread::spawn(move || read_all(reader, chunk));
    let output = run_into(command, writer);
    assert!(output.status.success(), "{output:?}");
    reading.join().unwrap()
}

fn text_of(length: usize) -> String {
    // 251 is prime, so no two neighbouring pages are the same.
    (0..length).map(|i| char::from(b'0' + u8::try_from(i % 251 % 75).unwrap())).collect()
}

const LENGTHS: [usize; 22] = [
    0, 1, 2, 3, 11, 12, 63, 99, 100, 255, 1000, 4094, 4095, 4096, 4097, 5000, 8191, 12_345, 65_534, 65_536,
    99_999, 100_000,
];

#[test]
fn any_text_arrives_complete_through_a_pipe() {
    for length in LENGTHS {
        let text = text_of(length);
        for bytes in [1, 70_000, 1_100_000, 3_000_000] {
            let count = bytes / (length as u64 + 1) + 1;
            let got = through_pipe(firstbyte(count, &text), 65_536);
            assert_same(&got, &expected(count, &text), &format!("{count} lines of {length}"));
        }
    }
}

#[test]
fn any_number_of_lines_arrives_complete_through_a_pipe() {
    for count in [0, 1, 2, 1023, 1024, 1025, 5460, 5461, 5462, 87_039, 87_040, 87_041, 100_003, 1_000_003] {
        let got = through_pipe(firstbyte(count, "hello world"), 10_007);
        assert_same(&got, &expected(count, "hello world"), &format!("{count} lines"));
    }
}

#[test]
fn it_prints_what_yes_and_head_print() {
    for (count, text) in [
        (17, "y"),
        (100_000, "hello world"),
        (333_333, "a b"),
        (70, &text_of(100_000)),
        (99_991, "two\nlines"),
        (20_000, "\n\nx"),
    ] {
        let script = "yes -- \"$1\" | head -n \"$0\"";
        let output =
            Command::new("sh").arg("-c").arg(script).arg(count.to_string()).arg(text).output().unwrap();
        if !output.status.success() || output.stdout.is_empty() {
            return skipped("no `yes` here");
        }
        assert_same(
            &through_pipe(firstbyte(count, text), 4096),
            &output.stdout,
            text.get(..20).unwrap_or(text),
        );
    }
}

#[test]
fn the_default_text_is_the_one_of_response_to_response() {
    let output = Command::new(FIRSTBYTE).args(["lines", "3"]).output().unwrap();
    assert_eq!(output.stdout, b"hello world\nhello world\nhello world\n");
}

#[test]
fn a_pipe_of_any_size_works() {
    for size in [4096, 8192, 65_536, 262_144, 1_048_576] {
        let (reader, writer) = pipe().unwrap();
        fcntl_setpipe_size(&writer, size).unwrap();
        let reading = thread::spawn(move || read_all(reader, 7777));
        assert!(run_into(firstbyte(200_003, "hello world"), writer).status.success());
        assert_same(&reading.join().unwrap(), &expected(200_003, "hello world"), &format!("{size}"));
    }
}

#[test]
fn a_pipe_is_enlarged_only_for_many_lines_and_never_shrunk() {
    for (before, count, after) in
        [(65_536, 10, 65_536), (65_536, 1_000_000, 1_048_576), (1_048_576, 10_000, 1_048_576)]
    {
        let (reader, writer) = pipe().unwrap();
        fcntl_setpipe_size(&writer, before).unwrap();
        let kept = writer.try_clone().unwrap();
        let mut child = firstbyte(count, "hello world").stdout(writer).spawn().unwrap();
        let mut reader = File::from(reader);
        let mut all = vec![0; usize::try_from(12 * count).unwrap()];
        reader.read_exact(&mut all).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(fcntl_getpipe_size(&kept).unwrap(), after);
    }
}

#[test]
fn a_non_blocking_stdout_gets_all_lines() {
    for count in [100, 20_000, 500_000] {
        let (reader, writer) = pipe().unwrap();
        fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        let reading = thread::spawn(move || read_all(reader, 4099));
        assert!(run_into(firstbyte(count, "hello world"), writer).status.success());
        assert_same(&reading.join().unwrap(), &expected(count, "hello world"), "pipe");

        let (reader, writer) = UnixStream::pair().unwrap();
        writer.set_nonblocking(true).unwrap();
        let reading = thread::spawn(move || read_all(reader.into(), 4099));
        assert!(run_into(firstbyte(count, "hello world"), writer.into()).status.success());
        assert_same(&reading.join().unwrap(), &expected(count, "hello world"), "socket");
    }
}

#[test]
fn stream_and_seqpacket_sockets_get_all_lines() {
    for length in [11, 5000] {
        let (text, count) = (text_of(length), 3_000_000 / (length as u64 + 1));
        let (reader, writer) = UnixStream::pair().unwrap();
        let reading = thread::spawn(move || read_all(reader.into(), 65_536));
        assert!(run_into(firstbyte(count, &text), writer.into()).status.success());
        assert_same(&reading.join().unwrap(), &expected(count, &text), "stream");

        let (reader, writer) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let reading = thread::spawn(move || read_all(reader, 1 << 22));
        assert!(run_into(firstbyte(count, &text), writer).status.success());
        assert_same(&reading.join().unwrap(), &expected(count, &text), "messages");
    }
}

#[test]
fn a_file_is_written_from_its_position_or_appended_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    for (count, text) in [
        (0, "x".to_owned()),
        (1, String::new()),
        (7_000_000, "hello world".to_owned()),
        (33, text_of(100_000)),
    ] {
        let wanted = expected(count, &text);
        assert!(run_into(firstbyte(count, &text), File::create(&path).unwrap().into()).status.success());
        assert_same(&fs::read(&path).unwrap(), &wanted, "a new file");

        let appending = OpenOptions::new().append(true).open(&path).unwrap();
        assert!(run_into(firstbyte(count, &text), appending.into()).status.success());
        assert_same(&fs::read(&path).unwrap(), &wanted.repeat(2), "appended");

        fs::write(&path, [b"head ".as_slice(), &vec![b'.'; wanted.len()], b" tail"].concat()).unwrap();
        let mut inside = OpenOptions::new().write(true).open(&path).unwrap();
        inside.seek(SeekFrom::Start(5)).unwrap();
        assert!(run_into(firstbyte(count, &text), inside.into()).status.success());
        assert_same(
            &fs::read(&path).unwrap(),
            &[b"head ".as_slice(), &wanted, b" tail"].concat(),
            "overwritten",
        );
    }
}

#[test]
fn a_reader_that_goes_away_ends_it_silently_by_sigpipe() {
    for count in [1_000_000, 1 << 63] {
        let (reader, writer) = pipe().unwrap();
        let child = firstbyte(count, "hello world").stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let mut start = [0; 24];
        File::from(reader).read_exact(&mut start).unwrap();
        assert_eq!(&start, b"hello world\nhello world\n");
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.signal(), output.stderr), (Some(libc::SIGPIPE), Vec::new()));
    }
    until_nobody_reads(|| {
        let (reader, writer) = UnixStream::pair().unwrap();
        drop(reader);
        let output = run_into(firstbyte(9, "x"), writer.into());
        (output.status.signal(), output.stderr) == (Some(libc::SIGPIPE), Vec::new())
    });
}

/// Tries again: a child that another test has just forked holds a copy of the reader's descriptor until its exec.
pub(crate) fn until_nobody_reads(is_told: impl Fn() -> bool) {
    assert!((0..10).any(|_| is_told()), "it is not told that nobody reads");
}

#[test]
fn with_sigpipe_blocked_the_exit_status_is_the_one_that_a_shell_shows() {
    until_nobody_reads(|| {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let mut command = firstbyte(9, "x");
        // SAFETY: only system calls between fork and exec.
        unsafe {
            command.pre_exec(|| {
                let mut mask: libc::sigset_t = std::mem::zeroed();
                libc::sigaddset(&raw mut mask, libc::SIGPIPE);
                libc::sigprocmask(libc::SIG_BLOCK, &raw const mask, std::ptr::null_mut());
                Ok(())
            });
        }
        let output = run_into(command, writer);
        (output.status.code(), output.stderr) == (Some(141), Vec::new())
    });
}

#[test]
fn a_full_device_is_an_error_that_says_how_much_was_written() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = run_into(firstbyte(1000, "hello world"), full.into());
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(text.contains("`stdout` took 0 of 12000 bytes: No space left on device"), "{text}");
    assert!(text.contains("\nhelp: "), "{text}");
}

/// The file system is a tmpfs of 64 KiB in a mount namespace that ends with the shell.
#[test]
fn a_full_file_system_is_an_error_that_says_how_much_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=64k none \"$1\" || exit 99; \"$0\" lines 100000 >\"$1/lines\"; \
                  echo $?; wc -c <\"$1/lines\"";
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--map-root-user", "sh", "-c", script, FIRSTBYTE]).arg(folder.path());
    let Ok(output) = unshare.output() else { return skipped("no `unshare` here") };
    if output.status.code() != Some(0) {
        return skipped(&format!("no tmpfs can be mounted: {}", String::from_utf8_lossy(&output.stderr)));
    }
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "4\n65536\n");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("`stdout` took 65536 of 1200000 bytes"), "{text}");
}

#[test]
fn a_file_size_limit_is_an_error_that_says_how_much_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap '' XFSZ; ulimit -f 8; \"$0\" lines 100000 >\"$1/lines\"; echo $?; wc -c <\"$1/lines\"";
    let output = Command::new("bash").args(["-c", script, FIRSTBYTE]).arg(folder.path()).output();
    let Ok(output) = output else { return skipped("no `bash` here") };
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "4\n8192\n");
    assert!(String::from_utf8(output.stderr).unwrap().contains("`stdout` took 8192 of 1200000 bytes"));
}

fn shell(script: &str) -> Output {
    Command::new("sh").args(["-c", script, FIRSTBYTE]).output().unwrap()
}

#[test]
fn a_closed_stdout_is_an_error_and_a_closed_stdin_is_not() {
    let output = shell("\"$0\" lines 5 >&-");
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8(output.stderr).unwrap().contains("`stdout` is closed\nhelp: "));
    let output = shell("\"$0\" lines 2 <&-");
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), b"hello world\nhello world\n".as_slice())
    );
    let output = shell("\"$0\" lines 100000 2>&- <&- | wc -c");
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "1200000");
}

#[test]
fn invalid_and_too_large_numbers_are_refused() {
    for count in ["9223372036854775809", "-1", "1.5", "", "ten", "99999999999999999999999999"] {
        let output = Command::new(FIRSTBYTE).args(["lines", count]).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{count}");
    }
}

/// Runs it under a seccomp filter that answers one system call with EPERM.
fn refusing(calls: &[i64], mut command: Command) -> Command {
    let statement = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
    let (load, equal, ret) = (0x20, 0x15, 0x06); // BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
    let mut program = vec![statement(load, 0)];
    for call in calls {
        program.push(libc::sock_filter { code: equal, jt: 0, jf: 1, k: u32::try_from(*call).unwrap() });
        program.push(statement(ret, libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned()));
    }
    program.push(statement(ret, libc::SECCOMP_RET_ALLOW));
    // SAFETY: only system calls between fork and exec, and the filter program lives longer than they take.
    unsafe {
        command.pre_exec(move || {
            let filter = libc::sock_fprog {
                len: u16::try_from(program.len()).unwrap_or(0),
                filter: program.as_ptr().cast_mut(),
            };
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            match libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    command
}

#[test]
fn pages_are_written_if_the_kernel_refuses_to_share_them() {
    let calls: [&[i64]; 4] =
        [&[libc::SYS_tee], &[libc::SYS_splice], &[libc::SYS_pipe2], &[libc::SYS_tee, libc::SYS_fcntl]];
    for call in calls {
        let got = through_pipe(refusing(call, firstbyte(300_001, "hello world")), 65_536);
        assert_same(&got, &expected(300_001, "hello world"), &format!("{call:?}"));
    }
}

/// Resident memory of a running process, in KiB: its anonymous and shared memory, and the peak of all its memory.
fn memory(child: &std::process::Child) -> [u64; 2] {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let field = |name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    [field("RssAnon:") + field("RssShmem:"), field("VmHWM:")]
}

/// How much of an executable the kernel maps at a fault depends on other memory, so the peak is checked only in
/// optimised builds.
#[test]
fn memory_does_not_grow_with_the_number_of_lines() {
    let [few, few_peak] = memory_after(200_000, 1_000_000, "hello world"); // more is left than fits in a pipe
    for text in ["hello world", &text_of(100_000)] {
        let [many, peak] = memory_after(1 << 62, 8 << 20, text);
        assert!(many < few + 1024, "{many} KiB, with few lines {few} KiB");
        assert!(many < 4096, "{many} KiB");
        assert!(
            (peak < 4096 && peak < few_peak + 1024) || cfg!(debug_assertions),
            "{peak} KiB, {few_peak} KiB"
        );
    }
}

/// Its memory after the reader has taken this many bytes.
fn memory_after(count: u64, bytes: usize, text: &str) -> [u64; 2] {
    let (reader, writer) = pipe().unwrap();
    fcntl_setpipe_size(&writer, 65_536).unwrap();
    let mut child = firstbyte(count, text).stdout(writer).spawn().unwrap();
    let mut reader = File::from(reader);
    reader.read_exact(&mut vec![0; bytes]).unwrap();
    let taken = memory(&child);
    drop(reader);
    child.wait().unwrap();
    taken
}

#[test]
fn the_library_writes_to_any_descriptor_and_counts_the_bytes() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"> ").unwrap();
    Lines::new(b"\xff\0", 3).write_to(file.as_fd()).unwrap();
    let mut all = Vec::new();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.read_to_end(&mut all).unwrap();
    assert_eq!(all, b"> \xff\0\n\xff\0\n\xff\0\n");
    let read_only = File::open("/dev/null").unwrap();
    let error = Lines::new(b"x", 4).write_to(read_only.as_fd()).unwrap_err();
    assert_eq!((error.written, error.total, error.cause), (0, 8, rustix::io::Errno::BADF));
    assert_eq!(Lines::new(b"x", 1 << 63).total(), 1 << 64);
    assert_eq!(Lines::new(b"ab\nc", 3).total(), 8);
}
