//! A loader that has not read the kernel's type information.
//!
//! `EbpfLoader::new` always reads and keeps all of it, which takes 30 ms, although ours is another part of it
//! ([`super::kernel_types`]). There is no other way to make one, and it does without if the file cannot be opened. So it is
//! made by a thread that may open no files, and which has nothing else to do.

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

/// Makes every `openat` of the calling thread fail, for as long as it lives (seccomp(2)). Other threads are not affected.
fn open_nothing() {
    let statement = |code: u32, jf: u8, k: u32| sock_filter { code: code as u16, jt: 0, jf, k };
    let refused = libc::SECCOMP_RET_ERRNO | libc::ENOENT as u32;
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0), // `nr` of `struct seccomp_data`
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_openat as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, refused),
        statement(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: both change only the calling thread, and the kernel copies the filter, which lives until then.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program);
    }
}
