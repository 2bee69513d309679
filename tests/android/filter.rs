//! The filter of system calls that Android's zygote gives every app, and so Termux: a call that `app.txt` does not list
//! gets SIGSYS, whose default is death.

use libc::sock_filter;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

const CALLS: &str = include_str!("app.txt");

/// This machine's column of `app.txt`, and its `AUDIT_ARCH` (linux/audit.h).
#[cfg(target_arch = "aarch64")]
const MACHINE: (usize, u32) = (1, 0xc000_00b7);
#[cfg(target_arch = "x86_64")]
const MACHINE: (usize, u32) = (2, 0xc000_003e);

/// The calls that arm64 does not have, where the C library makes a newer one, which is allowed.
#[cfg(target_arch = "aarch64")]
const OLDER: [libc::c_long; 0] = [];
#[cfg(target_arch = "x86_64")]
const OLDER: [libc::c_long; 17] = [
    libc::SYS_access,
    libc::SYS_chmod,
    libc::SYS_dup2,
    libc::SYS_epoll_wait,
    libc::SYS_fork,
    libc::SYS_getdents,
    libc::SYS_getpgrp,
    libc::SYS_lstat,
    libc::SYS_mkdir,
    libc::SYS_mknod,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_rename,
    libc::SYS_rmdir,
    libc::SYS_symlink,
    libc::SYS_time,
    libc::SYS_unlink,
];

/// The offsets of the number and of the architecture in `struct seccomp_data` (linux/seccomp.h).
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

fn allowed() -> impl Iterator<Item = u32> {
    let lines = CALLS.lines().filter(|line| !line.starts_with('#'));
    let listed = lines.filter_map(|line| line.split(' ').nth(MACHINE.0)?.parse().ok());
    listed.chain(OLDER.iter().filter_map(|call| u32::try_from(*call).ok()))
}

fn filter() -> Vec<sock_filter> {
    let statement =
        |code: u32, k: u32, (jt, jf)| sock_filter { code: u16::try_from(code).unwrap_or(0), jt, jf, k };
    let load = |offset| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, (0, 0));
    let unless_equal_skip = |value| statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, (0, 1));
    let end = |action| statement(libc::BPF_RET | libc::BPF_K, action, (0, 0));

    let mut filter =
        vec![load(ARCHITECTURE), statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, MACHINE.1, (1, 0))];
    filter.extend([end(libc::SECCOMP_RET_TRAP), load(NUMBER)]);
    for call in allowed() {
        filter.extend([unless_equal_skip(call), end(libc::SECCOMP_RET_ALLOW)]);
    }
    filter.push(end(libc::SECCOMP_RET_TRAP));
    filter
}

/// The command runs as an app of Android: with its filter, and without more rights by exec.
pub(crate) fn as_app(command: &mut Command) -> &mut Command {
    let filter = filter();
    let length = u16::try_from(filter.len()).unwrap_or(u16::MAX);
    // SAFETY: the child calls only prctl(2), with a program that it has a copy of.
    unsafe {
        command.pre_exec(move || {
            let program = libc::sock_fprog { len: length, filter: filter.as_ptr().cast_mut() };
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            match libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        })
    }
}
