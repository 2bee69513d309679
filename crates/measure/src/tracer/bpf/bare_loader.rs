//! A loader that has not read the kernel's type information.
//!
//! `EbpfLoader::new` always reads and keeps all of it, which takes 30 ms, although ours is another part of it
//! ([`super::kernel_types`]). There is no other way to make one, and it does without if the file cannot be opened. So it is
//! made by a thread that may open no files, and which has nothing else to do.

use crate::arch::native_number;
use aya::EbpfLoader;
use libc::{sock_filter, sock_fprog};

/// A loader, whose type information is to be set. If the thread cannot be limited, the loader only takes longer.
pub(super) fn loader() -> EbpfLoader<'static> {
    let limited = || {
        open_nothing();
        EbpfLoader::new()
    };
    std::thread::scope(|scope| match std::thread::Builder::new().spawn_scoped(scope, limited) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(_) => EbpfLoader::new(),
    })
}

/// `BPF_LD | BPF_W | BPF_ABS`, `BPF_JMP | BPF_JEQ | BPF_K` and `BPF_RET | BPF_K` of `linux/bpf_common.h`.
const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

/// Makes every `openat` of the calling thread fail, for as long as it lives (seccomp(2)). Other threads are not affected.
fn open_nothing() {
    let Some(openat) = native_number("openat") else { return };
    let statement = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    let filter = [
        statement(LOAD, 0, 0), // the number, which is first in `struct seccomp_data`
        statement(EQUAL, 1, openat),
        statement(RETURN, 0, libc::SECCOMP_RET_ERRNO | libc::ENOENT.cast_unsigned()),
        statement(RETURN, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = sock_fprog { len: 4, filter: filter.as_ptr().cast_mut() };
    // SAFETY: both change only the calling thread, and the kernel copies the filter, which lives until then.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program);
    }
}
