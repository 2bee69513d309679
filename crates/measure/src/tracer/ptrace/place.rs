//! Where a stopped thread is: its registers, as far as a sampler needs them.

use super::tracee::TracedThread;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use std::mem::MaybeUninit;
#[cfg(target_arch = "x86_64")]
use std::ptr;

/// Where user code is, and by which pointer it finds what belongs to its thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoppedAt {
    pub(crate) ip: u64,
    pub(crate) sp: u64,
    pub(crate) fp: u64,
    /// The link register; 0 on processors without one.
    pub(crate) lr: u64,
    /// From where the thread finds its thread-local memory.
    pub(crate) thread_pointer: u64,
    /// Where V8's interpreter has the offset of its instruction, and its bytecode.
    pub(crate) v8_offset: u64,
    pub(crate) v8_bytecode: u64,
    /// Where `HotSpot`'s interpreter has its instruction.
    pub(crate) hotspot_instruction: u64,
    /// Where PHP has its frame and its instruction.
    pub(crate) php_frame: u64,
    pub(crate) php_instruction: u64,
    /// It is a 32-bit program.
    pub(crate) narrow: bool,
}

/// On aarch64, `pthread_self()` points to what glibc and musl keep of a thread, which ends at its thread pointer and takes
/// less.
const MAX_PTHREAD: u64 = 4096;

impl StoppedAt {
    /// Whether `pthread_self()` is this in the thread, in glibc and musl. Each thread has a stack or a mapping of its own
    /// below its thread pointer, so no other thread is as near.
    pub(crate) fn is_pthread(&self, id: u64) -> bool {
        if cfg!(target_arch = "aarch64") {
            let size = self.thread_pointer.checked_sub(id);
            size.is_some_and(|size| (1..MAX_PTHREAD).contains(&size))
        } else {
            id == self.thread_pointer
        }
    }
}

/// `NT_ARM_TLS` of `linux/elf.h`: the thread pointer.
#[cfg(target_arch = "aarch64")]
const NT_ARM_TLS: i32 = 0x401;

/// The code segment of 64-bit programs: `__USER_CS` of `arch/x86/include/asm/segment.h`.
#[cfg(target_arch = "x86_64")]
const CODE_64: u64 = 0x33;

impl TracedThread {
    /// Where its user code is.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn registers(self) -> Option<StoppedAt> {
        let mut room = MaybeUninit::<libc::user_regs_struct>::zeroed();
        // SAFETY: the kernel writes one `user_regs_struct`.
        let got =
            unsafe { libc::ptrace(libc::PTRACE_GETREGS, self.0, ptr::null_mut::<u8>(), room.as_mut_ptr()) };
        // SAFETY: plain integers, for which zeroes are valid too.
        let all = (got == 0).then(|| unsafe { room.assume_init() })?;
        Some(StoppedAt {
            ip: all.rip,
            sp: all.rsp,
            fp: all.rbp,
            lr: 0,
            thread_pointer: all.fs_base,
            v8_offset: all.r9,
            v8_bytecode: all.r12,
            hotspot_instruction: all.r13,
            php_frame: all.r14,
            php_instruction: all.r15,
            narrow: all.cs != CODE_64,
        })
    }

    /// Where its user code is.
    #[cfg(target_arch = "aarch64")]
    pub(crate) fn registers(self) -> Option<StoppedAt> {
        let (all, size) = self.register_set::<libc::user_regs_struct>(libc::NT_PRSTATUS)?;
        let (thread_pointer, _) = self.register_set::<u64>(NT_ARM_TLS)?;
        Some(StoppedAt {
            ip: all.pc,
            sp: all.sp,
            fp: all.regs[29],
            lr: all.regs[30],
            thread_pointer,
            v8_offset: all.regs[19],
            v8_bytecode: all.regs[20],
            hotspot_instruction: all.regs[22],
            php_frame: all.regs[27],
            php_instruction: all.regs[28],
            // those of 32-bit programs are fewer
            narrow: size < size_of::<libc::user_regs_struct>(),
        })
    }

    /// Other processors are not supported yet.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(crate) fn registers(self) -> Option<StoppedAt> {
        None
    }

    /// A set of registers, which must be plain integers, and how many bytes of it the kernel has.
    #[cfg(target_arch = "aarch64")]
    fn register_set<Set>(self, which: i32) -> Option<(Set, usize)> {
        let mut room = MaybeUninit::<Set>::zeroed();
        let mut place = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: size_of::<Set>() };
        // SAFETY: the kernel writes at most the size of the room, and how much it wrote.
        let got = unsafe {
            libc::ptrace(libc::PTRACE_GETREGSET, self.0, libc::c_long::from(which), &raw mut place)
        };
        // SAFETY: plain integers, for which zeroes are valid where the kernel wrote nothing.
        (got == 0).then(|| (unsafe { room.assume_init() }, place.iov_len))
    }
}
