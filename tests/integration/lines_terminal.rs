//! `firstbyte lines` to a terminal: the same bytes in both modes, and the mode is restored however it ends.

use super::lines::{FIRSTBYTE, assert_same, expected, run_into};
use super::support::{job_control, terminal, with_default_signal};
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;
use std::thread;

fn output_modes(terminal: &OwnedFd) -> u32 {
    // SAFETY: a plain structure that the call fills.
    unsafe {
        let mut modes: libc::termios = std::mem::zeroed();
        assert_eq!(libc::tcgetattr(terminal.as_raw_fd(), &raw mut modes), 0);
        modes.c_oflag
    }
}

#[test]
fn a_terminal_receives_the_same_bytes_in_both_modes_and_keeps_its_mode() {
    for text in ["hello world", "", "two\nlines"] {
        let wanted = expected(20_000, text).iter().fold(Vec::new(), |mut all, &byte| {
            all.extend((byte == b'\n').then_some(b'\r'));
            all.push(byte);
            all
        });
        for raw in [false, true] {
            let (mut ours, theirs) = terminal();
            let kept = theirs.try_clone().unwrap();
            let before = output_modes(&kept);
            assert_eq!(before & (libc::OPOST | libc::ONLCR), libc::OPOST | libc::ONLCR);
            let mut got = vec![0; wanted.len()];
            let reading = thread::spawn(move || {
                ours.read_exact(&mut got).unwrap();
                (got, ours)
            });
            let mut command = Command::new(FIRSTBYTE);
            command.args(["lines", "20000"]).args(raw.then_some("--raw-tty")).arg(text);
            let output = run_into(command, theirs);
            assert!(output.status.success(), "{output:?}");
            let (got, _ours) = reading.join().unwrap();
            assert_same(&got, &wanted, text);
            assert_eq!(output_modes(&kept), before);
        }
    }
}

#[test]
fn a_terminals_mode_is_restored_after_every_fatal_signal() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGALRM] {
        let (mut ours, theirs) = terminal();
        let kept = theirs.try_clone().unwrap();
        let before = output_modes(&kept);
        let mut command = Command::new(FIRSTBYTE);
        command.args(["lines", "--raw-tty", "9223372036854775808"]).stdout(theirs);
        with_default_signal(signal, &mut command);
        let mut child = command.spawn().unwrap();
        drop(command);
        let mut start = [0; 13];
        ours.read_exact(&mut start).unwrap();
        assert_eq!(&start, b"hello world\r\n");
        assert_eq!(output_modes(&kept), before & !libc::OPOST);
        // SAFETY: our own child, which has not been reaped.
        unsafe { libc::kill(child.id().cast_signed(), signal) };
        assert_eq!(child.wait().unwrap().signal(), Some(signal));
        assert_eq!(output_modes(&kept), before, "signal {signal}");
    }
}

#[test]
fn a_stopped_writer_restores_the_mode_until_it_continues() {
    let (mut ours, theirs) = terminal();
    let kept = theirs.try_clone().unwrap();
    let before = output_modes(&kept);
    let mut command = Command::new(FIRSTBYTE);
    command.args(["lines", "--raw-tty", "9223372036854775808"]).stdout(theirs).process_group(0);
    let mut child = command.spawn().unwrap();
    drop(command);
    let pid = child.id().cast_signed();
    ours.read_exact(&mut [0; 13]).unwrap();
    let send = |signal| {
        // SAFETY: our own child, which has not been reaped.
        unsafe { libc::kill(pid, signal) }
    };
    for _ in 0..2 {
        send(libc::SIGTSTP);
        let mut status = 0;
        // SAFETY: waits for our own child to stop.
        unsafe { libc::waitpid(pid, &raw mut status, libc::WUNTRACED) };
        assert!(libc::WIFSTOPPED(status));
        assert_eq!(output_modes(&kept), before);
        send(libc::SIGCONT);
        // It writes again once its earlier output is read, which is more than a terminal buffers.
        ours.read_exact(&mut vec![0; 1_300_000]).unwrap();
        assert_eq!(output_modes(&kept), before & !libc::OPOST);
    }
    send(libc::SIGTERM);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
    assert_eq!(output_modes(&kept), before);
}

#[test]
fn a_writer_that_continues_in_the_background_leaves_the_terminal_to_the_shell() {
    let (mut shell, mut ours, kept) = job_control("\"$0\" lines --raw-tty 9223372036854775808; bg; wait");
    ours.read_exact(&mut [0; 13]).unwrap();
    assert_eq!(output_modes(&kept) & libc::OPOST, 0);
    let children = format!("/proc/{0}/task/{0}/children", shell.id());
    let writer: i32 = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
    // SAFETY: a child of our child, which has not reaped it.
    let send = |signal| unsafe { libc::kill(writer, signal) };
    send(libc::SIGTSTP);
    // More than a terminal buffers, so it has continued.
    ours.read_exact(&mut vec![0; 1_300_000]).unwrap();
    assert_eq!(output_modes(&kept) & libc::OPOST, libc::OPOST);
    send(libc::SIGTERM);
    shell.wait().unwrap();
    assert_eq!(output_modes(&kept) & libc::OPOST, libc::OPOST);
}

#[test]
fn a_writer_started_in_the_background_writes_once_it_is_in_the_foreground() {
    // `fg` only continues what bash has seen stop.
    let stopped = "while [ -z \"$(jobs -s)\" ]; do sleep 0.01; done";
    let script = format!("\"$0\" lines --raw-tty 3 & {stopped}; fg; echo status $?");
    let (mut shell, mut ours, kept) = job_control(&script);
    shell.wait().unwrap();
    assert_eq!(output_modes(&kept) & libc::OPOST, libc::OPOST);
    drop(kept);
    let mut bytes = Vec::new();
    // All ends on their side are closed, so the end of the output is EIO.
    let _ = ours.read_to_end(&mut bytes);
    let said = String::from_utf8(bytes).unwrap();
    assert!(said.contains(&format!("{}status 0\r\n", "hello world\r\n".repeat(3))), "{said}");
}

#[test]
fn raw_tty_needs_a_terminal() {
    let output = Command::new(FIRSTBYTE).args(["lines", "--raw-tty", "3"]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(4), 0));
    assert!(String::from_utf8(output.stderr).unwrap().contains("`stdout` is not a terminal\nhelp: "));
}
